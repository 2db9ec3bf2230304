"""Creation functions of the array API standard, and `tensor`.

They make constants, on the default device unless `device` says otherwise. Filling with a Tensor
(`full`, `linspace`, nested lists that hold Tensors) stays on the tape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import operand
from polygrad.config import default_complex_dtype, default_dtype
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError
from polygrad.families import Chapter
from polygrad.indexing import shape_tuple
from polygrad.primitive import CONSTANT, Primitive
from polygrad.registry import backend_of, find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import astype as astype_primitive
from polygrad.views import clone as clone_primitive
from polygrad.views import detach

if TYPE_CHECKING:
    from polygrad.backend import Kernels
    from polygrad.device import Device

_table = Chapter("creation")
DeviceLike = "str | Device | None"


def _default_for(host: np.ndarray[Any, Any]) -> dtypes.Dtype:
    """The dtype of a tensor made from Python numbers: the defaults, int64 and bool."""
    kind = dtypes.kind_of(host.dtype)
    return (dtypes.bool, dtypes.int64, default_dtype(), default_complex_dtype())[kind]


def _host(data: Any, where: str) -> tuple[np.ndarray[Any, Any], bool]:
    """Data on the host, and whether its dtype is its own (arrays) or to be chosen (numbers)."""
    own = isinstance(data, (np.ndarray, np.generic))
    try:
        host = np.asarray(data)
    except ValueError as error:
        raise InvalidArgumentError(
            f"the data make no rectangular array: {error}", where, "give every row the same length"
        ) from error
    if host.dtype.kind not in "biufc" and host.dtype.name != "bfloat16":
        raise InvalidTypeError(
            f"data of type {type(data).__name__} hold no numbers (dtype {host.dtype})", where,
            "pass numbers, nested sequences of numbers, an array or a Tensor",
        )  # fmt: skip
    if isinstance(data, (list, tuple)) and not own:
        own = _holds_arrays(data)
    return host, own


def _holds_arrays(data: Any) -> bool:
    """Whether a nested list holds NumPy arrays or scalars, whose dtype then counts."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (float, complex))


def _contains_tensor(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and any(
        isinstance(item, Tensor) or _contains_tensor(item) for item in data
    )


def _place(
    host: np.ndarray[Any, Any], own: bool, dtype: Any, device: Any, where: str
) -> tuple[np.ndarray[Any, Any], Kernels]:
    wanted = dtypes.canonical(dtype) if dtype is not None else (
        host.dtype if own else _default_for(host)
    )  # fmt: skip
    if dtypes.kind_of(host.dtype) == dtypes.COMPLEX and dtypes.kind_of(wanted) < dtypes.COMPLEX:
        raise DtypeError(
            f"complex data do not fit into {wanted}", where, "pass a complex dtype, or real parts"
        )
    kernels = kernels_for(find_device(device), wanted, where)
    return host.astype(wanted, copy=False), kernels


def tensor(
    data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new leaf tensor with a copy of `data`.

    Parameters
    ----------
    data
        A number, nested sequences of numbers, an array of any known library, or a Tensor.
    dtype
        Of the result. Arrays keep theirs; Python floats take the default dtype, ints int64.
    device
        Where it lives; the default device if not given, that of `data` for an array or Tensor.
    requires_grad
        Whether its gradient is wanted; only for floating and complex dtypes.

    Returns
    -------
    Tensor
        It shares no memory with `data` and has no history.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError, DtypeError, UnknownDeviceError
        The data hold no numbers; rows differ in length; the dtype does not fit; no such device.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], dtype=float32, requires_grad=True)
    """
    if isinstance(data, Tensor):
        made = detach(to_place(data, dtype, device))
        made = new_tensor(made.kernels.backend.copy(raw(made)), made.kernels)
    elif not isinstance(data, np.ndarray) and backend_of(data) is not None:
        return tensor(asarray(data), dtype, device, requires_grad)
    elif _contains_tensor(data):
        return tensor(detach(asarray(data)), dtype, device, requires_grad)
    else:
        host, kernels = _place(*_host(data, "tensor, argument data"), dtype, device, "tensor")
        made = new_tensor(kernels.backend.from_numpy(host, kernels.device), kernels)
    return made.requires_grad_() if requires_grad else made


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """A Tensor around `obj`, without a copy where there need be none.

    A Tensor stays on the tape, also with `dtype`, `device` or `copy`; nested lists that hold Tensors are
    stacked on it. An array of a known library is wrapped as it is, on its device.

    Parameters
    ----------
    obj
        As `data` of `tensor`.
    dtype, device
        Of the result; those of `obj` if not given.
    copy
        True: always copy; False: an error if a copy is needed; None: copy if needed.

    Raises
    ------
    InvalidArgumentError
        `copy=False`, but a copy is needed.

    Examples
    --------
    >>> import numpy as np
    >>> import polygrad as pg
    >>> pg.asarray(np.ones(2)).dtype
    dtype('float64')
    """
    if _contains_tensor(obj):
        from polygrad.ops.manipulation import stack  # noqa: PLC0415  a chapter above

        made = stack([asarray(item) for item in obj])
        return to_place(made, dtype, device)
    if isinstance(obj, Tensor):
        made = obj
    else:
        made = _wrap(obj, dtype, device, copy)
    moved = to_place(made, dtype, device)
    if copy is False and moved is not made:
        raise InvalidArgumentError(
            "a copy is needed to change dtype or device", "asarray, argument copy=False",
            "leave copy out",
        )  # fmt: skip
    if copy and moved is obj:
        return clone_primitive.call(moved)  # type: ignore[no-any-return]
    return moved


def _wrap(obj: Any, dtype: Any, device: Any, copy: bool | None) -> Tensor:
    """A Tensor around an object that is none."""
    backend = None if isinstance(obj, np.generic) else backend_of(obj)
    if backend is not None and not (isinstance(obj, np.ndarray) and device is not None):
        made = operand(obj, "asarray")
        if copy:
            made = new_tensor(made.kernels.backend.copy(made.array), made.kernels)
        return made  # type: ignore[no-any-return]
    if copy is False:
        raise InvalidArgumentError(
            f"a {type(obj).__name__} cannot become an array without a copy",
            "asarray, argument copy=False", "leave copy out",
        )  # fmt: skip
    host, kernels = _place(*_host(obj, "asarray"), dtype, device, "asarray")
    return new_tensor(kernels.backend.from_numpy(host, kernels.device), kernels)


def to_place(t: Tensor, dtype: Any = None, device: Any = None) -> Tensor:
    """`t` with another dtype or device, on the tape; itself if it is there already."""
    if device is not None:
        found = find_device(device)
        if found != t.device:
            wanted = t.dtype if dtype is None else dtypes.canonical(dtype)
            kernels_for(found, wanted, "moving a tensor")
            if dtypes.kind_of(wanted) <= t.kernels.kind and dtype is not None:
                t = to_place(t, dtype)
            t = _transfer(t, found)
    if dtype is not None:
        wanted = dtypes.canonical(dtype)
        if wanted != t.dtype:
            kernels_for(t.device, wanted, "astype")
            t = astype_primitive.call(t, dtype=wanted)
    return t


def _transfer(t: Tensor, device: Device) -> Tensor:
    from polygrad.transfer import transfer  # noqa: PLC0415

    return transfer(t, device)


def full(
    shape: int | tuple[int, ...], fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """A tensor filled with one value; a Tensor as `fill_value` stays on the tape."""
    shape = shape_tuple(shape, "full")
    if isinstance(fill_value, Tensor):
        from polygrad.ops.manipulation import broadcast_to  # noqa: PLC0415

        spread = broadcast_to(to_place(fill_value, dtype, device), shape)
        return clone_primitive.call(spread)  # type: ignore[no-any-return]
    host, kernels = _place(*_host(fill_value, "full, argument fill_value"), dtype, device, "full")
    return new_tensor(kernels.full(shape, host.item()), kernels)


for _function in (tensor, asarray, full):
    _table.public(differentiable=False)(_function)


# ---- the standard's constants -------------------------------------------------------------------
def _kernels(dtype: Any, device: Any, where: str) -> Kernels:
    wanted = default_dtype() if dtype is None else dtypes.canonical(dtype)
    return kernels_for(find_device(device), wanted, where)


def _like(x: Any, dtype: Any, device: Any, where: str) -> tuple[tuple[int, ...], Kernels]:
    """Shape and Kernels of a tensor like `x`."""
    if not isinstance(x, Tensor):
        x = asarray(x)
    if dtype is None and device is None:
        return x.shape, x.kernels
    wanted = x.dtype if dtype is None else dtypes.canonical(dtype)
    found = x.device if device is None else find_device(device)
    return x.shape, kernels_for(found, wanted, where)


def zeros(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of zeros.

    >>> import polygrad as pg
    >>> pg.zeros(2)
    tensor([0., 0.], dtype=float32)
    """
    k = _kernels(dtype, device, "zeros")
    return new_tensor(k.zeros(shape_tuple(shape, "zeros")), k)


