"""Random numbers: one counter-based stream, the same bits on every device.

Note [The stream] of `polygrad.streams.generator` says how the numbers are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad.random.choices import categorical, integers, multinomial, permutation
from polygrad.random.continuous import (
    cauchy,
    exponential,
    gumbel,
    laplace,
    log_normal,
    logistic,
    normal,
    student_t,
    truncated_normal,
    uniform,
    weibull,
)
from polygrad.random.discrete import bernoulli, binomial, geometric, poisson
from polygrad.random.gammas import beta, chi_square, dirichlet, gamma
from polygrad.streams import (
    Generator,
    GeneratorState,
    default_generator,
    fork_rng,
    get_state,
    initial_seed,
    manual_seed,
    seed,
    set_state,
)

__all__ = [
    "Generator", "GeneratorState", "bernoulli", "beta", "binomial", "categorical", "cauchy",
    "chi_square", "default_generator", "dirichlet", "exponential", "fork_rng", "gamma", "geometric",
    "get_state", "gumbel", "initial_seed", "integers", "laplace", "log_normal", "logistic",
    "manual_seed", "multinomial", "normal", "permutation", "poisson", "seed", "set_state",
    "student_t", "truncated_normal", "uniform", "weibull",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names of PyTorch that are called otherwise: the error says how."""
        from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

        raise missing(__name__, name)
