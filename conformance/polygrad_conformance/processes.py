"""Cases in child processes: a crash or a hang costs one case, and two processes share the work.

Each process takes one batch after another, all cases of some operations. Transfers, on which all
else rests, come first and alone: so the results do not depend on the number of processes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polygrad as pg
import polygrad_conformance
from polygrad.backend import KnownGap
from polygrad_conformance.case import Case, SuiteError
from polygrad_conformance.options import NothingRan, Options, Outcome, Progress
from polygrad_conformance.record import Result

__all__ = ["Processes"]

_LATE = "the time was up before it could begin"

_STARTING = 600.0  # seconds for a worker to import a library and find its devices
_ENDING = 20.0  # seconds for a worker that has said all to end
_FIRST = 10.0  # the first call of an operation in a dtype may compile: so many times the limit
# A line of faulthandler: the file by its folder, as the rest differs from machine to machine.
_CALL = re.compile(
    r'File ".*?(?P<file>[^/\\"]+[/\\][^/\\"]+)", line (?P<line>\d+) in (?P<function>\S+)'
)
_SHARES = 8  # batches for each process: the last ones end together


class _TimeIsUp(Exception):  # noqa: N818  no error
    """The seconds for everything are over."""


class Processes:
    """The child processes of a run. The first begins at once to load the backend."""

    def __init__(self, options: Options) -> None:
        if not isinstance(options.backend, str):
            raise SuiteError("a backend given as an object runs in this process: isolate=False")
        self.options = options
        self.deadline = time.monotonic() + (options.seconds or math.inf)
        self.lock = threading.Lock()
        self.ended = False
        self.all: list[_Worker] = []
        self.first = self._started()

    def _started(self) -> _Worker:
        with self.lock:
            worker = _Worker(self.options)
            self.all.append(worker)
            if self.ended:
                worker.process.kill()
        return worker

    def close(self) -> None:
        """End those that are still there, whatever they do."""
        self.ended = True
        with self.lock:
            for worker in self.all:
                worker.close(wait=0.0)

    def run(self, cases: Sequence[Case], progress: Progress | None) -> Outcome:
        """The results of the cases, in their order.

        Raises
        ------
        NothingRan
            The backend cannot be used.
        """
        self.first.greeted()
        made: dict[str, Result] = {}

        def told(result: Result) -> None:
            with self.lock:
                made[result.id] = result
                if progress:
                    progress(len(made), len(cases), result)

        count = self.options.workers or (2 if self.first.on_host and _cores() > 1 else 1)
        before, batches = _batches(cases, count)
        worker = self._run(self.first, before, {}, told)
        statuses = {r.id: r.status for r in made.values() if r.status != "pass"}
        self._share(worker, batches, count, lambda w, batch: self._run(w, batch, statuses, told))
        return Outcome(self.first.about, self.first.gaps, [made[case.id] for case in cases])

    def _share(
        self, first: _Worker, batches: list[list[Case]], count: int,
        run: Callable[[_Worker, list[Case]], _Worker],
    ) -> None:  # fmt: skip
        """Run the batches in so many processes, of which one is there."""
        left = iter(batches)

        def share(worker: _Worker) -> None:
            while not self.ended:
                with self.lock:
                    batch = next(left, None)
                if batch is None:
                    break
                worker = run(worker, batch)
            worker.close()

        with ThreadPoolExecutor(count) as pool:
            others = [self._started() for _ in range(min(count, len(batches)) - 1)]
            shares = [pool.submit(share, w) for w in (first, *others)]
            try:
                for each in shares:
                    each.result()
            except BaseException:
                self.close()  # the other threads end with their processes
                raise

    def _in_time(self) -> None:
        """Raise when the seconds for everything are over."""
        if time.monotonic() > self.deadline:
            raise _TimeIsUp

    def _run(
        self, worker: _Worker, cases: Sequence[Case], statuses: dict[str, str],
        told: Callable[[Result], None],
    ) -> _Worker:  # fmt: skip
        """Run cases in a worker, in another one after each crash or hang; the last worker."""
        statuses, done = dict(statuses), 0

        def noted(result: Result) -> None:
            nonlocal done
            done += 1
            if result.status != "pass":
                statuses[result.id] = result.status
            told(result)
            self._in_time()

        while done < len(cases):
            left = cases[done:]
            try:
                self._in_time()
                worker.follow(left, statuses, noted)
            except NothingRan as error:  # another process could load it: this one is in its way
                for case in left:
                    noted(replace(case.empty(), message=f"no process for it: {error}"))
                break
            except _TimeIsUp:
                worker.close(wait=0.0)
                for case in cases[done:]:
                    told(replace(case.empty(), message=_LATE))
                break
            if done == len(cases):
                break
            lost = cases[done]
            noted(replace(lost.empty(), status=worker.status, message=worker.ending))
            worker.close()
            worker = self._started()
        return worker


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batches(cases: Sequence[Case], count: int) -> tuple[list[Case], list[list[Case]]]:
    """The transfers; and the rest by operation, in batches for so many processes."""
    by_op: dict[str, list[Case]] = {}
    for case in cases:
        by_op.setdefault(case.op, []).append(case)
    before = by_op.pop("transfer", [])
    size = 1 + (len(cases) - len(before)) // (count * _SHARES if count > 1 else 1)
    batches: list[list[Case]] = []
    for own in by_op.values():
        if not batches or len(batches[-1]) >= size:
            batches.append([])
        batches[-1] += own
    return before, batches


class _Worker:
    """One child process, and where it stands."""

    def __init__(self, options: Options) -> None:
        self.backend, self.timeout = options.backend, options.timeout
        self.cases: Sequence[Case] = ()
        self.current, self.status, self.ending, self.refused = -1, "crash", "", False
        self.about: dict[str, str] = {}
        self.gaps: list[KnownGap] = []
        self.on_host = self.ready = False
        self.met: set[tuple[str, str]] = set()
        self.lines: queue.Queue[str | None] = queue.Queue()
        command = [sys.executable, "-m", "polygrad_conformance.worker"]
        self.process = subprocess.Popen(
            command, text=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": homes()},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.errors: deque[str] = deque(maxlen=200)  # where it hangs has a line for each call
        self.threads = [threading.Thread(target=t, daemon=True) for t in (self._read, self._listen)]
        for thread in self.threads:
            thread.start()
        self._tell(backend=options.backend, device=options.device, level=options.level,
                   path=options.path, stride=options.stride)  # fmt: skip

    def _tell(self, **order: Any) -> None:
        assert self.process.stdin
        with contextlib.suppress(OSError):  # it died: `_next` finds out how
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
            self.errors.append(line)

    def greeted(self) -> None:
        """Wait until it has loaded the backend.

        Raises
        ------
        NothingRan
            It cannot: with the reason, and what to do.
        """
        while not self.ready:
            message = None if self.refused else self._next()
            if message is None:
                raise NothingRan(self.ending + ("" if self.refused else _by_hand(self.backend)))
            if "problem" in message:
                self.ending, self.refused = message["problem"], True
            elif "about" in message:
                self.about, self.ready = message["about"], True
                self.gaps = [_gap(g) for g in message["gaps"]]
                self.on_host = message["on_host"]

    def follow(
        self, cases: Sequence[Case], statuses: dict[str, str], told: Callable[[Result], None]
    ) -> None:
        """Have it run cases, and pass on each result: until the end, a crash or a hang."""
        self.greeted()
        self.cases, self.current = cases, -1
        self._tell(cases=[case.id for case in cases], statuses=statuses)
        while (message := self._next()) is not None:
            if "begin" in message:
                self.current = message["begin"]
            elif "result" in message:
                told(Result.from_dict(message["result"]))
                self.met.add((cases[self.current].op, cases[self.current].dtype))
            elif "suite" in message:
                raise SuiteError(message["suite"])
            elif "end" in message:
                break

    def _next(self) -> dict[str, Any] | None:
        """The next message; None: it hung or died, and `ending` says how."""
        try:
            line = self.lines.get(timeout=self._limit())
        except queue.Empty:
            place = "" if self.current < 0 else self._hangs_in()
            self.process.kill()
            self.status = "timeout"
            waiting = "answer" if self.current < 0 else "result"
            self.ending = f"no {waiting} after {self._limit():g} s: the process was ended{place}"
            return None
        if line is None:
            self.ending = self.ending or self._died()
            return None
        made: dict[str, Any] = json.loads(line)
        return made

    def close(self, wait: float = _ENDING) -> None:
        """Wait for its end; a process that does not end by itself is ended."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            with contextlib.suppress(OSError):  # it died with one unread
                self.process.stdin.close()  # there are no more orders
        try:
            self.process.wait(timeout=wait)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self.threads:
            thread.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _limit(self) -> float:
        """Seconds that the case at hand may take; the first of an operation may compile."""
        if self.current < 0:
            return _STARTING
        case = self.cases[self.current]
        return self.timeout * (1 if (case.op, case.dtype) in self.met else _FIRST)

    def _hangs_in(self) -> str:
        """Where it is, from the inside out: Python's own handler of faults says it."""
        if not hasattr(signal, "SIGUSR1"):
            return ""
        self.errors.clear()
        self.process.send_signal(signal.SIGUSR1)
        for _ in range(20):
            time.sleep(0.05)
            calls = [m for line in list(self.errors) if (m := _CALL.search(line))]
            if any(m["file"].startswith("polygrad_conformance/") for m in calls):
                break
        said = [f"{m['file']}:{m['line']}, in {m['function']}" for m in calls[:3]]
        return f", while in {' < '.join(said)}" if said else ""

    def _died(self) -> str:
        code = self.process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        last = "".join(list(self.errors)[-5:]).strip()
        return f"the process died ({how})" + (f": {last}" if last else "")


def _by_hand(backend: str) -> str:
    """What to type to see a backend end the process that loads it."""
    module, _, attribute = backend.partition(":")
    code = f"import polygrad.registry as r; print(r.load({backend!r}).devices())"
    if attribute:
        code = f"from {module} import {attribute}; print({attribute}().devices())"
    return f', while it loaded the backend. Do the same by hand: python -c "{code}"'


def homes() -> str:
    """PYTHONPATH for a worker: where polygrad and the suite are, as this process sees them."""
    found = [str(Path(m.__file__ or "").resolve().parents[1]) for m in (pg, polygrad_conformance)]
    return os.pathsep.join([*found, *filter(None, [os.environ.get("PYTHONPATH")])])


def _gap(data: dict[str, Any]) -> KnownGap:
    return KnownGap(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})
