"""The reference backend: NumPy in long double, polygrad's formulas and no kernels.

It has none of the kernels of polygrad's NumPy backend. Where long double is wider than double (80
bits on x86) its results are references for float64 too; elsewhere they are as good as float64.
What NumPy has in double precision only, `linalg`, and SciPy's functions, are computed in double:
`Oracle.precision` says so, and conformance of float64 on those is decided by residuals and mpmath.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.backend import Array, Backend, Capabilities
from polygrad.backends.frozen_backend import FrozenArray, FrozenBackend
from polygrad.device import Device
from polygrad.registry import Entry, register_backend

__all__ = ["IS_WIDER", "WIDE", "WideBackend", "here", "widen", "widened"]

WIDE = "wide:0"
REAL, COMPLEX = np.dtype(np.longdouble), np.dtype(np.clongdouble)
IS_WIDER = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant
_NARROW = {REAL: np.float64, COMPLEX: np.complex128}
_WIDER = {"f": REAL, "c": COMPLEX}


class WideArray(FrozenArray):
    """A read-only array in long double."""


def widened(dtype: Any) -> np.dtype[Any]:
    """The dtype that stands for `dtype` in a reference: itself for integers and booleans."""
    dtype = np.dtype(dtype)
    return REAL if dtype.name == "bfloat16" else _WIDER.get(dtype.kind, dtype)


def widen(array: Any) -> np.ndarray[Any, Any]:
    """A NumPy array in the dtype that stands for its own."""
    return np.asarray(array).astype(widened(np.asarray(array).dtype))


class _Narrowed:
    """A module whose functions take long double, compute in double and give long double back."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if not callable(found) or isinstance(found, type):
            return found
        made = self.__dict__[name] = _narrowed(found)
        return made


def _narrowed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def inner(*args: Any, **kwargs: Any) -> Any:
        out = function(*map(_narrow, args), **{k: _narrow(v) for k, v in kwargs.items()})
        if isinstance(out, tuple):
            parts = [_rewiden(part) for part in out]
            return type(out)(*parts) if hasattr(out, "_fields") else tuple(parts)
        return _rewiden(out)

    return inner


def _narrow(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype in _NARROW:
        return np.asarray(value).astype(_NARROW[value.dtype])
    return value


def _rewiden(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in _WIDER:
        return widen(value)
    return value


class _Namespace:
    """NumPy, with its linalg in double."""

    linalg = _Narrowed(np.linalg)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _by_mpmath(name: str) -> Callable[..., Any]:
    """A function of mpmath's, element by element."""

    def one(x: Any) -> Any:
        import mpmath as mp

        if not np.isfinite(x):
            return REAL.type(float(getattr(mp, name)(float(x))))
        with mp.workdps(30):
            high = mp.mpf(float(x)) + mp.mpf(float(x - REAL.type(float(x))))
            y = getattr(mp, name)(high)
            return REAL.type(float(y)) + REAL.type(float(y - mp.mpf(float(y))))

    return np.vectorize(one, otypes=[REAL])


class WideBackend(FrozenBackend):
    """NumPy in long double."""

    name = "wide"
    device_kinds = ("wide",)
    capabilities = Capabilities(writeable=False, survives_fork=True)

    def __init__(self) -> None:
        Backend.__init__(self)  # without NumPy's kernels: the formulas are the reference
        self._xp = _Namespace()
        for name in ("erf", "erfc"):  # polygrad's have coefficients for double precision
            self.kernel(name)(_by_mpmath(name))

    @property
    def array_types(self) -> tuple[type, ...]:
        """WideArray."""
        return (WideArray,)

    @property
    def xp(self) -> Any:
        """NumPy, with its linalg in double."""
        return self._xp

    @property
    def special(self) -> Any:
        """SciPy's in double."""
        found = super().special
        return None if found is None else _Narrowed(found)

    def devices(self) -> list[Device]:
        """The one device."""
        return [Device(WIDE)]

    def device_of(self, array: Array) -> Device:
        """The one device."""
        return Device(WIDE)

    def supports(self, dtype: Any, device: Device) -> bool:
        """Every dtype, long double among them."""
        return np.dtype(dtype) in (REAL, COMPLEX) or super().supports(dtype, device)

    def coerce(self, value: Any, device: Device) -> Array:
        """A view of what is read-only from now on."""
        plain = np.asarray(value)
        plain.flags.writeable = False
        return plain.view(WideArray)


register_backend(
    Entry("wide", "polygrad_conformance.wide:WideBackend", ("wide",), ("polygrad_conformance",),
          "pip install 'polygrad[conformance]'", hidden=True)
)  # fmt: skip


@contextmanager
def here() -> Iterator[None]:
    """New tensors on the reference device, and no warnings, within the block.

    Python floats take the default dtype, as on the device under test: random numbers depend on it.
    """
    with pg.device(WIDE), np.errstate(all="ignore"):
        yield
