"""Reductions that leave NaN out, and `nan_to_num`.

Sums, products and moments are those of the statistical chapter with 0 or 1 in the place of NaN;
what is left out has a gradient of zero. On integers and truth values they are the plain reductions.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import Dtype, float32, real_of
from polygrad.errors import DtypeError, InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops import statistical, utility
from polygrad.ops._axes import as_tensor, count, normalize_axes, unreduce
from polygrad.ops.comparison import equal, isnan
from polygrad.ops.creation import to_place
from polygrad.ops.data_type import finfo
from polygrad.ops.elementwise import conj, imag, real, sqrt, square
from polygrad.ops.searching import argmax, argmin, where
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor
from polygrad.views import clone

_table = Chapter("reductions without NaN")
_INF, _NAN = math.inf, math.nan


# ---- samples ------------------------------------------------------------------------------------
def _holed(s: Any, *shape: int) -> Any:
    """Distinct values, the first and the last of them NaN where there is NaN."""
    x = s.distinct(*shape)
    if x.dtype.kind in "fc":
        x.reshape(-1)[[0, -1]] = _NAN
    return x


def _samples(s: Any) -> Any:
    return [
        ((_holed(s, 3, 2),), {}), ((_holed(s, 3, 2),), {"axis": 0}),
        ((_holed(s, 2, 3, 2),), {"axis": (0, -1), "keepdims": True}),
    ]  # fmt: skip


def _samples_with_empty(s: Any) -> Any:
    return [*_samples(s), ((s.real(0, 3),), {"axis": 0}), ((s.real(),), {})]


def _samples_correction(s: Any) -> Any:
    return [
        *_samples(s), ((_holed(s, 4, 2),), {"axis": 0, "correction": 1}),
        ((_holed(s, 5),), {"ddof": 1}),
    ]  # fmt: skip


# ---- sums and moments ---------------------------------------------------------------------------
def _filled(x: Any, number: float, name: str) -> Tensor:
    """x with a number in the place of NaN."""
    t = as_tensor(x, f"{name}, argument x")
    return where(isnan(t), number, t) if t.kernels.inexact else t


@_table.public(samples=_samples_with_empty, kinds="bifc", method=True)
def nansum(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements that are not NaN; parameters and errors as of `sum`.

    Returns
    -------
    Tensor
        0 where there is nothing to sum.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nansum(pg.tensor([1.0, float("nan"), 2.0]))
    tensor(3., dtype=float32)
    """
    return statistical.sum(_filled(x, 0, "nansum"), axis=axis, dtype=dtype, keepdims=keepdims)


@_table.public(samples=_samples_with_empty, kinds="ifc")
def nanprod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product of the elements that are not NaN; parameters, errors and gradient as of `prod`.

    Returns
    -------
    Tensor
        1 where there is nothing to multiply.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanprod(pg.tensor([3.0, float("nan"), 2.0]))
    tensor(6., dtype=float32)
    """
    return statistical.prod(_filled(x, 1, "nanprod"), axis=axis, dtype=dtype, keepdims=keepdims)


def _widened(x: Any, name: str) -> tuple[Tensor, Dtype]:
    """x, 16-bit floats as float32, and the real dtype of x."""
    t = as_tensor(x, f"{name}, argument x")
    narrow = t.kernels.inexact and t.dtype.itemsize == 2
    return to_place(t, float32) if narrow else t, real_of(t.dtype)


def _number(there: Tensor, dtype: Dtype, axis: Any, keepdims: bool, less: float = 0) -> Tensor:
    """How many are there, less a correction; NaN where nothing is left."""
    found = statistical.sum(to_place(there, dtype), axis=axis, keepdims=keepdims) - less
    return where(found > 0, found, _NAN)  # type: ignore[no-any-return]


def _mean(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    there = ~isnan(x)
    total = statistical.sum(where(there, x, 0), axis=axis, keepdims=keepdims)
    return total / _number(there, real_of(x.dtype), axis, keepdims)


@_table.public(samples=_samples, kinds="ifc", method=True)
def nanmean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The arithmetic mean of the elements that are not NaN; parameters and errors as of `mean`.

    Returns
    -------
    Tensor
        NaN where there are none.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanmean(pg.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5, dtype=float32)
    """
    t, dtype = _widened(x, "nanmean")
    if not t.kernels.inexact:
        return statistical.mean(t, axis=axis, keepdims=keepdims)
    out = _mean(t, axis, keepdims)
    return out if t.kernels.is_complex else to_place(out, dtype)


