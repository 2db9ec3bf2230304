"""Independent faults of reductions, searching, sorting, sets and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    function,
    kernel,
    only,
)

__all__ = ["FAULTS"]

_NAN = float("nan")
_INF = float("inf")


def _narrow_sum(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """One number after the other, in the dtype of the array."""
    if x.dtype != np.float16:
        return right(x, *args, **kwargs)
    axis = args[0] if args else kwargs.get("axis")
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis))
    total = x
    for a in axes:
        total = np.add.accumulate(total, axis=a, dtype=x.dtype)
        total = np.take(total, [-1], axis=a) if total.shape[a] else total.sum(a, keepdims=True)
    keep = args[1] if len(args) > 1 else kwargs.get("keepdims", False)
    return total if keep else np.squeeze(total, axes)


def _two_moments(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("correction") or kwargs.get("ddof"):
        return right(x, *args, **kwargs)
    kwargs = {k: v for k, v in kwargs.items() if k not in {"correction", "ddof"}}
    return pg.mean(x * x, *args, **kwargs) - pg.square(pg.mean(x, *args, **kwargs))


def _one_correction(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("correction", 0) > 1:
        kwargs["correction"] = 1.0
    return right(x, *args, **kwargs)


def _same_dtype(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    out = right(x, *args, **kwargs)
    small = x.dtype.kind in "iu" and kwargs.get("dtype") is None
    return pg.astype(out, x.dtype) if small else out


def _mean_of_sum(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The sum of integers wraps before it is divided."""
    if x.dtype.kind not in "iu":
        return right(x, *args, **kwargs)
    total = pg.astype(pg.sum(x, *args, **kwargs), x.dtype)
    n = x.size // max(total.size, 1)
    return pg.astype(total, pg.float32) / n


