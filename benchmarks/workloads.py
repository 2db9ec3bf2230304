"""The table of workloads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from benchmarks import handwritten, taped
from benchmarks.contenders import CONTENDERS, Setup, side_by_side
from benchmarks.goals import AtMost, AtMostOver, AtMostTimes, Goal
from benchmarks.problems import CALLS, MLP, TINY


@dataclass(frozen=True)
class Workload:
    """One row: who does it, and what polygrad is held to.

    Times are divided by `calls`. A step that is `self_timed` returns its own seconds.
    """

    name: str
    about: str
    setups: Mapping[str, Setup]
    goals: tuple[Goal, ...] = ()
    calls: int = 1
    self_timed: bool = False


def import_in_a_child(module: str) -> Setup:
    """Import `module` in a fresh Python, which reports how long that took."""
    code = (
        "from time import perf_counter as now; start = now(); "
        f"import {module}; print(now() - start)"
    )

    def step():
        command = [sys.executable, "-c", code]
        return float(subprocess.check_output(command, text=True))  # noqa: S603 -- as above

    return lambda _device: step


WORKLOADS = (
    Workload(
        "op-untracked", "x * y, 10 float32, no gradient asked for; one op",
        side_by_side(partial(taped.multiply, recorded=False), handwritten.multiply),
        calls=CALLS,
    ),
    Workload(
        "op-recorded", "x * y, x requires grad; one op, forward",
        side_by_side(partial(taped.multiply, recorded=True), handwritten.multiply),
        goals=(AtMostOver(1.0e-6, "NumPy"),),
        calls=CALLS,
    ),
    Workload(
        "op-backward", "backward through a chain of x * y; one op",
        side_by_side(taped.backward_of_multiply),
        goals=(AtMost(1.5e-6),),
        calls=CALLS,
    ),
    Workload(
        "chain", "z = z*k + k, 1000 times on 10 float32, k constant; forward and backward",
        side_by_side(taped.chain, handwritten.chain, factor="constant"),
        goals=(AtMostTimes(0.6, "PyTorch"),),
    ),
    Workload(
        "chain-number", "the chain, k a Python number",
        side_by_side(taped.chain, handwritten.chain, factor="number"),
    ),
    Workload(
        "chain-tracked", "the chain, k requires grad too",
        side_by_side(taped.chain, handwritten.chain, factor="tracked"),
    ),
    Workload(
        "tiny", "training step: batch 16, 4-16-16-3, tanh, cross entropy, Adam",
        side_by_side(taped.classifier, handwritten.classifier, problem=TINY),
        goals=(AtMostTimes(0.4, "PyTorch"),),
    ),
    Workload(
        "mlp", "training step: batch 128, 784-256-128-10, ReLU, cross entropy, SGD",
        side_by_side(taped.classifier, handwritten.classifier, problem=MLP),
        goals=(AtMostTimes(1.1, "NumPy"),),
    ),
    Workload(
        "import", "import in a fresh Python",
        {name: import_in_a_child(CONTENDERS[name].module) for name in ("polygrad", "NumPy")},
        goals=(AtMost(0.150),),
        self_timed=True,
    ),
)  # fmt: skip
