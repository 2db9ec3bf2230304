"""Optimizers, and a fixed training run of twenty steps, against the same in long double.

Each optimizer goes down a bowl; and, with each option alone and with each other option, through
slopes that fall and change their sign, where what it remembers shows.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import nn, optim
from polygrad.errors import PolygradError
from polygrad_conformance import wide
from polygrad_conformance.case import Case, Failed, Measure, Unsupported
from polygrad_conformance.oracle import ORACLE, seeded
from polygrad_conformance.programs import Outcome, compare_outcomes
from polygrad_conformance.target import Host, Target

STEPS = 5
# Options by variant; no option that no variant sets.
OPTIMIZERS: dict[str, dict[str, dict[str, Any]]] = {
    "SGD": {
        "plain": {"lr": 0.1},
        "nesterov": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
        "dampened": {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True},
    },
    "Adam": {"plain": {"lr": 0.05}, "amsgrad": {"lr": 0.05, "weight_decay": 0.01, "amsgrad": True}},
    "AdamW": {"plain": {"lr": 0.05}},
    "Adamax": {"plain": {}},
    "NAdam": {"plain": {}},
    "RAdam": {"plain": {}},
    "Adagrad": {"plain": {}},
    "Adadelta": {"plain": {}},
    "RMSprop": {"plain": {}, "centered": {"momentum": 0.5, "centered": True}},
    "Rprop": {"plain": {}},
    "ASGD": {"plain": {}},
    "Lion": {"plain": {"lr": 0.05, "weight_decay": 0.01}},
    "Adafactor": {"plain": {"lr": 0.1}},
    "Muon": {"plain": {"lr": 0.05}, "matched": {"lr": 0.05, "adjust_lr_fn": "match_rms_adamw"}},
    "LBFGS": {"wolfe": {"lr": 0.5, "max_iter": 4, "line_search_fn": "strong_wolfe"}},
}
_MATRICES = ("Muon", "LBFGS")  # of one group, of matrices
_SLOPES = (3.0, 3.0, -1.0, -0.5, 0.1)
_ADAM: dict[str, Any] = {"betas": (0.5, 0.6), "eps": 0.1, "weight_decay": 0.2, "maximize": True}
# Each option away from its default; the first ones hold in every pair.
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "SGD": ({"lr": 0.1, "momentum": 0.9}, {
        "momentum": 0.0, "dampening": 0.3, "weight_decay": 0.2, "nesterov": True,
        "maximize": True}),
    "Adam": ({"lr": 0.1}, {**_ADAM, "amsgrad": True, "decoupled_weight_decay": True}),
    "AdamW": ({"lr": 0.1}, {**_ADAM, "amsgrad": True}),
    "Adamax": ({"lr": 0.1}, _ADAM),
    "NAdam": ({"lr": 0.1}, {**_ADAM, "momentum_decay": 0.1, "decoupled_weight_decay": True}),
    "RAdam": ({"lr": 0.1}, {**_ADAM, "decoupled_weight_decay": True}),
    "Adagrad": ({"lr": 0.1}, {
        "lr_decay": 0.5, "weight_decay": 0.2, "initial_accumulator_value": 0.5, "eps": 0.1,
        "maximize": True}),
    "Adadelta": ({"lr": 0.1}, {"rho": 0.5, "eps": 0.1, "weight_decay": 0.2, "maximize": True}),
    "RMSprop": ({"lr": 0.1}, {
        "alpha": 0.5, "eps": 0.1, "weight_decay": 0.2, "momentum": 0.5, "centered": True,
        "maximize": True}),
    "Rprop": ({"lr": 0.1}, {"etas": (0.4, 1.5), "step_sizes": (0.05, 0.12), "maximize": True}),
    "ASGD": ({"lr": 0.1}, {
        "lambd": 0.1, "alpha": 0.5, "t0": 2.0, "weight_decay": 0.2, "maximize": True}),
    "Lion": ({"lr": 0.1}, {"betas": (0.1, 0.9), "weight_decay": 0.2, "maximize": True}),
    "Adafactor": ({"lr": 0.1}, {
        "beta2_decay": -0.5, "eps": (0.1, 0.5), "d": 0.5, "weight_decay": 0.2, "maximize": True}),
    "Muon": ({"lr": 0.1}, {
        "weight_decay": 0.0, "momentum": 0.5, "nesterov": False, "eps": 0.1, "ns_steps": 3,
        "ns_coefficients": (2.0, -1.5, 0.5), "adjust_lr_fn": "match_rms_adamw"}),
}  # fmt: skip


def cases(level: str) -> Iterator[Case]:
    """Each variant of each optimizer, and the training runs."""
    dtypes = ("float32",) if level == "smoke" else ("float32", "float64")
    for dtype in dtypes:
        for name, variants in OPTIMIZERS.items():
            for variant, options in variants.items():
                for check in ("value", "dtype", "device"):

                    def action(
                        target: Any, name: str = name, options: Any = options, check: str = check,
                        dtype: str = dtype,
                    ) -> Measure:  # fmt: skip
                        return _optimize(target, name, options, check, dtype)

                    yield Case(f"optim.{name}", dtype, check, variant, action, "", 6, "optim",
                               "optimizers")  # fmt: skip
        for name in OPTIONS if level != "smoke" and dtype == "float32" else ():
            for variant, options in _pairs(name).items():
                yield Case(
                    f"optim.{name}", dtype, "value", variant,
                    lambda t, n=name, o=options, d=dtype: _optimize(t, n, o, "value", d, _SLOPES),
                    "", 6, "optim", "optimizers",
                )  # fmt: skip
        for model in ("perceptron", "convolution"):
            yield Case(
                "training", dtype, "value", model,
                lambda t, m=model, d=dtype: _train(t, m, d), "", 6, "optim", "training",
            )  # fmt: skip


def _pairs(name: str) -> dict[str, dict[str, Any]]:
    """No option, each option, and each two of them, as far as the optimizer takes them."""
    base, options = OPTIONS[name]
    found = {}
    for some in itertools.chain.from_iterable(
        itertools.combinations(options, n) for n in range(3)
    ):
        chosen = {**base, **{option: options[option] for option in some}}
        try:
            getattr(optim, name)([nn.Parameter(pg.zeros((1, 1), device="cpu"))], **chosen)
        except PolygradError:
            continue
        found["-".join(("slopes", *some))] = chosen
    return found


def _on(target: Any, dtype: str) -> None:
    if not target.supports(dtype):
        raise Unsupported(f"{target.device} has no {dtype}")


# ---- optimizers ----------------------------------------------------------------------------------
def _optimize(
    target: Target, name: str, options: Any, check: str, dtype: str, slopes: Any = ()
) -> Measure:
    """A few steps on a quadratic bowl, whose sides are not equally steep; or along slopes."""
    _on(target, dtype)
    random = seeded("optim", name, dtype)
    start, goal = (random.uniform(0.3, 2.5, (4, 3)).astype(dtype) for _ in range(2))

    def steps(device: str, real: Any, shake: Any = None) -> Outcome:
        at = lambda a: pg.tensor((a if shake is None else shake(a)).astype(real), device=device)
        p, q, far = nn.Parameter(at(start)), nn.Parameter(at(goal[0])), at(goal)
        groups = [{"params": [p]}, {"params": [q], "lr": 0.02}]
        optimizer = getattr(optim, name)(groups[:1] if name in _MATRICES else groups, **options)

        def closure() -> Any:
            optimizer.zero_grad()
            if slopes:
                loss = (pg.sum(p * far) + pg.sum(q)) * left.pop(0)
            else:
                loss = pg.sum((p - far) ** 2 * 0.5) + pg.sum(p @ (q * q))
            loss.backward()
            return loss

        left = list(slopes)
        for _ in range(3 if name == "LBFGS" else STEPS):  # it soon divides what has cancelled
            optimizer.step(closure)
        return Outcome([p, q])

    with pg.device(target.device):
        got = steps(target.device, dtype)
    if check == "device":
        if any(t.device != target.device for t in got.tensors):
            raise Failed(f"a parameter moved to {got.tensors[0].device}")
        return Measure()
    if check == "dtype":
        if any(t.dtype != np.dtype(dtype) for t in got.tensors):
            raise Failed(f"a parameter became {got.tensors[0].dtype}")
        return Measure()

    def reference(args: Any, kwargs: Any, shake: Any) -> list[Host]:
        with wide.here():
            return steps(wide.WIDE, wide.REAL, shake).values

    want = reference((), {}, None)
    if np.array_equal(want[0].astype(dtype), start):
        raise Failed(f"{name} did not move")
    scale = 16.0 if name == "LBFGS" else 1.0  # it divides differences of gradients
    seed = (name, "steps", *options)
    return compare_outcomes(
        got.values, want, lambda: ORACLE.perturbed(reference, (), {}, seed), scale
    )


# ---- training ------------------------------------------------------------------------------------
def _model(kind: str) -> Any:
    if kind == "perceptron":
        return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3))
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.SiLU(), nn.AvgPool2d(2), nn.BatchNorm2d(4), nn.Flatten(),
        nn.Linear(16, 3),
    )  # fmt: skip


def _train(target: Target, kind: str, dtype: str, count: int = 20) -> Measure:
    """The losses of twenty steps of Adam, and that they fall."""
    _on(target, dtype)
    pg.manual_seed(0)
    with pg.device("cpu"):
        start = _model(kind)
    state = {k: Target.download(v) for k, v in start.state_dict().items()}
    random = seeded("training", kind)
    x = random.uniform(-1, 1, (12, 6) if kind == "perceptron" else (12, 1, 4, 4)).astype(dtype)
    labels = np.arange(12) % 3

    def losses(device: str, real: Any, shake: Any = None) -> list[Any]:
        change = (lambda a: a) if shake is None else shake
        model = copy.deepcopy(start).to(device).to(np.dtype(real))
        fits = (lambda a: a) if device == wide.WIDE else target.fits
        moved = {k: change(v).astype(real) if v.dtype.kind == "f" else v for k, v in state.items()}
        model.load_state_dict({k: pg.tensor(fits(v), device=device) for k, v in moved.items()})
        inputs = pg.tensor(change(x).astype(real), device=device)
        targets = pg.tensor(labels, device=device) if device == wide.WIDE else target.upload(labels)
        optimizer = optim.Adam(model.parameters(), lr=0.02)
        made = []
        for _ in range(count):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            made.append(loss.detach())
        return made

    def reference(args: Any, kwargs: Any, shake: Any) -> list[Host]:
        with wide.here():
            return Outcome(losses(wide.WIDE, wide.REAL, shake)).values

    with pg.device(target.device):
        got = Outcome(losses(target.device, dtype))
    want = reference((), {}, None)
    if not want[-1] < want[0]:
        raise Failed(f"the loss does not fall: from {want[0]} to {want[-1]}")
    return compare_outcomes(
        got.values, want, lambda: ORACLE.perturbed(reference, (), {}, ("training", kind)), 4.0
    )
