"""Kernels of CuPy's backend: CUDA C++ text that HIP takes as well, and what launches it.

A family is compiled once for each dtype, when one of its operations is first called; CuPy keeps the
result on disk. Nothing here imports CuPy: the texts can be compiled, and run, without it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from polygrad.backend import Backend, Kernels
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


def load_recorded(launcher: Launcher, spaces: Iterable[Kernels]) -> None:
    """Launch once what is launched in recordings only, where no kernel should be compiled."""
    for F in spaces:
        if F.dtype.name in products.FAMILY.rows[0].dtypes:
            one = F.ones((1, 1))
            products.product(launcher, F, one, one)


def register(backend: Backend, launcher: Launcher) -> None:
    """Have a backend served by all kernels, launched by `launcher`."""
    for family in FAMILIES:
        for row in family.rows:
            for dtype in row.dtypes:
                backend.kernel(row.op, dtype=dtype)(functools.partial(row.call, launcher))
