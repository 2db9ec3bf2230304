"""Seeded samples of the arguments of every operation, made from its declaration.

The same inputs for every device: the seed is the operation's name, dtype and number.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.families import Operation

__all__ = ["Sampler", "samples_of"]

Host = np.ndarray[Any, Any]
Call = tuple[tuple[Any, ...], dict[str, Any]]


class Sampler:
    """Makes NumPy arrays for one operation and one dtype."""

    def __init__(self, name: str, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.kind = dtypes.kind_of(self.dtype)
        self.generator = np.random.default_rng(zlib.crc32(f"{name}|{self.dtype.name}".encode()))

    def interval(self, low: float, high: float, *shape: int) -> Host:
        """Values of an open interval, in the dtype; complex ones in the square of that size."""
        margin = 0.05 * (high - low)
        draw = self.generator.uniform(low + margin, high - margin, shape)
        if self.kind == dtypes.BOOL:
            return np.asarray(draw > (low + high) / 2)
        if self.kind == dtypes.INTEGER:
            return self.integers(*shape, low=int(np.ceil(low)), high=int(np.floor(high)) + 1)
        if self.kind == dtypes.COMPLEX:
            draw = draw + 1j * self.generator.uniform(low + margin, high - margin, shape)
        return np.asarray(draw).astype(self.dtype)

    def real(self, *shape: int) -> Host:
        """Values of both signs, none near zero."""
        values = self.interval(0.3, 2.5, *shape)
        if self.kind == dtypes.BOOL or self.dtype.kind == "u":
            return values
        signs = self.generator.choice([-1, 1], shape)
        return np.asarray(values * signs).astype(self.dtype)

    def positive(self, *shape: int) -> Host:
        """Values above zero."""
        return self.interval(0.2, 3.0, *shape)

    def complex(self, *shape: int) -> Host:
        """Complex values, whatever the dtype."""
        parts = self.generator.uniform(-2, 2, (2, *shape))
        return np.asarray(parts[0] + 1j * parts[1]).astype(dtypes.complex_of(self.dtype))

    def integers(self, *shape: int, low: int = 0, high: int = 5) -> Host:
        """Integers in [low, high): int64, or the sampled dtype if it is an integer one."""
        dtype = self.dtype if self.kind == dtypes.INTEGER else dtypes.int64
        if dtype.kind == "u" and low < 0:
            low, high = (0, high) if high > 0 else (1 - high, 1 - low)
        return np.asarray(self.generator.integers(low, high, shape)).astype(dtype)

    def bools(self, *shape: int) -> Host:
        """Truth values."""
        return np.asarray(self.generator.uniform(size=shape) < 0.5)

    def exactly(self, values: Any) -> Host:
        """These values, in the dtype."""
        return np.asarray(values).astype(self.dtype)

    def distinct(self, *shape: int) -> Host:
        """Well separated values in random order: for maxima and sorting."""
        size = int(np.prod(shape))
        values: Host = self.generator.permutation(size).reshape(shape)
        if self.dtype.kind != "u":
            values = values - size / 3
        if self.kind in (dtypes.REAL, dtypes.COMPLEX):
            values = values / 2 + 0.1
        return np.asarray(values).astype(self.dtype)


def _elementwise(operation: Operation, s: Sampler) -> Iterator[Call]:
    """Broadcasting pairs, scalars, empty and 0-d arrays of an elementwise function's domain."""
    domain = operation.domain
    shapes = ((2, 3), (3,), (2, 1)), ((), (2,), ()), ((0, 3), (3,), (1,)), ((4,), (4,), (4,))
    for shape in shapes:
        yield (
            tuple(s.interval(*interval, *sh) for interval, sh in zip(domain, shape, strict=False)),
            {},
        )


def samples_of(operation: Operation, dtype: Any) -> list[Call]:
    """The declared samples of an operation in one dtype: (args, kwargs) with NumPy arrays.

    Raises
    ------
    AssertionError
        The declaration has no samples: such an operation would go untested.
    """
    s = Sampler(operation.name, dtype)
    if operation.samples is not None:
        calls = [(tuple(args), dict(kwargs)) for args, kwargs in operation.samples(s)]
    elif operation.domain:
        calls = list(_elementwise(operation, s))
    else:
        calls = []
    if not calls:
        raise AssertionError(f"the operation {operation.name} declares no samples")
    return calls
