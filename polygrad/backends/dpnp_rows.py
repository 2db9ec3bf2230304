"""Kernels in OpenCL C that go along rows: what a classifier does with a few numbers a sample.

A loss of 512 rows of 10 takes the library a dozen calls, each dearer than its arithmetic; here it
takes three. One work item goes along one row. Rows of more than LONGEST numbers are the library's,
whose sums are by parts, so that they do not lose digits.
"""

from __future__ import annotations

import ctypes
from typing import Any

import dpnp
import numpy as np

from polygrad.backend import Array, Backend, Kernel, Kernels
from polygrad.backends.dpnp_memory import room_for
from polygrad.backends.dpnp_opencl import C_NAMES, forward_of, kernel_of, launch

__all__ = ["register"]

LONGEST = 1 << 10
_READ_ON_HOST = 1 << 16  # elements up to which a copy costs less than two reductions

_SOURCE = r"""
#pragma OPENCL FP_CONTRACT OFF
#define ROW(x) x##_memory + x##_start + get_global_id(0) * n
#define IN(x) global const real *x##_memory, long x##_start
#define OUT(x) global real *x##_memory, long x##_start
#define TARGET global const long *target_memory, long target_start
#define CLASS target_memory[target_start + get_global_id(0)]

real largest(global const real *x, long n) {
    real top = x[0];
    for (long j = 1; j < n; j++)
        if (x[j] > top || x[j] != x[j]) top = x[j];
    return top;
}
kernel void softmax(IN(x), OUT(out), long n) {
    global const real *x = ROW(x);
    global real *out = ROW(out);
    real top = largest(x, n), total = 0;
    for (long j = 0; j < n; j++) total += out[j] = exp(x[j] - top);
    for (long j = 0; j < n; j++) out[j] /= total;
}
kernel void log_softmax(IN(x), OUT(out), long n) {
    global const real *x = ROW(x);
    global real *out = ROW(out);
    real top = largest(x, n), total = 0;
    for (long j = 0; j < n; j++) total += exp(x[j] - top);
    total = log(total);
    for (long j = 0; j < n; j++) out[j] = x[j] - top - total;
}
kernel void pick(IN(x), TARGET, OUT(out), long n) {
    global const real *x = ROW(x);
    out_memory[out_start + get_global_id(0)] = -x[CLASS];
}
kernel void slope(IN(x), TARGET, OUT(out), long n) {
    global const real *x = ROW(x);
    global real *out = ROW(out);
    long class = CLASS;
    for (long j = 0; j < n; j++) out[j] = exp(x[j]) - (j == class);
}
kernel void add_row(IN(x), OUT(out), long n) {
    global real *out = ROW(out);
    for (long j = 0; j < n; j++) out[j] += x_memory[x_start + j];
}
"""


def _rows(F: Kernels, name: str, arrays: list[Array], out: Array, count: int, n: int) -> Array:
    """Call a kernel for each of `count` rows of n; it writes to `out`."""
    if count and n:
        kernel = kernel_of(F.native_device, _SOURCE, C_NAMES[F.dtype.name], name)
        launch(F.native_device, kernel, [*arrays, out], [ctypes.c_int64(n)], count)
    return out


def _empty(F: Kernels, shape: tuple[int, ...]) -> Array:
    out = room_for(shape, F.dtype, F.native_device)
    if out is None:
        out = dpnp.empty(shape, dtype=F.dtype, sycl_queue=F.native_device)
    return out


def _along_rows(name: str) -> Kernel:
    """Softmax, or its logarithm."""

    def factory(F: Kernels) -> Kernel:
        plain = forward_of(name, F)

        def kernel(x: Array, axis: int = -1) -> Array:
            last = axis in (-1, x.ndim - 1) and x.dtype == F.dtype
            if not last or not x.flags.c_contiguous or not 0 < x.shape[-1] <= LONGEST:
                return plain(x, axis=axis)
            n = x.shape[-1]
            return _rows(F, name, [x], _empty(F, x.shape), x.size // n, n)

        return kernel

    return factory


# ---- cross entropy: see polygrad.ops.cross_entropy -----------------------------------------------
def _served(F: Kernels, target: Array, logs: Array, ignore_index: int | None) -> bool:
    """Whether there are classes of all rows, in memory as the kernels read it."""
    arrays = target.flags.c_contiguous and logs.flags.c_contiguous
    kinds = target.dtype == np.int64 and logs.dtype == F.dtype
    return arrays and kinds and logs.ndim == 2 and ignore_index is None


def _cross_entropy(F: Kernels) -> Kernel:
    plain = forward_of("cross_entropy", F)

    def kernel(
        x: Array, target: Array, logs: Array, ignore_index: int | None = None, total: Any = None
    ) -> Array:
        if not _served(F, target, logs, ignore_index):
            return plain(x, target, logs, ignore_index=ignore_index, total=total)
        count, n = logs.shape
        loss = _rows(F, "pick", [logs, target], _empty(F, (count,)), count, n)
        if total is None:
            return loss
        assert F.scalar is not None  # noqa: S101  the backend has it
        return dpnp.divide(dpnp.sum(loss), F.scalar(total))

    return kernel


def _slope(F: Kernels) -> Kernel:
    plain = forward_of("cross_entropy_slope", F)

    def kernel(x: Array, target: Array, logs: Array, ignore_index: int | None = None) -> Array:
        if not _served(F, target, logs, ignore_index):
            return plain(x, target, logs, ignore_index=ignore_index)
        count, n = logs.shape
        return _rows(F, "slope", [logs, target], _empty(F, (count, n)), count, n)

    return kernel


# ---- linear maps, indices ------------------------------------------------------------------------
def _linear(F: Kernels) -> Kernel:
    plain = forward_of("linear", F)

    def kernel(x: Array, weight: Array, bias: Array | None) -> Array:
        alike = bias is not None and all(a.dtype == F.dtype for a in (x, weight, bias))
        if bias is None or not alike or x.ndim != 2 or not bias.flags.c_contiguous:
            return plain(x, weight, bias)
        out = F.matmul(x, F.matrix_transpose(weight))
        if not out.flags.c_contiguous:
            return dpnp.add(out, bias)
        return _rows(F, "add_row", [bias], out, *out.shape)

    return kernel


def _index_range(x: Array) -> tuple[int, int]:
    """The smallest and the largest; few are looked at on the host."""
    if x.size > _READ_ON_HOST:
        return int(dpnp.min(x)), int(dpnp.max(x))
    host = dpnp.asnumpy(x)
    return int(host.min()), int(host.max())


def register(backend: Backend, device: str) -> None:
    """Let the kernels serve a device, in single and double precision."""
    for dtype in ("float32", "float64"):
        for name, make in (
            ("softmax", _along_rows("softmax")), ("log_softmax", _along_rows("log_softmax")),
            ("cross_entropy", _cross_entropy), ("cross_entropy_slope", _slope),
            ("linear", _linear),
        ):  # fmt: skip
            backend.kernel(name, device=device, dtype=dtype)(make)
    backend.kernel("index_range", device=device)(_index_range)
