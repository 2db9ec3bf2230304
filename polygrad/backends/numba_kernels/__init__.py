"""Compiled kernels for NumPy arrays: `pip install 'polygrad[fast]'`.

Note [Compiled kernels]
-----------------------
NumPy makes a pass over memory for each step of a formula; where formulas are long (gelu, softmax,
norms, pooling, Adam), numba compiles the whole of one into a loop of vector instructions. They are
ordinary kernels of the NumPy backend, for float32 and float64, and there is one for an operation
only if it was seen to be faster. What one does not take (another axis, another order of memory) it
leaves to the kernel that serves without it.

numba is imported, and a kernel compiled, when it is first called; the machine code is kept on disk
(`compiled.py`). `POLYGRAD_FAST=0` does without them. Large arrays are shared among threads
(`polygrad.threads`).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polygrad.kernels import FORWARDS, bind

if TYPE_CHECKING:
    from polygrad.backend import Backend, Kernel, Kernels

__all__ = ["DTYPES", "TABLE", "register", "wanted"]

DTYPES = ("float32", "float64")

# The operations of each module, which has `make_<operation>` or a row of its table for each.
TABLE: dict[str, tuple[str, ...]] = {
    "elementwise": (
        "erf", "erfc", "gelu", "gelu_slope", "gelu_tanh", "gelu_tanh_slope", "silu", "silu_slope",
        "sigmoid", "dropout", "exp", "tanh",
    ),
    "rows": (
        "softmax", "log_softmax", "softmax_adjoint", "log_softmax_adjoint", "attention_weights",
        "standardize", "standardize_adjoint", "root_mean_standardize", "root_mean_adjoint",
    ),
    "windows": ("max_pool", "place_in_windows"),
    "updates": ("sgd_step_", "adam_step_"),
}  # fmt: skip


def wanted() -> bool:
    """Whether numba is installed, and nobody has said POLYGRAD_FAST=0."""
    if os.environ.get("POLYGRAD_FAST", "1") == "0":
        return False
    return importlib.util.find_spec("numba") is not None


def register(backend: Backend) -> frozenset[tuple[str, str]]:
    """Register all of them, and return their operations and dtypes."""
    for module, names in TABLE.items():
        for name in names:
            for dtype in DTYPES:
                backend.kernel(name, dtype=dtype)(_lazy(module, name))
    every = [name for names in TABLE.values() for name in names]
    return frozenset((name, dtype) for name in every for dtype in DTYPES)


def _lazy(module: str, name: str) -> Callable[[Kernels], Kernel]:
    """What is compiled when it is first asked for."""

    def make(F: Kernels) -> Kernel:
        found = F.backend.table.entries.get((name, None, None)) or FORWARDS[name]
        if found is None:
            found = getattr(F.xp, name)
        plain = bind(found, F)
        loaded = _load(module)
        if loaded is None:
            return plain
        made: Kernel = loaded.MAKERS[name](plain)
        return made

    make.__name__ = make.__qualname__ = f"{module}.{name}"
    return make


def _load(module: str) -> Any:
    """A module of kernels; None, and a warning, if numba is there but does not work."""
    try:
        return importlib.import_module(f"{__name__}.{module}")
    except ImportError as error:
        warnings.warn(
            f"numba is installed but cannot be imported ({error}): operations run on NumPy alone. "
            "POLYGRAD_FAST=0 says so without a warning.",
            RuntimeWarning,
            stacklevel=4,
        )
        return None
