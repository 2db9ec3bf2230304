"""Values put, added, combined at places; masks, diagonals, borders, bins, tables, by hand."""

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
DEVICES = ["cpu", "frozen:0", "strict:cpu"]


def gradients(function, *xs, device="cpu"):
    ts = [pg.tensor(x, dtype=pg.float64, device=device, requires_grad=True) for x in xs]
    y = function(*ts)
    return [host(g) for g in pg.autograd.grad(y, ts, pg.ones_like(y), materialize_grads=True)]


# ---- gathering ----------------------------------------------------------------------------------
def test_gather_reads_the_part_as_long_as_the_indices():
    x = pg.reshape(pg.arange(12.0), (3, 4)).requires_grad_()
    indices = np.array([[3, 3, -4, 0, 1], [0, 2, 2, 2, 1]])
    out = x.gather(pg.asarray(indices), axis=1)
    assert out.shape == (2, 5)
    for i, row in enumerate(indices):
        assert out[i].tolist() == [4.0 * i + j % 4 for j in row]
    pg.sum(out).backward()
    assert x.grad.tolist() == [[2, 1, 0, 2], [1, 1, 3, 0], [0, 0, 0, 0]]
    with pytest.raises(ShapeError, match="no axis but the indexed one may be longer"):
        pg.gather(x, pg.zeros((4, 4), dtype=pg.int64), axis=1)
    with pytest.raises(OutOfRangeError, match="index 4"):
        pg.gather(x, pg.asarray([[4]]), axis=1)


# ---- scattering ---------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
def test_of_two_writes_to_one_place_the_last_stays_and_has_the_gradient(device):
    def on(values):
        return pg.tensor(values, device=device)

    places, x, v = on([1, 0, 1]), [5.0, 6.0, 7.0], [1.0, 2.0, 3.0]
    for function in (pg.scatter, pg.index_copy, pg.put_along_axis):
        assert_close(function(on(x), places, on(v), axis=0), [2, 3, 7])
        gx, gv = gradients(lambda t, u, f=function: f(t, places, u, axis=0), x, v, device=device)
        assert_close(gx, [0, 0, 1])
        assert_close(gv, [0, 1, 1])


def test_nothing_is_written_in_place():
    x = pg.zeros(3)
    pg.scatter(x, pg.asarray([1]), 5, axis=0)
    pg.masked_fill(x, x == 0, 7)
    pg.index_fill(x, pg.asarray([-1]), 1, axis=0)
    assert_close(x, [0, 0, 0])


def test_values_beyond_the_indices_are_not_used():
    x, indices = pg.zeros((3, 4)), pg.asarray([[3, -4]])
    values = pg.tensor(np.arange(1.0, 13.0).reshape(3, 4), requires_grad=True)
    y = pg.scatter_add(x, indices, values, 1)
    assert_close(y[0], [2, 0, 0, 1])
    pg.sum(y).backward()
    assert_close(values.grad, [[1, 1, 0, 0], [0] * 4, [0] * 4])


def test_numbers_and_dtypes_of_what_is_scattered():
    x, indices = pg.zeros(3, dtype=pg.int32), pg.asarray([0, 0])
    assert pg.scatter(x, indices, 2, axis=0).dtype == pg.int32
    assert pg.scatter(x, indices, 0.5, axis=0).dtype == pg.float32
    assert_close(pg.scatter_add(x, indices, 0.5, axis=0), [1, 0, 0])
    small = pg.asarray(np.array([100, 100], np.int8))
    assert_close(pg.scatter_add(x, indices, small, axis=0), [200, 0, 0])
    assert pg.scatter_reduce(x, indices, 0.5, "mean", axis=0).dtype == pg.float32
    assert_close(pg.scatter(pg.ones(2), pg.asarray([1]), pg.asarray(4.0), axis=0), [1, 4])


@pytest.mark.parametrize("device", DEVICES)
def test_equal_extrema_share_with_x_and_without(device):
    """With include_self=False PyTorch 2.13 gives x a share of ties, and throws it away."""
    places = pg.tensor([0, 0, 0], device=device)
    for how, sign in (("amax", 1.0), ("amin", -1.0)):
        for include, want_x, share in ((True, [1 / 3, 1], 1 / 3), (False, [0, 1], 1 / 2)):
            gx, gv = gradients(
                lambda t, u, h=how, i=include: pg.scatter_reduce(
                    t, places, u, h, axis=0, include_self=i
                ),
                np.array([2.0, 0.0]) * sign, np.array([2.0, 2.0, 1.0]) * sign, device=device,
            )  # fmt: skip
            assert_close(gx, want_x)
            assert_close(gv, [share, share, 0])


