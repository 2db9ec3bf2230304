"""The state of one parameter, as it is saved and as it comes back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from polygrad.dtypes import real_of
from polygrad.ops.creation import tensor, to_place
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = ["constant", "placed"]


def constant(value: Any) -> Any:
    """A state value that later steps do not change."""
    if isinstance(value, Tensor):
        return new_tensor(raw(value), value.kernels)
    if type(value) in (list, tuple):
        return type(value)(map(constant, value))
    return copy.deepcopy(value)


def placed(p: Tensor, own: Mapping[str, Any], numbers: Mapping[str, float]) -> dict[str, Any]:
    """The state `own` where its parameter is; what `numbers` names comes as Python numbers."""
    made: dict[str, Any] = {}
    for name, value in own.items():
        if name in numbers:
            made[name] = int(value) if name == "step" else float(value)
        else:
            made[name] = _moved(p, value)
    if made and "step" in numbers and "step" not in made:
        made["step"] = 1  # from an optimiser that does not count, but has begun
    return made


def _moved(p: Tensor, value: Any) -> Any:
    """A value of the state of `p` in memory of its own: an array, or lists of arrays, at its place.

    Floating arrays take the parameter's dtype; real ones of a complex parameter stay real.
    """
    if type(value) in (list, tuple):
        return type(value)(_moved(p, part) for part in value)
    if not hasattr(value, "shape"):
        return copy.deepcopy(value)
    t = value.detach() if isinstance(value, Tensor) else tensor(value)
    dtype = p.dtype if t.kernels.is_complex else real_of(p.dtype)
    moved = to_place(new_tensor(raw(t), t.kernels), dtype if t.kernels.inexact else None, p.device)
    return new_tensor(moved.kernels.backend.copy(raw(moved)), moved.kernels)
