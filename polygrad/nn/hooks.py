"""Hooks of modules: what runs before and after forward and backward, and the handles that end it.

A module without hooks pays for one `is None`. Hooks for all modules live in `EVERY_MODULE`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from polygrad import tree
from polygrad.autograd.function import Context, Function
from polygrad.config import is_grad_enabled
from polygrad.errors import InvalidTypeError
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from polygrad.nn.module import Module

__all__ = [
    "EVERY_MODULE",
    "NO_HOOKS",
    "Entry",
    "Handle",
    "HookTable",
    "call_with_hooks",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]


class Entry(NamedTuple):
    """A hook and how it wants to be called."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always: bool = False


class Handle:
    """What registering a hook returns: `remove()`, or the end of a `with` block, ends the hook."""

    __slots__ = ("entry", "moment", "table")

    def __init__(
        self, table: HookTable, moment: str, entry: Entry, *, prepend: bool = False
    ) -> None:
        self.table, self.moment, self.entry = table, moment, entry
        store = table.at(moment)
        store.insert(0 if prepend else len(store), entry)
        table.refresh()

    def remove(self) -> None:
        """Take the hook out. Harmless when done already."""
        store = self.table.at(self.moment)
        for i, entry in enumerate(store):
            if entry is self.entry:
                del store[i]
                break
        self.table.refresh()

    def __enter__(self) -> Self:
        """Use the handle as a context manager."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Take the hook out."""
        self.remove()


class HookTable:
    """The hooks of one module, or of all, by the moment when they run."""

    def __init__(self) -> None:
        self.forward_pre: list[Entry] = []
        self.forward: list[Entry] = []
        self.backward_pre: list[Entry] = []
        self.backward: list[Entry] = []
        self.state_pre: list[Entry] = []
        self.state_post: list[Entry] = []
        self.load_pre: list[Entry] = []
        self.load_post: list[Entry] = []

        self.active = False  # whether a call of the module has anything to do besides forward

    def at(self, moment: str) -> list[Entry]:
        """The hooks of one moment."""
        return self.__dict__[moment]  # type: ignore[no-any-return]

    def refresh(self) -> None:
        """The lists have changed."""
        self.active = bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


EVERY_MODULE = HookTable()  # a registry, as those of backends and operations are
NO_HOOKS = HookTable()  # stays empty: what modules without hooks are read as


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(module, args)` before the forward of every module; not None replaces args."""
    return Handle(EVERY_MODULE, "forward_pre", Entry(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> Handle:
    """Call `hook(module, args, output)` after every module's forward; not None replaces output."""
    return Handle(EVERY_MODULE, "forward", Entry(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return Handle(EVERY_MODULE, "backward_pre", Entry(hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    return Handle(EVERY_MODULE, "backward", Entry(hook))


# ---- a call with hooks ------------------------------------------------------------------------
def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module(*args, **kwargs)` with every hook that is registered."""
    own = module.hook_table
    pending = [e for e in (*EVERY_MODULE.forward, *own.forward) if e.always]
    try:
        args, kwargs = _before(module, own, args, kwargs)
        watch = _Backward.of(module, own)
        if watch is not None:
            args = watch.enter(args)
        output = module.forward(*args, **kwargs)
        for entry in (*EVERY_MODULE.forward, *own.forward):
            if entry in pending:
                pending.remove(entry)
            output = _after(module, entry, args, kwargs, output)
    except Exception:
        for entry in pending:  # the hooks that asked to run whatever happens
            _after(module, entry, args, kwargs, None)
        raise
    return output if watch is None else watch.leave(output)


def _before(
    module: Module, own: HookTable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for entry in (*EVERY_MODULE.forward_pre, *own.forward_pre):
        if not entry.with_kwargs:
            made = entry.function(module, args)
            if made is not None:
                args = made if isinstance(made, tuple) else (made,)
            continue
        made = entry.function(module, args, kwargs)
        if made is None:
            continue
        if not (isinstance(made, tuple) and len(made) == 2):
            raise InvalidTypeError(
                f"a forward pre-hook returned {type(made).__name__}",
                f"hook with_kwargs=True of {type(module).__name__}",
                "return None, or a tuple (args, kwargs)",
            )
        args, kwargs = made
    return args, kwargs


def _after(
    module: Module, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
) -> Any:
    if entry.with_kwargs:
        made = entry.function(module, args, kwargs, output)
    else:
        made = entry.function(module, args, output)
    return output if made is None else made


class _Backward:
    """One call's watch over the cotangents that enter and leave a module.

    The tensor arguments pass through one joint identity, and so do the tensor results. The identity
    of the results sees grad_output first, that of the arguments sees grad_input last.
    """

    def __init__(self, module: Module, pre: list[Entry], post: list[Entry]) -> None:
        self.module, self.pre, self.post = module, pre, post
        self.grad_output: tuple[Any, ...] | None = None
        self.has_input = False

    @classmethod
    def of(cls, module: Module, own: HookTable) -> _Backward | None:
        """The watch of this call; None if no backward hook wants one."""
        pre = [*EVERY_MODULE.backward_pre, *own.backward_pre]
        post = [*EVERY_MODULE.backward, *own.backward]
        return cls(module, pre, post) if (pre or post) and is_grad_enabled() else None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, whose cotangents will be seen."""
        crossed, self.has_input = _cross(list(args), self.leaving)
        return tuple(crossed)

    def leave(self, output: Any) -> Any:
        """The output, whose cotangents will be seen."""
        found, rebuild = tree.flatten(output)
        return rebuild(_cross(found, self.entering)[0])

    def entering(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Grad_output has come: the pre-hooks may replace it."""
        for entry in self.pre:
            made = entry.function(self.module, grads)
            if made is not None:
                grads = made if isinstance(made, tuple) else (made,)
        self.grad_output = grads
        if not self.has_input:  # no argument needs a gradient: nothing will leave
            for entry in self.post:
                entry.function(self.module, (), grads)
        return grads

    def leaving(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Grad_input is complete: the hooks may replace it."""
        for entry in self.post:
            made = entry.function(self.module, grads, self.grad_output or ())
            if made is not None:
                grads = made if isinstance(made, tuple) else (made,)
        self.grad_output = None
        return grads


class _Crossing(Function):
    """A joint identity of tensors: a function sees their cotangents, and may replace them."""

    @staticmethod
    def forward(ctx: Context, see: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        """Remember who wants to see."""
        ctx.see = see  # type: ignore[attr-defined]
        ctx.set_materialize_grads(value=False)
        return tensors

    @staticmethod
    def backward(ctx: Context, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Show the cotangents."""
        return (None, *ctx.see(grads))  # type: ignore[attr-defined]


def _cross(values: list[Any], see: Callable[..., Any]) -> tuple[list[Any], bool]:
    """`values`, those that require grad passed through one identity; whether there are any.

    `see` gets a cotangent for each Tensor among the values, None for those that need none.
    """
    tensors = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    tracked = [i for i in tensors if values[i].requires_grad]
    if not tracked:
        return values, False

    def see_all(grads: tuple[Any, ...]) -> tuple[Any, ...]:
        given = dict(zip(tracked, grads, strict=True))
        made = dict(zip(tensors, see(tuple(given.get(i) for i in tensors)), strict=True))
        return tuple(made[i] for i in tracked)

    values = list(values)
    crossed = _Crossing.apply(see_all, *(values[i] for i in tracked))
    for i, t in zip(tracked, crossed, strict=True):
        values[i] = t
    return values, True
