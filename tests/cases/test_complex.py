"""Cases reported by users of such libraries: complex."""

import numpy as np

import polygrad as pg
from tests.cases.helpers import eq, grad, leaf, raises


def test_040_complex_angle_scale():
    """Source: pytorch/pytorch#98276
    Kind: complex
    Wrong: |z|^2 under- or overflows: NaN at 1e-25, 0 at 1e25 (and, at first, NaN at 1e-13).
    Right: i z/|z|^2 = (-1.6 + 1.2i) * 10**(24 or -26) for (3+4i) * 10**(-25 or 25). Closed form.
    """
    g = grad(pg.angle, [3e-25 + 4e-25j, 3e25 + 4e25j, 3e-13 + 4e-13j], dtype=pg.complex64)
    eq(g / np.array([1e24, 1e-26, 1e12]), [-1.6 + 1.2j] * 2 + [-1.6 + 1.2j], rtol=1e-5)


def test_041_complex_real_mix():
    """Source: HIPS/autograd#27, pytorch/pytorch#104514, pytorch/pytorch#47200
    Kind: complex
    Wrong: a real leaf gets a complex gradient (then a complex parameter after the step), a complex loss is accepted,
    matmul forgets to conjugate the other factor.
    Right: real leaf, real gradient (real part); backward() on a complex scalar raises; matmul: dA = G B^H, dB = A^H G.
    Closed form.
    """
    x = leaf([1.0, 2.0])
    w = pg.tensor([1 + 2j, 3 - 1j], dtype=pg.complex64)
    y = x * w
    assert y.dtype == pg.complex64
    pg.sum(pg.real(y * pg.conj(y))).backward()  # x^2 |w|^2
    assert x.grad.dtype == pg.float32, x.grad.dtype
    eq(x.grad, [10.0, 40.0])
    z = leaf(1 + 1j, pg.complex64)
    raises(RuntimeError, (z * z).backward)
    (z * z).backward(pg.tensor(1 + 0j, dtype=pg.complex64))
    eq(z.grad, 2 - 2j)
    a = np.array([[1 + 1j, 2.0], [0.0, 1j]])
    b = np.array([[2j, 1.0], [1 - 1j, 3.0]])
    ta, tb = leaf(a.tolist(), pg.complex64), leaf(b.tolist(), pg.complex64)
    m = ta @ tb
    pg.sum(pg.real(m * pg.conj(m))).backward()
    G = 2 * (a @ b)
    eq(ta.grad, G @ b.conj().T)
    eq(tb.grad, a.conj().T @ G)
