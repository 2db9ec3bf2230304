"""Pieces that several networks are made of: losses, a normalisation, arrays to write into."""

from __future__ import annotations

import numpy as np


class Scratch(dict):
    """Arrays by name, made when first asked for: `scratch("scores", shape)`."""

    def __call__(self, name, shape, dtype=np.float32):
        found = self.get(name)
        if found is None:
            found = self[name] = np.empty(shape, dtype)
        return found


def cross_entropy(logits, labels):
    """Return the mean of log(sum(exp z)) - z[label], and its gradient (softmax(z) - onehot) / n.

    The gradient is in the place of the logits.
    """
    n = len(labels)
    rows = np.arange(n)
    logits -= logits.max(axis=1, keepdims=True)
    chosen = logits[rows, labels]
    gradient = np.exp(logits, out=logits)
    totals = gradient.sum(axis=1, keepdims=True)
    loss = (np.log(totals[:, 0]) - chosen).mean()
    totals *= n
    gradient /= totals
    gradient[rows, labels] -= 1 / n
    return loss, gradient


def squared_error(y, target):
    """Return the mean of (y - target)^2, and its gradient 2 (y - target) / n, in the place of y."""
    y -= target
    flat = y.reshape(-1)
    loss = np.dot(flat, flat) / y.size
    y *= 2 / y.size
    return loss, y


def relu_backward(g, a, mask):
    """Keep g where the ReLU's value a is positive, in place."""
    np.greater(a, 0, out=mask)
    g *= mask


def row_dots(x, y):
    """The inner products of rows, (n, width) and (n, width) to (n, 1)."""
    return np.einsum("nw,nw->n", x, y)[:, None]


def normalize(x, weight, bias, out, eps=1e-5):
    """LayerNorm of rows into `out`; x becomes (x - mean) / deviation. Return 1 / deviation."""
    width = x.shape[1]
    x -= x.mean(axis=1, keepdims=True)
    scale = row_dots(x, x)
    scale /= width
    scale += eps
    np.sqrt(scale, out=scale)
    np.reciprocal(scale, out=scale)
    x *= scale
    np.multiply(x, weight, out=out)
    out += bias
    return scale


def normalize_backward(g, normal, scale, weight, spare):
    """Turn the cotangent g of `normalize` into that of its x, in place.

    g has the place of (gw - mean(gw) - normal mean(gw normal)) scale, gw = g weight.

    Returns
    -------
    The gradients of weight and bias.
    """
    width = g.shape[1]
    in_weight, in_bias = np.einsum("nw,nw->w", g, normal), g.sum(axis=0)
    g *= weight
    along = row_dots(g, normal)
    along /= width
    g -= g.mean(axis=1, keepdims=True)
    np.multiply(normal, along, out=spare)
    g -= spare
    g *= scale
    return in_weight, in_bias
