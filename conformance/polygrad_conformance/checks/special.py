"""Special values: infinities, NaN and zeros, as `data/special_cases.toml` and IEEE 754 have them.

The sign of a zero counts, unless the standard leaves it open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad_conformance.case import Case, Element, Failed, Unsupported
from polygrad_conformance.checks import make, rests_on
from polygrad_conformance.declarations import load_data
from polygrad_conformance.samples import Sample
from polygrad_conformance.tolerance import format_of

_PI = {"pi/4": math.pi / 4, "pi/2": math.pi / 2, "3pi/4": 3 * math.pi / 4, "pi": math.pi}
_ULP = 8  # of multiples of pi, and of what else is not exact


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One for each row of the tables."""
    rows = rows_of(subject.key, dtype)
    call = _call(dtype, rows) if rows else None
    for place, row in enumerate(rows):

        def action(target: Any, place: int = place, row: Any = row) -> None:
            if not target.supports(dtype):
                raise Unsupported(f"{target.device} has no {dtype}")
            got = target.evaluate(subject, dtype, call).checked().results[0]
            _compare(got[place], row, dtype, call, place)

        name = ",".join(_operands(row, dtype))
        yield make(subject, dtype, "special", name, action, rests=rests_on(subject, dtype),
                   call=call)  # fmt: skip


def rows_of(key: str, dtype: str) -> list[list[str]]:
    """The rows of both tables for a dtype."""
    if dtype == "none" or dtypes.kind_of(dtypes.canonical(dtype)) < dtypes.REAL:
        return []
    kind = "complex" if dtype.startswith("complex") else "real"
    found: dict[tuple[str, ...], list[str]] = {}
    for table in ("special_cases", "more_special_cases"):
        for row in load_data(table).get(key, {}).get(kind, []):
            found.setdefault(tuple(_operands(row, dtype)), row)
    return list(found.values())


def _operands(row: list[str], dtype: str) -> list[str]:
    return row[:2] if dtype.startswith("complex") else row[:-1]


def _call(dtype: str, rows: list[list[str]]) -> Sample:
    """The operands of all rows, in one call."""
    columns = [np.array(c, float) for c in zip(*(_operands(r, dtype) for r in rows), strict=True)]
    if dtype.startswith("complex"):
        parts = np.empty(len(rows), dtype)
        parts.real, parts.imag = columns
        return Sample("special", (parts,))
    return Sample("special", tuple(c.astype(dtype) for c in columns))


def _compare(got: Any, row: list[str], dtype: str, call: Sample, place: int) -> None:
    wanted = row[2:] if dtype.startswith("complex") else row[-1:]
    parts = [got.real, got.imag] if len(wanted) == 2 else [got]
    if all(_is(p, w, dtype) for p, w in zip(parts, wanted, strict=True)):
        return
    found = [_number(w, dtype) for w in wanted]
    value = found[0][0] if len(found) == 1 else complex(found[0][0], found[1][0])
    signed = () if isinstance(value, bool) else tuple(not w.startswith("?") for w in wanted)
    raise Failed(
        f"of {' '.join(_operands(row, dtype))} it is {got}, expected {' '.join(wanted)}",
        element=Element(
            call, 0, place, call.args[0].shape, value, max(room for _, room in found), signed
        ),
    )


def _number(text: str, dtype: str) -> tuple[Any, float]:
    """What a table says, as a number, and how far from it a result may be."""
    if text in ("true", "false"):
        return text == "true", 0.0
    text = text.lstrip("?")
    bare = text.lstrip("+-")
    sign = -1.0 if text.startswith("-") else 1.0
    value = sign * _PI[bare] if bare in _PI else float(text)
    exact = not math.isfinite(value) or value == 0
    return value, 0.0 if exact else _ULP * 2 * format_of(dtype).unit * abs(value)


def _is(got: Any, wanted: str, dtype: str) -> bool:
    value, room = _number(wanted, dtype)
    if isinstance(value, bool):
        return bool(got) == value
    got = float(got)
    if math.isnan(value):
        return math.isnan(got)
    if wanted.startswith("?"):
        got, value = abs(got), abs(value)
    if value == 0 or math.isinf(value):
        return got == value and math.copysign(1, got) == math.copysign(1, value)
    return abs(got - value) <= room
