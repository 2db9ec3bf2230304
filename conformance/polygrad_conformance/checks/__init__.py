"""The kinds of check, one module each. `cases(subject, dtype, level)` makes the cases of a kind.

Each kind looks at one property, so that taking one away lets its faults escape: `value` compares
numbers whatever their shape and dtype, `shape` shapes, `dtype` dtypes, and so on.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from polygrad_conformance.case import Case

__all__ = ["KINDS", "cases_of", "first_error", "make", "rests_on", "worked"]

KINDS = (
    "value", "special", "dtype", "shape", "layout", "promotion", "device", "purity", "repeat",
    "error", "grad", "gradgrad", "claims",
)  # fmt: skip


def make(
    subject: Any, dtype: str, check: str, sample: str, action: Callable[[Any], Any], *,
    layout: str = "", step: int | None = None, rests: tuple[str, ...] = (), call: Any = None,
) -> Case:  # fmt: skip
    """A case of an operation."""
    return Case(
        subject.key, dtype, check, sample, action, layout,
        subject.step if step is None else step, subject.space, subject.chapter, rests, call,
    )  # fmt: skip


def cases_of(subject: Any, level: str) -> Iterator[Case]:
    """All cases of an operation at a level, ordered so that what is computed once serves many."""
    modules = [importlib.import_module(f"polygrad_conformance.checks.{kind}") for kind in KINDS]
    for dtype in subject.dtypes(level):
        for module in modules:
            yield from module.cases(subject, dtype, level)


def worked(target: Any, subject: Any, dtype: str, samples: Iterable[Any]) -> Iterator[Any]:
    """(sample, its evaluation) of each sample whose call raised nothing."""
    for sample in samples:
        made = target.evaluate(subject, dtype, sample)
        if made.error is None:
            yield sample, made


def first_error(target: Any, subject: Any, dtype: str) -> None:
    """Raise the error of the first sample, if every sample has one: nothing was looked at."""
    made = [target.evaluate(subject, dtype, sample) for sample in subject.samples(dtype)]
    if all(e.error is not None for e in made):
        made[0].checked()


def rests_on(subject: Any, dtype: str, sample: str | None = None) -> tuple[str, ...]:
    """The value case that must not have raised; of the first sample if none is named."""
    name = subject.samples(dtype)[0].name if sample is None else sample
    return (f"{subject.key}/{dtype}/value/{name}",)
