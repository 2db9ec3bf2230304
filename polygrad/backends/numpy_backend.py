"""NumPy on the CPU: the default device, and the host of all others."""

from __future__ import annotations

import os
import sys
import sysconfig
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from polygrad import dtypes, indexing
from polygrad.backend import Array, Backend, Capabilities, Kernel
from polygrad.device import Device

CPU = Device("cpu")
_BFLOAT16 = "bfloat16"


class NumpyBackend(Backend):
    """Arrays that can be written; CPython's reference count says whether anybody would notice."""

    name = "numpy"
    device_kinds = ("cpu",)
    capabilities = Capabilities(aliasing=True)

    def __init__(self) -> None:
        super().__init__()
        for name, function in _KERNELS.items():
            self.kernel(name)(function)

    @property
    def array_types(self) -> tuple[type, ...]:
        """numpy.ndarray."""
        return (np.ndarray,)

    @property
    def xp(self) -> Any:
        """NumPy itself: since 2.1 it has the standard's names, at a quarter of a wrapper's cost."""
        return np

    def devices(self) -> list[Device]:
        """The one device."""
        return [CPU]

    def device_of(self, array: Array) -> Device:
        """The one device."""
        return CPU

    def from_numpy(self, array: Array, device: Device) -> Array:
        """A copy."""
        return np.array(array, subok=False, order="C")

    def to_numpy(self, array: Array) -> Array:
        """The array itself."""
        return array

    def coerce(self, value: Any, device: Device) -> Array:
        """NumPy's 0-d results are scalars; subclasses become plain arrays."""
        return np.asarray(value)

    def astype(self, array: Array, dtype: dtypes.Dtype) -> Array:
        """NumPy's own astype; a complex value loses its imaginary part without a warning."""
        if array.dtype.kind == "c" and dtype.kind != "c":
            array = array.real
        return array.astype(dtype, copy=False)

    def quiet(self) -> AbstractContextManager[Any]:
        """NumPy's error state: the forward has warned already, if it was to."""
        return np.errstate(all="ignore")

    def supports(self, dtype: dtypes.Dtype, device: Device) -> bool:
        """Every dtype, and ml_dtypes' bfloat16."""
        return dtype in dtypes.ALL or dtype.name == _BFLOAT16

    def copy(self, array: Array) -> Array:
        """A C-ordered copy."""
        return np.array(array, order="C")

    def add_at(self, array: Array, key: tuple[Any, ...], value: Any) -> Array:
        """numpy.add.at on a copy; a basic key has no place twice."""
        array = np.array(array, order="C")
        if indexing.is_basic(key):
            array[key] += value
        else:
            np.add.at(array, key, value)
        return array

    def strided_view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array:
        """numpy.lib.stride_tricks.as_strided."""
        size = array.itemsize
        return np.lib.stride_tricks.as_strided(
            array, shape, tuple(s * size for s in strides), writeable=False
        )

    def unshared(self, holder: Any) -> bool:
        """One reference, memory of its own, writeable.

        NumPy's views hold their owner, so its count sees them. Free-threaded builds cannot count.
        """
        if sys.getrefcount(holder.array) != _ALONE:
            return False
        flags = holder.array.flags
        return bool(flags.owndata and flags.writeable)

    def memory(self, device: Device) -> tuple[int, int] | None:
        """Of the machine, where the operating system says."""
        try:
            page = os.sysconf("SC_PAGE_SIZE")
            return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")
        except (ValueError, OSError, AttributeError):
            return None


# ---- kernels: methods and ufuncs, without the Python code that NumPy's functions put around them
_Axes = int | tuple[int, ...] | None


def _reduction(ufunc: Any) -> Kernel:
    """The ufunc's own reduction."""
    reduce: Any = ufunc.reduce

    def kernel(x: Array, axis: _Axes = None, keepdims: bool = False) -> Array:
        return reduce(x, axis, None, None, keepdims)

    return kernel


def _in_kind(ufunc: Any) -> Kernel:
    """The reduction in the dtype of x: small integers are not widened, half precisions sum in float32."""
    reduce: Any = ufunc.reduce

    def kernel(x: Array, axis: _Axes = None, keepdims: bool = False) -> Array:
        dtype = x.dtype
        if dtype.itemsize == 2 and dtype.kind not in "iu":
            return reduce(x, axis, np.float32, None, keepdims).astype(dtype)
        return reduce(x, axis, dtype, None, keepdims)

    return kernel


_sum = _in_kind(np.add)


def _mean(x: Array, axis: _Axes = None, keepdims: bool = False) -> Array:
    """The sum over the count, in the dtype of x."""
    if x.dtype.char not in "fdFD":
        return x.mean(axis=axis, keepdims=keepdims)  # float16 sums in float32; integers in float64
    total = _sum(x, axis, keepdims)
    return total / (x.size // (total.size or 1))


def _broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """One element has strides of zero, which the constructor takes."""
    if x.size != 1 or x.ndim > len(shape):
        return np.broadcast_to(x, shape)
    out: Array = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    out.flags.writeable = False
    return out


def _expand_dims(x: Array, axis: int | tuple[int, ...]) -> Array:
    """One new axis is a key of slices and None."""
    if type(axis) is not int:
        return np.expand_dims(x, axis)
    return x[(slice(None),) * (axis % (x.ndim + 1)) + (None,)]


def _matmul(x: Array, y: Array) -> Array:
    """Between vectors and matrices `dot` is the same product."""
    if 0 < x.ndim <= 2 and 0 < y.ndim <= 2:
        return x.dot(y)
    return np.matmul(x, y)


_KERNELS: dict[str, Kernel] = {
    "sum": _sum,
    "prod": _in_kind(np.multiply),
    "max": _reduction(np.maximum),
    "min": _reduction(np.minimum),
    "any": _reduction(np.logical_or),
    "all": _reduction(np.logical_and),
    "argmax": lambda x, axis=None, keepdims=False: x.argmax(axis, keepdims=keepdims),
    "argmin": lambda x, axis=None, keepdims=False: x.argmin(axis, keepdims=keepdims),
    "mean": _mean,
    "reshape": lambda x, shape: x.reshape(shape),
    "permute_dims": lambda x, axes: x.transpose(axes),
    "matrix_transpose": lambda x: x.mT,
    "broadcast_to": _broadcast_to,
    "expand_dims": _expand_dims,
    "squeeze": lambda x, axis: x.squeeze(axis),
    "take": lambda x, indices, axis: x.take(indices, axis),
    "matmul": _matmul,
}


class _Holder:
    __slots__ = ("array",)

    array: Array


def _calibrate() -> int:
    """The count that `sys.getrefcount(holder.array)` gives for an array nobody else refers to."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return -1
    holder = _Holder()
    holder.array = np.empty(1)
    return sys.getrefcount(holder.array)


_ALONE = _calibrate()
