"""The gamma function and its relatives: beta, digamma.

Formulas: DLMF 5. Differences of digamma functions, on which the derivatives of
beta, binom and poch rest, are computed without cancellation: see `_digamma_difference`.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.errors import InvalidArgumentError
from polygrad.ops._axes import as_tensor
from polygrad.ops._series import (
    HALF_LOG_TWO_PI,
    cos_pi,
    horner,
    reversed_terms,
    sin_pi,
    stirling_series,
)
from polygrad.ops._special import SpecialFunctions, composed, library, spread
from polygrad.primitive import CONSTANT
from polygrad.tensor import Tensor

_table = SpecialFunctions("gamma functions")
function, primitive = _table.function, _table.primitive
_COUNT = "an order counts derivatives"


# ---- fallbacks for libraries without gamma functions --------------------------------------------
def _gammaln(F: Any, x: Any) -> Any:
    """Stirling's series, below 10 by the recurrence, below 0 by reflection."""
    y = F.where(x < 0.5, 1 - x, x)
    near = y < 10
    start = product = F.where(near, y, 1)
    for k in range(1, 10):
        product = product * (start + k)
    z = F.where(near, y + 10, y)
    out = (z - 0.5) * F.log(z) - z + HALF_LOG_TWO_PI + stirling_series(z)
    out = out - F.where(near, F.log(product), 0)
    mirrored = math.log(math.pi) - F.log(F.abs(sin_pi(F, x))) - out
    return F.where(F.isinf(x), F.abs(x), F.where(x < 0.5, mirrored, out))


def _gamma(F: Any, x: Any) -> Any:
    pole = (x < 0) & (x == F.round(x))
    return F.where(pole, math.nan, F.special_gammasgn(x) * F.exp(F.special_gammaln(x)))


def _gammasgn(F: Any, x: Any) -> Any:
    below = F.floor(x)
    sign = 1 - 2 * F.remainder(below, 2)
    return F.where(x < 0, F.where(x == below, math.nan, sign), F.where(F.isnan(x), x, 1))


_PSI = reversed_terms((
    1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160,
))  # fmt: skip


def _psi(F: Any, x: Any) -> Any:
    """DLMF 5.11.2 at y + 10, and the recurrence down."""
    y = F.where(x <= 0, 1 - x, x)
    out = 0
    for k in range(10):
        out = out - 1 / (y + k)
    z = y + 10
    u = 1 / (z * z)
    out = out + F.log(z) - 0.5 / z - u * horner(u, _PSI)
    return F.where(x <= 0, out - math.pi * cos_pi(F, x) / sin_pi(F, x), out)


def _psi_off_poles(F: Any, x: Any) -> Any:
    """The library's; near poles below 0, where libraries lose digits, by reflection."""
    r = x - F.round(x)
    near = (x < -0.5) & (F.abs(r) < 0.05) & (r != 0)
    if not F.backend.capabilities.asynchronous and not F.backend.item(F.xp.any(near)):
        return F.special_library_psi(x)
    tangent = F.tan(F.where(near, r, 0.25) * math.pi)
    return F.special_library_psi(F.where(near, 1 - x, x)) - F.where(near, math.pi / tangent, 0)


primitive("library_psi", {"x": "psi has it"}, forward=library("psi", "digamma", fallback=_psi))


# ---- differences of digamma functions -----------------------------------------------------------
def _digamma_difference(F: Any, z: Any, m: Any) -> Any:
    """psi(z + m) - psi(z).

    For positive arguments by the recurrence and Stirling's series of both, term by term: each term
    is a multiple of m, so nothing cancels.
    """
    near = (z > 0) & (z + m > 0)
    x, d = F.where(near, z, 1), F.where(near, m, 1)
    y, out = x + d, 0
    for k in range(10):
        out = out + d / ((x + k) * (y + k))
    x, y = x + 10, y + 10
    u, w = 1 / (x * x), 1 / (y * y)
    first = d * (x + y) * u * w  # u - w
    power, difference = w, first
    series = difference * _PSI[-1]
    for c in _PSI[-2::-1]:
        difference = u * difference + power * first  # u^k - w^k
        power = power * w
        series = series + difference * c
    out = out + F.log1p(d / x) + 0.5 * d / (x * y) + series
    return F.where(near, out, F.special_psi(z + m) - F.special_psi(z))


