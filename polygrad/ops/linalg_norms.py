"""Norms of vectors and matrices.

The 2-norm and the p-norms divide by a scale first, so that squares neither overflow nor vanish.
Where a norm is 0 its gradient is 0, of every order.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axes, unreduce, widened
from polygrad.ops._matrices import matrices
from polygrad.ops.comparison import not_equal
from polygrad.ops.creation import as_floating
from polygrad.ops.elementwise import abs as abs_function
from polygrad.ops.elementwise import indicator
from polygrad.ops.linalg_spectra import svdvals
from polygrad.ops.manipulation import expand_dims, permute_dims
from polygrad.ops.statistical import max as max_function
from polygrad.ops.statistical import min as min_function
from polygrad.ops.statistical import sum as sum_function
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("linear algebra", space="linalg")
_INF = math.inf


# ---- the primitive: any order but 0, 1 and infinity
# ------------------------------------------------
def _scale(F: Any, size: Any, axis: Any, ord: float) -> Any:
    """What the moduli are divided by: for the 2-norm a power of 2, which rounds nothing.

    The largest modulus; for a negative order the smallest.
    """
    top = (F.xp.min if ord < 0 else F.xp.max)(size, axis=axis, keepdims=True)
    usable = (top > 0) & (top < _INF)
    top = F.where(usable, top, 1)
    if ord != 2:
        return top
    here = F.of(top)
    lowest = math.frexp(float(np.finfo(here.dtype).smallest_normal))[1] - 1
    exponent = F.xp.floor(F.xp.log2(top))
    exponent = F.where(exponent < lowest, lowest, exponent)
    # The reciprocal must be a normal number too: some libraries multiply by it.
    return here.full((), 2.0) ** F.where(exponent > -lowest, -lowest, exponent)


@functools.cache
def _least(dtype: dtypes.Dtype) -> float:
    """A sum of squares above it has lost nothing that counts."""
    info = np.finfo(dtype)
    return float(info.smallest_normal / info.eps)


def _plain_2_norm(F: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The root of the sum of squares, or None if one may have overflowed, or vanished.

    To know that, the host must wait: only for libraries that do not run ahead of it anyway.
    """
    if F.backend.capabilities.asynchronous:
        return None
    with F.backend.quiet():
        if F.of(x).is_complex:
            re, im = F.xp.real(x), F.xp.imag(x)
            squares = re * re + im * im
        else:
            squares = x * x
        total = F.of(squares).coerce(F.of(squares).sum(squares, axis=axis, keepdims=keepdims))
    usable = (total > _least(F.of(total).dtype)) & (total < _INF)
    return F.xp.sqrt(total) if F.backend.item(F.all(usable)) else None


def _norm_forward(
    F: Any, x: Any, ord: float = 2, axis: tuple[int, ...] = (), keepdims: bool = False
) -> Any:
    if 0 in x.shape:
        size = F.xp.abs(x)
        return F.xp.sum(size, axis=axis, dtype=size.dtype, keepdims=keepdims)
    if ord == 2 and (out := _plain_2_norm(F, x, axis, keepdims)) is not None:
        return out
    size = F.xp.abs(x)
    scale = _scale(F, size, axis, ord)
    ratio = size / scale
    if ord == 2:
        total = F.xp.sqrt(F.xp.sum(ratio * ratio, axis=axis, keepdims=True))
    else:
        zero = ratio == 0
        powers = F.where(zero, _INF if ord < 0 else 0, F.where(zero, 1, ratio) ** ord)
        total = F.xp.sum(powers, axis=axis, keepdims=True) ** (1 / ord)
    out = scale * total
    return out if keepdims or not axis else F.xp.squeeze(out, axis=axis)


def _norm_rule(
    g: Any, F: Any, x: Any, out: Any, ord: float, axis: tuple[int, ...], keepdims: bool
) -> Any:
    """sign(x) (|x| / out)^(ord - 1), and 0 where the norm is 0."""
    g, out = (unreduce(F, v, x.shape, axis, keepdims) for v in (g, out))
    nothing = out == 0
    g, out = F.where(nothing, 0, g), F.where(nothing, 1, out)
    if ord == 2:
        return g * (x / out)
    return g * F.strong_multiply(F.sign(x), (F.abs(x) / out) ** (ord - 1))


_vector_norm = Primitive(
    "vector_norm", ("x",), {"x": _norm_rule}, forward=widened(_norm_forward),
    keywords={"ord": 2, "axis": (), "keepdims": False}, floating=True,
)  # fmt: skip


