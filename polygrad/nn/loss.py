"""Losses as layers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from polygrad.errors import ShapeError
from polygrad.nn import functional
from polygrad.nn.linear import Linear
from polygrad.nn.module import Module
from polygrad.ops.cross_entropy import check_smoothing
from polygrad.ops.loss import check_delta
from polygrad.ops.manipulation import reshape
from polygrad.tensor import Tensor

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss",
    "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "Loss", "MSELoss", "NLLLoss", "PoissonNLLLoss",
    "SmoothL1Loss",
]  # fmt: skip


class Loss(Module):
    """Calls the function of `nn.functional` with the options it was made with.

    Parameters
    ----------
    reduction
        "mean", "sum", or "none" for one loss for each element.
    """

    name: ClassVar[str]
    buffers_of: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = tuple(options)
        for name, value in options.items():
            if name in self.buffers_of:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, input: Tensor, *target: Tensor) -> Tensor:
        """The loss of `input` as an estimate of `target`; a Gaussian takes the variance too."""
        options = {name: getattr(self, name) for name in self.options}
        made: Tensor = getattr(functional, self.name)(input, *target, **options)
        return made

    def extra_repr(self) -> str:
        """The options that are no tensors."""
        shown = [n for n in self.options if n not in self.buffers_of]
        return ", ".join(f"{n}={getattr(self, n)!r}" for n in shown)


class MSELoss(Loss):
    """The squared difference.

    >>> import polygrad as pg
    >>> pg.nn.MSELoss()(pg.tensor([1.0, 3.0]), pg.tensor([1.0, 1.0]))
    tensor(2., dtype=float32)
    """

    name = "mse_loss"
    examples: ClassVar = [
        ((), {}, ((2, 3), (2, 3))), ((), {"reduction": "sum"}, ((2, 3), (2, 3))),
        ((), {"reduction": "none"}, ((2, 3), (2, 3))),
    ]  # fmt: skip

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class L1Loss(Loss):
    """The magnitude of the difference."""

    name = "l1_loss"
    examples: ClassVar = [((), {}, ((2, 3), (2, 3))), ((), {"reduction": "sum"}, ((2, 3), (2, 3)))]

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class SmoothL1Loss(Loss):
    """Quadratic below `beta`, linear above, with slope 1."""

    name = "smooth_l1_loss"
    examples: ClassVar = [((), {}, ((2, 3), (2, 3))), ((), {"beta": 0.3}, ((2, 3), (2, 3)))]

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)


class HuberLoss(Loss):
    """Quadratic below `delta`, linear above, with slope delta."""

    name = "huber_loss"
    examples: ClassVar = [((), {}, ((2, 3), (2, 3))), ((), {"delta": 0.3}, ((2, 3), (2, 3)))]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        check_delta(delta, "HuberLoss")
        super().__init__(reduction=reduction, delta=delta)


class CrossEntropyLoss(Loss):
    """The cross entropy of logits with classes, or with probabilities of classes.

    Parameters
    ----------
    weight
        A factor for each class.
    ignore_index
        A class whose elements do not count.
    reduction
        "mean" (weighted), "sum" or "none".
    label_smoothing
        The share of a target that is spread evenly over all classes.

    >>> import polygrad as pg
    >>> pg.nn.CrossEntropyLoss()(pg.tensor([[0.0, 0.0]]), pg.tensor([1]))
    tensor(0.6931472, dtype=float32)
    """

    name = "cross_entropy"
    buffers_of = ("weight",)
    examples: ClassVar = [
        ((), {}, ((4, 3), ("index", (4,), 3))),
        ((), {"label_smoothing": 0.2, "reduction": "sum"}, ((4, 3, 2), ("index", (4, 2), 3))),
    ]  # fmt: skip

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(
            weight=weight, ignore_index=ignore_index, reduction=reduction,
            label_smoothing=label_smoothing,
        )  # fmt: skip


class LinearCrossEntropyLoss(Module):
    """The cross entropy of logits that a linear layer, a part of the loss, makes of the input.

    Parameters
    ----------
    in_features, num_classes
        Lengths of the last axis of the input, and of the axis of classes.
    out_features
        The axes of the logits behind that of the classes: (batch, classes, ...).
    bias
        Whether the linear layer learns a bias.
    device, dtype
        Of its parameters.
    reduction, weight, ignore_index, label_smoothing
        As for `CrossEntropyLoss`; `ignore_index=None` is -100.

    Attributes
    ----------
    linear
        The layer; its rows are the logits in order.
    """

    examples: ClassVar = [
        ((2, 3), {}, ((4, 2), ("index", (4,), 3))),
        ((2, 3), {"out_features": (2,), "bias": True, "label_smoothing": 0.2},
         ((4, 2), ("index", (4, 2), 3))),
    ]  # fmt: skip

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        check_smoothing(label_smoothing, "LinearCrossEntropyLoss")
        if weight is not None and weight.shape != (num_classes,):
            raise ShapeError(
                f"weights of shape {weight.shape} for {num_classes} classes",
                "LinearCrossEntropyLoss, argument weight", "pass one weight for each class",
            )  # fmt: skip
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.reduction, self.ignore_index = reduction, ignore_index
        self.label_smoothing = label_smoothing
        self.register_buffer("weight", weight)
        rows = math.prod(self.out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of (batch, in_features), or of one row, and targets as of the cross entropy."""
        shape, b = (self.num_classes, *self.out_features), self.linear.bias
        made: Tensor = functional.linear_cross_entropy(
            input, reshape(self.linear.weight, (*shape, self.linear.in_features)), target,
            linear_bias=None if b is None else reshape(b, shape), weight=self.weight,
            reduction=self.reduction, ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip
        return made

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"out_features={self.out_features}, reduction={self.reduction!r}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}"
        )


