"""What a dataset may ask about the worker process that it runs in."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "current", "get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """One of the worker processes of a DataLoader.

    Attributes
    ----------
    id, num_workers
        Which it is, from 0, and how many there are.
    seed
        The seed of its random numbers.
    dataset
        Its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


current: ContextVar[WorkerInfo | None] = ContextVar("polygrad.data.worker", default=None)


def get_worker_info() -> WorkerInfo | None:
    """The worker process that this runs in; None in the main process.

    >>> get_worker_info() is None
    True
    """
    return current.get()
