"""The product of matrices while a CUDA graph is recorded: CuPy refuses to record cuBLAS.

A block computes a square tile of the result from tiles of both operands in shared memory; a thread
has some of its elements, each a sum in the order of the inner axis. It makes no use of a GPU's
units for matrices: for products whose time goes into submitting them, which graphs are for. All
others are the library's.
"""

from __future__ import annotations

import math

import numpy as np

from polygrad.backends.bfloat16 import narrowed
from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row
from polygrad.backends.cupy_kernels.layout import SMALL, blocks_for
from polygrad.backends.cupy_kernels.text import REALS
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY", "product"]

TILE = 64  # rows and columns of a block
THREADS = 256

TEXT = r"""
#define TILE 64
#define DEEP 16
#define SIDE 16
#define SHARE (TILE / SIDE)

KERNEL matmul(const T* x, const T* y, T* out, I m, I n, I k, I down, I across, I x_n, I x_s, I x_t,
              I x_row, I x_column, I y_n, I y_s, I y_t, I y_row, I y_column) {
    __shared__ A xs[DEEP][TILE + 1];
    __shared__ A ys[DEEP][TILE + 1];
    I stack = blockIdx.x / (down * across), tile = blockIdx.x % (down * across);
    I top = tile / across * TILE, left = tile % across * TILE;
    unsigned t = threadIdx.x, row = t / SIDE, column = t % SIDE;
    x += stack / x_n * x_s + stack % x_n * x_t;
    y += stack / y_n * y_s + stack % y_n * y_t;
    A sums[SHARE][SHARE] = {};
    for (I start = 0; start < k; start += DEEP) {
        // Threads side by side read along the axis that lies so in memory.
        for (unsigned e = t; e < TILE * DEEP; e += SIDE * SIDE) {
            unsigned i = x_column == 1 ? e / DEEP : e % TILE;
            unsigned j = x_column == 1 ? e % DEEP : e / TILE;
            bool inside = top + i < m && start + j < k;
            xs[j][i] = inside ? wide(x[(top + i) * x_row + (start + j) * x_column]) : (A)0;
            i = y_column == 1 ? e % TILE : e / DEEP;
            j = y_column == 1 ? e / TILE : e % DEEP;
            inside = left + i < n && start + j < k;
            ys[j][i] = inside ? wide(y[(start + j) * y_row + (left + i) * y_column]) : (A)0;
        }
        __syncthreads();
        for (unsigned j = 0; j < DEEP; j++)
            for (unsigned a = 0; a < SHARE; a++)
                for (unsigned b = 0; b < SHARE; b++)
                    sums[a][b] += xs[j][row + a * SIDE] * ys[j][column + b * SIDE];
        __syncthreads();
    }
    for (unsigned a = 0; a < SHARE; a++)
        for (unsigned b = 0; b < SHARE; b++) {
            I i = top + row + a * SIDE, j = left + column + b * SIDE;
            if (i < m && j < n) out[(stack * m + i) * n + j] = narrow(sums[a][b]);
        }
}
"""


def _matmul(gpu: Launcher, F: Kernels, x: Array, y: Array) -> Array:
    """The library's product, or a kernel that can be recorded."""
    if gpu.recording() is not None:
        return product(gpu, F, x, y)
    made = x @ y
    # What was bfloat16 may have been promoted: Note [bfloat16].
    return made if made.dtype == F.native_dtype else narrowed(made, F.native_dtype)


def product(gpu: Launcher, F: Kernels, x: Array, y: Array) -> Array:
    """What `operator.matmul` gives of floating arrays, by the kernel."""
    x, y = F.cast(x), F.cast(y)
    shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    ends = (*x.shape[-2:-1], *(y.shape[-1:] if y.ndim > 1 else ()))
    x, y = (x[None] if x.ndim == 1 else x), (y[:, None] if y.ndim == 1 else y)
    (m, k), n = x.shape[-2:], y.shape[-1]
    out = gpu.empty((*shape, *ends), x.dtype)
    if out.size:
        _launch(gpu, out, x, y, (*shape, m, n, k))
    return out


def _launch(gpu: Launcher, out: Array, x: Array, y: Array, sizes: tuple[int, ...]) -> None:
    *stack, m, n, k = sizes
    x, x_strides = gpu.broadcast(x, (*stack, m, k))
    y, y_strides = gpu.broadcast(y, (*stack, k, n))
    down, across = blocks_for(m, TILE), blocks_for(n, TILE)
    blocks = math.prod(stack) * down * across
    if blocks >= SMALL:
        raise ValueError(f"a product of {blocks} tiles, while a graph is recorded")
    gpu.run(
        FAMILY, "matmul", out.dtype, blocks, THREADS,
        x, y, out, m, n, k, down, across, *x_strides, *y_strides,
    )  # fmt: skip


FAMILY = Family("products", TEXT, (Row("matmul", _matmul, REALS, ("matmul",)),))
