"""What linear algebra shares: checks of matrices, and the primitives that its rules use.

Note [Phases]
-------------
Singular vectors and eigenvectors are determined up to a factor of modulus 1 each, and libraries
choose it differently. polygrad chooses it the same way on every device: the pivot of a vector, its
first component of at least 0.6 times the largest modulus, is real and positive. So the vectors are
functions of the matrix, and their derivatives are the ones that central differences find.

Note [Repeated values]
----------------------
The vectors of an eigenvalue or singular value that is there more than once are no function of the
matrix, but many results computed from them are. The cotangent of such a result has, between two
vectors of equal values, a numerator of zero over a difference of zero: `chop` clears the rounding
errors of the numerator, and the quotient counts as 0. A cotangent for which it is not zero gives
inf or NaN: there is no gradient.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import describe
from polygrad.errors import ShapeError
from polygrad.kernels import declare_forward
from polygrad.ops._axes import as_tensor
from polygrad.ops._library import library
from polygrad.ops.elementwise import is_complex
from polygrad.primitive import CONSTANT, Primitive
from polygrad.tensor import Tensor

__all__ = [
    "Factorization", "across", "bar", "column", "down", "epsilon", "hermitian", "matrices",
    "phases", "quotient", "single", "square", "without_phase",
]  # fmt: skip


class Factorization(Primitive):
    """A primitive of several results; the cotangent of one that was not used is None."""

    materialize = False


# ---- checks -------------------------------------------------------------------------------------
def matrices(x: Any, where: str, name: str = "x") -> Tensor:
    """A matrix, or a stack of them.

    Raises
    ------
    ShapeError
        `x` has fewer than two axes.
    """
    t = as_tensor(x, f"{where}, argument {name}")
    if t.ndim < 2:
        raise ShapeError(
            f"a tensor of shape {t.shape} is no matrix", f"{where}{describe([t])}, argument {name}",
            "pass two axes or more: the last two are matrices",
        )  # fmt: skip
    return t


def square(x: Any, where: str, name: str = "x") -> Tensor:
    """A square matrix, or a stack of them.

    Raises
    ------
    ShapeError
        The last two axes are missing, or differ in length.
    """
    t = matrices(x, where, name)
    if t.shape[-1] != t.shape[-2]:
        raise ShapeError(
            f"matrices of shape {t.shape[-2:]} are not square",
            f"{where}{describe([t])}, argument {name}", "the last two axes must have one length",
        )  # fmt: skip
    return t


# ---- in forwards --------------------------------------------------------------------------------
def single(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A forward that computes 16-bit floats in float32, which is the least that LAPACK knows."""

    @functools.wraps(forward)
    def inner(F: Any, *arrays: Any, **keywords: Any) -> Any:
        here = F.of(arrays[0])
        if here.dtype.itemsize > 2 or not here.inexact:
            return forward(here, *arrays, **keywords)
        wide = here.with_dtype(dtypes.float32)
        made = forward(wide, *(wide.cast(a) for a in arrays), **keywords)
        if isinstance(made, tuple):
            return tuple(_narrow(here, wide, a) for a in made)
        return _narrow(here, wide, made)

    return inner


def _narrow(here: Any, wide: Any, made: Any) -> Any:
    made = wide.coerce(made)
    return here.cast(made) if wide.of(made) is wide else made


def epsilon(F: Any) -> float:
    """The spacing of the numbers of the Kernels' dtype above 1."""
    name = dtypes.real_of(F.dtype).name
    return 2.0**-7 if name == "bfloat16" else float(np.finfo(name).eps)


def hermitian(F: Any, x: Any) -> Any:
    """(X + X^H) / 2, equal to X if X is Hermitian."""
    return x * 0.5 + F.adjoint(x) * 0.5


def phases(F: Any, v: Any) -> Any:
    """The phase of each column's pivot, of shape (..., 1, n): see Note [Phases]."""
    pivot = F.pivot_values(v)
    return pivot / F.xp.abs(pivot)


# ---- the primitives -----------------------------------------------------------------------------
def _adjoint(F: Any, x: Any) -> Any:
    return F.xp.conj(x.mT) if F.of(x).is_complex else x.mT


def _diagonal(F: Any, x: Any, offset: int = 0) -> Any:
    return library(F).diagonal(x, offset=offset)


def _diagonal_adjoint(F: Any, g: Any, offset: int, shape: tuple[int, ...]) -> Any:
    """Zeros with g on a diagonal: rows as long as the step from one element to the next."""
    rows, columns = shape
    lead, n = g.shape[:-1], g.shape[-1]
    here = F.of(g)
    if not n:
        return here.zeros((*lead, rows, columns))
    start = offset if offset >= 0 else -offset * columns
    steps = F.xp.concat([g[..., None], here.zeros((*lead, n, columns))], axis=-1)
    flat = F.xp.reshape(steps, (*lead, n * (columns + 1)))[..., : (n - 1) * (columns + 1) + 1]
    rest = rows * columns - start - flat.shape[-1]
    flat = F.xp.concat([here.zeros((*lead, start)), flat, here.zeros((*lead, rest))], axis=-1)
    return F.xp.reshape(flat, (*lead, rows, columns))


