"""Kernels with sums, transcribed to NumPy: lanes walk, a tree joins them; the same bits.

Each takes the rows of an array, (groups, n), in the dtype that is computed with.
"""

from __future__ import annotations

import numpy as np


def row_sum(values, lanes):
    """Note [Rows]: each lane adds every `lanes`-th element, then halves are added to halves."""
    groups, n = values.shape
    steps = -(-n // lanes)
    padded = np.zeros((groups, steps * lanes), values.dtype)
    padded[:, :n] = values
    sums = np.zeros((groups, lanes), values.dtype)
    for step in padded.reshape(groups, steps, lanes).swapaxes(0, 1):
        sums = sums + step
    while lanes > 1:
        lanes //= 2
        sums = sums[:, :lanes] + sums[:, lanes:]
    return sums


def standardize(x, lanes, eps):
    n, one = x.dtype.type(x.shape[1]), x.dtype.type(1)
    mean = row_sum(x, lanes) / n
    d = x - mean
    var = row_sum(d * d, lanes) / n
    return d * (one / np.sqrt(var + x.dtype.type(eps))), mean, var


def standardize_adjoint(g, g_mean, g_var, h, var, lanes, eps):
    n, one, two = (g.dtype.type(v) for v in (g.shape[1], 1, 2))
    scale = one / np.sqrt(var + g.dtype.type(eps))
    slope = (scale * row_sum(g * h, lanes) - two * g_var / scale) / n
    level = (scale * row_sum(g, lanes) - g_mean) / n
    return (g * scale - h * slope - level,)


def root_mean_standardize(x, lanes, eps):
    mean = row_sum(x * x, lanes) / x.dtype.type(x.shape[1])
    return x * (x.dtype.type(1) / np.sqrt(mean + x.dtype.type(eps))), mean


def product(x, y):
    """A sum in the order of the inner axis."""
    out = np.zeros((*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]))
    out = out.astype(x.dtype)
    for j in range(x.shape[-1]):
        out = out + x[..., :, j, None] * y[..., None, j, :]
    return out


def softmax_adjoint(g, y, lanes):
    return (y * (g - row_sum(g * y, lanes)),)
