"""Elementary functions that a compiler makes vector instructions of: no branches, no tables.

For loops that numba compiles; on a float32 they compute in float32, on a float64 in float64.

Sources: the reductions and coefficients of exp and tanh are those of Moshier's Cephes library
(1989); those of erfc are polygrad's own, see Note [erf] in `polygrad.ops.special`. Powers of two
are written as bits, in two halves, so that results may be subnormal, or overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numba.types import float32

from polygrad.erf_table import P32, P64, Q32, Q64

__all__ = ["erf", "erfc", "exp", "sigmoid", "tanh"]

_single = np.float32
_ONE, _TWO, _HALF = _single(1), _single(2), _single(0.5)


def _stub(x: Any) -> Any:
    raise NotImplementedError


# ---- exp ----------------------------------------------------------------------------------------
# e^x = 2^n e^r, r = x - n log 2 with log 2 in two parts, |r| <= log(2) / 2.
_LOG2E, _HI, _LO = _single(1.44269504088896341), _single(0.693359375), _single(-2.12194440e-4)
_E0, _E1, _E2, _E3, _E4 = map(_single, (
    1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
))  # fmt: skip
_LOWEST, _HIGHEST = _single(-104.5), _single(89)


def exp(x: Any) -> Any:
    """e^x; within 1 unit in the last place in single precision, 2 in double."""
    return _stub(x)


def _exp32(x: Any) -> Any:
    y = min(max(x, _LOWEST), _HIGHEST)
    n = np.floor(y * _LOG2E + _HALF)
    r = (y - n * _HI) - n * _LO
    p = ((((_E0 * r + _E1) * r + _E2) * r + _E3) * r + _E4) * r + _HALF
    p = p * r * r + r + _ONE
    i = np.int32(n)
    half = i >> np.int32(1)
    a = np.int32((half + np.int32(127)) << np.int32(23)).view(np.float32)
    b = np.int32((i - half + np.int32(127)) << np.int32(23)).view(np.float32)
    return p * a * b


def _exp64(x: Any) -> Any:
    y = min(max(x, -745.5), 710.0)
    n = np.floor(y * 1.44269504088896341 + 0.5)
    r = (y - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6
    s = r * r
    p = r * ((1.26177193074810590878e-4 * s + 3.02994407707441961300e-2) * s + 1.0)
    q = (3.00198505138664455042e-6 * s + 2.52448340349684104192e-3) * s
    q = (q + 2.27265548208155028766e-1) * s + 2.0
    p = 1.0 + 2.0 * (p / (q - p))
    i = np.int64(n)
    half = i >> 1
    a = np.int64((half + 1023) << 52).view(np.float64)
    b = np.int64((i - half + 1023) << 52).view(np.float64)
    return p * a * b


# ---- sigmoid ------------------------------------------------------------------------------------
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x): the smaller of 1 and e^x, over 1 + e^-|x|."""
    return _stub(x)


def _sigmoid32(x: Any) -> Any:
    e = exp(-abs(x))
    return (e if x < _single(0) else _ONE) / (_ONE + e)


def _sigmoid64(x: Any) -> Any:
    e = exp(-abs(x))
    return (e if x < 0.0 else 1.0) / (1.0 + e)


