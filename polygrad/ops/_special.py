"""What the tables of special functions share: rows, forwards by the library, samples.

Note [Names of special functions]
---------------------------------
`polygrad.special` is read when it is first asked for. So that its primitives meet none that a user
has declared by then, they are called `special_<name>`: in rules `F.special_gammaln(x)`, as a kernel
`backend.kernel("special_gammaln")`.

Note [Parameters without derivatives]
-------------------------------------
Orders, degrees and counts, and parameters whose derivative has no closed form, are inputs whose
rule is a sentence: asking for that gradient raises an error that says it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygrad.dtypes import REAL, complex_of, float32
from polygrad.errors import DtypeError, UnsupportedOperationError
from polygrad.families import OPERATIONS, Chapter, Operation, Samples
from polygrad.primitive import CONSTANT, Primitive, Rule, not_implemented

__all__ = [
    "NO_ORDER", "Forward", "SpecialFunctions", "composed", "library", "positive_samples", "spread",
]  # fmt: skip

NO_ORDER = "no closed form is known for the derivative with respect to an order"
Domain = tuple[float, float] | list[Any]

_DOC = """{summary}

Parameters
----------
{inputs}
    Real tensors, arrays or numbers; they broadcast against each other.

Returns
-------
Tensor
    The broadcast shape and promoted dtype of the operands; integers are computed in the default
    floating dtype.
{raises}
Notes
-----
{note} As `scipy.special.{name}`.
"""
_RAISES = """
Raises
------
UnsupportedOperationError
    The library of the device has no such function.
"""


# ---- forwards -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Forward:
    """A forward: a function of the library of special functions, or one of polygrad's own.

    Attributes
    ----------
    names
        What the function may be called in the library; the first that it has is taken.
    own
        In functions of the standard and primitives, `own(F, *operands)`: for libraries without.
    whole
        The places of operands that become integers if all of them are whole: SciPy has formulas of
        its own for integer degrees.
    """

    names: tuple[str, ...] = ()
    own: Callable[..., Any] | None = None
    whole: tuple[int, ...] = ()

    def __call__(self, F: Any) -> Callable[..., Any]:
        """The function for the device and dtype of `F`.

        Raises
        ------
        UnsupportedOperationError
            There is none.
        """
        module = F.backend.special if self.names else None
        found = next((f for n in self.names if (f := getattr(module, n, None)) is not None), None)
        if found is not None:
            if self.whole:
                found = _with_integers(F, found, self.whole)
            return lambda *arrays, **keywords: _computed(F, None, found, arrays, keywords)
        own = self.own
        if own is None:
            raise _missing(F, self.names[0], module)

        def call(*arrays: Any, **keywords: Any) -> Any:
            with F.backend.quiet():
                return _computed(F, own, None, arrays, keywords)

        return call


def library(
    *names: str, fallback: Callable[..., Any] | None = None, whole: tuple[int, ...] = ()
) -> Forward:
    """The first of `names` that the library of special functions has, or the fallback."""
    return Forward(names, fallback, whole)


def composed(function: Callable[..., Any]) -> Forward:
    """A forward written in functions of the standard and primitives: it runs everywhere."""
    return Forward(own=function)


def _computed(F: Any, own: Any, foreign: Any, arrays: Any, keywords: Any) -> Any:
    """A result in the dtype of the operands; 16-bit ones are computed in float32."""
    lead = next(a for a in arrays if hasattr(a, "dtype"))
    wide = here = F if lead.dtype == F.native_dtype else F.of(lead)
    arrays = tuple(a if hasattr(a, "dtype") else here.full((), a) for a in arrays)
    if here.dtype.itemsize <= 2:
        wide = here.with_dtype(float32)
        arrays = tuple(wide.cast(a) for a in arrays)
    out = own(wide, *arrays, **keywords) if foreign is None else foreign(*arrays, **keywords)
    if isinstance(out, tuple):
        return tuple(_fitted(here, part) for part in out)
    return _fitted(here, out)


def _fitted(here: Any, out: Any) -> Any:
    out = here.coerce(out)
    kernels = here.of(out)
    if kernels.is_complex and not here.is_complex:
        here = here.with_dtype(complex_of(here.dtype))
    return here.cast(out)


def _with_integers(F: Any, function: Callable[..., Any], whole: tuple[int, ...]) -> Any:
    def call(*arrays: Any, **keywords: Any) -> Any:
        given = list(arrays)
        for i in whole:
            if F.backend.item(F.xp.all(given[i] == F.xp.floor(given[i]))):
                given[i] = F.xp.astype(given[i], F.xp.int64)
        return function(*given, **keywords)

    return call


def _missing(F: Any, name: str, module: Any) -> UnsupportedOperationError:
    where = f"device {F.device}, dtype {F.dtype}"
    install = F.backend.special_install
    if module is None and install:
        return UnsupportedOperationError(
            f"special.{name} needs a package that is not installed", where, install
        )
    return UnsupportedOperationError(
        f"{F.backend.name} has no special.{name}", where,
        f"register one with backend.kernel('special_{name}'), or move the data with .to(device)",
    )  # fmt: skip


def _real_only(name: str, forward: Forward) -> Callable[..., Any]:
    def factory(F: Any) -> Any:
        if F.kind > REAL:
            raise DtypeError(
                f"special.{name} is for real numbers here, not for {F.dtype}", f"device {F.device}",
                "take pg.real, pg.imag or pg.abs first",
            )  # fmt: skip
        return forward(F)

    return factory


# ---- samples ------------------------------------------------------------------------------------
_SHAPES = (
    ((2, 3), (3,), (2, 1), (1,)), ((), (2,), (), (2,)), ((0, 3), (3,), (1,), (3,)), ((4,),) * 4,
)  # fmt: skip


def spread(*domains: Domain, points: Sequence[tuple[float, ...]] = ()) -> Samples:
    """Samples of an elementwise function: broadcasting, 0-d and empty arrays, then the `points`.

    A domain is an open interval, or a list of numbers for an operand that has no derivative: each
    sample takes the next.
    """

    def samples(s: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        for i, shapes in enumerate(_SHAPES):
            yield (
                tuple(
                    d[i % len(d)] if isinstance(d, list) else s.interval(*d, *shape)
                    for d, shape in zip(domains, shapes, strict=False)
                ),
                {},
            )
        listed = [isinstance(d, list) for d in domains]
        if any(listed):
            for point in points:
                pairs = zip(point, listed, strict=True)
                yield tuple(v if number else s.exactly(v) for v, number in pairs), {}
        elif points:
            yield tuple(s.exactly(column) for column in zip(*points, strict=True)), {}

    return samples


def positive_samples(s: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Positive arguments of functions of one number: an array, 0-d, empty."""
    return [((s.interval(0.3, 4, *shape),), {}) for shape in ((2, 3), (), (0,))]


