"""Values put, added or combined at places given by index tensors: the inverse of gathering.

Nothing is written in place: each function returns a new tensor. Where one place is written twice,
the last value stays, and it alone has a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.dtypes import BOOL, promote
from polygrad.errors import DtypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.ops._axes import as_tensor, normalize_axis
from polygrad.ops.creation import to_place
from polygrad.ops.elementwise import add, divide, floor_divide
from polygrad.ops.filling import ones
from polygrad.ops.indexing import (
    along,
    check_indices,
    index_room,
    index_tensor,
    take,
    take_along_axis,
    take_along_axis_adjoint,
)
from polygrad.ops.manipulation import broadcast_shapes, broadcast_to, reshape
from polygrad.ops.padding import pad
from polygrad.ops.rearrangement import concat
from polygrad.ops.statistical import prod
from polygrad.primitive import CONSTANT, PRIMITIVES, Primitive
from polygrad.tensor import Tensor, on_host, raw
from polygrad.views import getitem, put

_table = Chapter("scattering")
Shape = tuple[int, ...]
Host = np.ndarray[Any, Any]


# ---- along one axis -----------------------------------------------------------------------------
def _put(x: Tensor, value: Any, key: tuple[Any, ...]) -> Tensor:
    """A new tensor that is x with `value` at `key`."""
    made: Tensor = put.call(x, value, recipe=((getitem, {"key": key}, x.shape),))
    return made


@_table.public(samples=lambda s: [
    ((s.real(3, 2), s.integers(2, low=-3, high=3), s.real(2, 2)), {"axis": 0}),
    ((s.complex(2, 3), s.integers(1, 2, low=-3, high=3), s.complex(2, 1, 1)), {"axis": 1}),
    ((s.real(3), s.integers(0), s.real(0)), {"axis": 0}),
], kinds="ifc", method=True)  # fmt: skip
def index_copy(x: Any, indices: Any, values: Any, /, axis: int) -> Tensor:
    """`x` with its slices at `indices` along an axis replaced by `values`.

    Parameters
    ----------
    x
        Tensor; it is not changed.
    indices
        Integer tensor of any shape. Negative indices count from the end.
    values
        Broadcasts to what `take(x, indices, axis=axis)` gives.
    axis
        The axis that is indexed.

    Returns
    -------
    Tensor
        The shape of `x`, of the promoted dtype. Of equal indices the last counts.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError
        An index is out of range, no integer; `values` do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.index_copy(pg.zeros(3), pg.asarray([2, 0]), pg.asarray([5.0, 7.0]), axis=0)
    tensor([7., 0., 5.], dtype=float32)
    """
    x = as_tensor(x, "index_copy, argument x")
    places, values, axis = index_room(x, indices, values, axis, "index_copy")
    return _put(x, values, (*(slice(None),) * axis, raw(places)))


@_table.public(samples=lambda s: [
    ((s.real(3, 2), s.integers(2, low=-3, high=3), 1.5), {"axis": 0}),
    ((s.complex(2, 3), s.integers(2, low=0, high=3), s.real()), {"axis": -1}),
], kinds="fc", method=True)  # fmt: skip
def index_fill(x: Any, indices: Any, value: Any, /, axis: int) -> Tensor:
    """`x` with one value in its slices at `indices` along an axis.

    Parameters
    ----------
    x, indices, axis
        As of `index_copy`.
    value
        A number or a 0-d tensor.

    Raises
    ------
    ShapeError, OutOfRangeError, DtypeError
        `value` is more than one; an index is out of range, or no integer.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.index_fill(pg.zeros(3), pg.asarray([2, 0]), 5, axis=0)
    tensor([5., 0., 5.], dtype=float32)
    """
    x = as_tensor(x, "index_fill, argument x")
    if getattr(value, "shape", ()) != ():
        raise ShapeError(
            f"one value fills the slices, not a tensor of shape {tuple(value.shape)}",
            "index_fill, argument value", "use index_copy for several",
        )  # fmt: skip
    places, _, axis = index_room(x, indices, None, axis, "index_fill")
    return _put(x, value, (*(slice(None),) * axis, raw(places)))


# ---- at places of their own ---------------------------------------------------------------------
def _places(x: Any, indices: Any, axis: Any, name: str) -> tuple[Tensor, Tensor, int]:
    """x, the indices, which fit into it, and the axis counted from the front."""
    x = as_tensor(x, f"{name}, argument x")
    places = as_tensor(indices, f"{name}, argument indices")
    axis = normalize_axis(axis, x.ndim, name)
    fits = places.ndim == x.ndim and all(
        n <= m or i == axis for i, (n, m) in enumerate(zip(places.shape, x.shape, strict=True))
    )
    if not fits:
        raise ShapeError(
            f"indices of shape {places.shape} for a tensor of shape {x.shape}",
            f"{name}{describe([x, places])}, axis {axis}",
            "they need its rank, and no axis but the indexed one may be longer",
        )  # fmt: skip
    check_indices(places, x.shape[axis], name, x)
    return x, places, axis


def _operands(
    x: Any, indices: Any, values: Any, axis: Any, name: str
) -> tuple[Tensor, Tensor, Any, int]:
    """x, the indices, the values cut to their shape, and the axis counted from the front."""
    x, places, axis = _places(x, indices, axis, name)
    if isinstance(values, (bool, int, float, complex)):
        return x, places, values, axis
    found = as_tensor(values, f"{name}, argument values")
    if not found.ndim:
        found = broadcast_to(found, places.shape)
    where = f"{name}{describe([x, places, found])}, axis {axis}"
    if found.ndim != x.ndim or any(
        n > m for n, m in zip(places.shape, found.shape, strict=True)
    ):
        raise ShapeError(
            f"{places.shape} indices for values of shape {found.shape}", where,
            "give a value for each index, or a number",
        )  # fmt: skip
    if found.shape != places.shape:
        found = found[tuple(slice(n) for n in places.shape)]
    return x, places, found, axis


@_table.public(samples=lambda s: [
    ((s.real(3, 4), s.integers(3, 2, low=-4, high=4)), {"axis": 1}),
    ((s.complex(3, 4), s.integers(5, 2, low=0, high=3)), {"axis": 0}),
    ((s.real(2, 2), s.integers(0, 2)), {"axis": 0}),
], kinds="bifc", method=True)  # fmt: skip
def gather(x: Any, indices: Any, /, axis: int) -> Tensor:
    """Each lane of `x` read at indices of its own: `out[i][j] = x[i][indices[i][j]]` for axis 1.

    It is `take_along_axis` of the part of `x` that is as long as `indices` along the other axes.

    Parameters
    ----------
    x, indices, axis
        As of `scatter`; x of any dtype.

    Returns
    -------
    Tensor
        The shape of `indices`, the dtype of `x`. Its gradient adds up over equal indices.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError
        As `scatter`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.gather(pg.asarray([[1.0, 2.0], [3.0, 4.0]]), pg.asarray([[1, 1, 0]]), axis=1)
    tensor([[2., 2., 1.]], dtype=float32)
    """
    x, places, axis = _places(x, indices, axis, "gather")
    if any(n < m for i, (n, m) in enumerate(zip(places.shape, x.shape, strict=True)) if i != axis):
        key = tuple(slice(None if i == axis else n) for i, n in enumerate(places.shape))
        x = x[key]
    return take_along_axis(x, places, axis=axis)


def _scatter_samples(s: Any) -> Any:
    return [
        ((s.real(3, 4), s.integers(3, 2, low=-4, high=4), s.real(3, 2)), {"axis": 1}),
        ((s.complex(3, 4), s.integers(2, 3, low=0, high=3), s.complex(2, 4)), {"axis": 0}),
        ((s.real(3), s.integers(5, low=0, high=3), s.real(5)), {"axis": -1}),
        ((s.real(2, 2), s.integers(0, 2), s.real(0, 2)), {"axis": 0}),
    ]


@_table.public(samples=lambda s: [
    *_scatter_samples(s), ((s.real(3, 4), s.integers(3, 2, low=0, high=4), 2), {"axis": 1}),
], kinds="ifc", method=True)  # fmt: skip
def scatter(x: Any, indices: Any, values: Any, /, axis: int) -> Tensor:
    """`x` with `out[i][indices[i][j]] = values[i][j]`: each lane along an axis has its own indices.

    Parameters
    ----------
    x
        Tensor; it is not changed.
    indices
        Integer tensor of the rank of x, no longer than x except along `axis`. Negative indices
        count from the end.
    values
        A tensor of the rank of x, at least as long as `indices` along every axis; what is beyond is
        not used. Or one number.
    axis
        The axis that is indexed.

    Returns
    -------
    Tensor
        The shape of `x`, of the promoted dtype. Of equal places the last value counts.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError
        An index is out of range, no integer; the shapes do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.scatter(pg.zeros((2, 3)), pg.asarray([[2], [0]]), 5, axis=1)
    tensor([[0., 0., 5.],
            [5., 0., 0.]], dtype=float32)
    """
    x, places, values, axis = _operands(x, indices, values, axis, "scatter")
    return _put(x, values, along(places.kernels, raw(places), axis))


@_table.public(samples=lambda s: [
    ((s.real(3, 4), s.integers(3, 2, low=-4, high=4), s.real(3, 1)), {}),
    ((s.complex(3, 4), s.integers(2, 1, low=0, high=3), s.complex(4)), {"axis": 0}),
    ((s.real(3), s.integers(2, low=0, high=3), 1.5), {"axis": 0}),
], kinds="fc")  # fmt: skip
def put_along_axis(x: Any, indices: Any, values: Any, /, axis: int = -1) -> Tensor:
    """`x` with values at the places that `take_along_axis` with these indices reads.

    Parameters
    ----------
    x
        Tensor; it is not changed: a new one is returned.
    indices
        Integer tensor of the rank of x; its shape broadcasts to that of x except along `axis`.
    values
        Tensor or number that broadcasts to the shape of what is read.
    axis
        The axis that is indexed.

    Returns
    -------
    Tensor
        The shape of `x`, of the promoted dtype. Of equal places the last value counts.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError
        An index is out of range, no integer; the shapes do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.put_along_axis(pg.zeros((2, 3)), pg.asarray([[2], [0]]), 5)
    tensor([[0., 0., 5.],
            [5., 0., 0.]], dtype=float32)
    """
    x = as_tensor(x, "put_along_axis, argument x")
    places = as_tensor(indices, "put_along_axis, argument indices")
    axis = normalize_axis(axis, x.ndim, "put_along_axis")
    if places.ndim == x.ndim:
        shape = tuple(n if i == axis else x.shape[i] for i, n in enumerate(places.shape))
        if all(n in (1, m) for n, m in zip(places.shape, shape, strict=True)):
            places = broadcast_to(places, shape)
    if not isinstance(values, (bool, int, float, complex)):
        values = as_tensor(values, "put_along_axis, argument values")
        if broadcast_shapes(values.shape, places.shape) == places.shape:
            values = broadcast_to(values, places.shape)
    x, places, values, axis = _operands(x, places, values, axis, "put_along_axis")
    return _put(x, values, along(places.kernels, raw(places), axis))


@_table.public(samples=_scatter_samples, kinds="ifc", method=True)
def scatter_add(x: Any, indices: Any, values: Any, /, axis: int) -> Tensor:
    """`x` with `values` added at places of their own; equal places add up.

    Parameters and errors are those of `scatter`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.scatter_add(pg.ones(3), pg.asarray([0, 2, 0]), pg.ones(3), axis=0)
    tensor([3., 1., 2.], dtype=float32)
    """
    x, places, values, axis = _operands(x, indices, values, axis, "scatter_add")
    return _added(x, places, values, axis)


def _added(x: Tensor, places: Tensor, values: Any, axis: int) -> Tensor:
    if not isinstance(values, Tensor):
        values = values * ones(places.shape, dtype=x.dtype, device=x.device)
    values = to_place(values, promote(x.dtype, values.dtype))
    reach = tuple(n if i != axis else x.shape[axis] for i, n in enumerate(places.shape))
    sums = take_along_axis_adjoint.call(values, places, shape=reach, axis=axis)
    if reach != x.shape:
        sums = pad(sums, tuple((0, m - n) for n, m in zip(reach, x.shape, strict=True)))
    return add(x, sums)  # type: ignore[no-any-return]


# ---- combined -----------------------------------------------------------------------------------
def _extremum(name: str) -> Primitive:
    """The largest or smallest of each group of elements; equal ones share the gradient.

    Groups are numbered from 0; none is empty. It is found on the host.
    """
    largest = name == "group_maximum"

    def forward(F: Any, x: Any, groups: Any, count: int) -> Any:
        host, at = F.backend.to_numpy(x), F.backend.to_numpy(groups)
        first = np.zeros(count, dtype=np.int64)
        first[at[::-1]] = np.arange(at.size)[::-1]
        out = host[first]
        (np.maximum if largest else np.minimum).at(out, at, host)
        return F.from_numpy(out)

    def rule(g: Any, F: Any, x: Any, groups: Any, out: Any, count: int) -> Any:
        best = F.take(out, groups, axis=0)
        share = F.indicator(~((x < best) if largest else (x > best)), x)
        number = F.take_adjoint(share, groups, shape=(count,), axis=0)
        return share * F.take(g / number, groups, axis=0)

    return Primitive(
        name, ("x", "groups"), {"x": rule, "groups": CONSTANT}, forward=forward, promotes=("x",),
        keywords={"count": 0},
    )  # fmt: skip


_extrema = {"amax": _extremum("group_maximum"), "amin": _extremum("group_minimum")}


def _group_products(items: Tensor, groups: Host, count: int) -> Tensor:
    """The product of each group: groups of similar size as rows of a matrix, filled up with 1."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=count)
    starts = np.cumsum(sizes) - sizes
    filled = concat([items, ones(1, dtype=items.dtype, device=items.device)])
    classes = np.ceil(np.log2(sizes)).astype(int)
    parts, members = [], []
    for c in np.unique(classes):
        found = np.flatnonzero(classes == c)
        steps = np.arange(2**c)
        slots = np.minimum(starts[found, None] + steps, order.size - 1)
        rows = np.where(steps < sizes[found, None], order[slots], order.size)
        picked = take(filled, index_tensor(rows, items), axis=0)
        parts.append(prod(picked, axis=1, dtype=items.dtype))
        members.append(found)
    back = np.argsort(np.concatenate(members))
    return take(concat(parts), index_tensor(back, items), axis=0)


