"""Memory of large arrays on a CPU that SYCL drives, used again when the array is gone.

Note [Leases]
-------------
The OpenCL run-time for CPUs asks the operating system for every block and gives it back when its
array dies. The next array's pages are zeroed and mapped in anew, one fault for every 4 KiB: of
800,000 float32 a difference takes 0.25 ms, and 2 ms with new memory for its result. (GPU drivers
keep pools of their own.) So a large result of an operation whose shape and dtype are known
beforehand is written, by `out=`, into memory that a pool has leased. An array, its views and the
work that waits on the device all refer to the lease; when it dies, whatever the order in which
they let go, the block is free again. Work is queued in order, so a block has been read before it is
written anew. A pool that would keep more than its limit gives everything back first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

import dpctl
import dpctl.memory
import dpnp
import numpy as np

from polygrad.backend import Array
from polygrad.indexing import size_of

__all__ = ["LARGE", "Pool", "pool_of", "room_for", "with_room"]

LARGE = 1 << 17  # bytes from which on memory is leased
_SHARE = 16  # one part of so many of the device's memory is kept at most


class Pool:
    """Free blocks of one queue, by size. See Note [Leases].

    Attributes
    ----------
    limit
        Bytes that may be kept.

    Leases die in any thread, also while another takes one: every change of `_free` is one step.
    """

    def __init__(self, queue: Any, limit: int) -> None:
        self.queue, self.limit = queue, limit
        self._free: dict[int, list[Any]] = {}

    @property
    def kept(self) -> int:
        """Bytes of the free blocks."""
        return sum(size * len(blocks) for size, blocks in tuple(self._free.items()))

    def lease(self, size: int) -> Any:
        """Memory of `size` bytes that comes back when nothing refers to it."""
        try:
            block = self._free[size].pop()
        except (KeyError, IndexError):
            block = self._allocate(size)
        return _Lease(block, self)

    def _allocate(self, size: int) -> Any:
        try:
            return dpctl.memory.MemoryUSMDevice(size, queue=self.queue)
        except dpctl.memory.USMAllocationError:
            self.clear()
            return dpctl.memory.MemoryUSMDevice(size, queue=self.queue)

    def take_back(self, block: Any) -> None:
        """Keep a block for the next lease of its size."""
        size = block.nbytes
        if self.kept + size > self.limit:
            self.clear()
        if size <= self.limit:
            self._free.setdefault(size, []).append(block)

    def clear(self) -> None:
        """Give all free blocks back."""
        self._free.clear()

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """A C-ordered array of leased memory, not filled."""
        lease = self.lease(size_of(shape) * np.dtype(dtype).itemsize)
        return dpnp.ndarray(shape, dtype=dtype, buffer=lease)


class _Lease(dpctl.memory.MemoryUSMDevice):  # type: ignore[misc]
    """The memory of a block; its death is the block's return."""

    def __init__(self, block: Any, pool: Pool) -> None:
        self.block, self.pool = block, pool

    def __new__(cls, block: Any, pool: Pool) -> Self:
        """A view of the block: the base class reads nothing else."""
        del pool
        made: Self = super().__new__(cls, block)
        return made

    def __del__(self) -> None:
        """Give the block back."""
        self.pool.take_back(self.block)


_pools: dict[Any, Pool | None] = {}


def pool_of(queue: Any) -> Pool | None:
    """The pool of a queue; None where the driver keeps one."""
    try:
        return _pools[queue]
    except KeyError:
        device = queue.sycl_device
        made = Pool(queue, device.global_mem_size // _SHARE) if device.is_cpu else None
        return _pools.setdefault(queue, made)


def room_for(shape: tuple[int, ...], dtype: Any, queue: Any) -> Array | None:
    """Memory for a large result, or None: then the library finds it."""
    if size_of(shape) * np.dtype(dtype).itemsize < LARGE:
        return None
    pool = pool_of(queue)
    return None if pool is None else pool.empty(shape, dtype)


def with_room(function: Callable[..., Any], result: str | None = None) -> Callable[..., Any]:
    """An elementwise function that writes large results into leased memory.

    It is one whose result has the dtype of its floating operands, or the dtype `result`.
    """

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return function(*args, **kwargs)
        room = _room_of_all(args, result)
        return function(*args) if room is None else function(*args, out=room)

    return inner


def _room_of_all(args: tuple[Any, ...], result: str | None) -> Array | None:
    """Room for the broadcast of arrays of one floating dtype whose largest is C-ordered."""
    if any(not isinstance(a, dpnp.ndarray) for a in args):
        return None
    largest = max(args, key=lambda a: a.size)
    dtype = largest.dtype
    if dtype.char not in "fd" or largest.nbytes < LARGE or not largest.flags.c_contiguous:
        return None
    if any(a.dtype != dtype for a in args):
        return None
    shapes = [a.shape for a in args]
    shape: tuple[int, ...] = shapes[0]
    if any(s != shape for s in shapes):
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            return None  # the library says it
    return room_for(shape, dtype if result is None else result, largest.sycl_queue)
