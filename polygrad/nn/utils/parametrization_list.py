"""What a parametrized module is made of: the list behind each tensor, and its class.

The class has a property of the tensor's name, which calls the list. Classes are made once for each
base and set of names and never change, so that copies may share them, and modules can be pickled.
"""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from polygrad.casting import Policy, policy
from polygrad.config import is_grad_enabled, no_grad
from polygrad.errors import (
    DeviceMismatchError,
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
    UnsupportedOperationError,
)
from polygrad.nn.container import ModuleDict, ModuleList
from polygrad.nn.module import Module
from polygrad.nn.places import put_in_place
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = [
    "ParametrizationList", "apply_all", "as_tensors", "cached", "describe", "forget", "overwrite",
    "reclass", "refuse_other_place", "type_before_parametrizations",
]  # fmt: skip

Made = dict[tuple["ParametrizationList", bool, Policy | None], Tensor]
_made: ContextVar[Made | None] = ContextVar("polygrad.parametrized", default=None)


@contextmanager
def cached() -> Iterator[None]:
    """Within the block, in this thread, each parametrized tensor is computed once, when first read.

    For a forward that reads it several times. What is read while gradients are recorded, under
    `no_grad` and under `autocast` are kept apart. An assignment to the tensor is seen; writes to
    the originals, by an optimizer's step or `load_state_dict`, are not: they belong outside.

    >>> import polygrad as pg
    >>> from polygrad.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(pg.nn.Linear(3, 2))
    >>> layer.weight is layer.weight
    False
    >>> with parametrize.cached():
    ...     print(layer.weight is layer.weight)
    True
    """
    if _made.get() is not None:  # the outermost block keeps them
        yield
        return
    token = _made.set({})
    try:
        yield
    finally:
        _made.reset(token)


