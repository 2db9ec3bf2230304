"""Extrema and log-sum-exps of the first 1, 2, 3 … elements along an axis.

Each is a scan: in log2(n) steps, of functions of the standard, unless a backend has a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polygrad.calls import describe
from polygrad.dtypes import BOOL, uint8
from polygrad.errors import DtypeError, InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axis, widened
from polygrad.ops._products import flipped
from polygrad.ops.comparison import equal, isnan
from polygrad.ops.creation import to_place
from polygrad.ops.indexing import index_tensor, take_along_axis
from polygrad.ops.manipulation import moveaxis
from polygrad.ops.searching import where
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor
from polygrad.views import detach

_table = Chapter("running")
_INF = math.inf


# ---- scans along the last axis ------------------------------------------------------------------
def _scan(name: str) -> Callable[..., Any]:
    """A forward: the binary function `name` over each element and all before it."""

    def forward(F: Any, x: Any) -> Any:
        step, n = 1, x.shape[-1]
        while step < n:
            head, tail = (Ellipsis, slice(None, step)), (Ellipsis, slice(step, None))
            before = (Ellipsis, slice(None, -step))
            x = F.xp.concat([x[head], getattr(F, name)(x[tail], x[before])], axis=-1)
            step *= 2
        return x

    return forward


def _logsumexp_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    """e^(x_i - out_i) r_i, with r_i = g_i + e^(out_i - out_(i+1)) r_(i+1): no power exceeds 1."""
    if not x.shape[-1]:
        return g
    here = F.getitem(out, key=(Ellipsis, slice(None, -1)))
    after = F.getitem(out, key=(Ellipsis, slice(1, None)))
    tie = F.isinf(here) & (here == after)
    ratio = F.exp(F.where(tie, 0, here) - F.where(tie, 0, after))
    r = flipped(F, F.recurrence(F.prepend(flipped(F, ratio), value=0.0), flipped(F, g)))
    d = F.where(x == _INF, 0, x - F.where(out == -_INF, 0, out))
    return r * F.exp(d)


# No rules: indices are found with these, and values are read there.
_running_maximum = Primitive("running_maximum", ("x",), {}, forward=_scan("maximum"))
_running_minimum = Primitive("running_minimum", ("x",), {}, forward=_scan("minimum"))
_running_logsumexp = Primitive(
    "running_logsumexp", ("x",), {"x": _logsumexp_rule}, forward=widened(_scan("logaddexp")),
    floating=True,
)  # fmt: skip


def _operand(x: Any, axis: Any, name: str) -> tuple[Tensor, int]:
    """A real tensor, and the axis counted from the front."""
    t = as_tensor(x, f"{name}, argument x")
    if t.kernels.is_complex:
        raise DtypeError(
            f"{name} is for real numbers", f"{name}{describe([t])}",
            "take pg.real, pg.imag or pg.abs first",
        )  # fmt: skip
    if axis is None:
        if t.ndim != 1:
            raise InvalidArgumentError(
                f"along which of {t.ndim} axes?", f"{name}{describe([t])}, argument axis",
                "name an axis; only 1-d tensors need none",
            )  # fmt: skip
        axis = 0
    return t, normalize_axis(axis, t.ndim, name)


# ---- extrema ------------------------------------------------------------------------------------
class RunningExtremum(NamedTuple):
    """What `cummax` and `cummin` return."""

    values: Tensor
    indices: Tensor


def _extremum(p: Primitive, x: Any, axis: Any, name: str) -> RunningExtremum:
    """The last place so far that held the extremum when it was met, and what stands there."""
    t, axis = _operand(x, axis, name)
    lanes = moveaxis(detach(t), axis, -1)
    lanes = to_place(lanes, uint8) if lanes.kernels.kind == BOOL else lanes
    record = equal(lanes, p.call(lanes))
    if lanes.kernels.inexact:
        record = record | isnan(lanes)
    places = index_tensor(np.arange(t.shape[axis]), t, of_shapes=True)
    found = moveaxis(_running_maximum.call(where(record, places, 0)), -1, axis)
    return RunningExtremum(take_along_axis(t, found, axis=axis), found)


def _samples(s: Any) -> Any:
    return [
        ((s.distinct(5),), {}), ((s.distinct(4, 2),), {"axis": 0}),
        ((s.distinct(2, 4),), {"axis": -1}), ((s.real(2, 0),), {"axis": 1}),
    ]  # fmt: skip


@_table.public(samples=_samples, kinds="if", method=True)
def cummax(x: Any, /, axis: int | None = None) -> RunningExtremum:
    """The largest of the first 1, 2, 3 … elements along an axis, and where each stands.

    Parameters
    ----------
    x
        Real tensor of at least one axis.
    axis
        Along which; may be left out if there is one only.

    Returns
    -------
    RunningExtremum
        `values`, of the shape and dtype of x, and `indices`; of equal elements the last. From the
        first NaN on all values are NaN.

    Raises
    ------
    DtypeError
        x is complex.
    InvalidArgumentError, OutOfRangeError
        No axis is named and x has not exactly one; there is no such axis.

    Notes
    -----
    The gradient of a value goes to the element at its index.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.cummax(pg.tensor([1, 3, 2, 5])).values
    tensor([1, 3, 3, 5], dtype=int64)
    """
    return _extremum(_running_maximum, x, axis, "cummax")


@_table.public(samples=_samples, kinds="if", method=True)
def cummin(x: Any, /, axis: int | None = None) -> RunningExtremum:
    """The smallest of the first 1, 2, 3 … elements along an axis, and where; as `cummax`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.cummin(pg.tensor([3, 1, 2, 0])).indices
    tensor([0, 1, 1, 3], dtype=int64)
    """
    return _extremum(_running_minimum, x, axis, "cummin")


# ---- logarithms of sums -------------------------------------------------------------------------
@_table.public(samples=_samples, kinds="f", method=True)
def cumulative_logsumexp(x: Any, /, axis: int | None = None) -> Tensor:
    """log(cumulative_sum(exp(x))) without overflow; parameters and errors as of `cummax`.

    Returns
    -------
    Tensor
        The shape of x. -inf as long as all elements were -inf.

    Notes
    -----
    Derivative: a linear recurrence backwards, whose factors are ratios of at most 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.cumulative_logsumexp(pg.tensor([1000.0, 1000.0]))
    tensor([1000. , 1000.6932], dtype=float32)
    """
    t, axis = _operand(x, axis, "cumulative_logsumexp")
    return moveaxis(_running_logsumexp.call(moveaxis(t, axis, -1)), -1, axis)
