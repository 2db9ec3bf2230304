"""diff, merge and matrix: several reports at once."""

from __future__ import annotations

import argparse
import importlib
from dataclasses import replace

import pytest

from polygrad.errors import InvalidArgumentError
from polygrad_conformance.report import Report, read_json, write_json
from polygrad_conformance.report.commands import SUBCOMMANDS, add
from polygrad_conformance.report.diff import compare
from polygrad_conformance.report.json_report import dumps, loads, to_document
from polygrad_conformance.report.matrix import scoreboard, to_html, to_markdown
from polygrad_conformance.report.merge import merge
from tests.conformance.records import NASTY, measured, result, run_of, synthetic

BASE = run_of(
    result("exp/float32/dtype/0"), measured("exp/float32/value/0", 1.0),
    result("sum/int8/value/0", "fail", message="wrong"), result("sum/int8/value/1"),
    result("max/int8/value/0", "unsupported", message="no int8"),
)  # fmt: skip


def called(name, *words):
    """A subcommand as the command line calls it: its exit code, and what it says."""
    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    args = parser.parse_args([name, *map(str, words)])
    said = []
    module = importlib.import_module(f"polygrad_conformance.report.{name}")
    assert args.do is module.main
    return args.do(args, said.append) if name != "show" else args.do(args), "\n".join(said)


def changed(**facts):
    """BASE with other results, by id with __ for /; None takes one out."""
    results = {r.id: r for r in BASE.results}
    for words, change in facts.items():
        name = words.replace("__", "/")
        if change is None:
            del results[name]
        else:
            results[name] = replace(results.get(name) or result(name), **change)
    return run_of(*results.values())


def difference(after, *, compact=(False, False)):
    reports = [
        loads(dumps(to_document(run, compact=c)).encode())
        for run, c in zip((BASE, after), compact, strict=True)
    ]
    return compare(*reports)


FORMS = pytest.mark.parametrize("compact", [(a, b) for a in (False, True) for b in (False, True)])


@FORMS
def test_equal_reports_have_no_difference(compact):
    found = difference(BASE, compact=compact)
    assert found.lines() == ["no difference"]
    assert not found.worse


@FORMS
def test_a_new_failure_is_worse(compact):
    found = difference(
        changed(exp__float32__dtype__0={"status": "fail", "message": "no"}), compact=compact
    )
    assert found.failures == ["exp/float32/dtype/0 (fail): no"]
    assert found.worse
    assert not found.fixed


@FORMS
def test_a_failure_that_is_none_any_more_is_fixed(compact):
    found = difference(changed(sum__int8__value__0={"status": "pass"}), compact=compact)
    assert found.fixed == ["sum/int8/value/0 (was fail)"]
    assert not found.worse


def test_a_failure_that_became_known_is_said():
    found = difference(changed(sum__int8__value__0={"status": "known", "known": "a reason"}))
    assert found.fixed == ["sum/int8/value/0 (was fail, now known)"]


@FORMS
@pytest.mark.parametrize("status", ["unsupported", "blocked", "notrun"])
def test_a_failure_that_is_not_checked_any_more_is_lost_and_not_fixed(compact, status):
    found = difference(changed(sum__int8__value__0={"status": status}), compact=compact)
    assert found.lost == [f"sum/int8/value: 2 → 1 checks (1 {status})"]
    assert found.worse
    assert compact[1] or not found.fixed


@FORMS
def test_a_check_that_is_gone_is_lost(compact):
    found = difference(changed(exp__float32__dtype__0=None), compact=compact)
    assert found.lost == ["exp/float32/dtype: 1 → 0 checks"]
    assert found.worse


@FORMS
def test_a_check_that_is_new_is_gained_and_a_new_one_that_fails_is_a_failure(compact):
    found = difference(changed(max__int8__value__0={"status": "pass"}), compact=compact)
    assert found.gained == ["max/int8/value: 0 → 1 checks"]
    assert not found.worse
    found = difference(changed(abs__int8__value__0={"status": "error"}), compact=compact)
    assert found.failures == ["abs/int8/value/0 (error, a new check)"]


@FORMS
@pytest.mark.parametrize(
    ("grade", "where"), [("B", "drifted"), ("C", "less_accurate"), ("F", "less_accurate")]
)
def test_accuracy_that_drifts_by_more_than_one_grade_is_worse(compact, grade, where):
    change = {"grade": grade, "measured": 25.0}
    found = difference(changed(exp__float32__value__0=change), compact=compact)
    assert getattr(found, where) == [f"exp/float32/value: A 1 ULP → {grade} 25 ULP"]
    assert found.worse == (where == "less_accurate")


def test_accuracy_that_improves_is_said():
    before, after = Report.of(changed(exp__float32__value__0={"grade": "C"})), Report.of(BASE)
    assert compare(before, after).more_accurate == ["exp/float32/value: C 1 ULP → A 1 ULP"]


