"""Cases reported by users of such libraries: normalization."""

import numpy as np

import polygrad as pg
from tests.cases.helpers import A, eq, leaf, raises, same


def test_048_batch_norm_statistics():
    """Source: pytorch/pytorch#3122, chainer/chainer#332, paiml/aprender#2166
    Kind: norm
    Wrong: running variance kept biased (or the mean scaled by n/(n-1) as well), batch output normalised with the unbiased
    one, statistics updated in eval mode or never, momentum=None taken as 0.
    Right: output with the biased variance; running = 0.9*old + 0.1*new with the unbiased variance; momentum=None is the
    plain average over batches; one value per channel in training is an error. Float64 by hand.
    """
    x = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0], [7.0, 3.0]])
    t = pg.tensor(x.tolist())
    bn = pg.nn.BatchNorm1d(2)
    y = bn(t)
    m, v = x.mean(0), x.var(0)
    eq(y, (x - m) / np.sqrt(v + 1e-5), rtol=1e-5)
    eq(bn.running_mean, 0.1 * m)
    eq(bn.running_var, 0.9 + 0.1 * v * 4 / 3)
    assert int(bn.num_batches_tracked) == 1
    bn.eval()
    rm, rv = A(bn.running_mean).copy(), A(bn.running_var).copy()
    u = leaf(x.tolist())
    z = bn(u)
    eq(z, (x - rm) / np.sqrt(rv + 1e-5), rtol=1e-5)
    pg.sum(z).backward()
    eq(u.grad, np.ones_like(x) / np.sqrt(rv + 1e-5), rtol=1e-5)
    same(bn.running_mean, rm)
    assert int(bn.num_batches_tracked) == 1
    assert tuple(bn(t[:1]).shape) == (1, 2)  # a batch of one is fine in eval mode
    bn.train()
    raises(ValueError, lambda: bn(t[:1]))
    avg = pg.nn.BatchNorm1d(2, momentum=None)
    avg(t)
    avg(t * 3)
    eq(avg.running_mean, 2 * m)
    eq(avg.running_var, v * 4 / 3 * (1 + 9) / 2)
    none = pg.nn.BatchNorm1d(2, track_running_stats=False)
    none.eval()
    eq(none(t), (x - m) / np.sqrt(v + 1e-5), rtol=1e-5)
    assert not any("running" in k for k in none.state_dict())
    b2 = pg.nn.BatchNorm2d(1, affine=False)
    eq(
        b2(pg.tensor([[[[1.0, 2.0], [3.0, 6.0]]]])),
        [[[[-2 / 3.5**0.5, -1 / 3.5**0.5], [0, 3 / 3.5**0.5]]]],
        rtol=1e-5,
        atol=1e-6,
    )


def test_050_layer_norm_large_mean():
    """Source: pytorch/pytorch#51102, tracel-ai/burn#5607, microsoft/onnxruntime#28463
    Kind: norm
    Wrong: one-pass variance cancels (NaN or un-normalised rows); a constant row divides by zero.
    Right: as case 049 per row; constant row 0 with gradient (g - mean g)/sqrt(eps); var itself 1.25. mpmath.
    """
    want = [-1.3416354199689269, -0.4472118066563090, 0.4472118066563090, 1.3416354199689269]
    x = np.array([0.0, 1.0, 2.0, 3.0])[None] + np.array([0.0, 1e4, 1e6])[:, None]
    t = leaf(x.tolist())
    y = pg.nn.functional.layer_norm(t, (4,))
    eq(y, [want] * 3, rtol=2e-5)
    eq(pg.var(t, axis=1), [1.25] * 3)
    eq(pg.std(t, axis=1, correction=1), [(5 / 3) ** 0.5] * 3)
    w = np.array([1.0, -2.0, 3.0, 0.5])
    c = leaf([[7.0, 7.0, 7.0, 7.0]])
    z = pg.nn.functional.layer_norm(c, (4,))
    same(z, np.zeros((1, 4)))
    pg.sum(z * pg.tensor(w.tolist())).backward()
    eq(c.grad, [(w - w.mean()) / np.sqrt(1e-5)], rtol=1e-5)


