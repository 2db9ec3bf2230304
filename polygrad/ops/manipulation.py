"""Manipulation functions of the array API standard that only look at their input otherwise: views.

They are views on every backend: a write to one is seen by the other. Those that make new tensors
are in `rearrangement` and `windows`.
"""

from __future__ import annotations

import itertools
from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import shape_tuple, size_of
from polygrad.ops._axes import as_tensor, normalize_axes
from polygrad.tensor import Tensor
from polygrad.views import ViewPrimitive, reshape_tensor
from polygrad.views import broadcast_to as _broadcast_to
from polygrad.views import permute_dims as _permute_dims

_table = Chapter("manipulation")
Shape = tuple[int, ...]


# ---- views ----------------------------------------------------------------------------------
def _expanded(shape: Shape, axis: int | Shape) -> Shape:
    """`shape` with axes of length 1 inserted where `axis` points in the result."""
    axes = (axis,) if isinstance(axis, int) else axis
    ndim = len(shape) + len(axes)
    places = {a % ndim for a in axes}
    rest = iter(shape)
    return tuple(1 if i in places else next(rest) for i in range(ndim))


def _squeezed(shape: Shape, axis: int | Shape) -> Shape:
    """`shape` without the axes named."""
    axes = (axis,) if isinstance(axis, int) else axis
    places = {a % len(shape) for a in axes}
    return tuple(n for i, n in enumerate(shape) if i not in places)


_expand_dims = ViewPrimitive(
    "expand_dims", lambda F, g, shape, **_axis: F.reshape(g, shape=shape),
    forward=lambda F, x, axis: F.xp.reshape(x, _expanded(x.shape, axis)), keywords={"axis": 0},
)  # fmt: skip
_squeeze = ViewPrimitive(
    "squeeze", lambda F, g, shape, **_axis: F.reshape(g, shape=shape),
    forward=lambda F, x, axis: F.xp.reshape(x, _squeezed(x.shape, axis)), keywords={"axis": 0},
)  # fmt: skip


def infer_shape(x: Tensor, shape: Any, where: str = "reshape") -> Shape:
    """The shape meant by `shape`, in which one length may be -1."""
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    lengths = [n.__index__() if hasattr(n, "__index__") else n for n in entries]
    have = x.shape
    size = size_of(have)
    if lengths.count(-1) == 1:
        hole = lengths.index(-1)
        rest = size_of(shape_tuple(lengths[:hole] + lengths[hole + 1 :], where))
        if rest and size % rest == 0:
            lengths[hole] = size // rest
    if lengths.count(-1):
        raise ShapeError(
            f"the shape {tuple(lengths)} leaves a length of {have} undetermined",
            f"{where}({describe([x])}), argument shape",
            f"one length may be -1, and the others must divide {size}",
        )
    wanted = shape_tuple(tuple(lengths), where)
    if size_of(wanted) != size:
        raise ShapeError(
            f"{size} elements do not fill the shape {wanted}",
            f"{where}({describe([x])}), argument shape",
            "the product of the lengths must stay the same; one of them may be -1",
        )
    return wanted


@_table.public(samples=lambda s: [
    ((s.real(2, 3), (3, 2)), {}), ((s.real(4), (-1, 2)), {}), ((s.real(2), (2, 1)), {"copy": True}),
    ((s.real(0, 3), (3, 0)), {}), ((s.real(), (1, 1)), {}),
], kinds="bifc")  # fmt: skip
def reshape(x: Any, /, shape: int | Shape, *, copy: bool | None = None) -> Tensor:
    """The same elements, in C order, in another shape.

    Parameters
    ----------
    x
        Tensor of any dtype.
    shape
        The new shape; one length may be -1 and is inferred.
    copy
        True: a copy; False: a view, or an error; None: a view where strides allow one.

    Returns
    -------
    Tensor
        A view of `x` where possible: a write to either is seen by both.

    Raises
    ------
    ShapeError
        The number of elements differs, or `copy=False` needs a copy.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.reshape(pg.asarray([1.0, 2.0, 3.0, 4.0]), (2, -1)).shape
    (2, 2)
    """
    x = as_tensor(x, "reshape, argument x")
    return reshape_tensor(x, infer_shape(x, shape), copy)


