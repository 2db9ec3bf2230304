"""Straight calls: the usual case of each primitive, written out.

On small arrays an operation costs about a third of a microsecond in NumPy. Loops over inputs,
dictionaries of keywords and tuples of flags would cost several times that, so the call of a
primitive of one to three inputs is generated from a template, with its names and what it saves
filled in. The template is the only place where the layout of the tape is written a second time;
tests prove both calls equal. Whatever is rare goes to `calls.apply`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad.calls import apply, explain, record
from polygrad.casting import ACTIVE, POLICY
from polygrad.config import grad_mode
from polygrad.registry import backend_of
from polygrad.tape import ALONE, LEFT, RIGHT, Extra, Node, tick
from polygrad.tensor import Tensor, refresh, wrap

if TYPE_CHECKING:
    from polygrad.backend import Kernels
    from polygrad.primitive import Primitive

__all__ = ["make_call"]

# How a result becomes a Tensor, and is recorded if an input is tracked.
_WRAPPED = """
    t = new(Tensor)
    if type(out) is not k.array_type:
        out = k.coerce(out)
    t.array = out
    t.kernels = ko = k if out.dtype is k.native_dtype else k.of(out)
    t.gradient = t.alias = t.hooks = None
    if TRACKED and (ko is k or ko.inexact) and (mode := recording()):
        n = new(Node)
        n.primitive = P
        n.kernels = k
        n.extra = None if k.guard is None else Extra()
        n.seq = tick()
        INPUTS
        t.node = n
        t.tracked = True
        if mode is not True:
            mode.annotate(n)
    else:
        t.node = None
        t.tracked = False
    return t
"""


def _wrapped(tracked: str, inputs: str) -> str:
    """The end of a template: `tracked` says when to record, `inputs` records edges and values."""
    return _WRAPPED.replace("TRACKED", tracked).replace("INPUTS", inputs.strip())


_UNARY = """
def {name}(x, /{signature}):
    {casting}if not (type(x) is Tensor or isinstance(x, Tensor)):
        return general(P, (x,), {given})
    k = x.kernels
    {floating}
    a = x.array
    if a is None:
        a = refresh(x)
    try:
        kernel = k.{name}
        out = kernel(a{passed})
    except Exception as error:
        raise explain(P, (x,), error) from error
""" + _wrapped("x.tracked", """
        n.edges = (x.node or x,)
        n.shapes = alone[a.shape]
        n.saved = {saved_1}
""")

_BINARY = """
def {name}({parameters}):
    {casting}if type(x) is Tensor or isinstance(x, Tensor):
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
        kernel = k.{name}
        out = kernel(a, b)
    except Exception as error:
        raise explain(P, (x, y), error) from error
""" + _wrapped("(rx or ry)", """
        if not ry:
            n.edges = (x.node or x, None)
            n.shapes = left[a.shape]
            n.saved = {saved_1}
        elif rx:
            n.edges = (x.node or x, y.node or y)
            n.shapes = (a.shape, b.shape)
            n.saved = {saved_3}
        else:
            n.edges = (None, y.node or y)
            n.shapes = right[b.shape]
            n.saved = {saved_2}
""")

_TERNARY = """
def {name}(x, y, z, /):
    {casting}if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
        return general(P, (x, y, z), {empty})
    k = x.kernels
    if y.kernels is not k{or_floating}:
        return general(P, (x, y, z), {empty})
    a = x.array
    if a is None:
        a = refresh(x)
    b = y.array
    if b is None:
        b = refresh(y)
    mask = (1 if x.tracked else 0) + (2 if y.tracked else 0)
    if z is None:
        c = None
    elif isinstance(z, Tensor) and z.kernels is k:
        c = z.array
        if c is None:
            c = refresh(z)
        if z.tracked:
            mask += 4
    else:
        return general(P, (x, y, z), {empty})
    try:
        kernel = k.{name}
        out = kernel(a, b, c)
    except Exception as error:
        raise explain(P, (x, y, z), error) from error
""" + _wrapped("mask", """
        mx = mask & 1
        my = mask & 2
        mz = mask & 4
        n.edges = (
            (x.node or x) if mx else None, (y.node or y) if my else None,
            (z.node or z) if mz else None,
        )
        n.shapes = (a.shape if mx else None, b.shape if my else None, c.shape if mz else None)
        n.saved = P.save(k, mask, (a, b, c), out, {empty})
