"""What the terminal shows after a run: the matrix, what to fix first, and the verdict."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from polygrad_conformance.record import Run
from polygrad_conformance.report.groups import Report
from polygrad_conformance.report.overview import (
    Cell,
    columns_of,
    headline,
    matrix_of,
    next_step,
    tails_of,
    totals,
)
from polygrad_conformance.report.plain import needed, one_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console_for", "render"]

COLORS = {"A": "green", "B": "yellow", "C": "dark_orange", "F": "bold red", "": ""}
# What `known.KnownFailures` gives as the reason where an entry has none.
UNTRIAGED = "untriaged"
# A pipe has no width of its own.
WIDTH = 120


def console_for(stream: IO[str] | None = None) -> Console:
    """A console of rich; plain and of a fixed width where the stream is no terminal."""
    console: type[Console] = needed("rich.console", "The report in the terminal").Console
    stream = sys.stdout if stream is None else stream
    terminal = bool(getattr(stream, "isatty", lambda: False)())
    return console(file=stream, width=None if terminal else WIDTH, highlight=False, markup=False)


def render(report: Report | Run, console: Console | None = None, *, fold: bool = True) -> None:
    """Print the report."""
    from rich.text import Text

    report = Report.of(report) if isinstance(report, Run) else report
    console = console_for() if console is None else console
    console.print(headline(report.run), soft_wrap=True)
    if report.groups:
        for line in _table(report, console, fold=fold):
            console.print(line, soft_wrap=True)
    console.print(totals(report), soft_wrap=True)
    for words in report.run.stale:
        console.print(Text(f"stale known failure: {one_line(words)}", "red"), soft_wrap=True)
    untriaged = sum(g.count for g in report.groups if g.status == "known" and g.cause == UNTRIAGED)
    if untriaged:
        console.print(Text(f"known failures without a reason: {untriaged}", "red"))
    for words in next_step(report):
        console.print(words, soft_wrap=True)
    good = report.conformant or not report.reasons
    console.print(Text(report.verdict, "bold green" if good else "bold red"), soft_wrap=True)


def _table(report: Report, console: Console, *, fold: bool) -> Iterator[Any]:
    """The matrix; what is wrong with a row stands beside it, or below all where it has no room."""
    from rich.text import Text

    columns = columns_of(report.groups, fold=fold)
    rows = matrix_of(report.groups, fold=fold)
    tails = tails_of(report.groups)
    lines = [[("", ""), *((name, "bold") for name in columns)]]
    for row, cells in rows.items():
        found = [cells.get(name, Cell()) for name in columns]
        lines.append([(row, ""), *((c.said, COLORS[c.mark]) for c in found)])
    widths = [max(len(line[i][0]) for line in lines) for i in range(len(columns) + 1)]
    beside = sum(widths) + 2 * len(widths) + max(map(len, tails.values())) <= console.width
    for line, tail in zip(lines, ["", *tails.values()], strict=True):
        text = Text()
        for (word, style), width in zip(line, widths, strict=True):
            text.append(word, style).append(" " * (width - len(word) + 2))
        text.append(tail if beside else "")
        text.rstrip()
        yield text
    yield from (Text(f"{row}: {tail}") for row, tail in tails.items() if tail and not beside)
