"""Bags of rows against the loop that defines them; offsets, weights, padding; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import DtypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from polygrad.registry import default_integer, find_device
from polygrad.testing import assert_close
from polygrad.testing.compare import host

F = nn.functional
TABLE = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
INDICES = np.array([1, 4, 4, 0, 2, 5, 1])
OFFSETS = np.array([0, 2, 2, 6])
COMBINE = {"sum": lambda r: r.sum(0), "mean": lambda r: r.mean(0), "max": lambda r: r.max(0)}


def integers(array, device):
    return pg.tensor(array.astype(default_integer(find_device(device))), device=device)


@pytest.mark.parametrize("mode", COMBINE)
@pytest.mark.parametrize("padding", [None, 4, -1])
def test_each_bag_is_what_its_rows_combine_to(mode, padding, device):
    got = F.embedding_bag(
        integers(INDICES, device), pg.tensor(TABLE, device=device), integers(OFFSETS, device),
        mode=mode, padding_idx=padding,
    )  # fmt: skip
    skipped = None if padding is None else padding % 6
    for i, (start, end) in enumerate(zip(OFFSETS, [*OFFSETS[1:], 7], strict=True)):
        rows = TABLE[[n for n in INDICES[start:end] if n != skipped]]
        want = COMBINE[mode](rows) if len(rows) else np.zeros(3, np.float32)
        assert_close(got[i], want)


@pytest.mark.parametrize("mode", COMBINE)
def test_rows_of_indices_are_bags_of_one_length(mode):
    table = pg.tensor(TABLE)
    got = F.embedding_bag(pg.tensor(INDICES[:6].reshape(2, 3)), table, mode=mode)
    assert_close(got, F.embedding_bag(pg.tensor(INDICES[:6]), table, [0, 3], mode=mode))
    last = F.embedding_bag(
        pg.tensor(INDICES[:6]), table, [0, 3, 6], mode=mode, include_last_offset=True
    )
    assert_close(got, last)


def test_the_largest_has_the_gradient_alone_and_the_first_of_equals():
    table = pg.tensor([[1.0, 5.0], [1.0, 2.0], [0.0, 5.0]], requires_grad=True)
    pg.sum(F.embedding_bag(pg.tensor([[0, 1, 2]]), table, mode="max")).backward()
    assert host(table.grad).tolist() == [[1, 1], [0, 0], [0, 0]]


def test_weights_multiply_and_have_gradients_but_not_those_of_the_padding():
    table = pg.tensor(TABLE, requires_grad=True)
    weights = pg.tensor(np.arange(1.0, 8.0, dtype=np.float32), requires_grad=True)
    indices = pg.tensor(INDICES)
    out = F.embedding_bag(
        indices, table, [0], mode="sum", per_sample_weights=weights, padding_idx=4
    )
    keep = INDICES != 4
    assert_close(out[0], (host(weights)[:, None] * TABLE[INDICES])[keep].sum(0))
    pg.sum(out).backward()
    assert_close(weights.grad, TABLE[INDICES].sum(1) * keep)
    assert not host(table.grad)[4].any()


def test_frequency_and_norm_as_of_embedding():
    table = pg.tensor(TABLE, requires_grad=True)
    pg.sum(F.embedding_bag(pg.tensor([[1, 1, 2]]), table, mode="sum", scale_grad_by_freq=True)
           ).backward()  # fmt: skip
    assert host(table.grad)[:, 0].tolist() == [0, 1, 1, 0, 0, 0]
    layer = nn.EmbeddingBag(4, 3, max_norm=0.5)
    layer(pg.tensor([[0, 1]]))
    norms = np.linalg.norm(host(layer.weight), axis=1)
    assert (norms[:2] < 0.501).all()


def test_bags_of_nothing_are_zeros_with_a_gradient():
    for mode in COMBINE:
        table = pg.tensor(TABLE, requires_grad=True)
        out = F.embedding_bag(pg.zeros(0, dtype=pg.int64), table, [0, 0], mode=mode)
        assert host(out).tolist() == [[0.0] * 3] * 2
        pg.sum(out).backward()
        assert not host(table.grad).any()
    assert F.embedding_bag(pg.zeros((0, 2), dtype=pg.int64), table).shape == (0, 3)


def test_a_layer_around_a_table():
    layer = nn.EmbeddingBag.from_pretrained(pg.tensor(TABLE), mode="sum", padding_idx=2)
    assert not layer.weight.requires_grad
    assert_close(layer(pg.tensor([[0, 2]])), TABLE[:1])
    assert repr(layer) == "EmbeddingBag(6, 3, padding_idx=2, mode='sum')"
    assert not host(nn.EmbeddingBag(4, 3, padding_idx=-1).weight)[3].any()


ONE, TWO = pg.tensor([0, 1]), pg.tensor([[0, 1]])


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda w: F.embedding_bag(ONE, w), InvalidArgumentError, "no offsets"),
        (lambda w: F.embedding_bag(TWO, w, [0]), InvalidArgumentError, "two axes"),
        (lambda w: F.embedding_bag(TWO[None], w), ShapeError, "indices of shape"),
        (lambda w: F.embedding_bag(ONE, w, [1]), OutOfRangeError, "the first is 0"),
        (lambda w: F.embedding_bag(ONE, w, [0, 2, 1]), OutOfRangeError, "below its last"),
        (lambda w: F.embedding_bag(ONE, w, [0, 3]), OutOfRangeError, "for 2 indices"),
        (lambda w: F.embedding_bag(ONE, w, [0, 1], include_last_offset=True), OutOfRangeError,
         "ends with the indices"),
        (lambda w: F.embedding_bag(ONE, w, pg.tensor([0.0])), DtypeError, "integers"),
        (lambda w: F.embedding_bag(ONE, w, pg.tensor(0)), ShapeError, "one axis"),
        (lambda w: F.embedding_bag(TWO, w, mode="min"), InvalidArgumentError, "'sum'"),
        (lambda w: F.embedding_bag(TWO, w, mode="max", scale_grad_by_freq=True),
         InvalidArgumentError, "another mode"),
        (lambda w: F.embedding_bag(TWO, w, per_sample_weights=w), InvalidArgumentError, "'sum'"),
        (lambda w: F.embedding_bag(TWO, w, mode="sum", per_sample_weights=w), ShapeError,
         "one for each index"),
        (lambda w: F.embedding_bag(TWO + 5, w), OutOfRangeError, "out of range"),
        (lambda w: F.embedding_bag(TWO, w, padding_idx=6), InvalidArgumentError, "no row"),
        (lambda w: nn.EmbeddingBag(3, 2, padding_idx=3), InvalidArgumentError, "padding_idx"),
    ],
)  # fmt: skip
def test_bad_arguments(call, error, word):
    with pytest.raises(error, match=word) as found:
        call(pg.tensor(TABLE))
    assert found.value.where


@pytest.mark.parametrize("max_norm", [-1.0, float("nan"), "a"])
def test_a_greatest_norm_that_is_none_is_refused_and_turns_no_row(max_norm):
    w = pg.tensor(TABLE)
    for call in (
        lambda: F.embedding(ONE, w, max_norm=max_norm),
        lambda: F.embedding_bag(ONE, w, [0], max_norm=max_norm),
    ):
        with pytest.raises(InvalidArgumentError, match="max_norm is"):
            call()
    np.testing.assert_array_equal(w.numpy(), TABLE)


@pytest.mark.parametrize("p", ["x", None, -1, float("nan")])
def test_pdist_of_no_norm(p):
    with pytest.raises(InvalidArgumentError, match="negative, or no number"):
        F.pdist(pg.ones((2, 2)), p)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, "25"), InvalidArgumentError, "cutoffs"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2], 0.0), InvalidArgumentError, "div_value"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2], float("nan")), InvalidArgumentError,
         "div_value"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(pg.ones((2, 4)), None), DtypeError,
         "NoneType"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(pg.ones((2, 4)), pg.ones(2)),
         DtypeError, "float32"),
    ],
)  # fmt: skip
def test_adaptive_softmax_of_no_classes(call, error, word):
    with pytest.raises(error, match=word):
        call()
