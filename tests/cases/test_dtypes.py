"""Cases reported by users of such libraries: dtypes."""

import numpy as np

import polygrad as pg
from tests.cases.helpers import A, leaf, same


def test_035_python_scalars_do_not_upcast():
    """Source: numpy/numpy#21103, pytorch/pytorch#9468
    Kind: dtype
    Wrong: a float64 constant (a NumPy scalar, a mean, a learning rate, a Python float turned into a 0-d array) turns a
    float32 network into float64, or its gradient.
    Right: Python and NumPy float scalars never widen a float32 tensor, on either side; gradients keep the leaf's dtype.
    Array API mixed-scalar rule.
    """
    x = leaf([1.0, 2.0])
    for y in (
        x * 2,
        2.5 * x,
        x / 3,
        3 / x,
        x**2,
        x**0.5,
        2**x,
        x + True,
        x * np.float64(2),
        np.float64(2) * x,
        np.float32(2) * x,
        x - np.float64(1),
        np.float64(1) - x,
        pg.where(x > 0, x, 0.0),
        pg.clip(x, 0.0, 1.5),
        pg.mean(x),
        pg.std(x),
        pg.sum(x) * np.pi,
        pg.nn.functional.softmax(x, axis=0),
        -x,
        x @ x,
        pg.linalg.vector_norm(x),
        pg.nn.functional.gelu(x),
        pg.nn.functional.softplus(x),
    ):
        assert y.dtype == pg.float32, y
        (g,) = pg.autograd.grad(pg.sum(y), [x])
        assert g.dtype == pg.float32
    w = leaf([3.0, 4.0], pg.float64)
    y = x * w
    assert y.dtype == pg.float64
    pg.sum(y).backward()
    assert x.grad.dtype == pg.float32 and w.grad.dtype == pg.float64
    i = pg.tensor([1, 2])
    assert (x * i).dtype == pg.float32 and (i * 2).dtype == pg.int64


def test_084_remainder_floor_divide():
    """Source: pytorch/pytorch#1164, Oneflow-Inc/oneflow#8769, PaddlePaddle/Paddle#26732
    Kind: dtype
    Wrong: C semantics (sign of the dividend) for some dtypes; the gradient of the divisor missing or unreduced; integer
    floor division truncates.
    Right: Python semantics for ints and floats; d(x mod y)/dx = 1, /dy = -floor(x/y); broadcast operands get sums. By hand.
    """
    i = pg.tensor([7, -7, 7, -7])
    j = pg.tensor([3, 3, -3, -3])
    same(i % j, [1, 2, -2, -1])
    same(i // j, [2, -3, -3, 2])
    x, y = leaf([7.0, -7.0, 7.0, -7.0]), leaf([3.0, 3.0, -3.0, -3.0])
    z = x % y
    same(z, [1.0, 2.0, -2.0, -1.0])
    pg.sum(z).backward()
    same(x.grad, [1.0, 1.0, 1.0, 1.0])
    same(y.grad, [-2.0, 3.0, 3.0, -2.0])
    u, v = leaf([5.0]), leaf([[2.0], [2.0]])
    pg.sum(u % v).backward()
    same(u.grad, [2.0])
    same(v.grad, [[-2.0], [-2.0]])
    same(pg.round(pg.tensor([0.5, 1.5, 2.5, -0.5, -1.5])), [0.0, 2.0, 2.0, -0.0, -2.0])


def test_085_remainder_signed_zero():
    """Source: pytorch/pytorch#193755
    Kind: dtype
    Wrong: a zero remainder takes the dividend's sign.
    Right: the divisor's sign, as in Python, NumPy and the array API: -1 % 1 = +0, 2 % -1 = -0.
    """
    r = A(pg.tensor([-1.0, 2.0, 4.0, -6.0]) % pg.tensor([1.0, -1.0, 2.0, -3.0]))
    same(r, [0.0, 0.0, 0.0, 0.0])
    same(np.signbit(r), [False, True, False, True])
