"""How a primitive is applied: promotion, the kernel, the result, the record.

`apply` is the general call. `polygrad.straight` writes out the same steps as straight code for the
usual operands; whatever is rare comes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import dtypes
from polygrad.casting import ACTIVE, computing_dtype
from polygrad.config import default_dtype, grad_mode
from polygrad.errors import (
    DeviceMismatchError,
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    LinearAlgebraError,
    OutOfRangeError,
    PolygradError,
    ShapeError,
)
from polygrad.indexing import broadcasts
from polygrad.registry import default_device, default_integer, kernels_for, require_backend
from polygrad.tape import Node, Port
from polygrad.tensor import Tensor, new_tensor, raw, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polygrad.backend import Kernels
    from polygrad.primitive import Primitive

__all__ = ["apply", "attach", "describe", "explain", "operand", "record", "result", "two_devices"]

_KIND_OF_NUMBER = {
    bool: dtypes.BOOL, int: dtypes.INTEGER, float: dtypes.REAL, complex: dtypes.COMPLEX,
}  # fmt: skip


# ---- operands -------------------------------------------------------------------------------
def operand(x: Any, where: str) -> Any:
    """A Tensor, a Python number or None; raw arrays of a known library become constant Tensors."""
    if isinstance(x, Tensor) or x is None or type(x) in _KIND_OF_NUMBER:
        return x
    if isinstance(x, np.generic):
        return x.item()
    number: Any
    for number in (bool, int, float, complex):  # of a class derived from a number's
        if isinstance(x, number):
            return number(x)
    backend = require_backend(x, where)
    if type(x) is not backend.array_types[0]:
        x = backend.coerce(x, backend.device_of(x))
    return new_tensor(x, backend.kernels_of(x))


def check_device(lead: Tensor, x: Tensor, where: str, operands: Sequence[Any] = ()) -> None:
    """Refuse an operand on another device than the first one.

    Raises
    ------
    DeviceMismatchError
        It is on another device.
    """
    if x.kernels.backend is not lead.kernels.backend or x.device != lead.device:
        raise two_devices(lead, x, f"{where}{describe(list(operands) or [lead, x])}")


def two_devices(a: Tensor, b: Tensor, where: str) -> DeviceMismatchError:
    """The error for operands on two devices: nobody but the caller knows which one to move."""
    return DeviceMismatchError(
        f"operands on two devices: {a.device} and {b.device}", where,
        f'move one of them: the one on {b.device} with .to("{a.device}"), or the one on {a.device} '
        f'with .to("{b.device}")',
    )  # fmt: skip


def _leading(p: Primitive, operands: list[Any]) -> Kernels:
    """The Kernels of the first Tensor, after all Tensors were seen to share a device."""
    lead: Tensor | None = None
    for x in operands:
        if not isinstance(x, Tensor):
            continue
        if lead is None:
            lead = x
        elif x.kernels.backend is not lead.kernels.backend or x.device != lead.device:
            check_device(lead, x, p.name, operands)
    if lead is not None:
        return lead.kernels
    return kernels_for(default_device(), default_dtype())


def _computing(p: Primitive, operands: list[Any], lead: Kernels) -> Kernels:
    """The Kernels of the dtype that the operation computes in, decided before the kernel runs."""
    dtype: dtypes.Dtype | None = None
    number = -1
    for i, x in enumerate(operands):
        if not p.variadic and p.inputs[i] not in p.promotes:
            continue
        if isinstance(x, Tensor):
            dtype = x.dtype if dtype is None else dtypes.promote(dtype, x.dtype)
        elif x is not None:
            number = max(number, _KIND_OF_NUMBER[type(x)])
    if number >= 0:
        start = dtypes.bool if dtype is None else dtype
        dtype = dtypes.promote_scalar(start, number, default_dtype())
        if number == dtypes.INTEGER and start == dtypes.bool:
            dtype = default_integer(lead.device)
    if dtype is None:
        dtype = lead.dtype
    if p.floating and dtypes.kind_of(dtype) < dtypes.REAL:
        dtype = default_dtype()
    if ACTIVE:
        dtype = computing_dtype(p.name, dtype, lead)
    if dtype != lead.dtype and not lead.backend.supports(dtype, lead.device):
        raise DtypeError(
            f"the result would be {dtype}, which {lead.device} does not have",
            f"{p.name}{describe(operands)}",
            "cast the operands to a smaller dtype first",
        )
    return lead.with_dtype(dtype)


def number_operand(x: Any, k: Kernels, weak: bool) -> Any:
    """A Python number as the kernels want it: itself, or a 0-d array."""
    if type(x) is bool and k.kind > dtypes.BOOL:
        x = int(x)
    if not weak:
        return k.full((), x)
    return x if k.scalar is None else k.scalar(x)


def apply(p: Primitive, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Apply a primitive to anything: Tensors, numbers, raw arrays, None for an optional input."""
    given = inputs[0] if p.variadic else inputs
    operands = [operand(x, f"{p.name}, argument {_name(p, i)}") for i, x in enumerate(given)]
    lead = _leading(p, operands)
    k = _computing(p, operands, lead)
    arrays: list[Any] = []
    casts: list[Kernels | None] = []
    cast = False
    only_numbers = not any(
        isinstance(x, Tensor) for i, x in enumerate(operands) if _name(p, i) in p.promotes
    )
    for i, x in enumerate(operands):
        promoted = _name(p, i) in p.promotes
        if isinstance(x, Tensor):
            a = raw(x)
            here = x.kernels
            if promoted and here is not k:
                a = k.cast(a)
            cast |= here is not k
            casts.append(here)
        elif x is None:
            a = None
            casts.append(None)
        else:
            a = number_operand(x, k, p.weak and not only_numbers)
            casts.append(None)
        arrays.append(a)
    try:
        kernel = getattr(k, p.name)
        out = kernel(arrays, **keywords) if p.variadic else kernel(*arrays, **keywords)
    except Exception as error:
        raise explain(p, operands, error) from error
    return result(p, k, operands, arrays, casts if cast else None, out, keywords)


