"""Purity: a call leaves its operands as they were, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polygrad_conformance.case import Case, Failed
from polygrad_conformance.checks import first_error, make, rests_on, worked
from polygrad_conformance.target import map_arrays


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One, of all samples, if there are operands."""
    del level
    operands: list[Any] = []
    for sample in subject.samples(dtype):
        map_arrays((sample.args, sample.kwargs), lambda a: operands.append(a) or a)
    if not any(a.size for a in operands):
        return

    def action(target: Any) -> None:
        for sample, made in worked(target, subject, dtype, subject.samples(dtype)):
            for i, (tensor, host) in enumerate(zip(made.inputs, made.hosts, strict=True)):
                now = target.download(tensor)
                if now.tobytes() != np.ascontiguousarray(host).tobytes():
                    raise Failed(f"sample {sample.name}: the call changed operand {i}")
        first_error(target, subject, dtype)

    yield make(subject, dtype, "purity", "all", action, rests=rests_on(subject, dtype))
