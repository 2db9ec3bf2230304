"""Single operations, chains of small ones, and a chain of large ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.problems import (
    CALLS,
    CHAIN_K,
    CHAIN_LENGTH,
    chain_factor,
    chain_start,
    large_array,
)


def multiply(lib: Any, device: str, *, recorded: bool) -> Callable[[], object]:
    """CALLS products of two small tensors, on the tape or not."""
    x = lib.tensor(chain_start(), device=device, requires_grad=recorded)
    y = lib.tensor(chain_factor(), device=device)

    def step():
        for _ in range(CALLS):
            product = x * y
        return product

    return step


# Functions of a library and two arrays, by the family that they stand for.
FAMILIES = {
    "unary": ("exp(x), 10 float32", lambda lib, x, y: lib.exp(x)),
    "number": ("x * 2.0", lambda lib, x, y: x * 2.0),
    "comparison": ("x > y", lambda lib, x, y: x > y),
    "reduction": ("x.sum()", lambda lib, x, y: x.sum()),
    "reshape": ("x.reshape(2, 5)", lambda lib, x, y: x.reshape(2, 5)),
    "slice": ("x[2:7]", lambda lib, x, y: x[2:7]),
    "where": ("where(x > y, x, y)", lambda lib, x, y: lib.where(x > y, x, y)),
    "concat": ("concat([x, y])", lambda lib, x, y: lib.concat([x, y])),
    "product": ("x @ y", lambda lib, x, y: x @ y),
}


def family(lib: Any, device: str, name: str) -> Callable[[], object]:
    """CALLS of one operation on small tensors."""
    x = lib.tensor(chain_start(), device=device, requires_grad=True)
    y = lib.tensor(chain_factor(), device=device)
    operation = FAMILIES[name][1]

    def step():
        for _ in range(CALLS):
            result = operation(lib, x, y)
        return result

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


def chain(
    lib: Any, device: str, factor: str, length: int = CHAIN_LENGTH
) -> Callable[[], object]:
    """z = z*k + k, k a "constant" tensor, a Python "number", or "tracked": with a gradient too."""
    start = lib.tensor(chain_start(), device=device, requires_grad=True)
    k = CHAIN_K
    if factor != "number":
        k = lib.tensor(chain_factor(), device=device, requires_grad=factor == "tracked")

    def step():
        z = start
        for _ in range(length):
            z = z * k + k
        total = z.sum()
        total.backward()
        start.grad = None
        if factor == "tracked":
            k.grad = None
        return total.detach().item()

    return step


def bump(lib: Any, x: Any) -> Any:
    """The sum of e^(-x tanh(x/2 + 1/4)): seven operations, each a pass over the array."""
    return lib.exp(-(x * lib.tanh(x * 0.5 + 0.25))).sum()


def large(lib: Any, device: str) -> Callable[[], object]:
    """Value and gradient of `bump` of a large array."""
    x = lib.tensor(large_array(), device=device, requires_grad=True)

    def step():
        total = bump(lib, x)
        total.backward()
        x.grad = None
        return total.detach().item()

    return step
