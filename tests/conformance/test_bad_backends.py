"""What `run` says of backends that crash, hang, lie or cannot be used: a status and a next step.

Each is the generated package of `polygrad-conformance new` with one fault. The command prints what
is wrong and what to do, never a traceback of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from polygrad_conformance import cli, processes
from polygrad_conformance.new import package
from tests.conformance.bad_backends import FAULTS, MODULES, POINTS
from tests.installed import announce

FEW = ("transfer/float32/value/plain", "exp/float32/value/0", "exp/float32/dtype",
       "log/float32/value/0")  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of the import path, with the package, the faults, and entry points to them."""
    folder = tmp_path_factory.mktemp("bad")
    for path, text in package("toy").items():
        if path.startswith("src/"):
            place = folder / path.removeprefix("src/")
            place.parent.mkdir(exist_ok=True)
            place.write_text(text)
    for name, text in {"faults.py": FAULTS, **MODULES}.items():
        (folder / name).write_text(text)
    announce(POINTS, folder)
    return folder


@pytest.fixture
def command(folder, monkeypatch, capfd):
    """Run the command in that folder: its exit code and all that it printed."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))

    def run(backend, *words, options=()):
        arguments = ["run", "--backend", backend, "--quiet", *options, *(words or FEW)]
        code = cli.main(arguments)
        said = "".join(capfd.readouterr())
        assert "Traceback" not in said, said
        return code, re.sub(r"\s+", " ", said)

    return run


# ---- it runs, and some of it fails ---------------------------------------------------------------
def test_a_sound_one_passes(command):
    code, said = command("faults:Plain")
    assert code == 0, said
    assert "pass 4" in said


def test_dtypes_that_a_device_has_not_change_nothing_for_the_others(command):
    words = ("inner/", "scatter/float32/layout")
    code, said = command("faults:Plain", *words, options=("--level", "full"))
    assert code == 0, said
    assert "products -- -- 1/1 A -- 1/1 A -- 1/1 A" in said
    assert "fail 0" in said


def test_dtypes_may_have_names_of_their_own(command):
    words = ("getitem/float32/grad", "take/float32/grad", "nn.functional.max_pool1d/float32/value")
    code, said = command("faults:NamedOtherwise", *words)  # and native_dtype need know no others
    assert code == 0, said


# The exit code is 1, and these words are printed: the status, then where to begin.
FAILING = {
    "Crashes": ("1 crash", "-k exp/float32/value/0", "crash: the process died (signal 6", "pass 2"),
    "Exits": ("1 crash", "-k exp/float32/value/0", "the process died (exit code 0", "pass 2"),
    "Quits": ("1 crash", "-k exp/float32/value/0", "crash: the process died", "pass 2"),
    "WideResults": ("step 2", "-k exp/float32/dtype/all", "results of ['float64'], expected"),
    "WideTransfers": ("step 0", "-k transfer/float32", "3 checks wait for it", "float64"),
    "HostTransfers": ("step 0", "-k transfer/float32", "numpy.ndarray", "from_numpy"),
    "OwnDtypes": ("step 0", "dtype_of returned 'float32', a builtins.str, no numpy.dtype"),
    "RaisesBelow": ("error: InvalidArgumentError", "no such thing", "(at polygrad.", "> faults:",
                    "in outer > faults:", "in inner)"),
    "DeviceTransfers": ("step 0", "-k transfer/float32", "to_numpy"),
    "NoSuchDevice": ("step 0", "-k transfer/float32", "device_of"),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_says_where_to_begin(command, name):
    code, said = command(f"faults:{name}")
    assert code == 1, said
    for words in (*FAILING[name], "NOT CONFORMANT", "First thing to fix"):
        assert words in said, said


# What is refused, a check that meets it, and the words in which the class can say so.
HINTS = {
    "ForwardSlices": ("getitem/float32/value/reversed", "Capabilities(negative_steps=False)"),
    "NarrowIndices": ("getitem/float32/value/indices", "Capabilities(sparse_keys=False)"),
    "ReadOnly": ("setitem/float32/value/step", "Capabilities(writeable=False)"),
    "WithoutSign": ("sign/float32/value/0", "self.through_host('sign'), or supports()"),
}


@pytest.mark.parametrize("name", HINTS)
def test_what_a_class_can_say_is_hinted(command, name):
    case, words = HINTS[name]
    code, said = command(f"faults:{name}", case)
    assert code == 1, said
    assert "hint: " in said, said
    assert words in said, said


def test_of_an_operation_that_is_made_of_others_no_kernel_is_hinted(command):
    _, said = command("faults:WithoutSign", "gather/float32/value/0")
    assert "hint: " in said, said
    assert "gather is made of other operations" in said, said
    assert "through_host('gather')" not in said


def test_an_index_error_need_not_be_about_a_range(command):
    _, said = command("faults:WithoutSign", "take/float32/value/0")
    assert "need not be about a range" in said, said


def test_a_kernel_that_nothing_calls_is_a_failure(command):
    assert command("faults:Plain", "kernels/none/claims/names")[0] == 0
    code, said = command("faults:IdleKernels", "kernels/none/claims/names")
    assert code == 1, said
    assert "'gather': gather is made of other operations" in said, said
    assert "'take_along_axes': did you mean: take_along_axis" in said, said
    assert "adam_step_" not in said
    assert "'take'" not in said


def test_a_wrong_number_has_no_hint(command):
    _, said = command("faults:WideResults")
    assert "First thing to fix" in said
    assert "hint:" not in said


def test_a_hang_costs_one_check(command):
    words = ("exp/float32/value/0", "log/float32/value/0")
    code, said = command("faults:Hangs", *words, options=("--timeout", "0.3"))
    assert code == 1, said
    where = r"the process was ended, while in [^/ ]+/faults.py:\d+, in <lambda>"
    assert "timeout: no result after 3 s: " in said, said
    assert re.search(where, said), said
    assert "pass 1" in said


def test_a_device_that_cannot_be_opened_again(command, folder):
    """What ran before is kept; what is left did not run, and says why."""
    code, said = command("faults:Wedges", options=("-n", "1"))
    (folder / "wedged").unlink()
    assert code == 1, said
    for words in ("1 crash", "notrun", "pass 1", "-k exp/float32/value/0", "NOT CONFORMANT"):
        assert words in said, said


def test_a_claimed_dtype_that_raises(command):
    code, said = command("faults:HalfClaimed", "transfer/float16", *FEW)
    assert code == 1, said
    assert "the chip has no float16" in said
    assert "supports" in said
    assert "3 blocked" in said
    assert "pass 4" in said


def test_results_on_the_host(command):
    code, said = command("faults:HostResults", "exp/float32/device", "log/float32/device")
    assert code == 1, said
    assert "-k exp/float32/device/all" in said
    assert "numpy.ndarray" in said
    assert "pass 1" in said


def test_shared_memory(command):
    code, said = command("faults:Shares", "transfer/float32/purity", *FEW)
    assert code == 1, said
    assert "-k transfer/float32/purity/copy" in said
    assert "after a write to the host's array" in said
    assert "must copy" in said


def test_what_a_library_prints_disturbs_nobody(command):
    code, said = command("faults:Chatters")
    assert code == 0, said
    assert "pass 4" in said


# ---- it cannot be used ---------------------------------------------------------------------------
# What is wrong, and the next step.
UNUSABLE = {
    "faults:NoDevices": ("it has no device", "devices()"),
    "faults:DevicesRaise": ("the driver is older than the library", "faults.py", "in devices"),
    "faults:DescribeRaises": ("no such file: /sys/class/chip/version", "in describe"),
    "faults:Problem": ("the driver is not loaded", "python -m polygrad"),
    "faults:Unfinished": ("abstract", "from_numpy"),
    "faults:Nameless": ("name is 'missing'", 'name = "mychip"'),
    "faults:OneKind": ("device_kinds is 'toy'", 'device_kinds = ("mychip",)'),
    "faults:WrongCapabilities": ("capabilities is {", "polygrad.backend.Capabilities"),
    "faults:NoBackend": ("is no backend", "derive"),
    "faults:a_function": ("is no backend", "derive"),
    "faults:Nothing": ("'faults:Nothing' cannot be imported", "Python path"),
    "no_such_module:Backend": ("cannot be imported: No module named 'no_such_module'", "path"),
    "raises_at_import:Backend": ("cannot open shared object file", "raises_at_import.py:1"),
    "wrong_syntax:Backend": ("SyntaxError", "wrong_syntax.py"),
    "exits_at_import:Backend": ("SystemExit: 5", "exits_at_import.py:2"),
    "not_installed:Backend": ("'chiplib', which is not installed", "pip install chiplib"),
    "raises": ("cannot open shared object file", "raises_at_import:Backend"),
    "exits": ("SystemExit: 5", "exits_at_import:Backend"),
    "syntax": ("SyntaxError", "wrong_syntax:Backend"),
    "nomodule": ("No module named 'no_such_module'", "no_such_module:Backend"),
    "noclass": ("has no attribute 'Backends'", "faults:Backends"),
    "nocolon": ("entry point is 'faults'", "module:Class"),
    "nobackend": ("faults:NoBackend", "derive"),
    "function": ("faults:a_function", "derive"),
    "misnamed": ("its name is 'toy'", "let both be one"),
    "absent": ("'chiplib', which is not installed", "pip install chiplib"),
    "unheard_of": ("there is no backend called 'unheard_of'", "known backends", "numpy"),
}
SCRIPT = """
import json, sys
from polygrad_conformance.collection import Selection
from polygrad_conformance.options import NothingRan, Options
from polygrad_conformance.runner import run
said = {}
for name in sys.argv[1:]:
    try:
        run(Options(name, selection=Selection(("exp/float32/value/0",)), isolate=False))
    except NothingRan as error:
        said[name] = str(error)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def refusals(folder):
    """What is said of each, all in one process: none may end it."""
    paths = [*processes.homes().split(os.pathsep), str(folder)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *UNUSABLE], cwd=folder, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("backend", UNUSABLE)
