"""What all schedules share: counting epochs, writing rates into groups, saving and loading."""

from __future__ import annotations

import copy
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.optim.arguments import rate_of
from polygrad.optim.optimizer import Optimizer
from polygrad.tensor import Tensor

__all__ = ["LRScheduler", "attach", "per_group", "set_rate"]


def per_group(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value for each group, from one for all or a list of them.

    Raises
    ------
    InvalidArgumentError
        The list is not as long as there are groups.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise InvalidArgumentError(
            f"{len(value)} values for {count} groups", f"argument {name}",
            "pass one, or one for each",
        )  # fmt: skip
    return list(value)


def set_rate(group: dict[str, Any], rate: float) -> None:
    """Write the rate of a group; into the tensor that holds it, if one does."""
    if isinstance(group["lr"], Tensor):
        group["lr"][...] = rate
    else:
        group["lr"] = rate


def attach(scheduler: LRScheduler, optimizer: Any) -> None:
    """Let a schedule write the rates of an optimiser. Raises InvalidTypeError for what is none.

    Groups that share a tensor as their rate get one each, for they may come to differ.
    """
    if not isinstance(optimizer, Optimizer):
        raise InvalidTypeError(
            f"a {type(optimizer).__name__} is no Optimizer", type(scheduler).__name__,
            "pass the optimiser whose learning rate is to change",
        )  # fmt: skip
    scheduler.optimizer = optimizer
    held: set[int] = set()
    for group in optimizer.param_groups:
        if isinstance(group.get("lr"), Tensor):
            if id(group["lr"]) in held:
                group["lr"] = group["lr"].detach().clone()
            held.add(id(group["lr"]))


class LRScheduler:
    """Base of the schedules that set the rate of each group after each epoch.

    A subclass defines `get_lr`, the rates of epoch `last_epoch` from those of the epoch before (so
    that schedules can be chained); and `closed_form` where they depend on the epoch alone.

    Parameters
    ----------
    optimizer
        Whose groups are written.
    last_epoch
        The last epoch that was run, when resuming; -1 at the start.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError
        Not an Optimizer; resuming where no initial rate is known.
    """

    optimizer: Optimizer

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        attach(self, optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", rate_of(group))
            elif "initial_lr" not in group:
                raise InvalidArgumentError(
                    f"the initial rate of group {i} is not known",
                    f"{type(self).__name__}, argument last_epoch={last_epoch}",
                    "load the optimiser's state first, or begin with last_epoch=-1",
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count, self._is_initial = 0, False
        self._steps_before = optimizer.steps_taken
        self._last_lr: list[float] = []
        self._begin()

    def _begin(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    @property
    def is_first(self) -> bool:
        """Whether the rates being found are those at construction."""
        return self._is_initial

    def withdraw(self) -> None:
        """Undo the epoch that construction began, for a schedule that begins later."""
        self.last_epoch -= 1

    @property
    def rates(self) -> list[float]:
        """The present rate of each group."""
        return [rate_of(group) for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The rate of each group as this schedule last set it."""
        return self._last_lr

    def get_lr(self) -> list[float]:
        """The rate of each group in epoch `last_epoch`, from the present ones."""
        raise NotImplementedError

    def closed_form(self) -> list[float]:
        """The rate of each group in epoch `last_epoch`, whatever it was before."""
        return self.get_lr()

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`."""
        self._warn_order()
        self._step_count += 1
        self.move(epoch)

    def move(self, epoch: float | None) -> None:
        """Set the rates of the next epoch, or of `epoch`; not counted as a step."""
        if epoch is None:
            self.last_epoch += 1
            self._write(self.get_lr())
        else:
            self.last_epoch = epoch  # type: ignore[assignment]
            self._write(self.closed_form())

    def _write(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self.rates

    def _warn_order(self) -> None:
        if self._step_count == 1 and self.optimizer.steps_taken == self._steps_before:
            warnings.warn(
                "scheduler.step() was called before optimizer.step(): the first learning rate is "
                "never used. Call optimizer.step() first in each epoch.",
                UserWarning,
                stacklevel=3,
            )

    # ---- saving and loading -----------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimiser and functions; of callable objects their attributes."""
        saved = {}
        for name, value in self.__dict__.items():
            if name in ("optimizer", "_steps_before"):
                continue
            saved[name] = _without_functions(value)
        return copy.deepcopy(saved)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where the saved schedule stood; the rates are in the optimiser's own state."""
        for name, value in copy.deepcopy(dict(state_dict)).items():
            self.__dict__[name] = _with_functions(self.__dict__.get(name), value)


class _Saved(dict[str, Any]):
    """The attributes of a callable object."""


def _without_functions(value: Any) -> Any:
    if isinstance(value, list) and any(callable(v) for v in value):
        return [_without_functions(v) for v in value]
    if isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return None
    return _Saved(value.__dict__) if callable(value) else value


def _with_functions(mine: Any, loaded: Any) -> Any:
    """What was loaded, with this schedule's own functions in the places of those left out."""
    if callable(mine):
        if isinstance(loaded, dict):
            mine.__dict__.update(loaded)
        return mine
    if isinstance(mine, list) and isinstance(loaded, list) and any(callable(v) for v in mine):
        return [_with_functions(m, v) for m, v in zip(mine, loaded, strict=True)]
    return loaded
