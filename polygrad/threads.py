"""Large arrays are shared among threads: loops over them let go of the interpreter's lock.

numba has threads of its own, but some of its layers end the process where two threads call at
once, and others where a process forked after a call: loaders of data do both. A pool of Python's
threads does neither, and costs some tens of microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["COUNT", "WORTH", "count", "in_parts", "shared"]

WORTH = 1 << 16  # elements for each thread

_pool: ThreadPoolExecutor | None = None
_within: ContextVar[bool] = ContextVar("within a part", default=False)


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


def in_parts(function: Callable[[int, int], None], n: int, parts: int) -> None:
    """Call `function(start, stop)` for parts of range(n), each in a thread and in this context.

    There are `parts` of them, or as many as there are threads.

    Within a part there are no parts: threads that wait for threads of the same pool would do so for
    ever.
    """
    parts = min(parts, COUNT)
    if parts < 2 or _within.get():
        function(0, n)
        return
    bounds = [n * i // parts for i in range(parts + 1)]
    token, started, own = _within.set(True), [], [(0, bounds[1])]
    try:
        for i, j in pairwise(bounds[1:]):
            try:
                started.append(_workers().submit(copy_context().run, function, i, j))
            except RuntimeError:  # Python is about to end, and starts no more threads
                own.append((i, j))
        try:
            for i, j in own:
                function(i, j)
        finally:
            errors = [other.exception() for other in started]  # waits
    finally:
        _within.reset(token)
    for error in errors:
        if error is not None:
            raise error


def shared(
    loop: Callable[..., None], arrays: Sequence[Any], *others: Any, worth: int = WORTH
) -> None:
    """Call `loop(*arrays, *others)`, of large arrays for parts of their first axis.

    Each part of all `arrays` goes to a thread, of `worth` elements at least; `others` go to all.
    """
    first = arrays[0]
    n = first.shape[0]
    parts = min(COUNT, n, first.size // worth)
    if parts < 2:
        loop(*arrays, *others)
    else:
        in_parts(lambda i, j: loop(*[a[i:j] for a in arrays], *others), n, parts)


def _workers() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603  one pool for a process
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  large arrays only

        _pool = ThreadPoolExecutor(max(COUNT - 1, 1), "polygrad")
    return _pool


def _forget() -> None:
    """A forked child has no threads but its own."""
    global _pool  # noqa: PLW0603
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
