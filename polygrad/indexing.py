"""Keys of `x[key]`: what they mean, and gather and put in functions of the standard.

Libraries differ in which keys they take: some refuse lists, some separated index arrays, some writes
altogether. `gather` and `put` need only `reshape`, `permute_dims`, `take` and `where`; the positions are
reckoned on the host, because shapes and bounds are known there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from polygrad.backend import Backend

Key = tuple[Any, ...]

__all__ = ["Key", "gather", "is_basic", "on_host", "put", "size_of"]


def is_basic(key: Key) -> bool:
    """Whether every entry is an int, a slice, None or Ellipsis: such keys make views.

    >>> is_basic((0, slice(None), Ellipsis)), is_basic((np.asarray([0, 1]),))
    (True, False)
    """
    return all(
        entry is None or entry is Ellipsis or type(entry) is int or type(entry) is slice
        for entry in key
    )


def size_of(shape: tuple[int, ...]) -> int:
    """The number of elements of an array of `shape`."""
    size = 1
    for n in shape:
        size *= n
    return size


def on_host(backend: Backend, key: Key) -> Key:
    """The key with its arrays moved to the host."""
    return tuple(
        backend.to_numpy(entry) if isinstance(entry, backend.array_types) else entry
        for entry in key
    )


def _positions(shape: tuple[int, ...], key: Key) -> np.ndarray[Any, Any]:
    """The flat position of each element of `x[key]`, for an x of `shape`. IndexError out of range."""
    return np.asarray(np.arange(size_of(shape)).reshape(shape)[key])


def gather(backend: Backend, array: Any, key: Key) -> Any:
    """`array[key]` for any key NumPy takes, with `take` alone."""
    xp = backend.xp
    places = _positions(array.shape, on_host(backend, key))
    device = backend.device_of(array)
    flat = xp.reshape(array, (-1,))
    return xp.reshape(
        xp.take(flat, backend.from_numpy(places.reshape(-1), device), axis=0), places.shape
    )


def put(backend: Backend, array: Any, key: Key, value: Any) -> Any:
    """A copy of `array` with `copy[key] = value`, with `take` and `where` alone; the last write wins."""
    xp = backend.xp
    device = backend.device_of(array)
    size = size_of(array.shape)
    places = _positions(array.shape, on_host(backend, key))
    if not isinstance(value, backend.array_types):
        value = backend.from_numpy(np.asarray(value, dtype=backend.dtype_of(array)), device)
    if value.dtype != array.dtype:
        value = backend.astype(value, backend.dtype_of(array))
    value = xp.reshape(xp.broadcast_to(value, places.shape), (-1,))
    if not places.size:
        return backend.copy(array)
    source = np.full(size, -1, dtype=np.int64)
    source[places.reshape(-1)] = np.arange(places.size)
    written = backend.from_numpy(source >= 0, device)
    taken = xp.take(value, backend.from_numpy(np.maximum(source, 0), device), axis=0)
    flat = xp.where(written, taken, xp.reshape(array, (-1,)))
    return xp.reshape(flat, array.shape)
