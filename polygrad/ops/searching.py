"""Searching functions of the array API standard."""

from __future__ import annotations

from typing import Any

from polygrad.families import Chapter
from polygrad.primitive import CONSTANT, Primitive

_table = Chapter("searching")


def _where(F: Any, condition: Any, x: Any, y: Any) -> Any:
    return F.xp.where(condition, x, y)


_where_primitive = Primitive(
    "where", ("condition", "x", "y"),
    {
        "condition": CONSTANT,
        "x": lambda g, F, condition: F.where(condition, g, 0),
        "y": lambda g, F, condition: F.where(condition, 0, g),
    },
    forward=_where, promotes=("x", "y"), elementwise=True,
)  # fmt: skip
