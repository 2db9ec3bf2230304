"""Sums of what has equal indices, in the order in which it comes: for every dtype, without atomics.

Indices are sorted, stably; then each run of equal ones is one sum, made by one thread for each
column. So the result is the same at every run, and that of NumPy's `add.at`, bit for bit.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.text import COMPLEX, NUMBERS
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY"]

TEXT = r"""
// x (outer, m, inner), out (outer, length, inner); `order` sorts the m places.
KERNEL add_runs(const T* x, const I* order, const I* places, T* out, I m, I outer, I length,
                I inner) {
    I t = (I)blockIdx.x * blockDim.x + threadIdx.x, columns = outer * inner;
    I k = t / columns, o = t % columns / inner, i = t % inner;
    if (k >= m || (k && places[k - 1] == places[k])) return;
    A total = wide(x[(o * m + order[k]) * inner + i]);
    for (I j = k + 1; j < m && places[j] == places[k]; j++)
        total = total + wide(x[(o * m + order[j]) * inner + i]);
    out[(o * length + places[k]) * inner + i] = narrow(total);
}
"""


def _add_runs(gpu: Launcher, x: Array, places: Array, shape: tuple[int, int, int]) -> Array:
    """Zeros (outer, length, inner), with x (outer, m, inner) added at m places."""
    outer, length, inner = shape
    out = gpu.library.zeros(shape, x.dtype)
    order = gpu.library.argsort(places)
    n, m = x.size, places.size
    gpu.over_all(
        FAMILY, "add_runs", x, n,
        gpu.contiguous(x), order, places[order], out, m, outer, length, inner,
    )  # fmt: skip
    return out


def _take_adjoint(
    gpu: Launcher, F: Kernels, x: Array, indices: Array, shape: tuple[int, ...], axis: int = 0
) -> Array:
    axis %= len(shape)
    outer, length, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    if not x.size or not length:
        return forward("take_adjoint", F, x, indices, shape=shape, axis=axis)
    places = indices.reshape(-1).astype("int64", copy=False) % length
    return _add_runs(gpu, x, places, (outer, length, inner)).reshape(shape)


def _getitem_adjoint(
    gpu: Launcher, F: Kernels, x: Array, key: tuple[Any, ...], shape: tuple[int, ...]
) -> Array:
    n = math.prod(shape)
    picked = any(getattr(k, "ndim", 0) and k.dtype.kind in "iu" for k in key)
    if not picked or not x.size or not n:
        return forward("getitem_adjoint", F, x, key=key, shape=shape)
    places = gpu.library.arange(n).reshape(shape)[key]
    if places.shape != x.shape:
        return forward("getitem_adjoint", F, x, key=key, shape=shape)
    return _add_runs(gpu, x, places.reshape(-1), (1, n, 1)).reshape(shape)


DTYPES = ("bool", *NUMBERS, *COMPLEX)
FAMILY = Family(
    "scattering",
    TEXT,
    (
        Row("take_adjoint", _take_adjoint, DTYPES, ("add_runs",)),
        Row("getitem_adjoint", _getitem_adjoint, DTYPES, ("add_runs",)),
    ),
)
