"""Operators and methods of Tensor, attached from the registry of operations."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from polygrad import dtypes
from polygrad.device import Device
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.families import OPERATIONS
from polygrad.gradients import backward_method, retain_grad, retains_grad
from polygrad.indexing import size_of
from polygrad.ops import late_function
from polygrad.ops._axes import normalize_axis
from polygrad.ops.creation import to_place
from polygrad.primitive import PRIMITIVES
from polygrad.straight import make_call
from polygrad.tensor import Tensor
from polygrad.transfer import pinned
from polygrad.views import clone, detach, getitem_tensor, same_view
from polygrad.writes import inplace, setitem

# operator: (primitive, whether it has a reflected and an in-place form)
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "matmul": "matmul",
}  # fmt: skip
_COMPARE = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal",
}  # fmt: skip
_UNLIKE = ("floordiv",)  # libraries' operators differ from the primitive: at infinity
_LATE_METHODS = (  # of chapters that are read when first used; a test holds them to the registry
    "corrcoef", "cov", "cummax", "cummin", "cumulative_logsumexp", "diag", "diag_embed", "diagonal",
    "gather", "index_copy", "index_fill", "inner", "kron", "kthvalue", "lerp", "log_softmax",
    "masked_fill", "masked_scatter", "masked_select", "median", "nan_to_num", "nanmean",
    "nanmedian", "nanquantile", "nansum", "norm", "quantile", "scatter", "scatter_add",
    "scatter_reduce", "softmax", "split", "topk", "trace",
)  # fmt: skip
_REDUCTIONS = (  # that NumPy's functions of these names call
    "sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin",
)  # fmt: skip
_UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}


def _attach(name: str, function: Any) -> None:
    setattr(Tensor, name, function)


def _inplace(name: str, primitive: str) -> Callable[[Tensor, Any], Tensor]:
    p = PRIMITIVES[primitive]
    native = None if name in _UNLIKE else getattr(operator, f"i{name}")

    def write(self: Tensor, other: Any) -> Tensor:
        return inplace(self, p, native, other)

    write.__name__ = f"__i{name}__"
    return write


def attach_operators() -> None:
    """The dunder methods; primitives that have no table yet are an error."""
    for name, primitive in _BINARY.items():
        p = PRIMITIVES[primitive]
        _attach(f"__{name}__", make_call(p, form="operator"))
        _attach(f"__r{name}__", make_call(p, form="reflected"))
        _attach(f"__i{name}__", _inplace(name, primitive))
    for name, primitive in _COMPARE.items():
        _attach(f"__{name}__", make_call(PRIMITIVES[primitive], form="operator"))
    for name, primitive in _UNARY.items():
        _attach(f"__{name}__", OPERATIONS[primitive].function)
    pow_function = OPERATIONS["pow"].function
    _attach("__pow__", pow_function)
    _attach("__rpow__", lambda self, other: pow_function(other, self))
    _attach("__ipow__", _inplace("pow", "pow"))
    _attach("__getitem__", getitem_tensor)
    _attach("__setitem__", setitem)


def attach_methods() -> None:
    """The everyday methods: every operation declared with `method=True`."""
    for name, operation in OPERATIONS.items():
        if operation.method and not hasattr(Tensor, name):
            function = operation.function
            _attach(name, _reduction(function) if name in _REDUCTIONS else function)
    for name in _LATE_METHODS:
        _attach(name, _late(name))
    for name, read in {
        "T": _transpose,
        "mT": _matrix_transpose,
        "real": _real,
        "imag": _imag,
    }.items():
        setattr(Tensor, name, property(read, _writer(read) if name in ("real", "imag") else None))
    for function in (reshape, permute_dims, flatten, view):
        _attach(function.__name__, function)
    _attach("detach", detach)
    _attach("clone", clone.call)
    for method in (zero_, fill_, copy_):
        _attach(method.__name__, method)
    _attach("backward", backward_method)
    _attach("retain_grad", retain_grad)
    _attach("retains_grad", property(retains_grad))
    _attach("to", to)
    _attach("__array__", array)
    _attach("__array_ufunc__", array_ufunc)
    _attach("__array_function__", array_function)
    _attach("to_device", to_device)
    _attach("pin_memory", pin_memory)
    _attach("__getattr__", no_attribute)


def _late(name: str) -> Callable[..., Any]:
    """Stands for a method until it is first called: its chapter is read then."""

    def method(self: Tensor, /, *args: Any, **keywords: Any) -> Any:
        function: Any = late_function(name)
        _attach(name, function)
        return function(self, *args, **keywords)

    method.__name__ = name
    method.__doc__ = f"`polygrad.{name}` of this tensor."
    return method


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """`np.var(t)` calls `t.var(axis=None, dtype=None, out=None, ddof=0)`."""

    @functools.wraps(function)
    def method(
        self: Tensor, /, axis: Any = None, *, dtype: Any = None, out: None = None, **keywords: Any
    ) -> Any:
        if out is not None:
            raise InvalidArgumentError(
                "a reduction makes its result, it does not write into another array",
                f"{function.__name__}, argument out", "leave out out; write out[...] = the result",
            )  # fmt: skip
        if dtype is not None and function.__name__ in ("sum", "prod"):
            return function(self, axis, dtype=dtype, **keywords)
        return function(to_place(self, dtype), axis, **keywords)

    return method


def _writer(read: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Any], None]:
    """`z.imag = value` writes through the view; after `z.imag += 1` the value is that view."""

    def write(self: Tensor, value: Any) -> None:
        part = read(self)
        if not (isinstance(value, Tensor) and same_view(value, part)):
            setitem(part, Ellipsis, value)

    return write


# ---- shapes ---------------------------------------------------------------------------------
def _transpose(self: Tensor) -> Tensor:
    """The transpose of a matrix: a view."""
    if self.ndim != 2:
        raise ShapeError(
            f".T is for tensors of two axes, this one has {self.ndim}", f"shape {self.shape}",
            "write .mT to exchange the last two axes, permute_dims for another order",
        )  # fmt: skip
    return OPERATIONS["matrix_transpose"].function(self)  # type: ignore[no-any-return]


def _matrix_transpose(self: Tensor) -> Tensor:
    """The last two axes exchanged: a view."""
    return OPERATIONS["matrix_transpose"].function(self)  # type: ignore[no-any-return]


def _real(self: Tensor) -> Tensor:
    """The real part: a view of a complex tensor, a real tensor itself."""
    return OPERATIONS["real"].function(self)  # type: ignore[no-any-return]


def _imag(self: Tensor) -> Tensor:
    """The imaginary part: a view of a complex tensor, zeros for a real one."""
    function = OPERATIONS["imag" if self.kernels.is_complex else "zeros_like"].function
    return function(self)  # type: ignore[no-any-return]


def _ints(entries: tuple[Any, ...]) -> Any:
    """One tuple from `f(2, 3)` and from `f((2, 3))`."""
    return entries[0] if len(entries) == 1 else entries


def reshape(self: Tensor, /, *shape: Any, copy: bool | None = None) -> Tensor:
    """As `pg.reshape`; the shape as one tuple or as ints: `t.reshape(2, -1)`."""
    return OPERATIONS["reshape"].function(self, _ints(shape), copy=copy)  # type: ignore[no-any-return]


def permute_dims(self: Tensor, /, *axes: Any) -> Tensor:
    """As `pg.permute_dims`; the axes as one tuple or as ints."""
    order = _ints(axes)
    order = order if isinstance(order, (tuple, list)) else (order,)
    return OPERATIONS["permute_dims"].function(self, order)  # type: ignore[no-any-return]


def view(self: Tensor, /, *shape: Any) -> Tensor:
    """Another shape, as one tuple or as ints, never by a copy; or another dtype: `t.view(dtype)`.

    Of dtypes, complex numbers are read as pairs of real ones along the last axis, and the other way
    round. That is a new tensor, on the tape: writes to it do not reach this one.

    Raises
    ------
    ShapeError, InvalidArgumentError
        As `reshape` with copy=False; a last axis of odd length has no pairs.
    DtypeError
        The dtypes are not of one precision.

    >>> import polygrad as pg
    >>> pg.asarray([1 + 2j]).view(pg.float32)
    tensor([1., 2.], dtype=float32)
    """
    if shape and not isinstance(shape[0], (int, tuple, list)):
        return _reread(self, dtypes.canonical(shape[0]))
    return reshape(self, *shape, copy=False)


def _reread(x: Tensor, dtype: dtypes.Dtype) -> Tensor:
    function = {name: OPERATIONS[name].function for name in ("real", "imag", "stack", "reshape")}
    if dtype == x.dtype:
        return function["reshape"](x, x.shape, copy=False)  # type: ignore[no-any-return]
    if x.kernels.is_complex and dtype == dtypes.real_of(x.dtype) and x.ndim:
        parts = function["stack"]((function["real"](x), function["imag"](x)), axis=-1)
        return function["reshape"](parts, (*x.shape[:-1], 2 * x.shape[-1]))  # type: ignore[no-any-return]
    if x.kernels.inexact and dtype == dtypes.complex_of(x.dtype) and x.ndim and not x.shape[-1] % 2:
        return x[..., 0::2] + x[..., 1::2] * 1j
    raise DtypeError(
        f"{x.dtype} numbers cannot be read as {dtype}", f"view, shape {x.shape}",
        "write t.to(dtype) to convert them; pairs need an axis of even length",
    )  # fmt: skip


def flatten(self: Tensor, start_axis: int = 0, end_axis: int = -1) -> Tensor:
    """The axes from `start_axis` to `end_axis` as one: a view where strides allow one.

    >>> import polygrad as pg
    >>> pg.ones((2, 3, 4)).flatten(1).shape
    (2, 12)
    """
    shape = self.shape or (1,)
    first = normalize_axis(start_axis, len(shape), "flatten", "start_axis")
    last = normalize_axis(end_axis, len(shape), "flatten", "end_axis")
    if first > last:
        raise ShapeError(
            f"axis {start_axis} comes after axis {end_axis}", f"flatten, shape {shape}",
            "give the first axis first",
        )  # fmt: skip
    joined = (*shape[:first], size_of(shape[first : last + 1]), *shape[last + 1 :])
    return OPERATIONS["reshape"].function(self, joined)  # type: ignore[no-any-return]


# ---- writes ---------------------------------------------------------------------------------
def copy_(self: Tensor, source: Any) -> Tensor:
    """Write the values of `source`, which broadcasts to this tensor's shape; returns the tensor.

    Raises
    ------
    InPlaceError, ShapeError, DtypeError
        As `t[...] = source`: a leaf that requires grad, another shape, complex into real.
    """
    setitem(self, Ellipsis, source)
    return self


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value everywhere; returns the tensor. Raises as `copy_`."""
    return copy_(self, value)


