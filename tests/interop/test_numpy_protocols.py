"""NumPy's own functions on Tensors: on the tape where polygrad has the function."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad import protocols
from polygrad.errors import GradientError
from polygrad.testing import assert_close

A = np.array([[0.5, 0.25, 0.75], [0.1, 0.6, 0.2]])
UFUNCS = (
    "sin", "exp", "sqrt", "absolute", "arcsin", "arctanh", "square", "isnan", "isfinite", "rint",
    "conjugate", "logical_not", "sign",
)  # fmt: skip


def leaf():
    return pg.tensor(A, requires_grad=True)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_are_polygrads(name):
    ufunc = getattr(np, name)
    x = leaf()
    y = ufunc(x)
    assert isinstance(y, pg.Tensor)
    assert_close(y, ufunc(A))
    assert y.requires_grad == (y.dtype == pg.float64)


def test_every_renamed_ufunc_exists():
    for numpy_name, name in protocols._RENAMED.items():
        assert callable(getattr(pg, name)), name
        assert isinstance(getattr(np, numpy_name), np.ufunc)


def test_arrays_and_numpy_scalars_beside_tensors():
    x = leaf()
    for y, want in (
        (np.float64(2) * x, 2 * A), (np.float32(2) + x, A + 2), (A * x, A * A), (A - x, A * 0),
        (x / A, A / A), (np.power(x, 2.0), A**2), (np.arctan2(A, x), np.arctan2(A, A)),
        (A @ x.T, A @ A.T), (np.float64(1) < x, A > 1),
    ):  # fmt: skip
        assert isinstance(y, pg.Tensor)
        assert_close(y, want)
    assert (np.float64(2) * pg.ones(2, dtype=pg.float32)).dtype == pg.float32


def test_reductions_of_ufuncs():
    x = leaf()
    for ufunc, axis in ((np.add, 0), (np.multiply, 1), (np.maximum, None)):
        got = ufunc.reduce(x, axis=axis)
        assert got.requires_grad
        assert_close(got, ufunc.reduce(A, axis=axis))
    assert isinstance(np.add.accumulate(x.detach()), np.ndarray)


def test_results_are_written_where_asked():
    x = leaf()
    y = x * 1
    assert np.sqrt(x, out=y) is y
    assert_close(y, np.sqrt(A))
    assert y.requires_grad
    host = np.zeros((2, 3))
    host += x.detach()
    np.testing.assert_array_equal(host, A)
    with pytest.raises(GradientError, match="would cut its gradient"):
        host += x
    z = x * 1
    np.clip(x, 0.2, 0.6, out=z)
    assert_close(z, A.clip(0.2, 0.6))


CALLS = {
    "broadcast_to": lambda f, x: f(x, (4, 2, 3)), "clip": lambda f, x: f(x, 0.2, 0.6),
    "concatenate": lambda f, x: f([x, x], axis=1), "copy": lambda f, x: f(x),
    "cumprod": lambda f, x: f(x), "cumsum": lambda f, x: f(x, axis=1),
    "diff": lambda f, x: f(x, n=2), "dot": lambda f, x: f(x, x.T),
    "einsum": lambda f, x: f("ij,ij->i", x, x), "expand_dims": lambda f, x: f(x, 1),
    "flip": lambda f, x: f(x, 1), "full_like": lambda f, x: f(x, 2.0), "imag": lambda f, x: f(x),
    "moveaxis": lambda f, x: f(x, 0, 1), "ndim": lambda f, x: f(x),
    "ones_like": lambda f, x: f(x), "outer": lambda f, x: f(x, x[0]), "ravel": lambda f, x: f(x),
    "real": lambda f, x: f(x), "repeat": lambda f, x: f(x, 2), "reshape": lambda f, x: f(x, (3, 2)),
    "roll": lambda f, x: f(x, 1, axis=0), "round": lambda f, x: f(x, 1),
    "shape": lambda f, x: f(x), "size": lambda f, x: f(x), "squeeze": lambda f, x: f(x[:1], 0),
    "stack": lambda f, x: f([x, x]), "take": lambda f, x: f(x, np.array([1, 3])),
    "tensordot": lambda f, x: f(x, x, axes=2), "tile": lambda f, x: f(x, 2),
    "transpose": lambda f, x: f(x), "where": lambda f, x: f(x > 0.3, x, 0.0),
    "zeros_like": lambda f, x: f(x), "all": lambda f, x: f(x), "any": lambda f, x: f(x, axis=0),
    "argmax": lambda f, x: f(x, axis=1), "argmin": lambda f, x: f(x), "max": lambda f, x: f(x),
    "mean": lambda f, x: f(x, axis=0, keepdims=True), "min": lambda f, x: f(x, axis=1),
    "prod": lambda f, x: f(x), "std": lambda f, x: f(x, ddof=1), "sum": lambda f, x: f(x, axis=1),
    "var": lambda f, x: f(x, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CALLS))
def test_functions_are_polygrads(name):
    function, x = getattr(np, name), leaf()
    got, want = CALLS[name](function, x), CALLS[name](function, A)
    if isinstance(want, (int, tuple)):
        assert got == want
        return
    assert isinstance(got, pg.Tensor)
    assert_close(got, want)
    constant = name in ("round", "full_like", "imag", "ones_like", "zeros_like")
    assert got.requires_grad == (got.dtype == pg.float64 and not constant) or name == "round"


def test_every_function_that_is_handed_over_is_tested():
    assert {f.__name__ for f in protocols._handlers()} == set(CALLS)


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3,)), ((), (3,)), ((2, 3), (4, 3, 2))])
def test_dot_is_numpys(shapes):
    a, b = (np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes))
    assert_close(np.dot(pg.asarray(a), pg.asarray(b)), np.dot(a, b))


def test_other_functions_convert_and_refuse_gradients():
    x = leaf().detach()
    assert np.allclose(x, A)
    assert isinstance(np.deg2rad(x), np.ndarray)
    assert isinstance(np.percentile(x, 50), float)
    flat = np.ravel(x, order="F")  # an option that polygrad's has not
    assert isinstance(flat, np.ndarray)
    for function in (
        np.deg2rad, np.sort, lambda t: np.ravel(t, order="F"), lambda t: np.allclose(t, A),
        np.linalg.norm,
    ):  # fmt: skip
        with pytest.raises(GradientError, match="would cut its gradient"):
            function(leaf())


def test_what_numpy_converts_may_be_written_and_no_saved_value_changes():
    x = pg.zeros(3)
    np.asarray(x)[0] = 5  # as functions do that are given an array for their result
    assert x.tolist() == [5, 0, 0]
    w = pg.ones(3).requires_grad_()
    y = pg.sum(w * x)
    np.asarray(x)[:] = 7
    y.backward()
    assert w.grad.tolist() == [5, 0, 0]
    assert x.tolist() == [5, 0, 0]
    z = pg.zeros(3)
    first, second = np.asarray(z), np.asarray(z)  # as of an operand that is also the result
    second += 1
    first[:1] = 4
    part = first[1:]
    del first, second
    np.asarray(z)[2] = 3
    assert z.tolist() == [4, 1, 3]
    part[0] = 8
    assert z.tolist() == [4, 8, 3]
    saved = w * z
    np.asarray(z)[:] = 0
    assert saved.tolist() == z.tolist() == [4, 8, 3]
    z += 1
    part[0] = 0
    assert z.tolist() == [5, 9, 4]
    grid = pg.zeros((2, 3))
    row, column = grid[0], grid[:, 1:]
    np.asarray(row)[1] = 2  # a view's memory is its base's
    np.asarray(column.T)[1, 1] = 3
    assert grid.tolist() == [[0, 2, 0], [0, 0, 3]]
    assert row.tolist() == [0, 2, 0]
    assert column.tolist() == [[2, 0], [0, 3]]
    np.asarray(pg.broadcast_to(pg.zeros(1), (3,)))[0] = 1  # memory that overlaps is not lent
    host = np.zeros(2)
    np.asarray(pg.asarray(host))[0] = 1
    assert host.tolist() == [0, 0]
    copy = np.array(x)
    copy[0] = 9
    assert x.tolist() == [5, 0, 0]
    view = np.array(x, copy=False)
    assert not view.flags.writeable
    assert np.shares_memory(view, x.numpy())
