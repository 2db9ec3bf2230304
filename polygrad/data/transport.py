"""Batches from a worker process to its parent: arrays by shared memory, the rest pickled.

Note [Segments]
---------------
A worker has as many slots as it may owe batches. Each slot is a segment of shared memory, which the
worker makes when it first needs it, replaces by a larger one when a batch does not fit, and else
writes over: the parent asks for a batch in a slot only after it has copied the last one out.

The worker makes a segment and tells its name with the batch. The parent attaches to it and removes
the name at once, so that the memory goes when both processes have. Names count up: should a worker
die with a name untold, the parent finds it by trying the next ones. Should the parent die first,
Python's resource tracker removes what has a name still.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import traceback
from collections.abc import Callable
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polygrad.device import Device
from polygrad.errors import GradientError, OutOfMemoryError
from polygrad.registry import kernels_for
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.transfer import page_locked

__all__ = ["Inbox", "Outbox", "Parcel"]

Host = np.ndarray[Any, Any]
Place = Callable[[str], Device]
_ALIGNMENT = 64
_SLACK = 8  # a new segment is larger than its batch by 1/8: the next batch may be, too


class Parcel(NamedTuple):
    """A packed value.

    Attributes
    ----------
    slot
        Whose segment holds the arrays.
    segment
        The name of that segment, if it is new.
    body
        The pickled value; or where it lies in the segment: its start and length.
    memory
        The arrays, if they are few bytes; None: they are in the segment.
    """

    slot: int
    segment: str | None
    body: bytes | tuple[int, int]
    memory: bytes | None


class _Facts(NamedTuple):
    """Of one array: where it lies, what it is, and what it was an array of."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    cls: type[Tensor] | None = None  # None: a NumPy array
    device: str = ""
    tracked: bool = False


# ---- in the worker --------------------------------------------------------------------------
def _arrived(*facts: Any) -> Any:
    """Stands in a pickle for an array; `_Reader` puts the array there."""
    raise NotImplementedError(facts)


class _Writer(pickle.Pickler):
    """Pickles all but arrays and Tensors, whose values it collects."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.arrays: list[tuple[int, Host]] = []
        self.size = 0

    def reducer_override(self, value: Any) -> Any:
        """Arrays and Tensors become facts about them."""
        if isinstance(value, Tensor):
            return _arrived, tuple(self._tensor(value))
        if type(value) is np.ndarray and not value.dtype.hasobject:
            return _arrived, tuple(_Facts(self._add(value), value.shape, value.dtype))
        return NotImplemented

    def _add(self, array: Host) -> int:
        offset = -(-self.size // _ALIGNMENT) * _ALIGNMENT
        self.arrays.append((offset, array))
        self.size = offset + array.nbytes
        return offset

    def _tensor(self, t: Tensor) -> _Facts:
        array = t.kernels.backend.to_numpy(raw(t))
        if t.node is not None:
            raise GradientError(
                "a tensor with a history cannot leave its process",
                f"a worker process of a DataLoader: the tensor was made by {t.grad_fn!r}",
                "let the dataset give t.detach(), or pass num_workers=0",
            )
        place = (self._add(array), array.shape, array.dtype)
        return _Facts(*place, type(t), t.device.name, t.tracked)


class Outbox:
    """The worker's side: packs values, and owns the segments.

    Parameters
    ----------
    prefix
        Of the names of segments.
    inline
        The most bytes that go without shared memory, through the pipe.
    """

    def __init__(self, prefix: str, inline: int) -> None:
        self.prefix, self.inline = prefix, inline
        self._segments: dict[int, SharedMemory] = {}
        self._made: dict[int, int] = {}

    def pack(self, slot: int, value: Any) -> Parcel:
        """Pack `value`; what was packed in the slot before is gone.

        Raises
        ------
        GradientError
            A tensor in it has a history.
        OutOfMemoryError
            There is not enough shared memory.
        """
        file = io.BytesIO()
        writer = _Writer(file)
        writer.dump(value)
        body = file.getvalue()
        whole = writer.size + len(body)
        if whole <= self.inline:
            memory = bytearray(writer.size)
            _store(writer.arrays, memory)
            return Parcel(slot, None, body, bytes(memory))
        name = self._room(slot, whole)
        buffer: Any = self._segments[slot].buf
        _store(writer.arrays, buffer)
        if len(body) <= self.inline:
            return Parcel(slot, name, body, None)
        buffer[writer.size : whole] = body
        return Parcel(slot, name, (writer.size, len(body)), None)

    def _room(self, slot: int, size: int) -> str | None:
        """See to it that the slot's segment is large enough; its name, if it is a new one."""
        old = self._segments.get(slot)
        if old is not None:
            if old.size >= size:
                return None
            self._segments.pop(slot).close()
        size += size // _SLACK
        _check_space(size)
        self._made[slot] = number = self._made.get(slot, 0) + 1
        name = _name(self.prefix, slot, number)
        self._segments[slot] = SharedMemory(name, create=True, size=size)
        return name

    def close(self) -> None:
        """Let go of the memory; names are the parent's to remove."""
        while self._segments:
            self._segments.popitem()[1].close()