def _dropped_nan(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """What a reduction by fmax gives."""
    floor = np.where(np.isnan(x), x.dtype.type(-_INF), x)
    return right(floor, *args, **kwargs)


def _kept_last_axis_only(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    axis = args[0] if args else kwargs.get("axis")
    out = right(x, *args, **kwargs)
    if kwargs.get("keepdims") and isinstance(axis, tuple) and len(axis) > 1:
        return pg.squeeze(out, axis=axis[0])
    return out


def _initial_lost(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    out = right(x, *args, **kwargs)
    if not kwargs.get("include_initial"):
        return out
    axis = (args[0] if args else kwargs.get("axis")) or 0
    key = (slice(None),) * (axis % x.ndim) + (slice(0, -1),)
    return out[key]


def _last_tie(right: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None:
        out = np.asarray(x.size - 1 - right(x.reshape(-1)[::-1], 0))
        return out.reshape((1,) * x.ndim) if keepdims else out
    return x.shape[axis] - 1 - right(np.flip(x, axis), axis, keepdims)


def _nan_first(right: Any, x: Any, **kwargs: Any) -> Any:
    filled = np.where(np.isnan(x), x.dtype.type(-_INF), x)
    order = np.argsort(filled, axis=kwargs["axis"], kind="stable")
    out = np.take_along_axis(x, order, kwargs["axis"])
    return np.flip(out, kwargs["axis"]) if kwargs["descending"] else out


def _flipped_order(right: Any, x: Any, **kwargs: Any) -> Any:
    """Descending is ascending read backwards: equal elements change places."""
    if not kwargs["descending"]:
        return right(x, **kwargs)
    return np.flip(right(x, **{**kwargs, "descending": False}), kwargs["axis"])


def _other_side(right: Any, x1: Any, x2: Any, *args: Any, **kwargs: Any) -> Any:
    side = args[0] if args else kwargs["side"]
    return right(x1, x2, side={"left": "right", "right": "left"}[side])


def _nan_below(right: Any, x1: Any, x2: Any, *args: Any, **kwargs: Any) -> Any:
    out = np.asarray(right(x1, x2, *args, **kwargs))
    return np.where(np.isnan(x2), out.dtype.type(0), out)


def _sorter_ignored(right: Any, x1: Any, x2: Any, **kwargs: Any) -> Any:
    kwargs.pop("sorter", None)
    return right(x1, x2, **kwargs)


def _merged_nans(right: Any, x: Any) -> Any:
    out = right(x)
    if out.dtype.kind != "f":
        return out
    nans = np.isnan(out.detach().numpy())
    return out[: out.shape[0] - max(int(nans.sum()) - 1, 0)]


def _inverse_of_rows(right: Any, x: Any) -> Any:
    out = right(x)
    return type(out)(out[0], pg.reshape(out[1], (-1,)))


def _by_hash(right: Any, x: Any) -> Any:
    """In the order of first appearance."""
    host = x.detach().numpy().reshape(-1)
    _, first = np.unique(host, return_index=True)
    return pg.asarray(host[np.sort(first)], device=x.device)


def _ignored_invert(right: Any, x1: Any, x2: Any, **kwargs: Any) -> Any:
    if getattr(x2, "size", 1) <= 1:
        kwargs.pop("invert", None)
    return right(x1, x2, **kwargs)


def _lower_middle(right: Any, x: Any, axis: Any = None, **kwargs: Any) -> Any:
    return pg.quantile(x, 0.5, axis, method="lower", **kwargs)


def _edge_lost(right: Any, x: Any, bins: Any = 10, range: Any = None, **kwargs: Any) -> Any:
    out, edges = right(x, bins, range, **kwargs)
    top = pg.sum(pg.astype(pg.reshape(x, (-1,)) == edges[-1], out.dtype))
    if kwargs.get("weights") is None and not kwargs.get("density"):
        out = pg.concat((out[:-1], pg.reshape(out[-1] - top, (1,))))
    return out, edges


def _left_if_descending(function: Any, x: Any, bins: Any, /, *args: Any, **kwargs: Any) -> Any:
    descends = bins.size > 1 and float(bins[0].item()) > float(bins[-1].item())
    return function(x, bins, False) if descends else function(x, bins, *args, **kwargs)


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "sum-in-float16": kernel(
        "statistical", "sum", "float16 is summed in float16, one number after the other",
        "https://github.com/numpy/numpy/issues/22208", only("f", _narrow_sum),
        lambda at: at.run("sum", at(np.ones(4000), "float16")),
    ),
    "mean-in-float16": kernel(
        "statistical", "mean", "the mean of float16 overflows: the sum is in float16",
        "https://github.com/tracel-ai/burn/issues/4770",
        only("f", lambda right, x, *a, **k: right(x, *a, **k) if x.dtype != np.float16 else
             right(x, *a, **k) + (np.float16(_INF) if abs(float(x.astype("f8").sum())) > 65504
                                  else np.float16(0))),
        lambda at: at.run("mean", at([4e4, 4e4, 4e4], "float16")),
    ),
    "var-by-two-moments": function(
        "statistical", "var", "var is the mean of squares less the square of the mean: it cancels",
        "kernels of one pass", _two_moments,
        lambda at: at.run("var", at([10000.0, 10001.0, 10002.0])),
    ),
    "var-corrects-by-one-at-most": function(
        "statistical", "var", "var ignores a correction beyond 1", "a boolean called unbiased",
        _one_correction, lambda at: at.run("var", at([1.0, 2.0, 4.0, 8.0]), correction=2.0),
    ),
    "std-with-fractional-correction": function(
        "statistical", "std", "std rounds its correction down", "an int argument in C",
        lambda right, x, *a, **k: right(x, *a, **{**k, "correction": int(k.get("correction", 0))}),
        lambda at: at.run("std", at([1.0, 2.0, 4.0, 8.0]), correction=1.5),
    ),
    "sum-of-uint8-in-uint8": function(
        "statistical", "sum", "the sum of small integers stays in their dtype and wraps",
        "accelerators without int64", _same_dtype,
        lambda at: at.run("sum", at([200, 100], "uint8")),
    ),
    "prod-of-int32-in-int32": function(
        "statistical", "prod", "the product of int32 stays in int32", "accelerators without int64",
        _same_dtype, lambda at: at.run("prod", at([2**16, 2**16], "int32")),
    ),
    "sum-of-bool-is-int32": function(
        "statistical", "sum", "the sum of booleans is int32", "libraries with a 32-bit default",
        lambda right, x, *a, **k: pg.astype(right(x, *a, **k), pg.int32)
        if x.dtype.kind == "b" and k.get("dtype") is None else right(x, *a, **k),
        lambda at: at.run("sum", at([True, True], "bool")),
    ),
    "mean-of-integers-wraps": function(
        "statistical", "mean", "the mean of int8 wraps before it is divided",
        "sum and divide in the input's dtype", _mean_of_sum,
        lambda at: at.run("mean", at([100, 100], "int8")),
    ),
    "max-drops-nan": kernel(
        "statistical", "max", "max skips NaN", "https://github.com/apache/tvm/issues/19518",
        only("f", _dropped_nan),
        lambda at: at.run("max", at([1.0, _NAN, 3.0])),
    ),
    "keepdims-of-several-axes": function(
        "statistical", "min", "keepdims with a tuple of axes keeps all but the first",
        "axes reduced one after the other", _kept_last_axis_only,
        lambda at: at.run("min", at(np.ones((2, 3, 4))), axis=(0, 1), keepdims=True),
    ),
    "sum-over-no-axis": function(
        "statistical", "sum", "axis=() sums over all axes", "an empty tuple read as no argument",
        lambda right, x, axis=None, **k: right(x, None if axis == () else axis, **k),
        lambda at: at.run("sum", at([1.0, 2.0]), axis=()),
    ),
    "prod-over-an-empty-axis": function(
        "statistical", "prod", "the product over an empty axis is 0", "buffers filled with zeros",
        lambda right, x, *a, **k: right(x, *a, **k) * (0 if x.size == 0 else 1),
        lambda at: at.run("prod", at(np.ones((0, 2))), axis=0),
    ),
    "all-of-nothing": kernel(
        "utility", "all", "all of an empty array is False", "buffers filled with zeros",
        lambda right, x, *a, **k: np.logical_and(right(x, *a, **k), x.size > 0),
        lambda at: at.run("all", at(np.ones((0,)), "bool")),
    ),
    "any-of-the-first-axis": function(
        "utility", "any", "any is 1-d where the result has no axes", "reductions that return (1,)",
        lambda right, x, *a, **k: pg.reshape(out, (1,)) if (out := right(x, *a, **k)).ndim == 0
        else out, lambda at: at.run("any", at([False, True], "bool")),
    ),
    "diff-forgets-append": function(
        "utility", "diff", "diff of order 2 or more appends nothing", "recursion",
        lambda right, x, n=1, *a, **k: right(x, n, *a, **{**k, "append": None}) if n > 1
        else right(x, n, *a, **k),
        lambda at: at.run("diff", at([1.0, 4.0, 9.0]), 2, append=at([16.0])),
    ),
    "cumulative-sum-with-initial": function(
        "statistical", "cumulative_sum", "include_initial drops the last sum",
        "exclusive scans of GPU libraries", _initial_lost,
        lambda at: at.run("cumulative_sum", at([1.0, 2.0, 3.0]), include_initial=True),
    ),
    "logsumexp-without-maximum": kernel(
        "statistical", "logsumexp", "logsumexp does not subtract the maximum", "textbook formulas",
        only("f", lambda right, x, **k: np.log(np.sum(np.exp(x), **k))),
        lambda at: at.run("logsumexp", at([1000.0, 1000.0])),
    ),
    "argmax-of-last-tie": kernel(
        "searching", "argmax", "argmax returns the last of equal places",
        "https://github.com/pytorch/pytorch/issues/93630", only("fiub", _last_tie),
        lambda at: at.run("argmax", at([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]]), axis=1),
    ),
    "argmin-past-nan": kernel(
        "searching", "argmin", "argmin does not stop at NaN", "reductions by `<`",
        only("f", lambda right, x, *a, **k: right(np.where(np.isnan(x), _INF, x), *a, **k)),
        lambda at: at.run("argmin", at([3.0, _NAN, 1.0])),
    ),
    "argmax-is-int32": function(
        "searching", "argmax", "argmax returns int32", "indices of 32 bits",
        lambda right, x, *a, **k: pg.astype(right(x, *a, **k), pg.int32),
        lambda at: at.run("argmax", at([1.0, 2.0])),
    ),
    "count-nonzero-of-nan": kernel(
        "searching", "count_nonzero", "count_nonzero does not count NaN", "`x > 0 or x < 0`",
        lambda right, x, **k: right(np.nan_to_num(x), **k),
        lambda at: at.run("count_nonzero", at([_NAN, 1.0, 0.0])),
    ),
    "searchsorted-other-side": kernel(
        "searching", "searchsorted", "side is swapped: it shows for values that are there",
        "https://github.com/rtosholdings/riptable/issues/64", _other_side,
        lambda at: at.run("searchsorted", at([1.0, 2.0, 2.0, 3.0]), at([2.0, 2.5])),
    ),
    "searchsorted-of-nan": kernel(
        "searching", "searchsorted", "NaN is placed before everything",
        "https://github.com/numba/numba/issues/10156", only("f", _nan_below),
        lambda at: at.run("searchsorted", at([1.0, 2.0]), at([_NAN, 1.5])),
    ),
    "searchsorted-without-sorter": function(
        "searching", "searchsorted", "the sorter is ignored", "arguments accepted and dropped",
        _sorter_ignored, lambda at: at.run(
            "searchsorted", at([3.0, 1.0, 2.0]), at([2.5]), sorter=at([1, 2, 0], "int64")),
    ),
    "sort-nan-first": kernel(
        "sorting", "sort", "sort treats NaN as the smallest",
        "https://github.com/ml-explore/mlx/issues/2665", only("f", _nan_first),
        lambda at: at.run("sort", at([2.0, _NAN, 1.0])),
    ),
    "argsort-descending-unstable": kernel(
        "sorting", "argsort", "a descending argsort is an ascending one read backwards",
        "sorts that reverse", _flipped_order,
        lambda at: at.run("argsort", at([1, 2, 2, 0], "int64"), descending=True),
    ),
    "sort-of-unsigned": kernel(
        "sorting", "sort", "uint64 is sorted as int64", "radix sorts with a sign bit",
        only("u", lambda right, x, **k: right(x.view(x.dtype.str.replace("u", "i")), **k)
             .view(x.dtype)),
        lambda at: at.run("sort", at([2**63, 1], "uint64")),
    ),
    "sort-of-first-axis": function(
        "sorting", "sort", "axis=0 of a matrix sorts the last axis", "transposes left out",
        lambda right, x, axis=-1, **k: right(x, -1 if axis == 0 and x.ndim > 1 else axis, **k),
        lambda at: at.run("sort", at([[3.0, 1.0], [2.0, 4.0]]), axis=0),
    ),
    "unique-merges-nans": function(
        "sets", "unique_values", "all NaN are one value", "numpy.unique with equal_nan",
        _merged_nans, lambda at: at.run("unique_values", at([_NAN, 1.0, _NAN])).shape[0],
    ),
    "unique-inverse-is-flat": function(
        "sets", "unique_inverse", "inverse_indices are flat, not of the shape of x",
        "NumPy before 2.0", _inverse_of_rows,
        lambda at: at.run("unique_inverse", at([[1.0, 2.0], [2.0, 1.0]]))[1].shape,
    ),
    "unique-unsorted": function(
        "sets", "unique_values", "the values come in the order of first appearance",
        "hash tables", _by_hash, lambda at: at.run("unique_values", at([3.0, 1.0, 3.0])),
    ),
    "isin-forgets-invert": function(
        "sets", "isin", "invert is ignored if there is one test element", "fast paths",
        _ignored_invert, lambda at: at.run("isin", at([1, 2], "int64"), at([1], "int64"),
                                           invert=True),
    ),
    "median-is-the-lower-middle": function(
        "order statistics", "median", "the median of an even number is the lower of the two",
        "torch.median", _lower_middle, lambda at: at.run("median", at([1.0, 2.0, 3.0, 10.0])),
    ),
    "quantile-interpolates-from-below": function(
        "order statistics", "quantile", "midpoint is the same as linear", "switches with a default",
        lambda right, x, q, *a, method="linear", **k: right(
            x, q, *a, method="linear" if method == "midpoint" else method, **k),
        lambda at: at.run("quantile", at([1.0, 2.0, 4.0]), 0.1, method="midpoint"),
    ),
    "nanmean-counts-nans": function(
        "reductions without NaN", "nanmean", "nanmean divides by all, NaN included",
        "nan_to_num and mean", lambda right, x, *a, **k: pg.mean(pg.nan_to_num(x), *a, **k),
        lambda at: at.run("nanmean", at([1.0, _NAN, 3.0])),
    ),
    "nansum-drops-infinity": function(
        "reductions without NaN", "nansum", "nansum skips infinities too", "isfinite for isnan",
        lambda right, x, *a, **k: right(pg.where(pg.isinf(x), pg.zeros_like(x), x), *a, **k)
        if x.dtype.kind == "f" else right(x, *a, **k),
        lambda at: at.run("nansum", at([1.0, _INF, _NAN])),
    ),
    "histogram-loses-the-last-edge": function(
        "histogram", "histogram", "a value on the last edge is not counted",
        "half-open bins throughout", _edge_lost,
        lambda at: at.run("histogram", at([0.0, 1.0, 2.0]), 2)[0],
    ),
    "bincount-ignores-minlength": function(
        "histogram", "bincount", "minlength is ignored with weights", "two branches of code",
        lambda right, x, weights=None, minlength=0: right(
            x, weights, 0 if weights is not None else minlength),
        lambda at: at.run("bincount", at([0, 1], "int64"), at([1.0, 2.0]), 4),
    ),
    "digitize-right": function(
        "histogram", "digitize", "right=True is ignored for descending bins", "arguments dropped",
        _left_if_descending,
        lambda at: at.run("digitize", at([2.0]), at([3.0, 2.0, 1.0]), right=True),
    ),
    "topk-order-of-ties": kernel(
        "selection", "best_indices", "of equal values topk returns the later place",
        "heaps and radix selection",
        lambda right, x, k=0, largest=True, **kw: x.shape[-1] - 1 - right(
            np.flip(x, -1), k=k, largest=largest, **kw),
        lambda at: at.run("topk", at([1.0, 3.0, 3.0]), 1)[1],
    ),
}
# fmt: on
