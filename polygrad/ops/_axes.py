"""What many functions share: checks of axes and operands, shapes of reductions, `inplace=`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from polygrad.calls import operand
from polygrad.config import default_complex_dtype, default_dtype
from polygrad.dtypes import bool as bool_dtype
from polygrad.dtypes import float32
from polygrad.errors import InvalidArgumentError, InvalidTypeError, OutOfRangeError
from polygrad.registry import default_device, default_integer, kernels_for
from polygrad.tensor import Tensor, new_tensor

__all__ = [
    "as_int", "as_tensor", "count", "kept", "normalize_axes", "normalize_axis", "unreduce",
    "widened", "written",
]  # fmt: skip


def as_int(n: Any, where: str) -> int:
    """An int, from whatever is one.

    Raises
    ------
    InvalidTypeError
        It is no integer.
    """
    if not hasattr(n, "__index__"):
        raise InvalidTypeError(f"{n!r} is no int", where, "pass an int")
    return int(n.__index__())


def normalize_axis(axis: Any, ndim: int, where: str, name: str = "axis") -> int:
    """The axis counted from the front; `where` and `name` are the function and its argument.

    Raises
    ------
    OutOfRangeError
        There is no such axis.
    InvalidTypeError
        `axis` is no integer.

    >>> normalize_axis(-1, 3, "flip")
    2
    """
    if not hasattr(axis, "__index__") or getattr(axis, "ndim", None):
        shown = f"an array of shape {axis.shape}" if getattr(axis, "ndim", None) else repr(axis)
        raise InvalidTypeError(
            f"an axis is an int, not {shown}", f"{where}, argument {name}", "write axis=0, or 1, …"
        )
    found: int = axis.__index__()
    if not -ndim <= found < ndim:
        has = f"the tensor has {ndim} axes" if ndim else "a 0-d tensor has no axes"
        raise OutOfRangeError(
            f"axis {found} is out of range: {has}", f"{where}, argument {name}",
            f"choose from {-ndim} to {ndim - 1}" if ndim else "leave axis out",
        )  # fmt: skip
    return found + ndim if found < 0 else found


def normalize_axes(axis: Any, ndim: int, where: str, name: str = "axis") -> tuple[int, ...]:
    """Axes as a tuple counted from the front; None means all of them.

    Raises
    ------
    OutOfRangeError, InvalidTypeError
        As `normalize_axis`.
    InvalidArgumentError
        An axis is named twice.

    >>> normalize_axes((0, -1), 3, "sum"), normalize_axes(None, 2, "sum")
    ((0, 2), (0, 1))
    """
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)):
        return (normalize_axis(axis, ndim, where, name),)
    found = tuple(normalize_axis(a, ndim, where, name) for a in axis)
    if len(set(found)) != len(found):
        raise InvalidArgumentError(
            f"an axis is named twice: {tuple(axis)} of {ndim} axes", f"{where}, argument {name}",
            "name each axis once",
        )  # fmt: skip
    return found


def as_tensor(x: Any, where: str) -> Tensor:
    """A Tensor as it is; a raw array or a number as a constant one.

    Raises
    ------
    ForeignArrayError
        `x` is none of these.
    """
    if isinstance(x, Tensor):
        return x
    found = operand(x, where)
    if isinstance(found, Tensor):
        return found
    if found is None:
        raise InvalidTypeError("None is no tensor", where, "pass a Tensor, an array or a number")
    device = default_device()
    dtype = {
        bool: bool_dtype, int: default_integer(device), float: default_dtype(),
        complex: default_complex_dtype(),
    }[type(found)]  # fmt: skip
    kernels = kernels_for(device, dtype)
    return new_tensor(kernels.full((), found), kernels)


# ---- reductions, in rules and forwards ---------------------------------------------------------
def kept(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """`shape` with the reduced axes kept as 1."""
    if axis is None:
        return (1,) * len(shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a % len(shape) for a in axes)
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements each result of a reduction is made of."""
    return math.prod(n for n, k in zip(shape, kept(shape, axis), strict=True) if k == 1)


def unreduce(F: Any, g: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """A reduced value with its axes back, of length 1: it broadcasts against what was reduced."""
    return g if keepdims or axis == () else F.reshape(g, shape=kept(shape, axis))


def widened(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A forward that computes 16-bit floats in float32: their sums lose digits, or overflow."""

    def inner(F: Any, x: Any, **keywords: Any) -> Any:
        here = F.of(x)
        if here.dtype.itemsize > 2 or not here.inexact:
            return forward(here, x, **keywords)
        wide = here.with_dtype(float32)
        return here.cast(wide.coerce(forward(wide, wide.cast(x), **keywords)))

    return inner


def written(input: Any, out: Tensor, inplace: bool) -> Tensor:
    """`out`, or `input` after `out` was written to it."""
    if not inplace:
        return out
    input[...] = out
    found: Tensor = input
    return found
