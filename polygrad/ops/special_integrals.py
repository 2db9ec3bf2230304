"""Exponential, trigonometric, Fresnel and related integrals; Lambert's W; hypergeometric functions.

Formulas: DLMF 6 (exponential integrals), 7 (Fresnel), 13, 15, 16 (hypergeometric), 4.13 (Lambert);
A. N. Kolmogorov's distribution by both of its theta series; D. B. Owen, "Tables for computing
bivariate normal probabilities" (1956).
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.dtypes import complex_of
from polygrad.ops._axes import as_tensor
from polygrad.ops._series import log1pmx_ratio
from polygrad.ops._special import (
    NO_ORDER,
    SpecialFunctions,
    library,
    positive_samples,
    spread,
)
from polygrad.ops.creation import to_place
from polygrad.tensor import Tensor

_table = SpecialFunctions("integrals and hypergeometric functions")
function, primitive = _table.function, _table.primitive
_PARAMETER = "no closed form is known for the derivative with respect to this parameter"


def _over(F: Any, y: Any, x: Any, at_zero: float = math.inf) -> Any:
    """y / x, and `at_zero` at x = 0."""
    zero = x == 0
    return F.where(zero, at_zero, y / F.where(zero, 1, x))


def _expn_rule(g: Any, F: Any, n: Any, x: Any) -> Any:
    first = n == 0
    lowest = -F.exp(-x) * (x + 1) / x / x
    other = -F.special_expn(F.where(first, 1, n) - 1, x)
    return F.strong_multiply(g, F.where(first, lowest, other))


# ---- Fresnel's integrals ------------------------------------------------------------------------
def _phase(F: Any, x: Any) -> Any:
    """x^2 / 2 less a multiple of 2, with the square of a rounded x, which is exact."""
    head = F.round(x * 4096) / 4096
    rest = x - head
    square = head * head / 2
    return square - 2 * F.round(square / 2) + (head * rest + rest * rest / 2)


def _fresnel_rule(g: Any, F: Any, x: Any) -> Any:
    angle = _phase(F, x) * math.pi
    return g[0] * F.sin(angle) + g[1] * F.cos(angle)


def _sici_rule(g: Any, F: Any, x: Any) -> Any:
    return g[0] * _over(F, F.sin(x), x, 1) + F.strong_multiply(g[1], _over(F, F.cos(x), x))


def _shichi_rule(g: Any, F: Any, x: Any) -> Any:
    sinh, cosh = _over(F, F.sinh(x), x, 1), _over(F, F.cosh(x), x)
    return F.strong_multiply(g[0], sinh) + F.strong_multiply(g[1], cosh)


def _spence_slope(F: Any, z: Any) -> Any:
    """-log(z) / (z - 1)."""
    near = F.abs(z - 1) < 0.5
    u = F.where(near, z - 1, 0)
    y = F.where(near, 2, z)
    return F.where(near, -1 - u * log1pmx_ratio(F, u), -F.log(y) / (y - 1))


# ---- Kolmogorov's distribution ------------------------------------------------------------------
def _kolmogorov_slope(F: Any, y: Any) -> Any:
    """The series that converges fast: in e^(-2 y^2) above 1, in e^(-pi^2 / (8 y^2)) below."""
    low = y < 1
    z = F.where(low, 1, y)
    above = 0
    for k in range(1, 6):
        above = above + F.exp(z * z * (-2 * k * k)) * ((-1) ** k * 8 * k * k)
    z = F.where(low & (y > 0.04), y, 1)
    u = 1 / (z * z)
    below = 0
    for k in (1, 3, 5, 7):
        c = k * k * math.pi**2 / 8
        below = below + F.exp(u * -c) * (u * (1 - 2 * c * u))
    below = F.where(y > 0.04, below * math.sqrt(2 * math.pi), 0)
    return F.where(low, below, above * F.where(low, 1, y))


_OWEN = -1 / (2 * math.sqrt(2 * math.pi))


def _owens_t_h(g: Any, F: Any, h: Any, a: Any) -> Any:
    return g * (F.exp(h * h * -0.5) * F.erf(a * h * math.sqrt(0.5)) * _OWEN)


def _owens_t_a(g: Any, F: Any, h: Any, a: Any) -> Any:
    q = a * a + 1
    return g * (F.exp(h * h * q * -0.5) / q * (0.5 / math.pi))


# fmt: off
expi = function(
    "expi", {"x": lambda g, F, x: F.strong_multiply(g, _over(F, F.exp(x), x))},
    "The exponential integral Ei, of e^t / t from -infinity to x.", forward=library("expi"),
    samples=spread((0.2, 4), points=((-0.5,), (-4.0,), (20.0,))))
exp1 = function(
    "exp1", {"x": lambda g, F, x: F.strong_multiply(-g, _over(F, F.exp(-x), x))},
    "The exponential integral E_1, of e^-t / t from x to infinity.", forward=library("exp1"),
    samples=spread((0.2, 4), points=((20.0,),)))
expn = function(
    "expn", {"n": NO_ORDER, "x": _expn_rule},
    "The exponential integral of whole order n, of e^(-x t) / t^n from 1 to infinity.",
    forward=library("expn"), samples=spread([0, 1, 2, 5], (0.2, 4)))
spence = function(
    "spence", {"z": lambda g, F, z: F.strong_multiply(g, _spence_slope(F, z))},
    "Spence's dilogarithm, the integral of -log(t) / (t - 1) from 1 to z.",
    forward=library("spence"), samples=spread((0.2, 4), points=((1.0,), (1 + 1e-6,), (30.0,))))
wrightomega = function(
    "wrightomega", {"z": lambda g, F, out: F.strong_divide(g * out, out + 1)},
    "Wright's omega function, w with w + log(w) = z.", forward=library("wrightomega"),
    samples=spread((-4, 4), points=((0.0,), (30.0,), (-30.0,))))
kolmogorov = function(
    "kolmogorov", {"y": lambda g, F, y: g * _kolmogorov_slope(F, y)},
    "The upper tail of Kolmogorov's distribution.", forward=library("kolmogorov"),
    samples=spread((0.4, 3), points=((0.99,), (1.01,))))
kolmogi = function(
    "kolmogi", {"p": lambda g, F, out: F.strong_divide(g, _kolmogorov_slope(F, out))},
    "The inverse of kolmogorov.", forward=library("kolmogi"), samples=spread((0.05, 0.95)))
owens_t = function(
    "owens_t", {"h": _owens_t_h, "a": _owens_t_a},
    "Owen's T function, of the bivariate normal distribution.", forward=library("owens_t"),
    samples=spread((-3, 3), (-3, 3)))
hyp0f1 = function(
    "hyp0f1",
    {"v": _PARAMETER, "z": lambda g, F, v, z: g * (F.special_hyp0f1(v + 1, z) / v)},
    "The confluent hypergeometric limit function 0F1.", forward=library("hyp0f1"),
    samples=spread([1, 0.5, 2.5, 3], (-4, 4)))
hyp1f1 = function(
    "hyp1f1",
    {"a": _PARAMETER, "b": _PARAMETER,
     "x": lambda g, F, a, b, x: g * (F.special_hyp1f1(a + 1, b + 1, x) * (a / b))},
    "Kummer's confluent hypergeometric function 1F1.", forward=library("hyp1f1"),
    samples=spread([1, 0.5, 2.5, 3], [2, 1.5, 0.7, 1], (0.2, 4)))
hyp2f1 = function(
    "hyp2f1",
    {"a": _PARAMETER, "b": _PARAMETER, "c": _PARAMETER,
     "z": lambda g, F, a, b, c, z: F.strong_multiply(
         g, F.special_hyp2f1(a + 1, b + 1, c + 1, z) * (a * b / c))},
    "Gauss's hypergeometric function 2F1.", forward=library("hyp2f1"),
    samples=spread([1, 0.5, 2.5, 3], [2, 1.5, 0.7, 1], [2.5, 1, 3, 1.5], (-0.8, 0.8)))
hyperu = function(
    "hyperu",
    {"a": _PARAMETER, "b": _PARAMETER,
     "x": lambda g, F, a, b, x: F.strong_multiply(g, F.special_hyperu(a + 1, b + 1, x) * -a)},
    "Tricomi's confluent hypergeometric function U.", forward=library("hyperu"),
    samples=spread([1, 0.5, 2.5, 3], [2, 1.5, 0.7, 1], (0.4, 4)))
# fmt: on


# ---- several results ----------------------------------------------------------------------------
_sici = _table.several("sici", 2, _sici_rule)
_shichi = _table.several("shichi", 2, _shichi_rule)
_fresnel = _table.several("fresnel", 2, _fresnel_rule)
_PAIRS = _table.public(samples=positive_samples, variables={"x": True})


@_PAIRS
def sici(x: Any) -> tuple[Tensor, Tensor]:
    """The sine and cosine integrals Si and Ci.

    Parameters
    ----------
    x
        Real tensor, array or number.

    Returns
    -------
    tuple of Tensors
        Each of the shape of x.

    Raises
    ------
    UnsupportedOperationError
        The library of the device has no such function.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.special.sici(pg.tensor([1.0]))
    (tensor([0.94608...], dtype=float32), tensor([0.33740...], dtype=float32))
    """
    return _sici(x)  # type: ignore[no-any-return]


@_PAIRS
def shichi(x: Any) -> tuple[Tensor, Tensor]:
    """The hyperbolic sine and cosine integrals Shi and Chi; as `sici`."""
    return _shichi(x)  # type: ignore[no-any-return]


@_PAIRS
def fresnel(x: Any) -> tuple[Tensor, Tensor]:
    """Fresnel's integrals S and C, of sin(pi t^2 / 2) and of cos(pi t^2 / 2); as `sici`."""
    return _fresnel(x)  # type: ignore[no-any-return]


