"""Statistical functions of the array API standard, and logsumexp.

A reduction is a primitive over a tuple of axes; the public function normalises the axes and decides
the dtype. float16 is summed in float32. Reducing over no axis (`axis=()`) is the identity.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from polygrad import dtypes
from polygrad.calls import describe
from polygrad.errors import DtypeError, InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, count, normalize_axes, normalize_axis, unreduce, widened
from polygrad.ops._products import cumulative_prod as _cumulative_prod
from polygrad.ops._products import cumulative_sum as _cumulative_sum
from polygrad.ops._products import prepend as _prepend
from polygrad.ops._products import prod as _prod
from polygrad.ops.creation import to_place
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor
from polygrad.views import permute_dims as _permute_dims

_table = Chapter("statistical")
_AXES = {"axis": None, "keepdims": False}
_INF, _NAN = math.inf, math.nan


# ---- sums and moments ---------------------------------------------------------------------------
def _sum_forward(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return F.xp.sum(x, axis=axis, dtype=x.dtype, keepdims=keepdims)


def _mean_forward(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    n = count(x.shape, axis)
    total = F.coerce(F.sum(x, axis=axis, keepdims=keepdims))
    return total / n if n else F.full(total.shape, _NAN)


def _var_forward(
    F: Any, x: Any, axis: Any = None, keepdims: bool = False, correction: float = 0.0
) -> Any:
    """The mean first, then the squares: no cancellation."""
    d = x - F.mean(x, axis=axis, keepdims=True)
    squares = F.xp.real(d * F.xp.conj(d)) if F.is_complex else d * d
    total = F.coerce(F.sum(squares, axis=axis, keepdims=keepdims))
    freedom = count(x.shape, axis) - correction
    return total / freedom if freedom > 0 else F.of(total).full(total.shape, _NAN)


def _std_forward(
    F: Any, x: Any, axis: Any = None, keepdims: bool = False, correction: float = 0.0
) -> Any:
    return F.xp.sqrt(_var_forward(F, x, axis, keepdims, correction))


def _var_rule(g: Any, F: Any, x: Any, axis: Any, keepdims: bool, correction: float) -> Any:
    """2 (x - mean) / (N - correction)."""
    freedom = count(x.shape, axis) - correction
    scale = 2 / freedom if freedom > 0 else _NAN
    d = x - F.mean(x, axis=axis, keepdims=True)
    return unreduce(F, g, x.shape, axis, keepdims) * scale * d


def _std_rule(
    g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool, correction: float
) -> Any:
    """(x - mean) / ((N - correction) std), and 0 where nothing varies."""
    freedom = count(x.shape, axis) - correction
    d = x - F.mean(x, axis=axis, keepdims=True)
    g = unreduce(F, g, x.shape, axis, keepdims) * (1 / freedom if freedom > 0 else _NAN)
    return F.strong_divide(g * d, unreduce(F, out, x.shape, axis, keepdims))


_sum = Primitive(
    "sum", ("x",),
    {"x": lambda g, F, x_shape, axis, keepdims: F.broadcast_to(
        unreduce(F, g, x_shape, axis, keepdims), shape=x_shape)},
    forward=widened(_sum_forward), keywords=_AXES,
)  # fmt: skip
_mean = Primitive(
    "mean", ("x",),
    {"x": lambda g, F, x_shape, axis, keepdims: F.broadcast_to(
        unreduce(F, g / (count(x_shape, axis) or 1), x_shape, axis, keepdims), shape=x_shape)},
    forward=widened(_mean_forward), keywords=_AXES, floating=True,
)  # fmt: skip
_var = Primitive(
    "var", ("x",), {"x": _var_rule}, forward=widened(_var_forward),
    keywords={**_AXES, "correction": 0.0}, floating=True,
)  # fmt: skip
_std = Primitive(
    "std", ("x",), {"x": _std_rule}, forward=widened(_std_forward),
    keywords={**_AXES, "correction": 0.0}, floating=True,
)  # fmt: skip


# ---- extrema ------------------------------------------------------------------------------------
def _share(
    g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool, beaten: Any
) -> Any:
    """Equal extrema share the gradient, and so do all elements if the result is NaN."""
    share = F.indicator(~beaten(x, unreduce(F, out, x.shape, axis, keepdims)), x)
    g = unreduce(F, g, x.shape, axis, keepdims)
    return share * (g / F.sum(share, axis=axis, keepdims=True))


def _max_rule(g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    return _share(g, F, x, out, axis, keepdims, operator.lt)


def _min_rule(g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    return _share(g, F, x, out, axis, keepdims, operator.gt)


_max = Primitive(
    "max", ("x",), {"x": _max_rule}, keywords=_AXES,
    forward=lambda F, x, axis=None, keepdims=False: F.xp.max(x, axis=axis, keepdims=keepdims),
)  # fmt: skip
_min = Primitive(
    "min", ("x",), {"x": _min_rule}, keywords=_AXES,
    forward=lambda F, x, axis=None, keepdims=False: F.xp.min(x, axis=axis, keepdims=keepdims),
)  # fmt: skip


# ---- logsumexp ----------------------------------------------------------------------------------
def _logsumexp_forward(F: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """No warning and no NaN where all is -inf, or one is +inf."""
    if 0 in x.shape:
        total = F.coerce(F.sum(x, axis=axis, keepdims=keepdims))
        return F.full(total.shape, -_INF)
    top = F.coerce(F.max(x, axis=axis, keepdims=True))
    shift = F.where(F.xp.isfinite(top), top, 0)
    total = F.coerce(F.sum(F.xp.exp(x - shift), axis=axis, keepdims=True))
    out = F.xp.log(F.where(total == 0, 1, total)) + top
    if keepdims:
        return out
    rest = () if axis is None else tuple(n for i, n in enumerate(x.shape) if i not in axis)
    return F.reshape(out, shape=rest)


def _logsumexp_rule(g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    """The softmax of x; 0 where all is -inf, all of it for +inf."""
    out = unreduce(F, out, x.shape, axis, keepdims)
    d = F.where(x == _INF, 0, x - F.where(out == -_INF, 0, out))
    return unreduce(F, g, x.shape, axis, keepdims) * F.exp(d)


_logsumexp = Primitive(
    "logsumexp", ("x",), {"x": _logsumexp_rule}, forward=widened(_logsumexp_forward),
    keywords=_AXES, floating=True,
)  # fmt: skip


# ---- what users call ----------------------------------------------------------------------------
def _reduce(p: Primitive, x: Any, axis: Any, keepdims: bool, **keywords: Any) -> Tensor:
    x = as_tensor(x, f"{p.name}, argument x")
    axes = None if axis is None else normalize_axes(axis, x.ndim, p.name)
    out: Tensor = p.call(x, axis=axes, keepdims=bool(keepdims), **keywords)
    return out


def _summed(x: Any, dtype: Any, where: str) -> Tensor:
    """x in the dtype that it is summed in: the one given, int64 or uint64 for smaller integers.

    A device without the wide unsigned integers, as PyTorch's, sums small ones as signed.
    """
    t = as_tensor(x, f"{where}, argument x")
    if dtype is not None:
        return to_place(t, dtype)
    if t.kernels.inexact or t.dtype.itemsize == 8:
        return t
    unsigned = (dtypes.uint64, dtypes.uint32) if t.dtype.kind == "u" else ()
    backend = t.kernels.backend
    wide = (d for d in (*unsigned, dtypes.int64) if backend.supports(d, t.device))
    return to_place(t, next(wide, dtypes.int32))


def _extremum(p: Primitive, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = as_tensor(x, f"{p.name}, argument x")
    if x.kernels.is_complex:
        raise DtypeError(
            "complex numbers have no order", f"{p.name}{describe([x])}",
            f"take {p.name} of pg.abs(x) or pg.real(x)",
        )  # fmt: skip
    axes = None if axis is None else normalize_axes(axis, x.ndim, p.name)
    if 0 in x.shape and not count(x.shape, axes):
        raise InvalidArgumentError(
            f"{p.name} of no elements", f"{p.name}{describe([x])}, axis={axis}",
            "give it at least one",
        )  # fmt: skip
    out: Tensor = p.call(x, axis=axes, keepdims=bool(keepdims))
    return out


def _samples(s: Any) -> Any:
    return [
        ((s.distinct(2, 3),), {}),
        ((s.distinct(2, 3),), {"axis": 0}),
        ((s.distinct(2, 3, 2),), {"axis": (0, -1), "keepdims": True}),
        ((s.distinct(2, 3),), {"axis": (), "keepdims": False}),
        ((s.distinct(),), {}),
    ]


def _samples_with_empty(s: Any) -> Any:
    return [*_samples(s), ((s.real(0, 3),), {"axis": 0}), ((s.real(0, 3),), {"axis": 1})]


def _samples_correction(s: Any) -> Any:
    return [
        *_samples(s)[:3],
        ((s.distinct(2, 3),), {"axis": 1, "correction": 1}),
        ((s.distinct(5),), {"correction": 0.5, "keepdims": True}),
        ((s.distinct(5),), {"ddof": 1}),
    ]


@_table.public(samples=_samples_with_empty, kinds="bifc", method=True)
def sum(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of elements.

    Parameters
    ----------
    x
        Tensor of any shape and dtype.
    axis
        An axis, a tuple of axes, or None for all.
    dtype
        Of the sum and of the result; None: that of x, and int64 or uint64 for smaller integers.
    keepdims
        Keep the reduced axes, with length 1.

    Returns
    -------
    Tensor
        0 where there is nothing to sum.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError
        No such axis, or one named twice.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.sum(pg.tensor([[1, 2], [3, 4]]), axis=0)
    tensor([4, 6], dtype=int64)
    """
    return _reduce(_sum, _summed(x, dtype, "sum"), axis, keepdims)


