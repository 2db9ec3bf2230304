"""Known failures: a list that cannot rot.

An entry selects results by their fields and says why they fail. It is strict: results that pass, an
entry that selects nothing, one that has expired, a failure that got worse are all reported. Entries
come from a TOML file and from `known_gaps` of the backend.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polygrad_conformance.case import SuiteError
from polygrad_conformance.record import Result, Run
from polygrad_conformance.report.plain import one_line

__all__ = ["KINDS", "Known", "KnownFailures", "draft", "from_backend"]

KINDS = ("bug", "accuracy", "future", "spec", "hardware", "untriaged")
_FIELDS = ("op", "dtype", "check", "sample", "layout", "space", "chapter", "step", "device", "id")
_NAMED = 12  # samples that a drafted entry names; what fails in more is selected as a whole
_WORSE = 1.25  # a failure may be so many times worse than it was measured
_EARLIER = "earlier"  # in the place of a status: an entry before this one has the failure
_FAILED = frozenset({"fail", "error", "crash", "timeout"})


@dataclass(frozen=True)
class Known:
    """One entry: see the table in the documentation for its fields."""

    select: str
    kind: str = "bug"
    reason: str = ""
    url: str = ""
    measured: str = ""
    expires: str = ""
    when: str = ""
    where: str = ""
    mode: str = "run"

    def __post_init__(self) -> None:
        """Refuse an entry that says too little."""
        if self.kind not in KINDS:
            raise SuiteError(f"{self}: kind is none of {', '.join(KINDS)}")
        if not self.reason and self.kind != "untriaged":
            raise SuiteError(f"{self}: say the reason")
        if not self.url and self.kind in ("bug", "spec"):
            raise SuiteError(f"{self}: give the url of the bug report")
        for field in self.terms:
            if field not in _FIELDS:
                raise SuiteError(f"{self}: there is no field {field!r}: {', '.join(_FIELDS)}")

    def __str__(self) -> str:
        """Where it stands, and what it selects."""
        return f"{self.where + ': ' if self.where else ''}known failure [{self.select}]"

    @property
    def terms(self) -> dict[str, str]:
        """The conditions by field."""
        pairs = [word.partition("=") for word in self.select.split()]
        return {field: pattern for field, _, pattern in pairs}

    def selects(self, result: Result, device: str = "") -> bool:
        """Whether all conditions hold: globs, alternatives with |, ranges of numbers as 2..4."""
        return all(
            _holds(device if field == "device" else str(getattr(result, field)), pattern)
            for field, pattern in self.terms.items()
        )

    def expired(self, today: dt.date) -> bool:
        """Whether its day has come."""
        return bool(self.expires) and today >= dt.date.fromisoformat(self.expires)

    def worsened(self, result: Result) -> bool:
        """Whether the failure is more than a quarter worse than when it was entered."""
        if not self.measured or result.measured is None:
            return False
        return result.measured > _WORSE * float(self.measured.split()[0])


def _holds(value: str, pattern: str) -> bool:
    if ".." in pattern:
        low, _, high = pattern.partition("..")
        return value.isdigit() and float(low or "-inf") <= float(value) <= float(high or "inf")
    return any(fnmatch.fnmatchcase(value, p) for p in pattern.split("|"))


class KnownFailures:
    """A list of entries, and the file that they are from."""

    def __init__(self, entries: Iterable[Known] = (), file: str = "") -> None:
        self.entries, self.file = tuple(entries), file

    @classmethod
    def read(cls, path: str | Path) -> KnownFailures:
        """The list of a TOML file.

        Raises
        ------
        SuiteError
            It is no such list.
        """
        path = Path(path)
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8")).get("known", [])
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise SuiteError(
                f"the list of known failures {path} cannot be read: {error}"
            ) from error
        entries = (_entry(table, f"{path.name}, entry {i + 1}") for i, table in enumerate(tables))
        return cls(entries, path.as_posix())

    def merged(self, other: KnownFailures) -> KnownFailures:
        """Both lists."""
        return KnownFailures((*self.entries, *other.entries), self.file or other.file)

    def expects(self, result: Result, device: str) -> bool:
        """Whether it is a failure that an entry excuses, as far as is known before the run ends."""
        today = dt.datetime.now(dt.UTC).date()
        return result.failed and any(
            e.selects(result, device) and not e.expired(today) and not e.worsened(result)
            for e in self.entries
        )

    def apply(self, run: Run) -> None:
        """Change the statuses of the results that entries select; note entries that are stale."""
        today = dt.datetime.now(dt.UTC).date()
        used: dict[int, list[str]] = {}
        run.results = _resting([self._judged(r, run, used, today) for r in run.results])
        whole = not run.selection and run.level != "smoke"
        for i, entry in enumerate(self.entries):
            if not _applies(entry, run):
                continue
            met = used.get(i, [])
            if entry.expired(today):
                run.stale.append(f"{entry} expired on {entry.expires}: mend it, or say until when")
            elif whole and not met:
                run.stale.append(f"{entry} selects nothing: delete it")
            elif whole and _EARLIER in met and not _FAILED & set(met):
                run.stale.append(f"{entry}: an earlier entry has what fails of it: delete it")
            elif met and not (_FAILED | {"known", _EARLIER}) & set(met):
                run.stale.append(f"{entry}: all of its {len(met)} checks pass: delete it")

    def _judged(
        self, result: Result, run: Run, used: dict[int, list[str]], today: dt.date
    ) -> Result:
        for i, entry in enumerate(self.entries):
            if not _applies(entry, run) or not entry.selects(result, run.device):
                continue
            used.setdefault(i, []).append(result.status)
            if result.status not in _FAILED or entry.expired(today):
                continue
            if entry.worsened(result):
                text = f"{result.message} (known at {entry.measured}: it got worse)"
                return replace(result, message=text)
            for j, later in enumerate(self.entries[i + 1 :], i + 1):
                if later.selects(result, run.device):
                    used.setdefault(j, []).append(_EARLIER)
            said = f"{entry.reason} ({entry.url})" if entry.url else entry.reason
            return replace(result, status="known", known=said or "untriaged")
        return result


def _resting(results: list[Result]) -> list[Result]:
    """What could not be judged because of a known failure is known too, by its reason."""
    reasons = {r.id: r.known for r in results if r.status == "known"}
    found = []
    for r in results:
        if r.status == "blocked" and r.blocked_by in reasons:
            reasons[r.id] = reasons[r.blocked_by]
            r = replace(r, status="known", known=reasons[r.id])  # noqa: PLW2901
        found.append(r)
    return found


def _entry(table: dict[str, Any], where: str) -> Known:
    unknown = set(table) - set(Known.__dataclass_fields__)
    if unknown or "select" not in table:
        raise SuiteError(f"{where}: {'no ' + repr('select') if not unknown else sorted(unknown)}")
    return Known(**{k: str(v) for k, v in table.items()}, where=where)


def _applies(entry: Known, run: Run) -> bool:
    """Whether `when`, as in `driver < 1.4`, holds for this device."""
    if not entry.when:
        return True
    found = re.fullmatch(r"(\w+)\s*(<=|>=|==|!=|<|>)\s*(\S+)", entry.when.strip())
    if found is None or not hasattr(run, found[1]):
        raise SuiteError(f"{entry}: `when` is `field < version`, of the fields of a run")
    a, b = _version(getattr(run, found[1])), _version(found[3])
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[
        found[2]
    ]


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", str(text))))


def from_backend(gaps: Iterable[Any], device: str) -> KnownFailures:
    """The entries that a backend declares in its class, as `KnownGap`s, for one device."""
    made = []
    for gap in gaps:
        if gap.devices and device not in gap.devices:
            continue
        words = [f"op={gap.op}"]
        words += [f"dtype={'|'.join(gap.dtypes)}"] if gap.dtypes else []
        words += [f"check={'|'.join(gap.checks)}"] if gap.checks else []
        words += [f"sample={'|'.join(gap.samples)}"] if gap.samples else []
        kind = gap.kind or ("bug" if gap.url else "hardware")
        made.append(
            Known(
                " ".join(words), kind, gap.reason, gap.url, gap.measured, when=gap.when,
                where="known_gaps",
            )
        )  # fmt: skip
    return KnownFailures(made)


def draft(run: Run) -> str:
    """Entries for the failures of a run, to be triaged: by operation, check and status.

    What is measured has one for each dtype: a unit in the last place of one is none of another.
    """
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for r in run.results:
        if r.status in _FAILED:
            dtype = r.dtype if r.measured is not None else ""
            groups.setdefault((r.op, r.check, r.status, dtype), []).append(r)
    parts: list[str] = []
    drafted: list[Known] = []
    for members in groups.values():
        select = _select(members)
        if all(any(entry.selects(r) for entry in drafted) for r in members):
            continue  # an earlier entry takes them all: this one would be stale at once
        drafted.append(Known(select, "untriaged"))
        measured = max((r.measured for r in members if r.measured is not None), default=None)
        said = one_line(members[0].message, 100)
        more = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
        lines = ["[[known]]", f'select = "{select}"', 'kind = "untriaged"',
                 f'reason = ""  # {said}{more}', 'url = ""  # of a bug or spec']  # fmt: skip
        if measured is not None and measured != float("inf"):
            lines.append(f'measured = "{measured:.4g} {members[0].unit}"')
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n" if parts else ""


def _select(members: list[Result]) -> str:
    """What selects these results of one operation and check; few samples are named."""
    dtypes, samples = (
        list(dict.fromkeys(getattr(r, field) for r in members)) for field in ("dtype", "sample")
    )
    words = [f"op={members[0].op}", f"dtype={'|'.join(dtypes)}", f"check={members[0].check}"]
    if len(samples) <= _NAMED and not any(set(name) & set(" *?[|") for name in samples):
        words.append(f"sample={'|'.join(samples)}")
    return " ".join(words)
