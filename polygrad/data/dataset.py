"""Datasets: things with items, things to iterate over, and their combinations."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from polygrad import random
from polygrad.errors import InvalidArgumentError, InvalidTypeError, OutOfRangeError, ShapeError
from polygrad.tensor import Tensor

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset",
    "TensorDataset", "random_split",
]  # fmt: skip


class Dataset:
    """Items by index: a subclass defines `__getitem__`, and `__len__` for what needs a length.

    With `__getitems__(indices)` it may fetch the items of a batch at once; with
    `collated(indices)`, make at once what `default_collate` would make of them.
    """

    def __getitem__(self, index: Any) -> Any:
        """One item."""
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __add__(self, other: Dataset) -> ConcatDataset:
        """One dataset after the other."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Items that come in a stream: a subclass defines `__iter__`.

    In a worker process it looks at `get_worker_info()` to yield only its own part.
    """

    def __iter__(self) -> Iterator[Any]:
        """The items from the start."""
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")

    def __add__(self, other: Any) -> Any:
        """One stream after the other."""
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors taken apart along their first axis: item i is a tuple of their i-th parts.

    Raises
    ------
    ShapeError
        The first axes differ in length.

    >>> import polygrad as pg
    >>> data = TensorDataset(pg.zeros((3, 2)), pg.tensor([5, 6, 7]))
    >>> len(data), data[1][1]
    (3, tensor(6, dtype=int64))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors:
            raise InvalidArgumentError("there are no tensors", "TensorDataset", "pass one or more")
        if len({t.shape[:1] for t in tensors}) > 1 or not tensors[0].ndim:
            raise ShapeError(
                "the first axes differ: shapes " + ", ".join(str(t.shape) for t in tensors),
                "TensorDataset", "give all tensors the same number of items",
            )  # fmt: skip
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        """The parts at `index`."""
        return tuple(t[index] for t in self.tensors)

    def collated(self, indices: list[int]) -> list[Tensor]:
        """What collating the items at `indices` gives, taken at once."""
        return [t[indices] for t in self.tensors]

    def __len__(self) -> int:
        """The length of the first axes."""
        return self.tensors[0].shape[0]


class StackDataset(Dataset):
    """Datasets side by side: item i is a tuple of their items i; given keywords, a dictionary."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise InvalidArgumentError(
                "datasets come either by position or by keyword", "StackDataset",
                "pass one kind of them",
            )  # fmt: skip
        self.datasets: Any = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}
        if len(lengths) > 1:
            raise InvalidArgumentError(
                f"the datasets have {sorted(lengths)} items", "StackDataset",
                "give all the same length",
            )  # fmt: skip
        self.length = lengths.pop()

    def __getitem__(self, index: int) -> Any:
        """The items at `index`."""
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The items of a batch."""
        if isinstance(self.datasets, dict):
            rows = zip(*(fetch(d, indices) for d in self.datasets.values()), strict=True)
            return [dict(zip(self.datasets, row, strict=True)) for row in rows]
        return list(zip(*(fetch(d, indices) for d in self.datasets), strict=True))

    def __len__(self) -> int:
        """The length of each."""
        return self.length


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise InvalidArgumentError("there are no datasets", "ConcatDataset", "pass one or more")
        for d in self.datasets:
            if isinstance(d, IterableDataset):
                raise InvalidTypeError(
                    "a stream has no items by index", "ConcatDataset", "use ChainDataset"
                )
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        """The sum of the lengths."""
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        """The item, from the end if negative."""
        if not -len(self) <= index < len(self):
            raise OutOfRangeError(f"there is no item {index}", f"ConcatDataset of {len(self)}")
        index %= len(self)
        k = bisect_right(self.cumulative_sizes, index)
        return self.datasets[k][index - (self.cumulative_sizes[k - 1] if k else 0)]


class ChainDataset(IterableDataset):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        """The items of each in turn."""
        for d in self.datasets:
            yield from d

    def __len__(self) -> int:
        """The sum of the lengths, where all have one."""
        return sum(len(d) for d in self.datasets)


class Subset(Dataset):
    """The items of a dataset at some indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        """The item at the index-th of the indices; a list of items for a list."""
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The items of a batch."""
        return fetch(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        """How many indices."""
        return len(self.indices)


def collated(dataset: Any, indices: list[int]) -> Any:
    """The default batch of the items at `indices`, made at once; None if the dataset cannot."""
    while type(dataset) is Subset:
        indices, dataset = [dataset.indices[i] for i in indices], dataset.dataset
    if not indices or not hasattr(dataset, "collated"):
        return None
    return dataset.collated(indices)


def fetch(dataset: Any, indices: list[int]) -> list[Any]:
    """The items at `indices`, at once where the dataset can."""
    many = getattr(dataset, "__getitems__", None)
    return [dataset[i] for i in indices] if many is None else many(indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: random.Generator | None = None
) -> list[Subset]:
    """Divide a dataset at random into parts of the given lengths.

    Parameters
    ----------
    dataset
        With a length.
    lengths
        Numbers of items; or shares that sum to 1: the first parts get what rounding leaves.
    generator
        Of the random order; the default one if not given.

    Raises
    ------
    InvalidArgumentError
        The lengths do not sum to that of the dataset.

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total, counts = len(dataset), list(lengths)
    if math.isclose(sum(lengths), 1) and max(lengths) <= 1:
        whole = [math.floor(total * share) for share in lengths]
        for i in range(total - sum(whole)):
            whole[i % len(whole)] += 1
        counts = list(whole)
    if sum(counts) != total or min(counts, default=0) < 0:
        raise InvalidArgumentError(
            f"the lengths {list(lengths)} sum to {sum(lengths)}, the dataset has {total} items",
            "random_split, argument lengths",
            "give lengths that sum to it, or shares that sum to 1",
        )  # fmt: skip
    order = random.permutation(total, generator=generator, device="cpu").tolist()
    ends = list(accumulate(int(n) for n in counts))
    return [
        Subset(dataset, order[end - int(n) : end]) for n, end in zip(counts, ends, strict=True)
    ]
