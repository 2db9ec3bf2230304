"""Repetition: the same call gives the same bits, whatever was called between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from polygrad_conformance.case import Case, Failed
from polygrad_conformance.checks import make, rests_on
from polygrad_conformance.target import map_arrays


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One, of the first sample with elements: called, called with others, and called again."""
    del level
    if dtype == "none" or subject.family == "shape":
        return
    sample = _full(subject, dtype)

    def action(target: Any) -> None:
        first = target.evaluate(subject, dtype, sample).checked()
        turned = map_arrays((sample.args, sample.kwargs), _turned)
        other = replace(sample, name="other", args=turned[0], kwargs=turned[1])
        target.evaluate(subject, dtype, other)  # may refuse: the values are not a declared sample
        again = target.evaluate(subject, dtype, replace(sample, name="again")).checked()
        for i, (a, b) in enumerate(zip(first.results, again.results, strict=True)):
            if isinstance(a, np.ndarray) and a.tobytes() != b.tobytes():
                raise Failed(f"result {i} of sample {sample.name} differs from the first call's")

    yield make(
        subject, dtype, "repeat", sample.name, action, rests=rests_on(subject, dtype, sample.name)
    )


def _turned(a: Any) -> Any:
    """The same floating values in another order."""
    return a[(slice(None, None, -1),) * a.ndim].copy() if a.dtype.kind == "f" else a


def _full(subject: Any, dtype: str) -> Any:
    samples = subject.samples(dtype)
    for sample in samples:
        sizes: list[int] = []
        map_arrays((sample.args, sample.kwargs), lambda a, to=sizes: to.append(a.size) or a)
        if sizes and min(sizes):
            return sample
    return samples[0]
