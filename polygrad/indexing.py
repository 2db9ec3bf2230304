"""Keys of `x[key]`: what they mean, and gather and put in functions of the standard.

Libraries differ in which keys they take: some refuse lists, some separated index arrays, some
writes altogether. `gather` and `put` need only `reshape`, `broadcast_to`, `take` and `where`; the
positions are reckoned on the host, by NumPy, so that every key means what it means there.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import dtypes
from polygrad.errors import InvalidArgumentError, InvalidTypeError

if TYPE_CHECKING:
    from polygrad.backend import Backend
    from polygrad.device import Device

Key = tuple[Any, ...]

__all__ = [
    "Key",
    "added_in_order",
    "broadcasts",
    "expanded",
    "fitted",
    "flipped",
    "gather",
    "goes_back",
    "is_basic",
    "on_host",
    "one_axis",
    "positions",
    "put",
    "selected_shape",
    "shape_tuple",
    "size_of",
    "table",
    "upload",
    "window_counts",
    "within",
]


def is_basic(key: Key) -> bool:
    """Whether every entry is an int, a slice, None or Ellipsis: such keys make views.

    >>> is_basic((0, slice(None), Ellipsis)), is_basic((np.asarray([0, 1]),))
    (True, False)
    """
    return all(
        entry is None or entry is Ellipsis or type(entry) is int or type(entry) is slice
        for entry in key
    )


@functools.lru_cache(1024)
def _hollow(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array of `shape` that takes no memory, to try keys on."""
    return np.broadcast_to(np.False_, shape)


def selected_shape(shape: tuple[int, ...], key: Key) -> tuple[int, ...]:
    """The shape of `x[key]`, for an x of `shape`; `key` is on the host.

    Raises
    ------
    IndexError
        The key points out of x, or has too many entries.

    >>> selected_shape((2, 3), (slice(None), 0))
    (2,)
    """
    return _hollow(shape)[key].shape


def goes_back(key: Key) -> bool:
    """Whether a slice of the key has a negative step."""
    return any(type(e) is slice and e.step is not None and e.step < 0 for e in key)


def flipped(xp: Any, array: Any, key: Key) -> Any:
    """`array[key]` of a basic key, where the library knows no slices that go backwards.

    >>> flipped(np, np.arange(6), (slice(None, None, -2),))
    array([5, 3, 1])
    """
    forward: list[Any] = []
    turned: list[int] = []
    axis = 0
    for entry in within(tuple(array.shape), expanded(key, len(array.shape))):
        if type(entry) is slice and entry.step is not None and entry.step < 0:
            places = range(entry.start, -1 if entry.stop is None else entry.stop, entry.step)
            forward.append(slice(places[-1], places[0] + 1, -entry.step))
            turned.append(axis)
        else:
            forward.append(entry)
        axis += type(entry) is not int
    return xp.flip(array[tuple(forward)], axis=tuple(turned))


def expanded(key: Key, ndim: int) -> Key:
    """A basic key with whole slices in place of its Ellipsis, and for the axes it leaves out.

    >>> expanded((0, ..., None), 3)
    (0, slice(None, None, None), slice(None, None, None), None)
    """
    spare = ndim - sum(entry is not None and entry is not Ellipsis for entry in key)
    at = next((i for i, entry in enumerate(key) if entry is Ellipsis), None)
    if at is None:
        return (*key, *(slice(None),) * spare)
    return (*key[:at], *(slice(None),) * spare, *key[at + 1 :])


def within(shape: tuple[int, ...], key: Key) -> Key:
    """A basic key with the bounds of its slices inside the axes: the standard promises no others.

    >>> within((3, 4), (slice(1, 9), Ellipsis, slice(None, None, -1)))
    (slice(1, 3, 1), Ellipsis, slice(3, None, -1))
    """
    out: list[Any] = []
    axis = 0
    entries = sum(entry is not None and entry is not Ellipsis for entry in key)
    for entry in key:
        if entry is Ellipsis:
            axis += len(shape) - entries
        elif entry is not None:
            axis += 1
        if type(entry) is not slice or not 0 < axis <= len(shape):
            out.append(entry)
            continue
        start, stop, step = entry.indices(shape[axis - 1])
        if not range(start, stop, step):
            start, stop, step = 0, 0, 1
        out.append(slice(start, stop if stop >= 0 else None, step))
    return tuple(out)


