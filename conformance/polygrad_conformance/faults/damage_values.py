"""Damage to the values of results, those of special arguments among them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.tensor import Tensor, on_host
from polygrad.tree import leaves, tree_map
from polygrad_conformance.faults.device import FAULTY
from polygrad_conformance.faults.planting import Function, Host, damaged, replaced, touch


def values(change: Callable[[Host], Host]) -> Callable[[Function], Function]:
    """Damage to the values of each result that has some."""

    def of(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.device != FAULTY or x.size == 0:
            return x
        return replaced(x, change(np.array(on_host(x))))

    return lambda function: damaged(function, lambda out, args, kwargs: tree_map(of, out))


def constant(a: Host) -> Host:
    """The same number everywhere, one that is not the average of anything."""
    wrong = a.flat[0] != 1 if a.dtype.kind == "b" else 3
    return np.full_like(a, wrong)


def scaled(by: float) -> Callable[[Host], Host]:
    def change(a: Host) -> Host:
        if a.dtype.kind in "fcV":
            return (a * a.dtype.type(1 + by)).astype(a.dtype)
        return ~a if a.dtype.kind == "b" else a + a.dtype.type(1)

    return change


def at(index: Callable[[Host], Any]) -> Callable[[Host], Host]:
    """Wrong at one place."""

    def change(a: Host) -> Host:
        flat = a.reshape(-1)
        k = index(flat)
        flat[k] = ~flat[k] if a.dtype.kind == "b" else flat[k] + a.dtype.type(1)
        return flat.reshape(a.shape)

    return change


def negated(a: Host) -> Host:
    if a.dtype.kind == "b":
        return ~a
    return (-a - (a == 0)).astype(a.dtype)  # zero has no wrong sign but is wrong here too


def tail(a: Host) -> Host:
    """What lies behind the first whole block of four is not written."""
    flat = a.reshape(-1)
    start = flat.size // 4 * 4 if flat.size % 4 else flat.size - 1
    flat[start:] = ~flat[start:] if a.dtype.kind == "b" else flat[start:] + a.dtype.type(1)
    return flat.reshape(a.shape)


def second_block(a: Host) -> Host:
    """What lies behind the first 500 elements is wrong: kernels work in blocks."""
    flat = np.array(a.reshape(-1))
    rest = flat[500:]
    flat[500:] = ~rest if a.dtype.kind == "b" else rest + a.dtype.type(1)
    return flat.reshape(a.shape)


def special(a: Host) -> Host:
    """What is not finite becomes finite, and zeros lose their sign."""
    if a.dtype.kind not in "fc":
        return a
    return np.where(np.isfinite(a), a + a.dtype.type(0), a.dtype.type(1)).astype(a.dtype)


def special_truth(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The opposite, where an argument is infinite, NaN or zero."""

    def of(y: Any) -> Any:
        if not isinstance(y, Tensor) or y.device != FAULTY or y.dtype != pg.bool:
            return y
        a = np.array(on_host(y))
        odd = np.zeros(a.shape, bool)
        for x in leaves((args, kwargs)):
            if isinstance(x, Tensor) and x.kernels.inexact:
                odd |= ~np.isfinite(on_host(x)) | (on_host(x) == 0)
        return replaced(y, a ^ odd)

    return tree_map(of, out)


def wrong_answer(function: Function) -> Function:
    """An answer that is no Tensor, to a question about dtypes or shapes, is another one."""

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        if any(isinstance(x, Tensor) for x in leaves((out, args, kwargs))):
            return out
        touch()
        if isinstance(out, bool):
            return not out
        if isinstance(out, np.dtype):
            return np.dtype("int16")
        if isinstance(out, tuple) and not hasattr(out, "_fields"):
            return (*out, 1)
        return _Other(out)

    return faulty


def refused(function: Function) -> Function:
    """Every call raises."""

    def change(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        touch()
        raise RuntimeError("not today")

    return damaged(function, change)


class _Other:
    """As an object, but its numbers are twice as large."""

    def __init__(self, right: Any) -> None:
        self.right = right

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.right, name)
        return value * 2 if isinstance(value, (int, float)) else value


def unsigned_zero(a: Host) -> Host:
    """Real zeros lose their sign; of complex ones the standard leaves some open."""
    return a + a.dtype.type(0) if a.dtype.kind == "f" else a
