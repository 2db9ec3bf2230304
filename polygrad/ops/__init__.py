"""The op tables, one module for each chapter of the array API standard, and polygrad's own.

The chapters of the main namespace are loaded with polygrad; those of a namespace of its own, such
as `polygrad.linalg`, when that is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from polygrad.families import operations_of

__all__ = ["CHAPTERS", "functions_of", "load_all"]

CHAPTERS = {
    "": (
        "creation", "data_type", "elementwise", "comparison", "statistical", "utility",
        "manipulation", "rearrangement", "filling", "spacing", "indexing", "padding", "searching",
        "sorting", "sets", "linear_algebra", "contraction", "special",
    ),
    "nn.functional": (
        "bilinear", "activation", "softmax", "normalization", "similarity", "convolution",
        "folding", "pooling", "adaptive_pooling", "dropout", "embedding",
        "recurrent_cells", "recurrent", "attention", "loss", "cross_entropy",
    ),
    "linalg": (
        "linalg_spectra", "linalg_factorizations", "linalg_solvers", "linalg_determinants",
        "linalg_products", "linalg_norms", "linalg_functions",
    ),
    "fft": ("fourier", "fourier_real", "fourier_trigonometric"),
    "special": ("special_gamma", "special_error"),
}  # fmt: skip


def functions_of(space: str = "") -> dict[str, Callable[..., Any]]:
    """The functions of a namespace by their names there; its chapters are imported first."""
    for chapter in CHAPTERS[space]:
        importlib.import_module(f"polygrad.ops.{chapter}")
    return {name: operation.function for name, operation in operations_of(space).items()}


def load_all() -> None:
    """Import every chapter: for whoever lists all operations, as tests and reports do."""
    for space in CHAPTERS:
        functions_of(space)


functions_of()
