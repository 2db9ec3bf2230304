"""Which backend serves a device or an array, found lazily.

A backend's library is imported only when a device of its kind is named or an array of its type is
met. Three errors that differ: a name nobody claims; a library that is known but not installed; one
that is installed but does not work.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from typing import Any

from polygrad import dtypes
from polygrad.backend import Backend, Kernels
from polygrad.device import Device
from polygrad.entry import Entry, broken, entry_of, find_libraries, said
from polygrad.errors import (
    BackendBrokenError,
    BackendNotInstalledError,
    ForeignArrayError,
    InvalidTypeError,
    PolygradError,
    UnknownDeviceError,
)
from polygrad.kernels import check_dtype

__all__ = [
    "ENTRY_POINTS",
    "Entry",
    "adopt_backend",
    "backend_of",
    "chosen_device",
    "default_device",
    "default_integer",
    "device",
    "devices",
    "entries",
    "find_backend",
    "find_device",
    "find_kernels",
    "kernels_for",
    "load",
    "loaded",
    "open_backend",
    "register_backend",
    "set_default_device",
]

ENTRY_POINTS = "polygrad.backends"

_catalogue: dict[str, Entry] = {}
_loaded: dict[str, Backend] = {}
_by_type: dict[type, Backend] = {}
_scanned: list[bool] = []
_loading = threading.RLock()
chosen_device: ContextVar[Device | None] = ContextVar("polygrad.chosen_device", default=None)
_entered: ContextVar[tuple[Token[Device | None], ...]] = ContextVar("polygrad.entered", default=())
_process_default: list[Device] = []


def register_backend(entry: Entry) -> None:
    """Add a backend to the catalogue; one of the same name is replaced."""
    _catalogue[entry.name] = entry
    _loaded.pop(entry.name, None)


def adopt_backend(entry: Entry, backend: Backend) -> None:
    """Add a backend that has been made already, as a test of a plugin does."""
    register_backend(entry)
    _loaded[entry.name] = backend
    for array_type in backend.array_types:
        _by_type[array_type] = backend


def entries() -> tuple[Entry, ...]:
    """All backends known: the catalogue and the plugins' entry points."""
    _scan_entry_points()
    return tuple(_catalogue.values())


def _scan_entry_points() -> None:
    """Add the backends that installed packages announce; done once, it reads the disk.

    A plugin that cannot be imported is listed with the name of its entry point as kind of device.
    """
    with _loading:
        if not _scanned:
            _scanned.append(True)
            _scan()


def _scan() -> None:
    from importlib import metadata  # noqa: PLC0415  15 ms, and plugins are rare

    for point in metadata.entry_points(group=ENTRY_POINTS):
        if point.name in _catalogue:
            continue
        install = f"pip install {point.dist.name if point.dist else point.name}"
        entry = Entry(point.name, point.value, (point.name,), (), install)
        with contextlib.suppress(Exception, SystemExit):  # said when the plugin is asked for
            entry = entry_of(point.load(), entry)
        _catalogue[point.name] = entry


def load(name: str) -> Backend:
    """The backend called `name`, imported now if it was not.

    Raises
    ------
    UnknownDeviceError
        No backend has this name.
    BackendNotInstalledError
        Its array library is not installed.
    BackendBrokenError
        Its array library is installed but cannot be used.
    """
    if name in _loaded:
        return _loaded[name]
    with _loading:
        return _loaded[name] if name in _loaded else _load(name)


def loaded() -> tuple[Backend, ...]:
    """The backends whose libraries have been imported, by `load`."""
    return tuple(_loaded.values())


def _load(name: str) -> Backend:
    """`load`, for one thread at a time: two instances would make two of every Kernels."""
    if name not in _catalogue:
        _scan_entry_points()
    if name not in _catalogue:
        raise UnknownDeviceError(
            f"there is no backend called {name!r}",
            "known backends: " + ", ".join(sorted(_catalogue)),
            "correct the name, or install the package that provides it",
        )
    entry = _catalogue[name]
    find_libraries(entry)
    module, _, attribute = entry.target.partition(":")
    if not attribute:
        raise broken(entry, f"its entry point is {entry.target!r}, and is to be module:Class")
    try:
        cls = getattr(importlib.import_module(module), attribute)
    except PolygradError:
        raise
    except (Exception, SystemExit) as error:
        raise broken(entry, said(error)) from error
    return open_backend(cls, entry)


def open_backend(cls: type[Backend], entry: Entry) -> Backend:
    """A backend of this class, made and known from now on. Raises as `load`."""
    try:
        entry = entry_of(cls, entry)
        find_libraries(entry)
        problem = cls.problem()
        backend = cls() if not problem else None
        if backend is not None:
            adopt_backend(entry, backend)
            return backend
    except InvalidTypeError as error:
        raise broken(entry, str(error)) from error
    except PolygradError:
        raise
    except (Exception, SystemExit) as error:
        raise broken(entry, said(error)) from error
    raise broken(entry, problem)


def backend_of(array: Any) -> Backend | None:
    """The backend whose arrays have the type of `array`, or None if no known library made it."""
    cls = type(array)
    found = _by_type.get(cls)
    if found is not None:
        return found
    for base in cls.__mro__:
        if base in _by_type:
            return _by_type.setdefault(cls, _by_type[base])
    libraries = {base.__module__.partition(".")[0] for base in cls.__mro__} - {"builtins"}
    for entry in _matching(libraries):
        backend = load(entry.name)
        if isinstance(array, backend.array_types):
            return _by_type.setdefault(cls, backend)
    return None


