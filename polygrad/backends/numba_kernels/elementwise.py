"""Functions of one element, whole formulas in one loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.backends.numba_kernels.compiled import compiled
from polygrad.backends.numba_kernels.elementary import erf, erfc, exp, sigmoid, tanh
from polygrad.threads import shared

__all__ = ["MAKERS"]

SMALL = 1 << 12  # elements


def _flat(x: Array) -> Array | None:
    """All elements in the order of memory, if they have no gaps between them; no copy."""
    if x.flags.c_contiguous:
        return x.reshape(-1)
    x = x.transpose(sorted(range(x.ndim), key=lambda i: -x.strides[i]))
    return x.reshape(-1) if x.flags.c_contiguous else None


# ---- loops --------------------------------------------------------------------------------------
# An infinite x counts as the largest finite number where it is multiplied by what may be zero.
@compiled
def _gelu(x: Array, out: Array, largest: Any) -> None:
    t = x.dtype.type
    for i in range(x.size):
        v = x[i]
        low = -largest if v < -largest else v
        out[i] = low * (erfc(v * t(-math.sqrt(0.5))) * t(0.5))


@compiled
def _gelu_slope(x: Array, out: Array, largest: Any) -> None:
    t = x.dtype.type
    for i in range(x.size):
        v = x[i]
        u = -largest if v < -largest else largest if v > largest else v
        density = exp(t(-0.5) * v * v) * t(1 / math.sqrt(2 * math.pi))
        out[i] = t(0.5) * erfc(v * t(-math.sqrt(0.5))) + u * density


@compiled
def _gelu_tanh(x: Array, out: Array, largest: Any) -> None:
    t = x.dtype.type
    for i in range(x.size):
        v = x[i]
        low = -largest if v < -largest else v
        y = t(-30) if v < t(-30) else t(30) if v > t(30) else v
        out[i] = low * sigmoid((y * y * y * t(0.044715) + y) * t(2 * math.sqrt(2 / math.pi)))


@compiled
def _gelu_tanh_slope(x: Array, out: Array, largest: Any) -> None:
    t = x.dtype.type
    for i in range(x.size):
        v = x[i]
        u = -largest if v < -largest else largest if v > largest else v
        y = t(-30) if v < t(-30) else t(30) if v > t(30) else v
        square = y * y
        s = sigmoid((square * t(0.044715) + t(1)) * y * t(2 * math.sqrt(2 / math.pi)))
        inner = (square * t(3 * 0.044715) + t(1)) * t(2 * math.sqrt(2 / math.pi))
        out[i] = s + u * s * (t(1) - s) * inner


@compiled
def _silu(x: Array, out: Array, largest: Any) -> None:
    for i in range(x.size):
        v = x[i]
        low = -largest if v < -largest else v
        out[i] = low * sigmoid(v)


@compiled
def _silu_slope(x: Array, out: Array, largest: Any) -> None:
    t = x.dtype.type
    for i in range(x.size):
        v = x[i]
        u = -largest if v < -largest else largest if v > largest else v
        s = sigmoid(v)
        out[i] = s * (t(1) + u * (t(1) - s))


@compiled
def _sigmoid(x: Array, out: Array, largest: Any) -> None:
    for i in range(x.size):
        out[i] = sigmoid(x[i])


@compiled
def _exp(x: Array, out: Array, largest: Any) -> None:
    for i in range(x.size):
        out[i] = exp(x[i])


@compiled
def _tanh(x: Array, out: Array, largest: Any) -> None:
    for i in range(x.size):
        out[i] = tanh(x[i])


@compiled
def _erf(x: Array, out: Array, largest: Any) -> None:
    for i in range(x.size):
        out[i] = erf(x[i])


@compiled
def _erfc(x: Array, out: Array, largest: Any) -> None:
    for i in range(x.size):
        out[i] = erfc(x[i])


@compiled
def _dropout(x: Array, kept: Array, out: Array, scale: Any) -> None:
    t = x.dtype.type
    for i in range(x.size):
        out[i] = x[i] * (scale if kept[i] else t(0))


# ---- kernels ------------------------------------------------------------------------------------
def _of_one(loop: Any, *, ufunc: bool = False) -> Callable[[Kernel], Kernel]:
    """The maker of the kernel of a loop over one array; small ones are left to a `ufunc`."""

    def make(plain: Kernel) -> Kernel:
        def kernel(x: Array) -> Array:
            if ufunc and x.size < SMALL:
                return plain(x)
            places = _flat(x)
            if places is None:
                return plain(x)
            out = np.empty_like(x)
            largest = np.finfo(x.dtype).max
            shared(loop, (places, _flat(out)), largest)
            return out

        return kernel

    return make


def _make_dropout(plain: Kernel) -> Kernel:
    def kernel(x: Array, mask: Array, scale: float = 1.0) -> Array:
        same = x.shape == mask.shape and mask.dtype == np.bool_ and scale != 0
        if not same or not (x.flags.c_contiguous and mask.flags.c_contiguous):
            return plain(x, mask, scale=scale)
        out = np.empty_like(x)
        shared(_dropout, (x.reshape(-1), mask.reshape(-1), out.reshape(-1)), x.dtype.type(scale))
        return out

    return kernel


MAKERS: dict[str, Callable[[Kernel], Kernel]] = {
    "gelu": _of_one(_gelu), "gelu_slope": _of_one(_gelu_slope),
    "gelu_tanh": _of_one(_gelu_tanh), "gelu_tanh_slope": _of_one(_gelu_tanh_slope),
    "silu": _of_one(_silu), "silu_slope": _of_one(_silu_slope),
    "sigmoid": _of_one(_sigmoid), "erf": _of_one(_erf), "erfc": _of_one(_erfc),
    "exp": _of_one(_exp, ufunc=True), "tanh": _of_one(_tanh, ufunc=True),
    "dropout": _make_dropout,
}  # fmt: skip
