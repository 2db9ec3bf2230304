"""Faults of kernels that the emulated GPU must show, each planted here."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad.backends.cupy_kernels import softmax
from polygrad.backends.cupy_kernels.layout import launch_of, rows_of
from polygrad.backends.cupy_kernels.text import source
from tests.cupy_kernels.emulator import COMPILER, Module

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="no C++ compiler here (2026-11-30: CI has one)"
)
TEXT = source(softmax.TEXT, "float32")
X = np.random.default_rng(0).normal(size=(3, 700)).astype("float32")


def run(text, x=X, out=None, more=()):
    rows = rows_of(x, 1)
    out = np.zeros_like(x) if out is None else out
    kernel = Module(text).get_function("softmax")
    blocks, threads, numbers = launch_of(rows)
    kernel((blocks,), (threads,), (x, out, *numbers, *more))
    return out


def changed(old, new, text=TEXT):
    assert old in text
    return text.replace(old, new, 1)


def right(out):
    want = np.exp(X - X.max(1, keepdims=True))
    return np.allclose(out, want / want.sum(1, keepdims=True), rtol=1e-5)


def test_without_a_fault_all_is_right():
    assert right(run(TEXT))


def test_a_barrier_that_is_missing_shows():
    assert not right(run(changed("shared[t] = a;\n    __syncthreads();", "shared[t] = a;")))


def test_a_barrier_between_steps_that_is_missing_shows():
    at = "shared[t + apart * r.step]);\n        __syncthreads();"
    assert not right(run(changed(at, at.replace("__syncthreads();", ""))))


def test_a_barrier_that_some_threads_miss_is_an_error():
    faulty = changed("Row r = row(ROW);", "Row r = row(ROW); if (r.lane > 3) return;")
    with pytest.raises(AssertionError, match="missed a barrier"):
        run(faulty)


def test_what_is_written_beside_an_array_is_found():
    faulty = changed("out[place(r, j)] = narrow(exp", "out[place(r, j) + 1] = narrow(exp")
    with pytest.raises(AssertionError, match="beside an array"):
        run(faulty)


def test_what_is_read_beside_an_array_is_nan():
    at = "total += exp(wide(x[place(r, j)])"
    assert not right(run(changed(at, at.replace("j)", "j) + 1"))))


def test_arguments_of_another_type_are_refused():
    with pytest.raises(AssertionError, match="float64 for float32"):
        run(TEXT, out=np.zeros(X.shape))
    with pytest.raises(AssertionError, match="softmax"):
        run(TEXT, more=(1,))
    kernel = Module(TEXT).get_function("cross_entropy")
    with pytest.raises(AssertionError, match="argument n: float for I"):
        kernel((1,), (1,), (X, np.zeros(3, "int64"), X, 3.0, 3, 1, 0))


