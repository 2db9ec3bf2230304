"""The plugins of examples/backends, and the fall-backs of `Backend` that keep them short."""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from polygrad import indexing
from polygrad.backend import Capabilities
from polygrad.backends import sim
from polygrad.backends.sim_backend import SimBackend
from polygrad.device import Device
from polygrad.dtypes import float32
from tests.devices import optional

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.parent for path in (ROOT / "examples/backends").glob("*/pyproject.toml"))
SCRIPT = """
import sys
import polygrad as pg
from polygrad_conformance.api import Session
name = sys.argv[1]
assert pg.ones(2, device=name).device == name and any(d == name for d in pg.devices())
session = Session("", name)
for op in {*session.ops[::12], "sort", "unique_all", "take_along_axis", "linalg.svd", "prod"}:
    session.check(op)
print("passed")
"""


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_plugin_is_one_short_file_and_announces_itself(package):
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    ((name, target),) = project["project"]["entry-points"]["polygrad.backends"].items()
    module, _, cls = target.partition(":")
    text = (package / f"{module}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert [path.name for path in package.glob("*.py")] == [f"{module}.py"]
    classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    facts = {
        ast.unparse(node.targets[0]): ast.unparse(node.value)
        for node in classes[cls].body if isinstance(node, ast.Assign)
    }  # fmt: skip
    assert facts["name"] == repr(name)
    assert facts["install"] == repr(f"pip install {package.name}")
    assert package.name in (ROOT / "examples/backends/README.md").read_text(encoding="utf-8")


def installed(package, folder):
    """The package as pip leaves it in `folder`."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    ((name, target),) = project["entry-points"]["polygrad.backends"].items()
    (info / "entry_points.txt").write_text(f"[polygrad.backends]\n{name} = {target}\n")
    return [str(folder), str(package)]


@pytest.mark.slow
@pytest.mark.parametrize(("library", "device"), [("torch", "torch:cpu"), ("mlx", "mlx:cpu")])
def test_some_of_everything_is_right_on_it(library, device, tmp_path):
    optional(library)
    paths = installed(ROOT / "examples/backends" / f"polygrad-{library}", tmp_path)
    paths = [str(ROOT), str(ROOT / "conformance"), *paths]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, device],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.stdout == "passed\n", done.stdout + done.stderr


# ---- fall-backs ---------------------------------------------------------------------------------
def random_key(rng, shape):
    key = []
    for n in shape[: rng.randint(0, len(shape))]:
        if rng.random() < 0.2:
            key.append(rng.randint(-n, n))
        else:
            ends = (rng.choice([None, *range(-6, 7)]) for _ in range(2))
            key.append(slice(*ends, rng.choice([None, 1, 2, -1, -2, -3])))
        key += [None] * (rng.random() < 0.2)
    if rng.random() < 0.4:
        key.insert(rng.randint(0, len(key)), Ellipsis)
    return tuple(key)


def test_slices_that_go_backwards_by_flips():
    rng = random.Random(0)
    for _ in range(2000):
        shape = tuple(rng.randint(0, 4) for _ in range(rng.randint(1, 4)))
        key = random_key(rng, shape)
        a = np.arange(int(np.prod(shape))).reshape(shape)
        try:
            want = a[key]
        except IndexError:
            continue
        found = indexing.flipped(np, a, key)
        assert found.shape == want.shape, (shape, key)
        assert np.array_equal(found, want), (shape, key)


class ForwardArray(sim.Array):
    """What some libraries' arrays are like."""

    __slots__ = ()

    def __getitem__(self, key):
        assert not indexing.goes_back(key), key
        return sim.Array.__getitem__(self, key)

    def __setitem__(self, key, value):
        assert not indexing.goes_back(key), key
        sim.Array.__setitem__(self, key, value)


class ForwardBackend(SimBackend):
    capabilities = Capabilities(negative_steps=False)

    def copy(self, array):
        copied = SimBackend.copy(self, array)
        return ForwardArray(copied.data, copied.memory)


def test_a_library_is_not_given_the_slices_it_refuses():
    backend, host = ForwardBackend(), np.arange(6.0, dtype=np.float32)
    x = backend.copy(backend.from_numpy(host, Device("sim:0")))
    for key in ((slice(None, None, -1),), (slice(4, 0, -2), None), (slice(1, 3),)):
        assert np.array_equal(backend.to_numpy(backend.getitem(x, key)), host[key])
        want = host.copy()
        want[key] = 7
        assert np.array_equal(backend.to_numpy(backend.set_at(x, key, 7)), want)
    with pytest.raises(AssertionError):
        x[(slice(None, None, -1),)]


def test_operations_through_the_host():
    backend = SimBackend()
    backend.through_host("unique_all")
    backend.through_host("matmul", dtypes=("float32",))
    x = backend.from_numpy(np.asarray([[3, 1], [1, 3]], np.float32), Device("sim:no_float64"))
    F = backend.kernels(Device("sim:no_float64"), float32)
    before = sim.statistics(x.device).downloads
    assert np.array_equal(backend.to_numpy(F.matmul(x, x)), [[10, 6], [6, 10]])
    assert sim.statistics(x.device).downloads == before + 3
    found = F.unique_all(x)
    assert backend.to_numpy(found.counts).tolist() == [2, 2]
    assert all(part.device is x.device for part in found)
    assert F.origin("matmul").startswith("kernel")
