"""Parity: each operation, layer and optimiser on a device, against NumPy in double precision.

The same inputs, rounded to the device's dtype, go to both. A gradient needs no double precision on
the device: it is compared with the float64 gradient of the reference within the tolerance of the
dtype."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import nn, optim
from polygrad.backend import KnownGap
from polygrad.errors import UnsupportedOperationError
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.registry import find_backend, find_device
from polygrad.tensor import Tensor
from polygrad.testing import Sampler, assert_close, floating, samples_of, take_apart

__all__ = ["check_layer", "check_operation", "check_optimizer", "known_gap", "subjects"]

REFERENCE = "cpu"
DTYPES = {"f": "float32", "c": "complex64", "i": "int32", "b": "bool"}

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
    "Adam": {"lr": 0.05, "weight_decay": 0.01, "amsgrad": True},
    "AdamW": {"lr": 0.05},
    "Adamax": {}, "NAdam": {}, "RAdam": {}, "Adagrad": {}, "Adadelta": {},
    "RMSprop": {"momentum": 0.5, "centered": True}, "Rprop": {}, "ASGD": {},
    "Lion": {"lr": 0.05, "weight_decay": 0.01}, "Adafactor": {"lr": 0.1},
    "Muon": {"lr": 0.05, "adjust_lr_fn": "match_rms_adamw"},
    "LBFGS": {"lr": 0.5, "max_iter": 4, "line_search_fn": "strong_wolfe"},
}  # fmt: skip


def subjects() -> dict[str, list[str]]:
    """What is checked: names of operations, layers and optimisers, from their registries."""
    load_all()
    operations = [name for name, o in OPERATIONS.items() if o.samples is not None or o.domain]
    layers = [
        name for name in nn.__all__
        if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)
        and getattr(nn, name).examples
    ]  # fmt: skip
    return {
        "operation": sorted(operations),
        "layer": sorted(layers),
        "optimizer": sorted(OPTIMIZERS),
    }


def known_gap(device: str, name: str) -> KnownGap | None:
    """The fault of the device's library that is expected to show in `name`, if there is one."""
    for gap in find_backend(find_device(device).kind).known_gaps:
        if gap.op == name and (not gap.devices or device in gap.devices):
            return gap
    return None


def _samples(device: str) -> int | None:
    """How many samples of each operation and dtype are compared; None: all."""
    compiles = find_backend(find_device(device).kind).capabilities.compiles
    return 2 if compiles else None


def _supports(device: str, dtype: str) -> bool:
    place = find_device(device)
    return find_backend(place.kind).supports(np.dtype(dtype), place)


def _call(name: str, args: Any, kwargs: Any, device: str) -> Any:
    """Call an operation from the same random state everywhere."""
    pg.manual_seed(0)
    with pg.device(device):
        return OPERATIONS[name].function(*args, **kwargs)


def _tensors(arrays: Sequence[Any], device: str, double: bool) -> list[Tensor]:
    made = []
    for a in arrays:
        wide = {"f": "float64", "c": "complex128"}[a.dtype.kind]
        made.append(pg.tensor(a.astype(wide) if double else a, device=device, requires_grad=True))
    return made


def _gradients(outputs: list[Tensor], inputs: list[Tensor], device: str) -> list[Tensor]:
    """Gradients for fixed cotangents, in each output's dtype."""
    pairs = []
    for o in outputs:
        if o.requires_grad:
            weight = np.cos(np.arange(o.size)).reshape(o.shape).astype(o.dtype)
            pairs.append((o, pg.tensor(weight, device=device)))
    if not pairs:
        return []
    return list(
        pg.autograd.grad(
            [o for o, _ in pairs], inputs, [w for _, w in pairs], materialize_grads=True
        )
    )


def check_operation(name: str, device: str) -> int:
    """Check one operation in every dtype kind it takes; the number of samples compared.

    Raises
    ------
    AssertionError
        A value, dtype, device or gradient is wrong.
    """
    operation = OPERATIONS[name]
    compared = 0
    for kind in operation.kinds:
        single = DTYPES[kind]
        if not _supports(device, single):
            continue
        samples = samples_of(operation, single)
        for number, (args, kwargs) in enumerate(samples[: _samples(device)]):
            what = f"{name}, sample {number}, {single} on {device}"
            arrays, build = take_apart(args, kwargs)
            xs, hs = (
                _tensors(arrays, device, double=False),
                _tensors(arrays, REFERENCE, double=True),
            )
            try:
                got = _call(name, *build(xs, device), device)
            except UnsupportedOperationError:
                if not device.startswith("strict") and operation.space != "special":
                    raise
                continue  # outside the standard, and not every library has special functions
            want = _call(name, *build(hs, REFERENCE), REFERENCE)
            _compare(got, want, device, single, what)
            compared += 1
            if operation.differentiable and xs:
                pairs = zip(
                    _gradients(floating(got), xs, device),
                    _gradients(floating(want), hs, REFERENCE),
                    strict=True,
                )  # fmt: skip
                for a, b in pairs:
                    assert_close(a, b, what=f"gradient of {what}")
    return compared


