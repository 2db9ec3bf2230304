"""NumPy's functions on Tensors: `np.sin(t)`, `np.add(array, t)`, `np.concatenate([t, u])`.

NumPy hands its functions over to arguments of other classes (NEP 13 and NEP 18). Where polygrad has
the function, it computes it, on the tape; everywhere else NumPy computes with arrays that it
converts, which a tensor that requires grad refuses.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.errors import DeviceMismatchError
from polygrad.families import operations_of
from polygrad.tensor import Tensor
from polygrad.tree import flatten
from polygrad.writes import lend, setitem

__all__ = ["as_array", "of_function", "of_ufunc"]

# NumPy's names of elementwise functions that have another one in the standard.
_RENAMED = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj",
    "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "mod": "remainder",
    "power": "pow", "right_shift": "bitwise_right_shift", "rint": "round", "true_divide": "divide",
}  # fmt: skip
_REDUCED = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
    "logical_or": "any",
}  # fmt: skip
_METHODS = (
    "all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var",
)  # fmt: skip


def as_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """`np.asarray(t)`: only for tensors on the host that need no gradient.

    The result may be written to, because compiled code takes no other arrays: it shares memory with
    the tensor if nobody else does but other arrays made here (a result that is written there
    arrives), and is a copy otherwise (no saved value changes). With `copy=False` it is a read-only
    view.
    """
    self.refuse_export("conversion to a NumPy array")
    if self.device.kind != "cpu":
        raise DeviceMismatchError(
            f"a tensor on {self.device} is not converted to NumPy behind your back", "__array__",
            "write t.numpy(), which copies to the host",
        )  # fmt: skip
    lent = lend(self) if copy is None else None
    if lent is not None:
        return np.asarray(lent, dtype=dtype)
    return np.array(self.numpy(), dtype=dtype, copy=copy is not False)


def of_ufunc(ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
    """What `np.sin(t)` calls: `np.ufunc` with a Tensor among its arguments."""
    out = keywords.pop("out", None)
    functions = _functions()
    name = _RENAMED.get(ufunc.__name__, ufunc.__name__)
    if method == "reduce" and ufunc.__name__ in _REDUCED:
        axis = keywords.pop("axis", 0)
        made = getattr(inputs[0], _REDUCED[ufunc.__name__])(axis, **keywords)
    elif method == "__call__" and name in functions and not keywords:
        made = functions[name](*inputs)
    else:
        made = _converted(getattr(ufunc, method), inputs, keywords)
    return made if out is None else _written(out[0], made)


def of_function(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What `np.concatenate([t, u])` calls."""
    handler = _handlers().get(function)
    options = {name: value for name, value in keywords.items() if name != "out"}
    if handler is None or not _takes(handler, args, options):
        return _converted(function, args, keywords)
    out, made = keywords.get("out"), handler(*args, **options)
    return made if out is None else _written(out, made)


_signature = functools.cache(inspect.signature)  # of the few handlers below


def _takes(handler: Any, args: Any, keywords: Any) -> bool:
    """Whether a handler has these parameters; NumPy's functions have more, as `order`."""
    try:
        _signature(handler).bind(*args, **keywords)
    except TypeError:
        return False
    return True


def _converted(function: Any, args: Any, keywords: Any) -> Any:
    """NumPy's own, of arrays. A tensor that requires grad raises, see `as_array`."""
    leaves, rebuild = flatten((args, keywords))
    args, keywords = rebuild([np.asarray(x) if isinstance(x, Tensor) else x for x in leaves])
    return function(*args, **keywords)


def _written(out: Any, value: Any) -> Any:
    """`out` after the value was written to it."""
    if isinstance(out, Tensor):
        setitem(out, Ellipsis, value)
    else:
        np.copyto(out, np.asarray(value))
    return out


# ---- functions ----------------------------------------------------------------------------------
@functools.cache
def _functions() -> dict[str, Callable[..., Any]]:
    """polygrad's functions by name, read when first needed."""
    return {name: operation.function for name, operation in operations_of().items()}


@functools.cache
def _handlers() -> dict[Any, Callable[..., Any]]:
    """What polygrad does for functions of NumPy."""
    return _renamed_functions() | {getattr(np, name): _method(name) for name in _METHODS}


def _method(name: str) -> Callable[..., Any]:
    return lambda a, *args, **keywords: getattr(a, name)(*args, **keywords)


def _renamed_functions() -> dict[Any, Callable[..., Any]]:
    """Functions whose parameters have other names or another order in the standard."""
    f = _functions()
    return {
        np.broadcast_to: f["broadcast_to"],
        np.clip: lambda a, a_min=None, a_max=None: f["clip"](a, a_min, a_max),
        np.concatenate: lambda arrays, axis=0: f["concat"](arrays, axis=axis),
        np.copy: lambda a: a.clone(),
        np.cumprod: lambda a, axis=None: f["cumulative_prod"](_flat(a, axis), axis=axis or 0),
        np.cumsum: lambda a, axis=None: f["cumulative_sum"](_flat(a, axis), axis=axis or 0),
        np.diff: lambda a, n=1, axis=-1: f["diff"](a, axis=axis, n=n),
        np.dot: _dot,
        np.einsum: f["einsum"],
        np.expand_dims: lambda a, axis: f["expand_dims"](a, axis=axis),
        np.flip: lambda m, axis=None: f["flip"](m, axis=axis),
        np.full_like: f["full_like"],
        np.imag: lambda val: val.imag,
        np.moveaxis: f["moveaxis"],
        np.ndim: lambda a: a.ndim,
        np.ones_like: f["ones_like"],
        np.outer: lambda a, b: f["outer"](_flat(a), _flat(b)),
        np.ravel: _flat,
        np.real: lambda val: val.real,
        np.repeat: lambda a, repeats, axis=None: f["repeat"](a, repeats, axis=axis),
        np.reshape: f["reshape"],
        np.roll: lambda a, shift, axis=None: f["roll"](a, shift, axis=axis),
        np.round: lambda a, decimals=0: f["round"](a * 10**decimals) / 10**decimals,
        np.shape: lambda a: a.shape,
        np.size: lambda a: a.size,
        np.squeeze: lambda a, axis=None: f["squeeze"](a, axis=axis),
        np.stack: lambda arrays, axis=0: f["stack"](arrays, axis=axis),
        np.take: lambda a, indices, axis=None: f["take"](_flat(a, axis), indices, axis=axis or 0),
        np.tensordot: lambda a, b, axes=2: f["tensordot"](a, b, axes=axes),
        np.tile: lambda a, reps: f["tile"](a, (reps,) if isinstance(reps, int) else reps),
        np.transpose: _transposed,
        np.where: f["where"],
        np.zeros_like: f["zeros_like"],
    }


def _flat(a: Any, axis: Any = None) -> Any:
    """NumPy flattens where no axis is given."""
    return a.reshape(-1) if axis is None else a


def _dot(a: Any, b: Any) -> Any:
    """NumPy's product of numbers, vectors and matrices."""
    functions = _functions()
    a, b = (functions["asarray"](x) for x in (a, b))
    if not (a.ndim and b.ndim):
        return a * b
    axes = (-1,), (max(b.ndim - 2, 0),)
    return functions["tensordot"](a, b, axes=axes)


def _transposed(a: Any, axes: Any = None) -> Any:
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(axes)
    return _functions()["permute_dims"](a, order)
