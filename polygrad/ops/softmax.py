"""Softmax and its logarithm along one axis, with closed-form rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polygrad.families import OPERATIONS, Chapter
from polygrad.ops._axes import as_tensor, normalize_axis, widened
from polygrad.ops.creation import to_place
from polygrad.ops.manipulation import reshape
from polygrad.primitive import Composite, Primitive
from polygrad.tensor import Tensor

_table = Chapter("softmax", "nn.functional")


def _shifted(F: Any, x: Any, axis: int) -> Any:
    """x less its maximum: then nothing overflows, and one term of the sum of e^x is 1."""
    with F.backend.quiet():  # -inf - -inf
        return x - F.max(x, axis=axis, keepdims=True)


def _softmax(F: Any, x: Any, axis: int) -> Any:
    if not x.shape[axis]:
        return F.zeros(x.shape)
    e = F.xp.exp(_shifted(F, x, axis))
    return e / F.sum(e, axis=axis, keepdims=True)


def _log_softmax(F: Any, x: Any, axis: int) -> Any:
    if not x.shape[axis]:
        return F.zeros(x.shape)
    y = _shifted(F, x, axis)
    return y - F.xp.log(F.sum(F.xp.exp(y), axis=axis, keepdims=True))


def _softmax_adjoint(F: Any, x: Any, out: Any, axis: int = -1) -> Any:
    return out * (x - F.sum(x * out, axis=axis, keepdims=True))


def _log_softmax_adjoint(F: Any, x: Any, out: Any, axis: int = -1) -> Any:
    return x - F.exp(out) * F.sum(x, axis=axis, keepdims=True)


# fmt: off
softmax_primitive = Primitive(
    "softmax", ("x",),
    {"x": lambda g, F, out, axis: F.softmax_adjoint(g, out, axis=axis)},
    forward=widened(_softmax), keywords={"axis": -1}, floating=True, real=True,
)
log_softmax_primitive = Primitive(
    "log_softmax", ("x",),
    {"x": lambda g, F, out, axis: F.log_softmax_adjoint(g, out, axis=axis)},
    forward=widened(_log_softmax), keywords={"axis": -1}, floating=True, real=True,
)
# fmt: on
Composite("softmax_adjoint", ("x", "out"), _softmax_adjoint, keywords={"axis": -1})
Composite("log_softmax_adjoint", ("x", "out"), _log_softmax_adjoint, keywords={"axis": -1})


def _samples(s: Any) -> Any:
    return [
        ((s.real(2, 3),), {}), ((s.real(2, 3, 2),), {"axis": 1}), ((s.real(1),), {"axis": 0}),
        ((s.real(2, 0),), {}), ((s.real(0, 2),), {}), ((s.real(),), {}), ((s.real(),), {"axis": 0}),
    ]  # fmt: skip


def _along(primitive: Primitive, x: Tensor, axis: int, dtype: Any, where: str) -> Tensor:
    """Of a 0-d tensor as of a vector of one."""
    if dtype is not None:
        x = to_place(x, dtype)
    if not x.ndim:
        return reshape(primitive.call(reshape(x, (1,)), axis=normalize_axis(axis, 1, where)), ())
    return primitive.call(x, axis=normalize_axis(axis, x.ndim, where))  # type: ignore[no-any-return]


@_table.public(samples=_samples)
def softmax(input: Any, axis: int = -1, dtype: Any = None) -> Tensor:
    """e^x over its sum along an axis: positive numbers whose sum is 1.

    Parameters
    ----------
    input
        Tensor; a number counts as a vector of one. Integers are computed in the default floating
        dtype.
    axis
        Along which the sum is 1.
    dtype
        To cast the input to first.

    Returns
    -------
    Tensor
        Of the shape of `input`. NaN where all of the axis is -inf, or something is inf.

    Raises
    ------
    OutOfRangeError
        There is no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.softmax(pg.tensor([1.0, 1.0]))
    tensor([0.5, 0.5], dtype=float32)
    """
    x = as_tensor(input, "softmax, argument input")
    return _along(softmax_primitive, x, axis, dtype, "softmax")


@_table.public(samples=_samples)
def log_softmax(input: Any, axis: int = -1, dtype: Any = None) -> Tensor:
    """The logarithm of softmax, finite also where softmax is too small for its dtype.

    Parameters, dtypes and errors are those of `softmax`.

    >>> import polygrad as pg
    >>> pg.nn.functional.log_softmax(pg.tensor([0.0, -1000.0]))
    tensor([    0., -1000.], dtype=float32)
    """
    x = as_tensor(input, "log_softmax, argument input")
    return _along(log_softmax_primitive, x, axis, dtype, "log_softmax")


@_table.public(samples=_samples)
def softmin(input: Any, axis: int = -1, dtype: Any = None) -> Tensor:
    """softmax(-x).

    >>> import polygrad as pg
    >>> pg.nn.functional.softmin(pg.tensor([1.0, 1.0]))
    tensor([0.5, 0.5], dtype=float32)
    """
    x = -as_tensor(input, "softmin, argument input")
    return _along(softmax_primitive, x, axis, dtype, "softmin")


# PyTorch has these two in its main namespace, and as methods, as well.
_main = Chapter("softmax")
for _name in ("softmax", "log_softmax"):
    _main.add(replace(OPERATIONS[f"nn.functional.{_name}"], space="", method=True))
