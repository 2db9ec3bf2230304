"""What a device is: hardware, driver, library, memory, dtypes."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass

from polygrad import dtypes
from polygrad.device import Device
from polygrad.registry import entries, find_backend, find_device

__all__ = ["DeviceProperties", "device_properties", "library_version", "memory_text"]


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of a device; printed, it is a table.

    Attributes
    ----------
    device, backend
        The device, and the name of the backend that serves it.
    library
        The array library and its version, `dpnp 0.20.0`; empty if it does not say.
    hardware, driver
        As the library calls them; empty if it does not say.
    total_memory, free_memory
        Bytes, the latter when it was asked; None if the library does not say.
    dtypes
        Those that the device holds and computes with.
    asynchronous
        Calls may return before the device has finished: whoever takes the time has to know.
    """

    device: Device
    backend: str
    library: str
    hardware: str
    driver: str
    total_memory: int | None
    free_memory: int | None
    dtypes: tuple[dtypes.Dtype, ...]
    asynchronous: bool

    def __str__(self) -> str:
        """One line for each."""
        lacking = [d.name for d in dtypes.ALL if d not in self.dtypes]
        known = None if self.total_memory is None else (self.free_memory or 0, self.total_memory)
        rows = {
            "hardware": self.hardware or "unknown", "driver": self.driver or "unknown",
            "library": self.library or "unknown", "memory": memory_text(known),
            "dtypes": "all" + (f" but {', '.join(lacking)}" if lacking else ""),
            "asynchronous": "yes" if self.asynchronous else "no",
        }  # fmt: skip
        return "\n".join([str(self.device), *(f"  {name:13}{text}" for name, text in rows.items())])


def memory_text(known: tuple[int, int] | None) -> str:
    """(free, total) bytes as text."""
    if known is None:
        return "unknown"
    free, total = (n / 2**30 for n in known)
    return f"{free:.1f} of {total:.1f} GiB free"


def library_version(backend: str) -> str:
    """The library of a backend that is in use, and its version: `numpy 2.4.6`; empty if unknown."""
    (entry,) = (e for e in entries() if e.name == backend)
    for library in entry.libraries:
        version = getattr(sys.modules.get(library), "__version__", None)
        if version and library != "polygrad":
            return f"{library} {version}"
    return ""


def _every_dtype() -> tuple[dtypes.Dtype, ...]:
    """The dtypes that can be asked for here."""
    more = (dtypes.bfloat16,) if importlib.util.find_spec("ml_dtypes") else ()
    return (*dtypes.ALL, *more)


def device_properties(device: str | Device | None = None) -> DeviceProperties:
    """The properties of a device; of the default one if none is named.

    Raises
    ------
    UnknownDeviceError, BackendNotInstalledError, BackendBrokenError
        There is no such device.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.device_properties("cpu").asynchronous
    False
    >>> print(pg.device_properties("cpu"))
    cpu
      hardware     ...
      dtypes       all
      asynchronous no
    """
    found = find_device(device)
    backend = find_backend(found.kind)
    hardware, driver = backend.hardware(found)
    free, total = backend.memory(found) or (None, None)
    return DeviceProperties(
        found, backend.name, library_version(backend.name), hardware, driver, total, free,
        tuple(d for d in _every_dtype() if backend.supports(d, found)),
        backend.capabilities_of(found).asynchronous,
    )  # fmt: skip
