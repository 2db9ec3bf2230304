"""CuPy: NVIDIA GPUs through CUDA (`cuda:0`) and AMD GPUs through ROCm (`rocm:0`), with one text.

Note [The current device]
-------------------------
CuPy works on the thread's current device, wherever its operands are, and array-api-compat ignores
`device=` when it creates CuPy arrays. So whatever reaches the library from here first makes the
array's device the current one. With one GPU there is nothing to do, and nothing is done.

Index arrays are not looked at by the host, which would wait for the device at each use. CuPy wraps
an index that is out of range around the axis, so it reads a wrong element, never foreign memory;
`polygrad.late_checks` has the device compare, and raises when the host next waits.

Streams are the library's: whatever is current in a thread is used, see `cupy_device`.

Note [bfloat16]
---------------
CuPy 14 has loops for bfloat16 in most elementwise functions, sums, extrema, matrix products and
copies, takes float32's for it in others, which promotes the result, and raises in the rest, sorting
for one. So a result that is wider is rounded, as with NumPy; what is in `_IN_FLOAT32` gets float32;
and the fused kernels read and write it themselves. On ROCm it is not offered: CuPy's own tests
leave its matrix products out there.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any

import array_api_compat.cupy as compat
import cupy
import cupyx
import numpy as np

from polygrad import dtypes, indexing
from polygrad.backend import (
    Array,
    Backend,
    Capabilities,
    Guard,
    Kernel,
    Kernels,
    Lane,
    Recording,
)
from polygrad.backends import cupy_device, cupy_kernels
from polygrad.backends.bfloat16 import BFLOAT16, in_float32, narrowing, number_type
from polygrad.config import deterministic_algorithms
from polygrad.device import Device
from polygrad.errors import InvalidArgumentError, InvalidTypeError

_IS_HIP = bool(cupy.cuda.runtime.is_hip)
_KIND = "rocm" if _IS_HIP else "cuda"
_HERE: AbstractContextManager[Any] = nullcontext()
# Atomic addition knows few dtypes. The others are added up in another one: bits that wrap around
# are the same whether they are signed or not, and what is wider is cut off afterwards.
_ADDS_AS = {
    "bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32",
    BFLOAT16: "float32", **({"float16": "float32"} if _IS_HIP else {}),
}  # fmt: skip


def _raising(function: Kernel) -> Kernel:
    """A function of linear algebra that raises where CuPy would return what it can make of it."""

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        with cupyx.errstate(linalg="raise"):
            return function(*args, **kwargs)

    return inner


# What has no loop for bfloat16, by CuPy's own word (`.types`) or source; see Note [bfloat16].
_IN_FLOAT32 = (
    "all", "any", "argmax", "argmin", "argsort", "ceil", "clip", "count_nonzero", "cumulative_prod",
    "cumulative_sum", "floor", "isin", "nonzero", "round", "searchsorted", "sign", "sort", "std",
    "tril", "triu", "trunc", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "var", "where",
)  # fmt: skip


def _namespace() -> Any:
    """array-api-compat's names for CuPy, whose own lack some, with linear algebra that raises."""
    xp, linalg = ModuleType("polygrad_cupy"), ModuleType("polygrad_cupy.linalg")
    for name, value in vars(compat.linalg).items():
        plain = isinstance(value, type) or not callable(value)
        setattr(linalg, name, value if plain else _raising(in_float32(value)))
    vars(xp).update(vars(compat))
    vars(xp).update(linalg=linalg)
    vars(xp).update({name: in_float32(getattr(compat, name)) for name in _IN_FLOAT32})
    return xp


_XP = _namespace()


@functools.cache
def _has_loops(bfloat16: str) -> bool:
    """Whether CuPy computes with the dtype of this code: since 14, with NumPy 2.1.2 and later."""
    return not _IS_HIP and any(bfloat16 in loop for loop in cupy.add.types)


def _module(text: str) -> Any:
    """Kernels, compiled when the first of them is launched, and kept on disk by CuPy."""
    return cupy.RawModule(code=text, options=cupy_kernels.OPTIONS[_KIND])


