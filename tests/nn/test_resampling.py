"""Resampling, sampling at grids, shuffles, borders, norms of windows, unpooling: by other means.

Expected values are loops over formulas, closed forms, or matrices written out.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.testing import assert_close
from polygrad.testing.compare import host

F = nn.functional
RNG = np.random.default_rng(0)
FLOAT = {"dtype": pg.float64}


def keys(d, a):
    """Keys' kernel at a distance."""
    d = abs(d)
    if d < 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0.0


def line(values, mode, m, aligned):
    """One axis at another length, from the kernels: every input is weighted for every output."""
    n = len(values)
    out = []
    for i in range(m):
        at = i * (n - 1) / max(m - 1, 1) if aligned else (i + 0.5) * n / m - 0.5
        if mode == "linear":
            at = min(max(at, 0), n - 1)
            out.append(sum(max(1 - abs(j - at), 0) * v for j, v in enumerate(values)))
        else:
            near = range(math.floor(at) - 1, math.floor(at) + 3)
            out.append(sum(keys(j - at, -0.75) * values[min(max(j, 0), n - 1)] for j in near))
    return out


def each_axis(x, function):
    """Applied along the spatial axes in turn."""
    for axis in range(2, x.ndim):
        x = np.apply_along_axis(function(axis - 2), axis, x)
    return x


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize(
    ("mode", "size", "lengths"),
    [
        ("linear", (5,), (8,)), ("linear", (5,), (1,)), ("bilinear", (3, 4), (5, 2)),
        ("bicubic", (3, 5), (7, 3)), ("bicubic", (1, 2), (3, 1)),
        ("trilinear", (2, 3, 2), (3, 2, 5)),
    ],
)  # fmt: skip
def test_lines_and_cubics_are_sums_over_their_kernels(mode, size, lengths, aligned):
    x = RNG.standard_normal((2, 1, *size))
    kind = "cubic" if mode == "bicubic" else "linear"
    want = each_axis(x, lambda i: lambda v: line(v, kind, lengths[i], aligned))
    got = F.interpolate(pg.tensor(x), lengths, mode=mode, align_corners=aligned)
    np.testing.assert_allclose(host(got), want, atol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(5, 3), (5, 8), (3, 7), (4, 4), (7, 1), (49, 98), (6, 49)])
