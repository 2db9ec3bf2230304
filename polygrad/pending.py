"""Gradients of weights that are used step after step.

Note [Pending products]
-----------------------
A recurrent cell uses its weights in each step, and each step adds G^T X to their cotangents: a
product of few rows, which is slow, and a pass over the whole weight for the sum. The sum of these
products is one product of all the rows below each other. As long as nobody looks at the cotangent
of a leaf, and that is until the end of the sweep, the rows of some steps are kept, and multiplied
when there are ROWS of them; so what is kept stays small.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polygrad.kernels import Kernels

__all__ = ["LATER", "ROWS", "Pending"]

ROWS = 128

LATER: Any = "later"
"""What a rule finds in `wanted` for an input that may get a Pending cotangent."""


class Pending:
    """A cotangent that is a sum of `product(g, F, x)`, which is linear in the rows of g and x."""

    __slots__ = ("F", "dtype", "gs", "product", "rows", "shape", "total", "xs")

    def __init__(self, product: Callable[..., Any], F: Kernels, g: Any, x: Any) -> None:
        self.product, self.F, self.dtype = product, F, g.dtype
        self.shape = (g.shape[-1], x.shape[-1])
        self.gs, self.xs, self.rows = [g], [x], len(g)
        self.total: Any = None

    def __add__(self, other: Any) -> Any:
        """The sum with a pending one is pending; that with an array is an array."""
        if type(other) is not Pending:
            return self.settle() + other
        if other.total is not None:  # somebody has looked at it
            self.total = other.total if self.total is None else self.total + other.total
        self.gs += other.gs
        self.xs += other.xs
        self.rows += other.rows
        if self.rows >= ROWS:
            self.settle()
        return self

    def settle(self) -> Any:
        """The array that it is so far."""
        F = self.F
        if self.gs:
            with nullcontext() if F.guard is None else F.guard():
                g, x = (a[0] if len(a) == 1 else F.concat(a, axis=0) for a in (self.gs, self.xs))
                made = self.product(g, F, x)
                self.total = made if self.total is None else self.total + made
            self.gs, self.xs, self.rows = [], [], 0
        return self.total
