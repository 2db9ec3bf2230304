"""Layers that put borders around their input: `nn.functional.pad` of a number of axes."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.nn import functional
from polygrad.nn.module import Module
from polygrad.ops._axes import as_tensor
from polygrad.tensor import Tensor

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """A border around the spatial axes.

    Parameters
    ----------
    padding
        An int for all sides, or two for each spatial axis, the last axis first: (left, right),
        (left, right, top, bottom), (left, right, top, bottom, front, back). Negative widths cut.
    """

    axes: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        entries = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,)
        self.padding = entries * (2 * self.axes) if len(entries) == 1 else entries
        if len(self.padding) != 2 * self.axes:
            raise InvalidArgumentError(
                f"a padding of {len(entries)} widths", f"{type(self).__name__}, argument padding",
                f"pass an int, or {2 * self.axes} of them",
            )  # fmt: skip

    def _value(self) -> Any:
        """The number in the border, where there is one."""
        return None

    def forward(self, input: Any) -> Tensor:
        """(batch, channels, *spatial); the batch may be left out."""
        x = as_tensor(input, f"{type(self).__name__}, argument input")
        if x.ndim < self.axes or (self.mode != "constant" and x.ndim - self.axes not in (1, 2)):
            raise ShapeError(
                f"an input of shape {x.shape}", f"{type(self).__name__}{describe([x])}",
                f"its axes are (batch, channels, {self.axes} spatial ones), or all but the batch",
            )  # fmt: skip
        made: Tensor = functional.pad(x, self.padding, self.mode, self._value())
        return made

    def extra_repr(self) -> str:
        """The widths."""
        return f"padding={self.padding}"


class _ConstantPad(_Pad):
    """A border of one number around the spatial axes.

    Parameters
    ----------
    padding
        An int for all sides, or two for each spatial axis, the last axis first. Negative widths
        cut.
    value
        The number.
    """

    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def _value(self) -> Any:
        return self.value

    def extra_repr(self) -> str:
        """The widths and the number."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):  # noqa: D101  its base's
    __doc__ = _ConstantPad.__doc__
    axes = 1
    examples: ClassVar = [((1, 2.5), {}, ((1, 2, 5),)), (((1, 2), -1), {}, ((1, 2, 5),))]


class ConstantPad2d(_ConstantPad):  # noqa: D101  its base's
    __doc__ = _ConstantPad.__doc__
    axes = 2
    examples: ClassVar = [
        ((1, 2.5), {}, ((1, 2, 4, 5),)),
        (((1, 2, 0, 3), -1), {}, ((1, 2, 4, 5),)),
    ]  # fmt: skip


class ConstantPad3d(_ConstantPad):  # noqa: D101  its base's
    __doc__ = _ConstantPad.__doc__
    axes = 3
    examples: ClassVar = [
        ((1, 2.5), {}, ((1, 2, 3, 4, 3),)),
        (((1, 0, 2, 1, 0, 2), -1), {}, ((1, 2, 3, 4, 3),)),
    ]  # fmt: skip


class _ZeroPad(_Pad):
    """A border of zeros around the spatial axes.

    Parameters
    ----------
    padding
        An int for all sides, or two for each spatial axis, the last axis first. Negative widths
        cut.
    """

    mode = "constant"


class ZeroPad1d(_ZeroPad):  # noqa: D101  its base's
    __doc__ = _ZeroPad.__doc__
    axes = 1
    examples: ClassVar = [((1,), {}, ((1, 2, 5),)), (((1, 2),), {}, ((1, 2, 5),))]


class ZeroPad2d(_ZeroPad):  # noqa: D101  its base's
    __doc__ = _ZeroPad.__doc__
    axes = 2
    examples: ClassVar = [((1,), {}, ((1, 2, 4, 5),)), (((1, 2, 0, 3),), {}, ((1, 2, 4, 5),))]


