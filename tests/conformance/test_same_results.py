"""Two runs give the same records, whatever was selected, in whatever order and processes.

Every field but the time is compared: ids, statuses, measured figures, worst inputs, messages.
"""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys

import pytest

from polygrad_conformance import execution
from polygrad_conformance.collection import Selection, collect, select
from polygrad_conformance.execution import execute
from polygrad_conformance.options import Options
from polygrad_conformance.processes import homes
from polygrad_conformance.report.json_report import read_full
from polygrad_conformance.runner import run
from polygrad_conformance.target import Target

# Of every kind of subject, and of every family of tolerance.
WORDS = (
    "transfer/float32", "exp/", "hypot/float32", "matmul/", "sum/float32", "sort/", "linalg.qr/",
    "fft.rfft/", "special.gammaln/float32", "nn.functional.gelu/", "nn.Linear", "nn.Dropout/",
    "optim.Adam", "random.normal", "getitem/float32", "training/", "unique_all/",
)  # fmt: skip


def plain(results):
    """Records without their times, by id; NaN and -0 are told apart by their text."""
    return {r.id: repr(dataclasses.replace(r, ms=0.0)) for r in results}


@pytest.fixture(scope="module")
def cases():
    return select(collect("smoke"), Selection(WORDS))


@pytest.fixture(scope="module")
def records(cases):
    return plain(executed(cases))


def executed(cases):
    return [result for _, result in execute(cases, Target("cpu")) if result is not None]


def test_there_is_much_to_compare(records):
    assert len(records) > 300
    assert sum("measured=None" not in text for text in records.values()) > 100


@pytest.mark.parametrize("seed", [1])
def test_in_another_order(cases, records, seed):
    mixed = list(cases)
    random.Random(seed).shuffle(mixed)
    assert mixed != cases
    assert plain(executed(mixed)) == records


def test_each_by_itself(cases, records):
    for case in random.Random(3).sample(cases, 100):
        assert plain(executed([case])) == {case.id: records[case.id]}


@pytest.mark.parametrize("workers", [1, 2])
def test_in_processes(cases, records, workers):
    made = run(Options("numpy", selection=Selection(WORDS), workers=workers))
    assert [r.id for r in made.results] == [case.id for case in cases], "in the order of the cases"
    assert plain(made.results) == records


def test_a_part_of_it(records):
    made = run(Options("numpy", selection=Selection(WORDS, checks=("claims", "grad"))))
    assert len(made.results) > 20
    assert plain(made.results) == {r.id: records[r.id] for r in made.results}


@pytest.mark.parametrize("processes", ["0", "2"])
def test_in_pytest(records, tmp_path, processes):
    """One report of all processes of pytest-xdist."""
    names = " or ".join(dict.fromkeys(word.partition("/")[0] for word in WORDS if "." in word))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", processes,
         "--pg-backend", "numpy", "--pg-report", "out", "-k", names],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": homes()},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    made = read_full(tmp_path / "out" / "report.json").run
    found = plain(made.results)
    both = records.keys() & found
    assert len(both) > 100
    assert {name: found[name] for name in both} == {name: records[name] for name in both}


def test_a_library_gives_memory_back_between_operations_when_the_process_has_grown(monkeypatch):
    asked, sizes = [], iter([0, 2**20, 2**31, 2**30, 2**30])
    monkeypatch.setattr(execution, "_resident", lambda: next(sizes))
    target = Target("cpu")
    monkeypatch.setattr(target.backend, "empty_cache", asked.append)
    wanted = Selection(("add/float32/dtype", "exp/float32/dtype", "sin/float32/dtype"))
    cases = select(collect(), wanted)
    assert len({case.op for case in cases}) == 3
    assert all(r is None or r.status == "pass" for _, r in execute(cases, target))
    assert asked == [target.place]
