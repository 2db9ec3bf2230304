"""Incomplete gamma and beta functions, their inverses, and derivatives with respect to parameters.

Note [Densities]
----------------
The derivatives with respect to x are densities, x^(a-1) e^-x / Gamma(a) and its like. They are
computed from Stirling's remainders and the deviance a log(a / x) + x - a, as in C. Loader, "Fast
and accurate computation of binomial probabilities" (2000): logarithms of large numbers, whose
difference would lose digits, never appear.

Note [Derivatives with respect to parameters]
---------------------------------------------
With f the density and P the distribution function, dP/da is the integral of f (log t - psi(a)) over
the tail: log t - psi(a) = L + log(t / x), L = log(x) - psi(a), gives P L plus an integral. Of the
two tails the one is taken in which all terms have one sign, so that nothing cancels: the lower one
if L < 0. The integrals are computed by quadrature in v = |log(t / x)|. Second derivatives likewise;
for x <= 1 the power series of the incomplete gamma function is used. The beta function, with
log(t) and log(1 - t), is the same with two parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from polygrad.errors import GradientError
from polygrad.ops._quadrature import integral
from polygrad.ops._series import deviance, stirling
from polygrad.ops._special import SpecialFunctions, composed, library, spread

_table = SpecialFunctions("incomplete gamma and beta functions")
function, primitive = _table.function, _table.primitive
_THIRD = "third derivatives with respect to parameters are not computed"
_DEPTH = 40.0  # integrands are neglected below e^-40 of what they are at 0


# ---- the gamma distribution: see Note [Densities] -----------------------------------------------
def _gamma_kernel(F: Any, a: Any, x: Any) -> Any:
    """x^a e^-x / Gamma(a), for a > 0 and x >= 0."""
    return F.sqrt(a / (2 * math.pi)) * F.exp(-deviance(F, a, x, x - a) - stirling(F, a))


def _gamma_density(F: Any, a: Any, x: Any) -> Any:
    zero = x == 0
    inside = _gamma_kernel(F, a, F.where(zero, 1, x)) / F.where(zero, 1, x)
    at_zero = F.where(a < 1, math.inf, F.where(a == 1, 1, 0 * a))
    return F.where(zero, at_zero, F.where((x < 0) | F.isinf(x), 0, inside))


primitive(
    "gamma_density",
    {
        "a": lambda g, F, a, x, out: F.strong_multiply(g, out * (F.log(x) - F.special_psi(a))),
        "x": lambda g, F, a, x, out: F.strong_multiply(g, out * ((a - 1) / x - 1)),
    },
    forward=composed(_gamma_density),
)  # fmt: skip


def _moments(F: Any, a: Any, x: Any, lower: Any) -> tuple[Any, Any]:
    """The integrals over v > 0 of v and v^2 times f(t) t / (f(x) x), t = x e^-v below, x e^v above.

    The logarithm of the last factor is -|x - a| v less x times a convex function; `end` is where
    one of several bounds says that it is below -40.
    """
    gap = F.where(lower, a - x, x - a)
    steep = F.where(gap > 0, _DEPTH / F.where(gap > 0, gap, 1), math.inf)
    root = F.sqrt(2 * _DEPTH / x)
    above = F.where(root < 1.26, root, F.log1p(2 * _DEPTH / x) + 1.26)
    below = F.where(root < 0.8, 1.25 * root, 1 + _DEPTH / (F.where(gap > 0, gap, 0) + 0.36 * x))
    end = F.where(lower, below, above)
    end = F.where(steep < end, steep, end)
    sign = F.where(lower, -1, 1 + 0 * x)

    def integrand(v: Any) -> tuple[Any, Any]:
        y = sign * v
        value = v * F.exp(-x * (F.expm1(y) - y) - gap * v)
        return value, v * value

    first, second = integral(F, integrand, end, nodes=48)
    return first, second


def _series(F: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives for x <= 1, from the power series of P Gamma(a + 1) / x^a."""
    log = F.log(x) - F.special_psi(a + 1)
    term, plain, once, twice = 1, 0, 0, 0
    for n in range(1, 20):
        term = term * x * (-1 / n)
        share = term / (a + n)
        plain, once = plain + share, once + n * share / (a + n)
        twice = twice + n * share / (a + n) / (a + n)
    scale = F.exp(a * F.log(x) - F.special_gammaln(a + 1))
    slope = log * (1 + a * plain) + once
    change = log * once - F.special_polygamma(1, a + 1) * (1 + a * plain) - 2 * twice
    return scale * slope, scale * (log * slope + change)