class ZeroPad3d(_ZeroPad):  # noqa: D101  its base's
    __doc__ = _ZeroPad.__doc__
    axes = 3
    examples: ClassVar = [
        ((1,), {}, ((1, 2, 3, 4, 3),)),
        (((1, 0, 2, 1, 0, 2),), {}, ((1, 2, 3, 4, 3),)),
    ]  # fmt: skip


class _ReflectionPad(_Pad):
    """A border of the inside mirrored at the outermost elements.

    Parameters
    ----------
    padding
        An int for all sides, or two for each spatial axis, the last axis first. Negative widths
        cut.
    """

    mode = "reflect"


class ReflectionPad1d(_ReflectionPad):  # noqa: D101  its base's
    __doc__ = _ReflectionPad.__doc__
    axes = 1
    examples: ClassVar = [((1,), {}, ((1, 2, 5),)), (((1, 2),), {}, ((1, 2, 5),))]


class ReflectionPad2d(_ReflectionPad):  # noqa: D101  its base's
    __doc__ = _ReflectionPad.__doc__
    axes = 2
    examples: ClassVar = [((1,), {}, ((1, 2, 4, 5),)), (((1, 2, 0, 3),), {}, ((1, 2, 4, 5),))]


class ReflectionPad3d(_ReflectionPad):  # noqa: D101  its base's
    __doc__ = _ReflectionPad.__doc__
    axes = 3
    examples: ClassVar = [
        ((1,), {}, ((1, 2, 3, 4, 3),)),
        (((1, 0, 2, 1, 0, 2),), {}, ((1, 2, 3, 4, 3),)),
    ]  # fmt: skip


class _ReplicationPad(_Pad):
    """A border of the outermost elements.

    Parameters
    ----------
    padding
        An int for all sides, or two for each spatial axis, the last axis first. Negative widths
        cut.
    """

    mode = "replicate"


class ReplicationPad1d(_ReplicationPad):  # noqa: D101  its base's
    __doc__ = _ReplicationPad.__doc__
    axes = 1
    examples: ClassVar = [((1,), {}, ((1, 2, 5),)), (((1, 2),), {}, ((1, 2, 5),))]


class ReplicationPad2d(_ReplicationPad):  # noqa: D101  its base's
    __doc__ = _ReplicationPad.__doc__
    axes = 2
    examples: ClassVar = [((1,), {}, ((1, 2, 4, 5),)), (((1, 2, 0, 3),), {}, ((1, 2, 4, 5),))]


class ReplicationPad3d(_ReplicationPad):  # noqa: D101  its base's
    __doc__ = _ReplicationPad.__doc__
    axes = 3
    examples: ClassVar = [
        ((1,), {}, ((1, 2, 3, 4, 3),)),
        (((1, 0, 2, 1, 0, 2),), {}, ((1, 2, 3, 4, 3),)),
    ]  # fmt: skip


class _CircularPad(_Pad):
    """A border of the elements at the other end.

    Parameters
    ----------
    padding
        An int for all sides, or two for each spatial axis, the last axis first. Negative widths
        cut.
    """

    mode = "circular"


class CircularPad1d(_CircularPad):  # noqa: D101  its base's
    __doc__ = _CircularPad.__doc__
    axes = 1
    examples: ClassVar = [((1,), {}, ((1, 2, 5),)), (((1, 2),), {}, ((1, 2, 5),))]


class CircularPad2d(_CircularPad):  # noqa: D101  its base's
    __doc__ = _CircularPad.__doc__
    axes = 2
    examples: ClassVar = [((1,), {}, ((1, 2, 4, 5),)), (((1, 2, 0, 3),), {}, ((1, 2, 4, 5),))]


class CircularPad3d(_CircularPad):  # noqa: D101  its base's
    __doc__ = _CircularPad.__doc__
    axes = 3
    examples: ClassVar = [
        ((1,), {}, ((1, 2, 3, 4, 3),)),
        (((1, 0, 2, 1, 0, 2),), {}, ((1, 2, 3, 4, 3),)),
    ]  # fmt: skip
