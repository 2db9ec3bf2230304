"""Axes as users write them, made plain: one place for their checks and their errors."""

from __future__ import annotations

from typing import Any

from polygrad.errors import InvalidArgumentError, InvalidTypeError, OutOfRangeError

__all__ = ["normalize_axes", "normalize_axis"]


def normalize_axis(axis: Any, ndim: int, where: str, name: str = "axis") -> int:
    """`axis` as an int in [0, ndim).

    >>> normalize_axis(-1, 3, "sum")
    2

    Raises
    ------
    InvalidTypeError
        It is no integer.
    OutOfRangeError
        There is no such axis.
    """
    try:
        found: int = axis.__index__()
    except AttributeError:
        raise InvalidTypeError(
            f"an axis is an integer, not {axis!r}", f"{where}, argument {name}"
        ) from None
    if not -ndim <= found < ndim:
        raise OutOfRangeError(
            f"there is no axis {found} in {ndim} dimensions", f"{where}, argument {name}",
            f"use an integer from {-ndim} to {ndim - 1}" if ndim else "a 0-d tensor has no axes",
        )  # fmt: skip
    return found % ndim


def normalize_axes(axis: Any, ndim: int, where: str, name: str = "axis") -> tuple[int, ...]:
    """An int, a tuple of ints or None (all axes) as a tuple of ints in [0, ndim), in the order given.

    >>> normalize_axes((0, -1), 3, "sum"), normalize_axes(None, 2, "sum")
    ((0, 2), (0, 1))

    Raises
    ------
    InvalidTypeError, OutOfRangeError
        As `normalize_axis`.
    InvalidArgumentError
        An axis is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    entries = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(normalize_axis(a, ndim, where, name) for a in entries)
    if len(set(found)) != len(found):
        raise InvalidArgumentError(
            f"an axis is named twice: {tuple(entries)}", f"{where}, argument {name}",
            "name each axis once",
        )  # fmt: skip
    return found
