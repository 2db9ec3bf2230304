"""The transforms behind the fft extension: three primitives, and the checks of their arguments.

Note [Adjoints]
---------------
The adjoint of a transform is the inverse one with the scale that the norm leaves out: of "backward"
it is "forward", of "forward" it is "backward", of "ortho" it is itself. Of half of a symmetric
spectrum an inner frequency stands for two, so `rfft` and `irfft` are adjoint up to a factor of 2
there (`inner_scale`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import describe
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.ops._axes import as_tensor, normalize_axes, normalize_axis
from polygrad.ops._library import library
from polygrad.ops.creation import as_floating
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

__all__ = [
    "SWAPPED", "Axes", "checked_norm", "computed", "fourier", "half", "irfft", "length", "many",
    "one", "resized", "rfft", "signal",
]  # fmt: skip
SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
Axes = Sequence[int] | int | None


# ---- the primitives -----------------------------------------------------------------------------
def computed(F: Any, dtype: Any) -> Any:
    """The Kernels of `dtype`, in which 16-bit floats are float32."""
    return F.with_dtype(dtypes.float32 if dtype.itemsize == 2 else dtype)


def _complex(F: Any, x: Any) -> Any:
    """X as a complex array."""
    return F.with_dtype(dtypes.complex_of(computed(F, F.of(x).dtype).dtype)).cast(x)


def _fourier_forward(F: Any, x: Any, axes: tuple[int, ...], inverse: bool, norm: str) -> Any:
    x = _complex(F, x)
    if not axes or 0 in x.shape:
        return x
    if len(axes) == 1:
        transform = library(F, "fft").ifft if inverse else library(F, "fft").fft
        return transform(x, axis=axes[0], norm=norm)
    transform = library(F, "fft").ifftn if inverse else library(F, "fft").fftn
    return transform(x, axes=axes, norm=norm)


def _rfft_forward(F: Any, x: Any, axis: int, norm: str) -> Any:
    x = computed(F, F.of(x).dtype).cast(x)
    if 0 in x.shape:
        return _complex(F, F.of(x).zeros(_halved(x.shape, axis, x.shape[axis] // 2 + 1)))
    return library(F, "fft").rfft(x, axis=axis, norm=norm)


def _irfft_forward(F: Any, x: Any, n: int, axis: int, norm: str) -> Any:
    x = _complex(F, x)
    if 0 in x.shape:
        real = F.with_dtype(dtypes.real_of(F.of(x).dtype))
        return real.zeros(_halved(x.shape, axis, n))
    return library(F, "fft").irfft(x, n=n, axis=axis, norm=norm)


def _halved(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    return (*shape[:axis], n, *shape[axis + 1 :])


def _fourier_rule(g: Any, F: Any, axes: tuple[int, ...], inverse: bool, norm: str) -> Any:
    """See Note [Adjoints]."""
    return F.fourier(g, axes=axes, inverse=not inverse, norm=SWAPPED[norm])


def _rfft_rule(g: Any, F: Any, x_shape: tuple[int, ...], axis: int, norm: str) -> Any:
    """See Note [Adjoints]."""
    n = x_shape[axis]
    g = F.inner_scale(g, n=n, axis=axis, factor=0.5)
    return F.irfft(g, n=n, axis=axis, norm=SWAPPED[norm])


def _irfft_rule(g: Any, F: Any, n: int, axis: int, norm: str) -> Any:
    """See Note [Adjoints]."""
    g = F.rfft(g, axis=axis, norm=SWAPPED[norm])
    return F.inner_scale(g, n=n, axis=axis, factor=2.0)


def _inner_scale_forward(F: Any, x: Any, n: int, axis: int, factor: float) -> Any:
    """Half spectra of length-n signals, times `factor` where a frequency stands for two."""
    weights = np.full(x.shape[axis], factor)
    weights[:1] = 1
    if n % 2 == 0:
        weights[n // 2 :] = 1
    shape = tuple(-1 if i == axis else 1 for i in range(x.ndim))
    here = F.with_dtype(dtypes.real_of(F.of(x).dtype))
    return x * here.from_numpy(weights.reshape(shape))


def _resize_forward(F: Any, x: Any, axes: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
    """Cut off the end of axes, or add zeros to it."""
    for axis, n in zip(axes, lengths, strict=True):
        have = x.shape[axis]
        if n < have:
            x = x[(slice(None),) * axis + (slice(None, n), Ellipsis)]
        elif n > have:
            zeros = F.of(x).zeros((*x.shape[:axis], n - have, *x.shape[axis + 1 :]))
            x = F.xp.concat([x, zeros], axis=axis)
    return x


def _resize_rule(g: Any, F: Any, x_shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    return F.resize(g, axes=axes, lengths=tuple(x_shape[a] for a in axes))


fourier = Primitive(
    "fourier", ("x",), {"x": _fourier_rule}, forward=_fourier_forward, floating=True,
    keywords={"axes": (), "inverse": False, "norm": "backward"},
)  # fmt: skip
rfft = Primitive(
    "rfft", ("x",), {"x": _rfft_rule}, forward=_rfft_forward, floating=True,
    keywords={"axis": -1, "norm": "backward"},
)  # fmt: skip
irfft = Primitive(
    "irfft", ("x",), {"x": _irfft_rule}, forward=_irfft_forward, floating=True,
    keywords={"n": 1, "axis": -1, "norm": "backward"},
)  # fmt: skip
_inner_scale = Primitive(
    "inner_scale", ("x",),
    {"x": lambda g, F, n, axis, factor: F.inner_scale(g, n=n, axis=axis, factor=factor)},
    forward=_inner_scale_forward, keywords={"n": 1, "axis": -1, "factor": 1.0},
)  # fmt: skip
_resize = Primitive(
    "resize", ("x",), {"x": _resize_rule}, forward=_resize_forward,
    keywords={"axes": (), "lengths": ()},
)  # fmt: skip


# ---- checks -------------------------------------------------------------------------------------
def checked_norm(norm: Any, where: str) -> str:
    if norm not in SWAPPED:
        raise InvalidArgumentError(
            f"there is no norm {norm!r}", f"{where}, argument norm",
            'choose "backward", "ortho" or "forward"',
        )  # fmt: skip
    return norm  # type: ignore[no-any-return]


def length(n: Any, where: str, name: str) -> int:
    """A positive int."""
    if not hasattr(n, "__index__"):
        raise InvalidTypeError(
            f"a length is an int, not {n!r}", f"{where}, argument {name}", "pass an int"
        )
    if n.__index__() < 1:
        raise InvalidArgumentError(
            f"a transform of length {n}", f"{where}, argument {name}", "it must be at least 1"
        )
    return int(n.__index__())


def signal(x: Any, where: str, *, real: bool = False) -> Tensor:
    x = as_tensor(x, f"{where}, argument x")
    if real and x.kernels.is_complex:
        raise DtypeError(
            f"{where} is for real signals", f"{where}{describe([x])}", "use fft, or pg.real(x)"
        )
    return as_floating(x)


def one(x: Tensor, n: Any, axis: int, where: str) -> tuple[Tensor, int]:
    """X with n elements along an axis, and the axis counted from the front."""
    axis = normalize_axis(axis, x.ndim, where)
    lengths = x.shape[axis : axis + 1] if n is None else (length(n, where, "n"),)
    return resized(x, (axis,), lengths, where), axis


def resized(x: Tensor, axes: tuple[int, ...], lengths: tuple[int, ...], where: str) -> Tensor:
    if 0 in lengths:
        raise ShapeError(
            f"a transform of no elements: shape {x.shape}, axes {axes}", f"{where}{describe([x])}",
            "pass n or s to add zeros, or leave the axis out",
        )  # fmt: skip
    if lengths == tuple(x.shape[a] for a in axes):
        return x
    return _resize.call(x, axes=axes, lengths=lengths)  # type: ignore[no-any-return]


def many(x: Tensor, s: Any, axes: Axes, where: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Axes, and the lengths along them."""
    if axes is None and s is not None:
        axes = tuple(range(-len(tuple(s)), 0))
    axes = tuple(axes) if isinstance(axes, Sequence) else axes
    found = normalize_axes(axes, x.ndim, where, "axes")
    if s is None:
        return found, tuple(x.shape[a] for a in found)
    lengths = tuple(x.shape[a] if n in (None, -1) else length(n, where, "s")
                    for n, a in zip(s, found, strict=False))  # fmt: skip
    if len(lengths) != len(found) or len(tuple(s)) != len(found):
        raise InvalidArgumentError(
            f"{len(tuple(s))} lengths for {len(found)} axes",
            f"{where}{describe([x])}, s={s}, axes={axes}",
            "name a length for each axis",
        )  # fmt: skip
    return found, lengths


def half(x: Any, n: Any, axis: int, where: str) -> tuple[Tensor, int, int]:
    """Half a spectrum, the axis, and the length of the signal, which is even if not given."""
    x = signal(x, where)
    axis = normalize_axis(axis, x.ndim, where)
    n = 2 * (x.shape[axis] - 1) if n is None else n
    if n == 0:
        raise InvalidArgumentError(
            "one frequency alone does not say how long the signal is", f"{where}{describe([x])}",
            "pass n, or s: 1 is the only length with one frequency",
        )  # fmt: skip
    n = length(n, where, "n")
    return resized(x, (axis,), (n // 2 + 1,), where), axis, n
