"""Backends that other packages announce; docs/add_a_backend.md shows one that works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """
import polygrad as pg
assert pg.devices()[0] == "cpu"
try:
    pg.zeros(2, device="bad:0")
except pg.PolygradError as error:
    print(type(error).__name__, error)
"""


def test_a_plugin_that_cannot_be_imported_harms_nobody_else(tmp_path):
    info = tmp_path / "bad-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[polygrad.backends]\nbad = bad_plugin:Backend\n")
    (tmp_path / "bad_plugin.py").write_text("import a_library_that_is_missing\n")
    paths = os.pathsep.join([str(ROOT), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONPATH": paths}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "BackendBrokenError the backend 'bad' is installed but cannot be used" in done.stdout
    assert "No module named 'a_library_that_is_missing'" in done.stdout
    assert "pip install bad" in done.stdout
