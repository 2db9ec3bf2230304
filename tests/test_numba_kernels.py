"""The compiled kernels compute what the kernels they stand in for compute."""

import importlib
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("numba", reason="polygrad[fast] is not installed (2026-11-30: optional)")

import polygrad as pg
from polygrad import threads
from polygrad.backends import numba_kernels
from polygrad.kernels import FORWARDS, bind
from polygrad.ops import load_all
from polygrad.registry import find_kernels, load

load_all()
NAMES = [name for names in numba_kernels.TABLE.values() for name in names]


def pair(name, dtype):
    """The kernel that serves without numba, and the compiled one."""
    F = find_kernels("cpu", dtype)
    plain = load("numpy").table.entries.get((name, None, None)) or FORWARDS.get(name)
    module = next(m for m, names in numba_kernels.TABLE.items() if name in names)
    made = importlib.import_module(f"polygrad.backends.numba_kernels.{module}").MAKERS[name]
    left = []
    plain = bind(plain or getattr(np, name), F)

    def other(*args, **kwargs):
        left.append(name)
        return plain(*args, **kwargs)

    return plain, made(other), left


def agree(got, expected, dtype, ulps=12):
    """Equal shapes and dtypes; values to some units in the last place of the largest."""
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            agree(g, e, dtype, ulps)
        return
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=ulps * np.finfo(dtype).eps,
                               atol=ulps * np.finfo(dtype).eps * _scale(expected))


def _scale(x):
    finite = np.abs(x[np.isfinite(x)])
    return float(finite.max()) if finite.size else 0.0


SHAPES = [(), (1,), (0,), (7,), (3, 5), (4, 0), (2, 3, 33), (5, 257)]
AXES = [(-1,), (0,), (1, 2), (0, 2)]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -88.7, 88.8, 104.0, -104.0, 30.0, -30.0]


def arrays(dtype):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        yield np.asarray(rng.normal(size=shape) * 3, dtype=dtype)
    yield rng.normal(size=(6, 4)).astype(dtype).T
    yield rng.normal(size=(6, 8)).astype(dtype)[:, ::2]
    yield rng.normal(size=(3, 4, 5)).astype(dtype).transpose(1, 0, 2)
    yield np.array(SPECIAL, dtype=dtype)


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
@pytest.mark.parametrize("name", [n for n in numba_kernels.TABLE["elementwise"] if n != "dropout"])
@np.errstate(all="ignore")
def test_of_one_element(name, dtype, monkeypatch):
    plain, fast, left = pair(name, dtype)
    monkeypatch.setattr("polygrad.backends.numba_kernels.elementwise.SMALL", 0)
    for x in arrays(dtype):
        before = x.copy()
        got, expected = np.asarray(fast(x)), np.asarray(plain(x))
        agree(got, expected, dtype)
        np.testing.assert_array_equal(x, before)
        nonzero = expected == 0
        np.testing.assert_array_equal(np.signbit(got[nonzero]), np.signbit(expected[nonzero]))
    assert len(left) == 1  # the one with gaps


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
def test_dropout(dtype):
    plain, fast, left = pair("dropout", dtype)
    x = np.array([[1.5, -2, np.inf], [3, 0, -1]], dtype=dtype)
    kept = np.array([[True, False, True], [False, True, True]])
    agree(fast(x, kept, scale=1.25), plain(x, kept, scale=1.25), dtype)
    assert not left
    agree(fast(x, kept[:1], scale=2.0), plain(x, kept[:1], scale=2.0), dtype)
    assert left


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@np.errstate(all="ignore")
def test_along_an_axis(name, dtype):
    plain, fast, left = pair(name, dtype)
    for x in arrays(dtype):
        for axis in range(-x.ndim, x.ndim):
            agree(fast(x, axis=axis), plain(x, axis=axis), dtype)
    hard = np.array([[-np.inf] * 20, [np.nan, *[0.0] * 19], [1e30, *[-1e30] * 19]], dtype=dtype)
    count = len(left)
    agree(fast(hard, axis=-1), plain(hard, axis=-1), dtype)
    assert len(left) == count


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
@pytest.mark.parametrize("name", ["softmax_adjoint", "log_softmax_adjoint"])
def test_adjoints_along_an_axis(name, dtype):
    plain, fast, left = pair(name, dtype)
    softmax, _, _ = pair(name.removesuffix("_adjoint"), dtype)
    for x in arrays(dtype):
        if x.ndim and np.isfinite(x).all():
            g = np.cos(x)
            out = np.asarray(softmax(x, axis=-1))
            agree(fast(g, out, axis=-1), plain(g, out, axis=-1), dtype)
    assert len(left) < len(SHAPES)


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
def test_weights_of_attention(dtype):
    plain, fast, left = pair("attention_weights", dtype)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 3, 17)).astype(dtype)
    scores[0, 1, 3:], scores[1, 2] = -np.inf, -np.inf
    with np.errstate(all="ignore"):
        got, expected = fast(scores.copy()), plain(scores.copy())
    agree(got, expected, dtype)
    assert not got[1, 2].any()
    assert not left


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
@pytest.mark.parametrize(("name", "statistics"), [
    ("standardize", 2), ("root_mean_standardize", 1),
])
def test_norms_and_their_adjoints(name, statistics, dtype):
    plain, fast, left = pair(name, dtype)
    adjoint = {"standardize": "standardize_adjoint"}.get(name, "root_mean_adjoint")
    plain_adjoint, fast_adjoint, left_too = pair(adjoint, dtype)
    rng = np.random.default_rng(0)
    for (x, axis) in itertools.product(arrays(dtype), AXES):
        if x.ndim <= max(axis) or x.ndim < -min(axis) or not np.isfinite(x).all() or not x.size:
            continue
        got, expected = fast(x, axis=axis, eps=1e-5), plain(x, axis=axis, eps=1e-5)
        agree(got, expected, dtype, ulps=100)
        g = [rng.normal(size=a.shape).astype(dtype) for a in expected]
        kept = expected[1:] if statistics == 1 else expected[2:]
        agree(
            fast_adjoint(*g, expected[0], *kept, axis=axis, eps=1e-5),
            plain_adjoint(*g, expected[0], *kept, axis=axis, eps=1e-5), dtype, ulps=1000,
        )
    assert left, "an order of memory that is not taken"
    assert len(left) < 12
    assert len(left_too) < 12


