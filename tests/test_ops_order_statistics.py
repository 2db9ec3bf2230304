"""Order statistics, reductions without NaN, scans: ties, NaN, infinities, dtypes, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import methods
from polygrad.errors import (
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
)
from polygrad.families import OPERATIONS
from polygrad.ops import LATE, load_all
from polygrad.ops._quantiles import METHODS
from polygrad.testing import assert_close
from polygrad.testing.compare import host

INF, NAN = math.inf, math.nan


def gradient(function, x, dtype="float64"):
    t = pg.tensor(x, dtype=dtype, requires_grad=True)
    y = function(t)
    y.backward(pg.ones(y.shape, dtype=y.dtype))
    return host(t.grad)


# ---- chapters that are read late ----------------------------------------------------------------
def test_the_lists_of_late_functions_and_methods_are_those_of_the_registry():
    load_all()
    late = {name for names in LATE.values() for name in names}
    for chapter, names in LATE.items():
        module = f"polygrad.ops.{chapter}"
        found = [
            name for name, o in OPERATIONS.items()
            if not o.space and o.function.__module__ == module
        ]  # fmt: skip
        assert sorted(found) == list(names)
    assert late <= set(dir(pg))
    assert sorted(n for n in late if OPERATIONS[n].method) == list(methods._LATE_METHODS)


def test_a_late_function_of_a_namespace_is_bound_to_its_device():
    rows, columns = pg.namespace("strict:cpu").tril_indices(2)
    assert rows.device == columns.device == "strict:cpu"
    assert pg.namespace("cpu").median(pg.asarray([3.0, 1.0, 2.0])) == 2


def test_a_late_method_is_replaced_by_its_function_when_first_called():
    assert pg.asarray([1.0, NAN]).nansum() == 1
    assert pg.Tensor.nansum is pg.nansum


# ---- quantiles ----------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
def test_a_quantile_is_numpys_at_whole_and_half_positions(method):
    x = np.array([5.0, 1.0, 4.0, 2.0, 3.0, 9.0])
    for n in range(1, 7):
        for q in np.linspace(0, 1, 25):
            assert_close(
                pg.quantile(pg.asarray(x[:n]), q, method=method),
                np.quantile(x[:n], q, method=method), what=f"{n} {q}",
            )  # fmt: skip


def test_methods_that_pick_an_element_keep_integers():
    x = pg.asarray(np.array([3, 1, 2], np.int32))
    assert pg.quantile(x, 0.4, method="lower").dtype == pg.int32
    assert pg.quantile(x, 0.4).dtype == pg.median(x).dtype == pg.float32
    assert pg.median(pg.asarray([True, False, True])) == 1
    half = pg.asarray(np.array([1, 2], np.float16))
    assert pg.quantile(half, [0.25, 0.5]).dtype == pg.float16


def test_nan_is_contagious_or_left_out():
    x = pg.asarray([[1.0, NAN, 3.0], [1.0, 2.0, 6.0], [NAN, NAN, NAN]])
    assert_close(pg.median(x, axis=1), [NAN, 2, NAN])
    assert_close(pg.quantile(x, [0, 1], axis=1, method="lower"), [[NAN, 1, NAN], [NAN, 6, NAN]])
    assert_close(pg.nanmedian(x, axis=1), [2, 2, NAN])
    assert_close(pg.nanquantile(x, 0.25, axis=1, method="higher"), [3, 2, NAN])
    assert_close(gradient(pg.nanmedian, [1.0, NAN, 4.0]), [0.5, 0, 0.5])


def test_infinities_are_no_nan():
    """Between two equal infinities, or at weight 0, nothing is subtracted or multiplied by 0."""
    assert pg.median(pg.asarray([INF, INF, 1.0, INF])) == INF
    assert pg.median(pg.asarray([-INF, -INF])) == -INF
    assert_close(pg.quantile(pg.asarray([-INF, 0.0, INF]), [0.25, 0.5, 0.75]), [-INF, 0, INF])
    assert_close(gradient(pg.median, [-INF, 1.0, INF]), [0, 1, 0])


def test_equal_elements_the_gradient_goes_to_those_that_a_stable_sort_puts_there():
    """As that of torch.quantile and jax.numpy.quantile."""
    assert_close(gradient(pg.median, [2.0, 2.0, 1.0, 2.0]), [0.5, 0.5, 0, 0])
    assert_close(gradient(lambda t: pg.quantile(t, 1.0), [7.0, 7.0, 1.0]), [0, 1, 0])


def test_the_gradient_by_q_is_the_slope_between_neighbours():
    x = pg.asarray(np.array([1.0, 4.0, 2.0]))
    for method, q, want in (
        ("linear", 0.25, 2), ("linear", 0.75, 4), ("hazen", 0.3, 3), ("hazen", 0.01, 0),
        ("weibull", 0.5, 8), ("nearest", 0.3, None),
    ):  # fmt: skip
        t = pg.tensor(q, dtype=pg.float64, requires_grad=True)
        y = pg.quantile(x, t, method=method)
        if want is None:
            assert not y.requires_grad
        else:
            assert_close(pg.autograd.grad(y, t), [want], what=method)
    t = pg.tensor([[25.0], [50.0]], dtype=pg.float64, requires_grad=True)
    pg.sum(pg.percentile(x, t)).backward()
    assert_close(t.grad, [[0.02], [0.04]])


def test_of_nothing_there_is_a_median_nan_but_no_quantile():
    assert math.isnan(pg.median(pg.zeros(0)).item())
    assert_close(pg.nanmedian(pg.zeros((2, 0)), axis=1, keepdims=True), [[NAN], [NAN]])
    assert pg.quantile(pg.zeros((0, 2)), [0.1, 0.2], axis=1).shape == (2, 0)
    with pytest.raises(InvalidArgumentError, match=r"quantile of no elements.*axis=None.*at least"):
        pg.quantile(pg.zeros(0), 0.5)


def test_what_is_no_quantile_is_said():
    x = pg.asarray([1.0, 2.0])
    for q, name in ((1.5, "quantile"), (-1, "quantile"), (NAN, "nanquantile"), (101, "percentile")):
        words = rf"s from .*{name}, argument q.*choose from 0"
        with pytest.raises(InvalidArgumentError, match=words):
            getattr(pg, name)(x, q)
    with pytest.raises(InvalidTypeError, match=r"a real number, not .*argument q.*pass numbers"):
        pg.quantile(x, 1j)
    with pytest.raises(InvalidArgumentError, match=r"no method 'cubic'.*argument method.*linear, "):
        pg.quantile(x, 0.5, method="cubic")
    with pytest.raises(DtypeError, match=r"no order.*median\(complex64.*pg\.abs"):
        pg.median(pg.asarray([1j]))


# ---- selection ----------------------------------------------------------------------------------
@pytest.mark.parametrize("device", ["cpu", "strict:cpu"])
def test_of_equal_elements_the_first_are_selected(device):
    x = pg.tensor([[1.0, 3.0, 3.0, 2.0, 3.0], [NAN, 1.0, NAN, 0.0, 1.0]], device=device)
    values, indices = pg.topk(x, 2)
    assert_close(values, [[3, 3], [NAN, NAN]])
    assert_close(indices, [[1, 2], [0, 2]])
    values, indices = x.topk(3, largest=False)
    assert_close(values, [[1, 2, 3], [0, 1, 1]])
    assert_close(indices, [[0, 3, 1], [3, 1, 4]])
    assert_close(pg.kthvalue(x, 4).indices, [2, 0])
    assert_close(pg.topk(x > 2, 1).values, [[True], [False]])


def test_a_selection_must_be_possible():
    x = pg.zeros((2, 3))
    for function, k in ((pg.topk, 4), (pg.topk, -1), (pg.kthvalue, 0), (pg.kthvalue, 4)):
        with pytest.raises(InvalidArgumentError, match=rf"k is {k}.*length 3.*argument k.*choose"):
            function(x, k)
    with pytest.raises(InvalidTypeError, match=r"k is an int, not 1\.5.*topk.*pass an int"):
        pg.topk(x, 1.5)
    with pytest.raises(ShapeError, match=r"0-d.*kthvalue.*reshape"):
        pg.kthvalue(pg.asarray(1.0), 1)
    with pytest.raises(DtypeError, match=r"no order.*topk.*pg\.abs"):
        pg.topk(x * 1j, 1)


# ---- without NaN --------------------------------------------------------------------------------
def test_reductions_of_nothing_but_nan():
    x = pg.asarray([[NAN, NAN], [1.0, NAN]])
    assert_close(pg.nansum(x, axis=1), [0, 1])
    assert_close(pg.nanprod(x, axis=1), [1, 1])
    assert_close(pg.nanmean(x, axis=1), [NAN, 1])
    assert_close(pg.nanvar(x, axis=1), [NAN, 0])
    assert_close(pg.nanstd(x, axis=1, ddof=1), [NAN, NAN])
    assert_close(pg.nanmax(x, axis=1), [NAN, 1])
    assert_close(gradient(lambda t: pg.nanmin(t, axis=1), host(x)), [[0, 0], [1, 0]])


def test_equal_extrema_share_and_what_was_left_out_has_no_part():
    assert_close(gradient(pg.nanmax, [2.0, NAN, 2.0, 1.0]), [0.5, 0, 0.5, 0])
    assert_close(gradient(pg.nanmin, [INF, NAN]), [1, 0])
    assert_close(gradient(pg.nanmax, [-INF, NAN]), [1, 0])


def test_a_standard_deviation_of_zero_has_a_gradient_of_zero():
    assert_close(gradient(pg.nanstd, [2.0, NAN, 2.0]), [0, 0, 0])


def test_nan_beside_minus_infinity_is_not_the_largest():
    """NumPy's own would point at the NaN."""
    assert pg.nanargmax(pg.asarray([NAN, -INF])) == 1
    assert_close(pg.nanargmin(pg.asarray([[NAN, INF], [2.0, NAN]]), axis=1), [1, 0])
    with pytest.raises(InvalidArgumentError, match=r"all NaN.*nanargmax.*axis=1.*nan_to_num"):
        pg.nanargmax(pg.asarray([[NAN, NAN], [1.0, 2.0]]), axis=1)
    with pytest.raises(InvalidArgumentError, match="argmax of no elements"):
        pg.nanargmax(pg.zeros(0))
    with pytest.raises(InvalidArgumentError, match="nanmax of no elements"):
        pg.nanmax(pg.zeros(0))


