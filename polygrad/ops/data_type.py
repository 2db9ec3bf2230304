"""Data type functions of the array API standard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import operand
from polygrad.config import default_complex_dtype, default_dtype
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.creation import to_place
from polygrad.registry import default_device, default_integer
from polygrad.tensor import Tensor
from polygrad.views import clone

_table = Chapter("data_type")
_BY_KIND: dict[str, Callable[[dtypes.Dtype], bool]] = {
    "bool": lambda d: dtypes.kind_of(d) == dtypes.BOOL,
    "signed integer": lambda d: d.kind == "i",
    "unsigned integer": lambda d: d.kind == "u",
    "integral": lambda d: dtypes.kind_of(d) == dtypes.INTEGER,
    "real floating": lambda d: dtypes.kind_of(d) == dtypes.REAL,
    "complex floating": lambda d: dtypes.kind_of(d) == dtypes.COMPLEX,
    "numeric": lambda d: dtypes.kind_of(d) != dtypes.BOOL,
}


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating dtype, as Python numbers; of a complex one, those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtypes.Dtype


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: dtypes.Dtype


def _dtype_of(x: Any) -> dtypes.Dtype:
    """The dtype of a tensor or an array, or the one that is named."""
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, (str, type, np.dtype)):
        return dtypes.canonical(x)
    return as_tensor(x, "a dtype or a tensor").dtype


@_table.public(
    samples=lambda s: [
        ((s.real(2, 3), s.dtype), {}),
        ((s.real(3), s.dtype), {"copy": False}),
        ((s.real(2), dtypes.complex_of(s.dtype)), {}),
        ((s.bools(0), s.dtype), {}),
    ],
    kinds="bifc",
    method=True,
)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """A tensor of another dtype; the gradient is cast back.

    Parameters
    ----------
    x
        Tensor of any shape and dtype.
    dtype
        Of the result.
    copy
        False: a tensor of that dtype already is returned itself.
    device
        Of the result; that of x if not given.

    Raises
    ------
    DtypeError
        The device has no such dtype, or x is complex and `dtype` is not.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.astype(pg.tensor([1.5, 2.5]), pg.int64)
    tensor([1, 2], dtype=int64)
    """
    x = as_tensor(x, "astype, argument x")
    wanted = dtypes.canonical(dtype)
    if x.kernels.is_complex and dtypes.kind_of(wanted) != dtypes.COMPLEX:
        raise DtypeError(
            f"a complex tensor does not become {wanted} by a cast", f"astype of a {x.dtype} tensor",
            "take pg.real(x) or pg.abs(x) first",
        )  # fmt: skip
    out = to_place(x, wanted, device)
    return clone.call(out) if copy and out is x else out


@_table.public(differentiable=False)
def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion with `to` gives `to`.

    Parameters
    ----------
    from_
        A dtype or a tensor.
    to
        A dtype.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.can_cast(pg.int32, pg.int64), pg.can_cast(pg.float64, pg.float32)
    (True, False)
    """
    wanted = dtypes.canonical(to)
    try:
        return dtypes.promote(_dtype_of(from_), wanted) == wanted
    except DtypeError:  # nothing holds both
        return False


@_table.public(differentiable=False)
def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating or complex dtype, or of a tensor's.

    Raises
    ------
    DtypeError
        It is not floating.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.finfo(pg.float32).max
    3.4028234663852886e+38
    """
    dtype = _dtype_of(type)
    if dtypes.kind_of(dtype) < dtypes.REAL:
        raise DtypeError(f"{dtype} is not floating", "finfo, argument type", "use pg.iinfo")
    part = dtypes.real_of(dtype)
    largest = dtypes.largest(part)
    if part.name == "bfloat16":
        return FloatInfo(16, 2.0**-7, largest, -largest, 2.0**-126, part)
    info: Any = np.finfo(part)
    return FloatInfo(
        info.bits, float(info.eps), largest, -largest, float(info.smallest_normal), part
    )


@_table.public(differentiable=False)
def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of a tensor's.

    Raises
    ------
    DtypeError
        It is no integer dtype.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.iinfo(pg.int8).min
    -128
    """
    dtype = _dtype_of(type)
    if dtypes.kind_of(dtype) != dtypes.INTEGER:
        raise DtypeError(f"{dtype} is no integer dtype", "iinfo, argument type", "use pg.finfo")
    info = np.iinfo(dtype)
    return IntegerInfo(info.bits, int(info.max), int(info.min), dtype)


@_table.public(differentiable=False)
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Parameters
    ----------
    dtype
        The dtype.
    kind
        Another dtype; or one of "bool", "signed integer", "unsigned integer", "integral", "real
        floating", "complex floating", "numeric"; or a tuple of these.

    Raises
    ------
    InvalidArgumentError
        There is no such kind.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.isdtype(pg.float32, ("integral", "real floating"))
    True
    """
    dtype = dtypes.canonical(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _BY_KIND:
            raise InvalidArgumentError(
                f"there is no kind {kind!r}", "isdtype, argument kind",
                "kinds: " + ", ".join(_BY_KIND),
            )  # fmt: skip
        return _BY_KIND[kind](dtype)
    return bool(dtype == dtypes.canonical(kind))


@_table.public(differentiable=False)
def result_type(*arrays_and_dtypes: Any) -> dtypes.Dtype:
    """The dtype that an operation on these tensors, dtypes and numbers computes in.

    Raises
    ------
    DtypeError
        No dtype holds all of them.
    InvalidTypeError
        There are no arguments.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.result_type(pg.float32, pg.int64, 1.5)
    dtype('float32')
    >>> pg.result_type(1, 2.0)  # numbers alone: as `asarray` makes of them
    dtype('float32')
    """
    found: dtypes.Dtype | None = None
    numbers: list[int] = []
    for x in arrays_and_dtypes:
        dtype = _strong_dtype(x)
        if dtype is None:
            numbers.append((bool, int, float, complex).index(x.__class__))
        else:
            found = dtype if found is None else dtypes.promote(found, dtype)
    if not arrays_and_dtypes:
        raise InvalidTypeError("no arguments", "result_type", "pass tensors, dtypes or numbers")
    if found is None:
        integer = default_integer(default_device())
        found = (dtypes.bool, integer, default_dtype(), default_complex_dtype())[max(numbers)]
    for kind in numbers:
        found = dtypes.promote_scalar(found, kind, default_dtype())
    return found


def _strong_dtype(x: Any) -> dtypes.Dtype | None:
    """The dtype that an argument of `result_type` brings; None for a Python number."""
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return None
    if isinstance(x, np.generic):
        return dtypes.canonical(x.dtype)
    if isinstance(x, (str, type, np.dtype)):
        return dtypes.canonical(x)
    found = operand(x, "result_type")
    return found.dtype if isinstance(found, Tensor) else None
