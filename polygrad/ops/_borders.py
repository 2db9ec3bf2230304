"""Borders that are made of what is inside: the modes of `pad` other than "constant"."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.dtypes import BOOL, COMPLEX
from polygrad.errors import DtypeError, InvalidArgumentError
from polygrad.ops import statistical
from polygrad.ops.creation import to_place
from polygrad.ops.elementwise import floor_divide, round
from polygrad.ops.indexing import index_tensor, take
from polygrad.ops.manipulation import broadcast_to
from polygrad.ops.order_statistics import median
from polygrad.ops.rearrangement import concat
from polygrad.tensor import Tensor, new_tensor

__all__ = ["extender", "pairs"]

Host = np.ndarray[Any, Any]
Width = tuple[int, int]
Extender = Callable[[Tensor, int, Width], Tensor]

# For each mode the place in an axis of length n that is read for a place outside of it.
_READ: dict[str, Callable[[Host, int], Host]] = {
    "reflect": lambda i, n: (n - 1) - abs(i % max(2 * n - 2, 1) - (n - 1)),
    "symmetric": lambda i, n: np.minimum(i % (2 * n), 2 * n - 1 - i % (2 * n)),
    "edge": lambda i, n: np.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n,
}
_MIRRORS = ("reflect", "symmetric")
_STATISTICS: dict[str, Callable[..., Tensor]] = {
    "maximum": statistical.max, "minimum": statistical.min, "mean": statistical.mean,
    "median": median,
}  # fmt: skip


def pairs(values: Any, x: Tensor, argument: str) -> tuple[tuple[Any, Any], ...]:
    """(before, after) for each axis, from one number, one pair, or one pair for each axis.

    Raises
    ------
    InvalidArgumentError
        It is none of these.
    """
    try:
        found = np.broadcast_to(np.asarray(values), (x.ndim, 2))
    except ValueError:
        found = np.asarray("")
    if found.dtype.kind not in "biufc":
        raise InvalidArgumentError(
            f"{values!r} is not for the borders of {x.ndim} axes",
            f"pad{describe([x])}, argument {argument}",
            "pass a number, a pair (before, after), or one pair for each axis",
        )
    return tuple((low, high) for low, high in found.tolist())


def extender(
    mode: str, x: Tensor, *, end_values: Any, stat_length: Any, reflect_type: str
) -> Extender:
    """What extends a tensor, `x` or what has become of it, along one axis.

    Raises
    ------
    InvalidArgumentError, DtypeError
        There is no such mode; an argument is out of its domain; there is no such border of a dtype.
    """
    where = f"pad{describe([x])}"
    odd = mode in _MIRRORS and reflect_type != "even"
    if x.kernels.kind == BOOL and (odd or mode == "linear_ramp" or mode in _STATISTICS):
        raise DtypeError(
            f"truth values have no border of mode {mode!r}", where, "convert them to numbers"
        )
    if mode in _READ:
        if reflect_type not in ("even", "odd"):
            raise InvalidArgumentError(
                f"there is no reflection {reflect_type!r}", "pad, argument reflect_type",
                'choose "even" or "odd"',
            )  # fmt: skip
        return functools.partial(_odd if odd else _read, mode=mode)
    if mode == "linear_ramp":
        return functools.partial(_ramp, ends=pairs(end_values, x, "end_values"))
    if mode not in _STATISTICS:
        raise InvalidArgumentError(
            f"there is no mode {mode!r}", "pad, argument mode",
            "choose one of " + ", ".join(("constant", *_READ, "linear_ramp", *_STATISTICS)),
        )  # fmt: skip
    if x.kernels.kind == COMPLEX and mode != "mean":
        raise DtypeError("complex numbers have no order", where, 'use mode="mean"')
    lengths = None if stat_length is None else pairs(stat_length, x, "stat_length")
    if lengths is not None and not all(type(n) is int and n > 0 for n in sum(lengths, ())):
        raise InvalidArgumentError(
            f"{stat_length!r} are not lengths above zero", f"{where}, argument stat_length",
            "pass ints of at least 1",
        )  # fmt: skip
    return functools.partial(_statistic, reduce=_STATISTICS[mode], lengths=lengths)


def _places(n: int, width: Width) -> Host:
    return np.arange(-width[0], n + width[1])


def _read(x: Tensor, axis: int, width: Width, mode: str) -> Tensor:
    """Elements of the inside."""
    n = x.shape[axis]
    places = index_tensor(_READ[mode](_places(n, width), n), x, of_shapes=True)
    return take(x, places, axis=axis)


def _section(x: Tensor, axis: int, start: int | None, stop: int | None) -> Tensor:
    return x[(*(slice(None),) * axis, slice(start, stop))]


def _odd(x: Tensor, axis: int, width: Width, mode: str) -> Tensor:
    """Mirrored at points: each pair of mirrors adds twice the rise from the first to the last."""
    n = x.shape[axis]
    even = _read(x, axis, width, mode)
    half = n - 1 if mode == "reflect" else n
    if not half:
        return even
    turns, rest = np.divmod(_places(n, width), 2 * half)
    back = rest > n - 1
    shape = (-1, *(1,) * (x.ndim - axis - 1))
    factors = (np.where(back, -1, 1), -2 * turns, 2 * turns + 2 * back)
    k = x.kernels
    sign, first, last = (new_tensor(k.constant(f.reshape(shape)), k) for f in factors)
    ends = _section(x, axis, None, 1) * first + _section(x, axis, -1, None) * last
    return even * sign + ends


def _ramp(x: Tensor, axis: int, width: Width, ends: tuple[tuple[Any, Any], ...]) -> Tensor:
    """Straight lines from the outermost elements; of integers rounded down."""
    k = x.kernels
    shape = (-1, *(1,) * (x.ndim - axis - 1))
    parts = [x]
    for side, (n, end) in enumerate(zip(width, ends[axis], strict=True)):
        if not n:
            continue
        steps = np.arange(1, n + 1) if side else np.arange(n, 0, -1)
        edge = _section(x, axis, -1, None) if side else _section(x, axis, None, 1)
        down, up = (
            new_tensor(k.constant((s if not k.inexact else s / n).reshape(shape)), k)
            for s in (n - steps, steps)
        )
        line = edge * down + up * (end if k.inexact else int(end))
        line = line if k.inexact else floor_divide(line, n)
        parts.insert(len(parts) if side else 0, line)
    return concat(parts, axis=axis)


def _statistic(
    x: Tensor, axis: int, width: Width, reduce: Callable[..., Tensor],
    lengths: tuple[tuple[Any, Any], ...] | None,
) -> Tensor:  # fmt: skip
    """One number for each side; means of integers are rounded."""
    parts = [x]
    for side, n in enumerate(width):
        if not n:
            continue
        length = x.shape[axis] if lengths is None else min(lengths[axis][side], x.shape[axis])
        span = (-length, None) if side else (None, length)
        number = reduce(_section(x, axis, *span), axis=axis, keepdims=True)
        if not x.kernels.inexact:
            number = to_place(round(number), x.dtype)
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        parts.insert(len(parts) if side else 0, broadcast_to(number, shape))
    return concat(parts, axis=axis)
