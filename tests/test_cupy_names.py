"""Without a GPU CuPy can be imported but not run: every name the plugin takes from it is looked up.

The names are found in the plugin's own text, so that the list cannot go stale: each attribute of
CuPy's modules, classes and arrays must exist, and each call must fit its signature. Here the CuPy
is the one that is installed; `make cupy-names` takes the wheels for CUDA 12, CUDA 13 and ROCm.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
from pathlib import Path

import numpy as np
import pytest

import polygrad
from polygrad import backends
from polygrad.backends import cupy_kernels
from polygrad.kernels import FORWARDS
from polygrad.ops import load_all

PLUGIN = Path(backends.__file__).parent
TEXT = "".join(path.read_text() for path in sorted(PLUGIN.glob("cupy_*.py")))
MODULES = {"cupy": "cupy", "cupyx": "cupyx", "compat": "array_api_compat.cupy"}
ARRAYS = {"array", "value", "out", "places", "last", "flat"}  # what the plugin calls CuPy arrays
STREAMS = {"stream"}  # and its streams
PLANTS = [
    ("cupyx.scatter_add(", "cupyx.scatter_sum(", "scatter_sum"),
    ("runtime.getDeviceCount()", "runtime.deviceCount()", "deviceCount"),
    (".copy(order=", ".copy(ordre=", "ordre"),
    ("cupy.array(array, order=", "cupy.array(array, ordre=", "ordre"),
    ('errstate(linalg="raise")', 'errstate(linear="raise")', "linear"),
    ("cupyx.scatter_add(out, key, value)", "cupyx.scatter_add(out, key)", "missing"),
    ("array.data.device_id", "array.data.device_number", "device_number"),
    (".mem_info", ".memory_info", "memory_info"),
    ("array.get()", "array.fetch()", "fetch"),
    ("Stream(non_blocking=True)", "Stream(nonblocking=True)", "nonblocking"),
    ("stream.wait_event(ready)", "stream.wait_for(ready)", "wait_for"),
    ("get_current_stream().record()", "get_current_stream().mark()", "mark"),
    ("stream.begin_capture()", "stream.start_capture()", "start_capture"),
    ("using_allocator(made.pool.malloc)", "using_alloc(made.pool.malloc)", "using_alloc"),
    ("deviceCanAccessPeer(target, source)", "deviceCanAccessPeer(target)", "missing"),
    ("pool.free_bytes()", "pool.spare_bytes()", "spare_bytes"),
    ("cupyx.empty_pinned(", "cupyx.pinned_empty(", "pinned_empty"),
    ("is_memory_pinned(", "is_pinned(", "is_pinned"),
    ("get_default_pinned_memory_pool()", "get_pinned_memory_pool()", "get_pinned_memory_pool"),
    ("self.graph.launch()", "self.graph.play()", "play"),
]


WHEEL = os.environ.get("POLYGRAD_CUPY_WHEEL")  # the folder of the wheel that shall be looked at


@pytest.fixture(scope="module")
def modules():
    try:
        found = {name: importlib.import_module(path) for name, path in MODULES.items()}
    except ImportError as error:
        if WHEEL:
            pytest.fail(f"the wheel cannot be imported: {error}")
        if os.environ.get("CI"):
            pytest.fail("CI installs cupy-cuda13x, which needs no GPU to be imported")
        pytest.skip(f"CuPy is not installed here ({error}; 2026-11-29: CI installs it)")
    if WHEEL:
        assert found["cupy"].__file__.startswith(WHEEL)
        assert found["cupy"].cuda.runtime.is_hip is ("rocm" in WHEEL)
    return found


class Instance:
    """What an expression gives: some object of a class."""

    def __init__(self, cls):
        self.cls = cls


class Checker(ast.NodeVisitor):
    """Follows each expression of the plugin into CuPy and collects what does not exist or fit."""

    def __init__(self, modules):
        self.modules, self.faults, self.names = modules, [], set()
        cupy = modules["cupy"]
        self.array = Instance(cupy.ndarray)
        memory = Instance(cupy.cuda.MemoryPointer)
        self.made = {"data": memory, "real": self.array, "imag": self.array}
        self.stream = Instance(cupy.cuda.Stream)
        # What the plugin keeps under a name, or calls without saying what comes of it.
        self.kept = {"self.graph": Instance(cupy.cuda.Graph)}
        self.results = {
            "get_current_stream": self.stream,
            "get_default_memory_pool": Instance(cupy.cuda.MemoryPool),
            "get_default_pinned_memory_pool": Instance(cupy.cuda.PinnedMemoryPool),
        }

    def value(self, node):
        """What `node` stands for: an object of CuPy, an Instance, or None if it is not CuPy's."""
        if isinstance(node, ast.Name):
            if node.id in STREAMS:
                return self.stream
            if node.id == "pool":
                return self.results["get_default_memory_pool"]
            return self.modules.get(node.id) or (self.array if node.id in ARRAYS else None)
        if isinstance(node, ast.Subscript):
            owner = self.value(node.value)
            return self.array if owner is self.array else None
        if isinstance(node, ast.Attribute):
            return self.kept.get(ast.unparse(node)) or self.attribute(node)
        if isinstance(node, ast.Call):
            called = self.value(node.func)
            if inspect.isclass(called):
                return Instance(called)
            if isinstance(node.func, ast.Attribute) and node.func.attr in self.results:
                return self.results[node.func.attr] if called is not None else None
            return self.array if callable(called) and not isinstance(called, Instance) else None
        return None

    def attribute(self, node):
        owner = self.value(node.value)
        if owner is None:
            return None
        place = owner.cls if isinstance(owner, Instance) else owner
        if not hasattr(place, node.attr):
            self.faults.append(f"line {node.lineno}: {ast.unparse(node)}: no {node.attr}")
            return None
        self.names.add(ast.unparse(node))
        if isinstance(owner, Instance) and node.attr in self.made:
            return self.made[node.attr]
        return getattr(place, node.attr)

    def visit_Attribute(self, node):
        self.attribute(node)
        self.generic_visit(node)

    def visit_Call(self, node):
        called = self.value(node.func)
        bound = isinstance(node.func, ast.Attribute) and isinstance(
            self.value(node.func.value), Instance
        )
        signature = None if called is None else signature_of(called, bound)
        if signature is not None and not any(isinstance(a, ast.Starred) for a in node.args):
            keywords = {k.arg: None for k in node.keywords if k.arg}
            try:
                signature.bind(*(None for _ in node.args), **keywords)
            except TypeError as error:
                self.faults.append(f"line {node.lineno}: {ast.unparse(node)}: {error}")
        self.generic_visit(node)


