"""DataLoader: a dataset in batches, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from polygrad import random
from polygrad.data.collate import default_collate
from polygrad.data.dataset import IterableDataset, collated, fetch
from polygrad.data.sampler import BatchSampler, RandomSampler, SequentialSampler, positive
from polygrad.errors import InvalidArgumentError, UnsupportedOperationError

__all__ = ["DataLoader"]

Collate = Callable[[list[Any]], Any]


def _itself(item: Any) -> Any:
    """An item that is not batched stays as it is."""
    return item


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
        0: this process fetches the items.
    collate_fn
        Makes a batch of a list of items; `default_collate` if not given.
    drop_last
        Leave out a last batch that is not full.
    generator
        Of the random order. The default stream is not touched by an epoch that is not shuffled.

    Raises
    ------
    InvalidArgumentError
        Arguments that exclude each other, or are out of their domain.

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
        drop_last: bool = False,
        *,
        generator: random.Generator | None = None,
    ) -> None:
        if num_workers != 0:
            if num_workers < 0:
                raise InvalidArgumentError(
                    f"num_workers is {num_workers!r}", "DataLoader, argument num_workers",
                    "it must be at least 0",
                )  # fmt: skip
            raise UnsupportedOperationError(
                f"worker processes are not there yet: num_workers={num_workers}",
                "DataLoader, argument num_workers", "pass num_workers=0",
            )  # fmt: skip
        self.dataset, self.num_workers, self.generator = dataset, num_workers, generator
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

    def __iter__(self) -> Iterator[Any]:
        """The batches of one epoch."""
        collate = self.collate_fn
        if self.is_stream:
            yield from self._stream()
        elif self.batch_sampler is not None:
            at_once = collate is default_collate
            for indices in self.batch_sampler:
                made = collated(self.dataset, indices) if at_once else None
                yield collate(fetch(self.dataset, indices)) if made is None else made
        else:
            for index in self.sampler or ():
                yield collate(self.dataset[index])

    def _stream(self) -> Iterator[Any]:
        items, size = iter(self.dataset), self.batch_size
        if size is None:
            for item in items:
                yield self.collate_fn(item)
            return
        while batch := list(islice(items, size)):
            if len(batch) == size or not self.drop_last:
                yield self.collate_fn(batch)

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
