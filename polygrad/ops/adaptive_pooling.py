"""Pooling to an output of a given size, by windows of nearly equal lengths.

Along an axis of length n, of m outputs output i is of the elements from floor(i n / m) to
ceil((i + 1) n / m). Where m divides n these are the windows of ordinary pooling. Elsewhere means
are products with one matrix for each axis, and maxima are looked up among the elements of each
window.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.ops._windows import Geometry, Shape
from polygrad.ops.creation import as_floating
from polygrad.ops.indexing import index_tensor, take, take_along_axis
from polygrad.ops.linear_algebra import matmul
from polygrad.ops.manipulation import broadcast_to, moveaxis, reshape
from polygrad.ops.pooling import max_pool1d, max_pool2d, max_pool3d, mean_of_windows, spatial
from polygrad.ops.searching import argmax
from polygrad.tensor import Tensor, new_tensor

_table = Chapter("adaptive_pooling", "nn.functional")
_MAX_POOL = {1: max_pool1d, 2: max_pool2d, 3: max_pool3d}


def _sizes(x: Tensor, output_size: Any, axes: int, where: str) -> Shape:
    """The output's lengths; None keeps one."""
    single = not isinstance(output_size, (tuple, list))
    entries = (output_size,) * axes if single else tuple(output_size)
    size = x.shape[x.ndim - axes :]
    if len(entries) != axes:
        raise InvalidArgumentError(
            f"an output size of {len(entries)} entries for {axes} spatial axes",
            f"{where}, argument output_size", f"pass an int, or {axes} of them",
        )  # fmt: skip
    try:
        found = tuple(
            n if m is None else int(m.__index__()) for m, n in zip(entries, size, strict=True)
        )
    except AttributeError:
        raise InvalidTypeError(
            f"{output_size!r} is no output size", f"{where}, argument output_size",
            "pass ints, or None to keep a length",
        ) from None  # fmt: skip
    if any(m < 1 for m in found):
        raise InvalidArgumentError(
            f"an output size of {found}", f"{where}, argument output_size",
            "pass numbers of at least 1",
        )  # fmt: skip
    return found


def _ends(n: int, m: int) -> list[tuple[int, int]]:
    """Where each window begins and ends."""
    return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


def _mean(x: Tensor, sizes: Shape) -> Tensor:
    axes = len(sizes)
    size = x.shape[x.ndim - axes :]
    if all(n % m == 0 for n, m in zip(size, sizes, strict=True)):
        kernel = tuple(n // m for n, m in zip(size, sizes, strict=True))
        geometry = Geometry(kernel, kernel, ((0, 0),) * axes, (1,) * axes)
        return mean_of_windows(x, geometry, (0,) * axes, include=True)
    x = as_floating(x)
    for axis, (n, m) in enumerate(zip(size, sizes, strict=True), start=x.ndim - axes):
        weights = np.zeros((n, m))
        for i, (start, end) in enumerate(_ends(n, m)):
            weights[start:end, i] = 1 / (end - start)
        matrix = new_tensor(x.kernels.constant(weights), x.kernels)
        x = moveaxis(matmul(moveaxis(x, axis, -1), matrix), -1, axis)
    return x


def _candidates(size: Shape, sizes: Shape) -> np.ndarray[Any, Any]:
    """For each output the positions of its window in the flattened axes, the last one repeated."""
    per_axis = []
    for n, m in zip(size, sizes, strict=True):
        ends = _ends(n, m)
        longest = max(end - start for start, end in ends)
        per_axis.append([[min(s + j, e - 1) for j in range(longest)] for s, e in ends])
    return np.array([
        [np.ravel_multi_index(place, size) for place in itertools.product(*window)]
        for window in itertools.product(*per_axis)
    ])  # fmt: skip


def _largest(x: Tensor, sizes: Shape, indices: bool) -> Any:
    axes = len(sizes)
    size = x.shape[x.ndim - axes :]
    if all(n % m == 0 for n, m in zip(size, sizes, strict=True)):
        kernel = tuple(n // m for n, m in zip(size, sizes, strict=True))
        return _MAX_POOL[axes](x, kernel, return_indices=indices)
    lead = x.shape[: x.ndim - axes]
    flat = reshape(x, (*lead, size_of(size)))
    places = index_tensor(_candidates(size, sizes), x, of_shapes=True)
    elements = take(flat.detach(), places, axis=-1)
    places = broadcast_to(places, (*lead, *places.shape))
    out, found = largest_of(flat, elements, places, (*lead, *sizes))
    return (out, found) if indices else out


def largest_of(
    flat: Tensor, elements: Tensor, places: Tensor, shape: Shape
) -> tuple[Tensor, Tensor]:
    """The largest of the elements of each window along the last axis, and its place in `flat`.

    `places` says where in the last axis of `flat` the elements are from; `shape` is the result's.
    """
    best = argmax(elements, axis=-1, keepdims=True)
    lead = flat.shape[:-1]
    found = reshape(take_along_axis(places, best, axis=-1), (*lead, places.shape[-2]))
    out = reshape(take_along_axis(flat, found, axis=-1), shape)
    return out, reshape(found, shape)


_DOC = """{what} each of so many windows over {axes} spatial axes as the output is to have.

Parameters
----------
input
    (batch, channels, {sizes}), or without the batch axis.
output_size
    An int, or one for each axis; None keeps a length.
{more}
Raises
------
ShapeError, InvalidArgumentError, InvalidTypeError
    The input has another number of axes; the output size is none.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.{name}(pg.ones((1, 2, {fours})), 3).shape
(1, 2, {threes})
"""
_INDICES = """return_indices
    Also return where the elements were: positions in the flattened spatial axes, int64.
"""


def _named(function: Any, name: str, axes: int, **more: str) -> Any:
    words = {k: ", ".join(v * axes) for k, v in (("sizes", "n"), ("fours", "4"), ("threes", "3"))}
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(name=name, axes=axes, **words, **more)
    return _table.public(samples=lambda s: [
        ((s.distinct(2, 2, *(4, 6, 4)[:axes]), 2), {}),
        ((s.distinct(2, *(4, 5, 3)[:axes]), (3, None, 2)[:axes]), {}),
    ])(function)  # fmt: skip


def _make(axes: int) -> tuple[Any, Any]:
    """The two functions for a number of spatial axes."""

    def mean(input: Any, output_size: Any) -> Tensor:
        where = f"adaptive_avg_pool{axes}d"
        x = spatial(input, axes, where)
        return _mean(x, _sizes(x, output_size, axes, where))

    def largest(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        where = f"adaptive_max_pool{axes}d"
        x = spatial(input, axes, where)
        return _largest(x, _sizes(x, output_size, axes, where), return_indices)

    return (
        _named(mean, f"adaptive_avg_pool{axes}d", axes, what="The mean of", more=""),
        _named(largest, f"adaptive_max_pool{axes}d", axes, what="The largest of", more=_INDICES),
    )


adaptive_avg_pool1d, adaptive_max_pool1d = _make(1)
adaptive_avg_pool2d, adaptive_max_pool2d = _make(2)
adaptive_avg_pool3d, adaptive_max_pool3d = _make(3)
