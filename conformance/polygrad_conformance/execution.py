"""Cases run one after another on a target, in this process: what a worker does, and pytest."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from polygrad_conformance.case import Case
from polygrad_conformance.ladder import blocker
from polygrad_conformance.record import Result
from polygrad_conformance.target import Target

__all__ = ["execute"]

_GROWTH = 1 << 30  # bytes by which the process may grow before the library is to give some back
_STATM = Path("/proc/self/statm")


def execute(
    cases: Sequence[Case], target: Target, statuses: dict[str, str] | None = None
) -> Iterator[tuple[int, Result | None]]:
    """For each case its place and None as it begins, then its place and its Result.

    `statuses` has what earlier cases came to, where they did not pass; it is added to.
    """
    statuses = {} if statuses is None else statuses
    allowed, op = _resident() + _GROWTH, ""
    for place, case in enumerate(cases):
        yield place, None
        if case.op != op:
            allowed, op = _released(target, allowed), case.op
        rest = blocker(case, statuses)
        if target.lacks(case):
            result = replace(case.empty(), status="unsupported",
                             message=f"{target.device} has no {case.dtype}")  # fmt: skip
        elif rest:
            result = replace(case.empty(), status="blocked", blocked_by=rest,
                             message=f"rests on {rest}, which failed")  # fmt: skip
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a result is judged, not how it was come by
                result = case.run(target)
        if result.status != "pass":
            statuses[case.id] = result.status
        yield place, result


def _resident() -> int:
    """Bytes of memory that this process has, 0 where the system does not say."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _released(target: Target, allowed: int) -> int:
    """How far the process may grow, after the backend has given back memory if it was too far."""
    if _resident() <= allowed:
        return allowed
    target.backend.empty_cache(target.place)
    return _resident() + _GROWTH
