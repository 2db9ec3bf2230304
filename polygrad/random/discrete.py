"""Distributions of counts and of booleans. Their numbers have no derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.random import rejection
from polygrad.random.arguments import (
    COUNT,
    NONNEGATIVE,
    PROBABILITY,
    SUCCESS,
    Host,
    Parameter,
    chosen,
    finish,
    given,
)
from polygrad.random.distribution import Distribution
from polygrad.registry import kernels_for
from polygrad.streams import Generator, closed_units, coin
from polygrad.tensor import Tensor

__all__ = ["bernoulli", "binomial", "geometric", "poisson"]

_P = Parameter("p", "The probability", PROBABILITY)


def _geometrics(generator: Generator, n: int, double: bool, p: Host) -> tuple[Host, None]:
    del double
    waits = -np.log(closed_units(generator.words(n)))
    return np.maximum(np.ceil(waits / -np.log1p(-p)), 1), None


geometric = Distribution(
    "geometric", "How often one has to try until a trial of probability p succeeds.",
    (_P._replace(domain=SUCCESS),), _geometrics, "ceil(log(u) / log(1 - p)), at least 1",
    "counts from 1 on", whole=True,
    example=">>> pg.random.geometric(1.0, 2)\ntensor([1, 1], dtype=int64)",
).function()  # fmt: skip

poisson = Distribution(
    "poisson", "Poisson distributed counts.", (Parameter("rate", "The mean", NONNEGATIVE),),
    lambda generator, n, double, rate: (rejection.poisson(generator, n, rate), None),
    "Inversion of v below a rate of 10, Hörmann's PTRS above.", "counts from 0 on", whole=True,
    example=">>> pg.random.poisson(0.0, 2)\ntensor([0, 0], dtype=int64)",
).function()  # fmt: skip

binomial = Distribution(
    "binomial", "How many of `n` trials of probability p succeed.",
    (Parameter("n", "The number of trials", COUNT), _P),
    lambda generator, size, double, n, p: (
        rejection.binomial(generator, size, n, p), None),
    "Inversion of v up to a mean of 10, Hörmann's BTRS above; for p > 1/2 of the failures.",
    "counts from 0 to n", whole=True,
    example=">>> pg.random.binomial(3, 1.0, 2)\ntensor([3, 3], dtype=int64)",
).function()  # fmt: skip


def bernoulli(
    p: Any,
    shape: int | tuple[int, ...] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """True with probability p.

    Parameters
    ----------
    p
        The probability, in [0, 1]: a number, or a tensor.
    shape
        Of the result; that of p if not given.
    dtype
        Of the result, which then holds ones and zeros; bool if not given.
    device, generator
        As for `poisson`.

    Raises
    ------
    InvalidArgumentError, ShapeError, DeviceMismatchError
        p is not in [0, 1], or does not broadcast to the shape; it is on another device.

    Notes
    -----
    `h < p * 2**32` with h a word of 32 bits, the right side rounded: a probability is a multiple of
    2**-32.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.random.bernoulli(1.0, (2,))
    tensor([ True,  True], dtype=bool)
    """
    found = given([(_P, p)], shape, None, device, "random.bernoulli")
    wanted = dtypes.bool if dtype is None else dtypes.canonical(dtype)
    kernels = kernels_for(found.kernels.device, wanted, "random.bernoulli")
    tossed = coin(chosen(generator, "random.bernoulli"), found.values[0], found.size)
    return finish(tossed.reshape(found.shape), kernels)
