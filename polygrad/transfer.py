"""Moving a tensor to another device, on the tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad.calls import record
from polygrad.config import grad_mode
from polygrad.primitive import Primitive
from polygrad.registry import find_backend, find_device, kernels_for, loaded
from polygrad.tensor import Tensor, new_tensor, raw

if TYPE_CHECKING:
    from polygrad.device import Device

__all__ = ["page_locked", "pinned", "transfer"]


def _move(array: Any, source: Any, target: Any, non_blocking: bool = False) -> Any:
    """A copy of a raw array: within one library by its own means, else through the host.

    With `non_blocking` an array of the host may be read later; nobody writes to it until then.
    """
    move = f"moving {source.dtype} {tuple(array.shape)} from {source.device} to {target.device}"
    with target.explaining(move):
        if source.backend is target.backend:
            return source.backend.transfer(array, target.device)
        source.backend.late.settle(source.backend, source.device)
        with source.explaining(move):
            host = source.backend.to_numpy(array)
        give = target.backend.upload if non_blocking else target.backend.from_numpy
        return give(host, target.device)


def _rule(g: Any, source: Any, target: Any) -> Any:
    if isinstance(g, Tensor):
        return transfer(g, find_device(source.device))
    return _move(g, target, source)


_primitive = Primitive("transfer", ("x",), {"x": _rule}, keywords={"source": None, "target": None},
                       forward=_move)  # fmt: skip


def transfer(t: Tensor, device: Device, *, non_blocking: bool = False) -> Tensor:
    """A copy of `t` on `device`; its gradient comes back to the device of `t`."""
    source, target = t.kernels, kernels_for(device, t.dtype, "moving a tensor")
    made = new_tensor(_move(raw(t), source, target, non_blocking), target)
    if t.tracked and grad_mode.get():
        keywords = {"source": source, "target": target}
        record(_primitive, target, (t,), (raw(t),), [source], (made,), keywords)
    return made


def page_locked(array: np.ndarray[Any, Any], device: Any = None) -> np.ndarray[Any, Any] | None:
    """A copy in page-locked memory for a device, or for any in use; None: there is none."""
    backends = loaded() if device is None else [find_backend(find_device(device).kind)]
    copies = (backend.pinned(array) for backend in backends)
    return next((made for made in copies if made is not None), None)


def pinned(t: Tensor, device: Any = None) -> Tensor:
    """A constant copy of a tensor of the host in page-locked memory; itself where there is none."""
    made = page_locked(np.asarray(raw(t)), device) if t.device == "cpu" else None
    return t if made is None else new_tensor(made, t.kernels)
