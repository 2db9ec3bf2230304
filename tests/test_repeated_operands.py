"""Operands whose memory repeats: a broadcast has strides of 0, which some libraries get wrong."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.testing import assert_close

SHAPES = [((4, 4), (4, 6)), ((3, 4, 4), (3, 4, 4)), ((4,), (4, 4)), ((4, 4), (3, 4, 2))]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products_of_broadcast_operands(left, right, device):
    row = np.asarray(1.5, np.float32)
    other = np.linspace(-1, 1, int(np.prod(right)), dtype=np.float32).reshape(right)
    x = pg.tensor(row, device=device, requires_grad=True)
    y = pg.tensor(other, device=device, requires_grad=True)
    product = pg.broadcast_to(x, left) @ y
    assert_close(product, np.broadcast_to(row, left) @ other)
    pg.sum(product).backward()  # its cotangent is a broadcast too
    ones = np.ones(product.shape, np.float32)
    if len(left) > 1:
        spread = np.broadcast_to(row, left).swapaxes(-1, -2) @ ones
        while spread.ndim > other.ndim:
            spread = spread.sum(0)
        assert_close(y.grad, spread)
    assert_close(x.grad, other.sum() if len(left) == 1 else (ones @ other.swapaxes(-1, -2)).sum())


@pytest.mark.parametrize("stretched", [(1, 4), (3, 1), (1, 1)])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "fftn"])
def test_transforms_of_a_broadcast_operand(name, stretched, device):
    small = np.linspace(-1, 1, int(np.prod(stretched)), dtype=np.float32).reshape(stretched)
    x = pg.broadcast_to(pg.tensor(small, device=device), (3, 4))
    if name != "rfft":
        x = pg.astype(x, pg.complex64)
    expected = getattr(np.fft, name)(np.broadcast_to(small, (3, 4)))
    assert_close(getattr(pg.fft, name)(x), expected.astype(np.complex64))
