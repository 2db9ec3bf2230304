"""Independent faults of creation and manipulation."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    function,
    kernel,
)

__all__ = ["FAULTS"]
_ROWS = np.arange(6.0).reshape(2, 3)


def _cut_roll(right: Any, x: Any, shift: Any, axis: Any) -> Any:
    moved = tuple(max(min(s, x.shape[a]), -x.shape[a]) for s, a in zip(shift, axis, strict=True))
    return right(x, moved, axis)


def _roll_once(right: Any, x: Any, shift: Any, axis: Any = None) -> Any:
    if not isinstance(axis, tuple) or not isinstance(shift, tuple):
        return right(x, shift, axis)
    last = dict(zip(axis, shift, strict=True))
    return right(x, tuple(last.values()), tuple(last))


def _left_tile(right: Any, x: Any, repetitions: Any) -> Any:
    n = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    return right(x, (*n, *(1,) * (x.ndim - len(n))))


def _repeat_at_least_once(right: Any, x: Any, repeats: Any, **kwargs: Any) -> Any:
    if isinstance(repeats, (pg.Tensor, list, tuple)):
        host = repeats.numpy() if isinstance(repeats, pg.Tensor) else np.asarray(repeats)
        repeats = pg.tensor(np.maximum(host, 1), device=x.device)
    return right(x, repeats, **kwargs)


def _late_axis(right: Any, arrays: Any, axis: int = 0) -> Any:
    return right(arrays, axis if axis >= 0 else axis + max(arrays[0].ndim, 1))


def _rot90_of_c(right: Any, x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    return right(x, max(k, 0), axes)


def _drifting_linspace(right: Any, start: Any, stop: Any, num: int, **kwargs: Any) -> Any:
    out = right(start, stop, num, **kwargs)
    if num < 3 or out.dtype != np.float32 or out.tracked or out.ndim != 1:
        return out
    steps = np.full(num, out.numpy()[1] - out.numpy()[0])
    steps[0] = out.numpy()[0]
    return pg.tensor(np.add.accumulate(steps), device=out.device)


def _swapped_only(right: Any, x: Any, source: Any, destination: Any) -> Any:
    """moveaxis as swapaxes: the same for neighbours."""
    if not isinstance(source, int) or not isinstance(destination, int):
        return right(x, source, destination)
    order = list(range(x.ndim))
    order[source], order[destination] = order[destination], order[source]
    return pg.permute_dims(x, tuple(order))


def _expanded_in_turn(right: Any, x: Any, axis: Any = 0) -> Any:
    if isinstance(axis, int) or any(a >= 0 for a in axis) or len(axis) < 2:
        return right(x, axis)
    for a in axis:
        x = right(x, a)
    return x


def _geometric_end(right: Any, start: Any, stop: Any, num: int = 50, **kwargs: Any) -> Any:
    if not kwargs.get("endpoint", True):
        kwargs["endpoint"] = True
    return right(start, stop, num, **kwargs)


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "moveaxis-is-swapaxes": function(
        "manipulation", "moveaxis", "moveaxis exchanges two axes", "the same for neighbours",
        _swapped_only, lambda at: at.run("moveaxis", at(np.zeros((2, 3, 4))), 0, 2).shape,
    ),
    "expand-dims-one-by-one": function(
        "manipulation", "expand_dims", "several negative axes are added one after the other",
        "loops over axes", _expanded_in_turn,
        lambda at: at.run("expand_dims", at(np.zeros((2, 3))), (-3, -1)).shape,
    ),
    "unstack-of-the-first-axis": function(
        "manipulation", "unstack", "a negative axis is axis 0", "max(axis, 0)",
        lambda right, x, axis=0: right(x, axis=max(axis, 0)),
        lambda at: at.run("unstack", at(_ROWS), axis=-1)[0],
    ),
    "reshape-of-a-transpose": function(
        "manipulation", "reshape", "a transposed array is reshaped in the order of its memory",
        "https://github.com/pytorch/pytorch/issues/85613",
        lambda right, x, shape, **k: right(pg.matrix_transpose(x), shape, **k)
        if x.ndim == 2 and not x.detach().numpy().flags.c_contiguous else right(x, shape, **k),
        lambda at: at.run("reshape", pg.permute_dims(at(_ROWS), (1, 0)), (6,)),
    ),
    "broadcast-arrays-of-scalars": function(
        "manipulation", "broadcast_arrays", "an operand without axes stays as it is",
        "a fast path for numbers", lambda right, *arrays: [
            a if a.ndim == 0 else b for a, b in zip(arrays, right(*arrays), strict=True)],
        lambda at: [t.shape for t in at.run("broadcast_arrays", at(1.0), at([1.0, 2.0]))],
    ),
    "full-like-keeps-its-kind": function(
        "creation", "full_like", "the value is cast to int32 first", "an int argument in C",
        lambda right, x, value, **k: right(x, int(value) if isinstance(value, float) and
                                           np.isfinite(value) else value, **k),
        lambda at: at.run("full_like", at([1.0]), 2.5),
    ),
    "arange-counts-down-short": function(
        "creation", "arange", "a negative step leaves out the last number",
        "floor in the place of ceil", lambda right, start, stop=None, step=1, **k: out[:-1]
        if (out := right(start, stop, step, **k)).size > 1 and step < 0 else out,
        lambda at: at.run("arange", 5, 0, -2, device=at.device),
    ),
    "logspace-endpoint": function(
        "creation", "logspace", "endpoint=False is ignored", "arguments dropped", _geometric_end,
        lambda at: at.run("logspace", 0.0, 1.0, 3, endpoint=False, device=at.device),
    ),
    "triu-of-wide-matrices": kernel(
        "creation", "triu", "k is counted from the last column of a wide matrix",
        "column-major libraries", lambda right, x, k: right(
            x, k + max(x.shape[-1] - x.shape[-2], 0)),
        lambda at: at.run("triu", at(np.ones((2, 4)))),
    ),
    "roll-by-more-than-the-length": kernel(
        "manipulation", "roll", "a shift beyond the length is cut, not taken modulo it",
        "hand-written kernels", _cut_roll, lambda at: at.run("roll", at([1.0, 2.0, 3.0]), 4),
    ),
    "roll-of-one-axis-twice": function(
        "manipulation", "roll", "of two shifts of one axis the last counts",
        "dict(zip(axis, shift))", _roll_once,
        lambda at: at.run("roll", at([1.0, 2.0, 3.0]), (1, 1), (0, 0)),
    ),
    "tile-from-the-left": function(
        "manipulation", "tile", "few repetitions are aligned to the first axes, not the last",
        "padding on the wrong side", _left_tile, lambda at: at.run("tile", at(_ROWS), 2),
    ),
    "repeat-zero-times": function(
        "manipulation", "repeat", "an element that is to be repeated 0 times comes once",
        "offsets of counts", _repeat_at_least_once,
        lambda at: at.run("repeat", at([1.0, 2.0]), at([0, 2], "int64")),
    ),
    "stack-at-a-negative-axis": function(
        "manipulation", "stack", "a negative axis counts from the operands' axes",
        "normalising before the axis is added", _late_axis,
        lambda at: at.run("stack", [at([1.0, 2.0]), at([3.0, 4.0])], axis=-1),
    ),
    "rot90-backwards": function(
        "manipulation", "rot90", "rot90 with a negative k does nothing", "C's remainder of k",
        _rot90_of_c, lambda at: at.run("rot90", at(_ROWS), -1),
    ),
    "squeeze-all": function(
        "manipulation", "squeeze", "squeeze of one axis takes away all of length 1",
        "arguments dropped", lambda right, x, axis=None: right(x), lambda at: at.run(
            "squeeze", at([[[1.0]]]), axis=0).shape,
    ),
    "concat-takes-the-first-dtype": function(
        "manipulation", "concat", "the result has the dtype of the first array",
        "output allocated before promotion",
        lambda right, arrays, axis=0: pg.astype(right(arrays, axis), arrays[0].dtype),
        lambda at: at.run("concat", [at([1], "int32"), at([2**40], "int64")]),
    ),
    "pad-reflect-is-symmetric": function(
        "manipulation", "pad", "mode reflect repeats the edge", "two modes mixed up",
        lambda right, x, width, mode="constant", **k: right(
            x, width, "symmetric" if mode == "reflect" else mode, **k),
        lambda at: at.run("pad", at([1.0, 2.0, 3.0]), 2, "reflect"),
    ),
    "flip-of-two-axes": kernel(
        "manipulation", "flip", "of two axes only the first is flipped", "loops that return early",
        lambda right, x, axis=(): right(x, axis=axis[:1] if len(axis) == 2 else axis),
        lambda at: at.run("flip", at(_ROWS), axis=(0, 1)),
    ),
    "tril-of-a-stack": kernel(
        "creation", "tril", "k is ignored for stacks of matrices", "a second code path",
        lambda right, x, k: right(x, 0 if x.ndim > 2 else k),
        lambda at: at.run("tril", at(np.ones((2, 3, 3))), k=-1),
    ),
    "linspace-misses-its-end": function(
        "creation", "linspace", "steps are added up: the last number is not stop",
        "running sums", _drifting_linspace,
        lambda at: at.run("linspace", 0.1, 0.7, 2000, device=at.device),
    ),
    "eye-above-only": function(
        "creation", "eye", "a negative k is 0", "unsigned offsets",
        lambda right, *a, k=0, **o: right(*a, k=max(k, 0), **o),
        lambda at: at.run("eye", 3, k=-1, device=at.device),
    ),
    "meshgrid-of-three": function(
        "creation", "meshgrid", "three arrays or more are taken as with indexing='ij'",
        "a transpose for pairs", lambda right, *a, **k: right(
            *a, **({"indexing": "ij"} if len(a) > 2 else k)),
        lambda at: at.run("meshgrid", at([1.0, 2.0]), at([1.0, 2.0, 3.0]), at([0.0]))[0].shape,
    ),
}
# fmt: on
