"""nn.init: distributions and structure; nn.utils: norms, clipping, vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import (
    DtypeError,
    GradientError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
)
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
        (lambda t: init.trunc_normal_(t, 1, 2, -1, 1.5), 0.3424, 0.6995, 1.5),
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


def test_a_truncated_normal_may_lie_in_the_far_tail():
    t = host(init.trunc_normal_(pg.zeros(500, dtype=pg.float64), 0, 1, 30, 31))
    assert 30 <= t.min() < t.max() <= 31
    assert abs(t.mean() - 30.0333) < 0.01


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
        (lambda: init.trunc_normal_(pg.zeros(2), 0, 1, 2, 1), InvalidArgumentError),
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


# By numbers of the host, and by arrays of a device that nobody waits for.
EITHER = pytest.mark.parametrize("place", ["cpu", "sim:0"])


@EITHER
def test_norms_neither_overflow_nor_vanish(place):
    for size in (1e-30, 1e30):
        t = pg.tensor([3 * size, 4 * size], device=place)
        assert_close(nn.utils.get_total_norm(t), np.float32(5 * size))
    assert host(nn.utils.get_total_norm([pg.zeros(2, device=place)])) == 0
    assert host(nn.utils.get_total_norm([pg.zeros(0, device=place)])) == 0
    assert host(nn.utils.get_total_norm([])) == 0
    many = pg.full((100_000,), 1.0, dtype=pg.float16, device=place)
    assert_close(nn.utils.get_total_norm(many), np.float16(math.sqrt(100_000)))


@EITHER
def test_norms_that_are_not_finite(place):
    p = nn.Parameter(pg.zeros(2, device=place))
    p.grad = pg.tensor([math.nan, 1.0], device=place)
    assert math.isnan(nn.utils.clip_grad_norm_([p], 1.0).item())
    assert np.isnan(host(p.grad)).all()
    p.grad = pg.tensor([math.inf, 1.0], device=place)
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
    with pytest.raises(InvalidTypeError, match="no Tensor"):
        nn.utils.vector_to_parameters([0.0] * 13, m.parameters())
    with pytest.raises(InvalidArgumentError, match="no parameters"):
        nn.utils.parameters_to_vector([])


@EITHER
def test_norms_of_negative_orders_and_of_several_dtypes(place):
    gradients = [
        pg.tensor([1.0, -2.0], device=place), pg.tensor([4.0], dtype=pg.float64, device=place)
    ]  # fmt: skip
    norm = nn.utils.get_total_norm
    assert norm(gradients).dtype == pg.float64
    assert_close(norm(gradients, -math.inf), np.float64(1.0))
    assert_close(norm(gradients, -1), np.float64(1 / 1.75))
    beside = [[*gradients, pg.tensor([x], device=place)] for x in (math.inf, 0.0, math.nan)]
    assert_close(norm(beside[0], -1.0), np.float64(1 / 1.75))
    assert host(norm(beside[1], -2.0)) == 0.0
    assert math.isnan(norm(beside[2], -2.0).item())
    complex_ = pg.tensor([3 + 4j, 0j], device=place)
    assert norm([complex_]).dtype == pg.float32
    assert_close(norm([complex_]), np.float32(5.0))
    assert_close(norm(gradients, "inf"), np.float64(4.0))


def test_a_generator_that_is_used_up_is_noticed():
    m = nn.Linear(1, 1)
    parameters = m.parameters()
    assert len(list(parameters)) == 2
    with pytest.warns(UserWarning, match="used up"):
        assert host(nn.utils.clip_grad_norm_(parameters, 1.0)) == 0
    assert host(nn.utils.clip_grad_norm_([], 1.0)) == 0


def test_clipping_values_of_scalars_and_refusals(device):
    p = nn.Parameter(pg.tensor(0.0, device=device))
    p.grad = pg.tensor(-3.0, device=device)
    nn.utils.clip_grad_value_(p, 2)
    assert p.grad.numpy().shape == () and p.grad.item() == -2.0
    with pytest.raises(InvalidArgumentError, match="clip_value is -1"):
        nn.utils.clip_grad_value_(p, -1)
    z = nn.Parameter(pg.tensor(0j))
    z.grad = pg.tensor(1j)
    with pytest.raises(DtypeError, match="no order"):
        nn.utils.clip_grad_value_([p, z], 1)


# ---- fusion -----------------------------------------------------------------------------------
def with_statistics(norm):
    for name, t in norm.named_buffers():
        if "num_batches" not in name:
            init.uniform_(t, 0.5, 1.5) if "var" in name else init.normal_(t)
    for p in norm.parameters():
        init.normal_(p)
    return norm.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_convolution_takes_in_its_normalization(transposed, axes, groups, affine, bias):
    make = getattr(nn, f"Conv{'Transpose' if transposed else ''}{axes}d")
    conv = make(4, 6, 2, groups=groups, bias=bias).eval()
    norm = with_statistics(getattr(nn, f"BatchNorm{axes}d")(6, affine=affine, eps=0.1))
    x = pg.random.normal((2, 4, *(3,) * axes))
    fused = nn.utils.fuse_conv_bn_eval(conv, norm, transposed)
    assert type(fused) is type(conv) and fused.weight is not conv.weight
    assert_close(fused(x), norm(conv(x)))
    assert fused.weight.requires_grad and fused.bias.requires_grad == bias
    with pytest.raises(InvalidArgumentError, match=f"transpose={transposed}"):
        nn.utils.fuse_conv_bn_eval(conv, norm, not transposed)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("features", [3, 1])
def test_a_linear_layer_takes_in_its_normalization(device, features, affine, bias):
    linear = nn.Linear(4, 3, bias=bias, device=device).eval()
    norm = with_statistics(nn.BatchNorm1d(features, affine=affine, device=device, eps=0.1))
    fused = nn.utils.fuse_linear_bn_eval(linear, norm)
    x = pg.random.normal((5, 4), device=device)
    want = norm(linear(x)) if features == 3 else norm(linear(x)[:, None, :])[:, 0, :]
    assert fused.bias.shape == (3,)
    assert_close(fused(x), want)


def test_what_cannot_be_fused():
    conv, norm = nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2)
    with pytest.raises(InvalidArgumentError, match="Conv1d is in training"):
        nn.utils.fuse_conv_bn_eval(conv, norm)
    with pytest.raises(InvalidArgumentError, match="BatchNorm1d is in training"):
        nn.utils.fuse_conv_bn_eval(conv.eval(), norm)
    bare = nn.BatchNorm1d(2, track_running_stats=False).eval()
    with pytest.raises(InvalidArgumentError, match="track_running_stats"):
        nn.utils.fuse_conv_bn_eval(conv, bare)
    with pytest.raises(InvalidArgumentError, match="3 outputs, 2 features"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(1, 3).eval(), norm.eval())


def test_a_parametrized_layer_is_fused_as_it_is():
    conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 3, 2)).eval()
    norm = with_statistics(nn.BatchNorm1d(3))
    fused = nn.utils.fuse_conv_bn_eval(conv, norm)
    x = pg.random.normal((1, 2, 4))
    assert type(fused) is nn.Conv1d and nn.utils.parametrize.is_parametrized(conv)
    assert_close(fused(x), norm(conv(x)))


# ---- layers without values ----------------------------------------------------------------------
def test_skipping_initialization_draws_nothing(device):
    before = pg.random.get_state()
    m = nn.utils.skip_init(nn.Linear, 3, out_features=2, device=device, dtype=pg.float32)
    assert pg.random.get_state() == before
    assert m.weight.shape == (2, 3) and m.weight.device == device and m.weight.requires_grad
    t = pg.zeros((2, 2))
    with init.skipped():
        for name in init.__all__:
            if name.endswith("_"):
                fill = getattr(init, name)
                fill(t, 3.0) if name in ("constant_", "sparse_") else fill(t)
    assert not host(t).any()
    init.ones_(t)
    assert host(t).all()
    with pytest.raises(InvalidTypeError, match="no class of modules"):
        nn.utils.skip_init(m)
    with pytest.raises(ZeroDivisionError):
        nn.utils.skip_init(type("Bad", (nn.Module,), {"__init__": lambda self: 1 / 0}))
    assert host(init.zeros_(t)).any() == 0


# ---- what is refused ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda u, p: u.clip_grad_norm_([3], 1.0), InvalidTypeError, "a int is no Tensor"),
        (lambda u, p: u.clip_grad_norm_(3, 1.0), InvalidTypeError, "a int is no Tensor"),
        (lambda u, p: u.get_total_norm("ab"), InvalidTypeError, "a str is no Tensor"),
        (lambda u, p: u.get_total_norm([p], "fro"), InvalidTypeError, "norm_type is 'fro'"),
        (lambda u, p: u.clip_grad_norm_([p], "a"), InvalidTypeError, "max_norm is 'a'"),
        (lambda u, p: u.clip_grad_norm_([p], -1.0), InvalidArgumentError, "max_norm is -1"),
        (lambda u, p: u.clip_grad_value_([p], None), InvalidTypeError, "clip_value is None"),
        (lambda u, p: u.fuse_conv_bn_eval(p, p), InvalidTypeError, "Parameter is no Convolution"),
        (lambda u, p: u.fuse_linear_bn_eval(nn.Linear(1, 1).eval(), nn.ReLU()), InvalidTypeError,
         "ReLU is no BatchNorm"),
        (lambda u, p: u.fuse_conv_bn_eval(nn.Conv1d(1, 3, 1).eval(), nn.BatchNorm1d(1).eval()),
         InvalidArgumentError, "3 channels come out, 1 are normalized"),
        (lambda u, p: u.parametrize.remove_parametrizations(3, "weight"), InvalidTypeError,
         "a int is no Module"),
        (lambda u, p: u.parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=1.5),
         InvalidTypeError, "1.5"),
        (lambda u, p: u.parametrizations.spectral_norm(nn.Linear(2, 2), eps=-1.0),
         InvalidArgumentError, "eps is -1"),
        (lambda u, p: u.parametrizations.weight_norm(u.parametrizations.weight_norm(
            nn.Linear(2, 2))), InvalidArgumentError, "the tensor is parametrized"),
    ],
)  # fmt: skip
def test_arguments_of_another_kind_are_named(call, error, words):
    p = nn.Parameter(pg.ones(2))
    p.grad = pg.ones(2)
    with pytest.raises(error, match=words):
        call(nn.utils, p)


def test_a_norm_that_is_a_number_will_do():
    p = nn.Parameter(pg.ones(2))
    p.grad = pg.full((2,), 4.0)
    nn.utils.clip_grads_with_norm_([p], 1.0, 8.0)
    np.testing.assert_allclose(host(p.grad), [0.5, 0.5], atol=1e-6)
