"""Schedules that let the rate rise and fall, and the momentum the other way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from polygrad.errors import InvalidArgumentError
from polygrad.optim.lr_scheduler.base import LRScheduler, attach, per_group, set_rate
from polygrad.optim.optimizer import Optimizer

__all__ = ["CyclicLR", "OneCycleLR"]


def _check_momentum(where: str, optimizer: Optimizer) -> None:
    if not {"momentum", "betas"} & optimizer.defaults.keys():
        raise InvalidArgumentError(
            f"{type(optimizer).__name__} has no momentum to cycle", f"{where}, argument optimizer",
            "pass cycle_momentum=False",
        )  # fmt: skip


def _set_momentum(group: dict[str, Any], value: float) -> None:
    """Write the momentum of a group: the first of Adam's betas where it has those."""
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _line(start: float, end: float, share: float) -> float:
    return (end - start) * share + start


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and down to almost nothing, once, a step at each batch.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    max_lr
        The highest rate, one or one for each group.
    total_steps
        Or `epochs` and `steps_per_epoch`, whose product it is.
    pct_start
        The share of the steps that go up.
    anneal_strategy
        "cos" or "linear".
    cycle_momentum, base_momentum, max_momentum
        Whether the momentum goes from `max_momentum` to `base_momentum` meanwhile, and back.
    div_factor, final_div_factor
        The first rate is `max_lr / div_factor`, the last that over `final_div_factor`.
    three_phase
        Come down to the first rate as fast as up, then to the last.

    Source: Smith and Topin, "Super-convergence" (2018).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        attach(self, optimizer)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not 0 <= pct_start <= 1:
            raise InvalidArgumentError(
                f"pct_start is {pct_start}", "OneCycleLR, argument pct_start", "it lies in [0, 1]"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise InvalidArgumentError(
                f"anneal_strategy is {anneal_strategy!r}", "OneCycleLR, argument anneal_strategy",
                "pass 'cos' or 'linear'",
            )  # fmt: skip
        self.pct_start, self.three_phase = pct_start, three_phase
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        if cycle_momentum:
            _check_momentum("OneCycleLR", optimizer)
        columns = zip(
            optimizer.param_groups, per_group("max_lr", max_lr, optimizer),
            per_group("base_momentum", base_momentum, optimizer),
            per_group("max_momentum", max_momentum, optimizer), strict=True,
        )  # fmt: skip
        for group, top, low, high in columns if last_epoch == -1 else ():
            group["initial_lr"] = top / div_factor
            group["max_lr"], group["min_lr"] = top, top / div_factor / final_div_factor
            if cycle_momentum:
                group["base_momentum"], group["max_momentum"] = low, high
                _set_momentum(group, high)
        super().__init__(optimizer, last_epoch)

    def _phases(self) -> list[tuple[float, str, str, str, str]]:
        """(last step, rate from, rate to, momentum from, momentum to) of each phase."""
        up, end = self.pct_start * self.total_steps - 1, self.total_steps - 1
        rise = (up, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if self.three_phase:
            return [
                rise, (2 * up, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (end, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]  # fmt: skip
        return [rise, (end, "max_lr", "min_lr", "base_momentum", "max_momentum")]

    def get_lr(self) -> list[float]:
        """By the step alone; the momenta are written on the way."""
        step = self.last_epoch
        if step > self.total_steps:
            raise InvalidArgumentError(
                f"step {step} of a schedule of {self.total_steps}", "OneCycleLR.step",
                "pass the number of steps that are taken as total_steps",
            )  # fmt: skip
        phases = self._phases()
        start = 0.0
        for i, phase in enumerate(phases):
            if step <= phase[0] or i == len(phases) - 1:
                break
            start = phase[0]
        end, rate_from, rate_to, momentum_from, momentum_to = phase
        share = (step - start) / (end - start)
        anneal = _cosine if self.anneal_strategy == "cos" else _line
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[rate_from], group[rate_to], share))
            if self.cycle_momentum:
                _set_momentum(group, anneal(group[momentum_from], group[momentum_to], share))
        return rates


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise InvalidArgumentError(
            "the length of the cycle is not known", "OneCycleLR",
            "pass total_steps, or both epochs and steps_per_epoch",
        )  # fmt: skip
    total = total_steps if total_steps is not None else epochs * steps_per_epoch  # type: ignore[operator]
    if not isinstance(total, int) or total <= 0:
        raise InvalidArgumentError(
            f"the cycle has {total!r} steps", "OneCycleLR", "the number of steps is a positive int"
        )
    return total


class CyclicLR(LRScheduler):
    """Between `base_lr` and `max_lr` in triangles, a step at each batch.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    base_lr, max_lr
        The lowest and the highest rate, one or one for each group.
    step_size_up, step_size_down
        Steps up, and down (as many if not given).
    mode
        "triangular"; "triangular2", half as high each time; "exp_range", by `gamma ** steps`.
    gamma
        For "exp_range".
    scale_fn, scale_mode
        A function of one's own for the height: of the "cycle", from 1, or of the "iterations".
    cycle_momentum, base_momentum, max_momentum
        Whether the momentum goes the other way, and between what.

    Source: Smith, "Cyclical learning rates for training neural networks" (2017).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        attach(self, optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise InvalidArgumentError(
                f"mode is {mode!r}", "CyclicLR, argument mode",
                "pass 'triangular', 'triangular2', 'exp_range', or a scale_fn",
            )  # fmt: skip
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.max_lrs = per_group("max_lr", max_lr, optimizer)
        self.mode, self.gamma, self.scale_fn = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn or mode != "exp_range" else "iterations"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _check_momentum("CyclicLR", optimizer)
            self.base_momentums = per_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = per_group("max_momentum", max_momentum, optimizer)
        bases = per_group("base_lr", base_lr, optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                set_rate(group, bases[i])
                if cycle_momentum:
                    _set_momentum(group, self.max_momentums[i])
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def _scale(self, x: float) -> float:
        """The height of a triangle."""
        if self.scale_fn is not None:
            return float(self.scale_fn(x))
        if self.mode == "triangular2":
            return float(2.0 ** (1 - x))
        return float(self.gamma**x) if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[float]:
        """By the step alone; the momenta are written on the way."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, pairs, strict=True):
                _set_momentum(group, high - (high - low) * height * scale)
        return [
            base + (top - base) * height * scale
            for base, top in zip(self.base_lrs, self.max_lrs, strict=True)
        ]
