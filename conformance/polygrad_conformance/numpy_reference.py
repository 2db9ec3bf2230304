"""References of the standard's functions that do not run polygrad: NumPy's own, called directly.

`wide`: called with long double in the place of floating dtypes. `same`: called with the dtypes as
they are. A function raises `Elsewhere` for a call that NumPy does not know.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Elsewhere", "find", "names"]


class Elsewhere(Exception):  # noqa: N818  no error: another reference is asked
    """This reference does not know the call."""


def _words(text: str) -> list[str]:
    return text.split()


# NumPy's function of the same name has the same arguments, as far as the samples use them.
SAME_NAME = _words("""
add subtract multiply negative positive conj square exp expm1 log log1p log2 log10 sin cos tan sinh
cosh tanh asin acos atan asinh acosh atanh floor ceil trunc round divide reciprocal sqrt
maximum minimum abs sign copysign angle real imag atan2 hypot logaddexp equal not_equal less
less_equal greater greater_equal isfinite isinf isnan signbit logical_and logical_or logical_xor
logical_not bitwise_and bitwise_or bitwise_xor bitwise_invert bitwise_left_shift
bitwise_right_shift pow
prod mean var std max min cumulative_sum cumulative_prod all any diff
reshape permute_dims expand_dims squeeze moveaxis broadcast_to broadcast_arrays concat stack unstack
flip roll rot90 repeat tile
take take_along_axis where argmax argmin count_nonzero nonzero searchsorted
unique_all unique_counts unique_inverse isin
matrix_transpose matmul einsum tensordot vecdot outer inner kron
tril triu meshgrid median quantile percentile nanmedian nanquantile nanpercentile
nansum nanprod nanmean nanvar nanstd nanmax nanmin nanargmax nanargmin nancumsum nancumprod
trace diagonal vander average ptp cov corrcoef interp
zeros ones full zeros_like ones_like full_like eye arange linspace
""")


def _ordered(name: str) -> Callable[..., Any]:
    """sort and argsort with the standard's keywords; stable, so that there is one answer."""

    def inner(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
        del stable
        if not descending:
            return getattr(np, name)(x, axis=axis, kind="stable")
        # Reversed before and after, equal elements keep their order.
        order = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
        places = x.shape[axis] - 1 - order
        return places if name == "argsort" else np.take_along_axis(x, places, axis)

    return inner


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    low = x if min is None else np.maximum(x, min)
    return low if max is None else np.minimum(low, max)


def _remainder(x: Any, y: Any) -> Any:
    """By C's fmod, which is exact."""
    if x.dtype.kind != "f":
        return np.remainder(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (np.asarray(y) < 0)), rest + y, rest)


def _floor_divide(x: Any, y: Any) -> Any:
    """(x - remainder) / y, which is a whole number but for one rounding."""
    if x.dtype.kind != "f":
        return np.floor_divide(x, y)
    return np.round((x - _remainder(x, y)) / y)


def _nextafter(x: Any, y: Any) -> Any:
    """By the bit patterns, which are ordered as the numbers are."""
    x, y = np.broadcast_arrays(x, y)
    whole = np.dtype(f"i{x.dtype.itemsize}")
    bits = x.copy().view(whole)
    away = (x > 0) == (y > x)
    moved = np.where(away, bits + 1, bits - 1).astype(whole).view(x.dtype)
    smallest = np.ones(x.shape, whole).view(x.dtype)
    moved = np.where(x == 0, np.copysign(smallest, y), moved)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x == y, y, moved)).astype(x.dtype)


def _astype(x: Any, dtype: Any, **keywords: Any) -> Any:
    del keywords
    if np.dtype(dtype).kind in "fiub" and x.dtype.kind == "c":
        x = x.real
    return x.astype(dtype)


def _summed(x: Any, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


WIDE: dict[str, Callable[..., Any]] = {
    "clip": _clip, "remainder": _remainder, "floor_divide": _floor_divide,
    "unique_values": functools.partial(np.unique, equal_nan=False), "digitize": np.digitize,
    "sum": _summed,
    "sort": _ordered("sort"), "argsort": _ordered("argsort"),
    "linalg.matrix_transpose": np.matrix_transpose, "linalg.matmul": np.matmul,
    "linalg.outer": np.linalg.outer, "linalg.tensordot": np.tensordot,
    "linalg.vecdot": np.vecdot, "linalg.cross": np.linalg.cross,
    "linalg.diagonal": np.linalg.diagonal, "linalg.trace": np.linalg.trace,
    "linalg.vector_norm": np.linalg.vector_norm,
    "fft.fft": np.fft.fft, "fft.ifft": np.fft.ifft, "fft.fftn": np.fft.fftn,
    "fft.ifftn": np.fft.ifftn, "fft.rfft": np.fft.rfft, "fft.irfft": np.fft.irfft,
    "fft.rfftn": np.fft.rfftn, "fft.irfftn": np.fft.irfftn, "fft.hfft": np.fft.hfft,
    "fft.ihfft": np.fft.ihfft, "fft.fftshift": np.fft.fftshift, "fft.ifftshift": np.fft.ifftshift,
}  # fmt: skip
EXACT: dict[str, Callable[..., Any]] = {
    "nextafter": _nextafter, "astype": _astype, "nan_to_num": np.nan_to_num,
    "linalg.matrix_rank": np.linalg.matrix_rank,
}  # fmt: skip


@functools.cache
def find(key: str) -> tuple[str, Callable[..., Any] | None]:
    """("wide" or "same", the reference) of an operation; ("", None) if there is none here."""
    if key in EXACT:
        return "same", _elsewhere(EXACT[key])
    if key in WIDE:
        return "wide", _elsewhere(WIDE[key])
    if key in SAME_NAME:
        return "wide", _elsewhere(getattr(np, key))
    return "", None


def names() -> list[str]:
    """The operations with a reference here."""
    return sorted({*EXACT, *WIDE, *SAME_NAME})


def _elsewhere(function: Callable[..., Any]) -> Callable[..., Any]:
    """Arguments that NumPy does not take: another reference is asked."""

    @functools.wraps(function, updated=())
    def inner(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device", None)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            raise Elsewhere(str(error)) from error

    return inner


def signature(key: str) -> inspect.Signature | None:
    """The signature of a reference, where it has one."""
    try:
        function = find(key)[1]
        return None if function is None else inspect.signature(function)
    except (TypeError, ValueError):
        return None
