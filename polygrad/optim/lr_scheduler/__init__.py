"""Learning-rate schedules: PyTorch's `torch.optim.lr_scheduler`."""

from __future__ import annotations

from polygrad.optim.lr_scheduler.base import LRScheduler
from polygrad.optim.lr_scheduler.composite import ChainedScheduler, SequentialLR
from polygrad.optim.lr_scheduler.cyclic import CyclicLR, OneCycleLR
from polygrad.optim.lr_scheduler.decay import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from polygrad.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
