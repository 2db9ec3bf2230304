"""How arrays lie in memory, as kernels are told: pure arithmetic of shapes and strides.

A dense array fills its memory without gaps, in any order of its axes: kernels read it where it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = [
    "SMALL", "THREADS", "Rows", "blocks_for", "is_dense", "last_rows", "launch_of", "one_row",
    "rows_of", "two_strides",
]  # fmt: skip

Shape = tuple[int, ...]
THREADS = 256
MOST = 512  # threads of a block: BLOCK in `text.py`
EACH = 4  # elements that a thread should have to walk over
WIDTH = 32  # rows side by side in memory, that threads side by side take
SMALL = 1 << 31


class Rows(NamedTuple):
    """What is reduced: `groups` rows of `n` elements, each of at most two strides.

    Row q begins at `q // g2 * t1 + q % g2 * t2`, and its element j is `j // n2 * s1 + j % n2 * s2`
    from there. `order` is that of the axes in memory: row q is element q of a C-ordered array of
    one element for each row, whose axes are permuted by it.
    """

    groups: int
    g2: int
    t1: int
    t2: int
    n: int
    n2: int
    s1: int
    s2: int
    order: Shape

    @property
    def adjacent(self) -> bool:
        """Whether elements of a row lie side by side in memory, rather than rows."""
        return self.s2 == 1 or self.n == 1 or self.groups == 1

    @property
    def lanes(self) -> int:
        """How many threads walk along one row: a power of two."""
        most = MOST if self.adjacent else THREADS // self.step
        return max(1, min(most, _power(-(-self.n // EACH))))

    @property
    def step(self) -> int:
        """The distance between the threads of one row."""
        return 1 if self.adjacent else min(WIDTH, _power(self.groups))

    @property
    def threads(self) -> int:
        """Of a block."""
        return max(THREADS, self.lanes) if self.step == 1 else self.lanes * self.step

    @property
    def blocks(self) -> int:
        """Of the grid."""
        return -(-self.groups // (self.threads // self.lanes))


@functools.lru_cache(maxsize=4096)
def launch_of(rows: Rows) -> tuple[int, int, tuple[int, ...]]:
    """Blocks, threads of a block, and ROWS, as the kernels have it."""
    return rows.blocks, rows.threads, (*rows[:8], rows.lanes, rows.step)


def _power(n: int) -> int:
    """The least power of two that is not less than n."""
    return 1 << max(0, n - 1).bit_length()


def _memory_order(shape: Shape, strides: Shape) -> Shape:
    """The axes from the largest stride to the least, those of length 1 as they come."""
    return tuple(sorted(range(len(shape)), key=lambda i: (-strides[i] if shape[i] > 1 else 0)))


def is_dense(array: Any) -> bool:
    """Whether the elements fill one piece of memory, in some order of the axes."""
    size = array.itemsize
    pairs = zip(array.strides, array.shape, strict=True)
    for stride, n in sorted((s, n) for s, n in pairs if n > 1):
        if stride != size:
            return False
        size *= n
    return True


def rows_of(array: Any, axis: int | Sequence[int]) -> Rows | None:
    """The rows of a dense array along axes; None if they are not of the form that `Rows` has."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return _rows_of(array.shape, array.strides, array.itemsize, axes)


@functools.lru_cache(maxsize=4096)
def _rows_of(shape: Shape, strides: Shape, itemsize: int, axes: Shape) -> Rows | None:
    along = {a % len(shape) for a in axes}
    order = _memory_order(shape, strides)
    parts: list[tuple[bool, int, int]] = []  # is of a row, length, stride
    for i in order:
        n, stride = shape[i], strides[i] // itemsize
        if n == 1:
            continue
        if parts and parts[-1][0] == (i in along):
            parts[-1] = (i in along, parts[-1][1] * n, stride)
        else:
            parts.append((i in along, n, stride))
    inner = [(n, s) for within, n, s in parts if within] or [(1, 1)]
    outer = [(n, s) for within, n, s in parts if not within] or [(1, 1)]
    if len(inner) > 2 or len(outer) > 2 or not 0 < math.prod(shape) < SMALL:
        return None
    (_, s1), (n2, s2) = inner[0], inner[-1]
    (_, t1), (g2, t2) = outer[0], outer[-1]
    groups, n = math.prod(n for n, _ in outer), math.prod(n for n, _ in inner)
    return Rows(groups, g2, t1, t2, n, n2, s1, s2, order)


def one_row(n: int) -> Rows:
    """n elements, one after the other."""
    return Rows(1, 1, 1, 1, n, n, 1, 1, (0,))


def last_rows(shape: Shape) -> Rows:
    """The rows along the last axis of a C-ordered array."""
    n, groups = shape[-1], math.prod(shape[:-1])
    return Rows(groups, groups, 1, n, n, n, 1, 1, tuple(range(len(shape))))


def two_strides(array: Any, axes: int) -> tuple[int, int, int] | None:
    """(n, s, t): element i of the first axes begins at `i // n * s + i % n * t`, or None."""
    parts: list[tuple[int, int]] = []  # length, stride
    for n, stride in zip(array.shape[:axes], array.strides[:axes], strict=True):
        step = stride // array.itemsize
        if n == 1:
            continue
        if parts and parts[-1][1] == step * n:
            parts[-1] = (parts[-1][0] * n, step)
        else:
            parts.append((n, step))
    parts = parts or [(1, 0)]
    return (parts[-1][0], parts[0][1], parts[-1][1]) if len(parts) < 3 else None


def blocks_for(n: int, threads: int = THREADS) -> int:
    """Blocks of threads that each take one of n elements."""
    return max(1, -(-n // threads))
