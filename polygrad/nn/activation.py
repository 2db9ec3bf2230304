"""Activations as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.errors import ShapeError
from polygrad.nn import functional
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.ops.filling import full
from polygrad.tensor import Tensor

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU",
    "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh",
    "Tanhshrink", "Threshold",
]  # fmt: skip


class _Activation(Module):
    """Calls the function of `nn.functional` of the same purpose, with the options of its making."""

    name: ClassVar[str]
    examples: ClassVar = [((), {}, ((2, 3),))]

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = tuple(options)
        for name, value in options.items():
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise, or along the axis."""
        options = {name: getattr(self, name) for name in self.options}
        made: Tensor = getattr(functional, self.name)(input, **options)
        return made

    def extra_repr(self) -> str:
        """The options, but `inplace` only if true."""
        shown = [n for n in self.options if n != "inplace" or self.inplace]
        return ", ".join(f"{n}={getattr(self, n)}" for n in shown)

    inplace: bool = False


class _InPlace(_Activation):
    """One that may overwrite its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class ReLU(_InPlace):
    """max(x, 0).

    >>> import polygrad as pg
    >>> pg.nn.ReLU()(pg.tensor([-1.0, 2.0]))
    tensor([0., 2.], dtype=float32)
    """

    name = "relu"

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        made: Tensor = functional.relu(input, self.inplace)
        return made


class Tanh(Module):
    """The hyperbolic tangent."""

    examples: ClassVar = [((), {}, ((2, 3),))]

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        made: Tensor = functional.tanh(input)
        return made


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    examples: ClassVar = [((), {}, ((2, 3),))]

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return functional.sigmoid(input)


class ReLU6(_InPlace):
    """min(max(x, 0), 6)."""

    name = "relu6"


class SELU(_InPlace):
    """The self-normalising ELU of Klambauer et al. (2017)."""

    name = "selu"


class SiLU(_InPlace):
    """x sigmoid(x)."""

    name = "silu"


class Mish(_InPlace):
    """x tanh(softplus(x))."""

    name = "mish"


class Hardswish(_InPlace):
    """x relu6(x + 3) / 6."""

    name = "hardswish"


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6."""

    name = "hardsigmoid"


class LogSigmoid(_Activation):
    """log(sigmoid(x))."""

    name = "logsigmoid"


class Softsign(_Activation):
    """x / (1 + |x|)."""

    name = "softsign"


class Tanhshrink(_Activation):
    """x - tanh(x)."""

    name = "tanhshrink"


class GELU(_Activation):
    """x times the normal distribution function; `approximate="tanh"` for a usual approximation."""

    name = "gelu"
    examples: ClassVar = [((), {}, ((2, 3),)), ((), {"approximate": "tanh"}, ((2, 3),))]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)


class ELU(_Activation):
    """x where positive, alpha (exp(x) - 1) elsewhere."""

    name = "elu"
    examples: ClassVar = [((), {}, ((2, 3),)), ((0.5,), {}, ((2, 3),))]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class CELU(_Activation):
    """max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)."""

    name = "celu"
    examples: ClassVar = [((), {}, ((2, 3),)), ((0.5,), {}, ((2, 3),))]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class LeakyReLU(_Activation):
    """x where positive, negative_slope x elsewhere."""

    name = "leaky_relu"
    examples: ClassVar = [((), {}, ((2, 3),)), ((0.2,), {}, ((2, 3),))]

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)


class RReLU(_Activation):
    """x where positive, a x elsewhere; in training every a is drawn from [lower, upper].

    In use, a is the middle of the interval.
    """

    name = "rrelu"
    examples: ClassVar = [((0.25, 0.25), {}, ((2, 3),))]

    lower: float
    upper: float

    def __init__(
        self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False
    ) -> None:
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Activation):
    """x brought into [min_val, max_val]."""

    name = "hardtanh"
    examples: ClassVar = [((), {}, ((2, 3),)), ((-0.5, 0.25), {}, ((2, 3),))]

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
    ) -> None:
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)


class Threshold(_Activation):
    """x where above the threshold, `value` elsewhere."""

    name = "threshold"
    examples: ClassVar = [((0.1, 2.0), {}, ((2, 3),))]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class Softplus(_Activation):
    """log(1 + exp(beta x)) / beta.

    `threshold` is PyTorch's, where the function is cut to x; without one it is exact everywhere.
    """

    name = "softplus"
    examples: ClassVar = [((), {}, ((2, 3),)), ((2.0,), {}, ((2, 3),))]

    def __init__(self, beta: float = 1.0, threshold: float | None = None) -> None:
        super().__init__(beta=beta, threshold=threshold)


class Softshrink(_Activation):
    """x brought nearer to zero by lambd."""

    name = "softshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)


class Hardshrink(_Activation):
    """x where |x| exceeds lambd, zero elsewhere."""

    name = "hardshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)


class GLU(_Activation):
    """The first half of an axis times the sigmoid of the second."""

    name = "glu"
    examples: ClassVar = [((), {}, ((2, 4),)), ((0,), {}, ((2, 4),))]

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis=axis)


class Softmax(_Activation):
    """exp(x), scaled to the sum 1 along an axis.

    >>> import polygrad as pg
    >>> pg.nn.Softmax(axis=1)(pg.zeros((1, 4)))
    tensor([[0.25, 0.25, 0.25, 0.25]], dtype=float32)
    """

    name = "softmax"
    examples: ClassVar = [((), {}, ((2, 3),)), ((0,), {}, ((2, 3),))]

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis=axis)


class Softmax2d(Module):
    """The softmax over the channels of each place of (batch, channels, height, width).

    Raises
    ------
    ShapeError
        An input has not four axes, or three without the batch.
    """

    examples: ClassVar = [((), {}, ((2, 3, 2, 2),)), ((), {}, ((3, 2, 1),))]

    def forward(self, input: Tensor) -> Tensor:
        """Along the third axis from the end."""
        if input.ndim not in (3, 4):
            raise ShapeError(
                f"an input of shape {input.shape}", "Softmax2d",
                "its axes are (batch, channels, height, width), or all but the batch",
            )  # fmt: skip
        return functional.softmax(input, axis=-3)


class LogSoftmax(_Activation):
    """The logarithm of the softmax along an axis."""

    name = "log_softmax"
    examples: ClassVar = [((), {}, ((2, 3),)), ((0,), {}, ((2, 3),))]

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis=axis)


class Softmin(_Activation):
    """The softmax of -x along an axis."""

    name = "softmin"

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis=axis)


class PReLU(Module):
    """x where positive, weight x elsewhere: one slope, or one for each channel (axis 1)."""

    examples: ClassVar = [((), {}, ((2, 3),)), ((3,), {}, ((2, 3, 2),))]

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), float(init), device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many slopes."""
        return f"num_parameters={self.num_parameters}"
