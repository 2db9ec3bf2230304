"""Moving a tensor to another device, on the tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad.calls import record
from polygrad.config import grad_mode
from polygrad.primitive import Primitive
from polygrad.registry import find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor, raw

if TYPE_CHECKING:
    from polygrad.device import Device

__all__ = ["transfer"]


def _move(array: Any, source: Any, target: Any) -> Any:
    """A copy of a raw array: within one library by its own means, else through the host."""
    move = f"moving {source.dtype} {tuple(array.shape)} from {source.device} to {target.device}"
    with target.explaining(move):
        if source.backend is target.backend:
            return source.backend.transfer(array, target.device)
        with source.explaining(move):
            host = source.backend.to_numpy(array)
        return target.backend.from_numpy(host, target.device)


def _rule(g: Any, source: Any, target: Any) -> Any:
    if isinstance(g, Tensor):
        return transfer(g, find_device(source.device))
    return _move(g, target, source)


_primitive = Primitive("transfer", ("x",), {"x": _rule}, keywords={"source": None, "target": None},
                       forward=_move)  # fmt: skip


def transfer(t: Tensor, device: Device) -> Tensor:
    """A copy of `t` on `device`; its gradient comes back to the device of `t`."""
    source, target = t.kernels, kernels_for(device, t.dtype, "moving a tensor")
    made = new_tensor(_move(raw(t), source, target), target)
    if t.tracked and grad_mode.get():
        keywords = {"source": source, "target": target}
        record(_primitive, target, (t,), (raw(t),), [source], (made,), keywords)
    return made