@_table.public(samples=_samples_with_empty, kinds="ifc", method=True)
def prod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product of elements; parameters as of `sum`.

    Returns
    -------
    Tensor
        1 where there is nothing to multiply.

    Notes
    -----
    The derivative, of every order, is right at factors that are 0.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.prod(pg.tensor([2.0, 3.0, 4.0]))
    tensor(24., dtype=float32)
    """
    return _reduce(_prod, _summed(x, dtype, "prod"), axis, keepdims)


@_table.public(samples=_samples, kinds="ifc", method=True)
def mean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The arithmetic mean; parameters as of `sum`.

    Returns
    -------
    Tensor
        NaN where there are no elements. Integers are averaged in the default floating dtype.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.mean(pg.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    tensor([1.5, 3.5], dtype=float32)
    """
    return _reduce(_mean, x, axis, keepdims)


@_table.public(samples=_samples_correction, kinds="ifc", method=True)
def var(
    x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False,
    ddof: float | None = None,
) -> Tensor:
    """The variance, sum(|x - mean|^2) / (N - correction); other parameters as of `sum`.

    Parameters
    ----------
    x
        Tensor of any shape; of a complex one the result is real.
    axis, keepdims
        As of `sum`.
    correction
        What is subtracted from the number of elements: 1 for the unbiased estimate.
    ddof
        NumPy's name for `correction`.

    Returns
    -------
    Tensor
        NaN where N - correction is not positive.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.var(pg.tensor([1.0, 2.0, 3.0, 4.0]), correction=1)
    tensor(1.6666666, dtype=float32)
    """
    return _reduce(_var, x, axis, keepdims, correction=correction if ddof is None else ddof)


