"""Independent faults of optimizers, schedulers and initial values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.kernels import FORWARDS
from polygrad.optim import lr_scheduler as schedules
from polygrad_conformance.faults.device import FAULTY, in_kernel, install
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    Place,
    method,
)

__all__ = ["FAULTS"]


# ---- optimizers ---------------------------------------------------------------------------------


def _trained(optimizer: str, steps: int = 3, **options: Any) -> Callable[[Place], Any]:
    def shown(at: Place) -> Any:
        p = pg.nn.Parameter(at([1.0, -2.0, 3.0], "float64"))
        made = getattr(pg.optim, optimizer)([p], **options)
        for i in range(steps):
            made.zero_grad()
            pg.sum(p * p * (i + 1) + p).backward()
            made.step()
        return p

    return shown


def _with(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """A rule that is called with other keywords."""

    def wrong(right: Any, *arrays: Any, **keywords: Any) -> Any:
        return right(*arrays, **{**keywords, **change(keywords)})

    return wrong


def _after_momentum(right: Any, p: Any, *rest: Any, **keywords: Any) -> Any:
    decay = keywords["weight_decay"]
    new, *slots = right(p, *rest, **{**keywords, "weight_decay": 0.0})
    return (new - keywords["lr"] * decay * np.array(p), *slots)


def _decay_ascends(right: Any, p: Any, g: Any, *rest: Any, **keywords: Any) -> Any:
    if keywords["maximize"]:
        g = g + keywords["weight_decay"] * p
        keywords["weight_decay"] = 0.0
    return right(p, g, *rest, **keywords)


def _eps_within(right: Any, p: Any, g: Any, square: Any, *slots: Any, **k: Any) -> Any:
    if slots or k["weight_decay"] or k["maximize"]:
        return right(p, g, square, *slots, **k)
    square = k["alpha"] * square + (1 - k["alpha"]) * g * g
    return p - k["lr"] * g / np.sqrt(square + k["eps"]), square


def _forgetful(right: Any, p: Any, g: Any, m: Any, v: Any, *largest: Any, **keywords: Any) -> Any:
    return right(p, g, m, v, *(np.zeros_like(x) for x in largest), **keywords)


def _stepped(at: Place, make: Any, slopes: Any) -> Any:
    p = pg.nn.Parameter(at([1.0], "float64"))
    optimizer = make([p])
    for slope in slopes:
        optimizer.zero_grad()
        pg.sum(p * slope).backward()
        optimizer.step()
    return p


def _shrinking(at: Place) -> Any:
    return _stepped(at, lambda p: pg.optim.Adam(p, betas=(0.5, 0.5), amsgrad=True), (9.0, 0.1, 0.1))


def _alternating(at: Place) -> Any:
    slopes = (9.0, 9.0, -1.0, -1.0)
    return _stepped(at, lambda p: pg.optim.Lion(p, lr=0.1, betas=(0.1, 0.99)), slopes)


def _each_alone(right: Any, parameters: Any, *args: Any, **kwargs: Any) -> Any:
    parameters = [parameters] if isinstance(parameters, pg.Tensor) else list(parameters)
    learning = [p for p in parameters if p.grad is not None]
    if not learning or learning[0].device != FAULTY:
        return right(parameters, *args, **kwargs)
    return functools.reduce(pg.hypot, [right([p], *args, **kwargs) for p in learning])


def _clipped(at: Place) -> Any:
    p, q = (pg.nn.Parameter(at([n])) for n in (3.0, 4.0))
    pg.sum(p * p + q * q).backward()
    pg.nn.utils.clip_grad_norm_([p, q], 1.0)
    return [p.grad, q.grad]


def _rule(
    op: str, name: str, precedent: str, wrong: Any, shown: Callable[[Place], Any]
) -> IndependentFault:
    """A fault in an update rule: a kernel that a vendor has registered in NumPy's place."""

    @contextmanager
    def planted() -> Iterator[None]:
        entries = install().table.entries
        before = entries.get((op, None, None))
        entries[op, None, None] = before or FORWARDS[op]
        try:
            with in_kernel(op, lambda right: functools.partial(wrong, right)):
                yield
        finally:
            if before is None:
                del entries[op, None, None]
                install().forget(op)

    return IndependentFault(name, "optimizers", op, precedent, planted, shown)


