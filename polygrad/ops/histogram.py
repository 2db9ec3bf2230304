"""Counts: of integers, and of numbers in bins. Weights have gradients, what is counted has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.config import default_dtype
from polygrad.dtypes import BOOL, INTEGER
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops import statistical
from polygrad.ops._axes import as_tensor
from polygrad.ops.creation import to_place
from polygrad.ops.filling import ones, zeros
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import flip
from polygrad.ops.searching import searchsorted, where
from polygrad.ops.utility import diff
from polygrad.primitive import PRIMITIVES
from polygrad.registry import default_integer
from polygrad.tensor import Tensor, new_tensor, on_host
from polygrad.views import detach

_table = Chapter("histogram")


def _added(places: Tensor, weights: Tensor, length: int) -> Tensor:
    """The weights added up at their places."""
    return PRIMITIVES["take_adjoint"].call(weights, places, shape=(length,), axis=0)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.integers(6, low=0, high=4),), {}),
    ((s.integers(6, low=0, high=4), s.real(6)), {"minlength": 6}),
    ((s.integers(5, low=0, high=3), s.complex(5)), {}), ((s.integers(0),), {"minlength": 2}),
], kinds="f")  # fmt: skip
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each of the numbers 0, 1, 2 … occurs, or the sums of the weights where it does.

    Parameters
    ----------
    x
        Integer tensor of one axis, nothing negative. It is read on the host.
    weights
        A tensor of the shape of x.
    minlength
        The least length of the result.

    Returns
    -------
    Tensor
        As long as the largest number, and one more; of the dtype of the weights. Counts are
        integers.

    Raises
    ------
    DtypeError, ShapeError, InvalidArgumentError
        x is not of integers, has not one axis, or has negative ones; the weights do not fit;
        `minlength` is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.bincount(pg.asarray([0, 2, 2]))
    tensor([1, 0, 2], dtype=int64)
    """
    x = as_tensor(x, "bincount, argument x")
    where = f"bincount{describe([x])}, argument x"
    if x.kernels.kind > INTEGER:
        raise DtypeError(f"only integers are counted, not {x.dtype}", where, "see histogram")
    if x.ndim != 1:
        raise ShapeError(f"x has {x.ndim} axes", where, "flatten it")
    if minlength < 0:
        raise InvalidArgumentError(
            f"a length of {minlength}", "bincount, argument minlength", "minlength >= 0"
        )
    host = on_host(x)
    if host.size and host.min() < 0:
        raise InvalidArgumentError(
            f"{host.min()} is negative", where, "subtract the smallest number first"
        )
    length = max(minlength, int(host.max()) + 1 if host.size else 0)
    if weights is None:
        w = ones(x.shape, dtype=default_integer(x.device), device=x.device)
    else:
        w = as_tensor(weights, "bincount, argument weights")
        if w.shape != x.shape:
            raise ShapeError(
                f"weights of shape {w.shape} for numbers of shape {x.shape}",
                f"bincount{describe([x, w])}", "give one for each",
            )  # fmt: skip
    return _added(to_place(x, default_integer(x.device)), w, length)


# ---- bins ---------------------------------------------------------------------------------------
def _edges(x: Tensor, bins: Any, range: Any, weights: Any, where: str) -> Tensor:
    """The edges of bins on the device of x: those given, or found on the host."""
    dtype = x.dtype if x.kernels.inexact else default_dtype()
    if x.kernels.is_complex:
        raise DtypeError(
            "complex numbers have no order", f"{where}{describe([x])}", f"{where} of pg.abs(x)"
        )
    if isinstance(bins, Tensor):
        host = on_host(bins)
    elif isinstance(bins, str) or np.ndim(bins) == 0:
        if weights is not None and isinstance(bins, str):
            raise InvalidArgumentError(
                f"weights have no part in finding bins by {bins!r}", f"{where}, argument bins",
                "say how many bins, or give their edges",
            )  # fmt: skip
        try:
            host = np.histogram_bin_edges(on_host(x), bins, range)
        except (ValueError, TypeError) as error:
            raise InvalidArgumentError(
                f"no bins can be made: {error}",
                f"{where}{describe([x])}, arguments bins and range",
                "give a number of at least 1, and a finite range (low, high)",
            ) from error  # fmt: skip
    else:
        host = np.asarray(bins)
    if host.ndim != 1 or host.size < 1 or np.any(np.diff(host) < 0):
        raise InvalidArgumentError(
            f"edges of shape {host.shape} that do not increase", f"{where}, argument bins",
            "give edges in increasing order, along one axis",
        )  # fmt: skip
    k = x.kernels.with_dtype(dtype)
    return new_tensor(k.from_numpy(host), k)


def _bin_samples(s: Any) -> Any:
    return [
        ((s.real(8),), {}), ((s.real(2, 4),), {"bins": 3, "range": (-2.0, 2.0)}),
        ((s.real(8),), {"bins": [-2.0, -0.2, 0.1, 2.0]}),
    ]  # fmt: skip


