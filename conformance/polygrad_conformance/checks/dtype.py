"""Dtypes: of every part of every result, against the committed table `data/dtypes.toml`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polygrad.tensor import Tensor
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.checks import first_error, make, rests_on, worked
from polygrad_conformance.hard_samples import quick_samples
from polygrad_conformance.result_dtypes import as_on_numpy, expected


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One, of all samples, if the results are arrays."""
    del level
    if dtype == "none":
        return

    def action(target: Any) -> None:
        for sample, made in worked(target, subject, dtype, subject.samples(dtype)):
            wanted = expected(subject.key, dtype, sample.name, target)
            found = [part.dtype.name for part in made.made if isinstance(part, Tensor)]
            if found != wanted:
                raise Failed(f"sample {sample.name}: results of {found}, expected {wanted}")
        hard = quick_samples(subject, dtype, target)
        for sample, made in worked(target, subject, dtype, hard):
            found = [part.dtype.name for part in made.made if isinstance(part, Tensor)]
            wanted = as_on_numpy(subject, dtype, sample, target)
            if found != wanted:
                raise Failed(f"sample {sample.name}: results of {found}, NumPy's are {wanted}")
        first_error(target, subject, dtype)

    yield make(subject, dtype, "dtype", "all", action, rests=rests_on(subject, dtype))
