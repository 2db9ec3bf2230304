"""Averages of weights, the statistics that go with them, and their schedule."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.optim import swa_utils
from polygrad.optim.lr_scheduler import ExponentialLR
from polygrad.testing import assert_close
from polygrad.testing.compare import host


def model(device="cpu"):
    pg.manual_seed(0)
    return pg.nn.Sequential(pg.nn.Linear(2, 3), pg.nn.BatchNorm1d(3)).to(device)


def walk(averaged, m, steps=5, seed=0):
    """Weights that change at random, taken in one after the other; all of them, by name."""
    random, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        with pg.no_grad():
            for t in [*m.parameters(), *m.buffers()]:
                values = random.integers(0, 50, t.shape) if t.ndim == 0 else random.random(t.shape)
                t[...] = pg.tensor(values, dtype=t.dtype, device=t.device)
        averaged.update_parameters(m)
        seen.append({k: host(v).astype(float) for k, v in m.state_dict().items()})
    return seen


def mean(seen, name):
    return sum(s[name] for s in seen) / len(seen)


def decaying(seen, name, decay=0.75):
    value = seen[0][name]
    for s in seen[1:]:
        value = decay * value + (1 - decay) * s[name]
    return value


KINDS = {
    "default": ({}, mean),
    "swa": ({"avg_fn": swa_utils.get_swa_avg_fn()}, mean),
    "swa of lists": ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, mean),
    "ema": ({"avg_fn": swa_utils.get_ema_avg_fn(0.75)}, decaying),
    "ema of lists": ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.75)}, decaying),
    "latest": ({"avg_fn": lambda averaged, current, count: current}, lambda seen, n: seen[-1][n]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_averages(kind, device):
    options, expected = KINDS[kind]
    m = model(device)
    averaged = swa_utils.AveragedModel(m, **options)
    seen = walk(averaged, m)
    for name, p in averaged.module.named_parameters():
        assert p.device == device and p.requires_grad and p.is_leaf
        assert_close(p, expected(seen, name), dtype=pg.float32, what=name)
    for name, b in averaged.module.named_buffers():
        assert_close(b, seen[-1][name], dtype=pg.float32, what=name)
    assert int(averaged.n_averaged) == 5


@pytest.mark.parametrize("kind", ["default", "ema", "ema of lists"])
def test_averages_of_buffers(kind):
    options, expected = KINDS[kind]
    m = model()
    averaged = swa_utils.AveragedModel(m, use_buffers=True, **options)
    seen = walk(averaged, m)
    for name, b in averaged.module.named_buffers():
        if b.ndim:
            assert_close(b, expected(seen, name), dtype=pg.float32, what=name)
        else:  # a count is cut off each time
            value = seen[0][name]
            for i, s in enumerate(seen[1:], 1):
                share = 1 / (i + 1) if kind == "default" else 0.25
                value = math.trunc(value + (s[name] - value) * share)
            assert host(b) == value and b.dtype == m[1].num_batches_tracked.dtype


def test_a_copy_that_shares_nothing_and_is_saved():
    m = model()
    averaged = swa_utils.AveragedModel(m)
    seen = walk(averaged, m)
    saved = averaged.state_dict()
    assert [*saved][:2] == ["n_averaged", "module.0.weight"]
    frozen = copy.deepcopy(saved)
    other = swa_utils.AveragedModel(model())
    other.load_state_dict(saved)
    seen += walk(other, m, seed=1)
    assert int(other.n_averaged) == 10
    assert_close(other.module[0].weight, mean(seen, "0.weight"), dtype=pg.float32)
    walk(averaged, m, seed=2)
    for name, value in frozen.items():
        np.testing.assert_array_equal(host(saved[name]), host(value))
    x = pg.ones((4, 2))
    np.testing.assert_array_equal(host(other(x)), host(other.module(x)))


def test_on_another_device():
    m = model()
    averaged = swa_utils.AveragedModel(m, device="frozen:0", use_buffers=True)
    seen = walk(averaged, m)
    assert {p.device for p in averaged.parameters()} == {pg.Device("frozen:0")}
    assert averaged.n_averaged.device == "frozen:0"
    assert_close(averaged.module[0].bias, mean(seen, "0.bias"), dtype=pg.float32)


# ---- update_bn ----------------------------------------------------------------------------------
def test_statistics_of_all_batches(device):
    m = model(device)
    m[1].eval()
    m[1].momentum = 0.3
    random = np.random.default_rng(0)
    data = [random.standard_normal((4, 2)).astype("float32") for _ in range(3)]
    batches = [pg.tensor(data[0], device=device), (pg.tensor(data[1], device=device), 1),
               [pg.tensor(data[2], device=device)]]  # fmt: skip
    swa_utils.update_bn(batches, m)
    weight, bias = (host(p) for p in m[0].parameters())
    outputs = [x @ weight.T + bias for x in data]
    mean = np.mean([y.mean(axis=0) for y in outputs], axis=0)
    variance = np.mean([y.var(axis=0, ddof=1) for y in outputs], axis=0)
    assert_close(m[1].running_mean, mean, dtype=pg.float32)
    assert_close(m[1].running_var, variance, dtype=pg.float32)
    assert int(m[1].num_batches_tracked) == 3
    assert m.training and not m[1].training and m[1].momentum == 0.3
    assert all(p.grad is None for p in m.parameters())


def test_batches_are_moved():
    m = model("frozen:0")
    swa_utils.update_bn(iter([pg.ones((3, 2))]), m, device="frozen:0")
    assert int(m[1].num_batches_tracked) == 1


def test_statistics_are_kept_where_there_are_no_batches():
    m = model()
    m(pg.ones((3, 2)))
    before = host(m[1].running_mean).copy()
    with pytest.raises(InvalidArgumentError, match="no batches"):
        swa_utils.update_bn([], m)
    np.testing.assert_array_equal(host(m[1].running_mean), before)
    swa_utils.update_bn([], pg.nn.Linear(1, 1))  # nothing to find


def test_a_batch_that_raises_leaves_modes_and_momenta():
    m = model().eval()
    with pytest.raises(pg.PolygradError):
        swa_utils.update_bn([pg.ones((3, 2)), pg.ones((3, 5))], m)
    assert not m.training and not m[1].training and m[1].momentum == 0.1


# ---- SWALR --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("strategy", "share"), [
    ("linear", lambda t: t), ("cos", lambda t: (1 - math.cos(math.pi * t)) / 2),
])  # fmt: skip
@pytest.mark.parametrize("epochs", [0, 1, 4])
def test_from_the_present_rate_to_that_of_each_group(strategy, share, epochs):
    ps = [pg.nn.Parameter(pg.zeros(1)) for _ in range(2)]
    o = pg.optim.SGD([{"params": ps[0]}, {"params": ps[1], "lr": 0.25}], lr=1.0)
    before = ExponentialLR(o, 0.5)
    schedule = swa_utils.SWALR(o, [0.1, 0.2], epochs, strategy)
    for _ in range(2):
        o.step()
        before.step()
    start = before.get_last_lr()
    if epochs == 0:
        start = [0.1, 0.2]
    for t in range(1, 8):
        o.step()
        schedule.step()
        gone = share(min(1.0, t / max(1, epochs)))
        expected = [a + (b - a) * gone for a, b in zip(start, (0.1, 0.2), strict=True)]
        assert schedule.get_last_lr() == pytest.approx(expected), t
        if t == 2:
            saved = schedule.state_dict()
            schedule = swa_utils.SWALR(o, [0.1, 0.2], 9)
            for group, rate in zip(o.param_groups, expected, strict=True):
                group["lr"] = rate
            schedule.load_state_dict(saved)


@pytest.mark.parametrize(("call", "error"), [
    (lambda o: swa_utils.SWALR(o, 0.1, anneal_strategy="exponential"), InvalidArgumentError),
    (lambda o: swa_utils.SWALR(o, 0.1, anneal_epochs=-1), InvalidArgumentError),
    (lambda o: swa_utils.SWALR(o, 0.1, anneal_epochs=1.7), InvalidTypeError),
    (lambda o: swa_utils.SWALR(o, [0.1, 0.2]), InvalidArgumentError),
    (lambda o: swa_utils.SWALR(3, 0.1), InvalidTypeError),
    (lambda o: swa_utils.get_ema_avg_fn(1.5), InvalidArgumentError),
    (lambda o: swa_utils.get_ema_multi_avg_fn(-0.1), InvalidArgumentError),
    (lambda o: swa_utils.AveragedModel(model(), avg_fn=max, multi_avg_fn=max),
     InvalidArgumentError),
    (lambda o: swa_utils.AveragedModel(model()).update_parameters(pg.nn.Linear(2, 3)), ShapeError),
    (lambda o: swa_utils.AveragedModel(pg.nn.Linear(2, 3)).update_parameters(pg.nn.Linear(3, 3)),
     ShapeError),
])  # fmt: skip
def test_refusals(call, error):
    with pytest.raises(error):
        call(pg.optim.SGD([pg.nn.Parameter(pg.zeros(1))], lr=1.0))


# ---- what is refused, and that nothing is written then -------------------------------------------
def _raises_for_the_second():
    seen = []

    def average(averaged, current, number):
        seen.append(current)
        if len(seen) == 2:
            raise KeyError("mid")
        return averaged * 0

    return average


@pytest.mark.parametrize(
    ("average", "error", "words"),
    [
        (_raises_for_the_second(), KeyError, "mid"),
        (lambda a, b, n: None, InvalidTypeError, "a NoneType for a Tensor"),
        (lambda a, b, n: pg.ones(1), ShapeError, r"shape \(1,\) for a tensor of shape"),
        (lambda a, b, n: a * 1j, DtypeError, "complex64 numbers for a float32 tensor"),
    ],
)
def test_an_average_that_fails_leaves_all_as_it_was(average, error, words):
    m = model()
    averaged = swa_utils.AveragedModel(m, avg_fn=average)
    averaged.update_parameters(m)
    before = {k: host(v).copy() for k, v in averaged.state_dict().items()}
    with pytest.raises(error, match=words):
        averaged.update_parameters(m)
    for name, value in averaged.state_dict().items():
        np.testing.assert_array_equal(host(value), before[name])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: swa_utils.AveragedModel(3), InvalidTypeError),
        (lambda: swa_utils.AveragedModel(model(), avg_fn=3), InvalidTypeError),
        (lambda: swa_utils.AveragedModel(model()).update_parameters(3), InvalidTypeError),
        (lambda: swa_utils.AveragedModel(pg.nn.Linear(1, 1)).update_parameters(
            pg.nn.Linear(1, 1, dtype=pg.complex64)), DtypeError),
        (lambda: swa_utils.get_ema_avg_fn("x"), InvalidTypeError),
        (lambda: swa_utils.SWALR(pg.optim.SGD(model().parameters(), lr=1.0), -1.0),
         InvalidArgumentError),
        (lambda: swa_utils.SWALR(pg.optim.SGD(model().parameters(), lr=1.0), "x"),
         InvalidTypeError),
    ],
)  # fmt: skip
def test_what_is_no_model_function_or_rate_is_refused(call, error):
    with pytest.raises(error):
        call()
