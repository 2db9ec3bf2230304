"""dpnp: Intel GPUs through Level Zero, and CPUs through Intel's OpenCL runtime.

Note [One call at a time]
-------------------------
dpnp deadlocks when several threads call it: a thread may hold Python's GIL while it submits work
that waits for a host task, which waits for the GIL (intel/llvm#22943). So whatever reaches the
library from here holds one lock, and Kernels hold it around every operation.

Note [Forked processes]
-----------------------
The run-time's threads do not follow into a process that is forked once a device is in use: there
the first call would wait for ever (IntelPython/dpctl#1169). So in such a process the lock raises an
error that says how to start processes instead. Workers of a DataLoader are spawned by themselves.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, TypeVar

import dpctl
import dpctl.memory
import dpctl.utils
import dpnp
import numpy as np

from polygrad import dtypes, indexing
from polygrad.backend import Array, Backend, Capabilities, Guard, Kernel, Kernels, KnownGap
from polygrad.backends import dpnp_opencl, dpnp_rows, dpnp_updates
from polygrad.backends.dpnp_devices import find_opencl_cpu, visible, why_none
from polygrad.backends.dpnp_memory import pool_of, room_for, with_room
from polygrad.device import Device
from polygrad.errors import (
    BackendBrokenError,
    DeviceMismatchError,
    OutOfMemoryError,
    PolygradError,
)
from polygrad.kernels import FORWARDS

Method = TypeVar("Method", bound=Callable[..., Any])
_LOCK: AbstractContextManager[Any] = threading.RLock()
_NUMBERS = 256  # that each device and dtype keeps
# Elements, and columns, from which on a sum of columns is faster as a product with ones.
_LARGE, _WIDE = 1 << 17, 16


def _locked(method: Method) -> Method:
    """See Note [One call at a time]."""

    @functools.wraps(method)
    def inner(*args: Any, **kwargs: Any) -> Any:
        with _LOCK:
            return method(*args, **kwargs)

    return inner  # type: ignore[return-value]


class _NoLock:
    """What is in the lock's place in a forked process: see Note [Forked processes]."""

    def __enter__(self) -> None:
        raise BackendBrokenError(
            "SYCL devices do not work in a process that was forked after they had been used",
            f"process {os.getpid()}",
            'start processes by multiprocessing.get_context("spawn"), or use no device there',
        )

    def __exit__(self, *error: object) -> None:
        """Nothing was entered."""


def _forbid() -> None:
    global _LOCK  # noqa: PLW0603  the process is another one
    _LOCK = _NoLock()


def _takes_source(queue: Any) -> bool:
    """Whether kernels in OpenCL C can be compiled for a queue."""
    return bool(queue.backend == dpctl.backend_type.opencl)


