"""Channels as pixels and back, and channels in another order: reshapes and permutations.

`pixel_shuffle` is the sub-pixel convolution's last step: W. Shi et al., "Real-Time Single Image and
Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network", CVPR 2016;
`channel_shuffle` is of X. Zhang et al., "ShuffleNet", CVPR 2018.
"""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.manipulation import permute_dims, reshape
from polygrad.tensor import Tensor

_table = Chapter("shuffling", "nn.functional")


def _factor(value: Any, where: str) -> int:
    """An int of at least 1."""
    try:
        found: int = value.__index__()
    except AttributeError:
        raise InvalidTypeError(f"{value!r} is no int", where, "pass an int") from None
    if found < 1:
        raise InvalidArgumentError(f"{found} is less than 1", where, "pass an int of at least 1")
    return found


def _image(input: Any, where: str) -> Tensor:
    x = as_tensor(input, f"{where}, argument input")
    if x.ndim < 3:
        raise ShapeError(
            f"an input of shape {x.shape}", f"{where}{describe([x])}",
            "its axes are (..., channels, height, width)",
        )  # fmt: skip
    return x


@_table.public(samples=lambda s: [
    ((s.real(2, 8, 2, 3), 2), {}), ((s.real(9, 1, 2), 3), {}), ((s.real(0, 4, 2, 2), 2), {}),
], kinds="bifc")  # fmt: skip
def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """Channels as pixels: (..., c r², h, w) becomes (..., c, h r, w r).

    Parameters
    ----------
    input
        Tensor of any dtype. Element (c r² + i r + j, y, x) goes to (c, y r + i, x r + j).
    upscale_factor
        r.

    Returns
    -------
    Tensor
        The same dtype.

    Raises
    ------
    ShapeError, InvalidArgumentError, InvalidTypeError
        The channels are no multiple of r²; the input has less than three axes; r is no int, or
        less than 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.pixel_shuffle(pg.reshape(pg.arange(4), (4, 1, 1)), 2)
    tensor([[[0, 1],
             [2, 3]]], dtype=int64)
    """
    x = _image(input, "pixel_shuffle")
    r = _factor(upscale_factor, "pixel_shuffle, argument upscale_factor")
    *lead, channels, h, w = x.shape
    if channels % (r * r):
        raise ShapeError(
            f"{channels} channels are no multiple of {r} squared", f"pixel_shuffle{describe([x])}",
            "choose another factor, or another number of channels",
        )  # fmt: skip
    c, k = channels // (r * r), len(lead)
    x = reshape(x, (*lead, c, r, r, h, w))
    x = permute_dims(x, (*range(k + 1), k + 3, k + 1, k + 4, k + 2))
    return reshape(x, (*lead, c, h * r, w * r))


@_table.public(samples=lambda s: [
    ((s.real(2, 2, 4, 6), 2), {}), ((s.real(1, 3, 6), 3), {}), ((s.real(0, 1, 2, 2), 2), {}),
], kinds="bifc")  # fmt: skip
def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`: (..., c, h r, w r) becomes (..., c r², h, w).

    Parameters
    ----------
    input
        Tensor of any dtype.
    downscale_factor
        r.

    Returns
    -------
    Tensor
        The same dtype.

    Raises
    ------
    ShapeError, InvalidArgumentError, InvalidTypeError
        The height or the width is no multiple of r; the input has less than three axes; r is no
        int, or less than 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.pixel_unshuffle(pg.ones((1, 4, 6)), 2).shape
    (4, 2, 3)
    """
    x = _image(input, "pixel_unshuffle")
    r = _factor(downscale_factor, "pixel_unshuffle, argument downscale_factor")
    *lead, c, high, wide = x.shape
    if high % r or wide % r:
        raise ShapeError(
            f"a height of {high} and a width of {wide} are no multiples of {r}",
            f"pixel_unshuffle{describe([x])}", "choose another factor, or pad first",
        )  # fmt: skip
    h, w, k = high // r, wide // r, len(lead)
    x = reshape(x, (*lead, c, h, r, w, r))
    x = permute_dims(x, (*range(k + 1), k + 2, k + 4, k + 1, k + 3))
    return reshape(x, (*lead, c * r * r, h, w))


@_table.public(samples=lambda s: [
    ((s.real(2, 6, 3), 2), {}), ((s.real(1, 4, 2, 2), 4), {}), ((s.real(0, 4, 2), 2), {}),
], kinds="bifc")  # fmt: skip
def channel_shuffle(input: Any, groups: int) -> Tensor:
    """The channels of so many groups in turn: the first of each, the second of each, ...

    Parameters
    ----------
    input
        (batch, channels, *spatial), of any dtype.
    groups
        How many groups the channels are in.

    Returns
    -------
    Tensor
        The same shape and dtype.

    Raises
    ------
    ShapeError, InvalidArgumentError, InvalidTypeError
        The channels are no multiple of `groups`; there are less than three axes; `groups` is no
        int, or less than 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.reshape(pg.arange(4), (1, 4, 1))
    >>> pg.nn.functional.channel_shuffle(x, 2)[0, :, 0]
    tensor([0, 2, 1, 3], dtype=int64)
    """
    x = _image(input, "channel_shuffle")
    g = _factor(groups, "channel_shuffle, argument groups")
    batch, channels, *rest = x.shape
    if channels % g:
        raise ShapeError(
            f"{channels} channels are no multiple of {g} groups", f"channel_shuffle{describe([x])}",
            "choose another number of groups",
        )  # fmt: skip
    x = reshape(x, (batch, g, channels // g, *rest))
    x = permute_dims(x, (0, 2, 1, *range(3, x.ndim)))
    return reshape(x, (batch, channels, *rest))
