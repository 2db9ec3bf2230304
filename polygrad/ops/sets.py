"""Set functions of the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple

from polygrad.dtypes import BOOL, COMPLEX
from polygrad.families import Chapter
from polygrad.kernels import declare_forward
from polygrad.ops._axes import as_tensor
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import getitem, reshape

_table = Chapter("sets")
declare_forward("unique_all", lambda F, x: F.xp.unique_all(x))  # no primitive: values are gathered


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def _samples(s: Any) -> Any:
    return [((s.integers(3, 4, low=0, high=4),), {}), ((s.real(0),), {}), ((s.distinct(3),), {})]


@_table.public(samples=_samples, kinds="bifc")
def unique_all(x: Any, /) -> UniqueAll:
    """The distinct elements, where each is first, which each element is, and how often each occurs.

    NaN differs from NaN. The order of the values is the library's.

    Returns
    -------
    UniqueAll
        `values` and `indices` (into the flattened x) and `counts`, of one length; `inverse_indices`
        of the shape of x, with `values[inverse_indices]` equal to x.

    Notes
    -----
    The gradient of a value goes to its first occurrence.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.unique_all(pg.tensor([3, 1, 3])).counts
    tensor([1, 2], dtype=int64)
    """
    x = as_tensor(x, "unique_all, argument x")
    k = x.kernels
    found = k.unique_all(raw(x))
    flat = reshape.call(x, shape=(x.size,))
    values = getitem.call(flat, key=(found.indices,))
    rest = (found.indices, k.xp.reshape(found.inverse_indices, x.shape), found.counts)
    return UniqueAll(values, *(new_tensor(i, k.of(i)) for i in map(k.coerce, rest)))


@_table.public(samples=_samples, kinds="bifc")
def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements and how often each occurs; as `unique_all`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.unique_counts(pg.tensor([3, 1, 3])).counts
    tensor([1, 2], dtype=int64)
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


@_table.public(samples=_samples, kinds="bifc")
def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements and which of them each element is; as `unique_all`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.unique_inverse(pg.tensor([3, 1, 3])).inverse_indices
    tensor([1, 0, 1], dtype=int64)
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@_table.public(samples=_samples, kinds="bifc")
def unique_values(x: Any, /) -> Tensor:
    """The distinct elements; as `unique_all`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.unique_values(pg.tensor([3, 1, 3]))
    tensor([1, 3], dtype=int64)
    """
    return unique_all(x).values


def _isin_forward(F: Any, x: Any, y: Any, invert: bool) -> Any:
    """By binary search in the sorted y; numbers without an order are compared with all of y."""
    xp, y = F.xp, F.xp.reshape(y, (-1,))
    if y.shape[0] == 0:
        found = x != x  # noqa: PLR0124
        found = found & ~found
    elif F.kind in (BOOL, COMPLEX):
        found = xp.any(xp.expand_dims(x, axis=-1) == y, axis=-1)
    else:
        y = xp.sort(y)
        flat = xp.reshape(x, (-1,))
        place = xp.searchsorted(y, flat)
        place = xp.where(place < y.shape[0], place, y.shape[0] - 1)
        found = xp.reshape(xp.take(y, place, axis=0) == flat, x.shape)
    return ~found if invert else found


_isin = Primitive("isin", ("x1", "x2"), {}, forward=_isin_forward, keywords={"invert": False})


@_table.public(
    samples=lambda s: [
        ((s.integers(2, 3, low=0, high=5), s.integers(4, low=0, high=5)), {}),
        ((s.integers(3, low=0, high=5), 2), {"invert": True}),
        ((s.real(3), s.real(0)), {}),
    ],
    kinds="bifc",
    differentiable=False,
)
def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Whether each element of `x1` occurs in `x2`.

    Parameters
    ----------
    x1, x2
        Tensors of any shapes, one of them possibly a number.
    invert
        Ask for the contrary.

    Returns
    -------
    Tensor
        Boolean, of the shape of x1. NaN occurs nowhere.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.isin(pg.tensor([1, 2, 3]), pg.tensor([2, 7]))
    tensor([False,  True, False], dtype=bool)
    """
    return _isin.call(x1, x2, invert=bool(invert))  # type: ignore[no-any-return]


