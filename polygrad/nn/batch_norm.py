"""Normalisation over the batch, with running statistics."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.config import no_grad
from polygrad.errors import ShapeError
from polygrad.nn import functional, init
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.ops.filling import ones, zeros
from polygrad.registry import default_integer, find_device
from polygrad.tensor import Tensor

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d",
]  # fmt: skip


class _Norm(Module):
    """Parameters and running statistics of normalisation by channel (axis 1)."""

    ndims: ClassVar[tuple[int, ...]]
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        place = {"device": device, "dtype": dtype}
        shape = (num_features,)
        self.register_parameter("weight", Parameter(ones(shape, **place)) if affine else None)
        shift = affine and bias
        self.register_parameter("bias", Parameter(zeros(shape, **place)) if shift else None)
        track = track_running_stats
        self.register_buffer("running_mean", zeros(shape, **place) if track else None)
        self.register_buffer("running_var", ones(shape, **place) if track else None)
        integer = default_integer(find_device(device))
        self.register_buffer(
            "num_batches_tracked", zeros((), dtype=integer, device=device) if track else None
        )

    def reset_running_stats(self) -> None:
        """Forget what was tracked."""
        if self.running_mean is not None and self.running_var is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
        if self.num_batches_tracked is not None:
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Ones and zeros, statistics forgotten."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check(self, input: Tensor) -> None:
        if input.ndim not in self.ndims:
            raise ShapeError(
                f"the input has shape {input.shape}", type(self).__name__,
                "it must have " + " or ".join(str(n) for n in self.ndims) + " axes",
            )  # fmt: skip

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Norm):
    """Each channel brought to mean 0 and variance 1 over the batch, then scaled and shifted.

    In training the statistics are the batch's, and the running ones follow; `eval()` uses the
    running ones.

    Parameters
    ----------
    num_features
        Channels, the length of axis 1.
    eps
        Added to the variance.
    momentum
        Share of the batch in the running statistics; None: their plain average over all batches.
    affine
        Whether a scale is learned.
    track_running_stats
        Whether running statistics are kept.
    device, dtype
        Of parameters and buffers.
    bias
        Whether a shift is learned too.

    Source: Ioffe and Szegedy, "Batch normalization" (2015).
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise; in training with statistics, update them."""
        self._check(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked += 1
            if self.momentum is None:
                share = 1.0 / int(self.num_batches_tracked)
        by_batch = self.training or self.running_mean is None
        keep = not self.training or self.track_running_stats
        return functional.batch_norm(
            input, self.running_mean if keep else None, self.running_var if keep else None,
            self.weight, self.bias, by_batch, share, self.eps,
        )  # fmt: skip


class BatchNorm1d(_BatchNorm):  # noqa: D101  its base's
    __doc__ = _BatchNorm.__doc__
    ndims = (2, 3)
    examples: ClassVar = [
        ((3,), {}, ((4, 3),)), ((3,), {"affine": False, "momentum": None}, ((4, 3, 5),)),
        ((3,), {"bias": False}, ((4, 3),)),
    ]  # fmt: skip


class BatchNorm2d(_BatchNorm):  # noqa: D101  its base's
    __doc__ = _BatchNorm.__doc__
    ndims = (4,)
    examples: ClassVar = [
        ((3,), {}, ((2, 3, 4, 5),)), ((3,), {"track_running_stats": False}, ((2, 3, 4, 5),)),
    ]  # fmt: skip


class BatchNorm3d(_BatchNorm):  # noqa: D101  its base's
    __doc__ = _BatchNorm.__doc__
    ndims = (5,)
    examples: ClassVar = [((2,), {"eps": 1e-3}, ((2, 2, 2, 3, 2),))]


class _InstanceNorm(_Norm):
    """Each channel of each sample brought to mean 0 and variance 1, then scaled if asked for.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        As for batch normalisation, with other defaults.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance normalization" (2016).
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """(batch, channels, *spatial); the batch may be left out."""
        self._check(input)
        alone = input.ndim == self.ndims[0]
        made = functional.instance_norm(
            input[None] if alone else input, self.running_mean, self.running_var, self.weight,
            self.bias, self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return made[0] if alone else made


class InstanceNorm1d(_InstanceNorm):  # noqa: D101  its base's
    __doc__ = _InstanceNorm.__doc__
    ndims = (2, 3)
    examples: ClassVar = [((3,), {}, ((2, 3, 5),)), ((3,), {"affine": True}, ((3, 5),))]


class InstanceNorm2d(_InstanceNorm):  # noqa: D101  its base's
    __doc__ = _InstanceNorm.__doc__
    ndims = (3, 4)
    examples: ClassVar = [((3,), {"affine": True, "track_running_stats": True}, ((2, 3, 4, 5),))]


class InstanceNorm3d(_InstanceNorm):  # noqa: D101  its base's
    __doc__ = _InstanceNorm.__doc__
    ndims = (4, 5)
    examples: ClassVar = [((2,), {}, ((2, 2, 2, 3, 2),))]
