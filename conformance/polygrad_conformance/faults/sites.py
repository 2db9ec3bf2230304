"""Where the faults of what is no operation are planted: layers, optimizers, indexing, transfers.

A site is an object and the name of its attribute that is called. What returns Tensors takes the
classes of damage that operations take; what changes its arguments has classes of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import nn, optim
from polygrad.registry import find_kernels
from polygrad.tensor import Tensor, on_host
from polygrad_conformance.faults.damage import DAMAGES
from polygrad_conformance.faults.damage_gradients import of_cotangents
from polygrad_conformance.faults.device import FAULTY, FaultyBackend, install
from polygrad_conformance.faults.planting import Class, Function, touch

__all__ = ["OWN", "site"]


# One function of each family of `subjects/structures.py`, all of which the corpus calls.
_STRUCTURES: dict[str, tuple[Any, str]] = {
    "broadcasting": (pg, "add"), "indexing": (Tensor, "__getitem__"), "movement": (pg, "flip"),
    "joining": (pg, "concat"), "reductions": (pg, "sum"), "products": (pg, "matmul"),
}  # fmt: skip


def site(op: str, fault: str = "") -> tuple[Any, str]:
    """The owner and the attribute of what the cases of `op` call, and a fault concerns."""
    if op == "transfer" and fault == "strides ignored":
        return FaultyBackend, "to_numpy"
    space, _, name = op.rpartition(".")
    if space == "optim.lr_scheduler":
        return getattr(optim.lr_scheduler, name), "step"
    if space in ("nn.init", "nn.utils"):
        return {"nn.init": nn.init, "nn.utils": nn.utils}[space], name
    if space == "nn":
        return getattr(nn, name), "forward"
    if space == "random":
        return pg.random, name
    if space == "optim":
        return getattr(optim, name), "step"
    if space == "structure":
        return _STRUCTURES[name]
    if space == "in_place":
        return Tensor, f"__{name}__"
    return {
        "getitem": (Tensor, "__getitem__"), "setitem": (Tensor, "__setitem__"),
        "training": (optim.Adam, "step"), "transfer": (FaultyBackend, "from_numpy"),
    }[op]  # fmt: skip


# ---- a step of an optimizer --------------------------------------------------------------------
def _after_step(change: Callable[[Tensor], None]) -> Callable[[Function], Function]:
    """Each parameter is changed behind the optimizer's back."""

    def damage(step: Function) -> Function:
        @functools.wraps(step)
        def faulty(self: Any, *args: Any, **kwargs: Any) -> Any:
            out = step(self, *args, **kwargs)
            for group in self.param_groups:
                for p in group["params"]:
                    if p.device == FAULTY:
                        touch()
                        change(p)
            return out

        return faulty

    return damage


def _set(p: Tensor, value: Any, dtype: str, device: str) -> None:
    p.kernels = find_kernels(device, dtype)
    p.array = p.kernels.from_numpy(value)


def _nudged(p: Tensor) -> None:
    _set(p, on_host(p) * np.asarray(1.01, p.dtype), p.dtype.name, FAULTY.name)


def _retyped(p: Tensor) -> None:
    other = "float64" if p.dtype == pg.float32 else "float32"
    _set(p, on_host(p), other, FAULTY.name)


def _moved(p: Tensor) -> None:
    _set(p, on_host(p), p.dtype.name, "cpu")


