"""Pooling by norms, and the partial inverse of max pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.ops._axes import as_tensor
from polygrad.ops._windows import Shape, per_axis
from polygrad.ops.comparison import equal
from polygrad.ops.filling import zeros
from polygrad.ops.manipulation import reshape
from polygrad.ops.pooling import avg_pool1d, avg_pool2d, avg_pool3d, spatial
from polygrad.ops.scattering import put_along_axis
from polygrad.ops.searching import where
from polygrad.tensor import Tensor

_table = Chapter("unpooling", "nn.functional")
_AVG_POOL = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}

_LP = """The p-norm of each window over {axes} spatial axes: (sum of x^p)^(1/p).

The powers are of x, not of its absolute value: for odd p a window with a negative sum gives NaN.

Parameters
----------
input
    (batch, channels, {sizes}), or without the batch axis.
norm_type
    p, a number above zero.
kernel_size, stride, ceil_mode
    As for `avg_pool{axes}d`. The sum over a window that reaches beyond the end is scaled up to a
    whole window.

Returns
-------
Tensor
    (batch, channels, …). Where the sum is 0 the gradient is 0.

Raises
------
ShapeError, InvalidArgumentError, InvalidTypeError
    The kernel does not fit; an argument is out of its domain.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.lp_pool{axes}d(pg.ones((1, 2, {fours})), 2, 2).shape
(1, 2, {twos})
"""

_UNPOOL = """Zeros, with pooled elements put back where `max_pool{axes}d` found them.

Parameters
----------
input
    (batch, channels, {sizes}), or without the batch axis.
indices
    What `max_pool{axes}d(..., return_indices=True)` gave: positions in the flattened spatial axes
    of the output, of the shape of `input`.
kernel_size, stride, padding
    Those of the pooling; `stride` is `kernel_size` if not given.
output_size
    The spatial lengths of the output, or its shape, where several were pooled to the same size;
    by default (length - 1) stride - 2 padding + kernel_size.

Returns
-------
Tensor
    (batch, channels, …). Of equal indices the last counts, and alone has a gradient.

Raises
------
ShapeError, InvalidArgumentError, OutOfRangeError, DtypeError
    The shapes differ; the output size is none that pools to the input; an index is out of range, or
    no integer.

Examples
--------
>>> import polygrad as pg
>>> F = pg.nn.functional
>>> x = pg.reshape(pg.arange({count}, dtype=pg.float32), (1, 1, {fours}))
>>> largest, places = F.max_pool{axes}d(x, 2, return_indices=True)
>>> F.max_unpool{axes}d(largest, places, 2).shape
(1, 1, {fours})
"""


def _named(function: Any, name: str, doc: str, axes: int) -> Any:
    words = {k: ", ".join(v * axes) for k, v in (("sizes", "n"), ("fours", "4"), ("twos", "2"))}
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc.format(axes=axes, count=4**axes, **words)
    return function


# ---- norms --------------------------------------------------------------------------------------
def _make_lp(axes: int) -> Any:
    """The pooling by norms over a number of spatial axes."""

    def function(
        input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Tensor:
        where_ = f"lp_pool{axes}d"
        x = spatial(input, axes, where_)
        p = float(norm_type)
        if not 0 < p < float("inf"):
            raise InvalidArgumentError(
                f"a norm of {p}", f"{where_}, argument norm_type",
                "pass a finite number above zero; for the largest element there is max_pool",
            )  # fmt: skip
        kernel = per_axis(kernel_size, axes, f"{where_}, argument kernel_size")
        mean = _AVG_POOL[axes](x**p, kernel, stride, 0, ceil_mode)
        total = mean * size_of(kernel)
        nothing = equal(total, 0)
        root = where(nothing, 1, total) ** (1 / p)
        return where(nothing, 0, root)  # type: ignore[no-any-return]

    return _table.public(samples=lambda s: [
        ((s.real(2, 2, *(5, 4, 4)[:axes]), 2, 2), {}),
        ((s.positive(2, *(5, 4, 4)[:axes]), 1.5, 3), {"stride": 1}),
        ((s.positive(1, 1, *(6, 7, 5)[:axes]), 3, (3, 2, 2)[:axes]), {"ceil_mode": True}),
    ])(_named(function, f"lp_pool{axes}d", _LP, axes))  # fmt: skip


# ---- the inverse of max pooling -----------------------------------------------------------------
def _output_size(
    size: Shape, kernel: Shape, stride: Shape, padding: Shape, wanted: Any, where_: str
) -> Shape:
    """The spatial lengths of the output."""
    usual = tuple(
        (n - 1) * s - 2 * p + k for n, k, s, p in zip(size, kernel, stride, padding, strict=True)
    )
    if wanted is None:
        return usual
    entries = tuple(wanted) if isinstance(wanted, (tuple, list)) else (wanted,) * len(size)
    found = per_axis(entries[-len(size) :], len(size), f"{where_}, argument output_size")
    lengths = (len(size), len(size) + 1, len(size) + 2)
    far = any(abs(m - n) >= s for m, n, s in zip(found, usual, stride, strict=True))
    if far or len(entries) not in lengths:
        raise InvalidArgumentError(
            f"an output size of {wanted}", f"{where_}, argument output_size",
            f"pass {usual}, or lengths that are less than {stride} away from it",
        )  # fmt: skip
    return found


def _make_unpool(axes: int) -> Any:
    """The inverse of max pooling over a number of spatial axes."""

    def function(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:  # fmt: skip
        where_ = f"max_unpool{axes}d"
        x = spatial(input, axes, where_)
        places = as_tensor(indices, f"{where_}, argument indices")
        if places.shape != x.shape:
            raise ShapeError(
                f"indices of shape {places.shape} for an input of shape {x.shape}",
                f"{where_}{describe([x, places])}", "pass those that the pooling returned",
            )  # fmt: skip
        kernel = per_axis(kernel_size, axes, f"{where_}, argument kernel_size")
        stride = kernel if stride is None else per_axis(stride, axes, f"{where_}, argument stride")
        padding = per_axis(padding, axes, f"{where_}, argument padding", low=0)
        lead, size = x.shape[: x.ndim - axes], x.shape[x.ndim - axes :]
        out_size = _output_size(size, kernel, stride, padding, output_size, where_)
        flat = (*lead, size_of(size))
        empty = zeros((*lead, size_of(out_size)), dtype=x.dtype, device=x.device)
        out = put_along_axis(empty, reshape(places, flat), reshape(x, flat), axis=-1)
        return reshape(out, (*lead, *out_size))

    def sample(s: Any, lead: Shape, size: Shape) -> tuple[Any, Any]:
        """Elements, and different places for those of each channel."""
        rows = np.tile(np.arange(4), (size_of(lead), 1))
        places = s.generator.permuted(rows, axis=1)[:, : size_of(size)]
        return s.real(*lead, *size), places.reshape(*lead, *size)

    return _table.public(samples=lambda s: [
        ((*sample(s, (2, 2), (2, 2, 1)[:axes]), 2), {}),
        ((*sample(s, (1,), (2, 1, 2)[:axes]), 3), {
            "stride": 2, "padding": 1, "output_size": (4, 2, 3)[:axes],
        }),
    ])(_named(function, f"max_unpool{axes}d", _UNPOOL, axes))  # fmt: skip


lp_pool1d, lp_pool2d, lp_pool3d = (_make_lp(n) for n in (1, 2, 3))
max_unpool1d, max_unpool2d, max_unpool3d = (_make_unpool(n) for n in (1, 2, 3))
