"""Images and volumes read at places that a tensor gives: `grid_sample`, and `affine_grid`.

Note [Grid sampling]
--------------------
A place is reckoned in elements, brought into the input as `padding_mode` says, and split into the
cell that it is in and the rest. The cell says which rows of channels are gathered; the rest is what
the weights are made of. So the gradient reaches the input through the gathering and the grid
through the weights. With padding_mode="zeros" what lies outside of the input is read from a row of
zeros.

The formulas are those of M. Jaderberg et al., "Spatial Transformer Networks", NeurIPS 2015, with
PyTorch's borders. At a border where a clipped place stops moving its derivative is 0.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.dtypes import REAL
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import shape_tuple, size_of
from polygrad.ops._axes import as_tensor
from polygrad.ops.comparison import equal, not_equal
from polygrad.ops.creation import to_place
from polygrad.ops.elementwise import clip, floor, remainder, round
from polygrad.ops.filling import zeros
from polygrad.ops.indexing import take
from polygrad.ops.linear_algebra import matmul, matrix_transpose
from polygrad.ops.manipulation import expand_dims, moveaxis, reshape
from polygrad.ops.rearrangement import concat
from polygrad.ops.resampling import cubic
from polygrad.ops.searching import where
from polygrad.registry import default_integer
from polygrad.tensor import Tensor, new_tensor
from polygrad.views import detach

_table = Chapter("grid_sampling", "nn.functional")
Shape = tuple[int, ...]
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


# ---- places along one axis of length n ----------------------------------------------------------
def _in_elements(x: Tensor, n: int, aligned: bool) -> Tensor:
    """A place between -1 and 1 counted in elements; NaN is -1, as PyTorch has it.

    Places so far away that a float cannot say which element is there, as infinity, come nearer.
    """
    far = 1e6 if x.dtype.itemsize > 2 else 1e2
    x = clip(where(not_equal(x, x), -1, x), -far, far)
    made: Tensor = (x + 1) * ((n - 1) / 2) if aligned else ((x + 1) * n - 1) * 0.5
    return made


def _clipped(x: Tensor, n: int) -> Tensor:
    """Between the first and the last element; the derivative is 0 at both and beyond."""
    return where(x <= 0, 0, where(x >= n - 1, n - 1, x))  # type: ignore[no-any-return]


def _reflected(x: Tensor, n: int, aligned: bool) -> Tensor:
    """Mirrored at the outermost elements, or at their outer edges, as often as necessary."""
    low, span = (0.0, n - 1) if aligned else (-0.5, n)
    if not span:
        return x * 0
    x = x - low
    x = where(x < 0, -x, x)
    turns = floor(detach(x) / span)
    rest = x - turns * span
    return where(equal(remainder(turns, 2), 0), rest, span - rest) + low  # type: ignore[no-any-return]


def _brought_in(x: Tensor, n: int, padding: str, aligned: bool) -> Tensor:
    """Places in the input; with padding "zeros" as they are."""
    if padding == "zeros":
        return x
    return _clipped(x if padding == "border" else _reflected(x, n, aligned), n)


def _taps(
    x: Tensor, n: int, mode: str, padding: str, aligned: bool
) -> list[tuple[Tensor, Tensor | None]]:
    """(element, weight) of each neighbour along an axis; elements may be outside of it."""
    x = _in_elements(x, n, aligned)
    if mode == "nearest":
        weight = x * 0 + 1 if x.requires_grad else None  # its gradient is zero, not missing
        return [(round(detach(_brought_in(x, n, padding, aligned))), weight)]
    if mode == "bilinear":
        x = _brought_in(x, n, padding, aligned)
        first = floor(detach(x))
        return [(first, 1 - (x - first)), (first + 1, x - first)]
    first = floor(detach(x))
    weights = cubic(x - first, -0.75)
    near = [first + i for i in range(-1, 3)]
    return [
        (_brought_in(at, n, padding, aligned), w) for at, w in zip(near, weights, strict=True)
    ]


# ---- checks -------------------------------------------------------------------------------------
def _operands(input: Any, grid: Any, mode: str, padding: str) -> tuple[Tensor, Tensor]:
    x = as_tensor(input, "grid_sample, argument input")
    g = as_tensor(grid, "grid_sample, argument grid")
    where_ = f"grid_sample{describe([x, g])}"
    axes = x.ndim - 2
    if axes not in (2, 3) or g.ndim != x.ndim or g.shape[-1] != axes or g.shape[0] != x.shape[0]:
        raise ShapeError(
            f"an input of shape {x.shape} and a grid of shape {g.shape}", where_,
            "they are (batch, channels, H, W) and (batch, h, w, 2), or (batch, channels, D, H, W) "
            "and (batch, d, h, w, 3)",
        )  # fmt: skip
    if 0 in x.shape[2:]:
        raise ShapeError(
            f"an input of shape {x.shape} has nothing to sample", where_,
            "pass spatial axes of at least 1 element",
        )  # fmt: skip
    if any(t.kernels.kind != REAL for t in (x, g)):
        raise DtypeError(
            f"dtypes {x.dtype} and {g.dtype}", where_,
            "pass real floating tensors: x.to(pg.float32)",
        )  # fmt: skip
    for value, known, name in ((mode, _MODES, "mode"), (padding, _PADDINGS, "padding_mode")):
        if value not in known:
            raise InvalidArgumentError(
                f"there is no {name} {value!r}", f"grid_sample, argument {name}",
                f"choose one of {', '.join(known)}",
            )  # fmt: skip
    if mode == "bicubic" and axes == 3:
        raise InvalidArgumentError(
            "bicubic sampling of a volume", f"{where_}, argument mode",
            'use mode="bilinear" or "nearest"',
        )  # fmt: skip
    return x, g


# ---- what users call ----------------------------------------------------------------------------
def _samples(s: Any) -> Any:
    image, volume = s.real(2, 3, 4, 3), s.real(1, 2, 3, 2, 4)
    places, places_3d = s.interval(-1.4, 1.4, 2, 2, 3, 2), s.interval(-1.2, 1.2, 1, 2, 1, 3, 3)
    return [
        ((image, places), {}), ((image, places), {"align_corners": True, "padding_mode": "border"}),
        ((image, places), {"padding_mode": "reflection"}), ((image, places), {"mode": "nearest"}),
        ((image, places), {"mode": "bicubic", "padding_mode": "reflection", "align_corners": True}),
        ((image, places), {"mode": "bicubic"}), ((volume, places_3d), {}),
        ((volume, places_3d), {"padding_mode": "reflection", "align_corners": True}),
        ((image, places[:, :0]), {}),
    ]  # fmt: skip


@_table.public(samples=_samples)
def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """An image or a volume read at the places of a grid.

    Parameters
    ----------
    input
        (batch, channels, H, W) or (batch, channels, D, H, W).
    grid
        (batch, h, w, 2) or (batch, d, h, w, 3): for each output the place (x, y) or (x, y, z), the
        last spatial axis first, from -1 to 1 over the input. NaN counts as -1.
    mode
        "bilinear", lines along each axis; "nearest"; "bicubic", for images.
    padding_mode
        What lies outside: "zeros"; "border", the outermost elements; "reflection", the inside
        mirrored.
    align_corners
        Whether -1 and 1 are the middles of the outermost elements; by default their outer edges.

    Returns
    -------
    Tensor
        (batch, channels, h, w) or (batch, channels, d, h, w), of the dtype of `input`.

    Raises
    ------
    ShapeError, DtypeError, InvalidArgumentError
        The shapes do not fit; an operand is not real; there is no such mode.

    Notes
    -----
    Both operands have gradients; with "nearest" that of the grid is zero. See Note [Grid sampling]
    in polygrad/ops/grid_sampling.py for the formulas and their source.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    >>> grid = pg.tensor([[[[0.0, 0.0], [0.5, -0.5]]]])
    >>> pg.nn.functional.grid_sample(x, grid)
    tensor([[[[1.5, 1. ]]]], dtype=float32)
    """
    x, places = _operands(input, grid, mode, padding_mode)
    batch, channels, *size = x.shape
    axes = len(size)
    out_size = places.shape[1:-1]
    places = reshape(places, (batch, size_of(out_size), axes))
    per_axis = [
        _taps(places[:, :, axes - 1 - i], n, mode, padding_mode, bool(align_corners))
        for i, n in enumerate(size)
    ]
    rows = reshape(moveaxis(x, 1, -1), (batch * size_of(tuple(size)), channels))
    if padding_mode == "zeros":  # the last row is what lies outside
        rows = concat([rows, zeros((1, channels), dtype=x.dtype, device=x.device)])
    lead = np.arange(batch).reshape(-1, 1)
    total: Any = None
    for corner in itertools.product(*per_axis):
        part = _corner(rows, corner, tuple(size), lead, outside=padding_mode == "zeros")
        total = part if total is None else total + part
    total = to_place(total, x.dtype)
    return reshape(moveaxis(total, -1, 1), (batch, channels, *out_size))


def _corner(
    rows: Tensor, corner: tuple[tuple[Tensor, Tensor | None], ...], size: Shape, lead: Any, *,
    outside: bool,
) -> Tensor:  # fmt: skip
    """The rows of one neighbour of each place, (batch, places, channels), times their weights."""
    integer = default_integer(rows.device)
    first = corner[0][0]
    k = first.kernels.backend.kernels(first.device, integer)
    at: Any = new_tensor(k.from_numpy(lead), k)
    weight: Any = None
    inside: Any = None
    for (place, w), n in zip(corner, size, strict=True):
        at = at * n + to_place(clip(place, 0, n - 1), integer)
        if w is not None:
            weight = w if weight is None else weight * w
        if outside:
            here = (place >= 0) & (place <= n - 1)
            inside = here if inside is None else inside & here
    if inside is not None:
        at = where(inside, at, rows.shape[0] - 1)
    found = take(rows, at, axis=0)
    return found if weight is None else found * expand_dims(weight, axis=-1)


def _base(n: int, aligned: bool) -> np.ndarray[Any, Any]:
    """The middles of n elements, from -1 to 1."""
    if n == 1:
        return np.zeros(1)
    base = np.linspace(-1, 1, n)
    return base if aligned else base * (n - 1) / n


@_table.public(samples=lambda s: [
    ((s.real(2, 2, 3), (2, 1, 3, 4)), {}),
    ((s.real(1, 2, 3), (1, 1, 2, 1)), {"align_corners": True}),
    ((s.real(2, 3, 4), (2, 1, 2, 3, 2)), {"align_corners": False}),
    ((s.real(0, 2, 3), (0, 1, 3, 4)), {}),
])  # fmt: skip
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Tensor:
    """The places that an affine map reads an image or a volume at, for `grid_sample`.

    Parameters
    ----------
    theta
        (batch, 2, 3) or (batch, 3, 4): matrices that are applied to (x, y, 1) or (x, y, z, 1).
    size
        The shape of the output of `grid_sample`, (batch, channels, h, w) or (…, d, h, w).
    align_corners
        As of `grid_sample`.

    Returns
    -------
    Tensor
        (batch, h, w, 2) or (batch, d, h, w, 3).

    Raises
    ------
    ShapeError, DtypeError
        The shapes do not fit; `theta` is not floating.

    Examples
    --------
    >>> import polygrad as pg
    >>> theta = pg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> pg.nn.functional.affine_grid(theta, (1, 1, 1, 2))
    tensor([[[[-0.5,  0. ],
              [ 0.5,  0. ]]]], dtype=float32)
    """
    t = as_tensor(theta, "affine_grid, argument theta")
    shape = shape_tuple(size, "affine_grid, argument size")
    axes = len(shape) - 2
    if axes not in (2, 3) or t.shape != (shape[0], axes, axes + 1):
        raise ShapeError(
            f"matrices of shape {t.shape} for a size of {shape}", f"affine_grid{describe([t])}",
            "they are (batch, 2, 3) for a size of 4 numbers, (batch, 3, 4) for one of 5",
        )  # fmt: skip
    if not t.kernels.inexact:
        raise DtypeError(
            f"matrices of dtype {t.dtype}", f"affine_grid{describe([t])}",
            "convert them: theta.to(pg.float32)",
        )  # fmt: skip
    bases = [_base(n, bool(align_corners)) for n in reversed(shape[2:])]
    mesh = [np.moveaxis(m, range(axes), range(axes - 1, -1, -1))
            for m in np.meshgrid(*bases, indexing="ij")]  # fmt: skip
    points = np.stack([*mesh, np.ones(mesh[0].shape)], axis=-1).reshape(-1, axes + 1)
    k = t.kernels
    out = matmul(new_tensor(k.from_numpy(points), k), matrix_transpose(t))
    return reshape(out, (shape[0], *shape[2:], axes))
