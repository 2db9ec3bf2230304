"""Collating: a list of items becomes one item of stacked tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polygrad.config import default_dtype
from polygrad.errors import InvalidArgumentError, InvalidTypeError, PolygradError, ShapeError
from polygrad.ops.creation import tensor
from polygrad.ops.rearrangement import stack
from polygrad.registry import backend_of
from polygrad.tensor import Tensor
from polygrad.tree import is_namedtuple

__all__ = ["default_collate"]


def default_collate(batch: Sequence[Any]) -> Any:
    """Stack the items of a batch along a new first axis, keeping their structure.

    Tensors and arrays are stacked; Python numbers become a tensor (ints of int64, floats of the
    default dtype); strings, bytes and None stay in a list; dictionaries, tuples, named tuples and
    lists are collated item by item.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The items differ in shape or structure, with the path to where they do.
    InvalidTypeError
        An item of a type that cannot be collated.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2], dtype=int64), ['a', 'b']]
    """
    return _collate(list(batch), "item")


def _collate(batch: list[Any], path: str) -> Any:
    if not batch:
        raise InvalidArgumentError("there are no items", "default_collate", "pass one or more")
    first = batch[0]
    if isinstance(first, Mapping):
        return _mapping(batch, path)
    if isinstance(first, (tuple, list)):
        return _sequence(batch, path)
    if first is None or isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, (bool, int, np.integer, np.bool_)):
        return tensor(np.asarray(batch))
    if isinstance(first, np.floating):
        return tensor(np.asarray(batch))
    if isinstance(first, (float, complex)):
        return tensor(batch, dtype=default_dtype() if isinstance(first, float) else None)
    if isinstance(first, np.ndarray):
        return _stack(np.stack, batch, path)
    if not isinstance(first, Tensor) and backend_of(first) is None:
        raise InvalidTypeError(
            f"a {type(first).__name__} cannot be collated", f"default_collate, at {path}",
            "return tensors, numbers, strings or containers of them, or pass collate_fn",
        )  # fmt: skip
    return _stack(stack, batch, path)


def _stack(function: Any, batch: list[Any], path: str) -> Tensor:
    try:
        made = function(batch)
    except (PolygradError, ValueError) as error:
        shapes = sorted({str(tuple(x.shape)) for x in batch})
        raise ShapeError(
            "the items of a batch differ: shapes " + ", ".join(shapes),
            f"default_collate, at {path}",
            "give all items one shape, or pass collate_fn",
        ) from error  # fmt: skip
    return made if isinstance(made, Tensor) else tensor(made)


def _mapping(batch: list[Any], path: str) -> Any:
    first = batch[0]
    for other in batch:
        if other.keys() != first.keys():
            raise InvalidArgumentError(
                f"the items have different keys: {sorted(map(str, first))} and "
                f"{sorted(map(str, other))}", f"default_collate, at {path}",
                "give all items the same keys, or pass collate_fn",
            )  # fmt: skip
    made = {key: _collate([item[key] for item in batch], f"{path}[{key!r}]") for key in first}
    return made if type(first) is dict or not hasattr(first, "copy") else _like(first, made)


def _like(first: Any, made: dict[Any, Any]) -> Any:
    copy = first.copy()
    copy.update(made)
    return copy


def _sequence(batch: list[Any], path: str) -> Any:
    first = batch[0]
    if any(len(item) != len(first) for item in batch):
        raise InvalidArgumentError(
            f"the items differ in length: {sorted({len(item) for item in batch})}",
            f"default_collate, at {path}", "give all items one length, or pass collate_fn",
        )  # fmt: skip
    made = [
        _collate(list(column), f"{path}[{i}]") for i, column in enumerate(zip(*batch, strict=True))
    ]
    return type(first)(*made) if is_namedtuple(first) else made
