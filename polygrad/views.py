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

from polygrad import dtypes
from polygrad.calls import record
from polygrad.config import grad_mode
from polygrad.errors import ShapeError
from polygrad.fitting import unbroadcast
from polygrad.indexing import Key, is_basic
from polygrad.keys import read_key
from polygrad.primitive import Primitive
from polygrad.registry import backend_of, load
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = [
    "Recipe", "Shaped", "View", "ViewPrimitive", "astype", "broadcast_to", "clone", "detach",
    "fill", "getitem", "getitem_adjoint", "getitem_tensor", "history", "identity", "imag",
    "invalidate", "link", "look", "permute_dims", "put", "real", "reshape", "reshape_tensor",
    "same_view", "target",
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
            shaped = Shaped(steps[0][2])
            # In any mode, and seen by no recorder: a checkpoint that runs again need not look up.
            token = grad_mode.set(True)
            try:
                record(look, base.kernels, (base,), (shaped,), None, (t,), {"recipe": steps})
            finally:
                grad_mode.reset(token)
        return t.array

    def own_history(self) -> None:
        """From here on the view differentiates through its own history, not the base's."""
        if self.base is not None:
            self.base, self.skip = None, len(self.recipe)


class Shaped:
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


def history(t: Tensor) -> tuple[Tensor, Recipe, Tensor, Recipe]:
    """(root, steps root to t, base, steps base to t)."""
    v = t.alias
    if type(v) is not View:
        return t, (), t, ()
    return v.root, v.recipe, (t if v.base is None else v.base), v.recipe[v.skip :]


def invalidate(root: Tensor) -> None:
    """Every live view lets go of its array: who still refers to the root's is an observer."""
    if root.alias:
        for ref in tuple(root.alias):
            t = ref()
            if t is not None:
                t.array = None


# ---- memory: libraries with true views, once the array is known to be unshared ----------------
def target(F: Any, array: Any, recipe: Recipe) -> Any:
    """The memory that a write to the view means; None where a step made a copy of it."""
    out = array
    for p, keywords, _ in recipe:
        out = getattr(F, p.name)(out, **keywords)
    return out if out is array or out.base is array else None


def fill(F: Any, array: Any, recipe: Recipe, value: Any) -> bool:
    """Write `value` into `array` along a recipe; False where that cannot be done in place."""
    p, keywords, _ = recipe[-1]
    by_key = p is getitem
    out = target(F, array, recipe[:-1] if by_key else recipe)
    if out is None:
        return False
    out[F.backend.key_in_order(keywords["key"]) if by_key else Ellipsis] = value
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
    "broadcast_to", lambda F, g, x_shape, shape: unbroadcast(F, g, x_shape),
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
    arrays = [k for k in key if isinstance(k, F.backend.array_types) and k.ndim]
    if any(dtypes.kind_of(F.backend.dtype_of(k)) == dtypes.INTEGER for k in arrays):
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
identity = Primitive("identity", ("x",), {"x": lambda g: g}, forward=lambda x: x)


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
