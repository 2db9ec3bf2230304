"""Pooling over windows: the largest element, and the mean.

Note [Winners]
--------------
`max_pool` gives, with the largest elements, the place in the kernel where each was found: of equal
ones the first, of NaNs the first NaN, never padding. Its gradient goes there and nowhere else,
through two linear maps that are each other's adjoints, `place_in_windows` and `pick_from_windows`.
All is done by one pass for each place in the kernel over all windows at once, without scattered
writes: so the order of sums is the same on every device. `window_sum` and its adjoint do the same
for means.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import size_of, upload
from polygrad.ops._axes import as_tensor
from polygrad.ops._windows import Geometry, Shape, check_windows, pad, per_axis, slices
from polygrad.ops.creation import as_floating
from polygrad.primitive import CONSTANT, Primitive
from polygrad.tensor import Tensor, new_tensor, raw

_table = Chapter("pooling", "nn.functional")


# ---- raw arrays ---------------------------------------------------------------------------------
def _parts(F: Any, x: Any, geometry: Geometry, fill: float) -> list[Any]:
    """For each place in the kernel the elements there, of all windows."""
    axes = len(geometry.kernel)
    size = x.shape[x.ndim - axes :]
    windows = geometry.windows(size)
    if geometry.padded(size) != size:
        x = pad(F, x, geometry.padding, fill)
    return [x[(..., *key)] for key in slices(geometry, windows)]


def _inner(size: Shape, geometry: Geometry) -> tuple[slice, ...]:
    """Where the input lies within its padded self."""
    return tuple(slice(lo, lo + n) for n, (lo, _) in zip(size, geometry.padding, strict=True))


def _beyond(F: Any, geometry: Geometry, size: Shape) -> list[Any] | None:
    """For each place in the kernel, in which windows it lies in the padding; None without any."""
    if geometry.padded(size) == size:
        return None
    inside = np.zeros(geometry.padded(size), bool)
    inside[_inner(size, geometry)] = True
    backend = F.backend
    keys = slices(geometry, geometry.windows(size))
    return [backend.from_numpy(~inside[key], F.device) for key in keys]


def _max_pool(F: Any, x: Any, geometry: Any) -> tuple[Any, Any]:
    """See Note [Winners]."""
    geometry = Geometry(*geometry)
    parts = _parts(F, x, geometry, -math.inf)
    out = parts[0] if len(parts) > 1 else F.backend.copy(parts[0])
    for part in parts[1:]:
        out = F.xp.maximum(out, part)
    small = len(parts) < 256 and F.backend.supports(dtypes.uint8, F.device)
    dtype = F.backend.native_dtype(dtypes.uint8 if small else dtypes.int32)
    if len(parts) == 1:
        return out, F.xp.zeros(out.shape, dtype=dtype, device=F.native_device)
    beyond = _beyond(F, geometry, x.shape[x.ndim - len(geometry.kernel) :])
    nan = F.backend.capabilities.asynchronous or F.backend.item(F.xp.any(out != out))  # noqa: PLR0124
    lost: Any = None
    places: Any = None
    for i, part in enumerate(parts[:-1]):
        miss = part != out
        if nan:
            miss = miss & (part == part)  # noqa: PLR0124  a NaN is a winner
        if beyond is not None:
            miss = miss | beyond[i]
        lost = miss if lost is None else lost & miss
        found = F.xp.astype(lost, dtype)
        places = found if places is None else places + found
    return out, places


def _place(F: Any, x: Any, places: Any, size: Shape, geometry: Any) -> Any:
    """Zeros of the pooled size, with each element of x added at the place it is of."""
    geometry = Geometry(*geometry)
    count = size_of(geometry.kernel)
    parts = (F.keep(x, places == i) if count > 1 else x for i in range(count))
    return _assemble(F, parts, x.shape[: x.ndim - len(size)], size, geometry)


def _assemble(F: Any, parts: Any, lead: Shape, size: Shape, geometry: Geometry) -> Any:
    """What is of each place in the kernel, added where it belongs in all windows."""
    out = F.zeros((*lead, *geometry.padded(size)))
    apart = all(
        s > d * (k - 1)
        for k, s, d in zip(geometry.kernel, geometry.stride, geometry.dilation, strict=True)
    )
    keys = slices(geometry, geometry.windows(size))
    for key, part in zip(keys, parts, strict=True):
        if not F.backend.capabilities.writeable:
            out = F.backend.add_at(out, (..., *key), part)
        elif apart:
            out[(..., *key)] = part
        else:
            out[(..., *key)] += part
    if geometry.padded(size) == size:
        return out
    return out[(..., *_inner(size, geometry))]


def _pick(F: Any, x: Any, places: Any, geometry: Any) -> Any:
    """The elements of x at places in windows."""
    parts = _parts(F, x, Geometry(*geometry), 0)
    total = F.zeros(())
    for i, part in enumerate(parts):
        total = total + F.xp.where(places == i, part, F.zeros(()))
    return total


def _window_sum(F: Any, x: Any, geometry: Any) -> Any:
    parts = _parts(F, x, Geometry(*geometry), 0)
    total = parts[0] if len(parts) > 1 else F.backend.copy(parts[0])
    for part in parts[1:]:
        total = total + part
    return total


def _window_sum_adjoint(F: Any, x: Any, size: Shape, geometry: Any) -> Any:
    geometry = Geometry(*geometry)
    parts = (x for _ in range(size_of(geometry.kernel)))
    return _assemble(F, parts, x.shape[: x.ndim - len(size)], size, geometry)


# ---- primitives ---------------------------------------------------------------------------------
def _max_pool_rule(g: Any, F: Any, out_1: Any, x_shape: Shape, geometry: Any) -> Any:
    size = x_shape[len(x_shape) - len(geometry[0]) :]
    return F.place_in_windows(g[0], out_1, size=size, geometry=geometry)


def _window_sum_rule(g: Any, F: Any, x_shape: Shape, geometry: Any) -> Any:
    size = x_shape[len(x_shape) - len(geometry[0]) :]
    return F.window_sum_adjoint(g, size=size, geometry=geometry)


def _pick_rule(g: Any, F: Any, x_shape: Shape, places: Any, geometry: Any) -> Any:
    size = x_shape[len(x_shape) - len(geometry[0]) :]
    return F.place_in_windows(g, places, size=size, geometry=geometry)


# fmt: off
max_pool = Primitive(
    "max_pool", ("x",), {"x": _max_pool_rule}, forward=_max_pool, outputs=2,
    keywords={"geometry": ()}, real=True,
)
place_in_windows = Primitive(
    "place_in_windows", ("x", "places"),
    {"x": lambda g, F, places, geometry: F.pick_from_windows(g, places, geometry=geometry),
     "places": CONSTANT},
    forward=_place, keywords={"size": (), "geometry": ()}, promotes=("x",),
)
pick_from_windows = Primitive(
    "pick_from_windows", ("x", "places"), {"x": _pick_rule, "places": CONSTANT},
    forward=_pick, keywords={"geometry": ()}, promotes=("x",),
)
window_sum = Primitive(
    "window_sum", ("x",), {"x": _window_sum_rule}, forward=_window_sum, keywords={"geometry": ()},
)
window_sum_adjoint = Primitive(
    "window_sum_adjoint", ("x",),
    {"x": lambda g, F, geometry: F.window_sum(g, geometry=geometry)},
    forward=_window_sum_adjoint, keywords={"size": (), "geometry": ()},
)
# fmt: on


# ---- checks -------------------------------------------------------------------------------------
def spatial(input: Any, axes: int, where: str) -> Tensor:
    """An input with a number of spatial axes, a channel axis, and perhaps one of the batch."""
    x = as_tensor(input, f"{where}, argument input")
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(
            f"an input of shape {x.shape}", f"{where}{describe([x])}",
            f"its axes are (batch, channels, {axes} spatial ones), or all but the batch",
        )  # fmt: skip
    return x


def _geometry(
    x: Tensor, axes: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    where: str,
) -> Geometry:  # fmt: skip
    """Windows whose padding after each axis reaches exactly to the end of the last one."""
    kernel = per_axis(kernel, axes, f"{where}, argument kernel_size")
    stride = kernel if stride is None else per_axis(stride, axes, f"{where}, argument stride")
    pads = per_axis(padding, axes, f"{where}, argument padding", low=0)
    dilation = per_axis(dilation, axes, f"{where}, argument dilation")
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    if any(p > r // 2 for p, r in zip(pads, reach, strict=True)):
        raise InvalidArgumentError(
            f"a padding of {pads} for a kernel that reaches over {reach}",
            f"{where}, argument padding", "it may be at most half of that",
        )  # fmt: skip
    ends = []
    for n, r, s, p in zip(x.shape[x.ndim - axes :], reach, stride, pads, strict=True):
        free = n + 2 * p - r
        count = (-(-free // s) if ceil_mode else free // s) + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1  # it would start in the padding after the axis
        ends.append((p, (count - 1) * s + r - n - p))
    geometry = Geometry(kernel, stride, tuple(ends), dilation)
    check_windows(geometry, x.shape[x.ndim - axes :], where, (x,))
    return geometry


def _positions(places: Tensor, geometry: Geometry, size: Shape) -> Tensor:
    """Places in windows as positions in the flattened spatial axes."""
    backend, device = places.kernels.backend, places.device
    k = backend.kernels_of(upload(backend, np.zeros(()), device))
    place, windows = k.cast(raw(places)), geometry.windows(size)
    total: Any = 0
    step, stride = 1, 1
    for i in reversed(range(len(size))):
        along = k.xp.floor_divide(place, k.full((), step))
        along = k.xp.remainder(along, k.full((), geometry.kernel[i]))
        start = np.arange(windows[i]) * geometry.stride[i] - geometry.padding[i][0]
        start = upload(backend, start.reshape(-1, *(1,) * (len(size) - i - 1)), device)
        total = total + (along * geometry.dilation[i] + start) * stride
        step, stride = step * geometry.kernel[i], stride * size[i]
    return new_tensor(k.coerce(total), k)


# ---- what users call ----------------------------------------------------------------------------
_MAX = """The largest element of each window over {axes} spatial axes.

