"""Gradients in the device's own dtype, against those of the reference in long double.

The bound is the rounding error that inputs and cotangents cause: no gradient has a tolerance of its
own, and the device needs no double precision. The reference gradient is itself held against central
differences of the reference, so that a wrong rule, which both would share, is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from polygrad_conformance.case import Case, Failed, Measure
from polygrad_conformance.checks import make, rests_on
from polygrad_conformance.compare import compare_conditioned, hexadecimal, worst_of
from polygrad_conformance.declarations import load_data
from polygrad_conformance.derivatives import Derivative, against_differences
from polygrad_conformance.tolerance import format_of

SAMPLES = {"smoke": 2}
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


def _plain(dtype: str) -> str:
    return "float32" if dtype == "bfloat16" else dtype


def compare_gradients(derivative: Any, got: list[Any], order: int = 1) -> Measure:
    """The worst of the gradients."""
    wanted = derivative.reference(order)
    size = derivative.size(order)
    unit = max(format_of(a.dtype).unit for a in derivative.operands)
    if len(got) != len(wanted):
        raise Failed(f"{len(got)} gradients, expected {len(wanted)}")
    measures = []
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
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
