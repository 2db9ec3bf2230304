"""Layers without parameters that change resolutions, and the order of channels."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.nn import functional
from polygrad.nn.module import Module
from polygrad.tensor import Tensor

__all__ = [
    "ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]  # fmt: skip


class Upsample(Module):
    """Other lengths of the spatial axes, by interpolation: `nn.functional.interpolate`.

    Parameters
    ----------
    size
        The new lengths: an int, or one for each spatial axis. It or `scale_factor` is given.
    scale_factor
        By what to multiply the lengths, a number or one for each axis.
    mode, align_corners, recompute_scale_factor
        As of `interpolate`.

    >>> import polygrad as pg
    >>> pg.nn.Upsample(scale_factor=2)(pg.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]], dtype=float32)
    """

    examples: ClassVar = [
        ((), {"scale_factor": 2}, ((2, 3, 4),)),
        (((3, 5),), {"mode": "bicubic", "align_corners": True}, ((1, 2, 4, 3),)),
        ((), {"scale_factor": 1.7, "mode": "linear", "recompute_scale_factor": True}, ((1, 2, 5),)),
    ]  # fmt: skip

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Any) -> Tensor:
        """(batch, channels, *spatial)."""
        made: Tensor = functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )  # fmt: skip
        return made

    def extra_repr(self) -> str:
        """The lengths or the factors, and the mode."""
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """More or fewer pixels, each the nearest one: `Upsample(mode="nearest")` of images.

    Parameters
    ----------
    size, scale_factor
        As of `Upsample`.
    """

    examples: ClassVar = [((), {"scale_factor": 2}, ((1, 2, 3, 2),)), ((5,), {}, ((1, 2, 3, 2),))]

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """More or fewer pixels on lines between the old ones, the corners aligned.

    Parameters
    ----------
    size, scale_factor
        As of `Upsample`.
    """

    examples: ClassVar = [((), {"scale_factor": 2}, ((1, 2, 3, 2),)), ((5,), {}, ((1, 2, 3, 2),))]

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class _Shuffle(Module):
    """Calls a function of one whole number."""

    function: ClassVar[str]
    argument: ClassVar[str]

    def __init__(self, number: int) -> None:
        super().__init__()
        setattr(self, self.argument, number)

    def forward(self, input: Any) -> Tensor:
        """(batch, channels, *spatial)."""
        made: Tensor = getattr(functional, self.function)(input, getattr(self, self.argument))
        return made

    def extra_repr(self) -> str:
        """The number."""
        return f"{self.argument}={getattr(self, self.argument)}"


class PixelShuffle(_Shuffle):
    """Channels as pixels: (..., c r², h, w) becomes (..., c, h r, w r), r the upscale factor.

    >>> import polygrad as pg
    >>> pg.nn.PixelShuffle(2)(pg.zeros((1, 8, 3, 2))).shape
    (1, 2, 6, 4)
    """

    function, argument = "pixel_shuffle", "upscale_factor"
    examples: ClassVar = [((2,), {}, ((1, 8, 3, 2),))]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor)


class PixelUnshuffle(_Shuffle):
    """Pixels as channels: (..., c, h r, w r) becomes (..., c r², h, w), r the downscale factor.

    >>> import polygrad as pg
    >>> pg.nn.PixelUnshuffle(2)(pg.zeros((1, 2, 6, 4))).shape
    (1, 8, 3, 2)
    """

    function, argument = "pixel_unshuffle", "downscale_factor"
    examples: ClassVar = [((2,), {}, ((1, 2, 6, 4),))]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor)


class ChannelShuffle(_Shuffle):
    """The channels of so many groups in turn: the first of each, the second of each, ...

    >>> import polygrad as pg
    >>> pg.nn.ChannelShuffle(2)(pg.reshape(pg.arange(4), (1, 4, 1)))[0, :, 0]
    tensor([0, 2, 1, 3], dtype=int64)
    """

    function, argument = "channel_shuffle", "groups"
    examples: ClassVar = [((2,), {}, ((1, 6, 2, 2),))]

    def __init__(self, groups: int) -> None:
        super().__init__(groups)
