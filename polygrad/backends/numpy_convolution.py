"""NumPy's convolutions: a piece of the batch at a time.

Note [Columns by pieces]
------------------------
A convolution is one product of matrices once the windows of all samples stand in the columns of
one, which has the input's elements as often as the kernel has places. For a whole batch that is the
largest array of a training step by far, and is read and written in main memory. So the batch goes
through in pieces, each with columns of at most PIECE bytes. The bound is a compromise: twice of it
shows in the peak of small networks' memory. Each piece is a product of its own, for which the
threads of OpenBLAS meet, and where another process has one of the cores they wait for each other.

Note [Windows in one run]
-------------------------
Where windows keep the size and are one step apart, all that a place in the kernel has of an image
is the image, shifted: one run in memory instead of a short one for each row. What the shift brings
from beyond the end of an axis is then set to zero.

Note [Rows in one run]
----------------------
The adjoint for x adds the columns to where they were taken from, for each place in the kernel: rows
as long as the last axis, which are short, and NumPy takes longer to go from row to row than to add.
Between windows that are one step apart, the rows of an image lie end to end in memory, but for what
the padded input is longer. Where the cotangent has zeros there, the product has them too, and what
each place of the kernel has of a sample is added in one run. Not if a weight is infinite or NaN:
its product with these zeros would be NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.indexing import window_counts
from polygrad.kernels import FORWARDS

__all__ = ["CONVOLUTIONS"]

PIECE = 1 << 21  # bytes

Shape = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


def _forward(name: str) -> Kernel:
    """The primitive's own forward, which has the checks and all that is rare."""
    found = FORWARDS[name]
    if found is None:
        raise KeyError(name)
    return found


