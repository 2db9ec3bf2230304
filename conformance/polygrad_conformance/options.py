"""What a run is asked for, and what comes of it before it is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from polygrad.backend import KnownGap
from polygrad_conformance.collection import Selection
from polygrad_conformance.known import KnownFailures
from polygrad_conformance.record import Result
from polygrad_conformance.target import STRIDE

__all__ = ["NothingRan", "Options", "Outcome", "Progress"]

# How many are done, of how many, and the last result.
Progress = Callable[[int, int, Result], None]


@dataclass(frozen=True)
class Options:
    """How to run.

    Attributes
    ----------
    backend, device
        As of `backends.device_of`.
    level, selection
        What.
    timeout
        Seconds for a case; ten times that for the first of each operation and dtype.
    isolate
        In child processes; False: in this one, where a crash ends everything.
    workers
        How many child processes at once; 0: two where the device's arrays are NumPy's, else one.
    seconds
        For everything; 0: as long as it takes. Cases that have not begun by then are `notrun`.
    stride
        At level exhaustive, of how many neighbouring float32 numbers one is taken: a power of two.
    known
        The known failures.
    path
        Folders to import a backend's module from.
    """

    backend: Any
    device: str = ""
    level: str = "smoke"
    selection: Selection = field(default_factory=Selection)
    timeout: float = 60.0
    isolate: bool = True
    workers: int = 0
    seconds: float = 0.0
    stride: int = STRIDE
    known: KnownFailures | None = None
    path: tuple[str, ...] = ()


class NothingRan(Exception):  # noqa: N818  the command's exit code is 3
    """The backend cannot be used, or nothing was selected: the message says what to do."""


@dataclass
class Outcome:
    """What a backend says of itself and of its gaps, and the results."""

    about: dict[str, str] = field(default_factory=dict)
    gaps: list[KnownGap] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
