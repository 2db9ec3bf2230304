"""Cases reported by users of such libraries: shapes."""

import numpy as np

import polygrad as pg
from tests.cases.helpers import A, eq, grad, leaf, raises, same


def _fill(*shape):
    k = int(np.prod(shape))
    return ((np.arange(k) * 7919 % 101) / 50.0 - 1).reshape(shape)


def test_018_reduce_over_empty_axis_tuple():
    """Source: pytorch/pytorch#29137, pytorch/pytorch#105798
    Kind: shape
    Wrong: axis=() taken for "all axes"; code that computes the axes to reduce (unbroadcasting!) then collapses everything.
    Right: no axis is reduced: sum/mean/prod/max are the identity, var is 0. NumPy and the array API ("multiple axes").
    """
    x = pg.tensor([[1.0, 2.0], [3.0, 4.0]])
    for f in (pg.sum, pg.mean, pg.max, pg.min):
        y = f(x, axis=())
        assert tuple(y.shape) == (2, 2), (f, tuple(y.shape))
        same(y, A(x))
    same(pg.var(x, axis=()), np.zeros((2, 2)))
    eq(grad(lambda t: pg.sum(t, axis=()) * t, [[1.0, 2.0]]), [[2.0, 4.0]])


def test_019_trace_of_non_square():
    """Source: pytorch/pytorch#171704
    Kind: shape
    Wrong: the diagonal's flat step (columns + 1) runs past the last column of a tall matrix, so backward writes a one
    off the diagonal.
    Right: ones on the first min(m, n) diagonal places, for tall, wide and offset diagonals. Closed form.
    """
    for m, n in ((4, 2), (2, 4), (3, 3), (5, 1)):
        g = grad(lambda x: pg.linalg.trace(x), np.zeros((m, n)).tolist())
        same(g, np.eye(m, n))
    g = grad(
        lambda x: pg.linalg.diagonal(x, offset=-2) * pg.tensor([2.0, 3.0]),
        np.zeros((4, 2)).tolist(),
    )
    same(g, [[0, 0], [0, 0], [2, 0], [0, 3]])


def test_067_unbroadcast():
    """Source: pytorch/pytorch#1787, deeplearning4j/nd4j#2424, raskr/rust-autograd#38, HIPS/autograd#376
    Kind: shape
    Wrong: the gradient of a broadcast operand keeps the result's shape, loses a kept axis of size 1, or turns a 0-d tensor
    into shape (1,); size-1 axes that were not broadcast get summed.
    Right: exactly the operand's shape, summed over the broadcast axes. By hand.
    """
    cases = [
        ((), (2, 3)),
        ((1,), (2, 3)),
        ((3,), (2, 3)),
        ((2, 1), (1, 3)),
        ((1, 1), (2, 3)),
        ((4, 1, 3), (2, 1)),
        ((1, 3), (1, 3)),
        ((), ()),
        ((1,), ()),
        ((0,), ()),
        ((2, 0), (1,)),
        ((1, 0), (2, 1)),
    ]
    for sa, sb in cases:
        for op, da, db in (
            (lambda x, y: x * y, lambda a, b: b, lambda a, b: a),
            (lambda x, y: x - y, lambda a, b: 1 + 0 * a, lambda a, b: -1 - 0 * a),
            (lambda x, y: x / y, lambda a, b: 1 / b, lambda a, b: -a / b / b),
            (
                lambda x, y: pg.where(x > y, x, y),
                lambda a, b: 1.0 * (a > b),
                lambda a, b: 1.0 * (a <= b),
            ),
        ):
            a, b = _fill(*sa) + 3.0, _fill(*sb) * 1.5 + 4.0
            so = np.broadcast_shapes(sa, sb)
            ta, tb = leaf(a.tolist(), pg.float64), leaf(b.tolist(), pg.float64)
            if 0 in sa:
                ta = pg.tensor(np.zeros(sa), requires_grad=True)
            if 0 in sb:
                tb = pg.tensor(np.zeros(sb), requires_grad=True)
            y = op(ta, tb)
            assert tuple(y.shape) == so
            pg.sum(y).backward()
            A_, B_ = np.broadcast_arrays(a, b)
            for t, d, s in ((ta, da(A_, B_), sa), (tb, db(A_, B_), sb)):
                assert tuple(t.grad.shape) == s, (sa, sb, tuple(t.grad.shape))
                d = np.broadcast_to(d, so)
                lead = tuple(range(len(so) - len(s)))
                d = d.sum(axis=lead)
                d = (
                    d.sum(
                        axis=tuple(i for i in range(len(s)) if s[i] == 1 and d.shape[i] != 1),
                        keepdims=True,
                    )
                    if d.shape != s
                    else d
                )
                eq(t.grad, d.reshape(s), rtol=1e-12, atol=1e-12)
    x = leaf(2.0)
    y = 3 - x * pg.ones((1,))
    assert tuple(y.shape) == (1,)
    y.backward()
    assert tuple(x.grad.shape) == () and A(x.grad) == -1


