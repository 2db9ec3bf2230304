"""Optimisers and schedules: PyTorch's `torch.optim`, each update rule a function of arrays."""

from __future__ import annotations

from polygrad.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from polygrad.optim.algorithms import ASGD, SGD, Adadelta, Adagrad, RMSprop, Rprop
from polygrad.optim.optimizer import Optimizer

from polygrad.optim import lr_scheduler, rules  # isort: skip  rules registers the kernel points

__all__ = [
    "ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "lr_scheduler", "rules",
]  # fmt: skip
