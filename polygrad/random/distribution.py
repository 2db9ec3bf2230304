"""A distribution is one row: name, parameters, formula, derivatives.

`Distribution.function` makes of it what users call. All have the same form: parameters without a
default, `shape`, parameters with one, and `dtype`, `device`, `generator` by keyword. If all
parameters have defaults, `shape` comes first.

Note [Pathwise derivatives]
---------------------------
Number x is a function of random words and of the parameters, and has derivatives with respect to
these. Where x is a formula of noise, so are they. Where words are rejected it is none, but there is
the function x(p) that leaves the distribution function F(x; p) where it is: dx/dp = -F_p / F_x. See
Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients", 2018. The forward of such a
primitive hands on the numbers made on the host, so that they are the same on every device.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.ops.creation import to_place
from polygrad.primitive import Primitive, Rule
from polygrad.random.arguments import Given, Host, Parameter, chosen, finish, finish_counts, given
from polygrad.streams import Generator
from polygrad.tensor import Tensor, new_tensor

__all__ = ["TABLE", "Distribution", "attach"]

Draw = Callable[..., tuple[Host, Host | None]]

TABLE: dict[str, Distribution] = {}


@dataclass(frozen=True)
class Distribution:
    """A row of the table.

    Attributes
    ----------
    name
        Of the function.
    summary
        Its first line.
    parameters
        Those of the distribution.
    draw
        Called with a Generator, how many, whether the result is float64, and the parameters on the
        host; returns the numbers, and the noise that the derivatives need, or None.
    formula
        How the numbers are made.
    support
        Where they lie.
    rules
        Of `Primitive`, for each parameter; their names are `sample`, the parameters' and `noise`.
        Empty: the numbers are constants.
    check
        Called with the function's name and the parameters on the host, for what concerns several.
    whole
        Whether the numbers are counts.
    example
        A doctest.
    """

    name: str
    summary: str
    parameters: Sequence[Parameter]
    draw: Draw
    formula: str
    support: str
    rules: Mapping[str, Rule] = field(default_factory=dict)
    check: Callable[..., None] | None = None
    whole: bool = False
    example: str = ""

    def function(self) -> Callable[..., Tensor]:
        """The function that users call."""
        TABLE[self.name] = self
        where, signature = f"random.{self.name}", self._signature()
        primitive = self._primitive()

        def function(*args: Any, **kwargs: Any) -> Tensor:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            options = bound.arguments
            pairs = [(p, options[p.name]) for p in self.parameters]
            found = given(
                pairs, options["shape"], options["dtype"], options["device"], where,
                whole=self.whole,
            )  # fmt: skip
            if self.check is not None:
                self.check(where, *found.values)
            return self._drawn(found, chosen(options["generator"], where), primitive, options)

        function.__name__ = function.__qualname__ = self.name
        function.__doc__ = self._documentation()
        function.__signature__ = signature  # type: ignore[attr-defined]
        function.__module__ = "polygrad.random"
        return function

    def _drawn(
        self, found: Given, generator: Generator, primitive: Primitive | None,
        options: Mapping[str, Any],
    ) -> Tensor:  # fmt: skip
        """The numbers, on the tape if a parameter is."""
        k = found.kernels
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            host, noise = self.draw(
                generator, found.size, k.dtype == dtypes.float64, *found.values
            )
        if self.whole:
            return finish_counts(host.reshape(found.shape), k, f"random.{self.name}")
        made = finish(host.reshape(found.shape), k)
        if primitive is not None:
            noise = None if noise is None else noise.reshape(found.shape)
            made = attach(primitive, made, found.operands, noise)
        return made.requires_grad_() if options["requires_grad"] else made

    def _primitive(self) -> Primitive | None:
        """What records the numbers as a function of the parameters."""
        if not self.rules:
            return None
        names = tuple(p.name for p in self.parameters)
        return Primitive(
            f"random_{self.name}", ("sample", *names, "noise"), dict(self.rules),
            forward=lambda sample, *rest: sample,
        )  # fmt: skip

    # ---- what users see ---------------------------------------------------------------------
    def _signature(self) -> inspect.Signature:
        usual, only = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        required = [p.name for p in self.parameters if p.default is None]
        made = [inspect.Parameter(name, usual) for name in required]
        made.append(inspect.Parameter("shape", usual, default=None))
        made += [
            inspect.Parameter(p.name, usual, default=p.default)
            for p in self.parameters
            if p.default is not None
        ]
        made += [inspect.Parameter(n, only, default=None) for n in ("dtype", "device", "generator")]
        if not self.whole:
            made.append(inspect.Parameter("requires_grad", only, default=False))
        return inspect.Signature(made)

    def _documentation(self) -> str:
        domains = [
            f"{p.name}\n    {p.meaning}, {p.domain.words}: a number, or a tensor."
            for p in self.parameters
        ]
        known = [p.name for p in self.parameters if p.name in self.rules]
        gradients = f"Differentiable with respect to {', '.join(known)}." if known else _CONSTANT
        return _PAGE.format(
            summary=self.summary, parameters="\n".join(domains), support=self.support,
            dtype=_WHOLE if self.whole else _REAL, last="" if self.whole else _REQUIRES_GRAD,
            formula=self.formula, gradients=gradients, example=self.example,
        )  # fmt: skip


_WHOLE = "An integer or real floating one; int64 (int32 where there is none) if not given."
_REAL = "A real floating one; that of the parameters, or the default one, if not given."
_REQUIRES_GRAD = "requires_grad\n    Whether the result requires grad in any case.\n"
_CONSTANT = "The numbers are constants: no gradient reaches the parameters."
_PAGE = """{summary}

Parameters
----------
{parameters}
shape
    Of the result; if not given, that to which the parameters broadcast.
dtype
    {dtype}
device
    That of the parameters, or the default one, if not given.
generator
    Where the numbers come from; the default generator if not given.
{last}
Returns
-------
Tensor
    Numbers that are {support}.

Raises
------
InvalidArgumentError, ShapeError, DtypeError, DeviceMismatchError
    A parameter is out of its domain, or does not broadcast to the shape; the dtype or the device
    does not fit.

Notes
-----
{formula}

{gradients}

Examples
--------
>>> import polygrad as pg
{example}
"""


def attach(
    primitive: Primitive, sample: Tensor, operands: Sequence[Any], noise: Host | None
) -> Tensor:
    """The sample as an output of the primitive, if one of the parameters is on the tape."""
    if not any(isinstance(t, Tensor) and t.tracked for t in operands):
        return sample
    k = sample.kernels
    inputs = [
        to_place(t, k.dtype) if isinstance(t, Tensor) else new_tensor(k.from_numpy(t), k)
        for t in operands
    ]
    about = None if noise is None else finish(noise, k)
    return primitive.call(sample, *inputs, about)  # type: ignore[no-any-return]
