"""What every contender starts from: the same sizes, seeded weights and data, as NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

# The chain z = z*k + k has the fixed point k / (1 - k), and the gradient k**CHAIN_LENGTH in z:
# with this k neither leaves the range in which float32 is fast.
CHAIN_LENGTH = 1000
CHAIN_K = 0.999
CHAIN_SIZE = 10

# Calls of one operation that are timed together.
CALLS = 1000


def chain_start() -> np.ndarray:
    """Where the chain starts, shape (CHAIN_SIZE,)."""
    return np.linspace(-1, 1, CHAIN_SIZE, dtype=np.float32)


def chain_factor() -> np.ndarray:
    """The chain's k as an array, shape (CHAIN_SIZE,)."""
    return np.full(CHAIN_SIZE, CHAIN_K, dtype=np.float32)


@dataclass(frozen=True)
class Classification:
    """A classifier of fully connected layers, and one batch to train it on."""

    batch: int
    sizes: tuple[int, ...]
    activation: str  # the name of a class of nn
    optimizer: str  # the name of a class of optim
    learning_rate: float
    seed: int = 0

    def parameters(self) -> list[np.ndarray]:
        """Weight (out, in) and bias (out,) of each layer in turn, uniform up to 1/sqrt(in)."""
        rng = np.random.default_rng(self.seed)
        return [
            rng.uniform(-1, 1, shape).astype(np.float32) / np.float32(fan_in**0.5)
            for fan_in, fan_out in pairwise(self.sizes)
            for shape in ((fan_out, fan_in), (fan_out,))
        ]

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (batch, sizes[0]), float32, and labels (batch,), int64."""
        rng = np.random.default_rng(self.seed + 1)
        x = rng.standard_normal((self.batch, self.sizes[0]), dtype=np.float32)
        return x, rng.integers(self.sizes[-1], size=self.batch)


TINY = Classification(16, (4, 16, 16, 3), "Tanh", "Adam", 1e-3)
MLP = Classification(128, (784, 256, 128, 10), "ReLU", "SGD", 1e-2)
