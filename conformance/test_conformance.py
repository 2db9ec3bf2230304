"""The conformance suite at level smoke on every device: one test for each operation and device.

Devices that share a library with another one run what can differ: values, dtypes, devices,
gradients. A device that compiles each shape runs the first sample of each.
"""

from __future__ import annotations

import functools

import pytest

from polygrad.registry import find_backend, find_device
from polygrad_conformance import numpy_reference
from polygrad_conformance.api import Session
from polygrad_conformance.collection import Selection, collect

OPS = list(dict.fromkeys(case.op for case in collect("smoke")))
PLACES = ("value", "dtype", "device", "error", "grad")
KINDS = {
    "frozen:0": ("value", "layout", "purity", "repeat", "grad"),
    "strict:device1": ("value", "device", "error"),
    "strict:no_float64": PLACES,
    "strict:no_x64": PLACES,
    "jax:cpu:0": ("value", "dtype", "device", "grad"),
}


@functools.cache
def session(device):
    """The cases of a device, less what another one shows."""
    backend = find_backend(find_device(device).kind)
    made = Session(backend.name, device, selection=Selection(checks=KINDS.get(device, ())))
    if backend.capabilities.compiles:
        for op, cases in made.cases.items():
            made.cases[op] = [c for c in cases if _is_kept(c.sample)]
    return made


def _is_kept(sample):
    """Where each shape is compiled: one declared sample, and one at hard inputs."""
    if sample.startswith("hard-"):
        return sample == "hard-0"
    return not sample.isdigit() or int(sample) < 1


@pytest.mark.parametrize("op", OPS)
def test_operation(op, device):
    made = session(device)
    if op in made.cases:
        results = made.check(op)
        assert results, "nothing ran"


def test_every_registry_is_covered():
    spaces = {case.space for case in collect("smoke")}
    assert spaces >= {"", "nn.functional", "linalg", "fft", "special", "nn", "optim", "random"}
    assert len(OPS) > 700
    assert len(numpy_reference.names()) > 150


def test_a_wrong_operation_is_found(monkeypatch):
    """Off by one per mille on one device, in value or in gradient alone."""
    from polygrad.families import OPERATIONS, Operation

    real = OPERATIONS["exp"]

    def steeper(y):
        if y.requires_grad:
            y.register_hook(lambda g: g * 1.001)
        return y

    faults = {"value": lambda y: y + y.detach() * 0.001, "grad": steeper}
    for kind, fault in faults.items():
        fields = {f: getattr(real, f) for f in Operation.__dataclass_fields__}

        def wrong(x, fault=fault):
            y = real.function(x)
            return fault(y) if x.device == "frozen:0" else y

        monkeypatch.setitem(OPERATIONS, "exp", Operation(**{**fields, "function": wrong}))
        Session("numpy").check("exp")
        with pytest.raises(AssertionError) as caught:
            Session("frozen").check("exp")
        lines = str(caught.value).splitlines()
        assert lines[0].startswith(f"FAIL  exp/float32/{kind}/0"), lines[0]
        kinds = {line.split("/")[2] for line in lines if line.startswith("FAIL")}
        assert kinds <= ({"value", "special", "claims"} if kind == "value" else {"grad"})
