"""However a loader ends, no process and no shared memory stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.data.leaks_script import segments

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("leaks_script.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="2026-11-30: looks into /proc and /dev/shm"
    ),
]


def start(method, how, items=2_000, workers=2):
    """The script, in a process group of its own."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), method, how, str(items), str(workers)],
        env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def members(group):
    """The processes of a group that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has just gone
            continue
        if int(pgrp) == group and state != "Z":
            found.append(stat.parent.name)
    return found


def all_gone(group, before, limit=20.0):
    """Whether the group's processes and what it had in shared memory disappear in time."""
    end = time.monotonic() + limit
    while (members(group) or segments() - before) and time.monotonic() < end:
        time.sleep(0.02)
    return not members(group) and not segments() - before


@pytest.mark.parametrize(
    ("method", "how", "items", "workers", "seen"),
    [
        ("fork", "normal", 10_000, 4, 10_000),
        ("fork", "error", 10_000, 4, 1_000),
        ("fork", "abandoned", 2_000, 4, 1_000),
        ("fork", "exit", 2_000, 2, 1_000),
        ("spawn", "normal", 2_000, 2, 2_000),
        ("spawn", "error", 2_000, 2, 1_000),
        ("forkserver", "abandoned", 2_000, 2, 1_000),
    ],
)
def test_nothing_is_left(method, how, items, workers, seen):
    before = segments()
    process = start(method, how, items, workers)
    out, err = process.communicate(timeout=120)
    assert not process.returncode, err
    assert err == ""
    left = "" if how == "exit" else " children 0 segments 0"
    assert out == f"under way\nseen {seen} most {workers}{left}\n"
    assert all_gone(process.pid, before)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("how", ["Ctrl-C", "kill"])
def test_nothing_is_left_after_a_signal(method, how):
    """Ctrl-C goes to all processes of a terminal; kill -9 to the parent, which can do nothing."""
    before = segments()
    process = start(method, "run", items=10_000, workers=4)
    assert {process.stdout.readline() for _ in range(2)} == {"under way\n", "busy\n"}
    if how == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.kill()
    _, err = process.communicate(timeout=120)
    assert process.returncode == (-signal.SIGINT if how == "Ctrl-C" else -signal.SIGKILL)
    assert err.count("Traceback") == err.count("KeyboardInterrupt") == (how == "Ctrl-C")
    assert all_gone(process.pid, before)
