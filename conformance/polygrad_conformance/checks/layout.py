"""Layouts: the same values at other addresses give the same results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polygrad_conformance.case import Case, Measure
from polygrad_conformance.checks import make
from polygrad_conformance.checks.dtype import rests_on
from polygrad_conformance.compare import compare_call
from polygrad_conformance.layouts import layouts_of
from polygrad_conformance.target import map_arrays


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One for each layout of the sample with the most axes; two of them at level smoke."""
    found = _richest(subject, dtype)
    if found is None:
        return
    sample, layouts = found
    if level == "smoke":
        layouts = layouts[:2]
    for layout in layouts:

        def action(target: Any, layout: str = layout) -> Measure:
            made = target.evaluate(subject, dtype, sample, layout).checked()
            return compare_call(target, subject, dtype, sample, made.results)

        yield make(
            subject, dtype, "layout", sample.name, action, layout=layout,
            rests=rests_on(subject, dtype, sample.name),
        )  # fmt: skip


def _richest(subject: Any, dtype: str) -> tuple[Any, list[str]] | None:
    """The first of the samples whose arrays have the most axes, and its layouts."""
    best: tuple[Any, list[str]] | None = None
    for sample in subject.samples(dtype):
        arrays: list[Any] = []
        map_arrays((sample.args, sample.kwargs), lambda a, to=arrays: to.append(a) or a)
        layouts = layouts_of(arrays)
        if layouts and (best is None or len(layouts) > len(best[1])):
            best = sample, layouts
    return best