@_table.public(samples=lambda s: [
    *_bin_samples(s), ((s.real(8),), {"bins": "sturges"}), ((s.real(0),), {"bins": 2}),
], kinds="if", differentiable=False)  # fmt: skip
def histogram_bin_edges(x: Any, /, bins: Any = 10, range: Any = None) -> Tensor:
    """The edges of the bins that `histogram` counts in.

    Parameters
    ----------
    x
        Real tensor of any shape; it is read on the host.
    bins
        How many, all of one width; or their edges, one more, in increasing order; or the name of
        one of NumPy's rules, as "auto" or "fd".
    range
        (low, high): between which the edges lie. None: the smallest and the largest element.

    Returns
    -------
    Tensor
        Of one axis, the dtype of x, for integers the default floating dtype. A constant.

    Raises
    ------
    InvalidArgumentError, DtypeError
        No bins can be made of the arguments; x is complex.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.histogram_bin_edges(pg.asarray([1.0, 5.0]), bins=4)
    tensor([1., 2., 3., 4., 5.], dtype=float32)
    """
    x = as_tensor(x, "histogram_bin_edges, argument x")
    return _edges(x, bins, range, None, "histogram_bin_edges")


@_table.public(samples=lambda s: [
    ((s.real(8),), {"range": (-1.5, 2.0), "weights": s.real(8)}),
    ((s.real(2, 4),), {"bins": 4, "range": (-2.0, 2.0), "weights": s.complex(2, 4)}),
    ((s.real(8),), {"bins": [-3.0, 0.1, 3.0], "weights": s.positive(8), "density": True}),
    ((s.integers(8, low=-3, high=4),), {"bins": [-2, 0, 1, 3]}),
    ((s.integers(8, low=-3, high=4),), {"bins": 3, "density": True}),
], kinds="f")  # fmt: skip
def histogram(
    x: Any, /, bins: Any = 10, range: Any = None, *, weights: Any = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each of some bins.

    Parameters
    ----------
    x, bins, range
        As of `histogram_bin_edges`. A bin includes its lower edge; the last one both.
    weights
        A tensor of the shape of x: what is added instead of 1. It may require grad.
    density
        Whether to divide by the widths of the bins and by the sum, so that the integral is 1.

    Returns
    -------
    tuple of Tensor
        The counts, integers unless there are weights or `density`; and the edges, one more. What
        lies outside of them, and NaN, is not counted.

    Raises
    ------
    InvalidArgumentError, DtypeError, ShapeError
        No bins can be made of the arguments; x is complex; the weights do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.histogram(pg.asarray([0.5, 1.5, 1.7, 3.0]), bins=[0, 1, 2, 3])[0]
    tensor([1, 2, 1], dtype=int64)
    """
    x = detach(as_tensor(x, "histogram, argument x"))
    edges = _edges(x, bins, range, weights, "histogram")
    x = reshape(x if x.kernels.inexact else to_place(x, edges.dtype), (-1,))
    number = edges.shape[0] - 1
    if weights is None:
        w = ones(x.shape, dtype=default_integer(x.device), device=x.device)
    else:
        w = as_tensor(weights, "histogram, argument weights")
        if w.size != x.size:
            raise ShapeError(
                f"weights of shape {w.shape} for {x.size} elements",
                f"histogram{describe([x, w])}", "give one for each",
            )  # fmt: skip
        w = reshape(w, (-1,))
    if number < 1:
        counts = zeros((0,), dtype=w.dtype, device=x.device)
    else:
        place = searchsorted(edges, x, side="right")  # 0: below; number + 1: above, and the last
        last = edges[-1]
        place = where(x == last, number, where(x < last, place, number + 1))
        counts = _added(place, w, number + 2)[1:-1]
    if density:
        floating = counts if counts.kernels.inexact else to_place(counts, edges.dtype)
        counts = floating / diff(edges) / statistical.sum(floating)
    return counts, edges


@_table.public(samples=lambda s: [
    ((s.real(2, 3), np.asarray([-1.0, 0.0, 1.5], dtype=s.dtype)), {}),
    ((s.real(4), np.asarray([2.0, 1.0, -1.5], dtype=s.dtype)), {"right": True}),
], kinds="f", differentiable=False)  # fmt: skip
def digitize(x: Any, /, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin that each element lies in, 0 before the first edge.

    Parameters
    ----------
    x
        Real tensor of any shape.
    bins
        The edges: a tensor of one axis, increasing or decreasing. It is read on the host.
    right
        Whether a bin includes its right edge instead of its left one.

    Returns
    -------
    Tensor
        Integers i, of the shape of x: bins[i - 1] <= x < bins[i], or bins[i - 1] > x >= bins[i].

    Raises
    ------
    InvalidArgumentError, ShapeError
        The edges neither increase nor decrease; they have not one axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.digitize(pg.asarray([0.5, 2.0, 7.0]), pg.asarray([1.0, 2.0, 3.0]))
    tensor([0, 2, 3], dtype=int64)
    """
    x, bins = as_tensor(x, "digitize, argument x"), as_tensor(bins, "digitize, argument bins")
    if bins.ndim != 1:
        raise ShapeError(
            f"edges of shape {bins.shape}", f"digitize{describe([x, bins])}",
            "give them along one axis",
        )  # fmt: skip
    edges = on_host(bins)
    steps = np.diff(edges.astype(np.float64) if bins.kernels.kind == BOOL else edges)
    side = "left" if right else "right"
    if np.all(steps >= 0):
        return searchsorted(bins, x, side=side)
    if not np.all(steps <= 0):
        raise InvalidArgumentError(
            "the edges neither increase nor decrease", f"digitize{describe([x, bins])}",
            "sort them",
        )  # fmt: skip
    return bins.shape[0] - searchsorted(flip(bins), x, side=side)  # type: ignore[no-any-return]
