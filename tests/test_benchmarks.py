"""The hand-written sides of the benchmarks compute what polygrad computes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import types
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polygrad as pg
from benchmarks import compare, problems, report, run
from benchmarks.contenders import CONTENDERS
from benchmarks.functional import peers
from benchmarks.handwritten import elsewhere, operations
from benchmarks.handwritten import networks as by_hand
from benchmarks.handwritten import science as science_by_hand
from benchmarks.problems import (
    BAGS,
    BODIES,
    CNN,
    ENCODER,
    EQUATION,
    FLOW,
    LETTERS,
    LSTM,
    MLP_ADAM,
    MLP_SGD,
    RESNET,
    TINY,
    Classification,
    Training,
)
from benchmarks.taped import networks as taped
from benchmarks.taped import science
from benchmarks.taped.operations import bump
from benchmarks.workloads import WORKLOADS
from polygrad.testing import assert_close
from tests.devices import use

ROOT = Path(__file__).parent.parent

# As they are measured, but where that would take long.
PROBLEMS = {
    "tiny": TINY,
    "mlp-sgd": MLP_SGD,
    "mlp-adam": MLP_ADAM,
    "cnn": replace(CNN, batch=4),
    "lstm": replace(LSTM, features=48, steps=20),
    "resnet": replace(RESNET, batch=3, channels=8, side=10),
    "letters": replace(LETTERS, batch=2, length=12, width=16, hidden=24),
    "bags": replace(BAGS, batch=16, words=100),
    "flow": replace(FLOW, batch=8, width=6, steps=10),
    "equation": EQUATION,
    "encoder": replace(ENCODER, batch=2, length=24, width=32, hidden=48),
}
each_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


@each_problem
def test_handwritten_gradients_of_a_network(problem):
    x, y = problem.data()
    model = taped.network(pg, "cpu", problem)
    target = pg.tensor(y.reshape(-1) if y.dtype == np.int64 else y)
    loss = getattr(pg.nn.functional, problem.training.loss)(model(pg.tensor(x)), target)
    loss.backward()
    parameters = problem.parameters()
    differentiate = by_hand.GRADIENTS[type(problem)](problem)
    for _ in range(2):  # what it keeps from call to call is not what it computes
        want_loss, want = differentiate(list(parameters.values()), x, y)
        assert_close(loss, np.float32(want_loss), what="loss")
        for (name, p), g in zip(model.named_parameters(), want, strict=True):
            assert_close(p.grad, np.array(g), what=name)


@each_problem
def test_handwritten_training_follows_polygrad(problem):
    ours, theirs = taped.training(pg, "cpu", problem), by_hand.training(problem)
    for _ in range(10):
        assert_close(np.float32(ours()), np.float32(theirs()))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_training_by_hand_in_dpnp_follows_polygrad(optimizer):
    from benchmarks.handwritten import networks_dpnp

    device = use("sycl:cpu:0")
    trained = Training("cross_entropy", optimizer, 1e-2)
    problem = Classification(32, (20, 300, 5), "ReLU", trained)
    ours = taped.training(pg, device, problem)
    theirs = networks_dpnp.training(device, problem)
    losses = [(np.float32(ours()), np.float32(theirs())) for _ in range(10)]
    for a, b in losses:
        assert_close(a, b)
    assert losses[-1][0] < losses[0][0]


class Shadow(types.ModuleType):
    """NumPy under another name, which notes what is taken from it."""

    def __init__(self):
        super().__init__("shadow")
        self.seen = set()

    def __getattr__(self, name):
        self.seen.add(name)
        return getattr(np, name)


@each_problem
def test_the_text_by_hand_gives_the_same_in_numpys_place(problem):
    """As CuPy takes its place on a GPU; the text itself is read anew, and NumPy is back after."""
    if type(problem) not in by_hand.GRADIENTS:
        return
    shadow = Shadow()
    here, there = by_hand.training(problem), elsewhere.training("shadow:0", problem, shadow)
    for _ in range(3):
        assert_close(np.float32(here()), np.float32(there()))
    assert {"matmul", "asarray"} <= shadow.seen
    assert by_hand.np is np
    assert sys.modules["numpy"] is np
    assert sys.modules["benchmarks.handwritten.networks"] is by_hand


def test_rows_that_fill_a_card_are_for_cards():
    for device in ("cpu", "sycl:gpu:0", "cuda:0", "rocm:1"):
        there = device[:4] in ("cuda", "rocm")
        names = [workload.name for workload in run.chosen([], device)]
        assert ("card-mlp" in names) is there
        assert "mlp-sgd" in names
    (card,) = (w for w in WORKLOADS if w.name == "card-encoder")
    assert {"polygrad", "PyTorch", "CuPy"} <= set(card.setups)


def test_goals_are_said_on_the_devices_that_they_are_about():
    (row,) = (w for w in WORKLOADS if w.name == "wide-sgd")
    samples = {"polygrad": [1.0, 1.0], "dpnp": [0.5, 0.5]}
    assert "MISSED" in report.goal_cell(row, samples, "sycl:cpu:0")
    assert report.goal_cell(row, samples, "cpu") == ""
    table = report.table([report.row(row, samples, "sycl:cpu:0")], report.HEADER)
    assert "2.00" in table
    assert "PyTorch" not in table


@pytest.mark.parametrize("peer", peers.DIFFERENTIATE)
@pytest.mark.parametrize(
    "name", [name for name, problem in PROBLEMS.items() if type(problem) in peers.LOSSES]
)
def test_training_with_a_peer_follows_the_one_by_hand(peer, name):
    if reason := CONTENDERS[peer].reason_to_skip("cpu"):
        pytest.skip(reason)
    problem = PROBLEMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peer's, about NumPy
        ours, theirs = peers.training(peer, problem), by_hand.training(problem)
        for _ in range(3):
            assert_close(np.float32(ours()), np.float32(theirs()))


@pytest.mark.parametrize("name", [name for name, p in PROBLEMS.items() if type(p) in peers.LOSSES])
def test_losses_for_peers(name):
    problem = PROBLEMS[name]
    parameters, (x, y) = list(problem.parameters().values()), problem.data()
    want = by_hand.GRADIENTS[type(problem)](problem)(parameters, x, y)[0]
    if isinstance(problem, problems.Classification):
        y = np.eye(problem.sizes[-1], dtype=np.float32)[y]
    assert_close(peers.loss_of(problem)(np, parameters, x, y), np.float32(want))


def test_handwritten_gradients_of_the_chain():
    start, k = problems.chain_start(), problems.chain_factor()
    z, factor = (pg.tensor(a, requires_grad=True) for a in (start, k))
    y = z
    for _ in range(50):
        y = y * factor + factor
    pg.sum(y).backward()
    _, dz, dk = operations.chain_gradients_in_both(start, k, 50)
    assert_close(z.grad, dz)
    assert_close(factor.grad, dk)
    assert_close(z.grad, operations.chain_gradients(start, k, 50)[1])


def test_handwritten_forces_of_bodies():
    problem = replace(BODIES, bodies=40)
    got, want = science.bodies(pg, "cpu", problem)(), science_by_hand.bodies(problem)()
    assert_close(np.float32(got[0]), np.float32(want[0]), what="energy")
    assert_close(got[1], want[1], what="forces")


def test_handwritten_gradient_of_large_arrays():
    array = problems.large_array(1000)
    x = pg.tensor(array, requires_grad=True)
    total = bump(pg, x)
    total.backward()
    want, gradient = operations.Bump(array.size)(array)
    assert_close(total, want)
    assert_close(x.grad, gradient)


@pytest.mark.slow
def test_the_table_is_made(tmp_path):
    """Times and memory of polygrad and of NumPy, each in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", "--quick", "--results", str(tmp_path),
               "--contender", "polygrad", "--contender", "NumPy",
               *("--only", "tiny", "--only", "peak-tiny", "--only", "fresh-tiny")]  # fmt: skip
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    (path,) = tmp_path.glob("*.json")
    if importlib.util.find_spec("matplotlib") is not None:
        assert "tiny" in path.with_suffix(".svg").read_text()
    found = json.loads(path.read_text())
    for name in ("tiny", "peak-tiny", "fresh-tiny"):
        assert f"\n{name} " in run.stdout
        assert {"polygrad", "NumPy"} <= set(found["workloads"][name])


def test_no_two_workloads_have_one_name():
    names = [w.name for w in WORKLOADS]
    assert len(names) == len(set(names))


def test_a_comparison_says_what_most_rounds_say():
    (row,) = (w for w in WORKLOADS if w.name == "tiny")
    base = [1.0, 1.0, 1.0, 1.0]
    assert compare.row(row, {"base": base, "new": [0.5, 0.5, 0.6, 0.5]})[-1] == "48% less"
    assert compare.row(row, {"base": base, "new": [1.3, 1.2, 1.2, 1.2]})[-1] == "20% more"
    assert compare.row(row, {"base": base, "new": [0.9, 1.2, 0.9, 1.2]})[-1] == ""


@pytest.mark.slow
def test_estimators_by_hand():
    """SciPy and scikit-learn want a Python where nobody has imported them yet."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (2026-11-30: CI has it)")
    command = [sys.executable, "-m", "tests.benchmark_estimators_script"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["components", "variance", "mixture", "score"]
