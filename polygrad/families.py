"""Families: how a row of an op table becomes a primitive, a public function and its documentation.

`Chapter` is the table of one chapter of the array API standard. Its methods `unary`, `binary`,
`comparison`, `constant` declare an elementwise function in one row; `public` is the decorator for
functions with a signature of their own. Everything declared is found in `OPERATIONS`: methods,
namespaces, generated tests, documentation and conformance rows are made from there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from polygrad.casting import ACTIVE, FUNCTIONS, computing_dtype, policy
from polygrad.dtypes import float32
from polygrad.errors import PrimitiveError
from polygrad.kernels import parameter_names
from polygrad.primitive import CONSTANT, PRIMITIVES, Primitive, Rule
from polygrad.tensor import Tensor
from polygrad.tree import tree_map

__all__ = ["OPERATIONS", "Chapter", "Operation", "Samples", "operations_of"]

Function = TypeVar("Function", bound=Callable[..., Any])
Samples = Callable[[Any], Iterable[tuple[tuple[Any, ...], dict[str, Any]]]]


@dataclass(frozen=True)
class Operation:
    """One public function and what tests and documentation need to know of it.

    Attributes
    ----------
    name
        The name in the namespace.
    function
        What users call, on Tensors.
    chapter
        The chapter of the standard, or polygrad's own.
    summary
        One sentence.
    primitive
        The primitive behind an elementwise function; None for others.
    domain
        The open interval of real arguments that is sampled, per input.
    samples
        Makes (args, kwargs) from a sampler; NumPy arrays among them become tensors.
    kinds
        The dtype kinds it takes: letters of b (bool), i (integer), f (real), c (complex).
    differentiable
        False for functions whose result has no gradient (comparisons, indices, constants).
    method
        Whether Tensors have it as a method.
    space
        The part of polygrad it is found in, as `nn.functional`; empty: polygrad itself.
    variables
        Of a special function: its inputs, and whether it is differentiable with respect to each.
    """

    name: str
    function: Callable[..., Any]
    chapter: str
    summary: str
    primitive: Primitive | None = None
    domain: tuple[tuple[float, float], ...] = ()
    samples: Samples | None = None
    kinds: str = "f"
    differentiable: bool = True
    method: bool = False
    space: str = ""
    variables: dict[str, bool] | None = None


OPERATIONS: dict[str, Operation] = {}


def operations_of(space: str = "") -> dict[str, Operation]:
    """The operations of a part of polygrad, by their names there; of polygrad itself by default.

    >>> "exp" in operations_of(), "exp" in operations_of("nn.functional")
    (True, False)
    """
    return {o.name: o for o in OPERATIONS.values() if o.space == space}


_DOC = """{summary}

Parameters
----------
{parameters}

Returns
-------
Tensor
    The broadcast shape of the operands. {dtype}