def signature_of(called, bound):
    """The signature, read from the first line of the docstring for what is compiled."""
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        head = re.match(r"[\w.]+\((.*?)\)", (called.__doc__ or "").replace("\n", " "))
        if head is None:
            return None
        space = {}
        names = re.sub(r"\b\w+ (?=\w+\s*(?:[=,]|$))", "", head[1])  # without the types of C
        try:
            exec(f"def f({names}): ...", space)  # noqa: S102  a line of CuPy's documentation
        except SyntaxError:  # written in C's way
            return None
        signature = inspect.signature(space["f"])
    parameters = list(signature.parameters.values())
    if bound and parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    return signature.replace(parameters=parameters)


def check(modules, text):
    checker = Checker(modules)
    checker.visit(ast.parse(text))
    return checker


def test_every_name_exists_and_every_call_fits(modules):
    checker = check(modules, TEXT)
    assert not checker.faults
    assert len(checker.names) > 25, checker.names


@pytest.mark.parametrize(("right", "wrong", "named"), PLANTS, ids=[p[2] for p in PLANTS])
def test_a_planted_fault_is_found(modules, right, wrong, named):
    assert right in TEXT
    faults = check(modules, TEXT.replace(right, wrong)).faults
    assert faults
    assert all(named in fault for fault in faults)


