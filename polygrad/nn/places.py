"""Moving the parameters and buffers of a module, in place: they stay the same objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad import dtypes
from polygrad.errors import DtypeError
from polygrad.ops.creation import to_place
from polygrad.registry import default_integer, find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import View

if TYPE_CHECKING:
    from polygrad.device import Device
    from polygrad.nn.module import Module

__all__ = ["move"]


def move(module: Module, device: Any, dtype: Any) -> None:
    """Bring all parameters and buffers to a device, the floating ones to a dtype; None keeps it.

    Everything that can be refused is refused before anything has moved.
    """
    where = f"{type(module).__name__}.to"
    device = None if device is None else find_device(device)
    dtype = None if dtype is None else dtypes.canonical(dtype)
    if dtype is not None and dtypes.kind_of(dtype) < dtypes.REAL:
        raise DtypeError(
            f"parameters cannot be {dtype}", where, "pass a floating or complex dtype"
        )
    tensors = [*module.parameters(), *module.buffers()]
    goals = [_goal(t, device, dtype) for t in tensors]
    for t, goal in zip(tensors, goals, strict=True):
        kernels_for(device or t.device, goal, where)
    for t, goal in zip(tensors, goals, strict=True):
        _move_tensor(t, device, goal)


def _goal(t: Tensor, device: Device | None, dtype: dtypes.Dtype | None) -> dtypes.Dtype:
    """The dtype that `t` shall have: integers keep theirs where they can, complex stays complex."""
    if t.dtype == dtypes.int64 and device is not None:
        return default_integer(device)
    if dtype is None or not t.kernels.inexact:
        return t.dtype
    if t.kernels.is_complex and dtypes.kind_of(dtype) == dtypes.REAL:
        return dtypes.complex_of(dtype)
    return dtype


def _move_tensor(t: Tensor, device: Any, dtype: dtypes.Dtype) -> None:
    """Give a leaf another place. Live views of it are cut off: they keep the old value."""
    moved = to_place(new_tensor(raw(t), t.kernels), dtype, device)
    if moved.kernels is t.kernels:
        return
    _cut_views(t)
    t.array, t.kernels = moved.array, moved.kernels
    if t.gradient is not None:
        t.gradient = to_place(t.gradient.detach(), dtype, device)


def _cut_views(t: Tensor) -> None:
    """End all aliasing of `t`."""
    root = t.alias.root if type(t.alias) is View else None
    if root is not None:  # t is an alias itself: from here on it owns its value
        t.alias = None
        return
    for ref in tuple(t.alias or ()):
        view = ref()
        if view is not None:
            raw(view)
            view.alias = None
    t.alias = None
