"""Activation functions: rows for those without parameters, then those with.

Forwards are written so that nothing overflows, and infinities give their limits: `exp` sees
negative numbers only, and `finite` keeps infinite operands out of products with zero.

Note [Masks in rules]
---------------------
A gradient is chosen by `keep(g, mask)`, not by `where(mask, g, 0)`, for which NumPy has a kernel
that costs a fifth to a twentieth where the mask is random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from polygrad import dtypes
from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axis, widened, written
from polygrad.ops.manipulation import reshape
from polygrad.ops.searching import where
from polygrad.primitive import Composite, Primitive, Rule
from polygrad.tensor import Tensor

_table = Chapter("activation", "nn.functional")

_DOC = """{summary}

Parameters
----------
input
    Tensor of any shape. Integers are computed in the default floating dtype.
inplace
    Write the result to `input`, and return it.

Returns
-------
Tensor
    Of the shape of `input`.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.{name}(pg.tensor([-1.0, 0.0, 2.0])).shape
(3,)
"""


# ---- what forwards and rules are made of --------------------------------------------------------
def _finite(F: Any) -> Callable[[Any], Any]:
    """Infinities become the largest finite numbers; complex ones stay, which have no order."""
    if F.is_complex:
        return F.backend.copy  # type: ignore[no-any-return]
    largest = dtypes.largest(F.dtype) if F.inexact else 0.0
    low, high = F.full((), -largest), F.full((), largest)
    return lambda x: F.xp.minimum(F.xp.maximum(x, low), high)


def _relu(F: Any) -> Callable[[Any], Any]:
    """The greater of x and a zero made once."""
    maximum, zero = F.xp.maximum, F.zeros(())
    return lambda x: maximum(x, zero)


def positive_part(F: Any, x: Any) -> Any:
    """max(x, 0)."""
    return F.relu(x)


def negative_part(F: Any, x: Any) -> Any:
    """min(x, 0)."""
    return F.xp.minimum(x, F.zeros(()))


def _pick(F: Any, mask: Any, g: Any, other: Any) -> Any:
    """The product with 1 where mask is true, with `other` elsewhere; see Note [Masks in rules]."""
    chosen = F.indicator(mask, g)
    return g * (chosen + other * (1 - chosen))


def _bounded_below(F: Any) -> Callable[[Any], Any]:
    """-inf becomes the least finite number; of complex numbers, none does."""
    if F.is_complex:
        return F.backend.copy  # type: ignore[no-any-return]
    low = F.full((), -dtypes.largest(F.dtype) if F.inexact else 0.0)
    return lambda x: F.xp.maximum(x, low)


finite = Primitive("finite", ("x",), {"x": lambda g: g}, forward=_finite, floating=True)
bounded_below = Primitive(
    "bounded_below", ("x",), {"x": lambda g: g}, forward=_bounded_below, floating=True
)


def _row(
    name: str, rule: Rule, summary: str, forward: Callable[..., Any], real: bool = True
) -> Callable[..., Tensor]:
    """An activation without parameters: its primitive, and the function users call."""
    call = Primitive(name, ("x",), {"x": rule}, forward=forward, floating=True, real=real).call

    def function(input: Any, inplace: bool = False) -> Tensor:
        out: Tensor = call(input)
        return written(input, out, inplace) if inplace else out

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(summary=summary, name=name)
    return _table.public(samples=lambda s: [
        ((s.real(2, 3),), {}), ((s.real(),), {}), ((s.real(0, 2),), {}),
    ])(function)  # fmt: skip


# ---- rows ---------------------------------------------------------------------------------------
def _sigmoid(F: Any, x: Any) -> Any:
    """e^min(x, 0) / (1 + e^-|x|); of complex numbers 1 / (1 + e^-x)."""
    if F.is_complex:
        return 1 / (F.xp.exp(-x) + 1)
    return F.xp.exp(negative_part(F, x)) / (F.xp.exp(-F.xp.abs(x)) + 1)


def _softplus(F: Any, x: Any) -> Any:
    """max(x, 0) + log(1 + e^-|x|)."""
    return positive_part(F, x) + F.xp.log1p(F.xp.exp(-F.xp.abs(x)))


def _silu_slope(F: Any, x: Any) -> Any:
    s = F.sigmoid(x)
    return s * (1 + F.finite(x) * (1 - s))


def _mish_rule(g: Any, F: Any, x: Any) -> Any:
    t = F.tanh(F.softplus(x))
    return g * (t + F.finite(x) * F.sigmoid(x) * (1 - t * t))


def _hardswish_rule(g: Any, F: Any, x: Any) -> Any:
    """0, x / 3 + 1 / 2, 1."""
    inside = F.indicator((x >= -3) & (x <= 3), g)
    return g * (inside * (F.finite(x) / 3 + 0.5) + F.indicator(x > 3, g))


def _softsign(F: Any, x: Any) -> Any:
    x = F.finite(x)
    return x / (F.xp.abs(x) + 1)


def _hardswish(F: Any, x: Any) -> Any:
    x = F.bounded_below(x)
    return x * F.xp.minimum(positive_part(F, x / 6 + 0.5), F.ones(()))


# fmt: off
relu = _row("relu", lambda g, F, out_mask: F.keep(g, out_mask), "max(x, 0).", _relu)
sigmoid = _row("sigmoid", lambda g, F, out: g * F.conj(out * (1 - out)), "1 / (1 + e^-x).",
               _sigmoid, real=False)
_softplus_primitive = Primitive("softplus", ("x",), {"x": lambda g, F, x: g * F.sigmoid(x)},
                                forward=_softplus, floating=True, real=True)
logsigmoid = _row("logsigmoid", lambda g, F, x: g * F.sigmoid(-x), "log(sigmoid(x)), without loss.",
                  lambda F, x: -F.softplus(-x))
silu = _row("silu", lambda g, F, x: g * F.conj(F.silu_slope(x)), "x sigmoid(x), also called swish.",
            lambda F, x: F.bounded_below(x) * F.sigmoid(x), real=False)
mish = _row("mish", _mish_rule, "x tanh(log(1 + e^x)).",
            lambda F, x: F.bounded_below(x) * F.xp.tanh(F.softplus(x)))
softsign = _row("softsign", lambda g, F, x: g / F.square(1 + F.abs(x)), "x / (1 + |x|).", _softsign)
hardswish = _row("hardswish", _hardswish_rule, "x min(max(x + 3, 0), 6) / 6.", _hardswish)
tanhshrink = _row("tanhshrink", lambda g, F, x: g * F.conj(F.square(F.tanh(x))), "x - tanh(x).",
                  lambda F, x: x - F.xp.tanh(x), real=False)
# fmt: on


Composite("silu_slope", ("x",), _silu_slope)


# ---- gelu ---------------------------------------------------------------------------------------
_SLOPE, _CUBIC, _TAIL = math.sqrt(2 / math.pi), 0.044715, 30.0


def _gelu(F: Any, x: Any) -> Any:
    """x times the normal distribution function, erfc(-x / sqrt 2) / 2."""
    return F.bounded_below(x) * (F.erfc(x * -math.sqrt(0.5)) * 0.5)


def _gelu_slope(F: Any, x: Any) -> Any:
    density = F.exp(-0.5 * F.square(x)) * (_SLOPE / 2)
    return 0.5 * F.erfc(x * -math.sqrt(0.5)) + F.finite(x) * density


def _gelu_tanh(F: Any, x: Any) -> Any:
    """x sigmoid(2 u), which is x (1 + tanh(u)) / 2, with u = sqrt(2 / pi) (x + 0.044715 x^3)."""
    y = F.xp.minimum(F.xp.maximum(x, F.full((), -_TAIL)), F.full((), _TAIL))
    return F.bounded_below(x) * F.sigmoid((y * y * y * _CUBIC + y) * (2 * _SLOPE))


def _gelu_tanh_slope(F: Any, x: Any) -> Any:
    y = F.minimum(F.maximum(x, -_TAIL), _TAIL)
    square = y * y
    s = F.sigmoid((square * _CUBIC + 1) * y * (2 * _SLOPE))
    inner = (square * (3 * _CUBIC) + 1) * (2 * _SLOPE)
    return s + F.finite(x) * s * (1 - s) * inner


_gelu_primitive = Primitive(
    "gelu", ("x",), {"x": lambda g, F, x: g * F.gelu_slope(x)}, forward=widened(_gelu),
    floating=True, real=True,
)
_gelu_tanh_primitive = Primitive(
    "gelu_tanh", ("x",), {"x": lambda g, F, x: g * F.gelu_tanh_slope(x)},
    forward=widened(_gelu_tanh), floating=True, real=True,
)
Composite("gelu_slope", ("x",), _gelu_slope)
Composite("gelu_tanh_slope", ("x",), _gelu_tanh_slope)


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(),), {}), ((s.real(3),), {"approximate": "tanh"}),
])  # fmt: skip
def gelu(input: Any, approximate: str = "none") -> Tensor:
    """x times the probability that a standard normal number is less than x.

    Parameters
    ----------
    input
        Tensor of any shape.
    approximate
        `none`, or `tanh` for the formula x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.

    Raises
    ------
    InvalidArgumentError
        `approximate` is another word.

    >>> import polygrad as pg
    >>> pg.nn.functional.gelu(pg.tensor([0.0, 100.0]))
    tensor([  0., 100.], dtype=float32)
    """
    if approximate not in ("none", "tanh"):
        raise InvalidArgumentError(
            f"approximate={approximate!r} is unknown", "gelu, argument approximate",
            "pass 'none' or 'tanh'",
        )  # fmt: skip
    chosen = _gelu_primitive if approximate == "none" else _gelu_tanh_primitive
    return chosen.call(input)  # type: ignore[no-any-return]


# ---- with parameters ----------------------------------------------------------------------------
def _elu(F: Any, x: Any, alpha: float, scale: float, rate: float) -> Any:
    """With s the scale, s (max(x, 0) + alpha (e^min(rate x, 0) - 1))."""
    out = positive_part(F, x) + F.xp.expm1(negative_part(F, x) * rate) * alpha
    return out if scale == 1 else out * scale


def _elu_rule(g: Any, F: Any, x: Any, alpha: float, scale: float, rate: float) -> Any:
    return scale * _pick(F, x > 0, g, alpha * rate * F.exp(F.minimum(x, 0) * rate))


# fmt: off
_elu_primitive = Primitive(
    "elu", ("x",), {"x": _elu_rule}, forward=_elu, floating=True, real=True,
    keywords={"alpha": 1.0, "scale": 1.0, "rate": 1.0},
)
_leaky_relu = Primitive(
    "leaky_relu", ("x",), {"x": lambda g, F, x, slope: _pick(F, x > 0, g, slope)},
    forward=lambda F, x, slope: positive_part(F, x) + negative_part(F, x) * slope,
    floating=True, real=True, keywords={"slope": 0.01},
)
prelu_primitive = Primitive(
    "prelu", ("x", "weight"),
    {
        "x": lambda g, F, x, weight: _pick(F, x > 0, g, weight),
        "weight": lambda g, F, x: g * F.minimum(x, 0),
    },
    forward=lambda F, x, weight: positive_part(F, x) + weight * negative_part(F, x), floating=True,
    real=True,
)
_hardtanh = Primitive(
    "hardtanh", ("x",),
    {"x": lambda g, F, x, low, high: F.keep(g, ~((x <= low) | (x >= high)))},
    forward=lambda F, x, low, high: F.xp.minimum(
        F.xp.maximum(x, F.full((), low)), F.full((), high)),
    floating=True, real=True, keywords={"low": -1.0, "high": 1.0},
)
_threshold = Primitive(
    "threshold", ("x",),
    {"x": lambda g, F, x, threshold: F.keep(g, x > threshold)},
    forward=lambda F, x, threshold, value: F.xp.where(x > threshold, x, F.full((), value)),
    floating=True, real=True, keywords={"threshold": 0.0, "value": 0.0},
)
# fmt: on


def line_samples(s: Any) -> Any:
    """Arguments of functions of one input."""
    return [((s.real(2, 3),), {}), ((s.real(),), {}), ((s.real(0, 2),), {})]


@_table.public(samples=lambda s: [*line_samples(s), ((s.real(3),), {"alpha": 1.7})])
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for x > 0, alpha (e^x - 1) for others.

    >>> import polygrad as pg
    >>> pg.nn.functional.elu(pg.tensor([1.0, 0.0]))
    tensor([1., 0.], dtype=float32)
    """
    return written(input, _elu_primitive.call(input, alpha=alpha), inplace)


