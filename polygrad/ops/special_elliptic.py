"""Elliptic integrals and functions, the arithmetic-geometric mean.

Note [Integrals B and D]
------------------------
With E and K the complete integrals, D = (K - E) / m and B = K - D: the derivatives of E and K are
-D / 2 and B / (2 (1 - m)). Computed as such differences they would lose all digits near m = 0. The
arithmetic-geometric mean gives B and D themselves (as in R. Bulirsch, "Numerical calculation of
elliptic integrals and elliptic functions", 1965): with c_0^2 = m, c_{n+1} = c_n^2 / (4 a_{n+1}),
B / K = 1/2 - sum_{n > 0} 2^(n-1) c_n^2 / m.

Note [Carlson's integrals]
--------------------------
All symmetric integrals are integrals of t^s times half powers of t + x, t + y, ... from 0 to
infinity (DLMF 19.16, 19.23), and so are their derivatives of every order, in which a power has
grown. One primitive computes them, by the trapezoidal rule in log(t), whose error falls like
e^(-2 pi^2 / h) for steps h.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.ops._quadrature import trapezoidal
from polygrad.ops._series import horner, reversed_terms
from polygrad.ops._special import SpecialFunctions, composed, library, spread
from polygrad.tensor import Tensor

_table = SpecialFunctions("elliptic integrals")
function, primitive = _table.function, _table.primitive


# ---- complete integrals: see Note [Integrals B and D] -------------------------------------------
def _complete(F: Any, p: Any) -> tuple[Any, Any]:
    """K and B / K, for p = 1 - m > 0."""
    m = 1 - p
    a, b = 1 + 0 * p, F.sqrt(p)
    share, total, factor = 1 + 0 * p, 0.5, 0.5
    for n in range(14):
        a, b = (a + b) * 0.5, F.sqrt(a * b)
        share = m * share * share / (16 * a * a) if n else m / (16 * a * a)
        factor = factor * 2 if n else 1.0
        total = total - share * factor
    return 0.5 * math.pi / a, total


def _k(F: Any, p: Any) -> Any:
    zero = p == 0
    k, _ = _complete(F, F.where(zero, 1, p))
    return F.where(zero, math.inf, F.where(p < 0, math.nan, k))


def _b(F: Any, p: Any) -> Any:
    zero = p == 0
    k, share = _complete(F, F.where(zero, 1, p))
    return F.where(zero, 1, k * share)


def _d(F: Any, p: Any) -> Any:
    zero = p == 0
    k, share = _complete(F, F.where(zero, 1, p))
    return F.where(zero, math.inf, k * (1 - share))


def _series() -> tuple[float, ...]:
    """The derivative of D in powers of m."""
    terms, square = [], math.pi / 8
    for k in range(2, 20):
        square *= ((2 * k - 1) / (2 * k)) ** 2
        terms.append(square * 2 * k * (k - 1) / (2 * k - 1))
    return reversed_terms(terms)


_D_SLOPE = _series()


def _d_slope(F: Any, p: Any) -> Any:
    """dD / dm = (B / (1 - m) - D) / (2 m), near m = 0 by its series."""
    m = 1 - p
    near = F.abs(m) < 0.1
    q = F.where(near, 0.5, p)
    far = (F.special_elliptic_b(q) / q - F.special_elliptic_d(q)) / (2 - 2 * q)
    return F.where(near, horner(F.where(near, m, 0), _D_SLOPE), far)


primitive(
    "elliptic_b",
    {"p": lambda g, F, p, out: F.strong_multiply(g, _d_slope(F, p) - out / (2 * p))},
    forward=composed(_b),
)
primitive(
    "elliptic_d", {"p": lambda g, F, p: F.strong_multiply(g, -_d_slope(F, p))}, forward=composed(_d)
)  # fmt: skip


def _k_slope(F: Any, p: Any) -> Any:
    """dK / dm."""
    return F.special_elliptic_b(p) / (2 * p)


# ---- Carlson's integrals: see the Note ----------------------------------------------------------
_DEPTH = 39.0  # e^-39 = 1e-17
_NODES = 320  # steps of 1/2 where the integrand falls slowest, by an argument of 0: e^-39 again


def _carlson(F: Any, x: Any, y: Any, z: Any, p: Any, powers: tuple[int, ...], s: int) -> Any:
    """The integral of t^s (t + x)^(-i/2) (t + y)^(-j/2) ... over t > 0, powers = (i, j, ...)."""
    arrays = F.xp.broadcast_arrays(x, y, z, p)
    given = [(v, n) for v, n in zip(arrays, powers, strict=True) if n]
    x = arrays[0]
    high, low, flat = 0 * x - math.inf, 0 * x + math.inf, 0
    for v, n in given:
        zero = v == 0
        log = F.log(F.where(zero, 1, v))
        high = F.where(~zero & (log > high), log, high)
        low = F.where(~zero & (log < low), log, low)
        flat = flat + F.where(zero, n + 0 * x, 0)
    start_power = s + 1 - flat / 2  # t^this is the integrand near 0
    diverges = start_power <= 0
    low = low - _DEPTH / F.where(diverges, 1, start_power)
    high = high + _DEPTH / (sum(powers) / 2 - s - 1)

    def integrand(u: Any) -> Any:
        t, log = F.exp(u), u * (s + 1)
        for v, n in given:
            log = log - F.log(t + v) * (n / 2)
        return F.exp(log)

    return F.where(diverges, math.inf, trapezoidal(F, integrand, low, high, _NODES))


def _carlson_rule(i: int) -> Any:
    def rule(g: Any, F: Any, x: Any, y: Any, z: Any, p: Any, powers: Any, s: Any) -> Any:
        grown = tuple(n + 2 if k == i else n for k, n in enumerate(powers))
        if not powers[i]:
            return None
        slope = F.special_carlson(x, y, z, p, powers=grown, s=s)
        return F.strong_multiply(g, slope * (-powers[i] / 2))

    return rule


primitive(
    "carlson", {n: _carlson_rule(i) for i, n in enumerate("xyzp")}, forward=composed(_carlson),
    keywords={"powers": (1, 1, 1, 0), "s": 0},
)  # fmt: skip


def _integral(F: Any, arguments: tuple[Any, ...], powers: tuple[int, ...], s: int = 0) -> Any:
    rest = 4 - len(arguments)
    given = (*arguments, *(arguments[0] for _ in range(rest)))
    return F.special_carlson(*given, powers=(*powers, *(0 for _ in range(rest))), s=s)


def _rc(F: Any, x: Any, y: Any) -> Any:
    """NaN for y < 0, where it is a principal value."""
    return 0.5 * _integral(F, (x, y), (1, 2))


def _rf(F: Any, x: Any, y: Any, z: Any) -> Any:
    return 0.5 * _integral(F, (x, y, z), (1, 1, 1))


def _rd(F: Any, x: Any, y: Any, z: Any) -> Any:
    return 1.5 * _integral(F, (x, y, z), (1, 1, 3))


def _rg(F: Any, x: Any, y: Any, z: Any) -> Any:
    """By Euler's theorem from the derivatives: it is homogeneous of degree 1/2."""
    parts = (x * _integral(F, (x, y, z), (3, 1, 1), 1), y * _integral(F, (x, y, z), (1, 3, 1), 1),
             z * _integral(F, (x, y, z), (1, 1, 3), 1))  # fmt: skip
    return 0.25 * (parts[0] + parts[1] + parts[2])


