"""Optimisers and schedules: PyTorch's `torch.optim`, each update rule a function of arrays."""

from __future__ import annotations

import importlib
from typing import Any

from polygrad.optim.adafactor import Adafactor
from polygrad.optim.adam import Adam, Adamax, AdamW, Lion, NAdam, RAdam
from polygrad.optim.algorithms import ASGD, SGD, Adadelta, Adagrad, RMSprop, Rprop
from polygrad.optim.lbfgs import LBFGS
from polygrad.optim.muon import Muon
from polygrad.optim.optimizer import Optimizer

# These register the kernel points.
from polygrad.optim import lr_scheduler, rules, shaped_rules  # isort: skip

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Lion",
    "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler", "rules",
    "shaped_rules", "swa_utils",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """`swa_utils` is imported when it is first used: it needs `polygrad.nn`."""
    if name == "swa_utils":
        return importlib.import_module("polygrad.optim.swa_utils")
    from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

    raise missing(__name__, name)
