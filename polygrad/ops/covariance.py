"""Weighted averages, covariances, correlations, and the range of values."""

from __future__ import annotations

import math
from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import INTEGER, real_of
from polygrad.errors import DtypeError, ShapeError
from polygrad.families import Chapter
from polygrad.ops import statistical
from polygrad.ops._axes import as_tensor, count, normalize_axes
from polygrad.ops.creation import as_floating, to_place
from polygrad.ops.diagonals import diagonal
from polygrad.ops.elementwise import clip, conj, imag, real, sqrt
from polygrad.ops.filling import full
from polygrad.ops.linear_algebra import matmul, matrix_transpose
from polygrad.ops.manipulation import broadcast_to, permute_dims, reshape
from polygrad.ops.rearrangement import concat
from polygrad.ops.searching import where
from polygrad.tensor import Tensor

_table = Chapter("covariance")
_NAN = math.nan


def _floating(x: Any, where: str) -> Tensor:
    return as_floating(as_tensor(x, where))


# ---- averages -----------------------------------------------------------------------------------
@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {"axis": 1}),
    ((s.real(2, 3),), {"weights": s.positive(2, 3)}),
    ((s.complex(2, 3),), {"axis": 0, "weights": s.positive(2), "keepdims": True}),
    ((s.real(2, 3, 2),), {"axis": (2, 0), "weights": s.positive(2, 2), "returned": True}),
], kinds="fc")  # fmt: skip
def average(
    x: Any, /, axis: Any = None, weights: Any = None, *, returned: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The weighted mean, sum(weights * x) / sum(weights).

    Parameters
    ----------
    x
        Numeric tensor. Integers are computed in the default floating dtype.
    axis
        An axis, a tuple of axes, or None for all.
    weights
        Of the shape of x, or one for each place along `axis`, in the order of its axes. None: equal
        ones.
    returned
        Whether to return the sum of the weights too.
    keepdims
        Keep the reduced axes, with length 1.

    Returns
    -------
    Tensor or tuple of Tensor
        The average; with `returned` (average, sum of weights), of one shape. Where the weights add
        up to 0 it is NaN or infinite.

    Raises
    ------
    ShapeError, OutOfRangeError, InvalidArgumentError
        The weights do not fit; there is no such axis, or one is named twice.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.average(pg.asarray([1.0, 2.0, 3.0]), weights=pg.asarray([1.0, 0.0, 3.0]))
    tensor(2.5, dtype=float32)
    """
    x = _floating(x, "average, argument x")
    axes = normalize_axes(axis, x.ndim, "average")
    if weights is None:
        mean = statistical.mean(x, axis=axes, keepdims=keepdims)
        number = full(mean.shape, count(x.shape, axes), dtype=mean.dtype, device=mean.device)
        return (mean, number) if returned else mean
    w = _weights(x, as_tensor(weights, "average, argument weights"), axes)
    total = statistical.sum(w, axis=axes, keepdims=keepdims, dtype=w.dtype)
    mean = statistical.sum(x * w, axis=axes, keepdims=keepdims) / total
    return (mean, broadcast_to(total, mean.shape)) if returned else mean


def _weights(x: Tensor, w: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Weights that broadcast with x."""
    if w.shape == x.shape:
        return w
    if w.shape != tuple(x.shape[a] for a in axes):
        raise ShapeError(
            f"weights of shape {w.shape} for values of shape {x.shape}",
            f"average{describe([x, w])}, axis {axes}",
            "give one for each element, or one for each place along axis",
        )  # fmt: skip
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = tuple(n if i in axes else 1 for i, n in enumerate(x.shape))
    return reshape(permute_dims(w, tuple(order)), shape)


@_table.public(samples=lambda s: [
    ((s.distinct(2, 3),), {}), ((s.distinct(2, 3),), {"axis": 0}),
    ((s.distinct(2, 3, 2),), {"axis": (0, -1), "keepdims": True}),
], kinds="if")  # fmt: skip
def ptp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The largest element less the smallest, "peak to peak"; parameters and errors as of `max`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.ptp(pg.asarray([3, 1, 7]))
    tensor(6, dtype=int64)
    """
    top = statistical.max(x, axis=axis, keepdims=keepdims)
    return top - statistical.min(x, axis=axis, keepdims=keepdims)


# ---- covariances --------------------------------------------------------------------------------
def _observations(x: Any, y: Any, rowvar: bool, name: str) -> Tensor:
    """One variable in each row."""
    t = _rows(x, "x", rowvar, name)
    if y is None:
        return t
    u = _rows(y, "y", rowvar, name)
    if t.shape[1] != u.shape[1]:
        raise ShapeError(
            f"{t.shape[1]} observations in x and {u.shape[1]} in y", f"{name}{describe([t, u])}",
            "each needs one value for each observation",
        )  # fmt: skip
    return concat([t, u], axis=0)


def _rows(x: Any, argument: str, rowvar: bool, name: str) -> Tensor:
    t = _floating(x, f"{name}, argument {argument}")
    if t.ndim > 2:
        raise ShapeError(
            f"{argument} has {t.ndim} axes", f"{name}{describe([t])}",
            "pass variables and observations: at most two axes",
        )  # fmt: skip
    if t.ndim < 2:
        return reshape(t, (1, -1))
    return t if rowvar else matrix_transpose(t)


def _counts(w: Any, x: Tensor, argument: str) -> Tensor:
    t = as_tensor(w, f"cov, argument {argument}")
    where = f"cov{describe([x, t])}, argument {argument}"
    if t.shape != x.shape[1:]:
        raise ShapeError(
            f"weights of shape {t.shape} for {x.shape[1]} observations", where,
            "give one for each observation",
        )  # fmt: skip
    if argument == "fweights" and t.kernels.kind > INTEGER:
        raise DtypeError(
            f"frequencies are integers, not {t.dtype}", where, "other weights are aweights"
        )
    return to_place(t, real_of(x.dtype)) if t.kernels.kind <= INTEGER else t


def _cov_samples(s: Any) -> Any:
    return [
        ((s.real(2, 4),), {}), ((s.real(4),), {"ddof": 0}), ((s.real(2, 4), s.real(4)), {}),
        ((s.complex(4, 2),), {"rowvar": False, "bias": True}),
        ((s.real(2, 4),), {"fweights": s.integers(4, low=1, high=4), "aweights": s.positive(4)}),
        ((s.real(2, 4),), {"aweights": s.positive(4), "ddof": 0}),
    ]  # fmt: skip


@_table.public(samples=_cov_samples, kinds="f", method=True)
def cov(
    x: Any, /, y: Any = None, *, rowvar: bool = True, bias: bool = False, ddof: float | None = None,
    fweights: Any = None, aweights: Any = None,
) -> Tensor:  # fmt: skip
    """The covariances of variables: the mean products of their deviations.

    Parameters
    ----------
    x
        Numeric tensor of at most two axes: a variable in each row, an observation in each column.
    y
        More variables, in the same form.
    rowvar
        False: variables are columns.
    bias, ddof
        The sum of products is divided by N - ddof; by default `ddof` is 1, and 0 with `bias`.
    fweights, aweights
        How often each observation counts, in integers; how much it weighs, of which only ratios
        matter.

    Returns
    -------
    Tensor
        Shape (variables, variables), or () of one variable. c_ij is the mean of d_i conj(d_j). NaN
        where N - ddof is not positive.

    Raises
    ------
    ShapeError, DtypeError
        There are more than two axes, observations differ in number; frequencies are no integers.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.cov(pg.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]], dtype=float32)
    """
    return _cov(_observations(x, y, rowvar, "cov"), bias, ddof, fweights, aweights)


def _freedom(w: Tensor, heavy: Tensor | None, ddof: float) -> Tensor:
    """N - ddof for weights: ddof counts as much as an observation of average importance."""
    total = statistical.sum(w, dtype=w.dtype)
    if ddof == 0:
        return total
    if heavy is None:
        return total - ddof
    return total - statistical.sum(w * heavy, dtype=w.dtype) / total * ddof


def _cov(x: Tensor, bias: bool, ddof: float | None, fweights: Any, aweights: Any) -> Tensor:
    """Of variables in rows."""
    ddof = ddof if ddof is not None else (0 if bias else 1)
    often = None if fweights is None else _counts(fweights, x, "fweights")
    heavy = None if aweights is None else _counts(aweights, x, "aweights")
    if often is None and heavy is None:
        freedom: Any = x.shape[1] - ddof
        freedom = freedom if freedom > 0 else _NAN
        weighted = d = x - statistical.mean(x, axis=1, keepdims=True)
    else:
        w: Any = heavy if often is None else often if heavy is None else often * heavy
        freedom = _freedom(w, heavy, ddof)
        freedom = where(freedom > 0, freedom, _NAN)
        d = x - average(x, axis=1, weights=w, keepdims=True)
        weighted = d * w
    c = matmul(d, conj(matrix_transpose(weighted))) / freedom
    return reshape(c, ()) if c.shape == (1, 1) else c


@_table.public(samples=lambda s: [
    ((s.real(3, 5),), {}), ((s.real(2, 4), s.real(4)), {}), ((s.real(4),), {}),
    ((s.complex(5, 2),), {"rowvar": False}),
], kinds="f", method=True)  # fmt: skip
def corrcoef(x: Any, /, y: Any = None, *, rowvar: bool = True) -> Tensor:
    """Pearson's correlations of variables: covariances over products of standard deviations.

    Parameters and errors are those of `cov`.

    Returns
    -------
    Tensor
        Shape (variables, variables), or () of one variable; real and imaginary parts from -1 to 1.
        NaN where a variable does not vary.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.corrcoef(pg.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]], dtype=float32)
    """
    c = _cov(_observations(x, y, rowvar, "corrcoef"), False, None, None, None)
    if not c.ndim:
        return c / c
    spread = sqrt(real(diagonal(c)))
    c = c / reshape(spread, (-1, 1)) / spread
    if not c.kernels.is_complex:
        return clip(c, -1, 1)
    return clip(real(c), -1, 1) + clip(imag(c), -1, 1) * 1j
