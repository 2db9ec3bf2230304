"""NumPy's cells of recurrent networks: each in a few arrays of its own, written in place.

They compute what the forwards of `polygrad.ops._recurrence` compute; the formulas are there.

Note [Gates in rows]
--------------------
A step of an LSTM multiplies the weights by the transposed rows, W x^T, not the rows by the
transposed weights: OpenBLAS is quicker at that for few rows, the gates are then contiguous blocks,
and so is the state, as the next step wants it. Its results are the transposes. The adjoint keeps
that order, but hands its result on in C order, which products and sums want.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.kernels import FORWARDS

__all__ = ["CELLS"]


@np.errstate(over="ignore")
def _logistic(z: Array) -> None:
    """1 / (1 + e^-z) in the place of z: where the power is infinite, its limit 0."""
    np.negative(z, z)
    np.exp(z, z)
    z += 1
    np.reciprocal(z, z)


def _slope(a: Array) -> Array:
    """The derivative of the logistic function, from its values."""
    s = 1 - a
    s *= a
    return s


def _lstm_gates(x: Array, y: Array, c: Array) -> tuple[Array, Array, Array]:
    """h', c' and the gates."""
    return _gated(x + y, c)


def _lstm_cell(
    F: Any, x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b_ih: Array | None,
    b_hh: Array | None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """See Note [Gates in rows]."""
    if x.ndim != 2 or x.itemsize < 4:
        found: Any = FORWARDS["lstm_cell"]
        out: tuple[Array, Array, Array] = found(F, x, h, c, w_ih, w_hh, b_ih, b_hh)
        return out
    a = w_ih.dot(x.T)
    a += w_hh.dot(h.T)
    bias = b_ih if b_hh is None else b_hh if b_ih is None else b_ih + b_hh
    if bias is not None:
        a += bias[:, None]
    return _gated(a.T, c)


def _gated(a: Array, c: Array) -> tuple[Array, Array, Array]:
    """The logistic function of all blocks at once, then the third replaced; `a` is overwritten."""
    n = c.shape[-1]
    u = np.tanh(a[..., 2 * n : 3 * n])
    _logistic(a)
    a[..., 2 * n : 3 * n] = u
    new = a[..., n : 2 * n] * c
    u *= a[..., :n]
    new += u
    h = np.tanh(new)
    h *= a[..., 3 * n :]
    return h, new, a


def _lstm_gates_adjoint(
    F: Any, gh: Array | None, gc: Array | None, ga: Array | None, c: Array, new: Array, a: Array
) -> tuple[Array, Array]:
    """Where gh is there, as in every run, of real numbers."""
    if gh is None or a.dtype.kind == "c":
        found: Any = FORWARDS["lstm_gates_adjoint"]
        out: tuple[Array, Array] = found(F, gh, gc, ga, c, new, a)
        return out
    n = c.shape[-1]
    d, u = np.empty_like(a), a[..., 2 * n : 3 * n]
    t = np.tanh(new)
    np.multiply(gh, t, d[..., 3 * n :])
    t *= t
    np.subtract(1, t, t)
    t *= a[..., 3 * n :]
    t *= gh
    if gc is not None:
        t += gc
    np.multiply(t, u, d[..., :n])
    np.multiply(t, c, d[..., n : 2 * n])
    np.multiply(t, a[..., :n], d[..., 2 * n : 3 * n])
    if ga is not None:
        d += ga
    s = _slope(a)
    middle = s[..., 2 * n : 3 * n]
    np.multiply(u, u, middle)
    np.subtract(1, middle, middle)
    d *= s
    t *= a[..., n : 2 * n]
    return np.ascontiguousarray(d), t


def _gru_gates(x: Array, y: Array, h: Array) -> tuple[Array, Array]:
    """r, z, n and y_n in one array."""
    n = h.shape[-1]
    a = np.empty((*h.shape[:-1], 4 * n), h.dtype)
    gates, new = a[..., : 2 * n], a[..., 2 * n : 3 * n]
    np.add(x[..., : 2 * n], y[..., : 2 * n], gates)
    _logistic(gates)
    a[..., 3 * n :] = y[..., 2 * n :]
    np.multiply(a[..., :n], y[..., 2 * n :], new)
    new += x[..., 2 * n :]
    np.tanh(new, new)
    out = h - new
    out *= a[..., n : 2 * n]
    out += new
    return out, a


def _gru_gates_adjoint(
    F: Any, gh: Array | None, ga: Array | None, h: Array, a: Array
) -> tuple[Array, Array, Array]:
    """Where gh is there and ga is not, as in every run but under a second derivative; real."""
    if gh is None or ga is not None or a.dtype.kind == "c":
        found: Any = FORWARDS["gru_gates_adjoint"]
        out: tuple[Array, Array, Array] = found(F, gh, ga, h, a)
        return out
    n = h.shape[-1]
    r, z, new, inner = (a[..., k * n : (k + 1) * n] for k in range(4))
    gx = np.empty((*a.shape[:-1], 3 * n), a.dtype)
    gn, s = gx[..., 2 * n :], new * new
    np.subtract(1, z, gn)
    gn *= gh
    np.subtract(1, s, s)
    gn *= s
    np.multiply(gn, inner, gx[..., :n])
    np.subtract(h, new, gx[..., n : 2 * n])
    gx[..., n : 2 * n] *= gh
    gx[..., : 2 * n] *= _slope(a[..., : 2 * n])
    gy = gx.copy()
    gy[..., 2 * n :] *= r
    return gx, gy, gh * z


CELLS: dict[str, Kernel] = {
    "lstm_gates": _lstm_gates,
    "lstm_cell": _lstm_cell,
    "lstm_gates_adjoint": _lstm_gates_adjoint,
    "gru_gates": _gru_gates,
    "gru_gates_adjoint": _gru_gates_adjoint,
}
