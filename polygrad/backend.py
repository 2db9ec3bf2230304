"""What an array library must tell polygrad (`Backend`), and what it then offers (`Kernels`).

A backend is one small class. The methods without a body are the contract; the others have defaults
written in functions of the array API standard, and a backend overrides them only to be faster or
because its library departs from the standard.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polygrad import dtypes, indexing
from polygrad.device import Device
from polygrad.errors import (
    DeviceLostError,
    DtypeError,
    OutOfMemoryError,
    PolygradError,
    PrimitiveError,
    UnsupportedOperationError,
)

__all__ = ["Backend", "Capabilities", "KernelTable", "Kernels", "KnownGap"]

Array = Any
Kernel = Callable[..., Any]
Guard = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do, as data: tests and the documentation read it, never a vendor's name.

    Attributes
    ----------
    writeable
        Arrays can be written in place.
    aliasing
        Basic indexing, reshape and permute_dims give views of one memory; their `base` owns it.
    sparse_keys
        Integer-array and mask keys work in `x[key]` and `x[key] = v` as in NumPy.
    negative_steps
        Slices go backwards too.
    checks_indices
        An index out of range raises, without help.
    data_dependent_shapes
        `nonzero`, `unique_*` and masks work.
    compiles
        Each new shape of an operation is compiled first: tests make do with fewer shapes.
    asynchronous
        Calls may return before the device has finished.
    deterministic_scatter
        Adding to one place several times always sums in the same order.
    subnormals
        False where results below the smallest normal number become zero.
    max_dimensions
        The most axes that an array can have, None for any number.
    survives_fork
        The library works in a child process that was forked after it had been used.
    unsupported
        Operations that the library cannot serve: names or globs, `linalg.lu`, `fft.*`, or
        `matmul/float16` for one dtype. The conformance suite holds that this is so.
    accuracy
        The accuracy that is claimed for a dtype: `ieee`, `full` (unless another is said),
        `relaxed` or `fast`; what they mean, the conformance suite says.
    """

    writeable: bool = True
    aliasing: bool = False
    sparse_keys: bool = True
    negative_steps: bool = True
    checks_indices: bool = True
    data_dependent_shapes: bool = True
    compiles: bool = False
    asynchronous: bool = False
    deterministic_scatter: bool = True
    subnormals: bool = True
    max_dimensions: int | None = 64
    survives_fork: bool = False
    unsupported: tuple[str, ...] = ()
    accuracy: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class KnownGap:
    """A fault of the library that the conformance suite expects, until the day it is gone.

    Attributes
    ----------
    op
        The operation, or a glob.
    reason, url
        What is wrong, and where it was reported.
    dtypes, checks, samples, devices
        Where it shows: dtypes, kinds of check, samples (globs), devices; everywhere if empty.
    kind
        bug, accuracy, spec, hardware or future; a bug if there is a url.
    measured
        The error when it was entered, as `24.5 ulp`: more than a quarter above it is a failure.
    when
        The versions that have it: `backend_version < 2.5`.
    """

    op: str
    reason: str
    url: str = ""
    dtypes: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    kind: str = ""
    measured: str = ""
    when: str = ""


@dataclass
class KernelTable:
    """Kernels registered for (operation, device, dtype), any of the last two left open."""

    entries: dict[tuple[str, str | None, str | None], Kernel] = field(default_factory=dict)

    def find(self, name: str, device: Device, dtype: dtypes.Dtype) -> Kernel | None:
        """The most specific kernel: (op, device, dtype), (op, device), (op, dtype), (op)."""
        for key in (
            (name, device.name, dtype.name),
            (name, device.name, None),
            (name, None, dtype.name),
            (name, None, None),
        ):
            if key in self.entries:
                return self.entries[key]
        return None


# A primitive's own forward, by name, filled by polygrad.primitive as the op tables are read; None:
# the library's function of that name.
FORWARDS: dict[str, Kernel | None] = {}
OF_REALS: set[str] = set()


