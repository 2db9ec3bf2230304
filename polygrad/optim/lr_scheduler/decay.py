"""Schedules that multiply the rate as the epochs go by."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.optim.lr_scheduler.base import LRScheduler, attach, per_group
from polygrad.optim.optimizer import Optimizer

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR",
]  # fmt: skip

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The initial rate times `lr_lambda(epoch)`, one function for all groups or one for each."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1
    ) -> None:
        attach(self, optimizer)
        self.lr_lambdas = per_group("lr_lambda", lr_lambda, optimizer)
        for factor in self.lr_lambdas:
            if not callable(factor):
                raise InvalidTypeError(
                    f"lr_lambda is {factor!r}", f"{type(self).__name__}, argument lr_lambda",
                    "pass a function of the epoch, or one for each group",
                )  # fmt: skip
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of the initial rates."""
        return [
            base * f(self.last_epoch)
            for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(LambdaLR):
    """The rate before times `lr_lambda(epoch)`."""

    def get_lr(self) -> list[float]:
        """Of the rates before."""
        if self.is_first:
            return self.rates
        return [
            rate * f(self.last_epoch)
            for f, rate in zip(self.lr_lambdas, self.rates, strict=True)
        ]


class _Scaled(LRScheduler):
    """Schedules that multiply all groups by one factor."""

    def ratio(self) -> float:
        """From the epoch before to this one."""
        raise NotImplementedError

    def share(self) -> float:
        """From the initial rate to this epoch's."""
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """The rates before times the factor."""
        ratio = self.ratio()
        return [rate * ratio for rate in self.rates]

    def closed_form(self) -> list[float]:
        """The initial rates times the share."""
        share = self.share()
        return [base * share for base in self.base_lrs]


class StepLR(_Scaled):
    """Times `gamma` every `step_size` epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self) -> float:
        """Gamma at the end of each stretch."""
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0

    def share(self) -> float:
        """A power of gamma."""
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(_Scaled):
    """Times `gamma` at each of the `milestones`; one listed twice counts twice."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self) -> float:
        """Gamma at a milestone."""
        return float(self.gamma ** self._counts()[self.last_epoch])

    def _counts(self) -> Counter[int]:
        """The milestones, which a saved state may have made a plain dictionary."""
        return Counter(self.milestones)

    def share(self) -> float:
        """A power of gamma."""
        passed = bisect_right(sorted(self._counts().elements()), self.last_epoch)
        return float(self.gamma**passed)


class ConstantLR(_Scaled):
    """The rate times `factor`, until epoch `total_iters`."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        _between("ConstantLR", "factor", factor, 0, 1)
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """From the rates before; from the initial ones after a factor of 0."""
        ends = self.factor == 0 and self.last_epoch == self.total_iters != 0
        return self.base_lrs if ends else super().get_lr()

    def ratio(self) -> float:
        """Down at the start, up at the end."""
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    def share(self) -> float:
        """Reduced, or whole."""
        return self.factor if self.last_epoch < self.total_iters else 1.0


class LinearLR(_Scaled):
    """From `start_factor` to `end_factor` times the rate, in `total_iters` equal steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise InvalidArgumentError(
                f"start_factor is {start_factor}", "LinearLR, argument start_factor",
                "it must be above 0, at most 1",
            )  # fmt: skip
        _between("LinearLR", "end_factor", end_factor, 0, 1)
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def ratio(self) -> float:
        """The share over that of the epoch before."""
        if self.last_epoch == 0:
            return self.start_factor
        if self.is_first or self.last_epoch > self.total_iters:
            return 1.0
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return 1.0 + change / before

    def share(self) -> float:
        """On the line."""
        change = self.end_factor - self.start_factor
        gone = min(self.total_iters, self.last_epoch)
        return self.start_factor + change * gone / self.total_iters


class ExponentialLR(_Scaled):
    """Times `gamma` in each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self) -> float:
        """Gamma, but not at the start."""
        return 1.0 if self.is_first else self.gamma

    def share(self) -> float:
        """A power of gamma."""
        return float(self.gamma**self.last_epoch)


class PolynomialLR(_Scaled):
    """To zero in `total_iters` epochs, as `(1 - epoch / total_iters) ** power`."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def ratio(self) -> float:
        """The share over that of the epoch before."""
        if self.is_first or self.last_epoch > self.total_iters:
            return 1.0
        now, before = (1.0 - t / self.total_iters for t in (self.last_epoch, self.last_epoch - 1))
        return float((now / before) ** self.power)

    def share(self) -> float:
        """The polynomial."""
        gone = min(self.total_iters, self.last_epoch)
        return float((1.0 - gone / self.total_iters) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate to `eta_min` in `T_max` epochs, and back.

    Source: Loshchilov and Hutter, "SGDR" (2017), equation 5 without restarts; between epochs in
    the recursive form that chains with other schedules.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """From the rates before."""
        t, period, low = self.last_epoch, self.T_max, self.eta_min
        if self.is_first:
            return self.rates
        if (t - 1 - period) % (2 * period) == 0:  # the rate before is eta_min: no ratio
            rise = (1 - math.cos(math.pi / period)) / 2
            return [
                rate + (base - low) * rise
                for base, rate in zip(self.base_lrs, self.rates, strict=True)
            ]
        now, before = (1 + math.cos(math.pi * u / period) for u in (t, t - 1))
        return [now / before * (rate - low) + low for rate in self.rates]

    def closed_form(self) -> list[float]:
        """Equation 5."""
        return _cosine(self.base_lrs, self.eta_min, self.last_epoch / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine again and again, the first of `T_0` epochs, each `T_mult` times as long.

    `step(epoch)` takes fractions: `step(epoch + batch / batches)`. Source: as CosineAnnealingLR.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if value < 1 or value != int(value):
                raise InvalidArgumentError(
                    f"{name} is {value!r}", f"CosineAnnealingWarmRestarts, argument {name}",
                    "it is an int, at least 1",
                )  # fmt: skip
        if not isinstance(eta_min, (int, float)):
            raise InvalidTypeError(
                f"eta_min is {eta_min!r}", "CosineAnnealingWarmRestarts, argument eta_min",
                "pass a float",
            )  # fmt: skip
        self.T_0, self.T_mult, self.T_i = T_0, T_mult, T_0
        self.eta_min, self.T_cur = eta_min, float(last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Equation 5."""
        return _cosine(self.base_lrs, self.eta_min, self.T_cur / self.T_i)

    def move(self, epoch: float | None) -> None:
        """Go on by one epoch, or to `epoch`, which may be a fraction."""
        if epoch is not None and epoch < 0:
            raise InvalidArgumentError(
                f"epoch is {epoch}", "CosineAnnealingWarmRestarts.step", "it is not negative"
            )
        if epoch is not None or self.last_epoch < 0:
            epoch = epoch or 0
            self._enter(epoch)
        else:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        self._write(self.get_lr())

    def _enter(self, epoch: float) -> None:
        """Find the stretch that holds `epoch`."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n


def _cosine(bases: list[float], low: float, share: float) -> list[float]:
    """Half a cosine from each base to `low`; `share` of the way is gone."""
    return [low + (base - low) * (1 + math.cos(math.pi * share)) / 2 for base in bases]


def _between(where: str, name: str, value: Any, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InvalidArgumentError(
            f"{name} is {value}", f"{where}, argument {name}",
            f"it must be between {low} and {high}",
        )  # fmt: skip
