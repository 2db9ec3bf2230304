"""Layouts: the same values at other addresses give the same results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polygrad_conformance.case import Case, Measure
from polygrad_conformance.checks import make, rests_on
from polygrad_conformance.compare import compare_call
from polygrad_conformance.declarations import load_data
from polygrad_conformance.layouts import layouts_of, values_in
from polygrad_conformance.target import map_arrays

SAMPLES = {"smoke": 1}
LAYOUTS = {"smoke": 2}
# Their results do not depend on the order of elements.
_ALIKE = frozenset({"full", "full_like", "linspace", "ones_like", "zeros_like"})


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One for each layout of the samples with the most axes: three of them, or one at smoke."""
    several = _richest(subject, dtype)[: SAMPLES.get(level, 3)]
    pairs = [(s, layout) for s, layouts in several for layout in layouts[: LAYOUTS.get(level)]]
    for sample, layout in pairs:

        def action(target: Any, sample: Any = sample, layout: str = layout) -> Measure:
            sample = _held(sample, layout)
            made = target.evaluate(subject, dtype, sample, layout).checked()
            return compare_call(target, subject, dtype, sample, made.results)

        yield make(
            subject, dtype, "layout", sample.name, action, layout=layout,
            rests=rests_on(subject, dtype, sample.name),
        )  # fmt: skip


def _held(sample: Any, layout: str) -> Any:
    """The sample with values that the layout can hold."""
    if layout != "broadcast":
        return sample
    made = map_arrays((sample.args, sample.kwargs), lambda a: values_in(a, layout))
    return replace(sample, args=made[0], kwargs=made[1])


def _richest(subject: Any, dtype: str) -> list[tuple[Any, list[str]]]:
    """The samples whose arrays have layouts, and these; those with the most first, then the larger.

    Several, as the result of one may not depend on the order of its elements: a power of 0.
    """
    found: list[tuple[Any, list[str], int]] = []
    if subject.key in _ALIKE or subject.family == "shape":
        return []
    for sample in subject.samples(dtype):
        arrays: list[Any] = []
        map_arrays((sample.args, sample.kwargs), lambda a, to=arrays: to.append(a) or a)
        layouts = layouts_of(arrays)
        if subject.key in load_data("layouts")["not_alike"]["functions"]:
            layouts = [name for name in layouts if name != "broadcast"]
        if layouts:
            size = sum(a.size for a in arrays)
            found.append((sample, layouts, size))
    found.sort(key=lambda entry: (-len(entry[1]), -entry[2]))
    return [(sample, layouts) for sample, layouts, _ in found]
