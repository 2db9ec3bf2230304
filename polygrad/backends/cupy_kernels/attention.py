"""Attention: what lies between its two products, in one kernel.

Note [Attention in two products]
--------------------------------
A kernel that never writes the weights down would save memory. But the weights are a result of the
operation `attention`, which layers hand out, and the rule of its gradient reads them; and both
products are the library's, which knows each GPU's units for matrices. So the products stay what
they are, and bias, masks, softmax and dropout are one pass over the scores, which become the
weights in place.
"""

from __future__ import annotations

import math

import numpy as np

from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.layout import SMALL, last_rows
from polygrad.backends.cupy_kernels.text import REALS
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY"]

TEXT = r"""
#define VIEWS I queries, I b_n, I b_s, I b_t, I b_q, I b_k, I m_n, I m_s, I m_t, I m_q, I m_k

// Where row `row` of queries begins in an array that was broadcast: stacks have two strides.
D I start(I row, I queries, I n, I s, I t, I q) {
    I stack = row / queries;
    return stack / n * s + stack % n * t + row % queries * q;
}

// What of the score is left after bias, mask and the order of time.
struct Scores {
    const T* bias;
    const bool* mask;
    I query, b_k, m_k;
    D A operator()(const T* at, I j) const {
        if ((query >= 0 && j > query) || (mask && !mask[j * m_k])) return -INF;
        return bias ? wide(*at) + wide(bias[j * b_k]) : wide(*at);
    }
};

// The weights take the place of the scores; `used` are the weights that dropout keeps.
KERNEL attention_weights(T* scores, const T* bias, const bool* mask, const bool* kept, T* used,
                         I has_bias, I has_mask, I has_kept, I causal, double keep_scale, VIEWS,
                         ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    I g = r.group, b = start(g, queries, b_n, b_s, b_t, b_q);
    I m = start(g, queries, m_n, m_s, m_t, m_q);
    Scores score = {has_bias ? bias + b : 0, has_mask ? mask + m : 0,
                    causal ? g % queries : -1, b_k, m_k};
    A top = -INF, total = 0;
    EACH(j) top = Max()(top, score(scores + place(r, j), j));
    top = together(r, top, shared, Max());
    if (top == -INF) top = 0;
    EACH(j) total += exp(score(scores + place(r, j), j) - top);
    total = together(r, total, shared, Sum());
    if (total == 0) total = 1;
    EACH(j) {
        I i = place(r, j);
        T weight = narrow(exp(score(scores + i, j) - top) / total);
        scores[i] = weight;
        if (has_kept) used[i] = narrow(kept[i] ? wide(weight) * (A)keep_scale : (A)0);
    }
}

KERNEL attention_scores_adjoint(const T* weights, const T* d, const T* slopes, T* out, ROWS) {
    Row r = row(ROW);
    if (!r.n) return;
    A slope = wide(slopes[r.group]);
    EACH(j) {
        I i = place(r, j);
        out[i] = narrow(wide(weights[i]) * (wide(d[i]) - slope));
    }
}
"""


def _scores_shape(query: Array, key: Array) -> tuple[int, ...]:
    stacks = np.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    return (*stacks, query.shape[-2], key.shape[-2])


def _fits(a: Array | None, shape: tuple[int, ...]) -> bool:
    """Whether an array broadcasts to a shape, which stays as it is."""
    return a is None or np.broadcast_shapes(a.shape, shape) == shape


def _attention(
    gpu: Launcher, F: Kernels, query: Array, key: Array, value: Array, bias: Array | None,
    mask: Array | None, kept: Array | None, scale: float, causal: bool, keep_scale: float,
) -> tuple[Array, Array]:  # fmt: skip
    """The result and the weights before dropout."""
    shape = _scores_shape(query, key)
    fits = _fits(bias, shape) and _fits(mask, shape) and (kept is None or kept.shape == shape)
    if not fits or not 0 < math.prod(shape) < SMALL:
        found: tuple[Array, Array] = forward(
            "attention", F, query, key, value, bias, mask, kept, scale=scale, causal=causal,
            keep_scale=keep_scale,
        )  # fmt: skip
        return found
    scores = gpu.contiguous(F.cast(F.matmul(query * scale, F.matrix_transpose(key))))
    rows = last_rows(shape)
    none = (1, 0, 0, 0, 0)
    b, b_strides = (scores, none) if bias is None else gpu.broadcast(bias, shape)
    seen, m_strides = (gpu.no_mask(), none) if mask is None else gpu.broadcast(mask, shape)
    keeps = gpu.no_mask() if kept is None else gpu.contiguous(kept)
    used = scores if kept is None else gpu.like(scores)
    flags = (int(bias is not None), int(mask is not None), int(kept is not None), int(causal))
    gpu.over_rows(
        FAMILY, "attention_weights", scores, rows, scores, b, seen, keeps, used, *flags,
        float(keep_scale), shape[-2], *b_strides, *m_strides,
    )  # fmt: skip
    return F.cast(F.matmul(used, value)), scores


def _scores_adjoint(gpu: Launcher, F: Kernels, weights: Array, d: Array, slope: Array) -> Array:
    weights = gpu.contiguous(weights)
    beside = gpu.beside(d, weights)
    fits = slope.shape == (*weights.shape[:-1], 1) and slope.dtype == weights.dtype
    if beside is None or not fits or not 0 < weights.size < SMALL:
        return forward("attention_scores_adjoint", F, weights, d, slope)
    rows, out = last_rows(weights.shape), gpu.like(weights)
    given = (weights, beside, gpu.contiguous(slope), out)
    gpu.over_rows(FAMILY, "attention_scores_adjoint", weights, rows, *given)
    return out


FAMILY = Family(
    "attention",
    TEXT,
    (
        Row("attention", _attention, REALS, ("attention_weights",)),
        Row("attention_scores_adjoint", _scores_adjoint, REALS, ("attention_scores_adjoint",)),
    ),
)