def _name(p: Primitive, i: int) -> str:
    return p.inputs[0] if p.variadic else p.inputs[i]


def result(
    p: Primitive,
    k: Kernels,
    operands: Sequence[Any],
    arrays: Sequence[Any],
    casts: list[Kernels | None] | None,
    out: Any,
    keywords: dict[str, Any],
) -> Any:
    """Wrap what a kernel returned, and record it if an operand is tracked."""
    tensors = tuple(wrap(o, k) for o in (out if p.outputs != 1 else (out,)))
    mode = grad_mode.get()
    if mode and any(isinstance(x, Tensor) and x.tracked for x in operands):
        record(p, k, operands, arrays, casts, tensors, keywords)
    return tensors[0] if p.outputs == 1 else tensors


def record(
    p: Primitive,
    k: Kernels,
    operands: Sequence[Any],
    arrays: Sequence[Any],
    casts: list[Kernels | None] | None,
    outputs: Sequence[Tensor],
    keywords: dict[str, Any],
) -> None:
    """Put one application on the tape and attach its floating outputs to it."""
    if True not in [t.kernels.inexact for t in outputs]:
        return
    edges = [(x.node or x) if isinstance(x, Tensor) and x.tracked else None for x in operands]
    shapes = [None if e is None else a.shape for e, a in zip(edges, arrays, strict=True)]
    mask = sum([1 << i for i, e in enumerate(edges) if e is not None])
    values = tuple([t.array for t in outputs])
    saved = p.save(k, mask, arrays, values[0] if p.outputs == 1 else values, keywords)
    node = Node(p, tuple(edges), tuple(shapes), k, saved)
    node.casts = None if casts is None else tuple(casts)
    attach(node, p.outputs, outputs)


def attach(node: Node, count: int, outputs: Sequence[Tensor]) -> None:
    """Make `outputs` the results of `node`."""
    if count != 1:
        node.outs = tuple([(t.array.shape, t.kernels) for t in outputs])
    for i, t in enumerate(outputs):
        if t.kernels.inexact:
            t.node = node if count == 1 else Port(node, i)
            t.tracked = True
    mode = grad_mode.get()
    if not isinstance(mode, bool):
        mode.annotate(node)


# ---- errors ---------------------------------------------------------------------------------
def describe(operands: Sequence[Any]) -> str:
    """Operands for an error message: dtypes, shapes, devices.

    >>> import polygrad as pg
    >>> describe([pg.zeros((2, 3)), 1.5])
    '(float32 (2, 3) on cpu, 1.5)'
    """
    parts = []
    for x in operands:
        if isinstance(x, Tensor):
            parts.append(f"{x.dtype} {x.shape} on {x.device}")
        else:
            parts.append(repr(x))
    return f"({', '.join(parts)})"


def explain(p: Primitive, operands: Sequence[Any], error: Exception) -> Exception:
    """The error to raise for what a kernel raised: of three parts, naming op and operands."""
    if isinstance(error, PolygradError):
        return error
    if p.check is not None:
        try:
            p.check(*operands)
        except PolygradError as better:
            return better
    where = f"{p.name}{describe(operands)}"
    tensors = [x for x in operands if isinstance(x, Tensor)]
    backend = tensors[0].kernels.backend if tensors else None
    failed = None if backend is None else backend.failure(error, tensors[0].device, where)
    if failed is not None:
        return failed
    if p.elementwise and not all(broadcasts(a.shape, b.shape) for a, b in combinations(tensors, 2)):
        return ShapeError(
            "the shapes cannot be broadcast: " + " and ".join(str(t.shape) for t in tensors), where,
            "aligned from the right, lengths must be equal or 1",
        )  # fmt: skip
    if backend is not None and isinstance(error, backend.linalg_errors):
        return LinearAlgebraError(
            f"no result for a matrix: {error}", where,
            "check for singular matrices, and for NaN; pinv and lstsq take singular ones",
        )  # fmt: skip
    if isinstance(error, IndexError) or (backend and isinstance(error, backend.index_errors)):
        return OutOfRangeError(f"index out of range: {error}", where, "check the index arrays")
    advice = "compare the operands with what the documentation of the function asks for"
    if isinstance(error, ValueError):
        return InvalidArgumentError(f"{p.name} refused its arguments: {error}", where, advice)
    if isinstance(error, TypeError):
        return InvalidTypeError(f"{p.name} refused its arguments: {error}", where, advice)
    error.add_note(f"in {where}")
    return error
