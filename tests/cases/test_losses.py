"""Cases reported by users of such libraries: losses."""

import numpy as np

import polygrad as pg
from tests.cases.helpers import INF, A, eq, grad, leaf, same


def test_054_cross_entropy_ignored_row_not_finite():
    """Source: pytorch/pytorch#11551
    Kind: loss
    Wrong: an ignored row holding -inf (fully masked) or inf sends 0 * NaN into the logits' gradient.
    Right: an ignored row has no influence: gradient exactly 0. Definition.
    """
    x = leaf([[1.0, 2.0, 3.0], [-INF, -INF, -INF], [INF, 1.0, 2.0]])
    l = pg.nn.functional.cross_entropy(x, pg.tensor([2, -100, -100]))
    eq(l, 0.4076059644443804)
    l.backward()
    eq(
        x.grad,
        [[0.09003057317038046, 0.24472847105479764, -0.3347590442251781], [0, 0, 0], [0, 0, 0]],
    )


def test_055_cross_entropy_weights_smoothing_overflow():
    """Source: pytorch/pytorch#25571, pytorch/pytorch#63122, fastai/fastai#1814
    Kind: loss
    Wrong: class weights with mean divided by N instead of by the sum of the weights used; smoothing spread over K-1
    classes, or applied without the weights; log(softmax) overflows.
    Right: [(1-e) sum w_y nll + e/K sum_i sum_c w_c nll_ic] / sum w_y (unweighted: /N), float64; class probabilities equal to
    one-hot agree with indices; logits of 1e4 and -1e38 stay finite.
    """
    F = pg.nn.functional
    x = np.array([[0.2, -0.3, 1.5], [0.5, 0.2, 0.3], [2.0, 0.0, -1.0]])
    y, w, e = np.array([2, 1, 2]), np.array([2.0, 4.0, 6.0]), 0.1
    lp = x - np.log(np.exp(x).sum(1, keepdims=True))
    nll = -lp[np.arange(3), y]
    t, ty, tw = (
        pg.tensor(x.tolist(), dtype=pg.float64),
        pg.tensor(y.tolist()),
        pg.tensor(w.tolist(), dtype=pg.float64),
    )
    eq(F.cross_entropy(t, ty, weight=tw), (w[y] * nll).sum() / w[y].sum(), rtol=1e-12)
    eq(F.cross_entropy(t, ty, weight=tw, reduction="sum"), (w[y] * nll).sum(), rtol=1e-12)
    eq(
        F.cross_entropy(t, ty, label_smoothing=e),
        ((1 - e) * nll + e / 3 * -lp.sum(1)).mean(),
        rtol=1e-12,
    )
    eq(
        F.cross_entropy(t, ty, weight=tw, label_smoothing=e),
        ((1 - e) * (w[y] * nll).sum() + e / 3 * -(w * lp).sum()) / w[y].sum(),
        rtol=1e-12,
    )
    ig = pg.tensor([2, -100, 2])
    k = [0, 2]
    eq(
        F.cross_entropy(t, ig, weight=tw, label_smoothing=e),
        ((1 - e) * (w[y] * nll)[k].sum() + e / 3 * -(w * lp)[k].sum()) / w[y[k]].sum(),
        rtol=1e-12,
    )
    one = pg.tensor(np.eye(3)[y].tolist(), dtype=pg.float64)
    for sm in (0.0, e):
        eq(
            F.cross_entropy(t, one, label_smoothing=sm),
            A(F.cross_entropy(t, ty, label_smoothing=sm)),
            rtol=1e-12,
        )
    z = leaf([[1e4, 0.0], [-1e38, 1e38], [0.0, 1e4]])
    l = F.cross_entropy(z, pg.tensor([0, 1, 0]), reduction="none")
    eq(l, [0.0, 0.0, 1e4])
    pg.sum(l).backward()
    same(z.grad, [[0, 0], [0, 0], [-1, 1]])
    same(F.log_softmax(pg.tensor([1e4, 0.0, -INF]), axis=0), [0.0, -1e4, -INF])
    same(grad(lambda v: F.softmax(v, axis=0)[0], [1e4, 0.0, -INF]), [0.0, 0.0, 0.0])


def test_057_zero_probability_meets_minus_inf():
    """Source: google-deepmind/optax#1786, pytorch/pytorch#49724
    Kind: loss
    Wrong: a masked class (log-probability or logit -inf) with target probability 0 contributes 0 * -inf = NaN.
    Right: it contributes 0: kl = .4 ln(.4/.6) + .6 ln(.6/.4) style finite sum, gradient -t; same for log_target = -inf and
    for cross_entropy with probabilities [.5, 0, .5] over logits [1, -inf, 2]. Convention 0 log 0 = 0, float64.
    """
    F = pg.nn.functional
    x = leaf([[np.log(0.6), -INF, np.log(0.4)]])
    want = 0.4 * np.log(0.4 / 0.6) + 0.6 * np.log(0.6 / 0.4)
    l = F.kl_div(x, pg.tensor([[0.4, 0.0, 0.6]]), reduction="sum")
    eq(l, want)
    l.backward()
    eq(x.grad, [[-0.4, 0.0, -0.6]])
    l = F.kl_div(
        pg.tensor([[np.log(0.6), -2.0, np.log(0.4)]], dtype=pg.float32),
        pg.tensor([[np.log(0.4), -INF, np.log(0.6)]], dtype=pg.float32),
        reduction="sum",
        log_target=True,
    )
    eq(l, want)
    z = leaf([[1.0, -INF, 2.0]])
    l = F.cross_entropy(z, pg.tensor([[0.5, 0.0, 0.5]]))
    eq(l, 0.5 * (np.log1p(np.e) + np.log1p(1 / np.e)))
    l.backward()
    eq(z.grad, [[1 / (1 + np.e) - 0.5, 0.0, np.e / (1 + np.e) - 0.5]], rtol=1e-5)
