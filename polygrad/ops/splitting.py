"""A tensor taken into parts along an axis."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from polygrad.errors import InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops._axes import as_int, as_tensor, normalize_axis
from polygrad.tensor import Tensor
from polygrad.views import getitem_tensor

_table = Chapter("splitting")


@_table.public(samples=lambda s: [
    ((s.real(6, 2), 3), {}), ((s.real(2, 5), [1, 3]), {"axis": -1}),
    ((s.complex(4), [2, 2, 3]), {}), ((s.real(2, 0), 2), {"axis": 1}),
], kinds="bifc", method=True)  # fmt: skip
def split(x: Any, /, indices_or_sections: int | Iterable[int], axis: int = 0) -> tuple[Tensor, ...]:
    """The parts of a tensor along an axis, as views: NumPy's function, and PyTorch's `chunk`.

    Parameters
    ----------
    x
        Tensor of any dtype, with one axis or more.
    indices_or_sections
        The number of parts, which divides the length of the axis; or where parts begin: `[2, 5]`
        gives `x[:2]`, `x[2:5]`, `x[5:]`. Indices are taken as slices take them.
    axis
        The axis to take apart.

    Returns
    -------
    tuple of Tensor
        Views of `x`.

    Raises
    ------
    InvalidArgumentError
        The parts would have unequal lengths, or their number is not positive.
    InvalidTypeError, OutOfRangeError
        An index is no int; `x` has no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.split(pg.arange(6), 3)
    (tensor([0, 1], dtype=int64), tensor([2, 3], dtype=int64), tensor([4, 5], dtype=int64))
    >>> pg.split(pg.arange(6), [4])
    (tensor([0, 1, 2, 3], dtype=int64), tensor([4, 5], dtype=int64))
    """
    x = as_tensor(x, "split, argument x")
    axis = normalize_axis(axis, x.ndim, "split")
    length, where = x.shape[axis], "split, argument indices_or_sections"
    ndim = getattr(indices_or_sections, "ndim", None)  # 0-d arrays are iterable by their type
    if isinstance(indices_or_sections, Iterable) and ndim != 0:
        cuts = [as_int(i, where) for i in indices_or_sections]
    else:
        parts = as_int(indices_or_sections, where)
        if parts < 1 or length % parts:
            raise InvalidArgumentError(
                f"an axis of length {length} has no {parts} equal parts", where,
                "pass where the parts begin: range(size, length, size) for parts of a size",
            )  # fmt: skip
        cuts = [i * (length // parts) for i in range(1, parts)]
    before = (slice(None),) * axis
    bounds = pairwise([None, *cuts, None])
    return tuple(getitem_tensor(x, (*before, slice(*b))) for b in bounds)