""")


# Keywords that would shadow a name of the templates.
_TEMPLATE_NAMES = frozenset(("a", "k", "kernel", "ko", "mode", "n", "t"))


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
        elif n == "out_mask":
            parts.append("k.mask_of(out)")
        elif n.endswith("_shape") and n[: -len("_shape")] in local:
            parts.append(f"getattr({local[n[: -len('_shape')]]}, 'shape', ())")
        else:
            parts.append(n)  # `out`, or a keyword
    return f"({', '.join(parts)}{',' if parts else ''})"


def _operator_apply(p: Primitive, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`apply` for operators: Python asks the other operand's class where ours does not know it."""
    for x in inputs:
        known = isinstance(x, (Tensor, np.generic, bool, int, float, complex))
        if not known and backend_of(x) is None:
            return NotImplemented
    return apply(p, inputs, keywords)


def _any_call(p: Primitive) -> Callable[..., Any]:
    """The call of a primitive of any arity and keywords; straight for the usual operands.

    They are Tensors of one Kernels, or None; and where they are not promoted, untracked Tensors of
    another dtype on the same device.
    """
    defaults, name, floating = p.keywords, p.name, p.floating
    casting = p.name in POLICY
    promoted = tuple(i in p.promotes for i in p.inputs)
    leading = promoted.index(True) if True in promoted else None
    finish = _recorded if p.outputs == 1 else _recorded_several

    def call(*inputs: Any, **keywords: Any) -> Any:
        given = {**defaults, **keywords} if keywords else defaults
        if leading is not None and len(inputs) == len(promoted) and not (casting and ACTIVE):
            lead = inputs[leading]
            k: Kernels | None = lead.kernels if isinstance(lead, Tensor) else None
            arrays: list[Any] = []
            mask, bit = 0, 1
            for x, joins in zip(inputs, promoted, strict=True):
                if x is None:
                    arrays.append(None)
                elif not isinstance(x, Tensor):
                    break
                else:
                    if joins and k is None:
                        k = x.kernels
                    elif x.kernels is not k if joins else (
                        x.tracked or k is None or x.device is not k.device
                    ):
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
                    return finish(p, k, inputs, arrays, mask, out, given)
        return apply(p, inputs, dict(given))

    call.__name__ = call.__qualname__ = name
    return call


def _call_of_many(p: Primitive) -> Callable[..., Any]:
    """The call of a primitive of a sequence; straight if it has Tensors of one Kernels."""
    defaults, name, floating = p.keywords, p.name, p.floating
    casting = p.name in POLICY
    finish = _recorded if p.outputs == 1 else _recorded_several

    def call(inputs: Any, **keywords: Any) -> Any:
        given = {**defaults, **keywords} if keywords else defaults
        lead = inputs[0] if type(inputs) in (list, tuple) and inputs else None
        if isinstance(lead, Tensor) and not (casting and ACTIVE):
            k: Kernels = lead.kernels
            arrays: list[Any] = []
            mask = 0
            for x in inputs:
                if not isinstance(x, Tensor) or x.kernels is not k:
                    break
                a = x.array
                arrays.append(refresh(x) if a is None else a)
                if x.tracked:
                    mask = 1
            else:
                if k.inexact or not floating:
                    try:
                        out = getattr(k, name)(arrays, **given)
                    except Exception as error:
                        raise explain(p, inputs, error) from error
                    return finish(p, k, inputs, arrays, mask, out, given)
        return apply(p, (inputs,), dict(given))

    call.__name__ = call.__qualname__ = name
    return call


def _recorded(
    p: Primitive, k: Kernels, inputs: Any, arrays: Any, mask: int, out: Any, keywords: Any
) -> Tensor:
    """Wrap a result, recorded if the mask of tracked inputs is not empty."""
    t = wrap(out, k)
    if mask and t.kernels.inexact and (mode := grad_mode.get()):
        edges, shapes = [], []
        for x, a in zip(inputs, arrays, strict=True):
            if x is not None and x.tracked:
                edges.append(x.node or x)
                shapes.append(a.shape)
            else:
                edges.append(None)
                shapes.append(None)
        saved = p.save(k, mask, arrays, t.array, keywords)
        t.node = Node(p, tuple(edges), tuple(shapes), k, saved)
        t.tracked = True
        if mode is not True:
            mode.annotate(t.node)
    return t


def _recorded_several(
    p: Primitive, k: Kernels, inputs: Any, arrays: Any, mask: int, out: Any, keywords: Any
) -> tuple[Tensor, ...]:
    """The same for an operation with several results."""
    made = tuple([wrap(o, k) for o in out])
    if mask and grad_mode.get():
        record(p, k, inputs, arrays, None, made, keywords)
    return made


