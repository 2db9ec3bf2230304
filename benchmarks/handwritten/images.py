"""A convolutional network, channels first: (channels, batch, height, width) from layer to layer.

Then all windows of all images are the columns of one matrix, and a convolution is one product.
"""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.handwritten.layers import Scratch, cross_entropy
from benchmarks.problems import Images

WINDOW = tuple(itertools.product(range(3), range(3)))
CORNERS = tuple(itertools.product(range(2), range(2)))


def corners(x):
    """The four elements of each window of 2x2, as four views."""
    return [x[..., i::2, j::2] for i, j in CORNERS]


class Convolution:
    """3x3, padded by 1, then ReLU and the maximum of each window of 2x2.

    With the windows of x as columns X: z = W X + b; W has g X', X has W' g, and x the sum of what
    its elements have in the windows.
    """

    def __init__(self, shape: tuple[int, int, int, int], channels: int) -> None:
        """For x of `shape` (channels, batch, side, side)."""
        before, batch, side, _ = shape
        self.shape, self.channels = shape, channels
        self.padded = np.zeros((before, batch, side + 2, side + 2), np.float32)
        self.in_padded = np.empty_like(self.padded)
        self.columns = np.empty((before, 9, batch, side, side), np.float32)
        self.values = np.empty((channels, batch, side, side), np.float32)
        self.cotangent = np.empty_like(self.values)
        self.pooled = np.empty((channels, batch, side // 2, side // 2), np.float32)
        self.free = np.empty(self.pooled.shape, bool)
        self.chosen = np.empty(self.pooled.shape, bool)
        self.in_weight = np.empty((channels, 9 * before), np.float32)

    def matrix(self, columns):
        return columns.reshape(9 * self.shape[0], -1)

    def forward(self, x, weight, bias):
        side, values = self.shape[-1], self.values
        self.padded[..., 1:-1, 1:-1] = x
        for k, (i, j) in enumerate(WINDOW):
            self.columns[:, k] = self.padded[..., i : i + side, j : j + side]
        flat = values.reshape(self.channels, -1)
        np.matmul(weight.reshape(self.channels, -1), self.matrix(self.columns), out=flat)
        flat += bias[:, None]
        np.maximum(flat, 0, out=flat)
        a, b, c, d = corners(values)
        np.maximum(a, b, out=self.pooled)
        np.maximum(self.pooled, c, out=self.pooled)
        return np.maximum(self.pooled, d, out=self.pooled)

    def backward(self, g, weight, needs_x):
        """Return the gradients of weight, bias and, if it is needed, x.

        The first largest element of a window gets its cotangent, if it is positive.
        """
        free, chosen = self.free, self.chosen
        np.greater(self.pooled, 0, out=free)
        for value, part in zip(corners(self.values), corners(self.cotangent), strict=True):
            np.equal(value, self.pooled, out=chosen)
            np.logical_and(chosen, free, out=chosen)
            np.logical_xor(free, chosen, out=free)
            np.multiply(g, chosen, out=part)
        flat = self.cotangent.reshape(self.channels, -1)
        np.matmul(flat, self.matrix(self.columns).T, out=self.in_weight)
        in_weight, in_bias = self.in_weight.reshape(weight.shape), flat.sum(axis=1)
        if not needs_x:
            return in_weight, in_bias, None
        # The columns are used up: their array takes their cotangents.
        np.matmul(weight.reshape(self.channels, -1).T, flat, out=self.matrix(self.columns))
        side = self.shape[-1]
        self.in_padded[...] = 0
        for k, (i, j) in enumerate(WINDOW):
            self.in_padded[..., i : i + side, j : j + side] += self.columns[:, k]
        return in_weight, in_bias, self.in_padded[..., 1:-1, 1:-1]


class ConvolutionalNetwork:
    """Two convolutions and a linear map: the loss and the gradients."""

    def __init__(self, problem: Images) -> None:
        first, second, third = problem.channels
        n, side = problem.batch, problem.side
        self.problem, self.scratch = problem, Scratch()
        self.first = Convolution((first, n, side, side), second)
        self.second = Convolution((second, n, side // 2, side // 2), third)

    def __call__(self, parameters, x, labels):
        w0, b0, w1, b1, w2, b2 = parameters
        n, third, quarter = self.problem.batch, self.problem.channels[2], self.problem.side // 4
        scratch = self.scratch
        hidden = self.first.forward(x.swapaxes(0, 1), w0, b0)
        hidden = self.second.forward(hidden, w1, b1)
        features = scratch("features", (n, third, quarter, quarter))
        features[...] = hidden.swapaxes(0, 1)
        rows = features.reshape(n, -1)
        logits = np.matmul(rows, w2.T, out=scratch("logits", (n, len(b2))))
        logits += b2
        loss, g = cross_entropy(logits, labels)

        in_w2, in_b2 = np.matmul(g.T, rows, out=scratch("in_w2", w2.shape)), g.sum(axis=0)
        np.matmul(g, w2, out=rows)
        in_w1, in_b1, g = self.second.backward(features.swapaxes(0, 1), w1, needs_x=True)
        in_w0, in_b0, _ = self.first.backward(g, w0, needs_x=False)
        return loss, [in_w0, in_b0, in_w1, in_b1, in_w2, in_b2]
