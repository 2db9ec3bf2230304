"""Devices: results live where the operands do, as arrays of the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polygrad.tensor import Tensor, raw
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.checks import first_error, make, rests_on, worked


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One, of all samples, if the results are arrays."""
    del level
    if dtype == "none":
        return

    def action(target: Any) -> None:
        for sample, made in worked(target, subject, dtype, subject.samples(dtype)):
            if made.brought:
                raise Failed(
                    f"sample {sample.name}: the library or a kernel returned a {made.brought[0]}, "
                    "on the host: return an array of the device"
                )
            for i, part in enumerate(made.made):
                if isinstance(part, Tensor):
                    _check(target, part, f"sample {sample.name}, result {i}")
        first_error(target, subject, dtype)

    yield make(subject, dtype, "device", "all", action, rests=rests_on(subject, dtype))


def _check(target: Any, part: Tensor, what: str) -> None:
    array = raw(part)
    if part.device != target.device:
        raise Failed(f"{what} is on {part.device}, not on {target.device}")
    if not isinstance(array, target.backend.array_types):
        raise Failed(f"{what} is a {type(array).__module__}.{type(array).__qualname__}, no array "
                     f"of {target.backend.name}")  # fmt: skip
    place = target.backend.device_of(array)
    if place != target.place:
        raise Failed(f"{what} says {part.device}, and its array is on {place}")
