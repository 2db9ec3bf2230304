"""Layouts of memory: the same values at other addresses, made on the device by views.

A backend that ignores strides or offsets computes something else with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.tensor import Tensor

__all__ = ["LAYOUTS", "laid_out", "layouts_of", "values_in"]

Host = np.ndarray[Any, Any]


def _upload(array: Host, device: str) -> Tensor:
    return pg.tensor(np.ascontiguousarray(array), device=device)


def _garbage(shape: tuple[int, ...], dtype: Any) -> Host:
    """What lies around the values: it must not be read."""
    return np.full(shape, 1 if dtype.kind == "b" else 113, dtype)


def _transposed(array: Host, device: str) -> Tensor:
    """Fortran order."""
    axes = tuple(range(array.ndim))[::-1]
    return pg.permute_dims(_upload(np.transpose(array, axes), device), axes)


def _strided(array: Host, device: str) -> Tensor:
    """Every second element of the last axis of a larger array."""
    wide = _garbage((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return _upload(wide, device)[..., ::2]


def _rows(array: Host, device: str) -> Tensor:
    """Every second row of a larger array."""
    wide = _garbage((2 * array.shape[0], *array.shape[1:]), array.dtype)
    wide[::2] = array
    return _upload(wide, device)[::2]


def _reversed(array: Host, device: str) -> Tensor:
    """Negative strides."""
    key = (slice(None, None, -1),) * array.ndim
    return _upload(array[key], device)[key]


def _offset(array: Host, device: str) -> Tensor:
    """The inside of a larger array."""
    wide = _garbage(tuple(n + 3 for n in array.shape), array.dtype)
    key = tuple(slice(2, 2 + n) for n in array.shape)
    wide[key] = array
    return _upload(wide, device)[key]


def _odd(array: Host, device: str) -> Tensor:
    """Contiguous, but beginning one element into its memory."""
    wide = _garbage((array.size + 2,), array.dtype)
    wide[1:-1] = array.reshape(-1)
    return pg.reshape(_upload(wide, device)[1:-1], array.shape)


def _swapped(array: Host, device: str) -> Tensor:
    """The last two axes swapped, the others in order."""
    return pg.matrix_transpose(_upload(np.swapaxes(array, -1, -2), device))


def _written(array: Host, device: str) -> Tensor:
    """The result of a write, which may have been postponed."""
    made = pg.zeros(array.shape, dtype=array.dtype, device=device)
    made[...] = _upload(array, device)
    return made


def _broadcast(array: Host, device: str) -> Tensor:
    """One row for all: a stride of zero. The values must be alike, see `values_in`."""
    return pg.broadcast_to(_upload(array[:1], device), array.shape)


def values_in(array: Host, layout: str) -> Host:
    """The values nearest to an array's that a layout can hold."""
    if layout != "broadcast" or array.ndim < LAYOUTS[layout][1] or not array.size:
        return array
    return np.repeat(array[:1], array.shape[0], axis=0)


# Name: (what makes it, the axes it needs).
LAYOUTS: dict[str, tuple[Callable[[Host, str], Tensor], int]] = {
    "transposed": (_transposed, 2), "strided": (_strided, 1), "reversed": (_reversed, 1),
    "offset": (_offset, 1), "rows": (_rows, 2), "odd": (_odd, 1), "swapped": (_swapped, 3),
    "written": (_written, 0), "broadcast": (_broadcast, 2),
}  # fmt: skip


def layouts_of(arrays: list[Host]) -> list[str]:
    """The layouts in which a call with these arrays differs from the plain one."""
    most = max((a.ndim for a in arrays if a.size), default=-1)
    return [name for name, (_, least) in LAYOUTS.items() if 0 <= least <= most]


def laid_out(array: Host, layout: str, device: str) -> Tensor:
    """The array on the device in a layout; one with too few axes for it is plain."""
    make, least = LAYOUTS[layout]
    if array.ndim < least or not array.size:
        return _upload(array, device) if array.ndim else pg.tensor(array, device=device)
    return make(array, device).detach()
