"""`verify`: does a package hold together, and does its report have all that had to run?

Checksums say that nothing was changed by accident. What was changed on purpose, checksums
included, shows where the parts contradict one another: the report is counted and graded again,
and its checks are compared with those that this suite declares. Who made a package, it cannot say.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from polygrad.errors import FileFormatError
from polygrad_conformance.record import FAILURES, Result, Run
from polygrad_conformance.report.archive import unpack_files
from polygrad_conformance.report.groups import Report
from polygrad_conformance.report.json_report import digest, loads
from polygrad_conformance.report.package import (
    FILES,
    KNOWN,
    MANIFEST,
    REPORT,
    STATEMENT,
    SUMS,
    Submitter,
    statement_of,
)
from polygrad_conformance.report.plain import one_line

__all__ = ["Declared", "add_arguments", "ids_digest", "main", "verify"]

# Of one kind of problem so many are named.
NAMED = 5

# The ids that this suite declares for the run of a report; an error if it cannot say.
Declared = Callable[[Run], Iterable[str]]


def ids_digest(ids: Iterable[str]) -> str:
    """SHA-256 of ids, sorted, one a line: what `Run.digest` is."""
    return sha256("\n".join(sorted(ids)).encode()).hexdigest()


def verify(data: bytes, path: str = "package.tgz", declared: Declared | None = None) -> list[str]:
    """What is wrong with a package, one sentence for each problem; empty if nothing is.

    With `declared` the checks of the report are compared with those that this suite declares.
    """
    try:
        files = unpack_files(data, path)
    except FileFormatError as error:
        return [str(error)]
    problems = list(_sums(files))
    if REPORT not in files:
        return problems
    try:
        report = loads(files[REPORT], REPORT)
    except FileFormatError as error:
        return [*problems, str(error)]
    problems += _report(report, json.loads(files[REPORT]))
    problems += _statement(report, files.get(STATEMENT, b""))
    problems += _others(files)
    if declared is not None:
        problems += _recount(report, declared)
    return problems


def _sums(files: dict[str, bytes]) -> Iterator[str]:
    """Every file is there and none beside them, each as its checksum says."""
    for name in FILES:
        if name not in files:
            yield f"{name} is missing"
    for name in sorted(set(files) - set(FILES)):
        yield f"{name} does not belong in a package"
    lines = files.get(SUMS, b"").decode("utf-8", "replace").splitlines()
    found = [match for line in lines if (match := re.fullmatch(r"([0-9a-f]{64})  (\S+)", line))]
    if len(found) != len(lines):
        yield f"{SUMS} has a line that is no checksum"
    sums = {match[2]: match[1] for match in found}
    if len(sums) != len(found):
        yield f"{SUMS} names a file twice"
    for name in sorted(set(sums) - set(files)):
        yield f"{SUMS} names {one_line(name)}, which is not there"
    for name in sorted(set(files) - {SUMS}):
        if name not in sums:
            yield f"{SUMS} does not name {name}"
        elif sha256(files[name]).hexdigest() != sums[name]:
            yield f"{name} is not what its checksum says"


def _report(report: Report, document: dict[str, Any]) -> Iterator[str]:
    """The report says the same of itself as its results do."""
    if report.compact:
        yield f"{REPORT} is compact: a package needs every check"
        return
    if digest(document) != report.sha256:
        yield f"{REPORT} was changed: its results are not those of its sha256"
    if {k: v for k, v in document["counts"].items() if v} != {
        k: v for k, v in report.counts.items() if v
    }:
        yield f"{REPORT} counts other than its results: {document['counts']}"
    if document["reached"] != report.reached:
        yield f"{REPORT} says step {document['reached']}, its results say {report.reached}"
    if document["verdict"] != report.verdict:
        yield f"{REPORT} says {one_line(document['verdict'])}, its results say {report.verdict}"
    yield from _some(filter(None, map(_contradiction, report.run.results)))


def _contradiction(result: Result) -> str:
    """What a result says against itself; empty if nothing."""
    parts = [result.op, result.dtype, result.check, result.sample]
    name = "/".join(parts) + (f"@{result.layout}" if result.layout else "")
    if result.id != name:
        return f"{result.id} is the record of {name}"
    if result.status == "pass" and result.grade == "F":
        return f"{result.id} passed with grade F"
    if result.status == "known" and not result.known:
        return f"{result.id} is known to fail, and no entry says so"
    measured, bound = result.measured, result.bound
    if measured is None or bound is None or not result.grade or result.status in FAILURES:
        return ""
    budget = {"A": bound, "B": 8 * bound}.get(result.grade, math.inf)
    if math.isnan(measured) or (measured > budget and result.grade in "AB"):
        return (
            f"{result.id} has grade {result.grade} with {measured:.4g} where {bound:.4g} is allowed"
        )
    return ""


def _statement(report: Report, data: bytes) -> Iterator[str]:
    """The statement repeats the report."""
    try:
        said = json.loads(data)
        submitter = Submitter(said["submitter"], said["contact"], said["comment"])
        expected = json.loads(json.dumps(statement_of(report, submitter)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        yield f"{STATEMENT} is damaged"
        return
    for name in sorted(said.keys() | expected.keys()):
        if said.get(name) != expected.get(name):
            mine, its = one_line(repr(said.get(name))), one_line(repr(expected.get(name)))
            yield f"{STATEMENT} says {name} is {mine}; by the report it is {its}"


def _others(files: dict[str, bytes]) -> Iterator[str]:
    try:
        tomllib.loads(files.get(KNOWN, b"").decode())
    except (ValueError, RecursionError) as error:
        yield f"{KNOWN} is damaged: {one_line(str(error))}"
    try:
        json.loads(files.get(MANIFEST, b"{}"))
    except (ValueError, RecursionError) as error:
        yield f"{MANIFEST} is damaged: {one_line(str(error))}"


def _recount(report: Report, declared: Declared) -> Iterator[str]:
    """The report has a result for each check that this suite declares, and no others."""
    run = report.run
    try:
        ids = set(declared(run))
    except FileFormatError as error:
        yield str(error)
        return
    if ids_digest(ids) != run.digest or len(ids) != run.declared:
        yield (f"{REPORT} is of {run.declared} declared checks; this suite declares {len(ids)}, "
               "or others")  # fmt: skip
    there = {r.id for r in run.results}
    if not run.selection:
        yield from _some(f"{name} is declared, and not in {REPORT}" for name in sorted(ids - there))
    yield from _some(f"{name} is in {REPORT}, and not declared" for name in sorted(there - ids))


def _some(problems: Iterable[str]) -> Iterator[str]:
    found = list(problems)
    yield from found[:NAMED]
    if len(found) > NAMED:
        yield f"and {len(found) - NAMED} more like this"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the subcommand."""
    parser.add_argument("package", help="the .tgz that `package` wrote")
    parser.add_argument(
        "--no-recount", action="store_true",
        help="do not compare with the checks that this suite declares: it has another version",
    )  # fmt: skip


def main(args: argparse.Namespace, say: Callable[[str], None] = print) -> int:
    """Verify a package: 0 it holds together, 1 it does not, 3 it cannot be read."""
    try:
        data = Path(args.package).read_bytes()
    except OSError as error:
        say(f"the package {args.package} cannot be read: {error.strerror}")
        return 3
    from polygrad_conformance.report.commands import declared

    problems = verify(data, args.package, None if args.no_recount else declared)
    for problem in problems:
        say(problem)
    if problems:
        say(f"NOT VERIFIED: {len(problems)} problems")
        return 1
    report = loads(unpack_files(data, args.package)[REPORT], REPORT)
    say(f"verified: {report.verdict}")
    say("Checksums, counts, grades and the statement agree. Who made the package, it cannot prove.")
    return 0
