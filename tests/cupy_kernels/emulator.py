"""Runs the text of kernels on the CPU: compiled by a C++ compiler behind `gpu_on_cpu.h`.

Every launch checks what a GPU would not: that arguments are of the kernel's types, in number and
kind; that nothing is written beside an array (a margin around each is compared); and that every
thread reaches every barrier. Arrays that are not filled hold NaN, or a pattern of bits.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import shutil
import subprocess
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from polygrad.backends.cupy_kernels import Launcher, register
from polygrad.backends.cupy_kernels.text import COMPLEX, NUMBERS, source
from polygrad.backends.numpy_backend import NumpyBackend
from polygrad.device import Device

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "cupy_kernels"
MARGIN = 256  # bytes around each array
COMPILER = shutil.which("g++") or shutil.which("clang++")
FLAGS = ("-std=c++14", "-O1", "-shared", "-fPIC", "-ffp-contract=off", "-Wall", "-Wextra",
         "-Werror", "-Wno-unused-function", "-Wno-unused-parameter",
         "-Wno-tautological-compare")  # fmt: skip
HEAD = re.compile(r"^(?:KERNEL|extern \"C\" __global__ void) (\w+)\(([^)]*)\)", re.MULTILINE)
DTYPES = ("bool", *NUMBERS, *COMPLEX)
WIDE = {"float16": "float32", "bfloat16": "float32"}


def kernels_in(text):
    """Each kernel's parameters, as (type, is a pointer) by name."""
    lists = re.findall(r"#define ([A-Z]+) (I .*)", text.replace("\\\n", " "))
    found = {}
    for name, given in HEAD.findall(text):
        parameters = given
        for macro, meaning in lists:
            parameters = re.sub(rf"\b{macro}\b", meaning, parameters)
        found[name] = [tuple(p.split()) for p in parameters.replace("\n", " ").split(",")]
    return found


def _call(name, parameters):
    """The C++ that calls a kernel with addresses of arguments."""
    values = []
    for i, words in enumerate(parameters):
        kind = " ".join(words[:-1])
        values.append(f"*({kind}*)given[{i}]")
    return (
        f'extern "C" int run_{name}(void** given, unsigned blocks, unsigned size) {{\n'
        f"    return gpu::launch(blocks, size, [=] {{ {name}({', '.join(values)}); }});\n}}\n"
    )


