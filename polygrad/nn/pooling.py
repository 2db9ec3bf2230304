"""Pooling."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.nn import functional
from polygrad.nn.module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d",
    "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip


class _MaxPool(Module):
    """The largest element of each window.

    Parameters
    ----------
    kernel_size, stride, padding, dilation
        An int, or one for each spatial axis; the stride is the kernel size if not given.
    return_indices
        Return also where in the input the largest elements are.
    ceil_mode
        Let the last windows reach over the edge.
    """

    function: ClassVar[str]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Any) -> Any:
        """(batch, channels, *spatial); the batch may be left out."""
        return getattr(functional, self.function)(
            input, self.kernel_size, self.stride, self.padding, self.dilation,
            ceil_mode=self.ceil_mode, return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The windows."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):  # noqa: D101  its base's
    __doc__ = _MaxPool.__doc__
    function = "max_pool1d"
    examples: ClassVar = [((3,), {}, ((2, 3, 10),)), ((3, 2, 1, 2), {}, ((2, 3, 10),))]


class MaxPool2d(_MaxPool):  # noqa: D101  its base's
    __doc__ = _MaxPool.__doc__
    function = "max_pool2d"
    examples: ClassVar = [
        ((2,), {}, ((2, 3, 6, 7),)),
        (((3, 2), (2, 1), (1, 0)), {"ceil_mode": True}, ((2, 3, 6, 7),)),
    ]  # fmt: skip


class MaxPool3d(_MaxPool):  # noqa: D101  its base's
    __doc__ = _MaxPool.__doc__
    function = "max_pool3d"
    examples: ClassVar = [((2,), {}, ((1, 2, 4, 4, 5),))]


class _AvgPool(Module):
    """The mean of each window.

    Parameters
    ----------
    kernel_size, stride, padding
        An int, or one for each spatial axis; the stride is the kernel size if not given.
    ceil_mode
        Let the last windows reach over the edge.
    count_include_pad
        Whether the padding counts in the mean.
    """

    function: ClassVar[str]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Any) -> Any:
        """(batch, channels, *spatial); the batch may be left out."""
        return getattr(functional, self.function)(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _DivisiblePool(_AvgPool):
    """The mean of each window, or its sum divided by a number.

    Parameters
    ----------
    kernel_size, stride, padding
        An int, or one for each spatial axis; the stride is the kernel size if not given.
    ceil_mode
        Let the last windows reach over the edge.
    count_include_pad
        Whether the padding counts in the mean.
    divisor_override
        Divide the sum by this number.
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, input: Any) -> Any:
        """(batch, channels, *spatial); the batch may be left out."""
        return getattr(functional, self.function)(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool1d(_AvgPool):  # noqa: D101  its base's
    __doc__ = _AvgPool.__doc__
    function = "avg_pool1d"
    examples: ClassVar = [((3,), {}, ((2, 3, 10),)), ((3, 2, 1), {}, ((2, 3, 10),))]


class AvgPool2d(_DivisiblePool):  # noqa: D101  its base's
    __doc__ = _DivisiblePool.__doc__
    function = "avg_pool2d"
    examples: ClassVar = [
        ((2,), {}, ((2, 3, 6, 7),)),
        ((3, 2, 1), {"ceil_mode": True, "count_include_pad": False}, ((2, 3, 6, 7),)),
        ((2,), {"divisor_override": 3}, ((2, 3, 6, 7),)),
    ]  # fmt: skip


class AvgPool3d(_DivisiblePool):  # noqa: D101  its base's
    __doc__ = _DivisiblePool.__doc__
    function = "avg_pool3d"
    examples: ClassVar = [((2,), {}, ((1, 2, 4, 4, 5),))]


class _Adaptive(Module):
    """The mean of each window, the windows chosen so that the output has a given spatial shape.

    Parameters
    ----------
    output_size
        An int, or one for each spatial axis; None leaves an axis as it is.
    """

    function: ClassVar[str]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Any) -> Any:
        """(batch, channels, *spatial); the batch may be left out."""
        return getattr(functional, self.function)(input, self.output_size)

    def extra_repr(self) -> str:
        """The spatial shape."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):  # noqa: D101  its base's
    __doc__ = _Adaptive.__doc__
    function = "adaptive_avg_pool1d"
    examples: ClassVar = [((4,), {}, ((2, 3, 10),))]


class AdaptiveAvgPool2d(_Adaptive):  # noqa: D101  its base's
    __doc__ = _Adaptive.__doc__
    function = "adaptive_avg_pool2d"
    examples: ClassVar = [(((2, 3),), {}, ((2, 3, 5, 7),)), ((1,), {}, ((2, 3, 5, 7),))]


class AdaptiveAvgPool3d(_Adaptive):  # noqa: D101  its base's
    __doc__ = _Adaptive.__doc__
    function = "adaptive_avg_pool3d"
    examples: ClassVar = [((2,), {}, ((1, 2, 4, 3, 5),))]


class _AdaptiveMax(_Adaptive):
    """The largest element of each window, the windows chosen for a given spatial shape.

    Parameters
    ----------
    output_size
        An int, or one for each spatial axis; None leaves an axis as it is.
    return_indices
        Return also where in the input the largest elements are.
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Any) -> Any:
        """(batch, channels, *spatial); the batch may be left out."""
        return getattr(functional, self.function)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):  # noqa: D101  its base's
    __doc__ = _AdaptiveMax.__doc__
    function = "adaptive_max_pool1d"
    examples: ClassVar = [((4,), {}, ((2, 3, 10),))]