def shape_tuple(shape: Any, where: str) -> tuple[int, ...]:
    """A shape, or one length, as a tuple of ints of at least zero.

    >>> shape_tuple(3, "zeros")
    (3,)

    Raises
    ------
    InvalidTypeError, InvalidArgumentError
        An entry is no integer, or is negative.
    """
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        found = tuple(n.__index__() for n in entries)
    except AttributeError:
        raise InvalidTypeError(
            f"a shape is an int or a tuple of ints, not {shape!r}", f"{where}, argument shape"
        ) from None
    if any(n < 0 for n in found):
        raise InvalidArgumentError(
            f"lengths of axes are not negative: {found}", f"{where}, argument shape"
        )
    return found


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast; several do if all pairs of them do."""
    return all(n == m or 1 in (n, m) for n, m in zip(reversed(a), reversed(b), strict=False))


def broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether `shape` broadcasts to `target`, which does not grow."""
    lead = len(target) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, target[lead:], strict=True))


def size_of(shape: tuple[int, ...]) -> int:
    """The number of elements of an array of `shape`."""
    size = 1
    for n in shape:
        size *= n
    return size


def window_counts(
    size: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...],
    padding: tuple[tuple[int, int], ...], dilation: tuple[int, ...],
) -> tuple[int, ...]:  # fmt: skip
    """How many windows there are along each axis of `size`, padded by (before, after)."""
    return tuple(
        (n + lo + hi - d * (k - 1) - 1) // s + 1
        for n, k, s, (lo, hi), d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def on_host(backend: Backend, key: Key) -> Key:
    """The key with its arrays moved to the host."""
    return tuple(
        backend.to_numpy(entry) if isinstance(entry, backend.array_types) else entry
        for entry in key
    )


def positions(shape: tuple[int, ...], key: Key) -> np.ndarray[Any, Any]:
    """The flat position of each element of `x[key]`, for an x of `shape`; `key` is on the host.

    Raises
    ------
    IndexError
        The key points out of x, or has too many entries.

    >>> positions((2, 3), (slice(None), np.asarray([2, 0])))
    array([[2, 0],
           [5, 3]])
    """
    found: Any = np.broadcast_to(np.int64(0), shape)[key]
    stride = 1
    for axis in reversed(range(len(shape))):
        steps = np.arange(shape[axis]) * stride
        along = steps.reshape(-1, *(1,) * (len(shape) - axis - 1))
        found = found + np.broadcast_to(along, shape)[key]
        stride *= shape[axis]
    return np.asarray(found)


def one_axis(key: Key, ndim: int) -> int | None:
    """The axis that one integer array picks from while all others are whole, or None."""
    whole = [entry is Ellipsis or (type(entry) is slice and entry == slice(None)) for entry in key]
    if whole.count(False) != 1:
        return None
    i = whole.index(False)
    if not isinstance(key[i], np.ndarray) or key[i].dtype.kind not in "iu":
        return None
    dotted = any(entry is Ellipsis for entry in key[:i])
    return ndim - (len(key) - i) if dotted else i


def upload(backend: Backend, places: np.ndarray[Any, Any], device: Device) -> Any:
    """Positions on a device, as its widest index type."""
    return backend.from_numpy(_widest(backend, places, device), device)


def table(backend: Backend, places: np.ndarray[Any, Any], device: Device) -> Any:
    """As `upload`, of positions that follow from shapes and options alone."""
    return backend.constant(_widest(backend, places, device), device)


def _widest(backend: Backend, places: np.ndarray[Any, Any], device: Device) -> Any:
    dtype = dtypes.int64 if backend.supports(dtypes.int64, device) else dtypes.int32
    return places.astype(dtype, copy=False)


def gather(backend: Backend, array: Any, key: Key) -> Any:
    """`array[key]` for any key NumPy takes, with `take` alone. IndexError out of range."""
    xp, shape, device = backend.xp, tuple(array.shape), backend.device_of(array)
    key = on_host(backend, key)
    axis = one_axis(key, len(shape))
    if axis is not None:
        (index,) = (entry for entry in key if isinstance(entry, np.ndarray))
        places = np.arange(shape[axis])[index]
        picked = xp.take(array, upload(backend, places.reshape(-1), device), axis=axis)
        return xp.reshape(picked, (*shape[:axis], *places.shape, *shape[axis + 1 :]))
    places = positions(shape, key)
    flat = xp.take(xp.reshape(array, (-1,)), upload(backend, places.reshape(-1), device), axis=0)
    return xp.reshape(flat, places.shape)


def put(backend: Backend, array: Any, key: Key, value: Any) -> Any:
    """A copy of `array` with `copy[key] = value`, by `take` and `where`; the last write wins.

    Raises
    ------
    IndexError
        The key points out of `array`.
    ValueError
        `value` does not broadcast to the indexed shape.
    """
    xp, device = backend.xp, backend.device_of(array)
    size = size_of(array.shape)
    places = positions(tuple(array.shape), on_host(backend, key))
    if not isinstance(value, backend.array_types):
        value = backend.from_numpy(np.asarray(value, dtype=backend.dtype_of(array)), device)
    if value.dtype != array.dtype:
        value = backend.astype(value, backend.dtype_of(array))
    value = fitted(xp, value, places.shape)
    if not places.size:
        return backend.copy(array)
    source = np.full(size, -1, dtype=np.int64)
    source[places.reshape(-1)] = np.arange(places.size)
    written = backend.from_numpy(source >= 0, device)
    taken = xp.take(value, upload(backend, np.maximum(source, 0), device), axis=0)
    flat = xp.where(written, taken, xp.reshape(array, (-1,)))
    return xp.reshape(flat, array.shape)


def fitted(xp: Any, value: Any, shape: tuple[int, ...]) -> Any:
    """`value` broadcast to `shape`, and flat; as in NumPy, spare axes of length 1 are dropped."""
    lead = len(value.shape) - len(shape)
    if lead > 0 and set(value.shape[:lead]) == {1}:
        value = xp.reshape(value, value.shape[lead:])
    if np.broadcast_shapes(tuple(value.shape), shape) != shape:
        raise ValueError(f"could not broadcast a value of shape {tuple(value.shape)} to {shape}")
    return xp.reshape(xp.broadcast_to(value, shape), (-1,))


def added_in_order(xp: Any, array: Any, key: Key, value: Any) -> Any:
    """A copy of an array with values added at a key with arrays, equal places in a fixed order.

    For libraries whose own sums come in any order. The values are sorted by place; sums over 1, 2,
    4, ... neighbours of one place follow, each of the two before; the last of a place has all.

    >>> key = (np.asarray([2, 0, 2, 2]),)
    >>> added_in_order(np, np.zeros(3), key, np.asarray([1.0, 2.0, 3.0, 4.0]))
    array([2., 0., 8.])
    """
    size, shape = array.size, array.shape
    places = xp.arange(size).reshape(shape)[key]
    values = fitted(xp, xp.asarray(value), places.shape).astype(array.dtype)
    places = places.reshape(-1)
    count = places.size
    order = xp.argsort(places * count + xp.arange(count))  # no two are equal: any sort will do
    places, values = places[order], values[order]
    step = 1
    while step < count:
        same = places[step:] == places[:-step]
        more = xp.where(same, values[:-step], xp.zeros_like(values[:-step]))
        values = xp.concatenate([values[:step], values[step:] + more])
        step *= 2
    total = xp.zeros(size + 1, dtype=array.dtype)  # one more, for what is not the last of its place
    following = xp.concatenate([places[1:], xp.full((1,), -1, dtype=places.dtype)])
    total[xp.where(places != following, places, size)] = values
    return array + total[:size].reshape(shape)
