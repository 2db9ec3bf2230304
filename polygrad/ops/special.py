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
from polygrad.families import Chapter
from polygrad.ops._axes import widened

_table = Chapter("special")
_NEAR = 0.5  # below, erf is x q(x^2)
_FAR = 27.3  # beyond, erfc is zero in every dtype

# Coefficients, the highest power first: of p, of q.
_P64 = (
    -3.95031897509152808e-9, -7.90675920261497164e-9, 3.24112261833237737e-8,
    8.99131312811913368e-8, -1.31060471712152957e-7, -6.02262976110764077e-7,
    3.49648106921996172e-7, 3.46183970260969557e-6, -7.28373612005131509e-7,
    -2.00955889469642251e-5, 4.94859187163066407e-6, 1.25097833328056112e-4,
    -1.05159633269702718e-4, -7.79831976681333471e-4, 1.88869033895689608e-3,
    2.52939178112511774e-3, -2.37705149170899433e-2, 6.83080273462680654e-2,
    -1.19273663415377044e-1, 1.29645158702691504e-1, -4.75622943534494547e-2,
    -1.3562110612458056e-1, 1.25300805826972965,
)  # fmt: skip
_P32 = (
    -2.644462229e-4, -7.680458975e-4, 2.007672509e-3, 2.564074227e-3, -2.380147141e-2,
    6.829574169e-2, -1.192702572e-1, 1.296464866e-1, -4.756244102e-2, -1.356211426e-1, 1.25300806,
)  # fmt: skip
_Q64 = (
    1.47231505168705565e-6, -1.48455776932146312e-5, 1.20533240877571679e-4,
    -8.54829752007676778e-4, 5.22397737028167515e-3, -2.68661706327133529e-2,
    1.12837916709248065e-1, -3.7612638903183467e-1, 1.12837916709551257,
)  # fmt: skip
_Q32 = (4.717976187e-3, -2.675717731e-2, 1.12828227e-1, -3.761260857e-1, 1.128379166)


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
    return _horner((y - 3) / (y + 3), _P64 if F.dtype == float64 else _P32) / (y * 2 + 1)


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
    near = x * _horner(near * near, _Q64 if F.dtype == float64 else _Q32)
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
