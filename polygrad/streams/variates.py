"""Numbers on the host, made of words as Note [The stream] says."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.streams.generator import Generator, default_generator
from polygrad.streams.philox import high_product

__all__ = [
    "below", "closed_units", "coin", "half_units", "normals", "open_units", "polar",
]  # fmt: skip

Host = np.ndarray[Any, Any]


def open_units(words: Host) -> Host:
    """Multiples of 2**-53 in [0, 1): without 1."""
    units: Host = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return units


def closed_units(words: Host) -> Host:
    """Multiples of 2**-53 in (0, 1]: without 0, so that they have logarithms."""
    units: Host = ((words >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53
    return units


def half_units(halves: Host) -> Host:
    """Multiples of 2**-24 in [0, 1), in float32."""
    units: Host = (halves >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    return units


def polar(u: Host, v: Host) -> Host:
    """Box and Muller's pairs of normal numbers, of shape (n, 2)."""
    r = np.sqrt(-2 * np.log(u))
    a = v * u.dtype.type(2 * np.pi)
    z = np.empty((u.size, 2), u.dtype)
    np.multiply(r, np.cos(a), out=z[:, 0])
    np.multiply(r, np.sin(a), out=z[:, 1])
    return z


def normals(generator: Generator, n: int, double: bool) -> Host:
    """Standard normal numbers, in float64 or float32."""
    pairs = -(-n // 2)
    if double:
        words = generator.words(2 * pairs).reshape(pairs, 2)
        u, v = closed_units(words[:, 0]), open_units(words[:, 1])
    else:
        halves = generator.halves(2 * pairs).reshape(pairs, 2)
        u = (halves[:, 0].astype(np.float32) + np.float32(1)) * np.float32(2.0**-32)
        v = half_units(halves[:, 1])
    return polar(u, v).reshape(-1)[:n]


def below(generator: Generator, n: int, bound: int) -> Host:
    """Integers in [0, bound), as uint64: the high word of `w * bound`."""
    return high_product(generator.words(n), bound)


def coin(generator: Generator | None, p: float | Host, n: int) -> Host:
    """Booleans, True with probability p: one number, or n of them."""
    h = (generator or default_generator).halves(n)
    if isinstance(p, np.ndarray) and p.ndim:
        tossed: Host = h < np.round(p * 2.0**32).astype(np.uint64)
        return tossed
    threshold = round(float(p) * 2**32)
    return np.ones(n, bool) if threshold >= 2**32 else h < np.uint32(threshold)