def test_a_product_of_many_factors_has_derivatives_at_zero():
    """Groups of 1, 2, 3 … factors, some of them 0; nothing overflows into another group."""
    rng = np.random.default_rng(0)
    sizes = np.arange(1, 10)
    places = rng.permutation(np.repeat(np.arange(9), sizes))
    values = rng.normal(size=places.size)
    values[rng.random(values.size) < 0.2] = 0
    values[places == 4] = 1e200
    x = rng.normal(size=10)
    want = x.copy()
    with np.errstate(over="ignore"):
        y = pg.scatter_reduce(pg.asarray(x), pg.asarray(places), pg.asarray(values), "prod", axis=0)
        np.multiply.at(want, places, values)
    assert_close(y, want)
    calm = values.copy()
    calm[places == 4] = 0
    inputs = [pg.tensor(a, requires_grad=True) for a in (x, calm)]

    def product(t, u):
        return pg.scatter_reduce(t, pg.asarray(places), u, "prod", axis=0)

    assert pg.autograd.gradcheck(product, inputs)
    assert pg.autograd.gradgradcheck(product, inputs, fast_mode=True)


def test_a_mean_of_integers_is_rounded_down():
    x, places = pg.asarray([-5, 4]), pg.asarray([0, 0, 1])
    values = pg.asarray([2, 2, 9])
    assert_close(pg.scatter_reduce(x, places, values, "mean", axis=0), [-1, 6])


def test_what_cannot_be_scattered_is_said():
    x, one = pg.zeros((2, 3)), pg.asarray([[0]])
    with pytest.raises(OutOfRangeError, match="index"):
        pg.scatter(x, pg.asarray([[3]]), 1.0, axis=1)
    with pytest.raises(OutOfRangeError, match=r"from 3 to 3.*length 3.*go from -3 to 2"):
        pg.scatter_reduce(x, pg.asarray([[3]]), 1.0, "mean", axis=1)
    with pytest.raises(OutOfRangeError, match=r"3 is out of range.*scatter.*-3 to 2"):
        pg.scatter(pg.zeros(3, device="strict:cpu"), pg.tensor([3], device="strict:cpu"), 1, 0)
    with pytest.raises(DtypeError, match=r"integers, not float32.*scatter_add.*int64"):
        pg.scatter_add(x, one * 1.0, 1.0, axis=1)
    with pytest.raises(ShapeError, match=r"indices of shape \(1,\).*need its rank"):
        pg.scatter(x, pg.asarray([0]), 1.0, axis=1)
    with pytest.raises(ShapeError, match=r"indices of shape \(3, 1\).*axis 1.*may be longer"):
        pg.scatter(x, pg.zeros((3, 1), dtype=pg.int64), 1.0, axis=1)
    with pytest.raises(ShapeError, match=r"\(1, 1\) indices for values.*a value for each"):
        pg.scatter(x, one, pg.zeros((0, 1)), axis=1)
    with pytest.raises(ShapeError, match=r"\(2, 1\) indices for values.*put_along_axis"):
        pg.put_along_axis(x, one, pg.zeros((2, 1, 1)))
    with pytest.raises(InvalidArgumentError, match=r"no reduction 'max'.*argument reduce.*amax"):
        pg.scatter_reduce(x, one, 1.0, "max", axis=1)
    with pytest.raises(DtypeError, match=r"amax is not defined for complex.*pg\.astype"):
        pg.scatter_reduce(x * 1j, one, 1.0, "amax", axis=1)
    with pytest.raises(ShapeError, match=r"one value fills.*index_fill.*index_copy"):
        pg.index_fill(x, pg.asarray([0]), pg.zeros(2), axis=0)
    with pytest.raises(ShapeError, match=r"values of shape \(3, 3\).*index_copy.*would read"):
        pg.index_copy(x, pg.asarray([0]), pg.zeros((3, 3)), axis=0)


# ---- masks --------------------------------------------------------------------------------------
def test_a_filled_place_has_no_part_in_the_gradient():
    (g,) = gradients(lambda t: pg.masked_fill(pg.sqrt(t), t == 0, 7.0), [0.0, 4.0])
    assert_close(g, [0, 0.25])


def test_what_masks_cannot_do_is_said():
    x, mask = pg.zeros(3), pg.asarray([True, True, False])
    with pytest.raises(DtypeError, match=r"truth values, not int64.*masked_select.*mask != 0"):
        pg.masked_select(x, pg.asarray([1, 0, 1]))
    with pytest.raises(ShapeError, match=r"mask of shape \(3,\).*\(2,\).*must broadcast"):
        pg.masked_fill(pg.zeros(2), mask, 1)
    with pytest.raises(ShapeError, match=r"one value.*masked_fill.*masked_scatter"):
        pg.masked_fill(x, mask, pg.zeros(2))
    with pytest.raises(ShapeError, match=r"1 values for 2 places.*masked_scatter.*at least one"):
        pg.masked_scatter(x, mask, pg.zeros(1))


