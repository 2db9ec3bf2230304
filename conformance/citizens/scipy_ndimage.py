"""scipy.ndimage: all of it is computed by compiled code."""

from __future__ import annotations

from scipy import ndimage

from citizens.calls import Table, between, like, normal, positive, spread

TABLE = Table("scipy")
row = TABLE.row

row("ndimage.gaussian_filter", lambda x: ndimage.gaussian_filter(x, 1.0), normal(5, 4))
row("ndimage.uniform_filter", lambda x: ndimage.uniform_filter(x, 3), normal(5, 4))
row("ndimage.sobel", lambda x: ndimage.sobel(x, axis=0), normal(5, 4))
row("ndimage.laplace", ndimage.laplace, normal(5, 4))
row("ndimage.zoom", lambda x: ndimage.zoom(x, 1.5), normal(4, 4))
row("ndimage.shift", lambda x: ndimage.shift(x, 0.4), normal(5, 4))
row("ndimage.rotate", lambda x: ndimage.rotate(x, 20.0, reshape=False), normal(4, 4))
row("ndimage.median_filter", lambda x: ndimage.median_filter(x, 3), spread(4, 4))
row("ndimage.maximum_filter", lambda x: ndimage.maximum_filter(x, 3), spread(4, 4))
row("ndimage.mean", lambda x: ndimage.mean(x, like(x, [0, 0, 1, 1, 2]), like(x, [0, 1, 2])),
    normal(5))  # fmt: skip
row("ndimage.standard_deviation",
    lambda x: ndimage.standard_deviation(x, like(x, [0, 0, 1, 1, 1]), like(x, [0, 1])), normal(5))
row("ndimage.center_of_mass", lambda x: ndimage.center_of_mass(x), positive(4, 3))
row("ndimage.spline_filter", ndimage.spline_filter, normal(4, 4))
row("ndimage.grey_dilation", lambda x: ndimage.grey_dilation(x, size=(3, 3)), spread(4, 4))
row("ndimage.distance_transform_edt", lambda x: ndimage.distance_transform_edt(x > 0.0),
    spread(4, 4))  # fmt: skip
row("ndimage.vectorized_filter",
    lambda x: ndimage.vectorized_filter(x, _mean, size=3), normal(6))
row("ndimage.convolve", ndimage.convolve, normal(5, 4), normal(3, 3))
row("ndimage.map_coordinates(order=1)",
    lambda x, c: ndimage.map_coordinates(x, c, order=1), normal(4, 4), between(0.1, 2.9, 2, 3))
row("ndimage.affine_transform",
    lambda x: ndimage.affine_transform(x, like(x, [[0.9, 0.1], [-0.1, 0.9]])), normal(4, 4))


def _mean(x: object, axis: object) -> object:
    from citizens.calls import namespace

    return namespace(x).mean(x, axis=axis)