def test_statistics_of_long_rows_keep_their_digits():
    _, fast, _ = pair("standardize", "float32")
    x = np.zeros((2, 100_000), np.float32)  # roundings of equal terms do not cancel
    x[:, ::7] = 1.1
    _, mean, var = fast(x, axis=(1,), eps=1e-5)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(var, exact.var(1, keepdims=True), rtol=2e-6)


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
@pytest.mark.parametrize("geometry", [
    ((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    ((3, 2), (1, 2), ((1, 1), (1, 0)), (1, 1)),
    ((2, 2), (1, 1), ((0, 0), (0, 0)), (2, 2)),
])
@pytest.mark.parametrize("swapped", [False, True])
@np.errstate(invalid="ignore")
def test_adjoint_of_max_pooling(geometry, dtype, swapped):
    plain, fast, left = pair("place_in_windows", dtype)
    pool = FORWARDS["max_pool"]
    F = find_kernels("cpu", dtype)
    for size in ((6, 8), (7, 9)):
        x = np.random.default_rng(0).normal(size=(2, 3, *size)).astype(dtype)
        if swapped:
            x = np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)
        out, places = pool(F, x, geometry)
        g = np.cos(out)
        g[0, 0, 0] = [np.inf, np.nan, -np.inf, 0][: g.shape[-1]] + [1.0] * (g.shape[-1] - 4)
        # In its order of memory, in another, and with gaps.
        padded = np.pad(g, ((0, 0), (0, 0), (1, 1), (1, 1)))
        for cotangent in (g, np.asfortranarray(g), padded[..., 1:-1, 1:-1]):
            agree(
                fast(cotangent, places, size=size, geometry=geometry),
                plain(cotangent, places, size=size, geometry=geometry), dtype,
            )
    assert not left


POOLED = {
    "random": lambda rng: rng.normal(size=(2, 3, 6, 8)),
    "odd sizes": lambda rng: rng.normal(size=(2, 3, 7, 9)),
    "ties": lambda rng: rng.integers(0, 3, size=(2, 3, 6, 8)),
    "infinite": lambda rng: rng.choice([-np.inf, np.inf, 0.0, 1.0], size=(2, 3, 6, 8)),
    "no numbers": lambda rng: rng.choice([np.nan, np.inf, 0.0, 1.0], size=(2, 3, 6, 8)),
    "no rows": lambda rng: rng.normal(size=(2, 0, 6, 8)),
    "one image": lambda rng: rng.normal(size=(1, 6, 8)),
}


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize("swapped", [False, True])
def test_max_pooling(name, dtype, swapped):
    plain, fast, left = pair("max_pool", dtype)
    geometry = ((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1))
    x = POOLED[name](np.random.default_rng(0)).astype(dtype)
    if swapped:
        x = np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)
    got, expected = fast(x, geometry=geometry), plain(x, geometry=geometry)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
        assert a.strides == b.strides
    assert bool(left) == (name in ("no numbers", "no rows"))
    left.clear()
    fast(x, geometry=((3, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)))
    fast(x, geometry=((2, 2), (2, 2), ((0, 1), (0, 0)), (1, 1)))
    assert len(left) == 2


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("size", [(3, 3), (4, 5), (5, 4), (7, 8)])
def test_pooling_up_to_the_last_row(size, ceil_mode):
    """The padding after an axis is such that windows end with it, whatever the size."""
    x = np.random.default_rng(0).normal(size=(2, 3, *size)) - 100
    windows = [-(-n // 2) if ceil_mode else n // 2 for n in size]
    t = pg.tensor(x, requires_grad=True)
    out = pg.nn.functional.max_pool2d(t, 2, ceil_mode=ceil_mode)
    (out * out).sum().backward()
    expected = np.zeros_like(x)
    for b, c, i, j in np.ndindex(2, 3, *windows):
        window = x[b, c, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
        assert out.detach().numpy()[b, c, i, j] == window.max()
        k = np.unravel_index(window.argmax(), window.shape)
        expected[b, c, 2 * i + k[0], 2 * j + k[1]] = 2 * window.max()
    np.testing.assert_array_equal(t.grad.numpy(), expected)


SGD = {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01, "nesterov": False,
       "maximize": False}
ADAM = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.0, "maximize": False,
        "decoupled_weight_decay": False}


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
@pytest.mark.parametrize("changes", [
    {}, {"nesterov": True, "dampening": 0.0}, {"maximize": True}, {"weight_decay": 0.0},
])
@pytest.mark.parametrize("slots", [0, 1])
def test_sgd(changes, slots, dtype):
    plain, fast, left = pair("sgd_step_", dtype)
    options = {"lr": 0.1, **SGD, **changes}
    _steps(plain, fast, dtype, slots, options)
    assert not left


@pytest.mark.parametrize("dtype", numba_kernels.DTYPES)
@pytest.mark.parametrize("changes", [
    {}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True},
    {"maximize": True},
])
def test_adam(changes, dtype):
    plain, fast, left = pair("adam_step_", dtype)
    _steps(plain, fast, dtype, 2, {**ADAM, **changes})
    assert not left
    _steps(plain, fast, dtype, 3, {**ADAM, **changes})  # amsgrad
    assert left


def _steps(plain, fast, dtype, slots, options):
    rng = np.random.default_rng(0)
    p = rng.normal(size=(5, 7)).astype(dtype)
    states = [[p.copy(), *(np.zeros_like(p) for _ in range(slots))] for _ in range(2)]
    for step in (1, 2, 3):
        g = rng.normal(size=p.shape).astype(dtype)
        for kernel, (own, *rest) in zip((plain, fast), states, strict=True):
            kernel(own, g.copy(), *rest, step=step, **options)
        for a, b in zip(*states, strict=True):
            agree(b, a, dtype, ulps=20)


@pytest.mark.parametrize("name", ["gelu", "softmax", "standardize"])
def test_threads_change_nothing(name, monkeypatch):
    _, fast, _ = pair(name, "float32")
    x = np.random.default_rng(0).normal(size=(1000, 401)).astype(np.float32)
    options = {"axis": (1,), "eps": 1e-5} if name == "standardize" else {}
    monkeypatch.setattr(threads, "COUNT", 1)
    alone = fast(x, **options)
    monkeypatch.setattr(threads, "COUNT", 3)
    monkeypatch.setattr(threads, "_pool", None)
    together = fast(x, **options)
    pairs = zip(alone, together, strict=True) if isinstance(alone, tuple) else [(alone, together)]
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)


