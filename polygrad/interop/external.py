"""`pg.external`: functions that polygrad cannot see into, with a derivative that somebody wrote.

A compiled filter, a solver, a simulator: anything that takes and returns arrays. The tape records
the call as one node. Rules have the form of a primitive's: their parameter names say what they
need, and exactly that is saved. But they always run on Tensors, so what they are made of may be
polygrad's functions or other externals; then they are differentiable themselves, as often as one
likes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, overload

import numpy as np

from polygrad import tree
from polygrad.calls import attach, two_devices
from polygrad.config import grad_mode
from polygrad.errors import (
    DeviceMismatchError,
    ForeignArrayError,
    GradientError,
    InvalidTypeError,
    PrimitiveError,
)
from polygrad.indexing import broadcasts_to
from polygrad.ops._axes import as_tensor
from polygrad.primitive import revive_input, revive_output
from polygrad.registry import backend_of, kernels_for
from polygrad.tape import Node
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = ["External", "external"]

Function = Callable[..., Any]
Rules = Mapping[str, Function] | Function | None


class External:
    """What `pg.external` makes: callable like the function, on Tensors."""

    joint = True
    later: tuple[int, ...] = ()
    outputs = 0
    rules: tuple[Any, ...] = ()
    tensor_namespace = None

    def __init__(self, function: Function, vjp: Rules, name: str | None, host: bool) -> None:
        functools.update_wrapper(self, function)
        self.function, self.host = function, host
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise InvalidTypeError(
                "the parameters of a compiled function cannot be looked up",
                f"external, function {self.name}", "wrap it: def f(x, y): return compiled(x, y)",
            ) from None  # fmt: skip
        self.parameters = tuple(self.signature.parameters)
        self.vjp = dict(vjp) if isinstance(vjp, Mapping) else vjp
        self._check()

    def _check(self) -> None:
        rules = self.vjp if isinstance(self.vjp, dict) else {}
        for wrt in rules:
            if wrt not in self.parameters:
                raise PrimitiveError(
                    f"a rule for {wrt!r}, which is no parameter", f"external {self.name}",
                    f"parameters: {', '.join(self.parameters)}",
                )  # fmt: skip
        legal = ("g", "out", *self.parameters)
        # What each rule asks for; under None, what the only one does. Looked up once: it is slow.
        self.asked: dict[str | None, list[str]] = {wrt: _asked(rule) for wrt, rule in rules.items()}
        if callable(self.vjp):
            self.asked[None] = _asked(self.vjp)
        for asked in self.asked.values():
            unknown = set(asked) - set(legal)
            if unknown:
                raise PrimitiveError(
                    f"a rule asks for unknown {sorted(unknown)}", f"external {self.name}",
                    f"legal names: {', '.join(legal)}",
                )  # fmt: skip

    def __repr__(self) -> str:
        """Name and parameters."""
        return f"<external {self.name}({', '.join(self.parameters)})>"

    # ---- the call ---------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the arrays of Tensors; recorded if one of them requires grad."""
        bound, full = (self.signature.bind(*args, **kwargs) for _ in range(2))
        full.apply_defaults()
        values = [full.arguments[name] for name in self.parameters]
        lead = self._lead(values)
        for name, value in bound.arguments.items():
            if isinstance(value, Tensor):
                bound.arguments[name] = self._given(value)
        guard = None if lead is None else lead.kernels.guard
        try:
            with nullcontext() if guard is None else guard():
                made = self.function(*bound.args, **bound.kwargs)
        except Exception as error:
            error.add_note(f"in the external function {self.name}")
            raise
        single = not isinstance(made, (tuple, list))
        results = [self._result(r, lead) for r in ((made,) if single else made)]
        if grad_mode.get() and any(isinstance(v, Tensor) and v.tracked for v in values):
            self._record(values, results, single)
        return results[0] if single else tuple(results)

    def _lead(self, values: list[Any]) -> Tensor | None:
        """The first Tensor, after all were seen to be on its device."""
        lead: Tensor | None = None
        for name, value in zip(self.parameters, values, strict=True):
            if not isinstance(value, Tensor):
                if any(isinstance(leaf, Tensor) for leaf in tree.leaves(value)):
                    raise InvalidTypeError(
                        f"a Tensor inside a {type(value).__name__}",
                        f"{self.name}, argument {name}", "give each Tensor a parameter of its own",
                    )  # fmt: skip
                continue
            raw(value)
            lead = value if lead is None else lead
            if value.device != lead.device:
                raise two_devices(lead, value, f"{self.name}, argument {name}")
        return lead

    def _given(self, t: Tensor) -> Any:
        """The array of a Tensor as the function sees it; one of NumPy is read-only."""
        array = t.kernels.backend.to_numpy(raw(t)) if self.host else raw(t)
        if isinstance(array, np.ndarray):
            array = array.view()
            array.flags.writeable = False
        return array

    def _result(self, value: Any, lead: Tensor | None) -> Any:
        """What the function returned as a Tensor; what is no array or float, as it is."""
        if isinstance(value, (np.generic, float, complex)):
            value = np.asarray(value)
        backend = None if isinstance(value, (int, str, type(None))) else backend_of(value)
        if backend is None or isinstance(value, Tensor):
            return value
        if lead is None:
            return new_tensor(value, backend.kernels_of(value))
        here = lead.kernels.backend
        if backend is here:
            return new_tensor(value, here.kernels_of(value))
        if isinstance(raw(lead), type(value)):  # arrays of a subclass, whose functions return these
            return new_tensor(lead.kernels.coerce(value), lead.kernels.of(value))
        if not self.host and value.ndim:
            raise ForeignArrayError(
                f"the function was given arrays on {lead.device} and returned one of "
                f"{backend.name}", f"external {self.name}",
                "compute with arrays of the device, or declare it with host=True: arguments are "
                "copied to the host then, and results back",
            )  # fmt: skip
        host = backend.to_numpy(value)
        kernels = kernels_for(lead.device, host.dtype, f"external {self.name}")
        return new_tensor(kernels.from_numpy(host), kernels)

    # ---- the tape ---------------------------------------------------------------------------
    def _record(self, values: list[Any], results: list[Any], single: bool) -> None:
        """Put the call on the tape."""
        places = tuple(i for i, r in enumerate(results) if isinstance(r, Tensor))
        outputs = [results[i] for i in places]
        if not any(t.kernels.inexact for t in outputs):
            return
        tracked = [isinstance(v, Tensor) and v.tracked for v in values]
        edges = tuple(
            (v if v.node is None else v.node) if track else None
            for v, track in zip(values, tracked, strict=True)
        )
        arrays = tuple(raw(t) for t in outputs)
        needed = self._needed(tracked)
        saved: list[Any] = [(len(results), *places), None]
        saved[1] = (arrays[0] if single else arrays) if "out" in needed else None
        for name, v in zip(self.parameters, values, strict=True):
            saved.append((raw(v) if isinstance(v, Tensor) else v) if name in needed else None)
        shapes = tuple(v.shape if track else None for v, track in zip(values, tracked, strict=True))
        kernels = next(v.kernels for v in values if isinstance(v, Tensor))
        node = Node(self, edges, shapes, kernels, tuple(saved))
        node.casts = tuple(v.kernels if isinstance(v, Tensor) else None for v in values)
        attach(node, 1 if single else 0, outputs)

    def _needed(self, tracked: Sequence[bool]) -> set[str]:
        """What the rules of the tracked parameters ask for."""
        wrt = [None, *(n for n, t in zip(self.parameters, tracked, strict=True) if t)]
        return {n for w in wrt for n in self.asked.get(w, ())}

    def revive(self, node: Node, saved: Any) -> Any:
        """Saved arrays as Tensors, on their edges: this backward is recorded."""
        casts = node.casts or ()
        values = list(saved)
        if values[1] is not None:
            values[1] = revive_output(node, values[1])
        for i, kernels in enumerate(casts):
            if kernels is not None and values[2 + i] is not None:
                values[2 + i] = revive_input(node, i, values[2 + i])
        return tuple(values)

    def _wrapped(self, node: Node, saved: Any) -> tuple[Any, ...]:
        """Saved arrays as constant Tensors."""
        values, here = list(saved), node.kernels
        if values[1] is not None:
            outs = values[1] if isinstance(values[1], tuple) else (values[1],)
            outs = tuple(new_tensor(o, here.of(o)) for o in outs)
            values[1] = outs[0] if node.outs is None else outs
        for i, kernels in enumerate(node.casts or ()):
            if kernels is not None and values[2 + i] is not None:
                values[2 + i] = new_tensor(values[2 + i], kernels)
        return tuple(values)

    def backward(self, node: Node, g: Any, F: Any, saved: Any, wanted: Sequence[bool]) -> list[Any]:
        """The cotangents of the parameters that want one, by the rules."""
        recorded = F is not node.kernels
        if not recorded:
            saved = self._wrapped(node, saved)
        gs = g if node.outs is not None else (g,)
        gs = [x if isinstance(x, Tensor) else new_tensor(x, node.kernels.of(x)) for x in gs]
        (count, *places), out, *values = saved
        known = dict(zip(self.parameters, values, strict=True))
        if node.outs is None:
            known |= {"g": gs[0], "out": out}
        else:
            out = None if out is None else _spread(out, places, count)
            known |= {"g": _spread(gs, places, count), "out": out}
        results = self._results(known, wanted)
        made = [
            None if r is None or not want else self._cotangent(node, i, r)
            for i, (r, want) in enumerate(zip(results, wanted, strict=True))
        ]
        return made if recorded else [None if r is None else raw(r) for r in made]

    def _results(self, known: dict[str, Any], wanted: Sequence[bool]) -> list[Any]:
        """What the rules return, a value for each parameter."""
        if self.vjp is None or isinstance(self.vjp, dict):
            return [
                self._rule(name)(**{n: known[n] for n in self.asked[name]}) if want else None
                for name, want in zip(self.parameters, wanted, strict=True)
            ]
        made = self.vjp(**{n: known[n] for n in self.asked[None]})
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        if len(results) != len(self.parameters):
            raise GradientError(
                f"{len(results)} gradients for {len(self.parameters)} parameters",
                f"the vjp of the external function {self.name}",
                f"return one for each of {', '.join(self.parameters)}; None where there is none",
            )
        return results

    def _rule(self, name: str) -> Function:
        rule = self.vjp.get(name) if isinstance(self.vjp, dict) else None
        if rule is None:
            raise GradientError(
                f"there is no rule for {name!r}", f"external function {self.name}",
                f"declare one, vjp={{{name!r}: ...}}, or detach() the argument",
            )  # fmt: skip
        return rule

    def _cotangent(self, node: Node, i: int, value: Any) -> Tensor:
        """What a rule returned as a Tensor on the device of its parameter, seen to fit it."""
        where = f"the rule for {self.parameters[i]!r} of the external function {self.name}"
        here, shape = node.kernels, node.shapes[i]
        if isinstance(value, np.ndarray) and self.host:
            value = here.coerce(value)
        t = as_tensor(value, where)
        if not broadcasts_to(shape or (), t.shape):
            raise GradientError(
                f"a gradient of shape {t.shape} for an argument of shape {shape}", where,
                "a gradient has the shape of its argument",
            )  # fmt: skip
        if t.device != here.device:
            raise DeviceMismatchError(
                f"a gradient on {t.device} for an argument on {here.device}", where,
                "keep to the device of g in rules",
            )  # fmt: skip
        return t


