"""From keys to batches: what the loader does in this process, and what its workers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from polygrad.data.collate import default_collate
from polygrad.data.dataset import collated, fetch

__all__ = ["Collate", "Fetcher"]

Collate = Callable[[list[Any]], Any]


@dataclass(frozen=True)
class Fetcher:
    """How batches are made of a dataset.

    Attributes
    ----------
    dataset
        With items by index, or a stream.
    collate
        Makes a batch of a list of items; where there are no batches, something of an item.
    batched
        Whether a key is a list of indices.
    size, drop_last
        Of the batches of a stream; size None: its items one by one.
    """

    dataset: Any
    collate: Collate
    batched: bool
    size: int | None
    drop_last: bool

    def batch(self, key: Any) -> Any:
        """What the loader yields for one key: an index, or a list of indices."""
        if not self.batched:
            return self.collate(self.dataset[key])
        made = collated(self.dataset, key) if self.collate is default_collate else None
        return self.collate(fetch(self.dataset, key)) if made is None else made

    def stream(self) -> Iterator[Any]:
        """What the loader yields of a stream."""
        items, size = iter(self.dataset), self.size
        if size is None:
            for item in items:
                yield self.collate(item)
            return
        while batch := list(islice(items, size)):
            if len(batch) == size or not self.drop_last:
                yield self.collate(batch)
