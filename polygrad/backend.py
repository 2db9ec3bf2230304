"""What an array library must tell polygrad: `Backend`.

A backend is one small class. The methods without a body are the contract; the others have defaults
written in functions of the array API standard, and a backend overrides them only to be faster or
because its library departs from the standard.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from polygrad import dtypes, indexing
from polygrad.capabilities import Capabilities, KnownGap
from polygrad.device import Device
from polygrad.errors import (
    DeviceLostError,
    InvalidTypeError,
    OutOfMemoryError,
    PolygradError,
    UnsupportedOperationError,
)
from polygrad.holders import holders
from polygrad.kernels import Array, Guard, Kernel, Kernels, KernelTable
from polygrad.lanes import Lane, Recording
from polygrad.late_checks import LateChecks
from polygrad.sizes import size_text

__all__ = [
    "Array", "Backend", "Capabilities", "Guard", "Kernel", "Kernels", "KnownGap", "Lane",
    "Recording",
]  # fmt: skip


class Backend(ABC):
    """One array library. Made once, when a device or an array of its own is first met."""

    name: ClassVar[str]
    device_kinds: ClassVar[tuple[str, ...]]
    capabilities: ClassVar[Capabilities] = Capabilities()
    known_gaps: ClassVar[tuple[KnownGap, ...]] = ()
    special_install: ClassVar[str] = ""  # what to type if `special` needs a package of its own
    tiled: ClassVar[bool] = False  # on the host, writeable: see Note [Tiles] of polygrad.tiles
    oom_errors: tuple[type[BaseException], ...] = (MemoryError,)
    lost_errors: tuple[type[BaseException], ...] = ()
    index_errors: tuple[type[BaseException], ...] = (IndexError,)
    linalg_errors: tuple[type[BaseException], ...] = (np.linalg.LinAlgError,)

    def __init__(self) -> None:
        self.table = KernelTable()
        self.late = LateChecks()
        self._spaces: dict[tuple[Device, dtypes.Dtype], Kernels] = {}

    # ---- the contract -----------------------------------------------------------------------
    @property
    @abstractmethod
    def array_types(self) -> tuple[type, ...]:
        """The types of the library's arrays; results are of the first."""

    @property
    @abstractmethod
    def xp(self) -> Any:
        """The library's namespace, with the array API standard's names."""

    @abstractmethod
    def devices(self) -> list[Device]:
        """The devices present, the default one first. Raises BackendBrokenError if none can be."""

    @abstractmethod
    def device_of(self, array: Array) -> Device:
        """The device that holds `array`."""

    @abstractmethod
    def from_numpy(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """A copy of `array` on `device` that shares no memory with it. The dtype is supported."""

    @abstractmethod
    def to_numpy(self, array: Array) -> np.ndarray[Any, Any]:
        """`array` on the host; it may share memory where the device is the host."""

    # ---- defaults ---------------------------------------------------------------------------
    @property
    def special(self) -> Any:
        """The library's special functions, a module with SciPy's names; None: it has none."""
        return None

    @classmethod
    def problem(cls) -> str:
        """Why the installed library cannot be used, or an empty string. Must not raise."""
        return ""

    def capabilities_of(self, device: Device) -> Capabilities:
        """The capabilities of one device, where the devices of a library differ."""
        del device
        return self.capabilities

    def canonical_device(self, device: Device) -> Device | None:
        """The present device that `device` names, or None; `cuda` means the first, `cuda:0`."""
        present = self.devices()
        if device in present:
            return present[present.index(device)]
        family = device.name + ":"
        return next((found for found in present if found.name.startswith(family)), None)

    def native_device(self, device: Device) -> Any:
        """What the library's `device=` arguments take for `device`."""
        return device.name

    def native_dtype(self, dtype: dtypes.Dtype) -> Any:
        """What the library's `dtype=` arguments take for `dtype`."""
        return dtype

    def dtype_of(self, array: Array) -> dtypes.Dtype:
        """The numpy.dtype of `array`."""
        dtype: dtypes.Dtype = array.dtype
        return dtype

    def supports(self, dtype: dtypes.Dtype, device: Device) -> bool:
        """Whether `device` holds and computes with `dtype`."""
        del device
        return dtype in dtypes.ALL

    def coerce(self, value: Any, device: Device) -> Array:
        """Make an array of a result that is not one: libraries return scalars for 0-d results."""
        if isinstance(value, self.array_types):
            return value
        return self.from_numpy(np.asarray(value), device)

    def item(self, array: Array) -> Any:
        """The one value of a result as a Python number; the host waits for it."""
        on_device = isinstance(array, self.array_types)
        return (self.to_numpy(array) if on_device else array).item()

    def astype(self, array: Array, dtype: dtypes.Dtype) -> Array:
        """`array` with another dtype: a copy, or `array` itself if it has that dtype.

        A complex value loses its imaginary part.
        """
        if dtypes.kind_of(self.dtype_of(array)) == dtypes.COMPLEX != dtypes.kind_of(dtype):
            array = self.xp.real(array)
        return self.xp.astype(array, self.native_dtype(dtype), copy=False)

    def copy(self, array: Array) -> Array:
        """A copy that shares no memory."""
        return self.xp.asarray(array, copy=True)

    def transfer(self, array: Array, device: Device) -> Array:
        """A copy of `array` on another device of this backend; through the host by default."""
        return self.from_numpy(self.to_numpy(array), device)

    def synchronize(self, device: Device) -> None:
        """Wait until everything submitted to `device` has finished."""
        del device

    def guard(self, device: Device) -> Guard | None:
        """What to hold around every call for `device` (the current device, a lock), or None."""
        del device
        return None

    def quiet(self) -> AbstractContextManager[Any]:
        """Held around a backward sweep, where floating-point warnings would say nothing new."""
        return nullcontext()

    def scalar(self, kernels: Kernels) -> Callable[[Any], Any] | None:
        """What turns a Python number into an operand; None: numbers are operands themselves."""
        del kernels
        return None

    def adapted(self, name: str, kernel: Kernel, kernels: Kernels) -> Kernel:
        """What serves `name` in the place of `kernel`, itself by default: a dtype may need help."""
        del name, kernels
        return kernel

    # ---- the life of a device: see polygrad.accelerator ----------------------------------------
    def memory(self, device: Device) -> tuple[int, int] | None:
        """(free, total) bytes of the device, or None where the library cannot say."""
        del device
        return None

    def hardware(self, device: Device) -> tuple[str, str]:
        """What the device is, and the driver with its version; empty where unknown."""
        del device
        return "", ""

    def memory_stats(self, device: Device) -> dict[str, int]:
        """Bytes by the names that `pg.memory_stats` documents; those that are known."""
        known = self.memory(device)
        return {} if known is None else dict(zip(("free", "total"), known, strict=True))

    def empty_cache(self, device: Device) -> None:
        """Give back what the library keeps of memory that no array uses, compiled code included."""
        del device

    def upload(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """As `from_numpy`, but `array` may be read later than this returns: nobody writes to it.

        The library keeps it alive meanwhile, by a reference that `unshared` sees.
        """
        return self.from_numpy(array, device)

    def constant(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """As `from_numpy`, of what follows from shapes and options: recordings may have it."""
        return self.from_numpy(array, device)

    def pinned(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        """A copy in page-locked memory, which `upload` need not stage; None: there is none."""
        del array
        return None

    def lane(self, device: Device, native: Any = None) -> Lane | None:
        """A new queue of a device, or one around the library's own object; None: there is one only.

        Raises
        ------
        InvalidTypeError
            `native` is no queue of the library.
        """
        del device
        if native is not None:
            raise InvalidTypeError(
                f"{type(native).__name__} is no stream of the backend {self.name!r}",
                "stream, argument native", "it has one queue for each device: leave it out",
            )  # fmt: skip
        return None

    def recording(self, device: Device) -> AbstractContextManager[Recording]:
        """Record what is submitted within, to submit it again: see `pg.cuda_graph`.

        Raises
        ------
        UnsupportedOperationError
            The library cannot.
        """
        raise UnsupportedOperationError(
            "only CUDA devices record graphs of operations",
            f"cuda_graph, device {device}, backend {self.name}", "call the step as it is",
        )  # fmt: skip

    def failure(self, error: BaseException, device: Device, where: str) -> PolygradError | None:
        """What to raise for an error of the device itself; None for any other error."""
        if isinstance(error, PolygradError):
            return None
        if isinstance(error, self.oom_errors):
            return OutOfMemoryError(
                f"out of memory on {device}: {error}", f"{where}. {self._usage(device)}",
                "free tensors (what a caught error's traceback holds, too), use smaller batches, "
                "or pg.autograd.checkpoint",
            )  # fmt: skip
        if isinstance(error, self.lost_errors):
            return DeviceLostError(
                f"the device {device} was lost: {error}", where,
                "start the process anew, and load the last checkpoint",
            )  # fmt: skip
        return None

    def _usage(self, device: Device) -> str:
        """What is in use, and by whom, for the message of an error."""
        try:
            stats = self.memory_stats(device)
        except (*self.oom_errors, *self.lost_errors):
            stats = {}
        order = ("used", "cached", "limit", "free", "total")
        known = [f"{name} {size_text(stats[name])}" for name in order if name in stats]
        held = holders(self, device)
        parts = [f"On {device}: {', '.join(known)}"] if known else []
        return ". ".join(parts + ([f"Held, {held}"] if held else []))

    # ---- views, writes, scatter: see polygrad.views -------------------------------------------
    def unshared(self, holder: Any) -> bool:
        """Whether `holder.array` is known to be seen by nobody else, so that it may be overwritten.

        Called with the Tensor, never with the array, so that no reference is added on the way. The
        answer must be no whenever it cannot be known.
        """
        del holder
        return False

    def lend(self, holder: Any) -> np.ndarray[Any, Any] | None:
        """A NumPy array over the memory of `holder.array`, to be written to.

        Only if nobody but earlier borrowers looks at that memory; None otherwise, and by default.
        """
        del holder
        return None

    def getitem(self, array: Array, key: tuple[Any, ...]) -> Array:
        """`array[key]`, of a normal key: ints, slices, None, one Ellipsis, arrays of its own."""
        self._check_key(array, key)
        if self.takes(key):
            return array[key]
        if indexing.is_basic(key):
            return indexing.flipped(self.xp, array, key)
        return indexing.gather(self, array, key)

    def _check_key(self, array: Array, key: tuple[Any, ...]) -> None:
        """IndexError for a basic key out of range, of which the library would say nothing."""
        if not self.capabilities.checks_indices and indexing.is_basic(key):
            indexing.selected_shape(tuple(array.shape), key)

    def takes(self, key: tuple[Any, ...]) -> bool:
        """Whether the library takes a normal key as it is, by `capabilities`."""
        able = self.capabilities
        if able.negative_steps and able.sparse_keys:
            return True
        if indexing.is_basic(key):
            return able.negative_steps or not indexing.goes_back(key)
        return able.sparse_keys

    def set_at(self, array: Array, key: tuple[Any, ...], value: Any) -> Array:
        """A copy of `array` with `copy[key] = value`; of equal places the last write stays."""
        if not self.capabilities.writeable or not self.takes(key):
            return indexing.put(self, array, key, value)
        self._check_key(array, key)
        array = self.copy(array)
        array[self.key_in_order(key)] = value
        return array

    def key_in_order(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """`key` for a write where the last of equal places stays, in the order of C."""
        return key

    def add_at(self, array: Array, key: tuple[Any, ...], value: Any) -> Array:
        """A copy with `value` added at `key`, equal places summed; on the host by default."""
        if indexing.is_basic(key):
            return self.set_at(array, key, self.getitem(array, key) + value)
        host = np.array(self.to_numpy(array))
        np.add.at(host, indexing.on_host(self, key), *indexing.on_host(self, (value,)))
        return self.from_numpy(host, self.device_of(array))

    def strided_view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array | None:
        """A view of `array`, or of a C-ordered copy; strides in elements. None: there is none."""
        del array, shape, strides
        return None

    # ---- kernels ----------------------------------------------------------------------------
    def kernel(
        self, name: str, *, device: str | None = None, dtype: str | None = None
    ) -> Callable[[Kernel], Kernel]:
        """Register a function as what serves operation `name`, here or on one device or dtype.

        It takes the primitive's inputs and keywords as raw arrays; if its first parameter is called
        `F`, the Kernels of the leading operand come first.
        """

        def register(function: Kernel) -> Kernel:
            self.table.entries[name, device, dtype] = function
            self.forget(name)
            return function

        return register

    def through_host(self, *names: str, dtypes: tuple[str | None, ...] = (None,)) -> None:
        """Let NumPy serve these operations, on the host: what the library lacks, or gets wrong."""
        for name in names:
            for dtype in dtypes:
                self.kernel(name, dtype=dtype)(functools.partial(_through_host, name))

    def forget(self, name: str) -> None:
        """Have `name` resolved anew on every device and dtype."""
        for kernels in self._spaces.values():
            kernels.forget(name)

    def kernels(self, device: Device, dtype: dtypes.Dtype) -> Kernels:
        """The Kernels of (device, dtype), one object for each pair."""
        try:
            return self._spaces[device, dtype]
        except KeyError:
            return self._spaces.setdefault((device, dtype), Kernels(self, device, dtype))

    def kernels_of(self, array: Array) -> Kernels:
        """The Kernels of the device and dtype of `array`."""
        return self.kernels(self.device_of(array), self.dtype_of(array))


def _through_host(name: str, F: Kernels, *inputs: Any, **keywords: Any) -> Any:
    """The operation `name` of NumPy's backend on copies of arrays; the results on their device."""
    from polygrad.registry import load  # noqa: PLC0415  it imports this module

    backend = F.backend
    numpy = load("numpy")
    host = numpy.kernels(numpy.devices()[0], F.dtype)

    def down(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return [down(part) for part in value]
        return backend.to_numpy(value) if isinstance(value, backend.array_types) else value

    def up(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return getattr(type(value), "_make", tuple)(up(part) for part in value)
        found = np.asarray(value)
        if found.dtype == dtypes.int64 and not backend.supports(found.dtype, F.device):
            found = found.astype(dtypes.int32)
        return backend.from_numpy(found, F.device)

    return up(getattr(host, name)(*map(down, inputs), **keywords))