def ones(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of ones.

    >>> import polygrad as pg
    >>> pg.ones(2)
    tensor([1., 1.], dtype=float32)
    """
    k = _kernels(dtype, device, "ones")
    return new_tensor(k.ones(shape_tuple(shape, "ones")), k)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros in the shape of `x`, and with its dtype and device unless others are given."""
    shape, k = _like(x, dtype, device, "zeros_like")
    return new_tensor(k.zeros(shape), k)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones in the shape of `x`, and with its dtype and device unless others are given."""
    shape, k = _like(x, dtype, device, "ones_like")
    return new_tensor(k.ones(shape), k)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor in the shape of `x` filled with one value, with its dtype and device unless given."""
    shape, k = _like(x, dtype, device, "full_like")
    return full(shape, fill_value, dtype=k.dtype, device=k.device)


def empty(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor whose values are not to be read before they are written; here they are zeros."""
    k = _kernels(dtype, device, "empty")
    return new_tensor(k.zeros(shape_tuple(shape, "empty")), k)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor like `x` whose values are not to be read before they are written."""
    return zeros_like(x, dtype=dtype, device=device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Numbers from `start` up to `stop`, which is not reached, in steps of `step`.

    >>> import polygrad as pg
    >>> pg.arange(1, 6, 2)
    tensor([1, 3, 5], dtype=int64)
    """
    if stop is None:
        start, stop = 0, start
    numbers = [n.item() if isinstance(n, (Tensor, np.generic)) else n for n in (start, stop, step)]
    if numbers[2] == 0:
        raise InvalidArgumentError("a step of 0 leads nowhere", "arange, argument step")
    if dtype is None:
        whole = all(isinstance(n, int) for n in numbers)
        dtype = dtypes.int64 if whole else default_dtype()
    k = _kernels(dtype, device, "arange")
    return new_tensor(k.from_numpy(np.arange(*numbers)), k)


for _function in (  # type: ignore[assignment]
    zeros, ones, zeros_like, ones_like, full_like, empty, empty_like, arange,
):  # fmt: skip
    _table.public(differentiable=False)(_function)

for _name, _fill in (("zeros_like", 0), ("ones_like", 1)):
    Primitive(
        _name, ("x",), {"x": CONSTANT}, forward=lambda F, x, _fill=_fill: F.of(x).full(x.shape, _fill)
    )