def test_068_matmul_shapes():
    """Source: harvard-edge/cs249r_book#1781, flashlight/flashlight#760, joey00072/Tinytorch#3
    Kind: shape
    Wrong: transposing a vector is a no-op, so 1-d operands get the wrong product; a broadcast batch axis is not summed;
    an inner size of 0 or 1 is special-cased.
    Right: gradient of sum(G * (a @ b)) from the einsum definition, in the operand's shape, for every rank pair. float64.
    """
    for sa, sb in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((3,), (4, 3, 2)),
        ((4, 2, 3), (3,)),
        ((2, 3), (4, 3, 2)),
        ((4, 2, 3), (3, 2)),
        ((1, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((2, 1), (1, 2)),
        ((1,), (1,)),
        ((6, 2, 1), (6, 1, 2)),
    ):
        a, b = _fill(*sa), _fill(*sb)[::-1].copy() + 0.3
        ta, tb = leaf(a.tolist(), pg.float64), leaf(b.tolist(), pg.float64)
        y = ta @ tb
        r = a @ b
        eq(y, r, rtol=1e-12, atol=1e-12)
        assert tuple(y.shape) == r.shape
        g = np.asarray(np.cos(np.arange(r.size)).reshape(r.shape))
        pg.sum(y * pg.tensor(g.tolist(), dtype=pg.float64)).backward()
        for t, v, first in ((ta, a, True), (tb, b, False)):
            ref = np.zeros(v.shape)
            for i in np.ndindex(*v.shape):
                e = np.zeros(v.shape)
                e[i] = 1
                ref[i] = (g * ((e @ b) if first else (a @ e))).sum()
            assert tuple(t.grad.shape) == v.shape
            eq(t.grad, ref, rtol=1e-11, atol=1e-12, msg=f"{sa} @ {sb}")
    raises((RuntimeError, ValueError), lambda: pg.ones((2, 3)) @ pg.ones((2, 3)))
    raises((RuntimeError, ValueError, TypeError), lambda: pg.tensor(2.0) @ pg.ones((2,)))


def test_088_variance_without_degrees_of_freedom():
    """Source: IntelPython/dpnp#1635
    Kind: shape
    Wrong: N - correction clipped at 0: inf for a spread-out sample, as in NumPy and torch.
    Right: array API: NaN when N - correction <= 0, for var and std; the gradient does not matter.
    """
    x = pg.tensor([1.0, 2.0, 3.0])
    for c in (3, 5):
        assert np.isnan(A(pg.var(x, correction=c))), A(pg.var(x, correction=c))
        assert np.isnan(A(pg.std(x, correction=c)))
    eq(pg.var(x, correction=2), 2.0)
    eq(pg.var(x, correction=0.5), 0.8)
