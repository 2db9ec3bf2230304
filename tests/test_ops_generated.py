"""Tests of every operation, made from the registry: gradients, raw mode equal to tensor mode."""

from __future__ import annotations

import dis
import inspect
import itertools

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import UnsupportedOperationError
from polygrad.families import OPERATIONS
from polygrad.namespace import HIDDEN
from polygrad.ops import load_all
from polygrad.primitive import PRIMITIVES
from polygrad.registry import find_backend, find_device
from polygrad.testing import assert_close, floating, samples_of, take_apart

load_all()
DIFFERENTIABLE = sorted(name for name, o in OPERATIONS.items() if o.differentiable)
SAMPLED = sorted(name for name, o in OPERATIONS.items() if o.samples is not None or o.domain)
DOUBLE = {"f": pg.float64, "c": pg.complex128, "i": pg.int64, "b": pg.bool}
SINGLE = {"f": pg.float32, "c": pg.complex64, "i": pg.int32, "b": pg.bool}


def calls(name, dtype):
    return list(enumerate(samples_of(OPERATIONS[name], dtype)))


def run(name, build, tensors, device="cpu"):
    args, kwargs = build(tensors, device)
    return OPERATIONS[name].function(*args, **kwargs)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_and_second_derivatives_against_differences(name):
    for kind in set(OPERATIONS[name].kinds) & set("fc"):
        for number, (args, kwargs) in calls(name, DOUBLE[kind]):
            flat, build = take_apart(args, kwargs)
            if not flat or not any(a.size for a in flat):
                continue
            xs = [pg.tensor(a, requires_grad=True) for a in flat]

            def function(*tensors, build=build):
                return floating(run(name, build, tensors))

            every = sum(a.size for a in flat) <= 12  # else along one direction: seconds matter
            assert pg.autograd.gradcheck(function, xs, fast_mode=not every), (name, number)
            assert pg.autograd.gradgradcheck(function, xs, atol=1e-4, fast_mode=True), (
                name,
                number,
            )


def weight(t, place):
    """A fixed cotangent for a tensor."""
    w = np.cos(np.arange(t.size)).reshape(t.shape)
    return pg.tensor(w.astype(t.dtype), device=place)


def gradients(outputs, inputs, place, *, create_graph):
    """Zeros where there is no path; nothing if no output has a history."""
    tracked = [o for o in outputs if o.requires_grad]
    weights = [weight(o, place) for o in tracked]
    return pg.autograd.grad(
        tracked, inputs, weights, True, create_graph=create_graph, materialize_grads=True
    ) if tracked else ()  # fmt: skip


# One device for each library that treats arrays in its own way; parity runs on all of them.
@pytest.mark.parametrize("device", ["cpu", "frozen:0", "strict:cpu", "sycl:cpu:0"], indirect=True)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_raw_mode_equals_tensor_mode(name, device):
    """First derivatives in both modes, and second ones, equal those on the CPU."""
    for kind in set(OPERATIONS[name].kinds) & set("fc"):
        dtype = SINGLE[kind] if "no_" in device else DOUBLE[kind]
        if not find_backend(find_device(device).kind).supports(dtype, find_device(device)):
            continue
        for number, (args, kwargs) in calls(name, dtype):
            flat, build = take_apart(args, kwargs)
            if not flat:
                continue
            what = f"{name}, sample {number} on {device}"
            xs = [pg.tensor(a, device=device, requires_grad=True) for a in flat]
            hs = [pg.tensor(a, requires_grad=True) for a in flat]
            try:
                outputs = floating(run(name, build, xs, device))
            except UnsupportedOperationError:
                assert device.startswith("strict") or OPERATIONS[name].space == "special", name
                continue  # which library has which special functions: test_special.py
            want = floating(run(name, build, hs))
            for got, host in zip(outputs, want, strict=True):
                assert_close(got, host, what=f"value of {what}")
                assert got.dtype == host.dtype
                assert got.device == device
            raw = gradients(outputs, xs, device, create_graph=False)
            recorded = gradients(outputs, xs, device, create_graph=True)
            reference = gradients(want, hs, "cpu", create_graph=True)
            for a, b, c in zip(raw, recorded, reference, strict=True):
                assert_close(a, b, what=f"raw against tensor mode, {what}")
                assert_close(a, c, what=f"gradient against that on the CPU, {what}")
            if device != "cpu" and (number >= 2 or OPERATIONS[name].space == "special"):
                continue  # seconds matter
            second = gradients(recorded, xs, device, create_graph=False)
            reference = gradients(reference, hs, "cpu", create_graph=True)
            for a, c in zip(second, reference, strict=True):
                assert_close(a, c, what=f"second derivative against that on the CPU, {what}")


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_is_documented_and_inspectable(name):
    operation = OPERATIONS[name]
    assert operation.summary.endswith((".", ":")), "one sentence"
    assert inspect.signature(operation.function)
    part = pg
    for step in filter(None, operation.space.split(".")):
        part = getattr(part, step)
    assert getattr(part, operation.name) is operation.function
    assert operation.space or name in HIDDEN or getattr(pg.namespace("cpu"), name)


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_rules_use_only_primitives(name):
    """Closure under differentiation: every `F.function` in a rule's code is a primitive."""
    for rule in PRIMITIVES[name].vjp.values():
        for used in namespace_uses(rule):
            assert used in PRIMITIVES or used == "is_complex", used


def namespace_uses(rule):
    """The attributes of `F` in a rule's bytecode."""
    steps = list(dis.get_instructions(rule))
    for load, use in itertools.pairwise(steps):
        if load.argval == "F" and use.opname in ("LOAD_METHOD", "LOAD_ATTR"):
            yield use.argval


def test_the_closure_test_sees_what_rules_use():
    assert list(namespace_uses(lambda g, F, x: F.exp(g) + F.nonsense(x))) == ["exp", "nonsense"]


def test_a_declaration_without_samples_is_an_error():
    from polygrad.families import Operation

    with pytest.raises(AssertionError, match="no samples"):
        samples_of(Operation("nothing", lambda: 0, "none", "None."), pg.float32)


def test_a_wrong_rule_is_found():
    from polygrad.primitive import Primitive

    wrong = Primitive("wrong_square", ("x",), {"x": lambda g, x: g * x}, forward=lambda x: x * x)
    x = pg.tensor([1.0, 2.0], dtype=pg.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="central differences"):
        pg.autograd.gradcheck(wrong, x)
