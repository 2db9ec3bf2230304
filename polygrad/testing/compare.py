"""Tolerances, one table for each dtype, and the comparison that uses it."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.dtypes import real_of
from polygrad.tensor import Tensor, on_host

__all__ = ["TOLERANCES", "assert_close", "host", "tolerance"]

# (relative, absolute): about 2000 units in the last place, for results of some hundred roundings
TOLERANCES: dict[str, tuple[float, float]] = {
    "bfloat16": (4e-2, 4e-2),
    "float16": (8e-3, 8e-3),
    "float32": (2e-4, 2e-5),
    "float64": (1e-10, 1e-11),
}


def tolerance(dtype: Any) -> tuple[float, float]:
    """(relative, absolute) for a dtype; exact for integers and booleans."""
    return TOLERANCES.get(real_of(np.dtype(dtype)).name, (0.0, 0.0))


def host(value: Any) -> np.ndarray[Any, Any]:
    """The values of a Tensor, tracked or not, or of anything else, as a NumPy array."""
    return on_host(value) if isinstance(value, Tensor) else np.asarray(value)


def assert_close(got: Any, want: Any, *, dtype: Any = None, what: str = "") -> None:
    """Fail unless `got` equals `want` within the tolerance of `dtype`; default: the coarser one."""
    a, b = host(got), host(want)
    if dtype is None:
        rtol, atol = (
            max(pair) for pair in zip(tolerance(a.dtype), tolerance(b.dtype), strict=True)
        )
    else:
        rtol, atol = tolerance(dtype)
    if a.shape != b.shape:
        raise AssertionError(f"{what}: shape {a.shape}, expected {b.shape}")
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=what)
