"""DataLoader: a dataset in batches, made in this process or by workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from itertools import islice
from typing import Any

from polygrad import random
from polygrad.data.collate import default_collate
from polygrad.data.dataset import IterableDataset
from polygrad.data.fetching import Collate, Fetcher
from polygrad.data.position import Counted, Position, read_state, set_back
from polygrad.data.sampler import BatchSampler, RandomSampler, SequentialSampler, positive
from polygrad.errors import InvalidArgumentError
from polygrad.ops.creation import to_place
from polygrad.registry import find_device
from polygrad.tensor import Tensor
from polygrad.transfer import pinned
from polygrad.tree import tree_map

__all__ = ["DataLoader"]


def _itself(item: Any) -> Any:
    """An item that is not batched stays as it is."""
    return item


def _pinned(x: Tensor) -> Tensor:
    """A tensor without history in page-locked memory; others stay where they are."""
    return x if x.requires_grad else pinned(x)


class DataLoader:
    """Iterates over a dataset in batches.

    Parameters
    ----------
    dataset
        Items by index, or an IterableDataset.
    batch_size
        Items in a batch; None: items one by one, as they are.
    shuffle
        A new random order in each epoch.
    sampler, batch_sampler
        An order of indices, or of lists of them, of one's own.
    num_workers
        How many processes fetch the items; 0: this one does. It changes neither the batches nor
        their order nor the random numbers of this process.
    collate_fn
        Makes a batch of a list of items; `default_collate` if not given.
    pin_memory
        Batches that stay on the host come in page-locked memory, where a library in use has any
        (CuPy), so that `to(device, non_blocking=True)` copies them while the host goes on. Needless
        with `device`: what goes there is staged in page-locked memory anyhow.
    drop_last
        Leave out a last batch that is not full; of a stream, that of each worker.
    timeout
        Seconds to wait for a batch of a worker; 0: for ever.
    worker_init_fn
        Called with its number in each worker when it starts, after its random numbers were seeded.
    multiprocessing_context
        "fork", "spawn", "forkserver" or a context of `multiprocessing`: how workers start. If not
        given: spawn or forkserver, if `multiprocessing.set_start_method` has set that; else fork on
        Linux, unless an array library is in use that does not survive it; else spawn, for which
        dataset and functions must be picklable.
    generator
        Of the random order and the workers' seeds. The default stream is not touched by an epoch
        that is not shuffled.
    prefetch_factor
        How many batches each worker fetches ahead; 2 if not given.
    persistent_workers
        Keep the workers from epoch to epoch, until the loader goes. Their random numbers are seeded
        anew all the same.
    in_order
        False: with workers, batches come as they are ready.
    device
        Where the Tensors of a batch go. If not given they stay where `collate_fn` makes them; those
        that a worker makes on the CPU come to the default device.

    Raises
    ------
    InvalidArgumentError
        Arguments that exclude each other, or are out of their domain.

    Notes
    -----
    Worker i's random numbers (polygrad's, Python's and NumPy's own) start from a seed of the epoch
    plus i. An exception of a worker is raised here, with the worker's traceback as a note; the
    epoch is over then, as it is without workers.

    `state_dict()` says where the latest epoch stands, `load_state_dict` makes the next one go on
    there: see Note [Positions].

    >>> [batch.shape for batch in DataLoader([1.0, 2.0, 3.0], batch_size=2)]
    [(2,), (1,)]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Collate | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: random.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        in_order: bool = True,
        device: Any = None,
    ) -> None:
        self.dataset, self.num_workers, self.generator = dataset, num_workers, generator
        self.pin_memory, self.timeout, self.worker_init_fn = pin_memory, timeout, worker_init_fn
        self.multiprocessing_context, self.in_order = multiprocessing_context, in_order
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self.device = None if device is None else find_device(device)
        self._pool: Any = None
        self._position: Position | None = None
        self._resume: Position | None = None
        self._check_workers()
        if num_workers and prefetch_factor is None:
            self.prefetch_factor = 2
        self.is_stream = isinstance(dataset, IterableDataset)
        _check(self.is_stream, bool(shuffle), sampler, batch_sampler, batch_size, drop_last)
        if sampler is None and not self.is_stream:
            sampler = SequentialSampler(dataset)
            if shuffle:
                sampler = RandomSampler(dataset, generator=generator)
        if batch_size is not None and batch_sampler is None:
            positive("DataLoader", "batch_size", batch_size)
            if not self.is_stream:
                batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore[arg-type]
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        batched = batch_sampler is not None or batch_size is not None
        self.collate_fn: Collate = collate_fn or (default_collate if batched else _itself)

    def _check_workers(self) -> None:
        """Refuse what is out of its domain, and what needs workers where there are none."""
        for name, least in (("num_workers", 0), ("prefetch_factor", 1), ("timeout", 0)):
            value = getattr(self, name)
            if value is None and name == "prefetch_factor":
                continue
            kinds = (int, float) if name == "timeout" else (int,)
            if not isinstance(value, kinds) or isinstance(value, bool) or not value >= least:
                raise InvalidArgumentError(
                    f"{name} is {value!r}", f"DataLoader, argument {name}",
                    f"it is {'a number' if name == 'timeout' else 'an int'}, at least {least}",
                )  # fmt: skip
        if not self.num_workers:
            for name in ("prefetch_factor", "persistent_workers", "multiprocessing_context"):
                if getattr(self, name):
                    raise InvalidArgumentError(
                        f"{name} is about worker processes, and there are none",
                        f"DataLoader, argument {name}", "pass num_workers=1 or more",
                    )  # fmt: skip

    def __iter__(self) -> Iterator[Any]:
        """The batches of one epoch. A random order is drawn here, not when the first batch is."""
        resumed, self._resume = self._resume, None
        generators = self._generators()
        begun = [generator.get_state() for generator in generators]
        position = resumed or Position(begun)
        skip = position.batches
        with nullcontext() if resumed is None else set_back(generators, resumed.begun):
            batches = self._epoch(skip)
        if self.is_stream:  # what comes next is not known before it has come
            position.batches = 0
        self._position = position
        made = Counted(batches, position)
        for _ in islice(made, skip if self.is_stream else 0):
            pass
        return made

    def _epoch(self, skip: int) -> Iterator[Any]:
        """The batches of one epoch; of a dataset with indices, without the first `skip`."""
        batched = self.batch_sampler is not None
        keys = None
        if not self.is_stream:
            every = iter(self.batch_sampler if batched else self.sampler)  # type: ignore[arg-type]
            keys = islice(every, skip, None)
        size, drop = self.batch_size, self.drop_last
        fetcher = Fetcher(self.dataset, self.collate_fn, batched, size, drop)
        if self.num_workers:
            return self._with_workers(fetcher, keys)
        return self._here(fetcher, keys)

    # ---- the position -------------------------------------------------------------------------
    def _generators(self) -> list[random.Generator]:
        """The default generator, and those that orders are drawn from, each once."""
        inner = getattr(self.batch_sampler, "sampler", None)
        given = (self, self.sampler, self.batch_sampler, inner)
        found = [random.default_generator, *(getattr(owner, "generator", None) for owner in given)]
        return list({id(g): g for g in found if isinstance(g, random.Generator)}.values())

    def state_dict(self) -> dict[str, Any]:
        """Where the latest epoch stands: what `pg.save` takes, and `load_state_dict`.

        Saved are the order of that epoch, how many of its batches have been handed out, and the
        generators that were given to the loader and its samplers; not the default generator, which
        `pg.random.get_state` has, and nothing of a dataset.

        >>> import polygrad as pg
        >>> loader = DataLoader(range(4), shuffle=True, generator=pg.Generator(0))
        >>> epoch = iter(loader)
        >>> first, state = next(epoch), loader.state_dict()
        >>> rest = [batch.item() for batch in epoch]
        >>> loader.load_state_dict(state)
        >>> [batch.item() for batch in loader] == rest, len(rest)
        (True, 3)
        """
        position = self._resume or self._position
        epoch = None
        if position is not None and not position.over:
            begun = [tuple(state) for state in position.begun]
            epoch = {"begun": begun, "batches": position.batches}
        generators = [tuple(generator.get_state()) for generator in self._generators()[1:]]
        return {"generators": generators, "epoch": epoch}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Make the next epoch go on where the saved one stood, without fetching what came before.

        The loader must be made with the same arguments, but may have another number of workers. The
        items of a stream have to be fetched, and are thrown away. What datasets draw from the
        random numbers of workers is not what it would have been.

        Raises
        ------
        InvalidTypeError, InvalidArgumentError
            It is no state of a loader, or of one with other generators.
        """
        generators = self._generators()
        states, self._resume = read_state(state_dict, len(generators) - 1)
        for generator, state in zip(generators[1:], states, strict=True):
            generator.set_state(state)
        self._position = None

    def _here(self, fetcher: Fetcher, keys: Iterator[Any] | None) -> Iterator[Any]:
        if keys is None:
            for batch in fetcher.stream():
                yield self._placed(batch)
        else:
            for key in keys:
                yield self._placed(fetcher.batch(key))

    def _placed(self, batch: Any) -> Any:
        if self.device is None and not self.pin_memory:
            return batch
        return tree_map(lambda x: self._place(x) if isinstance(x, Tensor) else x, batch)

    def _place(self, x: Tensor) -> Tensor:
        return _pinned(x) if self.device is None else to_place(x, None, self.device)

    def _with_workers(self, fetcher: Fetcher, keys: Iterator[Any] | None) -> Iterator[Any]:
        from polygrad.data.epoch import Epoch  # noqa: PLC0415  multiprocessing: only if needed
        from polygrad.data.pool import Pool, choose_context  # noqa: PLC0415

        seed = (self.generator or random.default_generator).child_seed()
        pool = self._pool
        if pool is None or not pool.is_open:
            context = choose_context(self.multiprocessing_context)
            work, slots = (fetcher, self.worker_init_fn), self.prefetch_factor
            pool = Pool(work, self.num_workers, slots, context, self.timeout)  # type: ignore[arg-type]
            self._pool = pool if self.persistent_workers else None
        return Epoch(
            pool, keys, seed, device=self.device, in_order=self.in_order,
            keep=self.persistent_workers, pin=self.pin_memory,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: all but the workers."""
        return {**self.__dict__, "_pool": None}

    def __len__(self) -> int:
        """The number of batches, where the dataset or sampler has a length."""
        if self.is_stream:
            n, size = len(self.dataset), self.batch_size
            if size is None:
                return n
            return n // size if self.drop_last else -(-n // size)
        return len(self.batch_sampler if self.batch_sampler is not None else self.sampler)  # type: ignore[arg-type]


def _check(
    stream: bool, shuffle: bool, sampler: Any, batch_sampler: Any, batch_size: Any, drop_last: bool
) -> None:
    """Refuse arguments that exclude each other."""
    problem = ""
    if stream and (shuffle or sampler is not None or batch_sampler is not None):
        problem = "a stream has no order to choose: no shuffle, sampler or batch_sampler"
    elif sampler is not None and shuffle:
        problem = "sampler and shuffle exclude each other"
    elif batch_sampler is not None and (
        batch_size != 1 or shuffle or sampler is not None or drop_last
    ):
        problem = "batch_sampler excludes batch_size, shuffle, sampler and drop_last"
    elif batch_size is None and batch_sampler is None and drop_last:
        problem = "without batches there is none to drop"
    if problem:
        raise InvalidArgumentError(problem, "DataLoader", "leave one of them out")
