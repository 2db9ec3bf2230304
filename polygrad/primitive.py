"""Primitives: a name, a forward in functions of the standard, one rule for each input.

A rule's parameter names say what it needs, and exactly that is saved:

====================  =========================================================
`g`                   the cotangent (a tuple for several outputs)
`F`                   the namespace it runs on: Kernels, or Tensor operations
an input's name       that input's saved value
`out`                 the saved output (a tuple for several)
`out_1`               of several outputs the second: the others are not kept alive
`out_mask`            of one output, only where it is not 0: the array is not kept alive
`<input>_shape`       only the shape: the array is not kept alive
a keyword's name      the keyword's value
`i`                   which input, for a primitive of a list of inputs
`wanted`              which inputs need a gradient, for a JointPrimitive
====================  =========================================================

A rule uses operators and functions of `F`, each of which is a primitive again. So the same rule
runs on raw arrays, and on Tensors to be differentiated once more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from polygrad.errors import GradientError, PrimitiveError
from polygrad.kernels import declare_forward, parameter_names
from polygrad.straight import make_call
from polygrad.tape import IDENTITY, Node, Port
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = [
    "CONSTANT", "PRIMITIVES", "Composite", "JointPrimitive", "Primitive", "Rule",
    "TensorOperations", "not_implemented", "revive_input", "revive_output",
]  # fmt: skip

Rule = Callable[..., Any]
CompiledRule = Callable[[Any, Any, Any], Any]

PRIMITIVES: dict[str, Primitive] = {}


class TensorOperations:
    """The namespace `F` of rules when they run on Tensors: every primitive by name."""

    is_complex = True  # so that rules do not skip a conjugate; on real tensors it is the identity

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The recorded call of a primitive."""
        try:
            call = PRIMITIVES[name].call
        except KeyError:
            raise PrimitiveError(
                f"a rule uses F.{name}, which is no primitive",
                "a rule that runs on Tensors",
                "declare it, with rules, in polygrad/ops",
            ) from None
        self.__dict__[name] = call
        return call


def CONSTANT(g: Any) -> None:  # noqa: N802  a rule, and a constant of the language of rules
    """The rule of a function whose derivative is zero wherever it exists."""


def not_implemented(why: str) -> Rule:
    """A rule that raises when its gradient is asked for, and says why there is none."""

    def rule(g: Any) -> Any:  # noqa: ARG001  every rule takes g
        raise GradientError("this gradient is not implemented", why, "detach() the input")

    return rule