primitive(
    "digamma_difference",
    {
        "z": lambda g, F, z, m: g * (F.special_polygamma(1, z + m) - F.special_polygamma(1, z)),
        "m": lambda g, F, z, m: g * F.special_polygamma(1, z + m),
    },
    forward=composed(_digamma_difference),
)


# ---- gamma --------------------------------------------------------------------------------------
def _gamma_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    return F.strong_multiply(g, out * F.special_psi(x))


def _rgamma(F: Any, x: Any) -> Any:
    pole = (x <= 0) & (x == F.round(x))
    return F.where(pole, 0, 1 / F.special_gamma(F.where(pole, 1, x)))


def rgamma_slope(F: Any, x: Any) -> Any:
    """The derivative of 1 / Gamma; left of 1/2 that of Gamma(1 - x) sin(pi x) / pi."""
    left = x < 0.5
    y = F.where(left, 1 - x, 1)
    mirrored = F.special_gamma(y) * (
        cos_pi(F, x) - sin_pi(F, x) / math.pi * F.special_psi(y)
    )
    y = F.where(left, 1, x)
    return F.where(left, mirrored, -F.special_rgamma(y) * F.special_psi(y))


def _loggamma(F: Any, x: Any) -> Any:
    return F.where(x < 0, math.nan, F.special_gammaln(x))


def _polygamma(F: Any, n: Any, x: Any) -> Any:
    """(-1)^(n+1) n! zeta(n + 1, x), DLMF 5.15.1."""
    first = n == 0
    zeta = F.special_zeta(F.where(first, 2, n + 1), x)
    factor = F.special_gamma(n + 1) * (2 * F.remainder(n, 2) - 1)
    return F.where(first, F.special_psi(x), factor * zeta)


# fmt: off
gammaln = function(
    "gammaln", {"x": lambda g, F, x: F.strong_multiply(g, F.special_psi(x))},
    "The logarithm of the absolute value of the gamma function.",
    forward=library("gammaln", fallback=_gammaln),
    samples=spread((0.2, 4.0), points=((-0.5,), (-3.7,), (1e-3,), (30.0,), (1e4,))))
gammasgn = function(
    "gammasgn", {"x": CONSTANT}, "The sign of the gamma function.",
    forward=library("gammasgn", fallback=_gammasgn), samples=spread((-3.9, 4.0)))
gamma = function(
    "gamma", {"x": _gamma_rule}, "The gamma function.",
    forward=library("gamma", fallback=_gamma),
    samples=spread((0.3, 4.0), points=((-0.5,), (-3.7,), (0.1,), (12.5,))))
rgamma = function(
    "rgamma", {"x": lambda g, F, x: g * rgamma_slope(F, x)}, "1 / gamma(x), 0 at the poles.",
    forward=library("rgamma", fallback=_rgamma),
    samples=spread((-2.5, 4.0), points=((-3.0,), (-1.0,), (0.0,), (9.5,))))
loggamma = function(
    "loggamma", {"x": lambda g, F, x: F.strong_multiply(g, F.special_psi(x))},
    "The principal branch of the logarithm of the gamma function; NaN for real x < 0.",
    forward=library("loggamma", fallback=_loggamma),
    samples=spread((0.2, 4.0), points=((1e-3,), (30.0,), (1e4,))))
psi = function(
    "psi", {"x": lambda g, F, x: F.strong_multiply(g, F.special_polygamma(1, x))},
    "The digamma function, the derivative of the logarithm of the gamma function.",
    forward=composed(_psi_off_poles),
    samples=spread((0.2, 4.0), points=((-0.5,), (-3.7,), (0.1,), (1e4,))))
_table.alias("digamma", "special.psi")
polygamma = function(
    "polygamma",
    {"n": _COUNT,
     "x": lambda g, F, n, x: F.strong_multiply(g, F.special_polygamma(n + 1, x))},
    "The n-th derivative of digamma, for whole n >= 0.", forward=composed(_polygamma),
    samples=spread([0, 1, 2, 4], (0.4, 4.0)))
# fmt: on


# ---- products and quotients of gamma functions --------------------------------------------------
def _at_pole(F: Any, x: Any) -> Any:
    return (x <= 0) & (x == F.round(x))


