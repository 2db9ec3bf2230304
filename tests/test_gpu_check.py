"""The control flow of scripts/gpu_check.sh, with a stand-in for Python that only says what ran."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "gpu_check.sh"
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(
    BASH is None or shutil.which("timeout") is None,
    reason="needs bash and GNU timeout (2026-11-30: Linux)",
)

PYTHON = """#!{bash}
if [[ $1 == -c && $2 == *{missing}* ]]; then exit 1; fi
if [[ $1 != -m ]]; then exec {python} "$@"; fi
echo "ran $*" | tee -a {log}
if [[ "$*" == *"{slow}"* ]]; then sleep 60; fi
if [[ "$*" == *"{fails}"* ]]; then exit 3; fi
"""
STEPS = ["driver", "doctor", "kernels and streams", "conformance values",
         "beside PyTorch and CuPy", "conformance float32", "conformance other dtypes"]  # fmt: skip


@pytest.fixture
def check(tmp_path):
    """Run the script, with a Python where something is missing, slow or fails: (run, report)."""

    def run(*arguments, missing="no-module", slow="no-step", fails="no-step"):
        python = tmp_path / "python"
        python.write_text(
            PYTHON.format(bash=BASH, python=sys.executable, log=tmp_path / "log", missing=missing,
                          slow=slow, fails=fails)
        )  # fmt: skip
        python.chmod(0o755)
        command = [BASH, SCRIPT, "--device", "cpu", "--out", tmp_path / "out", "--python", python]
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, timeout=120
        )
        return done, (tmp_path / "out" / "report.md").read_text(), (tmp_path / "log").read_text()

    return run


def verdicts(report):
    lines = [line[3:] for line in report.splitlines() if line.startswith("## ")]
    return {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines}


def test_what_is_worth_most_comes_first(check):
    done, report, log = check()
    assert done.returncode == 0, done.stderr
    assert list(verdicts(report)) == STEPS
    assert all(verdict.startswith("passed") for verdict in verdicts(report).values())
    assert "# polygrad on cpu" in report
    assert "no step failed" in done.stdout
    calls = log.splitlines()
    assert "tests/test_on_gpu.py" in calls[1]
    assert "--dtypes float32 --checks value,grad" in calls[2]
    assert "benchmarks --device cpu" in calls[3]


def test_a_step_that_fails_stops_no_other(check):
    done, report, _ = check(fails="benchmarks")
    assert done.returncode == 1
    assert list(verdicts(report)) == STEPS
    assert verdicts(report)["beside PyTorch and CuPy"].startswith("failed (exit 3)")
    assert "some steps failed" in done.stdout


def test_a_step_whose_packages_are_missing_is_left_out(check):
    done, report, log = check(missing="'pytest'")
    assert done.returncode == 0
    assert verdicts(report)["kernels and streams"] == "left out, not installed: pytest"
    assert "-m pytest" not in log
    assert verdicts(report)["conformance values"].startswith("passed")


def test_the_time_is_kept_and_what_was_done_as_well(check):
    begin = time.monotonic()
    done, report, _ = check("--seconds", "12", slow="--checks value,grad")
    assert time.monotonic() - begin < 60
    assert done.returncode == 1
    found = verdicts(report)
    assert found["doctor"].startswith("passed")
    assert found["conformance values"].startswith("stopped after")
    assert found["conformance other dtypes"] == "left out, the 12 s were over"


def test_wheels_are_carried_along_and_removed(check, tmp_path):
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "some-1.whl").touch()
    done, _, log = check("--wheels", str(folder), "--workers", "3")
    assert done.returncode == 0
    install = log.splitlines()[0]
    assert "pip install --quiet --no-index --no-deps" in install
    site = install.split("--target ")[1].split()[0]
    assert not Path(site).exists()
    assert "--workers 3" in log


def test_a_wrong_word_shows_how_it_is_called(tmp_path):
    done = subprocess.run(
        [BASH, SCRIPT, "--gpu", "0"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "--device cuda:0" in done.stderr
    assert "--pack FOLDER" in done.stderr