Notes
-----
{note}
"""
_FULL = (-3.0, 3.0)


class Chapter:
    """The op table of one chapter; `space` says where its functions are found, see `Operation`."""

    def __init__(self, name: str, space: str = "") -> None:
        self.name, self.space = name, space

    def add(self, operation: Operation) -> None:
        """Enter an operation in the registry."""
        key = f"{self.space}.{operation.name}" if self.space else operation.name
        if key in OPERATIONS:
            raise PrimitiveError(f"the operation {key} is declared twice", self.name, "rename one")
        OPERATIONS[key] = operation

    def _elementwise(self, p: Primitive, summary: str, **facts: Any) -> Callable[..., Any]:
        function = p.call
        function.__module__ = "polygrad"
        names = {"x": "Operand.", "y": "Second operand; broadcasts with the first."}
        promoted = "Integers are computed in the default floating dtype. " if p.floating else ""
        rule = "; ".join(
            f"d/d{wrt}: " + (_rule_text(r) if r is not CONSTANT else "zero")
            for wrt, r in p.vjp.items()
        )
        function.__doc__ = _DOC.format(
            summary=summary,
            parameters="\n".join(f"{n}\n    {names[n]}" for n in p.inputs),
            dtype=promoted + "The dtype is the operands' promoted one."
            if facts.get("differentiable", True) else "The dtype is bool or an integer one.",
            note=f"Derivative. {rule}" if rule else "The result has no gradient.",
        )  # fmt: skip
        self.add(
            Operation(p.name, function, self.name, summary, primitive=p, space=self.space, **facts),
        )
        return function

    def unary(
        self,
        name: str,
        rule: Rule,
        summary: str,
        *,
        forward: Callable[..., Any] | None = None,
        floating: bool = False,
        domain: tuple[float, float] = _FULL,
        kinds: str = "fc",
        method: bool = True,
        samples: Samples | None = None,
    ) -> Callable[..., Any]:
        """An elementwise function of one array, and its rule."""
        p = Primitive(
            name, ("x",), {"x": rule}, forward=forward, floating=floating, elementwise=True
        )
        return self._elementwise(
            p, summary, domain=(domain,), kinds=kinds, method=method, samples=samples
        )

    def binary(
        self,
        name: str,
        x: Rule,
        y: Rule,
        summary: str,
        *,
        forward: Callable[..., Any] | None = None,
        floating: bool = False,
        weak: bool = False,
        domain: tuple[tuple[float, float], tuple[float, float]] = (_FULL, _FULL),
        kinds: str = "fc",
        method: bool = True,
        samples: Samples | None = None,
    ) -> Callable[..., Any]:
        """An elementwise function of two arrays, and a rule for each."""
        p = Primitive(
            name, ("x", "y"), {"x": x, "y": y}, forward=forward, floating=floating,
            weak=weak, elementwise=True,
        )  # fmt: skip
        return self._elementwise(
            p, summary, domain=domain, kinds=kinds, method=method, samples=samples
        )

    def comparison(
        self,
        name: str,
        summary: str,
        *,
        inputs: tuple[str, ...] = ("x", "y"),
        forward: Callable[..., Any] | None = None,
        domain: tuple[tuple[float, float], ...] | None = None,
        weak: bool = True,
        kinds: str = "bif",
        method: bool = True,
        samples: Samples | None = None,
    ) -> Callable[..., Any]:
        """An elementwise function whose result is boolean or integer, and so has no gradient."""
        p = Primitive(name, inputs, {}, forward=forward, weak=weak, elementwise=True)
        domain = domain or (_FULL,) * len(inputs)
        return self._elementwise(
            p, summary, domain=domain, kinds=kinds, method=method, samples=samples,
            differentiable=False,
        )  # fmt: skip

    def constant(
        self,
        name: str,
        summary: str,
        *,
        inputs: tuple[str, ...] = ("x",),
        forward: Callable[..., Any] | None = None,
        domain: tuple[tuple[float, float], ...] | None = None,
        kinds: str = "if",
        weak: bool = True,
        method: bool = True,
    ) -> Callable[..., Any]:
        """An elementwise function whose derivative is zero wherever it exists: said on purpose."""
        p = Primitive(
            name, inputs, dict.fromkeys(inputs, CONSTANT), forward=forward, weak=weak,
            elementwise=True,
        )  # fmt: skip
        domain = domain or (_FULL,) * len(inputs)
        return self._elementwise(p, summary, domain=domain, kinds=kinds, method=method)

    def public(
        self,
        *,
        samples: Samples | None = None,
        kinds: str = "f",
        differentiable: bool = True,
        method: bool = False,
        variables: dict[str, bool] | None = None,
    ) -> Callable[[Function], Function]:
        """Enter a function with its own signature and docstring in the registry."""

        def enter(function: Function) -> Function:
            summary = (function.__doc__ or "").strip().partition("\n")[0]
            if f"{self.space}.{function.__name__}" in FUNCTIONS:
                function = _widened(function)
            self.add(
                Operation(
                    function.__name__, function, self.name, summary, samples=samples,
                    kinds=kinds, differentiable=differentiable, method=method,
                    space=self.space, variables=variables,
                )
            )  # fmt: skip
            return function

        return enter


def _widened(function: Function) -> Function:
    """`function`, whose Tensors of less than float32 become float32 first within `autocast`."""

    def widen(x: Any) -> Any:
        return PRIMITIVES["astype"].call(x, dtype=float32) if _is_narrow(x) else x

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        if ACTIVE and policy.get() is not None:
            args, kwargs = tree_map(widen, args), tree_map(widen, kwargs)
        return function(*args, **kwargs)

    return cast("Function", inner)


def _is_narrow(x: Any) -> bool:
    return isinstance(x, Tensor) and bool(computing_dtype("sum", x.dtype, x.kernels) != x.dtype)


def _rule_text(rule: Rule) -> str:
    """The formula of a rule, as it stands in the table."""
    return f"needs {', '.join(parameter_names(rule))}"
