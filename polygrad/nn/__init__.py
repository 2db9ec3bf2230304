"""Layers, losses and what they are made of: PyTorch's `torch.nn`, with `axis=` for `dim=`."""

from __future__ import annotations

from polygrad.nn.container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter

__all__ = [
    "Module", "ModuleDict", "ModuleList", "Parameter", "ParameterDict", "ParameterList", "Sequential",
]  # fmt: skip