class AdaptiveMaxPool2d(_AdaptiveMax):  # noqa: D101  its base's
    __doc__ = _AdaptiveMax.__doc__
    function = "adaptive_max_pool2d"
    examples: ClassVar = [(((2, 3),), {}, ((2, 3, 5, 7),))]


class AdaptiveMaxPool3d(_AdaptiveMax):  # noqa: D101  its base's
    __doc__ = _AdaptiveMax.__doc__
    function = "adaptive_max_pool3d"
    examples: ClassVar = [((2,), {}, ((1, 2, 4, 3, 5),))]


class _LPPool(Module):
    """The p-norm of each window: (sum of x^p)^(1/p).

    Parameters
    ----------
    norm_type
        p, a number above zero.
    kernel_size, stride
        An int, or one for each spatial axis; the stride is the kernel size if not given.
    ceil_mode
        Let the last windows reach over the edge.
    """

    function: ClassVar[str]

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Any) -> Any:
        """(batch, channels, *spatial); the batch may be left out."""
        return getattr(functional, self.function)(
            input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        """The norm and the windows."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):  # noqa: D101  its base's
    __doc__ = _LPPool.__doc__
    function = "lp_pool1d"
    examples: ClassVar = [((2, 3), {}, ((2, 3, 10),)), ((4, 3, 2, True), {}, ((2, 3, 10),))]


class LPPool2d(_LPPool):  # noqa: D101  its base's
    __doc__ = _LPPool.__doc__
    function = "lp_pool2d"
    examples: ClassVar = [((2, (3, 2)), {"stride": 2}, ((2, 3, 6, 7),))]


class LPPool3d(_LPPool):  # noqa: D101  its base's
    __doc__ = _LPPool.__doc__
    function = "lp_pool3d"
    examples: ClassVar = [((2, 2), {}, ((1, 2, 4, 4, 5),))]


class _MaxUnpool(Module):
    """Zeros, with pooled elements put back where `MaxPool` with `return_indices` found them.

    Parameters
    ----------
    kernel_size, stride, padding
        Those of the pooling.
    """

    function: ClassVar[str]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """(batch, channels, *spatial), twice; the batch may be left out."""
        return getattr(functional, self.function)(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        """The windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):  # noqa: D101  its base's
    __doc__ = _MaxUnpool.__doc__
    function = "max_unpool1d"
    examples: ClassVar = [((2,), {}, ((1, 2, 1), ("index", (1, 2, 1), 2)))]


class MaxUnpool2d(_MaxUnpool):  # noqa: D101  its base's
    __doc__ = _MaxUnpool.__doc__
    function = "max_unpool2d"
    examples: ClassVar = [(((3, 2), 2, (1, 0)), {}, ((1, 2, 2, 1), ("index", (1, 2, 2, 1), 6)))]


class MaxUnpool3d(_MaxUnpool):  # noqa: D101  its base's
    __doc__ = _MaxUnpool.__doc__
    function = "max_unpool3d"
    examples: ClassVar = [((2,), {}, ((1, 2, 1, 1, 1), ("index", (1, 2, 1, 1, 1), 8)))]
