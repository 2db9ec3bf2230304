"""Reading and writing through keys: integers, slices, ellipses, new axes, masks, index arrays.

References are NumPy's own indexing, directly; of gradients NumPy's `add.at`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import errors
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.declarations import dtypes_of
from polygrad_conformance.derivatives import weights
from polygrad_conformance.layouts import LAYOUTS, values_in
from polygrad_conformance.oracle import seeded
from polygrad_conformance.target import Host, Target, map_arrays
from polygrad_conformance.tolerance import exact

SHAPE = (3, 4, 5)
_MASK = np.arange(12).reshape(3, 4) % 3 == 0
KEYS: dict[str, Any] = {
    "integer": 1,
    "negative": -1,
    "integers": (1, 2, 3),
    "slice": slice(1, None),
    "step": (slice(None), slice(0, 4, 2)),
    "reversed": (slice(None, None, -1), Ellipsis, slice(None, None, -2)),
    "beyond": slice(1, 99),
    "none-selected": slice(2, 1),
    "ellipsis": (..., 2),
    "new-axis": (None, slice(None), None, 1),
    "mask": _MASK,
    "mask-first-axis": np.array([True, False, True]),
    "no-true": np.zeros(SHAPE, bool),
    "no-true-rows": np.zeros(3, bool),
    "no-true-pairs": np.zeros((3, 4), bool),
    "all-true-rows": np.ones(3, bool),
    "mask-and-slice": (np.array([True, False, True]), slice(1, 3)),
    "no-true-and-slice": (np.zeros(3, bool), slice(None), slice(0, 2)),
    "indices": np.array([2, 0, 2]),
    "negative-indices": np.array([-1, -3]),
    "index-matrix": np.array([[0, 1], [2, 0]]),
    "pairs": (np.array([0, 2, 1]), np.array([3, 0, 3])),
    "outer": (np.array([[0], [2]]), np.array([1, 3])),
    "split": (np.array([0, 2]), slice(None), np.array([4, 1])),
    "slice-and-indices": (slice(None, 2), np.array([3, 3, 0])),
    "integer-and-indices": (1, np.array([0, 2]), slice(1, 4)),
    "no-indices": np.array([], dtype=np.int64),
}
# Writes of one value to more places than it has elements, to none, and twice the same.
_SPREAD: dict[str, tuple[Any, tuple[int, ...]]] = {
    "row": ((slice(None), 1), (5,)),
    "column": ((slice(1, 3), slice(None), slice(0, 2)), (4, 1)),
    "first-axis": (slice(None), (3, 1, 1)),
    "longer": (1, (1, 1, 5)),
    "mask": (_MASK, (5,)),
    "mask-one": (_MASK, (1,)),
    "no-true": (np.zeros(SHAPE, bool), (1,)),
    "no-true-rows": (np.zeros((3, 4), bool), (5,)),
    "indices": (np.array([2, 0]), (4, 1)),
    "equal-places": (np.array([1, 1, -2]), (1, 4, 5)),
    "split": ((np.array([0, 2]), slice(None), np.array([4, 1])), (4,)),
    "outer": ((np.array([[0], [-1]]), np.array([1, -1])), (2, 1, 5)),
    "0-d": ((..., slice(None, None, 2)), ()),
    # As many rows as columns: which axis the values go along shows only in the result.
    "square-row": ((slice(None), slice(0, 3), 0), (3,)),
    "square-column": ((slice(None), slice(0, 3), 0), (3, 1)),
    "square-of-stacks": ((slice(None), slice(1, 4), slice(1, 4)), (3, 3)),
    "square-indices": ((np.array([2, 0, 1]), slice(0, 3), 1), (3,)),
    "square-mask": ((_MASK, slice(0, 4)), (4,)),
}
# Writes of a part of an array into another part of it: (where to, where from).
_OVERLAPS: dict[str, tuple[Any, Any]] = {
    "forward": (slice(1, None), slice(None, -1)),
    "backward": (slice(None, -1), slice(1, None)),
    "turned": (slice(None), slice(None, None, -1)),
    "last-axis": ((..., slice(1, None)), (..., slice(None, -1))),
    "middle-axis": ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
    "both": ((slice(1, None), slice(1, None)), (slice(None, -1), slice(None, -1))),
    "stepped": ((..., slice(0, 4, 2)), (..., slice(1, 5, 2))),
    "exchanged": (np.array([0, 2]), np.array([2, 0])),
    "one-for-all": (slice(None), slice(1, 2)),
}
_SPREAD_SMOKE = ("row", "mask-one", "equal-places", "no-true")
# Keys that name a place twice: what a write leaves there depends on its order.
_TWICE = ("indices", "index-matrix", "slice-and-indices")
_SMOKE = (
    "integer",
    "step",
    "reversed",
    "ellipsis",
    "new-axis",
    "mask",
    "indices",
    "pairs",
    "split",
)


def _values(dtype: str) -> Host:
    random = seeded("indexing", dtype)
    return (random.permutation(60).reshape(SHAPE) % 100).astype(dtype)


def cases(level: str) -> Iterator[Case]:
    """Reads, writes, their gradients, layouts and errors."""
    for dtype in dtypes_of("bifc", level):
        for name, key in KEYS.items():
            if level == "smoke" and name not in _SMOKE:
                continue
            yield _case("getitem", dtype, "value", name, _read(dtype, key))
            if name not in _TWICE:
                yield _case("setitem", dtype, "value", name, _write(dtype, key))
                yield _case("setitem", dtype, "value", f"{name}-number", _write_number(dtype, key))
            if np.dtype(dtype).kind in "fc":
                rests = (f"getitem/{dtype}/value/{name}",)
                yield _case("getitem", dtype, "grad", name, _read_gradient(dtype, key), rests, 5)
                if name not in _TWICE:
                    yield _case("setitem", dtype, "grad", name, _write_gradient(dtype, key), (), 5)
        for name, (key, shape) in _SPREAD.items():
            if level != "smoke" or name in _SPREAD_SMOKE:
                yield _case("setitem", dtype, "value", f"spread-{name}", _spread(dtype, key, shape))
        for name, (to, source) in _OVERLAPS.items():
            if level != "smoke" or name == "forward":
                yield _case("setitem", dtype, "value", f"overlap-{name}",
                            _overlap(dtype, to, source))  # fmt: skip
                if np.dtype(dtype).kind == "f":
                    yield _case("setitem", dtype, "grad", f"overlap-{name}",
                                _overlap_gradient(dtype, to, source), (), 5)  # fmt: skip
        yield from _in_layouts(dtype, level)
    for name, (key, error) in _WRONG.items():
        yield _case("getitem", "float32", "error", name, _refused(key, error))
        yield _case("setitem", "float32", "error", name, _refused(key, error, write=True))


def _in_layouts(dtype: str, level: str) -> Iterator[Case]:
    """Reads and writes in each layout; what shares its memory cannot be written."""
    for layout in LAYOUTS if level != "smoke" else ("transposed", "reversed"):
        for op, make in (("getitem", _read), ("setitem", _write)):
            if (op, layout) != ("setitem", "broadcast"):
                yield Case(
                    op, dtype, "layout", "step", make(dtype, KEYS["step"], layout), layout, 3, "",
                    "indexing",
                )  # fmt: skip


def _case(
    op: str, dtype: str, check: str, name: str, action: Any, rests: Any = (), step: int = 3
) -> Case:
    return Case(op, dtype, check, name, action, "", step, "", "indexing", tuple(rests))


def _up(target: Target, key: Any) -> Any:
    return map_arrays(key, target.upload)


def _same(got: Host, want: Host, what: str) -> None:
    if got.dtype != want.dtype:
        raise Failed(f"{what}: a result of {got.dtype}, expected {want.dtype}")
    if got.shape != want.shape:
        raise Failed(f"{what}: shape {got.shape}, expected {want.shape}")
    place = exact(got, want)
    if place is not None:
        a, b = got.reshape(-1)[place], want.reshape(-1)[place]
        raise Failed(f"{what}: element {place} is {a}, expected {b}")


def _read(dtype: str, key: Any, layout: str = "") -> Any:
    def action(target: Target) -> None:
        x = values_in(_values(dtype), layout) if layout else _values(dtype)
        t = target.upload(x, layout=layout)
        got = target.download(t[_up(target, key)])
        _same(got, target.fits(x)[key], "read")
        _same(target.download(t), target.fits(x), "the array that was read from")

    return action


def _piece(dtype: str, key: Any) -> Host:
    """New values for a key."""
    return (_values(dtype)[key].astype(float) * 0 + 1).astype(dtype)


def _write(dtype: str, key: Any, layout: str = "") -> Any:
    def action(target: Target) -> None:
        x = target.fits(_values(dtype))
        t, want = target.upload(x, layout=layout), x.copy()
        piece = target.fits(_piece(dtype, key))
        piece = (np.arange(piece.size).reshape(piece.shape) % 50).astype(piece.dtype)
        value = target.upload(piece)
        t[_up(target, key)] = value
        want[key] = piece
        _same(target.download(t), want, "written")
        _same(target.download(value), piece, "the array that was written")

    return action


def _spread(dtype: str, key: Any, shape: tuple[int, ...]) -> Any:
    def action(target: Target) -> None:
        x = target.fits(_values(dtype))
        t, want = target.upload(x), x.copy()
        piece = (np.arange(np.prod(shape, dtype=int)).reshape(shape) + 50).astype(x.dtype)
        t[_up(target, key)] = target.upload(piece)
        want[key] = piece
        _same(target.download(t), want, "written")

    return action


def _overlap(dtype: str, to: Any, source: Any) -> Any:
    """What is read is what was there before."""

    def action(target: Target) -> None:
        x = target.fits(_values(dtype))
        t, want = target.upload(x), x.copy()
        t[_up(target, to)] = t[_up(target, source)]
        want[to] = x[source]
        _same(target.download(t), want, "written")

    return action


def _overlap_gradient(dtype: str, to: Any, source: Any) -> Any:
    def action(target: Target) -> None:
        x = target.upload(_values(dtype), requires_grad=True)
        y = x * 1
        y[_up(target, to)] = y[_up(target, source)]
        w = np.round(4 * weights(SHAPE, dtype)) / 4
        (got,) = pg.autograd.grad([y], [x], [target.upload(w)])
        places = np.arange(w.size).reshape(SHAPE)
        origin = places.copy()
        origin[to] = places[source]
        want = np.bincount(origin.reshape(-1), w.reshape(-1).astype(float), w.size)
        _same(target.download(got), want.reshape(SHAPE).astype(dtype), "the gradient")

    return action


def _write_number(dtype: str, key: Any) -> Any:
    def action(target: Target) -> None:
        x = target.fits(_values(dtype))
        t, want = target.upload(x), x.copy()
        t[_up(target, key)] = 1
        want[key] = 1
        _same(target.download(t), want, "written")

    return action


def _read_gradient(dtype: str, key: Any) -> Any:
    """Where a place is read twice, cotangents add up."""

    def action(target: Target) -> None:
        x = target.upload(_values(dtype), requires_grad=True)
        made = x[_up(target, key)]
        w = np.round(4 * weights(made.shape, dtype)) / 4  # sums of these are exact
        (got,) = pg.autograd.grad([made], [x], [target.upload(w)])
        want = np.zeros(SHAPE, dtype)
        np.add.at(want, key, w)
        _same(target.download(got), want, "the gradient")

    return action


def _write_gradient(dtype: str, key: Any) -> Any:
    """The overwritten places get none, the new values theirs."""

    def action(target: Target) -> None:
        x = target.upload(_values(dtype), requires_grad=True)
        value = target.upload(_piece(dtype, key), requires_grad=True)
        y = x * 1
        y[_up(target, key)] = value
        w = np.round(4 * weights(SHAPE, dtype)) / 4
        gx, gv = pg.autograd.grad([y], [x, value], [target.upload(w)], materialize_grads=True)
        want = w.copy()
        want[key] = 0
        _same(target.download(gx), want, "the gradient of the array")
        _same(target.download(gv), w[key], "the gradient of the values")

    return action


_WRONG: dict[str, tuple[Any, type[Exception]]] = {
    "integer": (3, errors.OutOfRangeError),
    "negative": (-4, errors.OutOfRangeError),
    "indices": (np.array([0, 3]), errors.OutOfRangeError),
    "negative-indices": (np.array([0, -4]), errors.OutOfRangeError),
    "too-many": ((0, 0, 0, 0), errors.OutOfRangeError),
    "mask-shape": (np.ones((2, 4), bool), errors.OutOfRangeError),
}


def _refused(key: Any, error: type[Exception], *, write: bool = False) -> Any:
    def action(target: Target) -> None:
        t = target.upload(_values("float32"))
        try:
            if write:
                t[_up(target, key)] = 1.0
            else:
                t[_up(target, key)]
        except error:
            return
        except errors.PolygradError as other:
            raise Failed(f"{type(other).__name__} was raised, expected {error.__name__}") from other
        raise Failed("a key out of range was accepted")

    return action