# ---- tanh ---------------------------------------------------------------------------------------
# Near zero y + y z p(z), y = |x|, z = y^2; elsewhere 1 - 2 / (1 + e^2y); with the sign of x.
_T0, _T1, _T2, _T3, _T4 = map(_single, (
    -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1,
))  # fmt: skip
_NEAR = _single(0.625)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent; within 2 units in the last place."""
    return _stub(x)


def _tanh32(x: Any) -> Any:
    y = abs(x)
    z = y * y
    p = (((_T0 * z + _T1) * z + _T2) * z + _T3) * z + _T4
    far = _ONE - _TWO / (exp(y + y) + _ONE)
    return np.copysign(p * z * y + y if y < _NEAR else far, x)


def _tanh64(x: Any) -> Any:
    y = abs(x)
    z = y * y
    p = (-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z - 1.61468768441708447952e3
    q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z
    p = p / (q + 4.84406305325125486048e3)
    far = 1.0 - 2.0 / (exp(y + y) + 1.0)
    return np.copysign(p * z * y + y if y < 0.625 else far, x)


# ---- erf, erfc: see Note [erf] in polygrad.ops.special ------------------------------------------
# A loop over coefficients would not become vector instructions: each has a name.
# fmt: off
(
    _PS0, _PS1, _PS2, _PS3, _PS4, _PS5, _PS6, _PS7, _PS8, _PS9, _PS10,
) = map(_single, P32)
(
    _QS0, _QS1, _QS2, _QS3, _QS4,
) = map(_single, Q32)
(
    _PD0, _PD1, _PD2, _PD3, _PD4, _PD5, _PD6, _PD7, _PD8, _PD9, _PD10, _PD11, _PD12, _PD13,
    _PD14, _PD15, _PD16, _PD17, _PD18, _PD19, _PD20, _PD21, _PD22,
) = P64
(
    _QD0, _QD1, _QD2, _QD3, _QD4, _QD5, _QD6, _QD7, _QD8,
) = Q64
# fmt: on
_FAR, _THREE, _SIXTEENTH, _SIXTEEN = _single(27.3), _single(3), _single(1 / 16), _single(16)


def erfc(x: Any) -> Any:
    """1 - erf(x), precise where it is small."""
    return _stub(x)


def _upper32(x: Any) -> Any:
    y = min(x, _FAR)
    t = (y - _THREE) / (y + _THREE)
    p = _PS0
    p = (((p * t + _PS1) * t + _PS2) * t + _PS3) * t + _PS4
    p = (((p * t + _PS5) * t + _PS6) * t + _PS7) * t + _PS8
    p = (p * t + _PS9) * t + _PS10
    head = np.floor(y * _SIXTEEN + _HALF) * _SIXTEENTH
    return p / (y + y + _ONE) * exp(-head * head) * exp(-(y - head) * (y + head))


def _upper64(x: Any) -> Any:
    y = min(x, 27.3)
    t = (y - 3.0) / (y + 3.0)
    p = _PD0
    p = (((p * t + _PD1) * t + _PD2) * t + _PD3) * t + _PD4
    p = (((p * t + _PD5) * t + _PD6) * t + _PD7) * t + _PD8
    p = (((p * t + _PD9) * t + _PD10) * t + _PD11) * t + _PD12
    p = (((p * t + _PD13) * t + _PD14) * t + _PD15) * t + _PD16
    p = (((p * t + _PD17) * t + _PD18) * t + _PD19) * t + _PD20
    p = (p * t + _PD21) * t + _PD22
    head = np.floor(y * 16.0 + 0.5) * 0.0625
    return p / (y + y + 1.0) * exp(-head * head) * exp(-(y - head) * (y + head))


def upper(x: Any) -> Any:
    """erfc(x) for x >= 0."""
    return _stub(x)


def _erfc32(x: Any) -> Any:
    above = upper(abs(x))
    return _TWO - above if x < _single(0) else above


def _erfc64(x: Any) -> Any:
    above = upper(abs(x))
    return 2.0 - above if x < 0.0 else above


def erf(x: Any) -> Any:
    """The error function: x q(x^2) near zero, 1 - erfc(|x|) elsewhere."""
    return _stub(x)


def _erf32(x: Any) -> Any:
    y = abs(x)
    z = y * y
    q = _QS0
    q = (((q * z + _QS1) * z + _QS2) * z + _QS3) * z + _QS4
    return x * q if y < _HALF else np.copysign(_ONE - upper(y), x)


def _erf64(x: Any) -> Any:
    y = abs(x)
    z = y * y
    q = _QD0
    q = (((q * z + _QD1) * z + _QD2) * z + _QD3) * z + _QD4
    q = (((q * z + _QD5) * z + _QD6) * z + _QD7) * z + _QD8
    return x * q if y < 0.5 else np.copysign(1.0 - upper(y), x)


def _define(function: Any, single: Any, double: Any) -> None:
    """What a compiled loop gets for `function` of a float32 and of a float64."""

    def choose(x: Any) -> Any:
        return single if x == float32 else double

    options = {"error_model": "numpy", "fastmath": {"contract"}, "forceinline": True}
    overload(function, jit_options=options)(choose)


_define(exp, _exp32, _exp64)
_define(sigmoid, _sigmoid32, _sigmoid64)
_define(tanh, _tanh32, _tanh64)
_define(upper, _upper32, _upper64)
_define(erfc, _erfc32, _erfc64)
_define(erf, _erf32, _erf64)
