"""The gamma function and its relatives: beta, digamma, zeta.

Formulas: DLMF 5 (gamma), 25 (zeta). Differences of digamma functions, on which the derivatives of
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


# Coefficients B_2j / (2j)! of the Euler-Maclaurin formula
_EULER_MACLAURIN = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000,
)  # fmt: skip
_FIRST = 12  # terms of the sum before the formula


def _tail(F: Any, s: Any, a: Any, log_a: Any) -> tuple[Any, Any]:
    """What of zeta(s, q) is left from a = q + 12 on, DLMF 25.11.5, and its derivative by s."""
    power = F.exp(-s * log_a)
    head = a / (s - 1)
    value = head + 0.5
    slope = -head * (log_a + 1 / (s - 1)) - 0.5 * log_a
    rising, rising_slope = s, 1  # s (s + 1) ... (s + 2j - 2), and its derivative
    for j, c in enumerate(_EULER_MACLAURIN, 1):
        scale = a ** (1 - 2 * j) * c
        value = value + rising * scale
        slope = slope + (rising_slope - log_a * rising) * scale
        for k in (2 * j - 1, 2 * j):
            rising_slope = rising_slope * (s + k) + rising
            rising = rising * (s + k)
    return power * value, power * slope


def _hurwitz(F: Any, x: Any, q: Any) -> Any:
    out, _ = _tail(F, x, q + _FIRST, F.log(q + _FIRST))
    for k in range(_FIRST):
        out = out + (q + k) ** -x
    return F.where(x == 1, math.inf, F.where(x < 1, math.nan, out))


def _hurwitz_slope(F: Any, x: Any, q: Any) -> Any:
    """The derivative of zeta(x, q) with respect to x."""
    _, out = _tail(F, x, q + _FIRST, F.log(q + _FIRST))
    for k in range(_FIRST):
        log_q = F.log(q + k)
        out = out - log_q * F.exp(-x * log_q)
    return out


def _riemann_parts(F: Any, s: Any) -> tuple[Any, Any]:
    """zeta(s) - 1 and its derivative for s >= 0."""
    log_a = math.log(_FIRST + 1)
    value, slope = _tail(F, s, float(_FIRST + 1), log_a)
    for k in range(_FIRST, 1, -1):
        term = F.exp(s * -math.log(k))
        value, slope = value + term, slope - term * math.log(k)
    return value, slope


def _reflection(F: Any, s: Any) -> tuple[Any, Any]:
    """2^s pi^(s-1) sin(pi s / 2) Gamma(1 - s), DLMF 25.4.1, and its derivative."""
    scale = F.exp(s * math.log(2 * math.pi)) / math.pi * F.special_gamma(1 - s)
    sine, cosine = sin_pi(F, s / 2), cos_pi(F, s / 2)
    rate = math.log(2 * math.pi) - F.special_psi(1 - s)
    return scale * sine, scale * (rate * sine + 0.5 * math.pi * cosine)


def _zetac(F: Any, x: Any) -> Any:
    below = x < 0
    value, _ = _riemann_parts(F, F.where(below, 1 - x, x))
    factor, _ = _reflection(F, F.where(below, x, -0.5))
    return F.where(x == 1, math.inf, F.where(below, factor * (value + 1) - 1, value))


def _riemann(F: Any, x: Any) -> Any:
    below = x < 0
    value, _ = _riemann_parts(F, F.where(below, 1 - x, x))
    factor, _ = _reflection(F, F.where(below, x, -0.5))
    return F.where(x == 1, math.inf, F.where(below, factor, 1) * (value + 1))


def _riemann_slope(F: Any, x: Any) -> Any:
    """The derivative of zeta, by the functional equation below 0."""
    below = x < 0
    value, slope = _riemann_parts(F, F.where(below, 1 - x, x))
    factor, factor_slope = _reflection(F, F.where(below, x, -0.5))
    return F.where(below, factor_slope * (value + 1) - factor * slope, slope)


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


# ---- zeta ---------------------------------------------------------------------------------------
_hurwitz_primitive = primitive(
    "zeta",
    {
        "x": lambda g, F, x, q: F.strong_multiply(g, _hurwitz_slope(F, x, q)),
        "q": lambda g, F, x, q: F.strong_multiply(g, -x * F.special_zeta(x + 1, q)),
    },
    forward=library("zeta", fallback=_hurwitz),
)
_riemann_primitive = primitive(
    "riemann_zeta",
    {"x": lambda g, F, x: F.strong_multiply(g, _riemann_slope(F, x))},
    forward=composed(_riemann),
)
zetac = function(
    "zetac", {"x": lambda g, F, x: F.strong_multiply(g, _riemann_slope(F, x))},
    "The zeta function less 1.", forward=composed(_zetac),
    samples=spread((1.2, 6.0), points=((-2.5,), (0.4,), (-0.1,), (25.0,))),
)  # fmt: skip


@_table.public(
    samples=lambda s: [
        ((s.interval(1.2, 6, 2, 3), s.interval(0.3, 4, 3)), {}),
        ((s.interval(1.2, 6),), {"q": s.interval(0.3, 4, 2)}),
        ((s.exactly([-2.5, 0.4, 3.0]),), {}),
        ((s.interval(1.2, 6, 0, 2), s.interval(0.3, 4)), {}),
    ],
    variables={"x": True, "q": True},
)
def zeta(x: Any, q: Any = None) -> Tensor:
    """The zeta function of Riemann, or with q of Hurwitz: the sum of (k + q)^-x over k >= 0.

    Parameters
    ----------
    x
        Real tensor, array or number. Below 1 the sum of Riemann's function is continued; that of
        Hurwitz's is NaN.
    q
        Broadcasts with x; None: Riemann's zeta function, which is that of q = 1.

    Returns
    -------
    Tensor
        The broadcast shape and promoted dtype of the operands.

    Notes
    -----
    Differentiable with respect to x and q.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.special.zeta(pg.tensor([2.0, 4.0]))
    tensor([1.64493..., 1.08232...], dtype=float32)
    """
    if q is None:
        return _riemann_primitive.call(x)  # type: ignore[no-any-return]
    return _hurwitz_primitive.call(x, q)  # type: ignore[no-any-return]


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
    sign = F.special_gammasgn(z + m) * F.special_gammasgn(z)
    out = sign * F.exp(F.special_gammaln(z + m) - F.special_gammaln(z))
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
