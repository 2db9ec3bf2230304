"""Creation functions that start from data: those of the array API standard, and `tensor`.

Nested lists that hold Tensors stay on the tape. Tensors made by a rule (`zeros`, `arange`, …) are
in `filling`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import operand
from polygrad.config import default_complex_dtype, default_dtype
from polygrad.errors import CopyNeededError, DtypeError, InvalidArgumentError, InvalidTypeError
from polygrad.families import Chapter
from polygrad.registry import backend_of, default_integer, find_backend, find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import astype as astype_primitive
from polygrad.views import clone as clone_primitive
from polygrad.views import detach

if TYPE_CHECKING:
    from polygrad.backend import Kernels
    from polygrad.device import Device

_table = Chapter("creation")
DeviceLike = "str | Device | None"


def _default_for(host: np.ndarray[Any, Any], device: Device) -> dtypes.Dtype:
    """The dtype of a tensor made from Python numbers."""
    whole = default_integer(device)
    kind = dtypes.kind_of(host.dtype)
    return (dtypes.bool, whole, default_dtype(), default_complex_dtype())[kind]


def host_data(data: Any, where: str) -> tuple[np.ndarray[Any, Any], bool]:
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


def contains_tensor(data: Any) -> bool:
    """Whether nested lists hold a Tensor."""
    return isinstance(data, (list, tuple)) and any(
        isinstance(item, Tensor) or contains_tensor(item) for item in data
    )


def _place(
    host: np.ndarray[Any, Any], own: bool, dtype: Any, device: Any, where: str
) -> tuple[np.ndarray[Any, Any], Kernels]:
    found = find_device(device)
    wanted = dtypes.canonical(dtype) if dtype is not None else (
        host.dtype if own else _default_for(host, found)
    )  # fmt: skip
    if dtypes.kind_of(host.dtype) == dtypes.COMPLEX and dtypes.kind_of(wanted) < dtypes.COMPLEX:
        raise DtypeError(
            f"complex data do not fit into {wanted}", where, "pass a complex dtype, or real parts"
        )
    kernels = kernels_for(found, wanted, where)
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
        made = _copied(detach(to_place(data, dtype, device)))
    elif not isinstance(data, np.ndarray) and backend_of(data) is not None:
        return tensor(asarray(data), dtype, device, requires_grad)
    elif contains_tensor(data):
        return tensor(detach(asarray(data)), dtype, device, requires_grad)
    else:
        host, kernels = _place(*host_data(data, "tensor, argument data"), dtype, device, "tensor")
        made = new_tensor(kernels.from_numpy(host), kernels)
    return made.requires_grad_() if requires_grad else made


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """A Tensor around `obj`, without a copy where there need be none.

    A Tensor stays on the tape, also with `dtype`, `device` or `copy`. Nested lists that hold
    Tensors are stacked on it, and numbers among them take the dtype of the Tensors. An array of a
    known library is wrapped as it is, on its device.

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
    CopyNeededError
        `copy=False`, but a copy is needed.

    Examples
    --------
    >>> import numpy as np
    >>> import polygrad as pg
    >>> pg.asarray(np.ones(2)).dtype
    dtype('float64')
    """
    if contains_tensor(obj):
        if copy is False:
            raise _copy_needed("a list of tensors becomes one", "asarray")
        return to_place(_stacked(obj, *_common(obj, dtype)), None, device)
    made = obj if isinstance(obj, Tensor) else _wrap(obj, dtype, device, copy)
    moved = to_place(made, dtype, device)
    if copy is False and moved is not made:
        raise _copy_needed("the dtype or the device changes", "asarray")
    if copy and moved is obj:
        return clone_primitive.call(moved)  # type: ignore[no-any-return]
    return moved


def _copy_needed(why: str, where: str) -> CopyNeededError:
    return CopyNeededError(
        f"a copy is needed: {why}", f"{where}, argument copy=False", "leave copy out"
    )


def _common(obj: Any, dtype: Any) -> tuple[dtypes.Dtype, Device]:
    """The dtype and device of nested lists with Tensors, beside which numbers are weak."""
    leaves = list(_leaves(obj))
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    place = tensors[0].device
    if dtype is not None:
        return dtypes.canonical(dtype), place
    found = tensors[0].dtype
    numbers = [x for x in leaves if isinstance(x, (int, float, complex, np.generic))]
    for x in leaves:
        if not isinstance(x, (int, float, complex, np.generic)):
            found = dtypes.promote(found, asarray(x).dtype)
    for x in numbers:
        kind = dtypes.kind_of(np.asarray(x).dtype)
        found = dtypes.promote_scalar(found, kind, default_dtype())
    return found, place


def _leaves(obj: Any) -> Iterator[Any]:
    """What nested lists and tuples hold."""
    for item in obj:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item)
        else:
            yield item


def _stacked(obj: Any, dtype: dtypes.Dtype, device: Device) -> Tensor:
    """Nested lists with Tensors as one Tensor, on the tape."""
    from polygrad.ops.rearrangement import stack  # noqa: PLC0415  a chapter above

    return stack([
        _stacked(item, dtype, device) if contains_tensor(item)
        else asarray(item, dtype=dtype, device=None if isinstance(item, Tensor) else device)
        for item in obj
    ])  # fmt: skip


def _wrap(obj: Any, dtype: Any, device: Any, copy: bool | None) -> Tensor:
    """A Tensor around an object that is none."""
    backend = None if isinstance(obj, np.generic) else backend_of(obj)
    if backend is not None and isinstance(obj, np.ndarray) and device is not None:
        backend = backend if find_backend(find_device(device).kind) is backend else None
    if backend is not None:
        made = operand(obj, "asarray")
        return _copied(made) if copy else made
    if copy is False:
        raise _copy_needed(f"a {type(obj).__name__} is not in the memory of the device", "asarray")
    host, kernels = _place(*host_data(obj, "asarray"), dtype, device, "asarray")
    return new_tensor(kernels.from_numpy(host), kernels)


def _copied(t: Tensor) -> Tensor:
    """A tensor of its own memory, which is not recorded."""
    return new_tensor(t.kernels.coerce(t.kernels.copy(raw(t))), t.kernels)


def to_place(
    t: Tensor, dtype: Any = None, device: Any = None, *, non_blocking: bool = False
) -> Tensor:
    """`t` with another dtype or device, on the tape; itself if it is there already."""
    if device is not None:
        found = find_device(device)
        if found != t.device:
            wanted = t.dtype if dtype is None else dtypes.canonical(dtype)
            kernels_for(found, wanted, "moving a tensor")
            if dtypes.kind_of(wanted) <= t.kernels.kind and dtype is not None:
                t = to_place(t, dtype)
            t = _transfer(t, found, non_blocking)
    if dtype is not None:
        wanted = dtypes.canonical(dtype)
        if wanted != t.dtype:
            kernels_for(t.device, wanted, "astype")
            t = astype_primitive.call(t, dtype=wanted)
    return t


def as_floating(x: Tensor) -> Tensor:
    """`x`, or, of integers and booleans, their values in the default floating dtype."""
    return x if x.kernels.inexact else to_place(x, default_dtype())


def _transfer(t: Tensor, device: Device, non_blocking: bool) -> Tensor:
    from polygrad.transfer import transfer  # noqa: PLC0415

    return transfer(t, device, non_blocking=non_blocking)


# DLPack's device types, and the kinds of device that hold such memory.
_DLPACK_KINDS = {1: "cpu", 2: "cuda", 3: "cpu", 10: "rocm", 11: "rocm", 13: "cuda", 14: "sycl"}


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor around an array of any library that speaks DLPack, without a copy if possible.

    Parameters
    ----------
    x
        An object with `__dlpack__` and `__dlpack_device__`.
    device
        Where the result lives; where `x` is, if not given.
    copy
        As in `asarray`.

    Returns
    -------
    Tensor
        A constant: DLPack hands over values, not histories.

    Raises
    ------
    InvalidTypeError
        `x` does not speak DLPack.
    GradientError
        `x` is a Tensor that requires grad.
    CopyNeededError, BufferError
        `copy=False`, but a copy is needed.

    Examples
    --------
    >>> import numpy as np
    >>> import polygrad as pg
    >>> pg.from_dlpack(np.arange(3))
    tensor([0, 1, 2], dtype=int64)
    """
    if not hasattr(x, "__dlpack__"):
        raise InvalidTypeError(
            f"a {type(x).__name__} does not speak DLPack", "from_dlpack, argument x",
            "pass an array, or use asarray for numbers and lists",
        )  # fmt: skip
    if isinstance(x, Tensor):
        x = x.native()
    if backend_of(x) is None:
        code = int(x.__dlpack_device__()[0])
        x = find_backend(_DLPACK_KINDS.get(code, f"dlpack-{code}")).xp.from_dlpack(x)
    return asarray(x, device=device, copy=copy)


for _function in (tensor, asarray, from_dlpack):
    _table.public(differentiable=False)(_function)
