"""Zeta functions: Riemann's and Hurwitz's. Formulas: DLMF 25."""

from __future__ import annotations

import math
from typing import Any

from polygrad.ops._series import cos_pi, sin_pi
from polygrad.ops._special import SpecialFunctions, composed, library, spread
from polygrad.tensor import Tensor

_table = SpecialFunctions("zeta functions")
function, primitive = _table.function, _table.primitive

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


def _hurwitz_right(F: Any, x: Any, q: Any) -> Any:
    """Of q >= 0."""
    out, _ = _tail(F, x, q + _FIRST, F.log(q + _FIRST))
    for k in range(_FIRST):
        out = out + (q + k) ** -x
    return out


def _hurwitz(F: Any, x: Any, q: Any) -> Any:
    """Of q < 0, for whole x: the sum over all whole numbers repeats with q, so [0, 1) has it."""
    below = q < 0
    first = F.where(below, q - F.floor(q), q)
    out = _hurwitz_right(F, x, first)
    others = _hurwitz_right(F, x, F.where(below, 1 - first, 1))
    others = others - _hurwitz_right(F, x, F.where(below, 1 - q, 1))
    sign = F.where(x == F.round(x), 1 - 2 * F.remainder(x, 2), math.nan)
    out = F.where(below, out + sign * others, out)
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
