"""The error function's relatives, and the normal distribution.

In the tails derivatives are written with the scaled function erfcx(x) = e^(x^2) erfc(x), which
neither overflows nor underflows there: with phi and Phi the density and the distribution function
of the normal distribution, phi(x) / Phi(x) = sqrt(2 / pi) / erfcx(-x / sqrt(2)).

Formulas: DLMF 7. Dawson's integral where a library has none: G. B. Rybicki, "Dawson's integral and
the sampling theorem" (1989). First guesses of inverses: S. Winitzki, "A handy approximation for the
error function and its inverse" (2008).
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.ops._series import odd_factorial_series
from polygrad.ops._special import SpecialFunctions, library, spread
from polygrad.ops.special import scaled_upper

_table = SpecialFunctions("error functions")
function = _table.function
_table.alias("erf", "erf")
_table.alias("erfc", "erfc")

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_HALF_ROOT_PI = math.sqrt(math.pi) / 2
_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_LOG_HALF = math.log(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)  # of the normal distribution at 0
_FAR = 8.0  # beyond, differences of large numbers become series in 1 / x^2


# ---- scaled functions ---------------------------------------------------------------------------
def _erfcx(F: Any, x: Any) -> Any:
    """By the polynomial for erfc, and far off, where that was not fitted, by DLMF 7.12.1."""
    y = F.abs(x)
    far = y > _FAR
    large = F.where(far, y, 2 * _FAR)
    series = odd_factorial_series(0.5 / large / large, -1) + 1
    upper = F.where(
        far, series / math.sqrt(math.pi) / large, scaled_upper(F, F.where(far, 1, y))
    )
    return F.where(x < 0, 2 * F.exp(x * x) - upper, upper)


def _erfcx_slope(F: Any, x: Any, out: Any) -> Any:
    """2 x erfcx(x) - 2 / sqrt(pi), DLMF 7.12.1 where that cancels."""
    far = x > _FAR
    y = F.where(far, x, 2 * _FAR)
    series = odd_factorial_series(0.5 / y / y, -1)
    near = F.where(far, 0, x) * F.where(far, 0, out) * 2 - _TWO_OVER_ROOT_PI
    return F.where(far, series * _TWO_OVER_ROOT_PI, near)


_STEP = 0.25
_RYBICKI = tuple((n, math.exp(-((n * _STEP) ** 2)) / math.sqrt(math.pi)) for n in range(-25, 26, 2))


def _dawsn(F: Any, x: Any) -> Any:
    """The sampling theorem's sum around the even multiple of the step next to x."""
    y = F.where(F.abs(x) > 0.2, x, 1)
    y = F.where(F.abs(y) > 1e8, 1, y)
    even = 2 * F.round(y / (2 * _STEP))
    rest = y - even * _STEP
    total = 0
    for n, weight in _RYBICKI:
        total = total + F.exp(rest * (2 * n * _STEP)) * weight / (even + n)
    out = total * F.exp(-rest * rest)
    s = x * x
    near, term = 1, 1.0
    for k in range(1, 9):
        term *= -2 / (2 * k + 1)
        near = near + s**k * term
    out = F.where(F.abs(x) > 0.2, out, x * near)
    return F.where(F.abs(x) > 1e8, 0.5 / x, out)


def _dawsn_slope(F: Any, x: Any, out: Any) -> Any:
    """1 - 2 x D(x), with D's asymptotic series where that cancels."""
    far = F.abs(x) > _FAR
    y = F.where(far, x, 2 * _FAR)
    near = 1 - F.where(far, 0, x) * F.where(far, 0, out) * 2
    return F.where(far, -odd_factorial_series(0.5 / y / y, 1), near)


def _erfi(F: Any, x: Any) -> Any:
    return F.exp(x * x) * F.special_dawsn(x) * _TWO_OVER_ROOT_PI


# ---- inverses -----------------------------------------------------------------------------------
def _inverse(F: Any, p: Any, q: Any) -> tuple[Any, Any]:
    """x >= 0 with erf(x) = p and erfc(x) = q: Winitzki's guess, then Newton's method.

    Where q is small its logarithm is solved for, so that no digits are lost.
    """
    inside = (q > 0) & (p >= 0)
    q = F.where(inside, q, 0.5)
    log = F.log(q) + F.log1p(p)
    b = log / 2 + 2 / (math.pi * 0.147)
    root = F.sqrt(b * b - log / 0.147)
    x = F.sqrt(F.where(b > 0, -log / 0.147 / (root + F.abs(b)), root - b))
    central = p < 0.5
    for _ in range(4):
        scaled = F.special_erfcx(x)
        tail = _HALF_ROOT_PI * scaled * (F.log(scaled) - x * x - F.log(q))
        x = x + F.where(central, (p - F.erf(x)) * F.exp(x * x) * _HALF_ROOT_PI, tail)
    return x, inside


def _erfinv(F: Any, y: Any) -> Any:
    p = F.abs(y)
    x, inside = _inverse(F, p, 1 - p)
    x = F.where(inside, x, F.where(p == 1, math.inf, x * math.nan))
    return F.where(y < 0, -x, x)


def _erfcinv(F: Any, y: Any) -> Any:
    q = F.where(y > 1, 2 - y, y)
    x, inside = _inverse(F, 1 - q, q)
    x = F.where(inside, x, F.where(q == 0, math.inf, x * math.nan))
    return F.where(y > 1, -x, x)


def _erfcinv_slope(F: Any, y: Any, out: Any) -> Any:
    """-sqrt(pi) / 2 e^(out^2); far from 0 e^(out^2) is erfcx(|out|) / min(y, 2 - y)."""
    far = F.abs(out) > 1
    x = F.where(far, out, 0)
    scaled = F.where(F.isinf(x), 1, F.special_erfcx(F.where(x < 0, -x, x)))
    tail = F.strong_divide(scaled, F.where(far, F.where(y > 1, 2 - y, y), 1))
    x = F.where(far, 0, out)
    return F.where(far, tail, F.exp(x * x)) * -_HALF_ROOT_PI


