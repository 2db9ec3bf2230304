"""Manipulation functions of the array API standard that make new tensors: join, reorder, repeat."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import shape_tuple
from polygrad.ops._axes import as_tensor, normalize_axes, normalize_axis
from polygrad.ops.manipulation import moveaxis, reshape
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor
from polygrad.views import clone

_table = Chapter("manipulation")
Shape = tuple[int, ...]


# ---- joining ----------------------------------------------------------------------------------
def _section(ndim: int, axis: int, part: Any) -> tuple[Any, ...]:
    """The key of a part along one axis."""
    return (*(slice(None),) * (axis % ndim), part, Ellipsis)


class _Concat(Primitive):
    """Its cotangents are consecutive sections, found in one pass."""

    def backward(self, node: Any, g: Any, F: Any, saved: Any, wanted: Sequence[bool]) -> list[Any]:
        """The section of each input."""
        del node
        shapes, axis = saved
        ndim = len(g.shape)
        ends = list(itertools.accumulate((s[axis] for s in shapes), initial=0))
        return [
            F.getitem(g, key=_section(ndim, axis, slice(ends[i], ends[i + 1]))) if want else None
            for i, want in enumerate(wanted)
        ]


def _concat_rule(g: Any, F: Any, arrays_shape: Any, axis: int, i: int) -> Any:
    start = sum(s[axis] for s in arrays_shape[:i])
    part = slice(start, start + arrays_shape[i][axis])
    return F.getitem(g, key=_section(len(g.shape), axis, part))


_concat = _Concat(
    "concat", ("arrays",), {"arrays": _concat_rule}, keywords={"axis": 0}, variadic=True,
    forward=lambda F, arrays, axis: F.xp.concat(arrays, axis=axis),
)  # fmt: skip
_stack = Primitive(
    "stack", ("arrays",),
    {"arrays": lambda g, F, axis, i: F.getitem(g, key=_section(len(g.shape), axis, i))},
    keywords={"axis": 0}, variadic=True,
    forward=lambda F, arrays, axis: F.xp.stack(arrays, axis=axis),
)  # fmt: skip


def _several(arrays: Any, where: str) -> list[Tensor]:
    if not isinstance(arrays, (tuple, list)):
        arrays = list(arrays)
    if not arrays:
        raise InvalidArgumentError("there is nothing to join", where, "pass at least one tensor")
    return [as_tensor(a, f"{where}, argument arrays") for a in arrays]


@_table.public(samples=lambda s: [
    (([s.real(2, 3), s.real(1, 3)],), {}),
    (([s.real(2, 1), s.real(2, 0), s.real(2, 3)],), {"axis": -1}),
    (([s.real(2, 2), s.real(3)],), {"axis": None}),
], kinds="bifc")  # fmt: skip
def concat(arrays: Sequence[Any], /, axis: int | None = 0) -> Tensor:
    """Tensors joined along an existing axis.

    Parameters
    ----------
    arrays
        Tensors whose shapes agree except along `axis`.
    axis
        The axis to join along; None: all are flattened first.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes do not agree; the sequence is empty.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.concat([pg.ones((2, 3)), pg.zeros((1, 3))]).shape
    (3, 3)
    """
    tensors = _several(arrays, "concat")
    if axis is None:
        tensors, axis = [reshape(t, (-1,)) for t in tensors], 0
    shapes = [t.shape for t in tensors]
    axis = normalize_axis(axis, len(shapes[0]), "concat")
    alike = shapes.count(shapes[0]) == len(shapes)
    if not alike and len({(len(s), s[:axis], s[axis + 1 :]) for s in shapes}) > 1:
        raise ShapeError(
            "the shapes do not agree: " + " and ".join(map(str, shapes)),
            f"concat, axis {axis}", "all lengths except that along axis must be equal",
        )  # fmt: skip
    return _concat.call(tensors, axis=axis)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    (([s.real(2, 3), s.real(2, 3)],), {}), (([s.complex(2), s.complex(2)],), {"axis": -1}),
], kinds="bifc")  # fmt: skip
def stack(arrays: Sequence[Any], /, axis: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis.

    Parameters
    ----------
    arrays
        Tensors of one shape.
    axis
        Where the new axis stands in the result.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ; the sequence is empty.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.stack([pg.ones(3), pg.zeros(3)], axis=1).shape
    (3, 2)
    """
    tensors = _several(arrays, "stack")
    if len({t.shape for t in tensors}) > 1:
        raise ShapeError(
            "the shapes differ: " + " and ".join(str(t.shape) for t in tensors), "stack",
            "all tensors must have one shape; concat joins along an existing axis",
        )  # fmt: skip
    axis = normalize_axis(axis, tensors[0].ndim + 1, "stack")
    return _stack.call(tensors, axis=axis)  # type: ignore[no-any-return]


