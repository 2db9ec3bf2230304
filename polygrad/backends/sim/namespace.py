"""The functions of `sim`: those of the array API standard, each made from NumPy's by one wrapper.

What a function needs to be on a device depends on its chapter alone: whether it is arithmetic,
whether it makes arrays from nothing, whether its shape depends on values. The few that need more
are written out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import array_api_compat.numpy as host
import numpy as np

from polygrad.backends.sim.array import Array, arrays_of, call, host_operands, upload
from polygrad.backends.sim.device import DEVICES, Device, HostArray, poison

Function = Callable[..., Any]

# By chapter of the standard. Arithmetic rounds; the other chapters move, compare or count.
ARITHMETIC = """
    acos acosh add asin asinh atan atan2 atanh cos cosh divide exp expm1 floor_divide hypot log
    log10 log1p log2 logaddexp multiply pow reciprocal remainder sin sinh sqrt square subtract tan
    tanh clip maximum minimum max min equal not_equal less less_equal greater greater_equal
    matmul tensordot vecdot mean prod std sum var cumulative_prod cumulative_sum diff
    """
BITS = """
    abs bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    ceil conj copysign floor imag isfinite isinf isnan logical_and logical_not logical_or
    logical_xor negative nextafter positive real round sign signbit trunc
    """
MOVING = """
    matrix_transpose broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims
    repeat reshape roll squeeze stack tile unstack tril triu meshgrid take take_along_axis
    """
SEARCHING = "argmax argmin count_nonzero searchsorted where isin argsort sort all any"
BY_VALUE = "nonzero unique_all unique_counts unique_inverse unique_values"
CREATION = "arange eye full linspace ones zeros"
LIKE = "full_like ones_like zeros_like"
ON_TYPES = "can_cast finfo iinfo isdtype result_type broadcast_shapes"
LINALG = """
    cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power
    matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot
    vector_norm
    """
FFT = """
    fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftshift ifftshift
    """
FREQUENCIES = "fftfreq rfftfreq"
DTYPES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
    """
CONSTANTS = "e inf nan newaxis pi"


def find(device: Device | None) -> Device:
    """The device of creation functions: the first if none is given."""
    if device is None:
        return DEVICES[0]
    if not isinstance(device, Device):
        raise TypeError(f"a device of sim is wanted, not {device!r}: take one of sim.devices()")
    return device


def _on_arrays(function: Function, name: str, arithmetic: bool) -> Function:
    @functools.wraps(function, updated=())
    def operation(*args: Any, **kwargs: Any) -> Any:
        return call(name, function, *args, arithmetic=arithmetic, **kwargs)

    return operation


def _by_value(function: Function, name: str) -> Function:
    @functools.wraps(function, updated=())
    def operation(x: Array, /, *args: Any, **kwargs: Any) -> Any:
        x.device.synchronize()  # the values decide the shape
        return call(name, function, x, *args, **kwargs)

    return operation


def _creation(function: Function, name: str) -> Function:
    @functools.wraps(function, updated=())
    def operation(*args: Any, device: Device | None = None, **kwargs: Any) -> Any:
        return call(name, function, *args, at=find(device), **kwargs)

    return operation


def _like(name: str) -> Function:
    function = getattr(host, name)

    @functools.wraps(function, updated=())
    def operation(x: Array, *args: Any, device: Device | None = None, **kwargs: Any) -> Any:
        place = x.device if device is None else find(device)
        if place is x.device:
            return call(name, function, x, *args, **kwargs)
        kwargs = {"dtype": x.dtype, **{k: v for k, v in kwargs.items() if v is not None}}
        return call(name, getattr(host, name[:-5]), x.shape, *args, at=place, **kwargs)

    return operation


def _on_types(function: Function) -> Function:
    @functools.wraps(function, updated=())
    def operation(*args: Any, **kwargs: Any) -> Any:
        return function(*(a.dtype if isinstance(a, Array) else a for a in args), **kwargs)

    return operation


# ---- written out --------------------------------------------------------------------------------
def asarray(
    obj: Any, /, *, dtype: Any = None, device: Device | None = None, copy: bool | None = None
) -> Array:
    """An array of numbers, nested sequences of numbers, or of an array of a device."""
    if isinstance(obj, Array):
        if device is not None and device is not obj.device:
            if copy is False:
                raise ValueError("copy=False, but the array is on another device")
            obj, copy = obj.to_device(device), None
        return astype(obj, obj.dtype if dtype is None else dtype, copy=copy)
    if copy is False:
        raise ValueError("copy=False, but numbers have to be copied to the device")
    if arrays_of(obj):
        raise TypeError("nested sequences of device arrays: use stack")
    place = find(device)
    place.require(dtype)
    return upload(place.narrow(np.array(host_operands(obj), dtype=dtype)), place)


