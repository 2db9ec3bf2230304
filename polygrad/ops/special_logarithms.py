"""Special functions made of logarithms: entropies, logistic functions, Box and Cox, Huber.

All of them run on every device: the library's function where it has one, else the composition here.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.ops._axes import as_tensor, normalize_axes
from polygrad.ops._series import deviance, log1pmx_ratio, log_ratio
from polygrad.ops._special import SpecialFunctions, composed, library, spread
from polygrad.ops.elementwise import abs as absolute
from polygrad.ops.elementwise import exp, log, sign
from polygrad.ops.filling import full_like
from polygrad.ops.manipulation import reshape
from polygrad.ops.searching import where
from polygrad.ops.softmax import log_softmax_primitive, softmax_primitive
from polygrad.ops.special_elementary import exprel_growth, exprel_series
from polygrad.ops.statistical import logsumexp as plain_logsumexp
from polygrad.ops.statistical import max as maximum
from polygrad.ops.statistical import sum as total
from polygrad.tensor import Tensor
from polygrad.views import detach

_table = SpecialFunctions("logarithms")
function = _table.function
_NAN = math.nan


# ---- x log(y) -----------------------------------------------------------------------------------
def _xlogy(F: Any, x: Any, y: Any) -> Any:
    zero = (x == 0) & ~F.isnan(y)
    return F.where(zero, 0, x * F.log(F.where(zero, 1, y)))


def _xlog1py(F: Any, x: Any, y: Any) -> Any:
    zero = (x == 0) & ~F.isnan(y)
    return F.where(zero, 0, x * F.log1p(F.where(zero, 0, y)))


def _xlogy_x(g: Any, F: Any, x: Any, y: Any) -> Any:
    """log(y), and 0 where the function is 0 log(0)."""
    return F.strong_multiply(g, F.log(F.where((x == 0) & (y == 0), 1, y)))


def _xlog1py_x(g: Any, F: Any, x: Any, y: Any) -> Any:
    return F.strong_multiply(g, F.log1p(F.where((x == 0) & (y == -1), 0, y)))


def _entr(F: Any, x: Any) -> Any:
    plain = ~(x <= 0)
    return F.where(plain, -x * F.log(F.where(plain, x, 1)), F.where(x < 0, -math.inf, 0 * x))


def _positive(F: Any, x: Any, y: Any, inside: Any) -> Any:
    """`inside` for x, y > 0; its limit, or infinity, elsewhere."""
    outside = F.where((x == 0) & (y >= 0), 0 * x, math.inf)
    outside = F.where(F.isnan(x) | F.isnan(y), _NAN, outside)
    return F.where((x > 0) & (y > 0), inside, outside)


def _rel_entr(F: Any, x: Any, y: Any) -> Any:
    fine = (x > 0) & (y > 0)
    a, b = F.where(fine, x, 1), F.where(fine, y, 1)
    return _positive(F, x, y, a * log_ratio(F, a, b))


def _kl_div(F: Any, x: Any, y: Any) -> Any:
    fine = (x > 0) & (y > 0)
    a, b = F.where(fine, x, 1), F.where(fine, y, 1)
    return F.where((x == 0) & (y >= 0), y, _positive(F, x, y, deviance(F, a, b, b - a)))


# ---- logistic functions -------------------------------------------------------------------------
def _expit(F: Any, x: Any) -> Any:
    small = F.exp(-F.abs(x))
    return F.where(x < 0, small, 1) / (small + 1)


def _softplus(F: Any, x: Any) -> Any:
    return F.where(x > 0, x, 0) + F.log1p(F.exp(-F.abs(x)))


def _logit(F: Any, x: Any) -> Any:
    middle = (x > 0.3) & (x < 0.7)
    s = F.where(middle, 2 * x - 1, 0)
    y = F.where(middle, 0.5, x)
    return F.where(middle, F.log1p(s) - F.log1p(-s), F.log(y) - F.log1p(-y))


# ---- Box and Cox --------------------------------------------------------------------------------
def _grown(F: Any, u: Any, lmbda: Any) -> Any:
    """(e^u - 1) / lmbda for u = lmbda t, without overflow; the caller has lmbda = 0."""
    safe = F.where(lmbda == 0, 1, lmbda)
    high = u > 50
    far = F.exp(F.where(high, u, 0) - F.log(F.abs(safe))) * F.sign(safe) - 1 / safe
    return F.where(high, far, F.expm1(u) / safe)


def _boxcox(F: Any, x: Any, lmbda: Any) -> Any:
    return F.where(lmbda == 0, F.log(x), _grown(F, lmbda * F.log(x), lmbda))


def _boxcox1p(F: Any, x: Any, lmbda: Any) -> Any:
    return F.where(lmbda == 0, F.log1p(x), _grown(F, lmbda * F.log1p(x), lmbda))


def _boxcox_lmbda(F: Any, t: Any, lmbda: Any) -> Any:
    """t^2 times the derivative of (e^u - 1) / u at u = lmbda t."""
    u = F.strong_multiply(lmbda, t)
    near = F.abs(u) < 1
    series = t * t * exprel_series(F.where(near, u, 0))
    safe = F.where(near, 1, lmbda)
    return F.where(near, series, exprel_growth(F, F.where(near, 1, u)) / safe / safe)


def _boxcox1p_x(g: Any, F: Any, x: Any, lmbda: Any) -> Any:
    return F.strong_multiply(g, (x + 1) ** (lmbda - 1))


def _root(F: Any, y: Any, lmbda: Any) -> Any:
    """log(1 + lmbda y) / lmbda, smooth at lmbda = 0."""
    u = lmbda * y
    return y * (1 + u * log1pmx_ratio(F, u))


def _inv_boxcox_y(F: Any, y: Any, lmbda: Any) -> Any:
    """(1 + lmbda y)^(1 / lmbda - 1)."""
    u = lmbda * y
    end = u == -1
    inside = F.exp(_root(F, F.where(end, 0, y), lmbda) - F.log1p(F.where(end, 0, u)))
    slope = F.where((lmbda > 0) & (lmbda < 1), 0 * lmbda, math.inf)
    return F.where(end, F.where(lmbda == 1, 1, slope), inside)


def _inv_boxcox_lmbda(F: Any, y: Any, lmbda: Any) -> Any:
    """-(1 + u)^(1 / lmbda) y^2 (log(1 + u) - u / (1 + u)) / u^2 for u = lmbda y."""
    u = lmbda * y
    end = u == -1
    safe = F.where(end, 1, lmbda)
    edge = F.strong_multiply(_inv_boxcox_y(F, y, lmbda), y / F.where(end, lmbda, 1))
    y = F.where(end, 0, y)
    u = safe * y
    inside = -F.exp(_root(F, y, safe)) * y * y * (log1pmx_ratio(F, u) + 1 / (u + 1))
    return F.where(end, edge, inside)


# ---- Huber --------------------------------------------------------------------------------------
def _huber(F: Any, delta: Any, r: Any) -> Any:
    size = F.abs(r)
    out = F.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return F.where(delta < 0, math.inf, out)


def _pseudo_huber(F: Any, delta: Any, r: Any) -> Any:
    """delta^2 (sqrt(1 + (r / delta)^2) - 1) = delta r^2 / (hypot(delta, r) + delta)."""
    out = delta * _excess(F, delta, r)
    return F.where(delta < 0, math.inf, out)


def _excess(F: Any, delta: Any, r: Any) -> Any:
    """hypot(delta, r) - delta."""
    under = F.hypot(delta, r) + delta
    return r * (r / F.where(under == 0, 1, under))


def _pseudo_huber_delta(g: Any, F: Any, delta: Any, r: Any) -> Any:
    h, excess = F.hypot(delta, r), _excess(F, delta, r)
    return g * (excess * (excess / F.where(h == 0, 1, h)))


def _pseudo_huber_r(g: Any, F: Any, delta: Any, r: Any) -> Any:
    h = F.hypot(delta, r)
    return g * (r * (delta / F.where(h == 0, 1, h)))


# fmt: off
xlogy = function(
    "xlogy",
    {"x": _xlogy_x, "y": lambda g, F, x, y: F.strong_divide(g * x, y)},
    "x log(y), and 0 for x = 0.", forward=library("xlogy", fallback=_xlogy),
    samples=spread((-2, 2), (0.2, 3), points=((0.0, 2.0),)))
xlog1py = function(
    "xlog1py",
    {"x": _xlog1py_x, "y": lambda g, F, x, y: F.strong_divide(g * x, y + 1)},
    "x log(1 + y), and 0 for x = 0.", forward=library("xlog1py", fallback=_xlog1py),
    samples=spread((-2, 2), (-0.7, 3), points=((0.0, 2.0), (2.0, 1e-6))))
entr = function(
    "entr", {"x": lambda g, F, x: F.strong_multiply(g, -F.log(x) - 1)},
    "The entropy -x log(x), 0 at 0, -inf below.", forward=library("entr", fallback=_entr),
    samples=spread((0.2, 3)))
rel_entr = function(
    "rel_entr",
    {"x": lambda g, F, x, y: F.strong_multiply(g, log_ratio(F, x, y) + 1),
     "y": lambda g, F, x, y: F.strong_divide(-g * x, y)},
    "The relative entropy x log(x / y).", forward=library("rel_entr", fallback=_rel_entr),
    samples=spread((0.2, 3), (0.2, 3), points=((2.0, 2.0), (1.0, 1 + 1e-6))))
kl_div = function(
    "kl_div",
    {"x": lambda g, F, x, y: F.strong_multiply(g, log_ratio(F, x, y)),
     "y": lambda g, F, x, y: F.strong_multiply(g, F.strong_divide(y - x, y))},
    "x log(x / y) - x + y.", forward=composed(_kl_div),
    samples=spread((0.2, 3), (0.2, 3), points=((2.0, 2.0), (1.0, 1 + 1e-6))))
expit = function(
    "expit", {"x": lambda g, F, x, out: g * (out * F.special_expit(-x))},
    "The logistic function 1 / (1 + e^-x).", forward=library("expit", fallback=_expit),
    samples=spread((-4, 4), points=((0.0,), (40.0,), (-40.0,))))
log_expit = function(
    "log_expit", {"x": lambda g, F, x: g * F.special_expit(-x)},
    "The logarithm of the logistic function.",
    forward=library("log_expit", fallback=lambda F, x: -_softplus(F, -x)),
    samples=spread((-4, 4), points=((0.0,), (40.0,), (-40.0,))))
softplus = function(
    "softplus", {"x": lambda g, F, x: g * F.special_expit(x)}, "log(1 + e^x).",
    forward=library("softplus", fallback=_softplus),
    samples=spread((-4, 4), points=((0.0,), (40.0,), (-40.0,))))
logit = function(
    "logit", {"x": lambda g, F, x: F.strong_divide(g, x * (1 - x))},
    "log(x / (1 - x)), the inverse of expit.", forward=library("logit", fallback=_logit),
    samples=spread((0.05, 0.95), points=((0.5,), (0.01,))))
boxcox = function(
    "boxcox",
    {"x": lambda g, F, x, lmbda: F.strong_multiply(g, x ** (lmbda - 1)),
     "lmbda": lambda g, F, x, lmbda: F.strong_multiply(g, _boxcox_lmbda(F, F.log(x), lmbda))},
    "(x^lmbda - 1) / lmbda, and log(x) for lmbda = 0.",
    forward=library("boxcox", fallback=_boxcox),
    samples=spread((0.2, 3), (-2, 2), points=((2.0, 0.0), (0.5, 1e-6), (1.0, 1.0))))
boxcox1p = function(
    "boxcox1p",
    {"x": _boxcox1p_x,
     "lmbda": lambda g, F, x, lmbda: F.strong_multiply(g, _boxcox_lmbda(F, F.log1p(x), lmbda))},
    "boxcox(1 + x, lmbda), precise for small x.", forward=library("boxcox1p", fallback=_boxcox1p),
    samples=spread((-0.7, 3), (-2, 2), points=((2.0, 0.0), (1e-6, 1e-6), (0.0, 1.0))))
inv_boxcox = function(
    "inv_boxcox",
    {"y": lambda g, F, y, lmbda: F.strong_multiply(g, _inv_boxcox_y(F, y, lmbda)),
     "lmbda": lambda g, F, y, lmbda: F.strong_multiply(g, _inv_boxcox_lmbda(F, y, lmbda))},
    "The inverse of boxcox with respect to x.",
    forward=library("inv_boxcox", fallback=lambda F, y, lmbda: F.exp(_root(F, y, lmbda))),
    samples=spread((0.1, 2), (0.1, 2), points=((2.0, 0.0), (-0.5, 1e-6), (1.0, 1.0))))
inv_boxcox1p = function(
    "inv_boxcox1p",
    {"y": lambda g, F, y, lmbda: F.strong_multiply(g, _inv_boxcox_y(F, y, lmbda)),
     "lmbda": lambda g, F, y, lmbda: F.strong_multiply(g, _inv_boxcox_lmbda(F, y, lmbda))},
    "The inverse of boxcox1p with respect to x.",
    forward=library("inv_boxcox1p", fallback=lambda F, y, lmbda: F.expm1(_root(F, y, lmbda))),
    samples=spread((0.1, 2), (0.1, 2), points=((2.0, 0.0), (-0.5, 1e-6), (1.0, 1.0))))
huber = function(
    "huber",
    {"delta": lambda g, F, delta, r: g * F.where(F.abs(r) <= delta, 0, F.abs(r) - delta),
     "r": lambda g, F, delta, r: g * F.where(F.abs(r) <= delta, r, delta * F.sign(r))},
    "r^2 / 2 where |r| <= delta, delta (|r| - delta / 2) elsewhere.",
    forward=library("huber", fallback=_huber), samples=spread((0.9, 1.1), (0.1, 0.8),
    points=((1.0, 0.0), (1.0, -3.0), (2.0, 5.0))))
pseudo_huber = function(
    "pseudo_huber", {"delta": _pseudo_huber_delta, "r": _pseudo_huber_r},
    "delta^2 (sqrt(1 + (r / delta)^2) - 1).",
    forward=library("pseudo_huber", fallback=_pseudo_huber),
    samples=spread((0.5, 2), (-3, 3), points=((1.0, 0.0), (1.0, 1e-4), (1e-2, -3.0))))
# fmt: on


# ---- along axes ---------------------------------------------------------------------------------
def _reduced(s: Any) -> Any:
    return [
        ((s.real(2, 3),), {}), ((s.real(2, 3, 2),), {"axis": 1}), ((s.real(),), {}),
        ((s.real(2, 3),), {"axis": (0, 1)}), ((s.real(0, 2),), {"axis": 1}),
    ]  # fmt: skip


@_table.public(
    samples=lambda s: [
        *_reduced(s), ((s.real(2, 3),), {"axis": -1, "keepdims": True}),
        ((s.real(2, 3), 1, s.positive(3)), {}),
        ((s.real(2, 3),), {"b": s.real(2, 1), "return_sign": True}),
    ],
    variables={"a": True, "b": True},
)  # fmt: skip
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """The logarithm of the sum of b e^a along axes, without overflow.

    Parameters
    ----------
    a
        Real tensor.
    axis
        An axis or several; None: all.
    b
        Factors, which broadcast with a; None: ones.
    keepdims
        Keep the summed axes, with length 1.
    return_sign
        Return (the logarithm of the absolute value of the sum, its sign).

    Returns
    -------
    Tensor or tuple of Tensors
        NaN where the sum is negative, unless its sign is returned too.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.special.logsumexp(pg.tensor([1000.0, 1000.0]), b=pg.tensor([1.0, 3.0]))
    tensor(1001.3863, dtype=float32)
    """
    a = as_tensor(a, "logsumexp, argument a")
    if b is None and not return_sign:
        return plain_logsumexp(a, axis=axis, keepdims=keepdims)
    b = full_like(a, 1) if b is None else as_tensor(b, "logsumexp, argument b")
    shifted = where(b == 0, -math.inf, a)
    axes = normalize_axes(axis, shifted.ndim, "logsumexp")
    if 0 in shifted.shape:
        out = plain_logsumexp(shifted, axis=axes, keepdims=keepdims)
        return (out, sign(exp(out))) if return_sign else out
    top = detach(maximum(shifted, axis=axes, keepdims=True))
    top = where(absolute(top) == math.inf, 0, top)
    sums = total(b * exp(shifted - top), axis=axes, keepdims=True)
    out = log(absolute(sums) if return_sign else sums) + top
    signs = sign(sums)
    if not keepdims:
        shape = tuple(n for i, n in enumerate(out.shape) if i not in axes)
        out, signs = reshape(out, shape), reshape(signs, shape)
    return (out, signs) if return_sign else out


def _along(x: Any, axis: Any, where_: str, primitive: Any, combine: Any) -> Tensor:
    x = as_tensor(x, f"{where_}, argument x")
    axes = normalize_axes(axis, x.ndim, where_)
    if len(axes) == 1:
        return primitive.call(x, axis=axes[0])  # type: ignore[no-any-return]
    if axis is None:
        return reshape(primitive.call(reshape(x, (-1,)), axis=0), x.shape)
    return combine(x - plain_logsumexp(x, axis=axes, keepdims=True))  # type: ignore[no-any-return]


@_table.public(samples=_reduced, variables={"x": True})
def softmax(x: Any, axis: Any = None) -> Tensor:
    """e^x over its sum along axes; over all of x by default.

    Parameters
    ----------
    x
        Real tensor.
    axis
        An axis or several; None: all.

    Returns
    -------
    Tensor
        Of the shape of x.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.special.softmax(pg.tensor([[1.0, 1.0], [1.0, 1.0]]))
    tensor([[0.25, 0.25], [0.25, 0.25]], dtype=float32)
    """
    return _along(x, axis, "softmax", softmax_primitive, exp)


@_table.public(samples=_reduced, variables={"x": True})
def log_softmax(x: Any, axis: Any = None) -> Tensor:
    """The logarithm of softmax, finite also where softmax is too small; parameters as of `softmax`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.special.log_softmax(pg.tensor([0.0, -1000.0]))
    tensor([    0., -1000.], dtype=float32)
    """
    return _along(x, axis, "log_softmax", log_softmax_primitive, lambda y: y)
