"""einops on Tensors: `einops.rearrange(t, "b h w -> b (h w)")`, on the tape.

einops asks the subclasses of its AbstractBackend whose array it was given; this is one. It is
imported when einops has been (`polygrad.interop.imports`), and nothing needs to be called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einops._backends import AbstractBackend

import polygrad as pg

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PolygradBackend"]


class PolygradBackend(AbstractBackend):  # type: ignore[misc]  # einops has no types
    """What einops needs of an array library, in polygrad's functions."""

    framework_name = "polygrad"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Whether it is a Tensor."""
        return isinstance(tensor, pg.Tensor)

    def from_numpy(self, x: Any) -> Any:
        """A Tensor on the default device."""
        return pg.asarray(x, copy=True)

    def to_numpy(self, x: pg.Tensor) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        return x.numpy()

    def arange(self, start: int, stop: int) -> Any:
        """The integers from `start` up to `stop`."""
        return pg.arange(start, stop)

    def shape(self, x: pg.Tensor) -> tuple[int, ...]:
        """The lengths of the axes."""
        return x.shape

    def reshape(self, x: pg.Tensor, shape: Any) -> Any:
        """The same elements in another shape."""
        return pg.reshape(x, tuple(shape))

    def transpose(self, x: pg.Tensor, axes: Any) -> Any:
        """The axes in another order."""
        return pg.permute_dims(x, tuple(axes))

    def reduce(self, x: pg.Tensor, operation: str, axes: Any) -> Any:
        """The reduction of that name: sum, mean, max, min, prod, any, all."""
        return getattr(pg, operation)(x, axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list[pg.Tensor]) -> Any:
        """A list of tensors as one."""
        return pg.stack(tensors)

    def add_axis(self, x: pg.Tensor, new_position: int) -> Any:
        """An axis of length 1."""
        return pg.expand_dims(x, axis=new_position)

    def tile(self, x: pg.Tensor, repeats: Any) -> Any:
        """The elements again and again."""
        return pg.tile(x, tuple(repeats))

    def concat(self, tensors: list[pg.Tensor], axis: int) -> Any:
        """The tensors, joined along an axis."""
        return pg.concat(tensors, axis=axis)

    def is_float_type(self, x: pg.Tensor) -> bool:
        """Whether means can be taken."""
        return x.kernels.inexact

    def einsum(self, pattern: str, *x: pg.Tensor) -> Any:
        """The sum of products."""
        return pg.einsum(pattern, *x)
