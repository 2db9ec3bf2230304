"""Factorisations of large matrices in single precision: by SciPy, where it is installed.

NumPy computes those of float32 and complex64 in double precision, which takes two to four times as
long as LAPACK's own routines for them. SciPy calls those, as PyTorch does. Where SciPy refuses a
matrix, NumPy says what is wrong with it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.backend import Array

__all__ = ["FACTORIZATIONS"]

LARGE = 1 << 12  # elements: small ones are not worth SciPy's import, and no slower

_MODES = {"reduced": "economic", "complete": "full"}


def _scipy(x: Array) -> Any:
    """SciPy's module, if it shall factorise this matrix."""
    if x.dtype.char not in "fF" or x.ndim != 2 or x.size < LARGE:
        return None
    if importlib.util.find_spec("scipy") is None:
        return None
    import scipy.linalg

    return scipy.linalg


def _svd(x: Array, full_matrices: bool = True) -> Any:
    linalg = _scipy(x)
    if linalg is not None:
        try:
            made = linalg.svd(x, full_matrices=full_matrices, check_finite=False)
        except (ValueError, np.linalg.LinAlgError):
            pass
        else:
            if np.isfinite(made[1]).all():
                return made
    return np.linalg.svd(x, full_matrices=full_matrices)


def _qr(x: Array, mode: Any = "reduced") -> Any:
    linalg = _scipy(x)
    if linalg is None:
        return np.linalg.qr(x, mode=mode)
    return linalg.qr(x, mode=_MODES[mode], check_finite=False)


FACTORIZATIONS: dict[str, Callable[..., Any]] = {"library_svd": _svd, "library_qr": _qr}
