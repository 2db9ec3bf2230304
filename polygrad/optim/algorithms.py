"""The optimisers: which rule, which options, which state."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

from polygrad.errors import InvalidArgumentError
from polygrad.optim.arguments import at_least, numbers_of
from polygrad.optim.optimizer import Group, Optimizer

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "RMSprop", "Rprop"]

Parameters = Iterable[Any]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum.

    Parameters
    ----------
    params
        As for `Optimizer`.
    lr
        Learning rate.
    momentum, dampening
        The buffer is `momentum * buffer + (1 - dampening) * gradient`.
    weight_decay
        Added to the gradient, times the parameter.
    nesterov
        Look ahead by one momentum step; needs momentum and no dampening.
    maximize
        Climb instead of descend.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        An option out of its domain, named.

    >>> import polygrad as pg
    >>> p = pg.nn.Parameter(pg.tensor([1.0]))
    >>> optimizer = pg.optim.SGD([p], lr=0.5)
    >>> (p * p).backward()
    >>> optimizer.step()
    >>> p.detach().item()
    0.0
    """

    rule = "sgd_step"
    same_each_step = True
    keywords: ClassVar = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        at_least("SGD", 0.0, lr=group["lr"], momentum=group["momentum"],
                 weight_decay=group["weight_decay"])  # fmt: skip
        at_least("SGD", -math.inf, dampening=group["dampening"])
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise InvalidArgumentError(
                "Nesterov's method needs momentum and no dampening", "SGD, argument nesterov",
                "pass momentum > 0 and dampening=0",
            )  # fmt: skip

    def slots(self, group: Group) -> tuple[str, ...]:
        """A buffer, with momentum."""
        return ("momentum_buffer",) if group["momentum"] != 0 else ()


class RMSprop(Optimizer):
    """RMSprop: the gradient over the root of its mean square.

    Parameters
    ----------
    params
        As for `Optimizer`.
    lr, alpha, eps
        Learning rate; share of the mean square that is kept; added to the root.
    weight_decay
        Added to the gradient, times the parameter.
    momentum
        Keep this share of the step before.
    centered
        Use the variance in the place of the mean square.
    maximize
        Climb instead of descend.
    """

    rule = "rmsprop_step"
    same_each_step = True
    keywords: ClassVar = ("lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
            "momentum": momentum, "centered": centered, "maximize": maximize,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        options = ("lr", "alpha", "eps", "weight_decay", "momentum")
        at_least("RMSprop", 0.0, **{k: group[k] for k in options})

    def slots(self, group: Group) -> tuple[str, ...]:
        """The mean square; a buffer with momentum; the mean if centred."""
        buffer = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *buffer, *(("grad_avg",) if group["centered"] else ()))


class Adagrad(Optimizer):
    """Adagrad: the gradient over the root of the sum of all its squares.

    Parameters
    ----------
    params
        As for `Optimizer`.
    lr, lr_decay
        Learning rate; at step t it is divided by `1 + (t - 1) * lr_decay`.
    weight_decay
        Added to the gradient, times the parameter.
    initial_accumulator_value, eps
        What the sum begins with; what is added to its root.
    maximize
        Climb instead of descend.
    """

    rule = "adagrad_step"
    keywords: ClassVar = ("lr", "lr_decay", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        options = ("lr", "lr_decay", "weight_decay", "eps", "initial_accumulator_value")
        at_least("Adagrad", 0.0, **{k: group[k] for k in options})

    def slots(self, group: Group) -> tuple[str, ...]:
        """The sum of squares."""
        del group
        return ("sum",)

    def initial(self, slot: str, group: Group) -> float:
        """The sum begins where the user says."""
        del slot
        return float(group["initial_accumulator_value"])


class Adadelta(Optimizer):
    """Adadelta: steps scaled by the root mean square of earlier steps.

    Parameters
    ----------
    params
        As for `Optimizer`.
    lr, rho, eps
        Factor of the step; share of the means that is kept; added under the roots.
    weight_decay
        Added to the gradient, times the parameter.
    maximize
        Climb instead of descend.
    """

    rule = "adadelta_step"
    same_each_step = True
    keywords: ClassVar = ("lr", "rho", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        options = ("lr", "eps", "weight_decay", "rho")
        at_least("Adadelta", 0.0, **{k: group[k] for k in options})
        if group["rho"] > 1:
            raise InvalidArgumentError(
                f"rho is {group['rho']}", "Adadelta, argument rho", "it must be between 0 and 1"
            )

    def slots(self, group: Group) -> tuple[str, ...]:
        """Mean squares of gradients and of steps."""
        del group
        return ("square_avg", "acc_delta")


class Rprop(Optimizer):
    """Resilient backpropagation: step sizes grow while the sign of the gradient stays.

    Parameters
    ----------
    params
        As for `Optimizer`.
    lr
        The step sizes begin with it.
    etas
        Factors of a step size when the sign changed, and when it stayed.
    step_sizes
        The smallest and the largest step size.
    maximize
        Climb instead of descend.
    """

    rule = "rprop_step"
    same_each_step = True
    keywords: ClassVar = ("etas", "step_sizes", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        at_least("Rprop", 0.0, lr=group["lr"])
        etas = numbers_of("Rprop", "etas", group["etas"])
        at_least("Rprop", 0.0, **etas)
        low, high = (steps := numbers_of("Rprop", "step_sizes", group["step_sizes"])).values()
        at_least("Rprop", 0.0, **steps)
        if low > high:
            raise InvalidArgumentError(
                f"step_sizes are {group['step_sizes']}", "Rprop, argument step_sizes",
                "pass the least one first",
            )  # fmt: skip
        if not 0 < group["etas"][0] < 1 < group["etas"][1]:
            raise InvalidArgumentError(
                f"etas are {group['etas']}", "Rprop, argument etas", "they lie below and above 1"
            )

    def slots(self, group: Group) -> tuple[str, ...]:
        """The gradient before, and the step sizes."""
        del group
        return ("prev", "step_size")

    def initial(self, slot: str, group: Group) -> float:
        """Step sizes begin with the learning rate."""
        return float(group["lr"]) if slot == "step_size" else 0.0


class ASGD(Optimizer):
    """Averaged stochastic gradient descent; the average is in the state as `ax`.

    Parameters
    ----------
    params
        As for `Optimizer`.
    lr, lambd, alpha
        The rate at step t is `lr / (1 + lambd * lr * t) ** alpha`; lambd is also a decay.
    t0
        The step at which averaging begins.
    weight_decay
        Added to the gradient, times the parameter.
    maximize
        Climb instead of descend.
    """

    rule = "asgd_step"
    keywords: ClassVar = ("lr", "lambd", "weight_decay", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "maximize": maximize,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options."""
        options = ("lr", "lambd", "t0", "weight_decay")
        at_least("ASGD", 0.0, **{name: group[name] for name in options})
        at_least("ASGD", -math.inf, alpha=group["alpha"])

    def slots(self, group: Group) -> tuple[str, ...]:
        """The average."""
        del group
        return ("ax",)

    def begin(self, group: Group) -> dict[str, float]:
        """Rate and share of the average for the next step."""
        return {"step": 0, "eta": group["lr"], "mu": 1.0}

    def advance(self, numbers: dict[str, float], group: Group) -> dict[str, Any]:
        """Use the rate and share found by the step before, then find the next."""
        made = {**super().advance(numbers, group), "eta": numbers["eta"], "mu": numbers["mu"]}
        lr, step = group["lr"], numbers["step"]
        numbers["eta"] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        numbers["mu"] = 1 / max(1, step - group["t0"])
        return made
