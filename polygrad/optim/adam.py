"""Adam and its relatives, of which Lion keeps the least."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.optim.algorithms import Parameters
from polygrad.optim.arguments import at_least, betas_within, numbers_of
from polygrad.optim.optimizer import Group, Optimizer

__all__ = ["Adam", "AdamW", "Adamax", "Lion", "NAdam", "RAdam"]

Betas = tuple[float, float]


class _Moments(Optimizer):
    """What the family shares: two moving averages, and the domains of its options."""

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        where = type(self).__name__
        at_least(where, 0.0, lr=group["lr"], eps=group["eps"], weight_decay=group["weight_decay"])
        betas_within(where, **numbers_of(where, "betas", group["betas"]))

    def slots(self, group: Group) -> tuple[str, ...]:
        """Means of the gradient and of its square."""
        del group
        return ("exp_avg", "exp_avg_sq")


class Adam(_Moments):
    """Adam: the mean gradient over the root of its mean square, both with bias correction.

    Parameters
    ----------
    params
        As for `Optimizer`.
    lr
        Learning rate.
    betas
        Shares of the two means that are kept.
    eps
        Added to the root.
    weight_decay
        Added to the gradient, times the parameter; AdamW shrinks the parameter itself.
    amsgrad
        Divide by the largest mean square so far.
    maximize
        Climb instead of descend.
    decoupled_weight_decay
        Shrink the parameter itself, as AdamW does.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        An option out of its domain, named.

    >>> import polygrad as pg
    >>> p = pg.nn.Parameter(pg.tensor([1.0]))
    >>> optimizer = pg.optim.Adam([p], lr=0.25)
    >>> (p * p).backward()
    >>> optimizer.step()
    >>> p.detach().item()
    0.75
    """

    rule = "adam_step"
    keywords: ClassVar = (
        "lr", "betas", "eps", "weight_decay", "maximize", "decoupled_weight_decay",
    )  # fmt: skip

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip

    def slots(self, group: Group) -> tuple[str, ...]:
        """The largest mean square too, with amsgrad."""
        largest = ("max_exp_avg_sq",) if group["amsgrad"] else ()
        return (*super().slots(group), *largest)


class AdamW(Adam):
    """Adam with decoupled weight decay: the parameter shrinks by `lr * weight_decay` first.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, amsgrad, maximize
        As for `Adam`.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad,
            maximize=maximize, decoupled_weight_decay=True,
        )  # fmt: skip


class Adamax(_Moments):
    """Adam with the largest gradient in the place of the mean square.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, maximize
        As for `Adam`.
    """

    rule = "adamax_step"
    keywords: ClassVar = ("lr", "betas", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize,
        })  # fmt: skip

    def slots(self, group: Group) -> tuple[str, ...]:
        """The mean gradient and the largest."""
        del group
        return ("exp_avg", "exp_inf")


class NAdam(_Moments):
    """Adam with Nesterov's momentum.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, maximize, decoupled_weight_decay
        As for `Adam`.
    momentum_decay
        How fast the momentum reaches `betas[0]`.
    """

    rule = "nadam_step"
    keywords: ClassVar = Adam.keywords

    def __init__(
        self,
        params: Parameters,
        lr: float = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        super().check_group(group)
        at_least("NAdam", 0.0, momentum_decay=group["momentum_decay"])

    def begin(self, group: Group) -> dict[str, float]:
        """The product of the momenta so far."""
        return {**super().begin(group), "mu_product": 1.0}

    def advance(self, numbers: dict[str, float], group: Group) -> dict[str, Any]:
        """The momenta of this step and the next."""
        made = super().advance(numbers, group)
        step, decay, beta = numbers["step"], group["momentum_decay"], group["betas"][0]
        mu, mu_next = (beta * (1 - 0.5 * 0.96 ** (t * decay)) for t in (step, step + 1))
        numbers["mu_product"] *= mu
        return {**made, "mu": mu, "mu_next": mu_next, "mu_product": numbers["mu_product"]}


class RAdam(_Moments):
    """Adam that does without the mean square until enough steps were taken to trust it.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, maximize, decoupled_weight_decay
        As for `Adam`.
    """

    rule = "radam_step"
    keywords: ClassVar = Adam.keywords

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip


class Lion(Optimizer):
    """Lion: steps of one length, by the sign of a mean of gradients; half of Adam's memory.

    Every element moves by `lr`, so that it takes a third to a tenth of Adam's rate, and a
    `weight_decay` larger by as much.

    Parameters
    ----------
    params, lr, weight_decay, maximize
        As for `AdamW`.
    betas
        Share of the old mean in the one whose sign counts, and in the one that is kept.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        An option out of its domain, named.

    Notes
    -----
    Of a complex parameter the real and the imaginary part have each a sign. Source: Chen et al.,
    "Symbolic discovery of optimization algorithms" (2023).

    >>> import polygrad as pg
    >>> p = pg.nn.Parameter(pg.tensor([1.0, -8.0]))
    >>> optimizer = pg.optim.Lion([p], lr=0.25)
    >>> pg.sum(p * p).backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([ 0.75, -7.75], dtype=float32)
    """

    rule = "lion_step"
    same_each_step = True
    keywords: ClassVar = ("lr", "betas", "weight_decay", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-4,
        betas: Betas = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        at_least("Lion", 0.0, lr=group["lr"], weight_decay=group["weight_decay"])
        betas_within("Lion", **numbers_of("Lion", "betas", group["betas"]))

    def slots(self, group: Group) -> tuple[str, ...]:
        """The mean gradient."""
        del group
        return ("exp_avg",)
