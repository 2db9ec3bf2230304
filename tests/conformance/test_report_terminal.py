"""What the terminal shows: matrix, first thing to fix, verdict; plain where there is none."""

from __future__ import annotations

import io
import math
import shlex
from dataclasses import replace

import pytest
from rich.console import Console

from polygrad_conformance.report import Report, show
from polygrad_conformance.report import progress as progress_module
from polygrad_conformance.report.groups import drift
from polygrad_conformance.report.hints import hint
from polygrad_conformance.report.overview import command, error_text, next_step, totals, worst_of
from polygrad_conformance.report.plain import MissingPackageError
from polygrad_conformance.report.progress import progress, time_left
from polygrad_conformance.report.terminal import console_for
from tests.conformance.records import NASTY, every_status, measured, result, run_of, synthetic


def shown(run, **facts):
    stream = io.StringIO()
    show(run, console_for(stream), **facts)
    return stream.getvalue()


def test_the_matrix_counts_operations_and_shows_the_worst():
    run = run_of(
        measured("cosh/float32/value/0", 24.4, grade="B", worst="x=0x1.8f3f0ap+5"),
        measured("exp/float32/value/0"), measured("exp/float64/value/0"),
        result("exp/int8/value/0"), result("exp/uint64/value/0"),
        result("sum/float32/value/0", chapter="statistical", step=4),
        result("sum/float16/value/0", "unsupported", chapter="statistical", step=4),
        result("max/float32/value/0", "known", chapter="statistical", step=4),
    )  # fmt: skip
    lines = shown(run).splitlines()
    assert lines[0].split("   ") == [
        "mychip 0.3 on mychip:0 (My Chip, driver 1.2)",
        "suite 0.1.0  level full  seed-rev 7  profile full",
    ]
    assert lines[1].split() == ["float16", "float32", "float64", "integers"]
    assert lines[2].split("  ")[0] == "elementwise"
    assert "2/2 B" in lines[2]
    assert "1/1 A" in lines[2]
    assert "cosh float32 24.4 ULP at x=0x1.8f3f0ap+5" in lines[2]
    assert lines[3].split()[:3] == ["statistical", "--", "1/2"]
    assert "1 known" in lines[3]
    assert lines[4] == "declared 8  unsupported 1  selected 7  run 7  |  pass 6  fail 0  known 1"
    assert lines[5] == "CONFORMANT; known failures: 1"


def test_the_first_thing_to_fix_is_on_the_lowest_step_and_blocks_the_most():
    run = run_of(
        result("sum/float32/value/0", "fail", step=4, message="late"),
        result("a/float32/value/0", "fail", step=1),
        result("asarray/float32/value/0", "error", step=1),
        *(result(f"exp/float32/value/{i}", "blocked") for i in range(3)),
    )  # fmt: skip
    lines = next_step(Report.of(run))
    assert lines[0].startswith("You are at step 1 of 8")
    assert "(3 checks wait for it)" in lines[0]
    words = shlex.split(lines[1])
    assert words[:6] == [
        "polygrad-conformance",
        "run",
        "--backend",
        "mychip",
        "--device",
        "mychip:0",
    ]
    assert words[6:] == ["--level", "full", "-k", "asarray/float32/value/0"]
    assert "NOT CONFORMANT (2 fail, 1 error, 3 blocked)" in shown(run)


def test_what_passed_at_level_smoke_is_told_what_is_next():
    run = replace(run_of(result()), level="smoke")
    said, line = next_step(Report.of(run))
    assert said == "Next:"
    assert line.endswith(" --level full")
    assert line.strip() in shown(run)
    for other in ({"level": "full"}, {"selection": "-k exp"}, {"stale": ["delete me"]}):
        assert not next_step(Report.of(replace(run, **other)))


def test_an_exception_has_a_hint_and_a_wrong_number_has_none():
    name = "getitem/float32/value/reversed"
    for status, hinted in (("error", True), ("fail", False)):
        run = run_of(result(name, status, message="ValueError: step must be greater than zero"))
        said = "\n".join(next_step(Report.of(run)))
        assert ("hint: slices that cannot go backwards" in said) == hinted


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("RuntimeError: take_along_dim(): dtype of indices should be Long", "kernels for take"),
        ("RuntimeError: index_select(): Expected dtype int32 or int64 for index", "kernels for"),
        ("InvalidTypeError: setitem refused: 'A' object does not support item assignment",
         "writeable=False"),
        ("AttributeError: module 'chip' has no attribute 'exp'", "through_host('exp')"),
        ("RuntimeError: out of registers", ""),
    ],
)  # fmt: skip
def test_hints(message, words):
    said = hint(result("exp/float32/value/0", "error", message=message))
    assert words in said
    assert bool(said) == bool(words)


def test_a_function_of_a_chapter_is_hinted_by_the_name_of_its_kernel():
    said = hint(result("linalg.svd/float32/value/0", "error", message="NotImplementedError: svd"))
    assert "self.through_host('svd')" in said


def test_a_command_is_quoted():
    run = replace(run_of(), backend="my chip; rm -rf /")
    words = shlex.split(command(run, result("a$b/float32/value/0@`x`", "fail")))
    assert words[3] == "my chip; rm -rf /"
    assert words[-1] == "a$b/float32/value/0@`x`"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "CONFORMANT"),
        ({"level": "exhaustive"}, "CONFORMANT"),
        ({"level": "smoke"}, "PASSED at level smoke; only level full is sufficient"),
        ({"selection": "-k exp"}, "PASSED what was selected (-k exp); a part proves nothing"),
        ({"stale": ["delete me"]}, "NOT CONFORMANT (1 stale in the list of known failures)"),
        ({"results": []}, "NOT CONFORMANT (nothing ran)"),
    ],
)
def test_the_word_is_said_of_a_whole_run_at_level_full_only(change, says):
    run = replace(run_of(result()), **change)
    assert shown(run).splitlines()[-1] == says
    assert Report.of(run).conformant == (says == "CONFORMANT")


