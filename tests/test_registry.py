"""How backends are found: three errors that differ, plugins, identity, the doctor's report."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import polygrad as pg
from polygrad import registry
from polygrad.backends.numpy_backend import NumpyBackend
from polygrad.device import Device
from polygrad.doctor import report
from polygrad.errors import (
    BackendBrokenError,
    BackendNotInstalledError,
    ForeignArrayError,
    UnknownDeviceError,
)
from polygrad.registry import Entry, find_device, load, register_backend

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def registered():
    """Register backends for one test."""
    saved = [(d, dict(d)) for d in (registry._catalogue, registry._loaded, registry._by_type)]
    yield register_backend
    for d, before in saved:
        d.clear()
        d.update(before)


class FakeArray:
    """An array of nobody's library."""


class FakeBackend(NumpyBackend):
    name = "fake"
    device_kinds = ("fake",)
    trouble = ""
    made = 0

    def __init__(self):
        type(self).made += 1
        super().__init__()

    @classmethod
    def problem(cls):
        return cls.trouble

    @property
    def array_types(self):
        return (FakeArray,)

    def devices(self):
        return [Device("fake:0"), Device("fake:1")]


class BrokenBackend(FakeBackend):
    trouble = "no driver (error 100)"


class CrashingBackend(FakeBackend):
    def __init__(self):
        raise OSError("libfake.so.7: cannot open shared object file")


def entry(cls=FakeBackend, *, name="fake", libraries=("numpy",), target=None):
    target = target or f"{__name__}:{cls.__name__}"
    return Entry(name, target, (name,), libraries, "pip install fakelib")


@pytest.fixture(autouse=True)
def _importable():
    """The fake backends' targets are found in this module, however pytest imported it."""
    sys.modules.setdefault(__name__, sys.modules[FakeBackend.__module__])
    FakeBackend.made = 0


def parts(caught):
    error = caught.value
    text = str(error)
    assert text == f"{error.what}. {error.where}. {error.fix}."
    return error.what, error.where, error.fix


# ---- three errors that differ -------------------------------------------------------------------
def test_a_kind_nobody_serves():
    with pytest.raises(UnknownDeviceError) as caught:
        find_device("quantum:0")
    what, where, fix = parts(caught)
    assert what == "no backend serves devices of kind 'quantum'"
    assert where.startswith("known kinds: ")
    kinds = where.removeprefix("known kinds: ").split(", ")
    assert {"cpu", "cuda", "rocm", "sycl", "jax"} <= set(kinds)
    assert "strict" not in kinds
    assert "pg.devices()" in fix
    assert isinstance(caught.value, ValueError)


def test_a_device_that_its_backend_does_not_have(registered):
    registered(entry())
    with pytest.raises(UnknownDeviceError) as caught:
        find_device("fake:7")
    what, where, fix = parts(caught)
    assert what == "there is no device 'fake:7'"
    assert where == "devices that the backend 'fake' sees: fake:0, fake:1"
    assert "python -m polygrad" in fix


def test_a_backend_nobody_knows():
    with pytest.raises(UnknownDeviceError) as caught:
        load("quantum")
    what, where, fix = parts(caught)
    assert what == "there is no backend called 'quantum'"
    assert "cupy" in where
    assert "install the package" in fix


def test_known_but_not_installed(registered):
    registered(entry(libraries=("a_library_that_is_missing",)))
    with pytest.raises(BackendNotInstalledError) as caught:
        pg.zeros(2, device="fake:0")
    what, where, fix = parts(caught)
    assert what == (
        "the backend 'fake' needs the package 'a_library_that_is_missing', which is not installed"
    )
    assert where == "devices fake"
    assert fix == "pip install fakelib"
    assert isinstance(caught.value, ImportError)
    assert FakeBackend.made == 0


@pytest.mark.parametrize(
    ("cls", "target", "cause"),
    [
        (BrokenBackend, None, "no driver (error 100)"),
        (CrashingBackend, None, "OSError: libfake.so.7: cannot open shared object file"),
        (None, "a_plugin_that_is_missing:Backend", "No module named 'a_plugin_that_is_missing'"),
        (None, f"{__name__}:NoSuchClass", "NoSuchClass"),
    ],
    ids=["problem", "crash", "module", "class"],
)
def test_installed_but_broken(registered, cls, target, cause):
    registered(entry(cls, target=target))
    with pytest.raises(BackendBrokenError) as caught:
        pg.zeros(2, device="fake:0")
    what, where, fix = parts(caught)
    assert what.startswith("the backend 'fake' is installed but cannot be used: ")
    assert cause in what
    assert where == f"devices fake, class {target or f'{__name__}:{cls.__name__}'}"
    assert fix == "run `python -m polygrad` for a report; reinstall with: pip install fakelib"
    assert isinstance(caught.value, RuntimeError)


def test_devices_of_what_does_not_work_are_left_out(registered):
    before = pg.devices()
    registered(entry(BrokenBackend))
    registered(entry(name="gone", libraries=("a_library_that_is_missing",)))
    assert pg.devices() == before
    assert before[0] == "cpu"
    registered(entry())
    assert {"fake:0", "fake:1"} <= set(pg.devices())