def test_nearest_elements_by_whole_numbers(n, m):
    x = pg.reshape(pg.arange(n, dtype=pg.float64), (1, 1, n))
    floors = [i * n // m for i in range(m)]
    middles = [(2 * i + 1) * n // (2 * m) for i in range(m)]
    assert host(F.interpolate(x, m)).ravel().tolist() == floors
    assert host(F.interpolate(x, m, mode="nearest-exact")).ravel().tolist() == middles


def test_a_scale_factor_is_computed_with_unless_recomputed():
    x = pg.reshape(pg.arange(5, dtype=pg.float64), (1, 1, 5))
    plain = F.interpolate(x, scale_factor=1.5, mode="linear")
    again = F.interpolate(x, scale_factor=1.5, mode="linear", recompute_scale_factor=True)
    places = [min(max((i + 0.5) / 1.5 - 0.5, 0), 4) for i in range(7)]
    np.testing.assert_allclose(host(plain).ravel(), places)
    np.testing.assert_allclose(host(again), host(F.interpolate(x, 7, mode="linear")))
    assert not np.allclose(host(plain), host(again))


@pytest.mark.parametrize(("mode", "half"), [("bilinear", 1), ("bicubic", 2)])
def test_antialiasing_averages_with_a_kernel_as_wide_as_the_outputs_are_apart(mode, half):
    n, m = 9, 3
    x = RNG.standard_normal((1, 1, n, 1))
    kernel = (lambda d: max(1 - abs(d), 0)) if half == 1 else (lambda d: keys(d, -0.5))
    want = []
    for i in range(m):
        weights = [kernel((j - ((i + 0.5) * n / m - 0.5)) / (n / m)) for j in range(n)]
        want.append(np.dot(weights, x[0, 0, :, 0]) / sum(weights))
    got = F.interpolate(pg.tensor(x), (m, 1), mode=mode, antialias=True)
    np.testing.assert_allclose(host(got).ravel(), want)


def test_area_is_the_mean_of_windows():
    x = pg.reshape(pg.arange(6, dtype=pg.float64), (1, 1, 6))
    assert host(F.interpolate(x, 2, mode="area")).ravel().tolist() == [1, 4]


def test_infinities_stay_among_their_neighbours(device):
    x = pg.tensor([[[1.0, 2.0, math.inf, 4.0, 5.0]]], dtype=pg.float32, device=device)
    got = host(F.interpolate(x, 10, mode="linear")).ravel()
    assert np.isfinite(got[[0, 1, 2, 7, 8, 9]]).all()
    leaf = pg.tensor([[[1.0, 2.0, 3.0, 4.0]]], dtype=pg.float32, requires_grad=True, device=device)
    out = F.interpolate(leaf, 2)  # reads elements 0 and 2
    infinite = pg.tensor([[[math.inf, 1.0]]], dtype=pg.float32, device=device)
    (found,) = pg.autograd.grad(out, leaf, infinite)
    assert host(found).ravel().tolist() == [math.inf, 0, 1, 0]


def test_a_resampled_copy_is_no_alias():
    x = pg.ones((1, 1, 3))
    out = F.interpolate(x, 3)
    out[...] = 7
    assert host(x).max() == 1


def test_integers_keep_their_dtype_by_the_nearest():
    x = pg.reshape(pg.arange(3), (1, 1, 3))
    assert F.interpolate(x, 6).dtype == pg.int64
    assert host(F.interpolate(x, 6)).ravel().tolist() == [0, 0, 1, 1, 2, 2]
    assert host(F.interpolate(x, 2, mode="linear")).ravel().tolist() == [0.25, 1.75]


@pytest.mark.parametrize(
    ("kwargs", "shape", "error"),
    [
        ({}, (1, 1, 3), InvalidArgumentError),
        ({"size": 3, "scale_factor": 2}, (1, 1, 3), InvalidArgumentError),
        ({"size": 3, "mode": "cubic"}, (1, 1, 3), InvalidArgumentError),
        ({"size": 3, "mode": "bilinear"}, (1, 1, 3), ShapeError),
        ({"size": 3}, (1, 3), ShapeError), ({"size": 3}, (1, 1, 0), ShapeError),
        ({"size": 3, "align_corners": True}, (1, 1, 3), InvalidArgumentError),
        ({"size": 3, "antialias": True}, (1, 1, 3), InvalidArgumentError),
        ({"size": (3, 2)}, (1, 1, 3), InvalidArgumentError),
        ({"size": 0}, (1, 1, 3), InvalidArgumentError),
        ({"size": 2.5}, (1, 1, 3), InvalidTypeError),
        ({"scale_factor": 0.2}, (1, 1, 3), InvalidArgumentError),
        ({"scale_factor": math.nan}, (1, 1, 3), InvalidArgumentError),
        ({"size": 3, "recompute_scale_factor": True}, (1, 1, 3), InvalidArgumentError),
    ],
)  # fmt: skip
def test_what_cannot_be_interpolated_says_so(kwargs, shape, error):
    with pytest.raises(error, match="interpolate"):
        F.interpolate(pg.ones(shape), **kwargs)


def test_upsampling_layers():
    x = pg.tensor(RNG.standard_normal((1, 2, 3, 4)))
    assert_close(nn.UpsamplingNearest2d(scale_factor=2)(x), F.interpolate(x, scale_factor=2))
    assert_close(
        nn.UpsamplingBilinear2d((5, 3))(x),
        F.interpolate(x, (5, 3), mode="bilinear", align_corners=True),
    )
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2, mode='nearest')"


# ---- grids --------------------------------------------------------------------------------------
def read(image, y, x, padding, aligned):
    """An element of an image, also outside of it."""
    inside = []
    for at, n in ((y, image.shape[0]), (x, image.shape[1])):
        if padding == "zeros" and not 0 <= at < n:
            return 0.0
        place = at
        while padding == "reflection" and not 0 <= place < n:
            place = (-place if aligned else -1 - place) if place < 0 else (
                2 * (n - 1) - place if aligned else 2 * n - 1 - place)  # fmt: skip
        inside.append(min(max(place, 0), n - 1))
    return image[tuple(inside)]


def sampled(image, u, v, mode, padding, aligned):
    """What is at (u, v), by the sum over all elements near, each read for itself."""
    h, w = image.shape
    x, y = (
        ((t + 1) * (n - 1) / 2 if aligned else ((t + 1) * n - 1) / 2) for t, n in ((u, w), (v, h))
    )
    if mode == "nearest":
        return read(image, round(y), round(x), padding, aligned)
    kernel = (lambda d: max(1 - abs(d), 0)) if mode == "bilinear" else (lambda d: keys(d, -0.75))
    near = itertools.product(
        *(range(math.floor(t) - 1, math.floor(t) + 3) for t in (y, x))
    )
    return sum(
        kernel(y - i) * kernel(x - j) * read(image, i, j, padding, aligned) for i, j in near
    )


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_sampling_reads_the_neighbours(mode, padding, aligned, device):
    image = RNG.standard_normal((2, 2, 4, 5)).astype("float32")
    grid = RNG.uniform(-1.7, 1.7, (2, 3, 2, 2)).astype("float32")
    got = F.grid_sample(
        pg.tensor(image, device=device), pg.tensor(grid, device=device), mode, padding, aligned
    )
    want = [
        [[[sampled(plane, *uv, mode, padding, aligned) for uv in row] for row in places]
         for plane in planes]
        for planes, places in zip(image, grid, strict=True)
    ]  # fmt: skip
    np.testing.assert_allclose(host(got), want, atol=2e-5)


def test_sampling_at_the_identity_gives_the_input_in_two_and_three_dimensions():
    for axes in (2, 3):
        x = pg.tensor(RNG.standard_normal((2, 3, 4, 5, 2)[: axes + 2]))
        theta = pg.tensor(np.broadcast_to(np.eye(axes, axes + 1), (2, axes, axes + 1)).copy())
        for aligned in (True, False):
            grid = F.affine_grid(theta, x.shape, aligned)
            assert_close(F.grid_sample(x, grid, align_corners=aligned), x)


def test_sampling_a_plane_has_its_slope_as_gradient():
    columns = np.arange(5.0)
    image = pg.tensor(np.broadcast_to(columns, (1, 1, 4, 5)).copy())
    grid = pg.tensor(RNG.uniform(-0.7, 0.7, (1, 3, 3, 2)), requires_grad=True)
    pg.sum(F.grid_sample(image, grid, align_corners=True)).backward()
    np.testing.assert_allclose(host(grid.grad)[..., 0], 2.0)  # (5 - 1) / 2 elements for each unit
    np.testing.assert_allclose(host(grid.grad)[..., 1], 0.0, atol=1e-12)


def test_clipped_places_do_not_move_and_nan_is_the_first_corner():
    image = pg.tensor(RNG.standard_normal((1, 1, 3, 3)))
    grid = pg.tensor([[[[-1.0, -5.0], [math.nan, math.nan]]]], requires_grad=True, **FLOAT)
    out = F.grid_sample(image, grid, padding_mode="border", align_corners=True)
    pg.sum(out).backward()
    assert host(grid.grad)[0, 0, 0].tolist() == [0, 0]
    assert host(out).ravel().tolist() == [host(image)[0, 0, 0, 0]] * 2


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_places_at_infinity_are_far_away(mode):
    image = pg.tensor(RNG.uniform(1, 2, (1, 1, 3, 3)))
    grid = pg.tensor([[[[math.inf, math.inf], [-math.inf, 1e30]]]], requires_grad=True, **FLOAT)
    zero = F.grid_sample(image, grid, mode)
    assert host(zero.detach()).ravel().tolist() == [0, 0]
    (slope,) = pg.autograd.grad(pg.sum(zero), grid)
    assert not host(slope).any()
    edge = host(F.grid_sample(image, grid, mode, "border").detach()).ravel()
    np.testing.assert_allclose(edge, host(image)[0, 0, [2, 2], [2, 0]])
    inside = host(F.grid_sample(image, grid, mode, "reflection").detach())
    assert ((inside >= 0.5) & (inside <= 2.5)).all()


def test_what_cannot_be_sampled_says_so():
    image, grid = pg.ones((1, 1, 2, 2)), pg.zeros((1, 3, 3, 2))
    for args, error in (
        ((image, grid[..., :1]), ShapeError), ((image[0], grid), ShapeError),
        ((image[:, :, :0], grid), ShapeError), ((image, grid, "cubic"), InvalidArgumentError),
        ((image, grid, "nearest", "wrap"), InvalidArgumentError),
        ((image.to(pg.int64), grid), DtypeError),
        ((pg.ones((1, 1, 2, 2, 2)), pg.zeros((1, 1, 1, 1, 3)), "bicubic"), InvalidArgumentError),
    ):  # fmt: skip
        with pytest.raises(error, match="grid_sample"):
            F.grid_sample(*args)
    with pytest.raises(ShapeError, match="affine_grid"):
        F.affine_grid(pg.ones((1, 2, 3)), (2, 1, 3, 3))
    with pytest.raises(DtypeError, match="affine_grid"):
        F.affine_grid(pg.ones((1, 2, 3), dtype=pg.int64), (1, 1, 3, 3))


# ---- shuffles -----------------------------------------------------------------------------------
def test_pixels_are_where_the_formula_says_and_come_back():
    x = RNG.standard_normal((2, 12, 3, 2))
    out = host(F.pixel_shuffle(pg.tensor(x), 2))
    for c, i, j, y, z in itertools.product(range(3), range(2), range(2), range(3), range(2)):
        assert (out[:, c, 2 * y + i, 2 * z + j] == x[:, 4 * c + 2 * i + j, y, z]).all()
    np.testing.assert_array_equal(host(F.pixel_unshuffle(pg.tensor(out), 2)), x)
    np.testing.assert_array_equal(host(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(pg.tensor(x)))), x)


