"""The table of a `Summary`, by the library rich."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polygrad.errors import MissingLibraryError
from polygrad.sizes import size_text

if TYPE_CHECKING:
    from polygrad.nn.summary import Row, Summary

__all__ = ["as_html", "as_table", "as_text"]

_WIDE = 1000  # a table takes the width that it needs


def _rich(name: str) -> Any:
    """A module of rich."""
    import importlib  # noqa: PLC0415  beside what needs it

    try:
        return importlib.import_module(f"rich.{name}")
    except ImportError as error:
        raise MissingLibraryError(
            "the table of a summary needs the package 'rich'", "printing what pg.summary returned",
            "pip install 'polygrad[summary]'; its rows and totals can be read without",
        ) from error  # fmt: skip


def as_text(summary: Summary) -> str:
    """The table in plain characters."""
    file = io.StringIO()
    console = _rich("console").Console(file=file, width=_WIDE, color_system=None)
    console.print(as_table(summary))
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip().split("\n"))


def as_html(summary: Summary) -> str:
    """The table as HTML."""
    console = _rich("console").Console(file=io.StringIO(), width=_WIDE, record=True)
    console.print(as_table(summary))
    style = "font-family:Menlo,Consolas,monospace;line-height:1.2"
    form = f'<pre style="{style}">{{code}}</pre>'
    text: str = console.export_html(inline_styles=True, code_format=form)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def as_table(summary: Summary) -> Any:
    """What rich prints: the rows, then the totals."""
    text = _rich("text").Text
    table = _rich("table").Table(box=_rich("box").SIMPLE_HEAD, show_edge=False)
    rows = summary.shown()
    columns = [c for c in _COLUMNS if c[2](summary, rows)]
    for heading, _, _, justify in columns:
        table.add_column(heading, justify=justify, no_wrap=True)
    names = [text(name) for name in _tree(rows)]
    for name, row in zip(names, rows, strict=True):
        table.add_row(name, *(text(column[1](row)) for column in columns[1:]))
    return _rich("console").Group(table, text("\n".join(_totals(summary))))


# ---- cells --------------------------------------------------------------------------------------
def _tree(rows: list[Row]) -> list[str]:
    """The names with the lines of a tree."""
    made: list[str] = []
    open_levels: list[bool] = []  # whether more is to come on each level above
    for row in rows:
        title = f"{row.name} ({row.kind})" if row.name else row.kind
        if not row.depth:
            made.append(title)
            continue
        del open_levels[row.depth - 1 :]
        lines = "".join("│  " if more else "   " for more in open_levels)
        made.append(lines + ("└─ " if row.last else "├─ ") + title)
        open_levels.append(not row.last)
    return made


def _output(row: Row) -> str:
    """What it returned, the same thing once; or where it is shown."""
    if row.shared_with:
        return f"as {row.shared_with}"
    return " or ".join(dict.fromkeys(map(str, row.outputs)))


def _number(n: int) -> str:
    return f"{n:,}" if n else ""


def _memory(n: int) -> str:
    return size_text(n) if n else ""


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.2f} {name}"
    return f"{seconds * 1e6:.0f} µs"


Column = tuple[str, Callable[["Row"], str], Callable[["Summary", "list[Row]"], bool], str]
_COLUMNS: list[Column] = [
    ("layer", lambda row: row.name, lambda s, rows: True, "left"),
    ("output", _output, lambda s, rows: s.ran, "left"),
    ("calls", lambda row: _number(row.calls), lambda s, rows: any(r.calls > 1 for r in rows),
     "right"),
    ("parameters", lambda row: _number(row.parameters), lambda s, rows: True, "right"),
    ("trainable", lambda row: _number(row.trainable),
     lambda s, rows: any(r.trainable != r.parameters for r in rows), "right"),
    ("weights", lambda row: _memory(row.parameter_bytes + row.buffer_bytes), lambda s, rows: True,
     "right"),
    ("activations", lambda row: _memory(row.activation_bytes), lambda s, rows: s.ran, "right"),
    ("multiply-adds", lambda row: _number(row.multiply_adds or 0), lambda s, rows: s.ran, "right"),
    ("time", lambda row: _time(row.seconds), lambda s, rows: s.ran, "right"),
]  # fmt: skip


def _totals(summary: Summary) -> list[str]:
    """The lines under the table."""
    total = summary.totals
    made = ["", f"Parameters: {total.parameters:,}, of which {total.trainable:,} are trainable"]
    parts = [
        ("parameters", total.parameter_bytes), ("buffers", total.buffer_bytes),
        ("gradients", total.gradient_bytes), ("inputs", summary.input_bytes),
        ("activations", total.activation_bytes),
    ]  # fmt: skip
    shown = [f"{name} {_memory(size)}" for name, size in parts if size]
    made.append("Memory: " + (", ".join(shown) or "none"))
    if summary.ran:
        made.append(f"Multiply-adds: {total.multiply_adds or 0:,}")
        if summary.uncounted:
            paths = ", ".join(path or "the model itself" for path in summary.uncounted)
            made[-1] += f", not counting {paths}"
        made.append(f"Time of a forward: {_time(total.seconds)} on {summary.device or 'no device'}")
    return made
