"""Relatives of Bessel functions: spherical, Airy, Kelvin, Struve, Wright, integrals.

Formulas: DLMF 10.51 and 10.29 (recurrences of spherical functions), 9.2 (Airy), 10.61 (Kelvin),
11.4 (Struve), 10.46 (Wright).
"""

from __future__ import annotations

from typing import Any

from polygrad.ops._axes import as_tensor
from polygrad.ops._special import (
    NO_ORDER,
    Forward,
    SpecialFunctions,
    library,
    positive_samples,
    spread,
)
from polygrad.ops.filling import full_like
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = SpecialFunctions("relatives of Bessel functions")
function, primitive = _table.function, _table.primitive


# ---- spherical functions ------------------------------------------------------------------------
def _slope(F: Any, n: Any, z: Any, kind: str) -> Any:
    """(n f_{n-1} -+ (n + 1) f_{n+1}) / (2 n + 1)."""
    f = {"jn": F.special_spherical_jn, "yn": F.special_spherical_yn,
         "in": F.special_spherical_in, "kn": F.special_spherical_kn}[kind]  # fmt: skip
    first = n == 0
    below = F.where(first, 0, n * f(F.where(first, 0, n - 1), z))
    above = (n + 1) * f(n + 1, z)
    if kind in ("jn", "yn"):
        return (below - above) / (2 * n + 1)
    return (below + above) / (2 * n + 1) * (1 if kind == "in" else -1)


def _spherical(kind: str) -> Primitive:
    return primitive(
        f"spherical_{kind}",
        {"n": NO_ORDER,
         "z": lambda g, F, n, z: F.strong_multiply(g, _slope(F, n, z, kind))},
        forward=Forward((f"spherical_{kind}",)),
    )  # fmt: skip


def _evaluate(p: Primitive, kind: str, n: Any, z: Any, derivative: bool) -> Tensor:
    if not derivative:
        return p.call(n, z)  # type: ignore[no-any-return]
    z = as_tensor(z, f"spherical_{kind}, argument z")
    n = n if isinstance(n, Tensor) else full_like(z, n)
    return _slope(Primitive.tensor_namespace, n, z, kind)  # type: ignore[no-any-return]


_SPHERICAL = _table.public(
    samples=lambda s: [
        ((0, s.interval(0.3, 6, 2, 3)), {}), ((1, s.interval(0.3, 6)), {}),
        ((2, s.interval(0.3, 6, 3)), {"derivative": True}), ((0, s.interval(0.3, 6, 2), True), {}),
        ((s.integers(3), s.interval(0.3, 6, 2, 1)), {}), ((3, s.interval(0.3, 6, 0)), {}),
    ],
    variables={"n": False, "z": True},
)  # fmt: skip
_jn, _yn, _in, _kn = map(_spherical, ("jn", "yn", "in", "kn"))


@_SPHERICAL
def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Tensor:
    """The spherical Bessel function of the first kind, or its derivative.

    Parameters
    ----------
    n
        The order, whole and at least 0; it has no derivative.
    z
        Real tensor, array or number; it broadcasts with n.
    derivative
        Return the derivative with respect to z instead.

    Returns
    -------
    Tensor
        The broadcast shape.

    Raises
    ------
    UnsupportedOperationError
        The library of the device has no such function.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.special.spherical_jn(1, pg.tensor([0.0, 1.0]))
    tensor([0. , 0.30116868], dtype=float32)
    """
    return _evaluate(_jn, "jn", n, z, derivative)


@_SPHERICAL
def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Tensor:
    """The spherical Bessel function of the second kind; as `spherical_jn`."""
    return _evaluate(_yn, "yn", n, z, derivative)


@_SPHERICAL
def spherical_in(n: Any, z: Any, derivative: bool = False) -> Tensor:
    """The modified spherical Bessel function of the first kind; as `spherical_jn`."""
    return _evaluate(_in, "in", n, z, derivative)


@_SPHERICAL
def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Tensor:
    """The modified spherical Bessel function of the second kind; as `spherical_jn`."""
    return _evaluate(_kn, "kn", n, z, derivative)


# ---- several results ----------------------------------------------------------------------------
def _airy_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    """Ai'' = x Ai, and so Bi."""
    first = g[0] * out[1] + F.strong_multiply(g[2], out[3])
    second = g[1] * (x * out[0]) + F.strong_multiply(g[3], x * out[2])
    return first + second


_airy = _table.several("airy", 4, _airy_rule)
_itj0y0 = _table.several("itj0y0", 2, lambda g, F, x: (
    g[0] * F.special_j0(x) + F.strong_multiply(g[1], F.special_y0(x))))  # fmt: skip
_iti0k0 = _table.several("iti0k0", 2, lambda g, F, x: (
    g[0] * F.special_i0(x) + F.strong_multiply(g[1], F.special_k0(x))))  # fmt: skip
