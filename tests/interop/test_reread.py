"""`t.view(...)`: another shape, or another dtype, as NumPy and PyTorch have it."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, ShapeError


def test_a_view_of_another_shape_shares_writes_and_is_never_a_copy():
    x = pg.zeros((2, 3))
    x.view(-1)[0] = 5.0
    x.view((3, 2))[2, 1] = 7.0
    assert x.tolist() == [[5, 0, 0], [0, 0, 7]]
    assert x.view(3, 2).shape == (3, 2)
    with pytest.raises(ShapeError, match="without a copy"):
        x.mT.view(6)


def test_complex_numbers_are_read_as_pairs_and_back(device):
    dtype, real = (pg.complex64, pg.float32)
    a = (np.arange(6) + 1j * np.arange(6, 12)).reshape(2, 3).astype(dtype)
    z = pg.tensor(a, device=device, requires_grad=True)
    pairs = z.view(real)
    np.testing.assert_array_equal(pairs.detach().numpy(), a.view(real))
    np.testing.assert_array_equal(pairs.view(dtype).detach().numpy(), a)
    assert pg.autograd.gradcheck(lambda t: t.view(pg.float64),
                                 pg.tensor(a.astype(complex), requires_grad=True))  # fmt: skip
    x = pg.tensor(a.real.astype(float)[:, :2], requires_grad=True)
    assert pg.autograd.gradcheck(lambda t: t.view(complex), x)
    assert x.view(float).requires_grad


def test_other_dtypes_are_refused():
    x = pg.ones((2, 3))
    for dtype in (pg.int32, pg.float64, pg.complex64, pg.complex128):
        with pytest.raises(DtypeError, match=r"cannot be read as .* view, shape \(2, 3\)"):
            x.view(dtype)
    with pytest.raises(DtypeError):
        pg.asarray(1j).view(pg.float32)
