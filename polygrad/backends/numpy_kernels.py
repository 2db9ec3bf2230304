"""NumPy's kernels: methods and ufuncs, without the Python code that its functions put around them.

They compute what the primitives' own forwards compute, and write only to arrays that they made.
Their results may be scalars and views: whoever calls a kernel makes arrays of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.backend import Array, Kernel
from polygrad.kernels import FORWARDS

__all__ = ["KERNELS"]

_Axes = int | tuple[int, ...] | None


# ---- reductions ---------------------------------------------------------------------------------
def _reduction(ufunc: Any) -> Kernel:
    """The ufunc's own reduction."""
    reduce: Any = ufunc.reduce

    def kernel(x: Array, axis: _Axes = None, keepdims: bool = False) -> Array:
        return reduce(x, axis, None, None, keepdims)

    return kernel


def _in_kind(ufunc: Any) -> Kernel:
    """The reduction in the dtype of x, small integers too; half precisions sum in float32."""
    reduce: Any = ufunc.reduce

    def kernel(x: Array, axis: _Axes = None, keepdims: bool = False) -> Array:
        dtype = x.dtype
        if dtype.itemsize == 2 and dtype.kind not in "iu":
            return reduce(x, axis, np.float32, None, keepdims).astype(dtype)
        return reduce(x, axis, dtype, None, keepdims)

    return kernel


_max, _sum = _reduction(np.maximum), _in_kind(np.add)


def _wide(x: Array) -> Array:
    """16-bit floats as float32: their sums lose digits, or overflow."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _like(out: Array, x: Array) -> Array:
    """What was computed with `_wide(x)`, in the dtype of x."""
    return out if out.dtype == x.dtype else out.astype(x.dtype)


def _mean(x: Array, axis: _Axes = None, keepdims: bool = False) -> Array:
    """The sum over the count; NaN of nothing."""
    total = _sum(_wide(x), axis, keepdims)
    return _like(total / (x.size // total.size) if x.size else total + float("nan"), x)


def _cumulative_sum(x: Array) -> Array:
    """Along the last axis, in the dtype of x."""
    y = _wide(x)
    return _like(np.add.accumulate(y, -1, y.dtype), x)


# ---- shapes -------------------------------------------------------------------------------------
def _broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Strides of zero, for the constructor of views, which takes C-ordered memory."""
    lead = len(shape) - x.ndim
    if lead < 0 or not x.flags.c_contiguous:
        return np.broadcast_to(x, shape)
    strides = [0] * lead
    for n, m, stride in zip(x.shape, shape[lead:], x.strides, strict=True):
        if n not in (m, 1):
            return np.broadcast_to(x, shape)  # raises
        strides.append(stride if n == m else 0)
    out: Array = np.ndarray(shape, x.dtype, x, 0, strides)
    out.flags.writeable = False
    return out


def _expand_dims(x: Array, axis: int | tuple[int, ...]) -> Array:
    """One new axis is a key of slices and None."""
    if type(axis) is not int:
        return np.expand_dims(x, axis)
    return x[(slice(None),) * (axis % (x.ndim + 1)) + (None,)]


def _stack(arrays: list[Array], axis: int = 0) -> Array:
    """Arrays with one more axis, concatenated."""
    key = (slice(None),) * (axis % (arrays[0].ndim + 1)) + (None,)
    return np.concatenate([a[key] for a in arrays], axis=axis)


def _flip(x: Array, axis: tuple[int, ...] = ()) -> Array:
    """A view with steps of -1."""
    key = [slice(None)] * x.ndim
    for a in axis:
        key[a] = slice(None, None, -1)
    return x[tuple(key)]


