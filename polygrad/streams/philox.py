"""Philox4x64-10: NumPy's, block after block, and here for blocks that do not follow one another.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["WORDS", "blocks_at", "high_product", "philox"]

Host = np.ndarray[Any, Any]
WORDS = 4  # of 64 bits, in a block
_MASK = (1 << 64) - 1
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10


def philox(seed: int, lane: int, block: int) -> Any:
    """NumPy's generator, which is to give the words from `block` on of key (seed, lane).

    NumPy counts up before it computes. Its words are handed over as arrays, for of a list NumPy
    makes float64 from 2**63 on.
    """
    counter = np.array([block & _MASK, block >> 64 & _MASK, 0, 0], np.uint64)
    return np.random.Philox(key=np.array([seed, lane], np.uint64), counter=counter)


def high_product(a: Host, factor: int) -> Host:
    """The high word of `a * factor`, a in uint64 and factor up to 2**64."""
    low, high = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    a_low, a_high = a & _LOW, a >> _SHIFT
    middle = a_high * low + (a_low * low >> _SHIFT)
    if not high:
        return middle >> _SHIFT
    other = a_low * high + (middle & _LOW)
    total: Host = a_high * high + (middle >> _SHIFT) + (other >> _SHIFT)
    return total


def blocks_at(seed: int, lane: int, block: int, places: Host) -> Host:
    """The words of the blocks `block + places`, any of them, of key (seed, lane).

    Parameters
    ----------
    seed, lane
        The key.
    block
        A number that is added to all places.
    places
        int64, at least zero, of shape (n,).

    Returns
    -------
    ndarray
        uint64 of shape (n, 4).

    >>> import numpy as np
    >>> bool((blocks_at(7, 0, 3, np.array([2]))[0] == philox(7, 0, 5).random_raw(4)).all())
    True
    """
    first, offset = block + 1, places.astype(np.uint64)
    c0 = offset + np.uint64(first & _MASK)
    c1 = (c0 < offset).astype(np.uint64) + np.uint64(first >> 64 & _MASK)
    c2 = c3 = np.zeros_like(c0)
    keys = [seed, lane]
    for _ in range(_ROUNDS):
        a, b = (high_product(c, m) for c, m in zip((c0, c2), _MULTIPLIERS, strict=True))
        c1, c3 = b ^ c1 ^ np.uint64(keys[0]), a ^ c3 ^ np.uint64(keys[1])
        c0, c1, c2, c3 = c1, c2 * np.uint64(_MULTIPLIERS[1]), c3, c0 * np.uint64(_MULTIPLIERS[0])
        keys = [(k + w) & _MASK for k, w in zip(keys, _WEYL, strict=True)]
    return np.stack((c0, c1, c2, c3), axis=1)
