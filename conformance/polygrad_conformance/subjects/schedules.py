"""Schedules: the rates of the first steps, against committed ones, `data/rates.toml`.

They are numbers of the host, but for what a backend's own optimizers and schedules make of them.
Run this module to print the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import nn, optim
from polygrad.optim import lr_scheduler as schedules
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.declarations import load_data
from polygrad_conformance.target import Target

STEPS = 12
_CLOSE = 1e-12  # the host's cosines
_METRICS = (3.0, 2.0, 2.5, 2.0, 1.9999, 1.9999, 1.5, 1.6, 1.6, 1.6, 1.4, 1.4)
Make = Callable[[Any], Any]

# By schedule and variant: what makes one for an optimizer.
MADE: dict[str, dict[str, Make]] = {
    "ConstantLR": {
        "plain": schedules.ConstantLR,
        "short": lambda o: schedules.ConstantLR(o, 0.5, total_iters=3),
    },
    "LinearLR": {
        "plain": schedules.LinearLR,
        "falling": lambda o: schedules.LinearLR(o, 1.0, 0.25, total_iters=4),
    },
    "ExponentialLR": {"plain": lambda o: schedules.ExponentialLR(o, 0.8)},
    "StepLR": {
        "plain": lambda o: schedules.StepLR(o, 3),
        "each": lambda o: schedules.StepLR(o, 1, gamma=0.9),
    },
    "MultiStepLR": {
        "plain": lambda o: schedules.MultiStepLR(o, [2, 5]),
        "twice": lambda o: schedules.MultiStepLR(o, [4, 2, 4], gamma=0.5),
    },
    "PolynomialLR": {
        "plain": schedules.PolynomialLR,
        "square": lambda o: schedules.PolynomialLR(o, total_iters=8, power=2.0),
    },
    "CosineAnnealingLR": {
        "plain": lambda o: schedules.CosineAnnealingLR(o, 8),
        "again": lambda o: schedules.CosineAnnealingLR(o, 5, eta_min=0.1),
    },
    "CosineAnnealingWarmRestarts": {
        "plain": lambda o: schedules.CosineAnnealingWarmRestarts(o, 4),
        "longer": lambda o: schedules.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.1),
    },
    "CyclicLR": {
        "plain": lambda o: schedules.CyclicLR(o, 0.1, 1.0, step_size_up=3),
        "halved": lambda o: schedules.CyclicLR(o, 0.1, 1.0, 2, 4, mode="triangular2"),
        "decaying": lambda o: schedules.CyclicLR(o, [0.1, 0.2], [1.0, 2.0], 2, mode="exp_range",
                                                 gamma=0.9, cycle_momentum=False),
        "momentum": lambda o: schedules.CyclicLR(o, 0.1, 1.0, 3, base_momentum=0.5,
                                                 max_momentum=0.7),
        "scaled": lambda o: schedules.CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda n: 1 / (1 + n),
                                               scale_mode="iterations"),
    },
    "OneCycleLR": {
        "plain": lambda o: schedules.OneCycleLR(o, 1.0, total_steps=STEPS + 1),
        "three": lambda o: schedules.OneCycleLR(
            o, [1.0, 2.0], epochs=4, steps_per_epoch=4, pct_start=0.4, anneal_strategy="linear",
            div_factor=10.0, final_div_factor=100.0, three_phase=True),
        "momentum": lambda o: schedules.OneCycleLR(o, 1.0, 16, base_momentum=0.5,
                                                   max_momentum=0.8),
        "still": lambda o: schedules.OneCycleLR(o, 1.0, 16, cycle_momentum=False),
    },
    "LambdaLR": {"plain": lambda o: schedules.LambdaLR(
        o, [lambda n: 0.9**n, lambda n: 1 / (1 + n)])},
    "MultiplicativeLR": {"plain": lambda o: schedules.MultiplicativeLR(o, lambda n: 1 - n / 20)},
    "ReduceLROnPlateau": {
        "plain": lambda o: schedules.ReduceLROnPlateau(o, patience=1),
        "rising": lambda o: schedules.ReduceLROnPlateau(o, "max", 0.5, 0, min_lr=0.1),
        "patient": lambda o: schedules.ReduceLROnPlateau(o, patience=2, cooldown=2, factor=0.5),
        "absolute": lambda o: schedules.ReduceLROnPlateau(
            o, patience=0, threshold=0.3, threshold_mode="abs", factor=0.5, eps=0.2),
    },
    "ChainedScheduler": {"plain": lambda o: schedules.ChainedScheduler(
        [schedules.ConstantLR(o, 0.5, 3), schedules.ExponentialLR(o, 0.9)])},
    "SequentialLR": {"plain": lambda o: schedules.SequentialLR(
        o, [schedules.LinearLR(o, 0.1, total_iters=3), schedules.StepLR(o, 2, 0.5)], [3])},
}  # fmt: skip


def cases(level: str) -> Iterator[Case]:
    """Each variant of each schedule; at level smoke the first of each."""
    for name, variants in MADE.items():
        for variant in list(variants)[: None if level != "smoke" else 1]:

            def action(target: Target, name: str = name, variant: str = variant) -> None:
                _check(target, name, variant)

            yield Case(f"optim.lr_scheduler.{name}", "float32", "value", variant, action, "", 6,
                       "optim", "schedules")  # fmt: skip


def _rates(device: str, name: str, make: Make) -> list[list[float]]:
    """The rates of both groups, and the momentum, at the start and after each step."""
    p, q = (nn.Parameter(pg.ones((2,), dtype=pg.float32, device=device)) for _ in range(2))
    optimizer = optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.5}], lr=1.0, momentum=0.9)
    scheduler = make(optimizer)
    found = []
    for step in range(STEPS):
        groups = optimizer.param_groups
        found.append([*(float(g["lr"]) for g in groups), float(groups[0]["momentum"])])
        pg.sum(p + q).backward()
        optimizer.step()
        scheduler.step(*(_METRICS[step : step + 1] if name == "ReduceLROnPlateau" else ()))
    return found


def _check(target: Target, name: str, variant: str) -> None:
    got = _rates(target.device, name, MADE[name][variant])
    want = load_data("rates")[name][variant]
    for step, (a, b) in enumerate(zip(got, want, strict=True)):
        if not np.allclose(a, b, rtol=_CLOSE, atol=_CLOSE):
            raise Failed(f"at step {step} rates and momentum are {a}, expected {b}")


def render() -> str:
    """The table of rates as TOML."""
    lines = ["# Rates of both groups and the momentum, at the start and after each step."]
    for name, variants in MADE.items():
        lines += ["", f"[{name}]"]
        for variant, make in variants.items():
            rates = _rates("cpu", name, make)
            rows = ", ".join(f"[{', '.join(f'{v:.14g}' for v in row)}]" for row in rates)
            lines.append(f"{variant} = [{rows}]")
    return "\n".join(lines)


if __name__ == "__main__":
    print(render())
