"""Runs a selection on a device, in child processes or in this one, and makes the `Run` of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import polygrad as pg
from polygrad_conformance import __version__, backends, collection
from polygrad_conformance.case import Case
from polygrad_conformance.declarations import SEED_REVISION
from polygrad_conformance.execution import execute
from polygrad_conformance.known import KnownFailures, from_backend
from polygrad_conformance.options import NothingRan, Options, Outcome, Progress
from polygrad_conformance.processes import Processes
from polygrad_conformance.record import Result, Run
from polygrad_conformance.target import Target

__all__ = ["exit_code", "judged", "run"]


def run(options: Options, progress: Progress | None = None) -> Run:
    """Run the selected cases and judge them by the known failures.

    Raises
    ------
    NothingRan
        The backend cannot be used, or the selection is empty.
    SuiteError
        A declaration of the suite, or the list of known failures, is wrong.
    """
    begin = time.perf_counter()
    start = datetime.now(UTC).isoformat(timespec="seconds")
    processes = Processes(options) if options.isolate else None  # they load the backend meanwhile
    try:
        cases = collection.collect(options.level)
        chosen = collection.select(cases, options.selection)
        if not chosen:
            raise NothingRan(
                f"no case matches {options.selection}: `polygrad-conformance list` shows all"
            )
        told = _told(options, progress)
        outcome = processes.run(chosen, told) if processes else _here(options, chosen, told)
    finally:
        if processes is not None:
            processes.close()
    known = (options.known or KnownFailures()).merged(
        from_backend(outcome.gaps, outcome.about["device"])
    )
    made = judged(
        outcome.results, outcome.about, known,
        level=options.level, cases=cases, selection=str(options.selection),
    )  # fmt: skip
    if ":" in str(options.backend):  # it cannot be found by its name
        made.environment["backend"] = str(options.backend)
    if options.level == "exhaustive":
        made.environment["stride"] = str(options.stride)
    made.start, made.seconds = start, round(time.perf_counter() - begin, 3)
    return made


def _told(options: Options, progress: Progress | None) -> Progress | None:
    """`progress`, to which known failures are no failures."""
    known = options.known
    if progress is None or known is None:
        return progress

    def told(done: int, total: int, result: Result) -> None:
        listed = known.expects(result, options.device)
        progress(done, total, replace(result, status="known") if listed else result)

    return told


def judged(
    results: list[Result], about: dict[str, str], known: KnownFailures, *, level: str,
    cases: Sequence[Case], selection: str,
) -> Run:  # fmt: skip
    """The run of these results, with known failures marked, and its exit code."""
    environment = backends.environment() | ({"known failures": known.file} if known.file else {})
    made = Run(
        **about, level=level, polygrad_version=pg.__version__, suite_version=__version__,
        seed_revision=SEED_REVISION, selection=selection, environment=environment,
        declared=len(cases), digest=collection.digest(cases), results=results,
    )  # fmt: skip
    known.apply(made)
    made.exit_code = exit_code(made)
    return made


def exit_code(made: Run) -> int:
    """0 conformant at this level, 1 failures, 2 a stale list of known failures, 3 nothing ran."""
    counts = made.counts
    if not counts["pass"] + counts["known"] + counts["fail"] + counts["error"]:
        return 3
    if any(counts[s] for s in ("fail", "error", "crash", "timeout", "blocked", "notrun")):
        return 1
    return 2 if made.stale or counts["fixed"] else 0


def _here(options: Options, cases: Sequence[Case], progress: Progress | None) -> Outcome:
    """In this process."""
    sys.path[:0] = options.path
    try:
        with backends.plugin_errors():
            device = backends.device_of(options.backend, options.device)
            target = Target(device, options.level, options.stride)
            about = backends.describe(target.backend, target.device)
    except pg.PolygradError as error:
        raise NothingRan(str(error)) from error
    results: list[Result] = []
    for place, result in execute(cases, target):
        if result is not None:
            results.append(result)
            if progress:
                progress(place + 1, len(cases), result)
    return Outcome(about, list(target.backend.known_gaps), results)