_TUPLES = _table.public(samples=positive_samples, variables={"x": True})


@_TUPLES
def airy(x: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Airy's functions and their derivatives: Ai, Ai', Bi, Bi'.

    Parameters
    ----------
    x
        Real tensor, array or number.

    Returns
    -------
    tuple of Tensors
        Each of the shape of x.

    Raises
    ------
    UnsupportedOperationError
        The library of the device has no such function.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([1.0], requires_grad=True)
    >>> ai, slope, _, _ = pg.special.airy(x)
    >>> ai.backward(pg.ones(1))
    >>> pg.all(x.grad == slope)
    tensor(True, dtype=bool)
    """
    return _airy(x)  # type: ignore[no-any-return]


@_TUPLES
def itj0y0(x: Any) -> tuple[Tensor, Tensor]:
    """The integrals of j0 and y0 from 0 to x; errors as of `airy`."""
    return _itj0y0(x)  # type: ignore[no-any-return]


@_TUPLES
def iti0k0(x: Any) -> tuple[Tensor, Tensor]:
    """The integrals of i0 and k0 from 0 to x; errors as of `airy`."""
    return _iti0k0(x)  # type: ignore[no-any-return]


# ---- Kelvin's functions -------------------------------------------------------------------------
def _second(F: Any, x: Any, other: Any, slope: Any, sign: int, at_zero: float) -> Any:
    """f'' = -+ (the other function) - f' / x."""
    zero = x == 0
    quotient = F.where(zero, at_zero, F.where(zero, 0, slope) / F.where(zero, 1, x))
    return sign * other - quotient


_KELVIN = {
    "ber": "The real part of Kelvin's function of the first kind.",
    "bei": "The imaginary part of Kelvin's function of the first kind.",
    "ker": "The real part of Kelvin's function of the second kind.",
    "kei": "The imaginary part of Kelvin's function of the second kind.",
}
_SAMPLED = spread((0.3, 6))


def _kelvin(name: str, summary: str) -> None:
    """A function and its derivative; the second derivative by the differential equation."""
    sign = -1 if name.endswith("r") else 1
    other = f"special_{name[:-1]}{'i' if sign < 0 else 'r'}"
    at_zero = 0.5 if name == "bei" else 0.0
    derivative = f"special_{name}p"

    def once(g: Any, F: Any, x: Any) -> Any:
        return F.strong_multiply(g, getattr(F, derivative)(x))

    def twice(g: Any, F: Any, x: Any, out: Any) -> Any:
        return F.strong_multiply(g, _second(F, x, getattr(F, other)(x), out, sign, at_zero))

    function(name, {"x": once}, summary, forward=library(name), samples=_SAMPLED)
    function(f"{name}p", {"x": twice}, f"The derivative of {name}.", forward=library(f"{name}p"),
             samples=_SAMPLED)  # fmt: skip


for _name, _summary in _KELVIN.items():
    _kelvin(_name, _summary)


# ---- Struve's and Wright's functions ------------------------------------------------------------
def _struve_rule(g: Any, F: Any, v: Any, x: Any, out: Any, name: str) -> Any:
    """f_{v-1} - (v / x) f_v."""
    zero = x == 0
    quotient = F.where(zero, 0, out * v) / F.where(zero, 1, x)
    return F.strong_multiply(g, getattr(F, f"special_{name}")(v - 1, x) - quotient)


# fmt: off
struve = function(
    "struve",
    {"v": NO_ORDER, "x": lambda g, F, v, x, out: _struve_rule(g, F, v, x, out, "struve")},
    "Struve's function of order v.", forward=library("struve"),
    samples=spread([0, 1, 0.5, 2.5], (0.3, 6)))
modstruve = function(
    "modstruve",
    {"v": NO_ORDER, "x": lambda g, F, v, x, out: _struve_rule(g, F, v, x, out, "modstruve")},
    "The modified Struve function of order v.", forward=library("modstruve"),
    samples=spread([0, 1, 0.5, 2.5], (0.3, 6)))
wright_bessel = function(
    "wright_bessel",
    {"a": NO_ORDER, "b": NO_ORDER,
     "x": lambda g, F, a, b, x: g * F.special_wright_bessel(a, b + a, x)},
    "Wright's generalized Bessel function, the sum of x^k / (k! Gamma(a k + b)).",
    forward=library("wright_bessel"), samples=spread([0.5, 1, 2, 1.5], [1, 2, 0.5, 3], (0.2, 4)))
log_wright_bessel = function(
    "log_wright_bessel",
    {"a": NO_ORDER, "b": NO_ORDER,
     "x": lambda g, F, a, b, x, out: g * F.exp(F.special_log_wright_bessel(a, b + a, x) - out)},
    "The logarithm of wright_bessel.",
    forward=library("log_wright_bessel"),
    samples=spread([0.5, 1, 2, 1.5], [1, 2, 0.5, 3], (0.2, 4)))
# fmt: on
