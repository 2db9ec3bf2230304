"""The simulated accelerator of `polygrad.backends.sim`: `sim:0`, `sim:1`, and devices with a want.

Where there is no accelerator, it shows what code for one does wrong; and it is an example of how a
device's backend is written. What the library makes easy to forget is said where it is done.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.backend import Array, Backend, Capabilities
from polygrad.backends import sim
from polygrad.backends.counting import ALONE
from polygrad.backends.numpy_backend import half_nextafter
from polygrad.device import Device

_XP: Any = sim  # whose functions have no types: they are made when the module is read


class SimBackend(Backend):
    """Arrays that can be written, views that share memory, calls that return early."""

    name = "sim"
    device_kinds = ("sim",)
    capabilities = Capabilities(asynchronous=True, aliasing=True)
    oom_errors = (sim.OutOfMemoryError,)
    lost_errors = (sim.DeviceLostError,)

    def __init__(self) -> None:
        super().__init__()
        self._native = {Device(native.name): native for native in sim.devices()}
        self._device_of = {native: device for device, native in self._native.items()}
        self.kernel("nextafter", dtype="float16")(half_nextafter)

    @property
    def array_types(self) -> tuple[type, ...]:
        """sim.Array."""
        return (sim.Array,)

    @property
    def xp(self) -> Any:
        """The library, which has the standard's names."""
        return _XP

    def devices(self) -> list[Device]:
        """All that the library has."""
        return list(self._native)

    def native_device(self, device: Device) -> Any:
        """The library's own object."""
        return self._native[device]

    def device_of(self, array: Array) -> Device:
        """By the library's own object."""
        return self._device_of[array.device]

    def supports(self, dtype: dtypes.Dtype, device: Device) -> bool:
        """`sim:no_float64` computes in single precision."""
        return dtype in dtypes.ALL and self._native[device].has(dtype)

    def capabilities_of(self, device: Device) -> Capabilities:
        """`sim:flush` knows no subnormal numbers."""
        flushes = self._native[device].flushes
        return dataclasses.replace(self.capabilities, subnormals=not flushes)

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """Of a copy: an upload returns before it has read, and the caller may write to `array`."""
        return sim.upload(np.array(array, order="C"), self._native[device])

    def to_numpy(self, array: Array) -> np.ndarray[Any, Any]:
        """A download reads what has arrived: so the device is waited for first."""
        sim.synchronize(array.device)
        return sim.download(array)

    def transfer(self, array: Array, device: Device) -> Array:
        """From device to device; the library waits for the first one."""
        return _XP.asarray(array, device=self._native[device], copy=True)

    def synchronize(self, device: Device) -> None:
        """Wait for the queue."""
        sim.synchronize(self._native[device])

    def memory(self, device: Device) -> tuple[int, int] | None:
        """As the library counts."""
        counted = sim.statistics(self._native[device])
        return counted.limit - counted.in_use, counted.limit

    def hardware(self, device: Device) -> tuple[str, str]:
        """There is none."""
        return "simulated accelerator", ""

    def memory_stats(self, device: Device) -> dict[str, int]:
        """As the library counts, without a cache: it has none."""
        counted = sim.statistics(self._native[device])
        return {
            "used": counted.in_use, "peak": counted.peak,
            "free": counted.limit - counted.in_use, "total": counted.limit,
        }  # fmt: skip

    def upload(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """Of the array itself, which the library keeps until it has read it."""
        return sim.upload(array, self._native[device])

    def unshared(self, holder: Any) -> bool:
        """One reference, memory of its own: views refer to their base, so its count sees them."""
        return sys.getrefcount(holder.array) == ALONE and holder.array.base is None

    def strided_view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array:
        """Of a copy where the order is not C."""
        return sim.as_strided(_XP.asarray(array, copy=True), shape, strides)
