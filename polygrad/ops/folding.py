"""Windows of images as columns of matrices, and back: two linear maps, each the other's adjoint."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import ShapeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.ops._axes import as_tensor
from polygrad.ops._windows import (
    Geometry,
    Shape,
    check_windows,
    columns,
    from_columns,
    per_axis,
    swap,
)
from polygrad.ops.manipulation import reshape
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("folding", "nn.functional")


def _unfold(F: Any, x: Any, geometry: Any) -> Any:
    """The windows of x (batch, channels, *size), as (batch, channels * places, windows)."""
    found = columns(F, swap(F, x), Geometry(*geometry))
    found = F.xp.permute_dims(found, (2, 0, 1, *range(3, found.ndim)))
    channels = found.shape[1] * found.shape[2]
    return F.xp.reshape(found, (found.shape[0], channels, size_of(found.shape[3:])))


def _fold(F: Any, x: Any, size: Shape, geometry: Any) -> Any:
    """The adjoint of `_unfold`."""
    geometry = Geometry(*geometry)
    places = size_of(geometry.kernel)
    shape = (x.shape[0], x.shape[1] // places, places, *geometry.windows(size))
    parts = F.xp.reshape(x, shape)
    parts = F.xp.permute_dims(parts, (1, 2, 0, *range(3, parts.ndim)))
    return swap(F, from_columns(F, parts, size, geometry))


# fmt: off
unfold_primitive = Primitive(
    "unfold", ("x",),
    {"x": lambda g, F, x_shape, geometry: F.fold(g, size=x_shape[2:], geometry=geometry)},
    forward=_unfold, keywords={"geometry": ()},
)
fold_primitive = Primitive(
    "fold", ("x",), {"x": lambda g, F, geometry: F.unfold(g, geometry=geometry)},
    forward=_fold, keywords={"size": (), "geometry": ()},
)
# fmt: on


def _geometry(kernel: Any, dilation: Any, padding: Any, stride: Any, where: str) -> Geometry:
    return Geometry(
        per_axis(kernel, 2, f"{where}, argument kernel_size"),
        per_axis(stride, 2, f"{where}, argument stride"),
        tuple((p, p) for p in per_axis(padding, 2, f"{where}, argument padding", low=0)),
        per_axis(dilation, 2, f"{where}, argument dilation"),
    )


@_table.public(samples=lambda s: [
    ((s.real(2, 3, 5, 4), (3, 2)), {}), ((s.real(3, 5, 4), 2), {"stride": 2}),
    ((s.real(1, 2, 5, 6), 2), {"dilation": 2, "padding": (1, 2), "stride": (2, 1)}),
])  # fmt: skip
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """All windows of images, each as one column.

    Parameters
    ----------
    input
        (batch, channels, height, width), or without the batch axis.
    kernel_size, dilation, padding, stride
        Of the windows: an int, or one for each axis.

    Returns
    -------
    Tensor
        (batch, channels * kernel height * kernel width, windows).

    Raises
    ------
    ShapeError, InvalidArgumentError, InvalidTypeError
        The kernel does not fit; an argument is out of its domain.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.unfold(pg.ones((1, 2, 4, 4)), 3).shape
    (1, 18, 4)
    """
    x = as_tensor(input, "unfold, argument input")
    if x.ndim not in (3, 4):
        raise ShapeError(
            f"an input of shape {x.shape}", f"unfold{describe([x])}",
            "its axes are (batch, channels, height, width), or all but the batch",
        )  # fmt: skip
    geometry = _geometry(kernel_size, dilation, padding, stride, "unfold")
    check_windows(geometry, x.shape[-2:], "unfold", (x,))
    out = unfold_primitive.call(
        reshape(x, (1, *x.shape)) if x.ndim == 3 else x, geometry=tuple(geometry)
    )
    return reshape(out, out.shape[1:]) if x.ndim == 3 else out


@_table.public(samples=lambda s: [
    ((s.real(2, 18, 9), (5, 4), (3, 2)), {}), ((s.real(12, 4), (5, 4), 2), {"stride": 2}),
    ((s.real(1, 8, 24), (5, 6), 2), {"dilation": 2, "padding": (1, 2), "stride": (2, 1)}),
])  # fmt: skip
def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
    stride: Any = 1,
) -> Tensor:  # fmt: skip
    """Add up columns at the places `unfold` takes them from: the adjoint of `unfold`.

    Parameters
    ----------
    input
        (batch, channels * kernel height * kernel width, windows), or without the batch axis.
    output_size
        Height and width of the result.
    kernel_size, dilation, padding, stride
        As for `unfold`.

    Returns
    -------
    Tensor
        (batch, channels, *output_size).

    Raises
    ------
    ShapeError, InvalidArgumentError, InvalidTypeError
        The input has not the shape that `unfold` makes of such an image.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.fold(pg.ones((1, 4, 4)), 3, 2)[0, 0, 1]
    tensor([2., 4., 2.], dtype=float32)
    """
    x = as_tensor(input, "fold, argument input")
    size = per_axis(output_size, 2, "fold, argument output_size")
    geometry = _geometry(kernel_size, dilation, padding, stride, "fold")
    windows = check_windows(geometry, size, "fold, arguments output_size and kernel_size")
    places = size_of(geometry.kernel)
    if x.ndim not in (2, 3) or x.shape[-1] != size_of(windows) or x.shape[-2] % places:
        raise ShapeError(
            f"an input of shape {x.shape}", f"fold{describe([x])}",
            f"its last axes are a multiple of {places}, and {size_of(windows)} windows",
        )  # fmt: skip
    out = fold_primitive.call(
        reshape(x, (1, *x.shape)) if x.ndim == 2 else x, size=size, geometry=tuple(geometry)
    )
    return reshape(out, out.shape[1:]) if x.ndim == 2 else out
