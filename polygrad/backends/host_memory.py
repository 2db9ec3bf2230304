"""The C library's free memory, and why a NumPy array that is gone should leave its pages behind.

Note [Memory that comes back]
-----------------------------
A training step makes the same arrays again and again. glibc gives an array of 128 KiB or more back
to the operating system when it dies, and asks for it anew the next time; each of its pages is then
zeroed and mapped in again, one fault for every 4 KiB, which costs more than the arithmetic. glibc
learns from what it sees: when a block that it had mapped is freed, blocks of that size are kept
from then on, and up to twice as many bytes of free memory (mallopt(3), M_MMAP_THRESHOLD; at most
32 MiB and 64 MiB). Whoever frees one array of nearly 32 MiB has taught it. That is all that is done
here: no setting is changed, no page of that block is ever touched, and a program that has set
MALLOC_MMAP_THRESHOLD_ or MALLOC_TRIM_THRESHOLD_ keeps what it has set, for glibc then learns
nothing. Other C libraries are not affected.
"""

from __future__ import annotations

import numpy as np

__all__ = ["keep_freed_memory"]

_LARGEST_LESSON = (32 << 20) - (64 << 10)  # bytes: what malloc adds must not carry it over 32 MiB


def keep_freed_memory() -> None:
    """Teach glibc to reuse the memory of large arrays: see Note [Memory that comes back]."""
    np.empty(_LARGEST_LESSON, np.uint8)
