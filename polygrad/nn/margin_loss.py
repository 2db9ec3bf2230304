"""Losses with a margin, of pairs, triplets and classes, as layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from polygrad.nn.loss import Loss
from polygrad.tensor import Tensor

__all__ = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class HingeEmbeddingLoss(Loss):
    """Distances of like pairs (1), what unlike ones (-1) lack of `margin`.

    >>> import polygrad as pg
    >>> pg.nn.HingeEmbeddingLoss()(pg.tensor([0.5, 0.25]), pg.tensor([1, -1]))
    tensor(0.625, dtype=float32)
    """

    name = "hinge_embedding_loss"
    examples: ClassVar = [
        ((), {}, ((2, 3), ("sign", (2, 3)))),
        ((2.0,), {"reduction": "sum"}, ((2, 3), ("sign", (2, 3)))),
    ]  # fmt: skip

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class SoftMarginLoss(Loss):
    """log(1 + e^(-t x)), of targets t of 1 and -1."""

    name = "soft_margin_loss"
    examples: ClassVar = [
        ((), {}, ((2, 3), ("sign", (2, 3)))),
        ((), {"reduction": "none"}, ((2, 3), ("sign", (2, 3)))),
    ]  # fmt: skip

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class MarginRankingLoss(Loss):
    """max(0, margin - t (x1 - x2)), of two inputs and a target t of 1 and -1."""

    name = "margin_ranking_loss"
    examples: ClassVar = [
        ((), {}, ((4,), (4,), ("sign", (4,)))),
        ((0.5,), {"reduction": "sum"}, ((2, 3), (2, 3), ("sign", (2, 1)))),
    ]  # fmt: skip

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class CosineEmbeddingLoss(Loss):
    """1 - c of like pairs (1), max(0, c - margin) of unlike ones (-1); c is the vectors' cosine."""

    name = "cosine_embedding_loss"
    examples: ClassVar = [
        ((), {}, ((4, 3), (4, 3), ("sign", (4,)))),
        ((-0.5,), {"reduction": "none"}, ((3,), (3,), ("sign", ()))),
    ]  # fmt: skip

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class TripletMarginLoss(Loss):
    """max(0, margin + d(a, b) - d(a, c)) of an anchor a, a positive b and a negative c.

    Parameters
    ----------
    margin
        Above zero.
    p, eps
        Of the distance d, `nn.functional.pairwise_distance`.
    swap
        Take d(b, c) for d(a, c) where it is less.
    reduction
        "mean", "sum" or "none".
    """

    name = "triplet_margin_loss"
    examples: ClassVar = [
        ((), {}, ((4, 3), (4, 3), (4, 3))),
        ((3.0, 1.0), {"swap": True, "eps": 0.01, "reduction": "sum"}, ((4, 3), (4, 3), (4, 3))),
    ]  # fmt: skip

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with a distance of one's own: a function or a module of two tensors."""

    name = "triplet_margin_with_distance_loss"
    examples: ClassVar = [
        ((), {}, ((4, 3), (4, 3), (4, 3))),
        ((), {"margin": 3.0, "swap": True, "reduction": "none"}, ((4, 3), (4, 3), (4, 3))),
    ]  # fmt: skip

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            distance_function=distance_function, margin=margin, swap=swap, reduction=reduction
        )


class MultiMarginLoss(Loss):
    """By how much wrong classes come within `margin` of the right one, to the power p.

    Parameters
    ----------
    p
        1 or 2.
    margin
        By how much the right class should be ahead.
    weight
        A factor for each class.
    reduction
        "mean", "sum" or "none".
    """

    name = "multi_margin_loss"
    buffers_of = ("weight",)
    examples: ClassVar = [
        ((), {}, ((4, 3), ("index", (4,), 3))),
        ((2, 0.5), {"reduction": "sum"}, ((4, 3), ("index", (4,), 3))),
    ]  # fmt: skip

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(p=p, margin=margin, weight=weight, reduction=reduction)


class MultiLabelMarginLoss(Loss):
    """By how much wrong classes come within 1 of right ones, of which there may be several."""

    name = "multilabel_margin_loss"
    examples: ClassVar = [
        ((), {}, ((2, 4), ("index", (2, 4), 4))),
        ((), {"reduction": "none"}, ((4,), ("index", (4,), 2))),
    ]  # fmt: skip

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class MultiLabelSoftMarginLoss(Loss):
    """The mean over the classes of `BCEWithLogitsLoss`; `weight` has a factor for each class."""

    name = "multilabel_soft_margin_loss"
    buffers_of = ("weight",)
    examples: ClassVar = [
        ((), {}, ((2, 3), ("unit", (2, 3)))),
        ((), {"reduction": "sum"}, ((2, 3), ("unit", (2, 3)))),
    ]  # fmt: skip

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)