def make_call(p: Primitive, *, form: str = "function") -> Callable[..., Any]:
    """The recorded call of a primitive: `form` is function, operator or reflected (operator).

    The text of a generated call is compiled when it is first called: hundreds of them at import
    would take longer than everything else. The function then gets the compiled code in place of its
    own, so that it stays the same object wherever it is kept, and costs nothing more.
    """
    arity = 0 if p.joint or p.outputs != 1 else len(p.inputs)
    all_promoted = p.promotes == p.inputs
    plain = _TEMPLATE_NAMES.isdisjoint(p.keywords) and all(
        v is None or isinstance(v, (bool, int, float, str, tuple)) for v in p.keywords.values()
    )
    if arity == 1 and all_promoted and plain:
        source = _unary_source
    elif arity == 2 and all_promoted and not p.keywords:
        source = _binary_source
    elif arity == 3 and all_promoted and not p.keywords:
        source = _ternary_source
    else:
        return _call_of_many(p) if p.variadic else _any_call(p)

    def compile_call() -> Callable[..., Any]:
        code = compile(source(p, form), f"<call of {p.name}>", "exec")
        made: dict[str, Any] = {}
        exec(code, scope, made)  # noqa: S102  our own template
        call.__code__ = made[p.name].__code__
        call.__defaults__ = made[p.name].__defaults__
        return call

    scope: dict[str, Any] = {
        "P": p, "Tensor": Tensor, "Extra": Extra, "Node": Node, "new": object.__new__, "tick": tick,
        "recording": grad_mode.get, "refresh": refresh, "explain": explain, "general": apply,
        "general_operator": _operator_apply, "ACTIVE": ACTIVE, "__name__": "polygrad.straight",
        "compile_call": compile_call, "alone": ALONE, "left": LEFT, "right": RIGHT,
    }  # fmt: skip
    call = FunctionType(_uncompiled.__code__, scope, p.name)
    call.__qualname__ = p.name
    if not p.keywords:
        call.__signature__ = _SIGNATURES[p.inputs[:arity]]  # type: ignore[attr-defined]
    return call


def _uncompiled(*args: Any, **kwargs: Any) -> Any:
    """The first call of a generated function; `compile_call` is in its globals."""
    return compile_call()(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


class _Signatures(dict[tuple[str, ...], inspect.Signature]):
    """Signatures of positional-only parameters, one object for each tuple of names."""

    def __missing__(self, names: tuple[str, ...]) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_ONLY
        made = self[names] = inspect.Signature([inspect.Parameter(n, kind) for n in names])
        return made


_SIGNATURES = _Signatures()


def _casting(p: Primitive, general: str) -> str:
    """The first line of the call of a primitive that `autocast` concerns."""
    return f"if ACTIVE: return {general}\n    " if p.name in POLICY else ""


def _unary_source(p: Primitive, form: str) -> str:
    """The text of the call of a primitive of one input."""
    del form
    given = "{" + ", ".join(f"{n!r}: {n}" for n in p.keywords) + "}"
    return _UNARY.format(
        name=p.name,
        casting=_casting(p, f"general(P, (x,), {given})"),
        signature="".join(f", {n}={v!r}" for n, v in p.keywords.items()),
        given=given,
        passed="".join(f", {n}={n}" for n in p.keywords),
        floating=f"if not k.inexact: return general(P, (x,), {given})" if p.floating else "",
        saved_1=_saved_source(p, 1),
    )


def _binary_source(p: Primitive, form: str) -> str:
    """The text of the call of a primitive of two inputs."""
    general = "general" if form == "function" else "general_operator"
    return _BINARY.format(
        name=p.name,
        casting=_casting(p, f"{general}(P, (x, y), {{}})"),
        parameters={"function": "x, y, /", "operator": "x, y", "reflected": "y, x"}[form],
        general=general,
        empty="{}",
        or_floating=" or not k.inexact" if p.floating else "",
        needed="inexact" if p.floating else "numeric",
        weak=p.weak,
        **{f"saved_{m}": _saved_source(p, m) for m in (1, 2, 3)},
    )


def _ternary_source(p: Primitive, form: str) -> str:
    """The text of the call of a primitive of three inputs, the last of which may be None."""
    del form
    or_floating = " or not k.inexact" if p.floating else ""
    casting = _casting(p, "general(P, (x, y, z), {})")
    return _TERNARY.format(name=p.name, casting=casting, empty="{}", or_floating=or_floating)
