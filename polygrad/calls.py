"""How a primitive is applied: promotion, the kernel, the result, the record.

`apply` is the general call. For primitives of one or two inputs `make_call` writes out the same
steps as straight code (Note [Specialised calls]); whatever is rare goes to `apply`.

Note [Specialised calls]
------------------------
On small arrays an operation costs about a third of a microsecond in NumPy. Loops over inputs,
dictionaries of keywords and tuples of flags would cost several times that, so the call of each primitive
is generated from one template with its names, and what it saves, filled in. The template
is the only place where the tape's layout is written a second time; tests prove both calls equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import dtypes
from polygrad.config import default_dtype, grad_mode
from polygrad.errors import (
    DeviceMismatchError,
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfMemoryError,
    OutOfRangeError,
    PolygradError,
    ShapeError,
)
from polygrad.registry import backend_of, default_device, kernels_for, require_backend
from polygrad.tape import Node, Port, tick
from polygrad.tensor import Tensor, new_tensor, raw, refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polygrad.backend import Kernels
    from polygrad.primitive import Primitive

__all__ = ["apply", "describe", "explain", "make_call", "result"]

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
    for number in (bool, int, float, complex):
        if isinstance(x, number):
            return number(x)
    backend = require_backend(x, where)
    if type(x) is not backend.array_types[0]:
        x = backend.coerce(x, backend.device_of(x))
    return new_tensor(x, backend.kernels_of(x))


def _leading(p: Primitive, operands: list[Any]) -> Kernels:
    """The Kernels of the first Tensor, after all Tensors were seen to share a device."""
    lead: Tensor | None = None
    for x in operands:
        if not isinstance(x, Tensor):
            continue
        if lead is None:
            lead = x
        elif x.kernels.backend is not lead.kernels.backend or x.device != lead.device:
            raise DeviceMismatchError(
                f"operands on two devices: {lead.device} and {x.device}",
                f"{p.name}{describe(operands)}",
                f'move one of them: x.to("{lead.device}")',
            )
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
    if dtype is None:
        dtype = lead.dtype
    if p.floating and dtypes.kind_of(dtype) < dtypes.REAL:
        dtype = default_dtype()
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
    outs = tuple(out) if p.outputs != 1 else (out,)
    outs = tuple(o if type(o) is k.array_type else k.coerce(o) for o in outs)
    tensors = tuple(new_tensor(o, k.of(o)) for o in outs)
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
    if not any(t.kernels.inexact for t in outputs):
        return
    mask = 0
    edges: list[Any] = []
    shapes: list[Any] = []
    for i, (x, a) in enumerate(zip(operands, arrays, strict=True)):
        if isinstance(x, Tensor) and x.tracked:
            mask |= 1 << i
            edges.append(x if x.node is None else x.node)
            shapes.append(a.shape)
        else:
            edges.append(None)
            shapes.append(None)
    values = tuple(t.array for t in outputs)
    saved = p.save(mask, arrays, values[0] if p.outputs == 1 else values, keywords)
    node = Node(p, tuple(edges), tuple(shapes), k, saved)
    node.casts = None if casts is None else tuple(casts)
    attach(node, p.outputs, outputs)


def attach(node: Node, count: int, outputs: Sequence[Tensor]) -> None:
    """Make `outputs` the results of `node`."""
    if count != 1:
        node.outs = tuple((t.array.shape, t.kernels) for t in outputs)
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
    if backend is not None and isinstance(error, backend.oom_errors):
        return OutOfMemoryError(
            f"out of memory on {tensors[0].device}: {error}", where,
            "free tensors, use smaller batches, or pg.autograd.checkpoint",
        )  # fmt: skip
    if p.elementwise and not _broadcast([t.shape for t in tensors]):
        return ShapeError(
            "the shapes do not broadcast: " + " and ".join(str(t.shape) for t in tensors), where,
            "aligned from the right, lengths must be equal or 1",
        )  # fmt: skip
    if isinstance(error, IndexError) or (backend and isinstance(error, backend.index_errors)):
        return OutOfRangeError(f"index out of range: {error}", where, "check the index arrays")
    if isinstance(error, ValueError):
        return InvalidArgumentError(f"{p.name} refused its arguments: {error}", where)
    if isinstance(error, TypeError):
        return InvalidTypeError(f"{p.name} refused its arguments: {error}", where)
    error.add_note(f"in {where}")
    return error


def _broadcast(shapes: list[tuple[int, ...]]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


# ---- specialised calls ----------------------------------------------------------------------
_UNARY = """
def {name}(x, /{signature}):
    if not (type(x) is Tensor or isinstance(x, Tensor)):
        return general(P, (x,), {given})
    k = x.kernels
    {floating}
    a = x.array
    if a is None:
        a = refresh(x)
    try:
        out = k.{name}(a{passed})
    except Exception as error:
        raise explain(P, (x,), error) from error
    t = new(Tensor)
    if type(out) is not k.array_type:
        out = k.coerce(out)
    t.array = out
    t.kernels = ko = k if out.dtype is k.native_dtype else k.of(out)
    t.gradient = t.alias = t.hooks = None
    if x.tracked and ko.inexact and (mode := recording()):
        n = new(Node)
        n.primitive = P
        n.kernels = k
        n.casts = n.outs = n.hooks = n.note = None
        n.seq = tick()
        n.edges = (x.node or x,)
        n.shapes = (a.shape,)
        n.saved = {saved_1}
        t.node = n
        t.tracked = True
        if mode is not True:
            mode.annotate(n)
    else:
        t.node = None
        t.tracked = False
    return t
