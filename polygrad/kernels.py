"""Kernels: which function serves an operation on a device and dtype, and how it is found."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import dtypes
from polygrad.device import Device
from polygrad.errors import DtypeError, MissingDtypeError, PrimitiveError, UnsupportedOperationError

if TYPE_CHECKING:
    from polygrad.backend import Backend

__all__ = [
    "FORWARDS", "OF_REALS", "Array", "Guard", "Kernel", "KernelTable", "Kernels", "bind",
    "check_dtype", "declare_forward", "parameter_names", "watched",
]  # fmt: skip

Array = Any
Kernel = Callable[..., Any]
Guard = Callable[[], AbstractContextManager[Any]]


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


class Kernels:
    """All operations on raw arrays of one (backend, device, dtype).

    This is the namespace `F` that rules run on in an ordinary backward. Every declared operation is
    an attribute, resolved when it is first called. (A class with `__getattr__` would do the same,
    but CPython does not specialise attribute access on such a class: 0.3 us per operation.)
    """

    __slots__ = (
        "__dict__", "__weakref__", "_siblings", "array_type", "backend", "device", "dtype", "guard",
        "inexact", "is_complex", "kind", "native_device", "native_dtype", "numeric", "scalar",
        "tiled", "xp",
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
        self.tiled = backend.tiled
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
        found = self.backend.adapted(name, bind(found, self), self)
        if self.guard is not None:
            found = _guarded(found, self.guard)
        for wrap in _watchers:
            found = wrap(name, found, self)
        return found

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
        """The Kernels of another dtype on this device.

        Raises
        ------
        MissingDtypeError
            The device does not have the dtype.
        """
        if dtype == self.dtype:
            return self
        check_dtype(self.backend, self.device, dtype)
        return self.backend.kernels(self.device, dtype)

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
        return self._given(array, self.backend.from_numpy)

    def constant(self, array: Any) -> Array:
        """What follows from shapes and options alone, as `from_numpy` gives it."""
        return self._given(array, self.backend.constant)

    def _given(self, array: Any, give: Callable[..., Array]) -> Array:
        host = np.asarray(array, dtype=self.dtype)
        with self.explaining(f"copying {self.dtype} {host.shape} from the host"):
            return give(host, self.device)

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
_watchers: list[Callable[[str, Kernel, Kernels], Kernel]] = []


@contextmanager
def watched(wrap: Callable[[str, Kernel, Kernels], Kernel]) -> Iterator[None]:
    """Put `wrap(name, kernel, kernels)` in the place of every kernel, everywhere, for a while."""
    _watchers.append(wrap)
    try:
        _forget_all()
        yield
    finally:
        _watchers.remove(wrap)
        _forget_all()


def _forget_all() -> None:
    for kernels in tuple(_instances):
        for name in {*FORWARDS, *(entry for entry, _, _ in kernels.backend.table.entries)}:
            kernels.forget(name)


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


def check_dtype(backend: Backend, device: Device, dtype: dtypes.Dtype, where: str = "") -> None:
    """Raise MissingDtypeError if a device does not have a dtype."""
    if not backend.supports(dtype, device):
        has = ", ".join(d.name for d in dtypes.ALL if backend.supports(d, device))
        raise MissingDtypeError(
            f"the device {device.name} has no {dtype}", where, f"use one of its dtypes: {has}"
        )
