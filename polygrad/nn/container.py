"""Containers: modules in a row, in a list, under names; parameters likewise."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from polygrad.errors import InvalidTypeError, OutOfRangeError
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Row(Module):
    """Values registered under the names "0", "1", … in their order."""

    kind = "module"
    accepts: type = Module

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        self._renumber(values)

    def _names(self) -> list[str]:
        return [name for name, kind in self.registry.items() if kind == self.kind]

    def _values(self) -> list[Any]:
        held = self.__dict__
        return [held[name] for name in self._names()]

    def _checked(self, value: Any) -> Any:
        if not isinstance(value, self.accepts):
            raise InvalidTypeError(
                f"a {type(value).__name__} is no {self.accepts.__name__}", type(self).__name__,
                f"pass instances of {self.accepts.__name__}",
            )  # fmt: skip
        return value

    def _name(self, index: Any) -> str:
        """The registered name at a position, counted from the end if negative."""
        position, names = operator.index(index), self._names()
        if not -len(names) <= position < len(names):
            raise OutOfRangeError(
                f"there is no item {position}", f"{type(self).__name__} of {len(names)}",
                "use an index below its length",
            )  # fmt: skip
        return names[position]

    def _refill(self, pairs: Iterable[tuple[str, Any]]) -> None:
        pairs = list(pairs)
        for name in self._names():
            delattr(self, name)
        for name, value in pairs:
            self._register(name, self._checked(value), self.kind)

    def _renumber(self, values: Iterable[Any]) -> None:
        self._refill((str(i), value) for i, value in enumerate(values))

    def __len__(self) -> int:
        """How many there are."""
        return len(self._names())

    def __iter__(self) -> Iterator[Any]:
        """In order."""
        return iter(self._values())

    def __getitem__(self, index: Any) -> Any:
        """One of them, or a container of those in a slice."""
        if isinstance(index, slice):
            return type(self)(self._values()[index])
        return self.__dict__[self._name(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Replace one."""
        self._register(self._name(index), self._checked(value), self.kind)

    def __delitem__(self, index: Any) -> None:
        """Take out one, or a slice; those behind move up."""
        values = self._values()
        if not isinstance(index, slice):
            self._name(index)
        del values[index]
        self._renumber(values)

    def append(self, value: Any) -> Self:
        """Add one at the end."""
        self._register(str(len(self)), self._checked(value), self.kind)
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end."""
        for value in list(values):
            self.append(value)
        return self

    def insert(self, index: int, value: Any) -> Self:
        """Add one before a position."""
        values = self._values()
        values.insert(index, self._checked(value))
        self._renumber(values)
        return self

    def pop(self, index: int = -1) -> Any:
        """Take out one and return it."""
        value = self[index]
        del self[index]
        return value

    def __add__(self, other: Iterable[Any]) -> Self:
        """A new container of both."""
        return type(self)([*self, *other])

    def __iadd__(self, other: Iterable[Any]) -> Self:
        """Add several at the end."""
        return self.extend(other)


class Sequential(_Row):
    """Modules that run one after the other, each on what the one before returned.

    Parameters
    ----------
    *modules
        Modules, or one dictionary of names and modules.

    >>> import polygrad as pg
    >>> model = pg.nn.Sequential(pg.nn.Linear(4, 3), pg.nn.ReLU())
    >>> model(pg.ones((2, 4))).shape
    (2, 3)
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            self._refill(modules[0].items())
        else:
            self._renumber(modules)

    def forward(self, input: Any) -> Any:
        """Pass `input` through all."""
        held = self.__dict__
        for name, kind in self.registry.items():
            if kind == "module":
                input = held[name](input)
        return input

    def __getitem__(self, index: Any) -> Any:
        """One of them, or a Sequential of those in a slice, under their names."""
        if isinstance(index, slice):
            return type(self)({n: self.__dict__[n] for n in self._names()[index]})
        return super().__getitem__(index)

    def __add__(self, other: Iterable[Any]) -> Self:
        """A new Sequential of both."""
        return type(self)(*self, *other)


class ModuleList(_Row):
    """Modules in a list; it has no forward of its own.

    >>> import polygrad as pg
    >>> layers = pg.nn.ModuleList(pg.nn.Linear(4, 4) for _ in range(3))
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """


class ParameterList(_Row):
    """Parameters in a list; tensors become Parameters."""

    kind = "parameter"
    accepts = Parameter

    def _checked(self, value: Any) -> Any:
        return value if isinstance(value, Parameter) else Parameter(value)

    def extra_repr(self) -> str:
        """A line for each parameter."""
        return _lines(self)


class _Named(Module):
    """Values registered under names of the user's choice."""

    kind = "module"

    def __init__(self, values: Any = ()) -> None:
        super().__init__()
        self.update(values)

    def _checked(self, value: Any) -> Any:
        if not isinstance(value, Module):
            raise InvalidTypeError(
                f"a {type(value).__name__} is no Module", type(self).__name__,
                "pass instances of Module",
            )  # fmt: skip
        return value

    def __len__(self) -> int:
        """How many there are."""
        return len(self.keys())

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        """Whether there is one of this name."""
        return isinstance(name, str) and self.registry.get(name) == self.kind

    def __getitem__(self, name: str) -> Any:
        """The one of this name. Raises KeyError."""
        if name not in self:
            raise KeyError(name)
        return self.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """Add or replace one."""
        self._register(name, self._checked(value), self.kind)

    def __delitem__(self, name: str) -> None:
        """Take one out. Raises KeyError."""
        if name not in self:
            raise KeyError(name)
        delattr(self, name)

    def keys(self) -> list[str]:
        """The names."""
        return [name for name, kind in self.registry.items() if kind == self.kind]

    def values(self) -> list[Any]:
        """What is held, in the order of the names."""
        return [self.__dict__[name] for name in self.keys()]

    def items(self) -> list[tuple[str, Any]]:
        """(name, value) in order."""
        return list(zip(self.keys(), self.values(), strict=True))

    def get(self, name: str, default: Any = None) -> Any:
        """The one of this name, or `default`."""
        return self.__dict__[name] if name in self else default

    def pop(self, name: str) -> Any:
        """Take one out and return it."""
        value = self[name]
        del self[name]
        return value

    def clear(self) -> None:
        """Take all out."""
        for name in self.keys():
            del self[name]

    def update(self, values: Any) -> None:
        """Add those of a mapping, or of pairs."""
        for name, value in values.items() if hasattr(values, "items") else values:
            self[name] = value


class ModuleDict(_Named):
    """Modules under names.

    >>> import polygrad as pg
    >>> heads = pg.nn.ModuleDict({"a": pg.nn.Identity()})
    >>> "a" in heads, heads["a"](3)
    (True, 3)
    """


class ParameterDict(_Named):
    """Parameters under names; tensors become Parameters."""

    kind = "parameter"

    def _checked(self, value: Any) -> Any:
        return value if isinstance(value, Parameter) else Parameter(value)

    def extra_repr(self) -> str:
        """A line for each parameter."""
        return _lines(self)


def _lines(module: Module) -> str:
    return "\n".join(
        f"({name}): Parameter of shape {p.shape}, {p.dtype} on {p.device}"
        for name, p in module.named_registered("parameter")
    )