def _steeper(step: Function) -> Function:
    """Rates of parameters of the device, one per cent higher."""

    @functools.wraps(step)
    def faulty(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = step(self, *args, **kwargs)
        for group in self.optimizer.param_groups:
            if any(p.device == FAULTY for p in group["params"]):
                touch()
                group["lr"] = group["lr"] * 1.01
        return out

    return faulty


def _longer(clip: Function) -> Function:
    """Gradients of the device, one per cent longer."""

    @functools.wraps(clip)
    def faulty(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        out = clip(parameters, *args, **kwargs)
        for p in parameters:
            if p.device == FAULTY and p.grad is not None:
                touch()
                p.grad = p.grad * 1.01
        return out

    return faulty


# ---- writing -------------------------------------------------------------------------------------
def _other_value(value: Any) -> Any:
    if isinstance(value, Tensor):
        return pg.logical_not(value) if value.dtype == pg.bool else value + 1
    return not value if isinstance(value, bool) else value + 1


def _writing(change: Callable[[Tensor, Any], Any]) -> Callable[[Function], Function]:
    """Something else is written."""

    def damage(write: Function) -> Function:
        @functools.wraps(write)
        def faulty(self: Tensor, key: Any, value: Any) -> None:
            if self.device == FAULTY:
                touch()
                value = change(self, value)
            write(self, key, value)

        return faulty

    return damage


def _scattered(t: Tensor, value: Any) -> Any:
    return value if on_host(t).flags.c_contiguous else _other_value(value)


def _untracked(t: Tensor, value: Any) -> Any:
    del t
    return value.detach() if isinstance(value, Tensor) else value


def _operator(change: Callable[[Tensor, Any], Any]) -> Callable[[Function], Function]:
    """The operand of an in-place operator is another one."""

    def damage(write: Function) -> Function:
        @functools.wraps(write)
        def faulty(self: Tensor, other: Any) -> Any:
            if self.device == FAULTY:
                touch()
                other = change(self, other)
            return write(self, other)

        return faulty

    return damage


def _accepted(write: Function) -> Function:
    """A bad key is taken, and nothing written."""

    @functools.wraps(write)
    def faulty(self: Tensor, key: Any, value: Any) -> None:
        try:
            write(self, key, value)
        except Exception:
            if self.device != FAULTY:
                raise
            touch()

    return faulty


# ---- transfers -----------------------------------------------------------------------------------
def _sent(change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """The host's array is changed before it is sent."""

    def damage(send: Function) -> Function:
        @functools.wraps(send)
        def faulty(self: Any, array: Any, device: Any) -> Any:
            touch()
            return send(self, change(np.asarray(array)), device)

        return faulty

    return damage


def _without_payload(a: Any) -> Any:
    if a.dtype.kind != "f":
        return a if a.dtype.kind != "c" else a + 0
    return np.where(np.isnan(a), a.dtype.type(np.nan), a + a.dtype.type(0))


def _last_lost(a: Any) -> Any:
    made = np.array(a)
    made.reshape(-1)[-1:] = np.zeros((), a.dtype)
    return made


def _shared(send: Function) -> Function:
    """The device sees the host's own memory."""

    @functools.wraps(send)
    def faulty(self: Any, array: Any, device: Any) -> Any:
        del device
        touch()
        return np.asarray(array).view(self.array_types[0])

    return faulty


def _misplaced(send: Function) -> Function:
    """What was sent is not the library's array."""

    @functools.wraps(send)
    def faulty(self: Any, array: Any, device: Any) -> Any:
        touch()
        return np.array(send(self, array, device))

    return faulty


def _in_memory_order(receive: Function) -> Function:
    """What comes back is the memory from its start, strides ignored."""

    @functools.wraps(receive)
    def faulty(self: Any, array: Any) -> Any:
        host = receive(self, array)
        if host.flags.c_contiguous:
            return host
        touch()
        return host.ravel(order="K").reshape(host.shape)

    return faulty


@contextmanager
def _idle(op: str) -> Iterator[None]:
    """A kernel is registered for what no operation asks kernels for."""
    del op
    backend = install()
    touch()
    backend.kernel("gather")(np.take_along_axis)
    try:
        yield
    finally:
        del backend.table.entries["gather", None, None]


# By the op, or what its name begins with: classes of damage by name, in place of the general ones.
OWN: dict[str, dict[str, Class]] = {
    "nn.utils.": {"gradients one per cent longer": Class("value", _longer)},
    "optim.lr_scheduler.": {"a rate one per cent higher": Class("value", _steeper)},
    # The gradients of parameters, too.
    "nn.": {**DAMAGES, "cotangent off by a hundredth": Class("grad", of_cotangents)},
    "optim.": {
        "a step one per cent too long": Class("value", _after_step(_nudged)),
        "a parameter changes its dtype": Class("dtype", _after_step(_retyped)),
        "a parameter moves": Class("device", _after_step(_moved)),
    },
    "training": {"a step one per cent too long": Class("value", _after_step(_nudged))},
    "setitem": {
        "another value is written": Class("value", _writing(lambda t, v: _other_value(v))),
        "strides ignored": Class("layout", _writing(_scattered)),
        "the gradient of what is written is lost": Class("grad", _writing(_untracked)),
        "no error": Class("error", _accepted),
    },
    "in_place.": {
        "another operand": Class("value", _operator(lambda t, v: _other_value(v))),
        "the gradient of the operand is lost": Class("grad", _operator(_untracked)),
    },
    "structure.": {
        name: DAMAGES[name] for name in ("first element", "last element", "call refused")
    },
    "kernels": {"a kernel that nothing calls": Class("claims", planted=_idle)},
    "transfer": {
        "payloads and signs lost": Class("value", _sent(_without_payload)),
        "last element lost": Class("value", _sent(_last_lost)),
        "memory shared": Class("purity", _shared),
        "not the library's array": Class("device", _misplaced),
        "strides ignored": Class("layout", _in_memory_order),
    },
}  # fmt: skip
