"""Losses with margins, CTC, random activations: against loops, enumeration, and worked values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import (
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
)
from polygrad.testing import assert_close
from polygrad.testing.compare import host

F = nn.functional
RNG = np.random.default_rng(0)


def values(function, *arrays, **options):
    """The loss of every element, and its gradient with respect to the first array."""
    x = pg.tensor(arrays[0], requires_grad=True)
    others = [pg.tensor(a) for a in arrays[1:]]
    loss = function(x, *others, reduction="none", **options)
    return host(loss.detach()), host(pg.autograd.grad(pg.sum(loss), x)[0])


# ---- margins, written out -----------------------------------------------------------------------
def test_hinge_embedding():
    loss, slope = values(F.hinge_embedding_loss, [3.0, 0.25, 2.5, 1.0], [1, -1, -1, -1], margin=2.0)
    assert loss.tolist() == [3.0, 1.75, 0.0, 1.0]
    assert slope.tolist() == [1.0, -1.0, 0.0, -1.0]


def test_hinge_embedding_of_other_targets_is_the_sum_of_both():
    assert values(F.hinge_embedding_loss, [0.25], [0])[0].tolist() == [1.0]


def test_soft_margin():
    x, t = np.array([-800.0, -2.0, 0.5, 800.0]), np.array([1.0, -1.0, 1.0, 1.0])
    loss, slope = values(F.soft_margin_loss, x, t)
    want = [800.0, math.log1p(math.exp(-2)), math.log1p(math.exp(-0.5)), 0.0]
    np.testing.assert_allclose(loss, want, rtol=1e-14)
    np.testing.assert_allclose(
        slope, [-1.0, 1 / (1 + math.exp(2)), -1 / (1 + math.exp(0.5)), 0.0], rtol=1e-14
    )


def test_margin_ranking_and_its_slope_at_the_bound():
    x, y, t = [1.0, 2.0, 2.0, 1.0], [0.0, 5.0, 2.0, 0.5], [1, 1, -1, 1]
    loss, slope = values(F.margin_ranking_loss, x, y, t, margin=0.5)
    assert loss.tolist() == [0.0, 3.5, 0.5, 0.0]
    assert slope.tolist() == [0.0, -1.0, 1.0, -1.0]


def test_cosine_embedding():
    x, y = np.array([[3.0, 4.0], [3.0, 4.0], [0.0, 0.0]]), np.array([[0.0, 2.0]] * 3)
    loss, slope = values(F.cosine_embedding_loss, x, y, [1, -1, 1], margin=0.3)
    np.testing.assert_allclose(loss, [0.2, 0.5, 1.0], rtol=1e-12)
    want = (np.array([0.0, 1.0]) - 0.8 * x[0] / 5) / 5
    np.testing.assert_allclose(slope[:2], [-want, want], rtol=1e-10, atol=1e-13)
    assert np.isfinite(slope).all()


def test_triplets_with_and_without_swap():
    a, b, c = np.zeros((1, 2)), np.array([[3.0, 4.0]]), np.array([[6.0, 8.0]])
    for swap, want in ((False, 1.0), (True, 6.0)):
        loss, _ = values(F.triplet_margin_loss, a, b, c, margin=6.0, eps=0.0, swap=swap)
        assert loss.tolist() == [want]
        far, _ = values(F.triplet_margin_loss, a, b, -c, margin=6.0, eps=0.0, swap=swap)
        assert far.tolist() == [1.0]  # d(b, c) is the greater one
    loss, slope = values(F.triplet_margin_loss, a, b, c, margin=8.0, p=1.0, eps=0.0)
    assert loss.tolist() == [1.0]
    assert slope.tolist() == [[0.0, 0.0]]


def test_triplets_with_a_module_for_a_distance():
    class Far(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(pg.tensor(2.0))

        def forward(self, x, y):
            return self.scale * pg.sum((x - y) ** 2, axis=-1)

    layer = nn.TripletMarginWithDistanceLoss(distance_function=Far(), margin=3.0)
    assert [n for n, _ in layer.named_parameters()] == ["distance_function.scale"]
    a, b, c = pg.zeros((1, 1)), pg.ones((1, 1)), pg.full((1, 1), 1.5)
    loss = layer(a, b, c)
    assert loss.detach().item() == 3 + 2 - 4.5
    loss.backward()
    assert layer.distance_function.scale.grad.item() == 1 - 2.25


def by_hand(x, t, p, margin, weight):
    return sum(
        weight[t] * max(0.0, margin - x[t] + x[i]) ** p for i in range(len(x)) if i != t
    ) / len(x)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("margin", [1.0, 0.25])
def test_multi_margin_as_a_loop(p, margin):
    x, t, w = RNG.standard_normal((5, 4)), RNG.integers(0, 4, 5), RNG.uniform(0.5, 2.0, 4)
    want = [by_hand(row, k, p, margin, w) for row, k in zip(x, t, strict=True)]
    arguments = {"p": p, "margin": margin, "weight": pg.tensor(w)}
    np.testing.assert_allclose(values(F.multi_margin_loss, x, t, **arguments)[0], want)
    for reduction, function in (("mean", np.mean), ("sum", np.sum)):
        got = nn.MultiMarginLoss(reduction=reduction, **arguments)(pg.tensor(x), pg.tensor(t))
        np.testing.assert_allclose(host(got), function(want))
    single = F.multi_margin_loss(pg.tensor(x[0]), pg.tensor(t[:1]), reduction="none", **arguments)
    assert single.shape == (1,)


def test_multilabel_margin_as_a_loop():
    x = RNG.standard_normal((6, 4))
    targets = [
        [3, 0, -1, 1], [-1, 1, 2, 3], [0, 1, 2, 3], [2, 2, -1, -1], [1, -1, 0, -1], [2, 0, 1, -1],
    ]  # fmt: skip
    want = []
    for row, lane in zip(x, targets, strict=True):
        right = list(itertools.takewhile(lambda k: k >= 0, lane))
        wrong = set(range(4)) - set(right)
        want.append(sum(max(0.0, 1 - row[j] + row[i]) for j in right for i in wrong) / 4)
    loss, slope = values(F.multilabel_margin_loss, x, targets)
    np.testing.assert_allclose(loss, want, rtol=1e-14)
    assert not slope[1:3].any()
    np.testing.assert_allclose(slope.sum(axis=-1), 0, atol=1e-15)


def test_multilabel_soft_margin():
    x, t, w = RNG.standard_normal((3, 4)), RNG.integers(0, 2, (3, 4)), RNG.uniform(0.5, 2.0, 4)
    s = 1 / (1 + np.exp(-x))
    want = (-w * (t * np.log(s) + (1 - t) * np.log(1 - s))).mean(axis=-1)
    got, _ = values(F.multilabel_soft_margin_loss, x, t, weight=pg.tensor(w))
    np.testing.assert_allclose(got, want, rtol=1e-13)


# ---- linear cross entropy -----------------------------------------------------------------------
def test_linear_cross_entropy_is_that_of_its_logits():
    x, w, b = (RNG.standard_normal(shape) for shape in ((4, 3), (5, 2, 3), (5, 2)))
    t = RNG.integers(0, 5, (4, 2))
    logits = np.einsum("nf,ckf->nck", x, w) + b
    want = np.log(np.exp(logits).sum(axis=1)) - np.take_along_axis(logits, t[:, None], 1)[:, 0]
    got, _ = values(
        lambda x, w, t, b, **o: F.linear_cross_entropy(x, w, t, linear_bias=b, **o), x, w, t, b
    )
    np.testing.assert_allclose(got, want, rtol=1e-13)
    layer = nn.LinearCrossEntropyLoss(3, 5, out_features=(2,), bias=True).double()
    layer.linear.load_state_dict({"weight": w.reshape(10, 3), "bias": b.reshape(10)})
    np.testing.assert_allclose(host(layer(pg.tensor(x), pg.tensor(t)).detach()), want.mean())
    assert "out_features=(2,)" in repr(layer)


# ---- CTC: every path of the lattice -------------------------------------------------------------
def read(path, blank):
    """What a path of labels says: repetitions joined, blanks left out."""
    return tuple(k for k, _ in itertools.groupby(path) if k != blank)


def enumerated(logs, labels, blank):
    """The loss, and minus the probabilities of the labels at each step, given the target."""
    total, share = 0.0, np.zeros_like(logs)
    for path in itertools.product(range(logs.shape[1]), repeat=len(logs)):
        if read(path, blank) == tuple(labels):
            p = math.exp(sum(logs[t, k] for t, k in enumerate(path)))
            total += p
            for t, k in enumerate(path):
                share[t, k] -= p
    return -math.log(total), share / total


CASES = [  # labels, steps
    ([1, 2], 4), ([1, 1], 5), ([2], 3), ([], 4), ([2, 1, 2], 5), ([1, 2], 2), ([1, 1], 3), ([], 0),
]  # fmt: skip


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("padded", [True, False])
def test_ctc_is_the_sum_over_all_paths(blank, padded):
    swap = {0: blank, blank: 0, 1: 1, 2: 0 if blank == 2 else 2}
    rows = [[swap[k] for k in labels] for labels, _ in CASES]
    steps = np.array([n for _, n in CASES])
    x = RNG.standard_normal((5, len(CASES), 3))
    logs = x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
    if padded:
        targets = np.array([r + [blank] * (3 - len(r)) for r in rows])
    else:
        targets = np.concatenate(rows).astype(int)
    sizes = [len(r) for r in rows]
    loss, slope = values(
        lambda x, t, n, m, **o: F.ctc_loss(x, t, n, m, blank, **o), logs, targets, steps, sizes
    )
    for n, row in enumerate(rows):
        want, share = (0.0, 0.0) if not steps[n] else enumerated(logs[: steps[n], n], row, blank)
        np.testing.assert_allclose(loss[n], want, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(slope[: steps[n], n], share, rtol=1e-12, atol=1e-15)
        assert not slope[steps[n] :, n].any()
    mean = F.ctc_loss(pg.tensor(logs), pg.tensor(targets), pg.tensor(steps), tuple(sizes), blank)
    np.testing.assert_allclose(host(mean), np.mean(loss / np.maximum(sizes, 1)), rtol=1e-14)


def test_ctc_of_one_sequence():
    x = RNG.standard_normal((4, 3))
    want, _ = enumerated(x, [1, 2], 0)
    for lengths in ((4, 2), ((4,), (2,)), (pg.tensor(4), pg.tensor([2]))):
        got = F.ctc_loss(pg.tensor(x), pg.tensor([1, 2]), *lengths, reduction="none")
        assert got.shape == ()
        np.testing.assert_allclose(host(got), want, rtol=1e-13)
    got = nn.CTCLoss()(pg.tensor(x), pg.tensor([1, 2]), 4, 2)
    np.testing.assert_allclose(host(got), want / 2, rtol=1e-13)


def test_ctc_of_labels_that_do_not_fit():
    logs = F.log_softmax(pg.tensor(RNG.standard_normal((3, 2, 3))), axis=-1)
    arguments = ([[1, 1, 1], [1, 2, 0]], (3, 3), (3, 2))
    loss, slope = values(F.ctc_loss, host(logs), *arguments)
    assert loss[0] == math.inf
    assert np.isfinite(loss[1])
    assert np.isnan(slope[:, 0, :2]).all()  # the labels of the lattice
    assert np.isfinite(slope[:, 1]).all()
    zero, flat = values(F.ctc_loss, host(logs), *arguments, zero_infinity=True)
    assert zero.tolist() == [0.0, loss[1]]
    assert not flat[:, 0].any()
    np.testing.assert_array_equal(flat[:, 1], slope[:, 1])


def test_ctc_where_nothing_flows_back_is_not_nan():
    x = pg.tensor(RNG.standard_normal((2, 2, 3)), requires_grad=True)
    loss = F.ctc_loss(x, pg.tensor([[1, 1], [1, 2]]), (2, 2), (2, 2), reduction="none")
    (slope,) = pg.autograd.grad(loss[1], x)
    assert np.isfinite(host(slope)).all()
    assert not host(slope)[:, 0].any()


def test_ctc_with_probabilities_of_zero():
    x = np.log(np.array([[0.5, 0.5, 1.0], [0.25, 0.75, 1.0]]))
    x[:, 2] = -np.inf
    loss, slope = values(F.ctc_loss, x, [1], 2, 1)
    np.testing.assert_allclose(np.exp(-loss), 1 - 0.125, rtol=1e-14)
    np.testing.assert_allclose(
        slope, [[-3 / 7, -4 / 7, 0], [-1 / 7, -6 / 7, 0]], rtol=1e-14
    )
    assert values(F.ctc_loss, x, [2], 2, 1)[0] == math.inf


def test_ctc_of_many_steps_in_half_precision():
    logs = np.full((400, 1, 2), math.log(0.5))
    want = values(F.ctc_loss, logs, [[1, 1]], (400,), (2,))[0]
    for dtype in (pg.float16, pg.float32):
        x, labels = pg.tensor(logs, dtype=dtype), pg.tensor([[1, 1]])
        got = F.ctc_loss(x, labels, (400,), (2,), reduction="none")
        assert got.dtype == dtype
        np.testing.assert_allclose(host(got).astype(float), want, rtol=2e-3)


def test_ctc_of_nothing():
    got = F.ctc_loss(pg.zeros((0, 2, 3)), pg.zeros((2, 0), dtype=pg.int64), (0, 0), (0, 0))
    assert got.item() == 0.0


# ---- random activations -------------------------------------------------------------------------
def test_rrelu_draws_slopes_only_in_training():
    x = pg.tensor(np.linspace(-2, 1, 3001), requires_grad=True)
    layer = nn.RReLU(0.2, 0.6)
    (slopes,) = pg.autograd.grad(pg.sum(layer(x)), x)
    below = host(slopes)[host(x.detach()) <= 0]
    assert below.min() >= 0.2
    assert below.max() <= 0.6
    assert below.min() < 0.21
    assert below.max() > 0.59
    assert abs(below.mean() - 0.4) < 0.01
    assert (host(slopes)[host(x.detach()) > 0] == 1).all()
    before = pg.random.get_state()
    assert_close(layer.eval()(x.detach())[:1], np.array([-0.8]))
    assert pg.random.get_state() == before


def test_rrelu_in_place_and_of_integers():
    x = pg.tensor([-2.0, 3.0])
    assert F.rrelu(x, 0.5, 0.5, training=True, inplace=True) is x
    assert host(x).tolist() == [-1.0, 3.0]
    assert host(F.rrelu(pg.tensor([-2, 3]), 0.5, 0.5, training=True)).tolist() == [-1.0, 3.0]


def test_random_activations_are_the_same_on_every_device(device):
    x = RNG.standard_normal((3, 4)).astype(np.float32)
    for function in (
        lambda t: F.rrelu(t, training=True), lambda t: F.gumbel_softmax(t, tau=0.5, axis=0),
    ):  # fmt: skip
        pg.manual_seed(5)
        want = function(pg.tensor(x))
        pg.manual_seed(5)
        assert_close(function(pg.tensor(x, device=device)), want)


def test_gumbel_softmax_chooses_classes_as_often_as_they_are_probable():
    pg.manual_seed(1)
    p = np.array([0.1, 0.2, 0.7])
    drawn = F.gumbel_softmax(pg.tensor(np.log(np.tile(p, (20_000, 1)))), tau=3.0, hard=True)
    rows = host(drawn)
    assert set(np.unique(rows)) == {0.0, 1.0}
    assert (rows.sum(axis=-1) == 1).all()
    np.testing.assert_allclose(rows.mean(axis=0), p, atol=0.012)


def test_gumbel_softmax_of_another_temperature_is_a_power():
    x, made = pg.tensor(RNG.standard_normal((4, 3))), []
    for tau in (1.0, 0.5):
        pg.manual_seed(3)
        made.append(host(F.gumbel_softmax(x, tau=tau)))
    np.testing.assert_allclose(made[1], made[0] ** 2 / (made[0] ** 2).sum(-1, keepdims=True))


def test_hard_gumbel_softmax_has_the_gradient_of_the_soft_one():
    x, w = RNG.standard_normal((4, 3)), pg.tensor(RNG.standard_normal((4, 3)))
    slopes = []
    for hard in (False, True):
        pg.manual_seed(2)
        leaf = pg.tensor(x, requires_grad=True)
        out = F.gumbel_softmax(leaf, tau=0.7, hard=hard)
        slopes.append(host(pg.autograd.grad(pg.sum(out * w), leaf)[0]))
    np.testing.assert_array_equal(*slopes)
    assert slopes[0].any()


def test_softmax_over_channels():
    x = RNG.standard_normal((2, 3, 4, 5))
    want = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(host(nn.Softmax2d()(pg.tensor(x))), want, rtol=1e-13)
    np.testing.assert_allclose(host(nn.Softmax2d()(pg.tensor(x[0]))), want[0], rtol=1e-13)


# ---- errors -------------------------------------------------------------------------------------
X, Y = pg.ones((2, 3)), pg.ones((3, 2))
LABELS, FIT = pg.tensor([[1, 2], [1, 1]]), pg.zeros((4, 2, 3))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: F.hinge_embedding_loss(X, Y), ShapeError, "must be equal"),
        (lambda: F.soft_margin_loss(X, X, "max"), InvalidArgumentError, "'mean'"),
        (lambda: F.margin_ranking_loss(X, X, Y[0]), ShapeError, "add axes"),
        (lambda: F.cosine_embedding_loss(X, X, Y), ShapeError, "features"),
        (lambda: F.cosine_embedding_loss(X, Y, Y[0]), ShapeError, "features"),
        (lambda: F.triplet_margin_loss(X, X, X, margin=0.0), InvalidArgumentError, "greater"),
        (lambda: F.triplet_margin_loss(X, X, X[0]), ShapeError, "add axes"),
        (lambda: F.multi_margin_loss(X, pg.tensor([1, 3])), OutOfRangeError, "0 to 2"),
        (lambda: F.multi_margin_loss(X, pg.tensor([1])), ShapeError, "each lane"),
        (lambda: F.multi_margin_loss(X, X[:, 0]), DtypeError, "int64"),
        (lambda: F.multi_margin_loss(X[None], pg.tensor(0)), ShapeError, "classes"),
        (lambda: F.multi_margin_loss(X, pg.tensor([1, 0]), p=3), InvalidArgumentError, "1 or 2"),
        (lambda: F.multi_margin_loss(X, pg.tensor([1, 0]), weight=X[0, :2]), ShapeError, "each"),
        (lambda: F.multilabel_margin_loss(X, pg.tensor([[0, 1, 2]])), ShapeError, "fill"),
        (lambda: F.multilabel_margin_loss(X[0], pg.tensor([0, -2, 1])), OutOfRangeError, "-1 ends"),
        (lambda: F.multilabel_soft_margin_loss(X[0, 0], X[0, 0]), ShapeError, "last axis"),
        (lambda: F.linear_cross_entropy(X, Y, LABELS[0]), ShapeError, "features"),
        (
            lambda: F.linear_cross_entropy(X, X, LABELS[0], linear_bias=Y[0, :1]), ShapeError,
            r"of shape \(2,\)",
        ),
        (lambda: F.ctc_loss(X[0], LABELS, (4, 4), (2, 2)), ShapeError, "steps"),
        (lambda: F.ctc_loss(FIT, LABELS, (4, 4), (2, 2), blank=3), InvalidArgumentError, "0 to 2"),
        (lambda: F.ctc_loss(FIT, LABELS, (4, 4), (2, 2), blank=1), OutOfRangeError, "the blank"),
        (lambda: F.ctc_loss(FIT, LABELS + 1, (4, 4), (2, 2)), OutOfRangeError, "no label"),
        (lambda: F.ctc_loss(FIT, LABELS, (4, 5), (2, 2)), OutOfRangeError, "0 to 4"),
        (lambda: F.ctc_loss(FIT, LABELS, (4, 4), (2, 3)), OutOfRangeError, "0 to 2"),
        (lambda: F.ctc_loss(FIT, LABELS, (4,), (2, 2)), ShapeError, "each sequence"),
        (lambda: F.ctc_loss(FIT, LABELS[0], (4, 4), (2, 2)), ShapeError, "one after the other"),
        (lambda: F.ctc_loss(FIT, FIT, (4, 4), (2, 2)), DtypeError, "integers"),
        (lambda: F.ctc_loss(FIT, LABELS[None], (4, 4), (2, 2)), ShapeError, "one axis"),
        (lambda: F.ctc_loss(FIT, LABELS, (4.0, 4.5), (2, 2)), InvalidTypeError, "integers"),
        (lambda: F.rrelu(X, 0.5, 0.25), InvalidArgumentError, "lower <= upper"),
        (lambda: F.gumbel_softmax(X, tau=0.0), InvalidArgumentError, "greater"),
        (lambda: F.gumbel_softmax(X, axis=2), OutOfRangeError, "choose"),
        (lambda: nn.Softmax2d()(X), ShapeError, "channels"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words) as found:
        call()
    assert found.value.where