def in_a_child(code, **env):
    command = [sys.executable, "-c", code]
    own = {**os.environ, **env}
    return subprocess.run(command, env=own, capture_output=True, text=True, check=True).stdout


SHOW = ("import polygrad as pg; pg.show_kernels('gelu', 'cpu', pg.float32); "
        "pg.show_kernels('gelu', 'cpu', pg.float16)")


def test_they_serve_where_numba_is_and_are_switched_off_by_a_variable():
    first, second = in_a_child(SHOW, POLYGRAD_FAST="1").splitlines()
    assert "kernel" in first
    assert "elementwise.gelu" in first
    assert "forward" in second
    assert "numba" not in in_a_child(SHOW, POLYGRAD_FAST="0")


def test_a_numba_that_does_not_work_is_said_once_and_does_without(tmp_path):
    (tmp_path / "numba.py").write_text("raise ImportError('too old for this NumPy')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code = ("import warnings; warnings.simplefilter('always')\n"
            "import polygrad as pg\n"
            "with warnings.catch_warnings(record=True) as seen:\n"
            "    print(pg.nn.functional.gelu(pg.ones(1)).item())\n"
            "print([str(w.message)[:40] for w in seen])")
    value, seen = in_a_child(code, POLYGRAD_FAST="1", PYTHONPATH=path).splitlines()
    assert float(value) == pytest.approx(0.8413447)
    assert "numba is installed but cannot be import" in seen


def test_numba_is_imported_only_when_a_kernel_is_called():
    code = ("import sys, polygrad as pg; x = pg.ones(2); (x + x).sum()\n"
            "print('numba' in sys.modules)\n"
            "pg.nn.functional.gelu(x)\n"
            "print('numba' in sys.modules)")
    assert in_a_child(code, POLYGRAD_FAST="1").split() == ["False", "True"]


def test_after_a_fork_a_child_computes(monkeypatch):
    code = ("import os, numpy as np, polygrad as pg\n"
            "x = pg.asarray(np.ones((1000, 400), np.float32))\n"
            "expected = pg.nn.functional.gelu(x).sum().item()\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    os._exit(0 if pg.nn.functional.gelu(x).sum().item() == expected else 1)\n"
            "print(os.waitpid(child, 0)[1])")
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system, 2026-11-30")
    assert in_a_child(code, POLYGRAD_FAST="1", OMP_NUM_THREADS="2").strip() == "0"