@pytest.mark.parametrize(
    "status", ["fail", "error", "crash", "timeout", "fixed", "blocked", "notrun"]
)
def test_the_word_is_not_said_where_a_check_failed_or_waited(status):
    report = Report.of(run_of(result(), result("a/int8/value/0", status)))
    assert report.verdict == f"NOT CONFORMANT (1 {status})"


def test_the_word_is_not_said_with_a_grade_f():
    found = measured("cosh/float32/value/0", 1e9, grade="F", status="pass")
    assert Report.of(run_of(result(), found)).verdict == "NOT CONFORMANT (1 with grade F)"
    known = replace(found, status="known", known="a reason")
    assert Report.of(run_of(result(), known)).conformant


def test_unsupported_alone_is_not_a_run():
    assert "nothing ran" in Report.of(run_of(result(status="unsupported"))).verdict


def test_text_of_a_backend_is_shown_and_not_obeyed():
    run = replace(every_status(), backend=NASTY, device_description=NASTY, stale=[NASTY])
    text = shown(run)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]x[/red]" in text
    assert r"\x1b[31m" in text


def test_a_terminal_gets_colours_and_a_pipe_does_not():
    stream = io.StringIO()
    show(every_status(), Console(file=stream, force_terminal=True, width=100, markup=False))
    assert "\x1b[" in stream.getvalue()
    assert "\x1b[" not in shown(every_status())


def test_all_integers_have_a_column_of_their_own_if_asked_for():
    run = run_of(result("exp/int8/value/0"), result("exp/uint64/value/0"), result("x//value/0"))
    assert shown(run).splitlines()[1].split() == ["integers", "other"]
    assert shown(run, fold=False).splitlines()[1].split() == ["int8", "uint64", "other"]


def test_lines_of_a_pipe_are_not_broken_within_words():
    for line in shown(synthetic(12)).splitlines():
        assert len(line) <= 120 or line.startswith(("declared", "mychip"))


def test_counts_say_what_did_not_run():
    text = totals(Report.of(every_status()))
    assert text.startswith(
        "declared 14  unsupported 1  selected 13  run 11  blocked 1  notrun 1  |"
    )
    assert text.endswith("pass 3  fail 3  error 1  crash 1  timeout 1  fixed 1  known 1")


def test_the_worst_is_by_grade_then_by_share_of_the_bound():
    groups = Report.of(run_of(
        measured("a/float32/value/0", 100.0, bound=1000.0), measured("b/float32/value/0", 3.0),
        measured("c/float32/value/0", 2.0, grade="C"), measured("d/float32/grad/0", math.nan),
    )).groups  # fmt: skip
    assert [g.op for g in worst_of(groups, count=9)] == ["c", "d", "b", "a"]


def test_known_failures_that_nobody_explained_are_counted():
    run = run_of(result(), *(result(f"a/int8/value/{i}", "known", known="untriaged") for i in "01"))
    assert "known failures without a reason: 2" in shown(run).splitlines()
    known = run_of(result(), result("a/int8/value/0", "known"))
    assert "without a reason" not in shown(known)


def test_the_error_is_said_in_its_unit():
    ratio = measured(error=0.25, bound=1.0, unit="ratio")
    assert error_text(ratio, allowed=True) == error_text(ratio) == "0.25 times the bound"
    assert error_text(replace(ratio, bound=2.0), allowed=True) == "0.25 ratio (2 allowed)"
    assert error_text(measured(error=2.25), allowed=True) == "2.25 ULP (4 allowed)"
    assert error_text(result()) == ""


def test_a_step_between_grades():
    assert [drift("A", g) for g in ("A", "B", "C", "F", "")] == [0, 1, 2, 3, 0]


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich.console", None)
    with pytest.raises(
        MissingPackageError, match=r"rich is not installed.*polygrad\[conformance\]"
    ):
        console_for(io.StringIO())


# ---- progress ------------------------------------------------------------------------------------
def ticked(console, results, clock=None):
    with progress(console) as tick:
        for i, r in enumerate(results):
            tick(i + 1, len(results), r)
            if clock:
                clock()


def test_a_bar_shows_failures_above_it_and_leaves_nothing():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, markup=False, highlight=False)
    results = [result("a/int8/value/0"), result("b/int8/value/0", "fail", message="[bold]no")]
    ticked(console, results)
    assert "fail b/int8/value/0  [bold]no" in stream.getvalue()
    assert "2/2" in stream.getvalue()


def test_a_log_gets_failures_and_a_line_now_and_then(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    results = [result(f"a/int8/value/{i}") for i in range(9)]
    results.insert(4, result("b/int8/value/0", "crash", message="died"))
    ticked(console_for(stream), results, clock=lambda: now.__setitem__(0, now[0] + 12.0))
    assert stream.getvalue().splitlines() == [
        "4/10 checks, 0:54 left, at a int8",
        "crash b/int8/value/0  died",
        "7/10 checks, 0:31 left, at a int8",
    ]


def test_an_error_in_a_run_ends_the_bar():
    stream = io.StringIO()
    with pytest.raises(ZeroDivisionError), progress(Console(file=stream, force_terminal=True)):
        raise ZeroDivisionError
    assert stream.getvalue().count("\x1b[?25h") == 1  # the cursor is back


def test_time_left():
    assert [time_left(*x) for x in [(0, 9, 1.0), (1, 3, 61.0), (3, 3, 9.0)]] == [
        "?",
        "2:02",
        "0:00",
    ]
