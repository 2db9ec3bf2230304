"""Statistical functions of the array API standard, and logsumexp.

A reduction is a primitive over a tuple of axes; the public function normalises the axes and decides the dtype.
float16 is summed in float32. Reducing over no axis (`axis=()`) is the identity.

Note [Products]
---------------
The derivative of a product is the product of the other factors, which must not be formed by division: a
factor may be 0. It is the product of those before times the product of those behind, two cumulative
products. Their derivative is a linear recurrence r[k] = g[k] + x[k+1] r[k+1], and the derivative of a
recurrence is a recurrence again: so products are differentiable any number of times, zeros or not.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad import dtypes
from polygrad.config import default_dtype
from polygrad.errors import DtypeError, InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axes, normalize_axis
from polygrad.ops.creation import to_place
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor, raw

_table = Chapter("statistical")
Axes = tuple[int, ...] | None
_HALF = ("float16", "bfloat16")


# ---- what rules and forwards are made of --------------------------------------------------------
def kept(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """`shape` with the reduced axes kept as 1."""
    if axis is None:
        return (1,) * len(shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a % len(shape) for a in axes)
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements each result of a reduction is made of."""
    return math.prod(n for n, k in zip(shape, kept(shape, axis), strict=True) if k == 1)


def unreduce(F: Any, g: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """A reduced value with its axes back, of length 1: it broadcasts against what was reduced."""
    return g if keepdims or axis == () else F.reshape(g, shape=kept(shape, axis))


def _sum(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    here = F.of(x)
    if here.dtype.name not in _HALF:
        return F.xp.sum(x, axis=axis, dtype=x.dtype, keepdims=keepdims)
    wide = here.with_dtype(dtypes.float32)
    return here.cast(wide.coerce(wide.sum(wide.cast(x), axis=axis, keepdims=keepdims)))


def _mean(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    here, n = F.of(x), count(x.shape, axis)
    if n == 0:
        shape = kept(x.shape, axis) if keepdims else here.sum(x, axis=axis, keepdims=False).shape
        return here.full(shape, math.nan)
    if here.dtype.name not in _HALF:
        return here.sum(x, axis=axis, keepdims=keepdims) / n
    wide = here.with_dtype(dtypes.float32)  # the sum may not fit into float16
    return here.cast(wide.coerce(wide.sum(wide.cast(x), axis=axis, keepdims=keepdims) / n))


def _var(
    F: Any, x: Any, axis: Any = None, keepdims: bool = False, correction: float = 0.0
) -> Any:
    """The mean first, then the squares: no cancellation."""
    here = F.of(x)
    if here.dtype.name in _HALF:
        wide = here.with_dtype(dtypes.float32)
        return here.cast(wide.coerce(_var(wide, wide.cast(x), axis, keepdims, correction)))
    d = x - here.mean(x, axis=axis, keepdims=True)
    squares = F.xp.real(d * F.xp.conj(d)) if here.is_complex else d * d
    total = here.sum(squares, axis=axis, keepdims=keepdims)
    freedom = count(x.shape, axis) - correction
    return total / freedom if freedom > 0 else F.of(squares).full(total.shape, math.nan)


def _std(
    F: Any, x: Any, axis: Any = None, keepdims: bool = False, correction: float = 0.0
) -> Any:
    return F.xp.sqrt(_var(F, x, axis, keepdims, correction))


# ---- sums and moments ---------------------------------------------------------------------------
_AXES = {"axis": None, "keepdims": False}
_sum_primitive = Primitive(
    "sum", ("x",),
    {"x": lambda g, F, x_shape, axis, keepdims: F.broadcast_to(
        unreduce(F, g, x_shape, axis, keepdims), shape=x_shape)},
    forward=_sum, keywords=_AXES,
)  # fmt: skip
_mean_primitive = Primitive(
    "mean", ("x",),
    {"x": lambda g, F, x_shape, axis, keepdims: F.broadcast_to(
        unreduce(F, g, x_shape, axis, keepdims) / count(x_shape, axis), shape=x_shape)},
    forward=_mean, keywords=_AXES, floating=True,
)  # fmt: skip


def _var_rule(g: Any, F: Any, x: Any, axis: Any, keepdims: bool, correction: float) -> Any:
    """2 (x - mean) / (N - correction)."""
    freedom = count(x.shape, axis) - correction
    scale = 2 / freedom if freedom > 0 else math.nan
    d = x - F.mean(x, axis=axis, keepdims=True)
    return unreduce(F, g, x.shape, axis, keepdims) * scale * d


def _std_rule(
    g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool, correction: float
) -> Any:
    """(x - mean) / ((N - correction) std), and 0 where nothing varies."""
    freedom = count(x.shape, axis) - correction
    d = x - F.mean(x, axis=axis, keepdims=True)
    g = unreduce(F, g, x.shape, axis, keepdims) * (1 / freedom if freedom > 0 else math.nan)
    return F.strong_divide(g * d, unreduce(F, out, x.shape, axis, keepdims))


_var_primitive = Primitive(
    "var", ("x",), {"x": _var_rule}, forward=_var, keywords={**_AXES, "correction": 0.0},
    floating=True,
)  # fmt: skip
_std_primitive = Primitive(
    "std", ("x",), {"x": _std_rule}, forward=_std, keywords={**_AXES, "correction": 0.0},
    floating=True,
)  # fmt: skip


# ---- extrema ------------------------------------------------------------------------------------
def _extremum_rule(
    g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool, beaten: Any
) -> Any:
    """Equal extrema share the gradient, and so do all elements if the result is NaN."""
    best = F.logical_not(beaten(F, x, unreduce(F, out, x.shape, axis, keepdims)))
    share = F.indicator(best, x)
    total = F.sum(share, axis=axis, keepdims=True)
    return share * (unreduce(F, g, x.shape, axis, keepdims) / total)


def _max_rule(g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    return _extremum_rule(g, F, x, out, axis, keepdims, lambda F, x, out: F.less(x, out))


def _min_rule(g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    return _extremum_rule(g, F, x, out, axis, keepdims, lambda F, x, out: F.greater(x, out))


_max_primitive = Primitive(
    "max", ("x",), {"x": _max_rule}, keywords=_AXES,
    forward=lambda F, x, axis=None, keepdims=False: F.xp.max(x, axis=axis, keepdims=keepdims),
)  # fmt: skip
_min_primitive = Primitive(
    "min", ("x",), {"x": _min_rule}, keywords=_AXES,
    forward=lambda F, x, axis=None, keepdims=False: F.xp.min(x, axis=axis, keepdims=keepdims),
)  # fmt: skip


# ---- products: see Note [Products] --------------------------------------------------------------
def _prepend(F: Any, x: Any, value: float) -> Any:
    return F.xp.concat([F.of(x).full((*x.shape[:-1], 1), value), x], axis=-1)


_prepend_primitive = Primitive(  # one more element in front of the last axis
    "prepend", ("x",), {"x": lambda g, F: F.getitem(g, key=(Ellipsis, slice(1, None)))},
    forward=_prepend, keywords={"value": 0.0},
)  # fmt: skip


def _shifted(F: Any, x: Any, value: float) -> Any:
    """The element before each, `value` before the first."""
    return F.getitem(F.prepend(x, value=value), key=(Ellipsis, slice(None, -1)))


def _flipped(F: Any, x: Any) -> Any:
    return F.getitem(x, key=(Ellipsis, slice(None, None, -1)))


def _recurrence(F: Any, a: Any, b: Any) -> Any:
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
    behind = _flipped(F, _shifted(F, _flipped(F, F.conj(a)), 0.0))
    return _flipped(F, F.recurrence(_flipped(F, behind), _flipped(F, g)))


_recurrence_primitive = Primitive(
    "recurrence", ("a", "b"),
    {
        "a": lambda g, F, a, out: _recurrence_adjoint(g, F, a) * F.conj(_shifted(F, out, 0.0)),
        "b": lambda g, F, a: _recurrence_adjoint(g, F, a),
    },
    forward=_recurrence,
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
    behind = _flipped(F, F.cumulative_prod(_shifted(F, _flipped(F, flat), 1.0)))
    others = F.reshape(before * behind, shape=tuple(shape[i] for i in order))
    inverse = tuple(order.index(i) for i in range(len(shape)))
    return g * F.conj(F.permute_dims(others, axes=inverse))


def _prod(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return F.xp.prod(x, axis=axis, dtype=x.dtype, keepdims=keepdims)


_prod_primitive = Primitive("prod", ("x",), {"x": _prod_rule}, forward=_prod, keywords=_AXES)
_cumulative_sum_primitive = Primitive(  # along the last axis
    "cumulative_sum", ("x",),
    {"x": lambda g, F: _flipped(F, F.cumulative_sum(_flipped(F, g)))},
    forward=lambda F, x: F.xp.cumulative_sum(x, axis=-1, dtype=x.dtype),
)  # fmt: skip
_cumulative_prod_primitive = Primitive(  # along the last axis
    "cumulative_prod", ("x",), {"x": _cumulative_prod_rule},
    forward=lambda F, x: F.xp.cumulative_prod(x, axis=-1, dtype=x.dtype),
)  # fmt: skip


# ---- logsumexp ----------------------------------------------------------------------------------
def _logsumexp(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    here = F.of(x)
    if 0 in x.shape and count(x.shape, axis) == 0:
        return here.sum(x, axis=axis, keepdims=keepdims) - math.inf
    top = here.max(x, axis=axis, keepdims=True)
    top = F.where(F.xp.isfinite(top), top, 0)
    out = F.xp.log(here.sum(F.xp.exp(x - top), axis=axis, keepdims=keepdims))
    return out + (top if keepdims else F.xp.reshape(top, out.shape))


def _logsumexp_rule(g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    """The softmax of x; 0 where all is -inf."""
    out = unreduce(F, out, x.shape, axis, keepdims)
    d = x - F.where(F.isfinite(out), out, 0)
    return unreduce(F, g, x.shape, axis, keepdims) * F.exp(d)


_logsumexp_primitive = Primitive(
    "logsumexp", ("x",), {"x": _logsumexp_rule}, forward=_logsumexp, keywords=_AXES, floating=True
)
