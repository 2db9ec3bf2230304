"""Elementwise functions of the array API standard, from trivial to hard.

Note [Strong zeros]
-------------------
A zero cotangent gives a zero gradient, even where the local derivative is infinite or NaN: what
was not used cannot matter. Rules whose derivative can be non-finite multiply with
`strong_multiply(g, d)` and divide with `strong_divide(g, d)`, whose result is 0 where g is 0. That
makes `where(x > 0, sqrt(x), x)` right at 0.

Note [Sides of a cut]
---------------------
On a branch cut the sign of a zero imaginary part says on which side z lies. z + 1 loses the sign of
-0, z - -1 keeps it, and so do the derivatives of asin, acos, asinh and acosh.

Note [Kinks]
------------
Where a function has a kink the gradient is a subgradient that shares: abs has 0 at 0, equal
operands of maximum and minimum get half each (so that maximum(x, x) has derivative 1), clip has 1
on its bounds.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

from polygrad.dtypes import COMPLEX, INTEGER, REAL
from polygrad.errors import DtypeError, InvalidArgumentError
from polygrad.families import Chapter
from polygrad.kernels import bind, declare_forward
from polygrad.ops import _special_values
from polygrad.ops._axes import as_tensor
from polygrad.primitive import CONSTANT, Composite, Primitive
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import imag as _imag
from polygrad.views import real as _real

_table = Chapter("elementwise")
unary, binary, constant = _table.unary, _table.binary, _table.constant
_POSITIVE = (0.2, 3.0)
_UNIT = (-0.9, 0.9)
_ANY = (-3.0, 3.0)
_INF, _NAN = math.inf, math.nan


# ---- what rules are made of -------------------------------------------------------------------
def _conj(F: Any) -> Any:
    """The conjugate where there is anything to conjugate, the identity elsewhere."""
    if not F.is_complex:
        return lambda x: x
    return lambda x: F.xp.conj(x) if F.of(x).is_complex else x


def _bar(F: Any, y: Any) -> Any:
    """The conjugate of a saved value, which may be a Python number."""
    return y.conjugate() if isinstance(y, (int, float, complex)) else F.conj(y)


def _times_bar(F: Any) -> Callable[[Any, Any], Any]:
    """x times the conjugate of y, which may be a Python number: of real ones, the product."""
    return (lambda x, y: x * _bar(F, y)) if F.is_complex else operator.mul


def is_complex(F: Any, x: Any) -> bool:
    """Whether a saved value is complex, in either mode of a rule."""
    return bool(x.kernels.is_complex if isinstance(x, Tensor) else F.of(x).is_complex)


def _strong_multiply(F: Any, x: Any, y: Any) -> Any:
    return x * F.where(x == 0, 0, y)


def _mask_of(F: Any, x: Any) -> Any:
    """What is saved as `out_mask`; of a 0-d array, libraries may return a scalar."""
    found = x != 0
    return found if type(found) is F.array_type else F.coerce(found)


def _strong_divide(F: Any, x: Any, y: Any) -> Any:
    if not hasattr(y, "shape"):
        if y != 0:
            return x / y
        y = F.of(x).full((), y)
    return x / F.where(x == 0, 1, y)


strong_multiply = Primitive(
    "strong_multiply", ("x", "y"),
    {
        "x": lambda g, F, y: F.strong_multiply(g, _bar(F, y)),
        "y": lambda g, F, x: F.strong_multiply(F.conj(x), g),
    },
    forward=_strong_multiply, elementwise=True,
)  # fmt: skip
strong_divide = Primitive(
    "strong_divide", ("x", "y"),
    {
        "x": lambda g, F, y: F.strong_divide(g, _bar(F, y)),
        "y": lambda g, F, y, out: -F.strong_multiply(
            F.conj(out), F.strong_divide(g, _bar(F, y))
        ),
    },
    forward=_strong_divide, floating=True, weak=True, elementwise=True,
)  # fmt: skip
keep = Primitive(  # x where the mask is true, 0 elsewhere
    "keep", ("x", "mask"), {"x": lambda g, F, mask: F.keep(g, mask)}, promotes=("x",),
    forward=lambda F, x, mask: F.xp.where(mask, x, F.of(x).zeros(())),
)  # fmt: skip
Composite("times_bar", ("x", "y"), lambda F, x, y: x * _bar(F, y), forward=_times_bar)
Composite("tanh_adjoint", ("x", "out"), lambda F, x, out: x * F.conj(1 - out * out))
declare_forward("mask_of", _mask_of)
indicator = Primitive(  # 1 where x is true, 0 elsewhere, in the dtype of y
    "indicator", ("x", "y"), {"x": CONSTANT, "y": CONSTANT},
    forward=lambda F, x, y: F.of(y).cast(x), promotes=(),
)  # fmt: skip


def only(name: str, highest: int, function: Callable[..., Any] | None = None) -> Any:
    """A function of numbers up to a kind; libraries disagree about what others would mean."""

    def forward(F: Any) -> Any:
        if F.kind > highest:
            raise _undefined(name, F)
        return getattr(F.xp, name) if function is None else bind(function, F)

    return forward


def _undefined(name: str, F: Any) -> DtypeError:
    fix = "convert the operands: pg.astype"
    if F.is_complex:
        fix = "complex numbers have no order: take pg.real, pg.imag or pg.abs first"
    return DtypeError(f"{name} is not defined for {F.dtype}", f"{name} on {F.device}", fix)


# ---- arithmetic -------------------------------------------------------------------------------
# fmt: off
add = binary("add", lambda g: g, lambda g: g, "x + y.",
             forward=operator.add, weak=True, kinds="ifc")
subtract = binary("subtract", lambda g: g, lambda g: -g, "x - y.",
                  forward=operator.sub, weak=True, kinds="ifc")
multiply = binary("multiply", lambda g, F, y: F.times_bar(g, y), lambda g, F, x: F.times_bar(g, x),
                  "x * y.", forward=operator.mul, weak=True, kinds="ifc")
negative = unary("negative", lambda g: -g, "-x.", forward=operator.neg, kinds="ifc")
positive = unary("positive", lambda g: g, "+x, a copy.", forward=operator.pos, kinds="ifc")
conj = unary("conj", lambda g, F: F.conj(g), "The complex conjugate of x.",
             forward=_conj, kinds="ifc")
square = unary("square", lambda g, F, x: g * F.conj(2 * x), "x * x.", kinds="ifc")

# ---- exponentials and logarithms --------------------------------------------------------------
exp = unary("exp", lambda g, F, out: g * F.conj(out), "e ** x.", floating=True)
expm1 = unary("expm1", lambda g, F, out: g * F.conj(out + 1), "e ** x - 1, precise near zero.",
              forward=_special_values.expm1, floating=True)
log = unary("log", lambda g, F, x: F.strong_divide(g, F.conj(x)), "The natural logarithm.",
            floating=True, domain=_POSITIVE)
log1p = unary("log1p", lambda g, F, x: F.strong_divide(g, F.conj(x + 1)),
              "log(1 + x), precise near zero.", forward=_special_values.log1p, floating=True,
              domain=(-0.8, 3.0))
log2 = unary("log2", lambda g, F, x: F.strong_divide(g, F.conj(x * math.log(2))),
             "The logarithm to base 2.", floating=True, domain=_POSITIVE)
log10 = unary("log10", lambda g, F, x: F.strong_divide(g, F.conj(x * math.log(10))),
              "The logarithm to base 10.", floating=True, domain=_POSITIVE)

# ---- trigonometric and hyperbolic functions: see Note [Sides of a cut] --------------------------
sin = unary("sin", lambda g, F, x: g * F.conj(F.cos(x)), "The sine.", floating=True)
cos = unary("cos", lambda g, F, x: g * F.conj(-F.sin(x)), "The cosine.", floating=True)
tan = unary("tan", lambda g, F, out: g * F.conj(out * out + 1), "The tangent.", floating=True,
            domain=(-1.2, 1.2))
sinh = unary("sinh", lambda g, F, x: g * F.conj(F.cosh(x)), "The hyperbolic sine.", floating=True)
cosh = unary("cosh", lambda g, F, x: g * F.conj(F.sinh(x)), "The hyperbolic cosine.",
             floating=True)
tanh = unary("tanh", lambda g, F, out: F.tanh_adjoint(g, out), "The hyperbolic tangent.",
             floating=True)
asin = unary("asin", lambda g, F, x: F.strong_divide(g, F.conj(F.sqrt(-(x - 1) * (x - -1)))),
             "The inverse sine.", floating=True, domain=_UNIT)
acos = unary("acos", lambda g, F, x: -F.strong_divide(g, F.conj(F.sqrt(-(x - 1) * (x - -1)))),
             "The inverse cosine.", floating=True, domain=_UNIT)
atan = unary("atan", lambda g, F, x: F.strong_divide(g, F.conj(x * x + 1)),
             "The inverse tangent.", floating=True)
asinh = unary("asinh", lambda g, F, x: F.strong_divide(g, F.conj(F.sqrt(x * x - -1))),
              "The inverse hyperbolic sine.", floating=True)
acosh = unary("acosh",
              lambda g, F, x: F.strong_divide(g, F.conj(F.sqrt(x - 1) * F.sqrt(x - -1))),
              "The inverse hyperbolic cosine.", floating=True, domain=(1.2, 4.0))
atanh = unary("atanh", lambda g, F, x: F.strong_divide(g, F.conj((1 - x) * (1 + x))),
              "The inverse hyperbolic tangent.", floating=True, domain=_UNIT)
# fmt: on

# ---- functions whose derivative is zero wherever it exists --------------------------------------
def _whole(name: str) -> Callable[..., Any]:
    """A rounding function of the library; integers are rounded already."""

    def forward(F: Any) -> Any:
        if not F.inexact:
            return lambda x: x
        return only(name, COMPLEX if name == "round" else REAL)(F)

    return forward


# fmt: off
floor = constant("floor", "The largest integer that is not above x.", forward=_whole("floor"))
ceil = constant("ceil", "The smallest integer that is not below x.", forward=_whole("ceil"))
trunc = constant("trunc", "The nearest integer towards zero.", forward=_whole("trunc"))
round = constant("round", "The nearest integer, of two the even one.", forward=_whole("round"),
                 kinds="ifc")
floor_divide = constant("floor_divide", "floor(x / y).", inputs=("x", "y"),
                        forward=only("floor_divide", REAL, _special_values.floor_divide),
                        domain=(_ANY, _POSITIVE))

# ---- quotients and roots: see Note [Strong zeros] -----------------------------------------------
divide = binary(
    "divide",
    lambda g, F, y: F.strong_divide(g, _bar(F, y)),
    lambda g, F, y, out: F.strong_multiply(-g, F.conj(out / y)),
    "x / y.", forward=operator.truediv, floating=True, weak=True, domain=(_ANY, _POSITIVE))
reciprocal = unary("reciprocal", lambda g, F, out: F.strong_multiply(-g, F.conj(out * out)),
                   "1 / x.", floating=True, domain=_POSITIVE)
sqrt = unary("sqrt", lambda g, F, out: F.strong_divide(g, F.conj(2 * out)), "The square root.",
             floating=True, domain=_POSITIVE)
remainder = binary("remainder", lambda g: g, lambda g, F, x, y: -g * F.floor_divide(x, y),
                   "x - floor(x / y) * y, which has the sign of y.",
                   forward=only("remainder", REAL, operator.mod), weak=True, kinds="if",
                   domain=(_ANY, _POSITIVE))
# fmt: on


# ---- powers -----------------------------------------------------------------------------------
def _pow(F: Any) -> Callable[[Any, Any], Any]:
    if F.kind != INTEGER:
        return operator.pow

    def integer(x: Any, y: Any) -> Any:
        """Libraries differ: some raise, some return 0."""
        below = y < 0
        if below if isinstance(below, bool) else F.backend.item(F.xp.any(below)):
            raise InvalidArgumentError(
                "an integer to a negative power is no integer", "pow, argument y",
                "convert x to a floating dtype first",
            )  # fmt: skip
        return x**y

    return integer


def _pow_x(g: Any, F: Any, x: Any, y: Any) -> Any:
    """y x^(y-1), and 0 for y = 0 also at x = 0."""
    if not hasattr(y, "shape"):
        if y == 0:
            return None
        if y == 1:
            return g
        return F.strong_multiply(g, F.conj(2 * x if y == 2 else x ** (y - 1) * y))
    return F.strong_multiply(g, F.conj(F.strong_multiply(y, x ** (y - 1))))


def _pow_y(g: Any, F: Any, x: Any, y: Any, out: Any) -> Any:
    """x^y log(x), and 0 for x = 0 unless y < 0."""
    if not hasattr(x, "shape"):
        if x == 0:
            return None
        if isinstance(x, complex):
            return g * F.conj(out) * _bar(F, cmath.log(x))
        return g * F.conj(out * (math.log(x) if x > 0 else _NAN))
    flat = x == 0
    if not is_complex(F, y):
        flat = flat & (y >= 0)
    return F.strong_multiply(g, F.conj(out * F.log(F.where(flat, 1, x))))


pow = binary(
    "pow", _pow_x, _pow_y, "x ** y.", forward=_pow, weak=True, kinds="fc",
    domain=(_POSITIVE, _ANY),
)  # fmt: skip


# ---- kinks: see Note [Kinks] --------------------------------------------------------------------
def _share(g: Any, F: Any, more: Any, less: Any) -> Any:
    """g where the operand was chosen, half of it where both are equal, or NaN."""
    return F.where(more, g, F.where(less, 0, g * 0.5))


maximum = binary(
    "maximum",
    lambda g, F, x, y: _share(g, F, x > y, x < y),
    lambda g, F, x, y: _share(g, F, y > x, y < x),
    "The larger of x and y.", weak=True, kinds="if",
    forward=only("maximum", REAL),
)  # fmt: skip
minimum = binary(
    "minimum",
    lambda g, F, x, y: _share(g, F, x < y, x > y),
    lambda g, F, x, y: _share(g, F, y < x, y > x),
    "The smaller of x and y.", weak=True, kinds="if",
    forward=only("minimum", REAL),
)  # fmt: skip


def _sign_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    """Zero for real x; for complex x what of g is perpendicular to x, over |x|, and 0 at 0."""
    if not is_complex(F, x):
        return None
    along = out * F.real(g * F.conj(out))
    return F.where(x == 0, 0, F.strong_divide(g - along, F.abs(x)))


abs = unary(
    "abs", lambda g, F, x: g * F.sign(x), "The absolute value, real also for complex x.",
    kinds="ifc",
)  # fmt: skip
sign = unary("sign", _sign_rule, "x / |x|, and 0 at 0.", forward=_special_values.sign, kinds="ifc")
copysign = binary(
    "copysign",
    lambda g, F, x, y: g * F.where(F.signbit(y), -F.sign(x), F.sign(x)),
    CONSTANT, "|x| with the sign of y.", floating=True, kinds="f",
)  # fmt: skip
nextafter = binary(
    "nextafter", lambda g: g, CONSTANT, "The next number after x towards y.", floating=True,
    kinds="f",
)  # fmt: skip


def _clip_forward(F: Any, x: Any, min: Any, max: Any) -> Any:
    """Where the bounds cross, the upper one wins; libraries differ."""
    if min is not None:
        x = F.maximum(x, min)
    return x if max is None else F.minimum(x, max)


def _clip_inside(g: Any, F: Any, x: Any, min: Any, max: Any) -> Any:
    if min is not None:
        g = F.where(x >= min, g, 0)
    return g if max is None else F.where(x <= max, g, 0)


def _clip_min(g: Any, F: Any, x: Any, min: Any, max: Any) -> Any:
    g = F.where(x < min, g, 0)
    return g if max is None else F.where(min <= max, g, 0)


def _clip_max(g: Any, F: Any, x: Any, min: Any, max: Any) -> Any:
    above = x > max
    if min is not None:
        above = above | (min > max)
    return F.where(above, g, 0)


_clip = Primitive(
    "clip", ("x", "min", "max"),
    {"x": _clip_inside, "min": _clip_min, "max": _clip_max},
    forward=_clip_forward, weak=True, elementwise=True,
)  # fmt: skip


@_table.public(
    samples=lambda s: [
        ((s.distinct(2, 3),), {"min": -0.5, "max": 0.7}),
        ((s.distinct(2, 3), s.interval(-2, -1, 3)), {"max": s.interval(1, 2, 2, 1)}),
        ((s.distinct(4),), {"max": 0.1}),
        ((s.real(),), {"min": -1}),
        ((s.real(0),), {"max": 1.0}),
    ],
    kinds="if",
    method=True,
)
def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """Limit every element to the interval from `min` to `max`.

    Parameters
    ----------
    x
        Real tensor of any shape.
    min, max
        Bounds, numbers or tensors that broadcast with x; None: no bound.

    Returns
    -------
    Tensor
        The broadcast shape. A number as bound does not change the dtype within a kind.

    Notes
    -----
    The derivative is 1 inside and on the bounds, 0 outside, where the bound has it.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.clip(pg.tensor([-1.0, 0.5, 3.0]), 0, 1)
    tensor([0. , 0.5, 1. ], dtype=float32)
    """
    x = as_tensor(x, "clip, argument x")
    if x.kernels.is_complex:
        raise _undefined("clip", x.kernels)
    if min is None and max is None:
        return positive(x)  # type: ignore[no-any-return]
    return _clip.call(x, min, max)  # type: ignore[no-any-return]


# ---- complex numbers ----------------------------------------------------------------------------
def _angle(F: Any) -> Callable[[Any], Any]:
    if F.is_complex:
        return lambda x: F.xp.atan2(F.xp.imag(x), F.xp.real(x))
    return lambda x: F.xp.atan2(F.xp.zeros_like(x), x)


def _angle_rule(g: Any, F: Any, x: Any) -> Any:
    """i x / |x|^2 without squaring, 0 at 0; zero for real x."""
    if not is_complex(F, x):
        return None
    return F.strong_divide(g * (F.sign(x) * 1j), F.abs(x))


angle = unary(
    "angle", _angle_rule, "The argument of a complex number, from -pi to pi.", forward=_angle,
    floating=True,
)  # fmt: skip


@_table.public(samples=lambda s: [((s.complex(2, 3),), {}), ((s.complex(),), {})], kinds="fc")
def real(x: Any, /) -> Tensor:
    """The real part: a view of a complex tensor, x itself if it is real.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.real(pg.tensor([1 + 2j]))
    tensor([1.], dtype=float32)
    """
    x = as_tensor(x, "real, argument x")
    return _real.view(x) if x.kernels.is_complex else x


@_table.public(samples=lambda s: [((s.complex(2, 3),), {}), ((s.complex(),), {})], kinds="fc")
def imag(x: Any, /) -> Tensor:
    """The imaginary part: a view of a complex tensor, zeros for a real one.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.imag(pg.tensor([1 + 2j]))
    tensor([2.], dtype=float32)
    """
    x = as_tensor(x, "imag, argument x")
    if x.kernels.is_complex:
        return _imag.view(x)
    return new_tensor(x.kernels.zeros(raw(x).shape), x.kernels)


# ---- functions of two numbers that are hard at special points -----------------------------------
def _over_square(g: Any, F: Any, part: Any, r: Any) -> Any:
    """g part / r^2 without squaring; 0 at the origin and at infinity."""
    r = F.where(r == 0, _INF, r)
    return g * (F.where(r == _INF, 0, part) / r) / r


def _atan2_x(g: Any, F: Any, x: Any, y: Any) -> Any:
    return _over_square(g, F, y, F.hypot(x, y))


def _atan2_y(g: Any, F: Any, x: Any, y: Any) -> Any:
    return _over_square(-g, F, x, F.hypot(x, y))


def _hypot_x(g: Any, F: Any, x: Any, out: Any) -> Any:
    """x / out; 0 at the origin; the sign of x where x is infinite."""
    infinite = F.isinf(out)
    share = F.where(infinite, 0, x) / F.where(out == 0, _INF, out)
    return g * F.where(infinite & F.isinf(x), F.sign(x), share)


def _hypot_y(g: Any, F: Any, y: Any, out: Any) -> Any:
    return _hypot_x(g, F, y, out)


def _logaddexp_x(g: Any, F: Any, x: Any, y: Any) -> Any:
    """The logistic function of x - y; infinities that meet share, a greater one takes all."""
    tie = F.isinf(x) & (x == y)
    d = F.where(tie, 0, y) - F.where(tie, 0, x)
    return g * F.exp(-F.logaddexp(d, 0.0))


def _logaddexp_y(g: Any, F: Any, x: Any, y: Any) -> Any:
    return _logaddexp_x(g, F, y, x)


atan2 = binary(
    "atan2", _atan2_x, _atan2_y, "The angle of the point (y, x), from -pi to pi.", floating=True,
    kinds="f", domain=(_POSITIVE, _ANY),
)  # fmt: skip
hypot = binary(
    "hypot", _hypot_x, _hypot_y,
    "sqrt(x * x + y * y) without overflow.", floating=True, kinds="f",
)  # fmt: skip
logaddexp = binary(
    "logaddexp", _logaddexp_x, _logaddexp_y, "log(exp(x) + exp(y)) without overflow.",
    floating=True, kinds="f",
)  # fmt: skip
