"""Activation functions that move small values to zero."""

from __future__ import annotations

from typing import Any

from polygrad.errors import InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops.activation import line_samples, negative_part, positive_part
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("shrinkage", "nn.functional")

# fmt: off
_softshrink = Primitive(
    "softshrink", ("x",), {"x": lambda g, F, out_mask: F.keep(g, out_mask)},
    forward=lambda F, x, lambd: positive_part(F, x - lambd) + negative_part(F, x + lambd),
    floating=True, real=True, keywords={"lambd": 0.5},
)
_hardshrink = Primitive(
    "hardshrink", ("x",),
    {"x": lambda g, F, out, lambd: F.keep(g, ~(F.abs(out) <= lambd))},
    forward=lambda F, x, lambd: F.xp.where(F.xp.abs(x) <= lambd, F.zeros(()), x),
    floating=True, real=True, keywords={"lambd": 0.5},
)
# fmt: on


@_table.public(samples=lambda s: [*line_samples(s), ((s.real(4),), {"lambd": 1.0})])
def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, 0 where |x| is less.

    >>> import polygrad as pg
    >>> pg.nn.functional.softshrink(pg.tensor([0.25, 2.0]))
    tensor([0. , 1.5], dtype=float32)

    Raises
    ------
    InvalidArgumentError
        `lambd` is negative.
    """
    if lambd < 0:
        raise InvalidArgumentError(
            f"lambd={lambd} is negative", "softshrink, argument lambd", "pass a number >= 0"
        )
    return _softshrink.call(input, lambd=float(lambd))  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [*line_samples(s), ((s.real(4),), {"lambd": 1.0})])
def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x where |x| > lambd, 0 elsewhere.

    >>> import polygrad as pg
    >>> pg.nn.functional.hardshrink(pg.tensor([0.25, 2.0]))
    tensor([0., 2.], dtype=float32)
    """
    return _hardshrink.call(input, lambd=float(lambd))  # type: ignore[no-any-return]
