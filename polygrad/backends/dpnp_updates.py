"""Update rules of optimisers in dpnp's own functions, for drivers that take no source: Level Zero.

The library takes longer over a Python number than over an operation, and allocates each result. So
numbers are 0-d arrays, and what is computed goes into arrays that are there: the state's, which
belong to the rule, and one for the new parameter. The formulas are those of `polygrad.optim.rules`.
"""

from __future__ import annotations

import dpnp

from polygrad.adam_scale import adam_scale
from polygrad.backend import Array, Backend, Kernel, Kernels

__all__ = ["UPDATES", "register"]


def _decayed(F: Kernels, p: Array, g: Array, weight_decay: float, maximize: bool) -> Array:
    """The gradient to descend along, with the decay that is a part of it."""
    if maximize:
        g = dpnp.negative(g)
    if weight_decay == 0:
        return g
    t = dpnp.multiply(p, _number(F, weight_decay))
    return dpnp.add(t, g, out=t)


def _number(F: Kernels, number: float) -> Array:
    """A number that comes again at each step."""
    assert F.scalar is not None  # noqa: S101  the backend has it
    return F.scalar(number)


def _sgd(
    F: Kernels,
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
) -> tuple[Array, ...]:
    g = _decayed(F, p, g, weight_decay, maximize)
    for buffer in slots:
        if step == 1:
            buffer[...] = g
        else:
            dpnp.multiply(buffer, _number(F, momentum), out=buffer)
            fresh = g if dampening == 0 else dpnp.multiply(g, _number(F, 1 - dampening))
            dpnp.add(buffer, fresh, out=buffer)
        if nesterov:
            ahead = dpnp.multiply(buffer, _number(F, momentum))
            g = dpnp.add(ahead, g, out=ahead)
        else:
            g = buffer
    t = dpnp.multiply(g, _number(F, lr))
    return (dpnp.subtract(p, t, out=t), *slots)


def _adam(
    F: Kernels,
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
) -> tuple[Array, ...]:
    beta1, beta2 = betas
    if decoupled_weight_decay and weight_decay != 0:
        p, weight_decay = dpnp.multiply(p, _number(F, 1 - lr * weight_decay)), 0.0
    g = _decayed(F, p, g, weight_decay, maximize)
    t = dpnp.subtract(g, m)
    dpnp.multiply(t, _number(F, 1 - beta1), out=t)
    dpnp.add(m, t, out=m)
    dpnp.multiply(g, g, out=t)
    dpnp.multiply(t, _number(F, 1 - beta2), out=t)
    dpnp.multiply(v, _number(F, beta2), out=v)
    dpnp.add(v, t, out=v)
    seen = v
    for kept in largest:
        kept[...] = dpnp.maximum(kept, v)
        seen = kept
    scale, floor = adam_scale(lr, betas, eps, step)
    dpnp.sqrt(seen, out=t)
    dpnp.add(t, F.full((), floor), out=t)  # numbers of this step alone
    dpnp.divide(m, t, out=t)
    dpnp.multiply(t, F.full((), scale), out=t)
    return (dpnp.subtract(p, t, out=t), m, v, *largest)


UPDATES: dict[str, Kernel] = {"sgd_step": _sgd, "adam_step": _adam}


def register(backend: Backend, device: str) -> None:
    """Let the rules serve a device, in single and double precision."""
    for dtype in ("float32", "float64"):
        for name, rule in UPDATES.items():
            backend.kernel(name, device=device, dtype=dtype)(rule)