def test_channels_take_turns():
    x = pg.reshape(pg.arange(6), (1, 6, 1))
    assert host(F.channel_shuffle(x, 2)).ravel().tolist() == [0, 3, 1, 4, 2, 5]
    assert host(F.channel_shuffle(x, 3)).ravel().tolist() == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("name", ["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"])
def test_what_cannot_be_shuffled_says_so(name):
    function = getattr(F, name)
    for shape, factor, error in (
        ((1, 5, 5, 5), 2, ShapeError), ((4, 4), 2, ShapeError),
        ((1, 4, 4, 4), 0, InvalidArgumentError), ((1, 4, 4, 4), 2.0, InvalidTypeError),
    ):  # fmt: skip
        with pytest.raises(error, match=name):
            function(pg.ones(shape), factor)


# ---- borders ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "numpy_mode"),
    [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")],
)
def test_widths_come_from_the_last_axis_on(mode, numpy_mode):
    x = RNG.standard_normal((2, 3, 4, 5))
    got = F.pad(pg.tensor(x), (1, 2, 3, 0), mode)
    np.testing.assert_array_equal(
        host(got), np.pad(x, ((0, 0), (0, 0), (3, 0), (1, 2)), mode=numpy_mode)
    )


def test_negative_widths_cut():
    x = pg.tensor([[[0.0, 1.0, 2.0, 3.0]]])
    for mode, want in (
        ("constant", [2, 3, 9, 9]), ("reflect", [2, 3, 2, 1]), ("replicate", [2, 3, 3, 3]),
        ("circular", [2, 3, 2, 3]),
    ):  # fmt: skip
        value = 9 if mode == "constant" else None
        assert host(F.pad(x, (-2, 2), mode, value)).ravel().tolist() == want


