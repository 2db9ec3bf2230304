"""Values: each sample on the device, against its reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from polygrad_conformance.case import Case, Failed, Measure, Unsupported
from polygrad_conformance.checks import make
from polygrad_conformance.compare import compare_call
from polygrad_conformance.hard_samples import hard_samples, lacking
from polygrad_conformance.mpmath_points import check, has_points
from polygrad_conformance.points import points_of
from polygrad_conformance.shrinking import shrunk


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One for each declared sample, for the points of an elementwise function, for hard inputs."""
    for sample in graded(subject, dtype, level):

        def action(target: Any, sample: Any = sample) -> Measure:
            measure = compared(target, subject, dtype, sample)
            target.measures[subject.key, dtype, sample.name] = measure
            return measure

        yield make(subject, dtype, "value", sample.name, action, call=sample)
    for sample in hard_samples(subject.key, dtype, level):
        yield make(
            subject, dtype, "value", sample.name, hard(subject, dtype, sample), call=sample
        )
    if has_points(subject, dtype, level):
        yield make(subject, dtype, "value", "mpmath", lambda target: check(target, subject))


def graded(subject: Any, dtype: str, level: str) -> list[Any]:
    """The samples by which the accuracy of an operation is known."""
    return [*subject.samples(dtype), *points_of(subject, dtype, level)]


def hard(subject: Any, dtype: str, sample: Any) -> Callable[[Any], Measure]:
    """The comparison at hard inputs; how accurate it is is no claim about the whole domain."""

    def action(target: Any) -> Measure:
        if missing := lacking(target, dtype, sample):
            raise Unsupported(f"{target.device} has no {missing[0]}")
        return compared(target, subject, dtype, sample)

    return action


def compared(target: Any, subject: Any, dtype: str, sample: Any) -> Measure:
    """The measure of a sample; where it fails, also of a smaller one."""
    made = target.evaluate(subject, dtype, sample).checked()
    try:
        return compare_call(target, subject, dtype, sample, made.results)
    except Failed as failed:
        raise shrunk(target, subject, dtype, failed) from None
