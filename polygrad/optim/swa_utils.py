"""Averages of a model's weights over training: exponential (EMA) and equal (SWA).

Sources: Polyak and Juditsky (1992); Izmailov et al., "Averaging weights leads to wider optima and
better generalization" (2018).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from polygrad.config import no_grad
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.nn.batch_norm import _BatchNorm
from polygrad.nn.module import Module
from polygrad.ops.creation import to_place
from polygrad.ops.filling import zeros
from polygrad.optim.arguments import at_least, counts
from polygrad.optim.lr_scheduler.base import LRScheduler, attach, per_group
from polygrad.optim.optimizer import Optimizer
from polygrad.registry import default_integer, find_device
from polygrad.tensor import Tensor, on_host

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip

Average = Callable[[Tensor, Tensor, Tensor], Tensor]
AverageAll = Callable[[list[Tensor], list[Tensor], Tensor], None]


def _check_decay(decay: float) -> None:
    at_least("get_ema_avg_fn", 0.0, decay=decay)
    if decay > 1:
        raise InvalidArgumentError(
            f"decay is {decay}", "get_ema_avg_fn, argument decay",
            "it must be between 0 and 1; 0.999 is usual",
        )


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """For `avg_fn`: the average keeps the share `decay` of itself.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        The share is outside [0, 1], or no number.

    >>> import polygrad as pg
    >>> average = pg.optim.swa_utils.get_ema_avg_fn(0.75)
    >>> average(pg.tensor(1.0), pg.tensor(2.0), pg.tensor(5)).item()
    1.25
    """
    _check_decay(decay)

    def average(averaged: Tensor, current: Tensor, num_averaged: Tensor) -> Tensor:
        del num_averaged
        with no_grad():
            return decay * averaged + (1 - decay) * current

    return average


def get_swa_avg_fn() -> Average:
    """For `avg_fn`: the mean of all models so far."""

    def average(averaged: Tensor, current: Tensor, num_averaged: Tensor) -> Tensor:
        with no_grad():
            return averaged + (current - averaged) / (int(num_averaged) + 1)

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageAll:
    """For `multi_avg_fn`: as `get_ema_avg_fn`, of lists, written into the first."""
    return _of_each(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> AverageAll:
    """For `multi_avg_fn`: as `get_swa_avg_fn`, of lists, written into the first."""
    return _of_each(get_swa_avg_fn())


def _of_each(average: Average) -> AverageAll:
    def average_all(
        averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Tensor
    ) -> None:
        for a, b in zip(averaged, current, strict=True):
            _write(a, average(a, b, num_averaged))

    return average_all


def _fit(target: Tensor, value: Any, where: str) -> None:
    """Refuse what cannot take the place of a tensor without being spread or losing a part."""
    if not isinstance(value, Tensor):
        raise InvalidTypeError(f"a {type(value).__name__} for a Tensor", where, "give a Tensor")
    if value.shape != target.shape:
        raise ShapeError(
            f"shape {value.shape} for a tensor of shape {target.shape}", where, "keep the shape"
        )
    if value.kernels.is_complex and not target.kernels.is_complex:
        raise DtypeError(
            f"{value.dtype} numbers for a {target.dtype} tensor", where, "keep them real"
        )


def _write(target: Tensor, value: Tensor) -> None:
    """Values for a tensor, which keeps its dtype: fractions of integers are cut off."""
    with no_grad():
        target[...] = to_place(value.detach(), target.dtype, target.device)


class AveragedModel(Module):
    """A copy of a model whose weights are averages of those that the model has had.

    `update_parameters(model)` takes in the present weights: copies them the first time, averages
    after.

    Parameters
    ----------
    model
        The model that is trained; it is copied.
    device
        Where the copy lives; where the model does if None.
    avg_fn
        `average(averaged, current, number averaged so far)` of one tensor; the equal average if
        None.
    multi_avg_fn
        The same of two lists of tensors, which share device and dtype; it writes into the first.
    use_buffers
        Whether buffers are averaged too; otherwise they are copied each time.

    Attributes
    ----------
    module
        The averaged model.
    n_averaged
        How many models were taken in; saved with the weights.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        Both functions are given; `model` is no Module, or a function is none.

    >>> import polygrad as pg
    >>> model = pg.nn.Linear(1, 1, bias=False)
    >>> ema = pg.optim.swa_utils.AveragedModel(model)
    >>> for weight in (1.0, 2.0, 6.0):
    ...     _ = pg.nn.init.constant_(model.weight, weight)
    ...     ema.update_parameters(model)
    >>> ema.module.weight.detach().item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: AverageAll | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise InvalidArgumentError(
                "both avg_fn and multi_avg_fn are given", "AveragedModel",
                "pass one of them, or none for the equal average",
            )  # fmt: skip
        _check_module(model, "AveragedModel")
        for name, function in (("avg_fn", avg_fn), ("multi_avg_fn", multi_avg_fn)):
            if function is not None and not callable(function):
                raise InvalidTypeError(
                    f"{name} is {function!r}", f"AveragedModel, argument {name}",
                    "pass a function, such as get_ema_avg_fn()",
                )  # fmt: skip
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        integer = default_integer(find_device(device))
        self.register_buffer("n_averaged", zeros((), dtype=integer, device=device))
        self.avg_fn, self.multi_avg_fn = avg_fn, multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take in the weights of `model`.

        Raises
        ------
        ShapeError, DtypeError, InvalidTypeError
            They are not those of the copied model: other numbers or shapes, complex for real ones;
            or `avg_fn` returned something else than averages of them. Nothing has changed then.
        """
        _check_module(model, "AveragedModel.update_parameters")
        pairs = _pairs(self.module.named_parameters(), model.named_parameters())
        buffers = _pairs(self.module.named_buffers(), model.named_buffers())
        if self.use_buffers:
            pairs += buffers
        if int(self.n_averaged) == 0:
            for averaged, current in pairs:
                _write(averaged, current)
        else:
            self._average([(a.detach(), b.detach()) for a, b in pairs])
        for averaged, current in () if self.use_buffers else buffers:
            _write(averaged, current)
        with no_grad():
            self.n_averaged += 1

    def _average(self, pairs: list[tuple[Tensor, Tensor]]) -> None:
        count = self.n_averaged.detach()
        moved = [(a, to_place(b, None, a.device)) for a, b in pairs]
        if self.multi_avg_fn is None:
            average = get_swa_avg_fn() if self.avg_fn is None else self.avg_fn
            made: Iterable[Tensor] = (
                average(a, b, to_place(count, default_integer(a.device), a.device))
                for a, b in moved
            )
            if self.avg_fn is not None:  # a stranger's may fail: all are found before one is taken
                made = list(made)
                for (a, _), value in zip(moved, made, strict=True):
                    _fit(a, value, "AveragedModel.update_parameters, result of avg_fn")
            for (a, _), value in zip(moved, made, strict=True):
                _write(a, value)
            return
        alike: dict[Any, list[tuple[Tensor, Tensor]]] = {}
        for a, b in moved:
            alike.setdefault(a.kernels, []).append((a, b))
        for kernels, group in alike.items():
            averaged, current = map(list, zip(*group, strict=True))
            with no_grad():
                number = to_place(count, default_integer(kernels.device), kernels.device)
                self.multi_avg_fn(averaged, current, number)


def _check_module(model: Any, where: str) -> None:
    if not isinstance(model, Module):
        raise InvalidTypeError(
            f"a {type(model).__name__} is no Module", f"{where}, argument model",
            "pass an instance of pg.nn.Module",
        )  # fmt: skip


def _pairs(
    averaged: Iterable[tuple[str, Tensor]], current: Iterable[tuple[str, Tensor]]
) -> list[tuple[Tensor, Tensor]]:
    """The tensors of two models, side by side."""
    mine, theirs = list(averaged), list(current)
    have, come = ([tuple(t.shape) for _, t in side] for side in (mine, theirs))
    if have != come:
        differ = [
            f"{name} {a}" for (name, _), a, b in zip(mine, have, come, strict=False) if a != b
        ]
        raise ShapeError(
            f"the model has {len(come)} tensors, its average {len(have)}"
            if len(have) != len(come) else f"shapes differ at {', '.join(differ)}",
            "AveragedModel.update_parameters", "pass the model that was copied, or one like it",
        )  # fmt: skip
    for (name, a), (_, b) in zip(mine, theirs, strict=True):
        _fit(a, b, f"AveragedModel.update_parameters, {name}")
    return [(a, b) for (_, a), (_, b) in zip(mine, theirs, strict=True)]


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Find the running statistics of all batch normalisations anew, in one pass over the data.

    The averaged weights never saw data, so that the statistics that came with them are not theirs.

    Parameters
    ----------
    loader
        Batches: tensors, or tuples and lists of which the first entry goes into the model.
    model
        Its mode and the momenta of its layers are left as they were, also if a batch raises.
    device
        Where batches are moved; nowhere if None.

    Raises
    ------
    InvalidArgumentError
        There are no batches: the statistics are left as they were.
    """
    layers = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not layers:
        return
    batches = iter(loader)
    try:
        first = next(batches)
    except StopIteration:
        raise InvalidArgumentError(
            "the loader gave no batches", "update_bn, argument loader",
            "pass data; an iterator can be used up only once",
        ) from None  # fmt: skip
    momenta = [layer.momentum for layer in layers]
    modes = [(m, m.training) for m in model.modules()]
    try:
        model.train()
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None
        with no_grad():
            for batch in chain([first], batches):
                given = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(given if device is None else given.to(device))
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for module, mode in modes:
            module.training = mode


