"""Convolutional networks, channels first: (channels, batch, height, width) from layer to layer.

Then all windows of all images are the columns of one matrix, and a convolution is one product.
"""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.handwritten.layers import Scratch, cross_entropy, relu_backward, squared_error
from benchmarks.problems import Images, Residual

WINDOW = tuple(itertools.product(range(3), range(3)))
CORNERS = tuple(itertools.product(range(2), range(2)))

Shape = tuple[int, int, int, int]


class Convolution:
    """3x3, padded by 1: with the windows of x as columns X, z = W X.

    W has g X', X has W' g, and x the sum of what its elements have in the windows.
    """

    def __init__(self, shape: Shape, channels: int) -> None:
        """For x of `shape` (channels, batch, side, side)."""
        before, batch, side, _ = shape
        self.shape, self.channels = shape, channels
        self.padded = np.zeros((before, batch, side + 2, side + 2), np.float32)
        self.in_padded = np.empty_like(self.padded)
        self.columns = np.empty((before, 9, batch, side, side), np.float32)
        self.values = np.empty((channels, batch, side, side), np.float32)
        self.in_weight = np.empty((channels, 9 * before), np.float32)

    def matrix(self):
        return self.columns.reshape(9 * self.shape[0], -1)

    def forward(self, x, weight):
        """Return z, which is overwritten by the next call."""
        side = self.shape[-1]
        self.padded[..., 1:-1, 1:-1] = x
        for k, (i, j) in enumerate(WINDOW):
            self.columns[:, k] = self.padded[..., i : i + side, j : j + side]
        flat = self.values.reshape(self.channels, -1)
        np.matmul(weight.reshape(self.channels, -1), self.matrix(), out=flat)
        return self.values

    def backward(self, g, weight, needs_x):
        """Return the gradients of the weight and, if needed, of x. The columns are used up."""
        side, flat = self.shape[-1], g.reshape(self.channels, -1)
        if self.channels < 9 * self.shape[0]:  # OpenBLAS is quicker with the larger one first
            self.in_weight[...] = np.matmul(self.matrix(), flat.T).T
        else:
            np.matmul(flat, self.matrix().T, out=self.in_weight)
        in_weight = self.in_weight.reshape(weight.shape)
        if not needs_x:
            return in_weight, None
        np.matmul(weight.reshape(self.channels, -1).T, flat, out=self.matrix())
        self.in_padded[...] = 0
        for k, (i, j) in enumerate(WINDOW):
            self.in_padded[..., i : i + side, j : j + side] += self.columns[:, k]
        return in_weight, self.in_padded[..., 1:-1, 1:-1]


def corners(x):
    """The four elements of each window of 2x2, as four views."""
    return [x[..., i::2, j::2] for i, j in CORNERS]


