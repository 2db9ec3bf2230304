"""Functions of each element, of large arrays: in pieces, and in threads.

Note [Pieces]
-------------
Functions that take NumPy nanoseconds an element, and formulas of many steps, are computed of large
arrays in pieces: two threads compute two of them at once, and of a formula all steps but the first
find their operands in the cache. Each element is computed as in the whole array, so nothing else
changes. A piece is large enough for threads to meet rarely at the interpreter's lock. Sums and
products wait for memory rather than for the processor, and are left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.threads import in_parts

__all__ = ["PIECEWISE", "in_pieces"]

LARGE = 1 << 18  # elements
PIECE = 1 << 17

PIECEWISE = frozenset((  # with a result of the dtype of their operand
    "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "sigmoid", "silu", "silu_slope", "gelu", "gelu_slope", "gelu_tanh", "gelu_tanh_slope",
    "softplus", "logsigmoid", "mish", "softsign", "tanhshrink", "elu", "erf", "erfc",
))  # fmt: skip


def in_pieces(kernel: Kernel) -> Kernel:
    """`kernel`, a function of each element of one array, for large arrays in pieces."""
    pieces = _of_ufunc if isinstance(kernel, np.ufunc) else _of_formula

    def inner(x: Array, **keywords: Any) -> Array:
        if x.size < LARGE or not x.flags.c_contiguous:
            return kernel(x, **keywords)
        return pieces(kernel, x, keywords)

    inner.__name__ = inner.__qualname__ = getattr(kernel, "__name__", "kernel")
    return inner


def _of_ufunc(kernel: Kernel, x: Array, keywords: dict[str, Any]) -> Array:
    """A piece for each thread, written where it belongs."""
    out = np.empty(x.shape, x.dtype)
    flat, to = x.reshape(-1), out.reshape(-1)
    in_parts(lambda i, j: kernel(flat[i:j], to[i:j], **keywords), x.size, x.size // PIECE)
    return out


def _of_formula(kernel: Kernel, x: Array, keywords: dict[str, Any]) -> Array:
    """Pieces of one size, which share nothing but where they are written."""
    out = np.empty(x.shape, x.dtype)
    flat, to = x.reshape(-1), out.reshape(-1)

    def part(start: int, stop: int) -> None:
        for i in range(start, stop, PIECE):
            j = min(i + PIECE, stop)
            to[i:j] = kernel(flat[i:j], **keywords)

    in_parts(part, x.size, x.size // PIECE)
    return out
