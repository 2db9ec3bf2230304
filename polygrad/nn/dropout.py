"""Dropout."""

from __future__ import annotations

from typing import ClassVar

from polygrad.errors import InvalidArgumentError
from polygrad.nn import functional
from polygrad.nn.module import Module
from polygrad.tensor import Tensor

__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]  # fmt: skip


class _Dropout(Module):
    """Zeros at random places in training, the rest scaled so that the mean stays.

    Parameters
    ----------
    p
        The chance of a zero.
    inplace
        Overwrite the input.

    Raises
    ------
    InvalidArgumentError
        p is no probability.

    Source: Srivastava et al., "Dropout" (2014).
    """

    function: ClassVar[str]
    examples: ClassVar = [((0.0,), {}, ((2, 3, 4, 5),))]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise InvalidArgumentError(
                f"p is {p}", f"{type(self).__name__}, argument p", "a probability lies in [0, 1]"
            )
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Drop in training; in use, the identity."""
        made: Tensor = getattr(functional, self.function)(
            input, self.p, self.training, self.inplace
        )
        return made

    def extra_repr(self) -> str:
        """The options."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):  # noqa: D101  its base's
    __doc__ = _Dropout.__doc__
    function = "dropout"


class Dropout1d(_Dropout):
    """Whole channels of (batch, channels, length) dropped; otherwise as `Dropout`."""

    function = "dropout1d"
    examples: ClassVar = [((0.0,), {}, ((2, 3, 4),))]


class Dropout2d(_Dropout):
    """Whole channels of (batch, channels, height, width) dropped; otherwise as `Dropout`."""

    function = "dropout2d"


class Dropout3d(_Dropout):
    """Whole channels of (batch, channels, depth, height, width) dropped; otherwise as `Dropout`."""

    function = "dropout3d"
    examples: ClassVar = [((0.0,), {}, ((1, 2, 2, 2, 3),))]


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance, for SELU: Klambauer et al. (2017)."""

    function = "alpha_dropout"


class FeatureAlphaDropout(_Dropout):
    """Whole channels dropped as `AlphaDropout` does."""

    function = "feature_alpha_dropout"
