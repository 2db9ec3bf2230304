"""Dtypes: of every part of every result, against the committed table `data/dtypes.toml`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polygrad.tensor import Tensor
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.checks import make
from polygrad_conformance.hard_samples import quick_samples
from polygrad_conformance.result_dtypes import as_on_numpy, expected


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One, of all samples, if the results are arrays."""
    del level
    if dtype == "none":
        return

    def action(target: Any) -> None:
        for sample in subject.samples(dtype):
            made = target.evaluate(subject, dtype, sample)
            if made.error is not None:
                continue
            wanted = expected(subject.key, dtype, sample.name, target)
            found = [part.dtype.name for part in made.made if isinstance(part, Tensor)]
            if found != wanted:
                raise Failed(f"sample {sample.name}: results of {found}, expected {wanted}")
        for sample in quick_samples(subject, dtype, target):
            made = target.evaluate(subject, dtype, sample)
            found = [part.dtype.name for part in made.made if isinstance(part, Tensor)]
            wanted = as_on_numpy(subject, dtype, sample, target)
            if made.error is None and found != wanted:
                raise Failed(f"sample {sample.name}: results of {found}, NumPy's are {wanted}")
        first_error(target, subject, dtype)

    yield make(subject, dtype, "dtype", "all", action, rests=rests_on(subject, dtype))


def first_error(target: Any, subject: Any, dtype: str) -> None:
    """Raise the error of the first sample, if every sample has one: nothing was looked at."""
    made = [target.evaluate(subject, dtype, sample) for sample in subject.samples(dtype)]
    if all(e.error is not None for e in made):
        made[0].checked()


def rests_on(subject: Any, dtype: str, sample: str | None = None) -> tuple[str, ...]:
    """The value case that must not have raised; of the first sample if none is named."""
    name = subject.samples(dtype)[0].name if sample is None else sample
    return (f"{subject.key}/{dtype}/value/{name}",)