def _spread(values: Sequence[Any], places: Sequence[int], count: int) -> tuple[Any, ...]:
    """Values at their places among the outputs, None at the others, which are no arrays."""
    found: list[Any] = [None] * count
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return tuple(found)


def _asked(rule: Function) -> list[str]:
    """The names that a rule asks for: those of its parameters without a default value."""
    found = inspect.signature(rule).parameters.items()
    return [name for name, p in found if p.default is inspect.Parameter.empty]


@overload
def external(
    function: Function, /, vjp: Rules = None, *, name: str | None = None, host: bool = False
) -> External: ...
@overload
def external(
    function: None = None, /, vjp: Rules = None, *, name: str | None = None, host: bool = False
) -> Callable[[Function], External]: ...
def external(
    function: Function | None = None,
    /,
    vjp: Rules = None,
    *,
    name: str | None = None,
    host: bool = False,
) -> Any:
    """Make a function of arrays a function of Tensors, with the derivative that it is given.

    Parameters
    ----------
    function
        Takes arrays of the Tensors' library and returns one, or several in a tuple or list;
        everything that it returns that is no array and no float is handed on. Any of its parameters
        may be given a Tensor, by position or by name. It must not write to what it is given (arrays
        of NumPy are read-only) nor, later, to what it returned. Left out: `external` is a
        decorator.
    vjp
        The rules: for each differentiable parameter a function of the cotangent of the result that
        returns the cotangent of the parameter; or one function that returns a tuple, a cotangent or
        None for each parameter. Parameter names of rules say what they are called with: `g` (a
        tuple for several outputs), `out`, and the function's own parameters, which these two hide.
        A rule's parameter with a default value is its own. What was given as a Tensor, `g` and
        `out` are Tensors, and so is what is returned. A parameter without a rule is an error when
        its gradient is wanted.
    name
        What it is called in messages and on the tape; the function's own name by default.
    host
        Copy arguments to the host, and results back: for functions that know NumPy only, and
        Tensors on another device. Otherwise such a call is an error.

    Returns
    -------
    External
        To be called as the function is.

    Raises
    ------
    PrimitiveError
        A rule asks for an unknown name.
    InvalidTypeError
        The parameters of the function cannot be looked up.

    Notes
    -----
    For complex numbers a rule is the adjoint under Re<a, b>, as everywhere in polygrad: where the
    function multiplies by c, its rule multiplies by conj(c).

    A rule that NumPy or SciPy must compute is an external of its own. If it has rules too, the
    gradient can be differentiated; else that is an error, never a wrong result.

    Examples
    --------
    >>> import numpy as np
    >>> import polygrad as pg
    >>> hypot = pg.external(lambda x, y: np.hypot(x, y), name="hypot", vjp={
    ...     "x": lambda g, x, out: g * x / out,
    ...     "y": lambda g, y, out: g * y / out,
    ... })
    >>> x = pg.tensor([3.0, 5.0], requires_grad=True)
    >>> hypot(x, pg.tensor([4.0, 12.0])).sum().backward()
    >>> x.grad
    tensor([0.6..., 0.3846...], dtype=float32)
    """
    if function is None:
        return functools.partial(external, vjp=vjp, name=name, host=host)
    return External(function, vjp, name, host)
