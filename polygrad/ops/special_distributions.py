"""Distribution functions of statistics and their inverses.

Most are incomplete gamma and beta functions of other arguments, and so are their derivatives; see
polygrad.ops.special_incomplete. Numbers of events k are rounded down, as in SciPy.

Note [Student's t]
------------------
The derivative of the density f with respect to df is f times s, and s(t) is positive up to some t
beyond 1 and negative from there on. The derivative of the distribution function is the integral of
f s, from 0 or from infinity, whichever keeps to one sign. s consists of terms of order 1 / df that
cancel to order 1 / df^2: each is written without its leading part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from polygrad.errors import GradientError
from polygrad.ops._quadrature import integral
from polygrad.ops._series import horner, log1pmx, log1pmx_ratio, reversed_terms, stirling
from polygrad.ops._special import SpecialFunctions, composed, library, spread
from polygrad.primitive import CONSTANT

_table = SpecialFunctions("distribution functions")
function, primitive = _table.function, _table.primitive
_COUNT = "a count has no derivative"
_DEPTH = 40.0


# ---- gamma, chi-square, Poisson -----------------------------------------------------------------
def _chi(F: Any, v: Any, x: Any) -> Any:
    return F.special_gamma_density(v / 2, x / 2) * 0.5


def _chi_v(F: Any, v: Any, x: Any) -> Any:
    return F.special_gammainc_a(v / 2, x / 2) * 0.5


def _poisson(F: Any, k: Any, m: Any) -> Any:
    return F.special_gamma_density(F.floor(k) + 1, m)


# ---- beta: F, binomial, negative binomial -------------------------------------------------------
def _beta_weight(F: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
    """q^a r^b / B(a, b), where the smaller of q and r = 1 - q is precise."""
    low = q < 0.5
    s = F.where(low, q, r)
    density = F.special_beta_density(F.where(low, a, b), F.where(low, b, a), s)
    return F.strong_multiply(q * r, density)


def _beta_parameter(F: Any, a: Any, b: Any, q: Any, r: Any, order: str) -> Any:
    """The derivative of I_q(a, b) with respect to a or b, likewise."""
    low = q < 0.5
    s, other = F.where(low, q, r), {"a": "b", "b": "a"}[order]
    a, b = F.where(low, a, b), F.where(low, b, a)
    below = F.special_betainc_parameter(a, b, s, order=order)
    return F.where(low, below, -F.special_betainc_parameter(a, b, s, order=other))


def _ratio(dfn: Any, dfd: Any, x: Any) -> tuple[Any, Any]:
    """q and 1 - q of the F distribution."""
    part = dfn * x
    whole = part + dfd
    return part / whole, dfd / whole


def _f_weight(F: Any, dfn: Any, dfd: Any, x: Any) -> Any:
    q, r = _ratio(dfn, dfd, x)
    return _beta_weight(F, dfn / 2, dfd / 2, q, r)


def _f_x(F: Any, dfn: Any, dfd: Any, x: Any) -> Any:
    """The density of the F distribution."""
    zero = x == 0
    inside = _f_weight(F, dfn, dfd, F.where(zero, 1, x)) / F.where(zero, 1, x)
    edge = F.where(dfn < 2, math.inf, F.where(dfn == 2, 1, 0 * dfn))
    return F.where(zero, edge, inside)


def _f_dfn(F: Any, dfn: Any, dfd: Any, x: Any) -> Any:
    q, r = _ratio(dfn, dfd, x)
    shape = _beta_parameter(F, dfn / 2, dfd / 2, q, r, "a") * 0.5
    return shape + _beta_weight(F, dfn / 2, dfd / 2, q, r) / dfn


def _f_dfd(F: Any, dfn: Any, dfd: Any, x: Any) -> Any:
    q, r = _ratio(dfn, dfd, x)
    shape = _beta_parameter(F, dfn / 2, dfd / 2, q, r, "b") * 0.5
    return shape - _beta_weight(F, dfn / 2, dfd / 2, q, r) / dfd


def _fdtr(F: Any, dfn: Any, dfd: Any, x: Any) -> Any:
    q, r = _ratio(dfn, dfd, x)
    low = q < 0.5
    s = F.where(low, q, r)
    below = F.special_betainc(dfn / 2, dfd / 2, F.where(low, s, 0.5))
    return F.where(low, below, F.special_betaincc(dfd / 2, dfn / 2, F.where(low, 0.5, s)))


def _fdtri(F: Any, dfn: Any, dfd: Any, p: Any) -> Any:
    q = F.special_betaincinv(dfn / 2, dfd / 2, p)
    return dfd * q / (dfn * (1 - q))


def _binomial(F: Any, k: Any, n: Any, p: Any) -> Any:
    """The density of I_p(k + 1, n - k); 0 where all events, or none, count."""
    k = F.floor(k)
    inside = (k >= 0) & (k < n)
    a, b = F.where(inside, k + 1, 1), F.where(inside, n - k, 1)
    return F.where(inside, F.special_beta_density(a, b, p), 0 * p)


def _bdtrc(F: Any, k: Any, n: Any, p: Any) -> Any:
    k = F.floor(k)
    inside = (k >= 0) & (k < n)
    a, b = F.where(inside, k + 1, 1), F.where(inside, n - k, 1)
    return F.where(inside, F.special_betainc(a, b, p), F.where(k < 0, 1 + 0 * p, 0 * p))


# ---- Student's t: see the Note ------------------------------------------------------------------
_DOUBLED = reversed_terms(
    (1 / 8, -1 / 64, 1 / 128, -17 / 2048, 31 / 2048, -691 / 16384, 5461 / 32768)
)


def _psi_excess(F: Any, h: Any) -> Any:
    """psi(h + 1/2) - psi(h) - 1 / (2 h), by its asymptotic series for h > 10."""
    far = h > 10
    y = F.where(far, h, 20)
    u = 1 / (y * y)
    y = F.where(far, 1, h)
    return F.where(far, u * horner(u, _DOUBLED), F.special_digamma_difference(y, 0.5) - 0.5 / y)


def _t_density(F: Any, df: Any, t: Any) -> Any:
    h = df / 2
    constant = log1pmx_ratio(F, 1 / df) / df / 2 + stirling(F, h + 0.5) - stirling(F, h)
    power = (df + 1) * 0.5 * F.log1p(t / df * t)
    return F.exp(constant - power) * (1 / math.sqrt(2 * math.pi))


def _constant(F: Any, df: Any, order: int) -> Any:
    """What of s, or of ds / d df, does not depend on t."""
    if order == 1:
        return _psi_excess(F, df / 2) * 0.5
    psi = F.special_polygamma(1, df / 2 + 0.5) - F.special_polygamma(1, df / 2)
    return (psi * 0.5 + 1 / df / df) * 0.5


def _score(F: Any, df: Any, w: Any, log: Any, constant: Any) -> Any:
    """s = d log(f) / d df, as a function of w = t^2 / df and log(1 + w)."""
    near = w < 0.5
    v = F.where(near, w, 0)
    share = 1 / (1 / F.where(near, 1, w) + 1)  # w / (1 + w)
    rest = F.where(near, -log1pmx(F, v) - v * v / (v + 1), share - F.where(near, 0, log))
    share = F.where(near, v / (v + 1), share)
    return constant + (rest + share / df) * 0.5


def _score_slope(F: Any, df: Any, w: Any, constant: Any) -> Any:
    """ds / d df."""
    share = 1 / (1 / F.where(w == 0, 1, w) + 1)
    share = F.where(w == 0, 0, share)
    moving = share * share / df - (share + share * (1 - share)) / df / df
    return constant + moving * 0.5


def _factor(F: Any, df: Any, w: Any, log: Any, constants: Sequence[Any]) -> Any:
    """The first or second derivative of f with respect to df, over f."""
    s = _score(F, df, w, log, constants[0])
    return s if len(constants) == 1 else s * s + _score_slope(F, df, w, constants[1])


def _t_parameter(F: Any, df: Any, t: Any, order: int) -> Any:
    """The first or second derivative of the distribution function with respect to df."""
    df, t = F.xp.broadcast_arrays(df, t)
    fine, whole = (t != 0) & ~F.isinf(t) & (df > 0), t + df
    size, df = F.abs(F.where(fine, t, 1)), F.where(fine, df, 1)
    w0 = size / df * size
    log0 = F.log1p(w0)
    constants = [_constant(F, df, n + 1) for n in range(order)]
    inner = _score(F, df, w0, log0, constants[0]) > 0

    # From 0: the scale of the density is 1, or sqrt(df) if that is smaller.
    end = F.where(inner, size, 1)
    scale = F.where(df < 4, F.sqrt(df) * 0.5, 1)
    scale = F.where(scale < end, scale, end)

    def density(u: Any) -> Any:
        w = u / df * u
        log = F.log1p(w)
        return F.exp(log * (df + 1) * -0.5) * _factor(F, df, w, log, constants)

    center = -integral(F, density, end, scale) * F.special_t_density(df, 0 * df)
    # To infinity, in v = log(u / t).
    kappa = 1 / (1 / w0 + 1)
    steep = 2 * _DEPTH / df
    rise = F.where(steep > 30, steep - F.log(kappa),
                   F.log1p(F.expm1(F.where(steep > 30, 1, steep)) / kappa))  # fmt: skip
    end = rise * 0.5
    scale = F.where(end < 4, end / 8, 0.5)

    def tail(v: Any) -> Any:
        low = v < 5
        y = F.where(low, v, 5)
        far = 2 * v + F.log1p((1 - kappa) * F.expm1(-2 * v))
        log = F.where(low, F.log1p(kappa * F.expm1(2 * y)), far)
        whole = log + log0
        w = F.expm1(F.where(whole < 600, whole, 600))
        return F.exp(v - log * (df + 1) * 0.5) * _factor(F, df, w, whole, constants)

    outside = integral(F, tail, end, scale) * F.special_t_density(df, size) * size
    out = F.where(inner, center, outside)  # of the upper tail beyond |t|
    return F.where(fine, F.where(t < 0, out, -out), F.where(F.isnan(whole), whole, 0))


def _t_next(g: Any, F: Any, df: Any, t: Any, order: int) -> Any:
    if order == 2:
        raise GradientError(
            "this gradient is not implemented", "the third derivative of stdtr with respect to df",
            "detach() df",
        )  # fmt: skip
    return g * F.special_stdtr_df(df, t, order=2)


def _t_mixed(g: Any, F: Any, df: Any, t: Any, order: int) -> Any:
    w = t / df * t
    constants = [_constant(F, df, n + 1) for n in range(order)]
    return g * (F.special_t_density(df, t) * _factor(F, df, w, F.log1p(w), constants))


def _t_score(F: Any, df: Any, t: Any) -> Any:
    w = t / df * t
    return _score(F, df, w, F.log1p(w), _constant(F, df, 1))


primitive(
    "t_density",
    {
        "df": lambda g, F, df, t, out: g * (out * _t_score(F, df, t)),
        "t": lambda g, F, df, t, out: g * (out * (-(df + 1) * (t / (df + t * t)))),
    },
    forward=composed(_t_density),
)
primitive(
    "stdtr_df", {"df": _t_next, "t": _t_mixed}, keywords={"order": 1},
    forward=composed(_t_parameter),
)  # fmt: skip


def _stdtr(F: Any, df: Any, t: Any) -> Any:
    """Half of I_(df / (df + t^2))(df / 2, 1 / 2), from the smaller tail."""
    w = t / df * t
    near = w < 1
    r = 1 / (1 + w)
    half = F.full((), 0.5)
    tail = F.where(
        near, F.special_betaincc(half, df / 2, F.where(near, w, 1) * r),
        F.special_betainc(df / 2, half, r),
    ) * 0.5  # fmt: skip
    return F.where(t < 0, tail, 1 - tail)


def _stdtrit(F: Any, df: Any, p: Any) -> Any:
    """sqrt(df (1 / x - 1)), where I_x(df / 2, 1 / 2) is twice the smaller tail."""
    tail = F.where(p < 0.5, p, 1 - p)
    near = tail > 0.25
    half = F.full((), 0.5)
    x = F.special_betaincinv(df / 2, half, F.where(near, 0.5, 2 * tail))
    y = F.special_betaincinv(half, df / 2, F.where(near, 1 - 2 * tail, 0.5))
    size = F.sqrt(df * F.where(near, y / (1 - y), 1 / x - 1))
    return F.where(p < 0.5, -size, size)


# fmt: off
# ---- rows: gamma, chi-square, Poisson -----------------------------------------------------------
_CHI = {"samples": spread((0.6, 6), (0.2, 8), points=((40.0, 20.0), (40.0, 70.0)))}
chdtr = function(
    "chdtr",
    {"v": lambda g, F, v, x: g * _chi_v(F, v, x),
     "x": lambda g, F, v, x: F.strong_multiply(g, _chi(F, v, x))},
    "The distribution function of chi-square with v degrees of freedom.",
    forward=library("chdtr", fallback=lambda F, v, x: F.special_gammainc(v / 2, x / 2)), **_CHI)
chdtrc = function(
    "chdtrc",
    {"v": lambda g, F, v, x: -g * _chi_v(F, v, x),
     "x": lambda g, F, v, x: -F.strong_multiply(g, _chi(F, v, x))},
    "The upper tail of chi-square with v degrees of freedom.",
    forward=library("chdtrc", fallback=lambda F, v, x: F.special_gammaincc(v / 2, x / 2)), **_CHI)
chdtri = function(
    "chdtri",
    {"v": lambda g, F, v, out: F.strong_divide(-g * _chi_v(F, v, out), _chi(F, v, out)),
     "p": lambda g, F, v, out: F.strong_divide(-g, _chi(F, v, out))},
    "The x with chdtrc(v, x) = p.",
    forward=library("chdtri", fallback=lambda F, v, p: 2 * F.special_gammainccinv(v / 2, p)),
    samples=spread((0.8, 6), (0.1, 0.9), points=((40.0, 0.01),)))
gdtr = function(
    "gdtr",
    {"a": lambda g, F, a, b, x: F.strong_multiply(g * x, F.special_gamma_density(b, a * x)),
     "b": lambda g, F, a, b, x: g * F.special_gammainc_a(b, a * x),
     "x": lambda g, F, a, b, x: F.strong_multiply(g * a, F.special_gamma_density(b, a * x))},
    "The distribution function of gamma with rate a and shape b.",
    forward=library("gdtr", fallback=lambda F, a, b, x: F.special_gammainc(b, a * x)),
    samples=spread((0.5, 2), (0.5, 4), (0.3, 4)))
gdtrc = function(
    "gdtrc",
    {"a": lambda g, F, a, b, x: -F.strong_multiply(g * x, F.special_gamma_density(b, a * x)),
     "b": lambda g, F, a, b, x: -g * F.special_gammainc_a(b, a * x),
     "x": lambda g, F, a, b, x: -F.strong_multiply(g * a, F.special_gamma_density(b, a * x))},
    "The upper tail of gamma with rate a and shape b.",
    forward=library("gdtrc", fallback=lambda F, a, b, x: F.special_gammaincc(b, a * x)),
    samples=spread((0.5, 2), (0.5, 4), (0.3, 4)))
gdtrix = function(
    "gdtrix",
    {"a": lambda g, out, a: -g * out / a,
     "b": lambda g, F, a, b, out: F.strong_divide(
         -g * F.special_gammainc_a(b, a * out), F.special_gamma_density(b, a * out) * a),
     "p": lambda g, F, a, b, out: F.strong_divide(g, F.special_gamma_density(b, a * out) * a)},
    "The x with gdtr(a, b, x) = p.",
    forward=library("gdtrix", fallback=lambda F, a, b, p: F.special_gammaincinv(b, p) / a),
    samples=spread((0.5, 2), (0.6, 4), (0.1, 0.9)))
gdtria = function(
    "gdtria",
    {"p": lambda g, F, b, x, out: F.strong_divide(g, F.special_gamma_density(b, out * x) * x),
     "b": lambda g, F, b, x, out: F.strong_divide(
         -g * F.special_gammainc_a(b, out * x), F.special_gamma_density(b, out * x) * x),
     "x": lambda g, out, x: -g * out / x},
    "The a with gdtr(a, b, x) = p.",
    forward=library("gdtria", fallback=lambda F, p, b, x: F.special_gammaincinv(b, p) / x),
    samples=spread((0.1, 0.9), (0.6, 4), (0.5, 2)))
pdtr = function(
    "pdtr",
    {"k": CONSTANT, "m": lambda g, F, k, m: -F.strong_multiply(g, _poisson(F, k, m))},
    "The probability of at most k events of mean m, Poisson's distribution.",
    forward=library("pdtr", fallback=lambda F, k, m: F.special_gammaincc(F.floor(k) + 1, m)),
    samples=spread([0, 1, 3, 6], (0.2, 6)))
pdtrc = function(
    "pdtrc",
    {"k": CONSTANT, "m": lambda g, F, k, m: F.strong_multiply(g, _poisson(F, k, m))},
    "The probability of more than k events of mean m, Poisson's distribution.",
    forward=library("pdtrc", fallback=lambda F, k, m: F.special_gammainc(F.floor(k) + 1, m)),
    samples=spread([0, 1, 3, 6], (0.2, 6)))
pdtri = function(
    "pdtri",
    {"k": _COUNT,
     "y": lambda g, F, k, out: F.strong_divide(-g, F.special_gamma_density(k + 1, out))},
    "The m with pdtr(k, m) = y.",
    forward=library(
        "pdtri", fallback=lambda F, k, y: F.special_gammainccinv(k + 1, y), whole=(0,)),
    samples=spread([0, 1, 3, 6], (0.1, 0.9)))

# ---- rows: beta, F, binomial --------------------------------------------------------------------
_F = {"samples": spread((0.8, 6), (0.8, 6), (0.3, 4), points=((5.0, 40.0, 0.2), (5.0, 40.0, 4.0)))}
fdtr = function(
    "fdtr",
    {"dfn": lambda g, F, dfn, dfd, x: g * _f_dfn(F, dfn, dfd, x),
     "dfd": lambda g, F, dfn, dfd, x: g * _f_dfd(F, dfn, dfd, x),
     "x": lambda g, F, dfn, dfd, x: F.strong_multiply(g, _f_x(F, dfn, dfd, x))},
    "The distribution function of F with dfn and dfd degrees of freedom.",
    forward=library("fdtr", fallback=_fdtr), **_F)
fdtrc = function(
    "fdtrc",
    {"dfn": lambda g, F, dfn, dfd, x: -g * _f_dfn(F, dfn, dfd, x),
     "dfd": lambda g, F, dfn, dfd, x: -g * _f_dfd(F, dfn, dfd, x),
     "x": lambda g, F, dfn, dfd, x: -F.strong_multiply(g, _f_x(F, dfn, dfd, x))},
    "The upper tail of F with dfn and dfd degrees of freedom.",
    forward=library("fdtrc", fallback=lambda F, n, d, x: _fdtr(F, d, n, 1 / x)), **_F)
fdtri = function(
    "fdtri",
    {"dfn": lambda g, F, dfn, dfd, out: F.strong_divide(
        -g * _f_dfn(F, dfn, dfd, out), _f_x(F, dfn, dfd, out)),
     "dfd": lambda g, F, dfn, dfd, out: F.strong_divide(
        -g * _f_dfd(F, dfn, dfd, out), _f_x(F, dfn, dfd, out)),
     "p": lambda g, F, dfn, dfd, out: F.strong_divide(g, _f_x(F, dfn, dfd, out))},
    "The x with fdtr(dfn, dfd, x) = p.", forward=library("fdtri", fallback=_fdtri),
    samples=spread((1, 6), (1, 6), (0.1, 0.9)))
btdtria = function(
    "btdtria",
    {"p": lambda g, F, b, x, out: F.strong_divide(
        g, F.special_betainc_parameter(out, b, x, order="a")),
     "b": lambda g, F, b, x, out: F.strong_divide(
        -g * F.special_betainc_parameter(out, b, x, order="b"),
        F.special_betainc_parameter(out, b, x, order="a")),
     "x": lambda g, F, b, x, out: F.strong_divide(
        -g * F.special_beta_density(out, b, x),
        F.special_betainc_parameter(out, b, x, order="a"))},
    "The a with betainc(a, b, x) = p.", forward=library("btdtria"),
    samples=spread((0.2, 0.8), (0.8, 3), (0.3, 0.7)))
btdtrib = function(
    "btdtrib",
    {"a": lambda g, F, a, x, out: F.strong_divide(
        -g * F.special_betainc_parameter(a, out, x, order="a"),
        F.special_betainc_parameter(a, out, x, order="b")),
     "p": lambda g, F, a, x, out: F.strong_divide(
        g, F.special_betainc_parameter(a, out, x, order="b")),
     "x": lambda g, F, a, x, out: F.strong_divide(
        -g * F.special_beta_density(a, out, x),
        F.special_betainc_parameter(a, out, x, order="b"))},
    "The b with betainc(a, b, x) = p.", forward=library("btdtrib"),
    samples=spread((0.8, 3), (0.2, 0.8), (0.3, 0.7)))
bdtr = function(
    "bdtr",
    {"k": CONSTANT, "n": _COUNT,
     "p": lambda g, F, k, n, p: -F.strong_multiply(g, _binomial(F, k, n, p))},
    "The probability of at most k of n events of probability p.",
    forward=library("bdtr", fallback=lambda F, k, n, p: 1 - _bdtrc(F, k, n, p), whole=(1,)),
    samples=spread([0, 2, 3, 5], [4, 6, 5, 9], (0.1, 0.9)))
bdtrc = function(
    "bdtrc",
    {"k": CONSTANT, "n": _COUNT,
     "p": lambda g, F, k, n, p: F.strong_multiply(g, _binomial(F, k, n, p))},
    "The probability of more than k of n events of probability p.",
    forward=library("bdtrc", fallback=_bdtrc, whole=(1,)),
    samples=spread([0, 2, 3, 5], [4, 6, 5, 9], (0.1, 0.9)))
bdtri = function(
    "bdtri",
    {"k": CONSTANT, "n": _COUNT,
     "y": lambda g, F, k, n, out: F.strong_divide(-g, _binomial(F, k, n, out))},
    "The p with bdtr(k, n, p) = y.", forward=library("bdtri", whole=(1,)),
    samples=spread([0, 2, 3, 5], [4, 6, 5, 9], (0.1, 0.9)))
nbdtr = function(
    "nbdtr",
    {"k": _COUNT, "n": _COUNT,
     "p": lambda g, F, k, n, p: F.strong_multiply(g, F.special_beta_density(n, k + 1, p))},
    "The probability of at most k failures before n successes of probability p.",
    forward=library(
        "nbdtr", fallback=lambda F, k, n, p: F.special_betainc(n, k + 1, p), whole=(0, 1)),
    samples=spread([0, 2, 3, 5], [4, 6, 5, 9], (0.1, 0.9)))
nbdtrc = function(
    "nbdtrc",
    {"k": _COUNT, "n": _COUNT,
     "p": lambda g, F, k, n, p: -F.strong_multiply(g, F.special_beta_density(n, k + 1, p))},
    "The probability of more than k failures before n successes of probability p.",
    forward=library(
        "nbdtrc", fallback=lambda F, k, n, p: F.special_betaincc(n, k + 1, p), whole=(0, 1)),
    samples=spread([0, 2, 3, 5], [4, 6, 5, 9], (0.1, 0.9)))
nbdtri = function(
    "nbdtri",
    {"k": _COUNT, "n": _COUNT,
     "y": lambda g, F, k, n, out: F.strong_divide(g, F.special_beta_density(n, k + 1, out))},
    "The p with nbdtr(k, n, p) = y.",
    forward=library(
        "nbdtri", fallback=lambda F, k, n, y: F.special_betaincinv(n, k + 1, y), whole=(0, 1)),
    samples=spread([0, 2, 3, 5], [4, 6, 5, 9], (0.1, 0.9)))

# ---- rows: Student's t --------------------------------------------------------------------------
stdtr = function(
    "stdtr",
    {"df": lambda g, F, df, t: g * F.special_stdtr_df(df, t, order=1),
     "t": lambda g, F, df, t: g * F.special_t_density(df, t)},
    "The distribution function of Student's t with df degrees of freedom.",
    forward=library("stdtr", fallback=_stdtr),
    samples=spread((0.7, 6), (-4, 4), points=((30.0, -6.0), (2.5, 40.0), (50.0, 0.3))))
stdtrit = function(
    "stdtrit",
    {"df": lambda g, F, df, out: F.strong_divide(
        -g * F.special_stdtr_df(df, out, order=1), F.special_t_density(df, out)),
     "p": lambda g, F, df, out: F.strong_divide(g, F.special_t_density(df, out))},
    "The t with stdtr(df, t) = p.", forward=library("stdtrit", fallback=_stdtrit),
    samples=spread((1, 6), (0.1, 0.9), points=((30.0, 0.01),)))
# fmt: on