@_table.public(samples=lambda s: [
    ((s.real(2, 3, 4), (2, 0, 1)), {}), ((s.complex(2, 3), (-1, 0)), {}), ((s.real(), ()), {}),
], kinds="bifc")  # fmt: skip
def permute_dims(x: Any, /, axes: Shape) -> Tensor:
    """The axes in another order.

    Parameters
    ----------
    x
        Tensor of any dtype.
    axes
        A permutation of the axes of `x`: axis i of the result is axis `axes[i]` of x.

    Returns
    -------
    Tensor
        A view of `x`.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError
        `axes` is no permutation.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.permute_dims(pg.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    x = as_tensor(x, "permute_dims, argument x")
    order = normalize_axes(axes, x.ndim, "permute_dims", "axes")
    if len(order) != x.ndim:
        raise InvalidArgumentError(
            f"axes {axes} are not a permutation of {x.ndim} axes",
            f"permute_dims({describe([x])}), argument axes", "name every axis once",
        )  # fmt: skip
    return _permute_dims.view(x, axes=order)


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {"axis": 0}), ((s.real(2, 3),), {"axis": -1}),
    ((s.complex(2),), {"axis": (0, 2)}), ((s.real(),), {}),
], kinds="bifc", method=True)  # fmt: skip
def expand_dims(x: Any, /, axis: int | Shape = 0) -> Tensor:
    """New axes of length 1.

    Parameters
    ----------
    x
        Tensor of any dtype.
    axis
        Where the new axes stand in the result.

    Returns
    -------
    Tensor
        A view of `x`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError
        The result has no such axis; one is named twice.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.expand_dims(pg.ones((2, 3)), axis=-1).shape
    (2, 3, 1)
    """
    x = as_tensor(x, "expand_dims, argument x")
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    return _expand_dims.view(x, axis=normalize_axes(axis, x.ndim + count, "expand_dims"))


@_table.public(samples=lambda s: [
    ((s.real(2, 1, 3, 1), 1), {}), ((s.real(1, 2, 1),), {"axis": (0, -1)}),
    ((s.real(2, 1),), {}),
], kinds="bifc", method=True)  # fmt: skip
def squeeze(x: Any, /, axis: int | Shape | None = None) -> Tensor:
    """Without axes of length 1.

    Parameters
    ----------
    x
        Tensor of any dtype.
    axis
        Which axes to remove; None: all that have length 1.

    Returns
    -------
    Tensor
        A view of `x`.

    Raises
    ------
    ShapeError
        A named axis has another length than 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.squeeze(pg.ones((2, 1, 3)), 1).shape
    (2, 3)
    """
    x = as_tensor(x, "squeeze, argument x")
    if axis is None:
        axis = tuple(i for i, n in enumerate(x.shape) if n == 1)
    axes = normalize_axes(axis, x.ndim, "squeeze")
    if any(x.shape[a] != 1 for a in axes):
        raise ShapeError(
            f"axis {axis} of shape {x.shape} has another length than 1",
            f"squeeze({describe([x])}), argument axis", "name axes of length 1",
        )  # fmt: skip
    return _squeeze.view(x, axis=axes)


@_table.public(samples=lambda s: [
    ((s.real(2, 3, 4), 0, -1), {}), ((s.real(2, 3, 4), (0, 1), (2, 0)), {}),
], kinds="bifc")  # fmt: skip
def moveaxis(x: Any, source: int | Shape, destination: int | Shape, /) -> Tensor:
    """Some axes in new places, the others in their order.

    Parameters
    ----------
    x
        Tensor of any dtype.
    source, destination
        Where the axes are, and where they go.

    Returns
    -------
    Tensor
        A view of `x`.

    Raises
    ------
    InvalidArgumentError
        `source` and `destination` differ in length.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.moveaxis(pg.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = as_tensor(x, "moveaxis, argument x")
    ndim = x.ndim
    start = normalize_axes(source, ndim, "moveaxis", "source")
    goal = normalize_axes(destination, ndim, "moveaxis", "destination")
    if len(start) != len(goal):
        raise InvalidArgumentError(
            f"{len(start)} axes cannot move to {len(goal)} places", f"moveaxis({describe([x])})",
            "give source and destination the same length",
        )  # fmt: skip
    order = [a for a in range(ndim) if a not in start]
    for place, axis in sorted(zip(goal, start, strict=True)):
        order.insert(place, axis)
    return _permute_dims.view(x, axes=tuple(order))


# ---- broadcasting -----------------------------------------------------------------------------
@_table.public(differentiable=False)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that arrays of these shapes broadcast to.

    Raises
    ------
    ShapeError
        They do not broadcast.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    out: list[int] = []
    for lengths in itertools.zip_longest(*(tuple(reversed(s)) for s in shapes), fillvalue=1):
        others = {n for n in lengths if n != 1}
        if len(others) > 1:
            raise ShapeError(
                "the shapes cannot be broadcast: " + " and ".join(str(tuple(s)) for s in shapes),
                "broadcast_shapes", "aligned from the right, lengths must be equal or 1",
            )  # fmt: skip
        out.append(others.pop() if others else 1)
    return tuple(reversed(out))


@_table.public(samples=lambda s: [
    ((s.real(3, 1), (2, 3, 4)), {}), ((s.complex(1), (0,)), {}), ((s.real(), (2,)), {}),
], kinds="bifc")  # fmt: skip
def broadcast_to(x: Any, /, shape: Shape) -> Tensor:
    """`x` repeated along new axes, and along axes of length 1, without a copy.

    Parameters
    ----------
    x
        Tensor of any dtype.
    shape
        The shape of the result.

    Returns
    -------
    Tensor
        A view of `x` that cannot be written to.

    Raises
    ------
    ShapeError
        `x` does not broadcast to `shape`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.broadcast_to(pg.asarray([1.0, 2.0]), (2, 2))
    tensor([[1., 2.],
            [1., 2.]], dtype=float32)
    """
    x = as_tensor(x, "broadcast_to, argument x")
    wanted = shape_tuple(shape, "broadcast_to")
    have = x.shape
    lead = len(wanted) - len(have)
    if lead < 0 or any(n not in (1, m) for n, m in zip(have, wanted[lead:], strict=True)):
        raise ShapeError(
            f"shape {have} does not broadcast to {wanted}",
            f"broadcast_to({describe([x])}), argument shape",
            "aligned from the right, each length must be kept, or be 1",
        )
    return _broadcast_to.view(x, shape=wanted)


@_table.public(samples=lambda s: [
    ((s.real(2, 1), s.real(3)), {}), ((s.real(2),), {}), ((s.real(), s.real(0, 1), s.real(3)), {}),
], kinds="bifc")  # fmt: skip
def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """All tensors broadcast against each other, as views that cannot be written to.

    Raises
    ------
    ShapeError
        The shapes do not broadcast.

    Examples
    --------
    >>> import polygrad as pg
    >>> [t.shape for t in pg.broadcast_arrays(pg.ones((2, 1)), pg.ones(3))]
    [(2, 3), (2, 3)]
    """
    tensors = [as_tensor(a, "broadcast_arrays") for a in arrays]
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return [t if t.shape == shape else _broadcast_to.view(t, shape=shape) for t in tensors]