def zero_(self: Tensor) -> Tensor:
    """Write zeros; returns the tensor. Raises as `copy_`."""
    return copy_(self, 0)


# ---- places ---------------------------------------------------------------------------------
def to_device(self: Tensor, device: Any, /, *, stream: None = None) -> Tensor:
    """The tensor on another device, as `to`; the standard's name.

    Raises
    ------
    UnknownDeviceError, DtypeError
        There is no such device, or it lacks the dtype.
    InvalidArgumentError
        A stream was given: polygrad orders its own work.
    """
    if stream is not None:
        raise InvalidArgumentError(
            f"the stream {stream!r} is not taken", "to_device, argument stream", "leave it out"
        )
    return to_place(self, None, device)


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy of a host tensor in page-locked memory, without history: `to` reads it in place.

    For `t.to("cuda:0", non_blocking=True)`. Page-locked memory cannot be swapped out: pin what is
    used again and again, or let `DataLoader(pin_memory=True)` do it.

    Parameters
    ----------
    device
        Whose library gives the memory; that of the devices in use if not given.

    Returns
    -------
    Tensor
        The tensor itself where no library in use has such memory (all but CuPy).

    Raises
    ------
    InvalidArgumentError
        The tensor is not on the host.
    GradientError
        It requires grad.
    """
    if self.device != "cpu":
        raise InvalidArgumentError(
            f"the tensor is on {self.device}: only memory of the host is pinned", "pin_memory",
            'move it first: t.to("cpu")',
        )  # fmt: skip
    self.refuse_export("pin_memory()")
    return pinned(self, device)


def array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's conversion: see `polygrad.protocols`."""
    from polygrad.protocols import as_array  # noqa: PLC0415  it is rare, and reads the tables

    return as_array(self, dtype, copy)