def test_what_else_differs_is_a_note():
    found = difference(replace(BASE, driver="1.3", level="smoke"))
    assert found.lines()[:2] == [
        "note: level was 'full', and is 'smoke'", "note: driver was '1.2', and is '1.3'",
    ]  # fmt: skip


def test_a_compact_report_that_names_too_few_failures_says_so():
    run = run_of(*(result(f"a/int8/value/{i}", "fail") for i in range(900)))
    reports = [loads(dumps(to_document(run, compact=True)).encode())] * 2
    assert "is compact and names 400 of its failures" in compare(*reports).lines()[0]


def test_many_differences_are_cut():
    runs = [
        run_of(*(result(f"a/int8/value/{i:03}", status) for i in range(80)))
        for status in ("pass", "fail")
    ]
    lines = compare(*map(Report.of, runs)).lines()
    assert lines[0] == "new failures: 80"
    assert lines[-1] == "  … and 30 more"


def test_the_exit_code_of_diff(tmp_path):
    a = write_json(BASE, tmp_path / "a.json")
    b = write_json(changed(exp__float32__dtype__0={"status": "fail"}), tmp_path / "b.json")
    assert called("diff", a, a)[0] == 0
    status, said = called("diff", a, b)
    assert (status, "new failures: 1" in said) == (1, True)
    assert called("diff", b, a)[0] == 0
    assert called("diff", a, tmp_path / "none.json")[0] == 3
    assert called("diff", "--exact", a, b) == (1, "the results differ")
    again = write_json(replace(BASE, start="later", seconds=1.0), tmp_path / "again.json")
    assert called("diff", "--exact", a, again) == (0, "the results are the same")


# ---- merge ---------------------------------------------------------------------------------------
def parts_of(run, count):
    return [
        replace(run, results=run.results[i::count], selection=f"--part {i + 1}/{count}",
                start=f"2026-11-30T0{i}:00:00Z", seconds=1.0)
        for i in range(count)
    ]  # fmt: skip


def test_the_parts_of_a_run_are_the_run():
    whole = synthetic(8, trouble=False)
    merged = merge(reversed(parts_of(whole, 3)))
    assert merged.selection == ""
    assert Report.of(merged).verdict == Report.of(whole).verdict == "CONFORMANT"
    assert sorted(r.id for r in merged.results) == sorted(r.id for r in whole.results)
    assert merged.seconds == 3.0
    assert to_document(merged)["sha256"] == to_document(whole)["sha256"]


def test_some_parts_are_not_the_run():
    merged = merge(parts_of(synthetic(8, trouble=False), 3)[:2])
    assert merged.selection == "--part 1/3; --part 2/3"
    assert not Report.of(merged).conformant


@pytest.mark.parametrize("name", ["device", "level", "suite_version", "seed_revision", "digest"])
def test_parts_of_different_runs_are_refused(name):
    parts = parts_of(BASE, 2)
    parts[1] = replace(parts[1], **{name: 99 if name == "seed_revision" else "other"})
    with pytest.raises(InvalidArgumentError, match=f"parts of different runs: {name} is .* and"):
        merge(parts)


def test_of_different_environments_the_difference_is_named():
    parts = parts_of(BASE, 2)
    parts[1] = replace(parts[1], environment={**BASE.environment, "numpy": "2.4.0"})
    with pytest.raises(
        InvalidArgumentError, match=r"is \{'numpy': '2.3.0'\} and \{'numpy': '2.4.0'"
    ):
        merge(parts)


def test_a_check_that_contradicts_itself_is_refused():
    other = changed(exp__float32__dtype__0={"status": "fail"})
    with pytest.raises(
        InvalidArgumentError, match="exp/float32/dtype/0 is pass in one part and fail"
    ):
        merge([replace(BASE, declared=5), replace(other, declared=5)])


def test_a_check_that_waited_in_one_part_and_ran_in_another_ran():
    waited = changed(exp__float32__dtype__0={"status": "blocked", "blocked_by": "x"})
    for order in ((BASE, waited), (waited, BASE)):
        counts = merge(order).counts
        assert (counts["blocked"], counts["pass"]) == (0, 3)


def test_nothing_to_merge_is_refused():
    with pytest.raises(InvalidArgumentError, match="nothing to merge"):
        merge([])


def test_the_exit_code_of_merge(tmp_path, capsys):
    paths = [
        write_json(part, tmp_path / f"{i}.json")
        for i, part in enumerate(parts_of(synthetic(4, trouble=False), 2))
    ]
    out = tmp_path / "whole.json"
    assert called("merge", *paths, "--out", out) == (0, "")
    assert capsys.readouterr().out.splitlines()[-1] == "CONFORMANT"
    assert read_json(out).conformant
    failing = write_json(run_of(result(status="fail")), tmp_path / "failing.json")
    assert called("merge", failing, "--out", out)[0] == 1
    compact = write_json(BASE, tmp_path / "compact.json", compact=True)
    status, said = called("merge", compact, "--out", out)
    assert (status, "is compact" in said) == (3, True)
    assert called("merge", paths[0], failing, "--out", out)[0] == 3


