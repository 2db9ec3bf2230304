"""The simulated devices: memory that is counted, a queue that is behind, and faults on request.

Note [What has arrived]
-----------------------
The length of a result must be known when an operation is submitted, and only NumPy knows it: so
NumPy computes at once, into memory that the host may not read. Each submission has a number, each
allocation has the number of the last write to it, and `synchronize` moves the device's `arrived` up
to the last. `download` reads what has arrived, and poison where something is still under way: NaN,
a pattern of bits, the wrong truth value. So a missing `synchronize` is wrong every time, not once
in a thousand runs as on hardware. Operations of one device see each other's results, in order.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygrad.sizes import size_text

HostArray = np.ndarray[Any, Any]

_DOUBLE = (np.dtype(np.float64), np.dtype(np.complex128))
_MEGABYTE = 1 << 20
_QUEUE = 64  # uploads under way; a device whose queue is full makes the host wait
_PATTERN = 0xA5  # the byte that poisoned integers consist of


class SimError(RuntimeError):
    """The simulated device was used in a way that no device allows."""


class MixedDevicesError(SimError):
    """Arrays of two devices, or of the host and a device, in one operation."""


class ImplicitCopyError(TypeError):
    """Something asked for values on the host without saying so."""


class RaceError(SimError):
    """The host wrote to memory that an upload was still reading."""


class OutOfMemoryError(MemoryError):
    """The device's memory is exhausted."""


class DeviceLostError(SimError):
    """The device does not answer any more."""


@dataclass(frozen=True)
class Statistics:
    """What a device has counted.

    Attributes
    ----------
    in_use, peak
        Bytes allocated now, and at most so far.
    limit
        Bytes there are.
    arrays
        Allocations that are alive.
    allocations
        Allocations that there ever were.
    submitted
        Operations submitted.
    waits
        Times that the host waited, by itself or because a shape depended on values.
    uploads, downloads
        Copies from and to the host.
    """

    in_use: int
    peak: int
    limit: int
    arrays: int
    allocations: int
    submitted: int
    waits: int
    uploads: int
    downloads: int


class Memory:
    """One allocation. Views of it share it; it is given back when the last of them goes."""

    __slots__ = ("device", "label", "life", "nbytes", "written")

    def __init__(self, device: Device, nbytes: int, label: str) -> None:
        self.device, self.nbytes, self.label = device, nbytes, label
        self.life = device.life
        self.written = 0
        device.take(self)

    def __del__(self) -> None:
        """Freed in the order of the queue, so that nobody need wait."""
        if self.written:  # it was granted
            self.device.give(self)


