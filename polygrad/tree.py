"""Nested lists, tuples, named tuples and dictionaries: their leaves, and others in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polygrad.errors import InvalidArgumentError

__all__ = ["flatten", "leaves", "tree_map"]

Rebuild = Callable[[list[Any]], Any]


def is_namedtuple(value: Any) -> bool:
    """Whether `value` is an instance of a class made by `collections.namedtuple` or NamedTuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def children(value: Any) -> tuple[list[Any], Rebuild] | None:
    """The items of one container, and what makes the same container of others; None for a leaf.

    Subclasses of list, tuple and dict are leaves unless they can be rebuilt from their items alone.
    """
    if type(value) in (list, tuple):
        return list(value), type(value)
    if is_namedtuple(value):
        return list(value), lambda items: type(value)(*items)
    if isinstance(value, Mapping) and type(value).__init__ is not object.__init__:
        keys = list(value)
        if type(value) is dict:
            return list(value.values()), lambda items: dict(zip(keys, items, strict=True))
        return [value[k] for k in keys], lambda items: _mapping(value, keys, items)
    return None


def _mapping(like: Any, keys: list[Any], items: list[Any]) -> Any:
    """A mapping of the class of `like`; a plain dict where that class cannot be filled."""
    pairs = dict(zip(keys, items, strict=True))
    if hasattr(like, "copy") and hasattr(like, "update"):
        made = like.copy()  # keeps what the class adds, such as a default factory
        made.update(pairs)
        return made
    return pairs


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of `tree` from left to right, and the function that puts others in their places.

    >>> found, rebuild = flatten({"a": [1, (2, 3)], "b": 4})
    >>> found, rebuild([10, 20, 30, 40])
    ([1, 2, 3, 4], {'a': [10, (20, 30)], 'b': 40})
    """
    parts = children(tree)
    if parts is None:
        return [tree], _only
    items, rebuild = parts
    flat = [flatten(item) for item in items]
    found = [leaf for part, _ in flat for leaf in part]

    def put(values: list[Any]) -> Any:
        if len(values) != len(found):
            raise InvalidArgumentError(
                f"{len(values)} leaves for a tree of {len(found)}",
                "flatten, the rebuilding function", "pass one value for each leaf",
            )  # fmt: skip
        made, start = [], 0
        for part, inner in flat:
            made.append(inner(values[start : start + len(part)]))
            start += len(part)
        return rebuild(made)

    return found, put


def _only(values: list[Any]) -> Any:
    (value,) = values
    return value


def leaves(tree: Any) -> list[Any]:
    """The leaves of `tree` from left to right.

    >>> leaves([1, {"a": 2}, ()])
    [1, 2]
    """
    return flatten(tree)[0]


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of the same shape whose leaves are `function(leaf, other leaf, …)`.

    Raises
    ------
    InvalidArgumentError
        The trees have different numbers of leaves.

    >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    found, rebuild = flatten(tree)
    columns = [found, *(leaves(other) for other in others)]
    if any(len(column) != len(found) for column in columns):
        raise InvalidArgumentError(
            f"trees of {', '.join(str(len(c)) for c in columns)} leaves", "tree_map",
            "the trees must have the same structure",
        )  # fmt: skip
    return rebuild([function(*row) for row in zip(*columns, strict=True)])
