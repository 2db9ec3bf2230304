"""Samplers: in which order, and in which batches, a dataset's indices are visited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, islice
from typing import Any

import numpy as np

from polygrad import random
from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.tensor import Tensor

__all__ = [
    "BatchSampler", "DistributedSampler", "RandomSampler", "Sampler", "SequentialSampler",
    "SubsetRandomSampler", "WeightedRandomSampler", "positive",
]  # fmt: skip


def positive(where: str, name: str, value: Any) -> int:
    """`value`, if it is an int above 0.

    Raises
    ------
    InvalidArgumentError
    """
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise InvalidArgumentError(
            f"{name} is {value!r}", f"{where}, argument {name}", "it is an int above 0"
        )
    return value


class Sampler:
    """Base of orders: a subclass defines `__iter__`, and `__len__` where it is known."""

    def __iter__(self) -> Iterator[Any]:
        """The indices, or lists of them."""
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")


class SequentialSampler(Sampler):
    """The indices in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        """In order."""
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        """All items."""
        return len(self.data_source)


class RandomSampler(Sampler):
    """All items in random order, or `num_samples` drawn.

    Parameters
    ----------
    data_source
        With a length.
    replacement
        Whether an item may be drawn again.
    num_samples
        How many; all, if not given. Without replacement several orders follow one another.
    generator
        The default one if not given. One given here goes on from epoch to epoch.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: random.Generator | None = None,
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._count = num_samples
        if num_samples is not None:
            positive("RandomSampler", "num_samples", num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has."""
        return len(self.data_source) if self._count is None else self._count

    def __iter__(self) -> Iterator[int]:
        """A new order each time, drawn at once."""
        n, count = len(self.data_source), self.num_samples
        if not n:
            return iter(())
        if self.replacement:
            drawn = random.integers(0, n, (count,), device="cpu", generator=self.generator)
            return iter(drawn.tolist())
        orders = [
            random.permutation(n, device="cpu", generator=self.generator).tolist()
            for _ in range(-(-count // n))
        ]
        return islice(chain.from_iterable(orders), count)

    def __len__(self) -> int:
        """The number of samples."""
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some indices, in random order."""

    def __init__(
        self, indices: Sequence[int], generator: random.Generator | None = None
    ) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        """A new order each time."""
        n = len(self.indices)
        order = random.permutation(n, device="cpu", generator=self.generator).tolist() if n else []
        return (self.indices[i] for i in order)

    def __len__(self) -> int:
        """All of them."""
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with given weights, which need not sum to 1.

    The draw is that of `pg.random.multinomial`.

    Raises
    ------
    InvalidArgumentError
        Weights that are negative, not finite or all zero; too few that are positive.
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: random.Generator | None = None,
    ) -> None:
        values = weights.tolist() if isinstance(weights, Tensor) else list(weights)
        self.weights = np.asarray(values, dtype=np.float64)
        self.num_samples = positive("WeightedRandomSampler", "num_samples", num_samples)
        self.replacement, self.generator = replacement, generator
        usable = int((self.weights > 0).sum())
        legal = np.isfinite(self.weights) & (self.weights >= 0)
        if self.weights.ndim != 1 or not legal.all():
            raise InvalidArgumentError(
                "weights are finite numbers, at least 0, in one row",
                "WeightedRandomSampler, argument weights", "correct them",
            )  # fmt: skip
        if usable < (1 if replacement else num_samples):
            raise InvalidArgumentError(
                f"{num_samples} samples from {usable} items of positive weight",
                "WeightedRandomSampler", "draw fewer, or with replacement=True",
            )  # fmt: skip

    def __iter__(self) -> Iterator[int]:
        """A new draw each time."""
        drawn = random.multinomial(
            self.weights, self.num_samples, self.replacement, device="cpu",
            generator=self.generator,
        )  # fmt: skip
        return iter(drawn.tolist())

    def __len__(self) -> int:
        """The number of samples."""
        return self.num_samples


class DistributedSampler(Sampler):
    """The part of a dataset that one of several processes takes, which all draw the same order.

    Each gets the same number of indices: where they do not divide evenly the first of the order
    come again, or with `drop_last` the last are left out.

    Parameters
    ----------
    dataset
        With a length.
    num_replicas, rank
        How many processes there are, and which this is, from 0.
    shuffle
        Whether the order is random, another one for each epoch.
    seed
        Of the random order, the same in all processes.
    drop_last
        Leave out what does not divide evenly.

    Raises
    ------
    InvalidArgumentError
        A number out of its domain.

    >>> [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int,
        rank: int,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.dataset, self.shuffle, self.seed, self.drop_last = dataset, shuffle, seed, drop_last
        self.num_replicas = positive("DistributedSampler", "num_replicas", num_replicas)
        given: Any = rank
        if not isinstance(given, int) or not 0 <= given < num_replicas:
            raise InvalidArgumentError(
                f"rank is {rank!r}", "DistributedSampler, argument rank",
                f"it is an int from 0 to {num_replicas - 1}, another one in each process",
            )  # fmt: skip
        self.rank, self.epoch = rank, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order: to be called before each epoch, with the same number everywhere."""
        self.epoch = epoch

    @property
    def num_samples(self) -> int:
        """How many indices each process gets."""
        n, parts = len(self.dataset), self.num_replicas
        return n // parts if self.drop_last else -(-n // parts)

    def __iter__(self) -> Iterator[int]:
        """The part of this process in the order of this epoch."""
        n, total = len(self.dataset), self.num_samples * self.num_replicas
        order = list(range(n))
        if self.shuffle and n:
            # A child seed: seed + epoch would make epochs of one seed those of another.
            parent = random.Generator(self.seed)
            parent.set_state(parent.get_state()._replace(children=self.epoch))
            generator = random.Generator(parent.child_seed())
            order = random.permutation(n, device="cpu", generator=generator).tolist()
        return (order[i % n] for i in range(self.rank, total, self.num_replicas))

    def __len__(self) -> int:
        """How many indices each process gets."""
        return self.num_samples


class BatchSampler(Sampler):
    """Batches of what another sampler yields.

    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(drop_last, bool):
            raise InvalidTypeError(
                f"drop_last is a bool, not {drop_last!r}", "BatchSampler, argument drop_last"
            )
        self.sampler, self.drop_last = sampler, drop_last
        self.batch_size = positive("BatchSampler", "batch_size", batch_size)

    def __iter__(self) -> Iterator[list[Any]]:
        """Lists of indices."""
        return self._batches(iter(self.sampler))

    def _batches(self, indices: Iterator[Any]) -> Iterator[list[Any]]:
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        """The number of batches."""
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
