"""Forwards of functions whose values at infinities and zeros libraries see differently.

The array API standard says what floor_divide and the complex expm1 and sign give there. NumPy
follows Python in the first (numpy/numpy#23860), where JAX loses the sign of a zero, and departs
from C99 in the second (numpy/numpy#21746); JAX keeps the signs of a complex zero in the third, and
NumPy gives numbers for some NaNs; dpnp follows the standard. With these forwards every device does,
as far as its complex exp is C99's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from polygrad.dtypes import REAL

__all__ = ["expm1", "floor_divide", "log1p", "sign"]


def floor_divide(F: Any) -> Callable[[Any, Any], Any]:
    """floor(x / y); x / y itself if x is 0 or one of them infinite: a zero's sign, infinite, NaN.

    Source: special cases of `floor_divide` in the array API standard 2024.12.
    """
    if F.kind < REAL:
        return operator.floordiv

    def forward(x: Any, y: Any) -> Any:
        exact = (abs(x) == math.inf) | (abs(y) == math.inf) | (x == 0)
        return F.xp.where(exact, x / y, x // y)

    return forward


def expm1(F: Any) -> Callable[[Any], Any]:
    """The library's expm1; of a complex zero, infinity or NaN exp(x) - 1, where nothing cancels.

    Source: special cases of `expm1` in the array API standard 2024.12, which are those of C99's
    cexp less 1.
    """
    plain: Callable[[Any], Any] = F.xp.expm1
    if not F.is_complex:
        return plain

    def forward(x: Any) -> Any:
        regular = F.xp.isfinite(x) & (x != 0)
        return F.xp.where(regular, plain(x), F.xp.exp(x) - 1)

    return forward


def log1p(F: Any) -> Callable[[Any], Any]:
    """The library's log1p; of complex numbers near zero log|1 + x| and the angle of 1 + x.

    Libraries add 1 first, which loses what is small (numpy/numpy#22609): |1 + x|^2 is
    1 + re (2 + re) + im^2.
    """
    plain: Callable[[Any], Any] = F.xp.log1p
    if not F.is_complex:
        return plain
    xp = F.xp

    def forward(x: Any) -> Any:
        small = xp.abs(x) < 0.25
        near = xp.where(small, x, 0)
        re, im = xp.real(near), xp.imag(near)
        size = xp.log1p(re * (re + 2) + im * im) / 2
        return xp.where(small, size + 1j * xp.atan2(im, 1 + re), plain(x))

    return forward


def sign(F: Any) -> Callable[[Any], Any]:
    """The library's sign; of a complex zero +0 + 0j, and NaN if a part is NaN, in both parts.

    Source: special cases of `sign` in the array API standard 2024.12.
    """
    plain: Callable[[Any], Any] = F.xp.sign
    if not F.is_complex:
        return plain
    return lambda x: F.xp.where(F.xp.isnan(x), complex(math.nan, math.nan), plain(x) + 0)
