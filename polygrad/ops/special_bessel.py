"""Bessel functions and their relatives: derivatives with respect to the argument.

Formulas: DLMF 10 (Bessel, Kelvin, spherical), 9 (Airy), 11 (Struve). The scaled functions e^-x I(x)
and e^x K(x) have derivatives that are differences of nearly equal numbers for large x; beyond 30
they are taken from the asymptotic series, DLMF 10.40.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.ops._special import NO_ORDER, SpecialFunctions, library, spread

_table = SpecialFunctions("Bessel functions")
function = _table.function
_FAR = 30.0


def _quotient(F: Any, y: Any, x: Any, at_zero: float) -> Any:
    """y / x, and `at_zero` at x = 0."""
    zero = x == 0
    return F.where(zero, at_zero, F.where(zero, 0, y) / F.where(zero, 1, x))


# ---- scaled functions ---------------------------------------------------------------------------
def _far_slope(F: Any, v: Any, x: Any, sign: int) -> Any:
    """The derivative of x^(-1/2) sum_k sign^k a_k(v) x^-k for large x."""
    m, u = 4 * v * v, 1 / x
    term, out = 1, 0.5
    for k in range(1, 20):
        term = term * (m - (2 * k - 1) ** 2) * u * (sign / (8 * k))
        out = out + term * (k + 0.5)
    return -out * u * F.sqrt(u)


def _scaled_slope(F: Any, v: Any, x: Any, near: Any, sign: int) -> Any:
    """`near`, or for x beyond 30 and 2 v^2 the series; of the even or odd function of x."""
    size = F.abs(x)
    far = (size > _FAR) & (size > 2 * v * v)
    order = F.where(far, v + 0 * x, 0)
    series = _far_slope(F, order, F.where(far, size, 2 * _FAR), sign)
    scale = 1 / math.sqrt(2 * math.pi) if sign < 0 else math.sqrt(math.pi / 2)
    return F.where(far, series * scale, near)


def _i0e_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    near = F.special_i1e(F.abs(x)) - out
    return g * (_scaled_slope(F, 0, x, near, -1) * F.sign(x))


def _i1e_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    near = F.special_i0e(x) - F.abs(out) - _quotient(F, out, x, 0.5)
    return g * _scaled_slope(F, 1, x, near, -1)


def _ive_rule(g: Any, F: Any, v: Any, x: Any, out: Any) -> Any:
    near = (F.special_ive(v - 1, x) + F.special_ive(v + 1, x)) * 0.5 - out * F.sign(x)
    far = _scaled_slope(F, v, x, near, -1)
    return F.strong_multiply(g, F.where(x < 0, near, far))


def _kve_rule(g: Any, F: Any, v: Any, x: Any, out: Any) -> Any:
    near = out - (F.special_kve(v - 1, x) + F.special_kve(v + 1, x)) * 0.5
    return F.strong_multiply(g, _scaled_slope(F, v, x, near, 1))


def _k0e_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    return F.strong_multiply(g, _scaled_slope(F, 0, x, out - F.special_k1e(x), 1))


def _k1e_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    near = out - F.special_k0e(x) - out / x
    return F.strong_multiply(g, _scaled_slope(F, 1, x, near, 1))


# fmt: off
# ---- orders 0 and 1 -----------------------------------------------------------------------------
_BOTH = spread((0.3, 6), points=((-2.0,), (0.0,), (25.0,)))
_ABOVE = spread((0.3, 6), points=((0.05,), (25.0,), (40.0,)))
j0 = function(
    "j0", {"x": lambda g, F, x: -g * F.special_j1(x)},
    "The Bessel function of the first kind of order 0.",
    forward=library("j0"), samples=_BOTH)
j1 = function(
    "j1", {"x": lambda g, F, x, out: g * (F.special_j0(x) - _quotient(F, out, x, 0.5))},
    "The Bessel function of the first kind of order 1.",
    forward=library("j1"), samples=spread((0.3, 6), points=((-2.0,), (25.0,))))
y0 = function(
    "y0", {"x": lambda g, F, x: F.strong_multiply(-g, F.special_y1(x))},
    "The Bessel function of the second kind of order 0.", forward=library("y0"), samples=_ABOVE)
y1 = function(
    "y1", {"x": lambda g, F, x, out: F.strong_multiply(g, F.special_y0(x) - out / x)},
    "The Bessel function of the second kind of order 1.", forward=library("y1"), samples=_ABOVE)
i0 = function(
    "i0", {"x": lambda g, F, x: g * F.special_i1(x)},
    "The modified Bessel function of the first kind of order 0.", forward=library("i0"),
    samples=_BOTH)
i1 = function(
    "i1", {"x": lambda g, F, x, out: g * (F.special_i0(x) - _quotient(F, out, x, 0.5))},
    "The modified Bessel function of the first kind of order 1.",
    forward=library("i1"), samples=spread((0.3, 6), points=((-2.0,), (25.0,))))
i0e = function(
    "i0e", {"x": _i0e_rule}, "e^-|x| i0(x).", forward=library("i0e"),
    samples=spread((0.3, 6), points=((-2.0,), (29.0,), (-40.0,), (1e3,))))
i1e = function(
    "i1e", {"x": _i1e_rule}, "e^-|x| i1(x).", forward=library("i1e"),
    samples=spread((0.3, 6), points=((-2.0,), (29.0,), (-40.0,), (1e3,))))
k0 = function(
    "k0", {"x": lambda g, F, x: F.strong_multiply(-g, F.special_k1(x))},
    "The modified Bessel function of the second kind of order 0.", forward=library("k0"),
    samples=_ABOVE)
k1 = function(
    "k1", {"x": lambda g, F, x, out: F.strong_multiply(-g, F.special_k0(x) + out / x)},
    "The modified Bessel function of the second kind of order 1.", forward=library("k1"),
    samples=_ABOVE)
k0e = function(
    "k0e", {"x": _k0e_rule}, "e^x k0(x).", forward=library("k0e"), samples=_ABOVE)
k1e = function(
    "k1e", {"x": _k1e_rule}, "e^x k1(x).", forward=library("k1e"), samples=_ABOVE)

# ---- any order ----------------------------------------------------------------------------------
_ORDERS = spread([0, 1, 0.5, 2.5], (0.3, 6))
jv = function(
    "jv",
    {"v": NO_ORDER, "z": lambda g, F, v, z: F.strong_multiply(
        g, (F.special_jv(v - 1, z) - F.special_jv(v + 1, z)) * 0.5)},
    "The Bessel function of the first kind of order v.", forward=library("jv"), samples=_ORDERS)
yv = function(
    "yv",
    {"v": NO_ORDER, "z": lambda g, F, v, z: F.strong_multiply(
        g, (F.special_yv(v - 1, z) - F.special_yv(v + 1, z)) * 0.5)},
    "The Bessel function of the second kind of order v.", forward=library("yv"), samples=_ORDERS)
iv = function(
    "iv",
    {"v": NO_ORDER, "z": lambda g, F, v, z: F.strong_multiply(
        g, (F.special_iv(v - 1, z) + F.special_iv(v + 1, z)) * 0.5)},
    "The modified Bessel function of the first kind of order v.", forward=library("iv"),
    samples=_ORDERS)
kv = function(
    "kv",
    {"v": NO_ORDER, "z": lambda g, F, v, z: F.strong_multiply(
        g, (F.special_kv(v - 1, z) + F.special_kv(v + 1, z)) * -0.5)},
    "The modified Bessel function of the second kind of order v.", forward=library("kv"),
    samples=_ORDERS)
jve = function(
    "jve",
    {"v": NO_ORDER, "z": lambda g, F, v, z: F.strong_multiply(
        g, (F.special_jv(v - 1, z) - F.special_jv(v + 1, z)) * 0.5)},
    "jv(v, z), of which it is a scaled form for complex z.", forward=library("jve"),
    samples=_ORDERS)
yve = function(
    "yve",
    {"v": NO_ORDER, "z": lambda g, F, v, z: F.strong_multiply(
        g, (F.special_yv(v - 1, z) - F.special_yv(v + 1, z)) * 0.5)},
    "yv(v, z), of which it is a scaled form for complex z.", forward=library("yve"),
    samples=_ORDERS)
ive = function(
    "ive", {"v": NO_ORDER, "x": _ive_rule}, "e^-|x| iv(v, x).", forward=library("ive"),
    samples=spread([0, 1, 0.5, 2.5], (0.3, 6), points=((0.5, 40.0), (2.0, 1e3))))
kve = function(
    "kve", {"v": NO_ORDER, "x": _kve_rule}, "e^x kv(v, x).", forward=library("kve"),
    samples=spread([0, 1, 0.5, 2.5], (0.3, 6), points=((0.5, 40.0), (2.0, 1e3))))
yn = function(
    "yn",
    {"n": NO_ORDER, "x": lambda g, F, n, x: F.strong_multiply(
        g, (F.special_yn(n - 1, x) - F.special_yn(n + 1, x)) * 0.5)},
    "The Bessel function of the second kind of whole order n.",
    forward=library("yn", fallback=lambda F, n, x: F.special_yv(n, x), whole=(0,)),
    samples=spread([0, 1, 2, 5], (0.3, 6)))
kn = function(
    "kn",
    {"n": NO_ORDER, "x": lambda g, F, n, x: F.strong_multiply(
        g, (F.special_kn(F.abs(n - 1), x) + F.special_kn(n + 1, x)) * -0.5)},
    "The modified Bessel function of the second kind of whole order n.",
    forward=library("kn", fallback=lambda F, n, x: F.special_kv(n, x), whole=(0,)),
    samples=spread([0, 1, 2, 5], (0.3, 6)))
_table.alias("jn", "special.jv")
# fmt: on