def test_integers_have_no_nan():
    x = pg.asarray(np.array([[1, 2], [3, 4]], np.int8))
    for name in ("sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "median"):
        got, want = getattr(pg, f"nan{name}")(x), getattr(pg, name)(x)
        assert got.dtype == want.dtype
        assert_close(got, want)
    assert pg.nan_to_num(x).dtype == pg.int8
    assert pg.nan_to_num(x > 1).dtype == pg.bool


def test_half_precision_is_counted_in_single():
    x = pg.ones(70000, dtype=pg.float16)
    assert pg.nanmean(x) == 1
    assert pg.nanvar(x) == 0
    assert pg.nanstd(x).dtype == pg.float16


def test_each_part_of_a_complex_number_is_replaced_by_itself():
    x = pg.asarray(np.array([complex(NAN, 1), complex(2, INF), complex(3, 4)]))
    top = np.finfo(np.float64).max
    assert_close(pg.nan_to_num(x), [1j, complex(2, top), 3 + 4j])
    assert_close(gradient(pg.nan_to_num, [NAN, 1.0, INF]), [0, 1, 0])
    assert pg.nansum(x[::2]) == 3 + 4j


# ---- scans --------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", ["cpu", "strict:cpu"])
def test_of_equal_elements_the_last_is_the_running_maximum(device):
    """PyTorch's indices, also from the first NaN on."""
    x = pg.tensor([1.0, 3.0, 3.0, 2.0, NAN, 5.0, NAN, 1.0], device=device)
    values, indices = pg.cummax(x)
    assert_close(values, [1, 3, 3, 3, NAN, NAN, NAN, NAN])
    assert_close(indices, [0, 1, 2, 2, 4, 4, 6, 6])
    assert_close(x[:4].cummin().indices, [0, 0, 0, 0])
    assert_close(pg.cummax(pg.asarray([False, True, False])).values, [False, True, True])
    assert_close(gradient(lambda t: pg.cummax(t).values, [1.0, 3.0, 3.0, 2.0]), [1, 1, 2, 0])


@pytest.mark.parametrize("device", ["cpu", "strict:cpu"])
def test_running_logarithms_at_infinity_and_far_apart(device):
    x = pg.tensor([-INF, -INF, 0.0, 800.0, -800.0, 800.0], dtype=pg.float64, device=device)
    want = [-INF, -INF, 0, 800, 800, 800 + math.log(2)]
    assert_close(pg.cumulative_logsumexp(x), want)
    g = gradient(pg.cumulative_logsumexp, host(x))
    assert np.isfinite(g).all()
    assert_close(g, [0, 0, 1 + math.exp(-800), 2.5, 0, 0.5])
    assert_close(pg.cumulative_logsumexp(pg.asarray([1.0, INF, 2.0])), [1, INF, INF])


def test_a_scan_needs_an_axis_and_an_order():
    with pytest.raises(InvalidArgumentError, match=r"which of 2 axes.*cummax.*name an axis"):
        pg.cummax(pg.zeros((2, 2)))
    with pytest.raises(OutOfRangeError, match=r"axis 2 is out of range.*cummin"):
        pg.cummin(pg.zeros((2, 2)), 2)
    with pytest.raises(DtypeError, match=r"cumulative_logsumexp is for real.*pg\.real"):
        pg.cumulative_logsumexp(pg.asarray([1j]))


def test_trapezoids_need_a_place_for_each_value():
    with pytest.raises(ShapeError, match=r"places of shape \(2,\).*\(3,\).*axis 0.*give 3 places"):
        pg.trapezoid(pg.zeros(3), pg.zeros(2))
    assert pg.trapezoid(pg.ones(1)) == 0
    assert pg.trapezoid(pg.zeros((0, 2)), axis=0).shape == (2,)