def _on_diagonal(F: Any, x: Any) -> Any:
    """Whether an element of a matrix of the shape of X is on the diagonal; not stacked."""
    rows, columns = x.shape[-2:]
    return F.backend.from_numpy(np.eye(rows, columns, dtype=bool), F.device)


def _pivots(F: Any, v: Any) -> Any:
    """Where the pivot of each column is: see Note [Phases]."""
    size = F.xp.abs(v)
    if 0 in v.shape:
        return size > 0
    big = size >= F.xp.max(size, axis=-2, keepdims=True) * 0.6
    count = {"dtype": F.with_dtype(dtypes.float32).native_dtype, "device": F.native_device}
    rows = F.xp.arange(v.shape[-2] + 1, **count)
    place = F.xp.where(big, rows[:-1, None], rows[-1])
    return big & (place == F.xp.min(place, axis=-2, keepdims=True))


def _pivot_values(F: Any, v: Any) -> Any:
    """The pivot of each column, of shape (..., 1, n)."""
    return F.xp.sum(v * F.of(v).cast(F.pivots(v)), axis=-2, keepdims=True)


def _chop(F: Any, x: Any, gap: Any, scale: Any, size: Any) -> Any:
    """0 where the gap is a rounding error of `scale`, and x one of `size`."""
    eps = epsilon(F.of(x))
    near = F.xp.abs(gap) <= scale * (8 * eps)
    return F.where(near & (F.xp.abs(x) <= size * math.sqrt(eps)), 0, x)


adjoint = Primitive("adjoint", ("x",), {"x": lambda g, F: F.adjoint(g)}, forward=_adjoint)
diagonal = Primitive(
    "diagonal", ("x",),
    {"x": lambda g, F, x_shape, offset: F.diagonal_adjoint(g, offset=offset, shape=x_shape[-2:])},
    forward=_diagonal, keywords={"offset": 0},
)  # fmt: skip
diagonal_adjoint = Primitive(
    "diagonal_adjoint", ("x",), {"x": lambda g, F, offset: F.diagonal(g, offset=offset)},
    forward=_diagonal_adjoint, keywords={"offset": 0, "shape": ()},
)  # fmt: skip
on_diagonal = Primitive("on_diagonal", ("x",), {"x": CONSTANT}, forward=_on_diagonal)
declare_forward("pivot_values", _pivot_values)
pivots = Primitive("pivots", ("x",), {"x": CONSTANT}, forward=_pivots)
chop = Primitive(
    "chop", ("x", "gap", "scale", "size"),
    {"x": lambda g: g, "gap": CONSTANT, "scale": CONSTANT, "size": CONSTANT},
    forward=_chop, promotes=("x",),
)  # fmt: skip


# ---- in rules -----------------------------------------------------------------------------------
def across(F: Any, w: Any) -> Any:
    """A number for each column."""
    return F.expand_dims(w, axis=-2)


def down(F: Any, w: Any) -> Any:
    """A number for each row."""
    return F.expand_dims(w, axis=-1)


def bar(F: Any, x: Any) -> Any:
    """The conjugate of matrices, also where F computes in a real dtype."""
    return F.matrix_transpose(F.adjoint(x))


def column(start: int | None, stop: int | None) -> tuple[Any, ...]:
    """The key of some columns."""
    return (Ellipsis, slice(start, stop))


def without_phase(F: Any, g: Any, v: Any, *others: tuple[Any, Any]) -> Any:
    """The cotangent of vectors whose phase is free: what the choice of Note [Phases] adds to it.

    `others` are (cotangent, vectors) of those that turn with them.
    """
    if not is_complex(F, v):
        return g
    turn = 0
    for h, w in ((g, v), *others):
        turn = turn + F.imag(F.sum(bar(F, w) * h, axis=(-2,), keepdims=True))
    mask = F.pivots(v)
    pivot = F.real(F.sum(F.where(mask, v, 0), axis=(-2,), keepdims=True))
    return g - F.where(mask, turn / pivot * 1j, 0)


def quotient(F: Any, x: Any, gap: Any, scale: Any, size: Any) -> Any:
    """X over the differences of values, 0 on the diagonal: see Note [Repeated values]."""
    mask = F.on_diagonal(gap)
    x = F.chop(F.where(mask, 0, x), gap, scale, size)
    return F.strong_divide(x, F.where(mask, 1, gap))
