"""The table of workloads."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.contenders import CONTENDERS, FAST, Setup, side_by_side
from benchmarks.functional import losses, peers
from benchmarks.functional.losses import LOSSES
from benchmarks.goals import AtMost, AtMostOver, AtMostTimes, Goal
from benchmarks.handwritten import estimators as estimators_by_hand
from benchmarks.handwritten import networks as networks_by_hand
from benchmarks.handwritten import networks_dpnp
from benchmarks.handwritten import operations as by_hand
from benchmarks.problems import (
    CALLS,
    CHAIN_K,
    CHAIN_LENGTH,
    CLOUDS,
    CNN,
    DIGITS,
    ENCODER,
    LSTM,
    MLP_ADAM,
    MLP_SGD,
    TINY,
    WIDE_ADAM,
    WIDE_SGD,
    Table,
    chain_factor,
    chain_start,
    large_array,
)
from benchmarks.taped import estimators, networks, operations
from benchmarks.workload import Measure, Workload


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
    name: str, about: str, problem: Any, goals: tuple[Goal, ...] = (), measure: Measure = "time"
) -> Workload:
    """The row of a training step."""
    setups = side_by_side(networks.training, networks_by_hand.training, problem=problem)
    if measure == "time" and type(problem) in LOSSES:
        setups |= peers.setups(partial(peers.training, problem=problem))
    return Workload(name, about, setups, goals, measure=measure)


def chain(name: str, about: str, factor: str, goals: tuple[Goal, ...] = ()) -> Workload:
    """The row of a chain with a factor of this kind."""
    setups = side_by_side(operations.chain, by_hand.chain, factor=factor)
    if factor != "tracked":
        k = CHAIN_K if factor == "number" else chain_factor()
        setups |= peers.setups(
            lambda peer: peers.gradient(
                peer, partial(losses.chain, length=CHAIN_LENGTH), [chain_start()], k
            )
        )
    return Workload(name, about, setups, goals)


def estimator(
    name: str, about: str, taped: Any, plain: Any, problem: Table, goals: tuple[Goal, ...] = ()
) -> Workload:
    """A row of scikit-learn: polygrad beside the same calls on arrays."""
    setups = side_by_side(taped, plain, problem=problem)
    del setups["PyTorch"]
    return Workload(name, about, setups, goals, apart="scikit-learn")


TRAINED = {
    "tiny": TINY, "mlp-sgd": MLP_SGD, "mlp-adam": MLP_ADAM, "cnn": CNN, "lstm": LSTM,
    "encoder": ENCODER,
}  # fmt: skip

WORKLOADS = (
    Workload(
        "op-untracked", "x * y, 10 float32, no gradient asked for; one op",
        side_by_side(partial(operations.multiply, recorded=False), by_hand.multiply),
        calls=CALLS,
    ),
    Workload(
        "op-recorded", "x * y, x requires grad; one op, forward",
        side_by_side(partial(operations.multiply, recorded=True), by_hand.multiply),
        goals=(AtMostOver(1.0e-6, "NumPy"),),
        calls=CALLS,
    ),
    Workload(
        "op-backward", "backward through a chain of x * y; one op",
        side_by_side(operations.backward_of_multiply),
        goals=(AtMost(1.5e-6),),
        calls=CALLS,
    ),
    chain(
        "chain", "z = z*k + k, 1000 times on 10 float32, k constant; forward and backward",
        "constant", (AtMostTimes(0.55, "PyTorch"),),
    ),
    chain("chain-number", "the chain, k a Python number", "number"),
    chain("chain-tracked", "the chain, k requires grad too", "tracked"),
    Workload(
        "large", "sum(e^(-x tanh(x/2 + 1/4))) of 4 million float32, and its gradient",
        side_by_side(operations.large, by_hand.large) | peers.setups(
            lambda peer: peers.gradient(peer, losses.bump, [large_array()])
        ),
        goals=(
            AtMostTimes(0.8, "PyTorch"), AtMostTimes(0.5, "PyTorch", FAST),
            AtMostTimes(1.05, "NumPy"),
        ),
    ),
    training(
        "tiny", "training step: batch 16, 4-16-16-3, tanh, cross entropy, Adam", TINY,
        (AtMostTimes(0.35, "PyTorch"), AtMostTimes(2.5, "NumPy")),
    ),
    training(
        "mlp-sgd", "training step: batch 128, 784-256-128-10, ReLU, cross entropy, SGD", MLP_SGD,
        (AtMostTimes(1.0, "PyTorch"), AtMostTimes(1.05, "NumPy")),
    ),
    training(
        "mlp-adam", "the same with Adam", MLP_ADAM,
        (AtMostTimes(0.8, "PyTorch"), AtMostTimes(1.05, "NumPy")),
    ),
    training(
        "cnn", "training step: batch 32 of 28x28, 1-16-32 channels of 3x3, ReLU, pooling, SGD", CNN,
        (
            AtMostTimes(1.3, "PyTorch"), AtMostTimes(0.9, "PyTorch", FAST),
            AtMostTimes(1.05, "NumPy"),
        ),
    ),
    training(
        "lstm", "training step: LSTM cell, 50 steps, batch 16, 64 features, 64 hidden, SGD", LSTM,
        (AtMostTimes(0.6, "PyTorch"), AtMostTimes(1.5, "NumPy")),
    ),
    training(
        "encoder", "training step: encoder layer, 8x128x256, 4 heads, 1024 hidden, AdamW", ENCODER,
        (
            AtMostTimes(1.8, "PyTorch"), AtMostTimes(1.0, "PyTorch", FAST),
            AtMostTimes(1.05, "NumPy"),
        ),
    ),
    estimator(
        "pca-forward", "PCA(10).fit_transform of 1797x64, recorded; NumPy: not recorded",
        estimators.components, estimators_by_hand.components, DIGITS,
        (AtMostTimes(1.2, "NumPy"),),
    ),
    estimator(
        "pca-gradient", "gradient of PCA(10).fit(x).explained_variance_, 1797x64",
        estimators.variance, estimators_by_hand.variance, DIGITS,
    ),
    estimator(
        "mixture-forward", "GaussianMixture(4).fit, 5 rounds, and score_samples, 500x8, recorded",
        partial(estimators.mixture, gradient=False), estimators_by_hand.mixture, CLOUDS,
    ),
    estimator(
        "mixture-gradient", "the same and its gradient; NumPy: without",
        partial(estimators.mixture, gradient=True), estimators_by_hand.mixture, CLOUDS,
    ),
    estimator(
        "mixture-score", "gradient of GaussianMixture.score_samples, mixture given, 500x8",
        estimators.score, estimators_by_hand.score, CLOUDS,
    ),
    *(
        Workload(
            name, f"training step: batch 512, 784-1024-10, ReLU, {problem.training.optimizer}",
            side_by_side(
                networks.training, networks_by_hand.training, networks_dpnp.training,
                problem=problem,
            ),
            goals=(AtMostTimes(1.1, "dpnp"),), goals_on="sycl",
        )
        for name, problem in (("wide-sgd", WIDE_SGD), ("wide-adam", WIDE_ADAM))
    ),
    Workload(
        "import", "import in a fresh Python",
        {name: import_in_a_child(CONTENDERS[name].module) for name in ("polygrad", "NumPy")},
        goals=(AtMost(0.150),),
        measure="reported",
    ),
    *(
        training(
            f"peak-{name}", f"memory at the peak of the training step {name}", problem,
            # The arrays of the tiny one are smaller than Python's objects around them, which
            # PyTorch's counter does not see.
            () if problem is TINY else (AtMostTimes(1.0, "PyTorch"),), "peak",
        )
        for name, problem in TRAINED.items()
    ),
    *(
        training(
            f"fresh-{name}", f"share of it that the step {name} maps anew", problem, (), "fresh"
        )
        for name, problem in TRAINED.items()
    ),
)  # fmt: skip
