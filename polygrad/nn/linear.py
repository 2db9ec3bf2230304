"""Linear layers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from polygrad.nn import functional, init
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.ops.filling import empty
from polygrad.tensor import Tensor

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Returns its input; arguments are accepted and ignored."""

    examples: ClassVar = [((), {}, ((2, 3),))]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """`x @ weight.T + bias`.

    Parameters
    ----------
    in_features, out_features
        Lengths of the last axis of input and output.
    bias
        Whether a bias is learned.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    weight
        Of shape (out_features, in_features).
    bias
        Of shape (out_features,), or None.

    >>> import polygrad as pg
    >>> pg.nn.Linear(4, 3)(pg.ones((2, 4))).shape
    (2, 3)
    """

    examples: ClassVar = [
        ((4, 3), {}, ((2, 4),)), ((4, 3), {"bias": False}, ((4,),)), ((4, 3), {}, ((2, 5, 4),)),
    ]  # fmt: skip

    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty((out_features,), device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform, within one over the root of the fan in."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        reset_bias(self.bias, self.in_features)

    def forward(self, input: Tensor) -> Tensor:
        """Apply to the last axis."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


def reset_bias(bias: Parameter | None, fan_in: int) -> None:
    """Uniform, within one over the root of the fan in."""
    if bias is not None:
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


class Bilinear(Module):
    """`x1 @ weight[k] @ x2 + bias[k]` for each output k.

    Parameters
    ----------
    in1_features, in2_features, out_features
        Lengths of the last axis of the two inputs and of the output.
    bias, device, dtype
        As for `Linear`.
    """

    examples: ClassVar = [
        ((3, 4, 2), {}, ((5, 3), (5, 4))), ((3, 4, 2), {"bias": False}, ((3,), (4,))),
    ]  # fmt: skip

    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty((out_features,), device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform, within one over the root of the first input's length."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        reset_bias(self.bias, self.in1_features)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Apply to the last axes."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