def psi_difference(F: Any, z: Any, m: Any) -> Any:
    """psi(z + m) - psi(z), where both are negative by reflection, DLMF 5.5.4."""
    mirror = (z <= 0) & (z + m <= 0)
    out = F.special_digamma_difference(F.where(mirror, 1 - z, z), F.where(mirror, -m, m))
    sine = sin_pi(F, m)
    turned = mirror & (sine != 0)
    under = F.where(turned, sin_pi(F, z) * sin_pi(F, z + m), 1)
    return out + F.where(turned, sine * math.pi, 0) / under


def _betaln(F: Any, a: Any, b: Any) -> Any:
    """By Stirling's remainders where both are large, as logarithms of gamma elsewhere."""
    far = (a > 10) & (b > 10)
    p, q = F.where(far, a, 20), F.where(far, b, 20)
    large = stirling_series(p) + stirling_series(q) - stirling_series(p + q)
    large = large - p * F.log1p(q / p) - q * F.log1p(p / q)
    large = large - 0.5 * (F.log(p) + F.log(q) - F.log(p + q)) + HALF_LOG_TWO_PI
    a, b = F.where(far, 1, a), F.where(far, 1, b)
    small = F.special_gammaln(a) + F.special_gammaln(b) - F.special_gammaln(a + b)
    return F.where(far, large, small)


def _beta(F: Any, a: Any, b: Any) -> Any:
    sign = F.special_gammasgn(a) * F.special_gammasgn(b) * F.special_gammasgn(a + b)
    return sign * F.exp(F.special_betaln(a, b))


def _poch(F: Any, z: Any, m: Any) -> Any:
    """By Stirling's remainders where both arguments of gamma are large."""
    far = (z > 10) & (z + m > 10)
    p, d = F.where(far, z, 20), F.where(far, m, 0)
    large = (p - 0.5) * F.log1p(d / p) + d * (F.log(p + d) - 1)
    large = large + stirling_series(p + d) - stirling_series(p)
    sign = F.special_gammasgn(z + m) * F.special_gammasgn(z)
    small = F.special_gammaln(F.where(far, 1, z + m)) - F.special_gammaln(F.where(far, 1, z))
    out = sign * F.exp(F.where(far, large, small))
    return F.where(m == 0, 1, F.where(_at_pole(F, z) & ~_at_pole(F, z + m), 0, out))


def _poch_z(g: Any, F: Any, z: Any, m: Any, out: Any) -> Any:
    """out (psi(z + m) - psi(z)); where 1 / Gamma(z) is 0, its derivative counts."""
    zero = _at_pole(F, z) & (z + m > 0)
    end = F.where(zero, z + m, 1)
    lone = F.special_gamma(end) * rgamma_slope(F, F.where(zero, z, 1)) + out * F.special_psi(end)
    usual = out * psi_difference(F, F.where(zero, 1, z), F.where(zero, 0, m))
    return F.strong_multiply(g, F.where(zero, lone, usual))


def _binom(F: Any, n: Any, k: Any) -> Any:
    rest = n - k + 1
    pole = _at_pole(F, k + 1) | _at_pole(F, rest)
    sign = F.special_gammasgn(n + 1) * F.special_gammasgn(k + 1) * F.special_gammasgn(rest)
    log = F.special_gammaln(n + 1) - F.special_gammaln(k + 1) - F.special_gammaln(rest)
    return F.where(pole, 0, F.where(pole, 1, sign) * F.exp(F.where(pole, 0, log)))


def _binom_zero(F: Any, n: Any, k: Any) -> tuple[Any, Any, Any]:
    """Where 1 / Gamma(k + 1) or 1 / Gamma(n - k + 1) is 0, and the others times its derivative."""
    low, high = _at_pole(F, k + 1), _at_pole(F, n - k + 1)
    zero = (low | high) & (n > -1)
    low = low & zero
    a = F.where(zero, n + 1, 1)
    b = F.where(zero, F.where(low, n - k + 1, k + 1), 1)
    slope = rgamma_slope(F, F.where(zero, F.where(low, k + 1, n - k + 1), 1))
    return zero, low, F.exp(F.special_gammaln(a) - F.special_gammaln(b)) * slope


