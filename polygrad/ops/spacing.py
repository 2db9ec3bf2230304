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
from polygrad.ops.elementwise import pow
from polygrad.ops.filling import kernels_named
from polygrad.tensor import Tensor, new_tensor

_table = Chapter("creation")


@_table.public(samples=lambda s: [
    ((0.0, 1.0, 5), {}), ((s.real(), s.real(), 4), {}), ((s.real(), 2.0, 4), {"endpoint": False}),
    ((s.real(), s.real(), 1), {}), ((1, 2, 0), {}), ((0, 10, 5), {"dtype": "int32"}),
], kinds="f")  # fmt: skip
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
    ((1, 2, 0), {}),
], kinds="f")  # fmt: skip
def logspace(
    start: Any, stop: Any, /, num: int = 50, *, endpoint: bool = True, base: float = 10.0,
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
        A number above 0.
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
    if not base > 0:
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
    return to_place(pow(float(base), exponents), dtype)
