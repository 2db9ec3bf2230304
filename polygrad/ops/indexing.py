"""Indexing functions: `take` and `take_along_axis` of the array API standard, and their adjoints.

Indices may be negative. One out of range is an error on every backend, also where the library would wrap
it or read elsewhere.
"""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import INTEGER
from polygrad.errors import DtypeError, InvalidArgumentError, OutOfRangeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axis
from polygrad.primitive import CONSTANT, Primitive
from polygrad.tensor import Tensor, raw

_table = Chapter("indexing")
Shape = tuple[int, ...]


# ---- take -------------------------------------------------------------------------------------
def _take(F: Any, x: Any, indices: Any, axis: int) -> Any:
    """The standard's `take`, for indices of any rank."""
    axis %= x.ndim
    if indices.ndim == 1:
        return F.xp.take(x, indices, axis=axis)
    flat = F.xp.take(x, F.xp.reshape(indices, (-1,)), axis=axis)
    return F.xp.reshape(flat, x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def _take_adjoint(F: Any, g: Any, indices: Any, shape: Shape, axis: int) -> Any:
    """Zeros of `shape` with the slices of g added at `indices` along `axis`."""
    axis %= len(shape)
    key = (*(slice(None),) * axis, indices)
    return F.backend.add_at(F.of(g).zeros(shape), key, g)


_take_primitive = Primitive(
    "take", ("x", "indices"),
    {
        "x": lambda g, F, indices, x_shape, axis: F.take_adjoint(g, indices, shape=x_shape, axis=axis),
        "indices": CONSTANT,
    },
    keywords={"axis": 0}, promotes=("x",), forward=_take,
)  # fmt: skip
_take_adjoint_primitive = Primitive(
    "take_adjoint", ("x", "indices"),
    {"x": lambda g, F, indices, axis: F.take(g, indices, axis=axis), "indices": CONSTANT},
    keywords={"shape": (), "axis": 0}, promotes=("x",), forward=_take_adjoint,
)  # fmt: skip


def check_indices(indices: Tensor, length: int, where: str, x: Tensor) -> None:
    """Refuse indices that are not integers, or out of range where the library would not notice."""
    if indices.kernels.kind != INTEGER:
        raise DtypeError(
            f"indices must be integers, not {indices.dtype}", f"{where}{describe([x, indices])}",
            "convert them: indices.to(pg.int64)",
        )  # fmt: skip
    backend = indices.kernels.backend
    if backend.capabilities.checks_indices or not indices.size:
        return
    xp, array = backend.xp, raw(indices)
    low, high = int(xp.min(array)), int(xp.max(array))
    if low < -length or high >= length:
        raise OutOfRangeError(
            f"index {low if low < -length else high} is out of range for an axis of length {length}",
            f"{where}{describe([x, indices])}", f"indices go from {-length} to {length - 1}",
        )  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3, 4), s.integers(5, low=-3, high=3)), {"axis": 0}),
    ((s.complex(2, 3), s.integers(2, 2, low=0, high=3)), {"axis": -1}),
    ((s.real(3), s.integers(2, low=0, high=3)), {}),
], kinds="bifc")  # fmt: skip
def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """Slices of `x` at `indices` along an axis.

    Parameters
    ----------
    x
        Tensor of any dtype.
    indices
        Integer tensor of any shape; it takes the place of `axis` in the result. Negative
        indices count from the end.
    axis
        Needed unless `x` has one axis.

    Returns
    -------
    Tensor
        Shape `x.shape[:axis] + indices.shape + x.shape[axis + 1:]`, the dtype of `x`. Its gradient adds up
        over equal indices.

    Raises
    ------
    OutOfRangeError, DtypeError, InvalidArgumentError
        An index is out of range, no integer; `axis` is missing.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.take(pg.asarray([1.0, 2.0, 3.0]), pg.asarray([2, 0, 0]))
    tensor([3., 1., 1.], dtype=float32)
    """
    x = as_tensor(x, "take, argument x")
    if axis is None:
        if x.ndim != 1:
            raise InvalidArgumentError(
                f"axis is needed for a tensor of {x.ndim} axes", f"take{describe([x])}", "pass axis="
            )
        axis = 0
    axis = normalize_axis(axis, x.ndim, "take")
    where = as_tensor(indices, "take, argument indices")
    check_indices(where, x.shape[axis], "take", x)
    return _take_primitive.call(x, where, axis=axis)  # type: ignore[no-any-return]
