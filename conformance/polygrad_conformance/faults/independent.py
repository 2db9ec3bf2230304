"""The independent set: faults as people make them, by somebody who has not read the checks.

What the suite finds of `INDEPENDENT` says how good it is; `table.faults` proves only that each
check can fail. Every fault is real: its demonstration, which `tests/conformance` runs, shows it.
"""

from __future__ import annotations

from collections import Counter

from polygrad.ops import load_all
from polygrad_conformance.faults import (
    independent_activations,
    independent_elementwise,
    independent_gradients,
    independent_linalg,
    independent_losses,
    independent_memory,
    independent_random,
    independent_reductions,
    independent_shapes,
    independent_training,
    independent_windows,
)
from polygrad_conformance.faults.independent_planting import IndependentFault, Place, same

__all__ = ["INDEPENDENT", "IndependentFault", "Place", "counts", "same"]

_MODULES = (
    independent_elementwise, independent_reductions, independent_shapes, independent_memory,
    independent_linalg, independent_windows, independent_activations, independent_losses,
    independent_gradients, independent_training, independent_random,
)  # fmt: skip

load_all()

# By chapter and name: `searching/argmax-of-last-tie`.
INDEPENDENT: dict[str, IndependentFault] = {
    f"{fault.chapter.replace(' ', '-')}/{name}": fault
    for module in _MODULES
    for name, fault in module.FAULTS.items()
}


def counts() -> dict[str, int]:
    """How many there are of each chapter."""
    return dict(Counter(fault.chapter for fault in INDEPENDENT.values()))