def test_the_launcher_of_kernels_takes_names_that_exist(modules):
    used = set()
    for path in Path(cupy_kernels.__file__).parent.glob("*.py"):
        used |= set(re.findall(r"\blibrary\.(\w+)\(", path.read_text()))
    assert {"empty", "argsort", "ascontiguousarray"} <= used
    assert not {name for name in used if not hasattr(modules["cupy"], name)}
    module = modules["cupy"].RawModule(code="", options=cupy_kernels.OPTIONS["cuda"])
    assert callable(module.get_function)


def test_the_benchmarks_by_hand_name_nothing_that_cupy_has_not(modules):
    folder = Path(__file__).parent.parent / "benchmarks" / "handwritten"
    files = ("layers", "images", "encoder", "optimizers", "science", "networks")
    text = "".join((folder / f"{name}.py").read_text() for name in files)
    names = sorted(set(re.findall(r"\bnp\.([a-z_]\w*(?:\.\w+)?)", text)))
    assert len(names) > 25
    missing = []
    for name in names:
        owner = modules["cupy"]
        for part in name.split("."):
            owner = getattr(owner, part, None)
        if owner is None:
            missing.append(name)
    assert not missing


def test_the_namespace_has_every_standard_name(modules):
    import array_api_strict

    from polygrad.backends.cupy_backend import _XP

    names = {n for n in array_api_strict.__all__ if "strict" not in n.lower()} - {"Device"}
    assert not {n for n in names if not n.startswith("_") and not hasattr(_XP, n)}
    for chapter in ("linalg", "fft"):
        names = getattr(array_api_strict, chapter).__all__
        assert not {n for n in names if not hasattr(getattr(_XP, chapter), n)}


# What copies bits, or makes arrays; and reductions whose loops for bfloat16 CuPy's sources have.
AS_IT_IS = {
    "arange", "asarray", "astype", "broadcast_arrays", "broadcast_to", "concat", "concatenate",
    "expand_dims", "eye", "flip", "from_dlpack", "full", "imag", "int64", "matrix_transpose",
    "ndim", "permute_dims", "real", "repeat", "reshape", "roll", "shape", "squeeze", "stack",
    "take", "take_along_axis", "tile", "zeros", "zeros_like", "max", "mean", "min", "prod", "sum",
}  # fmt: skip


def names_of_the_library():
    """What polygrad asks of an array namespace."""
    folder, found = Path(polygrad.__file__).parent, set()
    for path in folder.rglob("*.py"):
        if "backends" not in path.parts:
            found |= set(re.findall(r"\bF\.xp\.(\w+)|\bk\.xp\.(\w+)", path.read_text()))
    load_all()
    own = {name for name, function in FORWARDS.items() if function is None}
    return {name for pair in found for name in pair if name} | own


def without_loop(modules, wide):
    """Names that get bfloat16, though CuPy has no loop for it."""
    ml_dtypes = pytest.importorskip(
        "ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-30: optional)"
    )
    char, missing = np.dtype(ml_dtypes.bfloat16).char, set()
    for name in names_of_the_library() - AS_IT_IS - set(wide):
        function = getattr(modules["compat"], name, None)
        if not isinstance(function, modules["cupy"].ufunc) or not any(
            char in loop for loop in function.types
        ):
            missing.add(name)
    return missing


def test_bfloat16_goes_where_cupy_has_it(modules):
    from polygrad.backends.cupy_backend import _IN_FLOAT32

    assert len(names_of_the_library()) > 50
    assert not without_loop(modules, _IN_FLOAT32)
    assert "ceil" in without_loop(modules, set(_IN_FLOAT32) - {"ceil"})
    assert any("E" in loop for loop in modules["cupy"].add.types)


def test_without_a_driver_the_error_says_so(modules):
    if modules["cupy"].cuda.is_available():
        pytest.skip("there is a GPU (2026-11-29: then tests on its device run instead)")
    from polygrad.backends.cupy_backend import CupyBackend
    from polygrad.errors import BackendBrokenError
    from polygrad.registry import find_device

    assert "driver" in CupyBackend.problem()
    with pytest.raises(BackendBrokenError, match=r"no working GPU driver.*python -m polygrad"):
        find_device("cuda:0")
