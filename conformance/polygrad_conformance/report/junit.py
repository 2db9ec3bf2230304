"""JUnit XML: what CI servers read. One test case for each check, one suite for each chapter.

The structure is the one that the schemas of Jenkins (junit-10.xsd) and Maven Surefire both allow,
but for one thing: neither lets a test case have properties, which most servers read all the same.
`strict=True` gives the figures as text of `system-out` instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from polygrad.io.writing import replacing
from polygrad_conformance.record import Result, Run
from polygrad_conformance.report.groups import Report, cleaned, number, place_of
from polygrad_conformance.report.plain import one_line, shortened

__all__ = ["to_xml", "write_junit"]

# Of one message. Servers keep every report in memory.
TEXT = 4000
# A failure is a wrong result; an error kept the check from having one.
ELEMENTS = {
    "fail": "failure", "fixed": "failure", "error": "error", "crash": "error", "timeout": "error",
    "known": "skipped", "unsupported": "skipped", "blocked": "skipped", "notrun": "skipped",
}  # fmt: skip


def to_xml(report: Report | Run, *, strict: bool = False) -> bytes:
    """The report as JUnit XML. A compact report has test cases for its failures only."""
    run = report.run if isinstance(report, Report) else cleaned(report)
    root = ET.Element("testsuites", name=f"polygrad-conformance {run.backend}")
    chapters: dict[str, list[Result]] = {}
    for result in sorted(run.results, key=lambda r: r.id):
        chapters.setdefault(place_of(result), []).append(result)
    for place, results in sorted(chapters.items()):
        suite = ET.SubElement(root, "testsuite", {"name": place, **_sums(results)})
        _properties(suite, _facts(run))
        for result in results:
            suite.append(_case(place, result, strict=strict))
    for name, value in _sums(run.results).items():
        if name != "skipped":  # that of `testsuites` is not in Jenkins' schema
            root.set(name, value)
    ET.indent(root, " ")
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _sums(results: list[Result]) -> dict[str, str]:
    kinds = [ELEMENTS.get(r.status, "") for r in results]
    return {
        "tests": str(len(results)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": _seconds(sum(r.ms for r in results)),
    }


def _seconds(ms: float) -> str:
    """Surefire's form: at most three digits after the point, no exponent."""
    return f"{ms / 1000:.3f}"


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    for name in (
        "backend", "backend_version", "device", "device_description", "driver", "polygrad_version",
        "suite_version", "seed_revision", "level", "profile", "selection", "start",
    ):  # fmt: skip
        value = getattr(run, name)
        if value != "":
            yield name, str(value)
    yield from sorted(run.environment.items())


def _properties(parent: ET.Element, facts: Iterator[tuple[str, str]]) -> None:
    pairs = [(name, value) for name, value in facts if value]
    if pairs:
        element = ET.SubElement(parent, "properties")
        for name, value in pairs:
            ET.SubElement(element, "property", name=name, value=value)


def _figures(result: Result) -> Iterator[tuple[str, str]]:
    yield "measured", number(result.measured)
    yield "bound", number(result.bound)
    yield "unit", result.unit
    yield "grade", result.grade
    yield "worst", result.worst
    yield "blocked_by", result.blocked_by
    yield "known", result.known


def _case(place: str, result: Result, *, strict: bool) -> ET.Element:
    case = ET.Element(
        "testcase", classname=f"{place}.{result.op}", name=result.id,
        time=_seconds(result.ms),
    )  # fmt: skip
    if not strict:
        _properties(case, _figures(result))
    element = ELEMENTS.get(result.status)
    if element:
        said = result.known or result.message or result.blocked_by
        child = ET.SubElement(case, element, message=one_line(f"{result.status}: {said}"))
        if element != "skipped":  # Surefire's has no type
            child.set("type", result.status)
        child.text = shortened(result.message, TEXT)
    figures = "\n".join(f"{name}: {value}" for name, value in _figures(result) if value)
    if strict and figures:
        ET.SubElement(case, "system-out").text = figures
    return case


def write_junit(report: Report | Run, path: str | Path, *, strict: bool = False) -> Path:
    """Write JUnit XML; at every moment the file is the old one or the whole new one."""
    with replacing(str(path)) as file:
        file.write(to_xml(report, strict=strict))
    return Path(path)
