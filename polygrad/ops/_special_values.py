"""Forwards of functions whose values at infinities and zeros libraries see differently.

The array API standard says what floor_divide and the complex expm1 and sign give there. NumPy
follows Python in the first (numpy/numpy#23860) and departs from C99 in the second
(numpy/numpy#21746); JAX keeps the signs of a complex zero in the third; dpnp follows the standard.
With these forwards every device does, as far as its complex exp is C99's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from polygrad.dtypes import REAL

__all__ = ["expm1", "floor_divide", "sign"]


def floor_divide(F: Any) -> Callable[[Any, Any], Any]:
    """floor(x / y); x / y itself if one of them is infinite: infinite, a zero with a sign, or NaN.

    Source: special cases of `floor_divide` in the array API standard 2024.12.
    """
    if F.kind < REAL:
        return operator.floordiv

    def forward(x: Any, y: Any) -> Any:
        endless = (abs(x) == math.inf) | (abs(y) == math.inf)
        return F.xp.where(endless, x / y, x // y)

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


def sign(F: Any) -> Callable[[Any], Any]:
    """The library's sign; of a complex zero, whatever the signs of its parts, +0 + 0j."""
    plain: Callable[[Any], Any] = F.xp.sign
    return (lambda x: plain(x) + 0) if F.is_complex else plain
