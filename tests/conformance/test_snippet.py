"""A failure as a script of its own, and failing calls made smaller."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys

import numpy as np
import pytest

import polygrad as pg
from polygrad_conformance import snippet
from polygrad_conformance.case import Element, SuiteError
from polygrad_conformance.cli import main
from polygrad_conformance.collection import collect
from polygrad_conformance.declarations import subjects
from polygrad_conformance.faults.damage import DAMAGES
from polygrad_conformance.faults.device import FAULTY, install
from polygrad_conformance.faults.planting import in_function
from polygrad_conformance.oracle import ORACLE
from polygrad_conformance.processes import homes
from polygrad_conformance.record import Result
from polygrad_conformance.target import Target
from tests.conformance.test_suite import BACKEND


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snippet")
    (folder / "chips.py").write_text(BACKEND)
    return folder


@pytest.fixture
def restored():
    """Scripts set the default device."""
    yield
    pg.set_default_device(None)


def executed(script, folder):
    """Where only polygrad and the plug-in are: the suite cannot be imported."""
    code = (
        "import sys; sys.modules['polygrad_conformance'] = None\n"
        f"exec(compile({script!r}, 'script', 'exec'))"
    )
    path = os.pathsep.join([homes(), str(folder)])
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["exp/float32/value/0", "exp/float32/special/-0", "exp/float32/value/points-64"]
)
def test_it_shows_the_fault_and_nothing_on_a_right_device(folder, monkeypatch, capsys, name):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    assert main(["run", "--backend", "chips:Wrong", "--snippet", name]) == 0
    script = capsys.readouterr().out
    assert len(script.splitlines()) < 30
    assert 'f("' in script
    wrong = executed(script, folder)
    assert (wrong.returncode, wrong.stdout[:9]) == (1, "WRONG got"), wrong.stderr
    right = executed(script.replace("Wrong", "Plain"), folder)
    assert (right.returncode, right.stdout[:9]) == (0, "right got"), right.stderr


@pytest.mark.parametrize("operand", ["0,0", "inf,inf", "-inf,2.5"])
def test_each_part_of_a_complex_special_value_counts(folder, monkeypatch, capsys, operand):
    """1-0j is not 1+0j, though they are equal; nan+nanj is not inf+nanj."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    name = f"exp/complex64/special/{operand}"
    options = ["--backend", "chips:Conjugates", "--level", "full"]
    assert main(["run", *options, "--snippet", name]) == 0
    script = capsys.readouterr().out
    wrong = executed(script, folder)
    assert (wrong.returncode, wrong.stdout[:9]) == (1, "WRONG got"), wrong.stderr
    right = executed(script.replace("Conjugates", "Plain"), folder)
    assert (right.returncode, right.stdout[:9]) == (0, "right got"), right.stderr


def test_it_shows_a_crash(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    assert main(["run", "--backend", "chips:Crashes", "--snippet", "exp/float32/value/0"]) == 0
    script = capsys.readouterr().out
    assert "the process died (exit code 3)" in script
    assert executed(script, folder).returncode == 3
    assert executed(script.replace("Crashes", "Plain"), folder).returncode == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("exp/float32/value/0", "there is no failure to show"),
        ("exp/float32/dtype/all", "run -k exp/float32/dtype/all"),
        ("exp/float32/value", "take an id of `list`"),
    ],
)
def test_what_has_no_script(folder, monkeypatch, capsys, name, text):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    assert main(["run", "--backend", "chips:Plain", "--snippet", name]) == 3
    assert text in capsys.readouterr().err


def test_every_call_can_be_written_down(restored):
    """The first value of each operation, from a script on NumPy, is that of the reference."""
    cases = {c.op: c for c in reversed(collect("smoke")) if c.check == "value" and c.call}
    unwritten, wrong, written = [], [], 0
    for op, case in cases.items():
        subject = subjects()[op]
        made = Target("cpu").evaluate(subject, case.dtype, case.call)
        if subject.family in ("shape", "residual") or made.error is not None:
            continue
        values = np.asarray(made.results[0]).reshape(-1)
        if not values.size or not isinstance(made.results[0], np.ndarray):
            continue
        want = np.asarray(ORACLE.reference(subject, case.dtype, case.call)[0]).reshape(-1)[-1]
        room = 1e-3 * (1 + float(abs(want))) if want.dtype.kind in "fc" else 0.0
        result = Result(case.id, op, case.dtype, "value", case.sample, message="planted")
        element = Element(case.call, 0, values.size - 1, made.results[0].shape, want, room)
        try:
            script = snippet._script("numpy", "cpu", case, result, element)
        except SuiteError:
            unwritten.append(op)
            continue
        said = io.StringIO()
        with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(said):
            exec(compile(script, "script", "exec"), {})  # noqa: S102  it is what a user would run
        written += 1
        if ended.value.code:
            wrong.append((op, said.getvalue()))
    assert not wrong
    assert not unwritten
    assert written > 500


# ---- smaller -------------------------------------------------------------------------------------
def failure(name, fault, level="full"):
    install()
    (case,) = [c for c in collect(level, frozenset({name.partition("/")[0]})) if c.id == name]
    with in_function(case.op, DAMAGES[fault].damage):
        return [case.run(Target(FAULTY.name, level)) for _ in range(2)]


def test_what_fails_alone():
    first, second = failure("exp/float32/value/points-1024", "off by a tenth")
    assert first.message == second.message
    assert "; alone too: x=" in first.message


def test_what_fails_by_its_place():
    """Wrong behind the first 500 elements: the first that fails, and what is before it."""
    first, second = failure("exp/float32/value/size-5003", "second block")
    assert first.message == second.message
    assert "; not alone (x=" in first.message
    assert first.message.endswith("but with the 500 elements before it")


def test_of_two_operands_both_are_taken():
    first, _ = failure("atan2/float32/value/0", "off by a tenth")
    assert "; alone too: x=0x" in first.message or "; alone too: x=-0x" in first.message
    assert " y=" in first.message


def test_what_is_no_element_of_its_inputs_stays_as_it_is():
    first, _ = failure("sum/float32/value/0", "off by a tenth")
    assert first.status == "fail"
    assert "alone" not in first.message