def _rj(F: Any, x: Any, y: Any, z: Any, p: Any) -> Any:
    """NaN for p < 0, where it is a principal value."""
    return 1.5 * _integral(F, (x, y, z, p), (1, 1, 1, 2))


# ---- incomplete integrals -----------------------------------------------------------------------
def _turns(F: Any, phi: Any) -> tuple[Any, Any, Any]:
    """Half turns nearest to phi, and the sine and squared cosine of the rest."""
    turns = F.round(phi / math.pi)
    rest = phi - turns * math.pi
    s, c = F.sin(rest), F.cos(rest)
    return turns, s, c * c


def _ellipkinc_m(F: Any, phi: Any, m: Any) -> Any:
    """sin^3 / 6 RD(cos^2, 1, 1 - m sin^2) in the first quadrant."""
    turns, s, c2 = _turns(F, phi)
    y = 1 - m * s * s
    part = _integral(F, (c2, 1 + 0 * y, y + 0 * c2), (1, 1, 3)) * s * s * s * 0.25
    return part + F.where(turns == 0, 0, turns * 2 * _k_slope(F, F.where(turns == 0, 1, 1 - m)))


def _ellipeinc_m(F: Any, phi: Any, m: Any) -> Any:
    """-sin^3 / 6 RD(cos^2, 1 - m sin^2, 1) in the first quadrant."""
    turns, s, c2 = _turns(F, phi)
    y = 1 - m * s * s
    part = _integral(F, (c2, y + 0 * c2, 1 + 0 * y), (1, 1, 3)) * s * s * s * -0.25
    whole = F.special_elliptic_d(F.where(turns == 0, 1, 1 - m))
    return part - F.where(turns == 0, 0, turns * whole)