def array_ufunc(self: Tensor, *args: Any, **keywords: Any) -> Any:
    """NumPy's ufuncs of Tensors: see `polygrad.protocols`."""
    from polygrad.protocols import of_ufunc  # noqa: PLC0415  rare, and it reads the tables

    del self
    return of_ufunc(*args, **keywords)


def array_function(
    self: Tensor, function: Any, types: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """NumPy's functions of Tensors: see `polygrad.protocols`."""
    from polygrad.protocols import of_function  # noqa: PLC0415  rare, and it reads the tables

    del self, types
    return of_function(function, args, keywords)


def no_attribute(self: Tensor, name: str) -> Any:
    """What a Tensor does not have: the error says what to write for a method of PyTorch's."""
    if name.startswith("_"):  # protocols of other libraries, asked for all the time
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    from polygrad.hints import missing_method  # noqa: PLC0415  for a mistake only

    raise missing_method(type(self).__name__, name)


def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
) -> Tensor:
    """Another dtype, another device, or both, on the tape: `t.to("cuda:0")`, `t.to(pg.float64)`.

    A tensor that is there already is returned itself, unless `copy` is true.

    Copies to a device do not make the host wait, where a library can do without: it stages what it
    is given. With `non_blocking` it may read the host's memory itself, later: memory from
    `pin_memory()` is then copied while the host goes on, without being staged. polygrad does not
    write to it meanwhile; do not write to a NumPy array that the tensor wraps before
    `pg.synchronize(device)`. A copy to the host waits always: its values are there.

    Raises
    ------
    UnknownDeviceError, DtypeError
        There is no such device, or it lacks the dtype.
    InvalidTypeError
        Two devices or two dtypes were given.
    """
    non_blocking |= any(arg is True for arg in args)
    dtype, device = read_place(args, dtype, device)
    moved = to_place(self, dtype, device, non_blocking=non_blocking)
    if copy and moved is self:
        return clone.call(self)  # type: ignore[no-any-return]
    return moved