def _gammainc_derivatives(F: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """The first two derivatives of P(a, x) with respect to a, for a > 0."""
    a, x = F.xp.broadcast_arrays(a, x)
    small, whole = x <= 1, a + x
    fine = (x > 0) & ~F.isinf(x) & (a > 0)
    near = _series(F, F.where(fine & small, a, 1), F.where(fine & small, x, 1))
    a, y = F.where(fine & ~small, a, 1), F.where(fine & ~small, x, 2)
    log = F.log(y) - F.special_psi(a)
    lower = log < 0
    kernel = _gamma_kernel(F, a, y)
    once, twice = _moments(F, a, y, lower)
    tail = F.where(lower, F.special_gammainc(a, y), F.special_gammaincc(a, y))
    once = F.where(lower, -once, once) * kernel
    first = tail * log + once
    second = tail * (log * log - F.special_polygamma(1, a)) + 2 * log * once + twice * kernel
    out = []
    for series, value in zip(near, (first, second), strict=True):
        far = F.where(lower, value, -value)
        out.append(F.where(fine, F.where(small, series, far), F.where(F.isnan(whole), whole, 0)))
    return out[0], out[1]


def _gammainc_ax(g: Any, F: Any, a: Any, x: Any) -> Any:
    rate = F.log(x) - F.special_psi(a)
    return F.strong_multiply(g, F.special_gamma_density(a, x) * rate)


def _gammainc_aax(g: Any, F: Any, a: Any, x: Any) -> Any:
    rate = F.log(x) - F.special_psi(a)
    factor = rate * rate - F.special_polygamma(1, a)
    return F.strong_multiply(g, F.special_gamma_density(a, x) * factor)


primitive(
    "gammainc_a", {"a": lambda g, F, a, x: g * F.special_gammainc_aa(a, x), "x": _gammainc_ax},
    forward=composed(lambda F, a, x: _gammainc_derivatives(F, a, x)[0]),
)  # fmt: skip
primitive(
    "gammainc_aa", {"a": _THIRD, "x": _gammainc_aax},
    forward=composed(lambda F, a, x: _gammainc_derivatives(F, a, x)[1]),
)  # fmt: skip


def _inverse_a(g: Any, F: Any, a: Any, out: Any) -> Any:
    """-P_a / P_x at the result, the same for both tails."""
    return -F.strong_divide(g * F.special_gammainc_a(a, out), F.special_gamma_density(a, out))


# fmt: off
gammainc = function(
    "gammainc",
    {"a": lambda g, F, a, x: g * F.special_gammainc_a(a, x),
     "x": lambda g, F, a, x: F.strong_multiply(g, F.special_gamma_density(a, x))},
    "The regularized lower incomplete gamma function P(a, x).", forward=library("gammainc"),
    samples=spread((0.3, 4), (0.2, 5), points=((20.0, 12.0), (20.0, 30.0), (0.1, 3.0))))
gammaincc = function(
    "gammaincc",
    {"a": lambda g, F, a, x: -g * F.special_gammainc_a(a, x),
     "x": lambda g, F, a, x: -F.strong_multiply(g, F.special_gamma_density(a, x))},
    "The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).",
    forward=library("gammaincc"),
    samples=spread((0.3, 4), (0.2, 5), points=((20.0, 12.0), (20.0, 30.0), (0.1, 3.0))))
gammaincinv = function(
    "gammaincinv",
    {"a": _inverse_a,
     "y": lambda g, F, a, out: F.strong_divide(g, F.special_gamma_density(a, out))},
    "The x with P(a, x) = y.", forward=library("gammaincinv"),
    samples=spread((0.5, 4), (0.1, 0.9), points=((20.0, 0.01), (20.0, 0.99))))
gammainccinv = function(
    "gammainccinv",
    {"a": _inverse_a,
     "y": lambda g, F, a, out: -F.strong_divide(g, F.special_gamma_density(a, out))},
    "The x with Q(a, x) = y.", forward=library("gammainccinv"),
    samples=spread((0.5, 4), (0.1, 0.9), points=((20.0, 0.01), (20.0, 0.99))))
# fmt: on


# ---- the beta distribution ----------------------------------------------------------------------
def _beta_kernel(F: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """x^a y^b / B(a, b) for a, b > 0 and y = 1 - x."""
    n = a + b
    excess = b * x - a * y  # n x - a
    away = deviance(F, a, n * x, excess) + deviance(F, b, n * y, -excess)
    remainder = stirling(F, a) + stirling(F, b) - stirling(F, n)
    return F.sqrt(a * (b / n) / (2 * math.pi)) * F.exp(-away - remainder)


def _beta_density(F: Any, a: Any, b: Any, x: Any) -> Any:
    inside = (x > 0) & (x < 1)
    t = F.where(inside, x, 0.5)
    power = F.where(x <= 0, a, b)
    edge = F.where(power < 1, math.inf, F.where(power == 1, F.where(x <= 0, b, a), 0 * x))
    edge = F.where((x == 0) | (x == 1), edge, 0 * x)
    return F.where(inside, _beta_kernel(F, a, b, t, 1 - t) / t / (1 - t), edge)


def _rate(F: Any, a: Any, b: Any, log: Any) -> Any:
    """log(x) - psi(a) + psi(a + b): of the density with respect to a."""
    return log + F.special_digamma_difference(a, b)


primitive(
    "beta_density",
    {
        "a": lambda g, F, a, b, x, out: F.strong_multiply(g, out * _rate(F, a, b, F.log(x))),
        "b": lambda g, F, a, b, x, out: F.strong_multiply(g, out * _rate(F, b, a, F.log1p(-x))),
        "x": lambda g, F, a, b, x, out: F.strong_multiply(
            g, out * ((a - 1) / x - (b - 1) / (1 - x))
        ),
    },
    forward=composed(_beta_density),
)


def _beta_moments(F: Any, p: Any, q: Any, c: Any, powers: Sequence[tuple[int, int]]) -> Any:
    """Integrals over v > 0 of f(s) s / f(x) times log(s / x)^i log((1 - s) / (1 - x))^j.

    For each pair (i, j) of `powers`; s = x e^-v in the tail below x, p and q are the powers of s
    and 1 - s, and c = x / (1 - x). The integrand's logarithm is E(v) = -p v + (q - 1) log(1 + c (1
    - e^-v)); its end is found by Newton's method, from the right, where E is concave.
    """
    top = F.where(q > 1, q - 1, 0)
    end = (_DEPTH + top * F.log1p(c)) / p
    for _ in range(8):
        fall = F.exp(-end)
        inner = c * (1 - fall) + 1
        value = -p * end + top * F.log(inner)
        end = end - (value + _DEPTH) / (top * c * fall / inner - p)
    scale = F.where(1 / (c + 1) < end / 8, 1 / (c + 1), end / 8)

    def integrand(v: Any) -> tuple[Any, ...]:
        other = F.log1p(-c * F.expm1(-v))
        value = F.exp((q - 1) * other - p * v)
        return tuple(value * (-v) ** i * other**j for i, j in powers)

    return integral(F, integrand, end, scale, panels=7)


def _betainc_parameter(F: Any, a: Any, b: Any, x: Any, order: str) -> Any:
    """The derivative of I_x(a, b) with respect to the letters of `order`."""
    a, b, x = F.xp.broadcast_arrays(a, b, x)
    fine, outside = (x > 0) & (x < 1) & (a > 0) & (b > 0), 0 * x * a * b
    a, b, x = F.where(fine, a, 1), F.where(fine, b, 1), F.where(fine, x, 0.5)
    y = 1 - x
    rates = {"a": _rate(F, a, b, F.log(x)), "b": _rate(F, b, a, F.log1p(-x))}
    lower = rates["b"] > 0 if order == "b" else rates["a"] < 0
    p, q, c = F.where(lower, a, b), F.where(lower, b, a), F.where(lower, x / y, y / x)
    kernel = _beta_kernel(F, a, b, x, y) / F.where(lower, y, x)
    tail = F.where(lower, F.special_betainc(a, b, x), F.special_betaincc(a, b, x))
    first = rates[order[0]]
    if len(order) == 1:
        powers = {"a": ((1, 0), (0, 1)), "b": ((0, 1), (1, 0))}[order]
        below, above = _beta_moments(F, p, q, c, powers)
        out = tail * first + F.where(lower, below, above) * kernel
    else:
        second = rates[order[1]]
        own, other, *twice = _beta_moments(F, p, q, c, ((1, 0), (0, 1), *_TWICE[order]))
        once = {"a": F.where(lower, own, other) * kernel, "b": F.where(lower, other, own) * kernel}
        twice = F.where(lower, twice[0], twice[-1]) * kernel
        out = tail * (first * second + _curvature(F, a, b, order))
        out = out + first * once[order[1]] + second * once[order[0]] + twice
    return F.where(fine, F.where(lower, out, -out), outside)


_TWICE = {"aa": ((2, 0), (0, 2)), "ab": ((1, 1),), "bb": ((0, 2), (2, 0))}


def _curvature(F: Any, a: Any, b: Any, order: str) -> Any:
    """The second derivative of the logarithm of the density with respect to parameters."""
    common = F.special_polygamma(1, a + b)
    if order == "ab":
        return common
    return common - F.special_polygamma(1, a if order == "aa" else b)


def _betainc_next(g: Any, F: Any, a: Any, b: Any, x: Any, order: str, by: str) -> Any:
    if len(order) == 2:
        raise GradientError("this gradient is not implemented", _THIRD, "detach() the parameters")
    return g * F.special_betainc_parameter(a, b, x, order="".join(sorted(order + by)))


def _betainc_order_x(g: Any, F: Any, a: Any, b: Any, x: Any, order: str) -> Any:
    rates = {"a": _rate(F, a, b, F.log(x)), "b": _rate(F, b, a, F.log1p(-x))}
    factor = rates[order[0]]
    if len(order) == 2:
        factor = factor * rates[order[1]] + _curvature(F, a, b, order)
    return F.strong_multiply(g, F.special_beta_density(a, b, x) * factor)


primitive(
    "betainc_parameter",
    {
        "a": lambda g, F, a, b, x, order: _betainc_next(g, F, a, b, x, order, "a"),
        "b": lambda g, F, a, b, x, order: _betainc_next(g, F, a, b, x, order, "b"),
        "x": _betainc_order_x,
    },
    forward=composed(_betainc_parameter), keywords={"order": "a"},
)  # fmt: skip


def _inverse_beta(g: Any, F: Any, a: Any, b: Any, out: Any, order: str) -> Any:
    """-I_a / I_x, or -I_b / I_x, at the result; the same for both tails."""
    slope = F.special_betainc_parameter(a, b, out, order=order)
    return -F.strong_divide(g * slope, F.special_beta_density(a, b, out))


def _inverse_density(g: Any, F: Any, a: Any, b: Any, out: Any) -> Any:
    return F.strong_divide(g, F.special_beta_density(a, b, out))


# fmt: off
betainc = function(
    "betainc",
    {"a": lambda g, F, a, b, x: g * F.special_betainc_parameter(a, b, x, order="a"),
     "b": lambda g, F, a, b, x: g * F.special_betainc_parameter(a, b, x, order="b"),
     "x": lambda g, F, a, b, x: F.strong_multiply(g, F.special_beta_density(a, b, x))},
    "The regularized incomplete beta function I_x(a, b).", forward=library("betainc"),
    samples=spread((0.4, 4), (0.4, 4), (0.05, 0.95), points=((20.0, 30.0, 0.2), (9.0, 0.7, 0.99))))
betaincc = function(
    "betaincc",
    {"a": lambda g, F, a, b, x: -g * F.special_betainc_parameter(a, b, x, order="a"),
     "b": lambda g, F, a, b, x: -g * F.special_betainc_parameter(a, b, x, order="b"),
     "x": lambda g, F, a, b, x: -F.strong_multiply(g, F.special_beta_density(a, b, x))},
    "The complement 1 - I_x(a, b) of the regularized incomplete beta function.",
    forward=library("betaincc", fallback=lambda F, a, b, x: F.special_betainc(b, a, 1 - x)),
    samples=spread((0.4, 4), (0.4, 4), (0.05, 0.95), points=((20.0, 30.0, 0.2), (9.0, 0.7, 0.99))))
betaincinv = function(
    "betaincinv",
    {"a": lambda g, F, a, b, out: _inverse_beta(g, F, a, b, out, "a"),
     "b": lambda g, F, a, b, out: _inverse_beta(g, F, a, b, out, "b"),
     "y": _inverse_density},
    "The x with I_x(a, b) = y.", forward=library("betaincinv"),
    samples=spread((0.6, 4), (0.6, 4), (0.1, 0.9), points=((20.0, 30.0, 0.01),)))
betainccinv = function(
    "betainccinv",
    {"a": lambda g, F, a, b, out: _inverse_beta(g, F, a, b, out, "a"),
     "b": lambda g, F, a, b, out: _inverse_beta(g, F, a, b, out, "b"),
     "y": lambda g, F, a, b, out: -_inverse_density(g, F, a, b, out)},
    "The x with 1 - I_x(a, b) = y.",
    forward=library("betainccinv", fallback=lambda F, a, b, y: 1 - F.special_betaincinv(b, a, y)),
    samples=spread((0.6, 4), (0.6, 4), (0.1, 0.9), points=((20.0, 30.0, 0.01),)))
# fmt: on