def _ellipkinc(F: Any, phi: Any, m: Any) -> Any:
    turns, s, c2 = _turns(F, phi)
    y = 1 - m * s * s
    part = s * _rf(F, c2 + 0 * y, y + 0 * c2, 1 + 0 * y)
    return part + F.where(turns == 0, 0, 2 * turns * _k(F, F.where(turns == 0, 1, 1 - m)))


def _ellipeinc(F: Any, phi: Any, m: Any) -> Any:
    turns, s, c2 = _turns(F, phi)
    y = 1 - m * s * s
    x, y, one = c2 + 0 * y, y + 0 * c2, 1 + 0 * y
    part = s * (_rf(F, x, y, one) - m * s * s * _rd(F, x, y, one) / 3)
    p = F.where(turns == 0, 1, 1 - m)
    return part + F.where(turns == 0, 0, 2 * turns * (_b(F, p) + p * _d(F, p)))


def _root(F: Any, phi: Any, m: Any) -> Any:
    s = F.sin(phi)
    return F.sqrt(1 - m * s * s)


# ---- Jacobi's functions -------------------------------------------------------------------------
def _ellipj_phi(F: Any, g: Any, m: Any, out: Any) -> Any:
    """The cotangent of the amplitude."""
    sn, cn, dn, _ = out
    return g[0] * cn - g[1] * sn - F.strong_divide(g[2] * m * sn * cn, dn) + g[3]


def _ellipj_m(g: Any, F: Any, m: Any, out: Any) -> Any:
    """The amplitude moves by -dn dF/dm, where F(phi, m) = u stays."""
    sn, _, dn, phi = out
    along = _ellipj_phi(F, g, m, out) * dn
    return -F.strong_multiply(along, _ellipkinc_m(F, phi, m)) - F.strong_divide(
        g[2] * sn * sn * 0.5, dn
    )


# ---- the arithmetic-geometric mean --------------------------------------------------------------
def _agm(F: Any, a: Any, b: Any) -> Any:
    good = (a * b > 0) & ~F.isinf(a) & ~F.isinf(b)
    x, y = F.abs(F.where(good, a, 1)), F.abs(F.where(good, b, 1))
    for _ in range(14):
        x, y = (x + y) * 0.5, F.sqrt(x) * F.sqrt(y)
    out = F.where(a < 0, -x, x)
    edge = F.where((a == 0) | (b == 0), 0 * a * b, math.nan)
    edge = F.where((a == math.inf) & (b > 0) | (b == math.inf) & (a > 0), math.inf, edge)
    return F.where(good, out, edge)


def _agm_slope(F: Any, own: Any, other: Any, out: Any) -> Any:
    """out / own times B / K if `own` is the smaller, D / K if it is the larger."""
    small = F.abs(own) < F.abs(other)
    ratio = F.where(small, own / other, other / own)
    square = ratio * ratio
    share = F.where(small, F.special_elliptic_b(square), F.special_elliptic_d(square))
    return out / own * share / F.special_ellipkm1(square)


