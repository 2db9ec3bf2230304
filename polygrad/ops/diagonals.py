"""Diagonals of matrices: taken, made, summed; and matrices made of blocks along the diagonal."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops import _matrices
from polygrad.ops._axes import as_int, as_tensor, normalize_axis
from polygrad.ops.filling import zeros
from polygrad.ops.manipulation import moveaxis, reshape
from polygrad.ops.padding import pad
from polygrad.ops.rearrangement import concat
from polygrad.ops.statistical import sum as sum_function
from polygrad.tensor import Tensor

_table = Chapter("diagonals")


def _planes(x: Any, axis1: int, axis2: int, name: str) -> Tensor:
    """x with the rows and columns of its matrices last."""
    x = as_tensor(x, f"{name}, argument x")
    if x.ndim < 2:
        raise ShapeError(
            f"a tensor of shape {x.shape} has no diagonal", f"{name}{describe([x])}",
            "pass two axes or more",
        )  # fmt: skip
    rows = normalize_axis(axis1, x.ndim, name, "axis1")
    columns = normalize_axis(axis2, x.ndim, name, "axis2")
    _differ(rows, columns, axis1, axis2, name)
    return moveaxis(x, (rows, columns), (-2, -1))


def _differ(rows: int, columns: int, axis1: int, axis2: int, name: str) -> None:
    if rows == columns:
        raise InvalidArgumentError(
            f"axes {axis1} and {axis2} are the same", f"{name}, arguments axis1 and axis2",
            "a diagonal needs two axes",
        )  # fmt: skip


def _read(x: Tensor, offset: int) -> Tensor:
    """A diagonal of the last two axes; empty where there is none."""
    rows, columns = x.shape[-2:]
    return _matrices.diagonal.call(x, offset=min(max(offset, -rows), columns))  # type: ignore[no-any-return]


def _write(x: Tensor, offset: int) -> Tensor:
    """Square matrices with the last axis on a diagonal."""
    n = x.shape[-1] + abs(offset)
    return _matrices.diagonal_adjoint.call(x, offset=offset, shape=(n, n))  # type: ignore[no-any-return]


def _samples(s: Any) -> Any:
    return [
        ((s.real(3, 3),), {}), ((s.real(2, 4, 3),), {"offset": -1}),
        ((s.real(2, 4, 3),), {"offset": 1, "axis1": -1, "axis2": 0}),
        ((s.real(2, 2),), {"offset": 5}), ((s.real(0, 2),), {}),
    ]  # fmt: skip


@_table.public(samples=_samples, kinds="bifc", method=True)
def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonals of matrices that lie in two axes.

    Parameters
    ----------
    x
        Tensor of any dtype with two axes or more.
    offset
        Which diagonal: above the main one if positive, below if negative.
    axis1, axis2
        The rows and the columns of the matrices. `linalg.diagonal` takes the last two axes.

    Returns
    -------
    Tensor
        Not a view. The last axis has the elements, it may be empty; the other axes are before.

    Raises
    ------
    ShapeError, OutOfRangeError, InvalidArgumentError
        x has fewer than two axes; there is no such axis; both are the same.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.diagonal(pg.asarray([[1, 2], [3, 4]]), 1)
    tensor([2], dtype=int64)
    """
    offset = as_int(offset, "diagonal, argument offset")
    return _read(_planes(x, axis1, axis2, "diagonal"), offset)


