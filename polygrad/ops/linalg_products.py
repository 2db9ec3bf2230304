"""Products, diagonals and powers of matrices: the simple half of the linalg extension."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polygrad.calls import describe
from polygrad.errors import ShapeError
from polygrad.families import OPERATIONS, Chapter
from polygrad.ops._axes import as_int, as_tensor, normalize_axis
from polygrad.ops._library import library
from polygrad.ops._matrices import diagonal as _diagonal
from polygrad.ops._matrices import matrices, on_diagonal, square
from polygrad.ops.elementwise import indicator
from polygrad.ops.linalg_solvers import inv
from polygrad.ops.linear_algebra import matmul
from polygrad.ops.manipulation import broadcast_shapes, broadcast_to
from polygrad.ops.statistical import sum as sum_function
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("linear algebra", space="linalg")
# The standard has these in both places.
for _name in ("matmul", "matrix_transpose", "outer", "tensordot", "vecdot"):
    _table.add(replace(OPERATIONS[_name], chapter=_table.name, space=_table.space, method=False))


# ---- cross --------------------------------------------------------------------------------------
_cross = Primitive(
    "cross", ("x", "y"),
    {
        "x": lambda g, F, y, axis: F.cross(F.conj(y), g, axis=axis),
        "y": lambda g, F, x, axis: F.cross(g, F.conj(x), axis=axis),
    },
    forward=lambda F, x, y, axis: library(F).cross(x, y, axis=axis), keywords={"axis": -1},
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3), s.real(3)), {}), ((s.real(2, 3), s.real(2, 3)), {}),
    ((s.real(4, 1, 3), s.real(2, 3)), {}),
    ((s.real(3, 2), s.real(3, 2)), {"axis": 0}), ((s.real(2, 3, 2), s.real(3, 1)), {"axis": -2}),
], kinds="ifc")  # fmt: skip
def cross(x1: Any, x2: Any, /, axis: int = -1) -> Tensor:
    """The cross products of vectors of three components.

    Parameters
    ----------
    x1, x2
        Numeric tensors that broadcast against each other, except along `axis`, of length 3.
    axis
        Along which the vectors lie, counted from the end if the ranks differ.

    Returns
    -------
    Tensor
        The broadcast shape, of the promoted dtype.

    Raises
    ------
    ShapeError
        A length along `axis` is not 3, or the shapes do not broadcast.
    OutOfRangeError
        There is no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.cross(pg.asarray([1.0, 0.0, 0.0]), pg.asarray([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.], dtype=float32)
    """
    x, y = as_tensor(x1, "cross, argument x1"), as_tensor(x2, "cross, argument x2")
    where = f"cross{describe([x, y])}, axis={axis}"
    ndim = min(x.ndim, y.ndim)
    if axis >= 0 and x.ndim != y.ndim:
        raise ShapeError(
            f"shapes {x.shape} and {y.shape} have no axis {axis} in common", where,
            "count axis from the end: it is then the same in both",
        )  # fmt: skip
    axis = normalize_axis(axis, ndim, "cross") - ndim
    if (x.shape[axis], y.shape[axis]) != (3, 3):
        raise ShapeError(
            f"vectors of {x.shape[axis]} and {y.shape[axis]} components have no cross product",
            where, "the length along axis must be 3",
        )  # fmt: skip
    shape = broadcast_shapes(x.shape, y.shape)
    return _cross.call(broadcast_to(x, shape), broadcast_to(y, shape), axis=axis)  # type: ignore[no-any-return]


# ---- diagonals ----------------------------------------------------------------------------------
def _diagonal_samples(s: Any) -> Any:
    return [
        ((s.real(3, 3),), {}), ((s.real(2, 4, 2),), {"offset": -1}),
        ((s.real(2, 4),), {"offset": 2}),
        ((s.real(4, 2),), {}), ((s.real(2, 2),), {"offset": 5}), ((s.real(0, 2),), {}),
    ]  # fmt: skip


@_table.public(samples=_diagonal_samples, kinds="bifc")
def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices.

    Parameters
    ----------
    x
        Tensor of any dtype with two axes or more.
    offset
        Which diagonal: above the main one if positive, below if negative.

    Returns
    -------
    Tensor
        Not a view. The last axis has the elements; it may be empty.

    Raises
    ------
    ShapeError
        x has fewer than two axes.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.diagonal(pg.asarray([[1, 2], [3, 4]]), offset=1)
    tensor([2], dtype=int64)
    """
    x = matrices(x, "diagonal")
    offset = as_int(offset, "diagonal, argument offset")
    rows, columns = x.shape[-2:]
    return _diagonal.call(x, offset=min(max(offset, -rows), columns))  # type: ignore[no-any-return]


@_table.public(samples=_diagonal_samples, kinds="ifc")
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices.

    Parameters
    ----------
    x
        Numeric tensor with two axes or more, square or not.
    offset
        As of `diagonal`.
    dtype
        As of `sum`.

    Returns
    -------
    Tensor
        The last two axes are gone.

    Raises
    ------
    ShapeError
        x has fewer than two axes.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.trace(pg.asarray([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5., dtype=float32)
    """
    return sum_function(diagonal(x, offset=offset), axis=-1, dtype=dtype)


# ---- powers -------------------------------------------------------------------------------------
def _diagonal_of_ones(x: Tensor) -> Tensor:
    """Unit matrices like x, with a gradient of zero."""
    ones: Tensor = indicator.call(on_diagonal.call(x), x)
    return broadcast_to(ones, x.shape)


@_table.public(samples=lambda s: [
    ((s.real(3, 3), 3), {}), ((s.real(2, 2, 2), 0), {}), ((s.real(2, 2), 1), {}),
    ((s.real(2, 2), -2), {}),
    ((s.real(0, 0), 4), {}),
], kinds="fc")  # fmt: skip
def matrix_power(x: Any, n: int, /) -> Tensor:
    """The n-th powers of matrices, by repeated squaring.

    Parameters
    ----------
    x
        Floating tensor of shape (..., n, n).
    n
        An int; negative: the power of the inverse.

    Returns
    -------
    Tensor
        Of the same shape.

    Raises
    ------
    ShapeError
        The matrices are not square.
    InvalidTypeError
        n is no int.
    LinearAlgebraError
        n is negative and a matrix singular.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.matrix_power(pg.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]], dtype=float32)
    """
    x = square(x, "matrix_power")
    n = as_int(n, "matrix_power, argument n")
    if n == 0:
        return _diagonal_of_ones(x)
    x = inv(x) if n < 0 else x
    n = abs(n)
    if n == 1:
        return +x  # type: ignore[no-any-return]
    out: Tensor | None = None
    while n:
        if n & 1:
            out = x if out is None else matmul(out, x)
        n >>= 1
        x = matmul(x, x) if n else x
    return out  # type: ignore[return-value]