# ---- vectors ------------------------------------------------------------------------------------
def _order(ord: Any, where: str) -> float:
    """The order as a number."""
    if isinstance(ord, (int, float)) and not math.isnan(ord):
        return ord
    raise InvalidArgumentError(
        f"there is no norm of order {ord!r}", f"{where}, argument ord",
        "use a number, math.inf or -math.inf",
    )  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(2, 3),), {"axis": 0, "keepdims": True}),
    ((s.real(2, 3, 2),), {"axis": (0, -1)}), ((s.real(2, 3),), {"ord": 1, "axis": -1}),
    ((s.distinct(2, 3),), {"ord": math.inf, "axis": 1}), ((s.distinct(5),), {"ord": -math.inf}),
    ((s.real(2, 3),), {"ord": 0, "axis": 1}), ((s.real(2, 3),), {"ord": 3}),
    ((s.real(2, 3),), {"ord": 0.5, "axis": 1}), ((s.real(4),), {"ord": -1.5, "keepdims": True}),
    ((s.real(0, 3),), {"axis": 0}), ((s.real(),), {}), ((s.real(2),), {"axis": ()}),
], kinds="fc")  # fmt: skip
def vector_norm(
    x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """The norms of vectors: sum(|x| ** ord) ** (1 / ord).

    Parameters
    ----------
    x
        Floating tensor of any shape.
    axis
        An axis, a tuple of axes, or None for all: what makes a vector.
    keepdims
        Keep the reduced axes, with length 1.
    ord
        The order: any number. 0 counts the elements that are not 0; inf is the largest modulus,
        -inf the smallest.

    Returns
    -------
    Tensor
        Real.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError
        There is no such axis; the order is no number; the least of no elements is asked for.

    Notes
    -----
    Neither squares of large numbers overflow nor those of small ones vanish. The gradient of a norm
    that is 0 is 0; equal largest moduli share it.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.vector_norm(pg.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    tensor([ 5., 10.], dtype=float32)
    """
    x = as_floating(as_tensor(x, "vector_norm, argument x"))
    ord = _order(ord, "vector_norm")
    axes = normalize_axes(axis, x.ndim, "vector_norm")
    if ord == 0:
        some = indicator.call(not_equal(x, 0), abs_function(x))
        return sum_function(some, axis=axes, keepdims=keepdims)
    if ord == 1:
        return sum_function(abs_function(x), axis=axes, keepdims=keepdims)
    if ord == -_INF:
        return min_function(abs_function(x), axis=axes, keepdims=keepdims)
    if ord == _INF:
        if 0 in x.shape:  # the largest of no moduli is 0
            return sum_function(abs_function(x), axis=axes, keepdims=keepdims)
        return max_function(abs_function(x), axis=axes, keepdims=keepdims)
    return _vector_norm.call(x, ord=ord, axis=axes, keepdims=bool(keepdims))  # type: ignore[no-any-return]


# ---- matrices -----------------------------------------------------------------------------------
@_table.public(samples=lambda s: [
    *(((s.real(3, 2),), {"ord": o}) for o in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)),
    ((s.real(2, 3, 3),), {"keepdims": True}), ((s.real(2, 3, 2),), {"keepdims": True, "ord": 2}),
    ((s.real(2, 3, 2),), {"keepdims": True, "ord": 1}),
], kinds="fc")  # fmt: skip
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norms of matrices.

    Parameters
    ----------
    x
        Floating tensor of shape (..., m, n).
    keepdims
        Keep the last two axes, with length 1.
    ord
        "fro": the root of the sum of squares; "nuc": the sum of the singular values; 2, -2: the
        largest, the smallest of them; 1, -1: the largest, the smallest sum of moduli of a column;
        inf, -inf: of a row.

    Returns
    -------
    Tensor
        Real, of shape (...).

    Raises
    ------
    ShapeError
        x has fewer than two axes.
    InvalidArgumentError
        There is no such order.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.matrix_norm(pg.asarray([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5., dtype=float32)
    """
    x = as_floating(matrices(x, "matrix_norm"))
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord == "nuc" or ord in (2, -2):
        values = svdvals(x)
        reduce = {"nuc": sum_function, 2: max_function, -2: min_function}[ord]
        out = reduce(values, axis=-1)
        return expand_dims(out, axis=(-2, -1)) if keepdims else out
    if ord not in (1, -1, _INF, -_INF):
        raise InvalidArgumentError(
            f"there is no matrix norm of order {ord!r}",
            f"matrix_norm{describe([x])}, argument ord",
            'choose "fro", "nuc", 1, -1, 2, -2, inf or -inf',
        )  # fmt: skip
    columns = abs(ord) == 1
    sums = sum_function(abs_function(x), axis=-2 if columns else -1, keepdims=True)
    reduce = max_function if ord > 0 else min_function
    return reduce(sums, axis=(-2, -1), keepdims=keepdims)


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(2, 3),), {"ord": 1}), ((s.real(2, 3),), {"ord": 3, "axis": 0}),
    ((s.real(2, 3, 2),), {"ord": "nuc", "axis": (0, 2), "keepdims": True}),
    ((s.real(3),), {"ord": 0}),
], kinds="fc")  # fmt: skip
def norm(x: Any, /, ord: Any = None, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Norms of vectors or of matrices, as NumPy and PyTorch call them.

    Parameters
    ----------
    x
        Floating tensor.
    ord
        As of `vector_norm` or `matrix_norm`; None: the root of the sum of squares.
    axis
        One axis: of vectors. Two: of matrices, rows first. None: all of x if `ord` is None too,
        else the axes of x, which must be one or two.
    keepdims
        Keep the reduced axes, with length 1.

    Returns
    -------
    Tensor
        Real.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError
        The order is unknown, or an axis is; there are neither one nor two.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.norm(pg.asarray([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7., dtype=float32)
    """
    x = as_tensor(x, "norm, argument x")
    axes = normalize_axes(axis, x.ndim, "norm")
    if ord is None:
        return vector_norm(x, axis=axes, keepdims=keepdims)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    if len(axes) != 2:
        raise InvalidArgumentError(
            f"norm of order {ord!r} over {len(axes)} axes", f"norm{describe([x])}, axis={axis}",
            "name one axis for vectors, two for matrices",
        )  # fmt: skip
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    out = matrix_norm(permute_dims(x, (*rest, *axes)), ord=ord)
    return expand_dims(out, axis=axes) if keepdims else out