def _binom_n(g: Any, F: Any, n: Any, k: Any, out: Any) -> Any:
    zero, low, lone = _binom_zero(F, n, k)
    a, b = F.where(zero, n + 1, 1), F.where(zero, F.where(low, n - k + 1, 1), 1)
    at_zero = F.where(low, -out * F.special_psi(b), lone) + out * F.special_psi(a)
    usual = out * psi_difference(F, F.where(zero, 1, n - k + 1), F.where(zero, 1, k))
    return F.strong_multiply(g, F.where(zero, at_zero, usual))


def _binom_k(g: Any, F: Any, n: Any, k: Any, out: Any) -> Any:
    zero, low, lone = _binom_zero(F, n, k)
    other = F.special_psi(F.where(zero, F.where(low, n - k + 1, k + 1), 1))
    at_zero = lone + out * other
    at_zero = F.where(low, at_zero, -at_zero)
    usual = out * psi_difference(F, F.where(zero, 1, k + 1), F.where(zero, 0, n - 2 * k))
    return F.strong_multiply(g, F.where(zero, at_zero, usual))


# fmt: off
betaln = function(
    "betaln",
    {"a": lambda g, F, a, b: F.strong_multiply(g, -psi_difference(F, a, b)),
     "b": lambda g, F, a, b: F.strong_multiply(g, -psi_difference(F, b, a))},
    "The logarithm of the absolute value of the beta function.",
    forward=library("betaln", fallback=_betaln),
    samples=spread((0.2, 4.0), (0.2, 4.0), points=((-0.5, 2.3), (100.0, 0.1), (1e4, 2e4))))
beta = function(
    "beta",
    {"a": lambda g, F, a, b, out: F.strong_multiply(g, -out * psi_difference(F, a, b)),
     "b": lambda g, F, a, b, out: F.strong_multiply(g, -out * psi_difference(F, b, a))},
    "The beta function, Gamma(a) Gamma(b) / Gamma(a + b).",
    forward=library("beta", fallback=_beta),
    samples=spread((0.3, 4.0), (0.3, 4.0), points=((-0.5, 2.3), (60.0, 0.1))))
binom = function(
    "binom", {"n": _binom_n, "k": _binom_k},
    "The binomial coefficient Gamma(n + 1) / (Gamma(k + 1) Gamma(n - k + 1)).",
    forward=library("binom", fallback=_binom),
    samples=spread((2.2, 6.0), (0.2, 2.0), points=((3.0, 1.0), (4.0, 6.0), (4.5, -1.0))))
poch = function(
    "poch",
    {"z": _poch_z,
     "m": lambda g, F, z, m, out: F.strong_multiply(g, out * F.special_psi(z + m))},
    "The rising factorial Gamma(z + m) / Gamma(z).",
    forward=library("poch", fallback=_poch),
    samples=spread((0.3, 4.0), (0.2, 3.0), points=((50.0, 0.5), (2.5, -1.2))))
# fmt: on


@_table.public(
    samples=lambda s: [
        ((s.interval(2.2, 5, 2, 3), 3), {}), ((s.interval(2.2, 5), 1), {}),
        ((s.interval(2.2, 5, 0), 2), {}),
    ],
    variables={"a": True, "d": False},
)  # fmt: skip
def multigammaln(a: Any, d: Any) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension d.

    Parameters
    ----------
    a
        Real tensor, array or number, above (d - 1) / 2.
    d
        A whole number of at least 1, which has no derivative.

    Returns
    -------
    Tensor
        The shape of a.

    Raises
    ------
    InvalidArgumentError
        The dimension is no whole number of at least 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.special.multigammaln(pg.tensor([2.0, 3.0]), 2)
    tensor([0.45158..., 1.55019...], dtype=float32)
    """
    a = as_tensor(a, "multigammaln, argument a")
    dimension = int(d)
    if dimension != d or dimension < 1:
        raise InvalidArgumentError(
            f"a dimension of {d} is no whole number of at least 1", "multigammaln, argument d",
            "pass an int",
        )  # fmt: skip
    out: Any = dimension * (dimension - 1) / 4 * math.log(math.pi)
    for j in range(dimension):
        out = gammaln(a - j / 2) + out
    return out  # type: ignore[no-any-return]
