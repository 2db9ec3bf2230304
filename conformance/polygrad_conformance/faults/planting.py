"""How a fault is planted: in a function of the registry, or in an attribute of anything.

A damage takes a function of Tensors and gives the faulty one. It looks at Tensors of the faulty
device alone, so the same function stays right elsewhere. Values are changed behind the tape's back:
what is wrong with a value leaves the gradient right, and the other way round.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import polygrad as pg
from polygrad.families import OPERATIONS
from polygrad.tensor import Tensor, on_host
from polygrad.tree import leaves
from polygrad_conformance.faults.device import FAULTY

__all__ = [
    "TOUCHED", "Class", "Function", "Host", "damaged", "here", "in_attribute", "in_function",
    "replaced", "touch",
]  # fmt: skip

Function = Callable[..., Any]
Host = np.ndarray[Any, Any]

TOUCHED = [0]  # how often a damage has made a difference


def touch() -> None:
    """Note that something is wrong now."""
    TOUCHED[0] += 1


class Class(NamedTuple):
    """A class of fault.

    Attributes
    ----------
    kind
        The check kind that must find it.
    damage
        Makes the faulty function of the right one.
    planted
        Instead of that: what to open, given the op, for faults that are not in a function.
    """

    kind: str
    damage: Callable[[Function], Function] = lambda function: function
    planted: Callable[[str], AbstractContextManager[Any]] | None = None


@contextmanager
def in_function(op: str, damage: Callable[[Function], Function]) -> Iterator[None]:
    """While it is open, a function of the registry is damaged."""
    right = OPERATIONS[op]
    OPERATIONS[op] = replace(right, function=damage(right.function))
    try:
        yield
    finally:
        OPERATIONS[op] = right


@contextmanager
def in_attribute(owner: Any, name: str, damage: Callable[[Any], Any]) -> Iterator[None]:
    """While it is open, `owner` has a damaged `name` of its own."""
    own = name in vars(owner)
    kept = vars(owner)[name] if own else None
    setattr(owner, name, damage(getattr(owner, name)))
    try:
        yield
    finally:
        if own:
            setattr(owner, name, kept)
        else:
            delattr(owner, name)


class _Replaced(pg.autograd.Function):
    """Another value in the place of one, with the gradient of the one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, other: Tensor) -> Tensor:
        return other.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        return g, None


def here(tree: Any) -> bool:
    """Whether a Tensor of the faulty device is among the leaves."""
    return any(isinstance(x, Tensor) and x.device == FAULTY for x in leaves(tree))


def replaced(x: Tensor, value: Host) -> Tensor:
    """`x` with other values, and its gradient."""
    if value.tobytes() != np.ascontiguousarray(on_host(x)).tobytes():
        touch()
    other = pg.tensor(np.ascontiguousarray(value).reshape(np.shape(value)), device=FAULTY)
    if x.requires_grad and other.dtype == x.dtype and other.shape == x.shape:
        return _Replaced.apply(x, other)
    return other


def damaged(
    function: Function, change: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
) -> Function:
    """`function`, with `change(out, args, kwargs)` for its result on the faulty device."""

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        return change(out, args, kwargs) if here(out) or here((args, kwargs)) else out

    return faulty
