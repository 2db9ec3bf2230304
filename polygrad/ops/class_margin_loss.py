"""Loss functions of scores of classes with a margin, and of several right classes.

They are compositions. The slope of `max(0, x)` at 0 is 0, as PyTorch has it for these losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.dtypes import INTEGER
from polygrad.errors import DtypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.activation import relu
from polygrad.ops.comparison import not_equal
from polygrad.ops.indexing import index_tensor, take, take_along_axis
from polygrad.ops.loss import binary_cross_entropy_with_logits, check_reduction, pair, reduced
from polygrad.ops.manipulation import reshape
from polygrad.ops.searching import where
from polygrad.ops.statistical import mean
from polygrad.ops.statistical import sum as _sum
from polygrad.tensor import Tensor, on_host

_table = Chapter("class_margin_loss", "nn.functional")


def _need_classes(x: Tensor, where_: str) -> None:
    if not x.ndim:
        raise ShapeError(
            "a 0-d input has no classes", f"{where_}{describe([x])}",
            "its last axis is that of the classes",
        )  # fmt: skip


def _scores(input: Any, target: Any, where_: str) -> tuple[Tensor, Tensor, np.ndarray[Any, Any]]:
    """The scores, the integer target, and it on the host."""
    x = as_tensor(input, f"{where_}, argument input")
    t = as_tensor(target, f"{where_}, argument target")
    if not x.ndim:  # one class; the target may be a list of one
        x = reshape(x, (1,))
    if x.ndim > 2:
        raise ShapeError(
            f"an input of shape {x.shape}", f"{where_}{describe([x, t])}",
            "its axes are (batch, classes), or (classes,)",
        )  # fmt: skip
    if t.kernels.kind != INTEGER:
        raise DtypeError(
            f"targets of dtype {t.dtype}", f"{where_}{describe([x, t])}",
            "pass class indices as integers: target.to(pg.int64)",
        )  # fmt: skip
    return x, t, on_host(t)


def _refuse(wrong: Any, x: Tensor, t: Tensor, where_: str, more: str = "") -> None:
    """Refuse the first of the targets `wrong`, if there is one."""
    if wrong.size:
        raise OutOfRangeError(
            f"the target {int(wrong[0])} is no class", f"{where_}{describe([x, t])}",
            f"classes go from 0 to {x.shape[-1] - 1}{more}",
        )  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.interval(0.0, 1.0, 2, 3)), {}),
    ((s.real(2, 3), s.interval(0.0, 1.0, 2, 3)), {"weight": s.positive(3), "reduction": "sum"}),
    ((s.real(4), s.interval(0.0, 1.0, 4)), {"reduction": "none"}),
    ((s.real(0, 2), s.real(0, 2)), {"reduction": "none"}),
])  # fmt: skip
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """`binary_cross_entropy_with_logits` of every class, its mean over the classes.

    Parameters
    ----------
    input, target
        Logits, and 1 where the class is there, 0 where not: of one shape (…, classes).
    weight
        Multiplies the losses of the classes; broadcasts.
    reduction
        `mean`, `sum`, or `none` for one loss for each lane of classes.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ, or have no axis; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.multilabel_soft_margin_loss(pg.zeros((1, 2)), pg.ones((1, 2)))
    tensor(0.6931472, dtype=float32)
    """
    x, t = pair(input, target, reduction, "multilabel_soft_margin_loss")
    _need_classes(x, "multilabel_soft_margin_loss")
    loss = binary_cross_entropy_with_logits(x, t, weight, reduction="none")
    return reduced(mean(loss, axis=-1), reduction)


@_table.public(samples=lambda s: [
    ((s.real(4, 3), s.integers(4, low=0, high=3)), {}),
    ((s.real(4, 3), s.integers(4, low=0, high=3)),
     {"p": 2, "margin": 0.7, "weight": s.positive(3), "reduction": "none"}),
    ((s.real(3), s.integers(low=0, high=3)), {"reduction": "sum"}),
    ((s.real(0, 3), s.integers(0, low=0, high=3)), {"reduction": "none"}),
])  # fmt: skip
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The sum over wrong classes i of max(0, margin - x_t + x_i)^p, over the number of classes.

    Parameters
    ----------
    input
        Scores (batch, classes), or (classes,), or of one class ().
    target
        The right classes t, integers: (batch,), or one number.
    p
        1 or 2.
    margin
        By how much the right class should be ahead.
    weight
        One for each class: multiplies the losses of the targets of that class.
    reduction
        `mean` (not weighted), `sum`, or `none` for the losses in the shape of `target`.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError, InvalidArgumentError
        The shapes do not fit; the target is no integer; a target is no class; p is neither 1 nor 2,
        or the reduction unknown.

    Notes
    -----
    Crammer and Singer, "On the algorithmic implementation of multiclass kernel-based vector
    machines", 2001, with a sum in place of the maximum (Weston and Watkins, 1999).

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([[1.0, 0.5, 3.0, 0.0]])
    >>> pg.nn.functional.multi_margin_loss(x, pg.tensor([0]))
    tensor(0.875, dtype=float32)
    """
    name = "multi_margin_loss"
    check_reduction(reduction, name)
    if p not in (1, 2):
        raise InvalidArgumentError(f"p={p}", f"{name}, argument p", "pass 1 or 2")
    x, t, host = _scores(input, target, name)
    if t.ndim > 1 or t.size != (x.shape[0] if x.ndim == 2 else 1):
        raise ShapeError(
            f"a target of shape {t.shape} for an input of shape {x.shape}",
            f"{name}{describe([x, t])}", "pass one class for each lane of scores",
        )  # fmt: skip
    classes = x.shape[-1]
    _refuse(host[(host < 0) | (host >= classes)], x, t, name)
    chosen = reshape(t, (*x.shape[:-1], 1))
    excess = relu(margin - take_along_axis(x, chosen, axis=-1) + x)
    wrong = not_equal(chosen, index_tensor(np.arange(classes), t))
    losses = where(wrong, excess if p == 1 else excess * excess, 0)
    if weight is not None:
        w = as_tensor(weight, f"{name}, argument weight")
        if w.shape != (classes,):
            raise ShapeError(
                f"weights of shape {w.shape} for {classes} classes", f"{name}{describe([x, w])}",
                "pass one weight for each class",
            )  # fmt: skip
        losses = losses * reshape(take(w, reshape(chosen, (-1,)), axis=0), chosen.shape)
    return reduced(reshape(_sum(losses, axis=-1), t.shape) / max(classes, 1), reduction)