@functools.cache
def library(text):
    """The text as a shared library; compiled once, and kept."""
    kernels = kernels_in(text)
    whole = '#include "gpu_on_cpu.h"\n' + text
    whole += "".join(_call(name, parameters) for name, parameters in kernels.items())
    key = hashlib.sha256(
        (whole + (HERE / "gpu_on_cpu.h").read_text() + repr((COMPILER, FLAGS))).encode()
    ).hexdigest()[:24]
    CACHE.mkdir(parents=True, exist_ok=True)
    made = CACHE / f"{key}.so"
    if not made.exists():
        source, new = CACHE / f"{key}.cpp", CACHE / f"{key}.new"
        source.write_text(whole)
        command = [COMPILER, *FLAGS, f"-I{HERE}", "-o", new, source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr[:4000]
        new.rename(made)
    return ctypes.CDLL(str(made)), kernels


LAUNCHED = defaultdict(set)  # kernels by text
LAUNCHES = []  # names, in order


class Guarded:
    """The memory of an array, with a margin on both sides."""

    def __init__(self, array):
        spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
        before = -sum(s for s in spans if s < 0)  # bytes in front of the first element
        self.size = sum(map(abs, spans)) + array.itemsize if array.size else 0
        self.array, self.source = array, array.ctypes.data - before
        self.memory = np.full(self.size + 2 * MARGIN, 0xFF, np.uint8)
        self.start = self.memory.ctypes.data + MARGIN
        self.address = self.start + before
        ctypes.memmove(self.start, self.source, self.size)

    def back(self, what):
        outside = np.delete(self.memory, slice(MARGIN, MARGIN + self.size))
        assert (outside == 0xFF).all(), f"{what} wrote beside an array"
        ctypes.memmove(self.source, self.start, self.size)


class Module:
    """As cupy.RawModule."""

    def __init__(self, text):
        self.text = text
        self.dtype = next(d for d in DTYPES if text.startswith(source("", d)))

    def get_function(self, name):
        loaded, kernels = library(self.text)
        parameters = kernels[name]

        def kernel(grid, block, arguments):
            assert len(arguments) == len(parameters), (name, len(arguments), parameters)
            assert len(grid) == len(block) == 1
            assert 0 < grid[0] < 1 << 31
            assert 0 < block[0] <= 1024
            memory, values = {}, []
            for given, words in zip(arguments, parameters, strict=True):
                values.append(self.value(name, given, words, memory))
            pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
            failed = getattr(loaded, f"run_{name}")(pointers, *grid, *block)
            LAUNCHED[self.text].add(name)
            LAUNCHES.append(name)
            assert not failed, f"{name}: some threads of a block missed a barrier"
            for each in memory.values():
                each.back(name)

        return kernel

    def value(self, name, given, words, memory):
        kind = " ".join(w for w in words[:-1] if w != "const")
        what = f"{name}, argument {words[-1]}: {type(given).__name__} for {kind}"
        if kind == "I":
            assert type(given) is int, what
            return ctypes.c_longlong(given)
        if kind == "double":
            assert type(given) is float, what
            return ctypes.c_double(given)
        assert isinstance(given, np.ndarray), what
        wanted = {
            "T*": self.dtype, "A*": WIDE.get(self.dtype, self.dtype), "I*": "int64",
            "bool*": "bool", "unsigned char*": "uint8", "int*": "int32", "double*": "float64",
        }[kind]  # fmt: skip
        assert given.dtype.name == wanted, f"{what}: {given.dtype} for {wanted}"
        key = given.ctypes.data
        if key not in memory or memory[key].array.nbytes < given.nbytes:
            memory[key] = Guarded(given)
        return ctypes.c_void_p(memory[key].address)


def _empty(shape, dtype):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.full(size, 0xFF, np.uint8).view(dtype).reshape(shape)


def _empty_like(x, dtype=None):
    made = np.empty_like(x, dtype=dtype)
    order = np.argsort([-s for s in made.strides], kind="stable")
    flat = made.transpose(order)
    if flat.flags.c_contiguous and made.size:
        ctypes.memset(made.ctypes.data, 0xFF, made.nbytes)
    return made


LIBRARY = SimpleNamespace(
    ascontiguousarray=lambda x: x if x.flags.c_contiguous else np.array(x, order="C"),
    argsort=lambda x: np.argsort(x, kind="stable"), arange=np.arange, zeros=np.zeros,
    broadcast_to=np.broadcast_to,
    asarray=np.asarray, empty=_empty, empty_like=_empty_like,
)  # fmt: skip


class EmulatedRecording:
    """What is recorded here is launched at once."""

    def __init__(self):
        self.numbers = []

    def place(self, values):
        return np.array(values)


class EmulatedLauncher(Launcher):
    def __init__(self):
        super().__init__(LIBRARY, Module, lambda: self.recorded)
        self.recorded = None

    def address(self, x):
        return x.ctypes.data

    @contextmanager
    def record(self):
        self.recorded = EmulatedRecording()
        try:
            yield self.recorded
        finally:
            self.recorded = None


class EmulatedBackend(NumpyBackend):
    """NumPy's arrays, with the kernels of CuPy's backend."""

    name = "emulated"
    device_kinds = ("emulated",)

    def __init__(self):
        super().__init__()
        self.own = [Device("emulated:0")]
        self.table.entries.clear()
        self.launcher = EmulatedLauncher()
        register(self, self.launcher)

    def adapted(self, name, kernel, kernels):
        """NumPy makes scalars of what has no axes; CuPy does not."""

        def inner(*args, **keywords):
            args = [np.asarray(a) if isinstance(a, np.generic) else a for a in args]
            return kernel(*args, **keywords)

        return inner

    def devices(self):
        return self.own

    def device_of(self, array):
        return self.own[0]

    def native_device(self, device):
        return "cpu"


@functools.cache
def backend():
    return EmulatedBackend()