"""

_BINARY = """
def {name}({parameters}):
    if type(x) is Tensor or isinstance(x, Tensor):
        k = x.kernels
        if type(y) is Tensor or isinstance(y, Tensor):
            if y.kernels is not k{or_floating}:
                return {general}(P, (x, y), {empty})
            a = x.array
            if a is None:
                a = refresh(x)
            b = y.array
            if b is None:
                b = refresh(y)
            rx = x.tracked
            ry = y.tracked
        elif {weak} and ((type(y) is float and k.inexact) or (type(y) is int and k.{needed})):
            a = x.array
            if a is None:
                a = refresh(x)
            b = y if k.scalar is None else k.scalar(y)
            rx = x.tracked
            ry = False
        else:
            return {general}(P, (x, y), {empty})
    elif {weak} and (type(x) is float or type(x) is int) and isinstance(y, Tensor):
        k = y.kernels
        if not (k.inexact or (type(x) is int and k.{needed})):
            return {general}(P, (x, y), {empty})
        a = x if k.scalar is None else k.scalar(x)
        b = y.array
        if b is None:
            b = refresh(y)
        rx = False
        ry = y.tracked
    else:
        return {general}(P, (x, y), {empty})
    try:
        out = k.{name}(a, b)
    except Exception as error:
        raise explain(P, (x, y), error) from error
    t = new(Tensor)
    if type(out) is not k.array_type:
        out = k.coerce(out)
    t.array = out
    t.kernels = ko = k if out.dtype is k.native_dtype else k.of(out)
    t.gradient = t.alias = t.hooks = None
    if (rx or ry) and ko.inexact and (mode := recording()):
        n = new(Node)
        n.primitive = P
        n.kernels = k
        n.casts = n.outs = n.hooks = n.note = None
        n.seq = tick()
        if not ry:
            n.edges = (x.node or x, None)
            n.shapes = (a.shape, None)
            n.saved = {saved_1}
        elif rx:
            n.edges = (x.node or x, y.node or y)
            n.shapes = (a.shape, b.shape)
            n.saved = {saved_3}
        else:
            n.edges = (None, y.node or y)
            n.shapes = (None, b.shape)
            n.saved = {saved_2}
        t.node = n
        t.tracked = True
        if mode is not True:
            mode.annotate(n)
    else:
        t.node = None
        t.tracked = False
    return t
"""


_TEMPLATE_NAMES = frozenset(("a", "k", "ko", "mode", "n", "t"))  # keywords that would shadow them


def _saved_source(p: Primitive, mask: int) -> str:
    """The tuple of saved values as source text."""
    local = dict(zip(p.inputs, "ab", strict=False))
    wanted = p.saved_names(mask)
    parts = []
    for n in p.needs:
        if n not in wanted:
            parts.append("None")
        elif n in local:
            parts.append(local[n])
        elif n.endswith("_shape") and n[: -len("_shape")] in local:
            parts.append(f"getattr({local[n[: -len('_shape')]]}, 'shape', ())")
        else:
            parts.append(n)  # `out`, or a keyword
    return f"({', '.join(parts)}{',' if parts else ''})"


def _operator_apply(p: Primitive, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`apply` for operators: Python asks the other operand's class where ours does not know it."""
    for x in inputs:
        if not isinstance(x, (Tensor, np.generic, bool, int, float, complex)):  # noqa: SIM102
            if backend_of(x) is None:
                return NotImplemented
    return apply(p, inputs, keywords)


