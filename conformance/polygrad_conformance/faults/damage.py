"""The classes of fault: what each of them does to a function.

A damage takes a function of Tensors and gives the faulty one. It looks at Tensors of the faulty
device alone, so the same function stays right elsewhere. Values are changed behind the tape's back:
what is wrong with a value leaves the gradient right, and the other way round.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import polygrad as pg
from polygrad.errors import UnsupportedOperationError
from polygrad.families import OPERATIONS
from polygrad.registry import find_kernels
from polygrad.tensor import Tensor, new_tensor, on_host, raw
from polygrad.tree import leaves, tree_map
from polygrad_conformance.faults.device import FAULTY, with_capabilities

__all__ = ["DAMAGES", "Class", "damaged", "of_cotangents"]

Function = Callable[..., Any]
Host = np.ndarray[Any, Any]


TOUCHED: list[str] = []  # grows each time that a damage makes a difference


def touch() -> None:
    """Note that something is wrong now."""
    TOUCHED.append("")


class Class(NamedTuple):
    """A class of fault.

    Attributes
    ----------
    kind
        The check kind that must find it.
    damage
        Makes the faulty function of the right one.
    planted
        Instead of that: what to open, given the op, for faults that are not in a function.
    """

    kind: str
    damage: Callable[[Function], Function] = lambda function: function
    planted: Callable[[str], AbstractContextManager[Any]] | None = None


class _Replaced(pg.autograd.Function):
    """Another value in the place of one, with the gradient of the one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, other: Tensor) -> Tensor:
        return other.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        return g, None


class _Scaled(pg.autograd.Function):
    """The identity, whose gradient has a factor and a term too many."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float, term: float) -> Tensor:
        ctx.factor, ctx.term = factor, term
        return x.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        if ctx.term or np.any(on_host(g)):
            touch()
        return g * ctx.factor + ctx.term, None, None


class _ScaledTwice(pg.autograd.Function):
    """The identity, whose gradient is right the first time; the second pass has a factor too many.

    The second pass over one node is that of the derivative of the gradient.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor, ctx.again = factor, False
        return x.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        if not ctx.again:
            ctx.again = True
            return g, None
        if np.any(on_host(g)):
            touch()
        return g * ctx.factor, None


def here(tree: Any) -> bool:
    """Whether a Tensor of the faulty device is among the leaves."""
    return any(isinstance(x, Tensor) and x.device == FAULTY for x in leaves(tree))


def replaced(x: Tensor, value: Host) -> Tensor:
    """`x` with other values, and its gradient."""
    if value.tobytes() != np.ascontiguousarray(on_host(x)).tobytes():
        touch()
    other = pg.tensor(np.ascontiguousarray(value).reshape(np.shape(value)), device=FAULTY)
    if x.requires_grad and other.dtype == x.dtype and other.shape == x.shape:
        return _Replaced.apply(x, other)
    return other


def damaged(
    function: Function, change: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
) -> Function:
    """`function`, with `change(out, args, kwargs)` for its result on the faulty device."""

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        return change(out, args, kwargs) if here(out) or here((args, kwargs)) else out

    return faulty


