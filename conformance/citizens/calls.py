"""A call: its name, a function, and how its inputs are drawn. No array library here but NumPy."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

__all__ = [
    "Call", "Draw", "Table", "between", "complex_normal", "fixed", "like", "namespace", "normal",
    "positive", "spread", "unit",
]  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """An input that is differentiated: how its values are made from a generator."""

    make: Callable[[np.random.Generator], Any]

    def values(self, generator: np.random.Generator) -> Any:
        """An array in double precision."""
        return np.asarray(self.make(generator))


def between(low: float, high: float, *shape: int) -> Draw:
    """Uniform in an interval."""
    return Draw(lambda g: g.uniform(low, high, shape))


def normal(*shape: int) -> Draw:
    """Standard normal."""
    return Draw(lambda g: g.normal(size=shape))


def complex_normal(*shape: int) -> Draw:
    """Complex, both parts standard normal."""
    return Draw(lambda g: g.normal(size=shape) + 1j * g.normal(size=shape))


def positive(*shape: int) -> Draw:
    """Between 0.5 and 3."""
    return between(0.5, 3.0, *shape)


def unit(*shape: int) -> Draw:
    """Inside the unit interval."""
    return between(0.15, 0.85, *shape)


def spread(*shape: int) -> Draw:
    """Well separated values of both signs, in random order: for maxima, ranks, medians."""

    def make(g: np.random.Generator) -> Any:
        size = int(np.prod(shape))
        steps = g.permutation(size) - size / 2 + 0.3
        return (steps * 0.7 + g.uniform(-0.2, 0.2, size)).reshape(shape)

    return Draw(make)


def fixed(*values: Any) -> Draw:
    """These numbers."""
    array = np.asarray(values[0] if len(values) == 1 else values, dtype=float)
    return Draw(lambda g: array)


@dataclass(frozen=True)
class Call:
    """One row of a table.

    Attributes
    ----------
    name
        Function and variant, as documentation shows it; the words up to the first bracket or space
        are the dotted name of the function.
    function
        Called with one array for each draw.
    draws
        The inputs.
    step
        Of the central differences, relative to max(1, |x|).
    tolerance
        Relative, of the comparison; noise of an iteration needs more.
    remark
        For the documentation: why it is as it is.
    """

    name: str
    function: Callable[..., Any]
    draws: tuple[Draw, ...]
    step: float = 1e-6
    tolerance: float = 2e-4
    remark: str = ""

    def inputs(self) -> list[Any]:
        """Inputs in double precision, the same at each call: the name is the seed."""
        generator = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [draw.values(generator) for draw in self.draws]


_FACTS = ("step", "tolerance", "remark")


class Table:
    """The calls of one library, or part of it."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.calls: list[Call] = []

    def row(self, name: str, function: Callable[..., Any], *draws: Draw, **options: Any) -> None:
        """Add a call; options that are no facts of a Call are the function's."""
        facts = {key: options.pop(key) for key in _FACTS if key in options}
        function = partial(function, **options) if options else function
        self.calls.append(Call(name, function, draws, **facts))


# ---- for functions of rows ----------------------------------------------------------------------
def namespace(*arrays: Any) -> Any:
    """The array API namespace of arrays."""
    from array_api_compat import array_namespace

    return array_namespace(*arrays)


def like(x: Any, values: Any) -> Any:
    """Constants as an array of the library and dtype of x; integers and booleans keep theirs."""
    xp, host = namespace(x), np.asarray(values)
    dtype = x.dtype if host.dtype.kind == "f" else {"i": xp.int64, "b": xp.bool}[host.dtype.kind]
    return xp.asarray(host.tolist(), dtype=dtype)
