"""Transformers: a layer of an encoder, and a network of several that reads letters.

Activations are matrices with a row for each place of each sequence.
"""

from __future__ import annotations

import numpy as np

from benchmarks.handwritten.layers import (
    Scratch,
    cross_entropy,
    normalize,
    normalize_backward,
    relu_backward,
    squared_error,
)
from benchmarks.problems import Encoder, Letters


class Attention:
    """Softmax(q k' / sqrt(size)) v, heads side by side; `causal`: of no later places."""

    def __init__(self, batch: int, length: int, width: int, heads: int, *, causal: bool) -> None:
        self.shape = batch, length, heads, width // heads
        self.width, self.factor = width, (width // heads) ** -0.5
        self.hidden = np.triu(np.full((length, length), -np.inf, np.float32), 1) if causal else None
        self.scratch = Scratch()

    def packed_heads(self, packed):
        """Queries, keys and values, each (batch, heads, length, size): views of (rows, 3 width)."""
        batch, length, heads, size = self.shape
        return packed.reshape(batch, length, 3, heads, size).transpose(2, 0, 3, 1, 4)

    def heads(self, rows):
        """The heads of (rows, width), as (batch, heads, length, size): a view."""
        return rows.reshape(self.shape).transpose(0, 2, 1, 3)

    def forward(self, x, weight, bias):
        """(rows, width), which the next call overwrites."""
        batch, length, heads, _ = self.shape
        scratch = self.scratch
        packed = np.matmul(x, weight.T, out=scratch("packed", (len(x), 3 * self.width)))
        packed += bias
        packed[:, : self.width] *= self.factor
        q, k, v = self.packed_heads(packed)
        scores = scratch("scores", (batch, heads, length, length))
        np.matmul(q, k.swapaxes(2, 3), out=scores)
        if self.hidden is not None:
            scores += self.hidden
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        found = scratch("found", x.shape)
        np.matmul(scores, v, out=self.heads(found))
        return found

    def backward(self, g):
        """The cotangent of the packed queries, keys and values, from that of the result.

        With weights p and their cotangent d = g v': of the scores p (d - sum(p d)), and
        sum(p d) = g . result for each query, as both sum over the same products.
        """
        scratch = self.scratch
        q, k, v = self.packed_heads(scratch["packed"])
        weights = scratch["scores"]
        grad, result = self.heads(g), self.heads(scratch["found"])
        packed = scratch("in_packed", scratch["packed"].shape)
        gq, gk, gv = self.packed_heads(packed)
        d = scratch("in_scores", weights.shape)
        np.matmul(grad, v.swapaxes(2, 3), out=d)
        np.matmul(weights.swapaxes(2, 3), grad, out=gv)
        d -= np.einsum("bhls,bhls->bhl", grad, result)[..., None]
        d *= weights
        np.matmul(d, k, out=gq)
        np.matmul(d.swapaxes(2, 3), q, out=gk)
        packed[:, : self.width] *= self.factor
        return packed


class Layer:
    """y = norm2(u + relu(u W1' + b1) W2' + b2), u = norm1(x + attention(x) W' + b)."""

    def __init__(self, attention: Attention) -> None:
        self.attention, self.scratch = attention, Scratch()

    def forward(self, parameters, x):
        """(rows, width), which belongs to the caller until the next call."""
        (w_in, b_in, w_out, b_out, w1, b1, w2, b2, norm1, shift1, norm2, shift2) = parameters
        scratch = self.scratch
        attended = self.attention.forward(x, w_in, b_in)
        normal1 = np.matmul(attended, w_out.T, out=scratch("normal1", x.shape))
        normal1 += b_out
        normal1 += x
        u = scratch("u", x.shape)
        self.scale1 = normalize(normal1, norm1, shift1, u)
        hidden = np.matmul(u, w1.T, out=scratch("hidden", (len(x), len(b1))))
        hidden += b1
        np.maximum(hidden, 0, out=hidden)
        normal2 = np.matmul(hidden, w2.T, out=scratch("normal2", x.shape))
        normal2 += b2
        normal2 += u
        y = scratch("y", x.shape)
        self.scale2 = normalize(normal2, norm2, shift2, y)
        return y

    def backward(self, parameters, x, g, *, needs_x):
        """Return the gradients of the parameters; g becomes that of x if that is needed."""
        (w_in, _, w_out, _, w1, _, w2, _, norm1, _, norm2, _) = parameters
        scratch = self.scratch
        attended, hidden, u = self.attention.scratch["found"], scratch["hidden"], scratch["u"]
        spare = scratch("spare", g.shape)
        in_norm2, in_shift2 = normalize_backward(g, scratch["normal2"], self.scale2, norm2, spare)
        in_w2, in_b2 = np.matmul(g.T, hidden, out=scratch("in_w2", w2.shape)), g.sum(axis=0)
        gh = np.matmul(g, w2, out=scratch("gh", hidden.shape))
        relu_backward(gh, hidden, scratch("mask", hidden.shape, bool))
        in_w1, in_b1 = np.matmul(gh.T, u, out=scratch("in_w1", w1.shape)), gh.sum(axis=0)
        g += np.matmul(gh, w1, out=spare)
        in_norm1, in_shift1 = normalize_backward(g, scratch["normal1"], self.scale1, norm1, spare)
        in_w_out = np.matmul(g.T, attended, out=scratch("in_w_out", w_out.shape))
        in_b_out = g.sum(axis=0)
        packed = self.attention.backward(np.matmul(g, w_out, out=spare))
        in_w_in = np.matmul(packed.T, x, out=scratch("in_w_in", w_in.shape))
        in_b_in = packed.sum(axis=0)
        if needs_x:
            g += np.matmul(packed, w_in, out=spare)
        return [
            in_w_in, in_b_in, in_w_out, in_b_out, in_w1, in_b1, in_w2, in_b2,
            in_norm1, in_shift1, in_norm2, in_shift2,
        ]  # fmt: skip


class EncoderLayer:
    """One layer, and how far it is from a target."""

    def __init__(self, problem: Encoder) -> None:
        p = problem
        self.layer = Layer(Attention(p.batch, p.length, p.width, p.heads, causal=False))

    def __call__(self, parameters, x, target):
        rows = x.reshape(-1, x.shape[-1])
        y = self.layer.forward(parameters, rows)
        loss, g = squared_error(y, target.reshape(rows.shape))
        return loss, self.layer.backward(parameters, rows, g, needs_x=False)


class LetterReader:
    """Letters and places to vectors, layers that look back, and scores of the next letter."""

    def __init__(self, problem: Letters) -> None:
        p = self.problem = problem
        self.layers = [
            Layer(Attention(p.batch, p.length, p.width, p.heads, causal=True))
            for _ in range(p.layers)
        ]
        self.scratch = Scratch()

    def __call__(self, parameters, letters, following):
        p, scratch = self.problem, self.scratch
        letter, place, *inner, w_out, b_out = parameters
        groups = [inner[k : k + 12] for k in range(0, len(inner), 12)]
        x = scratch("x", (p.batch, p.length, p.width))
        np.take(letter, letters, axis=0, out=x, mode="clip")
        x += place
        rows = [x.reshape(-1, p.width)]
        for layer, group in zip(self.layers, groups, strict=True):
            rows.append(layer.forward(group, rows[-1]))
        scores = np.matmul(rows[-1], w_out.T, out=scratch("scores", (len(rows[0]), p.letters)))
        scores += b_out
        loss, gs = cross_entropy(scores, following.reshape(-1))

        gradients = [np.matmul(gs.T, rows[-1], out=scratch("in_out", w_out.shape)), gs.sum(axis=0)]
        g = np.matmul(gs, w_out, out=scratch("g", rows[0].shape))
        for layer, group, given in zip(
            reversed(self.layers), reversed(groups), reversed(rows[:-1]), strict=True
        ):
            gradients = [*layer.backward(group, given, g, needs_x=True), *gradients]
        in_letter = scratch("in_letter", letter.shape)
        in_letter[...] = 0
        np.add.at(in_letter, letters.reshape(-1), g)
        in_place = g.reshape(x.shape).sum(axis=0)
        return loss, [in_letter, in_place, *gradients]
