"""Losses as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.nn import functional
from polygrad.nn.module import Module
from polygrad.tensor import Tensor

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss", "KLDivLoss",
    "L1Loss", "MSELoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss",
]  # fmt: skip


class _Loss(Module):
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


class MSELoss(_Loss):
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


class L1Loss(_Loss):
    """The magnitude of the difference."""

    name = "l1_loss"
    examples: ClassVar = [((), {}, ((2, 3), (2, 3))), ((), {"reduction": "sum"}, ((2, 3), (2, 3)))]

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class SmoothL1Loss(_Loss):
    """Quadratic below `beta`, linear above, with slope 1."""

    name = "smooth_l1_loss"
    examples: ClassVar = [((), {}, ((2, 3), (2, 3))), ((), {"beta": 0.3}, ((2, 3), (2, 3)))]

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)


class HuberLoss(_Loss):
    """Quadratic below `delta`, linear above, with slope delta."""

    name = "huber_loss"
    examples: ClassVar = [((), {}, ((2, 3), (2, 3))), ((), {"delta": 0.3}, ((2, 3), (2, 3)))]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction, delta=delta)


class CrossEntropyLoss(_Loss):
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


class NLLLoss(_Loss):
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


class BCELoss(_Loss):
    """The cross entropy of probabilities with probabilities, of two classes."""

    name = "binary_cross_entropy"
    buffers_of = ("weight",)
    examples: ClassVar = [((), {}, (("unit", (2, 3)), ("unit", (2, 3))))]

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)


class BCEWithLogitsLoss(_Loss):
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


class KLDivLoss(_Loss):
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


class PoissonNLLLoss(_Loss):
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


class GaussianNLLLoss(_Loss):
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