@_table.public(samples=lambda s: [*line_samples(s), ((s.real(3),), {"alpha": 1.7})])
def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for x > 0, alpha (e^(x / alpha) - 1) for others.

    >>> import polygrad as pg
    >>> pg.nn.functional.celu(pg.tensor([1.0, 0.0]))
    tensor([1., 0.], dtype=float32)

    Raises
    ------
    InvalidArgumentError
        `alpha` is zero.
    """
    if not alpha:
        raise InvalidArgumentError("alpha is zero", "celu, argument alpha", "pass another number")
    out = _elu_primitive.call(input, alpha=alpha, rate=1 / alpha)
    return written(input, out, inplace)


@_table.public(samples=line_samples)
def selu(input: Any, inplace: bool = False) -> Tensor:
    """1.0507 x for x > 0, 1.0507 * 1.6733 (e^x - 1) for others.

    The two constants, here rounded, are those of Klambauer, Unterthiner, Mayr, Hochreiter,
    "Self-normalizing neural networks", 2017.

    >>> import polygrad as pg
    >>> pg.nn.functional.selu(pg.tensor([1.0, 0.0]))
    tensor([1.050701, 0.      ], dtype=float32)
    """
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return written(input, _elu_primitive.call(input, alpha=alpha, scale=scale), inplace)


@_table.public(samples=lambda s: [*line_samples(s), ((s.real(3),), {"negative_slope": 0.3})])
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x for x > 0, negative_slope x for others.

    >>> import polygrad as pg
    >>> pg.nn.functional.leaky_relu(pg.tensor([1.0, -1.0]))
    tensor([ 1.  , -0.01], dtype=float32)
    """
    return written(input, _leaky_relu.call(input, slope=negative_slope), inplace)