# fmt: off
ellipkm1 = function(
    "ellipkm1", {"p": lambda g, F, p: F.strong_multiply(g, -_k_slope(F, p))},
    "The complete elliptic integral of the first kind of m = 1 - p.",
    forward=library("ellipkm1", fallback=_k),
    samples=spread((0.1, 3), points=((1.0,), (1e-2,), (30.0,))))
ellipk = function(
    "ellipk", {"m": lambda g, F, m: F.strong_multiply(g, _k_slope(F, 1 - m))},
    "The complete elliptic integral of the first kind.",
    forward=library("ellipk", fallback=lambda F, m: _k(F, 1 - m)),
    samples=spread((-2, 0.9), points=((0.0,), (1e-6,), (0.99,), (-30.0,))))
ellipe = function(
    "ellipe", {"m": lambda g, F, m: F.strong_multiply(g, F.special_elliptic_d(1 - m) * -0.5)},
    "The complete elliptic integral of the second kind.",
    forward=library("ellipe", fallback=lambda F, m: _b(F, 1 - m) + (1 - m) * _d(F, 1 - m)),
    samples=spread((-2, 0.9), points=((0.0,), (1e-6,), (0.99,), (-30.0,))))
ellipkinc = function(
    "ellipkinc",
    {"phi": lambda g, F, phi, m: F.strong_divide(g, _root(F, phi, m)),
     "m": lambda g, F, phi, m: F.strong_multiply(g, _ellipkinc_m(F, phi, m))},
    "The incomplete elliptic integral of the first kind.",
    forward=library("ellipkinc", fallback=_ellipkinc),
    samples=spread((-1.4, 1.4), (-1, 0.8), points=((1.0, 0.0), (4.0, 0.5), (-7.0, 0.3))))
ellipeinc = function(
    "ellipeinc",
    {"phi": lambda g, F, phi, m: g * _root(F, phi, m),
     "m": lambda g, F, phi, m: F.strong_multiply(g, _ellipeinc_m(F, phi, m))},
    "The incomplete elliptic integral of the second kind.",
    forward=library("ellipeinc", fallback=_ellipeinc),
    samples=spread((-1.4, 1.4), (-1, 0.8), points=((1.0, 0.0), (4.0, 0.5), (-7.0, 0.3))))
elliprc = function(
    "elliprc",
    {"x": lambda g, F, x, y: F.strong_multiply(g, _integral(F, (x, y), (3, 2)) * -0.25),
     "y": lambda g, F, x, y: F.strong_multiply(g, _integral(F, (x, y), (1, 4)) * -0.5)},
    "Carlson's degenerate symmetric elliptic integral R_C, differentiable for y > 0.",
    forward=library("elliprc", fallback=_rc),
    samples=spread((0.2, 3), (0.2, 3), points=((1.0, 1.0),)))
elliprf = function(
    "elliprf",
    {"x": lambda g, F, x, y, z: F.strong_multiply(g, _integral(F, (x, y, z), (3, 1, 1)) * -0.25),
     "y": lambda g, F, x, y, z: F.strong_multiply(g, _integral(F, (x, y, z), (1, 3, 1)) * -0.25),
     "z": lambda g, F, x, y, z: F.strong_multiply(g, _integral(F, (x, y, z), (1, 1, 3)) * -0.25)},
    "Carlson's symmetric elliptic integral R_F.", forward=library("elliprf", fallback=_rf),
    samples=spread((0.2, 3), (0.2, 3), (0.2, 3), points=((1.0, 1.0, 1.0), (1e-3, 2.0, 50.0))))