# ---- the normal distribution --------------------------------------------------------------------
def _log_ndtr(F: Any, x: Any) -> Any:
    low = x < -1
    y = F.where(low, x, -1)
    tail = F.log(F.special_erfcx(y * -_ROOT_HALF)) + _LOG_HALF - y * y / 2
    return F.where(low, tail, F.log1p(F.erfc(F.where(low, 0, x) * _ROOT_HALF) * -0.5))


def _hazard(F: Any, x: Any) -> Any:
    """phi(x) / Phi(x), the derivative of log_ndtr."""
    return 1 / (F.special_erfcx(x * -_ROOT_HALF) * _ROOT_HALF_PI)


def _ndtri_slope(F: Any, y: Any, out: Any) -> Any:
    """1 / phi(out)."""
    return _erfcinv_slope(F, 2 * y, out * -_ROOT_HALF) * (-4 * _ROOT_HALF)


def _ndtri_exp(F: Any, y: Any) -> Any:
    """ndtri of e^y; far below 0 by Newton's method for log_ndtr."""
    low, high = y < -10, y > _LOG_HALF
    z = F.where(low, y, -20)
    x = -F.sqrt(-2 * z - F.log(-4 * math.pi * z))
    for _ in range(4):
        x = x - (F.special_log_ndtr(x) - z) / _hazard(F, x)
    y = F.where(low, -1, y)
    upper = -F.special_ndtri(-F.expm1(F.where(high, y, -0.1)))
    return F.where(low, x, F.where(high, upper, F.special_ndtri(F.exp(y))))


def _ndtri_exp_slope(F: Any, y: Any, out: Any) -> Any:
    """Phi(out) / phi(out); above 0 by way of the upper tail 1 - e^y."""
    above = out > 0
    z = F.where(above, y, -1)
    mills = F.special_erfcx(F.abs(out) * _ROOT_HALF) * _ROOT_HALF_PI
    return F.where(above, F.strong_divide(mills * F.exp(z), -F.expm1(z)), mills)


# fmt: off
erfcx = function(
    "erfcx", {"x": lambda g, F, x, out: F.strong_multiply(g, _erfcx_slope(F, x, out))},
    "The scaled complementary error function e^(x^2) erfc(x).",
    forward=library("erfcx", fallback=_erfcx),
    samples=spread((-3, 4), points=((0.0,), (-4.5,), (7.9,), (8.1,), (1e3,))))
dawsn = function(
    "dawsn", {"x": lambda g, F, x, out: g * _dawsn_slope(F, x, out)},
    "Dawson's integral, e^(-x^2) times the integral of e^(t^2) from 0 to x.",
    forward=library("dawsn", fallback=_dawsn),
    samples=spread((-4, 4), points=((0.0,), (0.1,), (-7.9,), (8.1,), (1e3,))))
erfi = function(
    "erfi", {"x": lambda g, F, x: F.strong_multiply(g, F.exp(x * x) * _TWO_OVER_ROOT_PI)},
    "The imaginary error function -i erf(i x).", forward=library("erfi", fallback=_erfi),
    samples=spread((-2, 2), points=((0.0,), (4.0,))))
erfinv = function(
    "erfinv",
    {"x": lambda g, F, out: F.strong_multiply(g, F.exp(out * out) * _HALF_ROOT_PI)},
    "The inverse of the error function, for x in [-1, 1].",
    forward=library("erfinv", fallback=_erfinv),
    samples=spread((-0.95, 0.95), points=((0.0,), (1e-6,), (0.99,))))
erfcinv = function(
    "erfcinv", {"x": lambda g, F, x, out: F.strong_multiply(g, _erfcinv_slope(F, x, out))},
    "The inverse of the complementary error function, for x in [0, 2].",
    forward=library("erfcinv", fallback=_erfcinv),
    samples=spread((0.05, 1.95), points=((1.0,), (0.01,), (1.99,))))
ndtr = function(
    "ndtr", {"x": lambda g, F, x: g * (F.exp(x * x * -0.5) * _DENSITY)},
    "The distribution function of the normal distribution.",
    forward=library("ndtr", fallback=lambda F, x: F.erfc(x * -_ROOT_HALF) * 0.5),
    samples=spread((-4, 4), points=((0.0,), (-6.0,))))
log_ndtr = function(
    "log_ndtr", {"x": lambda g, F, x: F.strong_multiply(g, _hazard(F, x))},
    "The logarithm of the distribution function of the normal distribution.",
    forward=library("log_ndtr", fallback=_log_ndtr),
    samples=spread((-4, 4), points=((0.0,), (-30.0,), (-1e3,), (6.0,))))
ndtri = function(
    "ndtri", {"y": lambda g, F, y, out: F.strong_multiply(g, _ndtri_slope(F, y, out))},
    "The inverse of ndtr.",
    forward=library("ndtri", fallback=lambda F, y: F.special_erfcinv(2 * y) * (-2 * _ROOT_HALF)),
    samples=spread((0.05, 0.95), points=((0.5,), (0.01,), (0.99,))))
ndtri_exp = function(
    "ndtri_exp", {"y": lambda g, F, y, out: F.strong_multiply(g, _ndtri_exp_slope(F, y, out))},
    "The inverse of log_ndtr.", forward=library("ndtri_exp", fallback=_ndtri_exp),
    samples=spread((-4, -0.1), points=((-30.0,), (-1e3,), (-0.02,))))
# fmt: on
