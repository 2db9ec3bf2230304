"""The life of a worker process: it receives orders, fetches batches, and replies."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random as python_random
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection as connections
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np

from polygrad import random
from polygrad.config import enable_grad, set_default_dtype
from polygrad.data.fetching import Fetcher
from polygrad.data.transport import Outbox, Parcel
from polygrad.data.worker import WorkerInfo, become
from polygrad.registry import device

__all__ = ["Failure", "Job", "Order", "Reply", "Sealed", "serve"]

BEGIN, FETCH, ADVANCE, STOP = "begin", "fetch", "advance", "stop"
BATCH, END, FAILED = "batch", "end", "failed"
_LOOK_ROUND = 5.0  # seconds between looks whether the parent is there


class Order(NamedTuple):
    """What the parent asks for: to begin an epoch, a key's batch, a stream's next, to stop."""

    kind: str
    epoch: int
    slot: int = 0
    key: Any = None


class Reply(NamedTuple):
    """What a worker answers: a batch, the end of its stream, or a Failure."""

    kind: str
    epoch: int
    parcel: Parcel


class Failure(NamedTuple):
    """An exception that happened elsewhere.

    Attributes
    ----------
    name, text
        Its type, and what `str` gives of it.
    doing
        What was being done.
    trace
        Its traceback, printed.
    pickled
        The exception itself, if it can be rebuilt.
    """

    name: str
    text: str
    doing: str
    trace: str
    pickled: bytes | None


class Sealed:
    """A value on its way to a new process: unpickled there only where a failure can be told."""

    def __init__(self, value: Any) -> None:
        self._value, self._data = value, b""

    def __getstate__(self) -> bytes:
        """The value, pickled for a process that is about to start."""
        return bytes(ForkingPickler.dumps(self._value))

    def __setstate__(self, data: bytes) -> None:
        """Keep it sealed."""
        self._value, self._data = None, data

    def open(self) -> Any:
        """The value."""
        return pickle.loads(self._data) if self._data else self._value  # noqa: S301  from the parent


@dataclass(frozen=True)
class Job:
    """What a worker is told when it starts.

    Attributes
    ----------
    number, count
        Which it is, and how many there are.
    work
        The Fetcher and worker_init_fn.
    dtype
        The default dtype of the parent.
    prefix, inline
        For its Outbox.
    """

    number: int
    count: int
    work: Sealed
    dtype: np.dtype[Any]
    prefix: str
    inline: int


def serve(job: Job, connection: Connection, inherited: list[Connection]) -> None:
    """Be a worker until told to stop, or until the parent has gone.

    Parameters
    ----------
    job
        What to do.
    connection
        To the parent.
    inherited
        The parent's ends of connections, which a forked process must close.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_die_with_the_parent, args=(os.getppid(),), daemon=True).start()
    for other in inherited:
        other.close()
    outbox = Outbox(job.prefix, job.inline)
    try:
        with device("cpu"), enable_grad():
            _Worker(job, connection, outbox).run()
    except (EOFError, ConnectionError):
        pass  # the parent has gone
    finally:
        outbox.close()


def _die_with_the_parent(parent: int) -> None:
    """End this process once the parent was killed, whatever it is doing.

    Python's sentinel tells, unless a process that was forked elsewhere holds its other end, too.
    """
    process = multiprocessing.parent_process()
    assert process is not None  # noqa: S101  for the type checker
    while not connections.wait([process.sentinel], _LOOK_ROUND):
        if os.getppid() != parent:
            break
    os._exit(1)


class _Worker:
    def __init__(self, job: Job, connection: Connection, outbox: Outbox) -> None:
        self.job, self.connection, self.outbox = job, connection, outbox
        self.orders: deque[Order] = deque()
        self.epoch = 0
        self.seed = 0
        self.failure: Failure | None = None
        self.fetcher: Fetcher | None = None
        self.stream: Iterator[Any] | None = None

    def run(self) -> None:
        """Carry out orders as they come."""
        set_default_dtype(self.job.dtype)
        while self.receive():
            order = self.orders.popleft()
            if order.kind == BEGIN:
                self.begin(order)
                continue
            kind, value = self.outcome(order)
            try:
                parcel = self.outbox.pack(order.slot, value)
            except Exception as error:  # noqa: BLE001  it is raised in the parent
                kind = FAILED
                parcel = self.outbox.pack(order.slot, _describe(error, "packing a batch"))
            self.connection.send(Reply(kind, self.epoch, parcel))

    def receive(self) -> bool:
        """Take in what was ordered, waiting if nothing is; False: stop.

        A new epoch makes older orders void.
        """
        while not self.orders or self.connection.poll():
            order: Order = self.connection.recv()
            if order.kind == STOP:
                return False
            if order.kind == BEGIN:
                self.orders.clear()
            self.orders.append(order)
        return True

    def begin(self, order: Order) -> None:
        """An epoch with a seed of its own. What fails is told in reply to the orders after."""
        self.epoch, self.stream = order.epoch, None
        self.seed = (order.key + self.job.number) % 2**64
        _seed_all(self.seed)
        try:
            self.prepare()
        except Exception as error:  # noqa: BLE001  it is raised in the parent
            self.failure = _describe(error, "starting")

    def prepare(self) -> None:
        """Unpack the dataset, say who this is, call worker_init_fn."""
        first = self.fetcher is None
        init: Callable[[int], Any] | None = None
        if first:
            self.fetcher, init = self.job.work.open()
        assert self.fetcher is not None  # noqa: S101  for the type checker
        become(WorkerInfo(self.job.number, self.job.count, self.seed, self.fetcher.dataset))
        if init is not None:
            init(self.job.number)

    def outcome(self, order: Order) -> tuple[str, Any]:
        """What an order leads to: the kind of reply, and what it holds."""
        if self.failure is not None or self.fetcher is None:
            return FAILED, self.failure
        try:
            if order.kind == FETCH:
                return BATCH, self.fetcher.batch(order.key)
            if self.stream is None:
                self.stream = self.fetcher.stream()
            for batch in self.stream:
                return BATCH, batch
        except Exception as error:  # noqa: BLE001  it is raised in the parent
            key = "" if order.key is None else f" of {short(order.key)}"
            return FAILED, _describe(error, f"fetching a batch{key}")
        return END, None


def _describe(error: Exception, doing: str) -> Failure:
    cls = type(error)
    name = cls.__qualname__
    if cls.__module__ != "builtins":
        name = f"{cls.__module__}.{name}"
    trace = "".join(traceback.format_exception(error))
    return Failure(name, str(error), doing, trace, _pickled(error))


def _pickled(error: Exception) -> bytes | None:
    """The exception, if what comes out of the pickle says the same."""
    try:
        data = pickle.dumps(error)
        twin = pickle.loads(data)  # noqa: S301  it was made the line before
        return data if type(twin) is type(error) and str(twin) == str(error) else None
    except Exception:  # noqa: BLE001  whatever its own methods raise: it cannot be rebuilt
        return None


def _seed_all(seed: int) -> None:
    """Start polygrad's, Python's and NumPy's own random numbers."""
    random.manual_seed(seed)
    python_random.seed(seed)
    words = np.random.SeedSequence(seed).generate_state(4)
    np.random.seed(words)  # noqa: NPY002  for datasets that draw from it