def astype(
    x: Array, dtype: Any, /, *, copy: bool | None = True, device: Device | None = None
) -> Array:
    """An array with another dtype."""
    if device is not None:
        x = x.to_device(device)
    x.device.require(dtype)
    if x.dtype == dtype and not copy:
        return x
    if copy is False:
        copy = True if x.dtype != dtype else copy
    made: Array = call("astype", _astype, x, _Dtype(dtype))
    return made


class _Dtype:
    """A dtype among operands, which NumPy would take for an array's."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)


def _astype(data: HostArray, dtype: _Dtype) -> HostArray:
    if data.dtype.kind == "c" != dtype.dtype.kind:
        raise TypeError(f"a complex array has no {dtype.dtype} values: take its real part first")
    return np.array(data.astype(dtype.dtype), order="C")


def empty(shape: Any, *, dtype: Any = None, device: Device | None = None) -> Array:
    """An array that nothing was written to: of poison."""
    made: Array = call("empty", _poisoned, shape, at=find(device), dtype=dtype)
    return made


def empty_like(x: Array, /, *, dtype: Any = None, device: Device | None = None) -> Array:
    """As `empty`, with the shape of `x`."""
    return empty(x.shape, dtype=dtype or x.dtype, device=x.device if device is None else device)


def _poisoned(shape: Any, dtype: Any = None) -> HostArray:
    return poison(np.zeros(shape, dtype))


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """A copy of what offers DLPack."""
    if isinstance(x, Array):
        return asarray(x, device=device, copy=copy)
    if copy is False:
        raise BufferError("copy=False, but memory of another library has to be copied")
    place = find(device)
    made = upload(np.array(np.from_dlpack(x, device="cpu")), place)
    place.synchronize()
    return made


class _Info:
    """What the namespace tells of itself."""

    def capabilities(self) -> dict[str, Any]:
        """Of the standard's optional features, all."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The first."""
        return DEVICES[0]

    def devices(self) -> tuple[Device, ...]:
        """All of them."""
        return DEVICES

    def dtypes(self, *, device: Device | None = None, kind: Any = None) -> dict[str, Any]:
        """What a device computes with."""
        found = host.__array_namespace_info__().dtypes(kind=kind)
        return {name: dtype for name, dtype in found.items() if find(device).has(dtype)}

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, Any]:
        """As NumPy's, in single precision where there is no double."""
        place = find(device)
        found = host.__array_namespace_info__().default_dtypes()
        return {name: place.narrow(np.zeros((), dtype)).dtype for name, dtype in found.items()}


def functions() -> Iterator[tuple[str, Any]]:
    """The names of the main namespace."""
    for names, arithmetic in ((ARITHMETIC, True), (f"{BITS} {MOVING} {SEARCHING}", False)):
        for name in names.split():
            yield name, _on_arrays(getattr(host, name), name, arithmetic)
    for name in BY_VALUE.split():
        yield name, _by_value(getattr(host, name), name)
    for name in CREATION.split():
        yield name, _creation(getattr(host, name), name)
    for name in LIKE.split():
        yield name, _like(name)
    for name in ON_TYPES.split():
        yield name, _on_types(getattr(host, name))
    for name in DTYPES.split():
        yield name, np.dtype(name)
    for name in CONSTANTS.split():
        yield name, getattr(host, name)
    for written in (asarray, astype, empty, empty_like, from_dlpack):
        yield written.__name__, written
    yield "__array_api_version__", host.__array_api_version__
    yield "__array_namespace_info__", _Info


def extension(module: Any, names: str) -> Iterator[tuple[str, Any]]:
    """The names of `linalg` or `fft`: arithmetic throughout."""
    frequencies = FREQUENCIES.split()
    for name in names.split():
        function, full = getattr(module, name), f"{module.__name__.rpartition('.')[2]}.{name}"
        yield name, (
            _creation(function, full) if name in frequencies else _on_arrays(function, full, True)
        )


def linalg_functions() -> Iterator[tuple[str, Any]]:
    """The names of the extension `linalg`."""
    return extension(host.linalg, LINALG)


def fft_functions() -> Iterator[tuple[str, Any]]:
    """The names of the extension `fft`."""
    return extension(host.fft, f"{FFT} {FREQUENCIES}")
