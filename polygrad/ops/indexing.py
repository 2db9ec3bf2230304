"""Indexing functions: `take` and `take_along_axis` of the array API standard, and `index_add`.

Indices may be negative. One out of range is an error on every backend, also where the library would
wrap it or read elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.calls import check_device, describe
from polygrad.dtypes import INTEGER, int64
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import broadcasts_to, table, upload
from polygrad.kernels import declare_forward
from polygrad.late_checks import check_range
from polygrad.ops._axes import as_tensor, normalize_axis
from polygrad.ops.manipulation import broadcast_shapes, broadcast_to
from polygrad.primitive import CONSTANT, Primitive
from polygrad.tensor import Tensor, new_tensor, raw

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


take_primitive = Primitive(
    "take", ("x", "indices"),
    {
        "x": lambda g, F, indices, x_shape, axis: F.take_adjoint(
            g, indices, shape=x_shape, axis=axis
        ),
        "indices": CONSTANT,
    },
    keywords={"axis": 0}, promotes=("x",), forward=_take,
)  # fmt: skip
_take_adjoint_primitive = Primitive(
    "take_adjoint", ("x", "indices"),
    {"x": lambda g, F, indices, axis: F.take(g, indices, axis=axis), "indices": CONSTANT},
    keywords={"shape": (), "axis": 0}, promotes=("x",), forward=_take_adjoint,
)  # fmt: skip


declare_forward(  # no primitive: (low, high) that enclose x, high its maximum
    "index_range", lambda F, x: (F.backend.item(F.xp.min(x)), F.backend.item(F.xp.max(x)))
)
def _outside(F: Any, x: Any, low: int, end: int) -> Any:
    """Whether any index is out of range, as a 0-d array; in 64 bits, where all fit."""
    wide = F.backend.astype(x, int64)
    return F.xp.any((wide < low) | (wide >= end))


declare_forward("index_outside", _outside)


def index_tensor(
    places: np.ndarray[Any, Any], x: Tensor, *, of_shapes: bool = False
) -> Tensor:
    """Positions reckoned on the host as a tensor on the device of `x`.

    `of_shapes`: they follow from shapes and options alone.
    """
    backend = x.kernels.backend
    array = (table if of_shapes else upload)(backend, places, x.device)
    return new_tensor(array, backend.kernels_of(array))


def check_indices(indices: Tensor, length: int, where: str, x: Tensor) -> None:
    """Refuse indices on another device, or no integers, or out of range where no library would."""
    if indices.kernels.kind != INTEGER:
        raise DtypeError(
            f"indices must be integers, not {indices.dtype}", f"{where}{describe([x, indices])}",
            "convert them: indices.to(pg.int64)",
        )  # fmt: skip
    check_device(x, indices, where)
    backend = indices.kernels.backend
    if backend.capabilities.checks_indices or not indices.size:
        return
    check_range(
        indices.kernels, raw(indices), length, lambda: f"{where}{describe([x, indices])}"
    )


@_table.public(samples=lambda s: [
    ((s.real(3, 4), s.integers(5, low=-3, high=3)), {"axis": 0}),
    ((s.complex(2, 3), s.integers(2, 2, low=0, high=3)), {"axis": -1}),
    ((s.real(3), s.integers(2, low=0, high=3)), {}),
], kinds="bifc", method=True)  # fmt: skip
def take(x: Any, indices: Any, /, axis: int | None = None) -> Tensor:
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
        Shape `x.shape[:axis] + indices.shape + x.shape[axis + 1:]`, the dtype of `x`. Its gradient
        adds up over equal indices.

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
                f"axis is needed for a tensor of {x.ndim} axes", f"take{describe([x])}",
                "pass axis=",
            )  # fmt: skip
        axis = 0
    axis = normalize_axis(axis, x.ndim, "take")
    where = as_tensor(indices, "take, argument indices")
    check_indices(where, x.shape[axis], "take", x)
    return take_primitive.call(x, where, axis=axis)  # type: ignore[no-any-return]


# ---- take_along_axis ----------------------------------------------------------------------------
def along(F: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """The key that `take_along_axis` stands for: all places, with `indices` along the axis."""
    shape, ndim = indices.shape, len(indices.shape)
    key = []
    for i, n in enumerate(shape):
        places = np.arange(n).reshape(-1, *(1,) * (ndim - i - 1))
        key.append(indices if i == axis else table(F.backend, places, F.device))
    return tuple(key)


_take_along_axis = Primitive(
    "take_along_axis", ("x", "indices"),
    {
        "x": lambda g, F, indices, x_shape, axis: F.take_along_axis_adjoint(
            g, indices, shape=x_shape, axis=axis
        ),
        "indices": CONSTANT,
    },
    keywords={"axis": 0}, promotes=("x",),
    forward=lambda F, x, indices, axis: F.xp.take_along_axis(x, indices, axis=axis),
)  # fmt: skip
take_along_axis_adjoint = Primitive(
    "take_along_axis_adjoint", ("x", "indices"),
    {
        "x": lambda g, F, indices, axis: F.take_along_axis(g, indices, axis=axis),
        "indices": CONSTANT,
    },
    keywords={"shape": (), "axis": 0}, promotes=("x",),
    forward=lambda F, x, indices, shape, axis: F.backend.add_at(
        F.of(x).zeros(shape), along(F, indices, axis), x
    ),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3, 4), s.integers(3, 2, low=-4, high=4)), {}),
    ((s.complex(3, 4), s.integers(5, 4, low=0, high=3)), {"axis": 0}),
    ((s.real(1, 4), s.integers(3, 2, low=0, high=4)), {"axis": 1}),
    ((s.real(3, 4), s.integers(3, 0)), {}),
], kinds="bifc", method=True)  # fmt: skip
def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Tensor:
    """Elements of `x`, each lane along an axis with indices of its own, as `argsort` gives them.

    Parameters
    ----------
    x
        Tensor of any dtype.
    indices
        Integer tensor of the rank of `x`; the shapes broadcast against each other except along
        `axis`. Negative indices count from the end.
    axis
        The axis that is indexed.

    Returns
    -------
    Tensor
        The broadcast shape, of the length of `indices` along `axis`; the dtype of `x`.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError
        An index is out of range, no integer; the shapes do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.take_along_axis(pg.asarray([[1.0, 2.0], [3.0, 4.0]]), pg.asarray([[1], [0]]))
    tensor([[2.],
            [3.]], dtype=float32)
    """
    x = as_tensor(x, "take_along_axis, argument x")
    places = as_tensor(indices, "take_along_axis, argument indices")
    if x.ndim != places.ndim or not x.ndim:
        raise ShapeError(
            f"indices of {places.ndim} axes for a tensor of {x.ndim}",
            f"take_along_axis{describe([x, places])}",
            "indices need the rank of x: add axes with expand_dims",
        )  # fmt: skip
    axis = normalize_axis(axis, x.ndim, "take_along_axis")
    check_indices(places, x.shape[axis], "take_along_axis", x)
    have, want = list(x.shape), list(places.shape)
    length, count = have[axis], want[axis]
    have[axis] = want[axis] = 1
    shape = list(broadcast_shapes(tuple(have), tuple(want)))
    shape[axis] = length
    x = x if x.shape == tuple(shape) else broadcast_to(x, tuple(shape))
    shape[axis] = count
    places = places if places.shape == tuple(shape) else broadcast_to(places, tuple(shape))
    return _take_along_axis.call(x, places, axis=axis)  # type: ignore[no-any-return]


# ---- index_add ----------------------------------------------------------------------------------
_index_add = Primitive(
    "index_add", ("x", "indices", "values"),
    {
        "x": lambda g: g,
        "indices": CONSTANT,
        "values": lambda g, F, indices, axis: F.take(g, indices, axis=axis),
    },
    keywords={"axis": 0}, promotes=("x", "values"),
    forward=lambda F, x, indices, values, axis: F.backend.add_at(
        x, (*(slice(None),) * axis, indices), values
    ),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3, 4), s.integers(5, low=-3, high=3), s.real(5, 4)), {"axis": 0}),
    ((s.complex(2, 3), s.integers(2, 2, low=0, high=3), s.complex(2, 1, 1)), {"axis": 1}),
    ((s.real(3), s.integers(0), s.real(0)), {"axis": 0}),
], kinds="ifc", method=True)  # fmt: skip
def index_add(x: Any, indices: Any, values: Any, /, axis: int) -> Tensor:
    """`x` with values added to its slices at `indices` along an axis; equal indices add up.

    Parameters
    ----------
    x
        Numeric tensor; it is not changed.
    indices
        Integer tensor of any shape. Negative indices count from the end.
    values
        Broadcasts to what `take(x, indices, axis=axis)` gives.
    axis
        The axis that is indexed.

    Returns
    -------
    Tensor
        The shape of `x`, of the promoted dtype.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError
        An index is out of range, no integer; `values` do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.index_add(pg.zeros(3), pg.asarray([0, 2, 0]), pg.ones(3), axis=0)
    tensor([2., 0., 1.], dtype=float32)
    """
    x = as_tensor(x, "index_add, argument x")
    places, values, axis = index_room(x, indices, values, axis, "index_add")
    return _index_add.call(x, places, values, axis=axis)  # type: ignore[no-any-return]


def index_room(
    x: Tensor, indices: Any, values: Any, axis: Any, where: str
) -> tuple[Tensor, Any, int]:
    """The indices along an axis, values that broadcast to what they read, and the axis.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError
        An index is out of range, no integer; `values`, unless None, do not fit.
    """
    places = as_tensor(indices, f"{where}, argument indices")
    axis = normalize_axis(axis, x.ndim, where)
    check_indices(places, x.shape[axis], where, x)
    if values is None:
        return places, None, axis
    values = as_tensor(values, f"{where}, argument values")
    room = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
    if not broadcasts_to(values.shape, room):
        raise ShapeError(
            f"values of shape {values.shape} do not broadcast to {room}",
            f"{where}{describe([x, places, values])}",
            "values go where take(x, indices, axis=axis) would read",
        )  # fmt: skip
    return places, values, axis