def _name(prefix: str, slot: int, number: int) -> str:
    return f"{prefix}_{slot}_{number}"


def _store(arrays: list[tuple[int, Host]], memory: Any) -> None:
    for offset, array in arrays:
        np.copyto(np.ndarray(array.shape, array.dtype, memory, offset), array)


def _check_space(size: int) -> None:
    """Without space the first write would kill the process; ask before, where one can."""
    folder = Path("/dev/shm")  # noqa: S108  where Linux keeps shared memory
    if folder.is_dir() and hasattr(os, "statvfs"):
        found = os.statvfs(folder)
        free = found.f_bavail * found.f_frsize
        if free < size:
            raise OutOfMemoryError(
                f"a batch needs {size} bytes of shared memory, and {free} are free",
                f"a worker process of a DataLoader, which writes to {folder}",
                "make it larger (docker: --shm-size), or pass smaller batches, a smaller "
                "prefetch_factor, fewer workers or num_workers=0",
            )


# ---- in the parent --------------------------------------------------------------------------
class _Reader(pickle.Unpickler):
    """Puts arrays where `_Writer` left facts."""

    def __init__(self, body: bytes, arrived: Callable[..., Any]) -> None:
        super().__init__(io.BytesIO(body))
        self.arrived = arrived

    def find_class(self, module: str, name: str) -> Any:
        """As usual, but for arrays."""
        if module == __name__ and name == "_arrived":
            return self.arrived
        return super().find_class(module, name)


class Inbox:
    """The parent's side: one for each worker.

    Parameters
    ----------
    prefix
        As the worker's.
    slots
        How many there are.
    """

    def __init__(self, prefix: str, slots: int) -> None:
        self.prefix, self.slots = prefix, slots
        self._segments: dict[int, SharedMemory] = {}
        self._seen: dict[int, int] = {}

    def accept(self, parcel: Parcel) -> None:
        """Take over a new segment; to be called for every parcel, in order."""
        if parcel.segment is None:
            return
        segment = SharedMemory(parcel.segment)
        segment.unlink()
        old = self._segments.get(parcel.slot)
        self._segments[parcel.slot] = segment
        self._seen[parcel.slot] = self._seen.get(parcel.slot, 0) + 1
        if old is not None:
            old.close()

    def unpack(self, parcel: Parcel, place: Place, pin: bool = False) -> Any:
        """The value, in memory of its own; `place(name)` is where Tensors of a device go.

        With `pin`, Tensors of the host come in page-locked memory where there is any.
        """
        memory: Any = parcel.memory
        if memory is None:
            memory = self._segments[parcel.slot].buf
        body = parcel.body
        if not isinstance(body, bytes):
            start, length = body
            body = bytes(memory[start : start + length])

        def arrived(*told: Any) -> Any:
            return _rebuilt(_Facts(*told), memory, place, pin)

        try:
            return _Reader(body, arrived).load()
        except BaseException as error:
            traceback.clear_frames(error.__traceback__)  # a view there would outlive its memory
            raise

    def close(self) -> None:
        """Let go of the memory, and remove names that the worker told to nobody; it has ended."""
        while self._segments:
            self._segments.popitem()[1].close()
        for slot in range(self.slots):
            number = self._seen.get(slot, 0) + 1
            while _remove(_name(self.prefix, slot, number)):
                number += 1


def _rebuilt(facts: _Facts, memory: Any, place: Place, pin: bool) -> Any:
    """The array or Tensor that the facts are about, copied out of the memory."""
    view: Host = np.ndarray(facts.shape, facts.dtype, memory, facts.offset)
    if facts.cls is None:
        return view.copy()
    device = place(facts.device)
    kernels = kernels_for(device, facts.dtype, "a batch of a DataLoader")
    array = page_locked(view) if pin and device == "cpu" else None
    if array is None:
        array = kernels.backend.from_numpy(view, device)
    made = new_tensor(array, kernels, facts.cls)
    made.tracked = facts.tracked
    return made


def _remove(name: str) -> bool:
    """Remove a segment's name, if there is such a segment."""
    with contextlib.suppress(FileNotFoundError):
        segment = SharedMemory(name)
        segment.close()
        segment.unlink()
        return True
    return False
