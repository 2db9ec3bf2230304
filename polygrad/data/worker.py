"""What a dataset may ask about the worker process that it runs in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "become", "get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """One of the worker processes of a DataLoader.

    Attributes
    ----------
    id, num_workers
        Which it is, from 0, and how many there are.
    seed
        The seed of its random numbers in this epoch: that of the epoch plus `id`.
    dataset
        Its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_here: list[WorkerInfo] = []  # of this process, for all of its threads; empty in the main process


def become(info: WorkerInfo) -> None:
    """Make this process that worker."""
    _here[:] = [info]


def get_worker_info() -> WorkerInfo | None:
    """The worker process that this runs in; None in the main process.

    >>> get_worker_info() is None
    True
    """
    return _here[0] if _here else None
