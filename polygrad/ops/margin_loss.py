"""Loss functions with a margin: of signs, of pairs, of triplets.

They are compositions. The slope of `max(0, x)` at 0 is 1, as PyTorch has it for these losses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.activation import softplus
from polygrad.ops.comparison import equal, not_equal
from polygrad.ops.elementwise import clip, minimum, sqrt
from polygrad.ops.loss import check_reduction, pair, reduced
from polygrad.ops.searching import where
from polygrad.ops.similarity import pairwise_distance
from polygrad.ops.statistical import sum as _sum
from polygrad.tensor import Tensor

_table = Chapter("margin_loss", "nn.functional")


def _excess(x: Tensor) -> Tensor:
    """max(0, x), with slope 1 at 0."""
    return clip(x, min=0)


# ---- signs --------------------------------------------------------------------------------------
def _signs(s: Any, *shape: int) -> Any:
    return np.asarray(2 * s.integers(*shape, low=0, high=2) - 1)


@_table.public(samples=lambda s: [
    ((s.real(2, 3), _signs(s, 2, 3)), {}), ((s.real(), _signs(s)), {"reduction": "none"}),
    ((s.real(4), _signs(s, 4)), {"margin": 2.0, "reduction": "none"}),
    ((s.real(0, 2), _signs(s, 0, 2)), {"reduction": "sum"}),
])  # fmt: skip
def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1: for distances x of pairs.

    Parameters
    ----------
    input, target
        Tensors of one shape; the target holds 1 and -1. (Where it holds something else, the loss
        is the sum of both.)
    margin
        From which distance on unlike pairs cost nothing.
    reduction
        `mean`, `sum`, or `none` for all elements.

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
    >>> x, t = pg.tensor([0.5, 0.25]), pg.tensor([1, -1])
    >>> pg.nn.functional.hinge_embedding_loss(x, t, reduction="none")
    tensor([0.5 , 0.75], dtype=float32)
    """
    x, t = pair(input, target, reduction, "hinge_embedding_loss")
    unlike = where(not_equal(t, 1), _excess(margin - x), 0)
    return reduced(where(not_equal(t, -1), x, 0) + unlike, reduction)


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.real(2, 3)), {}), ((s.real(4), s.real(4)), {"reduction": "none"}),
    ((s.real(), s.real()), {"reduction": "sum"}), ((s.real(0), s.real(0)), {"reduction": "sum"}),
])  # fmt: skip
def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """log(1 + e^(-t x)), exact for every x: logistic regression with targets 1 and -1.

    Parameters
    ----------
    input, target
        Tensors of one shape.
    reduction
        `mean`, `sum`, or `none` for all elements.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes differ; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.soft_margin_loss(pg.tensor([0.0, -1000.0]), pg.tensor([1, 1]), "none")
    tensor([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    x, t = pair(input, target, reduction, "soft_margin_loss")
    return reduced(softplus(-t * x), reduction)


# ---- pairs and triplets -------------------------------------------------------------------------
@_table.public(samples=lambda s: [
    ((s.real(4), s.real(4), _signs(s, 4)), {}),
    ((s.real(2, 3), s.real(2, 3), s.real(2, 1)), {"margin": 0.7, "reduction": "none"}),
    ((s.real(), s.real(), s.real()), {"margin": -0.2, "reduction": "sum"}),
    ((s.real(0), s.real(0), s.real(0)), {"reduction": "sum"}),
])  # fmt: skip
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, margin - t (x1 - x2)): x1 should be the larger where t is 1, the smaller where -1.

    Parameters
    ----------
    input1, input2, target
        Tensors with equally many axes; they broadcast against each other.
    margin
        By how much.
    reduction
        `mean`, `sum`, or `none` for all elements.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes do not fit; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> x, y = pg.tensor([1.0, 2.0]), pg.tensor([0.0, 5.0])
    >>> pg.nn.functional.margin_ranking_loss(x, y, pg.tensor([1, 1]), reduction="none")
    tensor([0., 3.], dtype=float32)
    """
    check_reduction(reduction, "margin_ranking_loss")
    x, y, t = (
        as_tensor(a, f"margin_ranking_loss, argument {name}")
        for a, name in ((input1, "input1"), (input2, "input2"), (target, "target"))
    )
    if not x.ndim == y.ndim == t.ndim:
        raise ShapeError(
            f"shapes {x.shape}, {y.shape} and {t.shape} have different numbers of axes",
            f"margin_ranking_loss{describe([x, y, t])}", "add axes of length 1",
        )  # fmt: skip
    return reduced(_excess(-t * (x - y) + margin), reduction)


