"""The error function and its complement, for libraries without them.

Note [erf]
----------
With y = |x|, erfc(y) = e^(-y^2) p(t) / (1 + 2 y), t = (y - 3) / (y + 3), where the polynomial p
fits (1 + 2 y) e^(y^2) erfc(y), a smooth function with a limit at infinity (its form as in Shepherd
and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc(x)", 1981). Near zero, erf(x) =
x q(x^2). The coefficients were fitted here, in 50 digits, to minimise the largest relative error:
2e-17 for p in float64, 2e-9 in float32; less for q. e^(-y^2) is split in two factors, because the
error of y^2, however small, is multiplied by y^2. In all, erf has an error of at most 2 units in
the last place, erfc of 5.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.dtypes import float64
from polygrad.erf_table import P32, P64, Q32, Q64
from polygrad.families import Chapter
from polygrad.ops._axes import widened

_table = Chapter("special")
_NEAR = 0.5  # below, erf is x q(x^2)
_FAR = 27.3  # beyond, erfc is zero in every dtype


def _horner(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The polynomial of x; in place, on an array of its own."""
    out = x * coefficients[0]
    for c in coefficients[1:-1]:
        out += c
        out *= x
    out += coefficients[-1]
    return out


def scaled_upper(F: Any, y: Any) -> Any:
    """e^(y^2) erfc(y) for y >= 0."""
    return _horner((y - 3) / (y + 3), P64 if F.dtype == float64 else P32) / (y * 2 + 1)


def _upper(F: Any, y: Any) -> Any:
    """erfc(y) for y >= 0."""
    y = F.xp.minimum(y, F.full((), _FAR))
    p = scaled_upper(F, y)
    head = F.xp.round(y * 16) / 16
    p *= F.xp.exp(-head * head)
    p *= F.xp.exp(-(y - head) * (y + head))
    return p


def _erfc(F: Any, x: Any) -> Any:
    above = _upper(F, F.xp.abs(x))
    return F.xp.where(x < 0, 2 - above, above)


def _erf(F: Any, x: Any) -> Any:
    y = F.xp.abs(x)
    near = F.xp.minimum(y, F.full((), _NEAR))
    near = x * _horner(near * near, Q64 if F.dtype == float64 else Q32)
    return F.xp.where(y < _NEAR, near, F.xp.sign(x) * (1 - _upper(F, y)))


_SLOPE = 2 / math.sqrt(math.pi)
# fmt: off
erf = _table.unary("erf", lambda g, F, x: g * (F.exp(-F.square(x)) * _SLOPE),
                   "The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.",
                   forward=widened(_erf), floating=True, kinds="f")
erfc = _table.unary("erfc", lambda g, F, x: g * (F.exp(-F.square(x)) * -_SLOPE),
                    "1 - erf(x), precise also where it is small.",
                    forward=widened(_erfc), floating=True, kinds="f")
# fmt: on
