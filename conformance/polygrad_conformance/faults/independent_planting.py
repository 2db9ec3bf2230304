"""How a fault of the independent set is described, planted, and shown to be real.

The set is written from the list of functions and from reports of real bugs, by somebody who has not
read the checks: what the suite finds of it says how good the suite is. A fault touches Tensors of
the faulty device only. Its demonstration is computed there and on `cpu`: the two are the same to
the bit, and differ while the fault is planted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.families import OPERATIONS
from polygrad.kernels import parameter_names
from polygrad.primitive import PRIMITIVES
from polygrad.registry import find_device
from polygrad_conformance.faults.device import FAULTY, in_kernel, install
from polygrad_conformance.faults.planting import in_attribute, in_function

__all__ = [
    "IndependentFault", "Place", "backend_method", "function", "kernel", "method", "only", "rule",
    "same",
]  # fmt: skip

Wrong = Callable[..., Any]


class Place:
    """The device of a demonstration: it makes tensors there, and calls the registry's functions."""

    def __init__(self, device: str) -> None:
        self.device = device

    def __call__(self, data: Any, dtype: str = "float32", *, grad: bool = False) -> Any:
        """A tensor of this device."""
        return pg.tensor(np.asarray(data, dtype), device=self.device, requires_grad=grad)

    def run(self, op: str, *args: Any, **kwargs: Any) -> Any:
        """The function of the registry, as it is now."""
        return OPERATIONS[op].function(*args, **kwargs)

    def grad(self, f: Callable[..., Any], *data: Any, dtype: str = "float64") -> list[Any]:
        """The gradients of the sum of f with respect to each of its operands."""
        operands = [self(d, dtype, grad=True) for d in data]
        f(*operands).sum().backward()
        return [t.grad for t in operands]


@dataclass(frozen=True)
class IndependentFault:
    """One fault.

    Attributes
    ----------
    name
        What is wrong, in a sentence.
    chapter
        Under which it is counted.
    touches
        An operation, a kernel, `nn.Linear`, `optim.Adam`, `indexing`, `transfer`, `random.*`.
    precedent
        Where it happened: an address, or the kind of library that is known for it; may be empty.
    planted
        Makes the context manager in which the faulty device is faulty.
    shown
        The demonstration: called with a Place.
    """

    name: str
    chapter: str
    touches: str
    precedent: str
    planted: Callable[[], AbstractContextManager[Any]]
    shown: Callable[[Place], Any]


def _devices(value: Any) -> set[str]:
    """Where the Tensors among arguments live, and what is named as a device."""
    if isinstance(value, pg.Tensor):
        return {value.device.name}
    if isinstance(value, (tuple, list)):
        return set().union(*map(_devices, value))
    if isinstance(value, dict):
        named = value.get("device")
        own = set() if named is None else {str(named)}
        return own.union(*map(_devices, value.values()))
    return set()


def _here(args: Any, kwargs: Any) -> bool:
    """Whether a call is for the faulty device; without a device among arguments, by default."""
    found = _devices(args) | _devices(kwargs) or {find_device(None).name}
    return FAULTY.name in found


def _either(right: Wrong, wrong: Wrong) -> Wrong:
    """`wrong(right, ...)` on the faulty device, `right(...)` elsewhere."""

    @functools.wraps(right)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        return wrong(right, *args, **kwargs) if _here(args, kwargs) else right(*args, **kwargs)

    return chosen


@contextmanager
def _in_backend(attribute: str, wrong: Wrong) -> Iterator[None]:
    backend = install()
    with in_attribute(backend, attribute, lambda right: lambda *a, **k: wrong(right, *a, **k)):
        yield