def test_what_cannot_be_padded_says_so():
    x = pg.ones((1, 1, 3))
    for args, error in (
        (((1,),), InvalidArgumentError), (((1,) * 8,), InvalidArgumentError),
        (((1.5, 1),), InvalidTypeError), (((3, 0), "reflect"), ShapeError),
        (((4, 0), "circular"), ShapeError), (((-2, -2),), ShapeError),
        (((1, 1), "edge"), InvalidArgumentError), (((1, 1), "reflect", 2.0), InvalidArgumentError),
    ):  # fmt: skip
        with pytest.raises(error, match="pad"):
            F.pad(x, *args)
    with pytest.raises(InvalidArgumentError, match="ZeroPad2d"):
        nn.ZeroPad2d((1, 2, 3))
    with pytest.raises(ShapeError, match="ReflectionPad2d"):
        nn.ReflectionPad2d(1)(x[0])


def test_padding_layers_pad_as_many_axes_as_they_say():
    for axes, (layer, mode) in itertools.product(
        (1, 2, 3),
        {"ZeroPad": "constant", "ReflectionPad": "reflect", "ReplicationPad": "edge",
         "CircularPad": "wrap"}.items(),
    ):  # fmt: skip
        x = RNG.standard_normal((2, 2, 3, 4, 3)[: axes + 2])
        got = getattr(nn, f"{layer}{axes}d")(1)(pg.tensor(x))
        want = np.pad(x, [(0, 0)] * 2 + [(1, 1)] * axes, mode=mode)
        np.testing.assert_array_equal(host(got), want)
    assert host(nn.ConstantPad1d((0, 1), 2.5)(pg.zeros((1, 1)))).tolist() == [[0, 2.5]]


