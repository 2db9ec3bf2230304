"""`diff`: what got worse and what got better between two reports."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from polygrad.errors import FileFormatError
from polygrad_conformance.record import FAILURES, Result, worse
from polygrad_conformance.report.groups import Group, Report, drift
from polygrad_conformance.report.json_report import read_json, same_results
from polygrad_conformance.report.overview import error_text, headline
from polygrad_conformance.report.plain import one_line

__all__ = ["Difference", "add_arguments", "compare", "main"]

# How a check left the report, or came to be idle in it.
IDLE = ("unsupported", "blocked", "notrun")
SHOWN = 50

Place = tuple[str, str, str]


@dataclass
class Difference:
    """What differs, each item in a line of its own."""

    failures: list[str] = field(default_factory=list)
    less_accurate: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    drifted: list[str] = field(default_factory=list)
    more_accurate: list[str] = field(default_factory=list)
    gained: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def worse(self) -> bool:
        """Whether something failed anew, lost more than one grade, or is checked no longer."""
        return bool(self.failures or self.less_accurate or self.lost)

    def lines(self) -> list[str]:
        """The difference as text, what got worse first."""
        found = [f"note: {note}" for note in self.notes]
        for title, items in (
            ("new failures", self.failures),
            ("less accurate by more than one grade", self.less_accurate),
            ("no longer checked", self.lost),
            ("no longer failing", self.fixed),
            ("less accurate by one grade", self.drifted),
            ("more accurate", self.more_accurate),
            ("newly checked", self.gained),
        ):
            if items:
                more = len(items) - SHOWN
                found.append(f"{title}: {len(items)}")
                found += [f"  {item}" for item in items[:SHOWN]]
                found += [f"  … and {more} more"] * (more > 0)
        return found or ["no difference"]


def compare(before: Report, after: Report) -> Difference:
    """What changed from one report to another.

    Failures are compared check by check; accuracy and coverage by op, dtype and kind of check,
    which compact reports have too.
    """
    found = Difference(notes=_notes(before, after))
    _compare_failures(before, after, found)
    old, new = _by_place(before), _by_place(after)
    for place in sorted(old.keys() | new.keys()):
        _compare_place("/".join(place), old.get(place, []), new.get(place, []), found)
    return found


def _notes(before: Report, after: Report) -> list[str]:
    notes = []
    for name in ("backend", "device", "level", "profile", "selection", "suite_version",
                 "seed_revision", "backend_version", "driver"):  # fmt: skip
        old, new = getattr(before.run, name), getattr(after.run, name)
        if old != new:
            notes.append(f"{name} was {one_line(repr(old))}, and is {one_line(repr(new))}")
    return notes


def _compare_failures(before: Report, after: Report, found: Difference) -> None:
    old, new = ({r.id: r for r in report.run.results} for report in (before, after))
    checked = {(g.op, g.dtype, g.check) for g in after.groups if g.status not in IDLE}
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if now and now.failed and not (was and was.failed):
            found.failures.append(_said(now, was, before))
        elif was and was.failed and _recovered(was, now, checked):
            became = f", now {now.status}" if now and now.status != "pass" else ""
            found.fixed.append(f"{name} (was {was.status}{became})")
    for report, side in ((before, "first"), (after, "second")):
        kept = sum(r.failed for r in report.run.results)
        if kept < sum(count for s, count in report.counts.items() if s in FAILURES):
            found.notes.append(f"the {side} report is compact and names {kept} of its failures")


def _recovered(was: Result, now: Result | None, checked: set[Place]) -> bool:
    """Whether a failure is none any more; a check that is gone is not: it is among the lost."""
    if now is None:
        return (was.op, was.dtype, was.check) in checked
    return not now.failed and now.status not in IDLE


def _said(now: Result, was: Result | None, before: Report) -> str:
    known = {(g.op, g.dtype, g.check) for g in before.groups} if before.compact else set()
    new = "" if was or (now.op, now.dtype, now.check) in known else ", a new check"
    grade = f" {error_text(now)}".rstrip()
    message = one_line(now.message, 100)
    return f"{now.id} ({now.status}{grade}{new})" + (f": {message}" if message else "")


def _by_place(report: Report) -> dict[Place, list[Group]]:
    found: dict[Place, list[Group]] = {}
    for group in report.groups:
        found.setdefault((group.op, group.dtype, group.check), []).append(group)
    return found


def _compare_place(name: str, old: list[Group], new: list[Group], found: Difference) -> None:
    by = drift(_grade(old), _grade(new))
    if by:
        line = f"{name}: {_accuracy(old)} → {_accuracy(new)}"
        lists = found.more_accurate, found.drifted, found.less_accurate
        lists[0 if by < 0 else min(by, 2)].append(line)
    ran = [sum(g.count for g in side if g.status not in IDLE) for side in (old, new)]
    if ran[0] != ran[1]:
        idle = Counter[str]()
        for group in new:
            if group.status in IDLE:
                idle[group.status] += group.count
        why = ", ".join(f"{count} {status}" for status, count in sorted(idle.items()))
        line = f"{name}: {ran[0]} → {ran[1]} checks" + (f" ({why})" if why else "")
        (found.lost if ran[1] < ran[0] else found.gained).append(line)


def _grade(groups: list[Group]) -> str:
    grade = ""
    for group in groups:
        grade = worse(grade, group.grade)
    return grade


def _accuracy(groups: list[Group]) -> str:
    grade = _grade(groups)
    worst = max((g for g in groups if g.grade == grade), key=lambda g: g.measured or 0.0)
    return f"{grade} {error_text(worst)}".rstrip()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the subcommand."""
    parser.add_argument("before", help="a report, full or compact")
    parser.add_argument("after", help="a later report")
    parser.add_argument(
        "--exact", action="store_true",
        help="ask instead whether the results are the same, bit for bit, times and dates aside",
    )  # fmt: skip


def main(args: argparse.Namespace, say: Callable[[str], None] = print) -> int:
    """Compare two reports: 0 nothing got worse, 1 something did, 3 one cannot be read."""
    try:
        before, after = read_json(args.before), read_json(args.after)
    except FileFormatError as error:
        say(str(error))
        return 3
    if args.exact:
        same = same_results(before, after)
        say("the results are the same" if same else "the results differ")
        return int(not same)
    say(headline(before.run))
    say(headline(after.run))
    difference = compare(before, after)
    for line in difference.lines():
        say(line)
    return int(difference.worse)
