"""A layer of a transformer's encoder."""

from __future__ import annotations

import numpy as np

from benchmarks.handwritten.layers import (
    Scratch,
    normalize,
    normalize_backward,
    relu_backward,
    squared_error,
)
from benchmarks.problems import Encoder


class EncoderLayer:
    """y = norm2(u + relu(u W1' + b1) W2' + b2), u = norm1(x + attention(x)).

    Activations are matrices with a row for each place of each sequence.
    """

    def __init__(self, problem: Encoder) -> None:
        self.problem, self.scratch = problem, Scratch()

    def heads(self, packed):
        """Queries, keys and values, each (batch, heads, length, size): views of (rows, 3 width)."""
        p = self.problem
        split = packed.reshape(p.batch, p.length, 3, p.heads, p.width // p.heads)
        return split.transpose(2, 0, 3, 1, 4)

    def joined(self, rows):
        """The heads of (rows, width), as (batch, heads, length, size): a view."""
        p = self.problem
        split = rows.reshape(p.batch, p.length, p.heads, p.width // p.heads)
        return split.transpose(0, 2, 1, 3)

    def attention(self, x, weight, bias):
        """Softmax(q k' / sqrt(size)) v, heads side by side: (rows, width)."""
        p, scratch = self.problem, self.scratch
        packed = np.matmul(x, weight.T, out=scratch("packed", (len(x), 3 * p.width)))
        packed += bias
        packed[:, : p.width] *= (p.width // p.heads) ** -0.5
        q, k, v = self.heads(packed)
        scores = scratch("scores", (p.batch, p.heads, p.length, p.length))
        np.matmul(q, k.swapaxes(2, 3), out=scores)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        found = scratch("attended", x.shape)
        np.matmul(scores, v, out=self.joined(found))
        return found

    def attention_backward(self, g, found):
        """The cotangent of the packed queries, keys and values, from that of `attention`'s result.

        With weights p and their cotangent d = g v': of the scores p (d - sum(p d)), and
        sum(p d) = g . result for each query, as both sum over the same products.
        """
        p, scratch = self.problem, self.scratch
        q, k, v = self.heads(scratch["packed"])
        weights = scratch["scores"]
        grad, result = self.joined(g), self.joined(found)
        packed = scratch("in_packed", scratch["packed"].shape)
        gq, gk, gv = self.heads(packed)
        d = scratch("in_scores", weights.shape)
        np.matmul(grad, v.swapaxes(2, 3), out=d)
        np.matmul(weights.swapaxes(2, 3), grad, out=gv)
        d -= np.einsum("bhls,bhls->bhl", grad, result)[..., None]
        d *= weights
        np.matmul(d, k, out=gq)
        np.matmul(d.swapaxes(2, 3), q, out=gk)
        packed[:, : p.width] *= (p.width // p.heads) ** -0.5
        return packed

    def __call__(self, parameters, x, target):
        (w_in, b_in, w_out, b_out, w1, b1, w2, b2, norm1, shift1, norm2, shift2) = parameters
        scratch = self.scratch
        rows = x.reshape(-1, self.problem.width)
        attended = self.attention(rows, w_in, b_in)
        normal1 = np.matmul(attended, w_out.T, out=scratch("normal1", rows.shape))
        normal1 += b_out
        normal1 += rows
        u = scratch("u", rows.shape)
        scale1 = normalize(normal1, norm1, shift1, u)
        hidden = np.matmul(u, w1.T, out=scratch("hidden", (len(rows), len(b1))))
        hidden += b1
        np.maximum(hidden, 0, out=hidden)
        normal2 = np.matmul(hidden, w2.T, out=scratch("normal2", rows.shape))
        normal2 += b2
        normal2 += u
        y = scratch("y", rows.shape)
        scale2 = normalize(normal2, norm2, shift2, y)
        loss, g = squared_error(y, target.reshape(rows.shape))

        spare = scratch("spare", rows.shape)
        in_norm2, in_shift2 = normalize_backward(g, normal2, scale2, norm2, spare)
        in_w2, in_b2 = np.matmul(g.T, hidden, out=scratch("in_w2", w2.shape)), g.sum(axis=0)
        gh = np.matmul(g, w2, out=scratch("gh", hidden.shape))
        relu_backward(gh, hidden, scratch("mask", hidden.shape, bool))
        in_w1, in_b1 = np.matmul(gh.T, u, out=scratch("in_w1", w1.shape)), gh.sum(axis=0)
        g += np.matmul(gh, w1, out=spare)
        in_norm1, in_shift1 = normalize_backward(g, normal1, scale1, norm1, spare)
        in_w_out = np.matmul(g.T, attended, out=scratch("in_w_out", w_out.shape))
        in_b_out = g.sum(axis=0)
        packed = self.attention_backward(np.matmul(g, w_out, out=spare), attended)
        in_w_in = np.matmul(packed.T, rows, out=scratch("in_w_in", w_in.shape))
        in_b_in = packed.sum(axis=0)
        return loss, [
            in_w_in, in_b_in, in_w_out, in_b_out, in_w1, in_b1, in_w2, in_b2,
            in_norm1, in_shift1, in_norm2, in_shift2,
        ]  # fmt: skip
