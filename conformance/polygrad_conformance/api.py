"""What plugins and notebooks call: `parametrize_with_cases` and `check_backend`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygrad_conformance import backends
from polygrad_conformance.case import Case
from polygrad_conformance.collection import Selection, collect, select
from polygrad_conformance.execution import execute
from polygrad_conformance.known import KnownFailures, from_backend
from polygrad_conformance.options import Options
from polygrad_conformance.record import Result, Run
from polygrad_conformance.runner import judged, run
from polygrad_conformance.target import Target

__all__ = ["BoundCase", "Session", "check_backend", "parametrize_with_cases"]


def check_backend(
    backend: Any, *, device: str = "", level: str = "smoke", selection: Selection | None = None,
    known: str | Path | None = None,
) -> Run:  # fmt: skip
    """Run the suite on a backend in this process; print the result to see it.

    Parameters
    ----------
    backend
        A subclass of Backend, an instance, `module:Class`, or the name of a backend.
    device
        One of its devices; the first if not given.
    level, selection
        What to run.
    known
        A file of known failures.
    """
    listed = KnownFailures.read(known) if known else None
    return run(
        Options(backend, device, level, selection or Selection(), isolate=False, known=listed)
    )


class Session:
    """The cases of one device by operation, run one operation after the other in this process.

    Attributes
    ----------
    ops
        The operations, in the order of the ladder.
    """

    def __init__(
        self, backend: Any, device: str = "", level: str = "smoke", known: Any = None,
        selection: Selection | None = None,
    ) -> None:  # fmt: skip
        self.target = Target(backends.device_of(backend, device), level)
        self.level, self.selection = level, selection or Selection()
        listed = KnownFailures.read(known) if known else KnownFailures()
        self.known = listed.merged(from_backend(self.target.backend.known_gaps, self.target.device))
        self.cases: dict[str, list[Case]] = {}
        for case in select(collect(level), self.selection):
            self.cases.setdefault(case.op, []).append(case)
        self.ops = list(self.cases)
        self.results: list[Result] = []
        self.statuses: dict[str, str] = {}

    def check(self, op: str) -> list[Result]:
        """Run the cases of an operation, after the transfers that it rests on.

        Raises
        ------
        AssertionError
            One of them failed and is not known to, or is known to and passes: a line for each.
        """
        if op != "transfer" and not self.results and "transfer" in self.cases:
            self.check("transfer")
        made = [r for _, r in execute(self.cases[op], self.target, self.statuses) if r is not None]
        self.results += made
        about = backends.describe(self.target.backend, self.target.device)
        one = Run(**about, level=self.level, selection=op, results=made)
        self.known.apply(one)
        wrong = [f"{r.status.upper()}  {r.id}  {r.message}" for r in one.results
                 if r.failed or r.status == "blocked"]  # fmt: skip
        if wrong or one.stale:
            raise AssertionError("\n".join([*wrong, *one.stale]))
        return one.results

    def judged(self) -> Run:
        """The run of all that was checked, as the command would make it."""
        cases = collect(self.level)
        found = {r.id: r for r in self.results}  # several processes may have run the transfers
        whole = len(found) == len(cases)
        return judged(
            [found[case.id] for case in cases if case.id in found],
            backends.describe(self.target.backend, self.target.device), self.known,
            level=self.level, cases=cases,
            selection=str(self.selection) or ("" if whole else "as pytest selected"),
        )  # fmt: skip


@dataclass(frozen=True)
class BoundCase:
    """A case, and the device it is for: a parameter of a test."""

    case: Case
    target: Target
    known: KnownFailures
    statuses: dict[str, str]

    def __str__(self) -> str:
        """Its id."""
        return self.case.id

    def run(self) -> Result:
        """Run it and judge it as the command does.

        Raises
        ------
        AssertionError
            It failed and is not known to, or it is known to fail and passes.
        """
        ((_, result),) = [r for r in execute([self.case], self.target, self.statuses) if r[1]]
        assert result is not None
        one = Run(self.target.backend.name, self.target.device, selection="one", results=[result])
        self.known.apply(one)
        if one.stale:
            raise AssertionError("; ".join(one.stale))
        if one.results[0].failed or one.results[0].status == "blocked":
            raise AssertionError(f"{result.id}: {result.status}: {one.results[0].message}")
        return one.results[0]


def parametrize_with_cases(
    backend: Any, *, device: str = "", level: str = "smoke", selection: Selection | None = None,
    known: str | Path | None = None,
) -> Any:  # fmt: skip
    """A decorator that gives each case to a test function, as its parameter `case`.

    Parameters as of `check_backend`. The test calls `case.run()`.
    """
    import pytest

    target = Target(backends.device_of(backend, device), level)
    listed = KnownFailures.read(known) if known else KnownFailures()
    listed = listed.merged(from_backend(target.backend.known_gaps, target.device))
    statuses: dict[str, str] = {}
    cases = select(collect(level), selection or Selection())
    bound = [BoundCase(case, target, listed, statuses) for case in cases]
    return pytest.mark.parametrize("case", bound, ids=str)
