"""Cases reported by users of such libraries: nan gradients."""

import numpy as np
import pytest

import polygrad as pg
from tests.cases.helpers import INF, A, eq, grad, grads, leaf, same


def test_001_vector_norm_zero_row():
    """Source: pytorch/pytorch#2421, HIPS/autograd#151
    Kind: nan-gradient
    Wrong: the 2-norm backward divides by the norm, so a zero row poisons its own gradient (and every weight behind it).
    Right: the zero subgradient for a zero row, x/|x| elsewhere; also for ord 1, 3 and inf. Closed form.
    """
    for o, row in (
        (2, [0.6, 0.8]),
        (1, [1.0, 1.0]),
        (3, [(3 / 91 ** (1 / 3)) ** 2, (4 / 91 ** (1 / 3)) ** 2]),
        (INF, [0.0, 1.0]),
    ):
        g = grad(lambda x: pg.linalg.vector_norm(x, axis=-1, ord=o), [[0.0, 0.0], [3.0, 4.0]])
        eq(g, [[0.0, 0.0], row], rtol=2e-6, msg=f"ord={o}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's own, of the forward
def test_003_naive_where_inactive_branch():
    """Source: pytorch/pytorch#187297, pytorch/pytorch#52248, tinygrad/tinygrad#12409 (seen only as a mention in #15806)
    Kind: nan-gradient
    Level: stretch
    Wrong: where() sends an exact zero into the branch not taken; sqrt/log/div backward turns 0 * inf into NaN.
    Right: the function is x at negative x, so the gradient is 1; 0 for the constant. Closed form. Needs backward rules
    that keep an exactly-zero incoming gradient zero.
    """
    g = grad(lambda x: pg.where(x > 0, pg.sqrt(x), x), [-1.0, -4.0, 0.0])
    eq(g, [1.0, 1.0, 1.0])
    g = grad(lambda x: pg.where(x < 2, x, 1 / (x - x)), [1.0, 0.0])
    eq(g, [1.0, 1.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's own, of the forward
def test_004_pow_zero_edges():
    """Source: tinygrad/tinygrad#9075, PaddlePaddle/Paddle#45054, stan-dev/math#3031
    Kind: nan-gradient
    Wrong: y*x**(y-1) gives 0*inf = NaN at x = 0, y = 0 and x**y*log(x) gives 0*(-inf) = NaN at x = 0.
    Right: x**0 is constant (gradient 0), x**1 has gradient 1 at 0, x**2 has 0; d/dy 0**y = 0 for y > 0 (and by
    continuity at y = 0). Negative base, integer-valued exponent: y*x**(y-1). Closed form.
    """
    for y, want in (
        (0, [0.0, 0.0]),
        (0.0, [0.0, 0.0]),
        (1, [1.0, 1.0]),
        (2, [0.0, -6.0]),
        (3.0, [0.0, 27.0]),
    ):
        eq(grad(lambda x: x**y, [0.0, -3.0]), want, msg=f"exponent {y}")
    gx, gy = grads(lambda x, y: x**y, [0.0, 0.0, 0.0, -2.0], [0.0, 1.0, 2.0, 3.0])
    eq(gx, [0.0, 1.0, 0.0, 12.0])
    eq(gy[:3], [0.0, 0.0, 0.0])
    eq(grad(lambda y: 2**y, [0.0, 3.0]), [0.6931471805599453, 5.545177444479562])


def test_006_logsumexp_all_minus_inf():
    """Source: pytorch/pytorch#31829, jax-ml/jax#6811, tinygrad/tinygrad#17822
    Kind: nan-gradient
    Wrong: a fully masked row computes -inf - (-inf): NaN forward in some libraries, NaN gradient in nearly all.
    Right: forward -inf (and +inf for a row holding +inf); the gradient of the masked row must be free of NaN, each
    entry in [0, 1], their sum at most 1 (zero and uniform are both accepted); other rows are softmax. mpmath.
    """
    x = leaf([[-INF, -INF], [1.0, 2.0], [-INF, 0.5]])
    y = pg.logsumexp(x, axis=1)
    eq(y, [-INF, 2.3132616875182228, 0.5])
    pg.sum(y[1:]).backward()
    eq(x.grad[1:], [[0.2689414213699951, 0.7310585786300049], [0.0, 1.0]])
    g = grad(lambda t: pg.logsumexp(t, axis=1), [[-INF, -INF], [1.0, 2.0]])
    assert not np.isnan(g).any(), g
    assert (g >= 0).all() and (g <= 1).all() and g[0].sum() <= 1 + 1e-6
    same(pg.logsumexp(pg.tensor([INF, 1.0])), INF)


def test_007_prod_with_zeros():
    """Source: tinygrad/tinygrad#17404, tracel-ai/burn#5533, apache/mxnet#17864
    Kind: nan-gradient
    Wrong: prod backward as result / x gives 0/0 = NaN at a zero factor (and 0 instead of the product of the others).
    Right: the product of the other factors; second derivative the product of the remaining ones. Closed form.
    """
    eq(grad(lambda x: pg.prod(x), [0.0, 2.0, 3.0]), [6.0, 0.0, 0.0])
    g = grad(lambda x: pg.prod(x, axis=1), [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]])
    eq(g, [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0], [6.0, 3.0, 2.0]])
    x = leaf([0.0, 2.0, 3.0])
    (g,) = pg.autograd.grad(pg.prod(x), [x], create_graph=True)
    (h,) = pg.autograd.grad(g[0], [x])
    eq(h, [0.0, 3.0, 2.0])


def test_009_ties_in_max_maximum_clip():
    """Source: Theano/Theano#6470, microsoft/onnxruntime#7217, HIPS/autograd#141 (seen only as a mention in #151)
    Kind: nan-gradient
    Wrong: at a tie both branches got the whole gradient (a doubled step) or none did.
    Right: a subgradient: maximum(x, x) has derivative 1, the weights over tied maxima sum to 1, each in [0, 1], zero off
    the ties; clip and relu stay within [0, 1] at their kinks, and clip(x, lo, lo) has no gradient off the point.
    """
    eq(grad(lambda x: pg.maximum(x, x), [1.0, -2.0, 0.0]), [1.0, 1.0, 1.0])
    eq(grad(lambda x: pg.minimum(x, x) * 3, [1.0, 0.0]), [3.0, 3.0])
    gx, gy = grads(pg.maximum, [1.0, 2.0, 5.0], [1.0, 3.0, 4.0])
    eq(gx + gy, [1.0, 1.0, 1.0])
    eq(gx[1:], [0.0, 1.0])
    for f in (pg.max, lambda x, **k: -pg.min(-x, **k)):
        g = grad(lambda x: f(x, axis=1), [[3.0, 3.0, 1.0], [0.0, 7.0, 7.0]])
        assert (g >= 0).all()
        eq(g.sum(axis=1), [1.0, 1.0])
        same(g[[0, 1], [2, 0]], [0.0, 0.0])
    g = grad(lambda x: pg.clip(x, 0.0, 1.0), [0.0, 1.0, 0.5, -1.0, 2.0])
    assert ((g[:2] >= 0) & (g[:2] <= 1)).all()
    eq(g[2:], [1.0, 0.0, 0.0])
    g = grad(pg.nn.functional.relu, [0.0, -1.0, 1.0])
    assert 0 <= g[0] <= 1
    eq(g[1:], [0.0, 1.0])


def test_010_abs_sign_at_zero():
    """Source: KhawajaAbaid/micrograd_c#4, jax-ml/jax#10515
    Kind: nan-gradient
    Wrong: abs backward as x/|x| is NaN at 0, or 1 from a >= test; -0.0 must not give -1.
    Right: 0 at both zeros (the symmetric subgradient); sign has gradient 0 (not None). Closed form.
    """
    eq(grad(pg.abs, [0.0, -0.0, 2.0, -2.0]), [0.0, 0.0, 1.0, -1.0])
    eq(grad(lambda x: pg.sign(x) + x, [0.0, 3.0]), [1.0, 1.0])
    (g,) = pg.autograd.grad(pg.sum(pg.sign(leaf([1.0]) * (t := leaf([2.0])))), [t])
    same(g, [0.0])


def test_083_normalize_and_cosine_at_zero():
    """Source: pytorch/pytorch#184575, pytorch/pytorch#3264, google-deepmind/optax#946
    Kind: nan-gradient
    Wrong: 0/0 for a zero vector in the value or in the gradient; p=1 normalisation NaN where an entry is 0.
    Right: value 0, finite gradient for zero vectors (size depends on eps), exact elsewhere: cos of (3,4) and (4,3) is .96
    with gradient (.0448, -.0336). Closed form.
    """
    F = pg.nn.functional
    a, b = leaf([[0.0, 0.0], [3.0, 4.0]]), leaf([[1.0, 2.0], [4.0, 3.0]])
    c = F.cosine_similarity(a, b, axis=1)
    eq(c, [0.0, 0.96])
    pg.sum(c).backward()
    assert np.isfinite(A(a.grad)).all() and np.isfinite(A(b.grad)).all()
    eq(a.grad[1], [0.0448, -0.0336], rtol=1e-5)
    eq(b.grad, [[0, 0], [-0.0336, 0.0448]], rtol=1e-5, atol=1e-9)
    n = leaf([[0.0, 0.0], [3.0, 4.0]])
    y = F.normalize(n, axis=1)
    eq(y, [[0, 0], [0.6, 0.8]])
    pg.sum(y * pg.tensor([1.0, 0.0])).backward()
    assert np.isfinite(A(n.grad)).all()
    eq(n.grad[1], [16 / 125, -12 / 125], rtol=1e-5)
    g = grad(lambda t: F.normalize(t, p=1, axis=0) * pg.tensor([1.0, 1.0, 1.0]), [0.0, 0.0, 2.0])
    assert np.isfinite(g).all()
    eq(g[2], 0.0, atol=1e-6)
