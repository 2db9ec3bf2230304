"""`package`: what a claim of conformance is published as, one file with all that it rests on."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from polygrad.errors import FileFormatError, PolygradError
from polygrad.io.writing import replacing
from polygrad.registry import entries, load
from polygrad_conformance.report.archive import pack_files
from polygrad_conformance.report.groups import Report
from polygrad_conformance.report.json_report import dumps, read_full, to_document
from polygrad_conformance.report.overview import command
from polygrad_conformance.report.plain import clean

__all__ = ["FILES", "SUMS", "Submitter", "add_arguments", "main", "make_package", "statement_of"]

SUMS = "SHA256SUMS"
REPORT, STATEMENT = "report.json", "statement.json"
MANIFEST, KNOWN = "manifest.json", "known_failures.toml"
FILES = (REPORT, STATEMENT, MANIFEST, KNOWN, SUMS)
# What a statement repeats from the report, so that it can be read without it.
REPEATED = (
    "backend", "backend_version", "device", "device_description", "driver", "polygrad_version",
    "suite_version", "seed_revision", "level", "profile", "selection", "declared", "digest",
)  # fmt: skip


@dataclass(frozen=True)
class Submitter:
    """Who publishes the claim, and what they want to say."""

    name: str = ""
    contact: str = ""
    comment: str = ""


def statement_of(report: Report, submitter: Submitter | None = None) -> dict[str, Any]:
    """What is claimed: the verdict, of what, and by whom."""
    submitter = submitter or Submitter()
    document = to_document(report)
    return {
        "statement": "polygrad-conformance", "schema": 1, "verdict": report.verdict,
        "conformant": report.conformant, **{name: document["run"][name] for name in REPEATED},
        "counts": report.counts, "sha256": document["sha256"], "command": command(report.run),
        "submitter": clean(submitter.name), "contact": clean(submitter.contact),
        "comment": clean(submitter.comment),
    }  # fmt: skip


def make_package(
    report: Report,
    *,
    manifest: Mapping[str, Any] | None = None,
    known: bytes = b"",
    submitter: Submitter | None = None,
) -> bytes:
    """The package of a full report: the same bytes for the same report.

    Parameters
    ----------
    report
        A full report.
    manifest
        The capabilities that the backend claims, as plain data.
    known
        The list of known failures that the run was made with, as it is in its file.
    submitter
        Who publishes the claim.
    """
    if report.compact:
        raise FileFormatError(
            "a package needs a full report", "This one has no records of the checks that passed",
            "Take the report that `polygrad-conformance run --report` wrote",
        )  # fmt: skip
    files = {
        REPORT: dumps(to_document(report)).encode(),
        STATEMENT: _json(statement_of(report, submitter)),
        MANIFEST: _json(dict(manifest or {})),
        KNOWN: known,
    }
    lines = [f"{sha256(files[name]).hexdigest()}  {name}" for name in sorted(files)]
    files[SUMS] = ("\n".join(lines) + "\n").encode()
    return pack_files(folder_of(report), files)


def folder_of(report: Report) -> str:
    """The name of the folder in a package: `polygrad-conformance-mychip-0-full`."""
    words = ["polygrad-conformance", report.run.device or report.run.backend, report.run.level]
    return re.sub(r"[^A-Za-z0-9._]+", "-", "-".join(words)).strip("-.")[:80]


def _json(data: Mapping[str, Any]) -> bytes:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1, default=_plain)
    return (text + "\n").encode()


def _plain(value: Any) -> Any:
    """Sets and tuples of a manifest as lists, other things by their name."""
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return str(value)


def _manifest(path: str | None, backend: str) -> dict[str, Any]:
    """The capabilities in a file, or those of the backend, if it is installed here."""
    if path:
        found: dict[str, Any] = json.loads(Path(path).read_bytes())
        return found
    if backend not in {entry.name for entry in entries()}:
        return {}
    try:
        return asdict(load(backend).capabilities)
    except PolygradError:
        return {}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the subcommand."""
    parser.add_argument("report", help="a full report")
    parser.add_argument("--out", help="the package to write; default: named after the device")
    parser.add_argument("--known", help="the list of known failures of the run")
    parser.add_argument(
        "--manifest",
        help="a JSON file: what the backend claims (default: its capabilities, if it is installed)",
    )
    parser.add_argument("--submitter", default="", help="who publishes the claim")
    parser.add_argument("--contact", default="", help="an address or a URL")
    parser.add_argument("--comment", default="", help="what there is to say about the run")


def main(args: argparse.Namespace, say: Callable[[str], None] = print) -> int:
    """Write a package: 0 done, 3 a file cannot be read."""
    try:
        report = read_full(args.report)
        known = Path(args.known).read_bytes() if args.known else b""
        manifest = _manifest(args.manifest, report.run.backend)
    except (FileFormatError, OSError, ValueError) as error:
        say(str(error))
        return 3
    submitter = Submitter(args.submitter, args.contact, args.comment)
    data = make_package(report, manifest=manifest, known=known, submitter=submitter)
    out = Path(args.out or f"{folder_of(report)}.tgz")
    with replacing(str(out)) as file:
        file.write(data)
    say(f"wrote {out}: {report.verdict}")
    if not report.conformant:
        say("note: the package says so; it is no claim of conformance")
    return 0
