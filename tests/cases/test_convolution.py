"""Cases reported by users of such libraries: convolution."""

import numpy as np

import polygrad as pg
from tests.cases.helpers import INF, NAN, A, eq, grad, leaf, raises, same


def _conv2d_ref(x, w, b, stride, padding, dilation, groups):
    n, ci, hi, wi = x.shape
    co, cg, kh, kw = w.shape
    xp = np.zeros((n, ci, hi + 2 * padding[0], wi + 2 * padding[1]))
    xp[:, :, padding[0] : padding[0] + hi, padding[1] : padding[1] + wi] = x
    ho = (hi + 2 * padding[0] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    wo = (wi + 2 * padding[1] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((n, co, ho, wo))
    for o in range(co):
        gi = o // (co // groups)
        for c in range(cg):
            for i in range(kh):
                for j in range(kw):
                    r, s = i * dilation[0], j * dilation[1]
                    y[:, o] += (
                        w[o, c, i, j]
                        * xp[
                            :,
                            gi * cg + c,
                            r : r + stride[0] * (ho - 1) + 1 : stride[0],
                            s : s + stride[1] * (wo - 1) + 1 : stride[1],
                        ]
                    )
        y[:, o] += b[o]
    return y


def _fill(*shape):
    k = int(np.prod(shape))
    return ((np.arange(k) * 7919 % 101) / 50.0 - 1).reshape(shape)


CONVS = [
    ((2, 2, 5, 6), (3, 2, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((1, 4, 7, 6), (6, 2, 3, 2), (2, 3), (1, 2), (1, 1), 2),
    ((1, 2, 8, 8), (2, 1, 3, 3), (3, 2), (1, 0), (2, 3), 2),
    ((2, 3, 4, 4), (3, 1, 1, 1), (2, 2), (0, 0), (1, 1), 3),
    ((1, 1, 2, 3), (2, 1, 4, 5), (1, 1), (2, 2), (1, 1), 1),
]


def test_043_conv_transpose_is_the_adjoint():
    """Source: pytorch/pytorch#14272, mila-iqia/myia#338
    Kind: conv
    Wrong: output_padding rows filled with zeros instead of computed, or the size formula without dilation.
    Right: conv_transpose2d is the adjoint of conv2d with the same arguments: <conv(x), y> = <x, conv_t(y)>, with
    output_padding chosen so that the sizes agree (also when the stride leaves a remainder). Loops in float64.
    """
    F = pg.nn.functional
    for xs, ws, st, pd, dl, gr in CONVS:
        x, w = _fill(*xs), _fill(*ws) + 0.05
        cx = _conv2d_ref(x, w, np.zeros(ws[0]), st, pd, dl, gr)
        y = np.sin(1 + np.arange(cx.size)).reshape(cx.shape)
        op = tuple((xs[2 + i] + 2 * pd[i] - dl[i] * (ws[2 + i] - 1) - 1) % st[i] for i in (0, 1))
        t = F.conv_transpose2d(
            pg.tensor(y.tolist(), dtype=pg.float64),
            pg.tensor(w.tolist(), dtype=pg.float64),
            stride=st,
            padding=pd,
            output_padding=op,
            dilation=dl,
            groups=gr,
        )
        assert tuple(t.shape) == xs, (tuple(t.shape), xs)
        adj = np.zeros(xs)
        for i in np.ndindex(*xs):
            e = np.zeros(xs)
            e[i] = 1
            adj[i] = (_conv2d_ref(e, w, np.zeros(ws[0]), st, pd, dl, gr) * y).sum()
        eq(t, adj, rtol=1e-11, atol=1e-11)
    m = pg.nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1, output_padding=1, dilation=2)
    assert tuple(m(pg.zeros((1, 1, 4, 4))).shape) == (1, 1, 10, 10)  # (4-1)*2 - 2 + 2*2 + 1 + 1


def test_044_same_padding_even_kernels():
    """Source: tracel-ai/burn#2676, pytorch/pytorch#45667
    Kind: conv
    Wrong: padding='same' with an even kernel shrinks or grows the output by one, or puts the odd pad on the left.
    Right: total pad dilation*(k-1), the extra one at the end; a stride other than 1 is refused. By hand.
    """
    F = pg.nn.functional
    x = pg.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    same(F.conv1d(x, pg.tensor([[[1.0, 10.0]]]), padding="same"), [[[21.0, 32.0, 43.0, 4.0]]])
    same(
        F.conv1d(x, pg.tensor([[[1.0, 10.0, 100.0, 1000.0]]]), padding="same"),
        [[[3210.0, 4321.0, 432.0, 43.0]]],
    )
    same(
        F.conv1d(x, pg.tensor([[[1.0, 10.0]]]), padding="same", dilation=3),
        [[[30.0 + 0, 41.0, 2.0, 3.0]]],
    )
    same(
        F.conv1d(x, pg.tensor([[[1.0, 10.0, 100.0]]]), padding="same"),
        [[[210.0, 321.0, 432.0, 43.0]]],
    )
    raises(
        (RuntimeError, ValueError),
        lambda: F.conv1d(x, pg.tensor([[[1.0, 1.0]]]), padding="same", stride=2),
    )
    for k in (1, 2, 3, 4, 5):
        for d in (1, 2, 3):
            assert tuple(
                F.conv2d(
                    pg.ones((1, 1, 6, 7)), pg.ones((1, 1, k, 2)), padding="same", dilation=d
                ).shape
            ) == (1, 1, 6, 7)


def test_045_max_pool_edges():
    """Source: pytorch/pytorch#33382, pytorch/pytorch#41294, pytorch/pytorch#45357, pytorch/xla#2583
    Kind: pool
    Wrong: zero padding wins over negative inputs; with ceil_mode a last window that lies in the right padding is kept and
    yields -inf; the gradient of a tie goes to every maximum.
    Right: padding is -inf (never chosen); a window must start inside the input or the left padding; one winner per
    window; NaN propagates. By hand; sizes ceil((n + 2p - k)/s) + 1, minus 1 if (o-1)*s >= n + p.
    """
    F = pg.nn.functional
    x = leaf([[[[-5.0, -6.0], [-7.0, -8.0]]]])
    y = F.max_pool2d(x, 2, stride=1, padding=1)
    same(y, [[[[-5, -5, -6], [-5, -5, -6], [-7, -7, -8]]]])
    pg.sum(y).backward()
    same(x.grad, [[[[4.0, 2.0], [2.0, 1.0]]]])
    for n, k, s, p, want in (
        (6, 1, 2, 0, 3),
        (8, 3, 4, 0, 2),
        (5, 3, 3, 1, 2),
        (7, 2, 2, 1, 4),
        (5, 2, 2, 0, 3),
    ):
        v = F.max_pool2d(pg.zeros((1, 1, n, n)) - 3, k, stride=s, padding=p, ceil_mode=True)
        assert tuple(v.shape) == (1, 1, want, want), (n, k, s, p, tuple(v.shape))
        same(v, np.full((1, 1, want, want), -3.0))
    g = grad(lambda t: F.max_pool2d(t, 2), [[[[1.0, 1.0], [1.0, 1.0]]]])
    assert g.sum() == 1 and sorted(g.ravel().tolist()) == [0, 0, 0, 1]
    g = grad(
        lambda t: F.max_pool2d(t, 2, stride=1),
        [[[[0.0, 1.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 0.0]]]],
    )
    same(g, [[[[0, 0, 0], [0, 4, 0], [0, 0, 0]]]])
    assert np.isnan(A(F.max_pool2d(pg.tensor([[[[1.0, NAN], [3.0, 2.0]]]]), 2)))
    same(F.max_pool2d(pg.tensor([[[[-INF, -INF], [-INF, -INF]]]]), 2), [[[[-INF]]]])
    same(
        F.max_pool2d(
            pg.tensor([[[[1.0, 9.0, 2.0, 8.0, 3.0]]]]), (1, 2), stride=(1, 1), dilation=(1, 3)
        ),
        [[[[8.0, 9.0]]]],
    )
