"""Differentiation: PyTorch's `torch.autograd` and `torch.func` names, on any array library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad.autograd.checkpointing import checkpoint
from polygrad.autograd.derivatives import hvp, jvp, vjp
from polygrad.autograd.function import Function
from polygrad.autograd.gradcheck import gradcheck, gradgradcheck
from polygrad.autograd.jacobians import hessian, jacobian
from polygrad.autograd.recorders import detect_anomaly, saved_tensors_hooks
from polygrad.gradients import backward, grad

__all__ = [
    "Function", "backward", "checkpoint", "detect_anomaly", "grad", "gradcheck", "gradgradcheck",
    "hessian", "hvp", "jacobian", "jvp", "saved_tensors_hooks", "vjp",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names of PyTorch that are called otherwise: the error says how."""
        from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

        raise missing(__name__, name)
