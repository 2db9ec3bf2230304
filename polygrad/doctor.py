"""The report of `python -m polygrad`: what works on this machine, what does not, and what to type.

Each backend is loaded, and each of its devices computes one gradient. What goes wrong is printed,
because that is what the report is for.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator

from polygrad import dtypes
from polygrad.backend import Backend
from polygrad.device import Device
from polygrad.errors import BackendNotInstalledError, PolygradError
from polygrad.ops.creation import tensor
from polygrad.properties import library_version, memory_text
from polygrad.registry import Entry, default_device, entries, load

__all__ = ["report"]


def report() -> str:
    """What polygrad finds on this machine, as text for people.

    >>> print(report())
    polygrad ...
    numpy: works, numpy ...
        cpu: gradient right, ..., all dtypes
    """
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield (
        f"polygrad {sys.modules['polygrad'].__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}"
    )
    yield f"default device: {_default()}"
    yield ""
    known = sorted(entries(), key=lambda entry: entry.hidden)
    for entry in known:
        yield from _backend_lines(entry)


def _default() -> str:
    wanted = os.environ.get("POLYGRAD_DEVICE")
    source = f" (POLYGRAD_DEVICE={wanted})" if wanted else ""
    try:
        return f"{default_device()}{source}"
    except PolygradError as error:
        return f"none{source}: {error}"


def _backend_lines(entry: Entry) -> Iterator[str]:
    name = f"{entry.name} (for tests)" if entry.hidden else entry.name
    kinds = ", ".join(entry.device_kinds)
    try:
        backend = load(entry.name)
    except PolygradError as error:
        missing = isinstance(error, BackendNotInstalledError)
        yield f"{name}: {'not installed' if missing else 'BROKEN'}; devices: {kinds}"
        yield f"    {error.what}"
        yield f"    to get it: {entry.install}"
        return
    yield ", ".join(filter(None, [f"{name}: works", library_version(entry.name)]))
    for device in backend.devices():
        hardware = " through ".join(filter(None, backend.hardware(device)))
        facts = _trial(device), hardware, _memory(backend, device), _dtypes(backend, device)
        yield f"    {device}: {', '.join(filter(None, facts))}"


def _trial(device: Device) -> str:
    """One gradient on the device: of x squared at 3."""
    try:
        x = tensor(3.0, device=device, requires_grad=True)
        (x * x).backward()
        value = x.grad.item() if x.grad is not None else None
    except Exception as error:  # noqa: BLE001  whatever it is, the report is where it belongs
        return f"FAILS: {type(error).__name__}: {error}"
    return "gradient right" if value == 6.0 else f"WRONG: the gradient of x * x at 3 is {value}"


def _memory(backend: Backend, device: Device) -> str:
    known = backend.memory(device)
    return "memory unknown" if known is None else memory_text(known)


def _dtypes(backend: Backend, device: Device) -> str:
    lacking = [d.name for d in dtypes.ALL if not backend.supports(d, device)]
    return "all dtypes" + (f" but {', '.join(lacking)}" if lacking else "")
