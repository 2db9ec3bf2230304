"""The worker processes of a DataLoader, seen from the parent."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import secrets
import signal
import sys
import time
import weakref
from collections.abc import Iterable
from multiprocessing import connection as connections
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from polygrad import registry
from polygrad.config import default_dtype
from polygrad.data.service import BEGIN, STOP, Failure, Job, Order, Reply, Sealed, serve
from polygrad.data.transport import Inbox, Place
from polygrad.errors import (
    InvalidArgumentError,
    InvalidTypeError,
    WorkerError,
    WorkerTimeoutError,
)

__all__ = ["Pool", "choose_context"]

_GRACE = 1.0  # seconds that a worker has to finish what it is doing, once it is not needed any more
_PIPE = 32768  # bytes of replies that wait in a pipe without stopping the worker


# ---- how to start a process -----------------------------------------------------------------
def choose_context(given: Any) -> Any:
    """The multiprocessing context: the one given, by name or itself, or what is safe here.

    Without one, spawn or forkserver is kept if the program has set it. Else processes are forked on
    Linux if no array library is in use that does not survive it, and spawned elsewhere. Threads do
    not count: that of a progress bar or a notebook would change how workers start.

    Raises
    ------
    InvalidArgumentError
        There is no such start method.
    """
    if given is None:
        chosen = multiprocessing.get_start_method(allow_none=True)
        if chosen not in ("spawn", "forkserver"):
            chosen = "spawn" if why_not_fork() else "fork"
        return multiprocessing.get_context(chosen)
    if not isinstance(given, str):
        return given
    known = multiprocessing.get_all_start_methods()
    if given not in known:
        raise InvalidArgumentError(
            f"there is no start method {given!r}", "DataLoader, argument multiprocessing_context",
            "pass one of " + ", ".join(known) + ", or a context",
        )  # fmt: skip
    return multiprocessing.get_context(given)


_SAFE = {"numpy", "polygrad"}  # libraries that are always there, and survive a fork


def why_not_fork() -> str:
    """Why this process should not be forked; an empty string if it may."""
    if sys.platform != "linux":
        return f"forking is not safe on {sys.platform}"
    loaded = {b.name: b.capabilities.survives_fork for b in registry.loaded()}
    unsafe = [name for name, survives in loaded.items() if not survives]
    # A library that somebody else imported has its threads too; its backend is not asked.
    unsafe += [
        e.name for e in registry.entries()
        if e.name not in loaded and not sys.modules.keys().isdisjoint({*e.libraries} - _SAFE)
    ]  # fmt: skip
    return f"the library of the backend {unsafe[0]!r} is in use" if unsafe else ""


# ---- the processes --------------------------------------------------------------------------
class _Handle(NamedTuple):
    """One worker: its process, the connection to it, what comes from it."""

    process: Any
    connection: Connection
    inbox: Inbox


class Pool:
    """Worker processes, until `close`, or until nobody refers to the pool.

    Parameters
    ----------
    work
        The Fetcher and worker_init_fn.
    count
        How many workers.
    slots
        How many batches each may owe.
    context
        Of multiprocessing.
    timeout
        Seconds to wait for a batch; 0: for ever.

    Raises
    ------
    InvalidTypeError
        The work cannot be pickled, and the start method needs that.
    """

    def __init__(self, work: Any, count: int, slots: int, context: Any, timeout: float) -> None:
        self.slots, self.timeout, self.epoch = slots, timeout, 0
        self._method = context.get_start_method()
        self._workers: list[_Handle] = []
        self._end = weakref.finalize(self, _end, self._workers, os.getpid())
        if os.name == "posix":
            # A forked worker must share the tracker of shared memory, not start one of its own.
            from multiprocessing import resource_tracker  # noqa: PLC0415  not there on Windows

            resource_tracker.ensure_running()
        try:
            for number in range(count):
                self._start(number, count, Sealed(work), context)
        except BaseException:
            self.close()
            raise

    def _start(self, number: int, count: int, work: Sealed, context: Any) -> None:
        ours, theirs = context.Pipe()
        forked = self._method == "fork"
        inherited = [*(worker.connection for worker in self._workers), ours] if forked else []
        prefix = f"pg{secrets.token_hex(4)}"
        job = Job(number, count, work, default_dtype(), prefix, min(4096, _PIPE // self.slots))
        process = context.Process(
            target=serve, args=(job, theirs, inherited), name=f"polygrad-worker-{number}",
            daemon=True,
        )  # fmt: skip
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            ours.close()
            if forked:
                raise
            raise _unpicklable(error, self._method) from error
        finally:
            theirs.close()
        self._workers.append(_Handle(process, ours, Inbox(prefix, self.slots)))

    def __len__(self) -> int:
        """How many workers."""
        return len(self._workers)

    @property
    def is_open(self) -> bool:
        """Whether the workers are there."""
        return self._end.alive

    def close(self) -> None:
        """End the workers: those that do not in a second are terminated."""
        self._end()

    # ---- orders and replies -----------------------------------------------------------------
    def begin(self, seed: int) -> int:
        """Start an epoch; its number. What older ones still owe is dropped."""
        self.epoch += 1
        for number in range(len(self)):
            self.send(number, Order(BEGIN, self.epoch, key=seed))
        return self.epoch

    def send(self, number: int, order: Order) -> None:
        """Tell a worker what to do."""
        try:
            self._workers[number].connection.send(order)
        except OSError as error:
            raise self._died(number) from error

    def receive(self, numbers: Iterable[int], wait: bool = True) -> tuple[int, Reply] | None:
        """The next reply of this epoch from any of some workers, and whose it is.

        With `wait=False`, None if there is none yet.

        Raises
        ------
        WorkerError
            A worker has died.
        WorkerTimeoutError
            Nothing came in time.
        """
        limit = time.monotonic() + self.timeout if self.timeout else None
        while True:
            number = self._ready(numbers, limit) if wait else self._ready_now(numbers)
            if number is None:
                return None
            handle = self._workers[number]
            try:
                reply: Reply = handle.connection.recv()
            except (EOFError, OSError) as error:
                if not wait:
                    return None  # who waits for it will be told
                raise self._died(number) from error
            handle.inbox.accept(reply.parcel)
            if reply.epoch == self.epoch:
                return number, reply

    def _ready_now(self, numbers: Iterable[int]) -> int | None:
        for number in numbers:
            with contextlib.suppress(OSError):
                if self._workers[number].connection.poll():
                    return number
        return None

    def _ready(self, numbers: Iterable[int], limit: float | None) -> int:
        watched: dict[Any, int] = {}
        for number in numbers:
            watched[self._workers[number].connection] = number
            watched[self._workers[number].process.sentinel] = number
        left = None if limit is None else max(0.0, limit - time.monotonic())
        ready = connections.wait(list(watched), left)
        if not ready:
            who = ", ".join(str(n) for n in sorted(set(watched.values())))
            raise WorkerTimeoutError(
                f"no batch came within {self.timeout} seconds",
                f"DataLoader, worker process {who}", "pass a longer timeout, or make items faster",
            )  # fmt: skip
        found = [watched[thing] for thing in ready]
        spoke = [watched[thing] for thing in ready if not isinstance(thing, int)]
        number = (spoke or found)[0]
        if not spoke and not self._workers[number].connection.poll():
            raise self._died(number)
        return number

    def unpack(self, number: int, reply: Reply, place: Place, pin: bool) -> Any:
        """What a reply holds, with Tensors where `place` says; `pin`: in page-locked memory."""
        return self._workers[number].inbox.unpack(reply.parcel, place, pin)

    def _died(self, number: int) -> WorkerError:
        process = self._workers[number].process
        process.join(_GRACE)
        where = f"DataLoader, worker process {number} (pid {process.pid}, by {self._method})"
        return WorkerError(f"a worker process died: {_fate(process.exitcode)}", where, _ADVICE)


_ADVICE = (
    "what it wrote to the standard error may say more; pass num_workers=0 to see the error here"
)


def _fate(code: int | None) -> str:
    """What an exit code means."""
    if code is None:
        return "it closed its connection"
    if code >= 0:
        return (
            f"exit code {code} (a script whose workers are not forked needs "
            "`if __name__ == '__main__':` around its main part)"
        )
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
    reasons = {"SIGKILL": ": out of memory?", "SIGBUS": ": is shared memory, /dev/shm, full?"}
    return f"signal {name}{reasons.get(name, '')}"


def _unpicklable(error: Exception, method: str) -> InvalidTypeError:
    reason = why_not_fork()
    return InvalidTypeError(
        f"the dataset, collate_fn or worker_init_fn cannot be pickled: {error}",
        f"DataLoader, which starts its workers by {method}"
        + (f"; forking is not safe here: {reason}" if reason else ""),
        "define what they consist of at the top level of a module, or pass num_workers=0"
        + (' or, on Linux, multiprocessing_context="fork"' if sys.platform == "linux" else ""),
    )


def raise_failure(number: int, failure: Failure) -> None:
    """Raise what a worker failed with: the exception itself if it could be rebuilt."""
    where = f"worker process {number} of a DataLoader, {failure.doing}"
    error: Exception | None = None
    if failure.pickled is not None:
        with contextlib.suppress(Exception):
            error = pickle.loads(failure.pickled)  # noqa: S301  from our own worker
    if error is None or isinstance(error, StopIteration):
        error = WorkerError(f"{failure.name}: {failure.text}", where, "its traceback follows")
    error.add_note(f"In {where}:\n{failure.trace}")
    raise error


def _end(workers: list[_Handle], owner: int) -> None:
    """End processes and remove what they leave; only in the process that started them."""
    if os.getpid() != owner:
        return
    try:
        for worker in workers:
            _dismiss(worker.connection)
        limit = time.monotonic() + _GRACE
        for worker in workers:
            worker.process.join(max(0.0, limit - time.monotonic()))
    finally:
        for worker in workers:
            if worker.process.is_alive():
                worker.process.terminate()
        for worker in workers:
            worker.process.join(_GRACE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.process.close()
            worker.inbox.close()
        workers.clear()


def _dismiss(connection: Connection) -> None:
    """Say that nothing more is wanted, and hang up; without waiting for one who does not listen."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.set_blocking(connection.fileno(), False)
        connection.send(Order(STOP, 0))
    connection.close()
