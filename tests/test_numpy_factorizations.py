"""SciPy's factorisations stand in for NumPy's where those would compute in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.backends import numpy_factorizations
from polygrad.backends.numpy_factorizations import FACTORIZATIONS
from polygrad.errors import LinearAlgebraError
from polygrad.registry import find_kernels

pytest.importorskip("scipy", reason="SciPy is not installed (2026-12-01: optional)")
pg.linalg.svd(pg.eye(2))  # so that the forwards are declared


def matrix(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64", "complex128", "float16"])
@pytest.mark.parametrize("shape", [(90, 50), (50, 90), (64, 64)])
@pytest.mark.parametrize("full", [False, True])
def test_factors_are_those_of_double_precision(dtype, shape, full):
    x = matrix(dtype, shape)
    single = np.dtype(dtype).itemsize <= 8 and dtype != "float64"
    rtol = 2e-3 if dtype == "float16" else 1e-5 if single else 1e-13
    wide = np.dtype("complex128" if np.dtype(dtype).kind == "c" else "float64")
    t = pg.asarray(x)
    u, s, vh = (a.numpy().astype(wide) for a in pg.linalg.svd(t, full_matrices=full))
    np.testing.assert_allclose(s, np.linalg.svd(x.astype(wide))[1], rtol=rtol, atol=rtol)
    k, mode = min(shape), "complete" if full else "reduced"
    np.testing.assert_allclose((u[:, :k] * s) @ vh[:k], x, atol=20 * rtol)
    np.testing.assert_allclose(u.conj().T @ u, np.eye(u.shape[1]), atol=rtol * 3)
    np.testing.assert_allclose(vh @ vh.conj().T, np.eye(len(vh)), atol=rtol * 3)
    q, r = (a.numpy().astype(wide) for a in pg.linalg.qr(t, mode=mode))
    np.testing.assert_allclose(q @ r, x, atol=20 * rtol)
    np.testing.assert_allclose(q.conj().T @ q, np.eye(q.shape[1]), atol=rtol * 3)
    np.testing.assert_array_equal(np.tril(r, -1), 0 * np.tril(r, -1))


@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_single_precision_alone_is_scipys(name, monkeypatch):
    called = []
    real = numpy_factorizations._scipy

    def scipy(x):
        found = real(x)
        called.append(found is not None)
        return found

    monkeypatch.setattr(numpy_factorizations, "_scipy", scipy)
    keywords = {"full_matrices": False} if name == "library_svd" else {"mode": "reduced"}
    for dtype, shape, expected in (
        ("float32", (80, 60), True), ("complex64", (80, 60), True), ("float64", (80, 60), False),
        ("float32", (8, 6), False), ("float32", (2, 80, 60), False),
    ):  # fmt: skip
        made = getattr(find_kernels("cpu", dtype), name)(matrix(dtype, shape), **keywords)
        assert called.pop() is expected
        for a in made:
            assert a.dtype in (np.dtype(dtype), np.dtype("float32"), np.dtype("float64"))
            assert isinstance(a, np.ndarray)


def test_what_is_no_matrix_of_numbers_is_numpys_to_refuse():
    x = matrix("float32", (80, 60))
    x[3, 3] = np.nan
    with pytest.raises(LinearAlgebraError, match="converge"):
        pg.linalg.svd(pg.asarray(x))
    assert np.isnan(pg.linalg.qr(pg.asarray(x))[1].numpy()).any()
