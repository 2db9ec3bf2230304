"""nn.init: distributions and structure; nn.utils: norms, clipping, vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import GradientError, InvalidArgumentError, ShapeError
from polygrad.nn import init
from polygrad.testing import assert_close
from polygrad.testing.compare import host

WIDE = (200, 100)


@pytest.mark.parametrize(
    ("call", "mean", "std", "bound"),
    [
        (lambda t: init.uniform_(t, -2, 4), 1.0, 6 / math.sqrt(12), 4.0),
        (lambda t: init.normal_(t, 2, 3), 2.0, 3.0, None),
        (init.trunc_normal_, 0.0, 0.8796, 2.0),
        (lambda t: init.trunc_normal_(t, 1, 2, -1, 1.5), 0.3279, 0.7172, 1.5),
        (lambda t: init.xavier_uniform_(t, 2), 0.0, 2 * math.sqrt(2 / 300), None),
        (init.xavier_normal_, 0.0, math.sqrt(2 / 300), None),
        (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), 0.0, math.sqrt(2 / 100), None),
        (lambda t: init.kaiming_normal_(t, 1.0, mode="fan_out"), 0.0, math.sqrt(1 / 200), None),
    ],
)
def test_distributions(call, mean, std, bound):
    t = pg.zeros(WIDE, dtype=pg.float64)
    assert call(t) is t
    values = host(t)
    error = 5 * std / math.sqrt(values.size)
    assert abs(values.mean() - mean) < error
    assert abs(values.std() / std - 1) < 0.03
    if bound is not None:
        assert values.max() <= bound


def test_generators_repeat_and_devices_agree(device):
    for call in (init.normal_, init.uniform_, init.trunc_normal_, init.orthogonal_):
        want = call(pg.zeros((3, 4)), generator=pg.Generator().manual_seed(5))
        got = call(pg.zeros((3, 4), device=device), generator=pg.Generator().manual_seed(5))
        assert got.device == device
        np.testing.assert_array_equal(host(got), host(want))


def test_structure():
    assert_close(init.eye_(pg.zeros((2, 3))), np.eye(2, 3, dtype=np.float32))
    assert host(init.constant_(pg.zeros(2), 3.0)).tolist() == [3.0, 3.0]
    for shape in ((5, 3), (3, 5), (4, 2, 3)):
        q = host(init.orthogonal_(pg.zeros(shape, dtype=pg.float64), 2.0)).reshape(shape[0], -1)
        product = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)
    s = host(init.sparse_(pg.zeros((10, 4)), 0.25))
    assert ((s == 0).sum(axis=0) == 3).all()
    w = init.dirac_(pg.zeros((4, 2, 3)), groups=2)
    x = pg.tensor(np.random.default_rng(0).standard_normal((1, 4, 5)).astype(np.float32))
    assert_close(nn.functional.conv1d(x, w, padding=1, groups=2), x)


def test_writes_parameters_without_recording():
    p = nn.Parameter(pg.zeros(3))
    init.ones_(p)
    assert p.is_leaf and p.requires_grad and host(p).tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: init.xavier_normal_(pg.zeros(3)), ShapeError),
        (lambda: init.eye_(pg.zeros(3)), ShapeError),
        (lambda: init.dirac_(pg.zeros((2, 2))), ShapeError),
        (lambda: init.dirac_(pg.zeros((3, 2, 2)), groups=2), InvalidArgumentError),
        (lambda: init.orthogonal_(pg.zeros(3)), ShapeError),
        (lambda: init.sparse_(pg.zeros(3), 0.1), ShapeError),
        (lambda: init.kaiming_normal_(pg.zeros((2, 2)), mode="fan"), InvalidArgumentError),
        (lambda: init.calculate_gain("sine"), InvalidArgumentError),
        (lambda: init.trunc_normal_(pg.zeros(2), 0, 1, 30, 31), InvalidArgumentError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error):
        call()


# ---- utils ------------------------------------------------------------------------------------
def with_gradients(device="cpu", dtype=pg.float32):
    made = []
    for values in ([3.0, 0.0], [[4.0]], [0.0]):
        p = nn.Parameter(pg.tensor(values, dtype=dtype, device=device))
        p.grad = pg.tensor(values, dtype=dtype, device=device)
        made.append(p)
    made.append(nn.Parameter(pg.tensor([1.0], dtype=dtype, device=device)))
    return made


def test_clipping_norms(device):
    ps = with_gradients(device)
    total = nn.utils.clip_grad_norm_(ps, 1.0)
    assert total.device == device
    assert_close(total, np.float32(5.0))
    assert_close(ps[0].grad, np.array([0.6, 0.0], np.float32))
    assert ps[3].grad is None
    for order, want in ((1, 7.0), (math.inf, 4.0), (3, 91 ** (1 / 3)), (0, 2.0)):
        ps = with_gradients(device)
        assert_close(nn.utils.clip_grad_norm_(ps * 2, 100.0, norm_type=order), np.float32(want))
        assert_close(ps[0].grad, np.array([3.0, 0.0], np.float32))


def test_norms_neither_overflow_nor_vanish():
    for size in (1e-30, 1e30):
        t = pg.tensor([3 * size, 4 * size])
        assert_close(nn.utils.get_total_norm(t), np.float32(5 * size))
    assert host(nn.utils.get_total_norm([pg.zeros(2)])) == 0
    assert host(nn.utils.get_total_norm([])) == 0
    many = pg.full((100_000,), 1.0, dtype=pg.float16)
    assert_close(nn.utils.get_total_norm(many), np.float16(math.sqrt(100_000)))


def test_norms_that_are_not_finite():
    p = nn.Parameter(pg.zeros(2))
    p.grad = pg.tensor([math.inf, 1.0])
    with pytest.raises(GradientError, match="inf"):
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert math.isinf(nn.utils.clip_grad_norm_([p], 1.0).item())
    with pytest.raises(InvalidArgumentError, match="max_norm"):
        nn.utils.clip_grad_norm_([p], -1.0)


def test_clipping_values(device):
    ps = with_gradients(device)
    nn.utils.clip_grad_value_(ps, 2.0)
    assert [host(p.grad).ravel().tolist() for p in ps[:3]] == [[2.0, 0.0], [2.0], [0.0]]


def test_clipping_leaves_shared_gradients_alone():
    g = pg.tensor([10.0])
    p = nn.Parameter(pg.zeros(1))
    p.grad = g.clone()
    kept = p.grad.detach().clone()
    snapshot = pg.asarray(p.grad.numpy().copy())
    nn.utils.clip_grad_norm_([p], 1.0)
    assert host(kept).tolist() == host(snapshot).tolist() == [10.0]
    assert host(p.grad)[0] < 1.01


def test_vectors():
    m = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    v = nn.utils.parameters_to_vector(m.parameters())
    assert v.shape == (13,) and v.requires_grad
    nn.utils.vector_to_parameters(v.detach() * 2, m.parameters())
    assert_close(nn.utils.parameters_to_vector(m.parameters()), v * 2)
    with pytest.raises(ShapeError, match="13 numbers"):
        nn.utils.vector_to_parameters(pg.zeros(5), m.parameters())
