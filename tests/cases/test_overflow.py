"""Cases reported by users of such libraries: overflow."""

import numpy as np

import polygrad as pg
from tests.cases.helpers import INF, A, eq, grad, leaf


def test_011_bce_with_logits_extremes_and_zero():
    """Source: pytorch/pytorch#1792, pytorch/pytorch#13773, huggingface/candle#2561
    Kind: overflow
    Wrong: log(1 - sigmoid(x)) is log 0; a rewrite with max/abs fixed that but got the gradient at logit 0 wrong (the
    subgradient of |x| at 0); pos_weight then took an unguarded path.
    Right: loss softplus(x) - x t, gradient sigmoid(x) - t, also at 0 and with pos_weight w: (1-t) s - w t (1-s). mpmath.
    """
    F = pg.nn.functional
    x, t = [0.0, 0.0, 200.0, 200.0, -200.0, -200.0, -120.0], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    s = [0.5, 0.5, 1.0, 1.0, 0.0, 0.0, 0.0]
    g = grad(lambda v: F.binary_cross_entropy_with_logits(v, pg.tensor(t), reduction="none"), x)
    eq(g, np.array(s) - np.array(t), atol=1e-30)
    y = F.binary_cross_entropy_with_logits(pg.tensor(x), pg.tensor(t), reduction="none")
    eq(y, [0.6931471805599453, 0.6931471805599453, 200.0, 0.0, 0.0, 200.0, 120.0], atol=1e-30)
    w = pg.tensor(3.0)
    f = lambda v: F.binary_cross_entropy_with_logits(
        v, pg.tensor(t), reduction="none", pos_weight=w
    )
    eq(
        f(pg.tensor(x)),
        [0.6931471805599453, 3 * 0.6931471805599453, 200.0, 0.0, 0.0, 600.0, 360.0],
        atol=1e-30,
    )
    eq(grad(f, x), [0.5, -1.5, 1.0, 0.0, 0.0, -3.0, -3.0], atol=1e-30)


def test_012_bce_with_logits_float64_tail():
    """Source: pytorch/pytorch#195529, pytorch/pytorch#195677
    Kind: overflow
    Wrong: loss(40, 1) and loss(-40, 0) are the same number, but one branch returned 0 (value or gradient) where the
    other kept the tail 4.2e-18.
    Right: log1p(exp(-40)) = 4.248354255291589e-18 for both, gradients -+ the same. mpmath.
    """
    F = pg.nn.functional
    x = leaf([40.0, -40.0], pg.float64)
    y = F.binary_cross_entropy_with_logits(
        x, pg.tensor([1.0, 0.0], dtype=pg.float64), reduction="none"
    )
    eq(y, [4.248354255291589e-18] * 2, rtol=1e-12)
    pg.sum(y).backward()
    eq(x.grad, [-4.248354255291589e-18, 4.248354255291589e-18], rtol=1e-12)


def test_014_softplus_float64_threshold():
    """Source: apache/tvm#20184
    Kind: overflow
    Wrong: switching to the identity above 20 is invisible in float32 but drops 1e-9 in float64.
    Right: softplus(20.5) = 20.50000000125015286, gradient 0.99999999874984713. mpmath.
    """
    x = leaf([20.5], pg.float64)
    y = pg.nn.functional.softplus(x)
    eq(y, [20.500000001250153], rtol=1e-15)
    y[0].backward()
    eq(1 - A(x.grad), [1.2501528648238603e-09], rtol=1e-6)


def test_015_gelu_silu_at_infinity():
    """Source: pytorch/pytorch#185770, pytorch/executorch#2046, PaddlePaddle/Paddle#79461
    Kind: overflow
    Wrong: x * Phi(x) is -inf * 0 = NaN at -inf; the tanh form overflows x**3, and its derivative is 0 * inf at 1e20;
    the largest float32 overflows when 2x or x*sqrt(2) is formed first.
    Right: limits: 0 at -inf and inf at +inf, gradient 0 and 1; identity with gradient 1 at 1e20 and at float32 max.
    """
    F = pg.nn.functional
    big = 3.4028234663852886e38
    x, y, g = (
        [-INF, INF, 1e20, -1e20, big, -big],
        [0.0, INF, 1e20, 0.0, big, 0.0],
        [0.0, 1.0, 1.0, 0.0, 1.0, 0.0],
    )
    for name, f in (
        ("gelu", F.gelu),
        ("gelu tanh", lambda v: F.gelu(v, approximate="tanh")),
        ("silu", F.silu),
    ):
        eq(f(pg.tensor(x)), y, msg=name, atol=1e-30)
        eq(grad(f, x), g, msg=name + " gradient", atol=1e-30)


def test_017_vector_norm_scaling():
    """Source: numpy/numpy#8775, llvm/llvm-project#92782
    Kind: overflow
    Level: stretch
    Wrong: sqrt(sum(x*x)) is inf at 3e30 and 0 at 3e-30 in float32; the gradient then is silently 0.
    Right: |(3,4)e30| = 5e30, |(3,4)e-30| = 5e-30, gradient (.6, .8) for both. Closed form.
    """
    x = leaf([[3e30, 4e30], [3e-30, 4e-30], [3.0, 4.0]])
    y = pg.linalg.vector_norm(x, axis=1)
    pg.sum(y[2:]).backward()
    eq(x.grad[2], [0.6, 0.8])
    eq(y, [5e30, 5e-30, 5.0])
    eq(grad(lambda t: pg.linalg.vector_norm(t, axis=1), A(x).tolist()), [[0.6, 0.8]] * 3)
