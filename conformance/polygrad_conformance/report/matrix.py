"""`matrix`: many reports as one page, in Markdown or HTML; `docs/hardware.md` is one.

The page depends on the reports alone, so that a test can tell whether it is up to date.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from polygrad.errors import FileFormatError
from polygrad.io.writing import replacing
from polygrad_conformance.report.groups import CONFORMANT_LEVELS, Group, Report
from polygrad_conformance.report.html import environment, policy_of, style_and_script
from polygrad_conformance.report.json_report import read_json
from polygrad_conformance.report.overview import (
    Cell,
    accuracy_text,
    backend_text,
    command,
    rows_of,
    totals,
    worst_of,
)
from polygrad_conformance.report.plain import one_line

__all__ = ["Scoreboard", "add_arguments", "main", "scoreboard", "to_html", "to_markdown"]

# Of one report the least accurate results that are named.
WORST = 5
# What is said of each special function that a library lacks, with what to do about it.
_LACKING = re.compile(r"has no special\.\w+\..*", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """One report: its facts, its cells by chapter, its gaps."""

    report: Report
    name: str
    facts: str
    verdict: str
    cells: list[str]
    gaps: list[tuple[str, str, int, str]]
    worst: list[str]
    command: str
    totals: str


@dataclass(frozen=True)
class Scoreboard:
    """The chapters of all reports, and a row for each report."""

    chapters: list[str]
    rows: list[Row]


def scoreboard(reports: Iterable[Report]) -> Scoreboard:
    """What the page shows, the most telling reports first: by level, then by name."""
    ordered = sorted(reports, key=_order)
    chapters = rows_of(group for report in ordered for group in report.groups)
    return Scoreboard(chapters, [_row(report, chapters) for report in ordered])


def _order(report: Report) -> tuple[int, str, str, str]:
    run = report.run
    level = CONFORMANT_LEVELS.index(run.level) if run.level in CONFORMANT_LEVELS else 9
    return level, run.backend, run.device, run.start


def _row(report: Report, chapters: list[str]) -> Row:
    run = report.run
    words = {"backend": backend_text(run), "": run.device_description,
             "driver": run.driver, "polygrad": run.polygrad_version,
             "suite": run.suite_version, "seed revision": str(run.seed_revision),
             "profile": run.profile, "date": run.start.partition("T")[0]}  # fmt: skip
    facts = ", ".join(f"{name} {value}".strip() for name, value in words.items() if value)
    cells = [_cell(row) for row in _rows_of(report, chapters)]
    worst = [g for g in worst_of(report.groups, count=WORST) if g.grade != "A"]
    name = run.device if run.device.startswith(run.backend) else f"{run.backend} {run.device}"
    if run.device_description:
        name += f" ({one_line(run.device_description, 40)})"
    return Row(
        report, one_line(name), one_line(facts, 400), report.verdict, cells, _gaps(report.groups),
        [f"{g.grade}: {accuracy_text(g)}" for g in worst], command(run), totals(report),
    )  # fmt: skip


def _rows_of(report: Report, chapters: list[str]) -> list[Cell]:
    """One cell of each chapter, over all dtypes: an op is good if it is in every dtype."""
    found = {place: Cell() for place in chapters}
    for group in report.groups:
        found[group.row].add(group)
    return list(found.values())


def _cell(cell: Cell) -> str:
    return cell.said or "·"


def _gaps(groups: Iterable[Group]) -> list[tuple[str, str, int, str]]:
    """What is known to fail or unsupported: status, cause, how many checks, of which ops."""
    found: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        if group.status in ("known", "unsupported"):
            cause = _LACKING.sub("has no such function", group.cause)
            found.setdefault((group.status, cause), []).append(group)
    rows = []
    for (status, cause), among in sorted(found.items()):
        ops = sorted({g.op for g in among})
        some = ", ".join(ops[:8]) + (f" and {len(ops) - 8} more" if len(ops) > 8 else "")
        rows.append((status, one_line(cause, 300), sum(g.count for g in among), some))
    return rows


def to_markdown(board: Scoreboard, *, title: str = "What conforms where", intro: str = "") -> str:
    """The page in Markdown."""
    lines = [f"# {title}", "", *([intro.strip(), ""] if intro else [])]
    if not board.rows:
        return "\n".join([*lines, "There is no report yet.", ""])
    lines += [
        "A cell says of how many operations every check passed, of those tried, in all dtypes, and",
        "the worst grade: A (within the bound), B (within 8 times the bound), C (within √eps), F",
        "(worse, or failed). `--`: unsupported.", "",
    ]  # fmt: skip
    lines += _table(["", *(row.name for row in board.rows)], [
        ["level", *(row.report.run.level for row in board.rows)],
        ["verdict", *(row.verdict.partition(" (")[0].partition(";")[0] for row in board.rows)],
        *([chapter, *(row.cells[i] for row in board.rows)]
          for i, chapter in enumerate(board.chapters)),
    ])  # fmt: skip
    for row in board.rows:
        lines += ["", *_section(row)]
    return "\n".join(lines) + "\n"


def _section(row: Row) -> list[str]:
    lines = [f"## {_safe(row.name)}", "", f"**{_safe(row.verdict)}**", "", _safe(row.facts) + ".",
             "", _safe(row.totals) + ".", "", "```console", row.command, "```"]  # fmt: skip
    if row.worst:
        lines += ["", "Least accurate:", "", *(f"- {_safe(text)}" for text in row.worst)]
    if row.gaps:
        lines.append("")
        lines += _table(["status", "checks", "operations", "reason"], [
            [status, str(count), ops, cause or "none given"]
            for status, cause, count, ops in row.gaps
        ])  # fmt: skip
    return lines


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [[_safe(cell) for cell in row] for row in (head, *rows)]
    return [
        "| " + " | ".join(cells) + " |" for cells in (lines[0], ["---"] * len(head), *lines[1:])
    ]


def _safe(text: str) -> str:
    """Text that Markdown takes as text, also within a table."""
    text = one_line(text, 500).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    for character in "|`*_[]#~":
        text = text.replace(character, "\\" + character)
    return text


def to_html(board: Scoreboard, *, title: str = "What conforms where") -> str:
    """The page in HTML."""
    style, _ = style_and_script()
    return str(environment().get_template("matrix.html").render(
        board=board, title=title, style=style, policy=policy_of(style=style)
    ))  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the subcommand."""
    parser.add_argument("reports", nargs="*", help="reports, full or compact; folders of them")
    parser.add_argument(
        "--format", choices=["markdown", "html"], help="default: by the name of --out"
    )
    parser.add_argument("--out", help="the file to write; default: print")
    parser.add_argument("--title", default="What conforms where")
    parser.add_argument("--intro", help="a file with the Markdown that comes first")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; 1 if --out is out of date"
    )