Parameters
----------
input
    (batch, channels, {sizes}), or without the batch axis.
kernel_size
    Of the windows: an int, or one for each axis.
stride
    Between windows; `kernel_size` if not given.
padding
    Places added at both ends, which are never chosen.
dilation
    Between the elements of a window.
ceil_mode
    Whether windows may reach beyond the end; they must start within the input or the padding
    before it.
return_indices
    Also return where the elements were: positions in the flattened spatial axes, int64.

Returns
-------
Tensor, or a pair of them
    NaN if one is in the window; of equal elements, the gradient goes to the first.

Raises
------
ShapeError, InvalidArgumentError, InvalidTypeError
    The kernel does not fit; an argument is out of its domain.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.max_pool{axes}d(pg.ones((1, 2, {fours})), 2).shape
(1, 2, {twos})
"""

_AVG = """The mean of each window over {axes} spatial axes.

Parameters
----------
input
    (batch, channels, {sizes}), or without the batch axis.
kernel_size, stride, padding, ceil_mode
    As for `max_pool{axes}d`; the padding is with zeros.
count_include_pad
    Whether the mean is also over the padding in the window.
{override}
Returns
-------
Tensor
    (batch, channels, …).

Raises
------
ShapeError, InvalidArgumentError, InvalidTypeError
    The kernel does not fit; an argument is out of its domain.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.avg_pool{axes}d(pg.ones((1, 2, {fours})), 2).shape
