"""Moving the parameters and buffers of a module, in place: they stay the same objects.

All new values are made before the first is put in its place: a move that fails has moved nothing.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from polygrad import dtypes
from polygrad.errors import DtypeError
from polygrad.ops.creation import to_place
from polygrad.ops.filling import empty
from polygrad.registry import default_integer, find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import View

if TYPE_CHECKING:
    from polygrad.device import Device
    from polygrad.nn.module import Module

__all__ = ["convert", "move", "move_empty", "put_in_place"]


def move(module: Module, device: Any, dtype: Any, *, non_blocking: bool = False) -> None:
    """Bring all parameters and buffers to a device, the floating ones to a dtype; None keeps it."""
    where = f"{type(module).__name__}.to"
    device = None if device is None else find_device(device)
    dtype = None if dtype is None else dtypes.canonical(dtype)
    if dtype is not None and dtypes.kind_of(dtype) < dtypes.REAL:
        raise DtypeError(
            f"parameters cannot be {dtype}", where, "pass a floating or complex dtype"
        )
    tensors = [*module.parameters(), *module.buffers()]
    goals = [_goal(t, device, dtype) for t in tensors]
    _move_all(tensors, device, goals, where, non_blocking)


def convert(module: Module, dtype: Any) -> None:
    """Bring all parameters and buffers to a dtype, integers too."""
    where = f"{type(module).__name__}.type"
    dtype = dtypes.canonical(dtype)
    tensors = [*module.parameters(), *module.buffers()]
    if dtypes.kind_of(dtype) < dtypes.REAL and any(t.requires_grad for t in tensors):
        raise DtypeError(
            f"parameters that require grad cannot be {dtype}", where,
            "pass a floating or complex dtype, or call requires_grad_(False) first",
        )  # fmt: skip
    if dtypes.kind_of(dtype) < dtypes.COMPLEX and any(t.kernels.is_complex for t in tensors):
        raise DtypeError(
            f"complex tensors cannot be {dtype}: their imaginary parts would be lost", where,
            "pass a complex dtype, or call to(dtype), which keeps them complex",
        )  # fmt: skip
    _move_all(tensors, None, [dtype] * len(tensors), where)


def move_empty(module: Module, device: Any, *, recurse: bool) -> None:
    """Bring parameters and buffers to a device without their values; gradients are forgotten."""
    where = f"{type(module).__name__}.to_empty"
    device = None if device is None else find_device(device)
    tensors = [*module.parameters(recurse), *module.buffers(recurse)]
    goals = [_goal(t, device, None) for t in tensors]
    _refuse(tensors, device, goals, where)
    made = [
        empty(t.shape, dtype=goal, device=device or t.device)
        for t, goal in zip(tensors, goals, strict=True)
    ]
    for t, value in zip(tensors, made, strict=True):
        put_in_place(t, value)
        t.gradient = None


def _goal(t: Tensor, device: Device | None, dtype: dtypes.Dtype | None) -> dtypes.Dtype:
    """The dtype that `t` shall have: integers keep theirs where they can, complex stays complex."""
    if t.dtype == dtypes.int64 and device is not None:
        return default_integer(device)
    if dtype is None or not t.kernels.inexact:
        return t.dtype
    if t.kernels.is_complex and dtypes.kind_of(dtype) == dtypes.REAL:
        return dtypes.complex_of(dtype)
    return dtype


def _refuse(
    tensors: list[Tensor], device: Device | None, goals: list[dtypes.Dtype], where: str
) -> None:
    """Raise if a device lacks a dtype, before anything is copied."""
    for t, goal in zip(tensors, goals, strict=True):
        kernels_for(device or t.device, goal, where)


def _move_all(
    tensors: list[Tensor],
    device: Device | None,
    goals: list[dtypes.Dtype],
    where: str,
    later: bool = False,
) -> None:
    _refuse(tensors, device, goals, where)
    made = [_moved(t, device, goal, later) for t, goal in zip(tensors, goals, strict=True)]
    for t, (value, gradient) in zip(tensors, made, strict=True):
        if value.kernels is not t.kernels:
            put_in_place(t, value)
            t.gradient = gradient


def _moved(
    t: Tensor, device: Device | None, dtype: dtypes.Dtype, later: bool
) -> tuple[Tensor, Tensor | None]:
    """The value of `t` and its gradient in another place; a buffer with a history keeps it."""
    array = raw(t)
    source = t if t.node is not None else new_tensor(array, t.kernels)
    to = functools.partial(to_place, dtype=dtype, device=device, non_blocking=later)
    return to(source), None if t.gradient is None else to(t.gradient.detach())


def put_in_place(t: Tensor, value: Tensor) -> None:
    """Give `t` another value, of any shape, dtype and device, with its history if it has one.

    Live views of `t` are cut off: they keep the old value.
    """
    _cut_views(t)
    t.array, t.kernels = raw(value), value.kernels
    if t.node is not None or value.node is not None:
        t.node, t.tracked = value.node, value.tracked


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
