"""Cases run one after another on a target, in this process: what a worker does, and pytest."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

from polygrad_conformance.case import Case
from polygrad_conformance.ladder import blocker
from polygrad_conformance.record import Result
from polygrad_conformance.target import Target

__all__ = ["execute"]


def execute(
    cases: Sequence[Case], target: Target, statuses: dict[str, str] | None = None
) -> Iterator[tuple[int, Result | None]]:
    """For each case its place and None as it begins, then its place and its Result.

    `statuses` has what earlier cases came to, where they did not pass; it is added to.
    """
    statuses = {} if statuses is None else statuses
    for place, case in enumerate(cases):
        yield place, None
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