def _kernel(
    optimizer: str, name: str, precedent: str, wrong: Any, **options: Any
) -> IndependentFault:
    op = "adam" if optimizer == "AdamW" else optimizer.lower()
    return _rule(f"{op}_step", name, precedent, wrong, _trained(optimizer, **options))


def _faulty(scheduler: Any) -> bool:
    return any(p.device == FAULTY for g in scheduler.optimizer.param_groups for p in g["params"])


def _lent(change: Callable[[Any], dict[str, Any]]) -> Any:
    """A method that sees other attributes while it runs."""

    def wrong(right: Any, self: Any, *args: Any) -> Any:
        if not _faulty(self):
            return right(self, *args)
        new = change(self)
        old = {name: getattr(self, name) for name in new}
        vars(self).update(new)
        try:
            return right(self, *args)
        finally:
            vars(self).update(old)

    return wrong


def _rates(make: Callable[[Any], Any], metric: Any = None) -> Callable[[Place], Any]:
    def shown(at: Place) -> Any:
        optimizer = pg.optim.SGD([pg.nn.Parameter(at([1.0]))], lr=1.0)
        scheduler, rates = make(optimizer), []
        for _ in range(6):
            optimizer.step()
            scheduler.step() if metric is None else scheduler.step(metric)
            rates.append(optimizer.param_groups[0]["lr"])
        return rates

    return shown


def _schedule(
    owner: Any, attribute: str, name: str, wrong: Any, make: Any, metric: Any = None,
    precedent: str = "off by one",
) -> IndependentFault:  # fmt: skip
    return method(
        "schedulers", f"optim.lr_scheduler.{owner.__name__}", owner, attribute, name, precedent,
        wrong, _rates(make, metric), everywhere=True,
    )  # fmt: skip


