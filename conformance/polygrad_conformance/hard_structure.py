"""Hard samples of creation, diagonals, borders, splits: negative and several axes, no elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]


def _expanded(h: Hard) -> Calls:
    axes = (0, 1, -1, -3, (0, 2), (-1, 0), (-2, -1), (-3, -1), (-1, -3), (1, -2), (0, 1, 2), ())
    return [((h.block[0], axis), {}) for axis in axes]


def _squeezed(h: Hard) -> Calls:
    x = h.block[:1, :, None, :1]  # (1, 3, 1, 1)
    axes = (0, 2, -1, -2, (0, 2), (-1, 0), (2, -4), (3, 2, 0), ())
    return [((x, axis), {}) for axis in axes] + [((x[:, :0], 0), {})]


def _values(h: Hard) -> tuple[Any, ...]:
    """One of each kind of number that the dtype holds."""
    more: dict[str, tuple[Any, ...]] = {
        "b": (True, False),
        "i": (-3, int(h.largest)),
        "u": (3, int(h.largest)),
        "f": (2.5, -0.75, 3, True, float("inf"), float("nan"), -0.0),
        "c": (2.5, 1.5 - 2.5j, 3, complex(0.0, float("inf"))),
    }
    return more[h.kind]


def _filled(h: Hard) -> Calls:
    """By numbers of each kind; without a dtype that of the number."""
    shapes = ((2, 3), (), (0, 2), 3)
    made: Calls = [((s, v), {"dtype": h.dtype}) for s in shapes for v in _values(h)]
    return made + [((2, v), {}) for v in (2.5, 3, True, 1j)]


def _filled_like(h: Hard) -> Calls:
    made: Calls = [((x, v), {}) for x in (h.block, h(1), h.empty) for v in _values(h)]
    others = (("float32", 2.5), ("int32", 3), ("bool", True), ("complex64", 1.5j))
    return made + [((h.block, v), {"dtype": np.dtype(t)}) for t, v in others]


def _like(h: Hard) -> Calls:
    made: Calls = [((x,), {}) for x in (h.block, h(1), h.empty)]
    return made + [
        ((h.block,), {"dtype": np.dtype(t)}) for t in ("float32", "int32", "bool", "complex64")
    ]


def _made(h: Hard) -> Calls:
    return [((shape,), {"dtype": h.dtype}) for shape in ((2, 3), (), (0, 2), 3)]


def _powers(h: Hard) -> Calls:
    return [
        (args, {**k, "dtype": h.dtype})
        for args, k in (
            ((0.0, 2.0, 3), {}),
            ((0.0, 2.0, 4), {"endpoint": False}),
            ((-1.0, 1.0, 5), {"base": 2.0}),
            ((3.0, -1.0, 5), {}),
            ((1.0, 2.0, 1), {}),
            ((1.0, 2.0, 1), {"endpoint": False}),
            ((1.0, 2.0, 0), {}),
        )
    ]


def _ratios(h: Hard) -> Calls:
    return [
        (args, {**k, "dtype": h.dtype})
        for args, k in (
            ((1.0, 16.0, 5), {}),
            ((1.0, 16.0, 4), {"endpoint": False}),
            ((16.0, 0.25, 4), {}),
            ((-1.0, -16.0, 3), {}),
            ((1.0, 2.0, 1), {}),
            ((1.0, 2.0, 0), {}),
        )
    ]


def _together(h: Hard) -> Calls:
    x = h.block
    return [
        ((h(2), x), {}),
        ((x, h(2)), {}),
        ((x[0, :, :1], x[:1], h(1)), {}),
        ((x[:, :0], x[:, :1]), {}),
        ((h(1), h(2)), {}),
        ((x,), {}),
    ]


def _in_blocks(h: Hard) -> Calls:
    x = h.block
    return [((x[0], x[1, :1]), {}), ((x[0, 0], x[0], h(2)), {}), ((x[0], x[0, :, :0]), {})]


def _on_diagonals(h: Hard) -> Calls:
    return [((x, k), {}) for x in (h.block[0], h.block[0, 0]) for k in (-3, -1, 0, 1, 2)]


def _embedded_diagonals(h: Hard) -> Calls:
    return [
        ((h.block[0], k), {"axis1": a, "axis2": b})
        for k in (-1, 0, 2)
        for a, b in ((-2, -1), (0, 2), (-1, 0), (1, 0))
    ]


def _taken_diagonals(h: Hard) -> Calls:
    return [
        ((h.block, k), {"axis1": a, "axis2": b})
        for k in (-1, 0, 1, 3)
        for a, b in ((0, 1), (-1, -2), (2, 0), (1, -1))
    ]


_MODES = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
          "symmetric", "wrap")  # fmt: skip


def _bordered(h: Hard) -> Calls:
    """Widths up to more than the length, by axis and by side."""
    x = h.block[0]  # (3, 4)
    widths = (2, (1, 2), ((1, 0), (0, 2)), ((4, 5), (0, 3)))
    modes = _MODES if h.kind == "f" else ("constant", "edge", "reflect", "symmetric", "wrap")
    made: Calls = [((x, w, m), {}) for m in modes for w in widths]
    made += [((x, w, m), {"reflect_type": "odd"}) for m in ("reflect", "symmetric") for w in widths
             if h.kind in "if"]  # fmt: skip
    if h.kind == "f":
        made += [((x, (1, 2), m), {"stat_length": n}) for m in ("mean", "maximum") for n in (1, 2)]
        made.append(((x, (2, 1), "linear_ramp"), {"end_values": 5}))
        made.append(((x, ((1, 2), (2, 1)), "constant"), {"constant_values": ((1, 2), (3, 4))}))
    return made


def _windows(h: Hard) -> Calls:
    x = h.block
    return [
        ((x, 2), {"axis": 1}),
        ((x, 3), {"axis": -1}),
        ((x, (2, 3)), {"axis": (2, 1)}),
        ((x, (2, 1)), {"axis": (0, -1)}),
        ((x, (1, 3, 4)), {}),
    ]


def _parts(h: Hard) -> Calls:
    return [
        ((h.block, n), {"axis": axis})
        for n, axis in ((2, 0), (3, 1), (2, -1), ([1], 1), ([1, 1, 3], 2), ([2, 9], -2), ([-1], 2))
    ]


def _triangular(h: Hard) -> Calls:
    del h
    return [((n, k), {"m": m}) for n, m in ((3, None), (2, 4), (4, 2)) for k in (-2, -1, 0, 1, 3)]


def _unraveled(h: Hard) -> Calls:
    places = np.array([[0, 23], [7, 12]]).astype(h.dtype)
    return [((places, (2, 3, 4)), {}), ((places, (4, 6)), {}), ((places[0], 24), {}),
            ((places[:0], (2, 12)), {})]  # fmt: skip


def _between(h: Hard) -> Calls:
    x, y = h([1, -2, 0, 3]), h([3, 2, 0, -1])
    return [((x, y, w), {}) for w in (0.0, 0.25, 1.0, 2.0, -1.0)] + [
        ((x, y, h([0, 0.5, 1, 2])), {}),
        ((x, h(2), h([0.5])), {}),
    ]


TABLE: dict[str, Make] = {
    "expand_dims": _expanded, "squeeze": _squeezed, "full": _filled, "full_like": _filled_like,
    **dict.fromkeys(("ones_like", "zeros_like", "empty_like"), _like),
    **dict.fromkeys(("ones", "zeros", "empty"), _made), "logspace": _powers, "geomspace": _ratios,
    "broadcast_arrays": _together, "block_diag": _in_blocks, "diag": _on_diagonals,
    "diag_embed": _embedded_diagonals, "diagonal": _taken_diagonals, "pad": _bordered,
    "sliding_window_view": _windows, "split": _parts, "unravel_index": _unraveled, "lerp": _between,
    **dict.fromkeys(("tril_indices", "triu_indices"), _triangular),
    **dict.fromkeys(("matrix_transpose", "linalg.matrix_transpose"),
                    lambda h: [((h.block,), {}), ((h.block[:, :0],), {})]),
}  # fmt: skip
