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

import functools
from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.threads import in_parts

__all__ = ["PIECEWISE", "in_pieces"]

LARGE = 1 << 18  # elements
PIECE = 1 << 17

PIECEWISE = frozenset((
    "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "sigmoid", "silu", "silu_slope", "gelu", "gelu_slope", "gelu_tanh", "gelu_tanh_slope",
    "softplus", "logsigmoid", "mish", "softsign", "hardswish", "tanhshrink", "elu", "leaky_relu",
    "erf", "erfc", "tanh_adjoint",
))  # fmt: skip


def in_pieces(kernel: Kernel) -> Kernel:
    """`kernel`, a function of each element of its first argument, for large arrays in pieces."""
    pieces = _of_ufunc if isinstance(kernel, np.ufunc) else _of_formula

    @functools.wraps(kernel, updated=())
    def inner(x: Array, *others: Any, **keywords: Any) -> Array:
        if x.size < LARGE:
            return kernel(x, *others, **keywords)
        arguments = (x, *others)
        sliced = [type(a) is np.ndarray and a.ndim > 0 for a in arguments]
        for a, array in zip(arguments, sliced, strict=True):
            if array and not (a.shape == x.shape and a.flags.c_contiguous):
                return kernel(*arguments, **keywords)
        flat = [a.reshape(-1) if array else a for a, array in zip(arguments, sliced, strict=True)]

        def part(start: int, stop: int) -> list[Any]:
            return [a[start:stop] if array else a for a, array in zip(flat, sliced, strict=True)]

        return pieces(kernel, part, x, keywords)

    return inner


def _of_ufunc(kernel: Kernel, part: Any, x: Array, keywords: dict[str, Any]) -> Array:
    """A piece for each thread, written where it belongs."""
    out = np.empty(x.shape, x.dtype)
    flat = out.reshape(-1)
    in_parts(lambda i, j: kernel(*part(i, j), flat[i:j], **keywords), x.size, x.size // PIECE)
    return out


def _of_formula(kernel: Kernel, part: Any, x: Array, keywords: dict[str, Any]) -> Array:
    """The first piece says what dtype there will be."""
    size = x.size
    first = kernel(*part(0, PIECE), **keywords)
    out = np.empty(x.shape, first.dtype)
    flat = out.reshape(-1)
    flat[:PIECE] = first

    def rest(start: int, stop: int) -> None:
        for i in range(PIECE + start, PIECE + stop, PIECE):
            j = min(i + PIECE, PIECE + stop)
            flat[i:j] = kernel(*part(i, j), **keywords)

    in_parts(rest, size - PIECE, size // PIECE - 1)
    return out
