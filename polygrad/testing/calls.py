"""Sampled calls taken apart: their floating arrays, and the call with tensors in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygrad.dtypes import REAL
from polygrad.ops.creation import tensor
from polygrad.registry import default_integer, find_device
from polygrad.tensor import Tensor

__all__ = ["Build", "floating", "take_apart"]

Build = Callable[[Sequence[Any], str], tuple[list[Any], dict[str, Any]]]


def take_apart(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], Build]:
    """The floating arrays of a call, and what puts tensors in their place.

    `build(tensors, device)` returns args and kwargs; arrays of integers and booleans become tensors
    on `device`, lists of arrays lists of tensors.
    """
    arrays: list[Any] = []

    def visit(value: Any) -> Callable[[Sequence[Any], str], Any]:
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "fc":
                arrays.append(value)
                place = len(arrays) - 1
                return lambda tensors, device: tensors[place]
            return lambda tensors, device: _constant(value, device)
        if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
            parts = [visit(v) for v in value]
            return lambda tensors, device: type(value)(part(tensors, device) for part in parts)
        return lambda tensors, device: value

    positional = [visit(a) for a in args]
    named = {k: visit(v) for k, v in kwargs.items()}

    def build(tensors: Sequence[Any], device: str) -> tuple[list[Any], dict[str, Any]]:
        return (
            [make(tensors, device) for make in positional],
            {k: make(tensors, device) for k, make in named.items()},
        )

    return arrays, build


def _constant(value: Any, device: str) -> Tensor:
    """Integers and truth values on a device, in its widest integers if it has none of 64 bits."""
    place = find_device(device)
    if value.dtype.kind in "iu" and value.dtype.itemsize > default_integer(place).itemsize:
        value = value.astype(default_integer(place))
    return tensor(value, device=device)


def floating(made: Any) -> list[Tensor]:
    """The tensors of a result that can have a gradient, out of tuples and lists at any depth."""
    if isinstance(made, (tuple, list)):
        return [t for part in made for t in floating(part)]
    return [made] if isinstance(made, Tensor) and made.kernels.kind >= REAL else []