def _combined(items: Tensor, groups: Host, count: int, how: str) -> Tensor:
    """One number for each group."""
    if how == "prod":
        return _group_products(items, groups, count)
    where = index_tensor(groups, items)
    if how in _extrema:
        best: Tensor = _extrema[how].call(items, where, count=count)
        return best
    total = PRIMITIVES["take_adjoint"].call(items, where, shape=(count,), axis=0)
    if how == "sum":
        return total  # type: ignore[no-any-return]
    number = index_tensor(np.bincount(groups, minlength=count), items)
    if items.kernels.inexact:
        return divide(total, to_place(number, items.dtype))  # type: ignore[no-any-return]
    return floor_divide(total, to_place(number, items.dtype))  # type: ignore[no-any-return]


def _cells(x: Tensor, places: Tensor, axis: int, name: str) -> Host:
    """The flat position in x of each index, on the host."""
    host = on_host(places)
    n = x.shape[axis]
    if host.size and not (-n <= host.min() and host.max() < n):
        raise OutOfRangeError(
            f"indices from {host.min()} to {host.max()} for an axis of length {n}",
            f"{name}{describe([x, places])}", f"indices go from {-n} to {n - 1}",
        )  # fmt: skip
    key = list(np.ogrid[tuple(slice(m) for m in host.shape)])
    key[axis] = host
    return np.arange(size_of(x.shape)).reshape(x.shape)[tuple(key)].reshape(-1)


