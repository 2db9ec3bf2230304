"""Samples at hard inputs, of every dtype: see the tables of `hard_order` and its neighbours.

They are for the checks `value`, `dtype`, `shape` and, in float32, `grad`: the other checks look at
properties that do not depend on numbers.
Only what polygrad promises on every device is in the tables.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from polygrad_conformance import (
    hard_elementwise,
    hard_layers,
    hard_losses,
    hard_network,
    hard_order,
    hard_products,
    hard_reductions,
    hard_shapes,
    hard_structure,
    hard_writes,
)
from polygrad_conformance.hard_values import Hard, Make
from polygrad_conformance.oracle import flushed
from polygrad_conformance.samples import Sample
from polygrad_conformance.target import map_arrays

__all__ = ["HARD", "hard_samples", "lacking", "quick_samples", "without_subnormals"]

HARD: dict[str, Make] = {
    **hard_order.TABLE, **hard_reductions.TABLE, **hard_elementwise.TABLE, **hard_shapes.TABLE,
    **hard_structure.TABLE, **hard_products.TABLE, **hard_writes.TABLE, **hard_layers.TABLE,
    **hard_losses.TABLE, **hard_network.TABLE,
}  # fmt: skip
_SMOKE = 3


@functools.cache
def hard_samples(key: str, dtype: str, level: str = "full") -> list[Sample]:
    """The hard samples of an operation, `hard-0` and on: at level smoke the first ones."""
    if key not in HARD:
        return []
    with np.errstate(all="ignore"):
        calls = HARD[key](Hard(dtype))
    if level == "smoke":
        calls = calls[:_SMOKE]
    return [Sample(f"hard-{i}", args, kwargs) for i, (args, kwargs) in enumerate(calls)]


def quick_samples(subject: Any, dtype: str, target: Any) -> list[Sample]:
    """Those that the device can take, for checks that need no case for each."""
    if target.capabilities.compiles and target.level == "smoke":  # each shape takes it long
        return []
    samples = hard_samples(subject.key, dtype, target.level)
    return [s for s in samples if not lacking(target, dtype, s)]


def lacking(target: Any, dtype: str, sample: Sample) -> list[str]:
    """The dtypes that the device does not have: integers must not be narrowed, they are large."""
    found = {dtype} - {"none"}
    map_arrays((sample.args, sample.kwargs), lambda a: found.add(a.dtype.name))
    asked = (*sample.args, *sample.kwargs.values())
    found |= {v.name for v in asked if isinstance(v, np.dtype)}
    return sorted(name for name in found if not target.supports(name))


@functools.cache
def without_subnormals(sample: Sample) -> Sample:
    """The sample as a device reads it that takes subnormal numbers for zeros."""
    args, kwargs = map_arrays((sample.args, sample.kwargs), flushed)
    return Sample(sample.name, args, kwargs)
