"""Medians and quantiles, with and without NaN.

One primitive reads elements at given places of the sorted order; which places, and what lies
between them, is reckoned on the host by `_quantiles`. Among equal elements the gradient goes to
those that a stable sort puts at the places read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.config import default_dtype
from polygrad.dtypes import BOOL, REAL
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.ops._axes import as_tensor, kept, normalize_axes
from polygrad.ops._quantiles import METHODS, Places, picks, places
from polygrad.ops.comparison import isinf, isnan
from polygrad.ops.creation import to_place
from polygrad.ops.elementwise import strong_multiply
from polygrad.ops.filling import full
from polygrad.ops.indexing import index_tensor
from polygrad.ops.manipulation import permute_dims, reshape
from polygrad.ops.searching import count_nonzero, where
from polygrad.primitive import CONSTANT, Primitive
from polygrad.tensor import Tensor, new_tensor, on_host
from polygrad.views import detach

_table = Chapter("order statistics")
Shape = tuple[int, ...]


def _rule(g: Any, F: Any, x: Any, ranks: Any) -> Any:
    """What was read goes back to the elements that stand at these places."""
    axis = len(x.shape) - 1
    order = F.argsort(x, axis=axis, descending=False, stable=True)
    places = F.take_along_axis(order, ranks, axis=axis)
    return F.take_along_axis_adjoint(g, places, shape=x.shape, axis=axis)


order_statistics = Primitive(  # the elements at places `ranks` of the sorted last axis
    "order_statistics", ("x", "ranks"), {"x": _rule, "ranks": CONSTANT}, promotes=("x",),
    forward=lambda F, x, ranks: F.xp.take_along_axis(F.xp.sort(x, axis=-1), ranks, axis=-1),
)  # fmt: skip


# ---- operands -----------------------------------------------------------------------------------
def _real(x: Any, where: str) -> Tensor:
    """A real tensor; truth values as numbers."""
    t = as_tensor(x, f"{where}, argument x")
    if t.kernels.is_complex:
        raise DtypeError(
            "complex numbers have no order", f"{where}{describe([t])}", f"{where} of pg.abs(x)"
        )
    return to_place(t, default_dtype()) if t.kernels.kind == BOOL else t


def _fractions(q: Any, whole: float, where: str) -> np.ndarray[Any, Any]:
    """Quantiles on the host, as parts of 1."""
    name = "percentile" if whole == 100 else "quantile"
    if isinstance(q, Tensor):
        q = on_host(q)
    try:
        found = np.asarray(q).astype(np.float64, casting="same_kind")
    except TypeError:
        raise InvalidTypeError(
            f"a {name} is a real number, not {q!r}", f"{where}, argument q", "pass numbers"
        ) from None
    if not np.all((found >= 0) & (found <= whole)):
        raise InvalidArgumentError(
            f"{name}s from {found.min()} to {found.max()}", f"{where}, argument q",
            f"choose from 0 to {whole:g}",
        )  # fmt: skip
    return found / whole if whole != 1 else found


def _lanes(x: Tensor, axes: Shape) -> Tensor:
    """The axes as one, which is the last."""
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    shape = tuple(x.shape[i] for i in rest)
    moved = permute_dims(x, rest + axes)
    return reshape(moved, (*shape, size_of(tuple(x.shape[i] for i in axes))))


# ---- the general case ---------------------------------------------------------------------------
def _between(values: Tensor, found: Places, slope_of: Tensor | None) -> Tensor:
    """The first and the second half of the last axis, weighted; infinities stay what they are."""
    count = values.shape[-1] // 2
    low, high = values[..., :count], values[..., count:]
    k = values.kernels
    weight = new_tensor(k.from_numpy(found.weight), k)
    if slope_of is not None:
        slope = new_tensor(k.from_numpy(found.slope), k)
        weight = weight + to_place(slope_of - detach(slope_of), k.dtype) * slope
    ends = isinf(low) & (high != -low)
    out = low + strong_multiply(weight, high - where(ends, 0, low))
    return where(ends, low, out)  # type: ignore[no-any-return]


def _at(x: Tensor, q: np.ndarray[Any, Any], method: str, skip: bool, given: Any) -> Tensor:
    """The quantiles `q`, flat, of the last axis: they are the last axis of the result."""
    n: Any = x.shape[-1]
    if skip:
        counts = count_nonzero(~isnan(x), axis=-1)
        n = on_host(counts)[..., None]
    found = places(n, q, method)
    parts = [found.low] if picks(method) else [found.low, found.high]
    ends = x.kernels.kind == REAL and not skip
    if ends:
        parts.append(np.full((1,), x.shape[-1] - 1))
    ranks = np.concatenate(parts, axis=-1)
    ranks = np.broadcast_to(ranks, (*x.shape[:-1], ranks.shape[-1]))
    values: Tensor = order_statistics.call(x, index_tensor(np.ascontiguousarray(ranks), x))
    last = values[..., -1:] if ends else None
    values = values[..., :-1] if ends else values
    if not picks(method):
        slope_of = reshape(given, (-1,)) if isinstance(given, Tensor) and given.tracked else None
        values = _between(values, found, slope_of)
    return values if last is None else where(isnan(last), last, values)


def _quantile(
    x: Any, q: Any, axis: Any, keepdims: bool, method: str, name: str, *,
    whole: float = 1, skip: bool = False, empty: bool = False,
) -> Tensor:  # fmt: skip
    """All of them. `whole`: what 1 is called; `skip`: without NaN; `empty`: NaN of no elements."""
    x = _real(x, name)
    if method not in METHODS:
        raise InvalidArgumentError(
            f"there is no method {method!r}", f"{name}, argument method",
            "choose one of " + ", ".join(METHODS),
        )  # fmt: skip
    fractions = _fractions(q, whole, name)
    axes = normalize_axes(axis, x.ndim, name)
    if not picks(method) and not x.kernels.inexact:
        x = to_place(x, default_dtype())
    flat = _lanes(x, axes)
    shape = kept(x.shape, axes) if keepdims else flat.shape[:-1]
    if not flat.shape[-1]:
        if not empty:
            raise InvalidArgumentError(
                f"{name} of no elements", f"{name}{describe([x])}, axis={axis}",
                "give it at least one",
            )  # fmt: skip
        return full((*fractions.shape, *shape), np.nan, dtype=x.dtype, device=x.device)
    given = q / whole if isinstance(q, Tensor) and whole != 1 else q
    skip = skip and x.kernels.kind == REAL
    out = _at(flat, fractions.reshape(-1), method, skip, given)
    last = out.ndim - 1
    return reshape(permute_dims(out, (last, *range(last))), (*fractions.shape, *shape))


# ---- what users call ----------------------------------------------------------------------------
def _samples(s: Any) -> Any:
    return [
        ((s.distinct(2, 3),), {}), ((s.distinct(2, 3),), {"axis": 0}),
        ((s.distinct(2, 3, 2),), {"axis": (0, -1), "keepdims": True}), ((s.distinct(),), {}),
        ((s.real(0, 3),), {"axis": 1}),
    ]  # fmt: skip


def _with_nan(s: Any, *shape: int) -> Any:
    """Distinct values, two of them NaN where there is NaN."""
    x = s.distinct(*shape)
    if x.dtype.kind == "f":
        x[(0, *(0,) * (x.ndim - 1))] = np.nan
        x[(-1, *(0,) * (x.ndim - 1))] = np.nan
    return x


@_table.public(samples=_samples, kinds="if", method=True)
def median(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The middle of the sorted elements; of an even number the mean of the two in the middle.

    Parameters
    ----------
    x
        Real tensor. Integers are computed in the default floating dtype.
    axis
        An axis, a tuple of axes, or None for all.
    keepdims
        Keep the reduced axes, with length 1.

    Returns
    -------
    Tensor
        NaN where there is one, or no elements.

    Raises
    ------
    DtypeError
        x is complex.
    OutOfRangeError, InvalidArgumentError
        No such axis, or one named twice.

    Notes
    -----
    The gradient goes to the one or two elements in the middle; of equal ones to those that a stable
    sort puts there.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.median(pg.tensor([[1.0, 5.0, 2.0], [4.0, 0.0, 8.0]]), axis=1)
    tensor([2., 4.], dtype=float32)
    """
    return _quantile(x, 0.5, axis, keepdims, "linear", "median", empty=True)


