"""Integers: evenly spread, in random order, or chosen by weights.

Without replacement items are drawn as in a race: the order of `e / weight`, e exponential. P. S.
Efraimidis, P. G. Spirakis, "Weighted random sampling with a reservoir" (2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.indexing import shape_tuple, size_of
from polygrad.ops._axes import as_int, normalize_axis
from polygrad.random.arguments import NONNEGATIVE, NUMBER, Host, Parameter, chosen, given
from polygrad.registry import default_integer, find_device, kernels_for
from polygrad.streams import Generator, below, open_units
from polygrad.tensor import Tensor, new_tensor

__all__ = ["categorical", "integers", "multinomial", "permutation", "places_by_weight"]

_MASK = (1 << 64) - 1
_WEIGHTS = Parameter("weights", "The weights", NONNEGATIVE)
_LOGITS = Parameter("logits", "Logarithms of weights", NUMBER._replace(
    words="no NaN, and not inf", test=lambda x: x < np.inf))  # fmt: skip
_MULTINOMIAL, _CATEGORICAL = "random.multinomial", "random.categorical"


def _integer(dtype: Any, device: Any, where: str, n: int = 0) -> Any:
    """The Kernels of an integer dtype that holds 0, 1, …, n - 1."""
    place = find_device(device)
    wanted = default_integer(place) if dtype is None else dtypes.canonical(dtype)
    if dtypes.kind_of(wanted) != dtypes.INTEGER:
        raise DtypeError(
            f"the numbers are integers, not {wanted}", f"{where}, argument dtype",
            "pass an integer dtype",
        )  # fmt: skip
    if n > int(np.iinfo(wanted).max) + 1:
        raise InvalidArgumentError(
            f"{wanted} cannot hold all of 0 to {n - 1}", f"{where}, argument dtype",
            "pass a wider integer dtype",
        )  # fmt: skip
    return kernels_for(place, wanted, where)


def integers(
    low: int,
    high: int,
    shape: int | tuple[int, ...] = (),
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers spread evenly over low, low + 1, …, high - 1.

    Parameters
    ----------
    low, high
        The bounds, ints; `high` is not reached.
    shape
        Of the result.
    dtype
        An integer dtype; int64 (int32 where there is none) if not given.
    device, generator
        As for `uniform`.

    Raises
    ------
    DtypeError, InvalidArgumentError, InvalidTypeError
        `dtype` is no integer dtype; there is no integer in [low, high), or `dtype` cannot hold it;
        a bound is no int.

    >>> import polygrad as pg
    >>> pg.random.integers(3, 4, (2,))
    tensor([3, 3], dtype=int64)
    """
    where = "random.integers"
    low, high = as_int(low, f"{where}, argument low"), as_int(high, f"{where}, argument high")
    kernels = _integer(dtype, device, where)
    shape = shape_tuple(shape, where)
    limits = np.iinfo(kernels.dtype)
    if not limits.min <= low < high <= limits.max + 1:
        raise InvalidArgumentError(
            f"no {kernels.dtype} in [{low}, {high})", f"{where}, arguments low and high",
            "pass low < high within the range of dtype",
        )  # fmt: skip
    drawn = below(chosen(generator, where), size_of(shape), high - low)
    host = (drawn + np.uint64(low & _MASK)).astype(kernels.dtype)
    return new_tensor(kernels.from_numpy(host.reshape(shape)), kernels)


