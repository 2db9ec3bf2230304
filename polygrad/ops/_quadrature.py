"""Integrals of smooth functions of many scales, of arrays of parameters at once.

The nodes are a leading axis, so that parameters broadcast against it; of large arrays a few nodes
are taken at a time, and memory does not grow with the number of nodes. All parameters of an
integrand must have one shape.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["integral", "trapezoidal"]

_BLOCK = 1 << 16  # elements that are computed at a time
Host = np.ndarray[Any, Any]


def trapezoidal(F: Any, integrand: Callable[[Any], Any], low: Any, high: Any, nodes: int) -> Any:
    """The integral from `low` to `high` of a function that vanishes at both: the sum of its values.

    For analytic functions the error falls exponentially with the number of nodes.
    """
    step = (high - low) / (nodes - 1)
    return _sum(F, np.arange(nodes), np.ones(nodes), lambda t: (low + step * t, step), integrand)


def integral(
    F: Any,
    integrand: Callable[[Any], Any],
    end: Any,
    scale: Any = None,
    *,
    panels: int = 6,
    nodes: int = 16,
) -> Any:
    """The integral of `integrand` from 0 to `end`, by Gauss and Legendre's rule on panels.

    The first panel goes from 0 to `scale`, the smallest scale of the function, the others from
    there in equal steps of log(v); without `scale` there is one. Where `integrand` returns a tuple,
    so does this.
    """
    t, w = _rule(nodes)
    first = end if scale is None else scale
    found = _sum(F, t, w, lambda t: (first * t, first), integrand)
    if scale is None:
        return found
    width = F.log(end / scale) / (panels - 1)
    t, w = (np.arange(panels - 1)[:, None] + t).reshape(-1), np.tile(w, panels - 1)

    def place(t: Any) -> tuple[Any, Any]:
        v = scale * F.exp(width * t)
        return v, v * width

    return _add(found, _sum(F, t, w, place, integrand))


@functools.cache
def _rule(count: int) -> tuple[Host, Host]:
    """Nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _sum(F: Any, t: Host, w: Host, place: Callable[[Any], tuple[Any, Any]], integrand: Any) -> Any:
    """The sum of w integrand(v) dv over the nodes, with (v, dv) = place(t)."""
    probe, _ = place(1)
    shape = tuple(probe.shape)
    count = max(1, _BLOCK // max(1, math.prod(shape)))
    total = None
    for start in range(0, len(t), count):
        column = (-1, *(1 for _ in shape))
        part, weight = (
            F.from_numpy(np.reshape(a[start : start + count], column)) for a in (t, w)
        )
        v, dv = place(part)
        value, weight = integrand(v), weight * dv
        if isinstance(value, tuple):
            sums: Any = tuple(F.sum(p * weight, axis=0) for p in value)
        else:
            sums = F.sum(value * weight, axis=0)
        total = sums if total is None else _add(total, sums)
    return total


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(x + y for x, y in zip(a, b, strict=True))
    return a + b
