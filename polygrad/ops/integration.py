"""Integrals of sampled functions by the trapezoidal rule."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import ShapeError
from polygrad.families import Chapter
from polygrad.indexing import broadcasts
from polygrad.ops._axes import as_tensor, normalize_axis
from polygrad.ops.creation import as_floating
from polygrad.ops.filling import full
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import concat
from polygrad.ops.statistical import cumulative_sum
from polygrad.ops.statistical import sum as sum_function
from polygrad.ops.utility import diff
from polygrad.tensor import Tensor

_table = Chapter("integration")


def _areas(y: Any, x: Any, dx: Any, axis: Any, name: str) -> tuple[Tensor, int]:
    """The trapezoids between neighbours along an axis, and the axis counted from the front."""
    y = as_floating(as_tensor(y, f"{name}, argument y"))
    axis = normalize_axis(axis, y.ndim, name)
    lead = (slice(None),) * axis
    after, before = y[(*lead, slice(1, None))], y[(*lead, slice(None, -1))]
    if x is None:
        return (after + before) * 0.5 * dx, axis
    x = as_tensor(x, f"{name}, argument x")
    n = y.shape[axis]
    fits = x.shape == (n,) if x.ndim == 1 else (
        x.ndim == y.ndim and x.shape[axis] == n and broadcasts(x.shape, y.shape)
    )  # fmt: skip
    if not fits:
        raise ShapeError(
            f"places of shape {x.shape} for values of shape {y.shape}",
            f"{name}{describe([y, x])}, axis {axis}",
            f"give {n} places, or as many axes as the values have",
        )  # fmt: skip
    if x.ndim == 1:
        x = reshape(x, (n, *(1,) * (y.ndim - axis - 1)))
        return (after + before) * 0.5 * diff(x, axis=0), axis
    return (after + before) * 0.5 * diff(x, axis=axis), axis


def _samples(s: Any) -> Any:
    return [
        ((s.real(5),), {}), ((s.real(3, 2),), {"dx": 0.5, "axis": 0}),
        ((s.real(2, 4), s.distinct(4)), {}), ((s.real(3, 2), s.distinct(3)), {"axis": 0}),
        ((s.real(2, 3), s.distinct(2, 3)), {"axis": -1}),
    ]  # fmt: skip


@_table.public(
    samples=lambda s: [*_samples(s), ((s.real(2, 1),), {}), ((s.real(0, 2),), {"axis": 0})],
    kinds="ifc",
)
def trapezoid(y: Any, /, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """The integral of samples along an axis: straight lines between neighbours.

    Parameters
    ----------
    y
        Numeric tensor, the values. Integers are computed in the default floating dtype.
    x
        Where they were taken: one place for each along `axis`, or a tensor of as many axes as y
        that broadcasts with it; it need not be sorted. None: at equal distances.
    dx
        The distance, a number or a 0-d tensor, if there is no x.
    axis
        Along which.

    Returns
    -------
    Tensor
        Without the axis; 0 of fewer than two samples.

    Raises
    ------
    ShapeError, OutOfRangeError
        The places do not fit the values; there is no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.trapezoid(pg.tensor([1.0, 2.0, 3.0]), pg.tensor([0.0, 1.0, 3.0]))
    tensor(6.5, dtype=float32)
    """
    areas, axis = _areas(y, x, dx, axis, "trapezoid")
    return sum_function(areas, axis=axis)


@_table.public(
    samples=lambda s: [*_samples(s), ((s.real(2, 3),), {"initial": 1.5})], kinds="ifc"
)  # fmt: skip
def cumulative_trapezoid(
    y: Any, /, x: Any = None, dx: Any = 1.0, axis: int = -1, *, initial: Any = None
) -> Tensor:
    """The integrals of the first 2, 3, 4 … samples along an axis; else as `trapezoid`.

    Parameters
    ----------
    y, x, dx, axis
        As of `trapezoid`.
    initial
        A number to put in front of the result, usually 0: it is then as long as y.

    Returns
    -------
    Tensor
        The axis is shorter by one unless there is an initial value.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.cumulative_trapezoid(pg.tensor([1.0, 2.0, 3.0]), initial=0)
    tensor([0. , 1.5, 4. ], dtype=float32)
    """
    areas, axis = _areas(y, x, dx, axis, "cumulative_trapezoid")
    out = cumulative_sum(areas, axis=axis)
    if initial is None:
        return out
    shape = (*out.shape[:axis], 1, *out.shape[axis + 1 :])
    return concat([full(shape, initial, dtype=out.dtype, device=out.device), out], axis=axis)
