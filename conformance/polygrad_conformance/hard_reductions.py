"""Hard samples of statistics, reductions without NaN, order statistics and running functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]

_AXES = (0, 1, -1, (0, 2), (-1, 1), (2, 0), (0, 1, 2), ())


def _keywords(h: Hard, **more: Any) -> Calls:
    """Each way to name axes, on a block without NaN."""
    made = [((h.block,), {"axis": axis, **more}) for axis in _AXES]
    return [
        *made,
        ((h.block,), {"axis": (1,), "keepdims": True, **more}),
        ((h.block,), {"axis": (0, -1), "keepdims": True, **more}),
        ((h.block,), {"keepdims": True, **more}),
    ]


def _extremes(h: Hard) -> Calls:
    return [
        ((h.lanes,), {"axis": 1}),
        ((h.lanes,), {"axis": 0}),
        ((h.lanes,), {}),
        ((h.holes,), {"axis": (0, 1)}),
        *_keywords(h),
    ]


def _halves(h: Hard) -> Calls:
    """What half precision has not the digits or the range for, on the way or at the end."""
    if h.dtype != np.float16:
        return []
    ones, turned = np.full((2, 4096), 1), np.tile([6e4, 6e4, -6e4, -6e4], (2, 2))
    small = np.concatenate([[2048], np.full(64, 0.5)])
    return [((h(x),), {"axis": -1}) for x in (ones, turned, small)] + [((h(ones),), {})]


def _sums(h: Hard) -> Calls:
    hard = h.lanes if h.floats else h.finite[:4]
    made = [((hard,), {"axis": 1}), ((h.holes,), {"axis": 0}), *_keywords(h)]
    if h.kind in "iu":  # beyond 32 bits, on devices that have more
        made.append(
            ((h.finite,), {"axis": 1, "dtype": np.dtype("uint64" if h.kind == "u" else "int64")})
        )
    return [*made, *_halves(h), ((h.empty,), {"axis": 1}), ((h.empty,), {})]


def _means(h: Hard) -> Calls:
    made = [((h.lanes if h.floats else h.finite[:4],), {"axis": 1}), *_keywords(h)]
    if h.dtype == np.float16:
        made += [
            ((h(np.full(3, 4e4)),), {}),
            ((h(np.full((2, 5000), 1)),), {"axis": 1}),
            ((h(np.full((2, 3), 6e4)),), {"axis": -1, "keepdims": True}),
        ]
    return made


def _spreads(h: Hard) -> Calls:
    hard = h(np.where(np.isinf(h.lanes), 1, h.lanes)) if h.floats else h.finite[:4]
    made = [((hard,), {"axis": 1})]
    for correction in (0, 1, 1.5, 2):
        made += [((h.block,), {"axis": axis, "correction": correction}) for axis in (1, (0, -1))]
    made += [((h.block,), {"correction": 2.0, "keepdims": True}), *_keywords(h)]
    if h.kind in "fc":  # a mean far from zero: no difference of squares
        shift = 256 if h.dtype == np.float16 else 4096
        made.append(((h(np.arange(8) + shift),), {}))
    if h.dtype == np.float16:
        made.append(((h(np.tile([0, 2], 4096)),), {}))
    return made


def _products(h: Hard) -> Calls:
    hard = h.lanes[:8] if h.kind == "f" else h.finite[:4]
    return [((hard,), {"axis": 1}), *_keywords(h), ((h.empty,), {"axis": 1})]


def _truths(h: Hard) -> Calls:
    return [
        ((h.lanes,), {"axis": 1}),
        ((h.lanes,), {"axis": 0}),
        ((h.holes,), {"axis": (0, 2)}),
        ((h.empty,), {"axis": 1}),
        ((h.empty,), {}),
        *_keywords(h),
    ]


def _running(h: Hard) -> Calls:
    hard = h.lanes if h.kind == "f" else h.finite[:4]
    return [
        ((hard,), {"axis": 1}),
        ((h.block,), {"axis": 0}),
        ((h.block,), {"axis": -2}),
        ((h.block,), {"axis": -1, "include_initial": True}),
        ((h.block,), {"axis": 0, "include_initial": True}),
    ]


def _running_extremes(h: Hard) -> Calls:
    return [
        ((h.lanes,), {"axis": 1}),
        ((h.lanes,), {"axis": 0}),
        ((h.holes,), {"axis": 2}),
        ((h.block,), {"axis": -2}),
    ]


def _logs(h: Hard) -> Calls:
    top = float(h.largest) / 4
    x = np.array(
        [
            [top, top, 0],
            [-top, -top, -top],
            [1000, 1000, 999],
            [-1000, -1001, -1000],
            [np.inf, 1, 2],
            [-np.inf, -np.inf, -np.inf],
            [-np.inf, 1, 2],
            [np.nan, 1, 2],
        ]
    )
    x = h(x)
    return [
        ((x,), {"axis": 1}),
        ((x[2:4],), {"axis": 0}),
        ((x[:1],), {}),
        ((h.block,), {"axis": (0, 2)}),
        ((h.block,), {"axis": (-1, 1), "keepdims": True}),
    ]


def _running_logs(h: Hard) -> Calls:
    x = h([[1000, 1000, 999], [-1000, -1001, -1000], [-np.inf, 1, 2], [1, np.nan, 2]])
    return [((x,), {"axis": 1}), ((h.block,), {"axis": 0}), ((h.block,), {"axis": -2})]


def _soft(h: Hard) -> Calls:
    x = h([[1000, 1000, 999], [-1000, -1001, -1000], [-np.inf, 1, 2], [1, np.nan, 2]])
    return [((x,), {"axis": 1}), ((h.block,), {"axis": 0}), ((h.block,), {"axis": -2})]


def _differences(h: Hard) -> Calls:
    x, last = h.block, h.block[..., :1] + h(1)
    made = [((x,), {"n": n, "axis": axis}) for n, axis in ((0, 0), (1, 0), (2, -1), (3, 2), (2, 1))]
    made += [
        ((x,), {"n": n, **ends})
        for n in (1, 2)
        for ends in ({"append": last}, {"prepend": last}, {"append": last, "prepend": last * h(2)})
    ]
    made += [
        ((x,), {"n": 2, "axis": 0, "append": x[:1] * h(3)}),
        ((x,), {"n": 2, "axis": 1, "prepend": x[:, :2] * h(3)}),
    ]
    return [*made, ((h.ends if h.kind in "iu" else h.lanes,), {})]


def _omitting(h: Hard) -> Calls:
    made = [
        ((h.lanes,), {"axis": 1}),
        ((h.holes,), {"axis": (0, 2)}),
        ((h.holes,), {}),
        ((h.holes,), {"axis": -2, "keepdims": True}),
        ((h.holes,), {"axis": (-1, 0), "keepdims": True}),
    ]
    return made if h.floats else made[1:]


def _omitted_sums(h: Hard) -> Calls:
    made = _omitting(h)
    if h.floats:
        made.append(((h([[np.nan, np.nan], [1, np.nan]]),), {"axis": 1}))
    return made


def _omitted_spreads(h: Hard) -> Calls:
    return [
        ((h.holes,), {"axis": axis, "correction": c})
        for c in (0, 1, 1.5)
        for axis in (None, 1, (0, 2))
    ]


def _omitted_running(h: Hard) -> Calls:
    return [((h.holes,), {"axis": axis}) for axis in (0, 1, -1)]


def _replaced(h: Hard) -> Calls:
    if not h.floats:
        return [((h.block,), {})]
    return [
        ((h.line,), {}),
        ((h.line,), {"nan": 2.0}),
        ((h.line,), {"posinf": 7.0}),
        ((h.line,), {"nan": 1.0, "posinf": 2.0, "neginf": -3.0}),
        ((h.lanes,), {"neginf": -1.0}),
    ]


def _middles(h: Hard) -> Calls:
    even = h.block if h.kind != "f" else h.holes
    return [
        ((h.block,), {"axis": axis, "keepdims": keep})
        for axis in (0, 1, -1, (0, 2), None)
        for keep in (False, True)
    ] + [((even,), {"axis": 0}), ((even,), {"axis": 2})]


def _quantiles(scale: float, hard: bool) -> Make:
    def make(h: Hard) -> Calls:
        q = np.array([0, 0.25, 0.3, 0.5, 1.0]) * scale
        x = h.holes if hard else h.block
        methods = ("linear", "lower", "higher", "midpoint", "nearest")
        made = [((h.block, float(q[2])), {"axis": -1, "method": m}) for m in methods]
        made += [((x, list(map(float, q))), {"axis": axis}) for axis in (0, 1, (0, 2))]
        return [*made, ((x, float(q[1])), {"axis": (1, -1), "keepdims": True})]

    return make


TABLE: dict[str, Make] = {
    **dict.fromkeys(("max", "min"), _extremes),
    **dict.fromkeys(("sum",), _sums), "mean": _means, "prod": _products,
    **dict.fromkeys(("var", "std"), _spreads), **dict.fromkeys(("all", "any"), _truths),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), _running),
    **dict.fromkeys(("cummax", "cummin"), _running_extremes),
    "logsumexp": _logs, "cumulative_logsumexp": _running_logs,
    **dict.fromkeys(("softmax", "log_softmax"), _soft), "diff": _differences,
    **dict.fromkeys(("nanmax", "nanmin", "nanmean"), _omitting),
    **dict.fromkeys(("nansum", "nanprod"), _omitted_sums),
    **dict.fromkeys(("nanvar", "nanstd"), _omitted_spreads),
    **dict.fromkeys(("nancumsum", "nancumprod"), _omitted_running),
    "nan_to_num": _replaced, **dict.fromkeys(("median", "nanmedian"), _middles),
    "quantile": _quantiles(1, False), "nanquantile": _quantiles(1, True),
    "percentile": _quantiles(100, False), "nanpercentile": _quantiles(100, True),
    "ptp": lambda h: [((h.block,), {"axis": a}) for a in (0, -1, (0, 2), None)],
}  # fmt: skip
