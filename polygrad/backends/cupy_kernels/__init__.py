"""Kernels of CuPy's backend: CUDA C++ text that HIP takes as well, and what launches it.

A family is compiled once for each dtype, when one of its operations is first called; CuPy keeps the
result on disk. Nothing here imports CuPy: the texts can be compiled, and run, without it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from polygrad.backend import Backend
from polygrad.backends.cupy_kernels import (
    attention,
    dropout,
    elementwise,
    norms,
    products,
    scattering,
    softmax,
    updates,
    windows,
)
from polygrad.backends.cupy_kernels.launcher import OPTIONS, Family, Launcher

__all__ = ["FAMILIES", "OPTIONS", "Family", "Launcher", "load_recorded", "register"]

FAMILIES: tuple[Family, ...] = (
    softmax.FAMILY, elementwise.FAMILY, norms.FAMILY, updates.FAMILY, dropout.DRAWING,
    dropout.FAMILY, scattering.FAMILY, windows.FAMILY, windows.POOLING,
    attention.FAMILY, products.FAMILY,
)  # fmt: skip


def load_recorded(launcher: Launcher, dtypes: Iterable[Any]) -> None:
    """Compile what is launched in a recording only, where no kernel should be loaded."""
    for dtype in dtypes:
        if dtype.name in products.FAMILY.rows[0].dtypes:
            launcher.load(products.FAMILY, dtype)


def register(backend: Backend, launcher: Launcher) -> None:
    """Have a backend served by all kernels, launched by `launcher`."""
    for family in FAMILIES:
        for row in family.rows:
            for dtype in row.dtypes:
                backend.kernel(row.op, dtype=dtype)(functools.partial(row.call, launcher))