class Pooling:
    """z + b, ReLU in its place, and the maximum of each window of 2x2."""

    def __init__(self, shape: Shape) -> None:
        channels, batch, side, _ = shape
        self.cotangent = np.empty(shape, np.float32)
        self.pooled = np.empty((channels, batch, side // 2, side // 2), np.float32)
        self.free = np.empty(self.pooled.shape, bool)
        self.chosen = np.empty(self.pooled.shape, bool)

    def forward(self, z, bias):
        flat = z.reshape(len(z), -1)
        flat += bias[:, None]
        np.maximum(flat, 0, out=flat)
        self.values = z
        a, b, c, d = corners(z)
        np.maximum(a, b, out=self.pooled)
        np.maximum(self.pooled, c, out=self.pooled)
        return np.maximum(self.pooled, d, out=self.pooled)

    def backward(self, g):
        """Return the gradients of z and b: the first largest of a window has g, if positive."""
        free, chosen = self.free, self.chosen
        np.greater(self.pooled, 0, out=free)
        for value, part in zip(corners(self.values), corners(self.cotangent), strict=True):
            np.equal(value, self.pooled, out=chosen)
            np.logical_and(chosen, free, out=chosen)
            np.logical_xor(free, chosen, out=free)
            np.multiply(g, chosen, out=part)
        return self.cotangent, self.cotangent.reshape(len(g), -1).sum(axis=1)


class ConvolutionalNetwork:
    """Two convolutions, each with ReLU and pooling, and a linear map."""

    def __init__(self, problem: Images) -> None:
        first, second, third = problem.channels
        n, side = problem.batch, problem.side
        self.problem, self.scratch = problem, Scratch()
        self.layers = [
            (Convolution((first, n, side, side), second), Pooling((second, n, side, side))),
            (
                Convolution((second, n, side // 2, side // 2), third),
                Pooling((third, n, side // 2, side // 2)),
            ),
        ]

    def __call__(self, parameters, x, labels):
        w0, b0, w1, b1, w2, b2 = parameters
        n, third, quarter = self.problem.batch, self.problem.channels[2], self.problem.side // 4
        scratch, hidden = self.scratch, x.swapaxes(0, 1)
        for (convolution, pooling), weight, bias in zip(
            self.layers, (w0, w1), (b0, b1), strict=True
        ):
            hidden = pooling.forward(convolution.forward(hidden, weight), bias)
        features = scratch("features", (n, third, quarter, quarter))
        features[...] = hidden.swapaxes(0, 1)
        rows = features.reshape(n, -1)
        logits = np.matmul(rows, w2.T, out=scratch("logits", (n, len(b2))))
        logits += b2
        loss, g = cross_entropy(logits, labels)

        gradients = [np.matmul(g.T, rows, out=scratch("in_w2", w2.shape)), g.sum(axis=0)]
        np.matmul(g, w2, out=rows)
        g = features.swapaxes(0, 1)
        for k, weight in ((1, w1), (0, w0)):
            convolution, pooling = self.layers[k]
            g, in_bias = pooling.backward(g)
            in_weight, g = convolution.backward(g, weight, needs_x=k > 0)
            gradients = [in_weight, in_bias, *gradients]
        return loss, gradients


class BatchNorm:
    """Each channel to mean 0 and variance 1 over all images and places: rows of (channels, n)."""

    def forward(self, x, weight, bias, out, eps=1e-5):
        """Into `out`; x becomes the normalised values, and belongs to the backward."""
        n = x.shape[1]
        x -= x.mean(axis=1, keepdims=True)
        scale = np.einsum("cn,cn->c", x, x)
        scale /= n
        scale += eps
        self.scale = np.reciprocal(np.sqrt(scale, out=scale), out=scale)
        x *= scale[:, None]
        np.multiply(x, weight[:, None], out=out)
        out += bias[:, None]
        self.normal = x

    def backward(self, g, weight):
        """Return the gradients of weight and bias; g becomes that of x, and `normal` is used up.

        That of x is (g - mean(g) - normal mean(g normal)) weight / deviation.
        """
        n = g.shape[1]
        in_weight, in_bias = np.einsum("cn,cn->c", g, self.normal), g.sum(axis=1)
        self.normal *= (in_weight / n)[:, None]
        g -= self.normal
        g -= (in_bias / n)[:, None]
        g *= (weight * self.scale)[:, None]
        return in_weight, in_bias


class ResidualBlock:
    """relu(x + norm2(conv2(relu(norm1(conv1(x)))))), and how far it is from a target."""

    def __init__(self, problem: Residual) -> None:
        self.shape = problem.channels, problem.batch, problem.side, problem.side
        self.convolutions = [Convolution(self.shape, problem.channels) for _ in range(2)]
        self.norms, self.scratch = (BatchNorm(), BatchNorm()), Scratch()

    def __call__(self, parameters, x, target):
        w0, scale0, shift0, w1, scale1, shift1 = parameters
        scratch, channels = self.scratch, self.shape[0]
        first, second = self.convolutions
        norm0, norm1 = self.norms
        x, target = x.swapaxes(0, 1), target.swapaxes(0, 1)
        middle, y = scratch("middle", self.shape), scratch("y", self.shape)
        flat = middle.reshape(channels, -1)
        norm0.forward(first.forward(x, w0).reshape(channels, -1), scale0, shift0, flat)
        np.maximum(flat, 0, out=flat)
        z = second.forward(middle, w1).reshape(channels, -1)
        norm1.forward(z, scale1, shift1, y.reshape(channels, -1))
        y += x
        np.maximum(y, 0, out=y)
        g = scratch("g", self.shape)
        g[...] = y
        loss, g = squared_error(g, target)

        mask = scratch("mask", self.shape, bool)
        relu_backward(g, y, mask)
        in_scale1, in_shift1 = norm1.backward(g.reshape(channels, -1), scale1)
        in_w1, inner = second.backward(g, w1, needs_x=True)
        g[...] = inner
        relu_backward(g, middle, mask)
        in_scale0, in_shift0 = norm0.backward(g.reshape(channels, -1), scale0)
        in_w0, _ = first.backward(g, w0, needs_x=False)
        return loss, [in_w0, in_scale0, in_shift0, in_w1, in_scale1, in_shift1]
