"""The short form of a report: failures one by one, everything else by op, dtypes and check.

A full report of 20,000 checks has megabytes. In a repository what passed is enough as a count for
each op, dtype and check, with the worst error that was measured and its input.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polygrad_conformance.record import STATUSES, Result
from polygrad_conformance.report.groups import Group, Report, combine, groups_of
from polygrad_conformance.report.plain import canonical, short_hex, shortened, strict, to_number

__all__ = ["KEPT", "TEXT", "pack", "shorten", "unpack"]

# Failures that keep their own record, and characters of their messages.
KEPT = 400
TEXT = 300
# The checks whose errors are kept where they have grade A.
FIGURES = ("value", "grad", "gradgrad")

Cell = int | list[Any]
Ops = dict[str, dict[str, dict[str, Cell]]]


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
    blocks: dict[tuple[int, str], Ops] = {}
    rest = _less(groups, kept)
    for group in rest:
        ops = blocks.setdefault((STATUSES.index(group.status), group.cause), {})
        ops.setdefault(group.op, {}).setdefault(group.dtype, {})[group.check] = _cell(group)
    return {
        "ops": _places(rest),
        "groups": [
            {"status": STATUSES[status], "cause": cause,
             "ops": {op: _folded(dtypes) for op, dtypes in sorted(ops.items())}}
            for (status, cause), ops in sorted(blocks.items())
        ],
    }  # fmt: skip


def _less(groups: list[Group], kept: list[Result]) -> list[Group]:
    counts = {g.key: g.count for g in groups_of(kept)}
    rest = (replace(g, count=g.count - counts.get(g.key, 0)) for g in groups)
    return [g for g in rest if g.count]


def _places(groups: list[Group]) -> dict[str, list[Any]]:
    """Of each op its space and chapter, and the steps of its checks: the usual one, and others."""
    steps: dict[str, dict[str, int]] = {}
    places: dict[str, tuple[str, str]] = {}
    for group in groups:
        places.setdefault(group.op, (group.space, group.chapter))
        steps.setdefault(group.op, {}).setdefault(group.check, group.step)
    found: dict[str, list[Any]] = {}
    for op in sorted(places):
        usual = min(steps[op].values())
        others = {check: step for check, step in sorted(steps[op].items()) if step != usual}
        found[op] = [*places[op], usual, *([others] if others else [])]
    return found


def _cell(group: Group) -> Cell:
    """A count; or count, grade, measured, bound, input, unit, less what is usual at the end."""
    if group.measured is None and not group.grade:
        return group.count
    figures = [strict(_rounded(x)) for x in (group.measured, group.bound)]
    if group.grade in ("", "A"):
        # Where accuracy is as it should be, values and gradients tell it, and values the input.
        figures = figures if group.check in FIGURES else [None, None]
    worst = group.worst if group.check == "value" or group.grade not in ("", "A") else ""
    unit = group.unit if figures[0] is not None else ""
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


def _folded(dtypes: dict[str, dict[str, Cell]]) -> dict[str, dict[str, Cell]]:
    """What is the same for several dtypes, once: under their names, set apart by spaces."""
    shared: dict[str, list[str]] = {}
    for dtype, cells in sorted(dtypes.items()):
        common = {k: v for k, v in cells.items() if not _has_figures(v)}
        if common:
            shared.setdefault(canonical(common), []).append(dtype)
    made: dict[str, dict[str, Cell]] = {
        " ".join(names): json.loads(cells) for cells, names in shared.items()
    }
    for dtype, cells in sorted(dtypes.items()):
        own = {k: v for k, v in sorted(cells.items()) if _has_figures(v)}
        if own:
            made[dtype] = {**made.get(dtype, {}), **own}
    return made


def _has_figures(cell: Cell) -> bool:
    return isinstance(cell, list) and len(cell) > 2


def unpack(data: dict[str, Any]) -> Iterator[Group]:
    """The groups of `pack`."""
    places = data["ops"]
    for block in data["groups"]:
        for op, dtypes in block["ops"].items():
            space, chapter, usual, *others = places[op]
            steps = others[0] if others else {}
            for names, cells in dtypes.items():
                for dtype in names.split(" "):
                    for check, cell in cells.items():
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
