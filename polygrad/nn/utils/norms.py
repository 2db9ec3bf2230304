"""The norm of tensors of one device: as a number, or as an array that nobody waits for."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from polygrad import dtypes
from polygrad.tensor import Tensor, raw

if TYPE_CHECKING:
    from polygrad.backend import Backend, Kernels

__all__ = ["norm_on_device", "norm_on_host"]


def norm_on_host(tensors: list[Tensor], p: float) -> float:
    """The norm of order p.

    Scaled by the largest magnitude, so that no square overflows or vanishes.
    """
    k = tensors[0].kernels
    xp, item = k.xp, k.backend.item
    guard = nullcontext() if k.guard is None else k.guard()
    with k.backend.quiet(), guard, k.explaining("the norm of gradients"):
        sizes = _magnitudes(tensors)
        # What counts most: the largest, or for a negative order the smallest.
        most = _largest(k.backend, sizes if p >= 0 else [-a for a in sizes])
        scale = most if p >= 0 else -most
        if p == 0:
            return float(sum(item(xp.sum(xp.astype(a != 0, a.dtype))) for a in sizes))
        if math.isinf(p) or scale == 0 or not math.isfinite(scale):
            return scale
        total = float(sum(item(xp.sum((a / scale) ** p)) for a in sizes))
        return float(scale * total ** (1 / p))


def norm_on_device(tensors: list[Tensor], p: float, real: Kernels) -> Any:
    """What `norm_on_host` is, as an array without axes of the dtype of `real`."""
    wide = real.with_dtype(dtypes.float32) if real.dtype.itemsize < 4 else real
    xp = wide.xp
    guard = nullcontext() if real.guard is None else real.guard()
    with real.backend.quiet(), guard, real.explaining("the norm of gradients"):
        sizes = [wide.cast(a) for a in _magnitudes(tensors)]
        if not sizes:
            return real.zeros(())
        if p == 0:
            counts = [xp.sum(xp.astype(a != 0, a.dtype)) for a in sizes]
            return real.cast(xp.sum(xp.stack(counts)))
        pick = xp.max if p > 0 else xp.min
        most = pick(xp.stack([pick(a) for a in sizes]))
        if math.isinf(p):
            return real.cast(most)
        usable = xp.isfinite(most) & (most > 0)
        scale = xp.where(usable, most, xp.ones_like(most))
        total = xp.sum(xp.stack([xp.sum((a / scale) ** p) for a in sizes]))
        return real.cast(xp.where(usable, scale * total ** (1 / p), most))


def _magnitudes(tensors: list[Tensor]) -> list[Any]:
    """Absolute values of those with elements."""
    return [t.kernels.xp.abs(_wide(t)) for t in tensors if t.size]


def _wide(t: Tensor) -> Any:
    """The array of `t`, half precision in single: sums of powers would overflow."""
    k = t.kernels
    return k.with_dtype(dtypes.float32).cast(raw(t)) if k.dtype.itemsize < 4 else raw(t)


def _largest(backend: Backend, sizes: list[Any]) -> float:
    """The largest of all, NaN if any is NaN."""
    found = [backend.item(backend.xp.max(a)) for a in sizes]
    return math.nan if any(math.isnan(x) for x in found) else max(found, default=0.0)
