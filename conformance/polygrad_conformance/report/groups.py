"""What reports are made of: results that share an operation, a dtype, a check and a status.

A full report has every result; a compact one has the failures and these groups. Everything that
shows, compares or counts reads a `Report`, which has both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from polygrad_conformance.record import FAILURES, GRADES, STATUSES, Result, Run
from polygrad_conformance.report.plain import clean

__all__ = [
    "CONFORMANT_LEVELS", "LAST_STEP", "Group", "Report", "cleaned", "cleaned_texts", "combine",
    "drift", "gathered", "groups_of", "number", "place_of",
]  # fmt: skip

# At the other levels too little is checked for the word.
CONFORMANT_LEVELS = ("full", "exhaustive")
LAST_STEP = 8

T = TypeVar("T", "Group", Result)
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Group:
    """Results of one op, dtype and check with one status and, unless they failed, one cause.

    `cause` is why: of known failures the entry, of blocked checks the id that they wait for, of
    others the message. The worst of the measured errors is kept, with its bound and its input.
    """

    op: str
    dtype: str
    check: str
    status: str
    cause: str = ""
    space: str = ""
    chapter: str = ""
    step: int = 0
    count: int = 1
    measured: float | None = None
    bound: float | None = None
    unit: str = ""
    grade: str = ""
    worst: str = ""

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """What makes two groups one, and the order of groups in a report."""
        return self.op, self.dtype, self.check, STATUSES.index(self.status), self.cause

    @property
    def place(self) -> str:
        """The chapter and its space: `elementwise`, `nn.functional.pooling`."""
        return place_of(self)

    @property
    def row(self) -> str:
        """The row of the matrix: a chapter of polygrad itself, or a space with all its chapters."""
        return self.space or self.place


def place_of(item: Group | Result) -> str:
    """The chapter of a group or a result, with its space."""
    parts = dict.fromkeys(part for part in (item.space, item.chapter) if part)
    return ".".join(parts) or "other"


def cleaned(run: Run) -> Run:
    """The run with all text cleaned: what a backend says is shown in terminals and browsers."""
    facts = {f.name: _cleaned(getattr(run, f.name)) for f in fields(run) if f.name != "results"}
    return replace(run, **facts, results=[cleaned_texts(r) for r in run.results])


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(k)): _cleaned(v) for k, v in sorted(value.items())}
    return [_cleaned(v) for v in value] if isinstance(value, list | tuple) else value


def cleaned_texts(item: T) -> T:
    """A result or a group with all text cleaned."""
    texts: dict[str, Any] = {
        k: clean(v) for k, v in vars(item).items() if isinstance(v, str) and not v.isprintable()
    }
    return replace(item, **texts) if texts else item


def number(value: float | None) -> str:
    """A measured error as people read it: three digits, and words for what is no number.

    >>> number(2.196), number(None), number(float("inf"))
    ('2.2', '', 'inf')
    """
    return "" if value is None else f"{value:.3g}"


def _badness(group: Group) -> tuple[int, float]:
    """How bad the measured error is: the grade, then the error as a share of its bound."""
    grade = GRADES.index(group.grade) if group.grade in GRADES else -1
    if group.measured is None:
        return grade, -1.0
    share = group.measured / group.bound if group.bound else group.measured
    return grade, math.inf if math.isnan(share) else share


def combine(groups: Iterable[Group]) -> list[Group]:
    """One group of each key, with the sum of the counts and the worst error; ordered by key.

    Of equally bad errors the first counts, so that the order of `groups` must be a fixed one.
    """
    counts: Counter[tuple[str, str, str, int, str]] = Counter()
    worst: dict[tuple[str, str, str, int, str], Group] = {}
    for group in groups:
        key = group.key
        counts[key] += group.count
        if key not in worst or _badness(group) > _badness(worst[key]):
            worst[key] = group
    return [replace(worst[key], count=counts[key]) for key in sorted(worst)]


def groups_of(results: Iterable[Result]) -> list[Group]:
    """The groups of results, which may come in any order."""
    return combine(
        Group(
            r.op, r.dtype, r.check, r.status, _cause(r), r.space, r.chapter, r.step, 1,
            r.measured, r.bound, r.unit, r.grade, r.worst,
        )
        for r in sorted(results, key=lambda r: r.id)
    )  # fmt: skip


def _cause(result: Result) -> str:
    if result.failed or result.status == "pass":
        return ""
    return result.known or result.blocked_by or result.message


def gathered(groups: Iterable[Group], key: Callable[[Group], K]) -> dict[K, list[Group]]:
    """The groups by what `key` says of them, in their order."""
    found: dict[K, list[Group]] = {}
    for group in groups:
        found.setdefault(key(group), []).append(group)
    return found


def drift(before: str, after: str) -> int:
    """By how many grades `after` is worse than `before`; 0 where one of them is no grade.

    >>> drift("A", "C"), drift("B", "A"), drift("", "F")
    (2, -1, 0)
    """
    if before in GRADES and after in GRADES:
        return GRADES.index(after) - GRADES.index(before)
    return 0


@dataclass(frozen=True)
class Report:
    """A run, and the groups of its results; of a compact report the run has the failures only."""

    run: Run
    groups: list[Group]
    compact: bool = False
    # SHA-256 of what the full report says, times and dates left out.
    sha256: str = ""

    @classmethod
    def of(cls, run: Run) -> Report:
        """The report of a run that has all its results. No text of it has control characters."""
        run = cleaned(run)
        return cls(run, groups_of(run.results))

    @property
    def counts(self) -> dict[str, int]:
        """How many checks have each status, every status included."""
        found: Counter[str] = Counter()
        for group in self.groups:
            found[group.status] += group.count
        return {status: found[status] for status in STATUSES}

    @property
    def failures(self) -> list[Result]:
        """The failed results in the order in which to look at them: lowest step, most blocked."""
        blocked = Counter(g.cause for g in self.groups if g.status == "blocked")
        failed = [r for r in self.run.results if r.failed]
        return sorted(failed, key=lambda r: (r.step, -blocked[r.id], r.id))

    @property
    def reached(self) -> int:
        """The step of the ladder that the device stands at; 9: above the last."""
        stuck = FAILURES | {"blocked"}
        return min((g.step for g in self.groups if g.status in stuck), default=LAST_STEP + 1)

    @property
    def ran(self) -> int:
        """How many checks ran."""
        idle = ("unsupported", "blocked", "notrun")
        return sum(count for status, count in self.counts.items() if status not in idle)

    @property
    def reasons(self) -> list[str]:
        """What keeps the run from being conformant at its level; empty if nothing does."""
        counts = self.counts
        if not self.ran:
            return ["nothing ran"]
        found = [f"{counts[s]} {s}" for s in STATUSES if s in FAILURES and counts[s]]
        # Of a known failure the reason stands in the list, which ages and is counted in public.
        judged = (g for g in self.groups if g.status not in FAILURES | {"known"})
        graded = sum(g.count for g in judged if g.grade == "F")
        if graded:
            found.append(f"{graded} with grade F")
        found += [f"{counts[s]} {s}" for s in ("blocked", "notrun") if counts[s]]
        if self.run.stale:
            found.append(f"{len(self.run.stale)} stale in the list of known failures")
        return found

    @property
    def conformant(self) -> bool:
        """Whether the whole suite ran at a level that counts, and nothing failed."""
        return not (self.reasons or self.run.selection) and self.run.level in CONFORMANT_LEVELS

    @property
    def verdict(self) -> str:
        """One line: CONFORMANT, NOT CONFORMANT and why, or PASSED where that says less."""
        known = self.counts["known"]
        tail = f"; known failures: {known}" if known else ""
        if self.reasons:
            return f"NOT CONFORMANT ({', '.join(self.reasons)})"
        if self.run.selection:
            return f"PASSED what was selected ({self.run.selection}){tail}; a part proves nothing"
        if not self.conformant:
            return f"PASSED at level {self.run.level}{tail}; only level full is sufficient"
        return f"CONFORMANT{tail}"