# ---- diagonals, products ------------------------------------------------------------------------
def test_diagonals_that_are_not_there():
    x = pg.ones((2, 3))
    assert pg.diagonal(x, 7).shape == (0,)
    assert pg.trace(x, -7) == 0
    assert pg.block_diag().shape == (1, 0)
    assert pg.vander(pg.ones(2), 0).shape == (2, 0)
    assert_close(pg.vander(pg.zeros(1), 1), [[1]])
    with pytest.raises(InvalidArgumentError, match=r"axes 0 and -2 are the same.*two axes"):
        pg.diagonal(x, 0, 0, -2)
    with pytest.raises(ShapeError, match=r"no diagonal.*trace.*two axes"):
        pg.trace(pg.ones(3))
    with pytest.raises(InvalidTypeError, match=r"1\.5 is no int.*diagonal, argument offset"):
        pg.diagonal(x, 1.5)
    with pytest.raises(ShapeError, match=r"block_diag.*at most two axes"):
        pg.block_diag(x, pg.ones((1, 1, 1)))
    with pytest.raises(ShapeError, match=r"last axes.*\(2, 3\) and \(2,\).*inner"):
        pg.inner(x, pg.ones(2))
    with pytest.raises(InvalidArgumentError, match=r"-1 columns.*vander"):
        pg.vander(pg.ones(2), -1)
    assert pg.norm(pg.asarray([3.0, 4.0])) == pg.asarray([3.0, 4.0]).norm() == 5


# ---- covariances --------------------------------------------------------------------------------
def test_covariances_without_freedom_and_correlations_of_constants():
    assert math.isnan(pg.cov(pg.asarray([1.0])).item())
    assert pg.cov(pg.asarray([1.0]), ddof=0) == 0
    assert np.isnan(host(pg.cov(pg.ones((2, 2)), ddof=3))).all()
    with np.errstate(invalid="ignore"):
        assert math.isnan(pg.corrcoef(pg.ones((2, 3)))[0, 1].item())
    total = pg.average(pg.ones((2, 3)), axis=0, returned=True)[1]
    assert_close(total, [2, 2, 2])
    with pytest.raises(DtypeError, match=r"frequencies are integers.*fweights.*aweights"):
        pg.cov(pg.ones((2, 3)), fweights=pg.ones(3))
    with pytest.raises(ShapeError, match=r"weights of shape \(2,\) for 3 obs.*aweights.*each"):
        pg.cov(pg.ones((2, 3)), aweights=pg.ones(2))
    with pytest.raises(ShapeError, match=r"3 observations in x and 2 in y.*corrcoef"):
        pg.corrcoef(pg.ones((2, 3)), pg.ones(2))
    with pytest.raises(ShapeError, match=r"x has 3 axes.*cov"):
        pg.cov(pg.ones((1, 2, 3)))
    with pytest.raises(ShapeError, match=r"weights of shape \(2,\).*average.*along axis"):
        pg.average(pg.ones((2, 3)), axis=1, weights=pg.ones(2))


# ---- borders ------------------------------------------------------------------------------------
def test_modes_of_borders_that_a_dtype_or_an_argument_forbids():
    x = pg.ones(3)
    with pytest.raises(InvalidArgumentError, match=r"no mode 'empty'.*constant, reflect, symm"):
        pg.pad(x, 1, mode="empty")
    with pytest.raises(InvalidArgumentError, match=r"no reflection 'strange'.*even"):
        pg.pad(x, 1, mode="reflect", reflect_type="strange")
    with pytest.raises(InvalidArgumentError, match=r"0 are not lengths above zero.*stat_length"):
        pg.pad(x, 1, mode="mean", stat_length=0)
    with pytest.raises(InvalidArgumentError, match=r"for the borders of 1 axes.*end_values.*pair"):
        pg.pad(x, 1, mode="linear_ramp", end_values=(1, 2, 3))
    with pytest.raises(DtypeError, match=r"no border of mode 'reflect'.*convert"):
        pg.pad(x > 0, 1, mode="reflect", reflect_type="odd")
    with pytest.raises(DtypeError, match=r"no order.*mode=\"mean\""):
        pg.pad(x * 1j, 1, mode="maximum")
    with pytest.raises(ShapeError, match=r"axis 0 is empty.*mode 'mean'.*constant"):
        pg.pad(pg.ones(0), 1, mode="mean")


