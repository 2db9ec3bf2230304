"""Every schedule over the argument combinations of PyTorch's own tests, 200 steps each.

Compared after each step: the rates and momenta of all groups, and what `get_last_lr` says. Three
optimisers: SGD with momentum, SGD with its rates in tensors, and Adam. Where a schedule takes
epochs, also by epoch; and from a saved state.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import swa_utils

import polygrad as pg
from pytorch_parity.report import Report

STEPS = 200
Make = Callable[[Any, Any], Any]


class _Names:
    """The schedules of a library, SWALR among them."""

    def __init__(self, module: Any, swalr: type) -> None:
        self.module, self.SWALR = module, swalr

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


OURS = _Names(pg.optim.lr_scheduler, pg.optim.swa_utils.SWALR)
THEIRS = _Names(torch.optim.lr_scheduler, swa_utils.SWALR)


def _with(name: str, **kwargs: Any) -> Make:
    return lambda s, o: getattr(s, name)(o, **kwargs)


def _cyclic(**kwargs: Any) -> Make:
    return _with("CyclicLR", **{"base_lr": 1, "max_lr": 5, "step_size_up": 4, **kwargs})


def _sequence(milestones: list[int], *parts: Make) -> Make:
    return lambda s, o: s.SequentialLR(o, [part(s, o) for part in parts], milestones)


def _chain(*parts: Make) -> Make:
    return lambda s, o: s.ChainedScheduler([part(s, o) for part in parts])


def _half(_: float) -> float:
    return 0.5


_momenta = {"cycle_momentum": True, "base_momentum": 0.1, "max_momentum": 0.5}
_two = {"base_lr": [1, 2], "max_lr": [5, 6], "base_momentum": [0.1, 0.2],
        "max_momentum": [0.5, 0.6]}  # fmt: skip
_step, _exponential = _with("StepLR", gamma=0.1, step_size=3), _with("ExponentialLR", gamma=0.9)
_multi = _with("MultiStepLR", gamma=0.1, milestones=[2, 5, 9])
_cosine = _with("CosineAnnealingLR", T_max=10, eta_min=1e-10)

SCHEDULES: dict[str, list[Make]] = {
    "StepLR": [_step, _with("StepLR", step_size=2), _with("StepLR", gamma=0.9, step_size=10),
               _with("StepLR", step_size=30), _with("StepLR", gamma=0.005, step_size=1)],
    "MultiStepLR": [_multi, _with("MultiStepLR", milestones=[30, 80]),
                    _with("MultiStepLR", gamma=0.5, milestones=[4, 4, 8, 10]),
                    _with("MultiStepLR", gamma=0.01, milestones=[1, 4, 6])],
    "ConstantLR": [_with("ConstantLR"), _with("ConstantLR", factor=0.5, total_iters=5),
                   _with("ConstantLR", factor=1 / 3, total_iters=4),
                   _with("ConstantLR", factor=0.1, total_iters=3), _with("ConstantLR", factor=1)],
    "LinearLR": [_with("LinearLR"), _with("LinearLR", start_factor=0.5, total_iters=4),
                 _with("LinearLR", start_factor=0.25, end_factor=0.6, total_iters=4),
                 _with("LinearLR", start_factor=1 / 3, end_factor=0.7, total_iters=4),
                 _with("LinearLR", start_factor=0.4, total_iters=3),
                 _with("LinearLR", start_factor=0.5, end_factor=0.1, total_iters=150)],
    "ExponentialLR": [_exponential, _with("ExponentialLR", gamma=0.1),
                      _with("ExponentialLR", gamma=1.0)],
    "PolynomialLR": [_with("PolynomialLR"), _with("PolynomialLR", power=0.9),
                     _with("PolynomialLR", power=0.9, total_iters=50),
                     _with("PolynomialLR", power=2, total_iters=200)],
    "CosineAnnealingLR": [_cosine, _with("CosineAnnealingLR", T_max=5, eta_min=1e-10),
                          _with("CosineAnnealingLR", T_max=5, eta_min=0.1),
                          _with("CosineAnnealingLR", T_max=300),
                          _with("CosineAnnealingLR", T_max=1)],
    "CosineAnnealingWarmRestarts": [
        *(_with("CosineAnnealingWarmRestarts", T_0=10, T_mult=m, eta_min=1e-10)
          for m in (1, 2, 3, 4)),
        _with("CosineAnnealingWarmRestarts", T_0=20), _with("CosineAnnealingWarmRestarts", T_0=1),
    ],
    "LambdaLR": [_with("LambdaLR", lr_lambda=lambda e: e // 10),
                 _with("LambdaLR", lr_lambda=lambda e: 0.95**e),
                 _with("LambdaLR", lr_lambda=[lambda e: 0.9**e, lambda e: 0.8**e])],
    "MultiplicativeLR": [_with("MultiplicativeLR", lr_lambda=lambda e: 0.95),
                         _with("MultiplicativeLR", lr_lambda=[lambda e: 0.9, lambda e: 0.8])],
    "CyclicLR": [
        *(_cyclic(mode=mode, **more)
          for mode in ("triangular", "triangular2", "exp_range")
          for more in ({"cycle_momentum": False}, _momenta, _two, {**_momenta, "gamma": 0.9},
                       {**_momenta, "gamma": 0.9, "step_size_up": 2, "step_size_down": 6},
                       {**_two, "gamma": 0.9, "step_size_down": 6})),
        _cyclic(scale_fn=_half, **_momenta), _cyclic(scale_fn=lambda x: 0.99**x,
                                                     scale_mode="iterations"),
        _with("CyclicLR", base_lr=0.01, max_lr=0.1),
        _with("CyclicLR", base_lr=0.1, max_lr=0.3, step_size_up=1, step_size_down=3),
    ],
    "OneCycleLR": [
        *(_with("OneCycleLR", max_lr=25, anneal_strategy=strategy, base_momentum=0.1,
                max_momentum=0.9, **more)
          for strategy in ("cos", "linear")
          for more in ({"total_steps": 10, "final_div_factor": 2}, {"total_steps": 250},
                       {"epochs": 20, "steps_per_epoch": 10}, {"total_steps": 201,
                        "pct_start": 0.4, "final_div_factor": 4, "div_factor": 25,
                        "three_phase": True}, {"total_steps": 300, "cycle_momentum": False})),
        _with("OneCycleLR", max_lr=[0.01, 0.02], total_steps=200, base_momentum=[0.1, 0.2],
              max_momentum=[0.5, 0.6]),
    ],
    "SWALR": [_with("SWALR", swa_lr=0.01), _with("SWALR", anneal_epochs=1, swa_lr=0.01),
              _with("SWALR", anneal_epochs=0, swa_lr=0.01),
              _with("SWALR", anneal_epochs=5, swa_lr=0.01),
              _with("SWALR", anneal_epochs=4, anneal_strategy="linear", swa_lr=[0.01, 0.02]),
              _with("SWALR", anneal_epochs=300, anneal_strategy="linear", swa_lr=5.0)],
    "ChainedScheduler": [
        _chain(_step), _chain(_with("LinearLR", start_factor=0.4, total_iters=3)),
        _chain(_with("LinearLR", start_factor=0.4, total_iters=3), _multi),
        _chain(_exponential, _with("ConstantLR", factor=0.2, total_iters=4), _step),
        _chain(_with("PolynomialLR", power=0.9, total_iters=5), _with("ConstantLR", factor=0.1)),
        *(_chain(a, b) for a, b in (
            (_step, _multi), (_step, _exponential), (_multi, _exponential), (_cosine, _step),
            (_cosine, _multi), (_with("LinearLR", start_factor=0.4, total_iters=4), _cosine),
            (_cosine, _with("ExponentialLR", gamma=0.5)),
            (_with("LinearLR", start_factor=0.4, end_factor=0.9, total_iters=4), _exponential))),
        _chain(_chain(_step, _exponential), _multi),
    ],
    "SequentialLR": [
        _sequence([3], _with("ExponentialLR", gamma=0.8), _with("StepLR", gamma=0.1, step_size=4)),
        _sequence([3], _with("ConstantLR", factor=0.1, total_iters=3), _exponential),
        _sequence([3, 6], _with("ConstantLR", factor=0.1, total_iters=3), _exponential, _step),
        _sequence([10], _with("ConstantLR", factor=1), _with("ConstantLR", factor=0.1)),
        _sequence([5], _chain(_with("LinearLR", start_factor=0.1, total_iters=5),
                              _with("ConstantLR", factor=0.1, total_iters=5)),
                  _with("ConstantLR", factor=0.5, total_iters=5)),
        _sequence([5], _with("LinearLR", start_factor=0.5, end_factor=0.1), _exponential),
        _sequence([20, 100], _with("LinearLR", start_factor=0.01, total_iters=20), _cosine,
                  _with("CosineAnnealingWarmRestarts", T_0=10, T_mult=2)),
        _sequence([7], _cosine, _with("SWALR", swa_lr=0.01)),
        _sequence([7], _exponential, _with("PolynomialLR", total_iters=50, power=2)),
        _sequence([7], _exponential, _with("MultiplicativeLR", lr_lambda=lambda e: 0.97)),
        _sequence([7], _exponential, _with("LambdaLR", lr_lambda=lambda e: 0.97**e)),
        _sequence([7], _step, _with("MultiStepLR", milestones=[0, 50], gamma=0.5)),
        _sequence([0], _step, _exponential),
    ],
}  # fmt: skip

# By epoch: those with a closed form, and warm restarts with fractions.
BY_EPOCH = {
    name: [float(e) for e in (0, 1, 2, 5, 3, 3, 12, 27, 80, 200, 7)]
    for name in ("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR",
                 "PolynomialLR", "CosineAnnealingLR", "LambdaLR")
}  # fmt: skip
BY_EPOCH["CosineAnnealingWarmRestarts"] = [
    0, 0.1, 0.2, 0.3, 1.3, 2.3, 17.5, 18.5, 19.5, 29.5, 30.5, 31.5, 50, 3, 80, 81, 25,
]  # fmt: skip

PLATEAUS: list[tuple[dict[str, Any], Callable[[int], float]]] = [
    ({}, lambda i: 1.0), ({"mode": "min", "factor": 0.1, "patience": 2}, lambda i: i % 5),
    ({"threshold_mode": "abs", "threshold": 0.01, "patience": 5, "cooldown": 5},
     lambda i: 10 - i * 0.0167),
    ({"threshold_mode": "abs", "threshold": 0.1, "patience": 5}, lambda i: 10 - i * 0.0165),
    ({"mode": "max", "patience": 5, "cooldown": 5, "threshold_mode": "abs"},
     lambda i: -0.8 if i < 2 else -0.234),
    ({"mode": "max", "patience": 3, "threshold": 0.1}, lambda i: 1.5 * 1.025**i),
    ({"mode": "max", "threshold": 0.1, "patience": 5, "cooldown": 5}, lambda i: 1.5 * 1.005**i),
    ({"threshold": 0.1}, lambda i: 1.5 * 0.85**i),
    ({"threshold": 0.1, "patience": 5, "cooldown": 5},
     lambda i: 1.0 if i < 7 else 0.6 if i == 7 else 0.5),
    ({"mode": "max", "threshold": 0.1, "min_lr": [0.4, 0.3], "patience": 5, "cooldown": 5},
     lambda i: 1.5 * 1.005**i),
    ({"patience": 0, "eps": 1e-3, "factor": 0.5}, lambda i: 1.0),
    ({"patience": 3}, lambda i: math.nan if i % 7 == 3 else 1 / (1 + i)),
]  # fmt: skip

# (what, call): PyTorch raises at all of these.
REFUSALS: list[tuple[str, Make]] = [
    ("an optimiser that is none", lambda s, o: s.StepLR(3, 2)),
    ("resuming without initial_lr", _with("StepLR", step_size=3, last_epoch=1)),
    ("start_factor=0", _with("LinearLR", start_factor=0.0)),
    ("start_factor=1.1", _with("LinearLR", start_factor=1.1)),
    ("end_factor=1.1", _with("LinearLR", end_factor=1.1)),
    ("end_factor=-0.1", _with("LinearLR", end_factor=-0.1)),
    ("factor=1.1", _with("ConstantLR", factor=1.1)),
    ("factor=-0.1", _with("ConstantLR", factor=-0.1)),
    ("three lambdas for two groups", _with("LambdaLR", lr_lambda=[_half] * 3)),
    ("three factors for two groups", _with("MultiplicativeLR", lr_lambda=[_half] * 3)),
    ("a number as factor", _with("MultiplicativeLR", lr_lambda=0.95)),
    ("numbers as factors", _with("MultiplicativeLR", lr_lambda=[0.95, 0.95])),
    ("mode", _with("CyclicLR", base_lr=0, max_lr=0, mode="CATS")),
    ("base_lr for three groups", _with("CyclicLR", base_lr=[0, 1, 2], max_lr=3)),
    ("no momentum to cycle", lambda s, o: s.CyclicLR(_rprop(o), 1, 5, cycle_momentum=True)),
    ("no momentum to cycle once", lambda s, o: s.OneCycleLR(_rprop(o), 1, total_steps=5)),
    ("anneal_strategy", _with("OneCycleLR", max_lr=1e-3, total_steps=10, anneal_strategy="CATS")),
    ("pct_start", _with("OneCycleLR", max_lr=1e-3, total_steps=10, pct_start=1.1)),
    ("pct_start below 0", _with("OneCycleLR", max_lr=1e-3, total_steps=10, pct_start=-0.1)),
    ("no total", _with("OneCycleLR", max_lr=1e-3)),
    ("a total of 0", _with("OneCycleLR", max_lr=1e-3, total_steps=0)),
    ("a total of 1.5", _with("OneCycleLR", max_lr=1e-3, total_steps=1.5)),
    ("no epochs", _with("OneCycleLR", max_lr=1e-3, epochs=0, steps_per_epoch=5)),
    ("epochs of 1.5", _with("OneCycleLR", max_lr=1e-3, epochs=1.5, steps_per_epoch=2)),
    ("T_0=0", _with("CosineAnnealingWarmRestarts", T_0=0)),
    ("T_0=1.5", _with("CosineAnnealingWarmRestarts", T_0=1.5)),
    ("T_mult=0", _with("CosineAnnealingWarmRestarts", T_0=1, T_mult=0)),
    ("T_mult=1.5", _with("CosineAnnealingWarmRestarts", T_0=1, T_mult=1.5)),
    ("eta_min in words", _with("CosineAnnealingWarmRestarts", T_0=1, eta_min="low")),
    ("epoch -1", lambda s, o: s.CosineAnnealingWarmRestarts(o, 3).step(-1)),
    ("SWALR strategy", _with("SWALR", anneal_strategy="exponential", swa_lr=1.0)),
    ("SWALR epochs -1", _with("SWALR", anneal_epochs=-1, swa_lr=1.0)),
    ("SWALR epochs 1.7", _with("SWALR", anneal_epochs=1.7, swa_lr=1.0)),
    ("SWALR rates", _with("SWALR", swa_lr=[1.0, 0.1, 0.01])),
    ("plateau factor", _with("ReduceLROnPlateau", factor=1.0)),
    ("plateau mode", _with("ReduceLROnPlateau", mode="best")),
    ("plateau threshold_mode", _with("ReduceLROnPlateau", threshold_mode="best")),
    ("plateau min_lr", _with("ReduceLROnPlateau", min_lr=[0.1])),
    ("plateau of no optimiser", lambda s, o: s.ReduceLROnPlateau(3)),
    ("an empty sequence", _sequence([])),
    ("an empty chain", _chain()),
    ("milestones", _sequence([1, 2], _step, _step)),
    ("a plateau in a sequence", _sequence([1], _step, _with("ReduceLROnPlateau"))),
    ("a plateau in a chain", _chain(_step, _with("ReduceLROnPlateau"))),
    ("two optimisers in a chain", lambda s, o: s.ChainedScheduler(
        [s.StepLR(o, 1), s.StepLR(_rprop(o), 1)])),
    ("two optimisers in a sequence", lambda s, o: s.SequentialLR(
        o, [s.StepLR(o, 1), s.StepLR(_rprop(o), 1)], [1])),
    ("a chain of no schedules", lambda s, o: s.ChainedScheduler([3], o)),
    ("a sequence of no schedules", lambda s, o: s.SequentialLR(o, [3], [])),
]  # fmt: skip


def _rprop(optimizer: Any) -> Any:
    """An optimiser without momentum, of the library of another."""
    if isinstance(optimizer, pg.optim.Optimizer):
        return pg.optim.Rprop([pg.nn.Parameter(pg.ones(1))])
    return torch.optim.Rprop([torch.nn.Parameter(torch.ones(1))])


def _optimizer(library: Any, kind: str) -> Any:
    """Two groups, the second with ten times the rate."""
    first, second = (library.nn.Parameter(library.zeros((1,))) for _ in range(2))
    rate = (lambda x: library.tensor(x, dtype=library.float64)) if kind == "tensor" else float
    groups = [{"params": [first]}, {"params": [second], "lr": rate(0.5)}]
    if kind == "Adam":
        return library.optim.Adam(groups, lr=rate(0.05))
    return library.optim.SGD(groups, lr=rate(0.05), momentum=0.5)


def _look(optimizer: Any, schedule: Any) -> list[Any]:
    groups = optimizer.param_groups
    return [
        [float(g["lr"]) for g in groups],
        [g["betas"][0] if "betas" in g else g["momentum"] for g in groups],
        [float(rate) for rate in schedule.get_last_lr()],
    ]


def _follow(library: Any, names: _Names, make: Make, kind: str, way: str) -> list[Any]:
    """What a library says after each step, up to the error that ends the schedule."""
    optimizer = _optimizer(library, kind)
    schedule = make(names, optimizer)
    seen = [_look(optimizer, schedule)]
    epochs = BY_EPOCH[type(schedule).__name__] if way == "epoch" else [None] * STEPS
    for i, epoch in enumerate(epochs):
        optimizer.step()
        try:
            if epoch is None:
                schedule.step()
            else:
                schedule.step(epoch if epoch % 1 else int(epoch))
        except ValueError:
            seen.append("raises")
            break
        seen.append(_look(optimizer, schedule))
        if way == "saved" and i in (0, 6, 50):
            states = copy.deepcopy((optimizer.state_dict(), schedule.state_dict()))
            optimizer = _optimizer(library, kind)
            schedule = make(names, optimizer)
            optimizer.load_state_dict(states[0])
            schedule.load_state_dict(states[1])
    return seen


def _plateau(library: Any, names: _Names, kwargs: dict[str, Any], metric: Any,
             kind: str) -> list[Any]:  # fmt: skip
    optimizer = _optimizer(library, kind)
    schedule = names.ReduceLROnPlateau(optimizer, **kwargs)
    seen = [_look(optimizer, schedule)]
    for i in range(STEPS):
        optimizer.step()
        schedule.step(metric(i))
        seen.append(_look(optimizer, schedule))
        seen.append([float(schedule.best), schedule.num_bad_epochs, schedule.cooldown_counter])
    return seen


def _resumed(library: Any, names: _Names, make: Make, last_epoch: int) -> list[Any]:
    """A schedule made with `last_epoch`, where groups know their initial rate."""
    optimizer = _optimizer(library, "SGD")
    for group in optimizer.param_groups:
        group["initial_lr"] = 2 * group["lr"]
    schedule = make(names, optimizer, last_epoch)  # type: ignore[call-arg]
    seen = [_look(optimizer, schedule)]
    for _ in range(STEPS):
        optimizer.step()
        schedule.step()
        seen.append(_look(optimizer, schedule))
    return seen


RESUMED: dict[str, dict[str, Any]] = {
    "StepLR": {"step_size": 3}, "MultiStepLR": {"milestones": [2, 5, 9]}, "ConstantLR": {},
    "LinearLR": {"total_iters": 20}, "ExponentialLR": {"gamma": 0.9},
    "PolynomialLR": {"total_iters": 50}, "CosineAnnealingLR": {"T_max": 5},
    "LambdaLR": {"lr_lambda": lambda e: 0.9**e}, "MultiplicativeLR": {"lr_lambda": lambda e: 0.9},
    "CosineAnnealingWarmRestarts": {"T_0": 20}, "SWALR": {"swa_lr": 0.01},
    "CyclicLR": {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 4, "cycle_momentum": False},
}  # fmt: skip


def _both(report: Report, name: str, what: str, function: Callable[..., Any], *args: Any) -> None:
    expected = function(torch, THEIRS, *args)
    try:
        got = function(pg, OURS, *args)
    except (pg.PolygradError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
        report.fail(name, what, f"{type(error).__name__}: {error}")
        return
    report.equal(name, what, got, expected)


def run(report: Report, wanted: Callable[[str], Any]) -> None:
    """Compare the schedules whose names are wanted."""
    for name, makes in SCHEDULES.items():
        for number, make in enumerate(makes if wanted(name) else ()):
            for kind in ("SGD", "tensor", "Adam"):
                for way in ("steps", "saved", *(("epoch",) if name in BY_EPOCH else ())):
                    _both(report, name, f"arguments {number}, {kind}, {way}",
                          _follow, make, kind, way)  # fmt: skip
    for name, kwargs in RESUMED.items():
        for last in (0, 3, 4, 30) if wanted(name) else ():
            def make(s: Any, o: Any, e: int, n: str = name, k: Any = kwargs) -> Any:
                return getattr(s, n)(o, last_epoch=e, **k)

            _both(report, name, f"last_epoch={last}", _resumed, make, last)
    name = "ReduceLROnPlateau"
    for number, (kwargs, metric) in enumerate(PLATEAUS if wanted(name) else ()):
        for kind in ("SGD", "tensor", "Adam"):
            _both(report, name, f"arguments {number}, {kind}", _plateau, kwargs, metric, kind)
    if wanted("SequentialLR"):
        report.leave("SequentialLR", "a sequence in a sequence, which PyTorch begins at epoch 1")
    for what, make in REFUSALS if wanted("refusals") else ():
        _refuse(report, what, make)


def _refuse(report: Report, what: str, make: Make) -> None:
    said = []
    for library, names in ((pg, OURS), (torch, THEIRS)):
        try:
            make(names, _optimizer(library, "SGD"))
        except Exception as error:  # noqa: BLE001  whatever PyTorch raises
            said.append("raises")
            if library is pg and not isinstance(error, pg.PolygradError):
                said[-1] = f"raises {type(error).__name__}"
        else:
            said.append("does not raise")
    report.equal("refusals", what, *said)
