"""Views and writes: values inside, PyTorch's aliasing outside, on every backend.

On the tape there are only pure operations: `look(x; recipe)` is any chain of views, `put(x, value;
recipe)` any write. A write rebinds a Tensor to a new value, so a saved value is never overwritten.

Note [Who may see a write]
--------------------------
The *root* is the Tensor that owns a value; it knows its live views weakly, they know it strongly.
A write (1) fetches its operands, (2) refuses what it must, (3) makes the node from the present
edges, (4) empties the cached array of every live view, (5) stores, in place if the root's array
then has exactly one reference and owns its memory, else in a copy, (6) rebinds the history of the
base. Saved values, shared gradients, hook arguments, the user's memory: all of them raise the
reference count, and so are safe without a line of code of their own. A view whose array is None is
stale: it is looked up again when next read. While a write decides, no frame here holds the root's
array except through an operand.
"""

from __future__ import annotations

import inspect
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
    OutOfRangeError,
    PolygradError,
    ShapeError,
)
from polygrad.indexing import Key, is_basic, upload
from polygrad.primitive import Primitive
from polygrad.registry import backend_of, load
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = [
    "ViewPrimitive",
    "assign",
    "broadcast_to",
    "detach",
    "getitem",
    "getitem_adjoint",
    "imag",
    "inplace",
    "link",
    "look",
    "permute_dims",
    "put",
    "read_key",
    "real",
    "rebind",
    "reshape",
    "reshape_tensor",
    "same_view",
    "setitem",
    "write",
]  # fmt: skip

Step = tuple["ViewPrimitive", dict[str, Any], tuple[int, ...]]
Recipe = tuple[Step, ...]


# ---- the state of a view --------------------------------------------------------------------
class View:
    """How a Tensor is a view of another.

    Attributes
    ----------
    root
        The Tensor that owns the value; it is never stale.
    base
        The Tensor whose history this view differentiates through: the root, or a detached alias of
        it; None for an alias with a history of its own.
    recipe
        The steps from the root: (primitive, keywords, input shape).
    skip
        How many of them lie above the base.
    frozen
        Made under no_grad of a tracked base: a constant that may not be written while recording.
    """

    __slots__ = ("base", "frozen", "recipe", "root", "skip")

    def __init__(
        self, root: Tensor, base: Tensor | None, recipe: Recipe, skip: int, frozen: bool
    ) -> None:
        self.root, self.base, self.recipe, self.skip, self.frozen = root, base, recipe, skip, frozen

    def refresh(self, t: Tensor) -> Any:
        """Look a stale view up again: its value, and a `look` node on the base's history now."""
        kernels = self.root.kernels
        t.array = kernels.look(self.root.array, recipe=self.recipe)
        base = self.base
        if base is None:
            return t.array
        t.node, t.tracked = None, False
        if base.tracked and not self.frozen:
            steps = self.recipe[self.skip :]
            shaped = _Shaped(steps[0][2])
            token = grad_mode.set(True)  # in any mode: else no_grad would cut it
            try:
                record(look, base.kernels, (base,), (shaped,), None, (t,), {"recipe": steps})
            finally:
                grad_mode.reset(token)
        return t.array

    def own_history(self) -> None:
        """From here on the view differentiates through its own history, not the base's."""
        if self.base is not None:
            self.base, self.skip = None, len(self.recipe)


class _Shaped:
    """Stands for an array of which only the shape matters."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


def link(out: Tensor, parent: Tensor, steps: Recipe, *, own: bool = False) -> Tensor:
    """Make `out` a view of `parent`; `own`: an alias with a history of its own, as detach makes."""
    p = parent.alias
    if type(p) is View:
        root, recipe = p.root, p.recipe + steps
        base, skip = (p.base, p.skip) if p.base is not None else (parent, len(p.recipe))
    else:
        root = base = parent
        recipe, skip = steps, 0
    frozen = base.tracked and not out.tracked
    if own:
        out.alias = View(root, None, recipe, len(recipe), frozen=False)
    else:
        out.alias = View(root, base, recipe, skip, frozen)
    views = root.alias
    if views is None:
        views = root.alias = set()
    views.add(weakref.ref(out, views.discard))  # a dead view takes itself out
    return out


def same_view(a: Tensor, b: Tensor) -> bool:
    """Whether two views look at the same elements of the same root."""
    v, w = a.alias, b.alias
    return type(v) is View and type(w) is View and v.root is w.root and v.recipe == w.recipe


def _history(t: Tensor) -> tuple[Tensor, Recipe, Tensor, Recipe]:
    """(root, steps root to t, base, steps base to t)."""
    v = t.alias
    if type(v) is not View:
        return t, (), t, ()
    return v.root, v.recipe, (t if v.base is None else v.base), v.recipe[v.skip :]


def _invalidate(root: Tensor) -> None:
    """Every live view lets go of its array: who still refers to the root's is an observer."""
    if root.alias:
        for ref in tuple(root.alias):
            t = ref()
            if t is not None:
                t.array = None


