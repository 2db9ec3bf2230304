"""The array class of the simulated devices: NumPy's values where NumPy cannot reach them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from polygrad.backends.sim.device import (
    Device,
    HostArray,
    ImplicitCopyError,
    Memory,
    MixedDevicesError,
    flush,
    poison,
)

Function = Callable[..., Any]

_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
_UNARY = "neg pos abs invert"
_COMPARING = "lt le gt ge eq ne"
_IMPLICIT = "array iter bool int float complex index contains array_ufunc array_function"


class Array:
    """Values in the memory of a device. Made by the functions of `sim`, never by hand.

    Attributes
    ----------
    data
        The values. Only this package touches them; the host has `sim.download`.
    memory
        The allocation.
    base
        The array that this one is a view of, or None.
    """

    __slots__ = ("__weakref__", "base", "data", "memory")

    def __init__(self, data: HostArray, memory: Memory, base: Array | None = None) -> None:
        self.data, self.memory, self.base = data, memory, base

    # ---- what is known without waiting --------------------------------------------------------
    @property
    def device(self) -> Device:
        """Where the values are."""
        return self.memory.device

    @property
    def dtype(self) -> Any:
        """A numpy.dtype."""
        return self.data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        shape: tuple[int, ...] = self.data.shape
        return shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.data.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.data.size

    @property
    def T(self) -> Array:  # noqa: N802  the standard's name
        """The transpose of a matrix."""
        if self.ndim != 2:
            raise ValueError(f"T is of arrays with 2 axes, this one has {self.ndim}: use mT")
        return self.mT

    @property
    def mT(self) -> Array:  # noqa: N802  the standard's name
        """With the last two axes exchanged."""
        made: Array = call("mT", np.matrix_transpose, self)
        return made

    def __len__(self) -> int:
        """The length of the first axis."""
        return len(self.data)

    def __repr__(self) -> str:
        """Without the values: they would have to be waited for."""
        return f"sim.Array(shape={self.shape}, dtype={self.dtype}, device={self.device.name})"

    # ---- elements -----------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Array:
        """A view for ints and slices, a copy for arrays of this device."""
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, Array) and k.dtype == np.bool_ for k in keys):
            self.device.synchronize()  # the values decide the shape
        found: Array = call("getitem", _getitem, self, key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        """Written in the order of the queue."""
        place, (key, value) = together((self, key, value))[0], host_operands((key, value))
        self.data[_in_order(key)] = value
        self.memory.written = place.submit()

    # ---- interchange --------------------------------------------------------------------------
    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module `sim`."""
        from polygrad.backends import sim

        version = vars(sim)["__array_api_version__"]
        if api_version not in (None, version):
            raise ValueError(f"sim has {version} of the standard, no other")
        return sim

    def to_device(self, device: Device, /, *, stream: None = None) -> Array:
        """The same values on another device, after this one's queue has been waited for."""
        if device is self.device:
            return self
        self.device.synchronize()
        return stored(np.array(self.data), device, "to_device")

    def __dlpack_device__(self) -> tuple[int, int]:
        """An extension device: only the host's copy can be exported."""
        return (12, 0)

    def __dlpack__(self, *, dl_device: Any = None, copy: bool | None = None, **_: Any) -> Any:
        """The memory; with dl_device=(1, 0) a copy on the host."""
        on_host = dl_device == (1, 0)
        if dl_device not in (None, (1, 0), self.__dlpack_device__()) or (on_host and copy is False):
            raise BufferError(f"{self!r} cannot be exported to device {dl_device}, copy={copy}")
        self.device.synchronize()
        data = download(self) if on_host or copy else self.data
        return data.__dlpack__()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> NoReturn:
        """Memory of a device goes nowhere by itself."""
        raise TypeError("a sim.Array cannot be copied or pickled: download its values")


# ---- from here to the device and back -----------------------------------------------------------
def upload(host: HostArray, device: Device) -> Array:
    """A copy of a NumPy array on a device.

    The copy is under way when this returns: until `synchronize` the host must not write to `host`.
    A write is found, and raises RaceError, when it next waits.
    """
    device.check()
    device.require(host.dtype)
    made = stored(np.array(host, order="C"), device, "upload")
    device.watch(host)
    return made


def download(array: Array) -> HostArray:
    """The values that have arrived, as a NumPy array: call `synchronize` first.

    Where an operation is still under way there is poison: see Note [What has arrived].
    """
    device = array.device
    device.check(array.memory)
    device.count["downloads"] += 1
    if array.memory.written > device.arrived:
        return poison(array.data)
    return np.array(array.data)


# ---- operations ---------------------------------------------------------------------------------
def arrays_of(value: Any) -> list[Array]:
    """The arrays among nested arguments."""
    if isinstance(value, Array):
        return [value]
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays_of(part)]
    return []


def together(values: Any, device: Device | None = None) -> tuple[Device, list[Array]]:
    """The one device of all arrays among `values`, or `device` if there are none; the arrays."""
    arrays = arrays_of(values)
    for array in arrays:
        if device is not None and array.device is not device:
            raise MixedDevicesError(
                f"arrays of {device.name} and {array.device.name}: move one with to_device"
            )
        device = array.device
        device.check(array.memory)
    if device is None:
        raise SystemError("an operation without arrays needs a device")
    device.check()
    return device, arrays