class Primitive:
    """What the tape records.

    Parameters
    ----------
    name
        The name kernels are registered under.
    inputs
        Names of the array inputs; with `variadic` one name, of a sequence.
    vjp
        A rule for each differentiable input; CONSTANT and `not_implemented(why)` are rules too. For
        an input without one, asking for its gradient is an error.
    forward
        The function on raw arrays, called with inputs by position and keywords by name; if its
        first parameter is `F`, it receives the Kernels. Omitted: the library's function of that
        name.
    keywords
        Keyword arguments and their defaults.
    outputs
        How many arrays it returns; 0: as many as it happens to.
    promotes
        Inputs that are brought to one dtype first; all, if not given.
    floating
        Compute integers in the default floating dtype.
    real
        Refuse complex numbers: the function goes by their order.
    weak
        Python numbers may reach the forward as they are; otherwise they become 0-d arrays.
    elementwise
        Inputs broadcast against each other; used to explain errors.
    variadic
        The one input is a sequence of arrays.
    check
        Called with the operands after a kernel has failed; it raises an error that says more.
    """

    joint = False
    later: tuple[int, ...] = ()  # inputs that may get a Pending cotangent
    tensor_namespace = TensorOperations()

    def __init__(
        self,
        name: str,
        inputs: Sequence[str],
        vjp: dict[str, Rule],
        *,
        forward: Callable[..., Any] | None = None,
        keywords: dict[str, Any] | None = None,
        outputs: int = 1,
        promotes: Sequence[str] | None = None,
        floating: bool = False,
        real: bool = False,
        weak: bool = False,
        elementwise: bool = False,
        variadic: bool = False,
        check: Callable[..., None] | None = None,
    ) -> None:
        if name in PRIMITIVES:
            raise PrimitiveError(
                f"there is a primitive {name!r} already", name, "choose another name"
            )
        self.name, self.inputs, self.outputs = name, tuple(inputs), outputs
        self.keywords = dict(keywords or {})
        self.promotes = self.inputs if promotes is None else tuple(promotes)
        self.floating, self.weak, self.elementwise = floating, weak, elementwise
        self.variadic = variadic
        self.joint = variadic or type(self).joint
        self.check = check
        self.vjp = dict(vjp)
        self.places = {f"out_{i}": i for i in range(outputs)} if outputs > 1 else {}
        self.results = ("out", *(self.places if outputs != 1 else ("out_mask",)))
        self._check()
        self.needs = self._needs()
        self._savers: dict[int, Rule] = {}
        self.revivals = tuple(
            (k, n) for k, n in enumerate(self.needs) if n in (*self.results, *self.inputs)
        )
        declare_forward(name, forward, real=real)
        PRIMITIVES[name] = self
        self.call: Callable[..., Any] = make_call(self)

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Apply to Tensors, recorded if one of them requires grad."""
        return self.call(*inputs, **keywords)

    def __repr__(self) -> str:
        """Name and inputs."""
        return f"<Primitive {self.name}({', '.join(self.inputs)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name."""
        return PRIMITIVES.__getitem__, (self.name,)

    @functools.cached_property
    def rules(self) -> tuple[CompiledRule, ...]:
        """The rules as functions of (g, F, saved), compiled when first asked for."""
        return tuple(self._compile(i) for i in self.inputs)

    # ---- declaration ------------------------------------------------------------------------
    def legal_names(self) -> set[str]:
        """What a rule's parameters may be called."""
        names = {"g", "F", *self.results, *self.inputs, *self.keywords}
        names.update(f"{i}_shape" for i in self.inputs)
        return names | {"i"} if self.variadic else names

    def _check(self) -> None:
        legal = self.legal_names()
        for wrt, rule in self.vjp.items():
            if wrt not in self.inputs:
                raise PrimitiveError(
                    f"a rule for {wrt!r}, which is no input", f"primitive {self.name}",
                    f"inputs: {', '.join(self.inputs)}",
                )  # fmt: skip
            unknown = set(parameter_names(rule)) - legal
            if unknown:
                raise PrimitiveError(
                    f"the rule for {wrt!r} asks for unknown {sorted(unknown)}",
                    f"primitive {self.name}",
                    f"legal names: {', '.join(sorted(legal))}",
                )

    def rule_names(self, wrt: str) -> tuple[str, ...]:
        """The parameter names of the rule for an input."""
        rule = self.vjp.get(wrt)
        return () if rule is None else parameter_names(rule)

    def _needs(self) -> tuple[str, ...]:
        """The names whose values are saved, in a fixed order."""
        shapes = (f"{i}_shape" for i in self.inputs)
        order = (*self.results, *self.inputs, *shapes, *self.keywords)
        used = {n for i in self.inputs for n in self.rule_names(i)}
        return tuple(n for n in order if n in used)

    def _compile(self, wrt: str) -> CompiledRule:
        """The rule as a function of (g, F, saved)."""
        rule = self.vjp.get(wrt)
        if rule is None:
            rule = not_implemented(f"{self.name} has no rule for its input {wrt!r}")
        if not self.variadic and _is_identity(rule):
            return IDENTITY
        place = {n: f"saved[{k}]" for k, n in enumerate(self.needs)}
        more = "i" if self.variadic else "wanted"
        place.update({"g": "g", "F": "F", more: more})
        args = ", ".join(f"{n}={place[n]}" if n == more else place[n]
                         for n in parameter_names(rule))  # fmt: skip
        signature = f"g, F, saved, {more}" if self.joint else "g, F, saved"
        compiled: CompiledRule = eval(f"lambda {signature}: rule({args})", {"rule": rule})  # noqa: S307
        return compiled

    def saved_names(self, mask: int) -> set[str]:
        """The names needed when the inputs whose bit is set in `mask` need a gradient."""
        chosen = [i for k, i in enumerate(self.inputs) if mask >> k & 1 or self.variadic]
        return {n for i in chosen for n in self.rule_names(i)} & set(self.needs)

    # ---- the tape ---------------------------------------------------------------------------
    def save(
        self, F: Any, mask: int, arrays: Sequence[Any], out: Any, keywords: dict[str, Any]
    ) -> Any:
        """The values to save, None for those that no wanted gradient needs."""
        if self.variadic:
            mask = 0  # all are saved if one is
        saver = self._savers.get(mask)
        if saver is None:
            saver = self._savers[mask] = self._saver(mask)
        return saver(F, arrays, out, keywords)

    def _saver(self, mask: int) -> Rule:
        """What `save` does for one mask, written out: it runs for every recorded operation."""
        wanted, parts = self.saved_names(mask), []
        for n in self.needs:
            source = n if n in self.inputs else n.removesuffix("_shape")
            if n not in wanted:
                parts.append("None")
            elif n in ("out", "out_mask"):
                parts.append("out" if n == "out" else "F.mask_of(out)")
            elif n in self.places:
                parts.append(f"out[{self.places[n]}]")
            elif n in self.keywords:
                parts.append(f"k[{n!r}] if {n!r} in k else default[{n!r}]")
            elif self.variadic:
                parts.append("tuple(a)" if n in self.inputs else "tuple(map(shape, a))")
            else:
                i = self.inputs.index(source)
                parts.append(f"a[{i}]" if n in self.inputs else f"shape(a[{i}])")
        scope = {"default": self.keywords, "shape": _shape}
        text = "".join(part + ", " for part in parts)
        saver: Rule = eval(f"lambda F, a, out, k: ({text})", scope)  # noqa: S307  names checked above
        return saver

    def backward(self, node: Node, g: Any, F: Any, saved: Any, wanted: Sequence[bool]) -> list[Any]:
        """The cotangents of a sequence of inputs."""
        del node
        rule: Any = self.rules[0]
        return [rule(g, F, saved, i) if want else None for i, want in enumerate(wanted)]

    def revive(self, node: Node, saved: Any) -> Any:
        """Saved arrays as Tensors, re-attached to the edges they came from."""
        values = list(saved)
        for k, n in self.revivals:
            if values[k] is None:
                continue
            if n == "out":
                values[k] = revive_output(node, values[k])
            elif n == "out_mask":
                values[k] = new_tensor(values[k], node.kernels.of(values[k]))
            elif n in self.places:
                values[k] = _revive_one(node, self.places[n], values[k])
            elif self.variadic:
                values[k] = tuple(revive_input(node, j, v) for j, v in enumerate(values[k]))
            else:
                values[k] = revive_input(node, self.inputs.index(n), values[k])
        return tuple(values)