@_table.public(samples=_samples_correction, kinds="ifc", method=True)
def std(
    x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False,
    ddof: float | None = None,
) -> Tensor:
    """The standard deviation, the root of the variance; parameters as of `var`.

    Notes
    -----
    Where all elements are equal the gradient is 0, not NaN.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.std(pg.tensor([1.0, 3.0]))
    tensor(1., dtype=float32)
    """
    return _reduce(_std, x, axis, keepdims, correction=correction if ddof is None else ddof)


@_table.public(samples=_samples, kinds="if", method=True)
def max(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The largest element, NaN if there is one; parameters as of `sum`.

    Raises
    ------
    InvalidArgumentError
        There are no elements.
    DtypeError
        x is complex.

    Notes
    -----
    Equal maxima share the gradient.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.max(pg.tensor([[1, 5], [7, 2]]), axis=1)
    tensor([5, 7], dtype=int64)
    """
    return _extremum(_max, x, axis, keepdims)


@_table.public(samples=_samples, kinds="if", method=True)
def min(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The smallest element, NaN if there is one; parameters, errors and gradient as of `max`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.min(pg.tensor([[1, 5], [7, 2]]))
    tensor(1, dtype=int64)
    """
    return _extremum(_min, x, axis, keepdims)


@_table.public(samples=_samples, kinds="f", method=True)
def logsumexp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) without overflow; parameters as of `sum`.

    Returns
    -------
    Tensor
        -inf where all elements are -inf or there are none.

    Notes
    -----
    The gradient is the softmax of x, and 0 where all elements are -inf.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.logsumexp(pg.tensor([1000.0, 1000.0]))
    tensor(1000.6932, dtype=float32)
    """
    x = as_tensor(x, "logsumexp, argument x")
    if x.kernels.is_complex:
        raise DtypeError(
            "logsumexp is for real numbers", f"logsumexp{describe([x])}",
            "write pg.log(pg.sum(pg.exp(x)))",
        )  # fmt: skip
    return _reduce(_logsumexp, x, axis, keepdims)


# ---- cumulative ---------------------------------------------------------------------------------
def _cumulative_samples(s: Any) -> Any:
    return [
        ((s.distinct(5),), {}),
        ((s.distinct(2, 3),), {"axis": 0}),
        ((s.distinct(2, 3),), {"axis": -1, "include_initial": True}),
        ((s.real(2, 0),), {"axis": 1, "include_initial": True}),
    ]


def _cumulate(
    p: Primitive, x: Any, axis: Any, dtype: Any, initial: int | None
) -> Tensor:
    t = _summed(x, dtype, p.name)
    if axis is None:
        if t.ndim != 1:
            raise InvalidArgumentError(
                f"along which of {t.ndim} axes?", f"{p.name}{describe([t])}, argument axis",
                "name an axis; only 1-d tensors need none",
            )  # fmt: skip
        axis = 0
    place = normalize_axis(axis, t.ndim, p.name)
    last = t.ndim - 1
    order = (*(i for i in range(t.ndim) if i != place), place)
    back = tuple(order.index(i) for i in range(t.ndim))
    out = t if place == last else _permute_dims.call(t, axes=order)
    out = p.call(out)
    if initial is not None:
        out = _prepend.call(out, value=initial)
    return out if place == last else _permute_dims.call(out, axes=back)  # type: ignore[no-any-return]


@_table.public(samples=_cumulative_samples, kinds="ifc", method=True)
def cumulative_sum(
    x: Any, /, axis: Any = None, *, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The sums of the first 1, 2, 3 … elements along an axis.

    Parameters
    ----------
    x
        Tensor of at least one axis.
    axis
        Along which; may be left out if there is one only.
    dtype
        As of `sum`.
    include_initial
        Start with the sum of none, 0: the axis gets longer by one.

    Raises
    ------
    InvalidArgumentError
        No axis is named and x has not exactly one.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.cumulative_sum(pg.tensor([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6], dtype=int64)
    """
    return _cumulate(_cumulative_sum, x, axis, dtype, 0 if include_initial else None)


@_table.public(samples=_cumulative_samples, kinds="ifc", method=True)
def cumulative_prod(
    x: Any, /, axis: Any = None, *, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The products of the first 1, 2, 3 … elements along an axis; rest as of `cumulative_sum`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.cumulative_prod(pg.tensor([1, 2, 3, 4]))
    tensor([ 1,  2,  6, 24], dtype=int64)
    """
    return _cumulate(_cumulative_prod, x, axis, dtype, 1 if include_initial else None)
