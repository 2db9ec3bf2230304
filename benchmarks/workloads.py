"""The table of workloads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmarks.contenders import FAST, side_by_side
from benchmarks.goals import AtMost, AtMostOver, AtMostTimes
from benchmarks.handwritten import estimators as estimators_by_hand
from benchmarks.handwritten import networks as networks_by_hand
from benchmarks.handwritten import networks_dpnp
from benchmarks.handwritten import operations as by_hand
from benchmarks.problems import (
    BAGS,
    BODIES,
    CALLS,
    CLOUDS,
    CNN,
    DIGITS,
    ENCODER,
    EQUATION,
    FLOW,
    LARGE_CNN,
    LARGE_ENCODER,
    LARGE_MLP,
    LETTERS,
    LSTM,
    MLP_ADAM,
    MLP_SGD,
    RESNET,
    TINY,
    WIDE_ADAM,
    WIDE_SGD,
)
from benchmarks.rows import bodies, chain, estimator, family, imported, large, training
from benchmarks.taped import estimators, networks, operations
from benchmarks.taped.operations import FAMILIES
from benchmarks.workload import Workload

TRAINED = {
    "tiny": TINY, "mlp-sgd": MLP_SGD, "mlp-adam": MLP_ADAM, "cnn": CNN, "lstm": LSTM,
    "encoder": ENCODER,
}  # fmt: skip

CARDS = ("cuda", "rocm")

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
    *(family(name, about) for name, (about, _) in FAMILIES.items()),
    chain(
        "chain", "z = z*k + k, 1000 times on 10 float32, k constant; forward and backward",
        "constant", (AtMostTimes(0.55, "PyTorch"),),
    ),
    chain("chain-number", "the chain, k a Python number", "number"),
    chain("chain-tracked", "the chain, k requires grad too", "tracked"),
    large(
        "large", "sum(e^(-x tanh(x/2 + 1/4))) of 4 million float32, and its gradient",
        (
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
    training(
        "resnet", "training step: batch 16 of 16x16, 32 channels, block of two 3x3, BatchNorm, SGD",
        RESNET,
    ),
    training(
        "letters", "training step: 16x64 letters, 2 encoder layers of 64, 4 heads, AdamW", LETTERS,
    ),
    training("bags", "training step: 256 bags of 20 out of 10000 words, 64 features, SGD", BAGS),
    bodies("bodies", "energy of 256 bodies, and the forces", BODIES),
    training("flow", "training step: 40 Runge-Kutta steps of tanh(z W + b), 64x16, SGD", FLOW),
    training("equation", "training step: u'' + u of 1-32-32-1 at 256 places, Adam", EQUATION),
    *(
        training(name, f"training step that fills a card: {about}", problem, kinds=CARDS)
        for name, about, problem in (
            ("card-mlp", "batch 4096, 1024-8192-8192-1000, Adam", LARGE_MLP),
            ("card-cnn", "batch 512 of 28x28, 1-64-128 channels, SGD", LARGE_CNN),
            ("card-encoder", "encoder layer, 32x512x1024, 16 heads, AdamW", LARGE_ENCODER),
        )
    ),
    imported({"polygrad": "polygrad", "NumPy": "numpy"}, (AtMost(0.150),)),
    *(
        training(
            f"peak-{name}", f"memory at the peak of the training step {name}", problem,
            # The arrays of the tiny one are smaller than Python's objects around them, which
            # PyTorch's counter does not see.
            () if problem is TINY else (AtMostTimes(1.0, "PyTorch"),), measure="peak",
        )
        for name, problem in TRAINED.items()
    ),
    *(
        training(
            f"fresh-{name}", f"share of it that the step {name} maps anew", problem, measure="fresh"
        )
        for name, problem in TRAINED.items()
    ),
    large("fresh-large", "share of its memory that the step large maps anew", measure="fresh"),
    *(
        chain(
            f"depth-{2 * length}", f"the chain of {2 * length} operations", "constant",
            length=length,
        )
        for length in (5, 50, 500, 5000, 50_000, 500_000)
    ),
    *(
        training(f"batch-{batch}", f"mlp-sgd, batch {batch}", replace(MLP_SGD, batch=batch))
        for batch in (1, 8, 32, 512, 2048)
    ),
    *(
        row
        for threads in (1, 2, 4)
        for row in (
            training(f"threads-{threads}-mlp", f"mlp-sgd, {threads} threads", MLP_SGD,
                     threads=threads),
            training(f"threads-{threads}-encoder", f"encoder, {threads} threads", ENCODER,
                     threads=threads),
            large(f"threads-{threads}-large", f"large, {threads} threads", threads=threads),
        )
    ),
)  # fmt: skip
