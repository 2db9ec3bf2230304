"""Searching functions of the array API standard."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import BOOL, INTEGER
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.kernels import declare_forward
from polygrad.ops._axes import as_tensor, count, normalize_axes, normalize_axis
from polygrad.primitive import CONSTANT, Primitive
from polygrad.registry import default_integer
from polygrad.tensor import Tensor, new_tensor, raw

_table = Chapter("searching")

_where = Primitive(
    "where", ("condition", "x", "y"),
    {
        "condition": CONSTANT,
        "x": lambda g, F, condition: F.where(condition, g, 0),
        "y": lambda g, F, condition: F.where(condition, 0, g),
    },
    forward=lambda F, condition, x, y: F.xp.where(condition, x, y), promotes=("x", "y"),
    elementwise=True,
)  # fmt: skip


@_table.public(
    samples=lambda s: [
        ((s.bools(2, 3), s.real(2, 3), s.real(2, 3)), {}),
        ((s.bools(2, 1), s.real(3), s.real()), {}),
        ((s.bools(2), s.real(2), 0.5), {}),
        ((s.bools(0), s.real(0), s.real(1)), {}),
    ],
    kinds="bifc",
)
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """Elements of `x1` where the condition holds, of `x2` elsewhere.

    Parameters
    ----------
    condition
        Boolean tensor; numbers are true unless zero.
    x1, x2
        Tensors or numbers; all three broadcast. Without them: `nonzero(condition)`.

    Notes
    -----
    What was not chosen gets a gradient of zero, also if its own derivative is infinite there.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([-1.0, 4.0])
    >>> pg.where(x > 0, x, 0)
    tensor([0., 4.], dtype=float32)
    """
    condition = as_tensor(condition, "where, argument condition")
    if condition.kernels.kind != BOOL:
        condition = condition != 0
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise InvalidArgumentError(
            "one of x1 and x2 is missing", "where", "pass both, or the condition alone"
        )
    return _where.call(condition, x1, x2)


# ---- extrema ------------------------------------------------------------------------------------
def _index_of(name: str) -> Primitive:
    return Primitive(
        name, ("x",), {}, keywords={"axis": None, "keepdims": False},
        forward=lambda F, x, axis, keepdims: getattr(F.xp, name)(x, axis=axis, keepdims=keepdims),
    )  # fmt: skip


_argmax, _argmin = _index_of("argmax"), _index_of("argmin")


def _samples(s: Any) -> Any:
    return [
        ((s.distinct(2, 3),), {}),
        ((s.distinct(2, 3),), {"axis": -1}),
        ((s.distinct(2, 3),), {"axis": 0, "keepdims": True}),
    ]


def _extremum(p: Primitive, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = as_tensor(x, f"{p.name}, argument x")
    if x.kernels.is_complex:
        raise DtypeError(
            "complex numbers have no order", f"{p.name}{describe([x])}", f"{p.name} of pg.abs(x)"
        )
    place = None if axis is None else normalize_axis(axis, x.ndim, p.name)
    if 0 in x.shape and not count(x.shape, place):
        raise InvalidArgumentError(
            f"{p.name} of no elements", f"{p.name}{describe([x])}, axis={axis}",
            "give it at least one",
        )  # fmt: skip
    return p.call(x, axis=place, keepdims=bool(keepdims))  # type: ignore[no-any-return]


@_table.public(samples=_samples, kinds="if", differentiable=False, method=True)
def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The index of the largest element, of equal ones the first.

    Parameters
    ----------
    x
        Real tensor.
    axis
        Along which; None: the index into the flattened tensor.
    keepdims
        Keep the axis, with length 1.

    Raises
    ------
    InvalidArgumentError
        There are no elements.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.argmax(pg.tensor([[1, 5], [7, 2]]), axis=1)
    tensor([1, 0], dtype=int64)
    """
    return _extremum(_argmax, x, axis, keepdims)


