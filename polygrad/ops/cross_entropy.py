"""Cross entropy and the negative log-likelihood of classes.

Note [Cross entropy]
--------------------
Of class indices, without weights and smoothing, it is one primitive. It is given the logits and,
computed before, their log_softmax, so that its rule `(softmax - one-hot) g` takes one exponential.
The log_softmax is an input without a rule: as a function of the logits it is differentiated in the
rules of `cross_entropy_slope`. Rows to be ignored may hold anything: their gradient is exactly 0.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import INTEGER, REAL
from polygrad.errors import DtypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from polygrad.families import Chapter
from polygrad.late_checks import check_later, is_late
from polygrad.ops._axes import as_tensor
from polygrad.ops.comparison import not_equal
from polygrad.ops.creation import as_floating, to_place
from polygrad.ops.elementwise import maximum, strong_multiply
from polygrad.ops.indexing import take, take_along_axis
from polygrad.ops.linear_algebra import linear
from polygrad.ops.loss import check_reduction, reduced
from polygrad.ops.manipulation import expand_dims, reshape, squeeze
from polygrad.ops.searching import where
from polygrad.ops.softmax import log_softmax_primitive
from polygrad.ops.statistical import mean
from polygrad.ops.statistical import sum as _sum
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor, new_tensor, raw

_table = Chapter("cross_entropy", "nn.functional")


# ---- raw arrays: classes along axis 1 -----------------------------------------------------------
def _kept(F: Any, target: Any, ignore_index: int | None) -> tuple[Any, Any]:
    """Which targets count (None: all), and the targets with 0 in place of the others."""
    if ignore_index is None:
        return None, target
    keep = target != ignore_index
    return keep, F.xp.where(keep, target, F.of(target).zeros(()))


def _cross_entropy(
    F: Any, x: Any, target: Any, logs: Any, ignore_index: int | None, total: Any
) -> Any:
    """Minus the logs of the targets' classes; their sum over `total`, if there is one."""
    del x
    keep, safe = _kept(F, target, ignore_index)
    picked = F.take_along_axis(logs, F.expand_dims(safe, axis=1), axis=1)
    loss = -F.squeeze(picked, axis=1)
    if keep is not None:
        loss = F.xp.where(keep, loss, F.zeros(()))
    return loss if total is None else F.coerce(F.sum(loss)) / total


def _slope(F: Any, x: Any, target: Any, logs: Any, ignore_index: int | None) -> Any:
    """softmax - one-hot, 0 where the target is ignored."""
    del x
    classes = F.of(target).from_numpy(range(logs.shape[1]))
    classes = F.xp.reshape(classes, (-1, *(1,) * (logs.ndim - 2)))
    target = F.expand_dims(target, axis=1)
    soft = F.xp.exp(logs)
    slope = F.xp.where(target == classes, soft - 1, soft)
    return slope if ignore_index is None else (
        F.xp.where(target == ignore_index, F.zeros(()), slope)
    )  # fmt: skip


def _share(F: Any, g: Any, total: Any) -> Any:
    """The cotangent of every target, to be multiplied with its slopes; none if none counts."""
    if total is None:
        return F.expand_dims(g, axis=1)
    return g * 0 if math.isnan(total) else g / total


def _slope_x(g: Any, F: Any, x: Any, target: Any, ignore_index: int | None) -> Any:
    soft = F.softmax(x, axis=1)
    slope = soft * (g - F.sum(soft * g, axis=1, keepdims=True))
    if ignore_index is None:
        return slope
    return F.where(F.expand_dims(target, axis=1) == ignore_index, 0, slope)


# fmt: off
_cross_entropy_primitive = Primitive(
    "cross_entropy", ("x", "target", "logs"),
    {"x": lambda g, F, x, target, logs, ignore_index, total: F.cross_entropy_slope(
        x, target, logs, ignore_index=ignore_index) * _share(F, g, total)},
    forward=_cross_entropy, keywords={"ignore_index": None, "total": None}, promotes=("x", "logs"),
)
_slope_primitive = Primitive(
    "cross_entropy_slope", ("x", "target", "logs"), {"x": _slope_x},
    forward=_slope, keywords={"ignore_index": None}, promotes=("x", "logs"),
)
# fmt: on


