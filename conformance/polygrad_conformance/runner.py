"""Runs a selection on a device, in child processes, and makes the `Run` of it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polygrad as pg
import polygrad_conformance
from polygrad.backend import KnownGap
from polygrad_conformance import __version__, backends, collection
from polygrad_conformance.case import Case, SuiteError
from polygrad_conformance.collection import Selection
from polygrad_conformance.declarations import SEED_REVISION
from polygrad_conformance.execution import execute
from polygrad_conformance.known import KnownFailures, from_backend
from polygrad_conformance.record import Result, Run
from polygrad_conformance.target import Target

__all__ = ["Options", "run"]

Progress = Callable[[int, int, Result], None]
_STARTING = 600.0  # seconds for a worker to import a library and find its devices
_ENDING = 20.0  # seconds for a worker that has said all to end
_FIRST = 10.0  # the first call of an operation in a dtype may compile: so many times the limit


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
        In a child process; False: in this one, where a crash ends everything.
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
    known: KnownFailures | None = None
    path: tuple[str, ...] = ()


class NothingRan(Exception):  # noqa: N818  the command's exit code is 3
    """The backend cannot be used, or nothing was selected: the message says what to do."""


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
    cases = collection.collect(options.level)
    chosen = collection.select(cases, options.selection)
    if not chosen:
        raise NothingRan(
            f"no case matches {options.selection}: `polygrad-conformance list` shows all"
        )
    outcome = (_isolated if options.isolate else _here)(options, chosen, progress)
    known = (options.known or KnownFailures()).merged(
        from_backend(outcome.gaps, outcome.about["device"])
    )
    made = judged(
        outcome.results, outcome.about, known,
        level=options.level, cases=cases, selection=str(options.selection),
    )  # fmt: skip
    made.start, made.seconds = start, round(time.perf_counter() - begin, 3)
    return made


def judged(
    results: list[Result], about: dict[str, str], known: KnownFailures, *, level: str,
    cases: Sequence[Case], selection: str,
) -> Run:  # fmt: skip
    """The run of these results, with known failures marked, and its exit code."""
    made = Run(
        **about, level=level, polygrad_version=pg.__version__, suite_version=__version__,
        seed_revision=SEED_REVISION, selection=selection, environment=backends.environment(),
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
    if counts["fail"] + counts["error"] + counts["crash"] + counts["timeout"] + counts["blocked"]:
        return 1
    return 2 if made.stale or counts["fixed"] else 0


@dataclass
class _Outcome:
    """What a backend says of itself and of its gaps, and the results."""

    about: dict[str, str] = field(default_factory=dict)
    gaps: list[KnownGap] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)


def _here(options: Options, cases: Sequence[Case], progress: Progress | None) -> _Outcome:
    """In this process."""
    sys.path[:0] = options.path
    try:
        with backends.plugin_errors():
            target = Target(backends.device_of(options.backend, options.device), options.level)
            about = backends.describe(target.backend, target.device)
    except pg.PolygradError as error:
        raise NothingRan(str(error)) from error
    results: list[Result] = []
    for place, result in execute(cases, target):
        if result is not None:
            results.append(result)
            if progress:
                progress(place + 1, len(cases), result)
    return _Outcome(about, list(target.backend.known_gaps), results)


# ---- in child processes --------------------------------------------------------------------------
def _isolated(options: Options, cases: Sequence[Case], progress: Progress | None) -> _Outcome:
    """In a worker; in another one after each crash or hang."""
    if not isinstance(options.backend, str):
        raise SuiteError("a backend given as an object runs in this process: isolate=False")
    outcome = _Outcome()
    results = outcome.results
    while len(results) < len(cases):
        left = cases[len(results) :]
        worker = _Worker(options, left, {r.id: r.status for r in results if r.status != "pass"})
        done = len(results)

        def told(result: Result) -> None:
            results.append(result)
            if progress:
                progress(len(results), len(cases), result)

        try:
            worker.follow(told, outcome)
        finally:
            worker.close()
        if len(results) == len(cases):
            break
        if worker.current < 0 and len(results) == done:
            raise NothingRan(worker.ending + ("" if worker.refused else _by_hand(options.backend)))
        lost = left[worker.current]
        told(replace(lost.empty(), status=worker.status, message=worker.ending))
    return outcome


def _by_hand(backend: str) -> str:
    """What to type to see a backend end the process that loads it."""
    module, _, attribute = backend.partition(":")
    code = f"import polygrad.registry as r; print(r.load({backend!r}).devices())"
    if attribute:
        code = f"from {module} import {attribute}; print({attribute}().devices())"
    return f', while it loaded the backend. Do the same by hand: python -c "{code}"'


class _Worker:
    """One child process, and where it stands."""

    def __init__(self, options: Options, cases: Sequence[Case], statuses: dict[str, str]) -> None:
        self.cases, self.timeout = cases, options.timeout
        self.current, self.status, self.ending, self.refused = -1, "crash", "", False
        self.met: set[tuple[str, str]] = set()
        self.lines: queue.Queue[str | None] = queue.Queue()
        command = [sys.executable, "-m", "polygrad_conformance.worker"]
        self.process = subprocess.Popen(
            command, text=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": _homes()},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.errors: list[str] = []
        self.threads = [threading.Thread(target=t, daemon=True) for t in (self._read, self._listen)]
        for thread in self.threads:
            thread.start()
        order = {
            "backend": options.backend, "device": options.device, "level": options.level,
            "cases": [case.id for case in cases], "statuses": statuses, "path": options.path,
        }  # fmt: skip
        assert self.process.stdin
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _listen(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.errors = [*self.errors[-20:], line]

    def follow(self, told: Callable[[Result], None], outcome: _Outcome) -> None:
        """Pass on each result, until the end, a crash or a hang."""
        while True:
            try:
                line = self.lines.get(timeout=self._limit())
            except queue.Empty:
                self.process.kill()
                self.status = "timeout"
                waiting = "answer" if self.current < 0 else "result"
                self.ending = f"no {waiting} after {self._limit():g} s: the process was ended"
                break
            if line is None:
                self._died()
                break
            message: dict[str, Any] = json.loads(line)
            if "about" in message:
                outcome.about = message["about"]
                outcome.gaps = [_gap(g) for g in message["gaps"]]
            elif "begin" in message:
                self.current = message["begin"]
            elif "result" in message:
                told(Result.from_dict(message["result"]))
                self.met.add((self.cases[self.current].op, self.cases[self.current].dtype))
            elif "problem" in message:
                self.ending, self.refused = message["problem"], True
                break
            elif "suite" in message:
                raise SuiteError(message["suite"])
            elif "end" in message:
                break

    def close(self) -> None:
        """Wait for its end; a process that does not end by itself is ended."""
        try:
            self.process.wait(timeout=_ENDING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self.threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _limit(self) -> float:
        """Seconds that the case at hand may take; the first of an operation may compile."""
        if self.current < 0:
            return _STARTING
        case = self.cases[self.current]
        return self.timeout * (1 if (case.op, case.dtype) in self.met else _FIRST)

    def _died(self) -> None:
        code = self.process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        last = "".join(self.errors[-5:]).strip()
        self.ending = f"the process died ({how})" + (f": {last}" if last else "")


def _homes() -> str:
    """PYTHONPATH for a worker: where polygrad and the suite are, as this process sees them."""
    homes = [str(Path(m.__file__ or "").resolve().parents[1]) for m in (pg, polygrad_conformance)]
    return os.pathsep.join([*homes, *filter(None, [os.environ.get("PYTHONPATH")])])


def _gap(data: dict[str, Any]) -> KnownGap:
    return KnownGap(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})