@_table.public(samples=lambda s: [
    ((s.real(4, 3), s.real(4, 3), _signs(s, 4)), {}),
    ((s.real(4, 3), s.real(4, 3), _signs(s, 4)), {"margin": -0.5, "reduction": "none"}),
    ((s.real(3), s.real(3), _signs(s)), {"reduction": "sum"}),
    ((s.real(0, 3), s.real(0, 3), _signs(s, 0)), {"reduction": "none"}),
])  # fmt: skip
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - c where the target is 1, max(0, c - margin) where it is -1; c is the vectors' cosine.

    The squares of both lengths are increased by 1e-12, as in PyTorch, so zero vectors have c = 0.

    Parameters
    ----------
    input1, input2
        (batch, features), or (features,).
    target
        1 and -1: (batch,), or 0-d. Another number gives the loss 0.
    margin
        A cosine that costs nothing, in [-1, 1].
    reduction
        `mean`, `sum`, or `none` for one loss for each target.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes do not fit; the reduction is unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> x, y = pg.tensor([[3.0, 4.0]]), pg.tensor([[0.0, 2.0]])
    >>> pg.nn.functional.cosine_embedding_loss(x, y, pg.tensor([-1]))
    tensor(0.8, dtype=float32)
    """
    check_reduction(reduction, "cosine_embedding_loss")
    x = as_tensor(input1, "cosine_embedding_loss, argument input1")
    y = as_tensor(input2, "cosine_embedding_loss, argument input2")
    t = as_tensor(target, "cosine_embedding_loss, argument target")
    if t.ndim > 1 or x.ndim != t.ndim + 1 or x.shape != y.shape or x.shape[:-1] != t.shape:
        raise ShapeError(
            f"inputs of shapes {x.shape} and {y.shape}, a target of shape {t.shape}",
            f"cosine_embedding_loss{describe([x, y, t])}",
            "pass (batch, features) twice and (batch,); or (features,) twice and one number",
        )  # fmt: skip
    lengths = (_sum(x * x, axis=-1) + 1e-12) * (_sum(y * y, axis=-1) + 1e-12)
    cosine = _sum(x * y, axis=-1) / sqrt(lengths)
    unlike = where(equal(t, -1), _excess(cosine - margin), 0)
    return reduced(where(equal(t, 1), 1 - cosine, 0) + unlike, reduction)


def _triplet_samples(s: Any) -> Any:
    def three(*shape: int) -> Any:
        return s.real(*shape), s.real(*shape), s.real(*shape)

    return [
        (three(4, 3), {}), (three(4, 3), {"margin": 4.0, "swap": True, "reduction": "none"}),
        (three(3), {"reduction": "sum"}), (three(0, 3), {"reduction": "none"}),
    ]  # fmt: skip


@_table.public(samples=lambda s: [
    *_triplet_samples(s),
    ((s.real(2, 3), s.real(2, 3), s.real(2, 3)), {"p": 1.0, "eps": 0.1, "margin": 3.0}),
])  # fmt: skip
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, margin + d(a, b) - d(a, c)): the negative c should be farther from a than b is.

    d is `pairwise_distance`.

    Parameters
    ----------
    anchor, positive, negative
        a, b, c: vectors along the last axis, tensors with equally many axes.
    margin
        By how much, above zero.
    p, eps
        Of the distance.
    swap
        Take d(b, c) for d(a, c) where it is less: Balntas, Riba, Ponsa, Mikolajczyk, "Learning
        local feature descriptors with triplets and shallow convolutional neural networks", 2016.
    reduction
        `mean`, `sum`, or `none` for one loss for each triplet.

    Returns
    -------
    Tensor
        0-d, or the broadcast shape without the last axis.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes do not fit; the margin is not above zero, or the reduction unknown.

    Examples
    --------
    >>> import polygrad as pg
    >>> a, b, c = pg.tensor([[0.0]]), pg.tensor([[2.0]]), pg.tensor([[2.5]])
    >>> pg.nn.functional.triplet_margin_loss(a, b, c, eps=0.0)
    tensor(0.5, dtype=float32)
    """

    def distance(x: Tensor, y: Tensor) -> Tensor:
        return pairwise_distance(x, y, p=p, eps=eps)

    points = (anchor, positive, negative)
    return _triplet("triplet_margin_loss", points, distance, margin, swap, reduction)


@_table.public(samples=_triplet_samples)
def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with a distance of one's own.

    Parameters
    ----------
    anchor, positive, negative, margin, swap, reduction
        As of `triplet_margin_loss`.
    distance_function
        Of two tensors, differentiable; `pairwise_distance` if not given.

    Raises
    ------
    ShapeError, InvalidArgumentError
        As by `triplet_margin_loss`.

    Examples
    --------
    >>> import polygrad as pg
    >>> a, b, c = pg.tensor([[0.0]]), pg.tensor([[2.0]]), pg.tensor([[3.0]])
    >>> pg.nn.functional.triplet_margin_with_distance_loss(
    ...     a, b, c, distance_function=lambda x, y: pg.sum(abs(x - y), axis=-1), margin=2.0)
    tensor(1., dtype=float32)
    """
    points = (anchor, positive, negative)
    distance = distance_function or pairwise_distance
    name = "triplet_margin_with_distance_loss"
    return _triplet(name, points, distance, margin, swap, reduction)


def _triplet(
    where_: str, points: tuple[Any, Any, Any], distance: Callable[[Tensor, Tensor], Tensor],
    margin: float, swap: bool, reduction: str,
) -> Tensor:  # fmt: skip
    check_reduction(reduction, where_)
    if not margin > 0:
        raise InvalidArgumentError(
            f"a margin of {margin} is not above zero", f"{where_}, argument margin",
            "pass a greater one",
        )  # fmt: skip
    names = ("anchor", "positive", "negative")
    a, b, c = (
        as_tensor(x, f"{where_}, argument {n}") for x, n in zip(points, names, strict=True)
    )
    if not a.ndim == b.ndim == c.ndim:
        raise ShapeError(
            f"shapes {a.shape}, {b.shape} and {c.shape} have different numbers of axes",
            f"{where_}{describe([a, b, c])}", "add axes of length 1",
        )  # fmt: skip
    near, far = distance(a, b), distance(a, c)
    if swap:
        far = minimum(far, distance(b, c))
    return reduced(_excess(margin + near - far), reduction)