# ---- gather and scatter -------------------------------------------------------------------------
def _getitem_adjoint(x: Array, key: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    """Zeros with x written at places that are all different, or else added."""
    out = np.zeros(shape, x.dtype)
    if any(isinstance(k, np.ndarray) and k.ndim and k.dtype.kind in "iu" for k in key):
        np.add.at(out, key, x)
    else:
        out[key] = x
    return out


def _take_adjoint(x: Array, indices: Array, shape: tuple[int, ...], axis: int = 0) -> Array:
    """Zeros with slices of x added along an axis."""
    out = np.zeros(shape, x.dtype)
    np.add.at(out, (*(slice(None),) * (axis % len(shape)), indices), x)
    return out


def _take_along_axis(x: Array, indices: Array, axis: int = -1) -> Array:
    """In two dimensions the other index is a range."""
    if x.ndim != 2 or indices.ndim != 2:
        return np.take_along_axis(x, indices, axis)
    if axis in (0, -2):
        return x[indices, np.arange(indices.shape[1])]
    return x[np.arange(indices.shape[0]).reshape(-1, 1), indices]


def _unpermute_along_axis(x: Array, order: Array, axis: int = -1) -> Array:
    """Written to where it came from: a fifth of the cost of sorting the order."""
    out = np.empty_like(x, order="C")
    np.put_along_axis(out, order, x, axis)
    return out


def _index_range(x: Array) -> tuple[int, int]:
    """Read as unsigned, negative integers are the largest: one pass for indices from 0 on."""
    dtype = x.dtype
    if dtype.kind == "i":
        high = int(_max(x.view(f"u{dtype.itemsize}")))
        if not high >> (8 * dtype.itemsize - 1):
            return 0, high
    return int(x.min()), int(x.max())


def _pivot_values(F: Any, v: Array) -> Array:
    """The first of each column that is large, picked instead of summed over the others' zeros."""
    if 0 in v.shape:
        return _forward("pivot_values")(F, v)
    size = np.abs(v)
    large = size >= _max(size, -2, True) * 0.6
    return np.take_along_axis(v, large.argmax(-2)[..., None, :], -2)


# ---- order --------------------------------------------------------------------------------------
def _best_indices(F: Any, x: Array, k: int = 0, largest: bool = True) -> Array:
    """Found without sorting all: what beats the k-th best, and the first of those that equal it."""
    n = x.shape[-1]
    if not 0 < k < n:
        return _forward("best_indices")(F, x, k, largest)
    rank = n - k if largest else k - 1
    limit = np.partition(x, rank, axis=-1)[..., rank, None]
    missing, lost = x != x, limit != limit  # noqa: PLR0124  NaN, which is the largest
    better = (x > limit) | (missing & ~lost) if largest else (x < limit) | (lost & ~missing)
    equal = (x == limit) | (missing & lost)
    room = k - np.count_nonzero(better, axis=-1, keepdims=True)
    chosen = better | (equal & (np.add.accumulate(equal, -1, np.intp) <= room))
    places = np.nonzero(chosen)[-1].reshape(*x.shape[:-1], k)
    best = np.take_along_axis(x, places, -1)
    order = F.argsort(best, axis=x.ndim - 1, descending=largest, stable=True)
    return np.take_along_axis(places, order, -1)


# ---- products -----------------------------------------------------------------------------------
SMALL = 1 << 12  # elements


def _matmul(x: Array, y: Array) -> Array:
    """Between small vectors and matrices `dot` is the same product, and half the call.

    On large ones it loses: g^T x of (128, 256) and (128, 784) takes 0.66 ms, and 0.57 by matmul.
    """
    if x.size <= SMALL and 0 < x.ndim <= 2 and 0 < y.ndim <= 2:
        return x.dot(y)
    return np.matmul(x, y)


# ---- elementwise --------------------------------------------------------------------------------
def _clip(x: Array, min: Any = None, max: Any = None) -> Array:
    """Two ufuncs, which keep NaN; where the bounds cross, the upper one wins."""
    if min is not None:
        x = np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def _strong_multiply(F: Any, x: Array, y: Array) -> Array:
    """Zeros can only have met infinity or NaN if the sum of the products is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        out = x * y
        if np.isfinite(np.add.reduce(out, None)):
            return out
        return x * np.where(x == 0, F.of(y).zeros(()), y)


def _strong_divide(F: Any, x: Array, y: Any) -> Array:
    """Zeros can only have met zero or NaN if the sum of the quotients is not finite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        out = x / y
        if np.isfinite(np.add.reduce(out, None)):
            return out
        if not isinstance(y, np.ndarray):
            y = F.of(x).full((), y)
        return x / np.where(x == 0, F.of(y).ones(()), y)


_BITS = {size: np.dtype(f"i{size}") for size in (2, 4, 8)}


def _keep(x: Array, mask: Array) -> Array:
    """The product of the bits of x and the mask, for which infinities and NaN are plain numbers.

    `where` takes five to twenty times as long if the mask is random. Large masks are cast faster
    than multiplied.
    """
    bits = _BITS.get(x.itemsize)
    if bits is None:
        return np.where(mask, x, np.zeros((), x.dtype))
    if x.shape != mask.shape:
        return (x.view(bits) * mask).view(x.dtype)
    out = mask.astype(bits)
    out *= x.view(bits)
    return out.view(x.dtype)


def _sigmoid(x: Array) -> Array:
    """e^min(x, 0) / (1 + e^-|x|), in two arrays: neither power overflows. Or of complex numbers."""
    if x.dtype.kind == "c":
        return 1 / (np.exp(-x) + 1)
    if not x.ndim:
        return _sigmoid(x[None])[0]
    below = np.abs(x)
    np.exp(np.negative(below, below), below)
    below += 1
    out = np.minimum(x, 0)
    np.exp(out, out)
    out /= below
    return out


def _tanh_adjoint(x: Array, out: Array) -> Array:
    """x (1 - out^2), in one array."""
    slope = out * out
    if not slope.ndim or slope.shape != x.shape or slope.dtype.kind == "c":
        return x * (1 - slope).conj()
    np.subtract(1, slope, slope)
    slope *= x
    return slope


# ---- softmax ------------------------------------------------------------------------------------
@np.errstate(invalid="ignore")
def _softmax(x: Array, axis: int = -1) -> Array:
    """In one array; NaN, and no warning, where every score is -inf."""
    if not x.size:
        return x.copy()
    y = _wide(x)
    y = y - _max(y, axis, True)
    np.exp(y, y)
    y /= _sum(y, axis, True)
    return _like(y, x)


@np.errstate(invalid="ignore")
def _log_softmax(x: Array, axis: int = -1) -> Array:
    """In two arrays; NaN, and no warning, where every score is -inf."""
    if not x.size:
        return x.copy()
    y = _wide(x)
    y = y - _max(y, axis, True)
    y -= np.log(_sum(np.exp(y), axis, True))
    return _like(y, x)


def _forward(name: str) -> Kernel:
    """The primitive's own forward, for what the kernel here does not do."""
    found = FORWARDS[name]
    if found is None:
        raise KeyError(name)
    return found


# ---- layers -------------------------------------------------------------------------------------
def _linear(F: Any, x: Array, weight: Array, bias: Array | None) -> Array:
    """Of matrices: the bias added in place.

    OpenBLAS multiplies 8 to 48 rows by a large transposed matrix of float32 at half its speed, and
    the transposed product at full speed: adding the bias brings that into C order.
    """
    if x.ndim != 2:
        return _forward("linear")(F, x, weight, bias)
    wide, deep = weight.shape
    if 8 <= len(x) <= 48 and wide >= 128 and deep >= 32 and x.dtype.char == "f":
        out = weight.dot(x.T).T
        return np.ascontiguousarray(out) if bias is None else np.add(out, bias, order="C")
    out = x.dot(weight.T)
    if bias is not None:
        out += bias
    return out


def _attention_result(F: Any, weights: Array, value: Array, query: Array) -> Array:
    """The product, heads where the query has them in memory: to join them takes no copy then."""
    shape = (*weights.shape[:-1], value.shape[-1])
    if weights.dtype.itemsize < 4 or query.ndim < 3 or shape[:-1] != query.shape[:-1]:
        return F.matmul(weights, value)
    return np.matmul(weights, value, out=np.empty_like(query, shape=shape))


def _cross_entropy(
    F: Any, x: Array, target: Array, logs: Array, ignore_index: int | None, total: Any
) -> Array:
    """Of matrices: one element of each row is picked."""
    if logs.ndim != 2:
        return _forward("cross_entropy")(F, x, target, logs, ignore_index, total)
    rows = np.arange(target.size)
    if ignore_index is None:
        loss = -logs[rows, target]
    else:
        ignored = target == ignore_index
        loss = -logs[rows, np.where(ignored, 0, target)]
        loss[ignored] = 0
    return loss if total is None else _sum(loss) / total


def _cross_entropy_slope(
    F: Any, x: Array, target: Array, logs: Array, ignore_index: int | None
) -> Array:
    """Of matrices: 1 less at one place of each row."""
    if logs.ndim != 2:
        return _forward("cross_entropy_slope")(F, x, target, logs, ignore_index)
    slope = np.exp(logs)
    rows = np.arange(target.size)
    if ignore_index is None:
        slope[rows, target] -= 1
    else:
        ignored = target == ignore_index
        slope[rows, np.where(ignored, 0, target)] -= 1
        slope[ignored] = 0
    return slope


KERNELS: dict[str, Kernel] = {
    "keep": _keep,
    "sum": _sum,
    "prod": _in_kind(np.multiply),
    "max": _max,
    "min": _reduction(np.minimum),
    "any": _reduction(np.logical_or),
    "all": _reduction(np.logical_and),
    "argmax": lambda x, axis=None, keepdims=False: x.argmax(axis, keepdims=keepdims),
    "argmin": lambda x, axis=None, keepdims=False: x.argmin(axis, keepdims=keepdims),
    "mean": _mean,
    "cumulative_sum": _cumulative_sum,
    "reshape": lambda x, shape: x.reshape(shape),
    "permute_dims": lambda x, axes: x.transpose(axes),
    "matrix_transpose": lambda x: x.mT,
    "broadcast_to": _broadcast_to,
    "expand_dims": _expand_dims,
    "squeeze": lambda x, axis: x.squeeze(axis),
    "stack": _stack,
    "flip": _flip,
    "take": lambda x, indices, axis: x.take(indices, axis),
    "take_adjoint": _take_adjoint,
    "take_along_axis": _take_along_axis,
    "unpermute_along_axis": _unpermute_along_axis,
    "getitem_adjoint": _getitem_adjoint,
    "index_range": _index_range,
    "best_indices": _best_indices,
    "pivot_values": _pivot_values,
    "running_maximum": lambda x: np.maximum.accumulate(x, -1),
    "running_minimum": lambda x: np.minimum.accumulate(x, -1),
    "running_logsumexp": lambda x: _like(np.logaddexp.accumulate(_wide(x), -1), x),
    "matmul": _matmul,
    "clip": _clip,
    "strong_multiply": _strong_multiply,
    "strong_divide": _strong_divide,
    "sigmoid": _sigmoid,
    "tanh_adjoint": _tanh_adjoint,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "linear": _linear,
    "attention_result": _attention_result,
    "cross_entropy": _cross_entropy,
    "cross_entropy_slope": _cross_entropy_slope,
}
