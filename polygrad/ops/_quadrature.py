"""Integrals of smooth functions of many scales, of arrays of parameters at once.

Gauss and Legendre's rule on panels: the first from 0 to the smallest scale, the others in equal
steps of log(v) up to the end. The integrand is called once for each node, with an array of the
shape of the parameters, so that memory does not grow with the number of nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["integral"]

_NODES = 16


@functools.cache
def _rule(count: int) -> tuple[tuple[float, float], ...]:
    """Nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return tuple(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


def integral(
    F: Any,
    integrand: Callable[[Any], Any],
    end: Any,
    scale: Any = None,
    *,
    panels: int = 6,
    nodes: int = _NODES,
) -> Any:
    """The integral of `integrand` from 0 to `end`; without `scale` on one panel.

    Where `integrand` returns a tuple, so does this.
    """
    first = end if scale is None else scale
    sums = _added(None, [(first * t, first * w) for t, w in _rule(nodes)], integrand)
    if scale is not None:
        width = F.log(end / scale) / (panels - 1)
        for k in range(panels - 1):
            points = ((scale * F.exp(width * (k + t)), width * w) for t, w in _rule(nodes))
            sums = _added(sums, ((v, v * w) for v, w in points), integrand)
    return sums


def _added(sums: Any, points: Any, integrand: Callable[[Any], Any]) -> Any:
    for v, w in points:
        value = integrand(v)
        terms = tuple(part * w for part in value) if isinstance(value, tuple) else value * w
        if sums is None:
            sums = terms
        elif isinstance(terms, tuple):
            sums = tuple(a + b for a, b in zip(sums, terms, strict=True))
        else:
            sums = sums + terms
    return sums