class DpnpBackend(Backend):
    """SYCL devices. Index arrays are checked on the host, because the library clips silently."""

    name = "dpnp"
    device_kinds = ("sycl",)
    capabilities = Capabilities(
        sparse_keys=False, checks_indices=False, asynchronous=True, max_dimensions=None
    )
    known_gaps = (
        # dpnp.acosh(dpnp.asarray([complex(0, float("nan"))]))
        KnownGap(
            "acosh", "of 0 + NaN j it is NaN + NaN j, not NaN + j pi/2",
            url="https://github.com/IntelPython/dpnp/issues/2880",
            dtypes=("complex64", "complex128"), checks=("special",), samples=("0,nan",),
            when="backend_version < 0.21",
        ),
    )  # fmt: skip
    oom_errors = (MemoryError, dpctl.memory.USMAllocationError)
    linalg_errors = (dpnp.linalg.LinAlgError,)

    @_locked
    def __init__(self) -> None:
        super().__init__()
        find_opencl_cpu()
        found = {Device(name): device for name, device in visible().items()}
        self._queues = {d: dpctl.get_device_cached_queue(native) for d, native in found.items()}
        self._by_native = {native: device for device, native in found.items()}
        self._by_queue = {queue: device for device, queue in self._queues.items()}
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forbid)
        for device, queue in self._queues.items():
            made = (dpnp_opencl, dpnp_rows) if _takes_source(queue) else (dpnp_updates,)
            for kernels in made:
                kernels.register(self, device.name)
        self.kernel("sum")(_sum)
        self.kernel("matmul")(_matmul)
        for name in (*_OPERATORS, *_COMPARISONS):
            for dtype in ("float32", "float64"):
                self.kernel(name, dtype=dtype)(getattr(_NAMESPACE, name))
        for dtype in ("float16", "float32", "float64"):
            self.kernel("floor_divide", dtype=dtype)(_floor_divide)
        for name in ("fourier", "rfft", "irfft"):
            self.kernel(name)(_without_repeats_in(name))
        for name in ("argmax", "argmin"):
            self.kernel(name)(functools.partial(_first_place, getattr(dpnp, name)))

    @classmethod
    def problem(cls) -> str:
        """No devices: a driver is missing, or was looked for before polygrad could name it."""
        return why_none()

    @property
    def array_types(self) -> tuple[type, ...]:
        """The class of dpnp.ndarray."""
        return (dpnp.ndarray,)

    @property
    def xp(self) -> Any:
        """The library, but for `where` and `linalg.eigvalsh`."""
        return _NAMESPACE

    @property
    def special(self) -> Any:
        """dpnp.scipy.special: the error functions."""
        import dpnp.scipy.special

        return dpnp.scipy.special

    def devices(self) -> list[Device]:
        """GPUs, then CPUs."""
        return list(self._queues)

    def native_device(self, device: Device) -> Any:
        """The queue that the library itself uses for the device."""
        return self._queues[device]

    def device_of(self, array: Array) -> Device:
        """By the queue: work on another one would not wait for polygrad's."""
        try:
            return self._by_queue[array.sycl_queue]
        except KeyError:
            raise self._foreign(array.sycl_device) from None

    def _foreign(self, native: Any) -> DeviceMismatchError:
        """The error for an array on a queue or a device that is not polygrad's."""
        name = native.filter_string
        if native in self._by_native:
            return DeviceMismatchError(
                f"an array on a queue of its own of {self._by_native[native]}",
                "polygrad uses one queue for each device",
                'call array.sycl_queue.wait(), since no queue waits for another, '
                f'and pass array.to_device("{name}"), which shares its memory',
            )
        return DeviceMismatchError(
            f"an array on {name}, which polygrad does not use",
            f"devices of the backend dpnp: {', '.join(d.name for d in self._queues)}",
            "make the array on a device of the Level Zero driver, or pass it as a NumPy array",
        )

    def supports(self, dtype: dtypes.Dtype, device: Device) -> bool:
        """Double and half precision where the hardware has them."""
        native = self._queues[device].sycl_device
        if dtype in (dtypes.float64, dtypes.complex128):
            return bool(native.has_aspect_fp64)
        return dtype in dtypes.STANDARD or (dtype == dtypes.float16 and native.has_aspect_fp16)

    def guard(self, device: Device) -> Guard:
        """The lock."""
        return lambda: _LOCK

    def scalar(self, kernels: Kernels) -> Callable[[Any], Any]:
        """Numbers as 0-d arrays, kept: the library takes longer over a number than over an op."""
        kept: dict[str, Any] = {}

        def scalar(number: Any) -> Any:
            text = repr(number)  # -0.0 and 0.0 are equal, their texts are not
            if text not in kept:
                if len(kept) >= _NUMBERS:
                    kept.clear()
                kept[text] = kernels.from_numpy(number)
            return kept[text]

        return scalar

    @_locked
    def from_numpy(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """A copy; the library waits for it."""
        return dpnp.asarray(array, device=self._queues[device], copy=True)

    @_locked
    def to_numpy(self, array: Array) -> np.ndarray[Any, Any]:
        """A copy, after the work that it depends on."""
        host: np.ndarray[Any, Any] = dpnp.asnumpy(array)
        return host

    astype = _locked(Backend.astype)
    copy = _locked(Backend.copy)
    getitem = _locked(Backend.getitem)
    set_at = _locked(Backend.set_at)

    @_locked
    def add_at(self, array: Array, key: tuple[Any, ...], value: Any) -> Array:
        """A kernel in OpenCL C where the device takes one, the host elsewhere."""
        scattered = not indexing.is_basic(key) and dpnp_opencl.adds(array.dtype)
        if scattered and _takes_source(array.sycl_queue):
            return dpnp_opencl.add_at(self, array, key, value)
        return super().add_at(array, key, value)

    @_locked
    def synchronize(self, device: Device) -> None:
        """Wait for the queue."""
        self._queues[device].wait()

    def memory(self, device: Device) -> tuple[int, int] | None:
        """Of a GPU whose driver tells (ZES_ENABLE_SYSMAN=1), of a CPU where the system does."""
        native = self._queues[device].sycl_device
        free = dpctl.utils.intel_device_info(native).get("free_memory")
        if free is None and native.is_cpu and hasattr(os, "sysconf"):
            free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        return None if free is None else (int(free), int(native.global_mem_size))

    def memory_stats(self, device: Device) -> dict[str, int]:
        """`cached` is what the pool of large results keeps."""
        pool = pool_of(self._queues[device])
        return {**super().memory_stats(device), **({} if pool is None else {"cached": pool.kept})}

    def empty_cache(self, device: Device) -> None:
        """Give the pool's free blocks back."""
        pool = pool_of(self._queues[device])
        if pool is not None:
            pool.clear()

    def failure(self, error: BaseException, device: Device, where: str) -> PolygradError | None:
        """Where memory is short, the pool's is given back: the next call may have it."""
        failed = super().failure(error, device, where)
        if isinstance(failed, OutOfMemoryError):
            self.empty_cache(device)
        return failed

    def hardware(self, device: Device) -> tuple[str, str]:
        """The SyclDevice's name, and the driver that reaches it: Level Zero or OpenCL."""
        native = self._queues[device].sycl_device
        return native.name.strip(), f"{native.backend.name} {native.driver_version}"

    @_locked
    def strided_view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array:
        """The constructor takes an array as buffer, with its offset."""
        array, size = dpnp.ascontiguousarray(array), array.itemsize
        strides = tuple(s * size for s in strides)
        return dpnp.ndarray(shape, dtype=array.dtype, buffer=array, strides=strides)


def _forwards(x: Any) -> Any:
    """A copy of an array with a negative stride, anything else itself."""
    flipped = isinstance(x, dpnp.ndarray) and any(step < 0 for step in x.strides)
    return dpnp.ascontiguousarray(x) if flipped else x


def _where(condition: Array, x: Any, y: Any) -> Array:
    """Of several arrays with negative strides the library reads memory that is not theirs."""
    return _roomy_where(_forwards(condition), _forwards(x), _forwards(y))


def _roomy_where(condition: Array, x: Any, y: Any) -> Array:
    """Large results in memory of `dpnp_memory`."""
    out = None
    numbers = not isinstance(x, dpnp.ndarray) or not isinstance(y, dpnp.ndarray)
    if not numbers and x.dtype == y.dtype and x.dtype.char in "fd":
        shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
        out = room_for(shape, x.dtype, condition.sycl_queue)
    return dpnp.where(condition, x, y) if out is None else dpnp.where(condition, x, y, out=out)


def _eigvalsh(x: Array) -> Array:
    """Of an array with a negative stride the library raises."""
    return dpnp.linalg.eigvalsh(_forwards(x))


def _namespace(library: Any, **functions: Any) -> ModuleType:
    """The namespace of a library with some functions in the place of its own."""
    made = ModuleType(library.__name__)
    made.__dict__.update({**vars(library), **functions})
    return made


# Functions whose results have the dtype of their floating operands; those that operators stand for.
_ALIKE = (
    "abs", "cos", "exp", "expm1", "log", "log1p", "maximum", "minimum", "sin", "sqrt", "square",
    "tanh",
)  # fmt: skip
_OPERATORS = ("add", "divide", "multiply", "negative", "subtract")
_COMPARISONS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
_NAMESPACE = _namespace(
    dpnp, where=_where, linalg=_namespace(dpnp.linalg, eigvalsh=_eigvalsh),
    **{name: with_room(getattr(dpnp, name)) for name in (*_ALIKE, *_OPERATORS)},
    **{name: with_room(getattr(dpnp, name), "bool") for name in _COMPARISONS},
)  # fmt: skip


def _sum(F: Kernels, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """float16 is added up in float32; on a CPU large sums over leading axes are matrix products."""
    if x.dtype == np.float16:
        wide = dpnp.sum(x, axis=axis, keepdims=keepdims, dtype=np.float32)
        return dpnp.astype(wide, np.float16)
    slow = F.device.rest.startswith("cpu") and x.size >= _LARGE and x.dtype.char in "fd"
    axes = {a % x.ndim for a in np.atleast_1d(axis)} if slow and axis is not None else set()
    lead = next((i for i in range(x.ndim) if i not in axes), 0)
    if not lead or not x.flags.c_contiguous:
        return dpnp.sum(x, axis=axis, dtype=x.dtype, keepdims=keepdims)
    rows = math.prod(x.shape[:lead])
    if x.size < rows * _WIDE:
        return dpnp.sum(x, axis=axis, dtype=x.dtype, keepdims=keepdims)
    ones = dpnp.ones(rows, dtype=x.dtype, device=x.sycl_queue)
    total = dpnp.matmul(ones, dpnp.reshape(x, (rows, -1)))
    total = dpnp.reshape(total, x.shape[lead:])
    if len(axes) > lead:
        total = dpnp.sum(total, axis=tuple(a - lead for a in axes if a > lead))
    if keepdims:
        total = dpnp.reshape(total, [1 if i in axes else n for i, n in enumerate(x.shape)])
    return total


def _floor_divide(x: Array, y: Array) -> Array:
    """The library rounds the quotient before it takes the floor; its remainder is exact."""
    rounded = dpnp.floor_divide(x, y)
    exact = dpnp.round((x - dpnp.remainder(x, y)) / y)
    return dpnp.where(dpnp.isfinite(exact) & (exact != rounded), exact, rounded)


def _first_place(
    function: Callable[..., Array], x: Array, axis: int | None = None, keepdims: bool = False
) -> Array:
    """argmax or argmin; where there are NaN the first of them, of which the library takes any."""
    found = function(x, axis=axis, keepdims=keepdims)
    if x.dtype.kind != "f":
        return found
    missing = dpnp.isnan(x)
    first = dpnp.argmax(dpnp.astype(missing, np.int8), axis=axis, keepdims=keepdims)
    return dpnp.where(dpnp.any(missing, axis=axis, keepdims=keepdims), first, found)


def _without_repeats(x: Array) -> Array:
    """A copy of an array that a broadcast gave a stride of zero, any other array itself."""
    repeats = any(step == 0 and n > 1 for step, n in zip(x.strides, x.shape, strict=True))
    return dpnp.copy(x) if repeats else x


def _without_repeats_in(name: str) -> Kernel:
    """Of arrays with strides of zero the library's transforms raise, or read what is not there."""

    def kernel(F: Kernels, x: Array, **keywords: Any) -> Array:
        forward: Any = FORWARDS[name]
        return forward(F, _without_repeats(x), **keywords)

    return kernel


def _matmul(x: Array, y: Array) -> Array:
    """Of arrays with strides of zero the library's product raises, or is wrong without a word.

    In float16 it has products of matrices only, none with vectors and none of one with itself.
    """
    x, y, out = _without_repeats(x), _without_repeats(y), None
    if x.dtype == np.float16 and not _are_two_matrices(x, y):
        wide = dpnp.matmul(dpnp.astype(x, np.float32), dpnp.astype(y, np.float32))
        return dpnp.astype(wide, np.float16)
    if x.ndim == y.ndim == 2 and x.dtype == y.dtype and x.dtype.char in "fd":
        out = room_for((x.shape[0], y.shape[1]), x.dtype, x.sycl_queue)
    return dpnp.matmul(x, y) if out is None else dpnp.matmul(x, y, out=out)


def _are_two_matrices(x: Array, y: Array) -> bool:
    """Neither vectors nor parts of one array."""
    if x.ndim < 2 or y.ndim < 2 or 1 in (x.shape[-2], y.shape[-1]):
        return False
    first, second = (a.__sycl_usm_array_interface__["data"] for a in (x, y))
    return bool(first != second)