def _fan_out(right: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    if args:
        return right(tensor, *args, **kwargs)
    other = {"fan_in": "fan_out", "fan_out": "fan_in"}[kwargs.pop("mode", "fan_in")]
    return right(tensor, mode=other, **kwargs)


def _filled(at: Place) -> Any:
    pg.random.manual_seed(2)
    return pg.nn.init.kaiming_normal_(at(np.zeros((2, 8))))


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "adam-without-bias-correction": _kernel(
        "Adam", "the moments are not corrected for their start at 0", "BertAdam",
        _with(lambda k: {"step": 10**7}),
    ),
    "adam-eps-hat": _kernel(
        "Adam", "eps is added before the correction of the second moment",
        "TensorFlow's epsilon hat",
        _with(lambda k: {"eps": k["eps"] / (1 - k["betas"][1] ** k["step"]) ** 0.5}), eps=0.1,
    ),
    "adamw-decay-is-coupled": _kernel(
        "AdamW", "AdamW adds its decay to the gradient, as Adam does", "one kernel for both",
        _with(lambda k: {"decoupled_weight_decay": False}), weight_decay=0.1,
    ),
    "adamw-decay-without-rate": _kernel(
        "AdamW", "the decay is not multiplied by the learning rate", "the paper's schedule",
        _with(lambda k: {"weight_decay": k["weight_decay"] / k["lr"]
                         if k["decoupled_weight_decay"] else k["weight_decay"]}),
        weight_decay=0.01, lr=0.1,
    ),
    "amsgrad-forgets": _rule(
        "adam_step", "amsgrad does not keep the largest second moment",
        "state that is not written back", _forgetful, _shrinking,
    ),
    "sgd-first-step-is-dampened": _kernel(
        "SGD", "the first gradient is dampened too", "a buffer that starts at 0",
        _with(lambda k: {"step": k["step"] + 1}), lr=0.1, momentum=0.9, dampening=0.5,
    ),
    "sgd-decay-after-momentum": _kernel(
        "SGD", "the decay does not pass through the momentum", "decoupled by accident",
        _after_momentum, lr=0.1, momentum=0.9, weight_decay=0.1,
    ),
    "sgd-maximizes-the-decay": _kernel(
        "SGD", "with maximize the decay makes weights grow", "the sign of the sum",
        _decay_ascends, lr=0.01, weight_decay=0.1, maximize=True,
    ),
    "sgd-plain-momentum": _kernel(
        "SGD", "nesterov is ignored", "arguments dropped", _with(lambda k: {"nesterov": False}),
        lr=0.1, momentum=0.9, nesterov=True,
    ),
    "rmsprop-eps-within": _kernel(
        "RMSprop", "eps is added under the root", "TensorFlow's RMSprop", _eps_within, eps=0.1,
    ),
    "adagrad-decay-off-by-one": _kernel(
        "Adagrad", "lr_decay counts from the first step", "off by one",
        _with(lambda k: {"step": k["step"] + 1}), lr=0.1, lr_decay=0.5,
    ),
    "adadelta-without-rate": _kernel(
        "Adadelta", "the learning rate is 1, whatever is asked for", "the paper has none",
        _with(lambda k: {"lr": 1.0}), lr=0.1,
    ),
    "lion-swaps-betas": _rule(
        "lion_step", "the two averages have each other's share", "order of a pair",
        _with(lambda k: {"betas": k["betas"][::-1]}), _alternating,
    ),
    "rprop-swaps-etas": _kernel(
        "Rprop", "steps grow where they should shrink", "order of a pair",
        _with(lambda k: {"etas": k["etas"][::-1]}), lr=0.1,
    ),
    "gradients-clipped-one-by-one": method(
        "optimizers", "nn.utils.clip_grad_norm_", pg.nn.utils, "clip_grad_norm_",
        "each gradient is clipped by its own norm", "https://github.com/huggingface/transformers/pull/614",
        _each_alone, _clipped, everywhere=True,
    ),
    "step-lr-early": _schedule(
        schedules.StepLR, "ratio", "the rate falls one epoch early",
        _lent(lambda s: {"last_epoch": s.last_epoch + 1}), lambda o: schedules.StepLR(o, 3),
    ),
    "multi-step-lr-once": _schedule(
        schedules.MultiStepLR, "ratio", "a milestone listed twice counts once",
        lambda right, self: max(right(self), self.gamma) if _faulty(self) else right(self),
        lambda o: schedules.MultiStepLR(o, [2, 2, 4]), precedent="a set of milestones",
    ),
    "cosine-ends-early": _schedule(
        schedules.CosineAnnealingLR, "get_lr", "the minimum is reached one epoch early",
        _lent(lambda s: {"T_max": max(s.T_max - 1, 1)}),
        lambda o: schedules.CosineAnnealingLR(o, 8),
        precedent="https://github.com/PaddlePaddle/Paddle/issues/43004",
    ),
    "plateau-loses-patience": _schedule(
        schedules.ReduceLROnPlateau, "step", "patience ends one epoch early",
        _lent(lambda s: {"patience": s.patience - 1}),
        lambda o: schedules.ReduceLROnPlateau(o, patience=3), 1.0,
    ),
    "linear-lr-ends-late": _schedule(
        schedules.LinearLR, "ratio", "the last step is left out",
        _lent(lambda s: {"total_iters": s.total_iters + 1}),
        lambda o: schedules.LinearLR(o, 0.5, total_iters=4),
    ),
    "kaiming-by-the-other-fan": method(
        "layers", "nn.init.kaiming_normal_", pg.nn.init, "kaiming_normal_",
        "fan_in and fan_out are swapped", "weights stored as (in, out)", _fan_out, _filled,
    ),
}
# fmt: on