# ---- checks -------------------------------------------------------------------------------------
def _with_batch(input: Any, target: Any, where_: str) -> tuple[Tensor, Tensor, bool]:
    """Input and target with a batch axis, and whether it was added."""
    x = as_tensor(input, f"{where_}, argument input")
    t = as_tensor(target, f"{where_}, argument target")
    if not x.ndim:
        raise ShapeError(
            "a 0-d input has no classes", f"{where_}{describe([x, t])}",
            "its axes are (batch, classes, …), or (classes,)",
        )  # fmt: skip
    if x.ndim > 1:
        return x, t, False
    return reshape(x, (1, *x.shape)), reshape(t, (1, *t.shape)), True


def _check_classes(x: Tensor, t: Tensor, ignore_index: int, where_: str) -> int | None:
    """Refuse targets that are no classes; how many of them count, None if only the device knows."""
    if t.kernels.kind != INTEGER:
        raise DtypeError(
            f"targets of dtype {t.dtype}", f"{where_}{describe([x, t])}",
            "pass class indices as integers: target.to(pg.int64); or, to cross_entropy, floating "
            "probabilities in the input's shape",
        )  # fmt: skip
    if t.shape != (x.shape[0], *x.shape[2:]):
        raise ShapeError(
            f"targets of shape {t.shape} for an input of shape {x.shape}",
            f"{where_}{describe([x, t])}",
            f"class indices have the input's shape without axis 1: {(x.shape[0], *x.shape[2:])}",
        )  # fmt: skip
    if not t.size:
        return 0
    classes = x.shape[1]
    k, array = t.kernels, raw(t)
    if is_late(k.backend):
        safe = k.xp.where(array == ignore_index, k.zeros(()), array)
        check_later(k, safe, 0, classes, f"{where_}{describe([x, t])}, of the target")
        return None
    low, high = k.index_range(array)
    if low >= 0 and high < classes and not 0 <= ignore_index < classes:
        return t.size
    host = t.kernels.backend.to_numpy(array)
    wrong = host[((host < 0) | (host >= classes)) & (host != ignore_index)]
    if wrong.size:
        raise OutOfRangeError(
            f"the target {int(wrong[0])} is no class", f"{where_}{describe([x, t])}",
            f"classes go from 0 to {classes - 1}; ignore_index is {ignore_index}",
        )  # fmt: skip
    return int((host != ignore_index).sum())


def check_smoothing(smoothing: float, where_: str) -> None:
    """Refuse shares that are none."""
    if not 0 <= smoothing <= 1:
        raise InvalidArgumentError(
            f"label_smoothing={smoothing} is not in [0, 1]",
            f"{where_}, argument label_smoothing", "pass a number in [0, 1]",
        )  # fmt: skip


def _check_weight(weight: Any, x: Tensor, where_: str) -> Tensor | None:
    """Class weights, one for each class."""
    if weight is None:
        return None
    w = as_tensor(weight, f"{where_}, argument weight")
    if w.shape != (x.shape[1],):
        raise ShapeError(
            f"weights of shape {w.shape} for {x.shape[1]} classes", f"{where_}{describe([x, w])}",
            "pass one weight for each class",
        )  # fmt: skip
    return w


def _log_softmax(x: Tensor) -> Tensor:
    return log_softmax_primitive.call(x, axis=1)  # type: ignore[no-any-return]


def _by_class(w: Tensor, x: Tensor) -> Tensor:
    """Class weights that broadcast against x."""
    return reshape(w, (-1, *(1,) * (x.ndim - 2)))