@_table.public(samples=_samples, kinds="ifc", method=True)
def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices that lie in two axes.

    Parameters
    ----------
    x, offset, axis1, axis2
        As of `diagonal`.
    dtype
        As of `sum`.

    Returns
    -------
    Tensor
        The two axes are gone.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.trace(pg.asarray([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5., dtype=float32)
    """
    offset = as_int(offset, "trace, argument offset")
    return sum_function(_read(_planes(x, axis1, axis2, "trace"), offset), axis=-1, dtype=dtype)


@_table.public(samples=lambda s: [
    ((s.real(3),), {}), ((s.complex(2), -1), {}), ((s.real(2, 3),), {"k": 1}), ((s.real(0),), {}),
    ((s.real(2, 4, 2),), {"k": -1}),
], kinds="bifc", method=True)  # fmt: skip
def diag(x: Any, /, k: int = 0) -> Tensor:
    """The matrix that has a vector on a diagonal; of matrices, their diagonals.

    Parameters
    ----------
    x
        Tensor of any dtype: a vector, or matrices in its last two axes.
    k
        Which diagonal: above the main one if positive, below if negative.

    Returns
    -------
    Tensor
        Of a vector of n elements a matrix of shape (n + abs(k), n + abs(k)); of matrices one axis
        less.

    Raises
    ------
    ShapeError
        x is 0-d.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.diag(pg.asarray([1, 2]), k=-1)
    tensor([[0, 0, 0],
            [1, 0, 0],
            [0, 2, 0]], dtype=int64)
    """
    x, k = as_tensor(x, "diag, argument x"), as_int(k, "diag, argument k")
    if not x.ndim:
        raise ShapeError("a 0-d tensor", "diag, argument x", "pass a vector or matrices")
    return _write(x, k) if x.ndim == 1 else _read(x, k)


@_table.public(samples=lambda s: [
    ((s.real(3),), {}), ((s.complex(2, 2),), {"offset": -1}),
    ((s.real(3, 2),), {"offset": 1, "axis1": 0, "axis2": 2}), ((s.real(2, 0),), {}),
], kinds="bifc", method=True)  # fmt: skip
def diag_embed(x: Any, /, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """Matrices with the last axis of `x` on a diagonal: the inverse of `diagonal`.

    Parameters
    ----------
    x
        Tensor of any dtype with one axis or more.
    offset
        Which diagonal: above the main one if positive, below if negative.
    axis1, axis2
        Where the rows and the columns of the matrices stand in the result.

    Returns
    -------
    Tensor
        One axis more; the matrices are square, longer than the last axis of x by abs(offset).

    Raises
    ------
    ShapeError, OutOfRangeError, InvalidArgumentError
        x is 0-d; the result has no such axis; both are the same.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.diag_embed(pg.ones((3, 2))).shape
    (3, 2, 2)
    """
    x = as_tensor(x, "diag_embed, argument x")
    offset = as_int(offset, "diag_embed, argument offset")
    if not x.ndim:
        raise ShapeError(
            "a 0-d tensor fills no diagonal", f"diag_embed{describe([x])}", "reshape it"
        )
    rows = normalize_axis(axis1, x.ndim + 1, "diag_embed", "axis1")
    columns = normalize_axis(axis2, x.ndim + 1, "diag_embed", "axis2")
    _differ(rows, columns, axis1, axis2, "diag_embed")
    return moveaxis(_write(x, offset), (-2, -1), (rows, columns))


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.real(1, 2)), {}), ((s.complex(2), s.real(), s.real(2, 0)), {}),
    ((s.real(2, 2),), {}),
], kinds="ifc")  # fmt: skip
def block_diag(*arrays: Any) -> Tensor:
    """A matrix with matrices along its diagonal, zeros elsewhere.

    Parameters
    ----------
    *arrays
        Matrices; a vector is a row, a 0-d tensor one element.

    Returns
    -------
    Tensor
        As many rows and columns as all of them together, of the promoted dtype. Of none: (1, 0).

    Raises
    ------
    ShapeError
        A tensor has more than two axes.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.block_diag(pg.asarray([[1, 2]]), pg.asarray(3))
    tensor([[1, 2, 0],
            [0, 0, 3]], dtype=int64)
    """
    blocks = [as_tensor(a, f"block_diag, argument {i}") for i, a in enumerate(arrays)]
    for x in blocks:
        if x.ndim > 2:
            raise ShapeError(
                f"a tensor of shape {x.shape} is no matrix", f"block_diag{describe(blocks)}",
                "pass tensors of at most two axes",
            )  # fmt: skip
    blocks = [reshape(x, (1,) * (2 - x.ndim) + x.shape) for x in blocks]
    if not blocks:
        return zeros((1, 0))
    width, left, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(pad(x, ((0, 0), (left, width - left - x.shape[1]))))
        left += x.shape[1]
    return concat(rows, axis=0)
