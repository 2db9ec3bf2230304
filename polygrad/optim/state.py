"""The state of one parameter, as it is saved and as it comes back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from polygrad.ops.creation import tensor, to_place
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = ["constant", "placed"]


def constant(value: Any) -> Any:
    """A state value that later steps do not change."""
    if isinstance(value, Tensor):
        return new_tensor(raw(value), value.kernels)
    return copy.deepcopy(value)


def placed(p: Tensor, own: Mapping[str, Any], numbers: Mapping[str, float]) -> dict[str, Any]:
    """The state `own` where its parameter is; what `numbers` names comes as Python numbers."""
    made: dict[str, Any] = {}
    for name, value in own.items():
        if name in numbers:
            made[name] = int(value) if name == "step" else float(value)
        elif hasattr(value, "shape"):
            t = value.detach() if isinstance(value, Tensor) else tensor(value)
            dtype = p.dtype if t.kernels.inexact else None
            moved = to_place(new_tensor(raw(t), t.kernels), dtype, p.device)
            made[name] = new_tensor(moved.kernels.backend.copy(raw(moved)), moved.kernels)
        else:
            made[name] = copy.deepcopy(value)
    if made and "step" in numbers and "step" not in made:
        made["step"] = 1  # from an optimiser that does not count, but has begun
    return made
