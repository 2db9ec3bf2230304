"""Records: what one check found (`Result`), and what one run of the suite found (`Run`).

Everything that reports, compares or recounts reads these two, and nothing else. Both survive a
journey through JSON: `Run.from_dict(json.loads(json.dumps(run.to_dict()))) == run`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from typing import Any

__all__ = ["FAILURES", "GRADES", "SCHEMA", "STATUSES", "UNITS", "Result", "Run", "worse"]

SCHEMA = 1
# In the order in which a reader wants to see them.
STATUSES = (
    "fail", "error", "crash", "timeout", "fixed", "blocked", "known", "unsupported", "notrun",
    "pass",
)  # fmt: skip
# What makes a run not conformant. `fixed`: a known failure that passes now, so the list is stale.
FAILURES = frozenset({"fail", "error", "crash", "timeout", "fixed"})
# A: within the budget. B: within eight times the budget. C: within sqrt(eps). F: worse.
GRADES = ("A", "B", "C", "F")
# What `measured` and `bound` are: units in the last place, or multiples of an a-priori bound.
UNITS = ("", "ulp", "ratio")


def worse(a: str, b: str) -> str:
    """The worse of two grades; "" is no grade.

    >>> worse("A", "B"), worse("", "A")
    ('B', 'A')
    """
    return max(a, b, key=lambda grade: GRADES.index(grade) if grade else -1)


@dataclass(frozen=True)
class Result:
    """One check of one operation in one dtype on one sample.

    Attributes
    ----------
    id
        `op/dtype/check/sample`, and `@layout` if there is one: the path that `run -k` takes.
    op
        The name with its space: `exp`, `linalg.qr`, `nn.functional.relu`, `nn.Linear`.
    space, chapter
        The part of polygrad, empty for polygrad itself, and the chapter there.
    dtype, check, sample, layout
        The other parts of the id.
    step
        The step of the bring-up ladder, 0 to 8.
    status
        One of `STATUSES`.
    ms
        Milliseconds. The only field in which two runs differ.
    measured, bound, unit
        The worst error of the sample and what is allowed, in `unit` of `UNITS`; None where the
        check compares exactly. `measured` may be infinite.
    grade
        One of `GRADES`, or empty where nothing was measured.
    worst
        The inputs of the worst element, floats in hexadecimal: `x=0x1.8p+5`.
    message
        What went wrong, or why the check did not run.
    known
        Of a known failure: its reason and, if there is one, its url.
    blocked_by
        The id of the failed check that this one rests on.
    """

    id: str
    op: str
    dtype: str
    check: str
    sample: str
    layout: str = ""
    space: str = ""
    chapter: str = ""
    step: int = 0
    status: str = "notrun"
    ms: float = 0.0
    measured: float | None = None
    bound: float | None = None
    unit: str = ""
    grade: str = ""
    worst: str = ""
    message: str = ""
    known: str = ""
    blocked_by: str = ""

    @property
    def failed(self) -> bool:
        """Whether the status makes a run not conformant."""
        return self.status in FAILURES

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what has its default value is left out. Infinity is the string "inf"."""
        made = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in _REQUIRED or value != f.default:
                made[f.name] = "inf" if value == math.inf else value
        return made

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Result:
        """The Result of `to_dict`."""
        data = {k: math.inf if v == "inf" and k in _NUMBERS else v for k, v in data.items()}
        return cls(**data)


_REQUIRED = frozenset({"id", "op", "dtype", "check", "sample", "step", "status", "ms"})
_NUMBERS = frozenset({"measured", "bound"})


@dataclass
class Run:
    """One run of the suite on one device.

    Attributes
    ----------
    backend, backend_version
        The backend's name, and the version of its array library.
    device, device_description, driver
        The device's name, what it is, and its driver's version, as far as the backend can say.
    polygrad_version, suite_version, seed_revision
        What was run. Equal seed revisions mean equal inputs.
    level, profile
        smoke, full, exhaustive; the accuracy profile that the backend claims.
    selection
        The options that left checks out: empty for a whole run. Only a whole run at `full` or
        `exhaustive` can be conformant.
    environment
        Python, NumPy, operating system, machine, git state, and environment variables that matter.
    start, seconds
        When it began (ISO 8601, UTC), and how long it took.
    declared
        The number of checks that the declarations make at this level, selected or not.
    digest
        SHA-256 of the sorted ids of all declared checks: `verify` recounts it.
    stale
        Lines of the known-failure list that no longer hold: what to delete, and why.
    exit_code
        0 conformant at this level, 1 failures, 2 a stale list of known failures, 3 an error of the
        suite, or nothing ran.
    results
        One for each declared check that was selected.
    """

    backend: str
    device: str
    level: str = "smoke"
    backend_version: str = ""
    device_description: str = ""
    driver: str = ""
    polygrad_version: str = ""
    suite_version: str = ""
    seed_revision: int = 0
    profile: str = "full"
    selection: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    start: str = ""
    seconds: float = 0.0
    declared: int = 0
    digest: str = ""
    stale: list[str] = field(default_factory=list)
    exit_code: int = 0
    results: list[Result] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many results have each status, every status of `STATUSES` included."""
        found = Counter(r.status for r in self.results)
        return {status: found[status] for status in STATUSES}

    @property
    def reached(self) -> int:
        """The step of the ladder that the device stands at: the lowest with a failure, else 9."""
        return min((r.step for r in self.results if r.failed or r.status == "blocked"), default=9)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with the counts."""
        made: dict[str, Any] = {"schema": SCHEMA}
        for f in fields(self):
            if f.name != "results":
                made[f.name] = getattr(self, f.name)
        made["counts"] = self.counts
        made["results"] = [r.to_dict() for r in self.results]
        return made

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Run:
        """The Run of `to_dict`. Unknown keys are an error, another schema too."""
        data = dict(data)
        schema = data.pop("schema", None)
        if schema != SCHEMA:
            raise ValueError(f"the report has schema {schema!r}; this suite reads schema {SCHEMA}")
        data.pop("counts", None)
        data["results"] = [Result.from_dict(r) for r in data["results"]]
        return cls(**data)

    def metadata(self) -> dict[str, Any]:
        """All but the results."""
        return {k: v for k, v in asdict(self).items() if k != "results"}
