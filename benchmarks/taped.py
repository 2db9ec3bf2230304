"""The workloads for polygrad and for PyTorch: one text, `lib` being either.

Each function sets a workload up on `device` and returns its step, for the clock. A step ends by
reading its loss where there is one, as a training loop does; that also waits for a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.problems import (
    CALLS,
    CHAIN_K,
    CHAIN_LENGTH,
    Classification,
    chain_factor,
    chain_start,
)

# ------------------------------------------------------------------------------------- operations


def multiply(lib: Any, device: str, *, recorded: bool) -> Callable[[], object]:
    """CALLS products of two small tensors, on the tape or not."""
    x = lib.tensor(chain_start(), device=device, requires_grad=recorded)
    y = lib.tensor(chain_factor(), device=device)

    def step():
        for _ in range(CALLS):
            product = x * y
        return product

    return step


def backward_of_multiply(lib: Any, device: str) -> Callable[[], object]:
    """The backward alone, through CALLS products, again and again on one graph."""
    x = lib.tensor(chain_start(), device=device, requires_grad=True)
    y = lib.tensor(chain_factor(), device=device)
    product = x
    for _ in range(CALLS):
        product = product * y
    total = product.sum()
    return lambda: lib.autograd.grad(total, x, retain_graph=True)


# ------------------------------------------------------------------------------------------ chain


def chain(lib: Any, device: str, factor: str) -> Callable[[], object]:
    """z = z*k + k, k a "constant" tensor, a Python "number", or "tracked": with a gradient too."""
    start = lib.tensor(chain_start(), device=device, requires_grad=True)
    k = CHAIN_K
    if factor != "number":
        k = lib.tensor(chain_factor(), device=device, requires_grad=factor == "tracked")

    def step():
        z = start
        for _ in range(CHAIN_LENGTH):
            z = z * k + k
        total = z.sum()
        total.backward()
        start.grad = None
        if factor == "tracked":
            k.grad = None
        return total.detach().item()

    return step


# ------------------------------------------------------------------------------------- classifier


def classifier_model(lib: Any, device: str, problem: Classification) -> Any:
    """The network of `problem`, with its initial weights."""
    layers = []
    for fan_in, fan_out in pairwise(problem.sizes):
        layers += [lib.nn.Linear(fan_in, fan_out), getattr(lib.nn, problem.activation)()]
    model = lib.nn.Sequential(*layers[:-1])
    initial = map(lib.tensor, problem.parameters())
    model.load_state_dict(dict(zip(model.state_dict(), initial, strict=True)))
    return model.to(device)


def classifier(lib: Any, device: str, problem: Classification) -> Callable[[], float]:
    """One training step of `problem`."""
    model = classifier_model(lib, device, problem)
    optimizer = getattr(lib.optim, problem.optimizer)(model.parameters(), lr=problem.learning_rate)
    x, labels = (lib.tensor(array, device=device) for array in problem.data())

    def step():
        optimizer.zero_grad()
        loss = lib.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss.detach().item()

    return step
