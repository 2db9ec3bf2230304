"""The op tables, one module for each chapter of the array API standard, and polygrad's own."""

from __future__ import annotations

import importlib

CHAPTERS = (
    "creation", "data_type", "elementwise", "comparison", "statistical", "utility", "manipulation",
    "rearrangement", "filling", "spacing", "indexing", "padding", "searching", "sorting", "sets",
    "linear_algebra", "contraction", "bilinear", "special", "activation", "softmax",
    "normalization", "similarity", "convolution", "folding", "pooling", "adaptive_pooling",
    "dropout", "embedding", "loss", "cross_entropy",
    "linalg_spectra", "linalg_factorizations", "linalg_solvers", "linalg_determinants",
    "linalg_products", "linalg_norms", "linalg_functions", "fourier", "fourier_real",
    "fourier_trigonometric",
)  # fmt: skip

for _name in CHAPTERS:
    importlib.import_module(f"polygrad.ops.{_name}")