@_table.public(samples=lambda s: [
    ((s.real(2, 4), s.integers(2, 4, low=-1, high=4)), {}),
    ((s.real(2, 4), s.integers(2, 4, low=0, high=4)), {"reduction": "none"}),
    ((s.real(3), s.integers(3, low=0, high=3)), {"reduction": "sum"}),
    ((s.real(0, 3), s.integers(0, 3, low=0, high=3)), {"reduction": "none"}),
])  # fmt: skip
def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The sum over right classes j and wrong ones i of max(0, 1 - x_j + x_i), over their number.

    Parameters
    ----------
    input
        Scores (batch, classes), or (classes,), or of one class ().
    target
        Integers of that shape: in each lane the right classes, up to the first -1.
    reduction
        `mean`, `sum`, or `none` for one loss for each lane.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError, InvalidArgumentError
        The shapes differ; the target is no integer; a target is neither a class nor -1; the
        reduction is unknown.

    Notes
    -----
    "Their number" is that of all classes. Memory is taken for lanes x right classes x classes.

    Examples
    --------
    >>> import polygrad as pg
    >>> x, t = pg.tensor([[1.0, 2.0, 4.0, 8.0]]), pg.tensor([[3, 0, -1, 1]])
    >>> pg.nn.functional.multilabel_margin_loss(x, t)
    tensor(1.5, dtype=float32)
    """
    name = "multilabel_margin_loss"
    check_reduction(reduction, name)
    x, t, host = _scores(input, target, name)
    if x.shape == (1,) and not t.ndim:
        t, host = reshape(t, (1,)), host.reshape(1)
    if t.shape != x.shape:
        raise ShapeError(
            f"input and target have the shapes {x.shape} and {t.shape}",
            f"{name}{describe([x, t])}",
            "they must be equal; fill the lanes of the target with -1",
        )  # fmt: skip
    classes = x.shape[-1]
    _refuse(host[(host < -1) | (host >= classes)], x, t, name, "; -1 ends a lane")
    counted = np.logical_and.accumulate(host >= 0, axis=-1)
    most = int(np.sum(counted, axis=-1).max(initial=0))
    lanes, counted = np.where(counted, host, 0)[..., :most], counted[..., :most]
    hit = (lanes[..., None] == np.arange(classes)) & counted[..., None]
    pairs = index_tensor((counted[..., None] & ~hit.any(axis=-2)[..., None, :]) * 1, t)
    right = take_along_axis(x, index_tensor(lanes, t), axis=-1)
    excess = relu(1 - right[..., None] + x[..., None, :])
    loss = _sum(where(not_equal(pairs, 0), excess, 0), axis=(-2, -1))
    return reduced(loss / max(classes, 1), reduction)
