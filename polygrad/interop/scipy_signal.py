"""`scipy.signal.lfilter` with a derivative: an external function that is its own adjoint.

Note [The adjoint of a recursive filter]
----------------------------------------
The filter solves the recurrence

    sum_k a[k] y[n-k] = sum_k b[k] x[n-k] + a[0] z[n],

with z the initial state (zero beyond its K elements), for n < N; the same recurrence for
N <= n < N + K, with x and y zero there, gives a[0] times the final state instead of a[0] y[n].
One multiplier l[n] for each of these N + K equations, so that the cotangent of y[m] vanishes:

    sum_k a[k] l[m+k] = cotangent of y[m],    l[N+j] = cotangent of the final state[j] / a[0].

Read from the end to the beginning this is a recursive filter again, with a for its denominator and
1 for its numerator. Then, with sums over n of l[n+k],

    dL/dx[n] = sum_k b[k] l[n+k],    dL/db[k] = sum_n l[n+k] x[n],    dL/dz[n] = a[0] l[n],
    dL/da[k] = -sum_n l[n+k] y[n],   for k = 0 also sum_n l[n] z[n] - sum_j l[N+j] final state[j].

(All of it conjugated for complex numbers.) Because l is made by `lfilter`, derivatives of every
order follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import polygrad as pg
from polygrad.errors import ShapeError
from polygrad.interop.external import external
from polygrad.ops._axes import as_tensor, normalize_axis

__all__ = ["lfilter"]


def _filter(b: Any, a: Any, x: Any, z: Any) -> Any:
    """SciPy's filter along the last axis: (y, final state)."""
    from scipy import signal  # noqa: PLC0415  only who filters needs SciPy

    z = np.broadcast_to(z, (*x.shape[:-1], z.shape[-1]))
    return signal.lfilter(b, a, x, zi=z)


def _rule(g: Any, out: Any, b: Any, a: Any, x: Any, z: Any) -> Any:
    """See Note [The adjoint of a recursive filter]."""
    (gy, gz), (y, final), order = g, out, z.shape[-1]
    b_bar, a_bar = (_padded(pg.conj(c), order + 1) for c in (b, a))
    scale = a_bar[0]
    after = gz / scale
    one = pg.ones(1, dtype=a.dtype, device=a.device)
    reversed_time, _ = _lfilter(one, a_bar, pg.flip(gy, axis=-1), _state(a_bar, after))
    multipliers = pg.concat([pg.flip(reversed_time, axis=-1), after], axis=-1)
    windows = pg.sliding_window_view(multipliers, order + 1, axis=-1)  # [..., n, k] is l[n+k]
    early = multipliers[..., :order]
    ends = pg.sum(early * pg.conj(z)) - pg.sum(after * pg.conj(final))
    first = pg.asarray(pg.arange(order + 1, device=a.device) == 0, dtype=a.dtype)
    ga = ends * first - _correlated(windows, y)
    gb = _correlated(windows, x)
    return gb[: b.shape[0]], ga[: a.shape[0]], pg.matmul(windows, b_bar), scale * early


def _state(a: Any, past: Any) -> Any:
    """The state of a filter of numerator 1 whose latest outputs were past[0], past[1], ..."""
    order = past.shape[-1]
    if not order:
        return past
    hankel = pg.sliding_window_view(_padded(a[1:], 2 * order - 1), order)
    return -pg.sum(hankel * past[..., None, :], axis=-1) / a[0]


def _correlated(windows: Any, x: Any) -> Any:
    """sum_n windows[n, k] conj(x[n]), over all signals."""
    products = windows * pg.conj(x)[..., None]
    return pg.sum(products, axis=tuple(range(x.ndim)))


def _padded(c: Any, n: int) -> Any:
    """Zeros appended to c, up to n elements."""
    return pg.pad(c, ((0, n - c.shape[0]),)) if n > c.shape[0] else c


_lfilter = external(_filter, _rule, name="lfilter", host=True)


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter signals recursively, as `scipy.signal.lfilter`, differentiable by every argument.

    Parameters
    ----------
    b, a
        Numerator and denominator, vectors; a[0] is not zero.
    x
        Signals, floating.
    axis
        Along which.
    zi
        The initial state, max(len(a), len(b)) - 1 elements along the axis; zeros by default.

    Returns
    -------
    Tensor, or a tuple of two
        The filtered signals, of the shape of x; with `zi` also the final state.

    Raises
    ------
    ShapeError
        b or a is no vector; zi has the wrong length.
    OutOfRangeError
        There is no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([1.0, 0.0, 0.0], requires_grad=True)
    >>> y = lfilter(pg.asarray([1.0]), pg.asarray([1.0, -0.5]), x)
    >>> y.detach()
    tensor([1.  , 0.5 , 0.25], dtype=float32)
    """
    b, a, x = (as_tensor(t, f"lfilter, argument {n}") for n, t in (("b", b), ("a", a), ("x", x)))
    for name, c in (("b", b), ("a", a)):
        if c.ndim != 1 or not c.size:
            raise ShapeError(f"shape {c.shape}", f"lfilter, argument {name}", "pass a vector")
    axis = normalize_axis(axis, x.ndim, "lfilter")
    order = max(b.shape[0], a.shape[0]) - 1
    along = pg.moveaxis(x, axis, -1)
    if zi is None:
        state = pg.zeros((*along.shape[:-1], order), dtype=x.dtype, device=x.device)
    else:
        state = pg.moveaxis(as_tensor(zi, "lfilter, argument zi"), axis, -1)
        if state.shape[-1] != order:
            raise ShapeError(
                f"a state of {state.shape[-1]} elements", "lfilter, argument zi",
                f"this filter has {order}: max(len(a), len(b)) - 1",
            )  # fmt: skip
    y, final = (pg.moveaxis(t, -1, axis) for t in _lfilter(b, a, along, state))
    return y if zi is None else (y, final)
