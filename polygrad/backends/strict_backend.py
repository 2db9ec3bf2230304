"""array_api_strict: a NumPy that refuses what the array API standard does not promise. For tests.

Its devices are all the host's memory. `no_float64` and `no_x64` lack dtypes, as GPUs do.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import array_api_strict as xp
import numpy as np

from polygrad import dtypes, indexing
from polygrad.backend import Array, Backend, Capabilities, Kernel
from polygrad.device import Device

_NATIVE = {
    Device("strict:cpu"): xp.Device("CPU_DEVICE"),
    Device("strict:device1"): xp.Device("device1"),
    Device("strict:device2"): xp.Device("device2"),
    Device("strict:no_float64"): xp.Device("no_float64"),
    Device("strict:no_x64"): xp.Device("no_x64"),
}
_DEVICE_OF = {native: device for device, native in _NATIVE.items()}
_NATIVE_DTYPE = {dtype: getattr(xp, dtype.name) for dtype in dtypes.STANDARD}
_DTYPE_OF = {native: dtype for dtype, native in _NATIVE_DTYPE.items()}

_INDEXING = ("argmax", "argmin", "argsort", "nonzero", "searchsorted", "unique_all", "isin")


def _narrow_indices(name: str) -> Kernel:
    """The library wants int64 indices also of a device that has none: there they become int32."""

    def kernel(F: Any, *arrays: Array, **keywords: Any) -> Any:
        host, here = _NATIVE[Device("strict:cpu")], F.native_device

        def back(out: Array) -> Array:
            out = xp.astype(out, xp.int32) if out.dtype == xp.int64 else out
            return out.to_device(here)

        full = F.backend.kernels(Device("strict:cpu"), F.dtype)
        out = getattr(full, name)(*(a.to_device(host) for a in arrays), **keywords)
        if not isinstance(out, tuple):
            return back(out)
        parts = tuple(back(part) for part in out)
        return parts if type(out) is tuple else type(out)(*parts)

    return kernel


class StrictBackend(Backend):
    """The standard's 2025.12 revision, with all of its optional features."""

    name = "strict"
    device_kinds = ("strict",)
    capabilities = Capabilities(sparse_keys=False, checks_indices=False, survives_fork=True)

    def __init__(self) -> None:
        super().__init__()
        xp.set_array_api_strict_flags(
            api_version="2025.12", boolean_indexing=True, data_dependent_shapes=True
        )
        info = xp.__array_namespace_info__()
        self._dtypes = {
            device: {_DTYPE_OF[native] for native in info.dtypes(device=place).values()}
            for device, place in _NATIVE.items()
        }
        for name in _INDEXING:
            self.kernel(name, device="strict:no_x64")(_narrow_indices(name))

    @property
    def array_types(self) -> tuple[type, ...]:
        """The library's one class."""
        return (type(xp.empty(0)),)

    @property
    def xp(self) -> Any:
        """The library."""
        return xp

    def devices(self) -> list[Device]:
        """All that the library has."""
        return list(_NATIVE)

    def native_device(self, device: Device) -> Any:
        """The library's Device."""
        return _NATIVE[device]

    def device_of(self, array: Array) -> Device:
        """By the library's Device."""
        return _DEVICE_OF[array.device]

    def native_dtype(self, dtype: dtypes.Dtype) -> Any:
        """The library's own dtypes, which equal no other library's."""
        return _NATIVE_DTYPE[dtype]

    def dtype_of(self, array: Array) -> dtypes.Dtype:
        """Translated back."""
        return _DTYPE_OF[array.dtype]

    def supports(self, dtype: dtypes.Dtype, device: Device) -> bool:
        """As the library says: no float16 anywhere."""
        return dtype in self._dtypes[device]

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """A copy."""
        return xp.asarray(np.array(array, order="C"), device=_NATIVE[device])

    def to_numpy(self, array: Array) -> np.ndarray[Any, Any]:
        """Through DLPack, which the library offers on all its devices; shares memory."""
        return np.from_dlpack(array)

    def quiet(self) -> AbstractContextManager[Any]:
        """NumPy computes underneath."""
        return np.errstate(all="ignore")

    def getitem(self, array: Array, key: tuple[Any, ...]) -> Array:
        """Slices beyond the ends, which NumPy cuts off, are refused by the library."""
        if indexing.is_basic(key):
            key = indexing.within(array.shape, key)
        return super().getitem(array, key)

    def set_at(self, array: Array, key: tuple[Any, ...], value: Any) -> Array:
        """The library's writes know neither None nor index arrays."""
        return indexing.put(self, array, key, value)
