"""Series that special functions share. They take Tensors as well as raw arrays.

Sources: NIST Digital Library of Mathematical Functions (DLMF), https://dlmf.nist.gov: 5.11 for the
gamma function, 25.2 and 25.11 for zeta; C. Loader, "Fast and accurate computation of binomial
probabilities" (2000), for writing densities by their deviance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
    "HALF_LOG_TWO_PI", "cos_pi", "deviance", "horner", "log1pmx", "log1pmx_ratio", "log_ratio",
    "odd_factorial_series",
    "reversed_terms", "sin_pi", "stirling", "stirling_series",
]  # fmt: skip

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial of x, the highest coefficient first."""
    out = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        out = out * x + c
    return out


def reversed_terms(terms: Iterable[float]) -> tuple[float, ...]:
    """Coefficients in the order that `horner` takes."""
    return tuple(terms)[::-1]


# ---- sines of multiples of pi -------------------------------------------------------------------
def sin_pi(F: Any, x: Any) -> Any:
    """sin(pi x), exactly 0 at integers, and precise for large x."""
    turn = F.round(x)
    odd = F.remainder(turn, 2) != 0
    s = F.sin((x - turn) * math.pi)
    return F.where(odd, -s, s)


def cos_pi(F: Any, x: Any) -> Any:
    """cos(pi x), precise for large x and near its zeros."""
    turn = F.round(x)
    odd = F.remainder(turn, 2) != 0
    rest = x - turn
    near = F.cos(rest * math.pi)
    c = F.where(F.abs(rest) > 0.25, F.sin((0.5 - F.abs(rest)) * math.pi), near)
    return F.where(odd, -c, c)


# ---- logarithms ---------------------------------------------------------------------------------
_ATANH = reversed_terms(2 / (2 * k + 1) for k in range(1, 17))


def log1pmx_ratio(F: Any, x: Any) -> Any:
    """(log(1 + x) - x) / x^2; near 0 with log(1 + x) = 2 atanh(r), r = x / (2 + x)."""
    near = F.abs(x) < 0.5
    y = F.where(near, x, 0.25)
    r = 1 / (y + 2)
    s = y * r * r
    y_far = F.where(near, 1, x)
    far = (F.log1p(y_far) - y_far) / y_far / y_far
    return F.where(near, (s * horner(s * y, _ATANH) - 1) * r, far)


def log1pmx(F: Any, x: Any) -> Any:
    """log(1 + x) - x without loss near 0."""
    return log1pmx_ratio(F, x) * x * x


def log_ratio(F: Any, x: Any, y: Any) -> Any:
    """log(x / y) for x, y >= 0, precise also where they are nearly equal."""
    near = F.abs(x - y) < 0.5 * y
    u = F.where(near, x - y, 0) / F.where(near, y, 1)
    return F.where(near, F.log1p(u), F.log(F.where(near, 1, x)) - F.log(F.where(near, 1, y)))


# B_2k / (2k (2k - 1)) of Stirling's series, DLMF 5.11.1
_STIRLING = reversed_terms((
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
))  # fmt: skip


def stirling_series(z: Any) -> Any:
    """log(Gamma(z)) - ((z - 1/2) log(z) - z + log(2 pi) / 2) for z >= 10."""
    return horner(1 / (z * z), _STIRLING) / z


def stirling(F: Any, z: Any) -> Any:
    """The same for z > 0."""
    far = z > 10
    y = F.where(far, 1, z)
    near = F.special_gammaln(y) - (y - 0.5) * F.log(y) + y - HALF_LOG_TWO_PI
    return F.where(far, stirling_series(F.where(far, z, 20)), near)


def deviance(F: Any, a: Any, m: Any, excess: Any) -> Any:
    """a log(a / m) + m - a, where m = a + excess > 0: Loader's bd0, without cancellation."""
    near = F.abs(excess) < 0.5 * a
    u = F.where(near, excess, 0) / F.where(near, a, 1)
    b, n = F.where(near, 1, a), F.where(near, 1, m)
    return F.where(near, -a * log1pmx(F, u), b * (F.log(b) - F.log(n)) + F.where(near, 0, excess))


# ---- functions that grow like 1 / x -------------------------------------------------------------
def odd_factorial_series(u: Any, sign: int, count: int = 18) -> Any:
    """The sum over k >= 1 of sign^k (2k - 1)!! u^k, an asymptotic series for u < 1 / 128."""
    terms, factor = [], 1.0
    for k in range(1, count + 1):
        factor *= sign * (2 * k - 1)
        terms.append(factor)
    return u * horner(u, terms[::-1])
