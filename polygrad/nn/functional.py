"""Functions of neural networks, with PyTorch's names and arguments, and `axis=` for `dim=`."""

from __future__ import annotations

from typing import Any

from polygrad.families import OPERATIONS
from polygrad.ops.linear_algebra import linear

__all__ = ["linear"]

globals().update(
    {op.function.__name__: op.function for op in OPERATIONS.values() if op.space == "nn.functional"}
)
globals()["tanh"] = OPERATIONS["tanh"].function


def __getattr__(name: str) -> Any:
    """For type checkers: the rest comes from the registry."""
    raise AttributeError(f"module 'polygrad.nn.functional' has no attribute {name!r}")
