"""Sums over the events of a profile, and their tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polygrad.errors import InvalidArgumentError
from polygrad.sizes import size_text

if TYPE_CHECKING:
    from polygrad.profiling.profiler import Event, profile

__all__ = ["Row", "rows", "table"]


@dataclass(frozen=True)
class Row:
    """What events of one name have in common.

    Attributes
    ----------
    name
        The operation, with ` backward` behind it for its rules; the kernel; `file:line function`.
    calls
        How many events.
    seconds
        What they took; of kernels, less what other events within them took.
    made, saved
        Bytes of arrays returned, and left for the backward.
    """

    name: str
    calls: int
    seconds: float
    made: int
    saved: int


def _operation(event: Event) -> str:
    return f"{event.name} backward" if event.phase == "backward" else event.name


def _kernel(event: Event) -> str:
    return f"rules of {event.name}" if event.rules else event.name


def _line(event: Event) -> str:
    file, number, function = event.line
    return f"{Path(file).name}:{number} {function}" if number else "polygrad's own threads"


# The name of an event's row, and whether what runs within other events has rows of its own.
_VIEWS: dict[str, tuple[Callable[[Event], str], bool]] = {
    "operation": (_operation, False), "kernel": (_kernel, True), "line": (_line, False),
}  # fmt: skip


def rows(events: Sequence[Event], by: str) -> list[Row]:
    """The events summed up, those that took longest first.

    Raises
    ------
    InvalidArgumentError
        `by` is neither `operation`, `kernel` nor `line`.
    """
    if by not in _VIEWS:
        raise InvalidArgumentError(
            f"by={by!r} is unknown", "table, argument by", "pass 'operation', 'kernel' or 'line'"
        )
    name, all_of_them = _VIEWS[by]
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if all_of_them or event.outermost:
            groups[name(event)].append(event)
    found = [
        Row(
            key, len(group), sum(e.own if all_of_them else e.seconds for e in group),
            sum(e.made for e in group), sum(e.saved for e in group),
        )
        for key, group in groups.items()
    ]  # fmt: skip
    return sorted(found, key=lambda row: -row.seconds)


def _bytes(n: int) -> str:
    return size_text(n) if n else ""


def _seconds(s: float) -> str:
    return f"{s * 1e3:.3f} ms" if s < 1 else f"{s:.3f} s"


def table(found: profile, by: str, limit: int) -> str:
    """A table in text, of `limit` rows; see `rows`."""
    summed = rows(found.events, by)
    whole = found.seconds or sum(row.seconds for row in summed)
    lines = [(f"by {by}", "calls", "time", "share", "each", "made", "saved")]
    lines += [
        (row.name, str(row.calls), _seconds(row.seconds), _share(row.seconds, whole),
         _seconds(row.seconds / row.calls), _bytes(row.made), _bytes(row.saved))
        for row in summed[:limit]
    ]  # fmt: skip
    if rest := summed[limit:]:
        seconds, calls = sum(row.seconds for row in rest), sum(row.calls for row in rest)
        more = _seconds(seconds), _share(seconds, whole)
        lines.append((f"{len(rest)} more", str(calls), *more, "", "", ""))
    outside = max(whole - sum(row.seconds for row in summed), 0.0)
    outer = _seconds(outside), _share(outside, whole)
    lines.append(("outside of operations", "", *outer, "", "", ""))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join([cells[0].ljust(widths[0]),
                   *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))]).rstrip()
        for cells in lines
    ]  # fmt: skip
    last = f"{_seconds(whole)} in all"
    if found.peak is not None:
        last += f", peak of host memory {size_text(found.peak)}"
    return "\n".join([*text, last])


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""