@contextmanager
def _in_rule(primitive: str, wrt: str, wrong: Wrong) -> Iterator[None]:
    """Another rule for one input; `right` among its parameters is the right result."""
    p = PRIMITIVES[primitive]
    i, names = p.inputs.index(wrt), parameter_names(wrong)
    right = p.rules[i]

    def chosen(g: Any, F: Any, saved: Any) -> Any:
        tensors = [t for t in (g if isinstance(g, tuple) else (g,)) if isinstance(t, pg.Tensor)]
        on = tensors[0].device if tensors else F.device
        if on != FAULTY:
            return right(g, F, saved)
        known = {"g": g, "F": F}
        if "right" in names:
            known["right"] = right(g, F, saved)
        return wrong(*(known[n] if n in known else saved[p.needs.index(n)] for n in names))

    with in_attribute(p, "rules", lambda rules: (*rules[:i], chosen, *rules[i + 1 :])):
        yield


def function(
    chapter: str, op: str, name: str, precedent: str, wrong: Wrong, shown: Callable[[Place], Any]
) -> IndependentFault:
    """A fault in a function of the registry: `wrong(right, ...)` in its place."""
    planted = lambda: in_function(op, lambda right: _either(right, wrong))
    return IndependentFault(name, chapter, op, precedent, planted, shown)


def kernel(
    chapter: str, op: str, name: str, precedent: str, wrong: Wrong, shown: Callable[[Place], Any]
) -> IndependentFault:
    """A fault in a kernel of the faulty device: `wrong(right, ...)` on raw arrays in its place."""
    return IndependentFault(
        name, chapter, op, precedent,
        lambda: in_kernel(op, lambda right: functools.partial(wrong, right)), shown,
    )  # fmt: skip


def rule(
    op: str, wrt: str, name: str, precedent: str, wrong: Wrong, shown: Callable[[Place], Any]
) -> IndependentFault:
    """A fault in the gradient of a primitive with respect to one input."""
    return IndependentFault(
        name, "gradients", op, precedent, lambda: _in_rule(op, wrt, wrong), shown
    )  # fmt: skip


def method(
    chapter: str, touches: str, owner: Any, attribute: str, name: str, precedent: str,
    wrong: Wrong, shown: Callable[[Place], Any], *, everywhere: bool = False,
) -> IndependentFault:  # fmt: skip
    """A fault in a method of a class, or in a function of a module, for Tensors of the device.

    `everywhere`: `wrong` itself looks where it is.
    """

    def planted() -> AbstractContextManager[Any]:
        def damage(right: Wrong) -> Wrong:
            return (lambda *a, **k: wrong(right, *a, **k)) if everywhere else _either(right, wrong)

        return in_attribute(owner, attribute, damage)

    return IndependentFault(name, chapter, touches, precedent, planted, shown)


def backend_method(
    chapter: str, touches: str, attribute: str, name: str, precedent: str, wrong: Wrong,
    shown: Callable[[Place], Any],
) -> IndependentFault:  # fmt: skip
    """A fault in a method of the backend."""
    return IndependentFault(
        name, chapter, touches, precedent, lambda: _in_backend(attribute, wrong), shown
    )  # fmt: skip


def only(kinds: str, wrong: Wrong) -> Wrong:
    """A kernel's fault for arrays of some of NumPy's kinds (letters of buifc), else the kernel."""

    def chosen(right: Wrong, *args: Any, **kwargs: Any) -> Any:
        arrays = [np.asarray(a) for a in args if hasattr(a, "dtype")]
        if not arrays or arrays[0].dtype.kind not in kinds:
            return right(*args, **kwargs)
        plain = [np.asarray(a) if hasattr(a, "dtype") else a for a in args]
        with np.errstate(all="ignore"):
            return wrong(right, *plain, **kwargs)

    return chosen


def same(a: Any, b: Any) -> bool:
    """Whether two results of a demonstration have the same structure, dtypes, shapes and bits."""
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    x, y = (_host(v) for v in (a, b))
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def _host(value: Any) -> np.ndarray[Any, Any]:
    host = np.asarray(value.detach().numpy() if isinstance(value, pg.Tensor) else value)
    if host.dtype.kind in "fc":  # the payload and the sign of a NaN do not count
        parts = host.view(host.real.dtype) if host.ndim and host.flags.c_contiguous else host
        host = np.where(np.isnan(parts), np.array(np.nan, parts.dtype), parts)
    return np.ascontiguousarray(host).reshape(host.shape)
