"""The kinds of check, one module each. `cases(subject, dtype, level)` makes the cases of a kind.

Each kind looks at one property, so that taking one away lets its faults escape: `value` compares
numbers whatever their shape and dtype, `shape` shapes, `dtype` dtypes, and so on.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from polygrad_conformance.case import Case

__all__ = ["KINDS", "cases_of", "make"]

KINDS = (
    "value", "special", "dtype", "shape", "layout", "promotion", "device", "purity", "repeat",
    "error", "grad", "gradgrad", "claims",
)  # fmt: skip


def make(
    subject: Any, dtype: str, check: str, sample: str, action: Callable[[Any], Any], *,
    layout: str = "", step: int | None = None, rests: tuple[str, ...] = (),
) -> Case:  # fmt: skip
    """A case of an operation."""
    return Case(
        subject.key, dtype, check, sample, action, layout,
        subject.step if step is None else step, subject.space, subject.chapter, rests,
    )  # fmt: skip


def cases_of(subject: Any, level: str) -> Iterator[Case]:
    """All cases of an operation at a level, ordered so that what is computed once serves many."""
    modules = [importlib.import_module(f"polygrad_conformance.checks.{kind}") for kind in KINDS]
    for dtype in subject.dtypes(level):
        for module in modules:
            yield from module.cases(subject, dtype, level)