# ---- Lambert's W --------------------------------------------------------------------------------
_lambertw = primitive(
    "lambertw",
    {"z": lambda g, F, out: F.strong_divide(g * F.conj(F.exp(-out)), F.conj(out + 1))},
    forward=library("lambertw"), keywords={"k": 0, "tol": 1e-8}, real=False,
)  # fmt: skip


def as_complex(x: Any, where: str) -> Tensor:
    """A complex tensor of the precision of x."""
    x = as_tensor(x, where)
    if not x.kernels.inexact:
        x = to_place(x, float)
    return x if x.kernels.is_complex else to_place(x, complex_of(x.dtype))


@_table.public(
    samples=lambda s: [
        ((s.interval(0.2, 4, 2, 3),), {}), ((s.interval(0.2, 4),), {"k": -1}),
        ((s.interval(0.2, 4, 2), 1), {"tol": 1e-10}), ((s.interval(0.2, 4, 0),), {}),
    ],
    kinds="fc", variables={"z": True},
)  # fmt: skip
def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Tensor:
    """Branch k of Lambert's function, w with w e^w = z: complex, also for real z.

    Parameters
    ----------
    z
        Real or complex tensor, array or number.
    k
        The branch, an int.
    tol
        The relative step at which the library's iteration stops.

    Returns
    -------
    Tensor
        Complex, of the shape of z.

    Raises
    ------
    UnsupportedOperationError
        The library of the device has no such function.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.real(pg.special.lambertw(pg.tensor([0.0, 1.0])))
    tensor([0. , 0.56714326], dtype=float32)
    """
    return _lambertw.call(as_complex(z, "lambertw, argument z"), k=k, tol=tol)  # type: ignore[no-any-return]
