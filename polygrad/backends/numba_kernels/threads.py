"""Large arrays are shared among threads; compiled loops run without the interpreter's lock.

numba has threads of its own, but some of its layers end the process where two threads call at
once, and others where a process forked after a call: loaders of data do both. A pool of Python's
threads does neither, and costs some tens of microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

__all__ = ["count", "shared"]

WORTH = 1 << 16  # elements for each thread

_pool: ThreadPoolExecutor | None = None


def count() -> int:
    """How many threads: OMP_NUM_THREADS, or the processors that this process may use."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    if text.isdecimal() and int(text):
        return int(text)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


COUNT = count()


def shared(loop: Callable[..., None], arrays: Sequence[Any], *others: Any) -> None:
    """Call `loop(*arrays, *others)`, of large arrays for parts of their first axis.

    Each part of all `arrays` goes to a thread; `others` go to all.
    """
    first = arrays[0]
    n = first.shape[0]
    parts = min(COUNT, n, first.size // WORTH)
    if parts < 2:
        loop(*arrays, *others)
        return
    pool, bounds = _workers(), [n * i // parts for i in range(parts + 1)]
    pieces = [
        [a[bounds[i] : bounds[i + 1]] for a in arrays] for i in range(parts)
    ]  # fmt: skip
    started = [pool.submit(loop, *piece, *others) for piece in pieces[1:]]
    try:
        loop(*pieces[0], *others)
    finally:
        wait(started)
    for other in started:
        other.result()


def _workers() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603  one pool for a process
    if _pool is None:
        _pool = ThreadPoolExecutor(max(COUNT - 1, 1), "polygrad")
    return _pool


def _forget() -> None:
    """A forked child has no threads but its own."""
    global _pool  # noqa: PLW0603
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