def _variance(x: Tensor, axis: Any, correction: float, keepdims: bool) -> Tensor:
    """Two passes, as `var`; NaN where the degrees of freedom are not above zero."""
    there = ~isnan(x)
    d = where(there, x - _mean(x, axis, keepdims=True), 0)
    squares = real(d * conj(d)) if x.kernels.is_complex else square(d)
    total = statistical.sum(squares, axis=axis, keepdims=keepdims)
    return total / _number(there, total.dtype, axis, keepdims, correction)


@_table.public(samples=_samples_correction, kinds="ifc")
def nanvar(
    x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False,
    ddof: float | None = None,
) -> Tensor:  # fmt: skip
    """The variance of the elements that are not NaN; parameters and errors as of `var`.

    Returns
    -------
    Tensor
        NaN where their number less `correction` is not positive.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanvar(pg.tensor([1.0, float("nan"), 3.0]))
    tensor(1., dtype=float32)
    """
    t, dtype = _widened(x, "nanvar")
    correction = correction if ddof is None else ddof
    if not t.kernels.inexact:
        return statistical.var(t, axis=axis, correction=correction, keepdims=keepdims)
    return to_place(_variance(t, axis, correction, keepdims), dtype)


@_table.public(samples=_samples_correction, kinds="ifc")
def nanstd(
    x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False,
    ddof: float | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation of the elements that are not NaN; parameters and errors as of `var`.

    Notes
    -----
    Where all of them are equal the gradient is 0, not NaN.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanstd(pg.tensor([1.0, float("nan"), 3.0]))
    tensor(1., dtype=float32)
    """
    t, dtype = _widened(x, "nanstd")
    correction = correction if ddof is None else ddof
    if not t.kernels.inexact:
        return statistical.std(t, axis=axis, correction=correction, keepdims=keepdims)
    variance = _variance(t, axis, correction, keepdims)
    flat = equal(variance, 0)
    return to_place(where(flat, 0, sqrt(where(flat, 1, variance))), dtype)


# ---- extrema ------------------------------------------------------------------------------------
def _extremum(name: str, worst: float, beats: Callable[[Any, Any], Any]) -> Primitive:
    """The largest or smallest element that is not NaN; equal ones share the gradient."""

    def forward(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        there = x == x  # noqa: PLR0124  not NaN
        found = getattr(F, name[3:])(F.where(there, x, worst), axis=axis, keepdims=keepdims)
        return F.where(F.any(there, axis=axis, keepdims=keepdims), F.coerce(found), _NAN)

    def rule(g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
        share = F.indicator(beats(x, unreduce(F, out, x.shape, axis, keepdims)), x)
        number = F.sum(share, axis=axis, keepdims=True)
        return share * (unreduce(F, g, x.shape, axis, keepdims) / F.where(number == 0, 1, number))

    return Primitive(
        name, ("x",), {"x": rule}, forward=forward, keywords={"axis": None, "keepdims": False}
    )


_nanmax = _extremum("nanmax", -_INF, operator.ge)
_nanmin = _extremum("nanmin", _INF, operator.le)


def _reduce(
    p: Primitive, plain: Callable[..., Tensor], x: Any, axis: Any, keepdims: bool
) -> Tensor:
    t = as_tensor(x, f"{p.name}, argument x")
    if t.kernels.is_complex:
        raise DtypeError(
            "complex numbers have no order", f"{p.name}{describe([t])}",
            f"take {p.name} of pg.abs(x) or pg.real(x)",
        )  # fmt: skip
    if not t.kernels.inexact:
        return plain(t, axis=axis, keepdims=keepdims)
    axes = None if axis is None else normalize_axes(axis, t.ndim, p.name)
    if 0 in t.shape and not count(t.shape, axes):
        raise InvalidArgumentError(
            f"{p.name} of no elements", f"{p.name}{describe([t])}, axis={axis}",
            "give it at least one",
        )  # fmt: skip
    out: Tensor = p.call(t, axis=axes, keepdims=bool(keepdims))
    return out


@_table.public(samples=_samples, kinds="if")
def nanmax(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The largest element that is not NaN; parameters, errors and gradient as of `max`.

    Returns
    -------
    Tensor
        NaN where all elements are; the gradient is then 0.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanmax(pg.tensor([1.0, float("nan"), 2.0]))
    tensor(2., dtype=float32)
    """
    return _reduce(_nanmax, statistical.max, x, axis, keepdims)


@_table.public(samples=_samples, kinds="if")
def nanmin(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The smallest element that is not NaN; as `nanmax`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanmin(pg.tensor([1.0, float("nan"), 2.0]))
    tensor(1., dtype=float32)
    """
    return _reduce(_nanmin, statistical.min, x, axis, keepdims)


def _index(
    name: str, x: Any, worst: float, find: Callable[..., Tensor], axis: Any, keepdims: bool
) -> Tensor:
    t = as_tensor(x, f"{name}, argument x")
    if not t.kernels.inexact or t.kernels.is_complex or 0 in t.shape:
        return find(t, axis=axis, keepdims=keepdims)
    missing = isnan(t)
    if bool(utility.any(utility.all(missing, axis=axis))):
        raise InvalidArgumentError(
            f"{name} of elements that are all NaN", f"{name}{describe([t])}, axis={axis}",
            "replace them with pg.nan_to_num, or leave such slices out",
        )  # fmt: skip
    # Of elements that are all as bad as what stands for NaN the first is no NaN, if it is moved up.
    last = where(missing, worst, t)
    bad = utility.all(equal(last, worst), axis=axis, keepdims=True)
    ranked = where(bad, to_place(~missing, t.dtype) * -math.copysign(1, worst), last)
    return find(ranked, axis=axis, keepdims=keepdims)


def _index_samples(s: Any) -> Any:
    return [
        ((_holed(s, 3, 2),), {}), ((_holed(s, 3, 2),), {"axis": 0}),
        ((_holed(s, 3, 2),), {"axis": 0, "keepdims": True}),
    ]  # fmt: skip


@_table.public(samples=_index_samples, kinds="if", differentiable=False)
def nanargmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The index of the largest element that is not NaN; parameters as of `argmax`.

    Whether a slice has nothing but NaN is read on the host.

    Raises
    ------
    InvalidArgumentError
        Some slice has no element that is not NaN.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanargmax(pg.tensor([1.0, float("nan"), 2.0]))
    tensor(2, dtype=int64)
    """
    return _index("nanargmax", x, -_INF, argmax, axis, keepdims)


@_table.public(samples=_index_samples, kinds="if", differentiable=False)
def nanargmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The index of the smallest element that is not NaN; all else as of `nanargmax`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanargmin(pg.tensor([1.0, float("nan"), 2.0]))
    tensor(0, dtype=int64)
    """
    return _index("nanargmin", x, _INF, argmin, axis, keepdims)


# ---- cumulative ---------------------------------------------------------------------------------
def _cumulative_samples(s: Any) -> Any:
    return [
        ((_holed(s, 5),), {}), ((_holed(s, 3, 2),), {"axis": 0}), ((s.real(2, 0),), {"axis": 1}),
    ]  # fmt: skip


@_table.public(samples=_cumulative_samples, kinds="ifc")
def nancumsum(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Tensor:
    """The sums of the first 1, 2, 3 … elements, NaN counted as 0; rest as of `cumulative_sum`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nancumsum(pg.tensor([1.0, float("nan"), 2.0]))
    tensor([1., 1., 3.], dtype=float32)
    """
    return statistical.cumulative_sum(_filled(x, 0, "nancumsum"), axis=axis, dtype=dtype)


@_table.public(samples=_cumulative_samples, kinds="ifc")
def nancumprod(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Tensor:
    """The products of the first 1, 2, 3 … elements, NaN counted as 1; rest as of `cumulative_prod`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nancumprod(pg.tensor([3.0, float("nan"), 2.0]))
    tensor([3., 3., 6.], dtype=float32)
    """
    return statistical.cumulative_prod(_filled(x, 1, "nancumprod"), axis=axis, dtype=dtype)


# ---- replacing ----------------------------------------------------------------------------------
@_table.public(
    samples=lambda s: [
        ((_holed(s, 2, 3),), {}), ((_holed(s, 4),), {"nan": 1.5}),
        ((_holed(s, 3),), {"posinf": 9.0, "neginf": -8.0}),
    ],
    kinds="bifc",
    method=True,
)  # fmt: skip
def nan_to_num(
    x: Any, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """x with numbers in the place of NaN and of infinities.

    Parameters
    ----------
    x
        Tensor of any shape and dtype; of a complex one each part is replaced by itself.
    nan
        What stands for NaN.
    posinf, neginf
        What stands for inf and -inf; None: the largest and the smallest finite number of the dtype.

    Returns
    -------
    Tensor
        The same dtype. What was replaced has a gradient of zero.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nan_to_num(pg.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
    tensor([1., 0., 9.], dtype=float32)
    """
    t = as_tensor(x, "nan_to_num, argument x")
    if not t.kernels.inexact:
        return clone.call(t)  # type: ignore[no-any-return]
    if t.kernels.is_complex:
        re, im = (nan_to_num(f(t), nan=nan, posinf=posinf, neginf=neginf) for f in (real, imag))
        return re + im * 1j
    top = finfo(t.dtype).max
    out = where(isnan(t), nan, t)
    out = where(equal(t, _INF), top if posinf is None else posinf, out)
    return where(equal(t, -_INF), -top if neginf is None else neginf, out)  # type: ignore[no-any-return]
