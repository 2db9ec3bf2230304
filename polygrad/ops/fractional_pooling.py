"""Max pooling over windows whose distances are drawn, to an output of a given size.

Source: Graham, "Fractional max-pooling" (2014): of m windows of length k along an axis of length n,
with a = (n - k) / (m - 1) and u drawn from [0, 1), window i < m - 1 begins at
floor((i + u) a) - floor(u a), and the last one at n - k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad import streams
from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.ops._axes import as_tensor
from polygrad.ops._windows import Shape, per_axis
from polygrad.ops.adaptive_pooling import largest_of
from polygrad.ops.creation import as_floating
from polygrad.ops.indexing import index_tensor, take_along_axis
from polygrad.ops.manipulation import reshape
from polygrad.ops.pooling import spatial
from polygrad.tensor import Tensor, on_host

_table = Chapter("fractional_pooling", "nn.functional")
Host = np.ndarray[Any, Any]


# ---- checks -------------------------------------------------------------------------------------
def check_ratio(output_ratio: Any, axes: int, where: str) -> tuple[float, ...]:
    """The shares of the input's lengths, one for each axis.

    Raises
    ------
    InvalidArgumentError
        One is not between 0 and 1, or there are too few of them.
    """
    several = isinstance(output_ratio, (tuple, list))
    found = tuple(output_ratio) if several else (output_ratio,) * axes
    if len(found) != axes or not all(0 < ratio < 1 for ratio in found):
        raise InvalidArgumentError(
            f"an output ratio of {output_ratio}", f"{where}, argument output_ratio",
            f"pass a number between 0 and 1, or {axes} of them",
        )  # fmt: skip
    return found


def check_goal(output_size: Any, output_ratio: Any, where: str) -> None:
    """Refuse to be told none or both of what the output's size is to be.

    Raises
    ------
    InvalidArgumentError
        It is so.
    """
    if (output_size is None) == (output_ratio is None):
        raise InvalidArgumentError(
            f"output_size={output_size} and output_ratio={output_ratio}", where,
            "pass one of the two",
        )  # fmt: skip


def _sizes(x: Tensor, kernel: Shape, output_size: Any, output_ratio: Any, where: str) -> Shape:
    """The output's lengths, to which the windows fit."""
    check_goal(output_size, output_ratio, where)
    axes = len(kernel)
    size = x.shape[x.ndim - axes :]
    if output_size is None:
        ratio = check_ratio(output_ratio, axes, where)
        output_size = tuple(int(n * r) for n, r in zip(size, ratio, strict=True))
    sizes = per_axis(output_size, axes, f"{where}, argument output_size")
    if any(m + k - 1 > n for n, m, k in zip(size, sizes, kernel, strict=True)):
        raise ShapeError(
            f"{sizes} windows of {kernel} elements in spatial axes of {size}",
            f"{where}{describe([x])}", "windows + elements - 1 may not be greater than the axis",
        )  # fmt: skip
    return sizes


def _samples(given: Any, x: Tensor, axes: int, where: str) -> Host:
    """The numbers u (batch, channels, axes) on the host, drawn if they are not given."""
    batch = x.shape[: x.ndim - axes] if x.ndim == axes + 2 else (1, *x.shape[: x.ndim - axes])
    shape = (*batch, axes)
    if given is None:
        halves = streams.default_generator.halves(size_of(shape))
        return streams.half_units(halves).reshape(shape)  # float32, whatever x is
    found = np.asarray(given, x.dtype) if isinstance(given, (list, tuple)) else (
        on_host(as_tensor(given, f"{where}, argument _random_samples"))
    )  # fmt: skip
    if found.shape != shape or not ((found >= 0) & (found <= 1)).all():
        raise ShapeError(
            f"samples of shape {found.shape}", f"{where}{describe([x])}, argument _random_samples",
            f"pass numbers in [0, 1] of shape {shape}, (batch, channels, axes)",
        )  # fmt: skip
    return found


