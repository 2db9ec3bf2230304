"""The op tables, one module for each chapter of the array API standard, and polygrad's own.

The chapters of the standard are loaded with polygrad; those of a namespace of its own, such as
`polygrad.linalg`, when that is imported; those of the main namespace beyond the standard (`LATE`)
when one of their functions is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from polygrad.families import OPERATIONS, operations_of

__all__ = ["CHAPTERS", "LATE", "functions_of", "late_function", "load_all"]

CHAPTERS = {
    "": (
        "creation", "data_type", "elementwise", "comparison", "statistical", "utility",
        "manipulation", "rearrangement", "filling", "spacing", "indexing", "padding", "searching",
        "sorting", "sets", "linear_algebra", "contraction", "special",
    ),
    "nn.functional": (
        "bilinear", "activation", "shrinkage", "softmax", "normalization", "similarity",
        "distances", "convolution", "folding", "pooling", "adaptive_pooling", "fractional_pooling",
        "unpooling", "bordering", "resampling", "grid_sampling", "shuffling", "dropout",
        "embedding", "embedding_bag", "recurrent_cells", "recurrent", "attention", "loss",
        "cross_entropy", "margin_loss", "class_margin_loss", "ctc_loss", "random_activation",
    ),
    "linalg": (
        "linalg_spectra", "linalg_factorizations", "linalg_solvers", "linalg_determinants",
        "linalg_products", "linalg_norms", "linalg_functions",
    ),
    "fft": ("fourier", "fourier_real", "fourier_trigonometric"),
    "special": (
        "special_gamma", "special_zeta", "special_error", "special_elementary",
        "special_logarithms", "special_incomplete", "special_distributions", "special_bessel",
        "special_bessel_relatives", "special_integrals", "special_elliptic",
        "special_polynomials", "special_faddeeva",
    ),
}  # fmt: skip

# Chapter: what it adds to the main namespace. A test holds these equal to the registry.
LATE = {
    "order_statistics": (
        "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile",
    ),
    "selection": ("kthvalue", "topk"),
    "nan_reductions": (
        "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean",
        "nanmin", "nanprod", "nanstd", "nansum", "nanvar",
    ),
    "running": ("cummax", "cummin", "cumulative_logsumexp"),
    "integration": ("cumulative_trapezoid", "trapezoid"),
    "scattering": (
        "gather", "index_copy", "index_fill", "put_along_axis", "scatter", "scatter_add",
        "scatter_reduce",
    ),
    "masking": ("masked_fill", "masked_scatter", "masked_select"),
    "diagonals": ("block_diag", "diag", "diag_embed", "diagonal", "trace"),
    "products": ("inner", "kron", "norm", "vander"),
    "covariance": ("average", "corrcoef", "cov", "ptp"),
    "interpolation": ("interp", "lerp"),
    "histogram": ("bincount", "digitize", "histogram", "histogram_bin_edges"),
    "index_arrays": ("tril_indices", "triu_indices", "unravel_index"),
    "softmax": ("log_softmax", "softmax"),
    "splitting": ("split",),
}  # fmt: skip
_LATE_CHAPTER = {name: chapter for chapter, names in LATE.items() for name in names}


def late_function(name: str) -> Callable[..., Any] | None:
    """A function of the main namespace that is beyond the standard; None if there is none."""
    chapter = _LATE_CHAPTER.get(name)
    if chapter is None:
        return None
    importlib.import_module(f"polygrad.ops.{chapter}")
    return OPERATIONS[name].function


def functions_of(space: str = "") -> dict[str, Callable[..., Any]]:
    """The functions of a namespace by their names there; its chapters are imported first."""
    for chapter in CHAPTERS[space]:
        importlib.import_module(f"polygrad.ops.{chapter}")
    return {name: operation.function for name, operation in operations_of(space).items()}


def load_all() -> None:
    """Import every chapter: for whoever lists all operations, as tests and reports do."""
    for space in CHAPTERS:
        functions_of(space)
    for name in _LATE_CHAPTER:
        late_function(name)


functions_of()
