"""CuPy's streams, graphs and memory, as `polygrad.accelerator` and `polygrad.capture` want them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import cupy

from polygrad.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np

    from polygrad.lanes import Numbers

__all__ = ["Lane", "Recording", "copied_between", "memory_stats", "recording"]


class Lane:
    """A stream of one GPU."""

    def __init__(self, index: int, native: Any = None) -> None:
        self.index = index
        with cupy.cuda.Device(index):
            self.native = cupy.cuda.Stream(non_blocking=True) if native is None else native

    def enter(self) -> None:
        """Make it the current stream, after what the current one was given before."""
        with cupy.cuda.Device(self.index):
            stream = self.native
            stream.wait_event(cupy.cuda.get_current_stream().record())
            stream.__enter__()

    def leave(self) -> None:
        """Back to the stream before."""
        with cupy.cuda.Device(self.index):
            stream = self.native
            stream.__exit__(None, None, None)

    def join(self) -> None:
        """Let the current stream wait for what this one was given."""
        with cupy.cuda.Device(self.index):
            stream = self.native
            cupy.cuda.get_current_stream().wait_event(stream.record())

    def wait(self) -> None:
        """Let the host wait."""
        with cupy.cuda.Device(self.index):
            stream = self.native
            stream.synchronize()


def copied_between(array: Any, source: int, target: int) -> Any | None:
    """A copy of an array of one GPU on another, by their direct path; None if there is none.

    The copy belongs to the target's stream. CuPy orders it neither after what is still to be done
    on the source's stream, nor what comes there next (which may be given the memory of a temporary
    copy): two events do.
    """
    if not cupy.cuda.runtime.deviceCanAccessPeer(target, source):
        return None
    with cupy.cuda.Device(source):
        array = cupy.ascontiguousarray(array)
        ready = cupy.cuda.get_current_stream().record()
    with cupy.cuda.Device(target):
        stream = cupy.cuda.get_current_stream()
        stream.wait_event(ready)
        made = cupy.array(array, order="C")
        done = stream.record()
    with cupy.cuda.Device(source):
        cupy.cuda.get_current_stream().wait_event(done)
    return made


def memory_stats(index: int) -> dict[str, int]:
    """What CuPy's default pool holds of a GPU, and what the driver says."""
    with cupy.cuda.Device(index) as device:
        pool = cupy.get_default_memory_pool()
        free, total = device.mem_info
        known = {"used": pool.used_bytes(), "cached": pool.free_bytes()}
        if pool.get_limit():
            known["limit"] = pool.get_limit()
        return {name: int(size) for name, size in known.items()} | {
            "free": int(free), "total": int(total),
        }  # fmt: skip


class Recording:
    """A CUDA graph, and the memory pools that its arrays live in as long as it does.

    What a replay is to find in memory (`place`) cannot be copied there while operations are
    recorded: it is copied before the next replay. Memory for it comes from a pool of its own: in
    the other one it could be that of a temporary array, which the graph fills again at each replay.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        with cupy.cuda.Device(index):
            self.pool, self.placed = cupy.cuda.MemoryPool(), cupy.cuda.MemoryPool()
        self.graph: Any = None
        self.numbers: list[Numbers] = []
        self._kept: list[Any] = []
        self._due: list[tuple[Any, np.ndarray[Any, Any]]] = []

    def replay(self) -> None:
        """Copy what is due, and launch it on the current stream."""
        with cupy.cuda.Device(self.index):
            for target, values in self._due:
                target[...] = cupy.array(values)
            self._due.clear()
            self.graph.launch()

    def place(self, values: np.ndarray[Any, Any]) -> Any:
        """An array that holds these values at each replay."""
        with cupy.cuda.Device(self.index), cupy.cuda.using_allocator(self.placed.malloc):
            made = cupy.empty(values.shape, dtype=values.dtype)
        self._kept.append(made)
        self.renew(made, values)
        return made

    def renew(self, target: Any, values: np.ndarray[Any, Any]) -> None:
        """Let it hold others."""
        self._due.append((target, values))

    def write(self, target: Any, value: Any) -> None:
        """Copy values into the memory of another array."""
        with cupy.cuda.Device(self.index):
            target[...] = value


@contextmanager
def recording(index: int) -> Iterator[Recording]:
    """Capture what is submitted within, on a stream and with a memory pool of its own.

    Whatever was submitted to the stream before has finished when it begins: memory that the capture
    reads must be there, and nothing that happens outside may be waited for inside.
    """
    made = Recording(index)
    with cupy.cuda.Device(index) as device:
        device.synchronize()
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream, cupy.cuda.using_allocator(made.pool.malloc):
            stream.begin_capture()
            try:
                yield made
            except (NotImplementedError, RuntimeError) as error:
                if "captur" not in str(error):
                    raise
                raise _broken_off(error) from error
            finally:
                made.graph = _ended(stream)


def _ended(stream: Any) -> Any:
    """The graph of a capture; the error of one that something forbidden has broken off."""
    try:
        return stream.end_capture()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise _broken_off(error) from error


def _broken_off(error: BaseException) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the capture was broken off: {error}", "cuda_graph",
        "let the step neither wait for the device nor copy to or from the host, and leave out what "
        "CuPy does not record: linalg, products of complex matrices",
    )  # fmt: skip
