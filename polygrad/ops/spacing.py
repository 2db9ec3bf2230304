"""Creation functions that divide an interval: at equal distances, or at equal ratios."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.config import default_complex_dtype, default_dtype
from polygrad.errors import InvalidArgumentError
from polygrad.families import Chapter
from polygrad.indexing import shape_tuple
from polygrad.ops.creation import asarray, to_place
from polygrad.ops.elementwise import exp, log, pow
from polygrad.ops.filling import kernels_named
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import concat
from polygrad.tensor import Tensor, new_tensor, on_host

_table = Chapter("creation")


@_table.public(samples=lambda s: [
    ((0.0, 1.0, 5), {}), ((s.real(), s.real(), 4), {}), ((s.real(), 2.0, 4), {"endpoint": False}),
    ((s.real(), s.real(), 1), {}), ((1, 2, 0), {}), ((0, 10, 5), {"dtype": "int32"}),
], kinds="fc")  # fmt: skip
def linspace(
    start: Any, stop: Any, /, num: int, *,
    dtype: Any = None, device: Any = None, endpoint: bool = True,
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`.

    Parameters
    ----------
    start, stop
        Numbers or Tensors; Tensors stay on the tape. Both ends are met exactly.
    num
        How many.
    dtype, device
        The defaults if not given; those of the Tensors, if there are any.
    endpoint
        Whether `stop` is the last number; if not, it would be the next one.

    Returns
    -------
    Tensor
        Shape `(num,)`, followed by the broadcast shape of the ends.

    Raises
    ------
    InvalidArgumentError
        `num` is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linspace(0, 1, 5)
    tensor([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = shape_tuple(num, "linspace, argument num")[0]
    lead = start if isinstance(start, Tensor) else stop
    if not isinstance(lead, Tensor):
        host = np.linspace(np.asarray(start), np.asarray(stop), num, endpoint=endpoint)
        if dtype is None:
            dtype = default_complex_dtype() if host.dtype.kind == "c" else default_dtype()
        k = kernels_named(dtype, device, "linspace")
        return new_tensor(k.from_numpy(host), k)
    a, b = _end(start, lead), _end(stop, lead)
    return _between(a, b, np.linspace(0, 1, num, endpoint=endpoint), dtype, device)


def _end(n: Any, lead: Tensor) -> Tensor:
    """A number in the precision of the Tensor at the other end."""
    if isinstance(n, (int, float, complex)) and lead.kernels.inexact:
        dtype = dtypes.complex_of(lead.dtype) if isinstance(n, complex) else lead.dtype
        return asarray(n, dtype=dtype, device=lead.device)
    return asarray(n, device=lead.device)


def _between(
    a: Tensor, b: Tensor, weights: np.ndarray[Any, Any], dtype: Any, device: Any
) -> Tensor:
    """(1 - w) a + w b, on the tape: exact at both ends, unlike a + w (b - a)."""
    computed = dtypes.promote(a.dtype, b.dtype) if dtype is None else dtypes.canonical(dtype)
    dtype = computed if dtype is not None else None
    if dtypes.kind_of(computed) < dtypes.REAL:
        computed = default_dtype()
    a, b = to_place(a, computed, device), to_place(b, computed, device)
    k = a.kernels.with_dtype(dtypes.real_of(computed))
    weights = weights.reshape(-1, *(1,) * max(a.ndim, b.ndim))
    up, down = (new_tensor(k.from_numpy(w), k) for w in (weights, 1 - weights))
    return to_place(a * down + b * up, dtype)


@_table.public(samples=lambda s: [
    ((0.0, 2.0, 5), {}), ((s.real(), s.real(), 4), {}), ((s.real(), 2.0), {"num": 3, "base": 2.0}),
    ((s.real(2), -1.0, 3), {"endpoint": False, "base": 3}), ((0, 3, 4), {"dtype": "int32"}),
    ((1, 2, 0), {}), ((s.real(), 1.0, 3), {"base": s.positive()}),
], kinds="f")  # fmt: skip
def logspace(
    start: Any, stop: Any, /, num: int = 50, *, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, device: Any = None,
) -> Tensor:
    """`num` numbers at equal ratios, from `base ** start` to `base ** stop`.

    Not in the standard; NumPy's name and arguments.

    Parameters
    ----------
    start, stop
        The exponents: numbers or Tensors; Tensors stay on the tape.
    num
        How many.
    endpoint
        Whether `base ** stop` is the last number.
    base
        A number above 0, or a Tensor of such, which stays on the tape.
    dtype, device
        The defaults if not given; those of the Tensors, if there are any.

    Returns
    -------
    Tensor
        Shape `(num,)`, followed by the broadcast shape of the ends.

    Raises
    ------
    InvalidArgumentError
        `num` is negative, or the base not above 0.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.], dtype=float32)
    """
    if isinstance(base, Tensor):
        start = start if isinstance(start, Tensor) else _end(start, base)
    elif not base > 0:
        raise InvalidArgumentError(
            f"the base {base} is not above 0", "logspace, argument base", "pass a positive number"
        )
    if not (isinstance(start, Tensor) or isinstance(stop, Tensor)):
        num = shape_tuple(num, "logspace, argument num")[0]
        ends = np.asarray(start), np.asarray(stop)
        host = np.logspace(*ends, num, endpoint=endpoint, base=base)
        k = kernels_named(default_dtype() if dtype is None else dtype, device, "logspace")
        return new_tensor(k.from_numpy(host), k)
    exponents = linspace(start, stop, num, endpoint=endpoint, device=device)
    return to_place(pow(base if isinstance(base, Tensor) else float(base), exponents), dtype)


@_table.public(samples=lambda s: [
    ((s.positive(), s.positive(), 4), {}), ((s.positive(2), 2.0, 3), {"endpoint": False}),
    ((s.complex(), s.complex(), 3), {}), ((-1, -8), {"num": 3, "dtype": s.dtype}),
    ((1.0, s.positive(2), 1), {}), ((1, 2, 0), {}),
], kinds="f")  # fmt: skip
def geomspace(
    start: Any, stop: Any, /, num: int = 50, *,
    endpoint: bool = True, dtype: Any = None, device: Any = None,
) -> Tensor:  # fmt: skip
    """`num` numbers at equal ratios, from `start` to `stop`: of complex ones, along a spiral.

    Parameters
    ----------
    start, stop
        The ends, not 0: numbers or Tensors; Tensors stay on the tape. Real ones have one sign. They
        are met exactly.
    num, endpoint, dtype, device
        As of `logspace`.

    Returns
    -------
    Tensor
        Shape `(num,)`, followed by the broadcast shape of the ends.

    Raises
    ------
    InvalidArgumentError
        `num` is negative; an end is 0; real ends have two signs.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.geomspace(1, 8, 4)
    tensor([1., 2., 4., 8.], dtype=float32)
    """
    num = shape_tuple(num, "geomspace, argument num")[0]
    a, b = (_on_host(t) for t in (start, stop))
    opposite = "c" not in a.dtype.kind + b.dtype.kind and np.any((a < 0) != (b < 0))
    if opposite or np.any(a == 0) or np.any(b == 0):
        raise InvalidArgumentError(
            "an end is 0, or two real ends have two signs", "geomspace, arguments start and stop",
            "no ratio leads from one to the other; see linspace",
        )  # fmt: skip
    if not isinstance(start, Tensor) and not isinstance(stop, Tensor):
        host = np.geomspace(a, b, num, endpoint=endpoint)
        if dtype is None:
            dtype = default_complex_dtype() if host.dtype.kind == "c" else default_dtype()
        k = kernels_named(dtype, device, "geomspace")
        return new_tensor(k.from_numpy(host), k)
    ends = linspace(start, stop, 2, device=device)
    first, last = ends[0], ends[1]
    k = ends.kernels.with_dtype(dtypes.real_of(ends.dtype))
    steps = np.linspace(0, 1, num, endpoint=endpoint).reshape(-1, *(1,) * first.ndim)
    weights = new_tensor(k.from_numpy(steps), k)
    out = first * exp(weights * log(last / first))
    if endpoint and num > 1:
        out = concat([out[:-1], reshape(last, (1, *last.shape))])
    return to_place(out, dtype)


def _on_host(t: Any) -> np.ndarray[Any, Any]:
    """An end, on the host."""
    return on_host(t) if isinstance(t, Tensor) else np.asarray(t)