elliprd = function(
    "elliprd",
    {"x": lambda g, F, x, y, z: F.strong_multiply(g, _integral(F, (x, y, z), (3, 1, 3)) * -0.75),
     "y": lambda g, F, x, y, z: F.strong_multiply(g, _integral(F, (x, y, z), (1, 3, 3)) * -0.75),
     "z": lambda g, F, x, y, z: F.strong_multiply(g, _integral(F, (x, y, z), (1, 1, 5)) * -2.25)},
    "Carlson's symmetric elliptic integral R_D.", forward=library("elliprd", fallback=_rd),
    samples=spread((0.2, 3), (0.2, 3), (0.2, 3), points=((1.0, 1.0, 1.0), (1e-3, 2.0, 50.0))))
elliprg = function(
    "elliprg",
    {"x": lambda g, F, x, y, z: F.strong_multiply(
        g, _integral(F, (x, y, z), (3, 1, 1), 1) * 0.125),
     "y": lambda g, F, x, y, z: F.strong_multiply(
        g, _integral(F, (x, y, z), (1, 3, 1), 1) * 0.125),
     "z": lambda g, F, x, y, z: F.strong_multiply(
        g, _integral(F, (x, y, z), (1, 1, 3), 1) * 0.125)},
    "Carlson's symmetric elliptic integral R_G.", forward=library("elliprg", fallback=_rg),
    samples=spread((0.2, 3), (0.2, 3), (0.2, 3), points=((1.0, 1.0, 1.0), (1e-3, 2.0, 50.0))))
_J = {"p": lambda g, F, x, y, z, p: F.strong_multiply(
    g, _integral(F, (x, y, z, p), (1, 1, 1, 4)) * -1.5)}
elliprj = function(
    "elliprj",
    {"x": lambda g, F, x, y, z, p: F.strong_multiply(
        g, _integral(F, (x, y, z, p), (3, 1, 1, 2)) * -0.75),
     "y": lambda g, F, x, y, z, p: F.strong_multiply(
        g, _integral(F, (x, y, z, p), (1, 3, 1, 2)) * -0.75),
     "z": lambda g, F, x, y, z, p: F.strong_multiply(
        g, _integral(F, (x, y, z, p), (1, 1, 3, 2)) * -0.75), **_J},
    "Carlson's symmetric elliptic integral R_J, differentiable for p > 0.",
    forward=library("elliprj", fallback=_rj),
    samples=spread((0.2, 3), (0.2, 3), (0.2, 3), (0.2, 3)))
agm = function(
    "agm",
    {"a": lambda g, F, a, b, out: F.strong_multiply(g, _agm_slope(F, a, b, out)),
     "b": lambda g, F, a, b, out: F.strong_multiply(g, _agm_slope(F, b, a, out))},
    "The arithmetic-geometric mean of two numbers of one sign.", forward=composed(_agm),
    samples=spread((0.3, 3), (0.3, 3), points=((-1.0, -2.0), (1e-3, 50.0))))
# fmt: on

_ellipj = primitive(
    "ellipj",
    {"u": lambda g, F, m, out: _ellipj_phi(F, g, m, out) * out[2], "m": _ellipj_m},
    forward=library("ellipj"), outputs=4,
)  # fmt: skip


@_table.public(
    samples=lambda s: [
        ((s.interval(-2, 2, 2, 3), s.interval(0.1, 0.9, 3)), {}),
        ((s.interval(-2, 2), s.interval(0.1, 0.9)), {}),
        ((s.interval(-2, 2, 0), s.interval(0.1, 0.9)), {}),
    ],
    variables={"u": True, "m": True},
)
def ellipj(u: Any, m: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Jacobi's elliptic functions sn, cn, dn, and the amplitude.

    Parameters
    ----------
    u, m
        Argument and parameter (from 0 to 1): real tensors, arrays or numbers; they broadcast.

    Returns
    -------
    tuple of Tensors
        Each of the broadcast shape.

    Raises
    ------
    UnsupportedOperationError
        The library of the device has no such function.

    Examples
    --------
    >>> import polygrad as pg
    >>> sn, cn, dn, phi = pg.special.ellipj(pg.tensor([1.0]), 0.0)
    >>> pg.all(phi == 1)
    tensor(True, dtype=bool)
    """
    return _ellipj(u, m)  # type: ignore[no-any-return]