# ---- writing --------------------------------------------------------------------------------
_KIND = {bool: BOOL, int: INTEGER, float: REAL, complex: COMPLEX}


def _check_write(t: Tensor, base: Tensor, recipe: Recipe, value: Any, what: str) -> int:
    """Refuse everything that can be refused, before anything changes; the kind of the value."""
    where = f"{what}{describe([t, value])}"
    if grad_mode.get() and base.tracked:
        if base.node is None:
            through = "" if t is base else " through a view of it"
            raise InPlaceError(
                f"in-place write to a leaf that requires grad{through}", where,
                "write under pg.no_grad(), or to t.clone()",
            )  # fmt: skip
        if type(t.alias) is View and t.alias.frozen:
            raise InPlaceError(
                "in-place write to a view made under no_grad() of a tensor that requires grad",
                where,
                "make the view outside no_grad(), or write under no_grad()",
            )  # fmt: skip
    for primitive, _, _ in recipe:
        if primitive.overlaps:
            raise InPlaceError(
                f"in-place write to the result of {primitive.name}, whose elements share memory",
                where,
                "write to t.clone()",
            )  # fmt: skip
    if not isinstance(value, Tensor):
        return _KIND[type(value)]
    if value.kernels.backend is not t.kernels.backend or value.device != t.device:
        raise DeviceMismatchError(
            f"operands on two devices: {t.device} and {value.device}", where,
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
    root, recipe, base, steps = _history(t)
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
        made = new_tensor(_Shaped(()), base.kernels)
        start = _Shaped((steps + last)[0][2])
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
    _invalidate(root)
    if root.kernels.backend.unshared(root) and fill(root.kernels, root.array, recipe, stored):
        return
    root.array = root.kernels.put(root.array, stored, recipe=recipe)


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
    _invalidate(t)
    t.array = value.array
    if value.tracked:
        rebind(t, value.node if value.node is not None else _through(value))
    elif grad_mode.get():
        t.node, t.tracked = None, t.tracked and t.node is None


def _through(leaf: Tensor) -> Any:
    """A node that leads to a leaf."""
    out = new_tensor(leaf.array, leaf.kernels)
    record(_identity, leaf.kernels, (leaf,), (leaf.array,), None, (out,), {})
    return out.node


def inplace(t: Tensor, p: Primitive, native: Callable[[Any, Any], Any], other: Any) -> Tensor:
    """`t = p(t, other)`, t keeping its identity, shape and dtype: what `t += other` means.

    Raises
    ------
    InPlaceError, DtypeError, ShapeError
        Before anything has changed.
    """
    other = operand(other, f"in-place {p.name}")
    k = t.kernels
    shape = raw(t).shape
    root, recipe, base, _ = _history(t)
    where = f"in-place {p.name}{describe([t, other])}"
    kind = _check_write(t, base, recipe, other, f"in-place {p.name}")
    if kind > k.kind or (p.floating and not k.inexact):
        raise DtypeError(
            f"the result does not fit into a {t.dtype} tensor", where,
            f"write t = {p.name}(t, other), or convert t first",
        )  # fmt: skip
    if isinstance(other, Tensor) and not _fits(other.shape, shape):
        raise ShapeError(
            f"shapes {shape} and {other.shape} broadcast to another shape than the target's", where,
            "an in-place operation cannot change a shape",
        )  # fmt: skip
    simple = not isinstance(other, Tensor) or other.kernels is k
    if simple and not (grad_mode.get() and (t.tracked or getattr(other, "tracked", False))):
        b = raw(other) if isinstance(other, Tensor) else other
        _invalidate(root)
        if k.backend.unshared(root):
            target = _target(root.kernels, root.array, recipe)
            if target is not None:
                native(target, b)
                return t
    value = p.call(t, other)
    assign(t, value if value.kernels is k else astype.call(value, dtype=k.dtype))
    return t


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether `shape` broadcasts to `target` without growing it."""
    lead = len(target) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, target[lead:], strict=True))


# ---- memory: libraries with true views, once the array is known to be unshared ----------------
def _target(F: Any, array: Any, recipe: Recipe) -> Any:
    """The memory that a write to the view means; None where a step made a copy of it."""
    out = array
    for p, keywords, _ in recipe:
        out = getattr(F, p.name)(out, **keywords)
    return out if out is array or out.base is array else None


def fill(F: Any, array: Any, recipe: Recipe, value: Any) -> bool:
    """Write `value` into `array` along a recipe; False where that cannot be done in place."""
    p, keywords, _ = recipe[-1]
    by_key = p is getitem
    out = _target(F, array, recipe[:-1] if by_key else recipe)
    if out is None:
        return False
    out[keywords["key"] if by_key else Ellipsis] = value
    return True


# ---- view primitives ------------------------------------------------------------------------
class ViewPrimitive(Primitive):
    """A primitive whose result aliases its input.

    `pull(F, g, shape, **keywords)` is its adjoint; `back(F, x, new, shape, **keywords)` the input
    with the viewed part replaced, which for a bijection is `pull` again.
    """

    def __init__(
        self,
        name: str,
        pull: Callable[..., Any],
        *,
        back: Callable[..., Any] | None = None,
        forward: Callable[..., Any] | None = None,
        overlaps: bool = False,
        keywords: dict[str, Any] | None = None,
    ) -> None:
        self.pull, self.overlaps = pull, overlaps
        self.back = back or (lambda F, x, new, shape, /, **kw: pull(F, new, shape, **kw))
        names = tuple(keywords or {})

        def rule(g: Any, F: Any, shape: Any, *values: Any) -> Any:
            return pull(F, g, shape, **dict(zip(names, values, strict=True)))

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        rule.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(n, kind) for n in ("g", "F", "x_shape", *names)]
        )
        super().__init__(name, ("x",), {"x": rule}, keywords=keywords, forward=forward)

    def view(self, x: Tensor, **keywords: Any) -> Tensor:
        """The operation as users meet it: its result is a view of x."""
        out = self.call(x, **keywords)
        return link(out, x, ((self, keywords, x.array.shape),))


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    inverse = [0] * len(axes)
    for i, a in enumerate(axes):
        inverse[a] = i
    return tuple(inverse)


def _sum_to(F: Any, g: Any, shape: tuple[int, ...]) -> Any:
    """Undo a broadcast: sum over the axes that were added or stretched."""
    lead = len(g.shape) - len(shape)
    stretched = (i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1)
    axes = (*range(lead), *stretched)
    return F.reshape(F.sum(g, axis=axes, keepdims=False), shape=shape) if axes else g


def _complex(F: Any, real_part: Any, imag_part: Any) -> Any:
    return F.add(real_part, F.multiply(imag_part, 1j))


permute_dims = ViewPrimitive(
    "permute_dims", lambda F, g, shape, axes: F.permute_dims(g, axes=_inverse(axes)),
    forward=lambda F, x, axes: F.xp.permute_dims(x, axes), keywords={"axes": ()},
)  # fmt: skip
reshape = ViewPrimitive(
    "reshape", lambda F, g, x_shape, shape: F.reshape(g, shape=x_shape),
    forward=lambda F, x, shape: F.xp.reshape(x, shape), keywords={"shape": ()},
)  # fmt: skip
broadcast_to = ViewPrimitive(
    "broadcast_to", lambda F, g, x_shape, shape: _sum_to(F, g, x_shape),
    forward=lambda F, x, shape: F.xp.broadcast_to(x, shape), overlaps=True, keywords={"shape": ()},
)  # fmt: skip
real = ViewPrimitive(
    "real", lambda F, g, shape: F.add(g, 0j),
    back=lambda F, x, new, shape: _complex(F, new, F.imag(x)),
)  # fmt: skip
imag = ViewPrimitive(
    "imag", lambda F, g, shape: F.multiply(g, 1j),
    back=lambda F, x, new, shape: _complex(F, F.real(x), new),
)  # fmt: skip
getitem = ViewPrimitive(
    "getitem", lambda F, g, shape, key: F.getitem_adjoint(g, key=key, shape=shape),
    back=lambda F, x, new, shape, key: F.backend.set_at(x, key, new),
    forward=lambda F, x, key: F.backend.getitem(x, key), keywords={"key": ()},
)  # fmt: skip


def _getitem_adjoint(F: Any, g: Any, key: Key, shape: tuple[int, ...]) -> Any:
    """Zeros of `shape` with g added at `key`."""
    F = F.of(g)
    zeros = F.zeros(shape)
    if any(getattr(k, "dtype", None) is not None and k.ndim and "int" in str(k.dtype) for k in key):
        return F.backend.add_at(zeros, key, g)
    return F.backend.set_at(zeros, key, g)


getitem_adjoint = Primitive(
    "getitem_adjoint", ("x",), {"x": lambda g, F, key: F.getitem(g, key=key)},
    forward=_getitem_adjoint, keywords={"key": (), "shape": ()},
)  # fmt: skip
astype = Primitive(
    "astype", ("x",), {"x": lambda g: g}, keywords={"dtype": None},
    forward=lambda F, x, dtype: F.backend.astype(x, dtype),
)  # fmt: skip
_identity = Primitive("identity", ("x",), {"x": lambda g: g}, forward=lambda x: x)


def _pull(F: Any, g: Any, recipe: Recipe) -> Any:
    for p, keywords, shape in reversed(recipe):
        g = p.pull(F, g, shape, **keywords)
    return g


def _look(F: Any, x: Any, recipe: Recipe) -> Any:
    for p, keywords, _ in recipe:
        x = getattr(F, p.name)(x, **keywords)
    return x


def _put(F: Any, x: Any, value: Any, recipe: Recipe) -> Any:
    """A copy of x with `value` at the end of the recipe: written into, or made step by step."""
    if F.backend.capabilities.aliasing:
        copy = F.backend.copy(x)
        if fill(F, copy, recipe, value):
            return copy
    inputs = [x]
    for p, keywords, _ in recipe[:-1]:
        inputs.append(getattr(F, p.name)(inputs[-1], **keywords))
    new = value
    for (p, keywords, shape), part in zip(reversed(recipe), reversed(inputs), strict=True):
        if p is not getitem:
            goal = getattr(F, p.name)(part, **keywords)
            if not hasattr(new, "shape"):
                new = F.of(goal).full(goal.shape, new)
            elif new.shape != goal.shape:
                new = F.broadcast_to(new, shape=goal.shape)
        new = p.back(F, part, new, shape, **keywords)
    return F.of(x).cast(new)


def _written(F: Any, g: Any, recipe: Recipe) -> Any:
    """The cotangent of a written value; of writes to one place only the last has one."""
    g = F.look(g, recipe=recipe)
    p, keywords, shape = recipe[-1]
    key = keywords.get("key", ())
    if p is not getitem or is_basic(key):
        return g
    host = _host_key(key)
    place = np.zeros(shape, dtype=np.int64)
    order = np.arange(place[host].size).reshape(place[host].shape)
    place[host] = order
    won = place[host] == order
    return g if bool(won.all()) else F.masked(g, mask=won)


def _host_key(key: Key) -> Key:
    """A key with its arrays on the host, whatever library made them."""
    out = []
    for k in key:
        backend = None if type(k) in (int, slice, type(None), type(Ellipsis)) else backend_of(k)
        out.append(k if backend is None else backend.to_numpy(k))
    return tuple(out)


masked = Primitive(
    "masked", ("x",), {"x": lambda g, F, mask: F.masked(g, mask=mask)}, keywords={"mask": None},
    forward=lambda F, x, mask: F.multiply(x, F.of(x).from_numpy(mask)),
)  # fmt: skip
look = Primitive(
    "look", ("x",), {"x": lambda g, F, recipe: _pull(F, g, recipe)},
    forward=_look, keywords={"recipe": ()},
)  # fmt: skip
put = Primitive(
    "put", ("x", "y"),
    {
        "x": lambda g, F, recipe: F.put(g, 0, recipe=recipe),
        "y": lambda g, F, recipe: _written(F, g, recipe),
    },
    forward=_put, keywords={"recipe": ()}, weak=True,
)  # fmt: skip


# ---- what users call -------------------------------------------------------------------------
def read_key(key: Any, t: Tensor) -> Key:
    """A normal key: Tensors become arrays, lists and host arrays are copied to the device.

    A basic key ends in Ellipsis, so that libraries give a 0-d view, never a scalar copy.

    Raises
    ------
    OutOfRangeError
        An entry is neither integer nor boolean.
    """
    entries = key if type(key) is tuple else (key,)
    backend = t.kernels.backend
    out: list[Any] = []
    basic, dots = True, False
    for k in entries:
        entry: Any = k
        if type(k) is int or k is None:
            pass
        elif type(k) is slice:
            entry = slice(
                *(None if i is None else i.__index__() for i in (k.start, k.stop, k.step))
            )
        elif k is Ellipsis:
            dots = True
        elif isinstance(k, Tensor) and k.ndim == 0 and k.kernels.kind == INTEGER:
            entry = int(k)
        elif isinstance(k, (Tensor, bool, list, np.ndarray, np.bool_, *backend.array_types)):
            entry = _key_array(k, t)
            basic = False
        elif hasattr(k, "__index__"):
            entry = k.__index__()
        else:
            raise OutOfRangeError(
                f"{type(k).__name__} is no index", f"indexing a tensor of shape {t.shape}",
                "use integers, slices, None, Ellipsis, integer or boolean tensors",
            )  # fmt: skip
        out.append(entry)
    if basic and not dots:
        out.append(Ellipsis)
    return tuple(out)


def _key_array(k: Any, t: Tensor) -> Any:
    """An index array on the device of `t` that nobody else can change."""
    backend = t.kernels.backend
    if isinstance(k, Tensor):
        if k.kernels.backend is not backend or k.device != t.device:
            raise DeviceMismatchError(
                f"an index tensor on {k.device}", f"indexing a tensor on {t.device}",
                f'move it: index.to("{t.device}")',
            )  # fmt: skip
        kind, array = k.kernels.kind, raw(k)
    elif isinstance(k, (list, bool, np.ndarray, np.bool_)):
        host = np.array(k)
        if not host.size and host.dtype.kind == "f":
            host = host.astype(np.int64)
        kind = {"b": BOOL, "i": INTEGER, "u": INTEGER}.get(host.dtype.kind, REAL)
        array = None
        if kind == INTEGER:
            array = upload(backend, host, t.device)
        elif kind == BOOL:
            array = backend.from_numpy(host, t.device)
    else:
        found = backend.kernels_of(k)
        kind, array = found.kind, backend.copy(k)
    if kind > INTEGER:
        raise OutOfRangeError(
            "an index array must be integer or boolean", f"indexing a tensor of shape {t.shape}",
            "convert it with .to(pg.int64), or compare it to make a mask",
        )  # fmt: skip
    return array


def getitem_tensor(t: Tensor, key: Any) -> Tensor:
    """`t[key]`: a view for basic keys, a copy for index arrays and masks."""
    read = read_key(key, t)
    if is_basic(read):
        return getitem.view(t, key=read)
    return getitem.call(t, key=read)  # type: ignore[no-any-return]


def reshape_tensor(t: Tensor, shape: tuple[int, ...], copy: bool | None = None) -> Tensor:
    """A view exactly where strides on a C-ordered root allow one, on every backend."""
    view = copy is not True and _reshape_is_view(t, shape)
    if copy is False and not view:
        raise ShapeError(
            f"a tensor of shape {t.shape} cannot be reshaped to {shape} without a copy",
            "reshape, argument copy=False", "leave copy out, or call .clone() before",
        )  # fmt: skip
    if view:
        return reshape.view(t, shape=shape)
    out: Tensor = reshape.call(t, shape=shape)
    if copy is True:
        out = clone.call(out)
    return out


def _reshape_is_view(t: Tensor, shape: tuple[int, ...]) -> bool:
    v = t.alias
    if type(v) is not View or not v.recipe:
        return True
    start = v.recipe[0][2]
    scalar = np.empty(1, np.complex128 if v.root.kernels.is_complex else np.float64)
    strides, step = [], scalar.itemsize
    for n in reversed(start):
        strides.append(step)
        step *= n
    ghost = np.lib.stride_tricks.as_strided(scalar, start, tuple(reversed(strides)))  # never read
    numpy = load("numpy")
    F = numpy.kernels(numpy.devices()[0], scalar.dtype)
    for p, keywords, _ in v.recipe:
        ghost = getattr(F, p.name)(ghost, **keywords)
    try:
        np.reshape(ghost, shape, copy=False)
    except ValueError:
        return False
    return True


def detach(t: Tensor) -> Tensor:
    """An alias of the value with a history of its own: a write to either is seen by both."""
    out = new_tensor(raw(t), t.kernels)
    return link(out, t, (), own=True)


clone = Primitive(
    "clone", ("x",), {"x": lambda g: g}, forward=lambda F, x: F.backend.copy(x)
)  # fmt: skip
