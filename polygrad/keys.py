"""Keys of `t[key]` as users write them, made normal: what `polygrad.indexing` and kernels take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polygrad.dtypes import BOOL, INTEGER, REAL
from polygrad.errors import DeviceMismatchError, OutOfRangeError
from polygrad.indexing import Key, upload
from polygrad.late_checks import check_range
from polygrad.tensor import Tensor, raw

__all__ = ["read_key"]


def read_key(key: Any, t: Tensor) -> Key:
    """A normal key: Tensors become arrays, lists and host arrays are copied to the device.

    A basic key ends in Ellipsis, so that libraries give a 0-d view, never a scalar copy.

    Raises
    ------
    OutOfRangeError
        An entry is neither integer nor boolean.
    """
    entries = key if type(key) is tuple else (key,)
    backend = t.kernels.backend
    out: list[Any] = []
    basic, dots = True, False
    for k in entries:
        entry: Any = k
        if type(k) is int or k is None:
            pass
        elif type(k) is slice:
            entry = slice(
                *(None if i is None else i.__index__() for i in (k.start, k.stop, k.step))
            )
        elif k is Ellipsis:
            dots = True
        elif isinstance(k, Tensor) and k.ndim == 0 and k.kernels.kind == INTEGER:
            entry = int(k)
        elif isinstance(k, (Tensor, bool, list, np.ndarray, np.bool_, *backend.array_types)):
            entry = _key_array(k, t)
            basic = False
        elif hasattr(k, "__index__"):
            entry = k.__index__()
        else:
            raise OutOfRangeError(
                f"{type(k).__name__} is no index", f"indexing a tensor of shape {t.shape}",
                "use integers, slices, None, Ellipsis, integer or boolean tensors",
            )  # fmt: skip
        out.append(entry)
    if basic and not dots:
        out.append(Ellipsis)
    if not basic and backend.capabilities.late_index_checks:
        _check_ranges(out, t)
    return tuple(out)


def _check_ranges(key: list[Any], t: Tensor) -> None:
    """Have the integer arrays of a key checked, each against the axis that it points into."""
    shape, backend = raw(t).shape, t.kernels.backend
    arrays: Any = backend.array_types
    truths = [isinstance(k, arrays) and backend.dtype_of(k).kind == "b" for k in key]
    widths = [
        k.ndim if truth else int(k is not None and k is not Ellipsis)
        for k, truth in zip(key, truths, strict=True)
    ]
    axis = 0
    for k, truth, width in zip(key, truths, widths, strict=True):
        if not truth and isinstance(k, arrays) and axis < len(shape) and math.prod(k.shape):
            where = f"index of shape {tuple(k.shape)} into {t.dtype} {shape}"
            check_range(backend.kernels_of(k), k, shape[axis], where.strip)
        axis += width if k is not Ellipsis else len(shape) - sum(widths)


def _key_array(k: Any, t: Tensor) -> Any:
    """An index array on the device of `t` that nobody else can change."""
    backend = t.kernels.backend
    if isinstance(k, Tensor):
        if k.kernels.backend is not backend or k.device != t.device:
            raise DeviceMismatchError(
                f"an index tensor on {k.device}", f"indexing a tensor on {t.device}",
                f'move it: index.to("{t.device}")',
            )  # fmt: skip
        kind, array = k.kernels.kind, raw(k)
    elif isinstance(k, (list, bool, np.ndarray, np.bool_)):
        host = np.array(k)
        if not host.size and host.dtype.kind == "f":
            host = host.astype(np.int64)
        kind = {"b": BOOL, "i": INTEGER, "u": INTEGER}.get(host.dtype.kind, REAL)
        array = None
        if kind == INTEGER:
            array = upload(backend, host, t.device)
        elif kind == BOOL:
            array = backend.from_numpy(host, t.device)
    else:
        found = backend.kernels_of(k)
        kind, array = found.kind, backend.copy(k)
    if kind > INTEGER:
        raise OutOfRangeError(
            "an index array must be integer or boolean", f"indexing a tensor of shape {t.shape}",
            "convert it with .to(pg.int64), or compare it to make a mask",
        )  # fmt: skip
    return array
