"""Functions along the last axis, or along all but the first ones: softmax, norms, and adjoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.backends.numba_kernels.compiled import compiled
from polygrad.backends.numba_kernels.elementary import exp
from polygrad.threads import shared

__all__ = ["MAKERS"]

_INF = math.inf
_LANES = 16  # sums and maxima go into so many places at once: an order that vectors can follow
_BLOCK = 64 * _LANES  # elements of a sum whose roundings are let add up


# ---- softmax ------------------------------------------------------------------------------------
@compiled
def _largest(row: Array, lanes: Array) -> Any:
    """The maximum, NaN left out."""
    n = row.size
    lanes[:] = row.dtype.type(-_INF)
    full = n - n % _LANES
    for j in range(0, full, _LANES):
        part = row[j : j + _LANES]
        for k in range(_LANES):
            v = part[k]
            lanes[k] = v if v > lanes[k] else lanes[k]
    for j in range(full, n):
        v = row[j]
        lanes[0] = v if v > lanes[0] else lanes[0]
    top = lanes[0]
    for k in range(1, _LANES):
        top = lanes[k] if lanes[k] > top else top
    return top


@compiled
def _sum(row: Array, lanes: Array) -> Any:
    """Block by block: a long sum in one go would lose a digit or two."""
    n, total = row.size, 0.0
    for first in range(0, n, _BLOCK):
        block = row[first : first + _BLOCK]
        lanes[:] = row.dtype.type(0)
        full = block.size - block.size % _LANES
        for j in range(0, full, _LANES):
            part = block[j : j + _LANES]
            for k in range(_LANES):
                lanes[k] += part[k]
        for j in range(full, block.size):
            lanes[0] += block[j]
        total += lanes.sum()
    return row.dtype.type(total)


@compiled
def _dot(x: Array, y: Array, lanes: Array) -> Any:
    n, total = x.size, 0.0
    for first in range(0, n, _BLOCK):
        left, right = x[first : first + _BLOCK], y[first : first + _BLOCK]
        lanes[:] = x.dtype.type(0)
        full = left.size - left.size % _LANES
        for j in range(0, full, _LANES):
            a, b = left[j : j + _LANES], right[j : j + _LANES]
            for k in range(_LANES):
                lanes[k] += a[k] * b[k]
        for j in range(full, left.size):
            lanes[0] += left[j] * right[j]
        total += lanes.sum()
    return x.dtype.type(total)


@compiled
def _softmax(x: Array, out: Array, empty_is_zero: bool) -> None:
    """With `empty_is_zero`, 0 where all scores are -inf; else NaN."""
    t = x.dtype.type
    lanes = np.empty(_LANES, x.dtype)
    for i in range(x.shape[0]):
        row, to = x[i], out[i]
        top = _largest(row, lanes)
        if top == t(-_INF) and empty_is_zero:
            top = t(0)
        for j in range(row.size):
            to[j] = exp(row[j] - top)
        total = _sum(to, lanes)
        if total == t(0) and empty_is_zero:
            total = t(1)
        scale = t(1) / total
        for j in range(row.size):
            to[j] *= scale


@compiled
def _log_softmax(x: Array, out: Array) -> None:
    lanes = np.empty(_LANES, x.dtype)
    for i in range(x.shape[0]):
        row, to = x[i], out[i]
        top = _largest(row, lanes)
        for j in range(row.size):
            to[j] = exp(row[j] - top)
        log = math.log(_sum(to, lanes))
        for j in range(row.size):
            to[j] = (row[j] - top) - log


@compiled
def _softmax_adjoint(g: Array, y: Array, out: Array) -> None:
    lanes = np.empty(_LANES, g.dtype)
    for i in range(g.shape[0]):
        a, b, to = g[i], y[i], out[i]
        level = _dot(a, b, lanes)
        for j in range(a.size):
            to[j] = b[j] * (a[j] - level)


@compiled
def _log_softmax_adjoint(g: Array, y: Array, out: Array) -> None:
    lanes = np.empty(_LANES, g.dtype)
    for i in range(g.shape[0]):
        a, b, to = g[i], y[i], out[i]
        level = _sum(a, lanes)
        for j in range(a.size):
            to[j] = a[j] - exp(b[j]) * level


# ---- norms --------------------------------------------------------------------------------------
@compiled
def _standardize(x: Array, out: Array, mean: Array, var: Array, eps: Any) -> None:
    t = x.dtype.type
    lanes = np.empty(_LANES, x.dtype)
    n = t(x.shape[1])
    for i in range(x.shape[0]):
        row, to = x[i], out[i]
        mean[i] = middle = _sum(row, lanes) / n
        for j in range(row.size):
            to[j] = row[j] - middle
        var[i] = spread = _dot(to, to, lanes) / n
        r = t(1) / np.sqrt(spread + eps)
        for j in range(row.size):
            to[j] *= r


@compiled
def _standardize_adjoint(
    g: Array, h: Array, out: Array, g_mean: Array, g_var: Array, var: Array, eps: Any
) -> None:
    t = g.dtype.type
    lanes = np.empty(_LANES, g.dtype)
    n = t(g.shape[1])
    for i in range(g.shape[0]):
        a, b, to = g[i], h[i], out[i]
        r = t(1) / np.sqrt(var[i] + eps)
        slope = (r * _dot(a, b, lanes) - t(2) * g_var[i] / r) / n
        level = (r * _sum(a, lanes) - g_mean[i]) / n
        for j in range(a.size):
            to[j] = a[j] * r - b[j] * slope - level


@compiled
def _root_mean(x: Array, out: Array, mean: Array, eps: Any) -> None:
    t = x.dtype.type
    lanes = np.empty(_LANES, x.dtype)
    n = t(x.shape[1])
    for i in range(x.shape[0]):
        row, to = x[i], out[i]
        mean[i] = square = _dot(row, row, lanes) / n
        r = t(1) / np.sqrt(square + eps)
        for j in range(row.size):
            to[j] = row[j] * r


@compiled
def _root_mean_adjoint(
    g: Array, h: Array, out: Array, g_mean: Array, mean: Array, eps: Any
) -> None:
    t = g.dtype.type
    lanes = np.empty(_LANES, g.dtype)
    n = t(g.shape[1])
    for i in range(g.shape[0]):
        a, b, to = g[i], h[i], out[i]
        r = t(1) / np.sqrt(mean[i] + eps)
        slope = (r * _dot(a, b, lanes) - t(2) * g_mean[i] / r) / n
        for j in range(a.size):
            to[j] = a[j] * r - b[j] * slope


# ---- kernels ------------------------------------------------------------------------------------
def _rows(x: Array, axis: int) -> Array | None:
    """A matrix whose rows lie along the last axis; None if that is not `axis`, or not in order."""
    if axis % x.ndim != x.ndim - 1 or not x.size or not x.flags.c_contiguous:
        return None
    return x.reshape(-1, x.shape[-1])


def _along(loop: Any, *others: Any) -> Callable[[Kernel], Kernel]:
    """The maker of a kernel of one array along one axis."""

    def make(plain: Kernel) -> Kernel:
        def kernel(x: Array, axis: int = -1) -> Array:
            rows = _rows(x, axis) if x.ndim else None
            if rows is None:
                return plain(x, axis=axis)
            out = np.empty_like(x)
            shared(loop, (rows, out.reshape(rows.shape)), *others)
            return out

        return kernel

    return make


def _adjoint_along(loop: Any) -> Callable[[Kernel], Kernel]:
    """The maker of a kernel of a cotangent and a result along one axis."""

    def make(plain: Kernel) -> Kernel:
        def kernel(x: Array, out: Array, axis: int = -1) -> Array:
            g = _rows(x, axis) if x.shape == out.shape and x.ndim else None
            y = _rows(out, axis) if g is not None else None
            if g is None or y is None:
                return plain(x, out, axis=axis)
            made = np.empty_like(x)
            shared(loop, (g, y, made.reshape(g.shape)))
            return made

        return kernel

    return make


def _make_attention_weights(plain: Kernel) -> Kernel:
    return _along(_softmax, True)(lambda scores, axis: plain(scores))


def _matrix(x: Array, axis: tuple[int, ...]) -> Array | None:
    """A row for each mean over `axis`: the other axes come first in memory, without gaps."""
    if not x.size:
        return None
    over = {a % x.ndim for a in axis}
    order = [i for i in range(x.ndim) if i not in over] + sorted(over)
    y = x.transpose(order)
    if not y.flags.c_contiguous:
        return None
    width = math.prod(x.shape[i] for i in over)
    return y.reshape(-1, width)


def _norm(loop: Any, statistics: int) -> Callable[[Kernel], Kernel]:
    """The maker of a kernel that returns what it makes of x, and so many statistics of each row."""

    def make(plain: Kernel) -> Kernel:
        def kernel(x: Array, axis: tuple[int, ...] = (), eps: float = 1e-5) -> tuple[Array, ...]:
            rows = _matrix(x, axis)
            if rows is None:
                left: tuple[Array, ...] = plain(x, axis=axis, eps=eps)
                return left
            out = np.empty_like(x)
            found = [np.empty(rows.shape[0], x.dtype) for _ in range(statistics)]
            shared(loop, (rows, _matrix(out, axis), *found), x.dtype.type(eps))
            over = {a % x.ndim for a in axis}
            shape = tuple(1 if i in over else n for i, n in enumerate(x.shape))
            return out, *(a.reshape(shape) for a in found)

        return kernel

    return make


def _norm_adjoint(loop: Any, statistics: int) -> Callable[[Kernel], Kernel]:
    """The maker of the adjoint's kernel: of the cotangents of h and the statistics, h, and more."""

    def make(plain: Kernel) -> Kernel:
        def kernel(
            g_h: Array, *others: Array, axis: tuple[int, ...] = (), eps: float = 1e-5
        ) -> Array:
            h, small = others[statistics], (*others[:statistics], *others[statistics + 1 :])
            g = _matrix(g_h, axis)
            y = _matrix(h, axis) if g is not None else None
            if g is None or y is None or g_h.shape != h.shape:
                return plain(g_h, *others, axis=axis, eps=eps)
            out = np.empty_like(g_h)
            lines = (np.ascontiguousarray(a).reshape(-1) for a in small)
            shared(loop, (g, y, _matrix(out, axis), *lines), g_h.dtype.type(eps))
            return out

        return kernel

    return make


MAKERS: dict[str, Callable[[Kernel], Kernel]] = {
    "softmax": _along(_softmax, False),
    "log_softmax": _along(_log_softmax),
    "softmax_adjoint": _adjoint_along(_softmax_adjoint),
    "log_softmax_adjoint": _adjoint_along(_log_softmax_adjoint),
    "attention_weights": _make_attention_weights,
    "standardize": _norm(_standardize, 2),
    "standardize_adjoint": _norm_adjoint(_standardize_adjoint, 2),
    "root_mean_standardize": _norm(_root_mean, 1),
    "root_mean_adjoint": _norm_adjoint(_root_mean_adjoint, 1),
}
