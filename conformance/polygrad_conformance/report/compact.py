"""The short form of a report: failures one by one, everything else by op, dtypes and check.

A full report of 20,000 checks has megabytes. In a repository what passed is enough as a count for
each op, dtype and check, with the worst error that was measured and its input.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from polygrad_conformance.record import STATUSES, Result
from polygrad_conformance.report.groups import Group, Report, combine, gathered, groups_of
from polygrad_conformance.report.plain import canonical, short_hex, shortened, strict, to_number

__all__ = ["KEPT", "TEXT", "pack", "shorten", "unpack"]

# Failures that keep their own record, and characters of their messages.
KEPT = 400
TEXT = 300

Cell = int | list[Any]
# Of one op: check, dtype, cell.
Cells = dict[str, dict[str, Cell]]


def shorten(report: Report) -> Report:
    """The compact form of a full report."""
    failures = report.failures
    kept = [_shortened(r) for r in failures[:KEPT]]
    ids = {r.id for r in kept}
    groups = groups_of(r for r in report.run.results if r.id not in ids)
    groups = combine(replace(g, cause=shortened(g.cause, TEXT)) for g in groups)
    run = replace(report.run, results=sorted(kept, key=lambda r: r.id))
    return Report(run, combine([*groups_of(kept), *groups]), compact=True, sha256=report.sha256)


def _shortened(result: Result) -> Result:
    return replace(
        result,
        message=shortened(result.message, TEXT),
        worst=shortened(result.worst, TEXT),
        known=shortened(result.known, TEXT),
    )


def pack(groups: list[Group], kept: list[Result]) -> dict[str, Any]:
    """The groups as plain data, less the results that have records of their own."""
    rest = _less(groups, kept)
    places = _places(rest)
    blocks: dict[tuple[int, str], dict[str, Cells]] = {}
    for group in rest:
        ops = blocks.setdefault((STATUSES.index(group.status), group.cause), {})
        ops.setdefault(group.op, {}).setdefault(group.check, {})[group.dtype] = _cell(group)
    return {
        "ops": places,
        "groups": [
            {"status": STATUSES[status], "cause": cause,
             "ops": {op: _folded(cells, places[op][3]) for op, cells in sorted(ops.items())}}
            for (status, cause), ops in sorted(blocks.items())
        ],
    }  # fmt: skip


def _less(groups: list[Group], kept: list[Result]) -> list[Group]:
    counts = {g.key: g.count for g in groups_of(kept)}
    rest = (replace(g, count=g.count - counts.get(g.key, 0)) for g in groups)
    return [g for g in rest if g.count]


def _places(groups: list[Group]) -> dict[str, list[Any]]:
    """Of each op its space, chapter, usual step and dtypes, and the checks with other steps."""
    found: dict[str, list[Any]] = {}
    for op, among in sorted(gathered(groups, lambda g: g.op).items()):
        steps = {g.check: g.step for g in among}
        usual = min(steps.values())
        others = _joined({check: step for check, step in steps.items() if step != usual})
        dtypes = " ".join(sorted({g.dtype for g in among}))
        found[op] = [among[0].space, among[0].chapter, usual, dtypes, *([others] if others else [])]
    return found


def _cell(group: Group) -> Cell:
    """A count; or count, grade, measured, bound, input, unit, less what is usual at the end."""
    if group.measured is None and not group.grade:
        return group.count
    figures = [strict(_rounded(x)) for x in (group.measured, group.bound)]
    if group.grade in ("", "A"):
        # Where accuracy is as it should be, the figures of values tell it; others tell the same.
        figures = figures if group.check == "value" else [None, None]
    told = figures[0] is not None
    worst, unit = (group.worst, group.unit) if told else ("", "")
    cell = [group.count, group.grade, *figures, shortened(short_hex(worst), TEXT), unit]
    for usual in (_unit_of(cell[2], cell[3]), "", None, None):
        if cell[-1] != usual:
            break
        cell.pop()
    return cell


def _unit_of(measured: Any, bound: Any) -> str:
    """The unit that need not be said: shares have the bound 1, and budgets of ULP have others."""
    return "" if measured is None else "ratio" if bound == 1 else "ulp"


def _rounded(value: float | None) -> float | None:
    """Three digits; whole numbers as such, which are shorter."""
    if value is None or not math.isfinite(value):
        return value
    rounded = float(f"{value:.3g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e6 else rounded


def _folded(cells: Cells, dtypes: str) -> dict[str, Any]:
    """By checks a cell for all dtypes of the op, or cells by dtypes; what is the same, once."""
    made: dict[str, Any] = {}
    for check, by_dtype in cells.items():
        joined = _joined(by_dtype)
        made[check] = joined.get(dtypes, joined)
    return _joined(made)


def _joined(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is the same for several names, once: under all of them, set apart by spaces."""
    found: dict[str, list[str]] = {}
    for name, value in sorted(values.items()):
        found.setdefault(canonical(value), []).append(name)
    return {" ".join(names): json.loads(value) for value, names in found.items()}


def _parted(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The pairs that `_joined` joined."""
    for names, value in values.items():
        for name in names.split(" "):
            yield name, value


def unpack(data: dict[str, Any]) -> Iterator[Group]:
    """The groups of `pack`."""
    for block in data["groups"]:
        for op, checks in block["ops"].items():
            space, chapter, usual, dtypes, *others = data["ops"][op]
            steps = dict(_parted(others[0])) if others else {}
            for check, found in _parted(checks):
                cells = found if isinstance(found, dict) else {dtypes: found}
                for dtype, cell in _parted(cells):
                    figures = [cell] if isinstance(cell, int) else cell
                    yield Group(
                        op, dtype, check, block["status"], block["cause"], space, chapter,
                        steps.get(check, usual), **_figures(*figures),
                    )  # fmt: skip


def _figures(
    count: int, grade: str = "", measured: Any = None, bound: Any = None,
    worst: str = "", unit: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "count": count, "grade": grade, "measured": to_number(measured),
        "bound": to_number(bound), "worst": worst,
        "unit": _unit_of(measured, bound) if unit is None else unit,
    }  # fmt: skip
