"""Runs that never ran: records of every status, for the tests of the reports."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from polygrad_conformance.record import FAILURES, STATUSES, Result, Run

CHAPTERS = [
    ("", "elementwise", 2), ("", "manipulation", 3), ("", "statistical", 4),
    ("nn", "functional", 6), ("linalg", "linalg", 7), ("special", "", 2),
]  # fmt: skip
DTYPES = ("float16", "float32", "float64", "complex64", "int8", "int32", "bool")
# What a report must carry without obeying it: markup of HTML, rich, XML, Markdown and terminals.
NASTY = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> [red]x[/red] ]]> &amp; | `a` \x1b[31m"
    " \x00 \ud800 \u202e é 漢字 🙂\r\nsecond line 'quoted' \"twice\" </textarea></title>"
    " {{ 7 * 7777 }}"
)


def result(name="exp/float32/value/0", status="pass", **facts):
    """A result by its id."""
    rest, _, layout = name.partition("@")
    op, dtype, check, sample = rest.split("/")
    made = {"chapter": "elementwise", "step": 2, **facts}
    if status == "known":
        made.setdefault("known", "expf without a fused path (https://example.org/17)")
    if status == "blocked":
        made.setdefault("blocked_by", "asarray/float32/value/0")
    return Result(name, op, dtype, check, sample, layout, status=status, **made)


def measured(name="cosh/float32/value/0", error=1.0, bound=4.0, grade="A", status="pass", **facts):
    """A result with a figure."""
    return result(
        name, status, measured=error, bound=bound, grade=grade, unit=facts.pop("unit", "ulp"),
        worst=facts.pop("worst", f"x={(error * 1.1).hex()}"), **facts,
    )  # fmt: skip


def run_of(*results, **facts):
    """A run with these results, at level full."""
    made = {
        "level": "full", "backend_version": "0.3", "device_description": "My Chip",
        "driver": "1.2", "polygrad_version": "0.1.0", "suite_version": "0.1.0",
        "seed_revision": 7, "environment": {"python": "3.11.7", "numpy": "2.3.0"},
        "start": "2026-11-30T09:00:00Z", "seconds": 12.5, "declared": len(results),
    }  # fmt: skip
    return Run("mychip", "mychip:0", results=list(results), **{**made, **facts})


def every_status():
    """A run with a result of each status, and figures that are no numbers."""
    results = [
        result(f"op{i}/float32/value/0", status, message=NASTY) for i, status in enumerate(STATUSES)
    ]
    results += [
        measured("cosh/float32/value/0", 24.4, grade="B"),
        measured("sinh/float64/value/0@strided", math.inf, grade="F", status="fail"),
        measured("tanh/float16/grad/0", math.nan, grade="F", status="fail", step=5),
        measured("tan/float16/value/0", 1e300, bound=1e301),
    ]
    return run_of(*results)


def synthetic(ops=40, seed=0, *, trouble=True):
    """A run of 42 checks for each op and dtype pair, with a share of failures if asked for."""
    chance = random.Random(seed)
    results = []
    for i in range(ops):
        space, chapter, step = CHAPTERS[i % len(CHAPTERS)]
        op = f"{space}.op{i}" if space else f"op{i}"
        for dtype in DTYPES:
            for check, count in (("value", 6), ("layout", 6), ("dtype", 2), ("grad", 4)):
                for sample in range(count):
                    layout = "@strided" if check == "layout" else ""
                    name = f"{op}/{dtype}/{check}/{sample}{layout}"
                    made = result(
                        name, space=space, chapter=chapter, step=5 if check == "grad" else step
                    )
                    if check in ("value", "grad") and not dtype.startswith(("int", "bool")):
                        made = _with_figure(made, chance)
                    if dtype == "float64" and i % 9 == 0:
                        made = result(
                            name, "unsupported", message="the manifest says: no float64",
                            space=space, chapter=chapter, step=step,
                        )  # fmt: skip
                    elif trouble and chance.random() < 0.003:
                        status = chance.choice(sorted(FAILURES))
                        made = replace(made, status=status, message="got 1.0, not 2.0", grade="F")
                    results.append(replace(made, ms=chance.random() * 10))
    return run_of(*results)


def _with_figure(made, chance):
    error, grade = chance.random() * 3, "A"
    if chance.random() < 0.02:
        error, grade = error * 4 + 4.1, "B"
    worst = f"x={(chance.random() * 80).hex()}"
    return replace(made, measured=error, bound=4.0, unit="ulp", grade=grade, worst=worst)
