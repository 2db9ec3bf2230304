"""bfloat16 on libraries that promote it, or have no loop for it: wide inside, narrow outside."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from polygrad.kernels import Kernel, Kernels

__all__ = ["BFLOAT16", "in_float32", "narrowed", "narrowing", "number_type"]

BFLOAT16 = "bfloat16"  # by name: the package that defines it is optional
_WIDE = (np.float32, np.float64)


def number_type(kernels: Kernels) -> Any:
    """What makes numbers of bfloat16, which plain ones would promote; of other dtypes, None."""
    native = kernels.native_dtype
    return native.type if native.name == BFLOAT16 else None


def narrowed(out: Any, native: Any) -> Any:
    """Arrays that were promoted to a wider dtype, rounded to `native`; tuples of them too."""
    if type(out) in (tuple, list):
        return type(out)(narrowed(part, native) for part in out)
    return out.astype(native) if getattr(out, "dtype", None) in _WIDE else out


def narrowing(kernel: Kernel, native: Any) -> Kernel:
    """`kernel`, whose wider results are rounded to `native`, unless a dtype was asked for."""

    @functools.wraps(kernel, updated=())
    def inner(*args: Any, **kwargs: Any) -> Any:
        out = kernel(*args, **kwargs)
        return out if "dtype" in kwargs else narrowed(out, native)

    return inner


def in_float32(function: Kernel) -> Kernel:
    """A function of the library, which gets float32 where it would get bfloat16."""

    @functools.wraps(function, updated=())
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_widened, args), **{k: _widened(v) for k, v in kwargs.items()})

    return inner


def _widened(value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    if dtype is None or isinstance(value, np.generic):
        return value
    return value.astype(np.float32) if dtype.name == BFLOAT16 else value
