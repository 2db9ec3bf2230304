"""Networks and their gradients.

Each class is made for a problem, and called with parameters (a list, in the problem's order),
inputs and targets; it returns the loss and the gradients, in arrays that the next call overwrites.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.handwritten.encoder import EncoderLayer, LetterReader
from benchmarks.handwritten.images import ConvolutionalNetwork, ResidualBlock
from benchmarks.handwritten.layers import Scratch, cross_entropy, relu_backward, squared_error
from benchmarks.handwritten.optimizers import OPTIMIZERS
from benchmarks.handwritten.science import Oscillator, Solver
from benchmarks.problems import (
    Bags,
    Classification,
    Encoder,
    Equation,
    Flow,
    Images,
    Letters,
    Recurrence,
    Residual,
)


class Classifier:
    """For a layer z = a W' + b and the cotangent g of z: b has sum(g), W has g' a, a has g W."""

    def __init__(self, problem: Classification) -> None:
        n, sizes = problem.batch, problem.sizes
        self.is_relu = problem.activation == "ReLU"
        self.values = [np.empty((n, size), np.float32) for size in sizes[1:]]
        self.cotangents = [np.empty((n, size), np.float32) for size in sizes[1:-1]]
        self.masks = [np.empty((n, size), bool) for size in sizes[1:-1]]
        self.gradients = [
            np.empty(shape, np.float32)
            for fan_in, fan_out in pairwise(sizes)
            for shape in ((fan_out, fan_in), (fan_out,))
        ]

    def __call__(self, parameters, x, labels):
        weights, biases, values = parameters[0::2], parameters[1::2], self.values
        a, last = x, len(values) - 1
        for k, value in enumerate(values):
            z = np.matmul(a, weights[k].T, out=value)
            z += biases[k]
            if k < last:
                if self.is_relu:
                    np.maximum(z, 0, out=z)
                else:
                    np.tanh(z, out=z)
            a = z
        loss, g = cross_entropy(a, labels)
        for k in range(last, -1, -1):
            a = values[k - 1] if k else x
            np.matmul(g.T, a, out=self.gradients[2 * k])
            np.add.reduce(g, axis=0, out=self.gradients[2 * k + 1])
            if k:
                g = np.matmul(g, weights[k], out=self.cotangents[k - 1])
                if self.is_relu:
                    relu_backward(g, a, self.masks[k - 1])
                else:
                    np.multiply(a, a, out=a)
                    np.subtract(1, a, out=a)
                    g *= a
        return loss, self.gradients


class LSTMReader:
    """Gates a = (i, f, g, o) of all steps, s(z) = (1 + tanh(z/2)) / 2 but g = tanh; h = o tanh(c).

    What the inputs give to the gates is one product for all steps, and so are the gradients of the
    weights; only the way through the states goes step by step.
    """

    def __init__(self, problem: Recurrence) -> None:
        self.problem, self.scratch = problem, Scratch()
        n = problem.hidden
        # tanh(z * half) * half + rest is the logistic function of three blocks, tanh of the third.
        self.half = np.full(4 * n, 0.5, np.float32)
        self.half[2 * n : 3 * n] = 1
        self.rest = 1 - self.half
        self.h, self.c = (
            np.zeros((problem.steps + 1, problem.batch, n), np.float32) for _ in range(2)
        )

    def __call__(self, parameters, x, target):
        weight_ih, weight_hh, bias_ih, bias_hh = parameters
        steps, batch, n = self.problem.steps, self.problem.batch, self.problem.hidden
        h, c, scratch = self.h, self.c, self.scratch
        gates = scratch("gates", (steps, batch, 4 * n))
        tanh_c = scratch("tanh_c", (steps, batch, n))
        z, u = scratch("z", (batch, 4 * n)), scratch("u", (batch, n))
        flat = x.reshape(steps * batch, -1)
        np.matmul(flat, weight_ih.T, out=gates.reshape(steps * batch, -1))
        gates += bias_ih + bias_hh
        hidden_weight = weight_hh.T
        for t in range(steps):
            a = gates[t]
            np.matmul(h[t], hidden_weight, out=z)
            a += z
            a *= self.half
            np.tanh(a, out=a)
            a *= self.half
            a += self.rest
            new = c[t + 1]
            np.multiply(a[:, n : 2 * n], c[t], out=new)
            np.multiply(a[:, :n], a[:, 2 * n : 3 * n], out=u)
            new += u
            np.tanh(new, out=tanh_c[t])
            np.multiply(a[:, 3 * n :], tanh_c[t], out=h[t + 1])
        loss, gh = squared_error(h[steps].copy(), target)
        return loss, self.backward(flat, gh, weight_hh)

    def backward(self, flat, gh, weight_hh):
        steps, batch, n = self.problem.steps, self.problem.batch, self.problem.hidden
        c, scratch = self.c, self.scratch
        gates, tanh_c, u = scratch["gates"], scratch["tanh_c"], scratch["u"]
        # The derivatives of all gates at once: a (1 - a), of the third 1 - a^2.
        slopes, d = scratch("slopes", gates.shape), scratch("d", gates.shape)
        np.subtract(1, gates, out=slopes)
        slopes *= gates
        third = gates[..., 2 * n : 3 * n]
        np.multiply(third, third, out=slopes[..., 2 * n : 3 * n])
        np.subtract(1, slopes[..., 2 * n : 3 * n], out=slopes[..., 2 * n : 3 * n])
        gc, gu = scratch("gc", (batch, n)), scratch("gu", (batch, n))
        gc[...] = 0
        for t in range(steps - 1, -1, -1):
            a, g = gates[t], d[t]
            np.multiply(gh, tanh_c[t], out=g[:, 3 * n :])
            np.multiply(tanh_c[t], tanh_c[t], out=u)
            np.subtract(1, u, out=u)
            u *= a[:, 3 * n :]
            u *= gh
            gc += u
            np.multiply(gc, a[:, 2 * n : 3 * n], out=g[:, :n])
            np.multiply(gc, c[t], out=g[:, n : 2 * n])
            np.multiply(gc, a[:, :n], out=g[:, 2 * n : 3 * n])
            g *= slopes[t]
            gc *= a[:, n : 2 * n]
            gh = np.matmul(g, weight_hh, out=gu)
        rows = d.reshape(steps * batch, -1)
        states = self.h[:steps].reshape(steps * batch, n)
        in_ih, in_hh = scratch("in_ih", (4 * n, flat.shape[1])), scratch("in_hh", (4 * n, n))
        np.matmul(rows.T, flat, out=in_ih)
        np.matmul(rows.T, states, out=in_hh)
        in_bias = rows.sum(axis=0)
        return [in_ih, in_hh, in_bias, in_bias.copy()]


class BagClassifier:
    """The mean of the vectors of words, and a linear map; a word has what all its bags have."""

    def __init__(self, problem: Bags) -> None:
        self.problem, self.scratch = problem, Scratch()

    def __call__(self, parameters, bags, labels):
        vectors, weight, bias = parameters
        p, scratch = self.problem, self.scratch
        words = scratch("words", (*bags.shape, p.width))
        np.take(vectors, bags, axis=0, out=words, mode="clip")
        means = np.add.reduce(words, axis=1, out=scratch("means", (p.batch, p.width)))
        means *= 1 / p.words_in_bag
        logits = np.matmul(means, weight.T, out=scratch("logits", (p.batch, p.classes)))
        logits += bias
        loss, g = cross_entropy(logits, labels)
        in_weight, in_bias = g.T @ means, g.sum(axis=0)
        np.matmul(g, weight, out=means)
        means *= 1 / p.words_in_bag
        in_vectors = scratch("in_vectors", vectors.shape)
        in_vectors[...] = 0
        words[...] = means[:, None]
        np.add.at(in_vectors, bags.reshape(-1), words.reshape(-1, p.width))
        return loss, [in_vectors, in_weight, in_bias]


GRADIENTS: dict[type, Callable[[Any], Any]] = {
    Classification: Classifier, Images: ConvolutionalNetwork, Encoder: EncoderLayer,
    Recurrence: LSTMReader, Residual: ResidualBlock, Letters: LetterReader, Bags: BagClassifier,
    Flow: Solver, Equation: Oscillator,
}  # fmt: skip


def training(
    problem: Any, move: Callable[[Any], Any] = lambda array: array
) -> Callable[[], float]:
    """One training step of `problem`; `move` brings NumPy's arrays to where it is made."""
    parameters = [move(array) for array in problem.parameters().values()]
    differentiate = GRADIENTS[type(problem)](problem)
    optimizer = OPTIMIZERS[problem.training.optimizer](parameters, problem.training.learning_rate)
    x, y = map(move, problem.data())

    def step():
        loss, gradients = differentiate(parameters, x, y)
        optimizer.step(gradients)
        return float(loss)

    return step
