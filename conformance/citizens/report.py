"""docs/scipy_and_sklearn.md, from results.json."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from citizens.harness import calls_of, support_of
from citizens.verdict import GOOD, LIMIT, MEANING

if TYPE_CHECKING:
    from citizens.harness import Results, Statuses

__all__ = ["PAGE", "write_page"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scipy_and_sklearn.md"
TITLES = {"scipy": "SciPy", "sklearn": "scikit-learn"}
PLAYERS = {"polygrad": "polygrad", "torch": "PyTorch", "jax": "JAX"}
SILENT = ("SILENT-CUT", "WRONG", "WRONG-VALUE", "NaN")
ERROR = "error!"

_HEAD = """# SciPy and scikit-learn, function by function

Made by `make citizens`; do not edit. How to use it: [Differentiate SciPy](differentiate_scipy.md).

Unmodified SciPy and scikit-learn were handed Tensors that require grad, after `pg.enable_scipy()`
and with scikit-learn's `array_api_dispatch=True`. A call is **OK** if its value agrees with NumPy's
and the gradient of a fixed random combination of all its floating outputs agrees with central
differences of the same call on NumPy arrays, in float64, for every element of every input. For
comparison, the same with PyTorch's autograd and with JAX (eager). The calls are in
`conformance/citizens/`; a test compares polygrad's column with what it was.

Made with {versions}.
"""


def write_page(results: Results, path: Path = PAGE) -> None:
    """Write the page."""
    names = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", **TITLES}
    made = ", ".join(f"{names[name]} {number}" for name, number in results.made_with.items())
    parts = [_HEAD.format(versions=made), _summary(results), _legend(results)]
    parts += [_table(library, results.statuses[library]) for library in TITLES]
    path.write_text("\n".join(parts), encoding="utf-8")


def _players(results: Results) -> list[str]:
    seen = {p for rows in results.statuses.values() for row in rows.values() for p in row}
    return [player for player in PLAYERS if player in seen]


def _lines(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def _summary(results: Results) -> str:
    players = _players(results)
    rows = []
    for library, title in TITLES.items():
        statuses = results.statuses[library]
        groups = {f"{title}, {len(statuses)} calls": list(statuses)}
        if library == "scipy":
            whole = [name for name in statuses if support_of(name) == "all"]
            groups[f"of these, SciPy's own support is complete ({len(whole)})"] = whole
        for label, names in groups.items():
            counts = [sum(statuses[n].get(p) == GOOD for n in names) for p in players]
            rows.append([label, *map(str, counts)])
        silent = [sum(s.get(p) in SILENT for s in statuses.values()) for p in players]
        rows.append([f"{title}: wrong, or the gradient silently missing", *map(str, silent)])
    return _lines(["right gradients", *(PLAYERS[p] for p in players)], rows)


def _legend(results: Results) -> str:
    seen = Counter(s for rows in results.statuses.values() for row in rows.values()
                   for s in row.values())  # fmt: skip
    rows = [
        [f"`{status}`", meaning.format(limit=LIMIT)]
        for status, meaning in MEANING.items() if status in seen
    ]  # fmt: skip
    if any(s.startswith(ERROR) for s in seen):
        rows.append(["`error!`", "another error, which is shown"])
    return "## What the words mean\n\n" + _lines(["status", "meaning"], rows)


def _table(library: str, statuses: Statuses) -> str:
    players = [p for p in PLAYERS if any(p in row for row in statuses.values())]
    remarks = {call.name: call.remark for call in calls_of(library) if call.remark}
    support = library == "scipy"
    head = ["function", *(["SciPy's support"] if support else []), *(PLAYERS[p] for p in players)]
    groups: dict[str, list[list[str]]] = {}
    notes: list[str] = []
    for name, row in statuses.items():
        mark = ""
        if name in remarks:
            notes.append(f"{len(notes) + 1}. `{name}`: {remarks[name]}.")
            mark = f" ({len(notes)})"
        cells = [f"`{name}`{mark}", *([support_of(name)] if support else [])]
        cells += [row.get(p, "").replace("|", "/") for p in players]
        groups.setdefault(name.partition(".")[0], []).append(cells)
    parts = [f"## {TITLES[library]}\n"]
    for group, rows in groups.items():
        right = sum(row[2 if support else 1] == GOOD for row in rows)
        parts += [f"### {library}.{group}: {right} of {len(rows)}\n", _lines(head, rows)]
    return "\n".join(parts) + ("\n" + "\n".join(notes) + "\n" if notes else "")
