"""Hard samples of searching, sorting, selection, sets and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]


def _along(h: Hard, **keywords: Any) -> Calls:
    """Rows, columns, all, and the axes of a block."""
    return [
        ((h.lanes,), {"axis": 1, **keywords}),
        ((h.lanes,), {"axis": 0, **keywords}),
        ((h.block,), {"axis": 1, **keywords}),
        ((h.holes,), {"axis": -3, **keywords}),
        ((h.holes,), {"axis": -1, **keywords}),
    ]


def _places(h: Hard) -> Calls:
    return [
        *_along(h),
        ((h.lanes,), {}),
        ((h.finite,), {}),
        ((h.lanes,), {"axis": -1, "keepdims": True}),
        ((h.block,), {"keepdims": True}),
    ]


def _without_nan(h: Hard) -> Calls:
    return [
        ((h.lanes,), {"axis": 1}),
        ((h.holes,), {"axis": 2}),
        ((h.lanes,), {}),
        ((h.holes,), {"axis": -1, "keepdims": True}),
    ]


def _orders(h: Hard) -> Calls:
    many = h(np.arange(200) * 7 % 5)  # long enough for what sorts short runs by insertion
    return [
        *_along(h),
        *_along(h, descending=True),
        ((h.lanes,), {"axis": 1, "stable": True}),
        ((many,), {}),
        ((many,), {"descending": True}),
        ((h.ends,), {}),
        ((h.ends,), {"descending": True}),
        ((h.empty,), {}),
        ((h.empty,), {"axis": 0}),
    ]


def _searched(h: Hard) -> Calls:
    sorted_ = np.sort(h.ends)
    ties = h([1, 2, 2, 2, 4])
    values = h([2, 0, 1, 4, 5, 3])
    made = [
        ((a, v), {"side": side})
        for side in ("left", "right")
        for a, v in ((ties, values), (sorted_, h.line), (ties, values.reshape(2, 3)))
    ]
    mixed = h([4, 2, 1, 2, 2])
    made += [
        ((mixed, values), {"side": side, "sorter": np.argsort(mixed, kind="stable")})
        for side in ("left", "right")
    ]
    if h.floats:
        with_nan = h([1, 2, np.inf, np.nan, np.nan])
        made += [
            ((with_nan, h([np.nan, np.inf, 1.5, -np.inf])), {"side": side})
            for side in ("left", "right")
        ]
    return [*made, ((h([]), values), {}), ((ties, h([])), {})]


def _counted(h: Hard) -> Calls:
    return [
        *_along(h),
        ((h.lanes,), {}),
        ((h.holes,), {"axis": (0, 2)}),
        ((h.block,), {"axis": (-1, 1), "keepdims": True}),
        ((h.line,), {}),
    ]


def _chosen(h: Hard) -> Calls:
    mask = h.block > h(1)
    other = h([1]) if h.kind == "b" else h([3, 1, 0, 2])
    return [
        ((mask, h.holes, other), {}),
        ((mask[:, :1], h.holes, h.block), {}),
        ((np.zeros((3, 1), bool), h.block, h.holes), {}),
    ]


def _topped(h: Hard) -> Calls:
    made = [
        ((h.finite, k), {"largest": largest, "axis": axis})
        for k, largest, axis in ((3, True, -1), (3, False, 1), (2, True, 0), (2, False, -2))
    ]
    return [
        *made,
        ((h.block, 2), {"axis": 1}),
        ((h.ends, 4), {}),
        ((h.ends, 4), {"largest": False}),
    ]


def _kth(h: Hard) -> Calls:
    return [
        ((h.finite, 3), {}),
        ((h.finite, 2), {"axis": 0}),
        ((h.block, 2), {"axis": 1}),
        ((h.block, 3), {"axis": -1, "keepdims": True}),
        ((h.ends, len(h.ends)), {}),
    ]


def _sets(h: Hard) -> Calls:
    return [
        ((h.lanes,), {}),
        ((h.block,), {}),
        ((h.line,), {}),
        ((h.finite[:4],), {}),
        ((h.empty,), {}),
        ((h(1),), {}),
    ]


def _places_of_values(h: Hard) -> Calls:
    """Without NaN: which of several NaN an element belongs to is open."""
    return [((h.finite,), {}), ((h.block,), {}), ((h.empty,), {}), ((h(1),), {}), ((h.ends,), {})]


def _members(h: Hard) -> Calls:
    made = [
        (h.line, h.line[::2].copy()),
        (h.block, h([1, 1, 3])),
        (h.holes, h.line),
        (h.block, h([])),
        (h.lanes, h([[0], [2]])),
    ]
    return [(pair, {"invert": invert}) for pair in made for invert in (False, True)]


def _binned(h: Hard) -> Calls:
    rising, falling = h([0, 1, 1, 3]), h([3, 1, 1, 0])
    x = h([[-1, 0, 1], [2, 3, 4]])
    hard = h([np.inf, -np.inf, np.nan, 1, 0.5, 3])
    return [
        ((a, bins), {"right": right})
        for a in (x, hard)
        for bins in (rising, falling)
        for right in (False, True)
    ]


def _histograms(h: Hard) -> Calls:
    x = h([0, 1, 1, 2, 3, 4, 4, 5])
    return [
        ((x,), {"bins": 4, "range": (1, 4)}),
        ((x,), {"bins": h([0, 1, 2, 4, 5])}),
        ((x,), {"bins": 5}),
        ((x.reshape(2, 4),), {"bins": 3, "range": (0, 4)}),
        ((h([2, 2, 2]),), {"bins": 3}),
        ((h([]),), {"bins": 3}),
        ((h([-2, -1, -1, 0]),), {"bins": 2}),
    ]


def _tallied(h: Hard) -> Calls:
    del h
    x = np.array([3, 0, 3, 1, 3, 0])
    return [
        ((x,), {}),
        ((x,), {"minlength": 7}),
        ((x,), {"minlength": 2}),
        ((np.array([], int),), {"minlength": 3}),
    ]


TABLE: dict[str, Make] = {
    **dict.fromkeys(("argmax", "argmin"), _places),
    **dict.fromkeys(("nanargmax", "nanargmin"), _without_nan),
    **dict.fromkeys(("sort", "argsort"), _orders),
    "searchsorted": _searched, "count_nonzero": _counted, "where": _chosen,
    "nonzero": lambda h: [((h.lanes,), {}), ((h.holes,), {}), ((h.line,), {}), ((h.empty,), {})],
    "topk": _topped, "kthvalue": _kth,
    **dict.fromkeys(("unique_counts", "unique_values"), _sets),
    **dict.fromkeys(("unique_all", "unique_inverse"), _places_of_values), "isin": _members,
    "digitize": _binned, "bincount": _tallied,
    **dict.fromkeys(("histogram", "histogram_bin_edges"), _histograms),
}  # fmt: skip
