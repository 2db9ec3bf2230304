"""What a rule returns is made to fit its operand.

Rules are textbook formulas. Here is the one place that undoes broadcasting, projects complex to
real and casts dtypes, so that a gradient has its operand's shape, dtype, device and realness.
"""

from __future__ import annotations

from typing import Any

from polygrad.dtypes import COMPLEX, kind_of
from polygrad.kernels import Kernels
from polygrad.tensor import Tensor

__all__ = ["fit", "unbroadcast"]


def unbroadcast(F: Any, g: Any, shape: tuple[int, ...]) -> Any:
    """The adjoint of broadcasting `shape` to the shape of g: sums over added and stretched axes."""
    lead = g.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1
    )
    if axes:
        g = F.sum(g, axis=axes, keepdims=False)
    return F.reshape(g, shape=shape) if g.shape != shape else g


def fit(F: Any, g: Any, shape: tuple[int, ...], kernels: Kernels) -> Any:
    """Make a cotangent fit its operand: the adjoint of broadcasting and casting, in one place."""
    if g.shape != shape:
        g = unbroadcast(F, g, shape)
    if isinstance(g, Tensor):
        if g.kernels is not kernels:
            if g.kernels.is_complex and not kernels.is_complex:
                g = F.real(g)
            g = F.astype(g, dtype=kernels.dtype)
    elif g.dtype != kernels.native_dtype:
        backend = kernels.backend
        if not kernels.is_complex and kind_of(backend.dtype_of(g)) == COMPLEX:
            g = kernels.backend.xp.real(g)
        g = kernels.cast(g)
    return g