# ---- what is found, and when --------------------------------------------------------------------
def test_short_names_are_completed(registered):
    registered(entry())
    assert find_device("fake") == "fake:0"
    assert find_device("fake:1").name == "fake:1"
    assert find_device(None) == "cpu"


def test_a_backend_is_made_once_by_however_many_threads(registered, monkeypatch):
    class Slow(FakeBackend):
        def __init__(self):
            threading.Event().wait(0.05)
            super().__init__()

    monkeypatch.setattr(sys.modules[__name__], "FakeBackend", Slow)
    registered(entry())
    found = []
    threads = [threading.Thread(target=lambda: found.append(load("fake"))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
    assert Slow.made == 1


def test_a_backend_registered_again_replaces_the_first(registered):
    registered(entry())
    first = load("fake")
    registered(entry())
    assert load("fake") is not first


def test_the_backend_of_an_array_is_found_by_its_type(registered):
    class Subclass(np.ndarray):
        pass

    assert registry.backend_of(np.zeros(2)).name == "numpy"
    assert registry.backend_of(np.zeros(2).view(Subclass)).name == "numpy"
    assert registry.backend_of(np.ma.zeros(2)).name == "numpy"
    assert registry.backend_of("text") is None
    assert registry.backend_of(FakeArray()) is None
    registered(entry(libraries=(FakeArray.__module__.partition(".")[0],)))
    registry._by_type.pop(FakeArray, None)
    assert registry.backend_of(FakeArray()).name == "fake"


def test_an_object_of_no_known_library():
    with pytest.raises(ForeignArrayError) as caught:
        pg.add(pg.zeros(2), object())
    what, where, fix = parts(caught)
    assert what == "an object of type builtins.object is not an array polygrad knows"
    assert where == "add, argument y"
    assert fix.startswith("pass a Tensor, a number or an array of numpy, ")


def test_importing_polygrad_imports_no_library_but_numpy():
    code = (
        "import sys, polygrad as pg; pg.devices\n"
        "print(sorted({'cupy', 'dpctl', 'dpnp', 'jax', 'array_api_strict', 'array_api_compat',"
        " 'torch', 'scipy'} & set(sys.modules)))\n"
        "pg.zeros(2, device='cpu'); pg.asarray([1.0])\n"
        "print(sorted({'cupy', 'dpnp', 'jax', 'array_api_strict'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.split("\n")[:2] == ["[]", "[]"]


# ---- plugins ------------------------------------------------------------------------------------
PLUGIN = """
from polygrad.backends.numpy_backend import NumpyBackend
from polygrad.device import Device

class Chip(NumpyBackend):
    name = "chip"
    device_kinds = ("chip",)
    libraries = ("chip_plugin",)
    install = "pip install chip-driver"
    @property
    def array_types(self):
        return (Array,)
    def devices(self):
        return [Device("chip:0")]
    def device_of(self, array):
        return Device("chip:0")
    def from_numpy(self, array, device):
        return super().from_numpy(array, device).view(Array)
    def coerce(self, value, device):
        return super().coerce(value, device).view(Array)
    def native_device(self, device):
        return "cpu"

import numpy
class Array(numpy.ndarray):
    pass
"""
USER = """
import sys
import polygrad as pg
assert "chip_plugin" not in sys.modules
x = pg.tensor([1.0, 2.0], device="chip", requires_grad=True)
pg.sum(x * x).backward()
print(x.device, x.grad.tolist(), pg.devices()[-1], type(x.grad.native()).__name__)
from polygrad.registry import entries
print([e for e in entries() if e.name == "chip"][0].install)
import chip_plugin, numpy
print(pg.asarray(numpy.ones(2).view(chip_plugin.Array)).device)
"""


def test_a_plugin_is_found_by_its_entry_point(tmp_path):
    """A package with nothing but a module and metadata, as pip would install it."""
    info = tmp_path / "polygrad_chip-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: polygrad-chip\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[polygrad.backends]\nchip = chip_plugin:Chip\n")
    (tmp_path / "chip_plugin.py").write_text(PLUGIN)
    paths = os.pathsep.join([str(ROOT), str(tmp_path)])
    run = subprocess.run(
        [sys.executable, "-c", USER], env={**os.environ, "PYTHONPATH": paths}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[:3] == [
        "chip:0 [2.0, 4.0] chip:0 Array", "pip install chip-driver", "chip:0",
    ]  # fmt: skip


# ---- the doctor ---------------------------------------------------------------------------------
def test_the_report_says_what_works_what_does_not_and_what_to_type(registered):
    registered(entry(BrokenBackend))
    registered(entry(name="gone", libraries=("a_library_that_is_missing",)))
    text = report()
    lines = text.split("\n")
    assert lines[0].startswith(f"polygrad {pg.__version__}, Python {sys.version.split()[0]}, ")
    assert "default device: cpu" in lines
    assert f"numpy: works, numpy {np.__version__}" in lines
    (cpu,) = (line for line in lines if line.startswith("    cpu: "))
    assert cpu.startswith("    cpu: gradient right, ")
    assert cpu.endswith(", all dtypes")
    at = lines.index("fake: BROKEN; devices: fake")
    assert lines[at + 1].endswith("cannot be used: no driver (error 100)")
    assert lines[at + 2] == "    to get it: pip install fakelib"
    at = lines.index("gone: not installed; devices: gone")
    assert "needs the package 'a_library_that_is_missing'" in lines[at + 1]
    assert lines[at + 2] == "    to get it: pip install fakelib"


def test_the_report_survives_a_device_that_fails_or_is_wrong(registered, monkeypatch):
    class Failing(FakeBackend):
        def from_numpy(self, array, device):
            if device == "fake:0":
                raise OSError("the cable is unplugged")
            return super().from_numpy(array * 2, device)

        @property
        def array_types(self):
            return (np.ndarray,)

        def memory(self, device):
            return None

        def hardware(self, device):
            return "a drum", "punched cards 2"

        def supports(self, dtype, device):
            return dtype != np.float64

        def device_of(self, array):
            return Device("fake:1")

    Failing.native_device = lambda self, device: "cpu"
    monkeypatch.setattr(sys.modules[__name__], "FakeBackend", Failing)
    registered(entry())
    text = report()
    rest = ", a drum through punched cards 2, memory unknown, all dtypes but float64\n"
    assert f"fake:0: FAILS: OSError: the cable is unplugged{rest}" in text
    assert f"fake:1: WRONG: the gradient of x * x at 3 is 12.0{rest}" in text


def test_the_report_when_the_default_device_is_missing(monkeypatch):
    pg.set_default_device(None)
    monkeypatch.setenv("POLYGRAD_DEVICE", "quantum:0")
    assert "default device: none (POLYGRAD_DEVICE=quantum:0): no backend serves" in report()


def test_an_error_about_the_default_device_says_who_named_it(monkeypatch):
    pg.set_default_device(None)
    monkeypatch.setenv("POLYGRAD_DEVICE", "gpu")
    with pytest.raises(UnknownDeviceError) as caught:
        pg.ones(2)
    assert "the environment variable POLYGRAD_DEVICE is 'gpu'; known kinds:" in str(caught.value)


def test_python_m_polygrad():
    run = subprocess.run(
        [sys.executable, "-m", "polygrad"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("polygrad ")
    assert "numpy: works" in run.stdout


def test_a_device_is_a_value_and_a_context(registered):
    registered(entry())
    place = pg.device("fake")
    assert isinstance(place, pg.Device)
    assert (place, str(place), hash(place)) == ("fake:0", "fake:0", hash("fake:0"))
    assert copy.deepcopy(place) == place
    assert pg.ones(2).to(pg.device("cpu")).device == "cpu"
    with place as entered, place:
        assert entered is place
        assert registry.default_device() == "fake:0"
        with pg.device("fake:1"):
            assert registry.default_device() == "fake:1"
        assert registry.default_device() == "fake:0"
    with pytest.raises(RuntimeError), place:
        raise RuntimeError
    assert registry.default_device() == "cpu"
    assert place(registry.default_device)() == "fake:0"
    with pytest.raises(UnknownDeviceError):
        pg.device("quantum:0")


# ---- the default device -------------------------------------------------------------------------
def test_the_default_device(registered, monkeypatch):
    registered(entry())
    assert registry.default_device() == "cpu"
    pg.set_default_device("fake")
    assert registry.default_device() == "fake:0"
    with pg.device("fake:1"):
        assert registry.default_device() == "fake:1"
        with pg.device("cpu") as inner:
            assert registry.default_device() is inner
        assert registry.default_device() == "fake:1"
        seen = []
        t = threading.Thread(target=lambda: seen.append(registry.default_device()))
        t.start()
        t.join()
        assert seen == ["fake:0"]
    assert registry.default_device() == "fake:0"
    pg.set_default_device(None)
    monkeypatch.setenv("POLYGRAD_DEVICE", "fake:1")
    assert registry.default_device() == "fake:1"


def test_kernels_pickle_as_the_place_they_stand_for():
    import copy
    import pickle

    k = registry.find_kernels("cpu", "float32")
    assert pickle.loads(pickle.dumps(k)) is k  # noqa: S301  made a line above
    assert copy.deepcopy(k) is k
    assert repr(k) == "<Kernels numpy cpu float32>"


def test_a_dtype_that_a_device_does_not_have(registered, monkeypatch):
    monkeypatch.setattr(FakeBackend, "supports", lambda self, dtype, device: dtype == np.float32)
    registered(entry())
    with pytest.raises(pg.errors.DtypeError) as caught:
        pg.zeros(2, dtype="float64", device="fake:0")
    what, where, fix = parts(caught)
    assert what == "the device fake:0 has no float64"
    assert where
    assert fix == "use one of its dtypes: float32"


def test_known_gaps_and_capabilities_are_data():
    for known in registry.entries():
        try:
            backend = load(known.name)
        except (BackendNotInstalledError, BackendBrokenError):
            continue
        assert isinstance(backend.capabilities.writeable, bool)
        assert all(gap.reason for gap in backend.known_gaps)
        assert backend.name == known.name
        assert backend.device_kinds == known.device_kinds
