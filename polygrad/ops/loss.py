"""Loss functions of real targets: squares, absolute values, probabilities, likelihoods."""

from __future__ import annotations

import math
from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import broadcasts_to
from polygrad.ops._axes import as_tensor
from polygrad.ops.comparison import equal
from polygrad.ops.elementwise import abs as _abs
from polygrad.ops.elementwise import divide, exp, log, maximum, strong_multiply
from polygrad.ops.searching import where
from polygrad.ops.statistical import mean
from polygrad.ops.statistical import sum as _sum
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("loss", "nn.functional")


_WORDS = ("none", "mean", "sum")


def check_reduction(reduction: Any, where: str, known: tuple[str, ...] = _WORDS) -> None:
    """Refuse an unknown word.

    Raises
    ------
    InvalidArgumentError
        `reduction` is not one of `known`.
    """
    if reduction not in known:
        raise InvalidArgumentError(
            f"reduction={reduction!r} is unknown", f"{where}, argument reduction",
            "pass one of " + ", ".join(map(repr, known)),
        )  # fmt: skip


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """All elements, their mean or their sum."""
    if reduction == "none":
        return loss
    return mean(loss) if reduction == "mean" else _sum(loss)


def pair(input: Any, target: Any, reduction: Any, where: str) -> tuple[Tensor, Tensor]:
    """Input and target, of one shape unless the target is a number; the reduction is checked.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ; the reduction is unknown.
    """
    check_reduction(reduction, where)
    x, t = as_tensor(input, f"{where}, argument input"), target
    if isinstance(t, (bool, int, float)):
        return x, as_tensor(t, where)
    t = as_tensor(t, f"{where}, argument target")
    if t.shape != x.shape and t.ndim:
        raise ShapeError(
            f"input and target have the shapes {x.shape} and {t.shape}",
            f"{where}{describe([x, t])}",
            "they must be equal: reshape one, or broadcast it with pg.broadcast_to",
        )  # fmt: skip
    return x, t


def _weighted(loss: Tensor, weight: Any) -> Tensor:
    return loss if weight is None else loss * weight


# ---- primitives -------------------------------------------------------------------------------
def _huber(F: Any, x: Any, target: Any, delta: float) -> Any:
    """m (|d| - m / 2) with m = min(|d|, delta)."""
    d = F.xp.abs(x - target)
    m = F.xp.minimum(d, F.full((), delta))
    return m * (d - m * 0.5)


def _huber_slope(F: Any, x: Any, target: Any, delta: float) -> Any:
    return F.maximum(F.minimum(x - target, delta), -delta)


def _bce(F: Any, x: Any, target: Any) -> Any:
    """-t log x - (1 - t) log(1 - x), the logarithms not below -100."""
    return -(target * _bounded_log(F, x) + (1 - target) * _bounded_log(F, 1 - x))


def _bounded_log(F: Any, x: Any) -> Any:
    found = F.xp.log(F.xp.where(x == 0, F.ones(()), x))
    return F.xp.where(x == 0, F.full((), -100), F.xp.maximum(found, F.full((), -100)))


def _bce_logits(F: Any, x: Any, target: Any, weight: Any) -> Any:
    """(1 - t) log(1 + e^x) + w t log(1 + e^-x), with log(1 + e^-|x|) in common."""
    tail = F.xp.log1p(F.xp.exp(-F.xp.abs(x)))
    above = F.relu(x)
    zero = above - x + tail
    return (1 - target) * (above + tail) + (target if weight is None else weight * target) * zero


def _bce_logits_x(g: Any, F: Any, x: Any, target: Any, weight: Any) -> Any:
    one = target if weight is None else weight * target
    return g * ((1 - target) * F.sigmoid(x) - one * F.sigmoid(-x))


def _bce_logits_target(g: Any, F: Any, x: Any, weight: Any) -> Any:
    one = F.softplus(-x)
    return g * ((one if weight is None else weight * one) - F.softplus(x))