class SWALR(LRScheduler):
    """From the present rate to `swa_lr` in `anneal_epochs` epochs, and then constant.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    swa_lr
        The rate to go to, one or one for each group.
    anneal_epochs
        How many epochs it takes; none for 0.
    anneal_strategy
        "cos" or "linear".

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        An option out of its domain, named.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        attach(self, optimizer)
        if anneal_strategy not in ("cos", "linear"):
            raise InvalidArgumentError(
                f"anneal_strategy is {anneal_strategy!r}", "SWALR, argument anneal_strategy",
                "pass 'cos' or 'linear'",
            )  # fmt: skip
        counts("SWALR", 0, anneal_epochs=anneal_epochs)
        rates = per_group("swa_lr", swa_lr, optimizer)
        for rate in rates:
            given = on_host(rate).item() if isinstance(rate, Tensor) and rate.size == 1 else rate
            at_least("SWALR", 0.0, swa_lr=given)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _gone(self, epoch: int) -> float:
        """The share of the way that is gone in an epoch."""
        share = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * share)) / 2 if self.anneal_strategy == "cos" else share

    def get_lr(self) -> list[float]:
        """From the rates before, whose beginning is found from the share that was gone."""
        epoch = self._step_count - 1
        if self.anneal_epochs == 0:
            epoch = max(1, epoch)
        before, now = self._gone(epoch - 1), self._gone(epoch)
        rates = []
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            end = group["swa_lr"]
            start = end if before == 1 else (rate - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
