"""Schedules made of schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.optim.lr_scheduler.base import LRScheduler, set_rate
from polygrad.optim.lr_scheduler.plateau import ReduceLROnPlateau
from polygrad.optim.optimizer import Optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


def _checked(
    where: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None
) -> tuple[list[LRScheduler], Optimizer]:
    """The schedules, and the one optimiser that all of them set."""
    found = list(schedulers)
    if not found:
        raise InvalidArgumentError("there are no schedules", f"{where}, argument schedulers")
    for i, scheduler in enumerate(found):
        if not isinstance(scheduler, LRScheduler):
            raise InvalidTypeError(
                f"schedule {i} is {scheduler!r}", f"{where}, argument schedulers",
                "pass schedules of polygrad.optim.lr_scheduler",
            )  # fmt: skip
    optimizer = optimizer or found[0].optimizer
    for i, scheduler in enumerate(found):
        if scheduler.optimizer is not optimizer:
            raise InvalidArgumentError(
                f"schedule {i} belongs to another optimiser", f"{where}, argument schedulers",
                "make all of them with one optimiser",
            )  # fmt: skip
        if isinstance(scheduler, ReduceLROnPlateau):
            raise InvalidArgumentError(
                f"schedule {i} needs a metric at each step", f"{where}, argument schedulers",
                "step ReduceLROnPlateau by itself",
            )  # fmt: skip
    return found, optimizer


class _Composite(LRScheduler):
    """What is saved: the state of each part."""

    schedulers: list[LRScheduler]

    def move(self, epoch: float | None) -> None:
        """As part of a sequence, which counts."""
        self.step(epoch)

    def withdraw(self) -> None:
        """Undo the epoch that each part began."""
        for scheduler in self.schedulers:
            scheduler.withdraw()

    def state_dict(self) -> dict[str, Any]:
        """Own state, and that of each schedule."""
        saved = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "schedulers")}
        return {**saved, "schedulers": [s.state_dict() for s in self.schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where the saved schedules stood."""
        state = dict(state_dict)
        for scheduler, saved in zip(self.schedulers, state.pop("schedulers"), strict=True):
            scheduler.load_state_dict(saved)
        self.__dict__.update(state)


class SequentialLR(_Composite):
    """One schedule after the other; the next begins, with its epoch 0, at each milestone."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        self.schedulers, self.optimizer = _checked("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(self.schedulers) - 1:
            raise InvalidArgumentError(
                f"{len(self.schedulers)} schedules with {len(milestones)} milestones",
                "SequentialLR, argument milestones", "pass one less than there are schedules",
            )  # fmt: skip
        self.milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # undo what making them did
            set_rate(group, group["initial_lr"])
        self.withdraw()
        # where the first milestone is 0, the first schedule never runs
        first = self.schedulers[bisect_right(self.milestones, 0)]
        first._begin()  # noqa: SLF001
        self._last_lr = first.get_last_lr()

    def _begin(self) -> None:
        """Begin anew, as the first part of another sequence."""
        self.move(0)

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else int(epoch)
        index = bisect_right(self.milestones, self.last_epoch)
        scheduler = self.schedulers[index]
        if index > 0 and self.milestones[index - 1] == self.last_epoch:
            scheduler.move(0)
        elif epoch is None:
            scheduler.step()
        else:
            scheduler.move(epoch - (self.milestones[index - 1] if index else 0))
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composite):
    """All schedules at once: each goes on from the rate that the one before has set."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        self.schedulers, self.optimizer = _checked("ChainedScheduler", schedulers, optimizer)
        self._last_lr = self.rates

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch."""
        for scheduler in self.schedulers:
            if epoch is None:
                scheduler.step()
            else:
                scheduler.move(epoch)
        self._last_lr = self.rates

    def _begin(self) -> None:
        """Begin anew, as the first part of a sequence."""
        for scheduler in self.schedulers:
            scheduler._begin()  # noqa: SLF001
        self._last_lr = self.rates