def read_place(args: tuple[Any, ...], dtype: Any, device: Any) -> tuple[Any, Any]:
    """(dtype, device) from what `to` was given: devices, dtypes and Tensors, in any order.

    A bool is `non_blocking`, which is the caller's to read.

    Raises
    ------
    InvalidTypeError
        Two devices, or two dtypes.
    """
    dtypes_given = [] if dtype is None else [dtype]
    devices_given = [] if device is None else [device]
    for arg in args:
        if isinstance(arg, Tensor):
            devices_given.append(arg.device)
            dtypes_given.append(arg.dtype)
        elif _is_device(arg):
            devices_given.append(arg)
        elif arg is not None and not isinstance(arg, bool):
            dtypes_given.append(arg)
    for found, what in ((dtypes_given, "dtype"), (devices_given, "device")):
        if len(found) > 1:
            raise InvalidTypeError(
                f"{len(found)} {what}s were given: {', '.join(map(str, found))}", "to",
                f"name one {what}",
            )  # fmt: skip
    return (dtypes_given or [None])[0], (devices_given or [None])[0]


def _is_device(arg: Any) -> bool:
    """Devices are told from dtypes by type; a string is a dtype if it names one."""
    return isinstance(arg, Device) or (
        isinstance(arg, str) and arg not in (*dtypes.NAMES, "bfloat16")
    )


attach_operators()
attach_methods()
