"""Samples at hard inputs, of every dtype: see the tables of `hard_order` and its neighbours.

They are for the checks `value`, `dtype` and `shape` alone: gradients at ties and at NaN are
conventions, and the other checks look at properties that do not depend on numbers.
Only what polygrad promises on every device is in the tables.
"""

from __future__ import annotations

import functools

import numpy as np

from polygrad_conformance import hard_elementwise, hard_order, hard_reductions, hard_shapes
from polygrad_conformance.hard_values import Hard, Make
from polygrad_conformance.samples import Sample

__all__ = ["HARD", "hard_samples"]

HARD: dict[str, Make] = {
    **hard_order.TABLE, **hard_reductions.TABLE, **hard_elementwise.TABLE, **hard_shapes.TABLE,
}  # fmt: skip
_SMOKE = 4


@functools.lru_cache(maxsize=64)
def hard_samples(key: str, dtype: str, level: str = "full") -> list[Sample]:
    """The hard samples of an operation, `hard-0` and on: at level smoke the first ones."""
    if key not in HARD:
        return []
    with np.errstate(all="ignore"):
        calls = HARD[key](Hard(dtype))
    if level == "smoke":
        calls = calls[:_SMOKE]
    return [Sample(f"hard-{i}", args, kwargs) for i, (args, kwargs) in enumerate(calls)]
