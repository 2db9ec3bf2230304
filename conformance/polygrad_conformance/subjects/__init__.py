"""What is tested beside operations: transfers, indexing, layers, optimizers, random numbers.

Each module has `cases(level)`.
"""

from __future__ import annotations

import functools
import importlib

from polygrad_conformance.case import Case

__all__ = ["MODULES", "own_cases"]

MODULES = (
    "transfers", "registered", "brain_floats", "numbers", "indexing", "in_place", "structures",
    "streams", "layers", "training", "schedules", "beginnings", "operands",
)  # fmt: skip


@functools.cache
def own_cases(level: str) -> tuple[Case, ...]:
    """All of their cases at a level."""
    modules = [importlib.import_module(f"polygrad_conformance.subjects.{n}") for n in MODULES]
    return tuple(case for module in modules for case in module.cases(level))