def host_operands(value: Any) -> Any:
    """NumPy's arrays in place of the device's, also inside tuples and lists."""
    if isinstance(value, Array):
        return value.data
    if isinstance(value, (tuple, list)):
        return type(value)(host_operands(part) for part in value)
    if isinstance(value, (np.ndarray, np.generic)):
        raise MixedDevicesError(
            f"a NumPy array ({value.dtype}, shape {value.shape}) among the operands of a device: "
            "upload it"
        )
    return value


def call(
    name: str, function: Function, *args: Any, at: Device | None = None,
    arithmetic: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Submit one operation: `function` of NumPy, on what the arguments stand for.

    Parameters
    ----------
    name
        For messages.
    at
        The device, for operations that have no array.
    arithmetic
        Whether it is arithmetic, which on some devices knows no subnormal numbers, or moves data.
    """
    device, arrays = together((args, *kwargs.values()), at)
    device.require(kwargs.get("dtype"))
    args = host_operands(args)
    kwargs = {key: host_operands(value) for key, value in kwargs.items()}
    if arithmetic and device.flushes:
        args = _flushed(args)
    with np.errstate(all="ignore"):  # a device has nobody to warn
        out = function(*args, **kwargs)
    if arithmetic and device.flushes:
        out = _flushed(out)
    return place_result(out, device, name, arrays)


def _flushed(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return flush(np.asarray(value))
    if isinstance(value, (tuple, list)):
        return _rebuilt(value, map(_flushed, value))
    return value


def _rebuilt(like: Any, parts: Any) -> Any:
    """Named tuples stay what they are, other sequences become tuples."""
    make: Function = getattr(type(like), "_make", tuple)
    return make(parts)


def place_result(out: Any, device: Device, name: str, operands: Any) -> Any:
    """Arrays of the device for what NumPy returned: views of operands, or allocations."""
    if isinstance(out, (tuple, list)):
        return _rebuilt(out, [place_result(part, device, name, operands) for part in out])
    if not isinstance(out, (np.ndarray, np.generic)):
        return out
    data = device.narrow(np.asarray(out))
    for operand in operands:
        if data is operand.data:
            return operand
        root = operand if operand.base is None else operand.base
        if data.base is not None and np.may_share_memory(data, root.data):
            device.submit()
            return Array(data, root.memory, root)
    return stored(data if data.base is None else np.array(data), device, name)


def stored(data: HostArray, device: Device, name: str) -> Array:
    """Values in memory of their own."""
    label = f"{name} {data.dtype}{list(data.shape)}"
    return Array(data, Memory(device, data.nbytes, label))


def _in_order(key: Any) -> Any:
    """The key with index arrays in C order, which is the order that NumPy then writes in."""
    if isinstance(key, tuple):
        return tuple(map(_in_order, key))
    return np.ascontiguousarray(key) if isinstance(key, np.ndarray) and key.ndim else key


def _getitem(data: HostArray, key: Any) -> Any:
    return data[key]


# ---- operators, and what they are not -----------------------------------------------------------
def _operator(name: str, arithmetic: bool) -> Function:
    function = getattr(np.ndarray, name)

    def method(self: Array, *others: Any) -> Any:
        if any(not isinstance(o, (Array, bool, int, float, complex, np.ndarray)) for o in others):
            return NotImplemented
        return call(name, function, self, *others, arithmetic=arithmetic)

    method.__name__ = method.__qualname__ = name
    return method


def _in_place(name: str) -> Function:
    function = getattr(np.ndarray, f"__i{name}__")

    def method(self: Array, other: Any) -> Array:
        device = together((self, other))[0]
        value = host_operands(other)
        with np.errstate(all="ignore"):
            function(self.data, _flushed(value) if device.flushes else value)
        if device.flushes:
            self.data[...] = flush(self.data)
        self.memory.written = device.submit()
        return self

    return method


def _refusal(name: str) -> Function:
    def method(self: Array, *_: Any, **__: Any) -> NoReturn:
        raise ImplicitCopyError(
            f"__{name}__ of {self!r} would copy its values to the host unasked: synchronize the "
            "device, then sim.download(array)"
        )

    return method


def _add_methods() -> None:
    bitwise = {"and", "or", "xor", "lshift", "rshift", "pos", "invert", "abs", "neg"}
    binary = _BINARY.split()
    for name in (*binary, *_UNARY.split(), *_COMPARING.split()):
        arithmetic = name not in bitwise
        setattr(Array, f"__{name}__", _operator(f"__{name}__", arithmetic))
        if name in binary:
            setattr(Array, f"__r{name}__", _operator(f"__r{name}__", arithmetic))
            setattr(Array, f"__i{name}__", _in_place(name))
    for name in _IMPLICIT.split():
        setattr(Array, f"__{name}__", _refusal(name))


_add_methods()