_unstack = Primitive(
    "unstack", ("x",), {"x": lambda g, F, axis: F.stack(g, axis=axis)},
    keywords={"axis": 0}, outputs=0,
    forward=lambda x, axis: [x[_section(x.ndim, axis, i)] for i in range(x.shape[axis])],
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(2, 3),), {"axis": -1}), ((s.complex(1, 2),), {}),
], kinds="bifc", method=True)  # fmt: skip
def unstack(x: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it: the inverse of `stack`.

    One step of the tape, however many slices, so that a loop over them costs no more backward than
    forward. `x[i]` gives the same slice as a view.

    Parameters
    ----------
    x
        Tensor of any dtype, with one axis or more.
    axis
        The axis to take apart.

    Returns
    -------
    tuple of Tensor
        `x.shape[axis]` tensors.

    Raises
    ------
    OutOfRangeError
        `x` has no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.unstack(pg.arange(4).reshape(2, 2), axis=1)
    (tensor([0, 2], dtype=int64), tensor([1, 3], dtype=int64))
    """
    x = as_tensor(x, "unstack, argument x")
    axis = normalize_axis(axis, x.ndim, "unstack")
    return _unstack.call(x, axis=axis) if x.shape[axis] else ()


# ---- reordering -------------------------------------------------------------------------------
_flip = Primitive(
    "flip", ("x",), {"x": lambda g, F, axis: F.flip(g, axis=axis)}, keywords={"axis": ()},
    forward=lambda F, x, axis: F.xp.flip(x, axis=axis),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.complex(2, 3),), {"axis": -1}),
    ((s.real(2, 3, 2),), {"axis": (0, 2)}), ((s.real(),), {}),
], kinds="bifc", method=True)  # fmt: skip
def flip(x: Any, /, axis: int | Shape | None = None) -> Tensor:
    """The elements in reverse order along some axes.

    Parameters
    ----------
    x
        Tensor of any dtype.
    axis
        Which axes to reverse; None: all.

    Returns
    -------
    Tensor
        A new tensor of the same shape; `x[::-1]` is the view.

    Raises
    ------
    OutOfRangeError
        `x` has no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.flip(pg.arange(3))
    tensor([2, 1, 0], dtype=int64)
    """
    x = as_tensor(x, "flip, argument x")
    return _flip.call(x, axis=normalize_axes(axis, x.ndim, "flip"))  # type: ignore[no-any-return]


_roll = Primitive(
    "roll", ("x",),
    {"x": lambda g, F, shift, axis: F.roll(g, shift=tuple(-n for n in shift), axis=axis)},
    keywords={"shift": (), "axis": ()},
    forward=lambda F, x, shift, axis: F.xp.roll(x, shift, axis=axis),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3), 1), {}), ((s.real(2, 3), -2), {"axis": 1}),
    ((s.complex(2, 3), (1, 5)), {"axis": (0, -1)}), ((s.real(0), 1), {}),
], kinds="bifc")  # fmt: skip
def roll(x: Any, /, shift: int | Shape, axis: int | Shape | None = None) -> Tensor:
    """The elements shifted along some axes; what leaves at the end comes in at the start.

    Parameters
    ----------
    x
        Tensor of any dtype.
    shift
        By how many places, for all axes or for each.
    axis
        Which axes; None: the flattened tensor is rolled and takes its shape again.

    Returns
    -------
    Tensor
        The same shape.

    Raises
    ------
    InvalidArgumentError
        `shift` and `axis` differ in length.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.roll(pg.arange(4), 1)
    tensor([3, 0, 1, 2], dtype=int64)
    """
    x = as_tensor(x, "roll, argument x")
    if axis is None:
        flat = roll(reshape(x, (-1,)), shift, axis=0)
        return reshape(flat, x.shape)
    entries = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(normalize_axis(a, x.ndim, "roll") for a in entries)  # one axis may come twice
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise InvalidArgumentError(
            f"{len(shifts)} shifts for {len(axes)} axes", f"roll{describe([x])}",
            "give one shift, or one for each axis",
        )  # fmt: skip
    shifts = tuple(int(n) for n in shifts)
    return _roll.call(x, shift=shifts, axis=axes)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.complex(2, 3), 2), {}), ((s.real(2, 3, 2), -1), {"axes": (-1, 0)}),
    ((s.real(2, 3), 4), {}),
], kinds="bifc", method=True)  # fmt: skip
def rot90(x: Any, /, k: int = 1, axes: Shape = (0, 1)) -> Tensor:
    """The plane of two axes turned by right angles, from the first of them towards the second.

    Parameters
    ----------
    x
        Tensor of any dtype with two axes or more.
    k
        How many right angles.
    axes
        Two different axes.

    Returns
    -------
    Tensor
        The lengths of the two axes are exchanged if k is odd.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError
        There are not two different axes; x has no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.rot90(pg.asarray([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]], dtype=int64)
    """
    x = as_tensor(x, "rot90, argument x")
    plane = normalize_axes(axes, x.ndim, "rot90", "axes")
    if len(plane) != 2:
        raise InvalidArgumentError(
            f"a rotation in {len(plane)} axes", f"rot90{describe([x])}, argument axes", "name two"
        )
    turned = tuple(a for a, n in zip(plane, (k % 4 in (2, 3), k % 4 in (1, 2)), strict=True) if n)
    x = _flip.call(x, axis=turned) if turned else clone.call(x)
    return moveaxis(x, plane, plane[::-1]) if k % 2 else x


# ---- repeating --------------------------------------------------------------------------------
def _repeat_rule(g: Any, F: Any, x_shape: Shape, repeats: int, axis: int) -> Any:
    parts = (*x_shape[: axis + 1], repeats, *x_shape[axis + 1 :])
    return F.sum(F.reshape(g, shape=parts), axis=axis + 1, keepdims=False)


_repeat = Primitive(
    "repeat", ("x",), {"x": _repeat_rule}, keywords={"repeats": 1, "axis": 0},
    forward=lambda F, x, repeats, axis: F.xp.repeat(x, repeats, axis=axis),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3), 2), {}), ((s.real(2, 3), 3), {"axis": 0}), ((s.complex(2, 3), 0), {"axis": -1}),
    ((s.real(3), s.integers(3, low=0, high=4)), {}),
    ((s.real(2, 3), s.integers(1, low=2, high=3)), {"axis": 1}),
], kinds="bifc")  # fmt: skip
def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Tensor:
    """Each element several times in a row.

    Parameters
    ----------
    x
        Tensor of any dtype.
    repeats
        How many times: an int, or an integer tensor with one count for each place along `axis`.
    axis
        The axis to repeat along; None: `x` is flattened first.

    Returns
    -------
    Tensor
        The same dtype.

    Raises
    ------
    InvalidArgumentError, ShapeError
        A count is negative; the number of counts is not the length of the axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.repeat(pg.arange(3), 2)
    tensor([0, 0, 1, 1, 2, 2], dtype=int64)
    """
    from polygrad.ops.indexing import index_tensor, take  # noqa: PLC0415  a chapter above

    x = as_tensor(x, "repeat, argument x")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normalize_axis(axis, x.ndim, "repeat")
    counts = _counts(repeats, x, axis)
    if isinstance(counts, int):
        return _repeat.call(x, repeats=counts, axis=axis)  # type: ignore[no-any-return]
    return take(x, index_tensor(np.repeat(np.arange(len(counts)), counts), x), axis=axis)


def _counts(repeats: Any, x: Tensor, axis: int) -> int | list[int]:
    """`repeats` as one int, or one for each place."""
    where = f"repeat{describe([x])}, argument repeats"
    if hasattr(repeats, "__index__") and not getattr(repeats, "ndim", 0):
        counts = [repeats.__index__()]
    else:
        counts = as_tensor(repeats, where).tolist()
        counts = counts if isinstance(counts, list) else [counts]
    if not all(type(n) is int for n in counts):
        raise InvalidTypeError("counts are integers", where, "convert them to an integer dtype")
    if any(n < 0 for n in counts):
        raise InvalidArgumentError(f"a count is negative: {min(counts)}", where)
    if len(counts) == 1:
        return int(counts[0])
    if len(counts) != x.shape[axis]:
        raise ShapeError(
            f"{len(counts)} counts for an axis of length {x.shape[axis]}", where,
            "give one count, or one for each place along axis",
        )  # fmt: skip
    return counts


def _tiled(shape: Shape, repetitions: Shape) -> Shape:
    """Counts and lengths in turn, of equally many axes."""
    return tuple(n for pair in zip(repetitions, shape, strict=True) for n in pair)


def _tile_rule(g: Any, F: Any, x_shape: Shape, repetitions: Shape) -> Any:
    padded = (1,) * (len(repetitions) - len(x_shape)) + x_shape
    g = F.reshape(g, shape=_tiled(padded, repetitions))
    g = F.sum(g, axis=tuple(range(0, 2 * len(padded), 2)), keepdims=False)
    return F.reshape(g, shape=x_shape)


_tile = Primitive(
    "tile", ("x",), {"x": _tile_rule}, keywords={"repetitions": ()},
    forward=lambda F, x, repetitions: F.xp.tile(x, repetitions),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3), (2, 1)), {}), ((s.complex(3), (2, 2)), {}), ((s.real(2, 3), (2,)), {}),
    ((s.real(2), (0,)), {}),
], kinds="bifc")  # fmt: skip
def tile(x: Any, repetitions: int | Shape, /) -> Tensor:
    """Copies of `x` side by side.

    Parameters
    ----------
    x
        Tensor of any dtype.
    repetitions
        How many copies along each axis, aligned from the right; missing ones are 1.

    Returns
    -------
    Tensor
        The same dtype.

    Raises
    ------
    InvalidArgumentError
        A count is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.tile(pg.arange(2), (2, 2))
    tensor([[0, 1, 0, 1],
            [0, 1, 0, 1]], dtype=int64)
    """
    x = as_tensor(x, "tile, argument x")
    counts = shape_tuple(repetitions, "tile, argument repetitions")
    counts = (1,) * (x.ndim - len(counts)) + counts
    return _tile.call(x, repetitions=counts)  # type: ignore[no-any-return]
