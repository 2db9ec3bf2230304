"""One epoch with worker processes: who fetches which batch, and in which order they come out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from polygrad.data.pool import Pool, raise_failure
from polygrad.data.service import ADVANCE, BATCH, END, FETCH, Order, Reply
from polygrad.data.transport import Place
from polygrad.device import Device
from polygrad.errors import WorkerError
from polygrad.registry import default_device

__all__ = ["Epoch"]

_NO_MORE = object()


class Epoch:
    """An iterator over the batches of one epoch.

    Batch i is fetched by worker i modulo their number, so that what depends on a worker's random
    numbers repeats; with `in_order=False` the worker that is done gets the next.

    Parameters
    ----------
    pool
        The workers.
    keys
        Indices or lists of them; None: each worker has a stream of its own.
    seed
        Of the workers' random numbers.
    device
        Where Tensors go; None: from the workers' CPU to the default device.
    in_order
        Whether batches come out in the order of the keys.
    keep
        Whether the workers outlive the epoch.
    pin
        Whether Tensors of the host come in page-locked memory.
    """

    def __init__(
        self,
        pool: Pool,
        keys: Iterator[Any] | None,
        seed: int,
        *,
        device: Device | None,
        in_order: bool,
        keep: bool,
        pin: bool = False,
    ) -> None:
        self._pin = pin
        self._pool, self._keys, self._in_order, self._keep = pool, keys, in_order, keep
        self._device, self._default = device, default_device()
        self._turns: deque[int] = deque()  # who owes a batch, the oldest first
        self._asked = [0] * len(pool)
        self._ended: set[int] = set()
        self._held: tuple[int, str, Any] | None = None
        self._broken: Exception | None = None
        self._over = False
        self._ahead = (device or self._default).kind != "cpu"
        try:
            self._number = pool.begin(seed)
            for _ in range(pool.slots):
                for worker in range(len(pool)):
                    self._ask(worker)
        except BaseException:
            pool.close()
            raise

    def __iter__(self) -> Epoch:
        """Itself."""
        return self

    def __next__(self) -> Any:
        """The next batch.

        Raises
        ------
        WorkerError, WorkerTimeoutError
            As `Pool.receive`; and what a worker failed with, with the worker's traceback as a note.
            After an error there are no more batches, and the workers are gone.
        """
        if self._over:
            raise StopIteration
        try:
            return self._next()
        except StopIteration:
            self._finish()
            raise
        except BaseException:
            self._over = True
            self._pool.close()
            raise

    def _next(self) -> Any:
        if self._pool.epoch != self._number:
            raise WorkerError(
                "this iterator is out of date", "DataLoader with persistent_workers=True",
                "use one iterator at a time: a new one takes over the workers",
            )  # fmt: skip
        found = self._held or self._take(wait=True)
        if found is None:
            raise self._broken or StopIteration
        worker, kind, value = found
        if kind != BATCH:
            raise_failure(worker, value)
        # The next batch, if it has come, goes to the device while that computes on this one.
        self._held = self._take(wait=False) if self._ahead else None
        return value

    def _take(self, *, wait: bool) -> tuple[int, str, Any] | None:
        """A worker and what it delivered, after it was asked for more; None: nothing there."""
        while self._turns:
            whose = [self._turns[0]] if self._in_order else dict.fromkeys(self._turns)
            found = self._pool.receive(whose, wait)
            if found is None:
                return None
            worker, reply = found
            self._turns.remove(worker)
            if reply.kind == END:
                self._ended.add(worker)
                continue
            value = self._unpack(worker, reply)
            self._ask(worker)
            return worker, reply.kind, value
        return None

    def _unpack(self, worker: int, reply: Reply) -> Any:
        target, default = self._device, self._default
        place: Place = lambda name: target or (default if name == "cpu" else Device(name))
        return self._pool.unpack(worker, reply, place, self._pin)

    def _ask(self, worker: int) -> None:
        """Ask a worker for one batch more, if there is one."""
        kind, key = ADVANCE, None
        if self._keys is not None:
            kind, key = FETCH, self._next_key(self._keys)
            if key is _NO_MORE:
                return
        elif worker in self._ended:
            return
        slot = self._asked[worker] % self._pool.slots
        self._pool.send(worker, Order(kind, self._number, slot, key))
        self._asked[worker] += 1
        self._turns.append(worker)

    def _next_key(self, keys: Iterator[Any]) -> Any:
        """A sampler that fails does so when its batch would come, as it does without workers."""
        try:
            return next(keys, _NO_MORE)
        except Exception as error:  # noqa: BLE001  it is raised after the batches before
            self._broken, self._keys = error, iter(())
            return _NO_MORE

    def _finish(self) -> None:
        self._over = True
        if not self._keep:
            self._pool.close()