@_table.public(samples=lambda s: [
    ((s.real(2, 3, 2), s.real(3)), {}), ((s.real(4), s.real(1)), {}), ((s.real(), s.real(1)), {}),
])  # fmt: skip
def prelu(input: Any, weight: Any) -> Tensor:
    """x for x > 0, weight x for others; one weight, or one for each channel (axis 1).

    >>> import polygrad as pg
    >>> pg.nn.functional.prelu(pg.tensor([[1.0, -1.0]]), pg.tensor([0.1, 0.2]))
    tensor([[ 1. , -0.2]], dtype=float32)

    Raises
    ------
    ShapeError
        There is neither one weight nor one for each channel.
    """
    x, w = as_tensor(input, "prelu, argument input"), as_tensor(weight, "prelu, argument weight")
    channels = x.shape[1] if x.ndim > 1 else 1
    if w.ndim > 1 or w.size not in (1, channels):
        raise ShapeError(
            f"a weight of shape {w.shape} for {channels} channels", f"prelu{describe([x, w])}",
            "pass one weight, or one for each channel",
        )  # fmt: skip
    shape = (-1, *(1,) * (x.ndim - 2)) if w.size > 1 else ()
    return prelu_primitive.call(x, reshape(w, shape))  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    *line_samples(s), ((s.real(4),), {"min_val": -0.5, "max_val": 2.0}),
])  # fmt: skip
def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x limited to [min_val, max_val]; the derivative on the bounds is zero.

    >>> import polygrad as pg
    >>> pg.nn.functional.hardtanh(pg.tensor([-3.0, 0.5]))
    tensor([-1. ,  0.5], dtype=float32)

    Raises
    ------
    InvalidArgumentError
        The bounds are the wrong way round.
    """
    if not min_val <= max_val:
        raise InvalidArgumentError(
            f"no interval: min_val={min_val}, max_val={max_val}", "hardtanh",
            "pass min_val <= max_val",
        )  # fmt: skip
    out = _hardtanh.call(input, low=float(min_val), high=float(max_val))
    return written(input, out, inplace)


@_table.public(samples=line_samples)
def relu6(input: Any, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6).

    >>> import polygrad as pg
    >>> pg.nn.functional.relu6(pg.tensor([-3.0, 7.0]))
    tensor([0., 6.], dtype=float32)
    """
    return written(input, _hardtanh.call(input, low=0.0, high=6.0), inplace)


