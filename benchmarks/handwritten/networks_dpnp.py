"""The classifier by hand in dpnp: no tape, nothing allocated in the step that could be kept.

dpnp takes longer over a Python number than over a small operation, so numbers are 0-d arrays that
are made once; results go into arrays of their own (`out=`), since to allocate costs a call too; and
the sum of a column is a product with ones, which on a CPU is faster than the library's sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.problems import Classification


class Numbers:
    """Python numbers as 0-d arrays of float32 on one queue, each made once."""

    def __init__(self, dpnp: Any, queue: Any) -> None:
        self.dpnp, self.queue, self.kept = dpnp, queue, {}

    def __call__(self, number: float) -> Any:
        if number not in self.kept:
            self.kept[number] = self.dpnp.asarray(number, dtype="f4", sycl_queue=self.queue)
        return self.kept[number]


class Network:
    """Two layers with a ReLU between them, and room for what a step computes."""

    def __init__(self, dpnp: Any, queue: Any, problem: Classification) -> None:
        self.dpnp, self.number = dpnp, Numbers(dpnp, queue)
        self.parameters = [
            dpnp.asarray(a, sycl_queue=queue) for a in problem.parameters().values()
        ]
        self.gradients = [dpnp.empty_like(p) for p in self.parameters]
        n, (_, hidden, classes) = problem.batch, problem.sizes

        def room(*shape: int, dtype: str = "f4") -> Any:
            return dpnp.empty(shape, dtype=dtype, sycl_queue=queue)

        self.ones = dpnp.ones(n, dtype="f4", sycl_queue=queue)
        self.classes = dpnp.arange(classes, dtype="i8", sycl_queue=queue)
        self.z, self.a, self.g_a = (room(n, hidden) for _ in range(3))
        self.logits, self.shifted, self.g = (room(n, classes) for _ in range(3))
        self.active, self.onehot = room(n, hidden, dtype="?"), room(n, classes, dtype="?")

    def run(self, x: Any, labels: Any) -> Any:
        """The loss, a 0-d array; the gradients are written to `gradients`."""
        dpnp, number = self.dpnp, self.number
        w1, b1, w2, b2 = self.parameters
        g_w1, g_b1, g_w2, g_b2 = self.gradients
        a, logits, shifted, g = self.a, self.logits, self.shifted, self.g
        dpnp.matmul(x, w1.T, out=self.z)
        dpnp.add(self.z, b1, out=self.z)
        dpnp.maximum(self.z, number(0.0), out=a)
        dpnp.matmul(a, w2.T, out=logits)
        dpnp.add(logits, b2, out=logits)

        dpnp.subtract(logits, dpnp.max(logits, axis=1, keepdims=True), out=shifted)
        dpnp.exp(shifted, out=g)
        totals = dpnp.sum(g, axis=1, keepdims=True)
        onehot = dpnp.equal(labels[:, None], self.classes, out=self.onehot)
        dpnp.multiply(shifted, onehot, out=shifted)
        loss = dpnp.sum(dpnp.log(totals)) - dpnp.sum(shifted)
        dpnp.divide(g, totals, out=g)
        dpnp.subtract(g, onehot, out=g)
        dpnp.multiply(g, number(1 / len(x)), out=g)

        dpnp.matmul(self.ones, g, out=g_b2)
        dpnp.matmul(g.T, a, out=g_w2)
        dpnp.matmul(g, w2, out=self.g_a)
        dpnp.greater(a, number(0.0), out=self.active)
        dpnp.multiply(self.g_a, self.active, out=self.g_a)
        dpnp.matmul(self.ones, self.g_a, out=g_b1)
        dpnp.matmul(self.g_a.T, x, out=g_w1)
        return dpnp.multiply(loss, number(1 / len(x)))


class SGD:
    """Plain gradient descent, in place."""

    def __init__(self, network: Network, learning_rate: float) -> None:
        self.network, self.learning_rate = network, learning_rate

    def step(self) -> None:
        dpnp, rate = self.network.dpnp, self.network.number(self.learning_rate)
        for p, g in zip(self.network.parameters, self.network.gradients, strict=True):
            dpnp.multiply(g, rate, out=g)
            dpnp.subtract(p, g, out=p)


class Adam:
    """Adam as PyTorch computes it (Kingma and Ba, 2015, algorithm 1), in place."""

    def __init__(self, network: Network, learning_rate: float) -> None:
        self.network, self.learning_rate = network, learning_rate
        self.means, self.squares = (
            [network.dpnp.zeros_like(p) for p in network.parameters] for _ in range(2)
        )
        self.steps = 0

    def step(self, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> None:
        self.steps += 1
        dpnp, number = self.network.dpnp, self.network.number
        (beta1, beta2), root = betas, (1 - betas[1] ** self.steps) ** 0.5
        # Numbers of this step only: not kept.
        size = dpnp.full_like(number(0.0), self.learning_rate * root / (1 - beta1**self.steps))
        small = dpnp.full_like(number(0.0), eps * root)
        for p, g, m, v in zip(
            self.network.parameters, self.network.gradients, self.means, self.squares, strict=True
        ):
            t = dpnp.subtract(g, m)
            dpnp.multiply(t, number(1 - beta1), out=t)
            dpnp.add(m, t, out=m)
            dpnp.multiply(v, number(beta2), out=v)
            dpnp.multiply(g, g, out=g)
            dpnp.multiply(g, number(1 - beta2), out=g)
            dpnp.add(v, g, out=v)
            dpnp.sqrt(v, out=t)
            dpnp.add(t, small, out=t)
            dpnp.divide(m, t, out=t)
            dpnp.multiply(t, size, out=t)
            dpnp.subtract(p, t, out=p)


OPTIMIZERS = {"SGD": SGD, "Adam": Adam}


def training(device: str, problem: Classification) -> Callable[[], float]:
    """One training step of `problem`, which has two layers and a ReLU between them."""
    import dpctl
    import dpnp

    from polygrad.backends.dpnp_devices import find_opencl_cpu

    find_opencl_cpu()
    queue = dpctl.get_device_cached_queue(dpctl.SyclDevice(device.partition(":")[2]))
    network = Network(dpnp, queue, problem)
    optimizer = OPTIMIZERS[problem.training.optimizer](network, problem.training.learning_rate)
    x, labels = (dpnp.asarray(array, sycl_queue=queue) for array in problem.data())

    def step():
        loss = network.run(x, labels)
        optimizer.step()
        return float(loss)

    return step