class CupyBackend(Backend):
    """Every GPU that the CUDA or ROCm run-time system sees."""

    name = "cupy"
    device_kinds = ("cuda", "rocm")
    capabilities = Capabilities(
        checks_indices=False, late_index_checks=True, asynchronous=True,
        deterministic_scatter=False,
    )

    def __init__(self) -> None:
        super().__init__()
        self._recorded: tuple[int, Recording] | None = None  # by which thread, and what
        count = cupy.cuda.runtime.getDeviceCount()
        self._devices = [Device(f"{_KIND}:{i}") for i in range(count)]
        self.launcher = cupy_kernels.Launcher(cupy, _module, self._recorded_here)
        cupy_kernels.register(self, self.launcher)

    @classmethod
    def problem(cls) -> str:
        """No driver, or no GPU."""
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return f"no working GPU driver ({error})"
        return "" if count else "the driver is there, but it shows no GPU"

    @property
    def array_types(self) -> tuple[type, ...]:
        """cupy.ndarray."""
        return (cupy.ndarray,)

    @property
    def xp(self) -> Any:
        """array_api_compat.cupy, with linear algebra that raises."""
        return _XP

    @property
    def special(self) -> Any:
        """cupyx.scipy.special."""
        import cupyx.scipy.special

        return cupyx.scipy.special

    def devices(self) -> list[Device]:
        """By index."""
        return self._devices

    def native_device(self, device: Device) -> Any:
        """CuPy's Device."""
        return cupy.cuda.Device(int(device.rest))

    def device_of(self, array: Array) -> Device:
        """By the device of its memory."""
        index: int = array.data.device_id
        return self._devices[index]

    def supports(self, dtype: dtypes.Dtype, device: Device) -> bool:
        """All; bfloat16 on CUDA, where CuPy has it."""
        if dtype.name == BFLOAT16:
            return _has_loops(dtype.char)
        return dtype in dtypes.ALL

    def scalar(self, kernels: Kernels) -> Callable[[Any], Any] | None:
        """Numbers are operands, but beside bfloat16, which they might promote."""
        return number_type(kernels)  # type: ignore[no-any-return]

    def adapted(self, name: str, kernel: Kernel, kernels: Kernels) -> Kernel:
        """See Note [bfloat16]; of our own kernels' results some are wide on purpose."""
        native = kernels.native_dtype
        if native.name != BFLOAT16 or self.table.find(name, kernels.device, kernels.dtype):
            return kernel
        return narrowing(kernel, native)

    def _at(self, index: int) -> AbstractContextManager[Any]:
        """A context in which device `index` is the current one."""
        if len(self._devices) == 1 or cupy.cuda.runtime.getDevice() == index:
            return _HERE
        current: AbstractContextManager[Any] = cupy.cuda.Device(index)
        return current

    def guard(self, device: Device) -> Guard | None:
        """See Note [The current device]."""
        if len(self._devices) == 1:
            return None
        return functools.partial(self._at, int(device.rest))

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """A copy, staged in page-locked memory by the library, which does not wait.

        What is page-locked already it would read later, in place: that is copied first.
        """
        self._refuse("copy from the host")
        host = np.asarray(array)
        if host.ndim and cupy.cuda.pinned_memory.is_memory_pinned(host.ctypes.data):
            host = np.array(host, order="C")
        return self.upload(host, device)

    def upload(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """Page-locked memory is read in place, later; the library keeps a reference until then."""
        self._refuse("copy from the host")
        with self._at(int(device.rest)):
            return cupy.array(array, order="C")

    def constant(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """In a recording, what it keeps: it is copied before the next replay."""
        recording = self._recorded_here()
        return self.from_numpy(array, device) if recording is None else recording.place(array)

    def pinned(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        """From CuPy's pool of page-locked memory."""
        made: np.ndarray[Any, Any] = cupyx.empty_pinned(array.shape, array.dtype)
        made[...] = array
        return made

    def to_numpy(self, array: Array) -> np.ndarray[Any, Any]:
        """A copy, after all work submitted before."""
        self._refuse("copy to the host")
        with self._at(array.data.device_id):
            host: np.ndarray[Any, Any] = array.get()
            return host

    def astype(self, array: Array, dtype: dtypes.Dtype) -> Array:
        """On the array's device."""
        with self._at(array.data.device_id):
            return super().astype(array, dtype)

    def copy(self, array: Array) -> Array:
        """On the array's device, C-ordered."""
        with self._at(array.data.device_id):
            return array.copy(order="C")

    def transfer(self, array: Array, device: Device) -> Array:
        """From GPU to GPU; through the host where they have no direct path."""
        source, target = array.data.device_id, int(device.rest)
        if source == target:
            return self.copy(array)
        made = cupy_device.copied_between(array, source, target)
        return super().transfer(array, device) if made is None else made

    def synchronize(self, device: Device) -> None:
        """Wait for all streams of the device."""
        self._refuse("wait for the device")
        cupy.cuda.Device(int(device.rest)).synchronize()

    def memory(self, device: Device) -> tuple[int, int] | None:
        """As the driver says; what CuPy's pool keeps counts as used."""
        free, total = cupy.cuda.Device(int(device.rest)).mem_info
        return int(free), int(total)

    def memory_stats(self, device: Device) -> dict[str, int]:
        """Of CuPy's default pool, and of the driver."""
        return cupy_device.memory_stats(int(device.rest))

    def empty_cache(self, device: Device) -> None:
        """The free blocks of CuPy's pool for the device, and page-locked memory of the host."""
        with self._at(int(device.rest)):
            cupy.get_default_memory_pool().free_all_blocks()
            cupy.get_default_pinned_memory_pool().free_all_blocks()

    def lane(self, device: Device, native: Any = None) -> Lane:
        """A stream of the device, or one that the user made."""
        if native is not None and not hasattr(native, "wait_event"):
            raise InvalidTypeError(
                f"{type(native).__name__} is no stream of CuPy's", "stream, argument native",
                "pass a cupy.cuda.Stream or a cupy.cuda.ExternalStream",
            )  # fmt: skip
        return cupy_device.Lane(int(device.rest), native)

    def _recorded_here(self) -> Recording | None:
        """What this thread records."""
        thread, found = self._recorded or (None, None)
        return found if thread == threading.get_ident() else None

    def _refuse(self, what: str) -> None:
        """Raise for what a graph cannot repeat, in the thread that records one."""
        if self._recorded_here() is not None:
            raise InvalidArgumentError(
                f"a step that is recorded may not {what}", "cuda_graph",
                "make what it needs before, hand it over as an input, and read its results "
                "afterwards",
            )  # fmt: skip

    def recording(self, device: Device) -> AbstractContextManager[Recording]:
        """A CUDA graph; CuPy has none on ROCm."""
        return super().recording(device) if _IS_HIP else self._record(device)

    @contextmanager
    def _record(self, device: Device) -> Iterator[Recording]:
        """What would make the host wait raises within, and range checks are not put off."""
        used = [F for (place, _), F in tuple(self._spaces.items()) if place == device]
        with self._at(int(device.rest)):
            cupy_kernels.load_recorded(self.launcher, used)
        with cupy_device.recording(int(device.rest)) as made:
            self._recorded, self.late.paused = (threading.get_ident(), made), True
            try:
                yield made
            finally:
                self._recorded, self.late.paused = None, False

    def strided_view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array:
        """cupy.lib.stride_tricks.as_strided."""
        strides = tuple(s * array.itemsize for s in strides)
        with self._at(array.data.device_id):
            array = cupy.ascontiguousarray(array)
            return cupy.lib.stride_tricks.as_strided(array, shape, strides)

    def getitem(self, array: Array, key: tuple[Any, ...]) -> Array:
        """CuPy takes NumPy's keys; index arrays are not checked."""
        with self._at(array.data.device_id):
            return array[key]

    def set_at(self, array: Array, key: tuple[Any, ...], value: Any) -> Array:
        """CuPy writes to equal places in any order: here the last write is found first."""
        with self._at(array.data.device_id):
            one = not isinstance(value, cupy.ndarray) or value.size <= 1
            if one or not any(isinstance(k, cupy.ndarray) and k.dtype.kind in "iu" for k in key):
                return super().set_at(array, key, value)
            places = cupy.arange(array.size).reshape(array.shape)[key]
            value = indexing.fitted(cupy, value, places.shape).astype(array.dtype)
            last = cupy.full(array.size, -1, dtype=np.int32)
            cupyx.scatter_max(last, places.reshape(-1), cupy.arange(value.size, dtype=np.int32))
            flat = cupy.where(last >= 0, value.take(cupy.maximum(last, 0)), array.reshape(-1))
            return flat.reshape(array.shape)

    def add_at(self, array: Array, key: tuple[Any, ...], value: Any) -> Array:
        """Atomic addition, in any order; see `_ADDS_AS`."""
        with self._at(array.data.device_id):
            if indexing.is_basic(key):
                return super().add_at(array, key, value)
            dtype = array.dtype
            if deterministic_algorithms() and dtype.kind in "fc":
                return indexing.added_in_order(cupy, array, key, value)
            out = array.astype(_ADDS_AS.get(dtype.name, dtype), order="C", copy=True)
            value = cupy.asarray(value, dtype=out.dtype)
            if dtype.kind == "c":
                cupyx.scatter_add(out.real, key, value.real)
                cupyx.scatter_add(out.imag, key, value.imag)
            elif dtype == np.int64:
                cupyx.scatter_add(out.view(np.uint64), key, value.view(np.uint64))
            else:
                cupyx.scatter_add(out, key, value)
            return out.astype(dtype, copy=False)