def test_051_dropout_edges():
    """Source: pytorch/pytorch#1833, google/flax#2055, elixir-nx/axon#367
    Kind: dropout
    Wrong: p = 1 computes 0 * 1/(1-p) = 0 * inf = NaN (value or gradient); eval mode still scales; the gradient uses
    another mask than the value.
    Right: p=1 gives zeros and zero gradients, p=0 and eval are the identity, kept entries are
    scaled by 1/(1-p), gradient mask == value mask; p outside [0, 1] is refused. Contract.
    """
    F = pg.nn.functional
    x = leaf([1.0, -2.0, 3.0])
    y = F.dropout(x, p=1.0, training=True)
    same(y, [0.0, 0.0, 0.0])
    pg.sum(y).backward()
    same(x.grad, [0.0, 0.0, 0.0])
    for y in (F.dropout(x, p=0.0, training=True), F.dropout(x, p=0.9, training=False)):
        same(y, [1.0, -2.0, 3.0])
    d = pg.nn.Dropout(0.5)
    d.eval()
    same(d(x), [1.0, -2.0, 3.0])
    d.train()
    pg.manual_seed(1)
    u = leaf([1.0] * 400)
    y = d(u)
    pg.sum(y).backward()
    same(u.grad, A(y))
    assert set(A(y).tolist()) == {0.0, 2.0} and 120 < (A(y) == 0).sum() < 280
    assert (A(d(u)) != A(y)).any()
    for p in (-0.1, 1.1):
        raises(ValueError, lambda: pg.nn.Dropout(p))


def test_052_embedding_padding_and_duplicates():
    """Source: pytorch/pytorch#26302, pytorch/pytorch#3506, google/torchax#11, pytorch/pytorch#151967
    Kind: embedding
    Wrong: the padding row receives gradient (or is not zero at the start), repeated tokens count once, a negative
    padding_idx is not resolved, a negative or too large token wraps around or reads foreign memory.
    Right: gradient = number of uses times the gradient, 0 for the padding row; out-of-range tokens raise. By hand.
    """
    e = pg.nn.Embedding(4, 2, padding_idx=-1)
    same(e.weight[3], [0.0, 0.0])
    assert (A(e.weight[:3]) != 0).all()
    i = pg.tensor([[1, 3, 1], [0, 3, 1]])
    y = e(i)
    assert tuple(y.shape) == (2, 3, 2)
    pg.sum(y * pg.tensor([[[1.0], [10.0], [100.0]], [[1000.0], [10000.0], [100000.0]]])).backward()
    same(e.weight.grad, [[1000.0] * 2, [100101.0] * 2, [0, 0], [0, 0]])
    w = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    pg.sum(pg.nn.functional.embedding(pg.tensor([2, 0, 2]), w)).backward()
    same(w.grad, [[1, 1], [0, 0], [2, 2]])
    for bad in (-1, 3):
        raises((IndexError, RuntimeError), lambda: pg.nn.functional.embedding(pg.tensor([bad]), w))


def test_066_norm_layer_gradient_large_mean():
    """Source: pytorch/pytorch#51102, tracel-ai/burn#5607
    Kind: norm
    Wrong: the backward pass expands x*rstd - mean*rstd (or sums g*x before removing the mean): right value, wrong gradient
    for rows with a large mean.
    Right: (g - mean g - h mean(g h))/sqrt(var + eps), the same for every shift of the row; layer, group and batch norm.
    float64.
    """
    h = np.array([-1.3416354199689269, -0.4472118066563090, 0.4472118066563090, 1.3416354199689269])
    x = np.array([0.0, 1.0, 2.0, 3.0])[None] + np.array([0.0, 1e4, 1e6])[:, None]
    w = np.array([1.0, -2.0, 3.0, 0.5])
    ref = (w - w.mean() - h * (w * h).mean()) / np.sqrt(1.25 + 1e-5)
    t = leaf(x.tolist())
    pg.sum(pg.nn.functional.layer_norm(t, (4,)) * pg.tensor(w.tolist())).backward()
    eq(t.grad, [ref] * 3, rtol=2e-4, atol=2e-5)
    t = leaf(x.T.tolist())
    pg.sum(pg.nn.BatchNorm1d(3)(t) * pg.tensor(w[:, None].tolist())).backward()
    eq(t.grad, np.repeat(ref[:, None], 3, axis=1), rtol=2e-4, atol=2e-5)
