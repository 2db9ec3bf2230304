"""JSON: the form that reports are kept, compared and published in.

`schema.json` beside this file says what is in it. Equal runs give equal bytes, but for the part
`volatile`, which has the times and dates.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import Any

from polygrad.errors import FileFormatError
from polygrad.io.writing import replacing
from polygrad_conformance.record import SCHEMA, Result, Run
from polygrad_conformance.report.compact import pack, shorten, unpack
from polygrad_conformance.report.groups import Report, cleaned, cleaned_texts, combine, groups_of
from polygrad_conformance.report.plain import canonical, shortened, strict, to_number
from polygrad_conformance.report.structure import fault

__all__ = [
    "NAME",
    "dumps",
    "loads",
    "read_full",
    "read_json",
    "same_results",
    "to_document",
    "write_json",
]

NAME = "polygrad-conformance"
# Characters of a message. One with more is a dump of an array; its start says what it is.
MESSAGE = 4000
_FIX = "Write it again with `polygrad-conformance run --report`, or fetch it again"
_VOLATILE = ("start", "seconds")
_FIGURES = ("measured", "bound")


def to_document(report: Report | Run, *, compact: bool = False) -> dict[str, Any]:
    """The report as plain data that follows the schema."""
    report = Report.of(report) if isinstance(report, Run) else report
    results = sorted(report.run.results, key=lambda r: r.id)
    document: dict[str, Any] = {
        "report": NAME, "schema": SCHEMA, "form": "compact" if report.compact else "full",
        "run": _metadata(report.run), "verdict": report.verdict,
        "counts": report.counts, "reached": report.reached, "sha256": report.sha256,
        "results": [_plain(r) for r in results],
    }  # fmt: skip
    if report.compact:
        document.update(pack(report.groups, results))
    else:
        document["sha256"] = digest(document)
        if compact:
            return to_document(shorten(replace(report, sha256=document["sha256"])))
    volatile: dict[str, Any] = {"start": report.run.start, "seconds": report.run.seconds}
    if not report.compact:
        volatile["ms"] = [round(r.ms, 3) for r in results]
    return {**document, "volatile": volatile}


def digest(document: dict[str, Any]) -> str:
    """SHA-256 of what a document says: all but its dates, its times and this."""
    said = {k: v for k, v in document.items() if k not in ("sha256", "volatile")}
    return sha256(canonical(said).encode()).hexdigest()


def _metadata(run: Run) -> dict[str, Any]:
    skipped = {"results", *_VOLATILE}
    return {f.name: _limited(getattr(run, f.name)) for f in fields(run) if f.name not in skipped}


def _limited(value: Any) -> Any:
    if isinstance(value, list):
        return [_limited(v) for v in value]
    return shortened(value, MESSAGE) if isinstance(value, str) else value


def _plain(result: Result) -> dict[str, Any]:
    made = {k: _limited(v) for k, v in result.to_dict().items() if k != "ms"}
    for name in _FIGURES:
        if name in made:
            made[name] = strict(getattr(result, name))
    return made


def dumps(document: dict[str, Any]) -> str:
    """The document as strict JSON: one line for each result and op, so that versions compare."""
    parts = [f"{json.dumps(key)}: {_value(key, value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _value(key: str, value: Any) -> str:
    if key in ("results", "ops", "run") and value:
        return _lines(value)
    if key == "groups" and value:
        return "[\n" + ",\n".join(_group(block) for block in value) + "\n]"
    return _json(value)


def _lines(value: Any) -> str:
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{_json(k)}: {_json(v)}" for k, v in value.items()) + "\n}"
    return "[\n" + ",\n".join(_json(item) for item in value) + "\n]"


def _group(block: dict[str, Any]) -> str:
    head = ", ".join(f"{_json(key)}: {_json(block[key])}" for key in ("status", "cause"))
    return f'{{{head}, "ops": {_lines(block["ops"])}}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write_json(report: Report | Run, path: str | Path, *, compact: bool = False) -> Path:
    """Write the report; at every moment the file is the old one or the whole new one.

    The compact form suits a repository: failures one by one, counts and worst errors of the rest.
    """
    text = dumps(to_document(report, compact=compact))
    with replacing(str(path)) as file:
        file.write(text.encode("utf-8"))
    return Path(path)


def read_json(path: str | Path) -> Report:
    """Read a report.

    Raises
    ------
    FileFormatError
        The file is not there, damaged, no report, or one of a later schema.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FileFormatError(
            f"the report {path} cannot be read: {error.strerror}", "", "Check the name"
        ) from error
    return loads(data, str(path))


