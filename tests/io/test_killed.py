"""kill -9 in the middle of a save leaves the old file, or the new one as a whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import polygrad as pg

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("killed_script.py")

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="2026-11-30: kills with a POSIX signal"
)


def start(path, where):
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, str(SCRIPT), str(path), where]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)


@pytest.mark.parametrize(
    ("where", "number"), [("write", 1), ("fsync", 1), ("replace", 1), ("folder", 2)]
)
def test_killed_at_one_point(tmp_path, where, number):
    path = tmp_path / "state.safetensors"
    pg.save({"number": 1, "x": []}, path)
    process = start(path, where)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert pg.load(path)["number"] == number
    left = [p for p in tmp_path.iterdir() if p != path]
    assert len(left) == (number == 1)
    assert all(p.name.startswith(".state") and p.name.endswith(".tmp") for p in left)


@pytest.mark.slow
def test_killed_at_any_time(tmp_path):
    path = tmp_path / "state.safetensors"
    rng = np.random.default_rng(0)
    for attempt in range(6):
        process = start(path, "any")
        assert process.stdout.readline() == b"begun\n"
        while not attempt and not path.exists() and process.poll() is None:
            time.sleep(0.01)  # the first must have saved once, however busy the machine is
        time.sleep(rng.uniform(0.02, 0.15))
        process.kill()
        process.communicate(timeout=60)
        if path.exists():
            found = pg.load(path)
            assert found["x"].numpy().tolist() == [found["number"]] * 200_000
    assert path.exists()
