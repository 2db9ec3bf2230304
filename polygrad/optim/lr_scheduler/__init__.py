"""Learning-rate schedules: PyTorch's `torch.optim.lr_scheduler`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names of PyTorch that are called otherwise: the error says how."""
        from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

        raise missing(__name__, name)