class NLLLoss(Loss):
    """Minus the log probability of the right class.

    Parameters
    ----------
    weight, ignore_index, reduction
        As for `CrossEntropyLoss`.
    """

    name = "nll_loss"
    buffers_of = ("weight",)
    examples: ClassVar = [((), {}, ((4, 3), ("index", (4,), 3)))]

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction)


class BCELoss(Loss):
    """The cross entropy of probabilities with probabilities, of two classes."""

    name = "binary_cross_entropy"
    buffers_of = ("weight",)
    examples: ClassVar = [((), {}, (("unit", (2, 3)), ("unit", (2, 3))))]

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)


class BCEWithLogitsLoss(Loss):
    """The cross entropy of logits with probabilities, of two classes; `pos_weight` for one."""

    name = "binary_cross_entropy_with_logits"
    buffers_of = ("weight", "pos_weight")
    examples: ClassVar = [((), {}, ((2, 3), ("unit", (2, 3))))]

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight=weight, reduction=reduction, pos_weight=pos_weight)


class KLDivLoss(Loss):
    """The divergence of Kullback and Leibler of log probabilities `input` from `target`.

    Parameters
    ----------
    reduction
        "batchmean" is the mathematical one for a batch; "mean" divides by the number of elements.
    log_target
        Whether `target` holds log probabilities too.
    """

    name = "kl_div"
    examples: ClassVar = [
        ((), {"reduction": "batchmean"}, ((2, 3), ("unit", (2, 3)))),
        ((), {"log_target": True, "reduction": "sum"}, ((2, 3), (2, 3))),
    ]  # fmt: skip

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction, log_target=log_target)


class PoissonNLLLoss(Loss):
    """Minus the log likelihood of counts under a Poisson distribution.

    Parameters
    ----------
    log_input
        Whether `input` is the logarithm of the mean.
    full
        Add the term that does not depend on `input`, by Stirling's formula.
    eps
        Added to the mean before its logarithm is taken.
    reduction
        "mean", "sum" or "none".
    """

    name = "poisson_nll_loss"
    examples: ClassVar = [
        ((), {}, ((2, 3), ("unit", (2, 3)))),
        ((False,), {"full": True}, (("unit", (2, 3)), ("unit", (2, 3)))),
    ]  # fmt: skip

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        super().__init__(log_input=log_input, full=full, eps=eps, reduction=reduction)


class GaussianNLLLoss(Loss):
    """Minus the log likelihood of values under normal distributions of given mean and variance.

    Parameters
    ----------
    full
        Add the constant term.
    eps
        The least variance.
    reduction
        "mean", "sum" or "none".
    """

    name = "gaussian_nll_loss"
    examples: ClassVar = [
        ((), {}, ((2, 3), (2, 3), ("unit", (2, 3)))),
        ((), {"full": True, "reduction": "sum"}, ((2, 3), (2, 3), ("unit", (2, 1)))),
    ]  # fmt: skip

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(full=full, eps=eps, reduction=reduction)


class CTCLoss(Loss):
    """Minus the log likelihood of labels whose places in time are not known.

    Called with log probabilities, targets, input lengths and target lengths: see
    `nn.functional.ctc_loss`.

    Parameters
    ----------
    blank
        Which label stands for none.
    reduction
        "mean" (of the losses over their target lengths), "sum" or "none".
    zero_infinity
        Make an infinite loss, of labels that do not fit into the steps, and its gradient zero.
    """

    name = "ctc_loss"
    examples: ClassVar = [
        ((3,), {"zero_infinity": True},
         ((5, 2, 4), ("index", (2, 2), 3), ("index", (2,), 6), ("index", (2,), 3))),
        ((3,), {"reduction": "sum", "zero_infinity": True},
         ((5, 4), ("index", (2,), 3), ("index", (), 6), ("index", (), 3))),
    ]  # fmt: skip

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(blank=blank, reduction=reduction, zero_infinity=zero_infinity)
