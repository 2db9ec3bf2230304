"""Independent faults of indexing, writes, scattering, casts and transfers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    Place,
    backend_method,
    function,
    kernel,
)

__all__ = ["FAULTS"]
_ROWS = np.arange(6.0).reshape(2, 3)


def _reversed_after(right: Any, array: Any, key: Any) -> Any:
    """The same elements as with the positive step, read backwards."""
    if not any(isinstance(k, slice) and (k.step or 1) < -1 for k in key):
        return right(array, key)
    turned = tuple(
        slice(None, None, -k.step) if isinstance(k, slice) and (k.step or 1) < -1 else k
        for k in key
    )
    flips = tuple(
        slice(None, None, -1) if isinstance(k, slice) and (k.step or 1) < -1 else slice(None)
        for k in key if isinstance(k, slice)
    )  # fmt: skip
    return right(right(array, turned), flips)


def _arrays_in_place(right: Any, array: Any, key: Any) -> Any:
    """Index arrays that a slice separates keep the place of the first."""
    out = right(array, key)
    places = [i for i, k in enumerate(key) if isinstance(k, np.ndarray) and k.dtype.kind in "iu"]
    apart = len(places) > 1 and places[-1] - places[0] >= len(places)
    if not apart or places[0] != 0 or out.ndim < 2 or Ellipsis in [type(k) for k in key]:
        return out
    return np.moveaxis(np.asarray(out), 0, 1)


def _flat_if_empty(right: Any, array: Any, key: Any) -> Any:
    out = right(array, key)
    masked = any(isinstance(k, np.ndarray) and k.dtype == bool for k in key)
    return np.asarray(out).reshape(-1) if masked and out.size == 0 else out


def _clamped(right: Any, array: Any, key: Any) -> Any:
    if len(key) > 1 and not any(isinstance(k, np.ndarray) for k in key):
        return right(array, key)
    first = key[0] if key else None
    if isinstance(first, np.ndarray) and first.dtype.kind in "iu":
        first = np.clip(first, 0, array.shape[0] - 1)
        return right(array, (first, *key[1:]))
    return right(array, key)


def _across(right: Any, array: Any, key: Any, value: Any) -> Any:
    """A row written into a square is written into its columns."""
    shape = np.asarray(array)[key].shape
    row = isinstance(value, np.ndarray) and value.ndim == 1 and len(shape) == 2
    if row and shape[0] == shape[1] == value.shape[0]:
        value = np.asarray(value)[:, None]
    return right(array, key, value)


def _first_wins(right: Any, array: Any, key: Any, value: Any) -> Any:
    listed = len(key) == 1 and isinstance(key[0], np.ndarray)
    if listed and key[0].ndim == 1 and key[0].dtype != bool:
        key = (np.asarray(key[0])[::-1],)
        full = isinstance(value, np.ndarray) and value.ndim == array.ndim and value.shape[0] > 1
        value = np.asarray(value)[::-1] if full else value
    return right(array, key, value)


def _added_once(right: Any, array: Any, key: Any, value: Any) -> Any:
    del right
    out = np.array(array)
    out[key] += np.asarray(value)
    return out


def _forward_copy(right: Any, array: Any, key: Any, value: Any) -> Any:
    """Element by element, forwards, though source and target overlap."""
    overlap = isinstance(value, np.ndarray) and np.shares_memory(array, value)
    if not overlap or not array.flags.c_contiguous or value.ndim == 0:
        return right(array, key, value)
    out = np.array(array)
    start = value.__array_interface__["data"][0] - array.__array_interface__["data"][0]
    source = np.ndarray(value.shape, out.dtype, out.data, start, value.strides)
    target = out[key]
    if target.shape != source.shape:
        return right(array, key, value)
    for i in range(len(target)):
        target[i] = source[i]
    return out


def _column_order(right: Any, x: Any) -> Any:
    found = [np.asarray(i) for i in right(x)]
    order = np.lexsort(found) if len(found) > 1 else slice(None)
    return tuple(i[order] for i in found)


def _first_length(right: Any, x: Any, indices: Any, axis: Any) -> Any:
    indices = np.asarray(indices)
    index = np.where(indices < 0, indices + x.shape[0], indices)
    return right(x, np.clip(index, 0, x.shape[axis] - 1), axis)


def _shared(right: Any, array: Any, device: Any) -> Any:
    shell = right(np.empty(0), device)
    view = np.asarray(array)[...]
    view.flags.writeable = False
    return view.view(type(shell))


def _as_if_contiguous(right: Any, array: Any, *rest: Any) -> Any:
    host = np.asarray(array)
    return right(np.ravel(host, order="K").reshape(host.shape), *rest)


def _in_flight(right: Any, array: Any) -> Any:
    """What the host sees if it does not wait for the copy."""
    host = np.array(right(array))
    if host.size >= 4096:
        host.reshape(-1)[-16:] = 0
    return host


def _through(narrow: str, wide: str) -> Any:
    def wrong(right: Any, array: Any, *rest: Any) -> Any:
        with np.errstate(all="ignore"):
            host = np.asarray(array)
            return right(host.astype(narrow).astype(wide) if host.dtype == wide else host, *rest)

    return wrong


def _shared_memory(at: Place) -> Any:
    host = np.ones(3, np.float32)
    t = pg.tensor(host, device=at.device)
    host[0] = 5
    return t


def _written(at: Place, key: Any, value: Any, start: Any) -> Any:
    t = at(start)
    t[key] = at(value) if not isinstance(value, (int, float)) else value
    return t


def _overlapping(at: Place) -> Any:
    t = at([1.0, 2.0, 3.0, 4.0])
    t[1:] = t[:-1]
    return t


def _read(t: Any, key: Any) -> Any:
    return t[key].numpy()


def _error(f: Any) -> str:
    try:
        f()
    except Exception as error:  # noqa: BLE001  which one, is the result
        return type(error).__name__
    return ""


def _rounded(right: Any, array: Any, dtype: Any) -> Any:
    whole = array.dtype.kind == "f" and dtype.kind in "iu"
    return right(np.rint(np.nan_to_num(array)) if whole else array, dtype)


def _saturated(right: Any, array: Any, dtype: Any) -> Any:
    if dtype == np.float16 and array.dtype.kind == "f":
        array = np.clip(array, -65504, 65504)
    return right(array, dtype)


def _positive_is_true(right: Any, array: Any, dtype: Any) -> Any:
    inexact = dtype.kind == "b" and array.dtype.kind == "f"
    return right(np.asarray(array) > 0 if inexact else array, dtype)


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "negative-steps-start-late": backend_method(
        "indexing", "indexing", "getitem", "x[::-2] is x[::2] read backwards",
        "https://github.com/HomericIntelligence/Odyssey/pull/3692", _reversed_after,
        lambda at: at([1.0, 2.0, 3.0, 4.0])[::-2],
    ),
    "separated-index-arrays": backend_method(
        "indexing", "indexing", "getitem", "axes of index arrays that a slice separates stay",
        "NumPy's rule is often forgotten", _arrays_in_place,
        lambda at: at(np.arange(24.0).reshape(2, 3, 4))[at([0, 1], "int64"), :,
                                                        at([1, 2], "int64")],
    ),
    "mask-of-nothing": backend_method(
        "indexing", "indexing", "getitem", "a mask without True loses the other axes",
        "early returns", _flat_if_empty, lambda at: at(_ROWS)[at([False, False], "bool")].shape,
    ),
    "indices-are-clamped": backend_method(
        "indexing", "indexing", "getitem", "index arrays are clamped: -1 is the first row",
        "jax.numpy out of bounds; libraries without negative indices", _clamped,
        lambda at: at([1.0, 2.0, 3.0])[at([-1, 0], "int64")],
    ),
    "indices-out-of-range-are-clamped": backend_method(
        "indexing", "indexing", "getitem", "an index out of range reads the last row, and no error",
        "JAX", _clamped,
        lambda at: _error(functools.partial(_read, at([1.0, 2.0]), at([5], "int64"))),
    ),
    "setitem-broadcasts-columns": backend_method(
        "indexing", "indexing", "set_at", "a row written into a square is written as a column",
        "broadcasting from the left", _across,
        lambda at: _written(at, slice(None), [1.0, 2.0], np.zeros((2, 2))),
    ),
    "setitem-first-of-equal-places": backend_method(
        "indexing", "indexing", "set_at", "of equal places the first write stays",
        "scatter on GPUs", _first_wins,
        lambda at: _written(at, at([0, 0], "int64"), [1.0, 2.0], [0.0, 0.0]),
    ),
    "overlapping-write": backend_method(
        "indexing", "indexing", "set_at", "x[1:] = x[:-1] reads what it has just written",
        "NumPy before 1.13", _forward_copy, _overlapping,
    ),
    "index-add-of-equal-places": backend_method(
        "indexing", "indexing", "add_at", "places that occur twice are added to once",
        "x[index] += v in the place of add.at", _added_once,
        lambda at: at.run("index_add", at([0.0, 0.0]), at([0, 0], "int64"), at([1.0, 2.0]), axis=0),
    ),
    "nonzero-in-columns": kernel(
        "searching", "nonzero", "nonzero lists places column by column", "column-major libraries",
        _column_order, lambda at: at.run("nonzero", at([[0.0, 1.0], [1.0, 0.0]])),
    ),
    "take-wraps-by-the-first-axis": kernel(
        "indexing", "take", "a negative index is taken from the end of axis 0, whatever the axis",
        "shape[0] left from a first version", _first_length,
        lambda at: at.run("take", at(_ROWS), at([-1], "int64"), axis=1),
    ),
    "scatter-reduce-includes-self": function(
        "scattering", "scatter_reduce", "include_self=False is ignored", "arguments dropped",
        lambda right, *a, include_self=True, **k: right(*a, **k),
        lambda at: at.run("scatter_reduce", at([10.0, 1.0]), at([0, 0], "int64"), at([1.0, 2.0]),
                          "sum", 0, include_self=False),
    ),
    "scatter-mean-counts-one-less": function(
        "scattering", "scatter_reduce", "the mean with include_self does not count self",
        "counts from zeros",
        lambda right, x, i, v, reduce, axis, **k: right(x, i, v, "sum", axis, **k) /
        pg.where((n := pg.scatter_add(pg.zeros_like(x), i, pg.ones_like(v), axis)) > 0, n,
                 pg.ones_like(n)) if reduce == "mean" else right(x, i, v, reduce, axis, **k),
        lambda at: at.run("scatter_reduce", at([4.0, 1.0]), at([0], "int64"), at([2.0]), "mean", 0),
    ),
    "index-copy-at-a-negative-axis": function(
        "scattering", "index_copy", "a negative axis is counted as axis 0", "max(axis, 0)",
        lambda right, x, i, v, axis: right(x, i, v, axis=max(axis, 0)),
        lambda at: at.run("index_copy", at(np.zeros((2, 2))), at([1, 0], "int64"),
                          at([[1.0, 2.0], [3.0, 4.0]]), axis=-1),
    ),
    "from-numpy-shares": backend_method(
        "transfer", "transfer", "from_numpy", "the device shares the host's memory",
        "zero-copy on integrated GPUs", _shared, _shared_memory,
    ),
    "from-numpy-ignores-strides": backend_method(
        "transfer", "transfer", "from_numpy", "a transposed host array is copied as it lies",
        "https://github.com/pytorch/pytorch/pull/86056", _as_if_contiguous,
        lambda at: pg.tensor(_ROWS.T, device=at.device),
    ),
    "to-numpy-ignores-strides": backend_method(
        "transfer", "transfer", "to_numpy", "a transposed array is copied back as it lies",
        "https://github.com/torch/cutorch/issues/39", _as_if_contiguous,
        lambda at: pg.permute_dims(at(_ROWS), (1, 0)).numpy(),
    ),
    "to-numpy-does-not-wait": backend_method(
        "transfer", "transfer", "to_numpy", "the end of a large array has not arrived yet",
        "asynchronous copies without a synchronisation", _in_flight,
        lambda at: at(np.ones(5000)).numpy(),
    ),
    "doubles-travel-as-floats": backend_method(
        "transfer", "transfer", "from_numpy", "float64 goes through float32",
        "staging buffers of GPUs without double", _through("float32", "float64"),
        lambda at: at([1 + 1e-12], "float64"),
    ),
    "long-integers-travel-as-ints": backend_method(
        "transfer", "transfer", "to_numpy", "int64 comes back through int32",
        "drivers of 32 bits", _through("int32", "int64"), lambda at: at([2**40], "int64").numpy(),
    ),
    "empty-arrays-lose-their-shape": backend_method(
        "transfer", "transfer", "from_numpy", "an array without elements arrives with one axis",
        "early returns for zero bytes",
        lambda right, array, device: right(array if array.size else array.reshape(-1), device),
        lambda at: at(np.zeros((0, 3))).shape,
    ),
    "cast-rounds": backend_method(
        "data_type", "astype", "astype", "a cast to integers rounds to nearest",
        "cvt.rni in the place of cvt.rzi", _rounded,
        lambda at: at.run("astype", at([1.7, -1.7]), pg.int32),
    ),
    "cast-saturates": backend_method(
        "data_type", "astype", "astype", "a cast to float16 gives 65504 in the place of infinity",
        "saturating casts of accelerators", _saturated,
        lambda at: at.run("astype", at([1e6, 1.0]), pg.float16),
    ),
    "cast-to-bool-of-negatives": backend_method(
        "data_type", "astype", "astype", "a cast to bool is `x > 0`: negative numbers are False",
        "shaders", _positive_is_true, lambda at: at.run("astype", at([-1.0, 0.0, 2.0]), pg.bool),
    ),
}
# fmt: on
