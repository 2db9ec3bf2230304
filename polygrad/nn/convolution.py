"""Convolutions and their transposes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.nn import functional, init
from polygrad.nn.linear import reset_bias
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.ops.filling import empty
from polygrad.ops.padding import pad
from polygrad.tensor import Tensor

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip

_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def per_axis(where: str, name: str, value: Any, axes: int) -> tuple[int, ...]:
    """One int for each spatial axis, from one for all or a tuple of them.

    Raises
    ------
    InvalidArgumentError
    """
    found = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(found) != axes or not all(isinstance(n, int) for n in found):
        raise InvalidArgumentError(
            f"{name} is {value!r}", f"{where}, argument {name}",
            f"pass an int, or a tuple of {axes}",
        )  # fmt: skip
    return found


class _Convolution(Module):
    """What a convolution holds; subclasses say how many spatial axes, and what it computes.

    Attributes
    ----------
    weight
        (out, in / groups, *kernel); of a transpose (in, out / groups, *kernel).
    bias
        (out,), or None.
    """

    axes: ClassVar[int]
    transposed: ClassVar[bool] = False
    bias: Parameter | None

    def _hold(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        where = type(self).__name__
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise InvalidArgumentError(
                f"{groups} groups of {in_channels} input and {out_channels} output channels",
                f"{where}, argument groups", "the groups must divide both numbers of channels",
            )  # fmt: skip
        if padding_mode not in _MODES:
            raise InvalidArgumentError(
                f"padding_mode is {padding_mode!r}", f"{where}, argument padding_mode",
                "pass one of " + ", ".join(_MODES),
            )  # fmt: skip
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = per_axis(where, "kernel_size", kernel_size, self.axes)
        self.stride = per_axis(where, "stride", stride, self.axes)
        self.dilation = per_axis(where, "dilation", dilation, self.axes)
        self.output_padding = per_axis(where, "output_padding", output_padding, self.axes)
        self.padding: Any = padding
        if not isinstance(padding, str):
            self.padding = per_axis(where, "padding", padding, self.axes)
        elif padding not in ("same", "valid") or (padding == "same" and max(self.stride) > 1):
            raise InvalidArgumentError(
                f"padding is {padding!r} with stride {self.stride}", f"{where}, argument padding",
                "pass ints, 'valid', or 'same' with stride 1",
            )  # fmt: skip
        self.padding_mode = padding_mode
        first, second = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty((out_channels,), device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform, within one over the root of the fan in."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        reset_bias(self.bias, init.fans(self.weight, type(self).__name__)[0])

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
        text += f"stride={self.stride}"
        ones, zeros = (1,) * self.axes, (0,) * self.axes
        for name, default in (
            ("padding", zeros), ("dilation", ones), ("output_padding", zeros), ("groups", 1),
        ):  # fmt: skip
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)!r}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_Convolution):
    """A convolution (a correlation, as everywhere in deep learning).

    Parameters
    ----------
    in_channels, out_channels
        Lengths of the channel axis of input and output.
    kernel_size, stride, dilation
        An int, or one for each spatial axis.
    padding
        Likewise; or "same", or "valid".
    groups
        Each group of output channels sees one group of input channels.
    bias
        Whether a bias is learned.
    padding_mode
        "zeros", "reflect", "replicate" or "circular".
    device, dtype
        Of the parameters.
    """

    function: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._hold(in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups,
                   bias, padding_mode, device, dtype)  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """(batch, in_channels, *spatial) to (batch, out_channels, *spatial); batch optional."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input = pad(input, self._widths(input.ndim), mode=_MODES[self.padding_mode])
            padding = 0
        made: Tensor = getattr(functional, self.function)(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )
        return made

    def _widths(self, ndim: int) -> list[tuple[int, int]]:
        """(before, after) for each axis of the input."""
        widths = []
        for i in range(self.axes):
            if self.padding == "valid":
                before = after = 0
            elif self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                before, after = total // 2, total - total // 2
            else:
                before = after = self.padding[i]
            widths.append((before, after))
        return [(0, 0)] * (ndim - self.axes) + widths


class Conv1d(_Conv):  # noqa: D101  its base's
    __doc__ = _Conv.__doc__
    axes = 1
    function = "conv1d"
    examples: ClassVar = [
        ((4, 6, 3), {}, ((2, 4, 9),)),
        ((4, 6, 3), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2, "bias": False},
         ((2, 4, 9),)),
        ((2, 3, 3), {"padding": "same", "padding_mode": "circular"}, ((2, 7),)),
    ]  # fmt: skip