# ---- class indices ------------------------------------------------------------------------------
def _picked(
    logs: Tensor, t: Tensor, w: Tensor | None, ignore_index: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Minus the weighted logs of the targets' classes; the weights used; which targets count."""
    keep = not_equal(t, ignore_index)
    safe = where(keep, t, 0)
    loss = -squeeze(take_along_axis(logs, expand_dims(safe, axis=1), axis=1), axis=1)
    used = to_place(keep, logs.dtype) if w is None else where(keep, take(w, safe, axis=0), 0)
    loss = where(keep, loss, 0)
    return (loss if w is None else loss * used), used, keep


def _plain(
    x: Tensor, t: Tensor, ignore_index: int, reduction: str, count: int | None
) -> Tensor:
    """See Note [Cross entropy]."""
    k = x.kernels
    logs = new_tensor(k.coerce(k.log_softmax(raw(x), axis=1)), k)
    if count is None and reduction == "mean":
        each = _cross_entropy_primitive.call(x, t, logs, ignore_index=ignore_index, total=None)
        number = _sum(to_place(not_equal(t, ignore_index), x.dtype))
        mean_: Tensor = where(number > 0, _sum(each) / maximum(number, 1), float("nan"))
        return mean_
    total = {"none": None, "mean": count or float("nan"), "sum": 1}[reduction]
    ignored = None if count == t.size else ignore_index
    return _cross_entropy_primitive.call(x, t, logs, ignore_index=ignored, total=total)  # type: ignore[no-any-return]


def _smoothed(
    x: Tensor, t: Tensor, w: Tensor | None, ignore_index: int, reduction: str, smoothing: float
) -> Tensor:
    """With weights and smoothing: both parts share the mean's denominator, the weights used."""
    x = where(expand_dims(not_equal(t, ignore_index), axis=1), x, 0)
    logs = _log_softmax(x)
    loss, used, keep = _picked(logs, t, w, ignore_index)
    if smoothing:
        spread = -_sum(logs if w is None else logs * _by_class(w, logs), axis=1)
        spread = where(keep, spread, 0)
        loss = (1 - smoothing) * loss + (smoothing / x.shape[1]) * spread
    if reduction == "mean":
        return _sum(loss) / _sum(used)
    return reduced(loss, reduction)


def _distributions(
    x: Tensor, t: Tensor, w: Tensor | None, ignore_index: int, reduction: str, smoothing: float
) -> Tensor:
    """Targets are probabilities of the classes; 0 log 0 is 0."""
    if ignore_index >= 0:
        raise InvalidArgumentError(
            f"ignore_index={ignore_index} with probabilities as targets",
            f"cross_entropy{describe([x, t])}, argument ignore_index",
            "leave it out; or pass the targets as class indices",
        )  # fmt: skip
    if t.shape != x.shape:
        raise ShapeError(
            f"probabilities of shape {t.shape} for an input of shape {x.shape}",
            f"cross_entropy{describe([x, t])}", "they must have the input's shape",
        )  # fmt: skip
    if smoothing:
        t = t * (1 - smoothing) + smoothing / x.shape[1]
    loss = -strong_multiply.call(t, _log_softmax(x))
    if w is not None:
        loss = loss * _by_class(w, x)
    loss = _sum(loss, axis=1)
    return mean(loss) if reduction == "mean" else reduced(loss, reduction)


# ---- what users call ----------------------------------------------------------------------------
def _samples(s: Any) -> Any:
    def classes(*shape: int) -> Any:
        return s.integers(*shape, low=0, high=3)

    return [
        ((s.real(4, 3), classes(4)), {}), ((s.real(4, 3), classes(4)), {"reduction": "none"}),
        ((s.real(2, 3, 5), classes(2, 5)), {"reduction": "sum", "ignore_index": 1}),
        ((s.real(4, 3), classes(4)), {"weight": s.positive(3), "ignore_index": 1}),
        ((s.real(3), classes()), {}),
    ]  # fmt: skip


def _smooth_samples(s: Any) -> Any:
    return [
        *_samples(s),
        ((s.real(4, 3), s.integers(4, low=0, high=3)), {"label_smoothing": 0.2, "ignore_index": 0}),
        ((s.real(4, 3), s.interval(0.0, 1.0, 4, 3)), {"label_smoothing": 0.2}),
        ((s.real(2, 3, 2), s.interval(0.0, 1.0, 2, 3, 2)), {"weight": s.positive(3)}),
    ]


@_table.public(samples=_smooth_samples)
def cross_entropy(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the softmax of the right class.

    Parameters
    ----------
    input
        Logits (batch, classes, …), or (classes,).
    target
        Class indices, integers in the shape of `input` without the axis of classes; or floating
        probabilities of the classes, in the shape of `input`.
    weight
        One for each class. The mean of class indices is over the sum of the weights used.
    ignore_index
        A class index that does not count; with probabilities it must be negative.
    reduction
        `mean`, `sum`, or `none` for the loss of each target.
    label_smoothing
        In [0, 1]: how much of each target is spread evenly over all classes.

    Returns
    -------
    Tensor
        0-d, or the shape of the class indices. The mean of no target is NaN, its gradient 0.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError, InvalidArgumentError
        Shapes do not fit; the target is neither integer nor floating; a target is no class;
        the reduction is unknown or the smoothing out of [0, 1].

    Notes
    -----
    Derivative for class indices: softmax - one-hot.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.cross_entropy(pg.tensor([[0.0, 0.0]]), pg.tensor([1]))
    tensor(0.6931472, dtype=float32)
    """
    check_reduction(reduction, "cross_entropy")
    check_smoothing(label_smoothing, "cross_entropy")
    x, t, single = _with_batch(input, target, "cross_entropy")
    x, w = as_floating(x), _check_weight(weight, x, "cross_entropy")
    if t.kernels.kind == REAL:
        loss = _distributions(x, t, w, ignore_index, reduction, label_smoothing)
    else:
        count = _check_classes(x, t, ignore_index, "cross_entropy")
        if w is None and not label_smoothing:
            loss = _plain(x, t, ignore_index, reduction, count)
        else:
            loss = _smoothed(x, t, w, ignore_index, reduction, label_smoothing)
    return reshape(loss, loss.shape[1:]) if single and loss.ndim else loss


@_table.public(samples=_samples)
def nll_loss(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the log-probability of the right class: `cross_entropy` after `log_softmax`.

    Parameters and errors as of `cross_entropy`; `input` holds logarithms of probabilities.

    >>> import polygrad as pg
    >>> pg.nn.functional.nll_loss(pg.tensor([[-0.5, -1.0]]), pg.tensor([1]))
    tensor(1., dtype=float32)
    """
    check_reduction(reduction, "nll_loss")
    x, t, single = _with_batch(input, target, "nll_loss")
    x, w = as_floating(x), _check_weight(weight, x, "nll_loss")
    _check_classes(x, t, ignore_index, "nll_loss")
    loss, used, _ = _picked(x, t, w, ignore_index)
    if reduction == "mean":
        return _sum(loss) / _sum(used)
    loss = reduced(loss, reduction)
    return reshape(loss, loss.shape[1:]) if single and loss.ndim else loss


@_table.public(samples=lambda s: [
    ((s.real(4, 2), s.real(3, 2), s.integers(4, low=0, high=3)), {}),
    ((s.real(4, 2), s.real(3, 2), s.integers(4, low=0, high=3)),
     {"linear_bias": s.real(3), "weight": s.positive(3), "ignore_index": 1, "reduction": "sum"}),
    ((s.real(2, 2), s.real(3, 4, 2), s.integers(2, 4, low=0, high=3)),
     {"linear_bias": s.real(3, 4), "reduction": "none", "label_smoothing": 0.2}),
    ((s.real(2), s.real(3, 2), s.integers(low=0, high=3)), {}),
])  # fmt: skip
def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """`cross_entropy` of the logits that a linear map makes of the input.

    Parameters
    ----------
    input
        (batch, features), or (features,).
    linear_weight
        The map: (classes, features), or (classes, ..., features) for logits (batch, classes, ...).
    target, weight, reduction, label_smoothing
        As of `cross_entropy`.
    linear_bias
        Added to the logits: `linear_weight`'s shape without the features.
    ignore_index
        As of `cross_entropy`; None is -100.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError, InvalidArgumentError
        The shapes do not fit; otherwise as by `cross_entropy`.

    Examples
    --------
    >>> import polygrad as pg
    >>> x, w = pg.ones((1, 2)), pg.zeros((2, 2))
    >>> pg.nn.functional.linear_cross_entropy(x, w, pg.tensor([1]))
    tensor(0.6931472, dtype=float32)
    """
    x = as_tensor(input, "linear_cross_entropy, argument input")
    w = as_tensor(linear_weight, "linear_cross_entropy, argument linear_weight")
    fits = x.ndim in (1, 2) and w.ndim >= 2 and (x.ndim == 2 or w.ndim == 2)
    if not fits or x.shape[-1] != w.shape[-1]:
        raise ShapeError(
            f"an input of shape {x.shape} and a linear_weight of shape {w.shape}",
            f"linear_cross_entropy{describe([x, w])}",
            "pass (batch, features) and (classes, ..., features)",
        )  # fmt: skip
    shape = w.shape[:-1]
    b = None
    if linear_bias is not None:
        b = as_tensor(linear_bias, "linear_cross_entropy, argument linear_bias")
        if b.shape != shape:
            raise ShapeError(
                f"a linear_bias of shape {b.shape}", f"linear_cross_entropy{describe([w, b])}",
                f"pass one of shape {shape}",
            )  # fmt: skip
        b = reshape(b, (b.size,))
    logits = linear(x, reshape(w, (math.prod(shape), w.shape[-1])), b)
    return cross_entropy(
        reshape(logits, (*x.shape[:-1], *shape)), target, weight,
        -100 if ignore_index is None else ignore_index, reduction, label_smoothing,
    )  # fmt: skip
