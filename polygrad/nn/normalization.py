"""Normalisation within each sample."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.errors import InvalidArgumentError
from polygrad.nn import functional, init
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.ops.filling import ones, zeros
from polygrad.tensor import Tensor

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]

Shape = tuple[int, ...]


def _shape(value: Any) -> Shape:
    return (value,) if isinstance(value, int) else tuple(value)


class LayerNorm(Module):
    """The last axes brought to mean 0 and variance 1, then scaled and shifted.

    Parameters
    ----------
    normalized_shape
        The lengths of those axes.
    eps
        Added to the variance.
    elementwise_affine
        Whether a scale is learned, of that shape.
    bias
        Whether a shift is learned too.
    device, dtype
        Of the parameters.

    Source: Ba, Kiros, Hinton, "Layer normalization" (2016).
    """

    examples: ClassVar = [
        ((4,), {}, ((2, 3, 4),)), (((3, 4),), {"bias": False}, ((2, 3, 4),)),
        ((4,), {"elementwise_affine": False, "eps": 1e-3}, ((2, 4),)),
    ]  # fmt: skip

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        shape, place = self.normalized_shape, {"device": device, "dtype": dtype}
        scale = Parameter(ones(shape, **place)) if elementwise_affine else None
        shift = Parameter(zeros(shape, **place)) if elementwise_affine and bias else None
        self.register_parameter("weight", scale)
        self.register_parameter("bias", shift)

    def reset_parameters(self) -> None:
        """Ones and zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise the last axes."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class RMSNorm(Module):
    """The last axes divided by their root mean square, then scaled.

    Parameters
    ----------
    normalized_shape, elementwise_affine, device, dtype
        As for `LayerNorm`.
    eps
        Added to the mean square; the dtype's machine epsilon if not given.

    Source: Zhang and Sennrich, "Root mean square layer normalization" (2019).
    """

    examples: ClassVar = [
        ((4,), {}, ((2, 3, 4),)),
        (((3, 4),), {"eps": 1e-3, "elementwise_affine": False}, ((2, 3, 4),)),
    ]  # fmt: skip

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        scale = ones(self.normalized_shape, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(scale) if elementwise_affine else None)

    def reset_parameters(self) -> None:
        """Ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise the last axes."""
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Channels in groups, each group of a sample brought to mean 0 and variance 1; then by channel.

    Parameters
    ----------
    num_groups, num_channels
        Groups, and the length of axis 1.
    eps
        Added to the variance.
    affine
        Whether a scale is learned, one for each channel.
    device, dtype
        Of the parameters.
    bias
        Whether a shift is learned too.

    Source: Wu and He, "Group normalization" (2018).
    """

    examples: ClassVar = [
        ((2, 4), {}, ((3, 4, 5),)), ((4, 4), {"affine": False}, ((2, 4, 3, 2),)),
        ((2, 4), {"bias": False}, ((3, 4, 5),)),
    ]  # fmt: skip

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise InvalidArgumentError(
                f"{num_channels} channels in {num_groups} groups", "GroupNorm, argument num_groups",
                "the groups must divide the channels",
            )  # fmt: skip
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        shape, place = (num_channels,), {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones(shape, **place)) if affine else None)
        shift = affine and bias
        self.register_parameter("bias", Parameter(zeros(shape, **place)) if shift else None)

    def reset_parameters(self) -> None:
        """Ones and zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """(batch, channels, …)."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class LocalResponseNorm(Module):
    """Each channel divided by a power of the mean square of its neighbours.

    Parameters
    ----------
    size
        How many neighbours, itself included.
    alpha, beta, k
        The divisor is `(k + alpha * mean square) ** beta`.

    Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification" (2012).
    """

    examples: ClassVar = [((3,), {}, ((2, 5, 4),)), ((2, 0.1, 0.5, 2.0), {}, ((2, 5, 3, 2),))]

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """(batch, channels, *spatial)."""
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