def _reduce_samples(s: Any) -> Any:
    return [
        ((s.real(3, 4), s.integers(3, 6, low=-4, high=4), s.real(3, 6), "sum"),
         {"axis": 1, "include_self": False}),
        ((s.real(3, 4), s.integers(5, 3, low=0, high=3), s.real(5, 3), "prod"), {"axis": 0}),
        ((s.real(3), s.integers(6, low=0, high=2), s.real(6), "prod"),
         {"axis": 0, "include_self": False}),
        ((s.real(3), s.integers(5, low=0, high=2), s.real(5), "mean"), {"axis": 0}),
        ((s.distinct(3), s.integers(5, low=0, high=2), s.distinct(5) * 2 + 1, "amax"), {"axis": 0}),
        ((s.distinct(3), s.integers(5, low=0, high=2), s.distinct(5) * 2 + 1, "amin"),
         {"axis": 0, "include_self": False}),
        ((s.real(2), s.integers(0), s.real(0), "prod"), {"axis": 0}),
    ]  # fmt: skip


_HOW = ("sum", "prod", "mean", "amax", "amin")


@_table.public(samples=_reduce_samples, kinds="if", method=True)
def scatter_reduce(
    x: Any, indices: Any, values: Any, /, reduce: str, axis: int, *, include_self: bool = True
) -> Tensor:
    """`x` combined with `values` at places of their own.

    Parameters
    ----------
    x, indices, values, axis
        As of `scatter`. They are real unless `reduce` is "sum", "prod" or "mean".
    reduce
        How what meets in one place is combined: "sum", "prod", "mean", "amax" or "amin".
    include_self
        Whether what stands in x counts too. Where there is no value x stays in any case.

    Returns
    -------
    Tensor
        The shape of `x`, of the promoted dtype. A mean of integers is rounded down.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError, InvalidArgumentError
        An index is out of range, no integer; the shapes do not fit; there is no such reduction.

    Notes
    -----
    Equal extrema share the gradient. That of products is right, of every order, at factors that are
    0. Places are reckoned on the host.

    Examples
    --------
    >>> import polygrad as pg
    >>> values = pg.asarray([2.0, 3.0, 4.0])
    >>> pg.scatter_reduce(pg.ones(3), pg.asarray([0, 2, 0]), values, "prod", axis=0)
    tensor([8., 1., 3.], dtype=float32)
    """
    name = "scatter_reduce"
    if reduce not in _HOW:
        raise InvalidArgumentError(
            f"there is no reduction {reduce!r}", f"{name}, argument reduce",
            "choose one of " + ", ".join(_HOW),
        )  # fmt: skip
    x, places, values, axis = _operands(x, indices, values, axis, name)
    if not isinstance(values, Tensor):
        values = values * ones(places.shape, dtype=x.dtype, device=x.device)
    dtype = promote(x.dtype, values.dtype)
    x, values = to_place(x, dtype), to_place(values, dtype)
    if x.kernels.kind == BOOL or (x.kernels.is_complex and reduce in _extrema):
        raise DtypeError(
            f"{reduce} is not defined for {dtype}", f"{name}{describe([x, places, values])}",
            "convert the operands: pg.astype",
        )  # fmt: skip
    if reduce == "sum" and include_self:
        return _added(x, places, values, axis)
    if not places.size:
        return +x  # type: ignore[no-any-return]
    cells = _cells(x, places, axis, name)
    hit = np.zeros(x.size, dtype=bool)
    hit[cells] = True
    touched, groups = np.flatnonzero(hit), (np.cumsum(hit) - 1)[cells]
    flat, items = reshape(x, (-1,)), reshape(values, (-1,))
    where = index_tensor(touched, x)
    if include_self:
        items = concat([take(flat, where, axis=0), items])
        groups = np.concatenate([np.arange(touched.size), groups])
    combined = _combined(items, groups, touched.size, reduce)
    return reshape(_put(flat, combined, (raw(where),)), x.shape)