def read_full(path: str | Path) -> Report:
    """Read a report that has every check; a compact one is a FileFormatError too."""
    report = read_json(path)
    if report.compact:
        raise FileFormatError(
            f"the report {path} is compact", "It has no records of the checks that passed",
            "Take the full report, which `polygrad-conformance run --report` writes",
        )  # fmt: skip
    return report


def loads(data: bytes, path: str = "report.json") -> Report:
    """The report in the bytes of a file; `path` is its name in errors."""
    document = _parsed(data, path)
    _check(document, path)
    times = document["volatile"].get("ms") or repeat(0.0)
    results = [_result(r, ms) for r, ms in zip(document["results"], times, strict=False)]
    volatile = {name: document["volatile"][name] for name in _VOLATILE}
    run = cleaned(Run(**document["run"], **volatile, results=results))
    compact = document["form"] == "compact"
    groups = groups_of(run.results)
    if compact:
        groups = combine([*groups, *map(cleaned_texts, unpack(document))])
    return Report(run, groups, compact, document["sha256"])


def _result(data: dict[str, Any], ms: float) -> Result:
    facts: dict[str, Any] = {k: to_number(v) if k in _FIGURES else v for k, v in data.items()}
    return Result(ms=ms, **facts)


def _parsed(data: bytes, path: str) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    try:
        return json.loads(data.decode("utf-8"), parse_constant=refuse, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise FileFormatError(
            f"the report {path} is damaged, or no JSON: {why}", "", _FIX
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'an object has "{twice[:80]}" twice')
    return made


def _check(document: Any, path: str) -> None:
    """Refuse what is no report, what a later suite wrote, and what breaks the schema."""
    if not isinstance(document, dict) or document.get("report") != NAME:
        raise FileFormatError(
            f"{path} is JSON, but no report of {NAME}", 'It has no "report" with that name', _FIX
        )
    theirs = document.get("schema")
    if isinstance(theirs, int) and theirs > SCHEMA:
        raise FileFormatError(
            f"the report {path} has schema {theirs}, and this suite reads up to {SCHEMA}",
            "A later version of polygrad wrote it",
            "Upgrade: pip install -U polygrad[conformance]",
        )
    for found in _faults(document):
        raise FileFormatError(f"the report {path} breaks schema {SCHEMA}", found, _FIX)


def _faults(document: dict[str, Any]) -> Iterator[str]:
    found = fault(document)
    if found:
        yield found
        return
    ids = [r["id"] for r in document["results"]]
    if len(set(ids)) != len(ids):
        twice = next(a for a in ids if ids.count(a) > 1)
        yield f"The id {twice} is there twice"
    times = document["volatile"].get("ms")
    if document["form"] == "full" and times is not None and len(times) != len(ids):
        yield f"There are {len(ids)} results and {len(times)} times"
    # The schema cannot say that one part names what is in another.
    named = {op for block in document.get("groups", ()) for op in block["ops"]}
    for op in sorted(named - set(document.get("ops", ()))):
        yield f"The op {op} of a group is not among the ops"


def same_results(a: Report, b: Report) -> bool:
    """Whether two runs gave the same, bit for bit, but for times and dates."""
    texts = []
    for report in (a, b):
        document = to_document(report)
        document.pop("volatile")
        texts.append(canonical(document))
    return texts[0] == texts[1]