class Backend(ABC):
    """One array library. Made once, when a device or an array of its own is first met."""

    name: ClassVar[str]
    device_kinds: ClassVar[tuple[str, ...]]
    capabilities: ClassVar[Capabilities] = Capabilities()
    known_gaps: ClassVar[tuple[KnownGap, ...]] = ()
    special_install: ClassVar[str] = ""  # what to type if `special` needs a package of its own
    oom_errors: tuple[type[BaseException], ...] = (MemoryError,)
    lost_errors: tuple[type[BaseException], ...] = ()
    index_errors: tuple[type[BaseException], ...] = (IndexError,)
    linalg_errors: tuple[type[BaseException], ...] = (np.linalg.LinAlgError,)

    def __init__(self) -> None:
        self.table = KernelTable()
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

    def adapted(self, kernel: Kernel, kernels: Kernels) -> Kernel:
        """What serves in the place of `kernel`, itself by default: for a dtype that needs help."""
        del kernels
        return kernel

    def memory(self, device: Device) -> tuple[int, int] | None:
        """(free, total) bytes of the device, or None where the library cannot say."""
        del device
        return None

    def failure(self, error: BaseException, device: Device, where: str) -> PolygradError | None:
        """What to raise for an error of the device itself; None for any other error."""
        if isinstance(error, PolygradError):
            return None
        if isinstance(error, self.oom_errors):
            return OutOfMemoryError(
                f"out of memory on {device}: {error}", where,
                "free tensors, use smaller batches, or pg.autograd.checkpoint",
            )  # fmt: skip
        if isinstance(error, self.lost_errors):
            return DeviceLostError(
                f"the device {device} was lost: {error}", where,
                "start the process anew, and load the last checkpoint",
            )  # fmt: skip
        return None

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
        if self.takes(key):
            return array[key]
        if indexing.is_basic(key):
            return indexing.flipped(self.xp, array, key)
        return indexing.gather(self, array, key)

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
            for kernels in self._spaces.values():
                kernels.forget(name)
            return function

        return register

    def through_host(self, *names: str, dtypes: tuple[str | None, ...] = (None,)) -> None:
        """Let NumPy serve these operations, on the host: what the library lacks, or gets wrong."""
        for name in names:
            for dtype in dtypes:
                self.kernel(name, dtype=dtype)(functools.partial(_through_host, name))

    def kernels(self, device: Device, dtype: dtypes.Dtype) -> Kernels:
        """The Kernels of (device, dtype), one object for each pair."""
        try:
            return self._spaces[device, dtype]
        except KeyError:
            return self._spaces.setdefault((device, dtype), Kernels(self, device, dtype))

    def kernels_of(self, array: Array) -> Kernels:
        """The Kernels of the device and dtype of `array`."""
        return self.kernels(self.device_of(array), self.dtype_of(array))


