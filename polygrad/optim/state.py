"""The state of one parameter, as it is saved and as it comes back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from polygrad.dtypes import complex_of, real_of
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.ops.creation import tensor, to_place
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = ["constant", "entries_of", "placed"]


def entries_of(state_dict: Any, where: str) -> dict[str, Any]:
    """The entries of an optimiser's state_dict, of which two are needed.

    Raises
    ------
    InvalidTypeError
        It is none.
    """
    found = dict(state_dict) if isinstance(state_dict, Mapping) else {}
    groups, state = found.get("param_groups"), found.get("state")
    fine = isinstance(groups, (list, tuple)) and isinstance(state, Mapping)
    if not fine or not all(isinstance(g, Mapping) and "params" in g for g in groups or ()):
        raise InvalidTypeError(
            f"this {type(state_dict).__name__} is no state of an optimiser", where,
            "pass what state_dict() returned: its 'param_groups' and 'state'",
        )  # fmt: skip
    return found


def constant(value: Any) -> Any:
    """A state value that later steps do not change."""
    if isinstance(value, Tensor):
        return new_tensor(raw(value), value.kernels)
    if type(value) in (list, tuple):
        return type(value)(map(constant, value))
    return copy.deepcopy(value)


def placed(
    p: Tensor,
    own: Any,
    numbers: Mapping[str, float],
    shapes: Mapping[str, tuple[int, ...]],
    where: str,
) -> dict[str, Any]:
    """The state `own` where its parameter is; what `numbers` names comes as Python numbers.

    What `shapes` names has these shapes; None in its place is left out.
    """
    if not isinstance(own, Mapping):
        raise InvalidTypeError(
            f"a parameter's state is a dictionary, not {type(own).__name__}", where,
            "pass what state_dict() returned",
        )  # fmt: skip
    made: dict[str, Any] = {}
    for name, value in own.items():
        if name in numbers:
            made[name] = _number(name, value, where)
        elif name not in shapes:
            made[name] = _moved(p, value)
        elif value is not None:
            made[name] = _moved(p, value)
            _check(name, value, made[name], p, shapes[name], where)
    if made and "step" in numbers and "step" not in made:
        made["step"] = 1  # from an optimiser that does not count, but has begun
    return made


def _number(name: str, value: Any, where: str) -> float:
    """A count of steps, or another number."""
    try:
        number = int(value) if name == "step" else float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidTypeError(
            f"{name} is {value!r}, which is no {'count' if name == 'step' else 'number'}", where,
            "pass what state_dict() returned",
        ) from None  # fmt: skip
    if name == "step" and number < 0:
        raise InvalidArgumentError(f"step is {number}", where, "it counts the steps from 0")
    return number


def _check(
    name: str, value: Any, moved: Any, p: Tensor, shape: tuple[int, ...], where: str
) -> None:
    """Refuse an array that does not fit its parameter."""
    if not isinstance(moved, Tensor):
        raise InvalidTypeError(
            f"{name} is a {type(value).__name__}", where, "it must be an array or a Tensor"
        )
    if moved.shape != shape:
        raise ShapeError(
            f"{name} has shape {moved.shape}, not {shape}, for a parameter of shape {p.shape}",
            where, "give the optimiser the parameters in the order that they had",
        )  # fmt: skip
    if moved.kernels.is_complex and not p.kernels.is_complex:
        raise DtypeError(
            f"{name} is complex, the parameter {p.dtype}", where,
            "give the optimiser the parameters in the order that they had",
        )  # fmt: skip


def _moved(p: Tensor, value: Any) -> Any:
    """A value of the state of `p` in memory of its own: an array, or lists of arrays, at its place.

    Floating arrays take the parameter's dtype; real ones of a complex parameter stay real.
    """
    if type(value) in (list, tuple):
        return type(value)(_moved(p, part) for part in value)
    if not hasattr(value, "shape"):
        return copy.deepcopy(value)
    t = value.detach() if isinstance(value, Tensor) else tensor(value)
    dtype = real_of(p.dtype)
    if t.kernels.is_complex:
        dtype = complex_of(dtype)
    moved = to_place(new_tensor(raw(t), t.kernels), dtype if t.kernels.inexact else None, p.device)
    return new_tensor(moved.kernels.copy(raw(moved)), moved.kernels)
