"""Layers without parameters that change shapes, and measure distances."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from polygrad.errors import ShapeError
from polygrad.nn import functional
from polygrad.nn.module import Module
from polygrad.ops._axes import normalize_axis
from polygrad.ops.manipulation import reshape
from polygrad.tensor import Tensor

__all__ = ["CosineSimilarity", "Flatten", "Fold", "PairwiseDistance", "Unflatten", "Unfold"]


class Flatten(Module):
    """The axes from `start_axis` to `end_axis` as one.

    >>> import polygrad as pg
    >>> pg.nn.Flatten()(pg.zeros((2, 3, 4))).shape
    (2, 12)
    """

    examples: ClassVar = [((), {}, ((2, 3, 4),)), ((0, 1), {}, ((2, 3, 4),))]

    def __init__(self, start_axis: int = 1, end_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.end_axis = start_axis, end_axis

    def forward(self, input: Tensor) -> Tensor:
        """Join the axes."""
        shape = input.shape
        first = normalize_axis(self.start_axis, len(shape), "Flatten, argument start_axis")
        last = normalize_axis(self.end_axis, len(shape), "Flatten, argument end_axis")
        if first > last:
            raise ShapeError(
                f"start_axis {first} comes after end_axis {last}", f"Flatten of shape {shape}",
                "exchange them",
            )  # fmt: skip
        joined = math.prod(shape[first : last + 1])
        return reshape(input, (*shape[:first], joined, *shape[last + 1 :]))

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_axis={self.start_axis}, end_axis={self.end_axis}"


class Unflatten(Module):
    """One axis as several, of lengths `unflattened_size`, one of which may be -1.

    >>> import polygrad as pg
    >>> pg.nn.Unflatten(1, (3, -1))(pg.zeros((2, 12))).shape
    (2, 3, 4)
    """

    examples: ClassVar = [((1, (2, -1)), {}, ((3, 6),))]

    def __init__(self, axis: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        """Divide the axis."""
        shape = input.shape
        axis = normalize_axis(self.axis, len(shape), "Unflatten, argument axis")
        sizes: list[Any] = list(self.unflattened_size)
        known = math.prod(n for n in sizes if n != -1)
        if sizes.count(-1) == 1 and known and shape[axis] % known == 0:
            sizes[sizes.index(-1)] = shape[axis] // known
        if -1 in sizes or math.prod(sizes) != shape[axis]:
            raise ShapeError(
                f"an axis of length {shape[axis]} is not divided into {self.unflattened_size}",
                f"Unflatten of shape {shape}",
                "the product of the lengths must be that of the axis",
            )  # fmt: skip
        return reshape(input, (*shape[:axis], *sizes, *shape[axis + 1 :]))

    def extra_repr(self) -> str:
        """Axis and lengths."""
        return f"axis={self.axis}, unflattened_size={self.unflattened_size}"


class Unfold(Module):
    """All windows of an image, as columns.

    Parameters
    ----------
    kernel_size, dilation, padding, stride
        An int, or a pair for height and width.
    """

    examples: ClassVar = [
        ((2,), {}, ((2, 3, 4, 5),)), (((2, 3), 1, (1, 0), 2), {}, ((2, 3, 4, 5),)),
    ]  # fmt: skip

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """(batch, channels, height, width) to (batch, channels * window, windows)."""
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The windows."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Unfold):
    """The sum of windows, given as columns, in an image: the adjoint of `Unfold`.

    Parameters
    ----------
    output_size
        Height and width of the image.
    kernel_size, dilation, padding, stride
        An int, or a pair for height and width.
    """

    examples: ClassVar = [(((4, 5), (2, 2)), {}, ((2, 12, 12),))]

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """(batch, channels * window, windows) to (batch, channels, height, width)."""
        return functional.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """The image and the windows."""
        return f"output_size={self.output_size}, {super().extra_repr()}"


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along an axis."""

    examples: ClassVar = [((), {}, ((2, 3), (2, 3))), ((0,), {}, ((2, 3), (2, 3)))]

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.axis, self.eps = axis, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The axis goes away."""
        return functional.cosine_similarity(x1, x2, axis=self.axis, eps=self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference along the last axis."""

    examples: ClassVar = [
        ((), {}, ((2, 3), (2, 3))), ((1.0,), {"keepdims": True}, ((2, 3), (2, 3))),
    ]  # fmt: skip

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> None:
        super().__init__()
        self.p, self.eps, self.keepdims = p, eps, keepdims

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The axis goes away, or gets length 1."""
        return functional.pairwise_distance(x1, x2, self.p, self.eps, self.keepdims)
