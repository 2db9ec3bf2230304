"""Rows taken to places that are all different: two linear maps, each the other's adjoint.

`take` adds where places repeat, which costs a hundred times as much on NumPy.
"""

from __future__ import annotations

from typing import Any

from polygrad.primitive import CONSTANT, Primitive

__all__ = ["gather_rows", "scatter_rows"]


def _scatter(F: Any, x: Any, places: Any, rows: int, value: float) -> Any:
    """An array of so many rows, those of x at their places, filled up with a value."""
    F = F.of(x)
    return F.backend.set_at(F.full((rows, *x.shape[1:]), value), (places,), x)


gather_rows = Primitive(
    "gather_rows", ("x", "places"),
    {
        "x": lambda g, F, places, x_shape: F.scatter_rows(g, places, rows=x_shape[0], value=0),
        "places": CONSTANT,
    },
    forward=lambda F, x, places: F.take(x, places, axis=0), promotes=("x",),
)  # fmt: skip
scatter_rows = Primitive(
    "scatter_rows", ("x", "places"),
    {"x": lambda g, F, places: F.gather_rows(g, places), "places": CONSTANT},
    forward=_scatter, keywords={"rows": 0, "value": 0}, promotes=("x",),
)  # fmt: skip
