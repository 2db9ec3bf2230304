"""Max pooling over windows whose places are drawn."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.nn import functional
from polygrad.nn.module import Module
from polygrad.ops.fractional_pooling import check_goal, check_ratio
from polygrad.tensor import Tensor

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]


class _FractionalMaxPool(Module):
    """The largest element of each window, the windows' places drawn.

    Parameters
    ----------
    kernel_size
        An int, or one for each spatial axis.
    output_size
        How many windows: an int, or one for each spatial axis.
    output_ratio
        Or their share of the input's lengths, between 0 and 1.
    return_indices
        Return also where in the input the largest elements are.
    _random_samples
        Numbers in [0, 1), of shape (batch, channels, spatial axes), in place of drawn ones.

    Raises
    ------
    InvalidArgumentError
        Not one of `output_size` and `output_ratio` is given; the ratio is not between 0 and 1.

    Source: Graham, "Fractional max-pooling" (2014).
    """

    axes: ClassVar[int]
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        check_goal(output_size, output_ratio, type(self).__name__)
        if output_ratio is not None:
            check_ratio(output_ratio, self.axes, type(self).__name__)
        self.kernel_size, self.return_indices = kernel_size, return_indices
        self.output_size, self.output_ratio = output_size, output_ratio
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Any) -> Any:
        """(batch, channels, *spatial); the batch may be left out."""
        return getattr(functional, f"fractional_max_pool{self.axes}d")(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The windows."""
        goal = "output_size" if self.output_ratio is None else "output_ratio"
        return f"kernel_size={self.kernel_size}, {goal}={getattr(self, goal)}"


class FractionalMaxPool2d(_FractionalMaxPool):  # noqa: D101  its base's
    __doc__ = _FractionalMaxPool.__doc__
    axes = 2
    examples: ClassVar = [
        ((2, 3), {"_random_samples": None}, ((1, 1, 4, 4),)),
        ((5,), {"output_size": 1}, ((2, 3, 5, 5),)),
    ]  # fmt: skip


class FractionalMaxPool3d(_FractionalMaxPool):  # noqa: D101  its base's
    __doc__ = _FractionalMaxPool.__doc__
    axes = 3
    examples: ClassVar = [(((3, 2, 2), 1), {}, ((2, 3, 3, 2, 2),))]
