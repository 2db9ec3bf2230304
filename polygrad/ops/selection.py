"""The largest elements along an axis, and the k-th smallest, with their indices."""

from __future__ import annotations

from typing import Any, NamedTuple

from polygrad.calls import describe
from polygrad.dtypes import BOOL, uint8
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axis
from polygrad.ops.creation import to_place
from polygrad.ops.indexing import take_along_axis
from polygrad.ops.manipulation import moveaxis, squeeze
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor
from polygrad.views import detach

_table = Chapter("selection")


class Selection(NamedTuple):
    """What `topk` and `kthvalue` return."""

    values: Tensor
    indices: Tensor


def _operands(x: Any, k: Any, axis: Any, low: int, name: str) -> tuple[Tensor, int, int]:
    """x, k and the axis, of which there are k elements."""
    x = as_tensor(x, f"{name}, argument x")
    where = f"{name}{describe([x])}, argument k"
    if not x.ndim:
        raise ShapeError("a 0-d tensor has no order", f"{name}{describe([x])}", "reshape it")
    if x.kernels.is_complex:
        raise DtypeError(
            "complex numbers have no order", f"{name}{describe([x])}",
            f"take {name} of pg.abs(x) or pg.real(x)",
        )  # fmt: skip
    axis = normalize_axis(axis, x.ndim, name)
    if not hasattr(k, "__index__"):
        raise InvalidTypeError(f"k is an int, not {k!r}", where, "pass an int")
    k, n = k.__index__(), x.shape[axis]
    if not low <= k <= n:
        raise InvalidArgumentError(
            f"k is {k}, and the axis has length {n}", where, f"choose from {low} to {n}"
        )
    return x, k, axis


_best = Primitive(  # where the k largest or smallest of the last axis are, the best first
    "best_indices", ("x",), {}, keywords={"k": 0, "largest": True},
    forward=lambda F, x, k, largest: F.argsort(
        x, axis=x.ndim - 1, descending=largest, stable=True
    )[..., :k],
)  # fmt: skip


def _found(x: Tensor, k: int, axis: int, largest: bool) -> Tensor:
    x = detach(x)
    lanes = moveaxis(to_place(x, uint8) if x.kernels.kind == BOOL else x, axis, -1)
    return moveaxis(_best.call(lanes, k=k, largest=bool(largest)), -1, axis)


@_table.public(samples=lambda s: [
    ((s.distinct(5), 2), {}), ((s.distinct(4, 3), 3), {"axis": 0, "largest": False}),
    ((s.distinct(3, 4), 1), {"sorted": False}), ((s.distinct(2, 3), 0), {}),
], kinds="if", method=True)  # fmt: skip
def topk(
    x: Any, /, k: int, axis: int = -1, *, largest: bool = True, sorted: bool = True
) -> Selection:
    """The k largest elements along an axis, or the k smallest, and where they are.

    Parameters
    ----------
    x
        Real tensor of at least one axis.
    k
        How many.
    axis
        Along which.
    largest
        False: the smallest ones.
    sorted
        Whether the order matters. They come in order in any case, the best first.

    Returns
    -------
    Selection
        `values`, of the dtype of x, and `indices`, both of length k along the axis. NaN counts as
        larger than all numbers. Of equal elements the first are taken.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError
        There are no k elements; there is no such axis.
    DtypeError, ShapeError
        x is complex, or 0-d.

    Notes
    -----
    The gradient of a value goes to the element at its index.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.topk(pg.asarray([3, 7, 5, 1]), 2)
    Selection(values=tensor([7, 5], dtype=int64), indices=tensor([1, 2], dtype=int64))
    """
    del sorted
    x, k, axis = _operands(x, k, axis, 0, "topk")
    found = _found(x, k, axis, largest)
    return Selection(take_along_axis(x, found, axis=axis), found)


@_table.public(samples=lambda s: [
    ((s.distinct(5), 2), {}), ((s.distinct(4, 3), 4), {"axis": 0}),
    ((s.distinct(3, 4), 1), {"keepdims": True}),
], kinds="if", method=True)  # fmt: skip
def kthvalue(x: Any, /, k: int, axis: int = -1, *, keepdims: bool = False) -> Selection:
    """The k-th smallest element along an axis, counted from 1, and where it is.

    Parameters
    ----------
    x, axis
        As of `topk`.
    k
        Which: 1 for the smallest.
    keepdims
        Keep the axis, with length 1.

    Returns
    -------
    Selection
        `values`, of the dtype of x, and `indices`. NaN counts as larger than all numbers.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError
        There are no k elements, or k is not positive; there is no such axis.
    DtypeError, ShapeError
        x is complex, or 0-d.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.kthvalue(pg.asarray([3, 7, 5, 1]), 2)
    Selection(values=tensor(3, dtype=int64), indices=tensor(0, dtype=int64))
    """
    x, k, axis = _operands(x, k, axis, 1, "kthvalue")
    found = _found(x, k, axis, largest=False)[(*(slice(None),) * axis, slice(k - 1, k))]
    values = take_along_axis(x, found, axis=axis)
    if keepdims:
        return Selection(values, found)
    return Selection(squeeze(values, axis), squeeze(found, axis))
