"""How a backend is announced (`Entry`), and what is said of one that cannot be used."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from dataclasses import dataclass, replace
from typing import Any

from polygrad.backend import Backend, Capabilities
from polygrad.errors import BackendBrokenError, BackendNotInstalledError, InvalidTypeError

__all__ = ["Entry", "broken", "entry_of", "find_libraries", "said"]


@dataclass(frozen=True)
class Entry:
    """Where a backend is found, known before its library is imported.

    Attributes
    ----------
    name
        The backend's name.
    target
        `module:Class`.
    device_kinds
        The kinds of device it serves, the part of a device's name before the first colon.
    libraries
        Top-level modules of the array library: an array whose type lives there belongs to it.
    install
        What to type to get the library.
    hidden
        Not listed by `devices()`: for tests.
    """

    name: str
    target: str
    device_kinds: tuple[str, ...]
    libraries: tuple[str, ...]
    install: str
    hidden: bool = False


def entry_of(cls: Any, entry: Entry) -> Entry:
    """The entry of a backend's class, whose own words replace those of `entry`.

    Raises
    ------
    InvalidTypeError
        It is no class of a backend, or an attribute that every backend has is not what it must be.
    """
    if not (isinstance(cls, type) and issubclass(cls, Backend)):
        raise InvalidTypeError(
            f"{entry.target} is no backend but {cls!r}", "",
            "derive the class from polygrad.backend.Backend",
        )  # fmt: skip
    wanted = {
        "name": (str, 'name = "mychip"'),
        "device_kinds": (tuple, 'device_kinds = ("mychip",)'),
        "capabilities": (Capabilities, "capabilities = polygrad.backend.Capabilities(...)"),
        "known_gaps": (tuple, "known_gaps = (polygrad.backend.KnownGap(...),)"),
    }
    for name, (kind, example) in wanted.items():
        if not isinstance(getattr(cls, name, None), kind):
            raise InvalidTypeError(
                f"{entry.target}: {name} is {getattr(cls, name, 'missing')!r}", "",
                f"write {example} in the class",
            )  # fmt: skip
    if cls.name != entry.name:
        raise InvalidTypeError(
            f"{entry.target}: its name is {cls.name!r}, that of its entry {entry.name!r}", "",
            "let both be one",
        )  # fmt: skip
    return replace(
        entry,
        device_kinds=cls.device_kinds,
        libraries=tuple(getattr(cls, "libraries", entry.libraries)),
        install=getattr(cls, "install", entry.install),
    )


def find_libraries(entry: Entry) -> None:
    """Raise BackendNotInstalledError if one of them is missing."""
    for library in entry.libraries:
        if library not in sys.modules and importlib.util.find_spec(library) is None:
            raise BackendNotInstalledError(
                f"the backend {entry.name!r} needs the package {library!r}, which is not installed",
                f"devices {', '.join(entry.device_kinds)}",
                entry.install or f"install {library}",
            )


def said(error: BaseException) -> str:
    """An error of a plugin in words, and the line of it that raised."""
    text = f"{type(error).__name__}: {error}"
    here = __package__ or ""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in (here, "importlib", "abc"):
            code = frame.f_code
            return f"{text} ({code.co_filename}:{line}, in {code.co_name})"
    return text


def broken(entry: Entry, cause: str) -> BackendBrokenError:
    """The error for a library that is installed but does not work."""
    return BackendBrokenError(
        f"the backend {entry.name!r} is installed but cannot be used: {cause}",
        f"devices {', '.join(entry.device_kinds)}, class {entry.target}",
        "run `python -m polygrad` for a report"
        + (f"; reinstall with: {entry.install}" if entry.install else ""),
    )
