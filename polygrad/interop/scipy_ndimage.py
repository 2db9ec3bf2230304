"""`scipy.ndimage.map_coordinates` and `spline_filter` with derivatives: externals with rules.

Note [Interpolation by splines]
-------------------------------
At a point p the interpolated value is the sum over k of c[k] w(p - k), where w is a B-spline,
nonzero at order + 1 integers along each axis, and c are coefficients, for orders below two the
array itself. In several dimensions w is a product, so that the derivative by p along an axis has w'
in the place of that axis's factor. Beyond its ends c goes on as the mode says: `_fold` gives the
element that stands at an index. The derivative by c adds the weights up where their elements are.

Note [The adjoint of the spline filter]
---------------------------------------
The filter solves S c = x along each axis, where S samples the spline at integers: a band matrix
with the weights w(-1), w(0), w(1). Where c goes on as at a mirror between two elements ("reflect"),
or in a circle ("grid-wrap"), S is symmetric, and the filter is its own adjoint. Where the mirror is
on the last element ("mirror", and "constant"), the second weight in the first and in the last row
of S is doubled; D S is symmetric for D = diag(1/2, 1, ..., 1, 1/2), so that the adjoint of the
filter S^-1 is D S^-1 D^-1. (M. Unser, "Splines: a perfect fit for signal and image processing",
1999, and the boundary conditions of SciPy's documentation.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

import polygrad as pg
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.interop.external import external
from polygrad.ops._axes import as_tensor
from polygrad.registry import default_integer

__all__ = ["map_coordinates", "spline_filter"]

MODES = ("constant", "nearest", "mirror", "reflect", "grid-wrap")
_PAD = 12  # of elements that SciPy repeats at an end before it filters with mode "nearest"

# The polynomials, of powers 0, 1, ... of the fraction of the coordinate, that the B-splines of an
# order are made of, for the elements from left to right. The fraction is the distance from the
# element below (odd orders), or from the nearest one (even orders).
_WEIGHTS = {
    0: ((1.0,),),
    1: ((1.0, -1.0), (0.0, 1.0)),
    2: ((1 / 8, -1 / 2, 1 / 2), (3 / 4, 0.0, -1.0), (1 / 8, 1 / 2, 1 / 2)),
    3: (
        (1 / 6, -1 / 2, 1 / 2, -1 / 6), (2 / 3, 0.0, -1.0, 1 / 2), (1 / 6, 1 / 2, 1 / 2, -1 / 2),
        (0.0, 0.0, 0.0, 1 / 6),
    ),
}  # fmt: skip


# ---- the spline filter --------------------------------------------------------------------------
def _scaled_ends(x: Any, factor: float) -> Any:
    """The first and last elements along each axis, times a factor."""
    for axis, n in enumerate(x.shape):
        ends = np.ones(n)
        ends[[0, -1]] = factor
        shape = tuple(-1 if i == axis else 1 for i in range(x.ndim))
        x = x * pg.reshape(pg.asarray(ends, dtype=pg.real(x).dtype, device=x.device), shape)
    return x


def _filter(x: Any, order: int, mode: str) -> Any:
    from scipy import ndimage  # noqa: PLC0415  only who interpolates needs SciPy

    return ndimage.spline_filter(x, order, output=x.dtype, mode=mode)


def _filter_rule(g: Any, order: int, mode: str) -> Any:
    """See Note [The adjoint of the spline filter]."""
    if mode in ("reflect", "grid-wrap"):
        return _spline_filter(g, order, mode)
    return _scaled_ends(_spline_filter(_scaled_ends(g, 2.0), order, mode), 0.5)


_spline_filter = external(_filter, {"x": _filter_rule}, name="spline_filter", host=True)


# ---- interpolation ------------------------------------------------------------------------------
def _fold(i: Any, n: int, mode: str) -> Any:
    """The element that stands at an index, which may be beyond the ends."""
    if n == 1:
        return i * 0
    if mode == "grid-wrap":
        return i % n
    period, last = (2 * n, 2 * n - 1) if mode == "reflect" else (2 * n - 2, 2 * n - 2)
    i = i % period
    return pg.where(i < n, i, last - i)


def _polynomial(t: Any, coefficients: tuple[float, ...]) -> Any:
    value = t * 0 + coefficients[-1]
    for c in coefficients[-2::-1]:
        value = value * t + c
    return value


def _derivative(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(k * c for k, c in enumerate(coefficients))[1:] or (0.0,)


def _stencil(p: Any, n: int, order: int, mode: str) -> tuple[Any, Any, Any]:
    """Along one axis, for each coordinate: the order + 1 elements, their weights, and w'."""
    inside = pg.asarray((p >= 0) & (p <= n - 1), dtype=p.dtype)[..., None]
    p = pg.clip(p, 0, n - 1) if mode == "nearest" else p
    below = pg.floor(p + (0.0 if order % 2 else 0.5))
    first = pg.astype(below, default_integer(p.device)) - order // 2
    elements = _fold(first[..., None] + pg.arange(order + 1, device=p.device), n, mode)
    w, slope = (
        pg.stack([_polynomial(p - below, make(row)) for row in _WEIGHTS[order]], axis=-1)
        for make in (lambda row: row, _derivative)
    )
    if mode == "constant":  # outside, the value is a constant
        return elements, w * inside, slope * inside
    return elements, w, slope * inside if mode == "nearest" else slope


def _joined(parts: list[Any], combine: Any) -> Any:
    """One value for each combination of elements of all axes, along the last axis."""
    joined = parts[0]
    for part in parts[1:]:
        both = combine(joined[..., :, None], part[..., None, :])
        joined = pg.reshape(both, (*both.shape[:-2], -1))
    return joined


