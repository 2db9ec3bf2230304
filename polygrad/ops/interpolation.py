"""Straight lines between points: `lerp` between two, `interp` through a table of them."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import COMPLEX
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.comparison import equal
from polygrad.ops.creation import as_floating
from polygrad.ops.elementwise import clip, remainder
from polygrad.ops.indexing import take
from polygrad.ops.rearrangement import concat
from polygrad.ops.searching import searchsorted, where
from polygrad.ops.sorting import argsort
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor
from polygrad.views import detach

_table = Chapter("interpolation")


# ---- between two --------------------------------------------------------------------------------
def _lerp_forward(F: Any, x: Any, y: Any, weight: Any) -> Any:
    """From the nearer end: both ends are met exactly."""
    d = y - x
    near = F.xp.abs(weight) < 0.5
    return F.where(near, x + weight * d, y - d * (1 - weight))


_lerp = Primitive(
    "lerp", ("x", "y", "weight"),
    {
        "x": lambda g, F, weight: g * F.conj(1 - weight),
        "y": lambda g, F, weight: g * F.conj(weight),
        "weight": lambda g, F, x, y: g * F.conj(y - x),
    },
    forward=_lerp_forward, floating=True, elementwise=True,
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.real(3), 0.3), {}), ((s.real(3), s.real(3), s.interval(0, 1, 2, 1)), {}),
    ((s.complex(2), s.real(2), s.real()), {}), ((s.real(0), s.real(1), 0.5), {}),
], kinds="f", method=True)  # fmt: skip
def lerp(x: Any, y: Any, /, weight: Any) -> Tensor:
    """The point x + weight (y - x) of the line from x to y.

    Parameters
    ----------
    x, y
        Numeric tensors. Integers are computed in the default floating dtype.
    weight
        0 for x, 1 for y; a number or a tensor. All three broadcast.

    Returns
    -------
    Tensor
        The broadcast shape, of the promoted dtype. At weights 0 and 1 exactly x and y.

    Raises
    ------
    ShapeError
        The shapes do not broadcast.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.lerp(pg.asarray([0.0, 10.0]), pg.asarray([10.0, 20.0]), 0.5)
    tensor([ 5., 15.], dtype=float32)
    """
    return _lerp.call(x, y, weight)  # type: ignore[no-any-return]


# ---- through a table ----------------------------------------------------------------------------
def _table_of(x: Any, xp: Any, fp: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The places asked for, those of the table, its values: floating, the places of one dtype."""
    x, xp = as_tensor(x, "interp, argument x"), as_tensor(xp, "interp, argument xp")
    fp = as_tensor(fp, "interp, argument fp")
    where = f"interp{describe([x, xp, fp])}"
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ShapeError(
            f"a table of {xp.shape} places and {fp.shape} values", where,
            "give xp and fp one axis of one length, of at least 1",
        )  # fmt: skip
    if COMPLEX in (x.kernels.kind, xp.kernels.kind):
        raise DtypeError(
            "complex places have no order", where, "pass real x and xp; fp may be complex"
        )
    x, xp, fp = (as_floating(t) for t in (x, xp, fp))
    return x, xp, fp


def _periodic(
    x: Tensor, xp: Tensor, fp: Tensor, period: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Places modulo the period, the table sorted, with its ends repeated on the other sides."""
    if period == 0:
        raise InvalidArgumentError("a period of 0", "interp, argument period", "leave it out")
    period = abs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(detach(xp))
    xp, fp = take(xp, order), take(fp, order)
    xp = concat([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concat([fp[-1:], fp, fp[:1]])


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.interval(0, 1, 4).cumsum().astype(s.dtype) - 1, s.real(4)), {}),
    ((s.real(5), s.interval(0, 1, 3).cumsum().astype(s.dtype) - 1, s.complex(3)),
     {"left": -1.0, "right": 0.5}),
    ((s.real(4), s.distinct(3), s.real(3)), {"period": 2.3}),
    ((s.real(), s.interval(0, 1, 2).cumsum().astype(s.dtype), s.real(2)), {"left": s.real()}),
    ((s.real(3), s.real(1), s.real(1)), {}),
], kinds="f")  # fmt: skip
def interp(
    x: Any, /, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Tensor:
    """Linear interpolation in a table: the value at x of the line through the points (xp, fp).

    Parameters
    ----------
    x
        Where the values are wanted: a real tensor of any shape.
    xp
        The places of the table: a real tensor of one axis, increasing. That is not checked.
    fp
        Its values, as many, real or complex.
    left, right
        What is returned below and above the table: numbers or 0-d tensors; by default the first and
        the last value.
    period
        A number: places are taken modulo it, and need not be sorted. `left` and `right` are unused.

    Returns
    -------
    Tensor
        The shape of x, of the promoted dtype. NaN where x is NaN.

    Raises
    ------
    ShapeError, DtypeError, InvalidArgumentError
        The table is empty, or its places and values differ in number; x or xp is complex; the
        period is 0.

    Notes
    -----
    All three have gradients. At a place of the table that by x is the slope behind it.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.interp(pg.asarray([0.5, 3.0]), pg.asarray([0.0, 1.0]), pg.asarray([10.0, 20.0]))
    tensor([15., 20.], dtype=float32)
    """
    x, xp, fp = _table_of(x, xp, fp)
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    first, last = xp[0], xp[-1]
    inside = clip(x, detach(first), detach(last))
    n = xp.shape[0]
    if n == 1:
        out = fp[0] + (inside - xp[0]) * 0
    else:
        at = clip(searchsorted(detach(xp), detach(inside), side="right") - 1, 0, n - 2)
        x0, x1, f0, f1 = take(xp, at), take(xp, at + 1), take(fp, at), take(fp, at + 1)
        gap = x1 - x0
        out = f0 + (f1 - f0) * ((inside - x0) / where(equal(gap, 0), 1, gap))
    out = where(x < first, fp[0] if left is None else left, out)
    return where(x > last, fp[-1] if right is None else right, out)  # type: ignore[no-any-return]
