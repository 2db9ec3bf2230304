"""How far a run is: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from polygrad_conformance.record import Result
from polygrad_conformance.report.plain import one_line
from polygrad_conformance.report.terminal import console_for

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Tick", "progress", "time_left"]

# Seconds between two lines where there is no terminal: a log is read afterwards.
PAUSE = 30.0

# How many are done, of how many, and the last result: what `runner.run` calls.
Tick = Callable[[int, int, Result], None]


def time_left(done: int, total: int, seconds: float) -> str:
    """What is left at the pace so far, as `m:ss`; `?` before the first is done.

    >>> time_left(10, 40, 30.0), time_left(0, 40, 1.0)
    ('1:30', '?')
    """
    if not done:
        return "?"
    left = round(seconds / done * (total - done))
    return f"{left // 60}:{left % 60:02}"


@contextmanager
def progress(console: Console | None = None) -> Iterator[Tick]:
    """A function to call with each result of a run. By default it writes to standard error.

    Failures are printed as they come, above the bar.
    """
    console = console_for(sys.stderr) if console is None else console
    if console.is_terminal:
        yield from _bar(console)
    else:
        yield _lines(console)


def _said(result: Result) -> str:
    return f"{result.status} {result.id}  {one_line(result.message, 100)}".rstrip()


def _bar(console: Console) -> Iterator[Tick]:
    from rich import progress as bars

    columns = [bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn(compact=True),
               bars.TextColumn("{task.description}", markup=False)]  # fmt: skip
    failed = 0
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tick(done: int, total: int, result: Result) -> None:
            nonlocal failed
            if result.failed:
                failed += 1
                bar.console.print(_said(result), soft_wrap=True)
            where = f"{failed} failed  {result.op} {result.dtype}"
            bar.update(task, completed=done, total=total, description=where)

        yield tick


def _lines(console: Console) -> Tick:
    begun = last = time.monotonic()

    def tick(done: int, total: int, result: Result) -> None:
        nonlocal last
        if result.failed:
            console.print(_said(result), soft_wrap=True)
        now = time.monotonic()
        if now - last >= PAUSE and done < total:
            last = now
            left = time_left(done, total, now - begun)
            console.print(f"{done}/{total} checks, {left} left, at {result.op} {result.dtype}")

    return tick
