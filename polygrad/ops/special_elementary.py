"""Special functions made of exponentials, powers and sines, precise where their parts cancel."""

from __future__ import annotations

import math
from typing import Any

from polygrad.ops._series import cos_pi, horner, reversed_terms, sin_pi
from polygrad.ops._special import SpecialFunctions, composed, library, spread

__all__ = ["exprel_growth", "exprel_series"]

_table = SpecialFunctions("elementary functions")
function = _table.function
_table.alias("expm1", "expm1")
_table.alias("log1p", "log1p")
_DEGREE = math.pi / 180


# ---- exponentials and powers --------------------------------------------------------------------
def _exprel(F: Any, x: Any) -> Any:
    zero = x == 0
    return F.where(zero, 1, F.expm1(x) / F.where(zero, 1, x))


_EXPREL = reversed_terms((k + 1) / math.factorial(k + 2) for k in range(18))


def exprel_series(x: Any) -> Any:
    """The derivative of (e^x - 1) / x for |x| <= 1."""
    return horner(x, _EXPREL)


def exprel_growth(F: Any, x: Any) -> Any:
    """(x - 1) e^x + 1, the derivative of (e^x - 1) / x times x^2, for |x| >= 1."""
    low = x < -50
    y = F.where(low, -1, x)
    return F.where(low, 1, (y - 1) * F.exp(y) + 1)


def _exprel_slope(F: Any, x: Any) -> Any:
    near = F.abs(x) < 1
    y = F.where(near, 1, x)
    return F.where(near, exprel_series(F.where(near, x, 0)), exprel_growth(F, y) / y / y)


def _cbrt(F: Any, x: Any) -> Any:
    """One step of Newton's method after the power."""
    y = F.abs(x) ** (1 / 3)
    plain = (y == 0) | F.isinf(y)
    z = F.where(plain, 1, y)
    return F.sign(x) * F.where(plain, y, z - (z - F.abs(F.where(plain, 1, x)) / z / z) / 3)


def _powm1(F: Any, x: Any, y: Any) -> Any:
    inside = (x > 0) & (F.abs(x - 1) < 0.5)
    return F.where(inside, F.expm1(y * F.log(F.where(inside, x, 1))), x**y - 1)


def _powm1_y(g: Any, F: Any, x: Any, y: Any) -> Any:
    return F.strong_multiply(g, x**y * F.log(F.where((x == 0) & (y >= 0), 1, x)))


# ---- sines --------------------------------------------------------------------------------------
def _sinc(F: Any, x: Any) -> Any:
    zero = x == 0
    y = F.where(zero, 1, x)
    return F.where(zero, 1, sin_pi(F, y) / (y * math.pi))


def _spherical_series() -> tuple[float, ...]:
    """j_1(y) / y in powers of y^2, DLMF 10.53.1."""
    terms = [1 / 3]
    for k in range(1, 12):
        terms.append(terms[-1] * -0.5 / k / (2 * k + 3))
    return reversed_terms(terms)


_J1 = _spherical_series()


