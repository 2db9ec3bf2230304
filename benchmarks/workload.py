"""What a row of the table is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from benchmarks.contenders import Setup
from benchmarks.goals import Goal

Measure = Literal["time", "reported", "peak", "fresh"]


@dataclass(frozen=True)
class Workload:
    """One row: who does it, and what polygrad is held to.

    What is measured of its step:

    time
        Seconds, divided by `calls`.
    reported
        The seconds that it returns.
    peak
        The most bytes that are allocated at once while it runs: see `benchmarks.memory`.
    fresh
        The bytes that the system has to map into the process for it, as a share of that peak:
        0 where the memory of the last step is used again.

    It runs in a process with all workloads that have the same number of `threads` (None: that of
    the run) and the same name in `apart`: what must not find the imports of others goes apart. Its
    goals are about devices of one kind. `kinds` are the kinds of device that it is large enough
    for, or small enough (None: all).
    """

    name: str
    about: str
    setups: Mapping[str, Setup]
    goals: tuple[Goal, ...] = ()
    goals_on: str = "cpu"
    calls: int = 1
    measure: Measure = "time"
    threads: int | None = None
    apart: str = ""
    kinds: tuple[str, ...] | None = None
