"""The matrix, the worst accuracy, and what to fix first: what every format shows of a report."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from polygrad_conformance.ladder import STEPS
from polygrad_conformance.record import FAILURES, GRADES, Result, Run, worse
from polygrad_conformance.report.groups import LAST_STEP, Group, Report, gathered, number
from polygrad_conformance.report.hints import hint
from polygrad_conformance.report.plain import one_line, short_hex

__all__ = [
    "Cell", "accuracy_text", "backend_text", "columns_of", "command", "error_text", "headline",
    "matrix_of", "next_step", "rows_of", "tails_of", "totals", "worst_of",
]  # fmt: skip

FLOATING = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# Chapters whose cases are no single call, so that no script is made of them.
_PROGRAMS = (
    "transfers", "structure", "layers", "optimizers", "training", "random numbers", "in place",
)  # fmt: skip
# What a row says of the checks that did not pass, worst first.
TROUBLE = ("fail", "error", "crash", "timeout", "fixed", "known", "blocked", "notrun")


@dataclass
class Cell:
    """A cell of the matrix: which ops passed everything, which were tried, and the worst grade."""

    tried: set[str] = field(default_factory=set)
    spoiled: set[str] = field(default_factory=set)
    unsupported: int = 0
    grade: str = ""
    failures: int = 0

    def add(self, group: Group) -> None:
        """Count one group."""
        if group.status == "unsupported":
            self.unsupported += group.count
            return
        self.tried.add(group.op)
        if group.status != "pass":
            self.spoiled.add(group.op)
        if group.status in FAILURES:
            self.failures += group.count
        self.grade = worse(self.grade, group.grade)

    @property
    def text(self) -> str:
        """`67/67`: ops of which every check passed, of those tried; `--`: unsupported."""
        if not self.tried:
            return "--" if self.unsupported else ""
        return f"{len(self.tried) - len(self.spoiled)}/{len(self.tried)}"

    @property
    def said(self) -> str:
        """Counts and mark: `67/67 A`."""
        return f"{self.text} {self.mark}".rstrip()

    @property
    def mark(self) -> str:
        """The worst grade; F too where something failed that has no grade."""
        return "F" if self.failures else self.grade


def column_of(dtype: str, *, fold: bool) -> str:
    """The column of a dtype; all integers share one where columns are folded."""
    if dtype in FLOATING or dtype == "bool":
        return dtype
    if not fold:
        return dtype or "other"
    return "integers" if dtype in INTEGERS else "other"


def columns_of(groups: Iterable[Group], *, fold: bool = True) -> list[str]:
    """The columns of the matrix: floating, complex, integers, bool, and the rest."""
    found = {column_of(g.dtype, fold=fold) for g in groups}
    order = [*FLOATING, "integers", *INTEGERS, "bool"]
    return [c for c in order if c in found] + sorted(found - set(order))


def matrix_of(groups: Iterable[Group], *, fold: bool = True) -> dict[str, dict[str, Cell]]:
    """Rows, from the lowest step of the ladder up, by columns."""
    groups = list(groups)
    rows: dict[str, dict[str, Cell]] = {row: {} for row in rows_of(groups)}
    for group in groups:
        rows[group.row].setdefault(column_of(group.dtype, fold=fold), Cell()).add(group)
    return rows


def rows_of(groups: Iterable[Group]) -> list[str]:
    """The rows of the matrix, from the lowest step of the ladder up."""
    steps: dict[str, int] = {}
    for group in groups:
        steps[group.row] = min(group.step, steps.get(group.row, group.step))
    return sorted(steps, key=lambda row: (steps[row], row))


def worst_of(groups: Iterable[Group], *, count: int = 1) -> list[Group]:
    """The least accurate op and dtype pairs, the worst first; of each its worst check."""
    measured = [g for g in groups if g.grade and g.measured is not None]
    ordered = sorted(measured, key=_accuracy, reverse=True)
    seen: set[tuple[str, str]] = set()
    found = []
    for group in ordered:
        if (group.op, group.dtype) not in seen:
            seen.add((group.op, group.dtype))
            found.append(group)
    return found[:count]


def _accuracy(group: Group) -> tuple[int, float, tuple[Any, ...]]:
    measured = group.measured or 0.0
    share = measured / group.bound if group.bound else measured
    return GRADES.index(group.grade), math.inf if math.isnan(share) else share, group.key


def accuracy_text(group: Group) -> str:
    """`cosh float32 24.4 ULP at x=0x1.8p+5`."""
    at = f" at {one_line(short_hex(group.worst), 40)}" if group.worst else ""
    return f"{group.op} {group.dtype} {error_text(group)}{at}"


def error_text(item: Group | Result, *, allowed: bool = False) -> str:
    """The measured error: `2.2 ULP`, `2.2 ULP (4 allowed)`, `0.3 times the bound`."""
    if item.measured is None:
        return ""
    if item.unit == "ratio" and item.bound == 1:
        return f"{number(item.measured)} times the bound"
    text = f"{number(item.measured)} {item.unit.replace('ulp', 'ULP')}".rstrip()
    return f"{text} ({number(item.bound)} allowed)" if allowed and item.bound is not None else text


def backend_text(run: Run) -> str:
    """The backend and its version, which may begin with the name of the library."""
    same = run.backend_version.partition(" ")[0] == run.backend
    return run.backend_version if same else f"{run.backend} {run.backend_version}".strip()


def headline(run: Run) -> str:
    """`mychip 0.3 on mychip:0 (driver 1.2)   suite 1.4.0  level full  …`: what was run, where."""
    about = ", ".join(filter(None, [run.device_description, run.driver and f"driver {run.driver}"]))
    where = f"{backend_text(run)} on {run.device}"
    facts = [f"suite {run.suite_version or '?'}", f"level {run.level}",
             f"seed-rev {run.seed_revision}", f"profile {run.profile}"]  # fmt: skip
    return one_line(f"{where} ({about})" if about else where) + "   " + "  ".join(facts)


def command(run: Run, result: Result | None = None) -> str:
    """The line that repeats a run, or one check of it."""
    backend = run.environment.get("backend", run.backend)
    words = ["polygrad-conformance", "run", "--backend", backend]
    if run.device and run.device != run.backend:
        words += ["--device", run.device]
    if run.level != "smoke":
        words += ["--level", run.level]
    if known := run.environment.get("known failures"):
        words += ["--known", known]
    words += ["-k", result.id] if result else []
    return one_line(shlex.join(words), 1000)


def next_step(report: Report) -> list[str]:
    """Where the device stands on the ladder and what to fix first; or what to run next, if any."""
    failures = report.failures
    if not failures:
        passed = report.run.level == "smoke" and not report.run.selection and not report.reasons
        return ["Next:", "  " + command(replace(report.run, level="full"))] if passed else []
    first, step = failures[0], report.reached
    name = STEPS[min(step, LAST_STEP)]
    waiting = sum(g.count for g in report.groups if g.cause == first.id and g.status == "blocked")
    rests = f" ({waiting} checks wait for it)" if waiting else ""
    lines = [f"You are at step {step} of {LAST_STEP} ({name}). First thing to fix{rests}:"]
    lines.append("  " + command(report.run, first))
    said = one_line(first.message, 500)  # with the place where it was raised
    if said:
        lines.append(f"  {first.status}: {said}")
    if advice := hint(first):
        lines.append(f"  hint: {advice}")
    if first.check in ("value", "special") and first.chapter not in _PROGRAMS:
        lines.append("  --snippet in the place of -k: a script that does not need the suite")
    return lines


def tails_of(groups: Iterable[Group]) -> dict[str, str]:
    """Of each row how many checks did not pass, and the worst accuracy if it is not an A."""
    found = gathered(groups, lambda g: g.row)
    return {row: _tail(found[row]) for row in rows_of(chain(*found.values()))}


def _tail(groups: list[Group]) -> str:
    counts = {s: sum(g.count for g in groups if g.status == s) for s in TROUBLE}
    parts = [", ".join(f"{count} {status}" for status, count in counts.items() if count)]
    parts += [accuracy_text(g) for g in worst_of(groups) if g.grade != "A"]
    return one_line("; ".join(filter(None, parts)))


def totals(report: Report) -> str:
    """The line of counts below the matrix."""
    counts = report.counts
    selected = sum(counts.values()) - counts["unsupported"]
    shown = ("pass", "fail", "error", "crash", "timeout", "fixed", "known")
    found = "  ".join(f"{s} {counts[s]}" for s in shown if counts[s] or s in ("pass", "fail"))
    idle = "".join(f"  {s} {counts[s]}" for s in ("blocked", "notrun") if counts[s])
    declared = report.run.declared or sum(counts.values())
    return (f"declared {declared}  unsupported {counts['unsupported']}  selected {selected}  "
            f"run {report.ran}{idle}  |  {found}")  # fmt: skip
