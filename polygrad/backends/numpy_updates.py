"""NumPy's update rules of optimisers: in place, and in pieces that stay in the processor's cache.

`<rule>_` is what `<rule>` of `polygrad.optim.rules` is, with permission to write into the parameter
as well as into the state. Each pass over a large array costs as much as the arithmetic, so the
dozen passes of a rule are made over one piece before the next.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.adam_scale import adam_scale
from polygrad.backend import Array, Kernel

__all__ = ["UPDATES"]

PIECE = 1 << 18  # elements of float32: 1 MB for each array of the rule
SMALLEST = 1 << 14  # elements of a piece that is taken to save memory: less takes time


def _in_pieces(update: Callable[..., None]) -> Kernel:
    """Make a kernel of a function that updates arrays in place, one element like another."""

    @functools.wraps(update)
    def kernel(p: Array, g: Array, *slots: Array, **keywords: Any) -> tuple[Array, ...]:
        arrays = (p, g, *slots)
        if not p.ndim:  # the arithmetic of arrays without axes gives scalars: nothing to write into
            update(*(a.reshape(1) for a in arrays), **keywords)
        elif p.size > PIECE and all(a.flags.c_contiguous for a in arrays):
            arrays = tuple(a.reshape(-1) for a in arrays)
            for start in range(0, p.size, PIECE):
                update(*(a[start : start + PIECE] for a in arrays), **keywords)
        else:
            update(*arrays, **keywords)
        return (p, *slots)

    return kernel


def _gradient(p: Array, g: Array, weight_decay: float, maximize: bool) -> Array:
    """The gradient to descend along, with the decay that is a part of it."""
    if maximize:
        g = -g
    return g + weight_decay * p if weight_decay != 0 else g


@_in_pieces
def _sgd(
    p: Array,
    g: Array,
    *slots: Array,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    step: int,
) -> None:
    if maximize or weight_decay != 0:
        g = _gradient(p, g, weight_decay, maximize)
    if slots:
        (buffer,) = slots
        if step == 1:
            buffer[...] = g
        else:
            buffer *= momentum
            buffer += g if dampening == 0 else (1 - dampening) * g
        g = g + momentum * buffer if nesterov else buffer
    _descend(p, g, lr)


def _descend(p: Array, g: Array, lr: float) -> None:
    """p -= lr g, with room for an eighth of it: at that moment a step needs most memory."""
    length = max(SMALLEST, p.size // 8)
    if p.size <= length or not (p.flags.c_contiguous and g.flags.c_contiguous):
        p -= lr * g
        return
    p, g = p.reshape(-1), g.reshape(-1)
    for start in range(0, p.size, length):
        part = p[start : start + length]
        part -= lr * g[start : start + length]


@_in_pieces
def _adam(
    p: Array,
    g: Array,
    m: Array,
    v: Array,
    *largest: Array,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    maximize: bool,
    decoupled_weight_decay: bool,
    step: int,
) -> None:
    beta1, beta2 = betas
    if decoupled_weight_decay:
        p *= 1 - lr * weight_decay
        weight_decay = 0
    g = _gradient(p, g, weight_decay, maximize)
    t = g - m
    t *= 1 - beta1
    m += t
    np.multiply(g, g, out=t)
    t *= 1 - beta2
    v *= beta2
    v += t
    for seen in largest:
        np.maximum(seen, v, out=seen)
        v = seen
    scale, floor = adam_scale(lr, betas, eps, step)
    np.sqrt(v, out=t)
    t += floor
    np.divide(m, t, out=t)
    t *= scale
    p -= t


UPDATES: dict[str, Kernel] = {"sgd_step_": _sgd, "adam_step_": _adam}
