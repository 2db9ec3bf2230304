"""Elementwise functions of the array API standard whose result is boolean or a pattern of bits.

They have no gradient and are not recorded.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from polygrad.dtypes import BOOL, INTEGER, REAL
from polygrad.families import Chapter
from polygrad.ops.elementwise import only

_table = Chapter("elementwise")
comparison = _table.comparison


def _order(name: str, summary: str) -> Callable[..., Any]:
    return comparison(name, summary, kinds="if", forward=only(name, REAL))


def _some_not_finite(s: Any) -> list[Any]:
    """Arrays with an infinity and a NaN among the rest, where the dtype has them."""
    special = [1.0, math.inf, -2.0, math.nan, 0.5, -math.inf]
    if s.kind == INTEGER:
        special = [1, 2, 3, 0, 5, 6]
    return [
        ((s.exactly(special).reshape(2, 3),), {}), ((s.exactly(special[1]),), {}),
        ((s.real(4),), {}), ((s.real(0, 3),), {}),
    ]  # fmt: skip


# ---- comparisons and tests ----------------------------------------------------------------------
# fmt: off
equal = comparison("equal", "x == y.", kinds="bifc")
not_equal = comparison("not_equal", "x != y.", kinds="bifc")
less = _order("less", "x < y.")
less_equal = _order("less_equal", "x <= y.")
greater = _order("greater", "x > y.")
greater_equal = _order("greater_equal", "x >= y.")
isfinite = comparison("isfinite", "Whether x is neither infinite nor NaN.", inputs=("x",),
                      kinds="ifc", samples=_some_not_finite)
isinf = comparison("isinf", "Whether x is infinite.", inputs=("x",), kinds="ifc",
                   samples=_some_not_finite)
isnan = comparison("isnan", "Whether x is NaN.", inputs=("x",), kinds="ifc",
                   samples=_some_not_finite)
signbit = comparison("signbit", "Whether the sign bit is set: x < 0, or x is -0.", inputs=("x",),
                     kinds="f")
# fmt: on


# ---- logic --------------------------------------------------------------------------------------
def _logic(name: str, summary: str, inputs: tuple[str, ...] = ("x", "y")) -> Callable[..., Any]:
    """A function of truth values: numbers are true unless zero."""

    def forward(F: Any, *operands: Any) -> Any:
        truths = (x if F.of(x).kind == BOOL else x != 0 for x in operands)
        return getattr(F.xp, name)(*truths)

    return comparison(name, summary, inputs=inputs, weak=False, kinds="b", forward=forward)


logical_and = _logic("logical_and", "Whether x and y are true.")
logical_or = _logic("logical_or", "Whether x or y is true.")
logical_xor = _logic("logical_xor", "Whether one of x and y is true.")
logical_not = _logic("logical_not", "Whether x is not true.", ("x",))


# ---- bits ---------------------------------------------------------------------------------------
def _bits(
    name: str, summary: str, function: Callable[..., Any], *, kinds: str = "bi", **facts: Any
) -> Callable[..., Any]:
    return comparison(name, summary, kinds=kinds, forward=only(name, INTEGER, function), **facts)


_SHIFT: dict[str, Any] = {"kinds": "i", "domain": ((-3.0, 3.0), (0.2, 3.0))}
bitwise_and = _bits("bitwise_and", "x & y.", operator.and_)
bitwise_or = _bits("bitwise_or", "x | y.", operator.or_)
bitwise_xor = _bits("bitwise_xor", "x ^ y.", operator.xor)
bitwise_invert = _bits("bitwise_invert", "~x.", operator.invert, inputs=("x",))
bitwise_left_shift = _bits("bitwise_left_shift", "x << y.", operator.lshift, **_SHIFT)
bitwise_right_shift = _bits("bitwise_right_shift", "x >> y.", operator.rshift, **_SHIFT)