def test_what_cannot_be_used_says_why_and_what_to_do(refusals, backend):
    for words in UNUSABLE[backend]:
        assert words in refusals[backend], refusals[backend]


@pytest.mark.parametrize("backend", ["raises", "faults:NoDevices", "nobackend"])
def test_the_command_says_the_same(command, refusals, backend):
    code, said = command(backend)
    assert code == 3, said
    assert said.strip() == f"polygrad-conformance: {refusals[backend]}"


def test_what_kills_the_process_that_loads_it(command):
    code, said = command("aborts_at_import:Backend")
    assert code == 3, said
    assert "the process died (signal 6" in said
    assert "by hand: python -c" in said
    assert "from aborts_at_import import Backend" in said


def test_a_hang_at_import_ends(command, monkeypatch):
    monkeypatch.setattr(processes, "_STARTING", 2.0)
    code, said = command("hangs_at_import:Backend")
    assert code == 3, said
    assert "no answer after 2 s" in said
    assert "by hand: python -c" in said


def test_a_device_that_is_not_there(command):
    code, said = command("faults:Plain", options=("--device", "toy:7"))
    assert code == 3, said
    assert "there is no device 'toy:7'" in said
    assert "toy:0, toy:1" in said


def test_a_bad_plugin_harms_no_other_backend(command):
    code, said = command("numpy", "exp/float32/value/0")
    assert code == 0, said
    assert "pass 1" in said
    code, said = command("good", "exp/float32/value/0")
    assert code == 0, said
    assert "pass 1" in said
