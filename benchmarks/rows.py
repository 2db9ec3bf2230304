"""The kinds of rows that the table is made of."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.contenders import Setup, Step, side_by_side
from benchmarks.functional import losses, peers
from benchmarks.functional.losses import LOSSES
from benchmarks.goals import Goal
from benchmarks.handwritten import elsewhere
from benchmarks.handwritten import networks as networks_by_hand
from benchmarks.handwritten import operations as by_hand
from benchmarks.handwritten import science as science_by_hand
from benchmarks.problems import (
    CALLS,
    CHAIN_K,
    CHAIN_LENGTH,
    Bodies,
    Table,
    chain_factor,
    chain_start,
    large_array,
)
from benchmarks.taped import networks, operations, science
from benchmarks.workload import Workload


def import_in_a_child(module: str) -> Setup:
    """Import `module` in a fresh Python, which reports how long that took."""
    code = (
        "from time import perf_counter as now; start = now(); "
        f"import {module}; print(now() - start)"
    )

    def setup(_device):
        where = Path(importlib.util.find_spec(module).origin).parent.parent
        command = [sys.executable, "-c", code]
        return lambda: float(
            subprocess.check_output(command, text=True, cwd=where)  # noqa: S603 -- as above
        )

    return setup


def training(
    name: str, about: str, problem: Any, goals: tuple[Goal, ...] = (), **options: Any
) -> Workload:
    """The row of a training step."""
    timed = options.get("measure", "time") == "time"
    setups = side_by_side(
        networks.training, networks_by_hand.training, in_cupy=elsewhere.training if timed else None,
        problem=problem,
    )  # fmt: skip
    if timed and type(problem) in LOSSES:
        setups |= peers.setups(partial(peers.training, problem=problem))
    return Workload(name, about, setups, goals, **options)


def estimator(
    name: str, about: str, taped: Any, plain: Any, problem: Table, goals: tuple[Goal, ...] = ()
) -> Workload:
    """A row of scikit-learn: polygrad beside the same calls on arrays."""
    setups = side_by_side(taped, plain, problem=problem)
    del setups["PyTorch"]
    return Workload(name, about, setups, goals, apart="scikit-learn")


def chain(
    name: str, about: str, factor: str, goals: tuple[Goal, ...] = (), length: int = CHAIN_LENGTH
) -> Workload:
    """The row of a chain with a factor of this kind."""
    setups = side_by_side(operations.chain, by_hand.chain, factor=factor, length=length)
    if factor != "tracked" and length <= CHAIN_LENGTH:  # what is longer, JAX compiles for minutes
        k = CHAIN_K if factor == "number" else chain_factor()
        loss = partial(losses.chain, length=length)
        setups |= peers.setups(lambda peer: peers.gradient(peer, loss, [chain_start()], k))
    return Workload(name, about, setups, goals)


def large(name: str, about: str, goals: tuple[Goal, ...] = (), **options: Any) -> Workload:
    """The row of the chain of large arrays."""
    setups = side_by_side(operations.large, by_hand.large)
    if options.get("measure", "time") == "time":
        setups |= peers.setups(lambda peer: peers.gradient(peer, losses.bump, [large_array()]))
    return Workload(name, about, setups, goals, **options)


def bodies(name: str, about: str, problem: Bodies) -> Workload:
    """The row of bodies that attract each other."""
    setups = side_by_side(science.bodies, science_by_hand.bodies, problem=problem)
    loss = partial(losses.energy, softening=problem.softening)

    def peer(name: str) -> Step:
        places, masses = problem.data()
        return peers.gradient(name, loss, [places], masses)

    return Workload(name, about, setups | peers.setups(peer))


def family(name: str, about: str) -> Workload:
    """The row of one operation, recorded."""
    setups = side_by_side(operations.family, by_hand.family, name=name)
    return Workload(f"op-{name}", f"{about}, recorded; one op, forward", setups, calls=CALLS)


def imported(module_of: Mapping[str, str], goals: tuple[Goal, ...]) -> Workload:
    """The row of an import in a fresh Python."""
    setups = {name: import_in_a_child(module) for name, module in module_of.items()}
    return Workload("import", "import in a fresh Python", setups, goals, measure="reported")