# fmt: off
_huber_primitive = Primitive(
    "huber", ("x", "target"),
    {
        "x": lambda g, F, x, target, delta: g * _huber_slope(F, x, target, delta),
        "target": lambda g, F, x, target, delta: -g * _huber_slope(F, x, target, delta),
    },
    forward=_huber, keywords={"delta": 1.0}, floating=True, elementwise=True,
)
_bce_primitive = Primitive(
    "binary_cross_entropy", ("x", "target"),
    {
        "x": lambda g, F, x, target: g * ((x - target) / F.maximum(x * (1 - x), 1e-12)),
        "target": lambda g, F, x: g * (F.bounded_log(1 - x) - F.bounded_log(x)),
    },
    forward=_bce, floating=True, elementwise=True,
)
_bounded_log_primitive = Primitive(
    "bounded_log", ("x",), {"x": lambda g, F, x: F.strong_divide(g * F.indicator(x > 0, g), x)},
    forward=_bounded_log,
)
_bce_logits_primitive = Primitive(
    "binary_cross_entropy_with_logits", ("x", "target", "weight"),
    {
        "x": _bce_logits_x, "target": _bce_logits_target,
        "weight": lambda g, F, x, target: g * target * F.softplus(-x),
    },
    forward=_bce_logits, floating=True, elementwise=True,
)
# fmt: on


# ---- what users call ----------------------------------------------------------------------------
def _pairs(s: Any) -> Any:
    """Every reduction; 0-d and empty tensors."""
    return [
        ((s.real(2, 3), s.real(2, 3)), {"reduction": "none"}), ((s.real(2, 3), s.real(2, 3)), {}),
        ((s.real(4), s.real(4)), {"reduction": "sum"}), ((s.real(), s.real()), {}),
        ((s.real(0, 2), s.real(0, 2)), {"reduction": "sum"}),
    ]  # fmt: skip