# ---- matrix --------------------------------------------------------------------------------------
def board(*runs):
    return scoreboard(map(Report.of, runs))


def test_a_page_of_many_reports():
    other = replace(synthetic(12, 1, trouble=False), device="other:0", backend="other")
    runs = [synthetic(12), other, replace(run_of(result()), device="small:0", level="smoke")]
    text = to_markdown(board(*runs))
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("|  |"))
    assert lines[head] == "|  | mychip:0 (My Chip) | other:0 (My Chip) | mychip small:0 (My Chip) |"
    assert lines[head + 2] == "| level | full | full | smoke |"
    assert lines[head + 3] == "| verdict | NOT CONFORMANT | CONFORMANT | PASSED at level smoke |"
    row = next(line for line in lines if line.startswith("| elementwise"))
    assert row.split(" | ")[2] == "2/2 B"
    assert "## other:0 (My Chip)" in lines
    assert "polygrad-conformance run --backend other --device other:0 --level full" in lines
    assert any(line.startswith("| unsupported | ") for line in lines)


def test_the_page_depends_on_the_reports_alone():
    runs = [replace(synthetic(6, seed), device=f"mychip:{seed}") for seed in range(3)]
    assert to_markdown(board(*runs)) == to_markdown(board(*reversed(runs)))
    compact = [loads(dumps(to_document(run, compact=True)).encode()) for run in runs]
    assert to_markdown(scoreboard(compact)) == to_markdown(board(*runs))


def test_special_functions_that_a_library_lacks_are_one_line_of_the_page():
    lacking = [
        result(f"special.{name}/float32/value/0", "unsupported",
               message=f"toy has no special.{name}. device toy:0, dtype float32. register one")
        for name in ("k0", "k1", "struve")
    ]  # fmt: skip
    lines = to_markdown(board(run_of(result(), *lacking))).splitlines()
    (row,) = (line for line in lines if line.startswith("| unsupported | "))
    assert row == (
        "| unsupported | 3 | special.k0, special.k1, special.struve | toy has no such function |"
    )


def test_the_line_that_repeats_a_run_names_its_known_failures():
    run = run_of(result(), environment={"known failures": "here/known failures.toml"})
    assert to_markdown(board(run)).count("--level full --known 'here/known failures.toml'") == 1


def test_no_reports_have_a_page():
    assert "There is no report yet." in to_markdown(board())
    assert "There is no report yet." in to_html(board())


def test_text_of_a_backend_stays_text_in_a_table():
    run = run_of(
        result(status="known", known=NASTY), result("a/int8/value/0"), device_description=NASTY,
    )  # fmt: skip
    text = to_markdown(board(run))
    assert "<script>" not in text
    assert "\x1b" not in text
    for line in text.splitlines():
        if line.startswith("| known"):
            assert line.replace(r"\|", "").count(" | ") == 3
    page = to_html(board(run))
    assert "<script" not in page
    assert "<img" not in page


def test_the_command_writes_and_checks_a_page(tmp_path):
    report = write_json(synthetic(6), tmp_path / "a.json", compact=True)
    out = tmp_path / "page.md"
    assert called("matrix", report, "--out", out) == (0, f"wrote {out}")
    assert called("matrix", tmp_path, "--out", out, "--check")[0] == 0
    assert called("matrix", report)[1] == out.read_text(encoding="utf-8")
    write_json(synthetic(7), tmp_path / "b.json", compact=True)
    status, said = called("matrix", tmp_path, "--out", out, "--check")
    assert (status, "is out of date" in said) == (1, True)
    html = tmp_path / "page.html"
    assert called("matrix", report, "--out", html)[0] == 0
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    (tmp_path / "b.json").write_text("{}", encoding="utf-8")
    assert called("matrix", tmp_path, "--out", out)[0] == 3


# ---- show ----------------------------------------------------------------------------------------
def test_show_writes_the_other_formats(tmp_path, capsys):
    report = write_json(BASE, tmp_path / "a.json")
    out = [tmp_path / name for name in ("a.html", "a.xml", "compact.json")]
    assert called("show", report, "--html", out[0], "--junit", out[1], "--compact", out[2])[0] == 0
    assert "NOT CONFORMANT (1 fail)" in capsys.readouterr().out
    assert out[0].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert out[1].read_text(encoding="utf-8").startswith("<?xml")
    assert read_json(out[2]).compact
    assert called("show", tmp_path / "none.json")[0] == 3


def test_every_command_is_described():
    for name, words in SUBCOMMANDS.items():
        module = importlib.import_module(f"polygrad_conformance.report.{name}")
        assert words
        assert module.main.__doc__