# ---- norms of windows, unpooling ----------------------------------------------------------------
def test_norms_of_windows():
    x = pg.tensor([[3.0, 4.0, 0.0, 0.0, 5.0]], requires_grad=True, **FLOAT)
    out = F.lp_pool1d(x, 2, 2)
    np.testing.assert_allclose(host(out.detach()), [[5, 0]])
    pg.sum(out).backward()
    np.testing.assert_allclose(host(x.grad), [[0.6, 0.8, 0, 0, 0]])
    whole = F.lp_pool1d(x.detach(), 2, 2, ceil_mode=True)
    np.testing.assert_allclose(host(whole), [[5, 0, 5 * math.sqrt(2)]])
    with pytest.raises(InvalidArgumentError, match="lp_pool2d"):
        F.lp_pool2d(pg.ones((1, 2, 2)), math.inf, 2)


def test_unpooling_puts_the_largest_back():
    for axes, size in ((1, (7,)), (2, (5, 6)), (3, (4, 5, 4))):
        x = RNG.standard_normal((2, 2, *size))
        largest, places = getattr(F, f"max_pool{axes}d")(pg.tensor(x), 2, return_indices=True)
        out = host(getattr(nn, f"MaxUnpool{axes}d")(2)(largest, places, output_size=x.shape))
        assert out.shape == x.shape
        assert ((out == x) | (out == 0)).all()
        assert (out != 0).sum() == largest.size


def test_what_cannot_be_unpooled_says_so():
    x, places = pg.ones((1, 1, 2)), pg.zeros((1, 1, 2), dtype=pg.int64)
    with pytest.raises(ShapeError, match="max_unpool1d"):
        F.max_unpool1d(x, places[..., :1], 2)
    for size in (2, (9,), (1, 1, 1, 1, 4)):
        with pytest.raises(InvalidArgumentError, match="output_size"):
            F.max_unpool1d(x, places, 2, output_size=size)


def test_softmax_of_channels():
    x = pg.tensor(RNG.standard_normal((2, 3, 4, 5)))
    assert_close(nn.Softmax2d()(x), F.softmax(x, axis=1))
    with pytest.raises(ShapeError, match="Softmax2d"):
        nn.Softmax2d()(x[0, 0])
