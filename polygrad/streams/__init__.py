"""The random stream and the numbers on the host that everything else is made from.

What users have is in `polygrad.random`, which makes tensors of these; dropout is below it.
"""

from __future__ import annotations

from polygrad.streams.generator import (
    Blocks,
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
from polygrad.streams.variates import below, closed_units, coin, half_units, normals, open_units

__all__ = [
    "Blocks", "Generator", "GeneratorState", "below", "closed_units", "coin", "default_generator",
    "fork_rng", "get_state", "half_units", "initial_seed", "manual_seed", "normals", "open_units",
    "seed", "set_state",
]  # fmt: skip
