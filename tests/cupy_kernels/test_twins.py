"""Kernels with sums give the bits of their transcriptions: the order of a sum is what we say."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad.backends.cupy_kernels.layout import rows_of
from polygrad.backends.cupy_kernels.text import wide_name
from tests.cupy_kernels import twins
from tests.cupy_kernels.cases import NORMS, Numbers
from tests.cupy_kernels.emulator import COMPILER, backend

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="no C++ compiler here (2026-11-30: CI has one)"
)
EPS = 0.01
CALLS = [(shape, axis) for shape, axes in NORMS for axis in axes if 0 not in shape]


def places(rows):
    """Where each element of each row is in memory: what `Rows` says."""
    q, j = np.arange(rows.groups)[:, None], np.arange(rows.n)
    base = q // rows.g2 * rows.t1 + q % rows.g2 * rows.t2
    return base + j // rows.n2 * rows.s1 + j % rows.n2 * rows.s2


def same(got, want, rows, dtype):
    """The results of a kernel, and of its twin, bit by bit; the first is of the whole shape."""
    whole, *per_row = got
    np.testing.assert_array_equal(whole.ravel()[places(rows)], want[0].astype(dtype))
    for a, b in zip(per_row, want[1:], strict=True):
        np.testing.assert_array_equal(a.transpose(rows.order).reshape(-1), b.reshape(-1))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_norms(dtype):
    f, wide = Numbers(dtype), np.dtype(wide_name(dtype))
    k = backend().kernels(backend().devices()[0], f.dtype)
    for shape, axis in CALLS:
        x, g = f(*shape), f(*shape)
        rows = rows_of(x, axis)
        if rows is None:
            continue
        at, keywords = places(rows), {"axis": axis, "eps": EPS}
        xs, gs = (a.ravel()[at].astype(wide) for a in (x, g))
        for name in ("standardize", "root_mean_standardize"):
            want = getattr(twins, name)(xs, rows.lanes, EPS)
            same(getattr(k, name)(x, **keywords), want, rows, f.dtype)
        kept = [1 if i in axis else n for i, n in enumerate(shape)]
        statistics = [np.abs(Numbers(wide)(*kept)) for _ in range(3)]
        per_row = [s.transpose(rows.order).reshape(-1, 1) for s in statistics]
        got = k.standardize_adjoint(g, *statistics[:2], x, statistics[2], **keywords)
        want = twins.standardize_adjoint(gs, *per_row[:2], xs, per_row[2], rows.lanes, EPS)
        same((got,), want, rows, f.dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_adjoint_of_softmax(dtype):
    f, wide = Numbers(dtype), np.dtype(wide_name(dtype))
    k = backend().kernels(backend().devices()[0], f.dtype)
    for shape, axis in CALLS:
        if len(axis) > 1:
            continue
        y, g = f(*shape), f(*shape)
        rows = rows_of(y, axis)
        ys, gs = (a.ravel()[places(rows)].astype(wide) for a in (y, g))
        got = k.softmax_adjoint(g, y, axis=axis[0])
        same((got,), twins.softmax_adjoint(gs, ys, rows.lanes), rows, f.dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_products(dtype):
    f, wide = Numbers(dtype), np.dtype(wide_name(dtype))
    k = backend().kernels(backend().devices()[0], f.dtype)
    for x, y in (((70, 33), (33, 65)), ((2, 3, 17), (17, 4)), ((5, 0), (0, 2))):
        a, b = f(*x), f(*y)
        with backend().launcher.record():
            got = k.matmul(a, b)
        want = twins.product(a.astype(wide), b.astype(wide)).astype(dtype)
        np.testing.assert_array_equal(got, want)
