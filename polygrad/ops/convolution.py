"""Convolution of any number of spatial axes: one linear map, its two adjoints, and no others.

`convolution(x, w)` is linear in x and in w. Its adjoints for x (the transposed convolution) and for
w are primitives too, and the rules of the three are the three again: a family closed under
differentiation.
"""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.ops._axes import as_tensor
from polygrad.ops._windows import (
    Geometry,
    Pads,
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

_table = Chapter("convolution", "nn.functional")


# ---- raw arrays: see Note [Channels first] in _windows ------------------------------------------
def _matrices(F: Any, x: Any, rows: int, groups: int) -> Any:
    """Elements in C order as a matrix of `rows` rows, or as one for each group."""
    width = size_of(x.shape) // rows if rows else 0
    return F.xp.reshape(x, (rows, width) if groups == 1 else (groups, rows // groups, width))


def _windows(F: Any, x: Any, geometry: Geometry, groups: int) -> Any:
    """The windows of x: a row for each channel and place, a column for each sample and window."""
    found = columns(F, swap(F, x), geometry)
    return _matrices(F, found, found.shape[0] * found.shape[1], groups)


def _convolution(
    F: Any, x: Any, w: Any, b: Any, stride: Shape, padding: Pads, dilation: Shape, groups: int,
) -> Any:
    """The weights as a matrix, times the windows of x."""
    geometry = Geometry(w.shape[2:], stride, padding, dilation)
    out = F.matmul(_matrices(F, w, w.shape[0], groups), _windows(F, x, geometry, groups))
    windows = geometry.windows(x.shape[2:])
    out = F.xp.reshape(out, (w.shape[0], x.shape[0], *windows))
    if b is not None:
        b = F.xp.reshape(b, (-1, *(1,) * (out.ndim - 1)))
        if F.backend.capabilities.writeable:
            out += b
        else:
            out = out + b
    return swap(F, out)


def _adjoint_x(
    F: Any, g: Any, w: Any, size: Shape, stride: Shape, padding: Pads, dilation: Shape, groups: int
) -> Any:
    """The transpose of w as a matrix times g, added up at the places of the windows."""
    geometry = Geometry(w.shape[2:], stride, padding, dilation)
    rows = _matrices(F, swap(F, g), g.shape[1], groups)
    parts = F.matmul(F.xp.matrix_transpose(_matrices(F, w, w.shape[0], groups)), rows)
    channels = groups * w.shape[1]
    parts = F.xp.reshape(parts, (channels, size_of(w.shape[2:]), g.shape[0], *g.shape[2:]))
    return swap(F, from_columns(F, parts, size, geometry))


def _adjoint_w(
    F: Any, g: Any, x: Any, kernel: Shape, stride: Shape, padding: Pads, dilation: Shape,
    groups: int,
) -> Any:
    """The windows of x times the cotangent as a matrix, of which the larger comes first.

    Libraries are up to twice as fast in that order.
    """
    geometry = Geometry(kernel, stride, padding, dilation)
    found = _windows(F, x, geometry, groups)
    rows = _matrices(F, swap(F, g), g.shape[1], groups)
    if found.shape[-2] > rows.shape[-2]:
        out = F.xp.matrix_transpose(F.matmul(found, F.xp.matrix_transpose(rows)))
    else:
        out = F.matmul(rows, F.xp.matrix_transpose(found))
    return F.xp.reshape(out, (g.shape[1], x.shape[1] // groups, *kernel))


# ---- primitives ---------------------------------------------------------------------------------
def _bias(g: Any, F: Any) -> Any:
    return F.sum(g, axis=(0, *range(2, len(g.shape))), keepdims=False)


_WHERE: dict[str, Any] = {"stride": (), "padding": (), "dilation": (), "groups": 1}

# fmt: off
convolution = Primitive(
    "convolution", ("x", "w", "b"),
    {
        "x": lambda g, F, w, x_shape, stride, padding, dilation, groups: F.convolution_adjoint_x(
            g, F.conj(w), size=x_shape[2:], stride=stride, padding=padding, dilation=dilation,
            groups=groups),
        "w": lambda g, F, x, w_shape, stride, padding, dilation, groups: F.convolution_adjoint_w(
            g, F.conj(x), kernel=w_shape[2:], stride=stride, padding=padding, dilation=dilation,
            groups=groups),
        "b": _bias,
    },
    forward=_convolution, keywords=_WHERE,
)
convolution_adjoint_x = Primitive(
    "convolution_adjoint_x", ("x", "w"),
    {
        "x": lambda g, F, w, stride, padding, dilation, groups: F.convolution(
            g, F.conj(w), None, stride=stride, padding=padding, dilation=dilation, groups=groups),
        "w": lambda g, F, x, w_shape, stride, padding, dilation, groups: F.convolution_adjoint_w(
            F.conj(x), g, kernel=w_shape[2:], stride=stride, padding=padding, dilation=dilation,
            groups=groups),
    },
    forward=_adjoint_x, keywords={"size": (), **_WHERE},
)
convolution_adjoint_w = Primitive(
    "convolution_adjoint_w", ("y", "x"),
    {
        "y": lambda g, F, x, stride, padding, dilation, groups: F.convolution(
            F.conj(x), g, None, stride=stride, padding=padding, dilation=dilation, groups=groups),
        "x": lambda g, F, y, x_shape, stride, padding, dilation, groups: F.convolution_adjoint_x(
            F.conj(y), g, size=x_shape[2:], stride=stride, padding=padding, dilation=dilation,
            groups=groups),
    },
    forward=_adjoint_w, keywords={"kernel": (), **_WHERE},
)
# fmt: on


# ---- checks -------------------------------------------------------------------------------------
def _operands(
    input: Any, weight: Any, bias: Any, axes: int, where: str
) -> tuple[Tensor, Tensor, Tensor | None, bool]:
    """Input with a batch axis, weight, bias, and whether the batch axis was added."""
    x = as_tensor(input, f"{where}, argument input")
    w = as_tensor(weight, f"{where}, argument weight")
    b = None if bias is None else as_tensor(bias, f"{where}, argument bias")
    if w.ndim != axes + 2 or x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(
            f"an input of shape {x.shape} and a weight of shape {w.shape}",
            f"{where}{describe([x, w])}",
            f"the input has axes (batch, channels, {axes} spatial ones), or all but the batch; the "
            f"weight has two and {axes} spatial ones",
        )  # fmt: skip
    single = x.ndim == axes + 1
    if single:
        x = reshape(x, (1, *x.shape))
    return x, w, b, single


def _check_channels(
    x: Tensor, w: Tensor, b: Tensor | None, groups: Any, *, transposed: bool, where: str
) -> None:
    """Refuse channels that do not fit the weight."""
    (groups,) = per_axis(groups, 1, f"{where}, argument groups")
    channels, leading = x.shape[1], w.shape[0]
    wanted = leading if transposed else w.shape[1] * groups
    made = w.shape[1] * groups if transposed else leading
    if channels != wanted or leading % groups:
        raise ShapeError(
            f"{channels} channels do not fit a weight of shape {w.shape} with groups={groups}",
            f"{where}{describe([x, w])}",
            f"the input must have {wanted} channels, and the weight's first axis a multiple of "
            f"{groups}",
        )  # fmt: skip
    if b is not None and b.shape != (made,):
        raise ShapeError(
            f"a bias of shape {b.shape} for {made} channels", f"{where}, argument bias",
            f"its shape must be ({made},)",
        )  # fmt: skip


def _padding(padding: Any, stride: Shape, kernel: Shape, dilation: Shape, where: str) -> Pads:
    """(before, after) of each axis, from ints or the words `same` and `valid`."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if any(s != 1 for s in stride):
            raise InvalidArgumentError(
                f"padding='same' with a stride of {stride}", f"{where}, argument padding",
                "it keeps the size, so the stride must be 1: pass the padding as numbers",
            )  # fmt: skip
        totals = (d * (k - 1) for k, d in zip(kernel, dilation, strict=True))
        return tuple((total // 2, total - total // 2) for total in totals)
    if isinstance(padding, str):
        raise InvalidArgumentError(
            f"padding={padding!r} is unknown", f"{where}, argument padding",
            "pass 'same', 'valid', an int or one for each axis",
        )  # fmt: skip
    pads = per_axis(padding, len(kernel), f"{where}, argument padding", low=0)
    return tuple((p, p) for p in pads)


# ---- what users call ----------------------------------------------------------------------------
def _forward(
    axes: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Tensor:  # fmt: skip
    where = f"conv{axes}d"
    x, w, b, single = _operands(input, weight, bias, axes, where)
    _check_channels(x, w, b, groups, transposed=False, where=where)
    kernel = w.shape[2:]
    stride = per_axis(stride, axes, f"{where}, argument stride")
    dilation = per_axis(dilation, axes, f"{where}, argument dilation")
    padding = _padding(padding, stride, kernel, dilation, where)
    geometry = Geometry(kernel, stride, padding, dilation)
    check_windows(geometry, x.shape[2:], where, (x, w))
    out = convolution.call(
        x, w, b, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    return reshape(out, out.shape[1:]) if single else out


def _transposed(
    axes: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
    groups: int, dilation: Any,
) -> Tensor:  # fmt: skip
    where = f"conv_transpose{axes}d"
    x, w, b, single = _operands(input, weight, bias, axes, where)
    _check_channels(x, w, b, groups, transposed=True, where=where)
    kernel = w.shape[2:]
    stride = per_axis(stride, axes, f"{where}, argument stride")
    dilation = per_axis(dilation, axes, f"{where}, argument dilation")
    pads = per_axis(padding, axes, f"{where}, argument padding", low=0)
    extra = per_axis(output_padding, axes, f"{where}, argument output_padding", low=0)
    if any(o >= max(s, d) for o, s, d in zip(extra, stride, dilation, strict=True)):
        raise InvalidArgumentError(
            f"an output padding of {extra} with a stride of {stride} and a dilation of {dilation}",
            f"{where}, argument output_padding", "it must be smaller than one of them",
        )  # fmt: skip
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, s, p, d, k, o in zip(x.shape[2:], stride, pads, dilation, kernel, extra, strict=True)
    )
    if any(n < 1 for n in size):
        raise ShapeError(
            f"the output would have the size {size}", f"{where}{describe([x, w])}",
            "pass a larger input or less padding",
        )  # fmt: skip
    out = convolution_adjoint_x.call(
        x, w, size=size, stride=stride, dilation=dilation, groups=groups,
        padding=tuple((p, p - o) for p, o in zip(pads, extra, strict=True)),
    )  # fmt: skip
    if b is not None:
        out = out + reshape(b, (-1, *(1,) * axes))
    return reshape(out, out.shape[1:]) if single else out


_CONV = """Convolution (cross-correlation) over {axes} spatial axes.

Parameters
----------
input
    (batch, channels, {sizes}); or without the batch axis.
weight
    (made, channels / groups, {kernels}).
bias
    (made,), added to every place; or None.
stride, dilation
    Steps of the kernel, and between its elements: an int, or one for each spatial axis.
padding
    Zeros added at both ends of each axis: an int, or one for each; `valid` for none; `same` to
    keep the size, of an odd number the greater half after the axis (only with a stride of 1).
groups
    Channels are split into so many groups, each of which is convolved with weights of its own.

Returns
-------
Tensor
    (batch, made, …) with floor((n + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 places
    along each axis, of the promoted dtype.

Raises
------
ShapeError, InvalidArgumentError, InvalidTypeError
    Shapes do not fit; an argument is out of its domain.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.conv{axes}d(pg.ones((1, 2, {fours})), pg.ones((3, 2, {twos}))).shape
(1, 3, {threes})
"""

_CONV_TRANSPOSE = """Transposed convolution over {axes} spatial axes: the adjoint of `conv{axes}d`.

Parameters
----------
input
    (batch, channels, {sizes}); or without the batch axis.
weight
    (channels, made / groups, {kernels}).
bias
    (made,), added to every place; or None.
stride, padding, dilation, groups
    Those of the convolution it is the adjoint of; the padding in numbers.
output_padding
    Lengthens the result: a convolution with a stride makes one size of several.

Returns
-------
Tensor
    (batch, made, …) with (n - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1
    places along each axis, of the promoted dtype.

Raises
------
ShapeError, InvalidArgumentError, InvalidTypeError
    Shapes do not fit; an argument is out of its domain.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.conv_transpose{axes}d(pg.ones((1, 2, {threes})), pg.ones((2, 3, {twos}))).shape
(1, 3, {fours})
"""


def _documented(function: Any, axes: int, name: str, doc: str) -> Any:
    """The name and docstring of a function for a number of spatial axes."""
    words = {"sizes": "n", "kernels": "k", "twos": 2, "threes": 3, "fours": 4}
    filled = {key: ", ".join([str(word)] * axes) for key, word in words.items()}
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc.format(axes=axes, **filled)
    return function


def _conv(axes: int) -> Any:
    """The convolution over a number of spatial axes."""

    def conv(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        return _forward(axes, input, weight, bias, stride, padding, dilation, groups)

    return _documented(conv, axes, f"conv{axes}d", _CONV)


def _conv_transpose(axes: int) -> Any:
    """The transposed convolution over a number of spatial axes."""

    def conv_transpose(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Tensor:  # fmt: skip
        return _transposed(
            axes, input, weight, bias, stride, padding, output_padding, groups, dilation
        )

    return _documented(conv_transpose, axes, f"conv_transpose{axes}d", _CONV_TRANSPOSE)


def _samples(axes: int, transposed: bool) -> Any:
    """Plain; every keyword; a padding of its own; no batch axis; an empty batch; one element."""

    def samples(s: Any) -> Any:
        size = (7, 6, 5)[:axes]
        kernel = (3, 2, 2)[:axes]
        lead = (4, 1) if transposed else (2, 2)
        plain = (4, 2) if transposed else (3, 4)
        all_of_it = {"stride": 2, "padding": (1, 0, 1)[:axes], "dilation": 2, "groups": 2}
        yield (s.real(2, 4, *size), s.real(*plain, *kernel)), {}
        yield (s.real(2, 4, *size), s.real(*lead, *kernel), s.real(2)), all_of_it
        one = {"output_padding": 1, "stride": 2} if transposed else {"padding": "same"}
        yield (s.real(4, *size), s.real(*plain, *kernel)), one
        yield (s.real(0, 4, *size), s.real(*plain, *kernel)), {}
        yield (s.real(2, 4, *size), s.real(*plain, *(1,) * axes)), {"stride": 3}

    return samples


conv1d, conv2d, conv3d = (
    _table.public(samples=_samples(n, transposed=False))(_conv(n)) for n in (1, 2, 3)
)
conv_transpose1d, conv_transpose2d, conv_transpose3d = (
    _table.public(samples=_samples(n, transposed=True))(_conv_transpose(n)) for n in (1, 2, 3)
)