def _paths(names: Iterable[str]) -> list[Path]:
    """The files that are named, and those of folders that are named."""
    found: list[Path] = []
    for path in map(Path, names):
        found += sorted(path.glob("*.json")) if path.is_dir() else [path]
    return found


def main(args: argparse.Namespace, say: Callable[[str], None] = print) -> int:
    """Make the page: 0 done, 1 out of date (with --check), 3 a report cannot be read."""
    try:
        board = scoreboard(read_json(path) for path in _paths(args.reports))
        intro = Path(args.intro).read_text(encoding="utf-8") if args.intro else ""
    except (FileFormatError, OSError) as error:
        say(str(error))
        return 3
    html = args.format == "html" if args.format else str(args.out).endswith((".html", ".htm"))
    text = (
        to_html(board, title=args.title)
        if html
        else to_markdown(board, title=args.title, intro=intro)
    )
    if not args.out:
        say(text)
        return 0
    out = Path(args.out)
    if args.check:
        fresh = out.exists() and out.read_text(encoding="utf-8") == text
        say(
            f"{out} is up to date"
            if fresh
            else f"{out} is out of date: run the same without --check"
        )
        return int(not fresh)
    with replacing(str(out)) as file:
        file.write(text.encode("utf-8"))
    say(f"wrote {out}")
    return 0
