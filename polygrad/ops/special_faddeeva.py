"""Faddeeva's function and Voigt's profile.

w(z) = e^(-z^2) erfc(-i z) has the derivative -2 z w + 2 i / sqrt(pi), in which nearly everything
cancels for large z; there the derivatives are taken from the asymptotic series (DLMF 7.12). The
profile is the convolution of a normal density with standard deviation sigma and a Cauchy density
with half width gamma, so that its derivative with respect to sigma is sigma times its second
derivative with respect to x.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.dtypes import complex_of
from polygrad.ops._special import SpecialFunctions, library, spread
from polygrad.ops.special_integrals import as_complex
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = SpecialFunctions("Faddeeva's function")
function, primitive = _table.function, _table.primitive
_FAR = 8.0
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


def _series(z: Any, order: int) -> Any:
    """The derivative of w for large |z| with Im z >= 0."""
    u = 1 / z
    square, term, out = u * u * 0.5, 1j * _TWO_OVER_ROOT_PI * 0.5 * u, 0
    for k in range(19):
        factor = math.prod(range(2 * k + 1, 2 * k + 1 + order)) * (-1) ** order
        out = out + term * factor
        term = term * square * (2 * k + 1)
    for _ in range(order):
        out = out * u
    return out


def derivative(F: Any, z: Any, order: int) -> Any:
    """The first, second, ... derivative of w: w^(n+1) = -2 z w^(n) - 2 n w^(n-1)."""
    below = F.imag(z) < 0
    far = F.abs(z) > _FAR
    near = F.where(far, 0j, z)
    before = F.special_wofz(near)
    now = -2 * near * before + 1j * _TWO_OVER_ROOT_PI
    for n in range(1, order):
        before, now = now, -2 * near * now - 2 * n * before
    above = F.where(below, -z, z)
    distant = _series(F.where(far, above, 2 * _FAR + 0j), order)
    # Below the real axis w(z) = 2 e^(-z^2) - w(-z).
    y = F.where(far & below, z, 0j)
    e_before: Any = 0
    e_now = 2 * F.exp(-y * y)
    for n in range(order):
        e_before, e_now = e_now, -2 * y * e_now - 2 * n * e_before
    reflected = e_now - distant * (-1) ** order
    return F.where(far, F.where(below, reflected, distant), now)


_wofz: Primitive = primitive(
    "wofz", {"z": lambda g, F, z: g * F.conj(derivative(F, z, 1))}, forward=library("wofz"),
    real=False,
)  # fmt: skip


@_table.public(
    samples=lambda s: [
        ((s.interval(-3, 3, 2, 3),), {}), ((s.interval(-3, 3),), {}), ((s.interval(-3, 3, 0),), {}),
        ((s.exactly([7.9, 8.1, 40.0]),), {}),
    ],
    kinds="fc", variables={"z": True},
)  # fmt: skip
def wofz(z: Any) -> Tensor:
    """Faddeeva's function e^(-z^2) erfc(-i z): complex, also for real z.

    Parameters
    ----------
    z
        Real or complex tensor, array or number.

    Returns
    -------
    Tensor
        Complex, of the shape of z.

    Raises
    ------
    UnsupportedOperationError
        The library of the device has no such function.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.special.wofz(pg.tensor([1j]))
    tensor([0.42758358+0.j], dtype=complex64)
    """
    return _wofz.call(as_complex(z, "wofz, argument z"))  # type: ignore[no-any-return]


# ---- Voigt's profile ----------------------------------------------------------------------------
def _profile(F: Any, x: Any, sigma: Any, gamma: Any, order: int) -> Any:
    """The derivative with respect to x + i gamma of the function whose real part the profile is.

    Far from the center in powers of sigma: it is a Cauchy density for sigma = 0.
    """
    zeta = x + gamma * 1j
    far = F.abs(zeta) > sigma * (_FAR * math.sqrt(2))
    s = F.where(far, 1, sigma)
    z = F.where(far, 0j, zeta) / s * math.sqrt(0.5)
    inner = F.special_wofz(z) if order == 0 else derivative(F, z, order)
    for _ in range(order):
        inner = inner / s * math.sqrt(0.5)
    u = 1 / F.where(far, zeta, 1)
    square = F.where(far, sigma, 0) * u
    square = square * square
    term, outer = u * (1j / math.pi), 0
    for k in range(19):
        outer = outer + term * (math.prod(range(2 * k + 1, 2 * k + 1 + order)) * (-1) ** order)
        term = term * square * (2 * k + 1)
    for _ in range(order):
        outer = outer * u
    return F.where(far, outer, inner / s * (1 / math.sqrt(2 * math.pi)))


def _slope(F: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    return _profile(F, x, sigma, gamma, 1)


def _value(F: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    F.with_dtype(complex_of(F.dtype))  # raises where the device has no complex numbers
    return F.real(_profile(F, x, sigma, gamma, 0))


voigt_profile = function(
    "voigt_profile",
    {
        "x": lambda g, F, x, sigma, gamma: g * F.real(_slope(F, x, sigma, gamma)),
        "sigma": lambda g, F, x, sigma, gamma: (
            g * (sigma * F.real(_profile(F, x, sigma, gamma, 2)))
        ),
        "gamma": lambda g, F, x, sigma, gamma: g * -F.imag(_slope(F, x, sigma, gamma)),
    },
    "Voigt's profile: the convolution of a normal and a Cauchy density.",
    forward=library("voigt_profile", fallback=_value),
    samples=spread((-3, 3), (0.3, 2), (0.1, 2), points=((1.0, 0.05, 0.3), (20.0, 1.0, 2.0))),
)
