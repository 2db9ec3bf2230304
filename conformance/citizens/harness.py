"""Run the tables, keep and compare their results."""

from __future__ import annotations

import functools
import importlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citizens.verdict import GOOD, judge, worse

if TYPE_CHECKING:
    from citizens.calls import Call
    from citizens.players import Player

__all__ = ["LIBRARIES", "RESULTS", "Results", "calls_of", "faults", "run", "support_of", "versions"]

LIBRARIES = {
    "scipy": (
        "scipy_special", "scipy_stats", "scipy_numeric", "scipy_transforms", "scipy_spatial",
        "scipy_signal", "scipy_ndimage",
    ),
    "sklearn": ("sklearn_estimators", "sklearn_metrics"),
}  # fmt: skip
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
_VERSIONED = ("numpy", "scipy", "sklearn", "torch", "jax")
RESULTS = Path(__file__).with_name("results.json")

Statuses = dict[str, dict[str, str]]  # by call, by player


def calls_of(library: str) -> list[Call]:
    """The calls of a library, in the order of the tables. Imports the library."""
    return [
        call for module in LIBRARIES[library]
        for call in importlib.import_module(f"citizens.{module}").TABLE.calls
    ]  # fmt: skip


def run(calls: Iterable[Call], player: Player, say: Callable[[str], None]) -> dict[str, str]:
    """The status of each call; `say` is told each that is not right."""
    found = {}
    for call in calls:
        verdict = judge(call, player)
        found[call.name] = verdict.status
        if verdict.status != GOOD:
            say(f"{call.name}: {verdict.status}  {' '.join(verdict.detail.split())[:160]}")
    say(", ".join(f"{n} {status}" for status, n in Counter(found.values()).most_common()))
    return found


def versions() -> dict[str, str]:
    """Of the libraries that are installed."""
    found = {}
    for name in _VERSIONED:
        try:
            found[name] = version(_DISTRIBUTIONS.get(name, name))
        except PackageNotFoundError:
            continue
    return found


class Results:
    """What is expected: the status of each call for each player, and with which versions."""

    def __init__(self, statuses: dict[str, Statuses], made_with: dict[str, str]) -> None:
        self.statuses, self.made_with = statuses, made_with

    @classmethod
    def read(cls, path: Path = RESULTS) -> Results:
        """Those kept in results.json."""
        if not path.exists():
            return cls({library: {} for library in LIBRARIES}, {})
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(kept["statuses"], kept["versions"])

    def write(self, path: Path = RESULTS) -> None:
        """A line for each call, so that a change of one is a change of one line."""
        parts = []
        for library, rows in self.statuses.items():
            lines = [f"   {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
            parts.append(f"  {json.dumps(library)}: {{\n" + ",\n".join(lines) + "\n  }")
        text = f' "versions": {json.dumps(self.made_with)},\n "statuses": {{\n'
        path.write_text("{\n" + text + ",\n".join(parts) + "\n }\n}\n", encoding="utf-8")

    def update(self, library: str, player: str, found: dict[str, str], order: list[str]) -> None:
        """Take over new statuses; calls that are no longer in the table go."""
        rows = self.statuses.get(library, {})
        for name, status in found.items():
            rows.setdefault(name, {})[player] = status
        self.statuses[library] = {name: rows[name] for name in order if name in rows}

    def same_release(self, library: str) -> bool:
        """Whether the installed library is of the release that the results were made with."""
        there, made = versions().get(library, ""), self.made_with.get(library, "-")
        return there.split(".")[:2] == made.split(".")[:2]


def faults(found: dict[str, str], expected: Statuses, player: str = "polygrad") -> list[str]:
    """The calls whose status is worse than expected, or that nobody expected anything of."""
    said = []
    for name, status in found.items():
        before = expected.get(name, {}).get(player)
        if before is None:
            said.append(f"{name} is not in results.json: {status}")
        elif worse(status, before):
            said.append(f"{name} was {before} and is {status}")
    return said


# ---- what SciPy says of its own support ---------------------------------------------------------
def support_of(name: str) -> str:
    """What SciPy's table of capabilities says of the function a call is named after.

    "all": any array API library; "cpu_only": any on the CPU, often through NumPy; "np_only": NumPy,
    and what the table does not have.
    """
    words = re.match(r"[\w.]+", name)
    found: Any = sys.modules.get("scipy")
    answer = "np_only"
    for step in words.group().split(".") if words else ():
        found = getattr(found, step, None)
        facts = _facts(_dotted(found))
        if facts is not None:
            answer = (
                "np_only" if facts["np_only"] or facts["out_of_scope"]
                else "cpu_only" if facts["cpu_only"] else "all"
            )  # fmt: skip
    return answer


def _dotted(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '?')}"


def _facts(name: str) -> dict[str, Any] | None:
    """What is said of a function; of a class, what is said of its first method."""
    kept = _capabilities()
    methods = (facts for other, facts in kept.items() if other.startswith(name + "."))
    return kept.get(name) or next(methods, None)


@functools.cache
def _capabilities() -> dict[str, dict[str, Any]]:
    """SciPy's table by dotted names. It is private, and moving; read it after the tables."""
    for module in ("scipy._lib._array_api", "scipy._external._array_api"):
        found = getattr(sys.modules.get(module), "xp_capabilities_table", None)
        if found is not None:
            return {_dotted(function): facts for function, facts in found.items()}
    return {}
