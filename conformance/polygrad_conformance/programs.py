"""What a layer, an optimizer or a training run made, and its comparison with long double."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygrad_conformance.case import Failed, Measure
from polygrad_conformance.compare import compare_conditioned, largest, worst_of
from polygrad_conformance.target import Host, Target
from polygrad_conformance.tolerance import exact

__all__ = ["Outcome", "compare_outcomes"]


class Outcome:
    """Values and gradients as NumPy arrays, the tensors they came from, the inputs afterwards."""

    def __init__(
        self, values: Sequence[Any], gradients: Sequence[Any] = (), inputs: Sequence[Any] = ()
    ) -> None:
        self.tensors = [*values, *gradients]
        self.values: list[Host] = [Target.download(t) for t in values]
        self.gradients: list[Host] = [Target.download(t) for t in gradients]
        self.inputs: list[Host] = [Target.download(t) for t in inputs]


def compare_outcomes(
    got: list[Host], want: list[Host], sensitivities: Callable[[], list[Any]], scale: float = 1.0
) -> Measure:
    """The worst of the parts.

    Raises
    ------
    Failed
        A part is missing, has another shape, or is too far off.
    """
    if len(got) != len(want):
        raise Failed(f"{len(got)} results, expected {len(want)}")
    kept: list[Any] = []

    def sensitivity(i: int) -> Any:
        if not kept:
            kept.extend(sensitivities())
        return kept[i]

    measures = []
    size = largest(want) * scale
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if a.shape != b.shape:
            raise Failed(f"result {i} has shape {a.shape}, expected {b.shape}")
        if b.dtype.kind not in "fc":
            if (place := exact(a, b)) is not None:
                raise Failed(f"result {i} is {a.reshape(-1)[place]}, expected "
                             f"{b.reshape(-1)[place]}")  # fmt: skip
            continue
        measure, place = compare_conditioned(a, b, lambda i=i: sensitivity(i), size)
        if measure.grade == "F":
            index = list(map(int, np.unravel_index(place, b.shape)))
            raise Failed(
                f"result {i}{index or ''} is {a.reshape(-1)[place]}, expected "
                f"{b.reshape(-1)[place]} ({measure.measured:.3g} times the bound)", measure,
            )  # fmt: skip
        measures.append(measure)
    return worst_of(measures)
