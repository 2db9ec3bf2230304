"""Elementwise functions of the array API standard, from trivial to hard."""

from __future__ import annotations

import operator
from typing import Any

from polygrad.families import Chapter

_table = Chapter("elementwise")
unary, binary, comparison, constant = (
    _table.unary, _table.binary, _table.comparison, _table.constant,
)  # fmt: skip


def _conj(F: Any) -> Any:
    """The conjugate where there is anything to conjugate, the identity elsewhere."""
    if not F.is_complex:
        return lambda x: x

    def conj(x: Any) -> Any:
        if type(x) in (int, float, complex):
            return x.conjugate()
        return F.xp.conj(x) if F.of(x).is_complex else x

    return conj


# fmt: off
add = binary("add", lambda g: g, lambda g: g, "x + y.",
             forward=operator.add, weak=True, kinds="ifc")
subtract = binary("subtract", lambda g: g, lambda g: -g, "x - y.",
                  forward=operator.sub, weak=True, kinds="ifc")
multiply = binary("multiply", lambda g, F, y: g * F.conj(y), lambda g, F, x: g * F.conj(x), "x * y.",
                  forward=operator.mul, weak=True, kinds="ifc")
negative = unary("negative", lambda g: -g, "-x.", forward=operator.neg, kinds="ifc")
conj = unary("conj", lambda g, F: F.conj(g), "The complex conjugate of x.", forward=_conj, kinds="fc")
exp = unary("exp", lambda g, F, out: g * F.conj(out), "e ** x.", floating=True)
# fmt: on
