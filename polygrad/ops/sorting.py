"""Sorting functions of the array API standard."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import BOOL, uint8
from polygrad.errors import DtypeError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axis
from polygrad.ops.creation import to_place
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("sorting")
_KEYWORDS = {"axis": -1, "descending": False, "stable": True}


def _flip(F: Any, x: Any, axis: int) -> Any:
    return F.backend.getitem(x, (*(slice(None),) * axis, slice(None, None, -1), Ellipsis))


def _sort_forward(F: Any, x: Any, axis: int, descending: bool, stable: bool) -> Any:
    out = F.xp.sort(x, axis=axis, stable=stable)
    return F.backend.copy(_flip(F, out, axis)) if descending else out


def _argsort_forward(F: Any, x: Any, axis: int, descending: bool, stable: bool) -> Any:
    """Descending: the order of the reversed array, reversed: equal elements stay in order."""
    if not descending:
        return F.xp.argsort(x, axis=axis, stable=stable)
    order = F.xp.argsort(_flip(F, x, axis), axis=axis, stable=stable)
    return x.shape[axis] - 1 - _flip(F, order, axis)


def _unpermute_forward(F: Any, x: Any, order: Any, axis: int) -> Any:
    """The inverse of a permutation is what sorts it: nothing has to be scattered."""
    back = F.argsort(order, axis=axis, descending=False, stable=True)
    return F.xp.take_along_axis(x, back, axis=axis)


Primitive(
    "permute_along_axis", ("x", "order"),
    {"x": lambda g, F, order, axis: F.unpermute_along_axis(g, order, axis=axis)},
    keywords={"axis": -1}, promotes=("x",),
    forward=lambda F, x, order, axis: F.xp.take_along_axis(x, order, axis=axis),
)  # fmt: skip
Primitive(
    "unpermute_along_axis", ("x", "order"),
    {"x": lambda g, F, order, axis: F.permute_along_axis(g, order, axis=axis)},
    keywords={"axis": -1}, promotes=("x",), forward=_unpermute_forward,
)  # fmt: skip
_argsort = Primitive("argsort", ("x",), {}, forward=_argsort_forward, keywords=_KEYWORDS)


def _sort_rule(g: Any, F: Any, x: Any, axis: int, descending: bool, stable: bool) -> Any:
    """Every element's cotangent back to where it came from."""
    order = F.argsort(x, axis=axis, descending=descending, stable=stable)
    return F.unpermute_along_axis(g, order, axis=axis)


_sort = Primitive("sort", ("x",), {"x": _sort_rule}, forward=_sort_forward, keywords=_KEYWORDS)


def _samples(s: Any) -> Any:
    return [
        ((s.distinct(5),), {}),
        ((s.distinct(3, 4),), {"axis": 0, "descending": True}),
        ((s.distinct(2, 3, 2),), {"axis": -2, "stable": False}),
        ((s.real(0, 2),), {"axis": 0}),
    ]


def _apply(p: Primitive, x: Any, axis: int, descending: bool, stable: bool) -> Tensor:
    x = as_tensor(x, f"{p.name}, argument x")
    if not x.ndim:
        raise ShapeError("a 0-d tensor cannot be sorted", f"{p.name}{describe([x])}", "reshape it")
    if x.kernels.is_complex:
        raise DtypeError(
            "complex numbers have no order", f"{p.name}{describe([x])}",
            "sort by pg.argsort(pg.abs(x))",
        )  # fmt: skip
    place = normalize_axis(axis, x.ndim, p.name)
    number = to_place(x, uint8) if x.kernels.kind == BOOL else x
    out: Tensor = p.call(number, axis=place, descending=bool(descending), stable=bool(stable))
    return to_place(out, x.dtype) if number is not x and p is _sort else out


@_table.public(samples=_samples, kinds="if", differentiable=False, method=True)
def argsort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort along an axis.

    Parameters
    ----------
    x
        Real tensor of at least one axis.
    axis
        Along which.
    descending
        The largest first.
    stable
        Equal elements keep their order.

    Raises
    ------
    ShapeError, DtypeError
        x is 0-d, or complex.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.argsort(pg.tensor([3, 1, 2]))
    tensor([1, 2, 0], dtype=int64)
    """
    return _apply(_argsort, x, axis, descending, stable)


@_table.public(samples=_samples, kinds="if", method=True)
def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """Sorted along an axis; parameters and errors as of `argsort`.

    Notes
    -----
    The gradient goes back to where each element came from.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.sort(pg.tensor([3, 1, 2]), descending=True)
    tensor([3, 2, 1], dtype=int64)
    """
    return _apply(_sort, x, axis, descending, stable)