class Kernels:
    """All operations on raw arrays of one (backend, device, dtype).

    This is the namespace `F` that rules run on in an ordinary backward. Every declared operation is
    an attribute, resolved when it is first called. (A class with `__getattr__` would do the same,
    but CPython does not specialise attribute access on such a class: 0.3 us per operation.)
    """

    __slots__ = (
        "__dict__", "__weakref__", "_siblings", "array_type", "backend", "device", "dtype", "guard",
        "inexact", "is_complex", "kind", "native_device", "native_dtype", "numeric", "scalar", "xp",
    )  # fmt: skip

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Kernel: ...

    def __init__(self, backend: Backend, device: Device, dtype: dtypes.Dtype) -> None:
        self.backend, self.device, self.dtype = backend, device, dtype
        self.xp = backend.xp
        self.array_type = backend.array_types[0]
        self.native_dtype = backend.native_dtype(dtype)
        self.native_device = backend.native_device(device)
        self.kind = dtypes.kind_of(dtype)
        self.numeric = self.kind >= dtypes.INTEGER
        self.inexact = self.kind >= dtypes.REAL
        self.is_complex = self.kind == dtypes.COMPLEX
        self.guard = backend.guard(device)
        self.scalar = backend.scalar(self)
        self._siblings: dict[Any, Kernels] = {self.native_dtype: self}
        for name in {*FORWARDS, *(entry for entry, _, _ in backend.table.entries)}:
            self.forget(name)
        _instances.add(self)

    def __repr__(self) -> str:
        """Backend, device, dtype."""
        return f"<Kernels {self.backend.name} {self.device} {self.dtype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the place they stand for."""
        from polygrad.registry import find_kernels  # noqa: PLC0415  only pickles need it

        return find_kernels, (self.device.name, self.dtype.name)

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Kernels:
        """Kernels are never copied."""
        return self

    def forget(self, name: str) -> None:
        """Resolve `name` anew when it is next called."""

        def first(*args: Any, **kwargs: Any) -> Any:
            kernel = self.__dict__[name] = self.resolve(name)
            return kernel(*args, **kwargs)

        self.__dict__[name] = first

    def resolve(self, name: str) -> Kernel:
        """The function that serves `name`: see "Dispatch" in the design for the order.

        Raises
        ------
        UnsupportedOperationError
            Neither a kernel, nor a forward, nor the library serves `name` here.
        DtypeError
            `name` is of real numbers only, and this is of complex ones.
        """
        if self.is_complex and name in OF_REALS:
            raise DtypeError(
                f"{name} is for real numbers, not for {self.dtype}", f"device {self.device}",
                "take pg.real, pg.imag or pg.abs first",
            )  # fmt: skip
        found = self.backend.table.find(name, self.device, self.dtype)
        found = found or FORWARDS.get(name) or getattr(self.xp, name, None)
        if found is None:
            raise UnsupportedOperationError(
                f"no kernel for {name}",
                f"backend {self.backend.name}, device {self.device}, dtype {self.dtype}",
                f"register one with backend.kernel({name!r}), or move the data with .to(device)",
            )
        found = self.backend.adapted(bind(found, self), self)
        if self.guard is None:
            return found
        return _guarded(found, self.guard)

    def origin(self, name: str) -> str:
        """Where the function that serves `name` comes from, for `show_kernels`."""
        if (found := self.backend.table.find(name, self.device, self.dtype)) is not None:
            source = "kernel"
        elif (found := FORWARDS.get(name)) is not None:
            source = "forward"
        elif (found := getattr(self.xp, name, None)) is not None:
            source = "library"
        else:
            return "none"
        module = getattr(found, "__module__", None) or "built in"
        return f"{source} {module}.{getattr(found, '__qualname__', type(found).__name__)}"

    def of(self, array: Array) -> Kernels:
        """The Kernels of the dtype of `array`, which lives on this device."""
        try:
            return self._siblings[array.dtype]
        except KeyError:
            found = self.backend.kernels(self.device, self.backend.dtype_of(array))
            return self._siblings.setdefault(array.dtype, found)

    def with_dtype(self, dtype: dtypes.Dtype) -> Kernels:
        """The Kernels of another dtype on this device."""
        return self if dtype == self.dtype else self.backend.kernels(self.device, dtype)

    def coerce(self, value: Any) -> Array:
        """Make an array of this device of a result that is not one."""
        return self.backend.coerce(value, self.device)

    def cast(self, array: Array) -> Array:
        """`array`, of this device, in this dtype."""
        if array.dtype == self.native_dtype:
            return array
        return self.backend.astype(array, self.dtype)

    @contextmanager
    def explaining(self, where: str) -> Iterator[None]:
        """Errors of the device itself, raised within, come out as polygrad's: `Backend.failure`."""
        try:
            yield
        except Exception as error:
            failed = self.backend.failure(error, self.device, where)
            if failed is None:
                raise
            raise failed from error

    def copy(self, array: Any) -> Array:
        """The same numbers in memory of their own."""
        with self.explaining(f"copying {self.dtype} {tuple(array.shape)}"):
            return self.backend.copy(array)

    def from_numpy(self, array: Any) -> Array:
        """A copy of host data on this device, in this dtype."""
        host = np.asarray(array, dtype=self.dtype)
        with self.explaining(f"copying {self.dtype} {host.shape} from the host"):
            return self.backend.from_numpy(host, self.device)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """An array of zeros of this device and dtype."""
        return self.full(shape, 0)

    def ones(self, shape: tuple[int, ...]) -> Array:
        """An array of ones of this device and dtype."""
        return self.full(shape, 1)

    def full(self, shape: tuple[int, ...], value: Any) -> Array:
        """An array filled with a Python number, of this device and dtype."""
        nothing = type(value) is int and value == 0
        create, args = (self.xp.zeros, (shape,)) if nothing else (self.xp.full, (shape, value))
        options = {"dtype": self.native_dtype, "device": self.native_device}
        try:
            if self.guard is None:
                made = create(*args, **options)
            else:
                with self.guard():
                    made = create(*args, **options)
        except (*self.backend.oom_errors, *self.backend.lost_errors) as error:
            where = f"filling {shape} with {value}, dtype {self.dtype}"
            raise self.backend.failure(error, self.device, where) or error from error
        return made if type(made) is self.array_type else self.coerce(made)


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


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters; of a built-in function without a signature, none.

    `inspect.signature` takes 0.1 ms, and there are a thousand rules and forwards.
    """
    code = getattr(function, "__code__", None)
    if code is not None and not hasattr(function, "__signature__"):
        names: tuple[str, ...] = code.co_varnames  # positional, keyword-only, *, **, then locals
        first = code.co_argcount
        last = first + code.co_kwonlyargcount
        star = last + bool(code.co_flags & inspect.CO_VARARGS)
        end = star + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return names[:first] + names[last:star] + names[first:last] + names[star:end]
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def bind(function: Kernel, kernels: Kernels) -> Kernel:
    """Give a kernel the Kernels it asks for.

    A first parameter called `F` receives them at each call; a function of `F` alone is a factory,
    called once, and what it returns is the kernel.
    """
    parameters = parameter_names(function)
    if not parameters or parameters[0] != "F":
        return function
    if len(parameters) == 1:
        made: Kernel = function(kernels)
        return made
    return functools.partial(function, kernels)


def _guarded(function: Kernel, guard: Guard) -> Kernel:
    """Hold the backend's guard while `function` runs."""

    @functools.wraps(function, updated=())
    def inner(*args: Any, **kwargs: Any) -> Any:
        with guard():
            return function(*args, **kwargs)

    return inner


_instances: weakref.WeakSet[Kernels] = weakref.WeakSet()


def declare_forward(name: str, function: Kernel | None, *, real: bool = False) -> None:
    """Make `name` an operation of all Kernels, or with `real` of those that are not complex.

    `function` serves it wherever no kernel is registered; None: the library's function of the name.
    """
    if name in FORWARDS:
        raise PrimitiveError(f"the operation {name!r} is declared already", name, "rename one")
    FORWARDS[name] = function
    if real:
        OF_REALS.add(name)
    for kernels in _instances:
        kernels.forget(name)