def _quantile_samples(s: Any, whole: float = 1) -> Any:
    w = whole
    picked, mean, odd = "closest_observation", "averaged_inverted_cdf", "median_unbiased"
    return [
        ((s.distinct(2, 3), 0.3 * w), {}),
        ((s.distinct(2, 5), [0.1 * w, 0.5 * w, w]), {"axis": -1}),
        ((s.distinct(2, 3, 2), 0.25 * w), {"axis": (0, -1), "keepdims": True}),
        ((s.distinct(4), [[0.0, 0.2 * w]]), {"method": odd}),
        ((s.distinct(4), 0.6 * w), {"method": picked, "keepdims": True}),
        ((s.distinct(4, 2), 0.5 * w), {"method": mean, "axis": 0}),
        ((s.distinct(5), s.interval(0, w, 2)), {}),
        ((s.real(0, 3), 0.5 * w), {"axis": 1}),
    ]


@_table.public(samples=_quantile_samples, kinds="if", method=True)
def quantile(
    x: Any, /, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The values below which the parts `q` of the elements lie.

    Parameters
    ----------
    x
        Real tensor.
    q
        Numbers from 0 to 1: one, a sequence, or a tensor of any shape, which may require grad.
    axis
        An axis, a tuple of axes, or None for all.
    method
        What lies between elements, by NumPy's names. Interpolated: "linear",
        "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased". The
        mean of two elements: "midpoint", "averaged_inverted_cdf". One element: "lower", "higher",
        "nearest", "inverted_cdf", "closest_observation".
    keepdims
        Keep the reduced axes, with length 1.

    Returns
    -------
    Tensor
        The shape of `q`, then the axes that are left. NaN where there is one. The dtype of x;
        integers are computed in the default floating dtype unless the method picks an element.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        Some of `q` is no number from 0 to 1; there is no such method; there are no elements.
    DtypeError, OutOfRangeError
        x is complex; there is no such axis.

    Notes
    -----
    Values of q are read on the host. The gradient by q is the distance between neighbours times
    their number; it is 0 for methods that do not interpolate. Formulas: Hyndman and Fan, Sample
    quantiles in statistical packages, The American Statistician 50 (1996) 361.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.quantile(pg.tensor([3.0, 1.0, 2.0]), [0.25, 0.5])
    tensor([1.5, 2. ], dtype=float32)
    """
    return _quantile(x, q, axis, keepdims, method, "quantile")


@_table.public(samples=lambda s: _quantile_samples(s, 100)[1:6:2], kinds="if")
def percentile(
    x: Any, /, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantiles in per cent: `q` goes from 0 to 100; all else as of `quantile`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.percentile(pg.tensor([3.0, 1.0, 2.0]), 25)
    tensor(1.5, dtype=float32)
    """
    return _quantile(x, q, axis, keepdims, method, "percentile", whole=100)


@_table.public(
    samples=lambda s: [
        ((_with_nan(s, 4, 3),), {}), ((_with_nan(s, 4, 3),), {"axis": 0}),
        ((_with_nan(s, 3, 2, 2),), {"axis": (0, -1), "keepdims": True}),
        ((s.real(0, 3),), {"axis": 1}),
    ],
    kinds="if",
    method=True,
)  # fmt: skip
def nanmedian(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The median of the elements that are not NaN; NaN where there are none; else as `median`.

    Notes
    -----
    How many elements are NaN is read on the host.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanmedian(pg.tensor([1.0, float("nan"), 5.0, 2.0]))
    tensor(2., dtype=float32)
    """
    return _quantile(x, 0.5, axis, keepdims, "linear", "nanmedian", skip=True, empty=True)


@_table.public(
    samples=lambda s: [
        ((_with_nan(s, 4, 3), 0.3), {}), ((_with_nan(s, 4, 3), [0.2, 0.7]), {"axis": 0}),
        ((_with_nan(s, 3, 2), 0.25), {"axis": 0, "method": "lower", "keepdims": True}),
    ],
    kinds="if",
    method=True,
)  # fmt: skip
def nanquantile(
    x: Any, /, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantiles of the elements that are not NaN; NaN where there are none; else as `quantile`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanquantile(pg.tensor([1.0, float("nan"), 2.0]), 0.5)
    tensor(1.5, dtype=float32)
    """
    return _quantile(x, q, axis, keepdims, method, "nanquantile", skip=True)


@_table.public(
    samples=lambda s: [((_with_nan(s, 4, 3), 30), {"axis": 0, "method": "hazen"})], kinds="if"
)
def nanpercentile(
    x: Any, /, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantiles in per cent of the elements that are not NaN; all else as of `quantile`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nanpercentile(pg.tensor([1.0, float("nan"), 2.0]), 50)
    tensor(1.5, dtype=float32)
    """
    return _quantile(x, q, axis, keepdims, method, "nanpercentile", whole=100, skip=True)