class JointPrimitive(Primitive):
    """One rule for all inputs: it returns the cotangent of each, None where there is none.

    For functions of which the cotangents have most of their work in common. The rule may ask for
    `wanted`, a list of bools, and leave out the others; it gets None for an output that was not
    used. All that it needs is saved, whichever inputs need a gradient. For the inputs named in
    `later`, `wanted` may have LATER: see Note [Pending products].
    """

    joint = True
    materialize = False

    def __init__(
        self, name: str, inputs: Sequence[str], rule: Rule, *, later: Sequence[str] = (),
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, inputs, dict.fromkeys(inputs, rule), **options)
        self.later = tuple(map(self.inputs.index, later))

    def legal_names(self) -> set[str]:
        """What the rule's parameters may be called."""
        return super().legal_names() | {"wanted"}

    def backward(self, node: Node, g: Any, F: Any, saved: Any, wanted: Sequence[bool]) -> list[Any]:
        """The cotangents of all inputs."""
        del node
        rule: Any = self.rules[0]
        return list(rule(g, F, saved, wanted))


class Composite(Primitive):
    """A formula in `F` that a backend may replace by one kernel; on Tensors it is recorded as such.

    For what only rules use, and few derive again: no rule has to be written for it. An input may
    be None if the formula knows what that means. On arrays the formula is the `forward`, unless
    there is another.
    """

    def __init__(
        self, name: str, inputs: Sequence[str], formula: Callable[..., Any], *,
        forward: Callable[..., Any] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, inputs, {}, forward=forward or formula, **options)
        self.formula = formula
        self.call = functools.partial(formula, self.tensor_namespace)


def _is_identity(rule: Rule) -> bool:
    """Whether a rule reads `lambda g: g`."""
    code, model = rule.__code__, (lambda g: g).__code__
    return code.co_code == model.co_code and code.co_varnames == model.co_varnames


def _shape(a: Any) -> tuple[int, ...]:
    return tuple(getattr(a, "shape", ()))


def _attached(value: Any, kernels: Any, edge: Any) -> Tensor:
    t = new_tensor(value, kernels)
    t.node, t.tracked = edge, True
    return t


def revive_output(node: Node, value: Any) -> Any:
    """The saved output of a node as a Tensor, a tuple of several as Tensors."""
    if node.outs is None:
        return _attached(value, node.kernels.of(value), node)
    return tuple(_revive_one(node, i, v) for i, v in enumerate(value))


def _revive_one(node: Node, i: int, value: Any) -> Tensor:
    """The saved output `i` of a node of several as a Tensor."""
    kernels = node.kernels.of(value)
    if not kernels.inexact:
        return new_tensor(value, kernels)
    return _attached(value, kernels, Port(node, i))


def revive_input(node: Node, i: int, value: Any) -> Any:
    """The saved input `i` of a node as a Tensor, attached to the edge it came from."""
    if type(value) is not node.kernels.array_type and not hasattr(value, "shape"):
        return value  # a Python number
    edge = node.edges[i]
    kernels = node.kernels.of(value)
    if edge is None:
        return new_tensor(value, kernels)
    cast = None if node.casts is None else node.casts[i]
    if isinstance(edge, Tensor) and raw(edge) is value:
        return edge
    if isinstance(edge, Tensor) or (cast is not None and cast is not kernels):
        # The leaf was overwritten since, or the value was cast: keep the saved value, and the path.
        return _attached(value, kernels, _identity_node(edge, node.shapes[i], cast or kernels))
    return _attached(value, kernels, edge)


def _identity_node(edge: Any, shape: Any, kernels: Any) -> Node:
    return Node(PRIMITIVES["identity"], (edge,), (shape,), kernels, ())
