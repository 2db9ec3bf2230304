"""What the comparison with PyTorch (`make pytorch-parity`) found, one test for each."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.registry import find_backend, find_device
from polygrad.testing import assert_close
from polygrad.testing.compare import host

F = nn.functional


def real(*values):
    return pg.tensor(values, dtype=pg.float64, requires_grad=True)


@pytest.mark.parametrize(
    ("function", "value"), [("softmax", 1), ("log_softmax", 0), ("softmin", 1)]
)
@pytest.mark.parametrize("axis", [0, -1])
def test_a_number_is_a_vector_of_one_to_softmax(function, value, axis):
    x = pg.tensor(3.0, requires_grad=True)
    out = getattr(F, function)(x, axis=axis)
    assert out.shape == ()
    assert float(out.detach()) == value
    out.backward()
    assert float(x.grad) == 0


def test_a_number_is_a_vector_of_one_to_normalize_and_cosine_similarity():
    assert float(F.normalize(pg.tensor(-3.0), axis=0)) == -1
    assert float(F.cosine_similarity(pg.tensor(-3.0), pg.tensor(2.0), axis=-1)) == -1


def test_softplus_is_straight_from_a_threshold_on():
    x = real(-1.0, 0.5, 3.0)
    out = F.softplus(x, 2.0, threshold=1.5)
    assert_close(out, np.array([math.log1p(math.exp(-2)) / 2, math.log1p(math.e) / 2, 3]))
    pg.sum(out).backward()
    assert_close(x.grad, np.array([1 / (1 + math.exp(2)), 1 / (1 + math.exp(-1)), 1]))


def test_the_cosine_is_of_vectors_as_long_as_both_are_together():
    a, b = real(1.0), real(1.0, 1.0)
    assert_close(F.cosine_similarity(a, b, axis=0), np.array(1.0))
    c = pg.ones((3, 2), dtype=pg.float64)
    assert_close(F.cosine_similarity(b, c, axis=0), np.ones(2))
    assert_close(F.cosine_similarity(c, b, axis=-2), np.ones(2))


def test_the_norm_of_order_zero_counts():
    x = real(3.0, 0.0, -1.0)
    out = F.normalize(x, p=0, axis=0)
    assert host(out).tolist() == [1.5, 0, -0.5]
    pg.sum(out).backward()
    assert host(x.grad).tolist() == [0.5] * 3


def test_one_score_is_one_class():
    x = pg.tensor(2.0)
    assert float(F.multi_margin_loss(x, pg.tensor(0))) == 0
    assert float(F.multilabel_margin_loss(x, pg.tensor(0))) == 0
    assert F.multi_margin_loss(x, pg.tensor([0]), reduction="none").shape == (1,)


def test_gaussian_likelihood_broadcasts():
    x, t, v = real(1.0, 2.0), real(3.0), pg.tensor([[2.0], [4.0]], dtype=pg.float64)
    assert F.gaussian_nll_loss(x, t, t, reduction="none").shape == (2,)
    x = pg.broadcast_to(x, (2, 2))
    got = F.gaussian_nll_loss(x, t, v, reduction="none")
    d = np.array([[4.0, 1.0]] * 2)
    assert_close(got, 0.5 * (np.log(host(v)) + d / host(v)))
    assert_close(F.gaussian_nll_loss(x, t, v[:, 0], reduction="none"), got)


def test_distances_keep_their_axis():
    x = pg.ones((2, 3))
    assert F.pairwise_distance(x, 2 * x, keepdims=True).shape == (2, 1)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.BatchNorm1d(3, bias=False), (4, 3)),
        (nn.BatchNorm2d(3, bias=False), (2, 3, 2, 2)),
        (nn.InstanceNorm1d(3, affine=True, bias=False), (2, 3, 4)),
        (nn.GroupNorm(1, 3, bias=False), (2, 3)),
    ],
)
def test_norms_without_a_shift(layer, shape):
    assert layer.bias is None
    assert layer.weight is not None
    assert "bias" not in layer.state_dict()
    layer.reset_parameters()
    assert layer(pg.ones(shape)).shape == shape
    assert type(layer)(3, 3, affine=False).bias is None


@pytest.mark.parametrize("affine", [True, False])
def test_a_batch_of_nothing_moves_no_statistics(affine):
    layer = nn.BatchNorm1d(2, affine=affine)
    out = layer(pg.zeros((0, 2, 3)))
    assert out.shape == (0, 2, 3)
    assert host(layer.running_mean).tolist() == [0, 0]
    assert host(layer.running_var).tolist() == [1, 1]
    assert int(layer.num_batches_tracked) == 1
    if affine:
        pg.sum(out).backward()
        assert host(layer.weight.grad).tolist() == [0, 0]


def test_the_mean_of_no_target_has_no_gradient():
    x = pg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    loss = F.cross_entropy(x, pg.tensor([1, 1]), ignore_index=1)
    assert math.isnan(float(loss.detach()))
    loss.backward()
    assert not host(x.grad).any()


def test_the_divergence_of_what_is_no_probability_is_nan():
    got = host(F.kl_div(pg.zeros(4), pg.tensor([-0.5, math.nan, 0.0, 1.0]), reduction="none"))
    assert np.isnan(got).tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("make", "error", "word"),
    [
        (lambda: nn.RNN(2, 3, bias=1), InvalidTypeError, "bias is 1"),
        (lambda: nn.LSTM(2, 3, batch_first="no"), InvalidTypeError, "batch_first is 'no'"),
        (lambda: nn.HuberLoss(delta=1j), InvalidArgumentError, "not positive"),
        (lambda: nn.LinearCrossEntropyLoss(2, 3, label_smoothing=2), InvalidArgumentError, "0, 1"),
        (lambda: nn.LinearCrossEntropyLoss(2, 3, weight=pg.ones(2)), ShapeError, "for 3 classes"),
    ],
)
def test_refused_when_made(make, error, word):
    with pytest.raises(error, match=word) as found:
        make()
    assert found.value.where


ORDERED = [
    "relu", "relu6", "leaky_relu", "elu", "celu", "selu", "gelu", "softplus", "logsigmoid", "mish",
    "hardswish", "hardsigmoid", "hardtanh", "softsign", "softshrink", "hardshrink", "softmax",
    "log_softmax",
]  # fmt: skip


@pytest.mark.parametrize("name", ORDERED)
def test_what_goes_by_order_refuses_complex_numbers(name, device):
    with pytest.raises(DtypeError, match="real numbers"):
        getattr(F, name)(pg.tensor([1 + 2j, 3j], device=device))


@pytest.mark.parametrize("name", ["sigmoid", "silu", "tanhshrink"])
def test_the_analytic_ones_take_complex_numbers(name, device):
    z = np.array([0.3 + 0.4j, -1.2 + 0.7j, 2 - 1j])
    s = 1 / (1 + np.exp(-z))
    want = {"sigmoid": s, "silu": z * s, "tanhshrink": z - np.tanh(z)}[name]
    place = find_device(device)
    wide = find_backend(place.kind).supports(pg.complex128, place)
    dtype = pg.complex128 if wide else pg.complex64
    assert_close(getattr(F, name)(pg.tensor(z, dtype=dtype, device=device)), want)
    x = pg.tensor(z, requires_grad=True)
    assert pg.autograd.gradcheck(getattr(F, name), [x])
    assert pg.autograd.gradgradcheck(getattr(F, name), [x])


def test_no_difference_is_taken_of_what_is_joined_no_times():
    x = pg.tensor([1.0, 4.0])
    assert pg.diff(x, n=0, prepend=x).shape == (2,)


def test_the_root_mean_square_of_complex_numbers_has_conjugate_gradients():
    x = pg.tensor(np.array([[0.3 + 0.4j, -1.2 + 0.7j, 2 - 1j]]), requires_grad=True)
    assert pg.autograd.gradcheck(lambda x: F.rms_norm(x, 3, eps=0.5), [x])
    assert pg.autograd.gradgradcheck(lambda x: F.rms_norm(x, 3, eps=0.5), [x])