# ---- windows ------------------------------------------------------------------------------------
def _starts(u: Host, n: int, m: int, k: int) -> Host:
    """Where the windows along one axis begin, along a new last axis; in the precision of u."""
    last = np.full((*u.shape, 1), n - k)
    if m == 1:
        return last
    step = u.dtype.type(n - k) / u.dtype.type(m - 1)
    u = u[..., None]
    begin = np.trunc((np.arange(m - 1).astype(u.dtype) + u) * step) - np.trunc(u * step)
    return np.concatenate([begin.astype(np.int64), last], axis=-1)


def _places(u: Host, size: Shape, sizes: Shape, kernel: Shape, order: Shape) -> Host:
    """Positions (batch, channels, windows, elements) in the flattened spatial axes."""
    axes = len(size)
    total: Any = 0
    for i, (n, m, k) in enumerate(zip(size, sizes, kernel, strict=True)):
        along = _starts(u[..., order[i]], n, m, k)[..., None] + np.arange(k)
        shape = [1] * (2 * axes)
        shape[i], shape[axes + i] = m, k
        total = total * n + along.reshape(*u.shape[:2], *shape)
    return np.asarray(total).reshape(*u.shape[:2], size_of(sizes), size_of(kernel))


_DOC = """The largest element of each window, the windows' places drawn; over {axes} spatial axes.

The numbers are drawn on the host, so they are the same on every device.

Parameters
----------
input
    (batch, channels, {sizes}), or without the batch axis.
kernel_size
    Of the windows: an int, or one for each axis.
output_size
    How many windows: an int, or one for each axis.
output_ratio
    Or their share of the input's lengths: a number between 0 and 1, or one for each axis.
return_indices
    Also return where the elements were: positions in the flattened spatial axes, int64.
_random_samples
    The numbers in [0, 1), of shape (batch, channels, {axes}), in place of those that are drawn.

Returns
-------
Tensor, or a pair of them
    Of equal elements, the gradient goes to the first.

Raises
------
ShapeError, InvalidArgumentError
    The windows do not fit; not one of output_size and output_ratio is given, or out of its domain.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.{name}(pg.ones((1, 2, {eights})), 2, output_ratio=0.5).shape
(1, 2, {fours})
"""
# Which of the numbers is for which axis: PyTorch's two are for width and height.
_ORDER: dict[int, Shape] = {2: (1, 0), 3: (0, 1, 2)}


def _make(axes: int) -> Any:
    """The function for a number of spatial axes."""
    name = f"fractional_max_pool{axes}d"

    def function(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        x = as_floating(spatial(input, axes, name))
        kernel = per_axis(kernel_size, axes, f"{name}, argument kernel_size")
        sizes = _sizes(x, kernel, output_size, output_ratio, name)
        size, lead = x.shape[x.ndim - axes :], x.shape[: x.ndim - axes]
        u = _samples(_random_samples, x, axes, name)
        host = _places(u, size, sizes, kernel, _ORDER[axes])
        places = index_tensor(host.reshape(*lead, *host.shape[2:]), x)
        flat = reshape(x, (*lead, size_of(size)))
        every = reshape(places, (*lead, size_of(sizes) * size_of(kernel)))
        elements = reshape(take_along_axis(flat.detach(), every, axis=-1), places.shape)
        out, found = largest_of(flat, elements, places, (*lead, *sizes))
        return (out, found) if return_indices else out

    words = {k: ", ".join(v * axes) for k, v in (("sizes", "n"), ("eights", "8"), ("fours", "4"))}
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(name=name, axes=axes, **words)
    return _table.public(samples=lambda s: [
        ((s.distinct(1, 2, *(5, 4, 6)[:axes]), 2, 2), {"_random_samples": [[[0.3] * axes] * 2]}),
        ((s.distinct(2, *(5, 4, 6)[:axes]), (2, 1, 3)[:axes]),
         {"output_ratio": 0.6, "_random_samples": [[[0.1, 0.6, 0.9][:axes]] * 2]}),
        ((s.distinct(1, 1, *(3, 4, 3)[:axes]), 3, 1), {}),
    ])(function)  # fmt: skip


fractional_max_pool2d, fractional_max_pool3d = _make(2), _make(3)
