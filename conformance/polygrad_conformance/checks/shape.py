"""Shapes: of every part of every result, empty and 0-d ones included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polygrad_conformance.case import Case, Failed
from polygrad_conformance.checks import first_error, make, rests_on, worked
from polygrad_conformance.hard_samples import quick_samples
from polygrad_conformance.oracle import ORACLE


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One, of all samples, if the results are arrays."""
    del level
    if dtype == "none":
        return

    def action(target: Any) -> None:
        samples = [*subject.samples(dtype), *quick_samples(subject, dtype, target)]
        for sample, made in worked(target, subject, dtype, samples):
            wanted = [np.shape(part) for part in ORACLE.reference(subject, dtype, sample)]
            found = [np.shape(part) for part in made.results]
            if found != wanted:
                raise Failed(f"sample {sample.name}: shapes {found}, expected {wanted}")
            # What a Tensor says of itself, and what its data say.
            said = [tuple(part.shape) for part in made.made if hasattr(part, "kernels")]
            there = [p.shape for p in made.results if isinstance(p, np.ndarray)]
            if said != there:
                raise Failed(f"sample {sample.name}: says {said}, holds {there}")
        first_error(target, subject, dtype)

    yield make(subject, dtype, "shape", "all", action, rests=rests_on(subject, dtype))
