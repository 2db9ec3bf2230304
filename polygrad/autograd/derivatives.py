"""Derivatives of functions times vectors: vjp, jvp, hvp.

As `torch.autograd.functional` has them, with trees of arguments and results as `torch.func` has.

Note [The transpose of the transpose]
-------------------------------------
v^T J is linear in v, and its gradient along u, by v, is J u. So a derivative along a vector is two
backwards, and no rule is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polygrad.autograd.arguments import Evaluation, vector, zeros_like
from polygrad.config import enable_grad
from polygrad.gradients import grad
from polygrad.tensor import Tensor

__all__ = ["gradients", "hvp", "jvp", "pull", "spread", "transposed", "vjp"]

Function = Callable[..., Any]
Pair = tuple[Any, Any]


# ---- products with vectors ----------------------------------------------------------------------
def vjp(
    function: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Pair:
    """(function(*inputs), v^T J): the product of a vector with the Jacobian.

    Parameters
    ----------
    function
        Takes Tensors, returns a Tensor. Arguments and results may be tuples, lists and
        dictionaries of Tensors.
    inputs
        A Tensor, or a tuple of the function's arguments. Their values are used, not their history,
        unless `create_graph`.
    v
        One tensor for each output, of its shape, in a tree like the result; may be left out for
        one real output of one element.
    create_graph
        Record, so that the result can be differentiated, also by inputs that require grad.
    strict
        Refuse outputs and inputs that are independent of each other, instead of giving zeros.

    Returns
    -------
    (result, products)
        What the function returned, and a tree like `inputs`. Complex numbers: the gradient of
        Re<v, result>, which is J^H v for a holomorphic function.

    Raises
    ------
    InvalidTypeError, DtypeError, ShapeError
        Inputs, result or vector are no floating Tensors; the vector does not fit.
    GradientError
        `strict`, and some output or input is independent.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.autograd.vjp(lambda x: x * x, pg.tensor([1.0, 2.0]), pg.tensor([1.0, 10.0]))[1]
    tensor([ 2., 40.], dtype=float32)
    """
    at = Evaluation(function, inputs, "vjp", create_graph=create_graph)
    if strict:
        at.check_dependent()
    found = pull(at.outputs, at.xs, vector(v, at.outputs, "vjp"), create_graph)
    if strict:
        at.check_used(found)
    products = at.finished(_filled(found, at.xs))
    return at.value(), at.like_inputs(products)


def jvp(
    function: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Pair:
    """(function(*inputs), J v): the derivative along a vector.

    It takes two backwards: see Note [The transpose of the transpose].

    Parameters
    ----------
    function, inputs, create_graph, strict
        As in `vjp`.
    v
        One tensor for each input, of its shape, in a tree like `inputs`; may be left out for one
        real input of one element.

    Returns
    -------
    (result, products)
        What the function returned, and a tree like it. Complex numbers: the derivative by t of
        function(inputs + t v) at t = 0.

    Raises
    ------
    InvalidTypeError, DtypeError, ShapeError, GradientError
        As `vjp`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.autograd.jvp(lambda x: pg.sum(x * x), pg.tensor([1.0, 2.0]), pg.tensor([1.0, 10.0]))[1]
    tensor(42., dtype=float32)
    """
    at = Evaluation(function, inputs, "jvp", create_graph=create_graph)
    directions = vector(v, at.xs, "jvp")
    if strict:
        at.check_dependent()
    probes, pulled = transposed(at.outputs, at.xs)
    if strict:
        at.check_used([g if g is None or g.requires_grad else None for g in pulled])
    found = spread(pull(pulled, probes, directions, create_graph), at.outputs)
    if strict and create_graph:
        at.check_used(found, "the derivatives do")
    products = at.finished(_filled(found, at.outputs))
    return at.value(), at.like_outputs(products)


def hvp(
    function: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Pair:
    """(function(*inputs), H v): the Hessian of a function of one real element, times a vector.

    Parameters
    ----------
    function, inputs, create_graph, strict
        As in `vjp`; the function returns one real element.
    v
        One tensor for each input, of its shape, in a tree like `inputs`.

    Returns
    -------
    (result, products)
        What the function returned, and a tree like `inputs`. Complex numbers: the derivative by t
        of the gradient at inputs + t v.

    Raises
    ------
    InvalidTypeError, DtypeError, ShapeError, GradientError
        As `vjp`; the function returns more than one element, or a complex one.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.autograd.hvp(lambda x: pg.sum(x**3), pg.tensor([1.0, 2.0]), pg.tensor([1.0, 10.0]))[1]
    tensor([  6., 120.], dtype=float32)
    """
    at = Evaluation(function, inputs, "hvp", create_graph=create_graph)
    directions = vector(v, at.xs, "hvp")
    slopes = gradients(at, strict=strict)
    found = pull(slopes, at.xs, directions, create_graph)  # H is its own transpose
    if strict:
        at.check_used(found, "the gradients do")
    products = at.finished(_filled(found, at.xs))
    return at.value(), at.like_inputs(products)


def pull(
    outputs: Sequence[Tensor | None],
    xs: Sequence[Tensor],
    weights: Sequence[Tensor],
    create_graph: bool,
    *,
    batched: bool = False,
    retain: bool = False,
) -> list[Tensor | None]:
    """The gradients by `xs` of the outputs that depend on anything; None where there is no path."""
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o is not None]
    pairs = [(o, w) for o, w in pairs if o.requires_grad]
    if not pairs:
        return [None] * len(xs)
    found: Any = grad([o for o, _ in pairs], xs, [w for _, w in pairs], allow_unused=True,
                      create_graph=create_graph, retain_graph=retain or create_graph,
                      is_grads_batched=batched)  # fmt: skip
    return list(found)


def _filled(found: Sequence[Tensor | None], like: Sequence[Tensor]) -> list[Tensor]:
    return [zeros_like(x) if g is None else g for g, x in zip(found, like, strict=True)]


def transposed(
    outputs: Sequence[Tensor], xs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor | None]]:
    """Cotangents of the floating outputs, and the gradients by `xs`, which are linear in them."""
    floating = [o for o in outputs if o.kernels.inexact]
    probes = [zeros_like(o).requires_grad_() for o in floating]
    return probes, pull(floating, xs, probes, create_graph=True)


def spread(found: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> list[Tensor | None]:
    """What belongs to the floating outputs in their places among all."""
    left = iter(found)
    return [next(left) if o.kernels.inexact else None for o in outputs]


def gradients(at: Evaluation, *, strict: bool = False) -> list[Tensor]:
    """The gradients of a function of one real element, recorded."""
    at.check_scalar()
    if strict:
        at.check_dependent()
    with enable_grad():
        found = pull(at.outputs, at.xs, vector(None, at.outputs, at.where), create_graph=True)
    if strict:
        at.check_used(found)
    return _filled(found, at.xs)
