"""Products and cumulative sums: the primitives behind the statistical chapter's.

Note [Products]
---------------
The derivative of a product is the product of the other factors, which must not be formed by
division: a factor may be 0. It is the product of those before times the product of those behind,
two cumulative products. Their derivative is a linear recurrence r[k] = g[k] + x[k+1] r[k+1], and
the derivative of a recurrence is a recurrence again: so products are differentiable any number of
times, zeros or not.
"""

from __future__ import annotations

from typing import Any

from polygrad.ops._axes import count, unreduce, widened
from polygrad.primitive import Primitive


def _prepend_forward(F: Any, x: Any, value: float) -> Any:
    return F.xp.concat([F.of(x).full((*x.shape[:-1], 1), value), x], axis=-1)


prepend = Primitive(  # one more element in front of the last axis
    "prepend", ("x",), {"x": lambda g, F: F.getitem(g, key=(Ellipsis, slice(1, None)))},
    forward=_prepend_forward, keywords={"value": 0.0},
)  # fmt: skip


def _shifted(F: Any, x: Any, value: float) -> Any:
    """The element before each, `value` before the first."""
    return F.getitem(F.prepend(x, value=value), key=(Ellipsis, slice(None, -1)))


def flipped(F: Any, x: Any) -> Any:
    """The last axis backwards."""
    return F.getitem(x, key=(Ellipsis, slice(None, None, -1)))


def _recurrence_forward(F: Any, a: Any, b: Any) -> Any:
    """y[k] = a[k] y[k-1] + b[k] along the last axis, y[-1] = 0: a scan in log2(n) steps."""
    step, n = 1, a.shape[-1]
    while step < n:
        head, tail = (Ellipsis, slice(None, step)), (Ellipsis, slice(step, None))
        before = (Ellipsis, slice(None, -step))
        more = b[tail] + F.strong_multiply(b[before], a[tail])
        b = F.xp.concat([b[head], more], axis=-1)
        a = F.xp.concat([a[head], a[tail] * a[before]], axis=-1)
        step *= 2
    return b


def _recurrence_adjoint(g: Any, F: Any, a: Any) -> Any:
    """The cotangent of b: the recurrence backwards, with the a of the element behind."""
    behind = _shifted(F, flipped(F, F.conj(a)), 0.0)
    return flipped(F, F.recurrence(behind, flipped(F, g)))


recurrence = Primitive(
    "recurrence", ("a", "b"),
    {
        "a": lambda g, F, a, out: _recurrence_adjoint(g, F, a) * F.conj(_shifted(F, out, 0.0)),
        "b": _recurrence_adjoint,
    },
    forward=_recurrence_forward,
)  # fmt: skip


def _cumulative_prod_rule(g: Any, F: Any, x: Any) -> Any:
    """The product of the factors before, times the recurrence of Note [Products]."""
    before = F.cumulative_prod(_shifted(F, x, 1.0))
    return F.conj(before) * _recurrence_adjoint(g, F, x)


def _prod_rule(g: Any, F: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The product of the other factors: of those before times of those behind."""
    shape = x.shape
    axes = tuple(range(len(shape))) if axis is None else axis
    g = unreduce(F, g, shape, axis, keepdims)
    if not axes or 0 in shape:
        return F.broadcast_to(g, shape=shape)
    order = tuple(i for i in range(len(shape)) if i not in axes) + axes
    moved = F.permute_dims(x, axes=order)
    rest = tuple(shape[i] for i in order[: len(shape) - len(axes)])
    flat = F.reshape(moved, shape=(*rest, count(shape, axes)))
    before = F.cumulative_prod(_shifted(F, flat, 1.0))
    behind = flipped(F, F.cumulative_prod(_shifted(F, flipped(F, flat), 1.0)))
    others = F.reshape(before * behind, shape=tuple(shape[i] for i in order))
    inverse = tuple(order.index(i) for i in range(len(shape)))
    return g * F.conj(F.permute_dims(others, axes=inverse))


def _prod_forward(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return F.xp.prod(x, axis=axis, dtype=x.dtype, keepdims=keepdims)


prod = Primitive(
    "prod", ("x",), {"x": _prod_rule}, forward=widened(_prod_forward),
    keywords={"axis": None, "keepdims": False},
)  # fmt: skip
cumulative_sum = Primitive(  # along the last axis
    "cumulative_sum", ("x",),
    {"x": lambda g, F: flipped(F, F.cumulative_sum(flipped(F, g)))},
    forward=widened(lambda F, x: F.xp.cumulative_sum(x, axis=-1, dtype=x.dtype)),
)  # fmt: skip
cumulative_prod = Primitive(  # along the last axis
    "cumulative_prod", ("x",), {"x": _cumulative_prod_rule},
    forward=widened(lambda F, x: F.xp.cumulative_prod(x, axis=-1, dtype=x.dtype)),
)  # fmt: skip


def others(F: Any, x: Any) -> Any:
    """For each element the product of all others along the last axis, without a division."""
    before = F.cumulative_prod(_shifted(F, x, 1.0))
    behind = flipped(F, F.cumulative_prod(_shifted(F, flipped(F, x), 1.0)))
    return before * behind
