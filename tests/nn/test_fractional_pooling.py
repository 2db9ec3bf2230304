"""Fractional pooling, distances of a set, and the softmax of clusters."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import InvalidArgumentError, OutOfRangeError, ShapeError
from polygrad.testing import assert_close
from polygrad.testing.compare import host

F = nn.functional


# ---- fractional pooling -------------------------------------------------------------------------
def starts(u, n, m, k):
    step = (n - k) / max(m - 1, 1)
    return [int((i + u) * step) - int(u * step) for i in range(m - 1)] + [n - k]


def test_windows_are_where_the_numbers_say(device):
    x = np.random.default_rng(0).permutation(2 * 2 * 7 * 9).reshape(2, 2, 7, 9).astype(np.float32)
    u = np.random.default_rng(1).uniform(size=(2, 2, 2)).astype(np.float32)
    out, places = F.fractional_max_pool2d(
        pg.tensor(x, device=device), (2, 3), (4, 5), return_indices=True,
        _random_samples=pg.tensor(u, device=device),
    )  # fmt: skip
    for b, c in itertools.product(range(2), range(2)):
        rows, columns = starts(u[b, c, 1], 7, 4, 2), starts(u[b, c, 0], 9, 5, 3)
        want = [[x[b, c, i : i + 2, j : j + 3].max() for j in columns] for i in rows]
        assert host(out)[b, c].tolist() == want
        assert x[b, c].reshape(-1)[host(places)[b, c]].tolist() == want


def test_numbers_are_drawn_from_the_one_stream(device):
    x = pg.tensor(np.arange(3 * 400.0, dtype=np.float32).reshape(3, 20, 20) % 7, device=device)
    pg.manual_seed(4)
    first = host(F.fractional_max_pool2d(x, 2, output_ratio=0.6))
    second = host(F.fractional_max_pool2d(x, 2, output_ratio=0.6))
    pg.manual_seed(4)
    assert np.array_equal(first, host(F.fractional_max_pool2d(x, 2, output_ratio=0.6)))
    assert first.shape == (3, 12, 12)
    assert not np.array_equal(first, second)


def test_given_numbers_move_with_the_layer():
    samples = pg.full((1, 2, 3), 0.5)
    layer = nn.FractionalMaxPool3d(2, output_size=(2, 2, 3), _random_samples=samples)
    assert list(layer.state_dict()) == ["_random_samples"]
    assert layer(pg.ones((2, 4, 4, 5))).shape == (2, 2, 2, 3)
    assert "output_size=(2, 2, 3)" in repr(layer)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda x: F.fractional_max_pool2d(x, 2), InvalidArgumentError, "one of the two"),
        (lambda x: F.fractional_max_pool2d(x, 2, 2, 0.5), InvalidArgumentError, "one of the two"),
        (lambda x: F.fractional_max_pool2d(x, 2, 4), ShapeError, "windows"),
        (lambda x: F.fractional_max_pool2d(x, 2, output_ratio=1.5), InvalidArgumentError, "0 and"),
        (lambda x: F.fractional_max_pool2d(x, 2, 2, _random_samples=x), ShapeError, "samples"),
        (lambda x: F.fractional_max_pool2d(x[0, 0], 2, 2), ShapeError, "axes"),
        (lambda x: nn.FractionalMaxPool2d(2), InvalidArgumentError, "one of the two"),
        (lambda x: nn.FractionalMaxPool3d(2, output_ratio=(0.5, 0.5)), InvalidArgumentError, "3"),
    ],
)
def test_pooling_of_bad_arguments(call, error, word):
    with pytest.raises(error, match=word) as found:
        call(pg.ones((1, 1, 4, 4)))
    assert found.value.where


# ---- distances ----------------------------------------------------------------------------------
@pytest.mark.parametrize("p", [0, 1, 2, 3.5, math.inf])
def test_distances_of_each_two_rows(p, device):
    x = np.random.default_rng(2).standard_normal((5, 3)).astype(np.float32)
    got = F.pdist(pg.tensor(x, device=device), p)
    want = [np.linalg.norm(x[i] - x[j], p) for i, j in itertools.combinations(range(5), 2)]
    assert_close(got, np.array(want, np.float32))


def test_equal_rows_have_no_gradient():
    x = pg.ones((2, 3), dtype=pg.float64).requires_grad_()
    pg.sum(F.pdist(x)).backward()
    assert not host(x.grad).any()
    with pytest.raises(ShapeError, match="rows"):
        F.pdist(pg.ones(3))
    with pytest.raises(InvalidArgumentError, match="negative"):
        F.pdist(x, -1)


# ---- clusters -----------------------------------------------------------------------------------
def clusters(**options):
    pg.manual_seed(0)
    return nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, **options).double()


def test_probabilities_of_all_classes_sum_to_one_and_are_those_of_targets():
    layer, x = clusters(head_bias=True), pg.random.normal((10, 8), dtype=pg.float64)
    logs = host(layer.log_prob(x))
    assert_close(np.exp(logs).sum(1), np.ones(10))
    output, loss = layer(x, pg.arange(10))
    assert_close(output, np.diag(logs))
    assert_close(loss, -np.diag(logs).mean())
    assert host(layer.predict(x)).tolist() == logs.argmax(1).tolist()
    alone = layer(x[4], pg.tensor(4))
    assert_close(alone.output, logs[4, 4])
    assert alone.loss.shape == ()


def test_what_a_batch_does_not_use_has_no_gradient():
    layer = clusters()
    layer(pg.ones((2, 8), dtype=pg.float64), pg.tensor([0, 4])).loss.backward()
    assert layer.head.weight.grad is not None
    assert layer.tail[0][1].weight.grad is not None
    assert layer.tail[1][1].weight.grad is None
    before = host(layer.head.weight).copy()
    layer.reset_parameters()
    assert not np.array_equal(host(layer.head.weight), before)


@pytest.mark.parametrize("cutoffs", [[], [0, 3], [3, 2], [3, 3], [10], [2.5]])
def test_cutoffs_ascend(cutoffs):
    with pytest.raises(InvalidArgumentError, match="ascending"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs)


@pytest.mark.parametrize(
    ("shape", "target", "error"),
    [((2, 8), [0], ShapeError), ((8,), [0], ShapeError), ((1, 8), [10], OutOfRangeError)],
)
def test_targets_fit(shape, target, error):
    with pytest.raises(error):
        clusters()(pg.ones(shape, dtype=pg.float64), pg.tensor(target))


@pytest.mark.parametrize("sample", [-1.0, 1.5, float("nan")])
def test_samples_that_are_no_shares_are_refused(sample):
    samples = pg.full((1, 1, 2), sample)
    with pytest.raises(ShapeError, match=r"numbers in \[0, 1\]"):
        F.fractional_max_pool2d(pg.ones((1, 1, 5, 5)), 2, 3, _random_samples=samples)
