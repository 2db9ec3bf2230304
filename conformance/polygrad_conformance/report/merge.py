"""`merge`: the parts of a run (`--part 1/8`, a selection, another day) as one report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

from polygrad.errors import FileFormatError, InvalidArgumentError
from polygrad_conformance.record import Result, Run
from polygrad_conformance.report.json_report import read_full, write_json
from polygrad_conformance.report.plain import one_line
from polygrad_conformance.report.terminal import render

__all__ = ["add_arguments", "main", "merge"]

# In these the parts of one run may differ.
FREE = frozenset({"selection", "start", "seconds", "stale", "exit_code", "results"})


def merge(runs: Iterable[Run]) -> Run:
    """One run of parts that were made with the same suite on the same device.

    Where the parts make up all that is declared, the run is whole: it has no selection.

    Raises
    ------
    InvalidArgumentError
        Parts of different runs; a check that has different results in two parts.
    """
    from polygrad_conformance.runner import exit_code

    parts = sorted(runs, key=lambda run: (run.start, run.selection))
    if not parts:
        raise InvalidArgumentError("there is nothing to merge", "", "Name the reports of the parts")
    first = parts[0]
    for part in parts[1:]:
        _must_match(first, part)
    results: dict[str, Result] = {}
    for part in parts:
        for result in part.results:
            _add(results, result)
    whole = len(results) == first.declared
    selections = sorted({p.selection for p in parts} - {""})
    merged = replace(
        first,
        selection="" if whole else "; ".join(selections) or "merged",
        seconds=sum(p.seconds for p in parts),
        stale=list(dict.fromkeys(line for p in parts for line in p.stale)),
        results=sorted(results.values(), key=lambda r: r.id),
    )
    merged.exit_code = exit_code(merged)
    return merged


def _must_match(first: Run, part: Run) -> None:
    for name in sorted({f.name for f in fields(Run)} - FREE):
        a, b = getattr(first, name), getattr(part, name)
        if a != b:
            shown = [one_line(repr(x)) for x in _difference(a, b)]
            raise InvalidArgumentError(
                f"these are parts of different runs: {name} is {shown[0]} and {shown[1]}", "",
                "Merge the parts of one run: same backend, device, level, versions, environment",
            )  # fmt: skip


def _difference(a: Any, b: Any) -> tuple[Any, Any]:
    """Of two dictionaries what differs, of other things the things."""
    if isinstance(a, dict) and isinstance(b, dict):
        names = [name for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)]
        return {n: a.get(n) for n in names}, {n: b.get(n) for n in names}
    return a, b


def _add(results: dict[str, Result], result: Result) -> None:
    """A check that ran goes before one that waited; two that ran must agree but for the time."""
    known = results.get(result.id)
    if known is None or known.status in ("blocked", "notrun"):
        results[result.id] = result
    elif result.status not in ("blocked", "notrun") and replace(known, ms=result.ms) != result:
        raise InvalidArgumentError(
            f"{result.id} is {known.status} in one part and {result.status} in another",
            "Results of one run on one device must agree",
            "Run the check by itself, twice: it may depend on the order or on chance",
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the subcommand."""
    parser.add_argument("reports", nargs="+", help="the reports of the parts, in the full form")
    parser.add_argument("--out", required=True, help="where to write the whole report")


def main(args: argparse.Namespace, say: Callable[[str], None] = print) -> int:
    """Merge reports into one: 0 conformant or passed, 1 failures, 3 they do not go together."""
    try:
        run = merge(read_full(path).run for path in args.reports)
    except (FileFormatError, InvalidArgumentError) as error:
        say(str(error))
        return 3
    write_json(run, args.out)
    render(run)
    return run.exit_code