def _any_call(p: Primitive) -> Callable[..., Any]:
    """The call of a primitive of any arity and keywords; straight for the usual operands.

    They are Tensors of one Kernels, or None; and where they are not promoted, untracked Tensors of
    another dtype on the same device.
    """
    defaults, name, floating = p.keywords, p.name, p.floating
    straight = not p.variadic and p.outputs == 1
    promoted = tuple(i in p.promotes for i in p.inputs)

    def call(*inputs: Any, **keywords: Any) -> Any:
        given = {**defaults, **keywords} if keywords else defaults
        if straight and len(inputs) == len(promoted):
            k: Kernels | None = None
            arrays, mask, bit = [], 0, 1
            for x, joins in zip(inputs, promoted, strict=True):
                if x is None:
                    arrays.append(None)
                elif not isinstance(x, Tensor):
                    break
                else:
                    if joins and k is None:
                        k = x.kernels
                    elif joins and x.kernels is not k:
                        break
                    elif not joins and (x.tracked or k is None or x.device is not k.device):
                        break
                    a = x.array
                    arrays.append(refresh(x) if a is None else a)
                    if x.tracked:
                        mask |= bit
                bit <<= 1
            else:
                if k is not None and (k.inexact or not floating):
                    try:
                        out = getattr(k, name)(*arrays, **given)
                    except Exception as error:
                        raise explain(p, inputs, error) from error
                    return _recorded(p, k, inputs, arrays, mask, out, given)
        return apply(p, inputs, dict(given))

    call.__name__ = call.__qualname__ = name
    return call


def _recorded(
    p: Primitive, k: Kernels, inputs: Any, arrays: Any, mask: int, out: Any, keywords: Any
) -> Tensor:
    """Wrap a result, recorded if the mask of tracked inputs is not empty."""
    if type(out) is not k.array_type:
        out = k.coerce(out)
    t = new_tensor(out, k if out.dtype is k.native_dtype else k.of(out))
    if mask and t.kernels.inexact and (mode := grad_mode.get()):
        tracked = [x is not None and x.tracked for x in inputs]
        pairs = tuple(zip(inputs, arrays, tracked, strict=True))
        t.node = Node(
            p,
            tuple((x.node or x) if is_tracked else None for x, _, is_tracked in pairs),
            tuple(a.shape if is_tracked else None for _, a, is_tracked in pairs),
            k,
            p.save(mask, arrays, out, keywords),
        )
        t.tracked = True
        if mode is not True:
            mode.annotate(t.node)
    return t


def make_call(p: Primitive, *, form: str = "function") -> Callable[..., Any]:
    """The recorded call of a primitive: `form` is function, operator or reflected (operator)."""
    arity = 0 if p.variadic or p.outputs != 1 else len(p.inputs)
    all_promoted = p.promotes == p.inputs
    plain = _TEMPLATE_NAMES.isdisjoint(p.keywords) and all(
        v is None or isinstance(v, (bool, int, float, str, tuple)) for v in p.keywords.values()
    )
    if arity == 1 and all_promoted and plain:
        source = _UNARY.format(
            name=p.name,
            signature="".join(f", {n}={v!r}" for n, v in p.keywords.items()),
            given="{" + ", ".join(f"{n!r}: {n}" for n in p.keywords) + "}",
            passed="".join(f", {n}={n}" for n in p.keywords),
            floating=f"if not k.inexact: return general(P, (x,), {{{', '.join(f'{n!r}: {n}' for n in p.keywords)}}})"
            if p.floating else "",
            saved_1=_saved_source(p, 1),
        )  # fmt: skip
    elif arity == 2 and all_promoted and not p.keywords:  # noqa: PLR2004
        source = _BINARY.format(
            name=p.name,
            parameters={"function": "x, y, /", "operator": "x, y", "reflected": "y, x"}[form],
            general="general" if form == "function" else "general_operator",
            empty="{}",
            or_floating=" or not k.inexact" if p.floating else "",
            needed="inexact" if p.floating else "numeric",
            weak=p.weak,
            **{f"saved_{m}": _saved_source(p, m) for m in (1, 2, 3)},
        )
    else:

        return _any_call(p)
    scope: dict[str, Any] = {
        "P": p, "Tensor": Tensor, "Node": Node, "new": object.__new__, "tick": tick,
        "recording": grad_mode.get, "refresh": refresh, "explain": explain, "general": apply,
        "general_operator": _operator_apply, "__name__": "polygrad.calls",
    }  # fmt: skip
    exec(compile(source, f"<call of {p.name}>", "exec"), scope)  # noqa: S102
    made: Callable[..., Any] = scope[p.name]
    return made
