"""A schedule that waits for a metric to stop improving."""

from __future__ import annotations

import math
from typing import Any

from polygrad.errors import InvalidArgumentError
from polygrad.optim.arguments import rate_of
from polygrad.optim.lr_scheduler.base import LRScheduler, attach, per_group, set_rate
from polygrad.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when the metric given to `step` has not improved for `patience` epochs.

    Parameters
    ----------
    optimizer
        Whose groups are written.
    mode
        "min" or "max": what is better.
    factor, patience
        Below 1; epochs without improvement that are let pass.
    threshold, threshold_mode
        The least improvement that counts, relative ("rel") or absolute ("abs").
    cooldown
        Epochs to wait after a reduction before counting again.
    min_lr, eps
        The least rate, one or one for each group; smaller changes than eps are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        for name, value, legal in (
            ("mode", mode, ("min", "max")), ("threshold_mode", threshold_mode, ("rel", "abs")),
        ):  # fmt: skip
            if value not in legal:
                raise InvalidArgumentError(
                    f"{name} is {value!r}", f"ReduceLROnPlateau, argument {name}",
                    "pass " + " or ".join(repr(v) for v in legal),
                )  # fmt: skip
        if factor >= 1.0:
            raise InvalidArgumentError(
                f"factor is {factor}", "ReduceLROnPlateau, argument factor", "it must be below 1"
            )
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        attach(self, optimizer)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = per_group("min_lr", min_lr, optimizer)
        self.last_epoch = 0
        self._last_lr = self.rates

    def step(self, metrics: Any, epoch: float | None = None) -> None:  # type: ignore[override]
        """Look at the metric of the epoch that is over, a number or a one-element tensor."""
        now = float(metrics.item() if hasattr(metrics, "item") else metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch  # type: ignore[assignment]
        if self.is_better(now):
            self.best, self.num_bad_epochs = now, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self.rates

    def is_better(self, value: float) -> bool:
        """Whether a metric improves on the best so far by more than the threshold.

        A relative threshold is one of the best's magnitude, so that a negative metric that stays as
        it is does not count as better.
        """
        sign = 1.0 if self.mode == "max" else -1.0
        if math.isinf(self.best):
            return sign * value > sign * self.best
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" else 1.0)
        return sign * (value - self.best) > margin

    def _reduce(self) -> None:
        count = len(self.optimizer.param_groups)
        if len(self.min_lrs) != count:  # a group was added since
            if self.default_min_lr is None:
                raise InvalidArgumentError(
                    f"{len(self.min_lrs)} values for {count} groups", "ReduceLROnPlateau, min_lr",
                    "append one to schedule.min_lrs for each group that is added",
                )  # fmt: skip
            self.min_lrs = [self.default_min_lr] * count
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            now = rate_of(group)
            rate = max(now * self.factor, least)
            if now - rate > self.eps:
                set_rate(group, rate)
