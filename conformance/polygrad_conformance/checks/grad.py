"""Gradients in the device's own dtype, against those of the reference in long double.

The bound is the rounding error that inputs and cotangents cause: no gradient has a tolerance of its
own, and the device needs no double precision. The reference gradient is itself held against central
differences of the reference, so that a wrong rule, which both would share, is found.

At hard inputs, where there may be no derivative, the device must do as the reference does: halve
what goes to equal operands, stay finite where only a zero arrives, and be NaN in the same places.
Conventions that polygrad documents are also held against a table, `data/grad_conventions.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.case import Case, Failed, Measure, Unsupported
from polygrad_conformance.checks import make, rests_on
from polygrad_conformance.compare import compare_conditioned, hexadecimal, worst_of
from polygrad_conformance.declarations import load_data
from polygrad_conformance.derivatives import Derivative, against_differences
from polygrad_conformance.hard_samples import hard_samples, lacking, without_subnormals
from polygrad_conformance.tolerance import format_of

SAMPLES = {"smoke": 2}
_HARD = "float32"
_DIFFERENCES = ("float32", "complex64")  # in these the rules are held against differences


def has_slope(subject: Any) -> bool:
    """Whether its gradient is the slope of what it computes: see `data/grad_conventions.toml`."""
    table = load_data("grad_conventions")
    return all(subject.key not in table[part]["functions"] for part in ("rounding", "on_purpose"))


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One for each sample that has floating operands."""
    if not subject.operation.differentiable or np.dtype(_plain(dtype)).kind not in "fcV":
        return
    samples = [s for s in subject.samples(dtype) if Derivative(subject, s).operands]
    for sample in samples[: SAMPLES.get(level)]:

        def action(target: Any, sample: Any = sample) -> Measure:
            derivative = Derivative(subject, sample)
            got = derivative.on(target)
            if dtype in _DIFFERENCES and has_slope(subject):
                against_differences(derivative)
            return compare_gradients(derivative, got)

        yield make(
            subject, dtype, "grad", sample.name, action, step=max(5, subject.step),
            rests=rests_on(subject, dtype, sample.name),
        )  # fmt: skip


    if dtype == _HARD:
        yield from _hard_cases(subject, dtype, level)
        if subject.key in load_data("grad_conventions")["kinks"]:
            yield make(
                subject, dtype, "grad", "kinks", lambda target: _kinks(target, subject),
                step=max(5, subject.step), rests=rests_on(subject, dtype),
            )  # fmt: skip


def _hard_cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """At hard inputs; and once more with infinite cotangents, if the operation chooses."""
    conventions = load_data("grad_conventions")
    if level == "smoke" or subject.key in conventions["by_rounding"]["functions"]:
        return
    fills = {"": 0.0}
    if subject.key in conventions["choosing"]["functions"]:
        fills["-infinite"] = np.inf
    for sample in hard_samples(subject.key, dtype, level):
        if not Derivative(subject, sample).operands:
            continue
        for suffix, fill in fills.items():

            def action(target: Any, sample: Any = sample, fill: float = fill) -> Measure:
                if missing := lacking(target, dtype, sample):
                    raise Unsupported(f"{target.device} has no {missing[0]}")
                if not target.capabilities.subnormals:
                    sample = without_subnormals(sample)
                derivative = Derivative(subject, sample, fill=fill)
                return compare_gradients(derivative, derivative.on(target))

            yield make(
                subject, dtype, "grad", f"{sample.name}{suffix}", action,
                step=max(5, subject.step), rests=rests_on(subject, dtype, sample.name),
            )  # fmt: skip


def _kinks(target: Any, subject: Any) -> None:
    """The documented gradients at points without a derivative."""
    for points, wanted in load_data("grad_conventions")["kinks"][subject.key]:
        operands = [target.upload(np.float32(p), requires_grad=True) for p in points]
        with pg.device(target.device):
            made = pg.autograd.grad(
                [subject.function(*operands)], operands, materialize_grads=True, allow_unused=True
            )
        got = [float(target.download(g)) for g in made]
        if not np.allclose(got, wanted, rtol=1e-6, atol=0):
            raise Failed(f"at {points} the gradients are {got}, expected {wanted}")


def _plain(dtype: str) -> str:
    return "float32" if dtype == "bfloat16" else dtype


def _held(wanted: Any, dtype: Any) -> Any:
    """The reference in the range of the dtype: infinite beyond it."""
    if wanted.dtype.kind == "c":
        return wanted
    beyond = np.abs(wanted) > format_of(dtype).largest
    return np.where(beyond, np.copysign(np.inf, wanted), wanted)


def compare_gradients(derivative: Any, got: list[Any], order: int = 1) -> Measure:
    """The worst of the gradients."""
    wanted = derivative.reference(order)
    size = derivative.size(order)
    unit = max(format_of(a.dtype).unit for a in derivative.operands)
    if len(got) != len(wanted):
        raise Failed(f"{len(got)} gradients, expected {len(wanted)}")
    measures = []
    for i, (a, true) in enumerate(zip(got, wanted, strict=True)):
        # At hard inputs what the dtype cannot hold is infinite.
        b = true if derivative.fill is None else _held(true, a.dtype)
        if a.shape != b.shape:
            raise Failed(f"the gradient of operand {i} has shape {a.shape}, expected {b.shape}")
        if a.dtype != derivative.operands[i].dtype:
            raise Failed(
                f"the gradient of operand {i} is {a.dtype}, expected {derivative.operands[i].dtype}"
            )
        measure, place = compare_conditioned(
            a, b, lambda i=i: derivative.sensitivity(order)[i], size, unit
        )
        if measure.grade == "F":
            index = list(map(int, np.unravel_index(place, b.shape)))
            point = hexadecimal(derivative.operands[i].reshape(-1)[place])
            raise Failed(
                f"gradient {i}{index or ''} is {a.reshape(-1)[place]}, expected "
                f"{b.reshape(-1)[place]} ({measure.measured:.3g} times the bound)",
                replace(measure, worst=f"{'xyzuvw'[i % 6]}={point}"),
            )
        measures.append(measure)
    return worst_of(measures)