def _compare(got: Any, want: Any, device: str, dtype: str, what: str) -> None:
    """Values, and that they are on the device in the dtype that was asked for."""
    listed = isinstance(want, (tuple, list))
    for a, b in zip(got, want, strict=True) if listed else [(got, want)]:
        if not isinstance(b, Tensor):
            assert a == b, f"{what}: {a}, expected {b}"
            continue
        assert a.device == device, f"{what}: the result is on {a.device}"
        assert a.kernels.kind == b.kernels.kind, f"{what}: the result is {a.dtype}"
        if a.kernels.kind >= 2 and dtype in ("float32", "complex64"):
            assert a.dtype.name in ("float32", "complex64"), f"{what}: the result is {a.dtype}"
        assert_close(a, b, what=what)


# ---- layers ----------------------------------------------------------------------------------
def _layer_input(spec: Any, s: Sampler) -> Any:
    """An array for one input of an example.

    A shape, ("index", shape, high), ("unit", shape), or ("sign", shape).
    """
    if spec and spec[0] == "index":
        return s.integers(*spec[1], low=0, high=spec[2] if len(spec) > 2 else 2)
    if spec and spec[0] == "unit":
        return s.interval(0.0, 1.0, *spec[1])
    if spec and spec[0] == "sign":
        return np.asarray(2 * s.integers(*spec[1], low=0, high=2) - 1)
    return s.real(*spec)


def check_layer(name: str, device: str) -> int:
    """Check every example of a layer: output, input gradients, parameter gradients, buffers."""
    cls = getattr(nn, name)
    s = Sampler(name, "float32")
    compared = 0
    for number, (args, kwargs, specs) in enumerate(cls.examples):
        what = f"nn.{name}, example {number} on {device}"
        pg.manual_seed(0)
        layer = cls(*args, **kwargs)
        reference = copy.deepcopy(layer).to(pg.float64)
        layer = layer.to(device)
        arrays = [_layer_input(spec, s) for spec in specs]
        results = []
        for model, place, double in ((layer, device, False), (reference, REFERENCE, True)):
            inputs, build = take_apart(arrays, {})
            xs = _tensors(inputs, place, double)
            pg.manual_seed(0)
            outputs = floating(model(*build(xs, place)[0]))
            leaves = [*xs, *model.parameters()]
            gradients = _gradients(outputs, leaves, place)
            results.append([*outputs, *gradients, *model.buffers()])
        for a, b in zip(*results, strict=True):
            assert a.device == device, what
            assert_close(a, b, what=what)
        compared += 1
    return compared


# ---- optimisers ------------------------------------------------------------------------------
def _descent(optimizer: Any, p: Any, goal: Any) -> Tensor:
    """The loss of the small problem, and its gradient."""
    optimizer.zero_grad()
    loss = pg.sum((p - goal) ** 2 * 0.5)
    loss.backward()
    return loss


def check_optimizer(name: str, device: str, steps: int = 5) -> int:
    """Check the parameters after a few steps on a small quadratic problem."""
    s = Sampler(name, "float32")
    start, target = s.real(4, 3), s.real(4, 3)
    results = []
    for place, dtype in ((device, "float32"), (REFERENCE, "float64")):
        p = nn.Parameter(pg.tensor(start.astype(dtype), device=place))
        goal = pg.tensor(target.astype(dtype), device=place)
        optimizer = getattr(optim, name)([p], **OPTIMIZERS[name])
        for _ in range(steps):
            optimizer.step(lambda: _descent(optimizer, p, goal))  # noqa: B023  called at once
        assert p.device == place
        results.append(p)
    assert not np.array_equal(results[1].detach().numpy(), start), f"{name} did not move"
    assert_close(results[0], results[1], what=f"optim.{name} on {device}")
    return steps
