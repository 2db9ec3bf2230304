"""Functions of neural networks against loops written out, closed forms, and their own edges.

Gradients of all of them, and agreement between devices, are tested from the registry.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import (
    DtypeError,
    InPlaceError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
)
from polygrad.families import operations_of
from polygrad.testing import assert_close
from polygrad.testing.compare import host

F = pg.nn.functional
INF, NAN = math.inf, math.nan
RNG = np.random.default_rng(0)


def double(*shape):
    return pg.tensor(RNG.standard_normal(shape))


def gradient(function, x):
    leaf = pg.tensor(x, dtype=pg.float64, requires_grad=True)
    pg.sum(function(leaf)).backward()
    return leaf.grad.tolist()


# ---- activations --------------------------------------------------------------------------------
FORMULAS = {
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "logsigmoid": lambda x: -math.log1p(math.exp(-x)),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "softsign": lambda x: x / (1 + abs(x)),
    "hardswish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "hardsigmoid": lambda x: min(max(x + 3, 0), 6) / 6,
    "tanhshrink": lambda x: x - math.tanh(x),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "celu": lambda x: x if x > 0 else math.expm1(x),
    "selu": lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)),
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
    "hardtanh": lambda x: min(max(x, -1), 1),
    "relu6": lambda x: min(max(x, 0), 6),
    "softshrink": lambda x: math.copysign(max(abs(x) - 0.5, 0), x),
    "hardshrink": lambda x: x if abs(x) > 0.5 else 0.0,
    "softplus": lambda x: math.log1p(math.exp(x)),
    "tanh": math.tanh,
}
POINTS = (-7.5, -3.0, -0.75, -0.25, 0.0, 0.3, 0.6, 2.5, 3.5, 8.0)


@pytest.mark.parametrize("name", FORMULAS)
def test_activations_are_their_formulas(name):
    got = getattr(F, name)(pg.tensor(POINTS, dtype=pg.float64))
    want = [FORMULAS[name](x) for x in POINTS]
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", sorted(set(FORMULAS) - {"logsigmoid", "softplus", "hardswish"}))
def test_nan_goes_through_activations(name):
    assert math.isnan(getattr(F, name)(pg.tensor([NAN])).item())


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (F.gelu, 0, INF), (lambda x: F.gelu(x, approximate="tanh"), 0, INF), (F.silu, 0, INF),
        (F.mish, 0, INF), (F.sigmoid, 0, 1), (F.softsign, -1, 1), (F.softplus, 0, INF),
        (F.logsigmoid, -INF, 0), (F.elu, -1, INF), (F.hardswish, 0, INF), (F.relu, 0, INF),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [pg.float16, pg.float32, pg.float64])
def test_activations_have_their_limits_at_infinity(function, low, high, dtype):
    x = pg.tensor([-INF, INF], dtype=dtype, requires_grad=True)
    y = function(x)
    assert y.dtype == dtype
    assert y.tolist() == [low, high]
    pg.sum(y).backward()
    assert all(map(math.isfinite, x.grad.tolist()))


def test_relu_gradient_at_zero():
    assert gradient(F.relu, [-1.0, 0.0, -0.0, 2.0]) == [0, 0, 0, 1]


CHOOSING = {  # a function, and where it takes nothing of [-4, 0, 0.25, 4]
    "relu": (F.relu, [1, 1, 0, 0]), "relu6": (F.relu6, [1, 1, 0, 0]),
    "hardtanh": (F.hardtanh, [1, 0, 0, 1]), "softshrink": (F.softshrink, [0, 1, 1, 0]),
    "hardshrink": (F.hardshrink, [0, 1, 1, 0]),
    "hardshrink of all": (lambda x: F.hardshrink(x, -1.0), [0, 0, 0, 0]),
    "threshold": (lambda x: F.threshold(x, 0.1, 20.0), [1, 1, 0, 0]),
    "max_pool1d": (lambda x: F.max_pool1d(x[None], 4)[0], [1, 1, 1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOOSING)
def test_what_was_not_chosen_has_no_part_in_infinite_gradients(name, device):
    function, lost = CHOOSING[name]
    for value in (INF, -INF, NAN):
        x = pg.tensor([-4.0, 0.0, 0.25, 4.0], device=device, requires_grad=True)
        y = function(x)
        y.backward(pg.full_like(y, value))
        assert_close(x.grad, np.where(lost, 0, value).astype(np.float32))


def test_gradients_go_through_nan():
    for function in (F.relu, F.hardtanh, F.softshrink, F.hardshrink):
        assert gradient(function, [NAN]) == [1.0], function


def test_inplace_writes_to_the_input():
    for name in ("relu", "elu", "leaky_relu", "silu", "hardtanh", "relu6", "selu", "mish"):
        x = pg.tensor(POINTS)
        want = getattr(F, name)(x)
        assert getattr(F, name)(x, inplace=True) is x
        assert_close(x, want)
    leaf = pg.tensor([1.0], requires_grad=True)
    with pytest.raises(InPlaceError):
        F.relu(leaf, inplace=True)


def test_error_function_is_precise_everywhere():
    for dtype, ulps in ((np.float64, 4), (np.float32, 6)):
        x = np.concatenate([np.linspace(-6, 6, 501), np.logspace(-20, 0, 50)]).astype(dtype)
        for function, exact in ((pg.erf, math.erf), (pg.erfc, math.erfc)):
            want = np.array([exact(v) for v in x.astype("f8")])
            got = function(pg.tensor(x)).numpy().astype("f8")
            assert np.all(abs(got - want) <= ulps * np.spacing(abs(want).astype(dtype)))
    tail = pg.erfc(pg.tensor(26.0, dtype=pg.float64)).item()
    assert tail == pytest.approx(math.erfc(26), rel=1e-14)
    assert pg.erf(pg.tensor([-INF, INF])).tolist() == [-1, 1]


def test_softmax_of_extremes():
    x = pg.tensor([1e4, 0.0, -INF])
    assert F.softmax(x, axis=0).tolist() == [1, 0, 0]
    assert F.log_softmax(x, axis=0).tolist() == [0, -1e4, -INF]
    assert_close(F.softmin(x[:2]), F.softmax(-x[:2]))
    half = F.softmax(pg.zeros(5000, dtype=pg.float16), axis=0)
    assert half.dtype == pg.float16
    assert abs(float(pg.sum(half.to(pg.float64)).item()) - 1) < 1e-2
    assert F.softmax(pg.tensor([1, 2]), dtype=pg.float64).dtype == pg.float64


# ---- convolution --------------------------------------------------------------------------------
def convolved(x, w, stride, padding, dilation, groups):
    """Loops over everything, in any number of spatial axes."""
    padded = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    size = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(padded.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    ours, theirs = w.shape[0] // groups, w.shape[1]
    for o, c in itertools.product(range(w.shape[0]), range(theirs)):
        for place in itertools.product(*map(range, w.shape[2:])):
            key = tuple(
                slice(p * d, p * d + s * (n - 1) + 1, s)
                for p, d, s, n in zip(place, dilation, stride, size, strict=True)
            )
            out[:, o] += w[(o, c, *place)] * padded[(slice(None), o // ours * theirs + c, *key)]
    return out


CONVOLUTIONS = [
    ((2, 4, 9), (6, 2, 3), (2,), (1,), (2,), 2),
    ((2, 3, 5, 6), (4, 3, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((1, 4, 7, 6), (6, 2, 3, 2), (2, 3), (1, 2), (1, 1), 2),
    ((1, 2, 8, 8), (2, 1, 3, 3), (3, 2), (1, 0), (2, 3), 2),
    ((2, 3, 4, 4), (3, 1, 1, 1), (2, 2), (0, 0), (1, 1), 3),
    ((2, 2, 4, 5, 3), (2, 2, 2, 3, 1), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution_is_the_loops(case, device):
    shape, kernel, stride, padding, dilation, groups = case
    x, w, b = (RNG.standard_normal(s).astype("f4") for s in (shape, kernel, kernel[:1]))
    conv = getattr(F, f"conv{len(stride)}d")
    arguments = [pg.tensor(a, device=device) for a in (x, w, b)]
    got = conv(*arguments, stride, padding, dilation, groups)
    want = convolved(x, w, stride, padding, dilation, groups) + b.reshape(-1, *(1,) * len(stride))
    assert_close(got, want, dtype=np.float32)


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_transposed_convolution_is_the_adjoint(case):
    shape, kernel, stride, padding, dilation, groups = case
    x, w = double(*shape), double(*kernel)
    axes = len(stride)
    y = getattr(F, f"conv{axes}d")(x, w, None, stride, padding, dilation, groups)
    z = double(*y.shape)
    extra = tuple(
        (n + 2 * p - d * (k - 1) - 1) % s
        for n, k, s, p, d in zip(shape[2:], kernel[2:], stride, padding, dilation, strict=True)
    )
    transposed = getattr(F, f"conv_transpose{axes}d")
    back = transposed(z, w, None, stride, padding, extra, groups, dilation)
    assert back.shape == shape
    assert_close(pg.sum(y * z), pg.sum(x * back))


def test_output_padding_beyond_the_padding_adds_what_windows_do_not_reach():
    x, w = pg.ones((1, 1, 2)), pg.ones((1, 1, 1))
    out = F.conv_transpose1d(x, w, pg.tensor([5.0]), stride=1, output_padding=2, dilation=3)
    assert out.tolist() == [[[6, 6, 5, 5]]]


def test_words_for_padding():
    x, w = double(1, 2, 7, 6), double(3, 2, 4, 2)
    assert F.conv2d(x, w, padding="same", dilation=(1, 3)).shape == (1, 3, 7, 6)
    assert_close(F.conv2d(x, w, padding="valid"), F.conv2d(x, w))


def test_complex_convolution_has_adjoint_gradients():
    x = pg.tensor(RNG.standard_normal((1, 2, 5)) + 1j, requires_grad=True)
    w = pg.tensor(RNG.standard_normal((2, 2, 3)) - 2j, requires_grad=True)
    assert pg.autograd.gradcheck(F.conv1d, (x, w))


def test_fold_undoes_unfold_up_to_how_often_elements_are_used():
    x = double(2, 3, 6, 5)
    windows = {"kernel_size": (3, 2), "stride": (1, 2), "padding": 1, "dilation": (1, 2)}
    often = F.fold(F.unfold(pg.ones_like(x), **windows), (6, 5), **windows)
    assert_close(F.fold(F.unfold(x, **windows), (6, 5), **windows), x * often)


# ---- pooling ------------------------------------------------------------------------------------
def test_pooling_is_the_loops(device):
    x = RNG.permutation(2 * 3 * 7 * 6).reshape(2, 3, 7, 6).astype("f4")
    t = pg.tensor(x, device=device)
    got, where = F.max_pool2d(t, (3, 2), stride=2, padding=(1, 0), return_indices=True)
    mean = F.avg_pool2d(t, (3, 2), stride=2, padding=(1, 0), count_include_pad=False)
    for i, j in itertools.product(range(4), range(3)):
        window = x[:, :, max(2 * i - 1, 0) : 2 * i + 2, 2 * j : 2 * j + 2]
        assert_close(got[:, :, i, j], window.max((2, 3)))
        assert_close(mean[:, :, i, j], window.mean((2, 3)))
    picked = np.take_along_axis(x.reshape(2, 3, -1), host(where).reshape(2, 3, -1), -1)
    assert_close(got, picked.reshape(got.shape))


def test_padding_never_wins_even_against_minus_infinity():
    x = pg.tensor(np.full((1, 1, 3, 3), -INF))
    out, where = F.max_pool2d(x, 3, stride=1, padding=1, return_indices=True)
    assert out.tolist() == [[[[-INF] * 3] * 3]]
    assert where.numpy().min() >= 0
    assert where[0, 0].tolist() == [[0, 0, 1], [0, 0, 1], [3, 3, 4]]


def test_the_first_nan_and_the_first_of_equals_win():
    x = [[[NAN, 1.0, NAN, 3.0, 3.0, 2.0]]]
    out, where = F.max_pool1d(pg.tensor(x), 3, return_indices=True)
    assert math.isnan(out[0, 0, 0].item())
    assert where.tolist() == [[[0, 3]]]
    assert gradient(lambda t: F.max_pool1d(t, 3), x) == [[[1, 0, 0, 1, 0, 0]]]


def test_large_kernels_count_their_places():
    x = pg.tensor(RNG.permutation(400).reshape(1, 1, 20, 20))
    out, where = F.max_pool2d(x, 20, return_indices=True)
    assert (out.item(), where.item()) == (399, int(x.numpy().argmax()))


def test_means_count_what_they_are_told_to():
    x = pg.ones((1, 1, 3))
    assert F.avg_pool1d(x, 2, padding=1).tolist() == [[[0.5, 1.0]]]
    assert F.avg_pool1d(x, 2, padding=1, count_include_pad=False).tolist() == [[[1.0, 1.0]]]
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[[1.0, 1.0]]]
    assert F.avg_pool2d(pg.ones((1, 2, 2)), 2, divisor_override=2).tolist() == [[[2.0]]]


def test_adaptive_pooling_is_the_loops():
    x = RNG.permutation(2 * 7 * 5).reshape(2, 7, 5).astype("f8")
    mean, (top, where) = F.adaptive_avg_pool2d(pg.tensor(x), (3, 4)), F.adaptive_max_pool2d(
        pg.tensor(x), (3, 4), return_indices=True
    )
    for i, j in itertools.product(range(3), range(4)):
        window = x[:, i * 7 // 3 : -(-(i + 1) * 7 // 3), j * 5 // 4 : -(-(j + 1) * 5 // 4)]
        np.testing.assert_allclose(mean[:, i, j].numpy(), window.mean((1, 2)))
        np.testing.assert_array_equal(top[:, i, j].numpy(), window.max((1, 2)))
    picked = np.take_along_axis(x.reshape(2, -1), where.numpy().reshape(2, -1), -1)
    np.testing.assert_array_equal(picked.reshape(2, 3, 4), top.numpy())
    assert F.adaptive_avg_pool2d(pg.tensor(x), (None, 1)).shape == (2, 7, 1)


# ---- normalisation ------------------------------------------------------------------------------
def test_every_norm_centres_and_scales_its_own_axes():
    x = RNG.standard_normal((4, 6, 5)) * 3 + 100
    w, b = RNG.standard_normal(6), RNG.standard_normal(6)

    def normal(a, axis):
        return (a - a.mean(axis, keepdims=True)) / np.sqrt(a.var(axis, keepdims=True) + 1e-5)

    t, tw, tb = (pg.tensor(a) for a in (x, w, b))
    affine = [w[:, None], b[:, None]]
    by_batch = F.batch_norm(t, None, None, tw, tb, training=True)
    assert_close(by_batch, normal(x, (0, 2)) * affine[0] + affine[1])
    assert_close(F.instance_norm(t, weight=tw, bias=tb), normal(x, 2) * affine[0] + affine[1])
    assert_close(F.layer_norm(t, (6, 5)), normal(x, (1, 2)))
    grouped = normal(x.reshape(4, 2, 15), 2).reshape(x.shape)
    assert_close(F.group_norm(t, 2, tw, tb), grouped * affine[0] + affine[1])
    assert_close(F.rms_norm(t, 5, eps=0.5), x / np.sqrt((x * x).mean(2, keepdims=True) + 0.5))


def test_batch_norm_moves_running_statistics_off_the_tape():
    x = pg.tensor(RNG.standard_normal((8, 2)), requires_grad=True)
    mean, var = pg.zeros(2, dtype=pg.float64), pg.ones(2, dtype=pg.float64)
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    assert not mean.requires_grad
    values = x.detach().numpy()
    assert_close(mean, 0.25 * values.mean(0))
    assert_close(var, 0.75 + 0.25 * values.var(0, ddof=1))
    before = mean.numpy().copy()
    F.batch_norm(x, mean, var)
    np.testing.assert_array_equal(mean.numpy(), before)


def test_half_precision_statistics_do_not_overflow():
    x = pg.full((2, 1000), 300.0, dtype=pg.float16) + pg.arange(1000, dtype=pg.float16) % 2
    y = F.layer_norm(x, 1000, eps=0.0)
    assert y.dtype == pg.float16
    assert set(y.numpy().ravel().tolist()) == {-1.0, 1.0}


def test_normalize_keeps_zero_vectors():
    x = [[0.0, 0.0], [3.0, 4.0]]
    assert_close(F.normalize(pg.tensor(x)), [[0, 0], [0.6, 0.8]], dtype=np.float32)
    assert np.isfinite(gradient(F.normalize, x)).all()
    assert_close(F.normalize(pg.tensor(x), p=INF), [[0, 0], [0.75, 1]], dtype=np.float32)


# ---- dropout, embedding -------------------------------------------------------------------------
def test_dropout_is_the_same_on_every_device_and_scales(device):
    pg.manual_seed(1)
    want = F.dropout(pg.ones(1000), 0.25).numpy()
    pg.manual_seed(1)
    x = pg.ones(1000, device=device).requires_grad_()
    y = F.dropout(x, 0.25)
    pg.sum(y).backward()
    assert_close(y, want)
    assert_close(x.grad, want)
    assert abs((want == 0).mean() - 0.25) < 0.06
    assert set(want.tolist()) == {0.0, float(np.float32(4 / 3))}


def test_dropout_without_training_draws_nothing():
    x, before = pg.ones((2, 3, 4)), pg.random.get_state()
    for name in ("dropout", "dropout1d", "alpha_dropout", "feature_alpha_dropout"):
        assert getattr(F, name)(x, 0.5, training=False) is x
    assert pg.random.get_state() == before


def test_channel_dropout_drops_whole_channels():
    y = F.dropout2d(pg.ones((10, 10, 3, 3)), 0.5).numpy().reshape(100, 9)
    assert (y == y[:, :1]).all()
    assert 20 < (y[:, 0] == 0).sum() < 80


def test_alpha_dropout_keeps_mean_and_variance():
    x = pg.random.normal(50_000, dtype=pg.float64)
    y = F.alpha_dropout(x, 0.3, training=True).numpy()
    assert abs(y.mean()) < 0.03
    assert abs(y.var() - 1) < 0.03


def test_embedding_scales_gradients_by_frequency_and_rows_by_norm():
    w = pg.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]], requires_grad=True)
    y = F.embedding(pg.tensor([0, 0, 1]), w, max_norm=1.0, scale_grad_by_freq=True)
    assert_close(w, [[0.6, 0.8], [0.3, 0.4], [6, 8]], dtype=np.float32)
    pg.sum(y).backward()
    assert_close(w.grad, [[1, 1], [1, 1], [0, 0]], dtype=np.float32)


# ---- losses -------------------------------------------------------------------------------------
def test_cross_entropy_is_its_definition():
    x, t, w = RNG.standard_normal((5, 3)), np.array([0, 2, 1, 1, 0]), np.array([1.0, 2.0, 3.0])
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    each = -logs[np.arange(5), t]
    p, q, pw = pg.tensor(x), pg.tensor(t), pg.tensor(w)
    assert_close(F.cross_entropy(p, q, reduction="none"), each)
    assert_close(F.cross_entropy(p, q), each.mean())
    assert_close(F.cross_entropy(p, q, ignore_index=1), each[t != 1].mean())
    assert_close(F.cross_entropy(p, q, weight=pw), (each * w[t]).sum() / w[t].sum())
    assert_close(F.nll_loss(pg.tensor(logs), q, weight=pw, reduction="sum"), (each * w[t]).sum())
    assert_close(F.cross_entropy(p, F.one_hot(q).to(pg.float64), label_smoothing=0.3),
                 F.cross_entropy(p, q, label_smoothing=0.3))  # fmt: skip
    with pytest.raises(RuntimeError, match="detach"):
        F.cross_entropy(p.requires_grad_(), q).numpy()
    assert math.isnan(F.cross_entropy(pg.tensor(x), pg.full(5, -100)).item())
    assert F.cross_entropy(pg.tensor(x[0]), pg.tensor(0)).shape == ()


def test_rows_to_be_ignored_may_hold_anything(device):
    rows = [[1.0, 2.0, 3.0], [-INF] * 3, [INF, NAN, 0.0]]
    x = pg.tensor(rows, pg.float32, device, requires_grad=True)
    loss = F.cross_entropy(x, pg.tensor([2, -100, -100], device=device))
    loss.backward()
    soft = np.exp([1.0, 2, 3]) / np.exp([1.0, 2, 3]).sum()
    assert_close(x.grad, [soft - [0, 0, 1], [0] * 3, [0] * 3], dtype=np.float32)


def test_binary_cross_entropy_is_bounded_and_precise():
    at_ends = F.binary_cross_entropy(pg.tensor([0.0, 1.0]), pg.tensor([1.0, 0.0]), reduction="none")
    assert at_ends.tolist() == [100, 100]
    x = pg.tensor([40.0, -40.0], dtype=pg.float64)
    got = F.binary_cross_entropy_with_logits(x, pg.tensor([1.0, 0.0]), reduction="none")
    np.testing.assert_allclose(got.numpy(), [math.exp(-40)] * 2, rtol=1e-12)


def test_regression_losses_are_their_formulas():
    x, t = pg.tensor([0.0, 0.0, 0.0]), pg.tensor([0.5, 2.0, -3.0])
    assert F.mse_loss(x, t, reduction="none").tolist() == [0.25, 4, 9]
    assert F.l1_loss(x, t, reduction="sum").item() == 5.5
    assert F.huber_loss(x, t, "none", delta=1.0).tolist() == [0.125, 1.5, 2.5]
    assert F.smooth_l1_loss(x, t, "none", beta=2.0).tolist() == [0.0625, 1, 2]
    assert F.mse_loss(x, 1.0).item() == 1
    w = pg.tensor([1.0, 3.0, 0.0])
    assert F.mse_loss(x, t, weight=w).item() == (0.25 + 12) / 4


def test_kl_div_of_zero_probability_is_finite():
    x = pg.tensor([[math.log(0.5), -INF, math.log(0.5)]])
    t = pg.tensor([[0.5, 0.0, 0.5]])
    assert F.kl_div(x, t, reduction="batchmean").item() == 0


# ---- errors -------------------------------------------------------------------------------------
Argument, Range, Shape = InvalidArgumentError, OutOfRangeError, ShapeError


def ones(*shape):
    return pg.ones(shape)


def index(*values):
    return pg.tensor(values)


X = ones(2, 4, 5, 5)
ERRORS = [
    (lambda: F.conv2d(X, ones(3, 3, 2, 2)), Shape, "4 channels do not fit"),
    (lambda: F.conv2d(X, ones(3, 4, 6, 2)), Shape, "kernel reaches over"),
    (lambda: F.conv2d(X, ones(3, 4, 2)), Shape, "axes .batch, channels"),
    (lambda: F.conv2d(X, ones(3, 4, 2, 2), ones(2)), Shape, "bias of shape"),
    (lambda: F.conv2d(X, ones(3, 4, 2, 2), stride=0), Argument, "at least 1"),
    (lambda: F.conv2d(X, ones(3, 4, 2, 2), stride=1.5), InvalidTypeError, "no int"),
    (lambda: F.conv2d(X, ones(3, 4, 2, 2), padding="full"), Argument, "'same'"),
    (lambda: F.conv2d(X, ones(3, 4, 2, 2), 0 * ones(3), 2, "same"), Argument, "stride must be 1"),
    (lambda: F.conv_transpose2d(X, ones(4, 3, 2, 2), output_padding=1), Argument, "smaller"),
    (lambda: F.conv_transpose2d(X, ones(4, 3, 2, 2), padding=3), Shape, "would have the size"),
    (lambda: F.unfold(ones(3), 2), Shape, "height, width"),
    (lambda: F.fold(ones(1, 4, 5), 3, 2), Shape, "4 windows"),
    (lambda: F.max_pool2d(X, 2, padding=2), Argument, "half"),
    (lambda: F.max_pool2d(X, 7), Shape, "kernel reaches"),
    (lambda: F.max_pool1d(X, 2), Shape, "1 spatial"),
    (lambda: F.avg_pool2d(X, 2, divisor_override=0), Argument, "divisor"),
    (lambda: F.adaptive_avg_pool2d(X, (1, 2, 3)), Argument, "2 of them"),
    (lambda: F.adaptive_avg_pool2d(X, 0), Argument, "at least 1"),
    (lambda: F.adaptive_avg_pool2d(X, "3"), InvalidTypeError, "no output size"),
    (lambda: F.batch_norm(X, None, None), Argument, "no running statistics"),
    (lambda: F.batch_norm(X[:1, :, 0, 0], None, None, training=True), Argument, "no variance"),
    (lambda: F.batch_norm(X, ones(3), ones(4)), Shape, "running_mean"),
    (lambda: F.batch_norm(ones(3), None, None, training=True), Shape, "2 axes"),
    (lambda: F.layer_norm(X, 4), Shape, "last axes"),
    (lambda: F.group_norm(X, 3), Argument, "3 groups"),
    (lambda: F.instance_norm(X[:, :, :1, :1]), Argument, "no variance"),
    (lambda: F.local_response_norm(X, 0), Argument, "less than 1"),
    (lambda: F.local_response_norm(ones(2, 2), 2), Shape, "three axes"),
    (lambda: F.cosine_similarity(X, ones(3), axis=-1), Shape, "broadcast"),
    (lambda: F.dropout(X, 1.5), Argument, "no probability"),
    (lambda: F.dropout1d(X, 0.5), Shape, "1 spatial"),
    (lambda: F.embedding(index(3), ones(3, 2)), Range, "index 3"),
    (lambda: F.embedding(index(-1), ones(3, 2)), Range, "index -1"),
    (lambda: F.embedding(index(1.0), ones(3, 2)), DtypeError, "indices of dtype"),
    (lambda: F.embedding(index(1), ones(3)), Shape, "matrix"),
    (lambda: F.embedding(index(1), ones(3, 2), 3), Argument, "names no row"),
    (lambda: F.one_hot(index(3), 2), Range, "for 2 classes"),
    (lambda: F.one_hot(pg.zeros(0, dtype=pg.int64)), Argument, "num_classes"),
    (lambda: F.bilinear(X, X, ones(2, 2)), Shape, "outputs, n, m"),
    (lambda: F.prelu(X, ones(3)), Shape, "for 4 channels"),
    (lambda: F.gelu(X, "erf"), Argument, "'none' or 'tanh'"),
    (lambda: F.hardtanh(X, 1.0, 0.0), Argument, "no interval"),
    (lambda: F.softshrink(X, -1.0), Argument, "negative"),
    (lambda: F.celu(X, 0.0), Argument, "alpha"),
    (lambda: F.glu(X), Shape, "odd length 5"),
    (lambda: F.softmax(X, axis=4), Range, "axis 4 is out"),
    (lambda: F.mse_loss(X, X[0]), Shape, "must be equal"),
    (lambda: F.mse_loss(X, X, reduction="average"), Argument, "'none', 'mean', 'sum'"),
    (lambda: F.huber_loss(X, X, delta=0.0), Argument, "not positive"),
    (lambda: F.huber_loss(X, X, delta=1j), Argument, "not positive"),
    (lambda: F.batch_norm(X, None, None, training=True, eps=-1.0), Argument, "negative"),
    (lambda: F.cross_entropy(X, X, ignore_index=1), Argument, "with probabilities"),
    (lambda: F.smooth_l1_loss(X, X, beta=-1.0), Argument, "negative"),
    (lambda: F.gaussian_nll_loss(X, X, ones(3)), Shape, "variances"),
    (lambda: F.cross_entropy(ones(2, 3), index(0, 3)), Range, "target 3 is no class"),
    (lambda: F.cross_entropy(ones(2, 3), index(0, -1)), Range, "-1 is no class"),
    (lambda: F.cross_entropy(ones(2, 3), index(0)), Shape, "without axis 1"),
    (lambda: F.cross_entropy(ones(2, 3), ones(2, 2)), Shape, "probabilities of shape"),
    (lambda: F.cross_entropy(ones(2, 3), index(True, False)), DtypeError, "class indices"),
    (lambda: F.cross_entropy(pg.ones(()), pg.tensor(0)), Shape, "0-d"),
    (lambda: F.cross_entropy(ones(2, 3), index(0, 1), ones(2)), Shape, "for 3 classes"),
    (lambda: F.cross_entropy(ones(1, 3), index(0), label_smoothing=2), Argument, r"\[0, 1\]"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), ERRORS)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words) as found:
        call()
    assert found.value.where


def test_all_that_is_declared_is_found():
    declared = operations_of("nn.functional")
    assert set(declared) | {"linear", "tanh"} == set(F.__all__)
    both = set(declared) & set(pg.__all__)
    assert both == {"log_softmax", "pad", "softmax"}
    assert F.softmax is pg.softmax
    assert F.log_softmax is pg.log_softmax
    assert F.pad is not pg.pad  # one takes PyTorch's widths, the other NumPy's
    with pytest.raises(AttributeError, match="nonsense"):
        F.nonsense  # noqa: B018