@_table.public(samples=line_samples)
def hardsigmoid(input: Any, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6.

    >>> import polygrad as pg
    >>> pg.nn.functional.hardsigmoid(pg.tensor([-3.0, 0.0]))
    tensor([0. , 0.5], dtype=float32)
    """
    out = _hardtanh.call(as_tensor(input, "hardsigmoid, argument input") + 3, low=0.0, high=6.0) / 6
    return written(input, out, inplace)


@_table.public(samples=lambda s: [((s.real(2, 3), 0.4, -7.0), {})])
def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x for x > threshold, value for others.

    >>> import polygrad as pg
    >>> pg.nn.functional.threshold(pg.tensor([0.0, 2.0]), 1.0, -1.0)
    tensor([-1.,  2.], dtype=float32)
    """
    out = _threshold.call(input, threshold=float(threshold), value=float(value))
    return written(input, out, inplace)


@_table.public(samples=lambda s: [
    *line_samples(s), ((s.real(4),), {"beta": 2.5}), ((s.real(4),), {"beta": 2, "threshold": 0.1}),
])  # fmt: skip
def softplus(input: Any, beta: float = 1.0, threshold: float | None = None) -> Tensor:
    """log(1 + e^(beta x)) / beta, exact for every x.

    A `threshold` makes it x itself where beta x is greater; without one nothing overflows either.

    >>> import polygrad as pg
    >>> pg.nn.functional.softplus(pg.tensor([0.0, 1000.0]))
    tensor([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    x = as_tensor(input, "softplus, argument input")
    out: Tensor = _softplus_primitive.call(x if beta == 1 else x * beta)
    out = out if beta == 1 else out / beta
    return out if threshold is None else where(x.detach() * beta > threshold, x, out)


@_table.public(samples=lambda s: [((s.real(2, 4),), {}), ((s.real(4, 3),), {"axis": 0})])
def glu(input: Any, axis: int = -1) -> Tensor:
    """The first half along `axis` times the sigmoid of the second.

    >>> import polygrad as pg
    >>> pg.nn.functional.glu(pg.tensor([4.0, 0.0]))
    tensor([2.], dtype=float32)

    Raises
    ------
    ShapeError
        The length of the axis is odd.
    """
    x = as_tensor(input, "glu, argument input")
    axis = normalize_axis(axis, x.ndim, "glu")
    n = x.shape[axis]
    if n % 2:
        raise ShapeError(
            f"an axis of odd length {n}", f"glu{describe([x])}, argument axis={axis}",
            "it must be even, to be halved",
        )  # fmt: skip
    lead = (slice(None),) * axis
    return x[(*lead, slice(0, n // 2))] * sigmoid(x[(*lead, slice(n // 2, n))])
