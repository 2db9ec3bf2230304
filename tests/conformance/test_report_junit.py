"""JUnit XML: what the schemas of Jenkins (junit-10.xsd) and Maven Surefire 3 allow."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from polygrad_conformance.report.junit import to_xml, write_junit
from tests.conformance.records import NASTY, every_status, measured, result, run_of, synthetic

# Facts of both schemas: attributes (required, optional) and children in order of Surefire.
ATTRIBUTES = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"time"}),
    "testcase": ({"name", "time"}, {"classname"}),
    "failure": ({"type"}, {"message"}),
    "error": ({"type"}, {"message"}),
    "skipped": (set(), {"message"}),
    "property": ({"name", "value"}, set()),
    "properties": (set(), set()),
    "system-out": (set(), set()),
}
CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase"],
    "testcase": ["failure", "skipped", "error", "system-out"],
    "properties": ["property"],
}
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?")


def parsed(xml):
    return ET.fromstring(xml)  # noqa: S314  it is ours


def faults(element):
    """What breaks the facts above."""
    required, optional = ATTRIBUTES[element.tag]
    names = set(element.attrib)
    if not required <= names <= required | optional:
        yield f"{element.tag} has {sorted(names)}"
    if not TIME.fullmatch(element.get("time", "")):
        yield f"time {element.get('time')}"
    allowed = CHILDREN.get(element.tag, [])
    tags = [child.tag for child in element]
    if not set(tags) <= set(allowed) or tags != sorted(tags, key=allowed.index):
        yield f"{element.tag} has {tags}"
    elif element.tag in ("testcase", "testsuite"):
        single = [t for t in tags if t != "testcase"]
        if len(single) != len(set(single)):
            yield f"{element.tag} has {single}"
    for child in element:
        if child.tag in ATTRIBUTES:
            yield from faults(child)


@pytest.mark.parametrize("make", [every_status, run_of, lambda: synthetic(4)])
def test_the_strict_form_is_what_both_schemas_allow(make):
    assert list(faults(parsed(to_xml(make(), strict=True)))) == []


def test_the_usual_form_has_properties_of_a_check_besides():
    root = parsed(to_xml(every_status()))
    for case in root.iter("testcase"):
        for properties in case.findall("properties"):
            assert list(faults(properties)) == []
            assert case[0] is properties
            case.remove(properties)
    assert list(faults(root)) == []


def test_one_case_for_each_check_and_one_kind_for_each_status():
    root = parsed(to_xml(every_status()))
    kinds = {
        c.get("name"): [e.tag for e in c if e.tag != "properties"] for c in root.iter("testcase")
    }
    assert len(kinds) == 14
    assert [kinds[f"op{i}/float32/value/0"] for i in range(10)] == [
        ["failure"], ["error"], ["error"], ["error"], ["failure"],
        ["skipped"], ["skipped"], ["skipped"], ["skipped"], [],
    ]  # fmt: skip
    (suite,) = root.findall("testsuite")
    counted = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counted == ["14", "4", "3", "4"]


def test_a_suite_for_each_chapter_adds_up_to_the_whole():
    root = parsed(to_xml(synthetic(12)))
    suites = root.findall("testsuite")
    assert [s.get("name") for s in suites] == [
        "elementwise", "linalg", "manipulation", "nn.functional", "special", "statistical",
    ]  # fmt: skip
    for name in ("tests", "failures", "errors"):
        assert int(root.get(name)) == sum(int(s.get(name)) for s in suites) > 0
    cases = list(root.iter("testcase"))
    assert len(cases) == int(root.get("tests"))
    assert cases[0].get("classname") == "elementwise.op0"


def test_the_figures_of_a_check_are_its_properties():
    case = next(parsed(to_xml(run_of(measured(error=2.25)))).iter("testcase"))
    found = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert found == {"measured": "2.25", "bound": "4", "unit": "ulp", "grade": "A",
                     "worst": f"x={(2.25 * 1.1).hex()}"}  # fmt: skip
    case = next(parsed(to_xml(run_of(measured(error=2.25)), strict=True)).iter("testcase"))
    assert case.findtext("system-out").splitlines()[0] == "measured: 2.25"


def test_any_text_is_text(tmp_path):
    run = run_of(
        result(status="fail", message=NASTY, worst=NASTY),
        result("a/int8/value/0", "known", known=NASTY),
    )
    run.environment = {NASTY: NASTY}
    path = write_junit(run, tmp_path / "junit.xml")
    root = parsed(path.read_bytes())
    failure = root.find(".//failure")
    assert "<script>alert(1)</script>" in failure.text
    assert "漢字 🙂\nsecond line" in failure.text
    assert r"\x00" in failure.text
    assert "\n" not in failure.get("message")
    assert not root.findall(".//script")


def test_a_huge_message_is_cut():
    assert len(to_xml(run_of(result(status="error", message="<" * 5_000_000)))) < 50_000


def test_times_have_no_exponent():
    run = run_of(result(ms=1e-9), result("a/int8/value/0", ms=123456789.123))
    times = [c.get("time") for c in parsed(to_xml(run)).iter("testcase")]
    assert times == ["123456.789", "0.000"]
