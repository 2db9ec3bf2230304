"""What a module holds: parameters, buffers and children by name, and how to walk and find them.

The value of each lies in the instance's `__dict__` like any attribute, so that reading it costs
nothing; `registry` only says which names are which. It is the one place that knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from polygrad.errors import InvalidArgumentError, InvalidTypeError, PolygradError
from polygrad.nn.parameter import Parameter
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from polygrad.nn.module import Module

__all__ = ["Holder", "MissingAttributeError"]

_CURE = {
    "parameter": "wrap it in pg.nn.Parameter; or write its value: under no_grad, p[...] = t",
    "buffer": "assign a Tensor, or None",
    "transient buffer": "assign a Tensor, or None",
    "module": "assign a Module or None, or delete the attribute first",
}


class MissingAttributeError(PolygradError, AttributeError):
    """A module, parameter or buffer of that name is not there, or cannot be set yet."""


def _kind_of(value: Any) -> str:
    """How an attribute's value is registered; an empty string: not at all."""
    if isinstance(value, Parameter):
        return "parameter"
    return "module" if isinstance(value, Holder) else ""


class Holder:
    """Attributes registered by their type: the half of Module that only knows what it holds."""

    registry: dict[str, str]

    def __init__(self) -> None:
        self.__dict__["registry"] = {}

    # ---- attributes -------------------------------------------------------------------------
    def __setattr__(self, name: str, value: Any) -> None:
        """Register Parameters and Modules; refuse what would silently unregister them."""
        kind = _kind_of(value)
        registry = self.__dict__.get("registry")
        if registry is None:
            if kind:
                raise MissingAttributeError(
                    f"a {kind} was assigned before Module.__init__() ran",
                    f"attribute {name!r} of {type(self).__name__}",
                    "call super().__init__() first in __init__",
                )
            object.__setattr__(self, name, value)
        elif kind:
            self._register(name, value, kind)
        elif name in registry:
            held = registry[name]
            if value is not None and not (held.endswith("buffer") and isinstance(value, Tensor)):
                raise InvalidTypeError(
                    f"a {type(value).__name__} cannot take the place of a {held}",
                    f"attribute {name!r} of {type(self).__name__}", _CURE[held],
                )  # fmt: skip
            self.__dict__[name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """Remove an attribute, registered or not."""
        object.__delattr__(self, name)
        self.registry.pop(name, None)

    def __dir__(self) -> list[str]:
        """Attributes and registered names that are identifiers."""
        return sorted(n for n in object.__dir__(self) if n.isidentifier())

    def _register(self, name: str, value: Any, kind: str) -> None:
        """Enter `name` in the registry and set its value, which may be None."""
        where = f"registering a {kind} in {type(self).__name__}"
        if "registry" not in self.__dict__:
            raise MissingAttributeError(
                f"a {kind} was registered before Module.__init__() ran", where,
                "call super().__init__() first in __init__",
            )  # fmt: skip
        if not isinstance(name, str):
            raise InvalidTypeError(f"a name is a string, not {name!r}", where, "pass a string")
        if not name or "." in name:
            raise InvalidArgumentError(
                f"{name!r} is no name: it is empty or holds a dot", where,
                "dots separate modules in paths",
            )  # fmt: skip
        reserved = ("registry", "training", "examples")
        if name in reserved or callable(getattr(type(self), name, None)):
            raise InvalidArgumentError(
                f"{name!r} is an attribute of the class already", where, "choose another name"
            )
        if hasattr(getattr(type(self), name, None), "__set__"):  # a property decides itself
            object.__setattr__(self, name, value)
            return
        self.registry[name] = kind
        self.__dict__[name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None reserves the name for one."""
        if param is not None and not isinstance(param, Parameter):
            raise InvalidTypeError(
                f"a {type(param).__name__} is no Parameter", f"register_parameter, {name!r}",
                "wrap it: pg.nn.Parameter(t)",
            )  # fmt: skip
        self._refuse_taken(name, "parameter")
        self._register(name, param, "parameter")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that moves with the module and is not learned; saved if `persistent`."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise InvalidTypeError(
                f"a {type(tensor).__name__} is no Tensor", f"register_buffer, {name!r}",
                "make one with pg.tensor(data)",
            )  # fmt: skip
        self._refuse_taken(name, "buffer")
        self._register(name, tensor, "buffer" if persistent else "transient buffer")

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module; None reserves the name for one."""
        if module is not None and not isinstance(module, Holder):
            raise InvalidTypeError(
                f"a {type(module).__name__} is no Module", f"add_module, {name!r}",
                "pass an instance of pg.nn.Module",
            )  # fmt: skip
        self._refuse_taken(name, "module")
        self._register(name, module, "module")

    register_module = add_module

    def _refuse_taken(self, name: str, kind: str) -> None:
        held = self.__dict__.get("registry", {}).get(name, "none")
        if not held.endswith(kind) and name in self.__dict__:
            raise InvalidArgumentError(
                f"the attribute {name!r} exists already", f"{type(self).__name__}, adding a {kind}",
                "delete it first, or choose another name",
            )  # fmt: skip

    # ---- what is inside ---------------------------------------------------------------------
    def named_registered(self, *kinds: str) -> Iterator[tuple[str, Any]]:
        """The module's own (name, value) of these kinds, without those that are None."""
        held = self.__dict__
        for name, kind in tuple(self.registry.items()):
            if kind in kinds and held[name] is not None:
                yield name, held[name]

    @property
    def _parameters(self) -> Mapping[str, Any]:
        """Own parameters by name, for reading."""
        return self._view("parameter")

    @property
    def _buffers(self) -> Mapping[str, Any]:
        """Own buffers by name, for reading."""
        return self._view("buffer", "transient buffer")

    @property
    def _modules(self) -> Mapping[str, Any]:
        """Children by name, for reading."""
        return self._view("module")

    def _view(self, *kinds: str) -> Mapping[str, Any]:
        held = self.__dict__
        return MappingProxyType({n: held[n] for n, k in self.registry.items() if k in kinds})

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module and all below it, by path; each once unless `remove_duplicate` is false."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, cast("Module", self)
        for name, child in self.named_registered("module"):
            path = f"{prefix}.{name}" if prefix else name
            yield from child.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """The module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that are attributes of this one, each once."""
        seen: set[Module] = set()
        for name, child in self.named_registered("module"):
            if child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """The modules that are attributes of this one, each once."""
        return (child for _, child in self.named_children())

    def _named_tensors(
        self, kinds: tuple[str, ...], prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse else [(prefix, self)]
        )  # fmt: skip
        for path, module in modules:
            for name, value in module.named_registered(*kinds):
                if remove_duplicate:
                    if id(value) in seen:
                        continue
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths; a shared one once, under its first name."""
        return self._named_tensors(("parameter",), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths; a shared one once, under its first name."""
        kinds = ("buffer", "transient buffer")
        return self._named_tensors(kinds, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    # ---- by path ----------------------------------------------------------------------------
    def get_submodule(self, target: str) -> Module:
        """The module at a path such as `"encoder.0"`; the empty path is this module."""
        module = self
        for part in target.split(".") if target else ():
            found = module.__dict__.get(part)
            if not isinstance(found, Holder):
                raise MissingAttributeError(
                    f"there is no module {part!r} in {type(module).__name__}",
                    f"path {target!r} in {type(self).__name__}",
                    f"modules there: {', '.join(n for n, _ in module.named_children()) or 'none'}",
                )
            module = found
        return cast("Module", module)

    def set_submodule(self, target: str, module: Module) -> None:
        """Put `module` at a path, in the place of what is there."""
        path, _, name = target.rpartition(".")
        self.get_submodule(path)._register(name, module, "module")  # noqa: SLF001  the same class

    def _get(self, target: str, kind: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if kind not in module.registry.get(name, "") or module.__dict__[name] is None:
            raise MissingAttributeError(
                f"there is no {kind} {name!r} in {type(module).__name__}",
                f"path {target!r} in {type(self).__name__}",
                f"it has {', '.join(f'{k} {n}' for n, k in module.registry.items()) or 'nothing'}",
            )
        return module.__dict__[name]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as `"encoder.0.weight"`."""
        return self._get(target, "parameter")  # type: ignore[no-any-return]

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path."""
        return self._get(target, "buffer")  # type: ignore[no-any-return]
