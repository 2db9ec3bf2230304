"""Update rules of optimisers, each in one pass over its arrays, written in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.adam_scale import adam_scale
from polygrad.backend import Array, Kernel
from polygrad.backends.numba_kernels.compiled import compiled
from polygrad.threads import shared

__all__ = ["MAKERS"]


@compiled
def _sgd(p: Array, g: Array, lr: Any, decay: Any, sign: Any) -> None:
    zero = p.dtype.type(0)
    for i in range(p.size):
        p[i] -= lr * (sign * g[i] + (decay * p[i] if decay != zero else zero))


@compiled
def _sgd_momentum(
    p: Array, g: Array, buffer: Array, lr: Any, decay: Any, sign: Any, momentum: Any, fresh: Any,
    nesterov: Any,
) -> None:  # fmt: skip
    """`fresh` is the weight of the new gradient."""
    zero = p.dtype.type(0)
    for i in range(p.size):
        slope = sign * g[i] + (decay * p[i] if decay != zero else zero)
        b = momentum * buffer[i] + fresh * slope
        buffer[i] = b
        p[i] -= lr * (slope + momentum * b if nesterov else b)


@compiled
def _adam(
    p: Array, g: Array, m: Array, v: Array, shrink: Any, decay: Any, sign: Any, one_beta1: Any,
    beta2: Any, one_beta2: Any, floor: Any, rate: Any,
) -> None:  # fmt: skip
    zero = p.dtype.type(0)
    for i in range(p.size):
        q = p[i] * shrink
        slope = sign * g[i] + (decay * q if decay != zero else zero)
        a = m[i] + one_beta1 * (slope - m[i])
        b = beta2 * v[i] + one_beta2 * (slope * slope)
        m[i] = a
        v[i] = b
        p[i] = q - rate * (a / (np.sqrt(b) + floor))


def _in_order(arrays: tuple[Array, ...]) -> bool:
    first = arrays[0]
    return bool(first.size) and all(
        a.flags.c_contiguous and a.dtype == first.dtype and a.shape == first.shape for a in arrays
    )


def _make_sgd(plain: Kernel) -> Kernel:
    def kernel(
        p: Array, g: Array, *slots: Array, lr: float, momentum: float, dampening: float,
        weight_decay: float, nesterov: bool, maximize: bool, step: int,
    ) -> tuple[Array, ...]:  # fmt: skip
        arrays = (p, g, *slots)
        if not _in_order(arrays):
            left: tuple[Array, ...] = plain(
                *arrays, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                nesterov=nesterov, maximize=maximize, step=step,
            )  # fmt: skip
            return left
        t = p.dtype.type
        rates = t(lr), t(weight_decay), t(-1 if maximize else 1)
        lines = tuple(a.reshape(-1) for a in arrays)
        if not slots:
            shared(_sgd, lines, *rates)
        else:
            if step == 1:
                lines[2][:] = 0
            fresh = 1 if step == 1 else 1 - dampening
            shared(_sgd_momentum, lines, *rates, t(momentum), t(fresh), bool(nesterov))
        return (p, *slots)

    return kernel


def _make_adam(plain: Kernel) -> Kernel:
    def kernel(
        p: Array, g: Array, m: Array, v: Array, *largest: Array, lr: float,
        betas: tuple[float, float], eps: float, weight_decay: float, maximize: bool,
        decoupled_weight_decay: bool, step: int,
    ) -> tuple[Array, ...]:  # fmt: skip
        arrays = (p, g, m, v)
        if largest or not _in_order(arrays):
            left: tuple[Array, ...] = plain(
                *arrays, *largest, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                maximize=maximize, decoupled_weight_decay=decoupled_weight_decay, step=step,
            )  # fmt: skip
            return left
        t = p.dtype.type
        beta1, beta2 = betas
        rate, floor = adam_scale(lr, betas, eps, step)
        shrink, decay = (1 - lr * weight_decay, 0) if decoupled_weight_decay else (1, weight_decay)
        shared(
            _adam, tuple(a.reshape(-1) for a in arrays), t(shrink), t(decay),
            t(-1 if maximize else 1), t(1 - beta1), t(beta2), t(1 - beta2), t(floor),
            t(rate),
        )  # fmt: skip
        return arrays[0], m, v

    return kernel


MAKERS: dict[str, Callable[[Kernel], Kernel]] = {"sgd_step_": _make_sgd, "adam_step_": _make_adam}
