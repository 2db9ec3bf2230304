"""The device that faults are planted on: NumPy's kernels over arrays of a class of their own.

`cpu` stays right, so that it can be the reference. A fault is planted in a function of the
registry, and then shows only where a Tensor lives on this device; or in one kernel of this backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from polygrad.backend import Capabilities, Kernel, Kernels
from polygrad.backends.frozen_backend import FrozenArray, FrozenBackend
from polygrad.device import Device
from polygrad.registry import Entry, entries, find_backend, register_backend

__all__ = ["FAULTY", "FaultyBackend", "in_kernel", "install", "with_capabilities"]

FAULTY = Device("faulty:0")
Damage = Callable[[Kernel], Kernel]


class FaultyArray(FrozenArray):
    """A read-only array of the faulty device."""


class FaultyBackend(FrozenBackend):
    """Right, until a kernel is damaged."""

    name = "faulty"
    device_kinds = ("faulty",)
    capabilities = Capabilities(writeable=False, survives_fork=True)

    def __init__(self) -> None:
        super().__init__()
        self.damages: dict[str, Damage] = {}

    @property
    def array_types(self) -> tuple[type, ...]:
        """FaultyArray."""
        return (FaultyArray,)

    def devices(self) -> list[Device]:
        """The one device."""
        return [FAULTY]

    def device_of(self, array: Any) -> Device:
        """The one device."""
        return FAULTY

    def adapted(self, name: str, kernel: Kernel, kernels: Kernels) -> Kernel:
        """The kernel, damaged if it is to be."""
        found = super().adapted(name, kernel, kernels)
        damage = self.damages.get(name)
        return found if damage is None else damage(found)


def install() -> FaultyBackend:
    """Make `faulty:0` a device; the backend."""
    if all(entry.name != "faulty" for entry in entries()):
        register_backend(
            Entry(
                "faulty", f"{__name__}:FaultyBackend", ("faulty",), ("polygrad_conformance",),
                "pip install polygrad[conformance]", hidden=True,
            )
        )  # fmt: skip
    return cast("FaultyBackend", find_backend("faulty"))


@contextmanager
def in_kernel(name: str, damage: Damage) -> Iterator[None]:
    """While it is open, the kernel `name` of the faulty device is damaged."""
    backend = install()
    backend.damages[name] = damage
    backend.forget(name)
    try:
        yield
    finally:
        del backend.damages[name]
        backend.forget(name)


@contextmanager
def with_capabilities(**changes: Any) -> Iterator[None]:
    """While it is open, the faulty device claims something else."""
    backend = install()
    backend.capabilities = replace(FaultyBackend.capabilities, **changes)
    try:
        yield
    finally:
        del backend.capabilities
