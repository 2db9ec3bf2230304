"""Cosine and sine transforms by SciPy, where it is installed: the FFTs of the forward cost more."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import numpy as np

from polygrad.backend import Array
from polygrad.kernels import FORWARDS

__all__ = ["TRANSFORMS"]

_FORWARD = "trigonometric"


@functools.cache
def _scipy() -> Any:
    """scipy.fft, imported when first needed; None where there is none."""
    if importlib.util.find_spec("scipy") is None:
        return None
    import scipy.fft

    return scipy.fft


def _trigonometric(
    F: Any,
    x: Array,
    sine: bool,
    kind: int,
    axes: tuple[int, ...],
    norm: str,
    orthogonalize: bool,
) -> Array:
    """SciPy's dctn or dstn. For complex arrays its own forgets `orthogonalize` (SciPy 1.17)."""
    library, forward = _scipy(), FORWARDS[_FORWARD]
    keywords: dict[str, Any] = {"axes": axes, "norm": norm, "orthogonalize": orthogonalize}
    if x.dtype.itemsize == 2:
        x = x.astype(np.float32)
    if library is None or not x.size or not axes:
        assert forward is not None  # noqa: S101  for the type checker
        return forward(F, x, sine=sine, kind=kind, **keywords)
    transform = library.dstn if sine else library.dctn
    if x.dtype.kind != "c":
        return transform(x, kind, **keywords)
    out = np.empty_like(x)
    out.real, out.imag = (transform(part, kind, **keywords) for part in (x.real, x.imag))
    return out


TRANSFORMS = {_FORWARD: _trigonometric}