class Device:
    """One simulated device."""

    def __init__(
        self, name: str, *, double: bool = True, flushes: bool = False, limit: int = 4096
    ) -> None:
        self.name, self.double, self.flushes = name, double, flushes
        self.limit = limit * _MEGABYTE
        self.lock = threading.RLock()
        self.life = 0  # a device that was lost starts another one
        self.lost = ""
        self.count: Counter[str] = Counter()
        self.held: Counter[tuple[str, int]] = Counter()
        self.arrived = self.in_use = self.peak = 0
        self.uploads: list[tuple[HostArray, HostArray]] = []
        self.faults: dict[str, int] = {}

    def __repr__(self) -> str:
        """The name."""
        return f"Device({self.name!r})"

    def has(self, dtype: Any) -> bool:
        """Whether the device computes with a dtype."""
        return self.double or np.dtype(dtype) not in _DOUBLE

    def require(self, dtype: Any) -> None:
        """Raise for a dtype that the device has not."""
        if dtype is not None and not self.has(dtype):
            raise TypeError(f"{self.name} has no {np.dtype(dtype)}, only single precision")

    def narrow(self, data: HostArray) -> HostArray:
        """A result in double precision as what the device has."""
        if self.has(data.dtype):
            return data
        return data.astype(np.float32 if data.dtype.kind == "f" else np.complex64)

    # ---- the queue ----------------------------------------------------------------------------
    def check(self, memory: Memory | None = None) -> None:
        """Raise if the device was lost, or was lost after `memory` had been allocated."""
        if self.lost or (memory is not None and memory.life != self.life):
            raise DeviceLostError(
                f"{self.name} was lost ({self.lost or 'it was started anew since'}): what its "
                "memory held is gone; load a checkpoint on a device that works"
            )

    def submit(self) -> int:
        """Accept one operation; its number."""
        with self.lock:
            self.check()
            if self._due("lost"):
                self.lost = "injected fault"
                self.check()
            self.count["submitted"] += 1
            return self.count["submitted"]

    def synchronize(self) -> None:
        """Wait until everything submitted has arrived."""
        with self.lock:
            self.check()
            self.count["waits"] += 1
            self.arrived = self.count["submitted"]
            self._read_uploads()

    def watch(self, host: HostArray) -> None:
        """Remember what an upload is to read. If the queue is full, it is read now."""
        with self.lock:
            self.count["uploads"] += 1
            if len(self.uploads) >= _QUEUE:
                self._read_uploads()
            self.uploads.append((host, host.copy()))

    def _read_uploads(self) -> None:
        waiting, self.uploads = self.uploads, []
        for host, before in waiting:
            if host.tobytes() != before.tobytes():
                raise RaceError(
                    f"{self.name}: the host wrote to an array of shape {host.shape}, {host.dtype}, "
                    "while its upload was under way; upload a copy, or synchronize first"
                )

    # ---- memory -------------------------------------------------------------------------------
    def take(self, memory: Memory) -> None:
        """Grant an allocation, or raise."""
        with self.lock:
            self.count["allocations"] += 1
            injected = self._due("out_of_memory")
            if injected or self.in_use + memory.nbytes > self.limit:
                raise OutOfMemoryError(self._shortage(memory, injected))
            memory.written = self.submit()
            self.in_use += memory.nbytes
            self.peak = max(self.peak, self.in_use)
            self.held[memory.label, memory.nbytes] += 1

    def give(self, memory: Memory) -> None:
        """Take an allocation back; of a device lost meanwhile there is nothing to take back."""
        with self.lock:
            if memory.life == self.life:
                self.in_use -= memory.nbytes
                self.held[memory.label, memory.nbytes] -= 1

    def _shortage(self, memory: Memory, injected: bool) -> str:
        """Who wanted how much, and who holds the rest: the largest three."""
        largest = sorted((+self.held).items(), key=lambda item: -item[0][1] * item[1])[:3]
        holders = ", ".join(f"{n} x {label} ({size_text(b)} each)" for (label, b), n in largest)
        return (
            f"{memory.label} needs {size_text(memory.nbytes)}; {size_text(self.in_use)} of "
            f"{size_text(self.limit)} are in use on {self.name}"
            + (f", by {holders}" if holders else "")
            + (" (injected fault)" if injected else "")
        )

    # ---- faults -------------------------------------------------------------------------------
    def _due(self, fault: str) -> bool:
        """Count down to a fault that was injected."""
        if fault not in self.faults:
            return False
        self.faults[fault] -= 1
        return self.faults[fault] == 0

    @contextmanager
    def inject(self, faults: dict[str, int]) -> Iterator[None]:
        """See `sim.inject`."""
        before, self.faults = self.faults, dict(faults)
        try:
            yield
        finally:
            self.faults = before
            if self.lost:
                self.restart()

    def restart(self) -> None:
        """A device that was lost works again; its memory is empty."""
        with self.lock:
            self.lost = ""
            self.life += 1
            self.in_use = 0
            self.held.clear()
            self.uploads.clear()

    def statistics(self) -> Statistics:
        """What was counted so far."""
        names = ("allocations", "submitted", "waits", "uploads", "downloads")
        counted = {name: self.count[name] for name in names}
        alive = sum(self.held.values())
        return Statistics(self.in_use, self.peak, self.limit, alive, **counted)


def poison(data: HostArray) -> HostArray:
    """What is read where something else was to arrive.

    >>> poison(np.asarray([1.0, 2.0])), poison(np.asarray([True, False]))
    (array([nan, nan]), array([False,  True]))
    """
    if data.dtype.kind == "b":
        return ~data
    if data.dtype.kind in "iu":
        return np.frombuffer(bytes([_PATTERN]) * data.nbytes, data.dtype).reshape(data.shape).copy()
    return np.full(data.shape, np.nan * (1 + 1j if data.dtype.kind == "c" else 1), data.dtype)


def flush(data: HostArray) -> HostArray:
    """`data` with zeros in place of subnormal numbers, of the same sign."""
    if data.dtype.kind not in "fc" or not data.size:
        return data
    tiny = np.finfo(data.dtype).smallest_normal
    out = np.array(data)
    for part in (out.real, out.imag) if data.dtype.kind == "c" else (out,):
        part[np.abs(part) < tiny] *= 0.0
    return out


DEVICES = tuple(
    Device(f"sim:{name}", **options)  # type: ignore[arg-type]
    for name, options in {
        "0": {},
        "1": {},
        "no_float64": {"double": False},
        "flush": {"flushes": True},
        "small": {"limit": 64},
    }.items()
)
