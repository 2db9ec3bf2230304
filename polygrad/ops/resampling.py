"""Signals, images and volumes at other resolutions: `interpolate`.

Note [Resampling]
-----------------
Every mode but "area" is separable: along one axis each output is a weighted sum of a few inputs, at
places and with weights that depend on the lengths alone. `resample` is this map along one axis. Its
adjoint is a map of the same kind, with the table of places and weights transposed, so that nothing
is scattered: each input's gradient is gathered from the outputs that read it, in the same order on
every device. Infinities and NaNs reach only the outputs that are made of them.

Output i lies at s (i + 1/2) - 1/2 in the input, or at s i if corners are aligned; s is the ratio of
the lengths, n / m or (n - 1) / (m - 1), or 1 / scale_factor. The cubic weights are those of
R. Keys, "Cubic convolution interpolation for digital image processing", IEEE Trans. ASSP 29 (1981),
with a = -3/4, or -1/2 with antialiasing: PyTorch's choice.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import table
from polygrad.ops._axes import as_tensor, widened
from polygrad.ops.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor
from polygrad.views import clone

_table = Chapter("resampling", "nn.functional")
Shape = tuple[int, ...]
Host = np.ndarray[Any, Any]
# Mode, lengths of input and output, scale factor or None, whether corners are aligned.
Plan = tuple[str, int, int, float | None, bool]

_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}
# For each mode the kind of its table, and for how many spatial axes it is.
_MODES = {
    "nearest": ("nearest", (1, 2, 3)), "nearest-exact": ("nearest-exact", (1, 2, 3)),
    "linear": ("linear", (1,)), "bilinear": ("linear", (2,)), "trilinear": ("linear", (3,)),
    "bicubic": ("cubic", (2,)), "area": ("area", (1, 2, 3)),
}  # fmt: skip
_ALIGNABLE = ("linear", "bilinear", "bicubic", "trilinear")


# ---- tables of places and weights ---------------------------------------------------------------
def cubic(t: Any, a: float) -> Any:
    """Keys' weights of the four neighbours of a point at a distance t behind the second one."""

    def near(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((d - 5) * d + 8) * d * a - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _floor(x: Host) -> Host:
    """The floor; a number that rounding has left just below an integer counts as that."""
    return np.floor(x + 2.0**-30)


def _direct(plan: Plan) -> tuple[Host, Host]:
    """For each output (a row) the places it reads, and their weights; see Note [Resampling]."""
    mode, n, m, factor, aligned = plan
    if aligned:
        ratio = (n - 1) / (m - 1) if m > 1 else 0.0
    else:
        ratio = n / m if factor is None else 1 / factor
    i = np.arange(m)
    if mode.startswith("antialias"):
        return _filtered(mode, n, m, ratio)
    if mode in ("nearest", "nearest-exact"):
        source = i * ratio if mode == "nearest" else (i + 0.5) * ratio
        return np.minimum(_floor(source), n - 1).astype(int)[:, None], np.ones((m, 1))
    source = i * ratio if aligned else (i + 0.5) * ratio - 0.5
    if mode == "linear":
        source = np.clip(source, 0, n - 1)
        first = np.minimum(np.floor(source), n - 1)
        part = source - first
        places = np.stack([first, np.minimum(first + 1, n - 1)], axis=1)
        return places.astype(int), np.stack([1 - part, part], axis=1)
    first = np.floor(source)
    places = np.clip(first[:, None] + np.arange(-1, 3), 0, n - 1)
    return places.astype(int), np.stack(cubic(source - first, -0.75), axis=1)


def _filtered(mode: str, n: int, m: int, ratio: float) -> tuple[Host, Host]:
    """A triangle or Keys' kernel, as wide as the outputs are apart, normalized within the input."""
    half, a = (2, -0.5) if mode.endswith("cubic") else (1, 0.0)
    stretch = max(ratio, 1.0)
    center = (np.arange(m) + 0.5) * ratio
    start = np.maximum((center - half * stretch + 0.5).astype(int), 0)
    stop = np.minimum((center + half * stretch + 0.5).astype(int), n)
    places = start[:, None] + np.arange(max(int((stop - start).max()), 1))
    d = np.abs((places - center[:, None] + 0.5) / stretch)
    if half == 1:
        weights = np.maximum(1 - d, 0)
    else:
        far, near, _, _ = cubic(np.where(d < 1, d, d - 1), a)
        weights = np.where(d < 1, near, np.where(d < half, far, 0))
    weights = np.where(places < stop[:, None], weights, 0)
    return np.minimum(places, n - 1), weights / weights.sum(axis=1, keepdims=True)


def _transposed(places: Host, weights: Host, n: int) -> tuple[Host, Host]:
    """For each input the outputs that read it; rows are filled up with place m and weight 0."""
    m, taps = places.shape
    used = weights.ravel() != 0
    rows = places.ravel()[used]
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    rank = np.arange(rows.size) - np.searchsorted(rows, rows)
    shape = (n, int(rank.max()) + 1)
    back, strength = np.full(shape, m), np.zeros(shape)
    back[rows, rank] = np.repeat(np.arange(m), taps)[used][order]
    strength[rows, rank] = weights.ravel()[used][order]
    return back, strength


@functools.lru_cache(maxsize=256)
def _taps(plan: Plan, transposed: bool) -> tuple[tuple[tuple[Host, Host | None], ...], bool]:
    """(places, weights) of each tap, no weights if all are 1; whether a place is behind the end."""
    places, weights = _direct(plan)
    if transposed:
        places, weights = _transposed(places, weights, plan[1])
    taps = tuple(
        (at, None if (w == 1).all() else w)
        for at, w in zip(places.T, weights.T, strict=True) if (w != 0).any()
    )  # fmt: skip
    beyond = transposed and bool((places == plan[2]).any())
    return taps, beyond


# ---- along one axis -----------------------------------------------------------------------------
def _resample(F: Any, x: Any, axis: int, plan: Any, transposed: bool) -> Any:
    """See Note [Resampling]; the axis is counted from the end."""
    taps, beyond = _taps(plan, transposed)
    at = x.ndim + axis
    if beyond:
        x = F.xp.concat([x, F.zeros((*x.shape[:at], 1, *x.shape[at + 1 :]))], axis=at)
    total: Any = None
    for places, weights in taps:
        part = F.xp.take(x, table(F.backend, places, F.device), axis=at)
        if weights is not None:
            strength = F.constant(weights.reshape(-1, *(1,) * (-axis - 1)))
            if F.backend.capabilities.writeable:
                part *= strength
            else:
                part = part * strength
        if total is None:
            total = part
        elif F.backend.capabilities.writeable:
            total += part
        else:
            total = total + part
    return total


_resample_primitive = Primitive(
    "resample", ("x",),
    {
        "x": lambda g, F, axis, plan, transposed: F.resample(
            g, axis=axis, plan=plan, transposed=not transposed
        )
    },
    forward=widened(_resample), keywords={"axis": -1, "plan": (), "transposed": False},
)  # fmt: skip


# ---- checks -------------------------------------------------------------------------------------
def _entries(value: Any, axes: int, kind: type, argument: str) -> tuple[Any, ...]:
    """One number for each spatial axis, above zero."""
    found = tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
    try:
        found = tuple(v.__index__() if kind is int else float(v) for v in found)
    except (AttributeError, TypeError):
        raise InvalidTypeError(
            f"{value!r} is no {kind.__name__} or tuple of them",
            f"interpolate, argument {argument}", f"pass one, or one for each of {axes} axes",
        ) from None  # fmt: skip
    if len(found) != axes or not all(0 < v < math.inf for v in found):
        raise InvalidArgumentError(
            f"{value!r} for {axes} spatial axes", f"interpolate, argument {argument}",
            "pass one number above zero, or one for each axis",
        )  # fmt: skip
    return found


def _lengths(
    x: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[Shape, tuple[float | None, ...]]:
    """The lengths of the output, and for each axis the scale factor to compute with, or None."""
    spatial = x.shape[2:]
    axes = len(spatial)
    if (size is None) == (scale_factor is None):
        raise InvalidArgumentError(
            "both of size and scale_factor, or neither", f"interpolate{describe([x])}",
            "give one of them",
        )  # fmt: skip
    if size is not None:
        if recompute:
            raise InvalidArgumentError(
                "there is no scale factor", "interpolate, argument recompute_scale_factor",
                "leave it out, or give scale_factor in place of size",
            )  # fmt: skip
        return _entries(size, axes, int, "size"), (None,) * axes
    factors = _entries(scale_factor, axes, float, "scale_factor")
    out = tuple(math.floor(n * f) for n, f in zip(spatial, factors, strict=True))
    if any(m < 1 for m in out):
        raise InvalidArgumentError(
            f"an output of shape {out}", f"interpolate{describe([x])}, argument scale_factor",
            "pass larger factors",
        )  # fmt: skip
    return out, (None,) * axes if recompute else factors


def _check_mode(x: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    """Refuse modes that there are not, and options that are not of a mode."""
    if mode not in _MODES:
        raise InvalidArgumentError(
            f"there is no mode {mode!r}", "interpolate, argument mode",
            "choose one of " + ", ".join(_MODES),
        )  # fmt: skip
    axes = _MODES[mode][1]
    if x.ndim - 2 not in axes:
        raise ShapeError(
            f"mode {mode!r} for an input of shape {x.shape}", f"interpolate{describe([x])}",
            f"its axes are (batch, channels) and {' or '.join(map(str, axes))} spatial ones",
        )  # fmt: skip
    if 0 in x.shape[2:]:
        raise ShapeError(
            f"an input of shape {x.shape} has nothing to interpolate",
            f"interpolate{describe([x])}", "pass spatial axes of at least 1 element",
        )  # fmt: skip
    if align_corners is not None and mode not in _ALIGNABLE:
        raise InvalidArgumentError(
            f"mode {mode!r} has no corners to align", "interpolate, argument align_corners",
            "leave it out",
        )  # fmt: skip
    if antialias and mode not in ("bilinear", "bicubic"):
        raise InvalidArgumentError(
            f"mode {mode!r} has no antialiasing", "interpolate, argument antialias",
            'use mode="bilinear" or "bicubic"',
        )  # fmt: skip


# ---- what users call ----------------------------------------------------------------------------
@_table.public(samples=lambda s: [
    ((s.real(2, 1, 5),), {"size": 8}), ((s.real(1, 2, 3, 4),), {"scale_factor": 2}),
    ((s.real(1, 1, 4, 5),), {"scale_factor": (1.6, 0.7), "mode": "nearest-exact"}),
    ((s.real(2, 1, 4),), {"size": (7,), "mode": "linear", "align_corners": True}),
    ((s.real(1, 2, 3, 4),), {"size": (5, 3), "mode": "bilinear"}),
    ((s.real(1, 1, 5, 4),), {
        "scale_factor": 1.7, "mode": "bicubic", "recompute_scale_factor": True,
        "align_corners": False,
    }),
    ((s.real(1, 1, 7, 6),), {"size": (3, 8), "mode": "bilinear", "antialias": True}),
    ((s.real(1, 1, 7, 6),), {"size": (3, 2), "mode": "bicubic", "antialias": True}),
    ((s.real(1, 1, 2, 3, 2),), {"scale_factor": 1.5, "mode": "trilinear"}),
    ((s.real(1, 2, 5, 4),), {"size": (3, 2), "mode": "area"}), ((s.real(0, 2, 3),), {"size": 2}),
])  # fmt: skip
def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Other lengths of the spatial axes, by interpolation.

    Parameters
    ----------
    input
        (batch, channels, *spatial), of one to three spatial axes.
    size
        The new lengths: an int, or one for each spatial axis. It or `scale_factor` is given.
    scale_factor
        By what to multiply the lengths, a number or one for each axis; they are rounded down.
    mode
        "nearest", the element at the floor of the place; "nearest-exact", the one whose middle is
        nearest; "linear", "bilinear", "trilinear", straight lines along one, two or three axes;
        "bicubic", cubics through four neighbours along two; "area", `adaptive_avg_pool`.
    align_corners
        For lines and cubics: whether the middles of the outermost elements meet, in place of their
        outer edges.
    recompute_scale_factor
        Whether places are reckoned from the lengths in place of `scale_factor`, which differs from
        their ratio where they were rounded.
    antialias
        For "bilinear" and "bicubic": a wider kernel where the output is coarser.

    Returns
    -------
    Tensor
        (batch, channels, *new lengths), of the dtype of `input`.

    Raises
    ------
    ShapeError, InvalidArgumentError, InvalidTypeError
        The mode is not for so many axes, or does not know an option; the lengths are none.

    Notes
    -----
    See Note [Resampling] in polygrad/ops/resampling.py for the formulas and their source. An axis
    whose length is kept is left alone by lines also if its scale factor is not quite 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([[[0.0, 4.0]]])
    >>> pg.nn.functional.interpolate(x, scale_factor=2, mode="linear")
    tensor([[[0., 1., 3., 4.]]], dtype=float32)
    """
    x = as_tensor(input, "interpolate, argument input")
    _check_mode(x, mode, align_corners, antialias)
    lengths, factors = _lengths(x, size, scale_factor, recompute_scale_factor)
    kind = _MODES[mode][0]
    if kind == "area":
        out: Tensor = _AREA[len(lengths)](x, lengths)
        return out
    if not x.kernels.inexact and not kind.startswith("nearest"):
        x = x * 1.0
    kind = f"antialias-{kind}" if antialias else kind
    out = x
    for axis, (m, factor) in enumerate(zip(lengths, factors, strict=True), start=2 - x.ndim):
        n = x.shape[axis]
        # PyTorch, too, takes the lengths for these factors of images.
        whole = kind == "nearest" and len(lengths) == 2 and m in (n, 2 * n)
        if n != m or (kind in ("nearest", "cubic") and factor is not None and not whole):
            plan = (kind, n, m, None if whole else factor, bool(align_corners))
            out = _resample_primitive.call(out, axis=axis, plan=plan, transposed=False)
    return clone.call(x) if out is input else out
