"""Statistical and utility functions by hand: dtypes, zeros, ties, infinities, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import (
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
)
from polygrad.testing import assert_close
from polygrad.testing.compare import host

INF, NAN = math.inf, math.nan


def gradient(function, x, device="cpu", dtype="float32"):
    t = pg.tensor(np.array(x, dtype), device=device, requires_grad=True)
    y = function(t)
    y.backward(pg.ones(y.shape, dtype=y.dtype, device=device))
    return host(t.grad)


# ---- dtypes -------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", [pg.sum, pg.prod, pg.cumulative_sum, pg.cumulative_prod])
def test_small_integers_are_summed_wide(function):
    for given, want in (
        ("int8", "int64"), ("int32", "int64"), ("int64", "int64"), ("uint8", "uint64"),
        ("bool", "int64"), ("float32", "float32"), ("complex64", "complex64"),
    ):  # fmt: skip
        assert function(pg.ones(3, dtype=given)).dtype == want
    assert function(pg.ones(3, dtype="int8"), dtype=pg.int16).dtype == pg.int16
    assert function(pg.ones(3, dtype="float32"), dtype=pg.float64).dtype == pg.float64
    assert host(pg.sum(pg.tensor([100, 100], dtype=pg.int8))) == 200


def test_sums_of_integers_on_a_device_without_64_bits():
    x = pg.ones(3, dtype=pg.int8, device="strict:no_x64")
    assert pg.sum(x).dtype == pg.int32
    assert pg.count_nonzero(x).dtype == pg.int32


def test_a_sum_of_another_dtype_casts_the_gradient_back():
    x = pg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    pg.sum(x, dtype=pg.float64).backward()
    assert x.grad.dtype == pg.float32


def test_half_precision_is_summed_in_single():
    x = pg.ones(70000, dtype=pg.float16)
    assert pg.mean(x).item() == 1
    assert pg.var(x).item() == 0
    assert pg.sum(x, dtype=pg.float32).item() == 70000
    thirds = pg.full(4096, 0.1, dtype=pg.float16)
    assert abs(pg.sum(thirds).item() - 409.5) < 0.5
    assert abs(host(pg.cumulative_sum(thirds))[-1] - 409.5) < 0.5
    assert abs(pg.logsumexp(pg.zeros(4096, dtype=pg.float16)).item() - math.log(4096)) < 0.01
    assert pg.mean(x).dtype == pg.float16


def test_means_of_integers_are_floating():
    assert pg.mean(pg.tensor([1, 2])).item() == 1.5
    assert pg.mean(pg.tensor([1, 2])).dtype == pg.float32
    assert pg.std(pg.tensor([True, False])).item() == 0.5


# ---- products -----------------------------------------------------------------------------------
def test_the_gradient_of_a_product_with_zeros(device):
    rows = [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]]
    want = np.array([[6, 0, 0], [0, 0, 0], [6, 3, 2]], "f4")
    assert_close(gradient(lambda x: pg.prod(x, axis=1), rows, device), want)
    assert_close(gradient(lambda x: pg.prod(x, axis=(0, 1)), [[0.0, 2.0], [4.0, 1.0]], device),
                 np.array([[8, 0], [0, 0]], "f4"))  # fmt: skip


def test_a_product_is_differentiable_as_often_as_it_has_factors():
    x = pg.tensor([0.0, 0.0, 5.0, 7.0], dtype=pg.float64, requires_grad=True)
    (g,) = pg.autograd.grad(pg.prod(x), [x], create_graph=True)
    assert_close(g.detach(), np.zeros(4))
    (h,) = pg.autograd.grad(g[0], [x], create_graph=True)
    assert_close(h.detach(), np.array([0, 35.0, 0, 0]))
    (k,) = pg.autograd.grad(h[1], [x], create_graph=True)
    assert_close(k.detach(), np.array([0, 0, 7.0, 5.0]))
    (m,) = pg.autograd.grad(k[2], [x])
    assert_close(m, np.array([0, 0, 0, 1.0]))


def test_the_gradient_of_a_cumulative_product_with_zeros(device):
    got = gradient(pg.cumulative_prod, [2.0, 0.0, 3.0, 0.0, 5.0], device)
    # y = a, ab, abc, abcd, abcde at b = d = 0
    assert_close(got, np.array([1, 2 + 2 * 3, 0, 0, 0], "f4"))


def test_a_long_cumulative_product_does_not_overflow_on_the_way():
    x = np.full(300, 0.5, "f4")
    x[::2] = 2.0
    got = gradient(lambda t: pg.cumulative_prod(t)[-1], x)
    assert_close(got, np.where(x == 2, 0.5, 2.0).astype("f4"))


# ---- extrema ------------------------------------------------------------------------------------
@pytest.mark.parametrize("sign", [1, -1])
def test_equal_extrema_share_the_gradient(sign, device):
    function = pg.max if sign == 1 else pg.min
    x = sign * np.array([[3.0, 3.0, 1.0], [0.0, 7.0, INF], [INF, INF, 0.0]])
    got = gradient(lambda t: function(t, axis=1), x, device)
    assert_close(got, np.array([[0.5, 0.5, 0], [0, 0, 1], [0.5, 0.5, 0]], "f4"))


def test_extrema_of_nan(device):
    x = [1.0, NAN, 3.0]
    assert np.isnan(host(pg.max(pg.tensor(x, device=device))))
    assert_close(gradient(pg.max, x, device).sum(), np.float32(1))


def test_extrema_without_elements_or_without_order():
    with pytest.raises(InvalidArgumentError, match=r"max of no elements.*\(0, 3\).*axis=0.*one"):
        pg.max(pg.zeros((0, 3)), axis=0)
    assert pg.min(pg.zeros((0, 3)), axis=1).shape == (0,)
    with pytest.raises(DtypeError, match=r"no order.*min.*complex64.*pg\.abs"):
        pg.min(pg.ones(2, dtype=pg.complex64))


# ---- moments ------------------------------------------------------------------------------------
def test_the_standard_deviation_of_equal_elements_has_gradient_zero(device):
    assert_close(gradient(pg.std, [2.0, 2.0, 2.0], device), np.zeros(3, "f4"))
    got = gradient(lambda x: pg.std(x, axis=1), [[1.0, 3.0], [5.0, 5.0]], device)
    assert_close(got, np.array([[-0.5, 0.5], [0, 0]], "f4"))


def test_variance_without_degrees_of_freedom_is_nan(device):
    x = pg.tensor([1.0, 2.0, 3.0], device=device)
    for correction in (3, 5):
        assert np.isnan(host(pg.var(x, correction=correction)))
        assert np.isnan(host(pg.std(x, correction=correction)))
    assert_close(pg.var(x, correction=2), np.float32(2))
    assert_close(pg.var(x, correction=0.5), np.float32(0.8))
    assert_close(pg.var(x, ddof=1), np.float32(1))
    assert np.isnan(host(pg.var(pg.zeros(0, device=device))))


def test_variance_beside_a_large_mean():
    x = np.array([1e4 + 1, 1e4 + 2, 1e4 + 3], "f4")
    assert_close(pg.var(pg.tensor(x)), np.float32(2 / 3))


def test_the_variance_of_complex_numbers_is_real():
    z = np.array([1 + 1j, 2 - 1j, 0j])
    got = pg.var(pg.tensor(z))
    assert got.dtype == pg.float64
    assert_close(got, np.var(z))
    assert_close(pg.std(pg.tensor(z)), np.std(z))


def test_the_mean_of_nothing_is_nan_without_a_warning(device):
    x = pg.zeros((0, 3), device=device).requires_grad_()
    y = pg.mean(x, axis=0)
    assert np.isnan(host(y)).all()
    y.backward(pg.ones(3, device=device))
    assert x.grad.shape == (0, 3)


# ---- logsumexp ----------------------------------------------------------------------------------
def test_logsumexp_of_infinities(device):
    x = [[-INF, -INF], [1.0, 2.0], [-INF, 0.5], [INF, 1.0], [1e4, 1e4]]
    y = pg.logsumexp(pg.tensor(x, device=device), axis=1)
    want = [-INF, 2.3132616875182228, 0.5, INF, 1e4 + math.log(2)]
    assert_close(y, np.array(want, "f4"))
    got = gradient(lambda t: pg.logsumexp(t, axis=1, keepdims=True), x, device)
    soft = [[0, 0], [0.2689414, 0.7310586], [0, 1], [1, 0], [0.5, 0.5]]
    assert_close(got, np.array(soft, "f4"))


def test_logsumexp_of_nothing_and_of_nan():
    assert host(pg.logsumexp(pg.zeros(0))) == -INF
    assert host(pg.logsumexp(pg.zeros((0, 2)), axis=0)).tolist() == [-INF, -INF]
    assert np.isnan(host(pg.logsumexp(pg.tensor([NAN, 1.0]))))
    with pytest.raises(DtypeError, match="real"):
        pg.logsumexp(pg.ones(2, dtype=pg.complex64))


# ---- axes ---------------------------------------------------------------------------------------
def test_reducing_over_no_axis_is_the_identity(device):
    x = pg.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    for function in (pg.sum, pg.mean, pg.prod, pg.max, pg.min, pg.logsumexp):
        assert_close(function(x, axis=()), host(x))
    assert_close(pg.var(x, axis=()), np.zeros((2, 2), "f4"))
    assert_close(gradient(lambda t: pg.sum(t, axis=()) * t, [1.0, 2.0], device),
                 np.array([2, 4], "f4"))  # fmt: skip


def test_errors_about_axes_name_function_and_argument():
    x = pg.zeros((2, 3))
    with pytest.raises(OutOfRangeError, match=r"axis 2 is out .*2 axes.*sum, argument axis.*-2 to"):
        pg.sum(x, axis=2)
    with pytest.raises(InvalidArgumentError, match=r"twice.*mean, argument axis"):
        pg.mean(x, axis=(0, -2))
    with pytest.raises(InvalidTypeError, match=r"an int, not 1.5.*all, argument axis"):
        pg.all(x, axis=1.5)
    with pytest.raises(OutOfRangeError, match="0-d tensor has no axes"):
        pg.sum(pg.tensor(1.0), axis=0)
    with pytest.raises(InvalidArgumentError, match=r"of 2 axes.*cumulative_sum.*name an axis"):
        pg.cumulative_sum(x)
    with pytest.raises(InvalidArgumentError, match=r"-1 times.*diff.*argument n"):
        pg.diff(x, n=-1)
    with pytest.raises(InvalidTypeError, match=r"None is no tensor.*sum, argument x"):
        pg.sum(None)


def test_methods_and_raw_arrays():
    x = pg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.sum(axis=0).tolist() == [4, 6]
    assert x.mean().item() == 2.5
    assert x.max(axis=1, keepdims=True).shape == (2, 1)
    assert x.var(ddof=1).item() == pytest.approx(5 / 3)
    assert x.any().item()
    assert pg.sum(np.ones(3)).item() == 3
    assert pg.sum(2.0).dtype == pg.float32


# ---- utility ------------------------------------------------------------------------------------
def test_truth_of_numbers_and_of_nothing(device):
    x = pg.tensor([0.0, 2.0, NAN], device=device)
    assert host(pg.any(x)).item()
    assert not host(pg.all(x)).item()
    assert host(pg.all(pg.zeros(0, device=device))).item()
    assert not host(pg.any(pg.zeros(0, device=device))).item()


def test_diff_takes_n_by_position_and_joins_first(device):
    x = pg.tensor([1, 4, 9, 16], device=device)
    assert host(pg.diff(x, 2)).tolist() == [2, 2]
    assert host(pg.diff(x, prepend=pg.tensor([0], device=device))).tolist() == [1, 3, 5, 7]
    assert host(pg.diff(x, n=7)).tolist() == []
    assert host(pg.diff(x > 4)).tolist() == [False, True, False]
    with pytest.raises(OutOfRangeError, match="diff"):
        pg.diff(pg.tensor(1.0, device=device))


def test_cumulative_functions_start_with_nothing(device):
    x = pg.tensor([[1, 2], [3, 4]], device=device)
    sums = pg.cumulative_sum(x, axis=0, include_initial=True)
    assert host(sums).tolist() == [[0, 0], [1, 2], [4, 6]]
    products = pg.cumulative_prod(x, axis=1, include_initial=True)
    assert host(products).tolist() == [[1, 1, 2], [1, 3, 12]]
    with pytest.raises((InvalidArgumentError, ShapeError)):
        pg.cumulative_sum(pg.tensor(1.0, device=device))


def test_small_unsigned_integers_are_summed_as_signed_where_there_are_no_wide_ones(monkeypatch):
    backend = pg.asarray(1, device="cpu").kernels.backend
    every = type(backend).supports
    few = lambda self, dtype, device: (
        dtype not in (pg.uint64, pg.uint32) and every(self, dtype, device)
    )
    monkeypatch.setattr(type(backend), "supports", few)
    total = pg.sum(pg.asarray([200, 100], dtype=pg.uint8, device="cpu"))
    assert total.dtype == pg.int64
    assert int(total) == 300
