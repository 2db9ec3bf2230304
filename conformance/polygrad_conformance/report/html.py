"""One HTML file: the matrix, then an operation, then its inputs. It loads nothing from elsewhere.

The matrix, the failures and the grade of each operation are plain HTML. The records of 20,000
checks lie in the page as JSON, of which a small script shows what is asked for.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from polygrad.io.writing import replacing
from polygrad_conformance.record import FAILURES, STATUSES, Result, Run
from polygrad_conformance.report.groups import Group, Report, gathered, number
from polygrad_conformance.report.overview import (
    Cell,
    backend_text,
    columns_of,
    command,
    error_text,
    matrix_of,
    next_step,
    rows_of,
    tails_of,
    totals,
    worst_of,
)
from polygrad_conformance.report.plain import canonical, needed, one_line, shortened

__all__ = ["environment", "policy_of", "style_and_script", "to_html", "write_html"]

FOLDER = Path(__file__).with_name("page")
# Failures that are shown without a script, and characters of a message.
SHOWN = 300
TEXT = 4000


class Cause(NamedTuple):
    """Why checks were not run, or are known to fail."""

    status: str
    text: str
    checks: int
    ops: str


def environment() -> Any:
    """Jinja's environment for the templates of this folder: what is filled in is escaped."""
    jinja2 = needed("jinja2", "The HTML report")
    made = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(FOLDER), keep_trailing_newline=True,
    )  # fmt: skip
    made.filters.update(
        error=lambda item: error_text(item, allowed=True),
        oneline=one_line,
        text=lambda text: shortened(text, TEXT),
    )
    return made


def style_and_script() -> tuple[Any, Any]:
    """The style sheet and the script of the page, marked as what need not be escaped."""
    css, js = ((FOLDER / f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return _trusted(css), _trusted(js)


def _trusted(text: str) -> Any:
    import markupsafe

    return markupsafe.Markup(text)  # noqa: S704  a file of ours, or JSON without <


def policy_of(*, style: str, script: str = "") -> str:
    """A policy under which nothing is loaded, and this style and script alone are obeyed."""
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for kind, text in (("style", style), ("script", script)):
        if text:
            hashed = base64.b64encode(sha256(text.encode()).digest()).decode()
            rules.append(f"{kind}-src 'sha256-{hashed}'")
    return "; ".join(rules)


def to_html(report: Report | Run) -> str:
    """The report as one HTML page."""
    report = Report.of(report) if isinstance(report, Run) else report
    made, (style, script) = environment(), style_and_script()
    failures, tails = report.failures, tails_of(report.groups)
    columns = columns_of(report.groups)
    return str(made.get_template("report.html").render(
        report=report, backend=backend_text(report.run), run=report.run,
        facts=list(_facts(report.run)), totals=totals(report),
        next_step=next_step(report), columns=columns,
        rows=[
            (row, [cells.get(c, Cell()) for c in columns], tails[row])
            for row, cells in matrix_of(report.groups).items()
        ],
        failures=[(r, command(report.run, r)) for r in failures[:SHOWN]],
        more_failures=max(len(failures) - SHOWN, 0),
        causes=_causes(report.groups), chapters=list(_chapters(report.groups)),
        policy=policy_of(style=style, script=script), style=style, script=script,
        data=_trusted(_folded(report)),
    ))  # fmt: skip


def write_html(report: Report | Run, path: str | Path) -> Path:
    """Write the page; at every moment the file is the old one or the whole new one."""
    text = to_html(report)
    with replacing(str(path)) as file:
        file.write(text.encode("utf-8"))
    return Path(path)


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    yield "level", run.level
    yield "profile", run.profile
    yield "suite", run.suite_version
    yield "polygrad", run.polygrad_version
    yield "seed revision", str(run.seed_revision)
    if run.device_description:
        yield "device", run.device_description
    if run.driver:
        yield "driver", run.driver
    if run.selection:
        yield "selection", run.selection
    yield "date", run.start
    yield "seconds", number(run.seconds)


def _causes(groups: Iterable[Group]) -> list[Cause]:
    found: dict[tuple[int, str], list[Group]] = {}
    for group in groups:
        if group.status not in FAILURES and group.status != "pass":
            found.setdefault((STATUSES.index(group.status), group.cause), []).append(group)
    return [
        Cause(STATUSES[status], one_line(cause, 400), sum(g.count for g in among),
              ", ".join(sorted({f"{g.op}/{g.dtype}/{g.check}" for g in among})))
        for (status, cause), among in sorted(found.items())
    ]  # fmt: skip


class Chapter(NamedTuple):
    """A chapter, the row of the matrix that it is in, and its operations by dtypes."""

    row: str
    place: str
    columns: list[str]
    ops: list[tuple[str, list[tuple[str, str]]]]


def _chapters(groups: list[Group]) -> Iterator[Chapter]:
    """Of each chapter its dtypes, and of each op the mark and the error of each dtype."""
    order = {row: i for i, row in enumerate(rows_of(groups))}
    places = gathered(groups, lambda g: (order[g.row], g.row, g.place))
    for (_, row, place), among in sorted(places.items()):
        columns = columns_of(among, fold=False)
        ops = gathered(among, lambda g: g.op)
        dtypes = {op: gathered(found, lambda g: g.dtype or "other") for op, found in ops.items()}
        marks = [
            (op, [_mark(dtypes[op].get(column, [])) for column in columns]) for op in sorted(ops)
        ]
        yield Chapter(row, place, columns, marks)


def _mark(groups: list[Group]) -> tuple[str, str]:
    """The status of what did not pass, else the grade; and the error, if it is not an A."""
    if not groups:
        return "", ""
    status = STATUSES[min(STATUSES.index(g.status) for g in groups)]
    worst = next(iter(worst_of(groups)), None)
    error = number(worst.measured) if worst and worst.grade != "A" else ""
    if status == "unsupported" and any(g.status == "pass" for g in groups):
        status = "pass"
    return (worst.grade if status == "pass" and worst else status), error


def _folded(report: Report) -> str:
    """The records as columns: numbers, and the places of strings in one list."""
    places: dict[str, int] = {}
    columns: dict[str, list[int]] = {name: [] for name in _COLUMNS}
    for row in _rows(report):
        for name, value in zip(_COLUMNS, row, strict=True):
            at = value if isinstance(value, int) else places.setdefault(value, len(places))
            columns[name].append(at)
    data = canonical({"strings": list(places), "columns": columns})
    # Within a script element a browser looks for its end, and for comments, in the text.
    return data.replace("<", "\\u003c")


_COLUMNS = (
    "id", "op", "dtype", "check", "status", "error", "grade", "worst", "message", "count",
)  # fmt: skip


def _rows(report: Report) -> Iterator[tuple[str | int, ...]]:
    for r in sorted(report.run.results, key=lambda r: r.id):
        yield (*_row(r, r.id), r.worst, shortened(_said(r), TEXT), 1)
    if report.compact:
        own = {(r.op, r.dtype, r.check, r.status) for r in report.run.results}
        for g in report.groups:
            if (g.op, g.dtype, g.check, g.status) not in own:
                yield (*_row(g, f"{g.op}/{g.dtype}/{g.check}"), g.worst, g.cause, g.count)


def _said(result: Result) -> str:
    return "\n".join(filter(None, [result.known, result.blocked_by, result.message]))


def _row(item: Result | Group, name: str) -> tuple[str, ...]:
    error = error_text(item, allowed=True)
    return name, item.op, item.dtype, item.check, item.status, error, item.grade
