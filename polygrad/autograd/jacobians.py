"""Jacobians and Hessians of functions.

Note [One backward for all rows]
--------------------------------
A row of a Jacobian is the gradient of one element of the result. All rows are computed together, in
one backward whose cotangents are the rows of a unit matrix (`is_grads_batched` of
`polygrad.autograd.grad`). The columns are the rows of the transpose, which is linear: see
Note [The transpose of the transpose] in `polygrad.autograd.derivatives`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from polygrad import dtypes
from polygrad.autograd.arguments import Evaluation
from polygrad.autograd.derivatives import gradients, pull, spread, transposed
from polygrad.config import enable_grad
from polygrad.errors import DtypeError, InvalidArgumentError
from polygrad.ops.manipulation import permute_dims, reshape
from polygrad.ops.rearrangement import concat, stack
from polygrad.tensor import Tensor, new_tensor

__all__ = ["hessian", "jacobian"]

Function = Callable[..., Any]
Blocks = list[list[Tensor | None]]
_FEW = 4  # so many rows take as long one by one as in a batch
_STRATEGIES = ("reverse-mode", "forward-mode")


def jacobian(
    function: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = True,
    strategy: str = "reverse-mode",
    chunk_size: int | None = None,
) -> Any:
    """The Jacobian of a function.

    Parameters
    ----------
    function, inputs, create_graph, strict
        As in `vjp`.
    vectorize
        Compute rows together. This takes about as much memory as so many forward passes; False
        computes one row after the other.
    strategy
        "reverse-mode" goes by rows, one for each element of the result; "forward-mode" by columns,
        one for each element of the inputs, for functions with more results than inputs.
    chunk_size
        How many rows or columns are computed together; all, if it is None.

    Returns
    -------
    Tensor or trees of Tensors
        For one input and one output a Tensor of shape output.shape + input.shape. In general a tree
        like the result, of trees like `inputs`. Of a real output each row is its gradient, for
        complex inputs dy/dRe(x) + i dy/dIm(x); of a complex output by real inputs it is dy/dx.

    Raises
    ------
    InvalidTypeError, DtypeError, GradientError
        As `vjp`; or an output and an input are both complex: the derivative is then no complex
        number.
    InvalidArgumentError
        An unknown strategy, a chunk size below 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.autograd.jacobian(lambda x: x * x, pg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]], dtype=float32)
    """
    way = _way(vectorize, strategy, chunk_size, "jacobian")
    at = Evaluation(function, inputs, "jacobian", create_graph=create_graph)
    if strict:
        at.check_dependent()
    return at.like_outputs(_matrix(at, at.outputs, way, strict=strict))


def hessian(
    function: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = True,
    outer_jacobian_strategy: str = "reverse-mode",
    chunk_size: int | None = None,
) -> Any:
    """The second derivatives of a function that returns one real element.

    Parameters
    ----------
    function, inputs, create_graph, strict, vectorize, chunk_size
        As in `jacobian`.
    outer_jacobian_strategy
        The strategy for the Jacobian of the gradient.

    Returns
    -------
    Tensor or trees of Tensors
        For one input of shape s, a Tensor of shape s + s; in general a tree like `inputs`, of trees
        like `inputs`.

    Raises
    ------
    InvalidTypeError, ShapeError, GradientError, InvalidArgumentError
        As `jacobian`; the function returns more than one element.
    DtypeError
        The function returns a complex number; an input is complex: see `hvp` for those.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.autograd.hessian(lambda x: pg.sum(x * x * x), pg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]], dtype=float32)
    """
    way = _way(vectorize, outer_jacobian_strategy, chunk_size, "hessian")
    at = Evaluation(function, inputs, "hessian", create_graph=create_graph)
    if any(x.kernels.is_complex for x in at.xs):
        raise DtypeError(
            "second derivatives by complex numbers are no complex matrix",
            "hessian, argument inputs",
            "use hvp, or make real and imaginary parts inputs of their own",
        )
    return at.like_inputs(_matrix(at, gradients(at, strict=strict), way, strict=strict))


# ---- how they are computed ----------------------------------------------------------------------
class _Way(NamedTuple):
    """By rows or by columns, and how many at a time: all, if it is None; 0: without a batch."""

    columns: bool
    size: int | None


def _way(vectorize: bool, strategy: str, chunk_size: int | None, where: str) -> _Way:
    if strategy not in _STRATEGIES:
        raise InvalidArgumentError(
            f"there is no strategy {strategy!r}", where, f"choose from {', '.join(_STRATEGIES)}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise InvalidArgumentError(
            f"a chunk size of {chunk_size}", f"{where}, argument chunk_size",
            "it must be at least 1, or None for all at once",
        )  # fmt: skip
    return _Way(strategy == "forward-mode", chunk_size if vectorize else 0)


def _matrix(at: Evaluation, outputs: list[Tensor], way: _Way, *, strict: bool) -> list[Any]:
    """For each output a tree like the inputs, of the blocks of the Jacobian."""
    if any(o.kernels.is_complex for o in outputs) and any(x.kernels.is_complex for x in at.xs):
        raise DtypeError(
            "of a complex result and a complex input the derivative is no complex number",
            f"{at.where}, argument function",
            "take pg.real and pg.imag of the result, or use jvp and vjp",
        )
    made = []
    with enable_grad():  # without a graph these are constants
        for o, row in zip(outputs, (_columns if way.columns else _rows)(at, outputs, way.size),
                          strict=True):  # fmt: skip
            if strict:
                at.check_used(row)
            filled = [_filled(g, o, x) for g, x in zip(row, at.xs, strict=True)]
            made.append(at.like_inputs(at.finished(filled)))
    return made


def _filled(block: Tensor | None, o: Tensor, x: Tensor) -> Tensor:
    """A block in the dtype of the input, complex if the output is; zeros if there is none."""
    k = x.kernels.with_dtype(dtypes.complex_of(x.dtype)) if o.kernels.is_complex else x.kernels
    if block is None:
        return new_tensor(k.zeros(o.shape + x.shape), k)
    return block if block.kernels is k else block.to(k.dtype)


def _rows(at: Evaluation, outputs: list[Tensor], size: int | None) -> Blocks:
    """The gradients of the elements of each output."""
    made = []
    for o in outputs:
        found = _sweep(o, at.xs, size, at.create_graph)
        if o.kernels.is_complex:
            found = _complex(found, _sweep(o, at.xs, size, at.create_graph, 1j))
        made.append([
            None if g is None else reshape(g, o.shape + x.shape)
            for g, x in zip(found, at.xs, strict=True)
        ])  # fmt: skip
    return made


def _columns(at: Evaluation, outputs: list[Tensor], size: int | None) -> Blocks:
    """The derivatives along the elements of each input."""
    probes, pulled = transposed(outputs, at.xs)
    columns: Blocks = []
    for x, g in zip(at.xs, pulled, strict=True):
        found: list[Tensor | None] = [None] * len(probes)
        if g is not None:
            found = _sweep(g, probes, size, at.create_graph)
            if x.kernels.is_complex:
                found = _complex(found, _sweep(g, probes, size, at.create_graph, 1j))
        columns.append([_turned(c, o, x)
                        for c, o in zip(spread(found, outputs), outputs, strict=True)])  # fmt: skip
    return [[column[i] for column in columns] for i in range(len(outputs))]


def _turned(block: Tensor | None, o: Tensor, x: Tensor) -> Tensor | None:
    """Columns, which come with the input's elements first, with the output's first."""
    if block is None:
        return None
    block = reshape(block, x.shape + o.shape)
    return permute_dims(block, (*range(x.ndim, block.ndim), *range(x.ndim)))


def _complex(real: list[Tensor | None], imag: list[Tensor | None]) -> list[Tensor | None]:
    """What belongs to 1 and to i as complex numbers."""
    pairs = zip(real, imag, strict=True)
    return [None if a is None or b is None else a + b * 1j for a, b in pairs]


def _sweep(
    output: Tensor, xs: Sequence[Tensor], size: int | None, create_graph: bool, unit: complex = 1
) -> list[Tensor | None]:
    """For each x the gradients of all elements of an output, along a first axis.

    `size` of them at a time; all, if it is None; 0: each in a backward of its own.
    """
    count = output.size
    if not output.requires_grad or not count:
        return [None] * len(xs)
    step = 1 if count <= _FEW else count if size is None else max(1, size)
    parts = []
    for start in range(0, count, step):
        units = _units(output, start, min(start + step, count), unit)
        parts.append(pull([output], xs, [units if step > 1 else units[0]], create_graph,
                          batched=step > 1, retain=True))  # fmt: skip
    join = concat if step > 1 else stack
    return [None if c[0] is None else join(list(c)) for c in zip(*parts, strict=True)]


def _units(t: Tensor, start: int, stop: int, unit: complex) -> Tensor:
    """Rows of a unit matrix, each of the shape of `t`."""
    rows = np.zeros((stop - start, t.size), dtype=t.dtype)
    rows[np.arange(stop - start), np.arange(start, stop)] = unit
    k = t.kernels
    return new_tensor(k.from_numpy(rows.reshape(stop - start, *t.shape)), k)