def _pieces(batch: int, channels: int, kernel: Shape, windows: Shape, itemsize: int) -> list[slice]:
    """The samples in pieces of about one size: see Note [Columns by pieces]."""
    size = batch * channels * math.prod(kernel) * math.prod(windows) * itemsize
    count = min(batch, -(-size // PIECE))
    if count < 2:
        return []
    length = -(-batch // count)
    return [slice(start, start + length) for start in range(0, batch, length)]


def _window_columns(F: Any, x: Array, geometry: Any) -> Array:
    """Of windows that keep the size: see Note [Windows in one run]."""
    (kernel, stride, padding, dilation), size = geometry, x.shape[2:]
    same = all(s == 1 for s in stride) and window_counts(size, *geometry) == size
    if not same or math.prod(kernel) == 1 or not x.size:
        return _forward("window_columns")(F, x, geometry)
    channels, batch = x.shape[:2]
    n = math.prod(size)
    if not x[0, 0].flags.c_contiguous:
        x = np.ascontiguousarray(x)
    flat = x.reshape(channels, batch, n)
    out = np.empty((channels, math.prod(kernel), batch, *size), x.dtype)
    runs = out.reshape(channels, -1, batch, n)
    steps = _steps(size)
    for k, place in enumerate(np.ndindex(*kernel)):
        by = [i * d - lo for i, d, (lo, _) in zip(place, dilation, padding, strict=True)]
        shift = sum(map(operator.mul, by, steps))
        low, high = max(0, -shift), min(n, n - shift)
        if low < high:
            runs[:, k, :, low:high] = flat[:, :, low + shift : high + shift]
        for axis, offset in enumerate(by):
            if offset:
                start = 0 if offset < 0 else max(0, size[axis] - offset)
                beyond = slice(start, -offset if offset < 0 else None)
                out[(slice(None), k, *(slice(None),) * (axis + 1), beyond)] = 0
    return out


def _convolution(
    F: Any, x: Array, w: Array, b: Array | None, stride: Shape, padding: Pads, dilation: Shape,
    groups: int,
) -> Array:  # fmt: skip
    """What the forward makes of each piece, channels first in memory as there."""
    plain = _forward("convolution")
    kernel = w.shape[2:]
    windows = window_counts(x.shape[2:], kernel, stride, padding, dilation)
    pieces = _pieces(len(x), x.shape[1], kernel, windows, x.itemsize)
    if not pieces:
        return plain(F, x, w, b, stride, padding, dilation, groups)
    out = np.empty((len(w), len(x), *windows), x.dtype).swapaxes(0, 1)
    for piece in pieces:
        out[piece] = plain(F, x[piece], w, b, stride, padding, dilation, groups)
    return out


def _adjoint_w(
    F: Any, g: Array, x: Array, kernel: Shape, stride: Shape, padding: Pads, dilation: Shape,
    groups: int,
) -> Array:  # fmt: skip
    """The sum of what the forward makes of each piece; 16-bit floats have no digits for that."""
    plain = _forward("convolution_adjoint_w")
    pieces = _pieces(len(x), x.shape[1], kernel, g.shape[2:], x.itemsize)
    if not pieces or x.itemsize == 2:
        return plain(F, g, x, kernel, stride, padding, dilation, groups)
    out = plain(F, g[pieces[0]], x[pieces[0]], kernel, stride, padding, dilation, groups)
    for piece in pieces[1:]:
        out += plain(F, g[piece], x[piece], kernel, stride, padding, dilation, groups)
    return out


def _adjoint_x(
    F: Any, g: Array, w: Array, size: Shape, stride: Shape, padding: Pads, dilation: Shape,
    groups: int,
) -> Array:  # fmt: skip
    """See the notes."""
    kernel, windows = w.shape[2:], g.shape[2:]
    regular = g.size and w.size and all(s == 1 for s in stride) and min(map(min, padding)) >= 0
    if not regular or math.prod(kernel) == 1 or not np.isfinite(w).all():
        plain = _forward("convolution_adjoint_x")
        return plain(F, g, w, size, stride, padding, dilation, groups)
    padded = tuple(n + lo + hi for n, (lo, hi) in zip(size, padding, strict=True))
    run, steps = _run(windows, padded)
    starts = _starts(kernel, dilation, steps)
    channels, batch = groups * w.shape[1], len(g)
    rows = w.reshape(groups, len(w) // groups, -1).swapaxes(1, 2)
    total = np.zeros((channels, batch, math.prod(padded)), g.dtype)
    wide = (windows[0], *padded[1:])
    every = _pieces(batch, channels, kernel, wide, g.itemsize) or [slice(0, batch)]
    for piece in every:
        parts = F.matmul(rows, _widened(g[piece], wide, groups))
        _add_runs(total[:, piece], parts, starts, run)
        del parts  # before the next are made
    inner = (slice(lo, lo + n) for n, (lo, _) in zip(size, padding, strict=True))
    return total.reshape(channels, batch, *padded)[:, :, *inner].swapaxes(0, 1)


def _steps(size: Shape) -> list[int]:
    """How many elements lie from one to the next along each axis, in C order."""
    return [math.prod(size[axis + 1 :]) for axis in range(len(size))]


def _run(windows: Shape, padded: Shape) -> tuple[int, list[int]]:
    """How many elements lie from the first window of a sample to its last, and an axis's step."""
    steps = _steps(padded)
    return 1 + sum((n - 1) * step for n, step in zip(windows, steps, strict=True)), steps


def _starts(kernel: Shape, dilation: Shape, steps: list[int]) -> list[int]:
    """Where the run of each place in the kernel begins, in C order."""
    return [
        sum(i * d * step for i, d, step in zip(place, dilation, steps, strict=True))
        for place in np.ndindex(*kernel)
    ]


def _widened(g: Array, wide: Shape, groups: int) -> Array:
    """A matrix for each group, channels first, the axes filled up with zeros."""
    out = np.zeros((g.shape[1], len(g), *wide), g.dtype)
    out[:, :, *(slice(n) for n in g.shape[2:])] = g.swapaxes(0, 1)
    return out.reshape(groups, g.shape[1] // groups, -1)


def _add_runs(total: Array, parts: Array, starts: list[int], run: int) -> None:
    """Add to (channels, samples, elements) what each place in the kernel has."""
    parts = parts.reshape(len(total), len(starts), total.shape[1], -1)
    for i, start in enumerate(starts):
        total[:, :, start : start + run] += parts[:, i, :, :run]


CONVOLUTIONS: dict[str, Callable[..., Array]] = {
    "window_columns": _window_columns,
    "convolution": _convolution,
    "convolution_adjoint_x": _adjoint_x,
    "convolution_adjoint_w": _adjoint_w,
}
