"""Softmax, its logarithm, their adjoints, and cross entropy with its slope."""

from __future__ import annotations

import math
from typing import Any

from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.layout import launch_of, one_row, rows_of
from polygrad.backends.cupy_kernels.text import REALS, wide_name
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY"]

SUMS, MOST_SUMS = 2048, 256  # targets for each block that sums losses; how many blocks at most

TEXT = r"""
KERNEL softmax(const T* x, T* out, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A top = -INF, total = 0;
    EACH(j) top = Max()(top, wide(x[place(r, j)]));
    top = together(r, top, shared, Max());
    EACH(j) total += exp(wide(x[place(r, j)]) - top);
    total = together(r, total, shared, Sum());
    EACH(j) out[place(r, j)] = narrow(exp(wide(x[place(r, j)]) - top) / total);
}

KERNEL log_softmax(const T* x, T* out, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A top = -INF, total = 0;
    EACH(j) top = Max()(top, wide(x[place(r, j)]));
    top = together(r, top, shared, Max());
    EACH(j) total += exp(wide(x[place(r, j)]) - top);
    total = log(together(r, total, shared, Sum()));
    EACH(j) out[place(r, j)] = narrow(wide(x[place(r, j)]) - top - total);
}

KERNEL softmax_adjoint(const T* g, const T* y, T* out, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A total = 0;
    EACH(j) total += wide(g[place(r, j)]) * wide(y[place(r, j)]);
    total = together(r, total, shared, Sum());
    EACH(j) out[place(r, j)] = narrow(wide(y[place(r, j)]) * (wide(g[place(r, j)]) - total));
}

KERNEL log_softmax_adjoint(const T* g, const T* y, T* out, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A total = 0;
    EACH(j) total += wide(g[place(r, j)]);
    total = together(r, total, shared, Sum());
    EACH(j) out[place(r, j)] = narrow(wide(g[place(r, j)]) - exp(wide(y[place(r, j)])) * total);
}

// Minus the log of the class of target i, of logs (samples, classes, places).
D A loss_of(const T* logs, const I* target, I i, I classes, I places, I ignored) {
    I chosen = target[i];
    if (chosen == ignored) return 0;
    return -wide(logs[(i / places * classes + chosen) * places + i % places]);
}

KERNEL cross_entropy(const T* logs, const I* target, T* out, I n, I classes, I places, I ignored) {
    I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = narrow(loss_of(logs, target, i, classes, places, ignored));
}

// The sum of the losses of one part of the targets for each block.
KERNEL cross_entropy_sums(const T* logs, const I* target, A* out, I classes, I places, I ignored,
                          ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A total = 0;
    for (I i = blockIdx.x * lanes + r.lane; i < n; i += lanes * gridDim.x)
        total += loss_of(logs, target, i, classes, places, ignored);
    total = together(r, total, shared, Sum());
    if (r.lane == 0) out[blockIdx.x] = total;
}

KERNEL cross_entropy_total(const A* sums, T* out, double over, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A total = 0;
    EACH(j) total += sums[place(r, j)];
    total = together(r, total, shared, Sum());
    if (r.first) out[0] = narrow(total / (A)over);
}

KERNEL cross_entropy_slope(const T* logs, const I* target, T* out, I n, I classes, I places,
                           I ignored) {
    I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    I chosen = target[i / places / classes * places + i % places];
    A soft = exp(wide(logs[i]));
    if (chosen == i / places % classes) soft = soft - 1;
    out[i] = narrow(chosen == ignored ? (A)0 : soft);
}
"""


def _along(name: str) -> Any:
    """An operation along one axis, from x to an array of its shape."""

    def call(gpu: Launcher, F: Kernels, x: Array, axis: int = -1) -> Array:
        x = gpu.dense(x)
        rows = rows_of(x, axis)
        if rows is None:
            return forward(name, F, x, axis=axis)
        out = gpu.like(x)
        gpu.over_rows(FAMILY, name, x, rows, x, out)
        return out

    return call


def _adjoint(name: str) -> Any:
    """Of an operation along one axis, from its result."""

    def call(gpu: Launcher, F: Kernels, g: Array, y: Array, axis: int = -1) -> Array:
        y = gpu.dense(y)
        rows, beside = rows_of(y, axis), gpu.beside(g, y)
        if rows is None or beside is None:
            return forward(name, F, g, y, axis=axis)
        out = gpu.like(y)
        gpu.over_rows(FAMILY, name, y, rows, beside, y, out)
        return out

    return call


def _operands(gpu: Launcher, target: Array, logs: Array, ignore_index: int | None) -> Any:
    """Logits and targets as the kernels read them, and the numbers that describe them."""
    classes, places = logs.shape[1], math.prod(logs.shape[2:])
    target = gpu.contiguous(target.astype("int64", copy=False))
    ignored = -1 if ignore_index is None else ignore_index
    return gpu.contiguous(logs), target, (classes, places, ignored)


def _cross_entropy(
    gpu: Launcher, F: Kernels, x: Array, target: Array, logs: Array, ignore_index: int | None,
    total: Any,
) -> Array:  # fmt: skip
    n = target.size
    if not n or logs.dtype != F.dtype:
        return forward(
            "cross_entropy", F, x, target, logs, ignore_index=ignore_index, total=total
        )
    logs, target, numbers = _operands(gpu, target, logs, ignore_index)
    if total is None:
        out = gpu.empty(target.shape, logs.dtype)
        gpu.over_all(FAMILY, "cross_entropy", logs, n, logs, target, out, n, *numbers)
        return out
    sums = gpu.empty((max(1, min(MOST_SUMS, n // SUMS)),), wide_name(logs.dtype.name))
    rows, last = one_row(n), one_row(sums.size)
    dtype, out = logs.dtype, gpu.empty((), logs.dtype)
    gpu.run(FAMILY, "cross_entropy_sums", dtype, sums.size, rows.lanes,
            logs, target, sums, *numbers, *launch_of(rows)[2])  # fmt: skip
    gpu.run(FAMILY, "cross_entropy_total", dtype, 1, last.threads,
            sums, out, float(total), *launch_of(last)[2])  # fmt: skip
    return out


def _slope(
    gpu: Launcher, F: Kernels, x: Array, target: Array, logs: Array, ignore_index: int | None
) -> Array:
    if not logs.size or logs.dtype != F.dtype:
        return forward("cross_entropy_slope", F, x, target, logs, ignore_index=ignore_index)
    logs, target, numbers = _operands(gpu, target, logs, ignore_index)
    out, n = gpu.like(logs), logs.size
    gpu.over_all(FAMILY, "cross_entropy_slope", logs, n, logs, target, out, n, *numbers)
    return out


FAMILY = Family(
    "softmax",
    TEXT,
    (
        Row("softmax", _along("softmax"), REALS, ("softmax",)),
        Row("log_softmax", _along("log_softmax"), REALS, ("log_softmax",)),
        Row("softmax_adjoint", _adjoint("softmax_adjoint"), REALS, ("softmax_adjoint",)),
        Row("log_softmax_adjoint", _adjoint("log_softmax_adjoint"), REALS,
            ("log_softmax_adjoint",)),
        Row("cross_entropy", _cross_entropy, REALS,
            ("cross_entropy", "cross_entropy_sums", "cross_entropy_total")),
        Row("cross_entropy_slope", _slope, REALS, ("cross_entropy_slope",)),
    ),
)  # fmt: skip
