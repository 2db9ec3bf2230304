"""JSON reports: strict, stable, true to the schema; read back, or refused with a reason."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace

import pytest

from polygrad.errors import FileFormatError
from polygrad_conformance.declarations import LEVELS
from polygrad_conformance.record import GRADES, SCHEMA, STATUSES, UNITS, Result, Run
from polygrad_conformance.report import Report, read_json, same_results, write_json
from polygrad_conformance.report.json_report import MESSAGE, dumps, loads, read_full, to_document
from polygrad_conformance.report.structure import KEYWORDS, fault, schema
from tests.conformance.records import NASTY, every_status, measured, result, run_of, synthetic

# Of six backends, in a repository.
LARGEST = 300_000


def strict_json(text):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def validator():
    jsonschema = pytest.importorskip(
        "jsonschema", reason="jsonschema is not installed here (2026-11-30: optional outside CI)"
    )
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema())
    return kind(schema())


def documents():
    runs = {"every status": every_status(), "empty": run_of(), "many": synthetic(6)}
    return {
        f"{name}, {form}": to_document(run, compact=form == "compact")
        for name, run in runs.items() for form in ("full", "compact")
    }  # fmt: skip


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("make", [every_status, run_of, synthetic], ids=["all", "none", "many"])
def test_a_report_is_read_as_it_was_written(make, compact, tmp_path):
    path = write_json(make(), tmp_path / "report.json", compact=compact)
    report = read_json(path)
    again = write_json(report, tmp_path / "again.json")
    assert again.read_bytes() == path.read_bytes()
    assert report.compact == compact
    assert report.counts == Report.of(make()).counts
    assert report.verdict == Report.of(make()).verdict
    assert report.reached == Report.of(make()).reached


def test_figures_that_are_no_numbers_survive():
    text = dumps(to_document(every_status()))
    strict_json(text)
    found = {r.id: r.measured for r in loads(text.encode()).run.results}
    assert found["sinh/float64/value/0@strided"] == math.inf
    assert math.isnan(found["tanh/float16/grad/0"])
    assert found["tan/float16/value/0"] == 1e300
    assert found["op0/float32/value/0"] is None


def test_all_fields_survive():
    run = synthetic(3)
    read = loads(dumps(to_document(run)).encode()).run
    assert {r.id: replace(r, ms=0) for r in read.results} == {
        r.id: replace(r, ms=0) for r in run.results
    }
    assert replace(read, results=[]) == replace(run, results=[])
    assert max(abs(a.ms - b.ms) for a, b in zip(
        sorted(read.results, key=lambda r: r.id), sorted(run.results, key=lambda r: r.id),
        strict=True,
    )) <= 0.0005  # fmt: skip


@pytest.mark.parametrize("name", documents())
def test_a_report_follows_the_published_schema(name):
    document = strict_json(dumps(documents()[name]))
    assert not fault(document)
    assert [e.message for e in validator().iter_errors(document)] == []


def test_the_schema_uses_only_what_our_reader_understands():
    def keywords(rule):
        found = set(rule)
        for name in ("properties", "$defs"):
            for inner in rule.get(name, {}).values():
                found |= keywords(inner)
        inner = [rule.get("items"), rule.get("additionalProperties")]
        inner += [*rule.get("anyOf", ()), *rule.get("prefixItems", ())]
        return found.union(*(keywords(r) for r in inner if isinstance(r, dict)))

    assert keywords(schema()) <= KEYWORDS


def test_the_schema_knows_every_field_of_the_records():
    rules = schema()["$defs"]
    volatile = {"results", "start", "seconds", "ms"}
    for kind, name in ((Run, "run"), (Result, "result")):
        known = {f.name for f in fields(kind)} - volatile
        assert set(rules[name]["properties"]) == known, name
    assert set(rules["status"]["enum"]) == set(STATUSES)
    assert rules["grade"]["enum"] == ["", *GRADES]
    assert rules["unit"]["enum"] == list(UNITS)
    assert rules["run"]["properties"]["level"]["enum"] == list(LEVELS)
    assert schema()["properties"]["schema"]["const"] == SCHEMA


def spoiled(document):
    """Copies of a document with one thing wrong or missing in each."""
    for value in (None, "x", -1, 1.5, True, [], [1], {}, {"x": 1}):
        for path in places(document):
            copy = json.loads(json.dumps(document))
            inner = copy
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = value
            yield copy
    for path in places(document):
        copy = json.loads(json.dumps(document))
        inner = copy
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
        yield copy


def places(data, path=()):
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@pytest.mark.parametrize("compact", [False, True])
def test_our_reader_and_jsonschema_agree(compact):
    run = run_of(result(status="fail"), result("a/int8/grad/0", step=5), measured())
    document, peer = to_document(run, compact=compact), validator()
    verdicts = []
    for copy in spoiled(document):
        verdicts.append(not fault(copy))
        assert verdicts[-1] == peer.is_valid(copy), (copy, fault(copy))
    assert sum(verdicts) > 50
    assert len(verdicts) - sum(verdicts) > 200


def test_order_and_time_change_nothing_but_the_volatile_part():
    run = synthetic(5)
    other = replace(
        run, start="2027-01-01T00:00:00Z", seconds=99.0,
        results=[replace(r, ms=r.ms + 1) for r in reversed(run.results)],
    )  # fmt: skip
    assert same_results(Report.of(run), Report.of(other))
    first, second = to_document(run), to_document(other)
    assert first.pop("volatile") != second.pop("volatile")
    assert dumps(first) == dumps(second)
    assert first["sha256"] == to_document(other, compact=True)["sha256"]


@pytest.mark.parametrize("change", [{"status": "fail"}, {"measured": 1.25}, {"message": "x"}])
def test_another_result_is_another_report(change):
    run = run_of(measured(), result())
    other = replace(run, results=[replace(run.results[0], **change), run.results[1]])
    assert not same_results(Report.of(run), Report.of(other))
    assert to_document(run)["sha256"] != to_document(other)["sha256"]


def test_a_huge_message_is_cut_and_says_so():
    document = to_document(run_of(result(status="fail", message="x" * 10_000_000)))
    message = document["results"][0]["message"]
    assert len(message) < MESSAGE + 50
    assert message.endswith("(9996000 characters more)")


def test_text_that_is_no_text_is_spelled_out():
    message = to_document(run_of(result(status="fail", message=NASTY)))["results"][0]["message"]
    assert r"\x1b[31m" in message
    assert r"\ud800" in message
    assert "漢字 🙂\nsecond line" in message


def test_a_compact_report_is_small_enough_for_a_repository():
    run = synthetic(450)
    full, compact = (dumps(to_document(run, compact=c)) for c in (False, True))
    assert len(run.results) > 50_000
    assert len(compact.encode()) < LARGEST < len(full.encode())


def test_figures_of_a_compact_report_say_what_is_not_usual():
    run = run_of(
        measured("a/float32/layout/0"), measured("b/float32/value/0", 0.25, bound=1.0, unit="ratio",
        worst=""), measured("c/float32/value/0", 0.25, bound=2.0, unit="ratio", worst=""),
        measured("d/float32/grad/0", math.inf, bound=1.0, grade="C"),
        result("e/float32/value/0", grade="A"),
        measured("f/float32/layout/0", 9.0, grade="B", worst=""),
    )  # fmt: skip
    document = to_document(run, compact=True)
    ops = document["groups"][0]["ops"]
    cells = {op: cell for op in ops for cell in ops[op].values()}
    assert cells == {
        "a": [1, "A"], "b": [1, "A", 0.25, 1], "c": [1, "A", 0.25, 2, "", "ratio"],
        "d": [1, "C", "inf", 1, "x=inf", "ulp"], "e": [1, "A"], "f": [1, "B", 9, 4],
    }  # fmt: skip
    read = {g.op: (g.measured, g.bound, g.unit) for g in loads(dumps(document).encode()).groups}
    worst = "x=0x1.6a74f00000000p+2-0x1.0000000000000p+0j, -0x0.0p+0"
    group = to_document(run_of(measured(worst=worst)), compact=True)["groups"][0]
    cell = group["ops"]["cosh"]["value"]
    assert cell[4] == "x=0x1.6a74fp+2-0x1p+0j, -0x0p+0"
    assert read["a"] == read["e"] == (None, None, "")
    assert [read[op][2] for op in "bcdf"] == ["ratio", "ratio", "ulp", "ulp"]


def test_a_compact_report_of_a_device_that_fails_everywhere_is_small_too():
    run = synthetic(60)
    run.results = [replace(r, status="fail", message="m" * 900) for r in run.results]
    report = loads(dumps(to_document(run, compact=True)).encode())
    assert len(dumps(to_document(report)).encode()) < LARGEST
    assert report.counts["fail"] == len(run.results) > len(report.run.results) > 100
    assert "fail" in report.verdict


def test_a_compact_report_keeps_failures_whole_and_the_worst_of_the_rest():
    run = run_of(
        result("a/int8/value/0", "fail", message="wrong"), measured("b/float32/value/0", 1.0),
        measured("b/float32/value/1", 2.345678, worst="x=0x1.8p+5"), result("b/float32/dtype/0"),
        result("b/float64/dtype/0"), measured("b/float32/grad/0", 9.0, grade="B", step=5),
        result("b/float32/shape/0"), result("b/float64/shape/0"),
        measured("b/float64/grad/0", step=5),
    )  # fmt: skip
    document = to_document(run, compact=True)
    assert [r["message"] for r in document["results"]] == ["wrong"]
    assert document["groups"][0]["ops"]["b"] == {
        "dtype shape": 1,
        "grad": {"float32": [1, "B", 9, 4, f"x={(9.9).hex()}"], "float64": [1, "A"]},
        "value": {"float32": [2, "A", 2.35, 4, "x=0x1.8p+5"]},
    }
    groups = {(g.op, g.dtype, g.check): g for g in loads(dumps(document).encode()).groups}
    assert groups["b", "float32", "grad"].step == 5
    assert groups["b", "float64", "dtype"].step == 2
    assert groups["a", "int8", "value"].status == "fail"


# ---- files that are no reports -------------------------------------------------------------------
def refusal(data):
    with pytest.raises(FileFormatError) as caught:
        loads(data if isinstance(data, bytes) else json.dumps(data).encode(), "theirs.json")
    assert "theirs.json" in str(caught.value)
    return str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileFormatError, match=r"none\.json cannot be read: No such file"):
        read_json(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "damaged, or no JSON: Expecting value"),
        (b"\xff\xfe\x00", "damaged, or no JSON: 'utf-8' codec"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"report": NaN}', "NaN is no JSON"),
        (b'{"report": 1, "report": 2}', 'an object has "report" twice'),
        (b"[]", "no report of polygrad-conformance"),
        (b'{"report": "pytest"}', "no report of polygrad-conformance"),
        (b'{"report": "polygrad-conformance", "schema": 2}', "has schema 2, and this suite reads"),
        (b'{"report": "polygrad-conformance", "schema": "1"}', 'breaks schema 1. $ has no "form"'),
    ],
)
def test_what_is_no_report_is_refused(data, why):
    assert why in refusal(data)


def test_a_later_schema_says_what_to_install():
    assert "pip install -U polygrad[conformance]" in refusal(
        {"report": "polygrad-conformance", "schema": 9}
    )


def test_every_cut_of_a_report_is_refused():
    data = dumps(to_document(every_status())).encode()
    for end in range(0, len(data) - 2, 97):
        assert "damaged" in refusal(data[:end])


def test_a_wrong_field_is_named_with_its_place():
    document = to_document(run_of(result()))
    document["results"][0]["status"] = "great"
    assert '$.results[0].status is "great", not one of ["fail"' in refusal(document)


def test_a_check_that_is_there_twice_is_refused():
    document = to_document(run_of(result(), result()))
    assert "exp/float32/value/0 is there twice" in refusal(document)


def test_times_that_do_not_belong_to_the_results_are_refused():
    document = to_document(run_of(result()))
    document["volatile"]["ms"] = [1.0, 2.0]
    assert "1 results and 2 times" in refusal(document)


def test_a_group_of_an_unknown_op_is_refused():
    document = to_document(run_of(result()), compact=True)
    document["ops"] = {}
    assert "The op exp of a group is not among the ops" in refusal(document)


def test_what_needs_every_check_refuses_a_compact_report(tmp_path):
    path = write_json(run_of(result()), tmp_path / "report.json", compact=True)
    with pytest.raises(FileFormatError, match=r"is compact.*Take the full report"):
        read_full(path)


def test_a_report_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    path = write_json(run_of(result()), tmp_path / "report.json")
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda descriptor: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_json(synthetic(2), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_every_status_is_counted():
    counts = to_document(every_status())["counts"]
    assert list(counts) == list(STATUSES)
    assert counts["fail"] == 3
    assert all(counts.values())