# ---- bins and tables ----------------------------------------------------------------------------
def test_what_is_not_in_a_bin_is_not_counted():
    x = pg.asarray([-1.0, 0.0, 1.0, 2.0, NAN, INF])
    counts, edges = pg.histogram(x, bins=2, range=(0.0, 2.0))
    assert_close(counts, [1, 2])
    assert_close(edges, [0, 1, 2])
    assert counts.dtype == pg.int64
    assert pg.histogram(x, bins=[0.0])[0].shape == (0,)
    with pytest.raises(InvalidArgumentError, match=r"no bins.*finite.*histogram.*finite range"):
        pg.histogram(x)
    with pytest.raises(InvalidArgumentError, match=r"do not increase.*argument bins"):
        pg.histogram(x, bins=[1.0, 0.0])
    with pytest.raises(InvalidArgumentError, match=r"weights have no part.*'auto'"):
        pg.histogram(x, bins="auto", weights=x)
    with pytest.raises(ShapeError, match=r"weights of shape \(2,\) for 6.*one for each"):
        pg.histogram(x, bins=[0.0, 1.0], weights=pg.ones(2))
    with pytest.raises(DtypeError, match=r"no order.*histogram_bin_edges"):
        pg.histogram_bin_edges(pg.ones(2) * 1j)


def test_counts_need_integers_from_zero_on():
    for x, error, words in (
        ([0.5], DtypeError, "not float"), ([[1]], ShapeError, "2 axes"),
        ([-1], InvalidArgumentError, "-1 is negative"),
    ):  # fmt: skip
        with pytest.raises(error, match=rf"{words}.*bincount"):
            pg.bincount(pg.asarray(x))
    with pytest.raises(ShapeError, match=r"weights of shape \(2,\).*one for each"):
        pg.bincount(pg.asarray([1]), pg.ones(2))
    with pytest.raises(InvalidArgumentError, match=r"length of -1.*minlength"):
        pg.bincount(pg.asarray([1]), minlength=-1)
    with pytest.raises(InvalidArgumentError, match=r"neither increase nor decrease.*sort"):
        pg.digitize(pg.ones(2), pg.asarray([1.0, 3.0, 2.0]))
    with pytest.raises(ShapeError, match=r"edges of shape \(\).*digitize"):
        pg.digitize(pg.ones(2), pg.asarray(1.0))


def test_a_table_is_read_beyond_its_ends_and_at_its_places():
    xp, fp = [0.0, 1.0, 1.0, 3.0], [0.0, 2.0, 5.0, 1.0]
    gx, gxp, gfp = gradients(pg.interp, [-1.0, 0.0, 2.0, 3.0, 7.0, INF], xp, fp)
    assert_close(gx, [0, 2, -2, -2, 0, 0])
    assert_close(gfp, [2, 0, 0.5, 3.5])
    assert np.isfinite(gxp).all()
    x = pg.asarray([NAN, 1.0])
    assert_close(pg.interp(x, pg.asarray(xp), pg.asarray(fp)), [NAN, 5])
    assert_close(pg.interp(x, pg.ones(1), pg.ones(1) * 4, left=0, right=0), [NAN, 4])
    with pytest.raises(ShapeError, match=r"\(2,\) places and \(3,\) values.*one length"):
        pg.interp(x, pg.ones(2), pg.ones(3))
    with pytest.raises(DtypeError, match=r"complex places.*interp.*fp may be complex"):
        pg.interp(x * 1j, pg.ones(2), pg.ones(2))
    with pytest.raises(InvalidArgumentError, match=r"period of 0"):
        pg.interp(x, pg.ones(2), pg.ones(2), period=0)


def test_the_ends_of_a_line_are_met_exactly():
    x, y = pg.asarray([0.1, -3.0]), pg.asarray([0.7, 1e10])
    assert_close(pg.lerp(x, y, 0) - x, [0, 0])
    assert_close(pg.lerp(x, y, 1) - y, [0, 0])


def test_ratios_and_indices_that_cannot_be():
    for ends in ((0, 1), (1.0, -1.0), (pg.asarray([1.0, 2.0]), pg.asarray([1.0, 0.0]))):
        with pytest.raises(InvalidArgumentError, match=r"0, or two real ends.*geomspace.*linspace"):
            pg.geomspace(*ends)
    with pytest.raises(OutOfRangeError, match=r"from -1 to 6 into 6.*unravel_index.*0 to 5"):
        pg.unravel_index(pg.asarray([-1, 6]), (2, 3))
    with pytest.raises(DtypeError, match=r"integers, not float32.*unravel_index"):
        pg.unravel_index(pg.ones(1), 3)
    with pytest.raises(InvalidArgumentError, match=r"rotation in 3 axes.*name two"):
        pg.rot90(pg.ones((1, 1, 1)), axes=(0, 1, 2))