class Conv2d(_Conv):  # noqa: D101  its base's
    __doc__ = _Conv.__doc__
    axes = 2
    function = "conv2d"
    examples: ClassVar = [
        ((2, 4, 3), {}, ((2, 2, 6, 5),)),
        ((2, 4, (3, 2)), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": 2},
         ((2, 2, 7, 6),)),
        ((2, 4, 3), {"padding": 1, "padding_mode": "reflect"}, ((2, 2, 5, 5),)),
        ((2, 4, 3), {"padding": (2, 1), "padding_mode": "replicate"}, ((2, 2, 5, 5),)),
        ((2, 4, 4), {"padding": "same", "dilation": 2}, ((2, 2, 6, 6),)),
    ]  # fmt: skip


class Conv3d(_Conv):  # noqa: D101  its base's
    __doc__ = _Conv.__doc__
    axes = 3
    function = "conv3d"
    examples: ClassVar = [((2, 2, 2), {"padding": 1}, ((1, 2, 3, 4, 3),))]


class _ConvTranspose(_Convolution):
    """The adjoint of a convolution with the same arguments.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, groups, bias, dilation, device, dtype
        As for a convolution; "zeros" is the only padding mode.
    output_padding
        Added to one side of the output's shape, less than the stride: a convolution maps several
        lengths to one, and this says which of them is meant.
    """

    transposed = True
    function: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise InvalidArgumentError(
                f"padding_mode is {padding_mode!r}",
                f"{type(self).__name__}, argument padding_mode",
                "a transposed convolution has only 'zeros'",
            )  # fmt: skip
        self._hold(in_channels, out_channels, kernel_size, stride, padding, output_padding,
                   dilation, groups, bias, padding_mode, device, dtype)  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """(batch, in_channels, *spatial) to (batch, out_channels, *spatial).

        `output_size`, the spatial shape of the result, chooses the output padding of this call.
        """
        padding = self.output_padding if output_size is None else self._fit(input, output_size)
        made: Tensor = getattr(functional, self.function)(
            input, self.weight, self.bias, self.stride, self.padding, padding, self.groups,
            self.dilation,
        )  # fmt: skip
        return made

    def _fit(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output padding that leads to a spatial shape."""
        goal = tuple(output_size)[-self.axes :]
        least = [
            (n - 1) * self.stride[i] - 2 * self.padding[i]
            + self.dilation[i] * (self.kernel_size[i] - 1) + 1
            for i, n in enumerate(input.shape[-self.axes :])
        ]  # fmt: skip
        extra = tuple(g - n for g, n in zip(goal, least, strict=True))
        limits = map(max, self.stride, self.dilation)
        if any(not 0 <= e < limit for e, limit in zip(extra, limits, strict=True)):
            raise ShapeError(
                f"no output padding leads from {input.shape} to {goal}",
                f"{type(self).__name__}, argument output_size",
                f"the shape must be at least {tuple(least)} and exceed it by less than the stride",
            )
        return extra


class ConvTranspose1d(_ConvTranspose):  # noqa: D101  its base's
    __doc__ = _ConvTranspose.__doc__
    axes = 1
    function = "conv_transpose1d"
    examples: ClassVar = [
        ((4, 6, 3), {}, ((2, 4, 5),)),
        ((4, 6, 3), {"stride": 3, "padding": 1, "output_padding": 2, "groups": 2}, ((2, 4, 5),)),
    ]  # fmt: skip


class ConvTranspose2d(_ConvTranspose):  # noqa: D101  its base's
    __doc__ = _ConvTranspose.__doc__
    axes = 2
    function = "conv_transpose2d"
    examples: ClassVar = [
        ((2, 4, 3), {}, ((2, 2, 4, 3),)),
        ((2, 4, 3), {"stride": 2, "padding": 1, "output_padding": 1, "dilation": 2, "bias": False},
         ((1, 2, 4, 4),)),
    ]  # fmt: skip


class ConvTranspose3d(_ConvTranspose):  # noqa: D101  its base's
    __doc__ = _ConvTranspose.__doc__
    axes = 3
    function = "conv_transpose3d"
    examples: ClassVar = [((2, 2, 2), {"stride": 2}, ((1, 2, 2, 3, 2),))]
