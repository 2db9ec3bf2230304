"""Differentiation: PyTorch's `torch.autograd` and `torch.func` names, on any array library."""

from __future__ import annotations

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
