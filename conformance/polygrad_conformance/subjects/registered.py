"""Kernels of a backend: each is registered for an operation that polygrad asks kernels for.

One of another name is never called, and no number shows it.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygrad import optim
from polygrad.debug import nearest_kernel
from polygrad.kernels import FORWARDS
from polygrad.ops import load_all
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.target import Target

# Rules of optimizers have variants of these names: see polygrad.optim.rules.
_VARIANTS = ("", "_", "_of_parts")


def cases(level: str) -> Iterator[Case]:
    """One."""
    del level
    yield Case("kernels", "none", "claims", "names", _names, "", 0, "", "transfers")


def _names(target: Target) -> None:
    load_all()
    assert optim  # its rules are declared when it is imported
    names = sorted({name for name, _, _ in target.backend.table.entries})
    idle = [n for n in names if not any(n.removesuffix(v) in FORWARDS for v in _VARIANTS)]
    if idle:
        said = "; ".join(f"{name!r}: {nearest_kernel(name)}" for name in idle)
        raise Failed(f"a kernel is registered that nothing calls: {said}")