@_table.public(samples=_samples, kinds="if", differentiable=False, method=True)
def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The index of the smallest element, of equal ones the first; all else as of `argmax`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.argmin(pg.tensor([[1, 5], [7, 2]]))
    tensor(0, dtype=int64)
    """
    return _extremum(_argmin, x, axis, keepdims)


# ---- zeros --------------------------------------------------------------------------------------
declare_forward("nonzero", lambda F, x: F.xp.nonzero(x))  # no primitive: as many results as axes


def _count_nonzero_forward(F: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    wide = F.with_dtype(default_integer(F.device))
    true = x if F.kind == BOOL else x != 0
    return wide.sum(wide.cast(true), axis=axis, keepdims=keepdims)


_count_nonzero = Primitive(
    "count_nonzero", ("x",), {}, keywords={"axis": None, "keepdims": False},
    forward=_count_nonzero_forward,
)  # fmt: skip


@_table.public(
    samples=lambda s: [
        ((s.integers(2, 3, low=-1, high=2),), {}),
        ((s.integers(2, 3, low=-1, high=2),), {"axis": (0, 1), "keepdims": True}),
        ((s.real(2, 0),), {"axis": 1}),
    ],
    kinds="bifc",
    differentiable=False,
    method=True,
)
def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """How many elements are not zero.

    Parameters
    ----------
    x
        Tensor of any shape and dtype.
    axis
        An axis, a tuple of axes, or None for all.
    keepdims
        Keep the reduced axes, with length 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.count_nonzero(pg.tensor([[0, 5], [7, 2]]), axis=1)
    tensor([1, 2], dtype=int64)
    """
    x = as_tensor(x, "count_nonzero, argument x")
    axes = None if axis is None else normalize_axes(axis, x.ndim, "count_nonzero")
    return _count_nonzero.call(x, axis=axes, keepdims=bool(keepdims))  # type: ignore[no-any-return]


@_table.public(
    samples=lambda s: [((s.integers(2, 3, low=-1, high=2),), {}), ((s.bools(4),), {})],
    kinds="bifc",
    differentiable=False,
    method=True,
)
def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, an integer tensor for each axis.

    Raises
    ------
    ShapeError
        x is 0-d.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nonzero(pg.tensor([0, 3, 0, 5]))
    (tensor([1, 3], dtype=int64),)
    """
    x = as_tensor(x, "nonzero, argument x")
    if not x.ndim:
        raise ShapeError("a 0-d tensor has no indices", f"nonzero{describe([x])}", "use bool(x)")
    k = x.kernels
    return tuple(new_tensor(i, k.of(i)) for i in map(k.coerce, k.nonzero(raw(x))))


# ---- sorted sequences ---------------------------------------------------------------------------
def _searchsorted_forward(F: Any, x1: Any, x2: Any, side: str) -> Any:
    """The library's, in the dtype of indices: JAX takes narrower ones for short arrays."""
    return F.with_dtype(default_integer(F.device)).cast(F.xp.searchsorted(x1, x2, side=side))


_searchsorted = Primitive(
    "searchsorted", ("x1", "x2"), {}, keywords={"side": "left"}, forward=_searchsorted_forward
)


def _sorted_samples(s: Any) -> Any:
    x = s.distinct(5)
    order = x.argsort()
    return [
        ((x[order], s.real(2, 3)), {}),
        ((x[order], x), {"side": "right"}),
        ((x, s.real(3)), {"sorter": order}),
    ]


@_table.public(
    samples=_sorted_samples,
    kinds="if",
    differentiable=False,
)
def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    """Where the elements of `x2` would have to be inserted into `x1` to keep it sorted.

    Parameters
    ----------
    x1
        Sorted real 1-d tensor.
    x2
        Real tensor or number.
    side
        "left": before elements that are equal; "right": behind them.
    sorter
        The indices that sort `x1`, if it is not sorted.

    Raises
    ------
    ShapeError
        x1 is not 1-d.
    InvalidArgumentError
        `side` is neither.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.searchsorted(pg.tensor([1, 3, 5]), pg.tensor([0, 3, 4]))
    tensor([0, 1, 2], dtype=int64)
    """
    x1 = as_tensor(x1, "searchsorted, argument x1")
    if x1.ndim != 1:
        raise ShapeError(
            f"x1 has {x1.ndim} axes", f"searchsorted{describe([x1, x2])}", "pass a 1-d tensor"
        )
    if side not in ("left", "right"):
        raise InvalidArgumentError(
            f"there is no side {side!r}", "searchsorted, argument side", 'pass "left" or "right"'
        )
    if sorter is not None:
        sorter = as_tensor(sorter, "searchsorted, argument sorter")
        if sorter.kernels.kind != INTEGER:
            raise DtypeError(
                f"indices must be integers, not {sorter.dtype}", "searchsorted, argument sorter",
                "pass pg.argsort(x1)",
            )  # fmt: skip
        x1 = x1[sorter]
    return _searchsorted.call(x1, x2, side=side)  # type: ignore[no-any-return]
