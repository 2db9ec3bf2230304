"""`show`: a report that was kept, in the terminal and in the other formats."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from polygrad.errors import FileFormatError
from polygrad_conformance.record import Run
from polygrad_conformance.report.groups import Report
from polygrad_conformance.report.html import write_html
from polygrad_conformance.report.json_report import read_json, write_json
from polygrad_conformance.report.junit import write_junit
from polygrad_conformance.report.terminal import render

__all__ = ["add_arguments", "main", "write_reports"]


def write_reports(report: Report | Run, folder: str | Path) -> list[Path]:
    """Write a run in every format into a folder, which is made if it is not there.

    The files are `report.json`, `compact.json`, `junit.xml` and `report.html`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    report = Report.of(report) if isinstance(report, Run) else report
    return [
        write_json(report, folder / "report.json"),
        write_json(report, folder / "compact.json", compact=True),
        write_junit(report, folder / "junit.xml"),
        write_html(report, folder / "report.html"),
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the subcommand."""
    parser.add_argument("report", help="a report, full or compact")
    parser.add_argument("--html", help="write the HTML page to this file")
    parser.add_argument("--junit", help="write JUnit XML to this file")
    parser.add_argument(
        "--strict-junit", action="store_true",
        help="no properties in test cases: the schemas of Jenkins and Surefire have none",
    )  # fmt: skip
    parser.add_argument("--compact", help="write the compact JSON to this file")


def main(args: argparse.Namespace, say: Callable[[str], None] = print) -> int:
    """Show a report: 0 done, 3 it cannot be read."""
    try:
        report = read_json(args.report)
    except FileFormatError as error:
        say(str(error))
        return 3
    if args.html:
        write_html(report, args.html)
    if args.junit:
        write_junit(report, args.junit, strict=args.strict_junit)
    if args.compact:
        write_json(report, args.compact, compact=True)
    render(report)
    return 0
