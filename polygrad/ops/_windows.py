"""Sliding windows over the last axes of raw arrays: for convolution, pooling, unfold and fold.

Note [Channels first]
---------------------
Inside, arrays are (channels, batch, *spatial): then all windows of all samples make one matrix with
a row for each (channel, place in the kernel) and a column for each (sample, window), and a
convolution is one matrix product. Where libraries have strides, its result is handed out as
(batch, channels, *spatial) by a change of strides alone; elementwise operations keep the order of
memory, so that the next layer finds it as it likes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.indexing import size_of, window_counts
from polygrad.kernels import declare_forward

__all__ = [
    "Geometry", "Pads", "Shape", "check_windows", "columns", "from_columns", "pad", "per_axis",
    "placed", "slices", "swap",
]  # fmt: skip

Shape = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


class Geometry(NamedTuple):
    """Windows of `kernel` places, `dilation` apart, every `stride`, over axes padded at both ends.

    A negative padding after an axis keeps windows from its last elements.
    """

    kernel: Shape
    stride: Shape
    padding: Pads
    dilation: Shape

    def windows(self, size: Shape) -> Shape:
        """How many windows there are along each axis."""
        return window_counts(size, *self)

    def padded(self, size: Shape) -> Shape:
        """The lengths of the padded axes."""
        pads = self.padding
        return tuple(n + lo + max(hi, 0) for n, (lo, hi) in zip(size, pads, strict=True))


def per_axis(value: Any, axes: int, where: str, low: int = 1) -> Shape:
    """An int, or a sequence of one int for each axis, as a tuple of ints of at least `low`.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError
        An entry is no int; their number is wrong, or one is too small.
    """
    entries = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(entries) == 1:
        entries *= axes
    try:
        found = tuple(int(n.__index__()) for n in entries)
    except AttributeError:
        raise InvalidTypeError(
            f"{value!r} is no int or tuple of ints", where, f"pass an int, or {axes} of them"
        ) from None
    if len(found) != axes or any(n < low for n in found):
        raise InvalidArgumentError(
            f"{value!r} does not fit {axes} axes, or is less than {low}", where,
            f"pass an int of at least {low}, or {axes} of them",
        )  # fmt: skip
    return found


def check_windows(
    geometry: Geometry, size: Shape, where: str, operands: Sequence[Any] = ()
) -> Shape:
    """The numbers of windows; `operands` are described if there is an error.

    Raises
    ------
    ShapeError
        The kernel does not fit into the padded axes.
    """
    found = geometry.windows(size)
    if any(n < 1 for n in found):
        kernel = zip(geometry.kernel, geometry.dilation, strict=True)
        raise ShapeError(
            f"the kernel reaches over {tuple(d * (k - 1) + 1 for k, d in kernel)} elements, the "
            f"padded input has {geometry.padded(size)}",
            where + (describe(operands) if operands else ""),
            "pass a larger input, more padding or a smaller kernel",
        )  # fmt: skip
    return found


def swap(F: Any, x: Any) -> Any:
    """The first two axes exchanged."""
    return F.xp.permute_dims(x, (1, 0, *range(2, x.ndim)))


def slices(geometry: Geometry, windows: Shape) -> Iterator[tuple[slice, ...]]:
    """For each place in the kernel, in C order, the key of its element in every window."""
    for place in itertools.product(*map(range, geometry.kernel)):
        yield tuple(
            slice(i * d, i * d + s * (n - 1) + 1, s)
            for i, d, s, n in zip(place, geometry.dilation, geometry.stride, windows, strict=True)
        )


def placed(F: Any, x: Any, shape: Shape, key: tuple[Any, ...], fill: float = 0) -> Any:
    """A new array of `shape`, in C order, filled with a number, and x at `key`."""
    F = F.of(x)
    out = F.full(shape, fill)
    if F.backend.capabilities.writeable:
        out[key] = x
        return out
    return F.backend.set_at(out, key, x)


def pad(F: Any, x: Any, padding: Pads, fill: float = 0) -> Any:
    """A new array: x with its last axes padded by (before, after)."""
    lead = x.ndim - len(padding)
    size = x.shape[lead:]
    shape = tuple(n + lo + max(hi, 0) for n, (lo, hi) in zip(size, padding, strict=True))
    inner = tuple(slice(lo, lo + n) for n, (lo, _) in zip(size, padding, strict=True))
    return placed(F, x, (*x.shape[:lead], *shape), (*(slice(None),) * lead, *inner), fill)


def columns(F: Any, x: Any, geometry: Geometry) -> Any:
    """The windows of x (channels, batch, *size), as (channels, places, batch, *windows)."""
    return F.of(x).window_columns(x, geometry=geometry)


def _columns(F: Any, x: Any, geometry: Geometry) -> Any:
    lead, size = x.shape[:2], x.shape[2:]
    windows = geometry.windows(size)
    places = size_of(geometry.kernel)
    if places == 1 and geometry.padded(size) == size:
        key = next(slices(geometry, windows))
        return F.xp.expand_dims(x if windows == size else x[(..., *key)], axis=1)
    x = pad(F, x, geometry.padding)
    strides = _strides(x.shape)
    view = F.backend.strided_view(
        x,
        (lead[0], *geometry.kernel, lead[1], *windows),
        (strides[0], *(s * d for s, d in zip(strides[2:], geometry.dilation, strict=True)),
         strides[1], *(s * t for s, t in zip(strides[2:], geometry.stride, strict=True))),
    )  # fmt: skip
    if view is not None:
        return F.xp.reshape(view, (lead[0], places, lead[1], *windows))
    parts = [x[(..., *key)] for key in slices(geometry, windows)]
    return F.xp.stack(parts, axis=1)


def _strides(shape: Shape) -> Shape:
    """Strides of a C-ordered array, in elements."""
    found, step = [], 1
    for n in reversed(shape):
        found.append(step)
        step *= n
    return tuple(reversed(found))


def from_columns(F: Any, parts: Any, size: Shape, geometry: Geometry) -> Any:
    """The adjoint of `columns`: every element is added to where it was taken from."""
    return F.of(parts).window_columns_adjoint(parts, size=size, geometry=geometry)


def _from_columns(F: Any, parts: Any, size: Shape, geometry: Geometry) -> Any:
    windows = parts.shape[3:]
    lead = (parts.shape[0], parts.shape[2])
    if size_of(geometry.kernel) == 1 and windows == size == geometry.padded(size):
        return parts[:, 0, ...]
    shape = (*lead, *geometry.padded(size))
    keys = [(slice(None), slice(None), *key) for key in slices(geometry, windows)]
    if F.backend.capabilities.writeable:
        total = F.zeros(shape)
        for i, key in enumerate(keys):
            total[key] += parts[:, i, ...]
    else:
        total = F.zeros(shape)
        for i, key in enumerate(keys):
            total = F.backend.add_at(total, key, parts[:, i, ...])
    inner = tuple(slice(lo, lo + n) for n, (lo, _) in zip(size, geometry.padding, strict=True))
    return total[(slice(None), slice(None), *inner)]


# No primitives: parts of forwards, which a backend may have in one kernel each.
declare_forward("window_columns", _columns)
declare_forward("window_columns_adjoint", _from_columns)
