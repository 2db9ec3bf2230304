"""Datasets, samplers and loaders: PyTorch's `torch.utils.data`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad.data.collate import default_collate
from polygrad.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from polygrad.data.loader import DataLoader
from polygrad.data.sampler import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from polygrad.data.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
    "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "WorkerInfo",
    "default_collate", "get_worker_info", "random_split",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names of PyTorch that are called otherwise: the error says how."""
        from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

        raise missing(__name__, name)