# ---- the list behind one tensor ---------------------------------------------------------------
class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order they are applied, and what they start from.

    Made by `register_parametrization`; it lies in `module.parametrizations`, under the tensor's
    name. Calling it gives the tensor.

    Attributes
    ----------
    original
        What is learned in the tensor's place; `original0`, `original1`, ... if the first
        parametrization takes several.
    is_tensor
        Whether there is one `original`.
    ntensors
        How many there are.
    unsafe
        Whether dtype and shape may change.
    shape
        Of the tensor when it was parametrized first.
    """

    original: Tensor

    def __init__(
        self,
        modules: Sequence[Module],
        originals: dict[str, Tensor],
        kind: str,
        shape: tuple[int, ...],
        *,
        unsafe: bool,
    ) -> None:
        super().__init__(modules)
        self.shape = shape
        self.unsafe, self.is_tensor, self.ntensors = unsafe, "original" in originals, len(originals)
        for name, value in originals.items():
            self._register(name, value, kind)

    def put_original(self, name: str, value: Tensor) -> None:
        """Another tensor in the place of an original."""
        self._register(name, value, self.kind_of_originals())
        forget(self)

    def originals(self) -> dict[str, Tensor]:
        """What the first parametrization takes, by name."""
        return dict(self.named_registered("parameter", "buffer", "transient buffer"))

    def kind_of_originals(self) -> str:
        """How they are registered, and the tensor was."""
        return next(kind for kind in self.registry.values() if kind != "module")

    def forward(self) -> Any:
        """The tensor."""
        return apply_all(list(self), list(self.originals().values()))

    def right_inverse(self, value: Any) -> None:
        """Write into the originals what makes the tensor equal to `value`, or as close as it can.

        Raises
        ------
        UnsupportedOperationError
            A parametrization defines no right_inverse.
        ShapeError
            `value` has not the shape of the tensor, which may not change.
        DtypeError, InvalidTypeError, InvalidArgumentError
            The originals that it gives have other dtypes, are no tensors, or differ in number.
        """
        forget(self)
        where = f"assigning to a tensor parametrized by {', '.join(map(_name, self))}"
        if not self.unsafe and (not isinstance(value, Tensor) or value.shape != self.shape):
            given = f"shape {value.shape}" if isinstance(value, Tensor) else describe(value)
            wrong = ShapeError if isinstance(value, Tensor) else InvalidTypeError
            raise wrong(
                f"{given} for a tensor of shape {self.shape}", where, "pass a Tensor of that shape"
            )
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise UnsupportedOperationError(
                        f"{_name(module)} has no right_inverse", where,
                        "define right_inverse(self, value), or write to the originals in "
                        "module.parametrizations",
                    )  # fmt: skip
                value = module.right_inverse(value)
            values = as_tensors(value, where)
            held = list(self.originals().values())
            if isinstance(value, Tensor) != self.is_tensor or len(values) != len(held):
                raise InvalidArgumentError(
                    f"right_inverse gave {len(values)} tensors in the place of {len(held)}", where,
                    "it must give as many as when it was registered",
                )  # fmt: skip
            for new, old in zip(values, held, strict=True):
                refuse_other_place(new, old, where)
            for new, old in zip(values, held, strict=True):
                overwrite(old, new)


def forget(entry: ParametrizationList) -> None:
    """What `cached` keeps of it is not right any more."""
    made = _made.get() or {}
    for key in [key for key in made if key[0] is entry]:
        del made[key]


def _name(module: Module) -> str:
    return type(module).__name__


def apply_all(modules: Sequence[Module], originals: Sequence[Any]) -> Any:
    """The first module gets the originals, each other one what the one before gave."""
    made = modules[0](*originals)
    for module in modules[1:]:
        made = module(made)
    return made


def as_tensors(value: Any, where: str) -> list[Tensor]:
    """What a right_inverse gave, as a list of tensors."""
    found = [value] if isinstance(value, Tensor) else value
    if isinstance(found, (list, tuple)) and all(isinstance(t, Tensor) for t in found) and found:
        return list(found)
    raise InvalidTypeError(
        f"right_inverse gave {describe(value)}", where,
        "it must return a Tensor, or a list or tuple of Tensors",
    )  # fmt: skip


def describe(value: Any) -> str:
    """A value that should have been a Tensor, in words."""
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {', '.join(type(v).__name__ for v in value) or 'none'}"
    return f"a {type(value).__name__}"


def refuse_other_place(new: Tensor, old: Tensor, where: str) -> None:
    """Raise where `new` cannot take the place of `old`."""
    if new.dtype != old.dtype:
        raise DtypeError(
            f"right_inverse gave {new.dtype}, the original is {old.dtype}", where,
            "it must keep the dtype",
        )  # fmt: skip
    if new.device != old.device:
        raise DeviceMismatchError(
            f"right_inverse gave a tensor on {new.device}, the original is on {old.device}", where,
            "it must keep the device",
        )  # fmt: skip


def overwrite(old: Tensor, new: Tensor) -> None:
    """`old`, which stays the object that optimizers know, becomes a copy of `new`."""
    if new is old:
        return
    if old.gradient is not None and new.shape != old.shape:
        old.gradient = None
    put_in_place(old, new_tensor(new.kernels.copy(raw(new)), new.kernels))


# ---- the class of a parametrized module ---------------------------------------------------------
def _property(name: str) -> property:
    def read(self: Module) -> Any:
        entry = self.parametrizations[name]  # type: ignore[attr-defined]
        made = _made.get()
        if made is None:
            return entry()
        key = (entry, is_grad_enabled(), policy.get())
        if key not in made:
            made[key] = entry()
        return made[key]

    def write(self: Module, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)  # type: ignore[attr-defined]

    return property(read, write, doc=f"`{name}`, made by its parametrizations.")


class _Parametrized:
    """What the classes of parametrized modules have in common.

    Attributes
    ----------
    plain_class, parametrized
        The class that the module had, and the names of its parametrized tensors.
    """

    plain_class: type[Module]
    parametrized: tuple[str, ...]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The class is made again where the module is: by its base and the names."""
        made = super().__reduce_ex__(protocol)
        if not isinstance(made, tuple) or made[0] is not copyreg.__newobj__:  # type: ignore[attr-defined]
            return made  # the base has a way of its own
        return (_new, (self.plain_class, self.parametrized, *made[1][1:]), *made[2:])


def _new(base: Any, names: tuple[str, ...], *args: Any) -> Module:
    cls = _class_of(base, names)
    return cls.__new__(cls, *args)


@functools.cache
def _class_of(base: Any, names: tuple[str, ...]) -> type[Module]:
    """A subclass of `base` with a property for each name."""
    body: dict[str, Any] = {name: _property(name) for name in names}
    body |= {"plain_class": base, "parametrized": names, "__module__": base.__module__}
    body["__doc__"] = base.__doc__
    return type(f"Parametrized{base.__name__}", (_Parametrized, base), body)


def reclass(module: Module) -> None:
    """Give the module the class that its parametrizations ask for."""
    base: Any = type_before_parametrizations(module)
    entries = module.__dict__.get("parametrizations")
    names = tuple(sorted(entries)) if isinstance(entries, ModuleDict) else ()
    module.__class__ = _class_of(base, names) if names else base


def type_before_parametrizations(module: Module) -> type[Module]:
    """The class of a module as it was without its parametrizations."""
    return module.plain_class if isinstance(module, _Parametrized) else type(module)
