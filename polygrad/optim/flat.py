"""All parameters of an optimiser as one vector."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import dtypes
from polygrad.config import no_grad
from polygrad.errors import DeviceMismatchError
from polygrad.ops.creation import to_place
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.writes import assign

if TYPE_CHECKING:
    from polygrad.backend import Kernels

__all__ = ["Flat"]


class Flat:
    """Reads and writes parameters as one real vector, in the widest of their dtypes.

    A complex parameter is as many pairs (real part, imaginary part).

    Parameters
    ----------
    params
        Parameters of one device.

    Raises
    ------
    DeviceMismatchError
        The parameters are on several devices.
    """

    def __init__(self, params: Sequence[Tensor], where: str) -> None:
        self.params, self.where = list(params), where
        devices = sorted({str(p.device) for p in self.params})
        if len(devices) > 1:
            raise DeviceMismatchError(
                f"the parameters are on {' and '.join(devices)}", where,
                "move the model to one device",
            )  # fmt: skip
        wide = np.result_type(*(dtypes.real_of(p.dtype) for p in self.params))
        self.kernels: Kernels = self.params[0].kernels.with_dtype(wide)

    @contextmanager
    def here(self) -> Iterator[None]:
        """For arithmetic: on the device, without the library's warnings."""
        guard = self.kernels.guard
        inside = nullcontext() if guard is None else guard()
        with self.kernels.backend.quiet(), inside, self.kernels.explaining(self.where):
            yield

    def gather(self, tensors: Sequence[Tensor | None]) -> Any:
        """The vector of one tensor for each parameter; None is zeros."""
        with self.here():
            parts = [self._part(p, t) for p, t in zip(self.params, tensors, strict=True)]
            return self.kernels.xp.concat(parts)

    def _part(self, p: Tensor, t: Tensor | None) -> Any:
        k = self.kernels
        if t is None:
            return k.zeros((p.size * (2 if p.kernels.is_complex else 1),))
        array = raw(t)
        if p.kernels.is_complex:
            array = k.xp.stack([k.xp.real(array), k.xp.imag(array)], axis=-1)
        return k.cast(k.reshape(array, (-1,)) if array.size else k.zeros((0,)))

    def values(self) -> Any:
        """The parameters."""
        return self.gather(self.params)

    def gradient(self) -> Any:
        """Their gradients."""
        return self.gather([p.gradient for p in self.params])

    def scatter(self, vector: Any) -> None:
        """Write the parameters."""
        start = 0
        for p in self.params:
            k, shape = p.kernels, p.shape
            stop = start + math.prod(shape) * (2 if k.is_complex else 1)
            with self.here():
                part = vector[start:stop]
                if k.is_complex:
                    part = k.cast(part[::2]) + k.cast(part[1::2]) * 1j
                part = k.reshape(k.cast(part), shape)
            with no_grad():
                assign(p, new_tensor(part, k))
            start = stop

    def along(self, x: Any, t: float, direction: Any) -> Any:
        """The vector `x + t * direction`."""
        with self.here():
            return x + t * direction

    def dot(self, a: Any, b: Any) -> float:
        """The product of two vectors."""
        with self.here():
            return float(self.kernels.backend.item(a @ b))

    def largest(self, a: Any) -> float:
        """The largest absolute value; 0 of no parameters."""
        if not a.shape[0]:
            return 0.0
        with self.here():
            k = self.kernels
            return float(k.backend.item(k.xp.max(k.xp.abs(a))))

    def tensor(self, array: Any) -> Tensor:
        """An array of vectors' dtype as a tensor, for the state."""
        return new_tensor(self.kernels.coerce(array), self.kernels)

    def array(self, value: Any) -> Any:
        """What `tensor` made, where the parameters are now; numbers stay as they are."""
        if isinstance(value, Tensor):
            return raw(to_place(value, self.kernels.dtype, self.kernels.device))
        return value
