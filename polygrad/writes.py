"""Writes: `t[key] = value` and `t += other`. See Note [Who may see a write] in `polygrad.views`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.backend import Kernels
from polygrad.calls import describe, operand, record
from polygrad.config import grad_mode
from polygrad.dtypes import BOOL, COMPLEX, INTEGER, REAL
from polygrad.errors import (
    DeviceMismatchError,
    DtypeError,
    InPlaceError,
    InvalidTypeError,
    OutOfRangeError,
    PolygradError,
    ShapeError,
)
from polygrad.indexing import Key, broadcasts_to
from polygrad.keys import read_key
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import (
    Recipe,
    Shaped,
    View,
    astype,
    fill,
    getitem,
    history,
    identity,
    invalidate,
    put,
    target,
)

__all__ = ["RetainGrad", "assign", "inplace", "lend", "rebind", "setitem", "write"]

_KIND = {bool: BOOL, int: INTEGER, float: REAL, complex: COMPLEX}


def _place(what: str, t: Tensor, value: Any) -> str:
    """Where an error happened: made when there is one, since writes are many."""
    return f"{what}{describe([t, value])}"


def _check_write(t: Tensor, base: Tensor, recipe: Recipe, value: Any, what: str) -> int:
    """Refuse everything that can be refused, before anything changes; the kind of the value."""
    if grad_mode.get() and base.tracked:
        if base.node is None:
            through = "" if t is base else " through a view of it"
            raise InPlaceError(
                f"in-place write to a leaf that requires grad{through}", _place(what, t, value),
                "write under pg.no_grad(), or to t.clone()",
            )  # fmt: skip
        if type(t.alias) is View and t.alias.frozen:
            raise InPlaceError(
                "in-place write to a view made under no_grad() of a tensor that requires grad",
                _place(what, t, value),
                "make the view outside no_grad(), or write under no_grad()",
            )  # fmt: skip
    for primitive, _, _ in recipe:
        if primitive.overlaps:
            raise InPlaceError(
                f"in-place write to the result of {primitive.name}, whose elements share memory",
                _place(what, t, value),
                "write to t.clone()",
            )  # fmt: skip
    if value is None:
        raise InvalidTypeError(
            "None is no number", _place(what, t, value), "pass a number, an array or a Tensor"
        )
    if not isinstance(value, Tensor):
        return _KIND[type(value)]
    if value.kernels.backend is not t.kernels.backend or value.device != t.device:
        raise DeviceMismatchError(
            f"operands on two devices: {t.device} and {value.device}", _place(what, t, value),
            f'move the value: value.to("{t.device}")',
        )  # fmt: skip
    return value.kernels.kind


def setitem(t: Tensor, key: Any, value: Any) -> None:
    """`t[key] = value`."""
    if not isinstance(value, Tensor) and isinstance(value, (list, tuple, np.ndarray)):
        value = _host_value(t, value)
    write(t, operand(value, "setitem, the value"), read_key(key, t))


def _host_value(t: Tensor, value: Any) -> Tensor:
    """A constant Tensor on the device of `t` from host data that the user may change later."""
    array = np.array(value)
    if array.dtype.kind in "fiub":
        array = array.astype(t.dtype)
    k = t.kernels.backend.kernels(t.device, array.dtype)
    return new_tensor(k.from_numpy(array), k)


def write(t: Tensor, value: Any, key: Key | None = None) -> None:
    """Store `value`, a Tensor or a number, at `t[key]`; key None: in all of t."""
    shape = raw(t).shape
    root, recipe, base, steps = history(t)
    kind = _check_write(t, base, recipe, value, "setitem")
    if kind == COMPLEX and not t.kernels.is_complex:
        raise DtypeError(
            f"a complex value does not fit into a {t.dtype} tensor",
            f"setitem{describe([t, value])}",
            "write its real part, or make the tensor complex",
        )  # fmt: skip
    last: Recipe = ()
    if key is not None or not steps:
        last = ((getitem, {"key": (Ellipsis,) if key is None else key}, shape),)
    stored = raw(value) if isinstance(value, Tensor) else value
    tracked = base.tracked or (isinstance(value, Tensor) and value.tracked)
    tracked = tracked and bool(grad_mode.get()) and t.kernels.inexact
    made = None
    if tracked:
        made = new_tensor(Shaped(()), base.kernels)
        start = Shaped((steps + last)[0][2])
        casts: list[Kernels | None] | None = None
        if isinstance(value, Tensor):
            casts = [base.kernels, value.kernels]
        record(put, base.kernels, (base, value), (start, stored), casts, (made,),
               {"recipe": steps + last})  # fmt: skip
    if isinstance(value, Tensor) and value.kernels is not t.kernels:
        stored = t.kernels.cast(stored)
    try:
        _store(root, recipe + last, stored)
    except PolygradError:
        raise
    except (*root.kernels.backend.oom_errors, *root.kernels.backend.lost_errors) as error:
        where = f"setitem{describe([t, value])}"
        raise root.kernels.backend.failure(error, root.device, where) or error from error
    except root.kernels.backend.index_errors as error:
        raise OutOfRangeError(
            f"index out of range: {error}", f"setitem{describe([t, value])}", "check the key"
        ) from error
    except ValueError as error:
        raise ShapeError(
            f"the value does not fit: {error}", f"setitem{describe([t, value])}",
            "the value's shape must broadcast to the indexed shape",
        ) from error  # fmt: skip
    if made is not None:
        rebind(base, made.node)


def _store(root: Tensor, recipe: Recipe, stored: Any) -> None:
    """The value's half of a write: in place when nobody can see it, else into a copy."""
    invalidate(root)
    if root.kernels.backend.unshared(root) and fill(root.kernels, root.array, recipe, stored):
        return
    root.array = root.kernels.put(root.array, stored, recipe=recipe)