(1, 2, {twos})
"""
_OVERRIDE = """divisor_override
    What to divide the sums by, in place of the number of elements.
"""


def _named(function: Any, name: str, doc: str, axes: int, **more: str) -> Any:
    words = {k: ", ".join(v * axes) for k, v in (("sizes", "n"), ("fours", "4"), ("twos", "2"))}
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc.format(axes=axes, **words, **more)
    return function


def _make_max(axes: int) -> Any:
    """The max pooling over a number of spatial axes."""

    def function(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        where = f"max_pool{axes}d"
        x = spatial(input, axes, where)
        geometry = _geometry(x, axes, kernel_size, stride, padding, dilation, ceil_mode, where)
        out, places = max_pool.call(x, geometry=tuple(geometry))
        if return_indices:
            return out, _positions(places, geometry, x.shape[x.ndim - axes :])
        return out

    return _table.public(samples=lambda s: [
        ((s.distinct(2, 2, *(5, 4, 4)[:axes]), 2), {}),
        ((s.distinct(2, *(5, 4, 4)[:axes]), 2), {"stride": 1, "padding": 1}),
        ((s.distinct(1, *(6, 7, 5)[:axes]), (3, 2, 2)[:axes]), {"dilation": 2, "ceil_mode": True}),
    ])(_named(function, f"max_pool{axes}d", _MAX, axes))  # fmt: skip


def _divisors(x: Tensor, geometry: Geometry, pads: Shape, include: bool) -> float | Tensor:
    """How many elements the mean of each window is over: a number if all agree."""
    size = x.shape[x.ndim - len(pads) :]
    total: Any = 1
    for i, (n, windows) in enumerate(zip(size, geometry.windows(size), strict=True)):
        start = np.arange(windows) * geometry.stride[i] - pads[i]
        end = np.minimum(start + geometry.kernel[i], n + pads[i])
        if not include:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        total = np.multiply.outer(total, end - start)
    if (total == total.flat[0]).all():
        return float(total.flat[0])
    return new_tensor(x.kernels.from_numpy(total), x.kernels)


def mean_of_windows(
    x: Tensor, geometry: Geometry, pads: Shape, include: bool, divisor: Any = None
) -> Tensor:
    """Sums over windows, over what they count."""
    x = as_floating(x)
    total = window_sum.call(x, geometry=tuple(geometry))
    found = _divisors(x, geometry, pads, include) if divisor is None else divisor
    out: Tensor = total * (1 / found) if isinstance(found, (int, float)) else total / found
    return out


def _make_avg(axes: int) -> Any:
    """The mean pooling over a number of spatial axes."""

    def pooled(
        input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool,
        divisor: Any,
    ) -> Tensor:  # fmt: skip
        where = f"avg_pool{axes}d"
        x = spatial(input, axes, where)
        geometry = _geometry(x, axes, kernel_size, stride, padding, 1, ceil_mode, where)
        if divisor == 0:
            raise InvalidArgumentError(
                "a divisor of zero", f"{where}, argument divisor_override", "pass another number"
            )
        pads = tuple(lo for lo, _ in geometry.padding)
        return mean_of_windows(x, geometry, pads, include, divisor)

    def plain(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ) -> Tensor:  # fmt: skip
        return pooled(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    def function(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Tensor:  # fmt: skip
        return pooled(
            input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    chosen, override = (plain, "") if axes == 1 else (function, _OVERRIDE)
    named = _named(chosen, f"avg_pool{axes}d", _AVG, axes, override=override)
    return _table.public(samples=lambda s: [
        ((s.real(2, 2, *(5, 4, 4)[:axes]), 2), {}),
        ((s.real(2, *(5, 4, 4)[:axes]), 2), {"padding": 1, "count_include_pad": False}),
        ((s.real(1, 1, *(6, 7, 5)[:axes]), (3, 2, 2)[:axes]), {"padding": 1, "ceil_mode": True}),
    ])(named)  # fmt: skip


max_pool1d, max_pool2d, max_pool3d = (_make_max(n) for n in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_make_avg(n) for n in (1, 2, 3))
