"""Windows over the last two axes: the adjoint of max pooling.

Pooling itself and convolution are not here: what was tried took as long as NumPy's passes over
whole rows, and as the product of matrices that a convolution is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.backends.numba_kernels.compiled import compiled
from polygrad.threads import shared

__all__ = ["MAKERS"]


@compiled
def _place(x: Array, places: Array, out: Array, where: Any) -> None:
    (_, kw), (sh, sw), (ph, pw), (dh, dw) = where
    for plane in range(x.shape[0]):
        image, at, to = x[plane], places[plane], out[plane]
        to[:] = 0
        for oy in range(image.shape[0]):
            for ox in range(image.shape[1]):
                place = np.int64(at[oy, ox])
                i = place // kw
                y, z = oy * sh - ph + i * dh, ox * sw - pw + (place - i * kw) * dw
                if 0 <= y < to.shape[0] and 0 <= z < to.shape[1]:
                    to[y, z] += image[oy, ox]


def _lead(x: Array) -> list[int]:
    """The axes before the last two, as they come in memory."""
    return sorted(range(x.ndim - 2), key=lambda i: -x.strides[i])


def _planes(x: Array) -> Array | None:
    """(planes, rows, columns), in the order of memory; None if there are gaps."""
    if x.ndim < 2 or not x.size:
        return None
    x = x.transpose([*_lead(x), x.ndim - 2, x.ndim - 1])
    return x.reshape(-1, *x.shape[-2:]) if x.flags.c_contiguous else None


def _like(x: Array, size: tuple[int, int], dtype: Any) -> Array:
    """An empty array with other last axes; the leading ones in the same order of memory."""
    lead = _lead(x)
    made = np.empty((*(x.shape[i] for i in lead), *size), dtype)
    back = [lead.index(i) for i in range(x.ndim - 2)]
    return made.transpose([*back, x.ndim - 2, x.ndim - 1])


def _windows(geometry: Any) -> tuple[Any, ...] | None:
    """(kernel, stride, padding before, dilation) of two axes; None of another number."""
    kernel, stride, padding, dilation = geometry
    if len(kernel) != 2:
        return None
    pairs = kernel, stride, tuple(lo for lo, _ in padding), dilation
    return tuple((int(a), int(b)) for a, b in pairs)


def _make_place(plain: Kernel) -> Kernel:
    def kernel(x: Array, places: Array, size: Any = (), geometry: Any = ()) -> Array:
        where, planes, at = _windows(geometry), _planes(x), _planes(places)
        same = planes is not None and at is not None and x.strides[:-2] and _aligned(x, places)
        if where is None or not same:
            found: Array = plain(x, places, size=size, geometry=geometry)
            return found
        out = _like(x, size, x.dtype)
        shared(_place, (planes, at, _planes(out)), where)
        return out

    return kernel


def _aligned(x: Array, y: Array) -> bool:
    """Whether two arrays have one shape, and their leading axes one order in memory."""
    return x.shape == y.shape and _lead(x) == _lead(y)


MAKERS: dict[str, Callable[[Kernel], Kernel]] = {"place_in_windows": _make_place}