def _places(c: Any, points: Any, order: int, mode: str) -> tuple[Any, list[Any], list[Any]]:
    """Flat indices into c, and weights and slopes by axis."""
    stencils = [_stencil(points[d], n, order, mode) for d, n in enumerate(c.shape)]
    elements, weights, slopes = (list(column) for column in zip(*stencils, strict=True))
    strides = [int(np.prod(c.shape[d + 1 :])) for d in range(c.ndim)]
    flat = [e * stride for e, stride in zip(elements, strides, strict=True)]
    return _joined(flat, lambda a, b: a + b), weights, slopes


def _interpolate(c: Any, points: Any, order: int, mode: str, cval: float) -> Any:
    from scipy import ndimage  # noqa: PLC0415  only who interpolates needs SciPy

    return ndimage.map_coordinates(c, points, order=order, mode=mode, cval=cval, prefilter=False)


def _by_coefficients(g: Any, c: Any, points: Any, order: int, mode: str) -> Any:
    """The cotangent of c; see Note [Interpolation by splines]."""
    flat, weights, _ = _places(c, points, order, mode)
    shares = g[..., None] * _joined(weights, lambda a, b: a * b)
    zeros = pg.zeros(c.size, dtype=shares.dtype, device=c.device)
    total = pg.index_add(zeros, pg.reshape(flat, (-1,)), pg.reshape(shares, (-1,)), axis=0)
    return pg.reshape(total, c.shape)


def _by_points(g: Any, c: Any, points: Any, order: int, mode: str) -> Any:
    """The cotangent of points; see Note [Interpolation by splines]."""
    flat, weights, slopes = _places(c, points, order, mode)
    values = pg.reshape(pg.take(pg.reshape(c, (-1,)), pg.reshape(flat, (-1,))), flat.shape)
    rows = []
    for d, slope in enumerate(slopes):
        factors = [*weights[:d], slope, *weights[d + 1 :]]
        moved = pg.sum(values * _joined(factors, lambda a, b: a * b), axis=-1)
        rows.append(pg.real(g * pg.conj(moved)))
    return pg.stack(rows, axis=0)


_interpolation = external(
    _interpolate, {"c": _by_coefficients, "points": _by_points}, name="map_coordinates", host=True
)


# ---- what users call ----------------------------------------------------------------------------
def _checked(order: int, mode: str, where: str) -> None:
    if order not in _WEIGHTS:
        raise InvalidArgumentError(f"order {order!r}", f"{where}, argument order", "use 0 to 3")
    if mode not in MODES:
        raise InvalidArgumentError(
            f"mode {mode!r}", f"{where}, argument mode", f"those with a rule are {', '.join(MODES)}"
        )


def spline_filter(x: Any, order: int = 3, mode: str = "mirror") -> Any:
    """Spline coefficients, as `scipy.ndimage.spline_filter`, in the dtype of x.

    Parameters
    ----------
    x
        Floating tensor.
    order
        Of the spline, 2 or 3.
    mode
        How x goes on beyond its ends: "mirror", "reflect" or "grid-wrap"; "constant" is "mirror".

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    InvalidArgumentError
        Another order or mode.

    Examples
    --------
    >>> import polygrad as pg
    >>> spline_filter(pg.ones(4))
    tensor([1., 1., 1., 1.], dtype=float32)
    """
    _checked(order, mode, "spline_filter")
    if mode == "nearest" or order < 2:
        raise InvalidArgumentError(
            f"order {order} with mode {mode!r}", "spline_filter", "see the documentation"
        )
    return _spline_filter(as_tensor(x, "spline_filter, argument x"), order, mode)


def map_coordinates(
    x: Any, coordinates: Any, order: int = 3, mode: str = "constant", cval: float = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """Interpolate an array at any points, as `scipy.ndimage.map_coordinates`.

    Differentiable by `x`, and for orders from 1 by `coordinates` (for order 0 this is zero). A
    spline of order 1 has kinks at the elements.

    Parameters
    ----------
    x
        Floating tensor of d axes, one or more.
    coordinates
        Shape (d, ...): where to interpolate, in elements.
    order
        Of the spline: 0, 1, 2 or 3.
    mode
        How x goes on beyond its ends: "constant" (`cval`), "nearest", "mirror", "reflect",
        "grid-wrap", as in SciPy.
    cval
        The constant.
    prefilter
        Compute the spline's coefficients; if false, x has them.

    Returns
    -------
    Tensor
        Of the shape of a row of `coordinates`, and the dtype of x.

    Raises
    ------
    InvalidArgumentError
        An order or mode that has no rule here.
    ShapeError
        There is not one row of coordinates for each axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> map_coordinates(pg.asarray([0.0, 2.0, 6.0]), pg.asarray([[0.5, 1.5]]), order=1)
    tensor([1., 4.], dtype=float32)
    """
    _checked(order, mode, "map_coordinates")
    x = as_tensor(x, "map_coordinates, argument x")
    points = as_tensor(coordinates, "map_coordinates, argument coordinates")
    if not x.ndim or not points.ndim or points.shape[0] != x.ndim:
        raise ShapeError(
            f"coordinates of shape {points.shape} for an array of shape {x.shape}",
            "map_coordinates, argument coordinates", "pass one row for each axis of x",
        )  # fmt: skip
    points = points if points.kernels.inexact else pg.astype(points, pg.real(x).dtype)
    if order > 1 and prefilter:
        if mode == "nearest":
            x, points = pg.pad(x, _PAD, mode="edge"), points + _PAD
        x = _spline_filter(x, order, "mirror" if mode == "nearest" else mode)
    return _interpolation(x, points, order, mode, cval)