# ---- the value ------------------------------------------------------------------------------
def _values(change: Callable[[Host], Host]) -> Callable[[Function], Function]:
    """Damage to the values of each result that has some."""

    def of(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.device != FAULTY or x.size == 0:
            return x
        return replaced(x, change(np.array(on_host(x))))

    return lambda function: damaged(function, lambda out, args, kwargs: tree_map(of, out))


def _constant(a: Host) -> Host:
    """The same number everywhere, one that is not the average of anything."""
    wrong = a.flat[0] != 1 if a.dtype.kind == "b" else 3
    return np.full_like(a, wrong)


def _scaled(by: float) -> Callable[[Host], Host]:
    def change(a: Host) -> Host:
        if a.dtype.kind in "fcV":
            return (a * a.dtype.type(1 + by)).astype(a.dtype)
        return ~a if a.dtype.kind == "b" else a + a.dtype.type(1)

    return change


def _at(index: Callable[[Host], Any]) -> Callable[[Host], Host]:
    """Wrong at one place."""

    def change(a: Host) -> Host:
        flat = a.reshape(-1)
        k = index(flat)
        flat[k] = ~flat[k] if a.dtype.kind == "b" else flat[k] + a.dtype.type(1)
        return flat.reshape(a.shape)

    return change


def _negated(a: Host) -> Host:
    if a.dtype.kind == "b":
        return ~a
    return (-a - (a == 0)).astype(a.dtype)  # zero has no wrong sign but is wrong here too


def _tail(a: Host) -> Host:
    """What lies behind the first whole block of four is not written."""
    flat = a.reshape(-1)
    start = flat.size // 4 * 4 if flat.size % 4 else flat.size - 1
    flat[start:] = ~flat[start:] if a.dtype.kind == "b" else flat[start:] + a.dtype.type(1)
    return flat.reshape(a.shape)


def _second_block(a: Host) -> Host:
    """What lies behind the first 500 elements is wrong: kernels work in blocks."""
    flat = np.array(a.reshape(-1))
    rest = flat[500:]
    flat[500:] = ~rest if a.dtype.kind == "b" else rest + a.dtype.type(1)
    return flat.reshape(a.shape)


def _special(a: Host) -> Host:
    """What is not finite becomes finite, and zeros lose their sign."""
    if a.dtype.kind not in "fc":
        return a
    return np.where(np.isfinite(a), a + a.dtype.type(0), a.dtype.type(1)).astype(a.dtype)


def _special_truth(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The opposite, where an argument is infinite, NaN or zero."""

    def of(y: Any) -> Any:
        if not isinstance(y, Tensor) or y.device != FAULTY or y.dtype != pg.bool:
            return y
        a = np.array(on_host(y))
        odd = np.zeros(a.shape, bool)
        for x in leaves((args, kwargs)):
            if isinstance(x, Tensor) and x.kernels.inexact:
                odd |= ~np.isfinite(on_host(x)) | (on_host(x) == 0)
        return replaced(y, a ^ odd)

    return tree_map(of, out)


def _wrong_answer(function: Function) -> Function:
    """An answer that is no Tensor, to a question about dtypes or shapes, is another one."""

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        if any(isinstance(x, Tensor) for x in leaves((out, args, kwargs))):
            return out
        touch()
        if isinstance(out, bool):
            return not out
        if isinstance(out, np.dtype):
            return np.dtype("int16")
        if isinstance(out, tuple) and not hasattr(out, "_fields"):
            return (*out, 1)
        return _Other(out)

    return faulty


def _refused(function: Function) -> Function:
    """Every call raises."""

    def change(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        touch()
        raise RuntimeError("not today")

    return damaged(function, change)


@contextmanager
def _unsupported(op: str) -> Iterator[None]:
    """No kernel, and the capabilities do not say so; special functions need not be there."""

    def refuse(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if right.space != "special":
            touch()
        raise UnsupportedOperationError("no kernel", "the faulty device", "write one")

    right = OPERATIONS[op]
    OPERATIONS[op] = replace(right, function=damaged(right.function, refuse))
    try:
        yield
    finally:
        OPERATIONS[op] = right


@contextmanager
def _said_to_be_unsupported(op: str) -> Iterator[None]:
    """The capabilities leave out what works."""
    touch()
    with with_capabilities(unsupported=(op,)):
        yield


class _Other:
    """As an object, but its numbers are twice as large."""

    def __init__(self, right: Any) -> None:
        self.right = right

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.right, name)
        return value * 2 if isinstance(value, (int, float)) else value


def _unsigned_zero(a: Host) -> Host:
    """Real zeros lose their sign; of complex ones the standard leaves some open."""
    return a + a.dtype.type(0) if a.dtype.kind == "f" else a


# ---- what is not the value --------------------------------------------------------------------
def _each(change: Callable[[Tensor], Any]) -> Callable[[Function], Function]:
    def of(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.device != FAULTY:
            return x
        out = change(x)
        if out is not x:
            touch()
        return out

    return lambda function: damaged(function, lambda out, args, kwargs: tree_map(of, out))


_WRONG_TYPE = {
    "float32": "float64", "float64": "float32", "float16": "float32", "bfloat16": "float32",
    "complex64": "complex128", "complex128": "complex64", "bool": "int8",
}  # fmt: skip


def _other_dtype(x: Tensor) -> Tensor:
    other = _WRONG_TYPE.get(x.dtype.name, "int32" if x.dtype.name == "int64" else "int64")
    made = x.kernels.backend.astype(raw(x), np.dtype(other))
    return new_tensor(x.kernels.coerce(made), find_kernels(FAULTY.name, other))


def _one_axis_more(x: Tensor) -> Tensor:
    return pg.expand_dims(x, axis=0)


def _vector_of_scalar(x: Tensor) -> Tensor:
    return pg.expand_dims(x, axis=0) if x.ndim == 0 else x


def _elsewhere(x: Tensor) -> Tensor:
    return x.to("cpu")


def _strides_ignored(function: Function) -> Function:
    """Reads the memory of an argument from its start, in the order in which it lies there."""

    def memory(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.device != FAULTY or x.ndim == 0:
            return x
        a = np.asarray(on_host(x))
        if a.flags.c_contiguous:
            return x
        owner = a
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        flat = owner.view(np.ndarray).ravel(order="K")
        return replaced(x, np.resize(flat, a.shape).astype(a.dtype))

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(memory, args), tree_map(memory, kwargs)
        return function(*args, **kwargs)

    return faulty


def _first_dtype(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operands of two dtypes give the first one's."""
    given = [x for x in leaves((args, kwargs)) if isinstance(x, Tensor)]
    if len({x.dtype for x in given}) < 2:
        return out

    def of(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        other = next((t.dtype for t in given if t.dtype != x.dtype), x.dtype)
        touch()
        return pg.astype(x, other)

    return tree_map(of, out)


def _overwrites(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The lowest bit of each argument is flipped, in its memory."""
    for x in leaves((args, kwargs)):
        if isinstance(x, Tensor) and x.device == FAULTY and x.size:
            byte = ctypes.c_uint8.from_address(on_host(x).__array_interface__["data"][0])
            byte.value ^= 1
            touch()
    return out


def _drifting(function: Function) -> Function:
    """Every call but the first differs in the last place: a stale cache, or a race."""
    calls = 0

    def change(out: Any, args: Any, kwargs: Any) -> Any:
        nonlocal calls
        calls += 1

        def of(x: Any) -> Any:
            if not isinstance(x, Tensor) or x.device != FAULTY or x.size == 0 or calls == 1:
                return x
            a = np.array(on_host(x))
            if a.dtype.kind in "fc":
                moved = np.nextafter(a.real, np.inf).astype(a.real.dtype)
                return replaced(x, (moved + 1j * a.imag).astype(a.dtype) if a.dtype.kind == "c"
                                else moved)  # fmt: skip
            return replaced(x, ~a if a.dtype.kind == "b" else a + a.dtype.type(1))

        return tree_map(of, out)

    return damaged(function, change)


def _no_error(function: Function) -> Function:
    """Bad arguments give an empty result."""

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            if not (here((args, kwargs)) or not any(isinstance(x, Tensor) for x in leaves(args))):
                raise
            touch()
            return pg.zeros((), device=FAULTY)

    return faulty


class _OtherError(Exception):
    """What no caller expects."""


def _wrong_error(function: Function) -> Function:
    """Bad arguments raise something else."""

    @functools.wraps(function)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            touch()
            raise _OtherError(str(error)) from error

    return faulty


# ---- the gradient ---------------------------------------------------------------------------
def _on_arguments(change: Callable[[Tensor], Tensor]) -> Callable[[Function], Function]:
    def of(x: Any) -> Any:
        tracked = isinstance(x, Tensor) and x.device == FAULTY and x.requires_grad
        return change(x) if tracked else x

    def damage(function: Function) -> Function:
        @functools.wraps(function)
        def faulty(*args: Any, **kwargs: Any) -> Any:
            return function(*tree_map(of, args), **tree_map(of, kwargs))

        return faulty

    return damage


def _leaking(order: int) -> Callable[[Function], Function]:
    """To each result is added what is zero, but has a derivative by an argument."""

    def change(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tracked = [x for x in leaves((args, kwargs)) if isinstance(x, Tensor) and x.requires_grad]
        if not tracked or tracked[0].device != FAULTY or not tracked[0].size:
            return out
        x = tracked[0]
        leak = pg.sum((x - x.detach()) ** order)

        def of(y: Any) -> Any:
            if not isinstance(y, Tensor) or y.device != FAULTY or not y.kernels.inexact:
                return y
            touch()
            same = pg.real(leak) if leak.kernels.is_complex > y.kernels.is_complex else leak
            return y + pg.astype(same, y.dtype)

        return tree_map(of, out)

    return lambda function: damaged(function, change)


def of_cotangents(function: Function) -> Function:
    """What flows back has a factor, whichever way it goes on."""

    def change(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def of(y: Any) -> Any:
            tracked = isinstance(y, Tensor) and y.device == FAULTY and y.requires_grad
            return _Scaled.apply(y, 1.01, 0.0) if tracked else y

        return tree_map(of, out)

    return damaged(function, change)


DAMAGES: dict[str, Class] = {
    "constant result": Class("value", _values(_constant)),
    "wrong sign": Class("value", _values(_negated)),
    "off by a tenth": Class("value", _values(_scaled(1e-1))),
    "off by a thousandth": Class("value", _values(_scaled(1e-3))),
    "first element": Class("value", _values(_at(lambda flat: 0))),
    "last element": Class("value", _values(_at(lambda flat: -1))),
    "tail unwritten": Class("value", _values(_tail)),
    "second block": Class("value", _values(_second_block)),
    "call refused": Class("value", _refused),
    "another answer": Class("value", _wrong_answer),
    "another truth of special values": Class("special", lambda f: damaged(f, _special_truth)),
    "sign of a zero lost": Class("special", _values(_unsigned_zero)),
    "special values lost": Class("special", _values(_special)),
    "wrong dtype": Class("dtype", _each(_other_dtype)),
    "an axis too many": Class("shape", _each(_one_axis_more)),
    "0-d becomes 1-d": Class("shape", _each(_vector_of_scalar)),
    "strides ignored": Class("layout", _strides_ignored),
    "dtype of the first operand": Class(
        "promotion", lambda f: damaged(f, _first_dtype)
    ),
    "result on another device": Class("device", _each(_elsewhere)),
    "arguments overwritten": Class("purity", lambda f: damaged(f, _overwrites)),
    "differs from call to call": Class("repeat", _drifting),
    "no error": Class("error", _no_error),
    "another error": Class("error", _wrong_error),
    "not supported, which is not said": Class("claims", planted=_unsupported),
    "said to be unsupported": Class("claims", planted=_said_to_be_unsupported),
    "gradient off by a hundredth": Class(
        "grad", _on_arguments(lambda x: _Scaled.apply(x, 1.01, 0.0))
    ),
    "gradient with a term too many": Class(
        "grad", _on_arguments(lambda x: _Scaled.apply(x, 1.0, 0.01))
    ),
    "gradient of the wrong sign": Class(
        "grad", _on_arguments(lambda x: _Scaled.apply(x, -1.0, 0.0))
    ),
    "gradient lost": Class("grad", _on_arguments(lambda x: _Scaled.apply(x, 0.0, 0.0))),
    "gradient doubled": Class("grad", _on_arguments(lambda x: _Scaled.apply(x, 2.0, 0.0))),
    "gradient from nowhere": Class("grad", _leaking(1)),
    "second derivative off": Class(
        "gradgrad", _on_arguments(lambda x: _ScaledTwice.apply(x, 1.01))
    ),
    "curvature from nowhere": Class("gradgrad", _leaking(2)),
}  # fmt: skip


def names(kind: str) -> Iterable[str]:
    """The classes that a check kind must find."""
    return [name for name, c in DAMAGES.items() if c.kind == kind]
