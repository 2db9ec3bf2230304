"""Windows over the last two axes: max pooling and its adjoint.

Convolution is not here: its columns took as long as NumPy's copies of runs, and the rest of it is a
product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.backends.numba_kernels.compiled import compiled
from polygrad.indexing import window_counts
from polygrad.threads import shared

__all__ = ["MAKERS"]

# ---- loops --------------------------------------------------------------------------------------
@compiled
def _pairs(x: Array, out: Array, places: Array, missing: Array) -> None:
    """Windows of 2 x 2 side by side, of equal ones the first; or `missing`: there is a NaN."""
    lost = False
    for plane in range(out.shape[0]):
        for oy in range(out.shape[1]):
            above, below = x[plane, 2 * oy], x[plane, 2 * oy + 1]
            best, at = out[plane, oy], places[plane, oy]
            for ox in range(best.size):
                a, b = above[2 * ox], above[2 * ox + 1]
                c, d = below[2 * ox], below[2 * ox + 1]
                m = max(a, b, c, d)
                lost |= (a != a) | (b != b) | (c != c) | (d != d)
                not_a = np.uint8(a != m)
                not_b = not_a & np.uint8(b != m)
                best[ox] = m
                at[ox] = not_a + not_b + (not_b & np.uint8(c != m))
    if lost:
        missing[0] = True


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


@compiled
def _place_in_pairs(x: Array, places: Array, out: Array) -> None:
    """Of windows of 2 x 2 side by side; x and `out` are the bits of floats, integers."""
    t = x.dtype.type
    for plane in range(x.shape[0]):
        for oy in range(x.shape[1]):
            above, below = out[plane, 2 * oy], out[plane, 2 * oy + 1]
            image, at = x[plane, oy], places[plane, oy]
            for ox in range(image.size):
                bits, place = image[ox], np.int32(at[ox])
                above[2 * ox] = bits & -t(place == 0)
                above[2 * ox + 1] = bits & -t(place == 1)
                below[2 * ox] = bits & -t(place == 2)
                below[2 * ox + 1] = bits & -t(place == 3)
            above[2 * image.size :] = 0
            below[2 * image.size :] = 0
        out[plane, 2 * x.shape[1] :] = 0


# ---- the order of memory ------------------------------------------------------------------------
def _lead(x: Array) -> list[int]:
    """The axes before the last two, as they come in memory."""
    return sorted(range(x.ndim - 2), key=lambda i: -x.strides[i])


def _planes(x: Array) -> Any:
    """(planes, rows, columns), in the order of memory; None if there are gaps."""
    if x.ndim < 2 or not x.size:
        return None
    x = x.transpose([*_lead(x), x.ndim - 2, x.ndim - 1])
    return x.reshape(-1, *x.shape[-2:]) if x.flags.c_contiguous else None


def _like(x: Array, size: tuple[int, ...], dtype: Any) -> Array:
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


# ---- kernels ------------------------------------------------------------------------------------
_WORTH = 1 << 19  # elements for each thread: half a nanosecond for each


def _pairwise(geometry: Any) -> bool:
    """Whether windows are of 2 x 2, side by side, and reach beyond no end: what networks pool."""
    kernel, stride, padding, dilation = map(tuple, geometry)
    inside = all(lo == 0 and hi <= 0 for lo, hi in padding)
    return inside and kernel == stride == (2, 2) and dilation == (1, 1)


def _make_max_pool(plain: Kernel) -> Kernel:
    def kernel(x: Array, geometry: Any = ()) -> Any:
        planes = _planes(x)
        if planes is None or not _pairwise(geometry):
            return plain(x, geometry=geometry)
        size = window_counts(x.shape[-2:], *geometry)
        out, places = _like(x, size, x.dtype), _like(x, size, np.uint8)
        missing = np.zeros(1, bool)
        shared(_pairs, (planes, _planes(out), _planes(places)), missing, worth=_WORTH)
        return plain(x, geometry=geometry) if missing[0] else (out, places)

    return kernel


def _make_place(plain: Kernel) -> Kernel:
    def kernel(x: Array, places: Array, size: Any = (), geometry: Any = ()) -> Array:
        where, at = _windows(geometry), _planes(places)
        if where is None or at is None or x.shape != places.shape or x.ndim < 3:
            found: Array = plain(x, places, size=size, geometry=geometry)
            return found
        planes, out = _planes(x), _like(places, size, x.dtype)
        if planes is None or _lead(x) != _lead(places):
            image = _like(places, x.shape[-2:], x.dtype)
            image[...] = x
            planes = _planes(image)
        if _pairwise(geometry):
            bits = np.dtype(f"i{x.itemsize}")
            shared(_place_in_pairs, (planes.view(bits), at, _planes(out).view(bits)), worth=_WORTH)
        else:
            shared(_place, (planes, at, _planes(out)), where)
        return out

    return kernel


MAKERS: dict[str, Callable[[Kernel], Kernel]] = {
    "max_pool": _make_max_pool, "place_in_windows": _make_place,
}  # fmt: skip
