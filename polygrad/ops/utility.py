"""Utility functions of the array API standard."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import BOOL
from polygrad.errors import InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axes, normalize_axis
from polygrad.primitive import PRIMITIVES, Primitive
from polygrad.tensor import Tensor
from polygrad.views import getitem

_table = Chapter("utility")


def _truth(name: str) -> Primitive:
    """A reduction of truth values: numbers are true unless zero."""

    def forward(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return getattr(F.xp, name)(x, axis=axis, keepdims=keepdims)

    return Primitive(name, ("x",), {}, forward=forward, keywords={"axis": None, "keepdims": False})


_all, _any = _truth("all"), _truth("any")


def _samples(s: Any) -> Any:
    return [
        ((s.bools(2, 3),), {}),
        ((s.bools(2, 3),), {"axis": 0}),
        ((s.bools(2, 3, 2),), {"axis": (0, -1), "keepdims": True}),
        ((s.bools(0, 2),), {"axis": 0}),
        ((s.bools(),), {}),
    ]


@_table.public(samples=_samples, kinds="bifc", differentiable=False, method=True)
def all(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """Whether all elements are true.

    Parameters
    ----------
    x
        Tensor of any shape and dtype; numbers are true unless zero.
    axis
        An axis, a tuple of axes, or None for all.
    keepdims
        Keep the reduced axes, with length 1.

    Returns
    -------
    Tensor
        Boolean; true where there are no elements.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.all(pg.tensor([[True, False], [True, True]]), axis=1)
    tensor([False,  True], dtype=bool)
    """
    return _reduce(_all, x, axis, keepdims)


@_table.public(samples=_samples, kinds="bifc", differentiable=False, method=True)
def any(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """Whether any element is true; parameters as of `all`.

    Returns
    -------
    Tensor
        Boolean; false where there are no elements.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.any(pg.tensor([0, 0, 2]))
    tensor(True, dtype=bool)
    """
    return _reduce(_any, x, axis, keepdims)


def _reduce(p: Primitive, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = as_tensor(x, f"{p.name}, argument x")
    axes = None if axis is None else normalize_axes(axis, x.ndim, p.name)
    return p.call(x, axis=axes, keepdims=bool(keepdims))  # type: ignore[no-any-return]


@_table.public(
    samples=lambda s: [
        ((s.distinct(5),), {}),
        ((s.distinct(3, 4),), {"axis": 0, "n": 2}),
        ((s.distinct(3, 4), 1), {"prepend": s.real(3, 1), "append": s.real(3, 2)}),
        ((s.distinct(3),), {"n": 0}),
        ((s.distinct(2),), {"n": 4}),
    ],
    kinds="ifc",
    method=True,
)
def diff(
    x: Any, /, n: int = 1, axis: int = -1, *, prepend: Any = None, append: Any = None
) -> Tensor:
    """The n-th differences of neighbours along an axis.

    Parameters
    ----------
    x
        Tensor of at least one axis.
    n
        How often the difference is taken; the axis gets shorter by one each time.
    axis
        Along which.
    prepend, append
        Tensors that x is joined with first, along the axis, unless n is 0.

    Raises
    ------
    InvalidArgumentError
        n is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.diff(pg.tensor([1, 4, 9, 16]), n=2)
    tensor([2, 2], dtype=int64)
    """
    x = as_tensor(x, "diff, argument x")
    place = normalize_axis(axis, x.ndim, "diff")
    if n < 0:
        raise InvalidArgumentError(
            f"a difference cannot be taken {n} times", f"diff{describe([x])}, argument n", "n >= 0"
        )
    if not n:
        return x  # type: ignore[no-any-return]
    parts = [x]
    if prepend is not None:
        parts.insert(0, as_tensor(prepend, "diff, argument prepend"))
    if append is not None:
        parts.append(as_tensor(append, "diff, argument append"))
    if len(parts) > 1:
        from polygrad.ops.rearrangement import concat  # noqa: PLC0415  a chapter below

        x = concat(parts, axis=place)
    lead = (slice(None),) * place
    behind, before = (*lead, slice(1, None), Ellipsis), (*lead, slice(None, -1), Ellipsis)
    minus = PRIMITIVES["not_equal" if x.kernels.kind == BOOL else "subtract"].call
    for _ in range(min(n, x.shape[place])):
        x = minus(getitem.call(x, key=behind), getitem.call(x, key=before))
    return x  # type: ignore[no-any-return]