def lend(t: Tensor) -> Any:
    """A NumPy array over the memory of t that may be written to; None if others would see that.

    Earlier borrowers do not count, nor views: they look again.
    """
    root, recipe, _, _ = history(t)
    if any(primitive.overlaps for primitive, _, _ in recipe):
        return None
    invalidate(root)
    lent = root.kernels.backend.lend(root)
    return None if lent is None else target(root.kernels, lent, recipe)


def rebind(base: Tensor, node: Any) -> None:
    """The base, and so every view of it, now has this history."""
    moved = _retained(base)
    base.node, base.tracked = node, True
    if moved:
        base.retain_grad()


def _retained(t: Tensor) -> bool:
    """Whether the gradient of this non-leaf was asked for; the hook is taken off its old node."""
    node = t.grad_fn
    if node is None or not node.hooks:
        return False
    for hook in tuple(node.hooks):
        if isinstance(hook.function, RetainGrad) and hook.function.target() is t:
            hook.remove()
            return True
    return False


class RetainGrad:
    """The hook behind `retain_grad`: it knows its tensor weakly, and follows it when rebound."""

    last = True  # it sees what the other hooks have made of the gradient

    def __init__(self, t: Tensor) -> None:
        self.target = weakref.ref(t)

    def __call__(self, g: Tensor) -> None:
        """Keep the gradient; those of several backward passes add up."""
        t = self.target()
        if t is not None:
            t.gradient = g if t.gradient is None else t.gradient + g


def assign(t: Tensor, value: Tensor) -> None:
    """t becomes `value`, of its own shape and dtype, with the value's history; its views follow."""
    if type(t.alias) is View:
        write(t, value)
        return
    invalidate(t)
    t.array = value.array
    if value.tracked:
        rebind(t, value.node if value.node is not None else _through(value))
    elif grad_mode.get():
        t.node, t.tracked = None, t.tracked and t.node is None


def _through(leaf: Tensor) -> Any:
    """A node that leads to a leaf."""
    out = new_tensor(leaf.array, leaf.kernels)
    record(identity, leaf.kernels, (leaf,), (leaf.array,), None, (out,), {})
    return out.node


def inplace(
    t: Tensor, p: Primitive, native: Callable[[Any, Any], Any] | None, other: Any
) -> Tensor:
    """`t = p(t, other)`, t keeping its identity, shape and dtype: what `t += other` means.

    `native` does the same to a raw array, in its memory; None where no library's operator does.

    Raises
    ------
    InPlaceError, DtypeError, ShapeError
        Before anything has changed.
    """
    other = operand(other, f"in-place {p.name}")
    k = t.kernels
    shape = raw(t).shape
    root, recipe, base, _ = history(t)
    what = f"in-place {p.name}"
    kind = _check_write(t, base, recipe, other, what)
    if kind > k.kind or (p.floating and not k.inexact):
        raise DtypeError(
            f"the result does not fit into a {t.dtype} tensor", _place(what, t, other),
            f"write t = {p.name}(t, other), or convert t first",
        )  # fmt: skip
    if isinstance(other, Tensor) and not broadcasts_to(other.shape, shape):
        raise ShapeError(
            f"shapes {shape} and {other.shape} broadcast to another shape than the target's",
            _place(what, t, other),
            "an in-place operation cannot change a shape",
        )  # fmt: skip
    simple = not isinstance(other, Tensor) or other.kernels is k
    recorded = grad_mode.get() and (t.tracked or getattr(other, "tracked", False))
    if native and simple and not recorded:
        b = raw(other) if isinstance(other, Tensor) else other
        invalidate(root)
        if k.backend.unshared(root):
            memory = target(root.kernels, root.array, recipe)
            if memory is not None:
                native(memory, b)
                return t
    value = p.call(t, other)
    assign(t, value if value.kernels is k else astype.call(value, dtype=k.dtype))
    return t
