"""Second derivatives: a gradient of the gradient, against the reference and against differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polygrad_conformance.case import Case, Measure
from polygrad_conformance.checks import make
from polygrad_conformance.checks.grad import compare_gradients, has_slope
from polygrad_conformance.derivatives import Derivative, against_differences

SAMPLES = 2
_DTYPES = ("float32", "complex64")


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One for each of the first two samples with floating operands; none at level smoke."""
    if level == "smoke" or dtype not in _DTYPES or not subject.operation.differentiable:
        return
    samples = [s for s in subject.samples(dtype) if Derivative(subject, s).operands]
    for sample in samples[:SAMPLES]:

        def action(target: Any, sample: Any = sample) -> Measure:
            derivative = Derivative(subject, sample)
            got = derivative.on(target, order=2)
            if has_slope(subject):
                against_differences(derivative, order=2)
            return compare_gradients(derivative, got, order=2)

        yield make(
            subject, dtype, "gradgrad", sample.name, action, step=max(5, subject.step),
            rests=(f"{subject.key}/{dtype}/grad/{sample.name}",),
        )  # fmt: skip
