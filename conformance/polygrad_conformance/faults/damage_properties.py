"""Damage to what is not the value: dtype, shape, layout, device, operands, repetition, errors."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.registry import find_kernels
from polygrad.tensor import Tensor, new_tensor, on_host, raw
from polygrad.tree import leaves, tree_map
from polygrad_conformance.faults.device import FAULTY
from polygrad_conformance.faults.planting import Function, damaged, here, replaced, touch


def each(change: Callable[[Tensor], Any]) -> Callable[[Function], Function]:
    def of(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.device != FAULTY:
            return x
        out = change(x)
        if out is not x:
            touch()
        return out

    return lambda function: damaged(function, lambda out, args, kwargs: tree_map(of, out))


_WRONG_TYPE = {
    "float32": "float64", "float64": "float32", "float16": "float32", "bfloat16": "float32",
    "complex64": "complex128", "complex128": "complex64", "bool": "int8",
}  # fmt: skip


def other_dtype(x: Tensor) -> Tensor:
    other = _WRONG_TYPE.get(x.dtype.name, "int32" if x.dtype.name == "int64" else "int64")
    made = x.kernels.backend.astype(raw(x), np.dtype(other))
    return new_tensor(x.kernels.coerce(made), find_kernels(FAULTY.name, other))


def one_axis_more(x: Tensor) -> Tensor:
    return pg.expand_dims(x, axis=0)


def vector_of_scalar(x: Tensor) -> Tensor:
    return pg.expand_dims(x, axis=0) if x.ndim == 0 else x


def elsewhere(x: Tensor) -> Tensor:
    return x.to("cpu")


def strides_ignored(function: Function) -> Function:
    """Reads the memory of an argument from its start, in the order in which it lies there."""

    def memory(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.device != FAULTY or x.ndim == 0:
            return x
        a = np.asarray(on_host(x))
        if a.flags.c_contiguous:
            return x
        owner = a
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        flat = owner.view(np.ndarray).ravel(order="K")
        return replaced(x, np.resize(flat, a.shape).astype(a.dtype))

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(memory, args), tree_map(memory, kwargs)
        return function(*args, **kwargs)

    return faulty


def zero_strides_ignored(function: Function) -> Function:
    """Reads on behind the one row that is there for all."""

    def memory(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.device != FAULTY or x.size == 0:
            return x
        a = np.asarray(on_host(x))
        axes = [k for k, step in enumerate(a.strides) if step == 0 and a.shape[k] > 1]
        if not axes:
            return x
        made = np.array(a)
        behind = np.moveaxis(made, axes[0], 0)[1:]
        if a.dtype.kind in "fc":  # whatever lies there
            behind[...] = np.resize([np.inf, -113, np.nan], behind.shape) * a.dtype.type(1)
            if a.dtype.kind == "c":
                behind.imag = behind.real
        else:
            behind[...] = ~behind if a.dtype.kind == "b" else behind + a.dtype.type(1)
        return replaced(x, made)

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(memory, args), tree_map(memory, kwargs)
        return function(*args, **kwargs)

    return faulty


def first_dtype(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operands of two dtypes give the first one's."""
    given = [x for x in leaves((args, kwargs)) if isinstance(x, Tensor)]
    if len({x.dtype for x in given}) < 2:
        return out

    def of(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        other = next((t.dtype for t in given if t.dtype != x.dtype), x.dtype)
        touch()
        return pg.astype(x, other)

    return tree_map(of, out)


def overwrites(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The lowest bit of each argument is flipped, in its memory."""
    for x in leaves((args, kwargs)):
        if isinstance(x, Tensor) and x.device == FAULTY and x.size:
            byte = ctypes.c_uint8.from_address(on_host(x).__array_interface__["data"][0])
            byte.value ^= 1
            touch()
    return out


def drifting(function: Function) -> Function:
    """Every call but the first differs in the last place: a stale cache, or a race."""
    calls = 0

    def change(out: Any, args: Any, kwargs: Any) -> Any:
        nonlocal calls
        calls += 1

        def of(x: Any) -> Any:
            if not isinstance(x, Tensor) or x.device != FAULTY or x.size == 0 or calls == 1:
                return x
            a = np.array(on_host(x))
            if a.dtype.kind in "fc":
                moved = np.nextafter(a.real, np.inf).astype(a.real.dtype)
                return replaced(x, (moved + 1j * a.imag).astype(a.dtype) if a.dtype.kind == "c"
                                else moved)  # fmt: skip
            return replaced(x, ~a if a.dtype.kind == "b" else a + a.dtype.type(1))

        return tree_map(of, out)

    return damaged(function, change)


def no_error(function: Function) -> Function:
    """Bad arguments give an empty result."""

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            if not (here((args, kwargs)) or not any(isinstance(x, Tensor) for x in leaves(args))):
                raise
            touch()
            return pg.zeros((), device=FAULTY)

    return faulty


class _OtherError(Exception):
    """What no caller expects."""


def wrong_error(function: Function) -> Function:
    """Bad arguments raise something else."""

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            touch()
            raise _OtherError(str(error)) from error

    return faulty
