"""L-BFGS against the dense BFGS formula, its line search, its limits, state and refusals."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DeviceMismatchError, InvalidArgumentError, InvalidTypeError
from polygrad.optim.line_search import Point, strong_wolfe
from polygrad.registry import find_backend, find_device
from polygrad.testing import assert_close
from polygrad.testing.compare import host

SHAPES = [(2, 2), (), (0, 3), (3,)]
SCALES = np.linspace(1.0, 5.0, 8)


def loss_of(x):
    """A convex loss that is not quadratic; its gradient is `gradient_of`."""
    return (x**4).sum() / 4 + (SCALES * (x - 1) ** 2).sum() / 2


def gradient_of(x):
    return x**3 + SCALES * (x - 1)


def dense_bfgs(x, rate, steps, history):
    """Iterates with the inverse Hessian as a matrix, made anew of the last pairs in each step."""
    g, pairs, n = gradient_of(x), [], x.size
    for k in range(steps):
        if k == 0:
            d, t = -g, min(1.0, 1.0 / np.abs(g).sum()) * rate
        else:
            s, y = pairs[-1]
            H = np.eye(n) * (s @ y) / (y @ y)
            for s, y in pairs[-history:]:
                left = np.eye(n) - np.outer(s, y) / (s @ y)
                H = left @ H @ left.T + np.outer(s, s) / (s @ y)
            d, t = -H @ g, rate
        after = gradient_of(x + t * d)
        pairs.append((t * d, after - g))
        x, g = x + t * d, after
    return x


def problem(device="cpu", dtype=pg.float64, seed=0):
    """Parameters of several shapes, and the loss of all of them end to end."""
    random = np.random.default_rng(seed)
    params = [
        pg.nn.Parameter(pg.tensor(np.asarray(random.uniform(-1, 1, shape)), dtype=dtype,
                                  device=device))
        for shape in SHAPES
    ]  # fmt: skip

    def loss():
        x = pg.concat([p.reshape((-1,)) for p in params])
        scales = pg.tensor(SCALES, dtype=dtype, device=device)
        return pg.sum(x**4) / 4 + pg.sum(scales * (x - 1) ** 2) / 2

    return params, loss


def closure_of(optimizer, loss, count=None):
    def closure():
        if count is not None:
            count.append(1)
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    return closure


def flat(params):
    return np.concatenate([host(p).ravel() for p in params])


@pytest.mark.parametrize("history", [2, 100])
def test_against_the_dense_formula(history, device):
    place = find_device(device)
    wide = find_backend(place.kind).supports(pg.float64, place)
    dtype = pg.float64 if wide else pg.float32
    params, loss = problem(device, dtype)
    start = flat(params).astype(np.float64)
    optimizer = pg.optim.LBFGS(params, lr=0.5, max_iter=5, history_size=history)
    for _ in range(2):
        optimizer.step(closure_of(optimizer, loss))
    assert_close(flat(params), dense_bfgs(start, 0.5, 10, history), dtype=dtype)
    state = optimizer.state[params[0]]
    assert len(state["ro"]) == min(history, 9) and state["n_iter"] == 10
    assert [p.shape for p in params] == SHAPES


def test_the_line_search_finds_the_minimum():
    params, loss = problem()
    optimizer = pg.optim.LBFGS(params, line_search_fn="strong_wolfe")
    count = []
    first = optimizer.step(closure_of(optimizer, loss, count))
    assert host(first) > host(loss())
    assert np.abs(gradient_of(flat(params))).max() < 1e-4
    state = optimizer.state[params[0]]
    assert state["func_evals"] == len(count) <= 25
    assert (host(state["d"]).shape, host(state["prev_flat_grad"]).shape) == ((8,), (8,))


def test_limits_of_a_step():
    for options, evaluations, iterations in (
        ({"max_iter": 4}, 4, 4), ({"max_iter": 9, "max_eval": 3}, 3, 2),
        ({"tolerance_grad": 1e9}, 1, 0), ({"tolerance_change": 1e9}, 1, 1),
    ):  # fmt: skip
        params, loss = problem()
        optimizer = pg.optim.LBFGS(params, lr=0.1, **options)
        count = []
        optimizer.step(closure_of(optimizer, loss, count))
        state = optimizer.state[params[0]]
        assert (len(count), state["func_evals"]) == (evaluations, evaluations), options
        assert state["n_iter"] == iterations, options


# ---- the line search ----------------------------------------------------------------------------
def search(f, slope, t, most=25, start=0.0):
    tried = []

    def at(u):
        tried.append(u)
        return Point(u, f(start + u), None, slope(start + u))

    point, evaluations = strong_wolfe(at, Point(0.0, f(start), None, slope(start)), t, most, 1e-9)
    assert evaluations == len(tried) and point.t in [*tried, 0.0]
    return point


@pytest.mark.parametrize("t", [1e-3, 0.1, 1.0, 50.0])
@pytest.mark.parametrize(("f", "slope"), [
    (lambda x: (x - 3) ** 2, lambda x: 2 * (x - 3)),
    (lambda x: -x / (x * x + 2), lambda x: (x * x - 2) / (x * x + 2) ** 2),
    (lambda x: math.exp(x) - 4 * x, lambda x: math.exp(x) - 4),
    (lambda x: x**4 - 8 * x, lambda x: 4 * x**3 - 8),
])  # fmt: skip
def test_both_conditions_hold(f, slope, t):
    point = search(f, slope, t)
    assert point.loss <= f(0.0) + 1e-4 * point.t * slope(0.0)
    assert abs(point.slope) <= 0.9 * abs(slope(0.0))


@pytest.mark.parametrize("beyond", [math.nan, math.inf])
def test_the_search_comes_back_from_where_there_is_no_number(beyond):
    def f(x):
        return -math.log(1 - x) - 3 * x if x < 1 else beyond

    point = search(f, lambda x: 1 / (1 - x) - 3 if x < 1 else math.nan, 40.0)
    assert 0 < point.t < 1 and point.loss < 0


def test_a_search_without_evaluations_left_keeps_the_better_end():
    assert search(lambda x: (x - 3) ** 2, lambda x: 2 * (x - 3), 9.0, most=0).t == 0
    assert search(lambda x: (x - 3) ** 2, lambda x: 2 * (x - 3), 2.0, most=0).t == 2


def test_a_loss_that_ends():
    """The first step leads to where the loss is not a number; warnings stay with the closure."""
    p = pg.nn.Parameter(pg.tensor([0.05, 0.9], dtype=pg.float64))
    optimizer = pg.optim.LBFGS([p], lr=100.0, line_search_fn="strong_wolfe")

    def loss():
        return pg.sum(p - pg.log(pg.where(p > 0, p, math.nan)))

    for _ in range(3):
        optimizer.step(closure_of(optimizer, loss))
    np.testing.assert_allclose(host(p), [1.0, 1.0], atol=1e-4)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
@pytest.mark.parametrize("evaluation", [1, 2, 3, 4, 7, 8])
def test_a_closure_that_raises_leaves_parameters_and_state_as_they_were(line_search, evaluation):
    """Otherwise the next step would learn a curvature from a step that it does not know."""
    runs = []
    for fails in (False, True):
        params, loss = problem()
        optimizer = pg.optim.LBFGS(params, max_iter=3, line_search_fn=line_search)
        count = []
        inner = closure_of(optimizer, loss, count)
        optimizer.step(inner)
        before, state = flat(params), optimizer.state_dict()
        if fails:
            last = len(count) + evaluation

            def closure(inner=inner, count=count, last=last):
                if len(count) == last - 1:
                    raise KeyboardInterrupt
                return inner()

            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    before, state = flat(params), optimizer.state_dict()
                    optimizer.step(closure)
            np.testing.assert_array_equal(flat(params), before)
            assert repr(optimizer.state_dict()) == repr(state)
        while optimizer.state[params[0]]["n_iter"] < 12:
            optimizer.step(inner)
        runs.append(flat(params))
    np.testing.assert_array_equal(*runs)


# ---- parameters and state -----------------------------------------------------------------------
def test_complex_parameters_are_pairs_of_real_ones():
    start = np.asarray([1.0 + 2j, -0.5j, 3.0])
    whole = pg.nn.Parameter(pg.tensor(start))
    pair = pg.nn.Parameter(pg.tensor(np.stack([start.real, start.imag], axis=-1)))
    wide, narrow = pg.optim.LBFGS([whole], lr=0.3), pg.optim.LBFGS([pair], lr=0.3)

    def complex_loss():
        return pg.sum(pg.abs(whole - (1 + 1j)) ** 4)

    def real_loss():
        return pg.sum(pg.sum((pair - 1) ** 2, axis=-1) ** 2)

    for _ in range(3):
        wide.step(closure_of(wide, complex_loss))
        narrow.step(closure_of(narrow, real_loss))
    assert_close(host(whole), host(pair)[:, 0] + 1j * host(pair)[:, 1])
    assert_close(wide.state[whole]["d"], narrow.state[pair]["d"])
    again = pg.optim.LBFGS([whole])
    again.load_state_dict(wide.state_dict())
    assert again.state[whole]["d"].dtype == pg.float64  # the vector of all parameters is real
    again.step(closure_of(again, complex_loss))


def test_parameters_of_two_dtypes():
    a = pg.nn.Parameter(pg.tensor([2.0, 3.0], dtype=pg.float32))
    b = pg.nn.Parameter(pg.tensor([1.0 + 1j], dtype=pg.complex128))
    optimizer = pg.optim.LBFGS([a, b], line_search_fn="strong_wolfe")

    def loss():
        return pg.sum((a - 1) ** 2).to(pg.float64) + pg.sum(pg.real((b - 2) * pg.conj(b - 2)))

    optimizer.step(closure_of(optimizer, loss))
    assert (a.dtype, b.dtype) == (pg.float32, pg.complex128)
    assert optimizer.state[a]["d"].dtype == pg.float64
    assert_close(a, np.ones(2), dtype=pg.float32)
    assert_close(b, np.asarray([2.0 + 0j]), dtype=pg.float32)


def test_parameters_without_gradients_and_views():
    a, unused = pg.nn.Parameter(pg.ones(2)), pg.nn.Parameter(pg.ones(3))
    row = a[:1]
    optimizer = pg.optim.LBFGS([a, unused])
    optimizer.step(closure_of(optimizer, lambda: pg.sum(a * a)))
    assert host(unused).tolist() == [1.0] * 3
    np.testing.assert_allclose(host(row), host(a)[:1])
    assert abs(host(a)).max() < 1e-5


@pytest.mark.parametrize("way", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])  # noqa: S301
def test_resuming_equals_going_on(way):
    params, loss = problem()
    others, other_loss = problem()
    options = {"lr": 0.3, "max_iter": 3, "history_size": 4}
    a, b = pg.optim.LBFGS(params, **options), pg.optim.LBFGS(others, **options)
    for _ in range(2):
        a.step(closure_of(a, loss))
        b.step(closure_of(b, other_loss))
    saved = b.state_dict()
    state, frozen = way(saved), copy.deepcopy(saved)
    b.step(closure_of(b, other_loss))
    for p, q in zip(params, others, strict=True):
        with pg.no_grad():
            q[...] = p
    c = pg.optim.LBFGS(others, lr=9.0)
    c.load_state_dict(state)
    a.step(closure_of(a, loss))
    c.step(closure_of(c, other_loss))
    np.testing.assert_array_equal(flat(params), flat(others))
    for later in (saved, state):  # neither saving nor loading made them one with an optimiser
        for name, value in frozen["state"][0].items():
            got = later["state"][0][name]
            for x, y in zip(value, got, strict=True) if isinstance(value, list) else [(value, got)]:
                np.testing.assert_array_equal(host(x), host(y))
    with pg.no_grad():
        c.state[others[0]]["old_dirs"][0][...] = 0.0
    assert host(state["state"][0]["old_dirs"][0]).any()
    later = c.state_dict()["state"][0]["old_dirs"]
    with pg.no_grad():
        later[-1][...] = 0.0
    later.clear()
    assert host(c.state[others[0]]["old_dirs"][-1]).any()


def test_state_of_another_dtype_is_cast():
    params, loss = problem()
    a = pg.optim.LBFGS(params)
    a.step(closure_of(a, loss))
    others, other_loss = problem(dtype=pg.float32)
    b = pg.optim.LBFGS(others)
    b.load_state_dict(a.state_dict())
    assert b.state[others[0]]["old_dirs"][0].dtype == pg.float32
    b.step(closure_of(b, other_loss))
    assert all(p.dtype == pg.float32 for p in others)


# ---- refusals -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("options", "word", "error"), [
    ({"lr": -1.0}, "lr", InvalidArgumentError), ({"max_iter": 0}, "max_iter", InvalidArgumentError),
    ({"max_iter": 2.5}, "max_iter", InvalidTypeError),
    ({"max_eval": 0}, "max_eval", InvalidArgumentError),
    ({"history_size": 0}, "history_size", InvalidArgumentError),
    ({"tolerance_grad": -1.0}, "tolerance_grad", InvalidArgumentError),
    ({"tolerance_change": math.nan}, "tolerance_change", InvalidArgumentError),
    ({"line_search_fn": "armijo"}, "strong_wolfe", InvalidArgumentError),
])  # fmt: skip
def test_options_that_are_refused(options, word, error):
    with pytest.raises(error, match=word):
        pg.optim.LBFGS([pg.nn.Parameter(pg.ones(1))], **options)


def test_groups_and_closures_that_are_refused():
    a, b = pg.nn.Parameter(pg.ones(1)), pg.nn.Parameter(pg.ones(1))
    with pytest.raises(InvalidArgumentError, match="one group"):
        pg.optim.LBFGS([{"params": [a]}, {"params": [b]}])
    optimizer = pg.optim.LBFGS([a])
    with pytest.raises(InvalidArgumentError, match="one group"):
        optimizer.add_param_group({"params": [b]})
    with pytest.raises(InvalidTypeError, match="closure is None"):
        optimizer.step()
    with pytest.raises(InvalidTypeError, match="returned a NoneType"):
        optimizer.step(lambda: None)
    with pytest.raises(InvalidTypeError, match=r"shape \(2,\)"):
        optimizer.step(lambda: pg.ones(2))


def test_parameters_on_two_devices():
    a, b = pg.nn.Parameter(pg.ones(1)), pg.nn.Parameter(pg.ones(1, device="frozen:0"))
    with pytest.raises(DeviceMismatchError, match="cpu and frozen:0"):
        pg.optim.LBFGS([a, b]).step(lambda: pg.sum(a))


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_a_loss_in_bfloat16(line_search):
    pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-30: optional)")
    p = pg.nn.Parameter(pg.zeros(3, dtype=pg.bfloat16))
    optimizer = pg.optim.LBFGS([p], line_search_fn=line_search)
    optimizer.step(closure_of(optimizer, lambda: pg.sum((p - 2) ** 2)))
    np.testing.assert_array_equal(p.detach().to(pg.float32).numpy(), [2.0, 2.0, 2.0])
