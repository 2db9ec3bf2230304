"""Padding, and windows that slide over a tensor: the standard has neither, the style is its own."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.dtypes import BOOL, COMPLEX
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import shape_tuple, size_of, upload
from polygrad.ops._axes import as_tensor, normalize_axes
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor
from polygrad.views import ViewPrimitive

_table = Chapter("manipulation")
Shape = tuple[int, ...]
Widths = tuple[tuple[int, int], ...]


# ---- padding ----------------------------------------------------------------------------------
def _inner(widths: Widths, shape: Shape) -> tuple[slice, ...]:
    """Where a tensor of `shape` lies within its padded self."""
    return tuple(slice(low, low + n) for (low, _), n in zip(widths, shape, strict=True))


def _pad(F: Any, x: Any, pad_width: Widths, value: Any) -> Any:
    """Written into a fresh array where arrays can be written, else joined axis by axis."""
    F = F.of(x)
    shape = tuple(low + n + high for (low, high), n in zip(pad_width, x.shape, strict=True))
    if F.backend.capabilities.writeable:
        out = F.full(shape, value)
        out[_inner(pad_width, x.shape)] = x
        return out
    for axis, (low, high) in enumerate(pad_width):
        blocks = [
            F.full((*x.shape[:axis], width, *x.shape[axis + 1 :]), value) for width in (low, high)
        ]
        if low or high:
            x = F.xp.concat([blocks[0], x, blocks[1]], axis=axis)
    return x


_pad_primitive = Primitive(
    "pad", ("x",),
    {
        "x": lambda g, F, x_shape, pad_width: F.getitem(
            g, key=(*_inner(pad_width, x_shape), Ellipsis)
        )
    },
    keywords={"pad_width": (), "value": 0}, forward=_pad,
)  # fmt: skip

def read_widths(pad_width: Any, x: Tensor) -> Widths:
    """(before, after) for each axis, from one int, one pair, or one pair for each axis."""
    where = f"pad{describe([x])}, argument pad_width"
    try:
        found = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    except ValueError:
        found = None
    if found is None or (found.dtype.kind not in "iu" and found.size):
        raise InvalidArgumentError(
            f"{pad_width!r} are no widths for {x.ndim} axes", where,
            "pass an int, a pair (before, after), or one pair for each axis",
        )  # fmt: skip
    if found.size and found.min() < 0:
        raise InvalidArgumentError(
            f"a width is negative: {pad_width!r}", where, "cut with a slice: x[1:-1]"
        )
    return tuple((int(low), int(high)) for low, high in found)


def _samples_of_modes(s: Any) -> Any:
    """Calls of the modes that reckon: not for truth values, some not for complex numbers."""
    if s.kind == BOOL:
        return []
    calls = [
        ((s.real(3), (2, 5)), {"mode": "reflect", "reflect_type": "odd"}),
        ((s.real(2, 3), (3, 2)), {"mode": "linear_ramp", "end_values": (2, -1)}),
        ((s.real(3), (1, 2)), {"mode": "mean", "stat_length": (1, 2)}),
    ]
    if s.kind != COMPLEX:
        calls.append(((s.distinct(3), (1, 2)), {"mode": "maximum"}))
        calls.append(((s.distinct(4), (1, 2)), {"mode": "median", "stat_length": ((3, 9),)}))
    return calls


@_table.public(samples=lambda s: [
    ((s.real(2, 3), 1), {}), ((s.real(2, 3), ((0, 0), (2, 1))), {"constant_values": 1.5}),
    ((s.real(2, 4), ((0, 1), (3, 2))), {"mode": "reflect"}),
    ((s.real(2, 3), (1, 5)), {"mode": "edge"}),
    ((s.complex(3), (4, 1)), {"mode": "wrap"}), ((s.real(0), (1, 2)), {}), ((s.real(), ()), {}),
    ((s.real(2, 3), 1), {"constant_values": ((1, 2), (3, 0))}),
    ((s.real(3), (4, 5)), {"mode": "symmetric"}), *_samples_of_modes(s),
], kinds="bifc")  # fmt: skip
def pad(
    x: Any, /, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0,
    end_values: Any = 0, stat_length: Any = None, reflect_type: str = "even",
) -> Tensor:  # fmt: skip
    """Longer axes: `x` with a border around it, made axis by axis.

    Parameters
    ----------
    x
        Tensor of any dtype.
    pad_width
        How much before and after: an int, a pair (before, after), or one pair for each axis.
    mode
        What the border holds: "constant", a number; "edge", the outermost elements; "reflect", the
        inside mirrored at the outermost elements; "symmetric", mirrored behind them; "wrap", the
        other end; "linear_ramp", a straight line from the outermost elements to a number;
        "maximum", "minimum", "mean" or "median" of the elements next to the border.
    constant_values, end_values
        The number in the border of mode "constant", or at its outer end in mode "linear_ramp"; in
        one of the forms of `pad_width`.
    stat_length
        How many elements "maximum" and the like take, in one of these forms; None: all.
    reflect_type
        "even"; or "odd": twice the outermost element less the mirrored one.

    Returns
    -------
    Tensor
        The same dtype. The gradient adds up over the places where an element was copied to.

    Raises
    ------
    InvalidArgumentError, ShapeError
        A width is negative, or the mode unknown, or another argument is not of these forms; an axis
        is empty but the border is not constant.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.pad(pg.arange(3), (2, 1), mode="reflect")
    tensor([2, 1, 0, 1, 2, 1], dtype=int64)
    """
    x = as_tensor(x, "pad, argument x")
    widths = read_widths(pad_width, x) if x.ndim else ()
    if mode == "constant":
        return _constant(x, widths, constant_values)
    from polygrad.ops import _borders as borders  # noqa: PLC0415  it is made of later chapters

    options = {"end_values": end_values, "stat_length": stat_length, "reflect_type": reflect_type}
    extend = borders.extender(mode, x, **options)
    out: Tensor = x
    for axis, width in enumerate(widths):
        if width != (0, 0):
            if not out.shape[axis]:
                raise ShapeError(
                    f"axis {axis} is empty and has nothing for mode {mode!r}",
                    f"pad{describe([x])}",
                    'use mode="constant"',
                )  # fmt: skip
            out = extend(out, axis, width)
    return out


def _constant(x: Tensor, widths: Widths, values: Any) -> Tensor:
    """A border of one number, or of one for each side."""
    if isinstance(values, (tuple, list)):
        from polygrad.ops import _borders as borders  # noqa: PLC0415  it is made of later chapters

        numbers = borders.pairs(values, x, "constant_values")
    else:
        value = values.item() if hasattr(values, "item") else values
        numbers = ((value, value),) * x.ndim
    if len(set(itertools.chain(*numbers))) <= 1:
        value = numbers[0][0] if numbers else 0
        return _pad_primitive.call(x, pad_width=widths, value=value)  # type: ignore[no-any-return]
    out = x
    for axis, (width, sides) in enumerate(zip(widths, numbers, strict=True)):
        for side, (n, value) in enumerate(zip(width, sides, strict=True)):
            one = tuple(
                (n * (1 - side), n * side) if i == axis else (0, 0) for i in range(x.ndim)
            )
            out = _pad_primitive.call(out, pad_width=one, value=value) if n else out
    return out


# ---- windows ----------------------------------------------------------------------------------
def _counts(shape: Shape, window: Shape, axes: Shape) -> Shape:
    """The lengths of the axes once windows slide along some of them."""
    out = list(shape)
    for axis, length in zip(axes, window, strict=True):
        out[axis] -= length - 1
    return tuple(out)


def _windows(F: Any, x: Any, window_shape: Shape, axis: Shape) -> Any:
    """A view where the library has strides, else gathered with `take`."""
    shape = (*_counts(x.shape, window_shape, axis), *window_shape)
    strides = [size_of(x.shape[i + 1 :]) for i in range(x.ndim)]
    strides += [strides[a] for a in axis]
    view = F.backend.strided_view(x, shape, tuple(strides))
    if view is not None:
        return view
    places = np.zeros((1,) * len(shape), dtype=np.int64)
    for i, (n, step) in enumerate(zip(shape, strides, strict=True)):
        places = places + (np.arange(n) * step).reshape(-1, *(1,) * (len(shape) - i - 1))
    index = upload(F.backend, places.reshape(-1), F.device)
    return F.xp.reshape(F.xp.take(F.xp.reshape(x, (-1,)), index, axis=0), shape)


def _windows_adjoint(F: Any, g: Any, shape: Shape, window_shape: Shape, axis: Shape) -> Any:
    """Each element of the windows added where it was read from: one slice for each offset."""
    F = F.of(g)
    counts = g.shape[: len(shape)]
    writeable = F.backend.capabilities.writeable
    out = F.zeros(shape)
    for offsets in itertools.product(*map(range, window_shape)):
        part = g[(..., *offsets)]
        start = [0] * len(shape)
        for a, offset in zip(axis, offsets, strict=True):
            start[a] += offset
        if writeable:
            out[tuple(slice(s, s + n) for s, n in zip(start, counts, strict=True))] += part
        else:
            widths = tuple((s, n - s - m) for s, n, m in zip(start, shape, counts, strict=True))
            out = out + F.pad(part, pad_width=widths, value=0)
    return out


_sliding_window_view = ViewPrimitive(
    "sliding_window_view",
    lambda F, g, shape, window_shape, axis: F.sliding_window_view_adjoint(
        g, shape=shape, window_shape=window_shape, axis=axis
    ),
    forward=_windows, overlaps=True, keywords={"window_shape": (), "axis": ()},
)  # fmt: skip
_windows_adjoint_primitive = Primitive(
    "sliding_window_view_adjoint", ("x",),
    {
        "x": lambda g, F, window_shape, axis: F.sliding_window_view(
            g, window_shape=window_shape, axis=axis
        )
    },
    keywords={"shape": (), "window_shape": (), "axis": ()}, forward=_windows_adjoint,
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(5), 3), {}), ((s.real(3, 4), (2, 2)), {}), ((s.complex(3, 4), 2), {"axis": -1}),
    ((s.real(2, 4), (2, 1)), {"axis": (1, 0)}),
], kinds="bifc")  # fmt: skip
def sliding_window_view(
    x: Any, window_shape: int | Shape, /, axis: int | Shape | None = None
) -> Tensor:
    """All windows of a shape that fit into `x`, without a copy where the library has strides.

    Parameters
    ----------
    x
        Tensor of any dtype.
    window_shape
        The lengths of a window along `axis`.
    axis
        The axes that windows slide along; None: all.

    Returns
    -------
    Tensor
        A view that cannot be written to: where windows start, `x.shape[a] - window + 1` places
        along each axis, then the axes of the window.

    Raises
    ------
    InvalidArgumentError, ShapeError
        There is not one length for each axis; a window is longer than its axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.sliding_window_view(pg.arange(4), 3)
    tensor([[0, 1, 2],
            [1, 2, 3]], dtype=int64)
    """
    x = as_tensor(x, "sliding_window_view, argument x")
    window = shape_tuple(window_shape, "sliding_window_view, argument window_shape")
    axes = normalize_axes(axis, x.ndim, "sliding_window_view")
    if len(window) != len(axes):
        raise InvalidArgumentError(
            f"{len(window)} lengths for {len(axes)} axes", f"sliding_window_view{describe([x])}",
            "give one length for each axis",
        )  # fmt: skip
    if any(n > x.shape[a] for n, a in zip(window, axes, strict=True)):
        raise ShapeError(
            f"a window of {window} does not fit into axes {axes} of shape {x.shape}",
            f"sliding_window_view{describe([x])}",
            "make the window smaller, or pad first",
        )  # fmt: skip
    return _sliding_window_view.view(x, window_shape=window, axis=axes)
