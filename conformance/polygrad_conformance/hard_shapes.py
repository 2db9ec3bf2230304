"""Hard samples of manipulation, creation, indexing, scattering and casts."""

from __future__ import annotations

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]


def _rolled(h: Hard) -> Calls:
    x = h.block
    return [
        ((x, shift), {"axis": axis})
        for shift, axis in (
            ((1, 1), (0, 0)),
            ((1, 2), (1, 1)),
            ((1, -1), (2, 2)),
            ((2, 3), (-1, 2)),
            (-1, 2),
            (7, 1),
            ((1, 2), (0, 2)),
            ((1, -2, 3), (0, 1, -1)),
            (5, None),
            (-5, None),
            (0, 0),
        )
    ]


def _joined(h: Hard) -> Calls:
    """Of several dtypes: the first is not the widest."""
    x = h.block
    wide = {"b": "int8", "i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}[h.kind]
    small = np.zeros(x.shape, bool if h.kind == "b" else h.dtype)
    more = x.astype(wide) * (3 if h.kind != "b" else 2)
    if h.kind in "iu":
        more = more + np.iinfo(wide).max // 4
    made = [[x, more], [more, x], [small, x, more]]
    if h.floats:
        other = "complex64" if h.kind == "f" else "float32"
        made.append([x, (x.real + 0.5).astype(other)])
    return made


def _concatenated(h: Hard) -> Calls:
    made = [((arrays,), {"axis": axis}) for arrays in _joined(h) for axis in (0, -1)]
    x = h.block
    return [
        *made,
        (([x, x[:, :1], x[:, :2]],), {"axis": 1}),
        (([x, x[..., :0]],), {"axis": -1}),
        (([x, x[:1], x[0, 0]],), {"axis": None}),
    ]


def _stacked(h: Hard) -> Calls:
    return [((arrays,), {"axis": axis}) for arrays in _joined(h) for axis in (0, 1, -1, -2)]


def _flipped(h: Hard) -> Calls:
    return [((h.block,), {"axis": a}) for a in (0, 1, -1, (0, 2), (-1, 1), None)]


def _permuted(h: Hard) -> Calls:
    return [((h.block, axes), {}) for axes in ((2, 0, 1), (1, 2, 0), (0, 2, 1), (-1, 0, 1))]


def _moved(h: Hard) -> Calls:
    return [((h.block, a, b), {}) for a, b in ((0, 2), (-1, 0), ((0, 1), (2, 0)), ((2, 0), (0, 1)))]


def _repeated(h: Hard) -> Calls:
    x = h.block
    return [
        ((x, 2), {}),
        ((x, 2), {"axis": 1}),
        ((x, 0), {"axis": 0}),
        ((x, 3), {"axis": -1}),
        ((x, np.array([2, 0, 3])), {"axis": 1}),
        ((x, np.array([0, 1, 2, 1])), {"axis": -1}),
    ]


def _tiled(h: Hard) -> Calls:
    return [((h.block, n), {}) for n in ((2,), (2, 1), (1, 2, 3), (2, 1, 1, 2), (0, 1), ())]


def _turned(h: Hard) -> Calls:
    return [
        ((h.block,), {"k": k, "axes": axes})
        for k in (1, 2, 3, -1, 5, 4)
        for axes in ((0, 1), (2, 1), (-1, 0))
    ]


def _unstacked(h: Hard) -> Calls:
    return [((h.block,), {"axis": axis}) for axis in (0, 1, -1, -2)]


def _reshaped(h: Hard) -> Calls:
    return [((h.block, shape), {}) for shape in ((-1,), (4, 6), (3, -1), (2, 1, 12), (4, 3, 2))]


def _spread(h: Hard) -> Calls:
    return [
        ((h.block[:, :1], (5, 2, 3, 4)), {}),
        ((h.block[0, :, :1], (2, 3, 4)), {}),
        ((h(2), (2, 0)), {}),
    ]


def _triangles(h: Hard) -> Calls:
    return [((x,), {"k": k}) for x in (h.holes, h.lanes) for k in (-3, -1, 0, 1, 2, 9)]


def _grids(h: Hard) -> Calls:
    a, b, c = h([1, 2]), h([0, 1, 2]), h([1, 0, 1, 1])
    return [
        (arrays, {"indexing": i})
        for i in ("xy", "ij")
        for arrays in ((a,), (a, b), (a, b, c), (c, a, b, a), (h(1), b))
    ]


def _spaced(h: Hard) -> Calls:
    made = [
        ((0.1, 0.7, 2000), {}),
        ((0.1, 0.7, 2001), {"endpoint": False}),
        ((0.0, 1.0, 1), {}),
        ((3.0, -2.0, 7), {}),
        ((3.0, -2.0, 7), {"endpoint": False}),
        ((1.0, 2.0, 0), {}),
        ((5.0, 5.0, 3), {}),
        ((0.0, 1.0, 1), {"endpoint": False}),
        ((-1.0, 1.0, 9), {}),
    ]
    return [(args, {**k, "dtype": h.dtype}) for args, k in made] + [((0.1, 0.7, 2000), {})]


def _ranges(h: Hard) -> Calls:
    made = [(5, 0, -2), (0, 5, 2), (3, 3, 1), (5, 0, 1), (-3, 4, 3)]
    fractions = [(0.0, 1.0, 0.25), (1.0, 0.0, -0.25), (0.5, 3.0, 1.0)]
    return [(a, {}) for a in made] + [(a, {"dtype": h.dtype}) for a in fractions + made]


def _eyes(h: Hard) -> Calls:
    return [
        ((n, m), {"k": k, "dtype": h.dtype})
        for n, m in ((3, 5), (4, 2), (3, None))
        for k in (-2, -1, 0, 1, 3, 9)
    ]


def _taken(h: Hard) -> Calls:
    x, places = h.holes, np.array([1, 0, 1, -1])
    return [((x, places), {"axis": axis}) for axis in (0, 1, -1, -2)] + [
        ((x, np.array([], np.int64)), {"axis": 1})
    ]


def _taken_along(h: Hard) -> Calls:
    x = h.holes
    return [
        ((x, np.arange(x.size).reshape(x.shape) * 5 % x.shape[axis]), {"axis": axis})
        for axis in (0, 1, 2, -1, -2)
    ]


def _cast(h: Hard) -> Calls:
    """Rounding toward zero; numbers that the other dtype has."""
    made = []
    if h.floats:
        x = h([-2.7, -1.5, -0.9, -0.0, 0.0, 0.5, 0.99, 1.5, 2.7, 100.9])
        made += [((x, np.dtype(t)), {}) for t in ("int8", "int32", "int64", "bool")]
        made += [((np.abs(x), np.dtype(t)), {}) for t in ("uint8", "uint32")]
        made += [((h.line, np.dtype(t)), {}) for t in ("bool", "float16", "float32", "float64")]
        return made if h.kind == "f" else [((h.line, np.dtype(t)), {}) for t in ("complex128",)]
    whole = ("bool", "int8", "uint8", "int16", "int64", "uint64", "float16", "float32", "float64")
    return [((h.ends, np.dtype(t)), {}) for t in whole]


def _diagonals(h: Hard) -> Calls:
    return [((h.block,), {"offset": k}) for k in (-1, 0, 1, 2)]


TABLE: dict[str, Make] = {
    "roll": _rolled, "concat": _concatenated, "stack": _stacked, "flip": _flipped,
    "permute_dims": _permuted, "moveaxis": _moved, "repeat": _repeated, "tile": _tiled,
    "rot90": _turned, "unstack": _unstacked, "reshape": _reshaped, "broadcast_to": _spread,
    **dict.fromkeys(("tril", "triu"), _triangles), "meshgrid": _grids, "linspace": _spaced,
    "arange": _ranges, "eye": _eyes, "take": _taken, "take_along_axis": _taken_along,
    "astype": _cast, "trace": _diagonals, "linalg.trace": _diagonals,
    "linalg.diagonal": _diagonals,
}  # fmt: skip