def _matching(libraries: set[str]) -> list[Entry]:
    """The backends over any of these libraries; plugins are looked up only if nothing else is."""
    found = [e for e in _catalogue.values() if libraries & set(e.libraries)]
    if found or _scanned or not libraries:
        return found
    _scan_entry_points()
    return [e for e in _catalogue.values() if libraries & set(e.libraries)]


def find_backend(kind: str) -> Backend:
    """The backend that serves devices of a kind (`cpu`, `cuda`, `sycl`, …). Raises as `load`."""
    for scanned in (False, True):
        if scanned:
            _scan_entry_points()
        serving = [e for e in _catalogue.values() if kind in e.device_kinds]
        if serving:
            return load(serving[0].name)
    raise _unknown_kind(kind)


def _unknown_kind(kind: str) -> UnknownDeviceError:
    """The error for a kind of device that no backend serves."""
    from polygrad.hints import device_hint  # noqa: PLC0415  for a mistake only

    kinds = {k: e.name for e in _catalogue.values() for k in e.device_kinds if not e.hidden}
    advice = device_hint(kind, kinds, dtypes.NAMES)
    advice = advice or "correct the name (pg.devices() lists the devices present)"
    return UnknownDeviceError(
        f"no backend serves devices of kind {kind!r}",
        "known kinds: " + ", ".join(sorted(kinds)),
        f"{advice}, or install its plugin",
    )


def find_device(device: str | Device | None) -> Device:
    """The present device that is named; None names the default one.

    Raises
    ------
    UnknownDeviceError
        No backend serves the kind, or the backend has no such device.
    BackendNotInstalledError, BackendBrokenError
        As `load`.
    """
    if device is None:
        return default_device()
    device = Device(device)
    backend = find_backend(device.kind)
    found = backend.canonical_device(device)
    if found is None:
        present = ", ".join(d.name for d in backend.devices()) or "none"
        raise UnknownDeviceError(
            f"there is no device {device.name!r}",
            f"devices that the backend {backend.name!r} sees: {present}",
            "name one of them, or run `python -m polygrad` for a report",
        )
    return found


def kernels_for(device: Device, dtype: dtypes.Dtype, where: str = "") -> Kernels:
    """The Kernels of a present device and a dtype that it supports.

    Raises
    ------
    MissingDtypeError
        The device does not have the dtype.
    """
    backend = find_backend(device.kind)
    check_dtype(backend, device, dtype, where)
    return backend.kernels(device, dtype)


def default_integer(device: Device) -> dtypes.Dtype:
    """The dtype of integers without one: int64, and int32 on the few devices that have no int64."""
    wide = find_backend(device.kind).supports(dtypes.int64, device)
    return dtypes.int64 if wide else dtypes.int32


def find_kernels(device: str, dtype: str) -> Kernels:
    """The Kernels of a device and dtype given by name."""
    return kernels_for(find_device(device), dtypes.canonical(dtype))


def require_backend(array: Any, where: str) -> Backend:
    """The backend of a raw array; an error that says what is accepted, if there is none."""
    found = backend_of(array)
    if found is None:
        cls = type(array)
        raise ForeignArrayError(
            f"an object of type {cls.__module__}.{cls.__qualname__} is not an array polygrad knows",
            where,
            "pass a Tensor, a number or an array of " + ", ".join(e.name for e in entries()),
        )
    return found


def devices() -> list[Device]:
    """The devices present, of every backend that works, the default backend's first.

    Backends that are not installed, or broken, have none; `python -m polygrad` says why.

    >>> devices()[0] == "cpu"
    True
    """
    found: list[Device] = []
    for entry in entries():
        if entry.hidden:
            continue
        try:
            found += load(entry.name).devices()
        except (BackendNotInstalledError, BackendBrokenError):
            continue
    return found


def default_device() -> Device:
    """The device of new tensors.

    That of the `with pg.device(...)` around, else the one set by `set_default_device`, else the one
    that the environment variable POLYGRAD_DEVICE names, else `cpu`.
    """
    chosen = chosen_device.get()
    if chosen is not None:
        return chosen
    if not _process_default:
        _process_default.append(_device_of_environment())
    return _process_default[0]


def _device_of_environment() -> Device:
    """The device that the environment names, or `cpu`; an error says who named it."""
    name = os.environ.get("POLYGRAD_DEVICE")
    try:
        return find_device(name or "cpu")
    except PolygradError as error:
        if not name:
            raise
        named = f"the environment variable POLYGRAD_DEVICE is {name!r}"
        raise type(error)(error.what, f"{named}; {error.where}", error.fix) from error


def set_default_device(device: str | Device | None) -> None:
    """Make `device` the default of new tensors in every thread; None: back to the start."""
    _process_default.clear()
    if device is not None:
        _process_default.append(find_device(device))


class ChosenDevice(Device, ContextDecorator):
    """A device that is the default one within a `with` block, or in a function it decorates."""

    __slots__ = ()

    def __enter__(self) -> Device:
        """New tensors are made here from now on, in this thread."""
        _entered.set((*_entered.get(), chosen_device.set(self)))
        return self

    def __exit__(self, *error: object) -> None:
        """The device before is chosen again."""
        *outer, token = _entered.get()
        _entered.set(tuple(outer))
        chosen_device.reset(token)


def device(device: str | Device) -> ChosenDevice:
    """The device of that name, which must be there; `with device(name):` makes new tensors on it.

    >>> with device("cpu") as d:
    ...     print(d)
    cpu
    >>> d == "cpu"
    True
    """
    return ChosenDevice(find_device(device))
