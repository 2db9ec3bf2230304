"""Read-only NumPy arrays: whoever writes to what polygrad holds, saved values above all, is caught.

A FrozenArray is a NumPy array that cannot be written; what is computed from it is an ordinary array
until polygrad keeps it. So kernels may write to arrays of their own, and to no others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.backend import Array, Backend, Capabilities
from polygrad.backends.numpy_backend import NumpyBackend
from polygrad.device import Device

FROZEN = Device("frozen:0")


def _thaw(value: Any) -> Any:
    """FrozenArrays, within tuples, lists and dictionaries too, as read-only plain arrays."""
    if isinstance(value, FrozenArray):
        return value.view(np.ndarray)
    if type(value) in (tuple, list):
        return type(value)(map(_thaw, value))
    return {k: _thaw(v) for k, v in value.items()} if type(value) is dict else value


class FrozenArray(np.ndarray[Any, Any]):
    """A read-only array, made by `coerce`. What is done with it gives plain arrays."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Of plain arrays."""
        return getattr(ufunc, method)(*_thaw(inputs), **_thaw(kwargs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Of plain arrays."""
        return func(*_thaw(args), **_thaw(kwargs))


def _plain(name: str) -> Any:
    """The method `name` of a plain array in place of the subclass's."""

    def method(self: FrozenArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.view(np.ndarray), name)(*_thaw(args), **_thaw(kwargs))

    method.__name__ = method.__qualname__ = name
    return method


_KEPT = {"view", "setflags"}
_COPYING = {"__getitem__", "__copy__", "__deepcopy__"}
for _name in {n for n in vars(np.ndarray) if not n.startswith("_")} | _COPYING:
    if _name not in _KEPT and callable(getattr(np.ndarray, _name)):
        setattr(FrozenArray, _name, _plain(_name))


class FrozenBackend(NumpyBackend):
    """NumPy's backend, kernels included, over arrays that cannot be written."""

    name = "frozen"
    device_kinds = ("frozen",)
    capabilities = Capabilities(writeable=False, survives_fork=True)
    tiled = False

    @property
    def array_types(self) -> tuple[type, ...]:
        """FrozenArray."""
        return (FrozenArray,)

    def devices(self) -> list[Device]:
        """The one device."""
        return [FROZEN]

    def device_of(self, array: Array) -> Device:
        """The one device."""
        return FROZEN

    def native_device(self, device: Device) -> Any:
        """NumPy's name for its device."""
        return "cpu"

    def from_numpy(self, array: Array, device: Device) -> Array:
        """A copy, then frozen."""
        return self.coerce(super().from_numpy(array, device), device)

    def to_numpy(self, array: Array) -> Array:
        """The same memory, as a plain read-only array."""
        return array.view(np.ndarray)

    def coerce(self, value: Any, device: Device) -> Array:
        """A view of what is read-only from now on."""
        plain = super().coerce(value, device)
        plain.flags.writeable = False
        return plain.view(self.array_types[0])

    set_at = Backend.set_at
    unshared = Backend.unshared
    lend = Backend.lend