def _sinc_slope(F: Any, x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x, near 0 by its series."""
    near = F.abs(x) < 0.5
    y = F.where(near, x, 0) * math.pi
    z = F.where(near, 1, x)
    far = (cos_pi(F, z) - sin_pi(F, z) / (z * math.pi)) / z
    return F.where(near, -math.pi * y * horner(y * y, _J1), far)


def _quadrant(F: Any, x: Any) -> tuple[Any, Any, Any]:
    """The sine and cosine of the rest of x degrees beyond a multiple of 90, and which multiple."""
    turns = F.round(x / 90)
    rest = (x - turns * 90) * _DEGREE
    return F.sin(rest), F.cos(rest), F.remainder(turns, 4)


def _sindg(F: Any, x: Any) -> Any:
    s, c, quadrant = _quadrant(F, x)
    out = F.where(F.remainder(quadrant, 2) == 1, c, s)
    return F.where(quadrant >= 2, -out, out)


def _cosdg(F: Any, x: Any) -> Any:
    s, c, quadrant = _quadrant(F, x)
    out = F.where(F.remainder(quadrant, 2) == 1, s, c)
    return F.where((quadrant == 1) | (quadrant == 2), -out, out) + 0.0  # no -0: 1 / it is wanted


def _tandg(F: Any, x: Any) -> Any:
    return _sindg(F, x) / _cosdg(F, x)


def _cotdg(F: Any, x: Any) -> Any:
    return _cosdg(F, x) / _sindg(F, x)


# fmt: off
exp2 = function(
    "exp2", {"x": lambda g, out: g * (out * math.log(2))}, "2^x.",
    forward=library("exp2", fallback=lambda F, x: F.full((), 2) ** x), samples=spread((-3, 3)))
exp10 = function(
    "exp10", {"x": lambda g, out: g * (out * math.log(10))}, "10^x.",
    forward=library("exp10", fallback=lambda F, x: F.full((), 10) ** x), samples=spread((-3, 3)))
exprel = function(
    "exprel", {"x": lambda g, F, x: F.strong_multiply(g, _exprel_slope(F, x))},
    "(e^x - 1) / x, and 1 at 0.", forward=library("exprel", fallback=_exprel),
    samples=spread((-3, 3), points=((0.0,), (1e-6,), (-60.0,), (12.0,))))
powm1 = function(
    "powm1",
    {"x": lambda g, F, x, y: F.strong_multiply(g, y * x ** (y - 1)), "y": _powm1_y},
    "x^y - 1, precise where that is small.", forward=library("powm1", fallback=_powm1),
    samples=spread((0.3, 3), (-2, 2), points=((1.0, 3.0), (1.001, 0.1))))
cbrt = function(
    "cbrt", {"x": lambda g, F, out: F.strong_divide(g, 3 * out * out)}, "The real cube root.",
    forward=library("cbrt", fallback=_cbrt), samples=spread((0.2, 3), points=((-2.0,), (-9.0,))))
cosm1 = function(
    "cosm1", {"x": lambda g, F, x: -g * F.sin(x)}, "cos(x) - 1, precise near 0.",
    forward=library("cosm1", fallback=lambda F, x: -2 * F.sin(x / 2) ** 2),
    samples=spread((-4, 4), points=((0.0,), (1e-6,))))
sinc = function(
    "sinc", {"x": lambda g, F, x: g * _sinc_slope(F, x)}, "sin(pi x) / (pi x), and 1 at 0.",
    forward=composed(_sinc), samples=spread((-4, 4), points=((0.0,), (1e-6,), (0.5,), (3.0,))))
sindg = function(
    "sindg", {"x": lambda g, F, x: g * (F.special_cosdg(x) * _DEGREE)},
    "The sine of x degrees.", forward=composed(_sindg),
    samples=spread((-400, 400), points=((0.0,), (90.0,), (-45.0,))))
cosdg = function(
    "cosdg", {"x": lambda g, F, x: g * (F.special_sindg(x) * -_DEGREE)},
    "The cosine of x degrees.", forward=composed(_cosdg),
    samples=spread((-400, 400), points=((0.0,), (90.0,), (-45.0,))))
tandg = function(
    "tandg", {"x": lambda g, F, out: F.strong_multiply(g, (out * out + 1) * _DEGREE)},
    "The tangent of x degrees.", forward=composed(_tandg),
    samples=spread((-80, 80), points=((0.0,), (100.0,), (-135.0,))))
cotdg = function(
    "cotdg", {"x": lambda g, F, out: F.strong_multiply(g, (out * out + 1) * -_DEGREE)},
    "The cotangent of x degrees.", forward=composed(_cotdg),
    samples=spread((10, 170), points=((90.0,), (-45.0,))))
radian = function(
    "radian",
    {"d": lambda g: g * _DEGREE, "m": lambda g: g * (_DEGREE / 60),
     "s": lambda g: g * (_DEGREE / 3600)},
    "An angle of d degrees, m minutes and s seconds in radians.",
    forward=library("radian", fallback=lambda F, d, m, s: (d + (m + s / 60) / 60) * _DEGREE),
    samples=spread((0, 360), (0, 60), (0, 60)))
# fmt: on