def permutation(
    n: int, *, dtype: Any = None, device: Any = None, generator: Generator | None = None
) -> Tensor:
    """The integers 0, 1, …, n - 1 in random order.

    Parameters
    ----------
    n
        How many.
    dtype
        An integer dtype; int64 (int32 where there is none) if not given.
    device, generator
        As for `uniform`.

    Raises
    ------
    DtypeError, InvalidArgumentError, InvalidTypeError
        `dtype` is no integer dtype, or cannot hold them; n is negative, or no int.

    >>> import polygrad as pg
    >>> sorted(pg.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    where = "random.permutation"
    (n,) = shape_tuple(as_int(n, f"{where}, argument n"), where)
    kernels = _integer(dtype, device, where, n)
    order = np.argsort(chosen(generator, where).words(n), kind="stable")
    return new_tensor(kernels.from_numpy(order), kernels)


# ---- by weights ---------------------------------------------------------------------------------
def places_by_weight(
    generator: Generator, weights: Host, count: int, *, replacement: bool
) -> Host:
    """Positions along the last axis of weights, of shape (rows, n), that were seen to be enough.

    With replacement position i has v in [c_(i-1), c_i), c the cumulated weights divided by their
    sum; a position of weight 0 has none.
    """
    rows, n = weights.shape
    if not replacement:
        u = open_units(generator.words(rows * n)).reshape(rows, n)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            waits = np.minimum(-np.log1p(-u) / weights, np.finfo(np.float64).max)
        waits[weights == 0] = np.inf
        return _first(waits, count)
    u = open_units(generator.words(rows * count)).reshape(rows, count)
    if not u.size:
        return np.zeros((rows, count), np.int64)
    weights = weights / weights.max(axis=-1, keepdims=True)  # their sum is finite
    steps = np.cumsum(weights, axis=-1)
    last = n - 1 - np.argmax(weights[:, ::-1] > 0, axis=-1)[:, None]
    places: Host = np.minimum(_steps_below(steps, u * steps[:, -1:]), last)
    return places


def _first(waits: Host, count: int) -> Host:
    """Positions of the `count` least along the last axis, in order."""
    if 8 * count > waits.shape[-1] or not count:
        return np.argsort(waits, axis=-1, kind="stable")[:, :count]
    some = np.sort(np.argpartition(waits, count - 1, axis=-1)[:, :count], axis=-1)
    order = np.argsort(np.take_along_axis(waits, some, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(some, order, axis=-1)


def _steps_below(steps: Host, marks: Host) -> Host:
    """How many of each row of steps, which rise, are at or below the marks of that row."""
    if len(steps) < marks.shape[-1]:
        rows = [np.searchsorted(s, m, side="right") for s, m in zip(steps, marks, strict=True)]
        return np.stack(rows)
    first = np.zeros(marks.shape, np.int64)
    beyond = np.full_like(first, steps.shape[-1])
    while (first < beyond).any():
        middle = np.minimum((first + beyond) // 2, steps.shape[-1] - 1)
        above = np.take_along_axis(steps, middle, axis=-1) > marks
        open_ones = first < beyond
        beyond = np.where(open_ones & above, middle, beyond)
        first = np.where(open_ones & ~above, middle + 1, first)
    return first


def multinomial(
    weights: Any,
    num_samples: int,
    replacement: bool = False,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Positions in a row of weights, with probabilities in proportion to them.

    Parameters
    ----------
    weights
        Finite and at least 0, of shape (n,) or (rows, n). They need not have sum 1.
    num_samples
        How many positions are drawn from each row.
    replacement
        Whether a position may be drawn again. If not, they come in the order in which they are
        drawn, and one of weight 0 is never drawn.
    dtype
        An integer dtype; int64 (int32 where there is none) if not given.
    device
        That of the weights, or the default one, if not given.
    generator
        As for `uniform`.

    Returns
    -------
    Tensor
        Of shape (num_samples,) or (rows, num_samples).

    Raises
    ------
    InvalidArgumentError
        A weight is negative, NaN or infinite; a row has too few positive ones; the dtype cannot
        hold all positions.
    ShapeError, DtypeError, InvalidTypeError
        The weights have another number of axes; the dtype is not fit; num_samples is no int.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.random.multinomial([0.0, 3.0, 0.0], 2, replacement=True)
    tensor([1, 1], dtype=int64)
    """
    found = given([(_WEIGHTS, weights)], None, None, device, _MULTINOMIAL)
    if len(found.shape) not in (1, 2):
        raise ShapeError(
            f"weights of shape {found.shape}", f"{_MULTINOMIAL}, argument weights",
            "pass one row, or rows: (n,) or (rows, n)",
        )  # fmt: skip
    where = f"{_MULTINOMIAL}, argument num_samples"
    (count,) = shape_tuple(as_int(num_samples, where), _MULTINOMIAL)
    rows = found.shape[0] if len(found.shape) == 2 else 1
    table = found.values[0].reshape(rows, found.shape[-1])
    usable = (table > 0).sum(axis=-1)
    if count and (usable < (1 if replacement else count)).any():
        raise InvalidArgumentError(
            f"{count} samples from {usable.min()} positions of positive weight", _MULTINOMIAL,
            "draw fewer" if replacement is False and usable.all() else "pass positive weights",
        )  # fmt: skip
    kernels = _integer(dtype, found.kernels.device, _MULTINOMIAL, found.shape[-1])
    drawn = places_by_weight(chosen(generator, _MULTINOMIAL), table, count, replacement=replacement)
    host = drawn.reshape((*found.shape[:-1], count))
    return new_tensor(kernels.from_numpy(host), kernels)


def categorical(
    logits: Any,
    shape: int | tuple[int, ...] | None = None,
    *,
    axis: int = -1,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Positions along an axis, with the probabilities softmax(logits).

    Parameters
    ----------
    logits
        Logarithms of weights, up to a constant; -inf for what is never drawn.
    shape
        Of the result, to which the shape of `logits` without `axis` broadcasts; that shape if not
        given.
    axis
        That of the positions.
    dtype
        An integer dtype; int64 (int32 where there is none) if not given.
    device, generator
        As for `multinomial`.

    Returns
    -------
    Tensor
        Of the shape asked for.

    Raises
    ------
    InvalidArgumentError
        A logit is NaN or inf, or all along the axis are -inf; the dtype cannot hold all positions.
    ShapeError, OutOfRangeError, DtypeError
        The shapes do not broadcast; there is no such axis; the dtype is not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.random.categorical([0.0, -1000.0], (2, 3))
    tensor([[0, 0, 0],
           [0, 0, 0]], dtype=int64)
    """
    found = given([(_LOGITS, logits)], None, None, device, _CATEGORICAL)
    axis = normalize_axis(axis, len(found.shape), _CATEGORICAL)
    host = np.moveaxis(found.values[0].reshape(found.shape), axis, -1)
    wanted = host.shape[:-1] if shape is None else shape_tuple(shape, _CATEGORICAL)
    try:
        rows = np.broadcast_to(host, (*wanted, host.shape[-1]))
    except ValueError:
        raise ShapeError(
            f"logits of shape {found.shape} for positions of shape {wanted}",
            f"{_CATEGORICAL}, argument shape", "it is a shape that logits broadcast to",
        ) from None  # fmt: skip
    kernels = _integer(dtype, found.kernels.device, _CATEGORICAL, host.shape[-1])
    table = rows.reshape(size_of(wanted), host.shape[-1])
    if table.size or not host.shape[-1]:
        highest = table.max(axis=-1, keepdims=True, initial=-np.inf)
        if np.isneginf(highest).any():
            raise InvalidArgumentError(
                "nothing to draw from: all logits are -inf, or there are none", _CATEGORICAL,
                "pass a finite logit along the axis",
            )  # fmt: skip
        with np.errstate(over="ignore"):  # of a difference: its weight is 0
            table = np.exp(table - highest)
    drawn = places_by_weight(chosen(generator, _CATEGORICAL), table, 1, replacement=True)
    return new_tensor(kernels.from_numpy(drawn.reshape(wanted)), kernels)
