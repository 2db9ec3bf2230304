"""Large arrays in pieces and threads give what they give as a whole."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import polygrad as pg
from polygrad import threads
from polygrad.backends import numpy_pieces
from polygrad.backends.numpy_pieces import PIECEWISE, in_pieces
from polygrad.kernels import FORWARDS, bind
from polygrad.ops import load_all
from polygrad.registry import find_kernels

load_all()
KEYWORDS = {"elu": {"alpha": 1.5, "scale": 1.0, "rate": 1.0}}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces of seven elements in three threads."""
    monkeypatch.setattr(numpy_pieces, "LARGE", 20)
    monkeypatch.setattr(numpy_pieces, "PIECE", 7)
    monkeypatch.setattr(threads, "COUNT", 3)
    monkeypatch.setattr(threads, "_pool", None)


def arrays(dtype):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(9, 11))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-2, 2, size=x.shape)
    x = x.astype(dtype)
    x[0, :5] = [0.0, -0.0, np.inf, -np.inf, np.nan]
    yield from (x, x.T, x[:, ::2], x[:1], x[:0], x[0, 0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", sorted(PIECEWISE))
@np.errstate(all="ignore")
def test_equal_to_the_whole(name, dtype):
    F = find_kernels("cpu", dtype)
    found = F.backend.table.entries.get((name, None, None)) or FORWARDS.get(name)
    try:
        kernel = bind(found or getattr(np, name), F)
        expected = [np.asarray(kernel(x, **KEYWORDS.get(name, {}))) for x in arrays(dtype)]
    except (TypeError, pg.errors.PolygradError):
        assert dtype == "complex64", "a function of real numbers"
        return
    for x, whole in zip(arrays(dtype), expected, strict=True):
        got = np.asarray(in_pieces(kernel)(x, **KEYWORDS.get(name, {})))
        assert got.dtype == whole.dtype == x.dtype
        np.testing.assert_allclose(got, whole, rtol=8 * np.finfo(dtype).eps)
        np.testing.assert_array_equal(np.signbit(got.real), np.signbit(whole.real))


def test_the_result_has_memory_of_its_own():
    out = in_pieces(np.exp)(np.zeros((9, 11)))
    assert out.flags.owndata
    assert out.flags.c_contiguous
    out = in_pieces(lambda x: x * 2)(np.ones((9, 11)))
    assert out.flags.owndata


def test_threads_take_part():
    seen = set()

    def kernel(x):
        seen.add(threading.get_ident())
        return x * 2

    np.testing.assert_array_equal(in_pieces(kernel)(np.ones(1000)), np.full(1000, 2.0))
    assert len(seen) > 1


def test_the_errors_and_warnings_of_a_piece_are_those_of_the_call():
    x = np.zeros(100)
    x[-1] = 1000.0  # in the last piece, of another thread
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        in_pieces(np.exp)(x)
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        in_pieces(np.exp)(x)
    with np.errstate(over="warn"), pytest.warns(RuntimeWarning, match="overflow"):
        in_pieces(np.exp)(x)


def test_parts_within_parts_do_not_wait_for_one_another():
    outer = in_pieces(lambda x: in_pieces(np.tanh)(np.tile(x, 10))[: x.size])
    x = np.linspace(-1, 1, 500)
    done = []
    worker = threading.Thread(target=lambda: done.append(outer(x)), daemon=True)
    worker.start()
    worker.join(20)
    np.testing.assert_array_equal(done[0], np.tanh(x))


def test_parts_cover_the_range_once():
    for n in (1, 2, 7, 100):
        for parts in (0, 1, 2, 3, 50):
            seen = []
            threads.in_parts(lambda i, j, seen=seen: seen.extend(range(i, j)), n, min(n, parts))
            assert sorted(seen) == list(range(n))


def test_when_python_ends_there_are_no_threads_to_be_had():
    code = (
        "import threading, time, numpy as np, polygrad as pg\n"
        "from polygrad import threads\n"
        "threads.COUNT = 3\n"
        "def work():\n"
        "    if FIRST: pg.exp(pg.ones(1 << 19))\n"
        "    time.sleep(0.5)\n"
        "    x = pg.tensor(np.ones(1 << 21, 'f4'), requires_grad=True)\n"
        "    pg.sin(pg.exp(x)).sum().backward()\n"
        "    print(x.grad[0].item() == x.grad[-1].item() != 0)\n"
        "threading.Thread(target=work).start()\n"
    )
    for first in ("False", "True"):
        done = subprocess.run([sys.executable, "-c", code.replace("FIRST", first)], check=True,
                              capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.stdout == "True\n", done.stderr


def test_an_error_waits_for_the_others():
    ended = []

    def part(start, stop):
        if start == 0:
            raise ValueError("the first")
        ended.append(stop)

    with pytest.raises(ValueError, match="the first"):
        threads.in_parts(part, 90, 3)
    assert sorted(ended) == [60, 90]


def test_operations_on_large_arrays_are_computed_so(monkeypatch):
    called = []
    real = numpy_pieces._of_ufunc
    monkeypatch.setattr(numpy_pieces, "_of_ufunc", lambda *a: called.append(1) or real(*a))
    k = find_kernels("cpu", "float64")
    k.forget("sin")
    np.testing.assert_array_equal(pg.sin(pg.ones(100)).numpy(), np.sin(np.ones(100, "float32")))
    pg.sin(pg.ones(100, dtype=pg.float64))
    k.forget("sin")
    assert called
