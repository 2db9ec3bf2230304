"""The mask of dropout, drawn on the device, and its product.

The mask is that of the host, bit for bit: block b of a stream is Philox4x64-10 with the key
(seed, 0) and the counter b + 1, and number i is true if the i-th half of the words is less than the
threshold: Note [The stream] in `polygrad.streams.generator`. One thread makes one block, which is
eight numbers.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.layout import blocks_for
from polygrad.backends.cupy_kernels.text import REALS
from polygrad.kernels import Array, Kernels

__all__ = ["DRAWING", "FAMILY"]

IN_BLOCK = 8

TOSS = r"""
#define HALF_WORD 32
typedef unsigned long long U;

KERNEL toss(T* out, I n, I seed, I low, I high, I threshold) {
    I block = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (block * 8 >= n) return;
    U c0 = (U)low + block, c1 = (U)high + (c0 < (U)low), c2 = 0, c3 = 0;
    U k0 = seed, k1 = 0;
    for (int round = 0; round < 10; round++) {
        U a = __umul64hi(c0, 0xD2E7470EE14C6C93ull), a_low = c0 * 0xD2E7470EE14C6C93ull;
        U b = __umul64hi(c2, 0xCA5A826395121157ull), b_low = c2 * 0xCA5A826395121157ull;
        c0 = b ^ c1 ^ k0, c1 = b_low, c2 = a ^ c3 ^ k1, c3 = a_low;
        k0 += 0x9E3779B97F4A7C15ull, k1 += 0xBB67AE8584CAA73Bull;
    }
    U words[4] = {c0, c1, c2, c3};
    for (int i = 0; i < 8 && block * 8 + i < n; i++)
        out[block * 8 + i] = (I)(unsigned)(words[i / 2] >> i % 2 * HALF_WORD) < threshold;
}
"""

TEXT = r"""
KERNEL dropout(const T* x, const bool* mask, T* out, I n, double scale) {
    I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = narrow(wide(x[i]) * (mask[i] ? (A)scale : (A)0));
}
"""


def _signed(word: int) -> int:
    """A word of 64 bits as a long long."""
    return word - (1 << 64) if word >> 63 else word


def _toss(gpu: Launcher, shape: tuple[int, ...], p: float, generator: Any) -> Array:
    n = math.prod(shape)
    seed, position = generator.blocks(-(-n // IN_BLOCK))
    out = gpu.empty(shape, "bool")
    if n:
        first, mask = position + 1, (1 << 64) - 1
        words = (seed, first & mask, first >> 64 & mask)
        blocks = blocks_for(-(-n // IN_BLOCK))
        given = (out, n, *map(_signed, words), round(float(p) * 2**32))
        gpu.run(DRAWING, "toss", "bool", blocks, gpu.threads, *given)
    return out


def _dropout(gpu: Launcher, F: Kernels, x: Array, mask: Array, scale: float) -> Array:
    if not x.size or scale == 0 or mask.shape != x.shape or mask.dtype != bool:
        return forward("dropout", F, x, mask, scale=scale)
    x = gpu.dense(x)
    mask, out = gpu.in_order_of(x, mask), gpu.like(x)
    gpu.over_all(FAMILY, "dropout", x, x.size, x, mask, out, x.size, float(scale))
    return out


DRAWING = Family("drawing", TOSS, (Row("toss", _toss, ("bool",), ("toss",)),))
FAMILY = Family("dropout", TEXT, (Row("dropout", _dropout, REALS, ("dropout",)),))
