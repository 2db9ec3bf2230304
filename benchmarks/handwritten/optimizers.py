"""Optimisers as PyTorch computes them, in place."""

# ruff: noqa: PLW2901 -- arrays are updated in place
from __future__ import annotations

import numpy as np


class SGD:
    """Plain gradient descent. The gradients are used up."""

    def __init__(self, parameters, learning_rate):
        self.parameters, self.learning_rate = parameters, learning_rate

    def step(self, gradients):
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            gradient *= self.learning_rate
            parameter -= gradient


class Adam:
    """Adam (Kingma and Ba, 2015, algorithm 1), with two spare arrays that all parameters share.

    Its fourteen passes are made over one piece of the arrays after the other, so that a piece is
    still in the processor's cache when the next pass comes.
    """

    weight_decay = 0.0
    piece = 1 << 16

    def __init__(self, parameters, learning_rate, betas=(0.9, 0.999), eps=1e-8):
        self.learning_rate, self.betas, self.eps = learning_rate, betas, eps
        self.parameters = [p.reshape(-1) for p in parameters]
        self.means = [np.zeros_like(p) for p in self.parameters]
        self.squares = [np.zeros_like(p) for p in self.parameters]
        largest = min(self.piece, max(p.size for p in parameters))
        self.spare = np.empty(largest, np.float32)
        self.steps = 0

    def step(self, gradients):
        self.steps += 1
        beta1, beta2 = self.betas
        step_size = self.learning_rate / (1 - beta1**self.steps)
        correction = (1 - beta2**self.steps) ** 0.5
        moments = zip(self.parameters, gradients, self.means, self.squares, strict=True)
        for parameter, gradient, mean, square in moments:
            gradient = gradient.reshape(-1)
            if parameter.size <= self.piece:
                self.update(parameter, gradient, mean, square, step_size, correction)
                continue
            for start in range(0, parameter.size, self.piece):
                part = slice(start, start + self.piece)
                self.update(
                    parameter[part], gradient[part], mean[part], square[part], step_size, correction
                )

    def update(self, parameter, gradient, mean, square, step_size, correction):
        beta1, beta2 = self.betas
        spare = self.spare[: parameter.size]
        if self.weight_decay:
            parameter *= 1 - self.learning_rate * self.weight_decay
        np.subtract(gradient, mean, out=spare)
        spare *= 1 - beta1
        mean += spare
        square *= beta2
        np.multiply(gradient, gradient, out=spare)
        spare *= 1 - beta2
        square += spare
        np.sqrt(square, out=spare)
        spare *= 1 / correction
        spare += self.eps
        np.divide(mean, spare, out=spare)
        spare *= step_size
        parameter -= spare


class AdamW(Adam):
    """Adam with decay of the parameters themselves (Loshchilov and Hutter, 2019)."""

    weight_decay = 0.01


OPTIMIZERS = {"SGD": SGD, "Adam": Adam, "AdamW": AdamW}