# ---- rows ---------------------------------------------------------------------------------------
class SpecialFunctions(Chapter):
    """The op table of a family of special functions, all of them elementwise."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "special")

    def function(
        self,
        name: str,
        rules: Mapping[str, Rule | str],
        summary: str,
        *,
        forward: Forward,
        samples: Samples,
    ) -> Callable[..., Any]:
        """A public function: for each input its rule, or why it has none."""
        function = self.primitive(name, rules, forward=forward).call
        function.__name__ = function.__qualname__ = name
        function.__module__ = "polygrad.special"
        function.__doc__ = _DOC.format(
            name=name, summary=summary, inputs=", ".join(rules), note=_derivatives(rules),
            raises="" if forward.own else _RAISES,
        )  # fmt: skip
        kind = inspect.Parameter.POSITIONAL_ONLY
        signature = inspect.Signature([inspect.Parameter(i, kind) for i in rules])
        setattr(function, "__signature__", signature)  # noqa: B010  functions have none by type
        variables = _variables(rules)
        self.add(
            Operation(
                name, function, self.name, summary, samples=samples, space=self.space,
                differentiable=any(variables.values()), variables=variables,
            )
        )  # fmt: skip
        return function

    def primitive(
        self,
        name: str,
        rules: Mapping[str, Rule | str],
        *,
        forward: Forward,
        keywords: dict[str, Any] | None = None,
        outputs: int = 1,
        real: bool = True,
    ) -> Primitive:
        """The primitive of a function: see Note [Names of special functions]."""
        vjp = {i: not_implemented(r) if isinstance(r, str) else r for i, r in rules.items()}
        return Primitive(
            f"special_{name}", tuple(rules), vjp, keywords=keywords, outputs=outputs,
            forward=_real_only(name, forward) if real else forward, floating=True, elementwise=True,
        )  # fmt: skip

    def several(self, name: str, outputs: int, rule: Rule) -> Callable[..., Any]:
        """The call of the library's function of one number that has several results."""
        return self.primitive(name, {"x": rule}, forward=library(name), outputs=outputs).call

    def alias(self, name: str, key: str) -> None:
        """Enter an operation of another name or part of polygrad here too."""
        found = OPERATIONS[key]
        variables = found.variables
        if variables is None and found.primitive is not None:
            variables = dict.fromkeys(found.primitive.inputs, True)
        self.add(replace(found, name=name, space=self.space, method=False, variables=variables))


def _variables(rules: Mapping[str, Rule | str]) -> dict[str, bool]:
    """The inputs of a function, and whether it can be differentiated with respect to each."""
    return {i: not isinstance(r, str) and r is not CONSTANT for i, r in rules.items()}


def _derivatives(rules: Mapping[str, Rule | str]) -> str:
    """Which derivatives there are, and why others are not."""
    zero = [i for i, r in rules.items() if r is CONSTANT]
    known = [i for i, there in _variables(rules).items() if there]
    lines = [f"Differentiable with respect to {', '.join(known)}."] if known else []
    lines += [f"Not with respect to {i}: {r}." for i, r in rules.items() if isinstance(r, str)]
    lines += [f"The derivative with respect to {i} is zero." for i in zero]
    return " ".join(lines)
