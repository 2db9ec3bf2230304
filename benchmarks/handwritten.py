"""The workloads by hand, in NumPy: no tape, gradients derived on paper.

What is named `..._gradients` computes values and gradients and nothing else: the tests compare them
with those of the tape. What is named after a workload returns its step, for the clock.
"""

# ruff: noqa: PLW2901 -- arrays are updated in place
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems import (
    CALLS,
    CHAIN_K,
    CHAIN_LENGTH,
    Classification,
    chain_factor,
    chain_start,
)

# ------------------------------------------------------------------------------------- operations


def multiply() -> Callable[[], np.ndarray]:
    """CALLS products of two small arrays."""
    x, y = chain_start(), chain_factor()

    def step():
        for _ in range(CALLS):
            product = x * y
        return product

    return step


# ------------------------------------------------------------------------------------------ chain


def chain_gradients(z, k, length=CHAIN_LENGTH):
    """Return sum(z_length) for z_{i+1} = z_i k + k, and its gradient in z_0: g_i = g_{i+1} k."""
    for _ in range(length):
        z = z * k + k
    gradient = np.ones_like(z)
    for _ in range(length):
        gradient = gradient * k
    return z.sum(), gradient


def chain_gradients_in_both(z, k, length=CHAIN_LENGTH):
    """Return the same and the gradient in k: each link adds g_{i+1} (z_i + 1)."""
    history = []
    for _ in range(length):
        history.append(z)
        z = z * k + k
    gradient, gradient_in_k = np.ones_like(z), np.zeros_like(k)
    while history:
        gradient_in_k += gradient * history.pop() + gradient
        gradient = gradient * k
    return z.sum(), gradient, gradient_in_k


def chain(factor: str) -> Callable[[], object]:
    """The chain with k a "constant" array, a Python "number", or "tracked": with a gradient too."""
    z, k = chain_start(), CHAIN_K if factor == "number" else chain_factor()
    gradients = chain_gradients_in_both if factor == "tracked" else chain_gradients
    return lambda: gradients(z, k)


# ------------------------------------------------------------------------------------- classifier

# An activation that overwrites its argument, and its derivative as a function of its value.
ACTIVATIONS = {
    "ReLU": (lambda z: np.maximum(z, 0, out=z), lambda a: a > 0),
    "Tanh": (lambda z: np.tanh(z, out=z), lambda a: 1 - a * a),
}


def cross_entropy_gradients(logits, labels):
    """Return the mean of log(sum(exp z)) - z[label], and its gradient (softmax(z) - onehot) / n."""
    rows = np.arange(len(labels))
    shifted = logits - logits.max(axis=1, keepdims=True)
    gradient = np.exp(shifted)
    totals = gradient.sum(axis=1, keepdims=True)
    loss = (np.log(totals[:, 0]) - shifted[rows, labels]).mean()
    gradient /= totals
    gradient[rows, labels] -= 1
    gradient /= len(labels)
    return loss, gradient


def classifier_gradients(parameters, x, labels, activation):
    """Return the loss and its gradient in each parameter.

    For a layer z = a W' + b and the cotangent g of z: b has sum(g), W has g' a, a has g W.
    """
    activate, derivative = ACTIVATIONS[activation]
    weights, biases = parameters[0::2], parameters[1::2]
    layer_inputs = [x]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        z = layer_inputs[-1] @ weight.T
        z += bias
        layer_inputs.append(activate(z))
    logits = layer_inputs[-1] @ weights[-1].T
    logits += biases[-1]

    loss, g = cross_entropy_gradients(logits, labels)
    gradients = []
    for weight, a in zip(reversed(weights), reversed(layer_inputs), strict=True):
        gradients += [g.sum(axis=0), g.T @ a]
        if a is not x:
            g = g @ weight
            g *= derivative(a)
    return loss, gradients[::-1]


class SGD:
    """Plain gradient descent, in place."""

    def __init__(self, parameters, learning_rate):
        self.parameters, self.learning_rate = parameters, learning_rate

    def step(self, gradients):
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter -= self.learning_rate * gradient


class Adam:
    """Adam as PyTorch computes it (Kingma and Ba, 2015, algorithm 1), in place."""

    def __init__(self, parameters, learning_rate, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.learning_rate = parameters, learning_rate
        self.betas, self.eps = betas, eps
        self.means = [np.zeros_like(p) for p in parameters]
        self.squares = [np.zeros_like(p) for p in parameters]
        self.steps = 0

    def step(self, gradients):
        self.steps += 1
        beta1, beta2 = self.betas
        step_size = self.learning_rate / (1 - beta1**self.steps)
        correction = (1 - beta2**self.steps) ** 0.5
        moments = zip(self.parameters, gradients, self.means, self.squares, strict=True)
        for parameter, gradient, mean, square in moments:
            mean += (1 - beta1) * (gradient - mean)
            square *= beta2
            square += (1 - beta2) * gradient * gradient
            denominator = np.sqrt(square)
            denominator /= correction
            denominator += self.eps
            parameter -= step_size * mean / denominator


OPTIMIZERS = {"SGD": SGD, "Adam": Adam}


def classifier(problem: Classification) -> Callable[[], float]:
    """One training step of `problem`."""
    parameters = problem.parameters()
    optimizer = OPTIMIZERS[problem.optimizer](parameters, problem.learning_rate)
    x, labels = problem.data()

    def step():
        loss, gradients = classifier_gradients(parameters, x, labels, problem.activation)
        optimizer.step(gradients)
        return float(loss)

    return step
