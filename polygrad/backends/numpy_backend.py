"""NumPy on the CPU: the default device, and the host of all others."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from polygrad import dtypes, indexing
from polygrad.backend import Array, Backend, Capabilities, Kernel, Kernels, KnownGap
from polygrad.backends import numba_kernels
from polygrad.backends.bfloat16 import BFLOAT16, narrowing, number_type
from polygrad.backends.counting import ALONE
from polygrad.backends.host_memory import keep_freed_memory
from polygrad.backends.numpy_convolution import CONVOLUTIONS
from polygrad.backends.numpy_factorizations import FACTORIZATIONS
from polygrad.backends.numpy_kernels import KERNELS
from polygrad.backends.numpy_pieces import PIECEWISE, in_pieces
from polygrad.backends.numpy_recurrence import CELLS
from polygrad.backends.numpy_transforms import TRANSFORMS
from polygrad.backends.numpy_updates import UPDATES
from polygrad.device import Device

CPU = Device("cpu")
_TABLE = KERNELS | CONVOLUTIONS | CELLS | FACTORIZATIONS | TRANSFORMS | UPDATES


class NumpyBackend(Backend):
    """Arrays that can be written; CPython's reference count says whether anybody would notice."""

    name = "numpy"
    device_kinds = ("cpu",)
    capabilities = Capabilities(aliasing=True, survives_fork=True)
    tiled = True
    compiled: frozenset[tuple[str, str]] = frozenset()  # operations and dtypes that numba serves
    special_install = "pip install 'polygrad[scipy]'"
    known_gaps = (
        KnownGap(
            "special.voigt_profile", "its second derivative cancels in single precision",
            dtypes=("float32",), checks=("gradgrad",), kind="accuracy", measured="60 ratio",
        ),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        keep_freed_memory()
        for name, function in _TABLE.items():
            self.kernel(name)(function)
        self.kernel("nextafter", dtype="float16")(half_nextafter)
        if type(self) is NumpyBackend and numba_kernels.wanted():
            self.compiled = numba_kernels.register(self)

    @property
    def array_types(self) -> tuple[type, ...]:
        """numpy.ndarray."""
        return (np.ndarray,)

    @property
    def xp(self) -> Any:
        """NumPy itself: since 2.1 it has the standard's names, at a quarter of a wrapper's cost."""
        return np

    @property
    def special(self) -> Any:
        """SciPy's, where it is installed."""
        if importlib.util.find_spec("scipy") is None:
            return None
        import scipy.special

        return scipy.special

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
        return dtype in dtypes.ALL or dtype.name == BFLOAT16

    def scalar(self, kernels: Kernels) -> Callable[[Any], Any] | None:
        """Numbers are operands, but beside bfloat16, which NumPy promotes with them to float32."""
        return number_type(kernels)  # type: ignore[no-any-return]

    def adapted(self, name: str, kernel: Kernel, kernels: Kernels) -> Kernel:
        """Asked for what ml_dtypes does not define, NumPy computes in float32; Note [Pieces]."""
        native = kernels.native_dtype
        if native.name == BFLOAT16:
            return narrowing(kernel, native)
        if name in PIECEWISE and (name, native.name) not in self.compiled:
            return in_pieces(kernel)
        return kernel

    def copy(self, array: Array) -> Array:
        """A C-ordered copy."""
        return np.array(array, order="C")

    def key_in_order(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """NumPy writes in the order of the memory of the index arrays: they become C-ordered."""
        return tuple(np.ascontiguousarray(k) if isinstance(k, np.ndarray) and k.ndim else k
                     for k in key)  # fmt: skip

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
        array, size = np.ascontiguousarray(array), array.itemsize
        return np.lib.stride_tricks.as_strided(
            array, shape, tuple(s * size for s in strides), writeable=False
        )

    def unshared(self, holder: Any) -> bool:
        """One reference, memory of its own, writeable.

        NumPy's views hold their owner, so its count sees them. Free-threaded builds cannot count.
        """
        if sys.getrefcount(holder.array) != ALONE:
            return False
        flags = holder.array.flags
        return bool(flags.owndata and flags.writeable)

    def lend(self, holder: Any) -> np.ndarray[Any, Any] | None:
        """Every array that is lent holds the same lender, which holds the memory: one reference."""
        lender, key = None, id(holder.array)
        if not self.unshared(holder):
            lender = _lenders.get(key)
            if lender is None or sys.getrefcount(holder.array) != ALONE + 1:
                return None
        if holder.array.dtype.isbuiltin != 1:
            return None
        if lender is None:
            lender = _lenders[key] = _Lender(holder.array)
        return np.asarray(lender)

    def hardware(self, device: Device) -> tuple[str, str]:
        """The processor's name, as the operating system has it."""
        with contextlib.suppress(OSError):
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            names = [line.partition(":")[2].strip() for line in lines if line[:10] == "model name"]
            if names:
                return names[0], ""
        return platform.processor() or platform.machine(), ""

    def memory(self, device: Device) -> tuple[int, int] | None:
        """Of the machine, where the operating system says."""
        try:
            page = os.sysconf("SC_PAGE_SIZE")
            return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")
        except (ValueError, OSError, AttributeError):
            return None


def half_nextafter(F: Kernels, x: Array, y: Array) -> Array:
    """Of two zeros it is the second: numpy/numpy#31472, mended in the NumPy after 2.4."""
    return F.xp.where(x == y, y, F.xp.nextafter(x, y))


class _Lender:
    """The owner, as NumPy sees it, of arrays over the memory of a Tensor."""

    __slots__ = ("__weakref__", "array")

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Where the memory is."""
        found: dict[str, Any] = self.array.__array_interface__
        return found


_lenders: weakref.WeakValueDictionary[int, _Lender] = weakref.WeakValueDictionary()
