"""The kernels' own text, run on the CPU, computes what the operations' forwards compute."""

from __future__ import annotations

import copy
import os
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import polygrad.optim  # noqa: F401  its rules are operations
from polygrad.backends.cupy_kernels import FAMILIES
from polygrad.backends.cupy_kernels.text import source
from polygrad.kernels import FORWARDS, bind
from polygrad.ops import load_all
from polygrad.registry import find_kernels
from polygrad.testing import assert_close
from tests.cupy_kernels.cases import CASES, Numbers
from tests.cupy_kernels.emulator import COMPILER, LAUNCHED, LAUNCHES, backend, kernels_in

load_all()  # forwards of chapters that are loaded late, too
WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
RUNS = [
    (family, dtype)
    for family in FAMILIES
    for dtype in sorted({dtype for row in family.rows for dtype in row.dtypes})
]


@pytest.fixture(autouse=True)
def _compiler():
    if COMPILER is None:
        if os.environ.get("CI"):
            pytest.fail("no C++ compiler, which CI has")
        pytest.skip("no C++ compiler here (2026-11-30: CI has one)")


def kernels(dtype):
    return backend().kernels(backend().devices()[0], np.dtype(dtype))


def recorded(family):
    """Products of matrices are kernels only while a graph is recorded."""
    return backend().launcher.record() if family == "products" else nullcontext()


def dtype_named(name):
    if name == "bfloat16":
        return pytest.importorskip(
            "ml_dtypes", reason="no ml_dtypes here (2026-11-30: CI has it)"
        ).bfloat16
    return np.dtype(name)


def arrays(value):
    return value if isinstance(value, tuple) else (value,)


def flattened(inputs):
    return [a for given in inputs for a in (given if isinstance(given, list) else [given])]


def copied(inputs):
    made = {list: copied, tuple: tuple, np.ndarray: np.array}
    return [None if a is None else made.get(type(a), np.asarray)(a) for a in inputs]


def moved(keywords):
    """Where the generator among the keywords stands, if there is one."""
    return keywords["generator"].get_state() if "generator" in keywords else None


def reference(name, inputs, keywords, dtype, wider=True):
    """The forward on NumPy, of floats in the next wider dtype."""
    wide = np.dtype(WIDER.get(dtype.name, dtype.name)) if wider else dtype

    def up(a):
        if isinstance(a, list):  # parts of one array
            return np.concatenate([up(part).reshape(-1) for part in a])
        return a.astype(wide) if hasattr(a, "dtype") and a.dtype == dtype else a

    k = find_kernels("cpu", wide.name)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        function = bind(FORWARDS[name.removesuffix("_of_parts")], k)
        return arrays(function(*map(up, inputs), **keywords))


@pytest.mark.parametrize(("family", "dtype"), RUNS, ids=[f"{f.name}-{d}" for f, d in RUNS])
def test_a_kernel_computes_what_the_forward_does(family, dtype):
    dtype = np.dtype(dtype_named(dtype))
    k, seen = kernels(dtype), set()
    ops = {row.op for row in family.rows if dtype.name in row.dtypes}
    for name, inputs, keywords in CASES[family.name](Numbers(dtype)):
        if name not in ops:
            continue
        seen.add(name)
        what = f"{name} {[getattr(a, 'shape', a) for a in inputs]} {keywords}"
        before, again = copied(inputs), copy.copy(keywords)
        if "generator" in again:
            again["generator"] = copy.copy(keywords["generator"])
        with warnings.catch_warnings(), np.errstate(all="ignore"), recorded(family.name):
            warnings.simplefilter("ignore")
            got = arrays(getattr(k, name)(*inputs, **keywords))
        want = reference(name, before, again, dtype)
        assert moved(again) == moved(keywords), what
        assert len(got) == len(want), what
        for a, b in zip(got, want, strict=True):
            a, b = np.asarray(a), np.asarray(b)  # noqa: PLW2901
            assert a.shape == b.shape, what
            with np.errstate(over="ignore"):
                assert_close(a, b.astype(a.dtype), what=what)
        kept = 2 if family.name == "updates" else len(inputs)  # rules may write into the state
        for a, b in zip(flattened(inputs[:kept]), flattened(before[:kept]), strict=True):
            assert np.array(a).tobytes() == np.array(b).tobytes(), f"{what} wrote to its input"
    assert seen == ops
    named = {kernel for row in family.rows if dtype.name in row.dtypes for kernel in row.kernels}
    assert named <= LAUNCHED[source(family.text, dtype.name)]


EXACT = ("updates", "dropout", "scattering", "windows", "pooling")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("family", EXACT)
def test_what_takes_no_function_of_the_library_gives_the_same_bits(family, dtype):
    dtype = np.dtype(dtype)
    k = kernels(dtype)
    for name, inputs, keywords in CASES[family](Numbers(dtype)):
        want = reference(name, copied(inputs), keywords, dtype, wider=False)
        with np.errstate(all="ignore"):
            got = arrays(getattr(k, name)(*inputs, **keywords))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{name} {keywords}")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_update_reads_from_memory_the_numbers_that_it_was_given(dtype):
    """A recorded launch gives the same bits, and those of other numbers when they are renewed."""
    k, launcher = kernels(dtype), backend().launcher
    for name, inputs, keywords in CASES["updates"](Numbers(dtype)):
        again = copied(inputs)
        with np.errstate(all="ignore"):
            want = arrays(getattr(k, name)(*inputs, **keywords))
        with np.errstate(all="ignore"), launcher.record() as recording:
            got = arrays(getattr(k, name)(*again, **keywords))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{name} {keywords}")
        if sum(a.size for a in flattened(inputs[1:2])):
            (numbers,) = recording.numbers
            assert numbers.array.tolist() == list(numbers.reckon(keywords))


def test_a_product_is_the_library_s_unless_it_is_recorded():
    k, x = kernels("float32"), np.ones((2, 2), np.float32)
    before = len(LAUNCHES)
    k.matmul(x, x)
    assert len(LAUNCHES) == before
    with recorded("products"):
        k.matmul(x, x)
    assert LAUNCHES[before:] == ["matmul"]


def test_a_product_has_the_dtype_of_its_kernels():
    """A scale has promoted one operand: bfloat16 times a Python number may be wider."""
    dtype = np.dtype(dtype_named("bfloat16"))
    k, x = kernels(dtype), np.ones((2, 3), np.float32)
    for context in (nullcontext, backend().launcher.record):
        with context():
            assert k.matmul(x, x.T.astype(dtype)).dtype == dtype


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_the_table_names_every_kernel_of_a_text(family):
    for dtype in {d for row in family.rows for d in row.dtypes}:
        named = {kernel for row in family.rows for kernel in row.kernels}
        assert named == set(kernels_in(source(family.text, dtype)))
