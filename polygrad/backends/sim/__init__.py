"""A simulated accelerator: an array library whose devices exist in the mind of NumPy only.

It has what makes a device hard to program for, so that code for devices can be tested where there
is none: memory that the host cannot reach by accident, several devices that do not mix, a queue
that is behind the host, a device without double precision, one that flushes subnormal numbers, one
with little memory, and faults on request. The plugin is `polygrad.backends.sim_backend`; the page
docs/simulated_device.md shows it all.

The module is a namespace of the array API standard. Beyond the standard it has

* `devices()`, `device(name)`, `synchronize(device)`,
* `upload(host, device)` and `download(array)`, which do not wait,
* `statistics(device)`, and `inject(device, out_of_memory=n, lost=n)`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import numpy as np

from polygrad.backends.sim.array import Array, call, download, upload
from polygrad.backends.sim.device import (
    DEVICES,
    Device,
    DeviceLostError,
    ImplicitCopyError,
    MixedDevicesError,
    OutOfMemoryError,
    RaceError,
    SimError,
    Statistics,
)
from polygrad.backends.sim.namespace import fft_functions, functions, linalg_functions

__all__ = [
    "Array",
    "Device",
    "DeviceLostError",
    "ImplicitCopyError",
    "MixedDevicesError",
    "OutOfMemoryError",
    "RaceError",
    "SimError",
    "Statistics",
    "as_strided",
    "device",
    "devices",
    "download",
    "fft",
    "inject",
    "linalg",
    "statistics",
    "synchronize",
    "upload",
]

globals().update(functions())
linalg, fft = ModuleType(f"{__name__}.linalg"), ModuleType(f"{__name__}.fft")
vars(linalg).update(linalg_functions())
vars(fft).update(fft_functions())


def devices() -> tuple[Device, ...]:
    """All devices, the default one first."""
    return DEVICES


def device(name: str) -> Device:
    """The device of a name.

    >>> device("sim:1")
    Device('sim:1')
    """
    return next(found for found in DEVICES if found.name == name)


def synchronize(place: Device) -> None:
    """Wait until everything submitted to a device has arrived."""
    place.synchronize()


def statistics(place: Device) -> Statistics:
    """What a device has counted: memory, operations, waits, copies."""
    return place.statistics()


def inject(
    place: Device, *, out_of_memory: int | None = None, lost: int | None = None
) -> AbstractContextManager[None]:
    """Faults within a `with` block.

    Parameters
    ----------
    place
        The device that fails.
    out_of_memory
        This allocation from now on fails, the next one being 1; those after it do not.
    lost
        At this operation from now on the device is lost. Everything raises DeviceLostError until
        the block ends; arrays from before raise it for ever.

    >>> with inject(device("sim:0"), out_of_memory=2):
    ...     first = zeros(3)
    ...     second = zeros(3)
    Traceback (most recent call last):
    polygrad.backends.sim.device.OutOfMemoryError: zeros float64[3] needs 24 B; ...
    """
    asked = {"out_of_memory": out_of_memory, "lost": lost}
    return place.inject({fault: n for fault, n in asked.items() if n is not None})


def as_strided(x: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view with other strides, in elements, of an array in C order."""
    made: Array = call("as_strided", _as_strided, x, shape, strides)
    return made


def _as_strided(data: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    steps = tuple(step * data.itemsize for step in strides)
    return np.lib.stride_tricks.as_strided(data, shape, steps, writeable=False)
