"""What is tested beside operations: transfers, indexing, layers, optimizers, random numbers.

Each module has `cases(level)`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from polygrad_conformance.case import Case

__all__ = ["MODULES", "own_cases"]

MODULES = ("transfers", "indexing", "in_place", "structures", "streams", "layers", "training")


def own_cases(level: str) -> Iterator[Case]:
    """All of their cases at a level."""
    for name in MODULES:
        yield from importlib.import_module(f"polygrad_conformance.subjects.{name}").cases(level)