@_table.public(samples=lambda s: [*_pairs(s), ((s.real(3), s.real(3)), {"weight": s.positive(3)})])
def mse_loss(input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """Squared differences.

    Parameters
    ----------
    input, target
        Tensors of one shape.
    reduction
        `mean`, `sum`, or `none` for all elements.
    weight
        Multiplies the elements; the mean is then over the sum of the weights.

    Returns
    -------
    Tensor
        0-d, or of the shape of `input`.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.mse_loss(pg.tensor([1.0, 2.0]), pg.tensor([1.0, 0.0]))
    tensor(2., dtype=float32)
    """
    x, t = pair(input, target, reduction, "mse_loss")
    d = x - t
    return _weighted_mean(d * d, weight, reduction)


def _weighted_mean(loss: Tensor, weight: Any, reduction: str) -> Tensor:
    """The reduction of a weighted loss, its mean over the weights."""
    if weight is None:
        return reduced(loss, reduction)
    weights = as_tensor(weight, "argument weight")
    loss = loss * weights
    if reduction != "mean":
        return reduced(loss, reduction)
    return _sum(loss) / (_sum(weights) * (loss.size // max(weights.size, 1)))


@_table.public(samples=lambda s: [*_pairs(s), ((s.real(3), s.real(3)), {"weight": s.positive(3)})])
def l1_loss(input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """Absolute differences. Parameters and errors as of `mse_loss`.

    >>> import polygrad as pg
    >>> pg.nn.functional.l1_loss(pg.tensor([1.0, 2.0]), pg.tensor([1.0, 0.0]))
    tensor(1., dtype=float32)
    """
    x, t = pair(input, target, reduction, "l1_loss")
    return _weighted_mean(_abs(x - t), weight, reduction)


def check_delta(delta: float, where_: str) -> None:
    """Refuse what is no positive number."""
    if isinstance(delta, complex) or not delta > 0:
        raise InvalidArgumentError(
            f"delta={delta} is not positive", f"{where_}, argument delta", "pass a number > 0"
        )


@_table.public(samples=lambda s: [
    *_pairs(s), ((s.real(6), s.real(6)), {"delta": 0.4}),
    ((s.real(3), s.real(3)), {"weight": s.positive(3)}),
])  # fmt: skip
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Tensor:
    """d^2 / 2 where the difference d is less than delta, delta (|d| - delta / 2) elsewhere.

    Parameters and errors as of `mse_loss`; `delta` is positive.

    >>> import polygrad as pg
    >>> pg.nn.functional.huber_loss(pg.tensor([1.0, 3.0]), pg.tensor([1.0, 0.0]), reduction="sum")
    tensor(2.5, dtype=float32)
    """
    x, t = pair(input, target, reduction, "huber_loss")
    check_delta(delta, "huber_loss")
    return _weighted_mean(_huber_primitive.call(x, t, delta=float(delta)), weight, reduction)


@_table.public(samples=lambda s: [
    *_pairs(s), ((s.real(6), s.real(6)), {"beta": 0.4}), ((s.real(6), s.real(6)), {"beta": 0.0}),
])  # fmt: skip
def smooth_l1_loss(
    input: Any, target: Any, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """d^2 / (2 beta) where the difference d is less than beta, |d| - beta / 2 elsewhere.

    Parameters and errors as of `mse_loss`; `beta` of 0 gives `l1_loss`.

    >>> import polygrad as pg
    >>> pg.nn.functional.smooth_l1_loss(pg.tensor([3.0]), pg.tensor([0.0]), beta=2.0)
    tensor(2., dtype=float32)
    """
    x, t = pair(input, target, reduction, "smooth_l1_loss")
    if beta < 0:
        raise InvalidArgumentError(
            f"beta={beta} is negative", "smooth_l1_loss, argument beta", "pass a number >= 0"
        )
    if beta == 0:
        return reduced(_abs(x - t), reduction)
    return reduced(_huber_primitive.call(x, t, delta=float(beta)), reduction) / beta


def _probabilities(s: Any) -> Any:
    def unit(*shape: int) -> Any:
        return s.interval(0.05, 0.95, *shape)

    return [
        ((unit(2, 3), unit(2, 3)), {}), ((unit(4), unit(4)), {"reduction": "sum"}),
        ((unit(2, 3), unit(2, 3)), {"reduction": "none", "weight": s.positive(3)}),
    ]  # fmt: skip


@_table.public(samples=_probabilities)
def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """-t log(x) - (1 - t) log(1 - x) of probabilities x; the logarithms are not less than -100.

    For logits there is `binary_cross_entropy_with_logits`, which loses no digits.

    Parameters
    ----------
    input, target
        Probabilities, of one shape.
    weight
        Multiplies the elements; broadcasts.
    reduction
        `mean`, `sum`, or `none` for all elements.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.binary_cross_entropy(pg.tensor([0.5]), pg.tensor([1.0]))
    tensor(0.6931472, dtype=float32)
    """
    x, t = pair(input, target, reduction, "binary_cross_entropy")
    return reduced(_weighted(_bce_primitive.call(x, t), weight), reduction)


@_table.public(samples=lambda s: [
    *_probabilities(s), ((s.real(2, 3), s.interval(0.0, 1.0, 2, 3)), {"pos_weight": s.positive(3)}),
])  # fmt: skip
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Tensor:
    """-w t log(s) - (1 - t) log(1 - s) with s = sigmoid(x), without loss of digits.

    Parameters
    ----------
    input, target
        Logits x and probabilities t, of one shape.
    weight
        Multiplies the elements; broadcasts.
    reduction
        `mean`, `sum`, or `none` for all elements.
    pos_weight
        w, which multiplies the part of positive targets; broadcasts.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ; the reduction is unknown.

    Notes
    -----
    Derivative: (1 - t) s - w t (1 - s).

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.binary_cross_entropy_with_logits(pg.tensor([200.0]), pg.tensor([0.0]))
    tensor(200., dtype=float32)
    """
    x, t = pair(input, target, reduction, "binary_cross_entropy_with_logits")
    loss = _bce_logits_primitive.call(x, t, pos_weight)
    return reduced(_weighted(loss, weight), reduction)


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.positive(2, 3)), {}),
    ((s.real(2, 3), s.positive(2, 3)), {"reduction": "batchmean"}),
    ((s.real(2, 3), s.real(2, 3)), {"log_target": True, "reduction": "sum"}),
    ((s.real(3), s.positive(3)), {"reduction": "none"}),
])  # fmt: skip
def kl_div(
    input: Any, target: Any, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Kullback and Leibler's divergence t (log t - x) of log-probabilities x; 0 log 0 is 0.

    Parameters
    ----------
    input
        Logarithms of probabilities.
    target
        Probabilities; or their logarithms, with `log_target`.
    reduction
        `batchmean` (the sum over the length of the first axis: the divergence as it is defined),
        `mean`, `sum`, or `none` for all elements.
    log_target
        What `target` is.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.kl_div(pg.tensor([0.0]), pg.tensor([1.0]))
    tensor(0., dtype=float32)
    """
    check_reduction(reduction, "kl_div", ("none", "batchmean", "mean", "sum"))
    batch = reduction == "batchmean"
    x, t = pair(input, target, "sum" if batch else reduction, "kl_div")
    if log_target:
        loss = strong_multiply.call(exp(t), t - x)
    else:
        safe = where(equal(t, 0), 1, where(t < 0, math.nan, t))  # numbers beside t: its dtype
        loss = t * log(safe) - strong_multiply.call(t, x)
    if batch:
        return _sum(loss) / (x.shape[0] if x.ndim else 1)
    return reduced(loss, reduction)


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.positive(2, 3)), {}), ((s.positive(4), s.positive(4)), {"log_input": False}),
    ((s.real(4), s.interval(0.0, 5.0, 4)), {"full": True, "reduction": "sum"}),
])  # fmt: skip
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of counts of Poisson's distribution.

    Parameters
    ----------
    input
        The expected counts, or their logarithms.
    target
        The counts.
    log_input
        Whether `input` is logarithms: e^x - t x; otherwise x - t log(x + eps).
    full
        Whether to add Stirling's approximation t log t - t + log(2 pi t) / 2 where t > 1.
    eps
        Keeps the logarithm finite.
    reduction
        `mean`, `sum`, or `none` for all elements.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.poisson_nll_loss(pg.tensor([0.0]), pg.tensor([3.0]))
    tensor(1., dtype=float32)
    """
    x, t = pair(input, target, reduction, "poisson_nll_loss")
    loss = exp(x) - t * x if log_input else x - t * log(x + eps)
    if full:
        safe = where(t > 1, t, 1)
        loss = loss + where(t > 1, t * log(safe) - t + 0.5 * log(2 * math.pi * safe), 0)
    return reduced(loss, reduction)


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.real(2, 3), s.positive(2, 3)), {}),
    ((s.real(2, 3), s.real(2, 3), s.positive(2, 1)), {"full": True, "reduction": "none"}),
    ((s.real(2, 3), s.real(2, 3), s.positive(2)), {"eps": 0.5, "reduction": "sum"}),
])  # fmt: skip
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of values of normal distributions.

    (log(v) + (x - t)^2 / v) / 2 with v = max(var, eps), whose gradient ignores the bound.

    Parameters
    ----------
    input, target
        Means and values, which broadcast against each other.
    var
        Variances: of their broadcast shape, or one that broadcasts to it, or without its last axis;
        a number.
    full
        Whether to add the constant log(2 pi) / 2.
    eps
        Bounds the variances from below.
    reduction
        `mean`, `sum`, or `none` for all elements.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes do not fit; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> one = pg.tensor([1.0])
    >>> pg.nn.functional.gaussian_nll_loss(one, 3 * one, one)
    tensor(2., dtype=float32)
    """
    x = as_tensor(input, "gaussian_nll_loss, argument input")
    t = as_tensor(target, "gaussian_nll_loss, argument target")
    check_reduction(reduction, "gaussian_nll_loss")
    d = x - t
    v = as_tensor(var, "gaussian_nll_loss, argument var")
    if v.shape == d.shape[:-1] and v.shape != d.shape:
        v = v[..., None]
    if not broadcasts_to(v.shape, d.shape):
        raise ShapeError(
            f"variances of shape {v.shape} for values of {d.shape}",
            f"gaussian_nll_loss{describe([x, t, v])}",
            "pass one for each value, or one for each lane along the last axis",
        )  # fmt: skip
    v = v + (maximum(v, eps) - v).detach()
    loss = 0.5 * (log(v) + divide(d * d, v))
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)
