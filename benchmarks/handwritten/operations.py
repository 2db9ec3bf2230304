"""Single operations, chains of small ones, and a chain of large ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems import (
    CALLS,
    CHAIN_K,
    CHAIN_LENGTH,
    chain_factor,
    chain_start,
    large_array,
)
from benchmarks.taped.operations import FAMILIES


def multiply() -> Callable[[], np.ndarray]:
    """CALLS products of two small arrays."""
    x, y = chain_start(), chain_factor()

    def step():
        for _ in range(CALLS):
            product = x * y
        return product

    return step


def family(name: str) -> Callable[[], object]:
    """CALLS of one operation on small arrays."""
    x, y = chain_start(), chain_factor()
    operation = FAMILIES[name][1]

    def step():
        for _ in range(CALLS):
            result = operation(np, x, y)
        return result

    return step


def chain_gradients(z, k, length=CHAIN_LENGTH):
    """Return sum(z_length) for z_{i+1} = z_i k + k, and its gradient in z_0: g_i = g_{i+1} k."""
    for _ in range(length):
        z = z * k + k
    gradient = np.ones_like(z)
    for _ in range(length):
        gradient = gradient * k
    return z.sum(), gradient


def chain_gradients_in_both(z, k, length=CHAIN_LENGTH):
    """Return the same and the gradient in k: each link adds g_{i+1} (z_i + 1)."""
    history = []
    for _ in range(length):
        history.append(z)
        z = z * k + k
    gradient, gradient_in_k = np.ones_like(z), np.zeros_like(k)
    while history:
        gradient_in_k += gradient * history.pop() + gradient
        gradient = gradient * k
    return z.sum(), gradient, gradient_in_k


def chain(factor: str, length: int = CHAIN_LENGTH) -> Callable[[], object]:
    """The chain with k a "constant" array, a Python "number", or "tracked": with a gradient too."""
    z, k = chain_start(), CHAIN_K if factor == "number" else chain_factor()
    gradients = chain_gradients_in_both if factor == "tracked" else chain_gradients
    return lambda: gradients(z, k, length)


class Bump:
    """The sum of e = e^(-x t), t = tanh(x/2 + 1/4), and its gradient -e (t + x (1 - t^2) / 2)."""

    def __init__(self, size: int) -> None:
        self.t, self.e, self.gradient = (np.empty(size, np.float32) for _ in range(3))

    def __call__(self, x: np.ndarray) -> tuple[np.float32, np.ndarray]:
        t, e, gradient = self.t, self.e, self.gradient
        np.multiply(x, 0.5, out=t)
        t += 0.25
        np.tanh(t, out=t)
        np.multiply(x, t, out=e)
        np.negative(e, out=e)
        np.exp(e, out=e)
        np.multiply(t, t, out=gradient)
        np.subtract(1, gradient, out=gradient)
        gradient *= x
        gradient *= 0.5
        gradient += t
        gradient *= e
        np.negative(gradient, out=gradient)
        return e.sum(), gradient


def large() -> Callable[[], float]:
    """Value and gradient of the bump of a large array."""
    x = large_array()
    gradients = Bump(x.size)
    return lambda: float(gradients(x)[0])
