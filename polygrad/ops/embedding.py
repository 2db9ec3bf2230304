"""Rows looked up by index, and indices as rows."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.config import no_grad
from polygrad.dtypes import INTEGER
from polygrad.errors import DtypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from polygrad.families import Chapter
from polygrad.late_checks import check_later, is_late
from polygrad.ops._axes import as_tensor
from polygrad.ops.comparison import equal
from polygrad.ops.creation import to_place
from polygrad.ops.filling import arange
from polygrad.ops.indexing import index_tensor, take, take_primitive
from polygrad.ops.linalg_norms import vector_norm
from polygrad.ops.manipulation import expand_dims
from polygrad.ops.searching import where
from polygrad.primitive import CONSTANT, Primitive
from polygrad.registry import default_integer
from polygrad.tensor import Tensor, new_tensor, on_host, raw

_table = Chapter("embedding", "nn.functional")


def _bounds(indices: Tensor, where_: str) -> tuple[int, int]:
    """Numbers that enclose all indices; the upper one is the greatest."""
    if indices.kernels.kind != INTEGER:
        raise DtypeError(
            f"indices of dtype {indices.dtype}", f"{where_}{describe([indices])}",
            "convert them: indices.to(pg.int64)",
        )  # fmt: skip
    if not indices.size:
        return 0, 0
    found: tuple[int, int] = indices.kernels.index_range(raw(indices))
    return found


def _same(F: Any, x: Any, factor: Any) -> Any:
    """The input; only its cotangent is multiplied."""
    del factor
    return F.backend.copy(x)


_scale_gradient = Primitive(
    "scale_gradient", ("x", "factor"), {"x": lambda g, factor: g * factor, "factor": CONSTANT},
    forward=_same, promotes=("x",),
)  # fmt: skip


def check_rows(input: Any, weight: Any, where_: str) -> tuple[Tensor, Tensor]:
    """Indices, and the matrix of which each is a row.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError
        The weight is no matrix; the indices are not integers; one is no row.
    """
    indices = as_tensor(input, f"{where_}, argument input")
    w = as_tensor(weight, f"{where_}, argument weight")
    if w.ndim != 2:
        raise ShapeError(
            f"a weight of shape {w.shape}", f"{where_}{describe([indices, w])}",
            "it must be a matrix (rows, width)",
        )  # fmt: skip
    rows = w.shape[0]
    if is_late(w.kernels.backend) and indices.size and indices.kernels.kind == INTEGER:
        where = f"{where_}{describe([indices, w])}"
        check_later(indices.kernels, raw(indices), 0, rows, where)
        return indices, w
    low, high = _bounds(indices, where_)
    if indices.size and not 0 <= low <= high < rows:
        raise OutOfRangeError(
            f"the index {low if low < 0 else high} is out of range",
            f"{where_}{describe([indices, w])}", f"the weight has the rows 0 to {rows - 1}",
        )  # fmt: skip
    return indices, w


def padding_row(padding_idx: int | None, indices: Tensor, w: Tensor, where_: str) -> int | None:
    """The row of the padding, counted from the front.

    Raises
    ------
    InvalidArgumentError
        There is no such row.
    """
    rows = w.shape[0]
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise InvalidArgumentError(
            f"padding_idx={padding_idx} names no row", f"{where_}{describe([indices, w])}",
            f"it must be from {-rows} to {rows - 1}",
        )  # fmt: skip
    return padding_idx % rows


def rows_by_frequency(w: Tensor, indices: Tensor, scale: bool) -> Tensor:
    """Rows; their gradients over how often each occurs, if they are to be scaled."""
    out: Tensor = take_primitive.call(w, indices, axis=0)
    if not scale:
        return out
    host = on_host(indices)
    often = np.bincount(host.ravel(), minlength=w.shape[0])[host]
    factor = w.kernels.from_numpy(1 / often[..., None])
    return _scale_gradient.call(out, new_tensor(factor, w.kernels))  # type: ignore[no-any-return]


def renormalise(w: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are used, and too long, to the greatest norm allowed; in place.

    Raises
    ------
    InvalidArgumentError
        That norm is no number of at least 0.
    """
    given: Any = max_norm
    if not isinstance(given, Real) or not float(given) >= 0:
        raise InvalidArgumentError(
            f"max_norm is {max_norm!r}", "embedding, argument max_norm",
            "pass a number of at least 0, or None",
        )  # fmt: skip
    with no_grad():
        rows = on_host(indices)
        used = index_tensor(np.unique(rows), w)
        chosen = take(w, used, axis=0)
        length = vector_norm(chosen, axis=-1, keepdims=True, ord=norm_type)
        w[used] = where(length > max_norm, chosen * (max_norm / (length + 1e-7)), chosen)


@_table.public(samples=lambda s: [
    ((s.integers(2, 3, low=0, high=4), s.real(4, 2)), {}),
    ((s.integers(low=0, high=4), s.real(4, 2)), {}),
    ((s.integers(5, low=0, high=4), s.real(4, 2)), {"padding_idx": -1}),
    ((s.integers(0, low=0, high=4), s.real(4, 2)), {}),
])  # fmt: skip
def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of a matrix.

    Parameters
    ----------
    input
        Indices of rows: an integer tensor of any shape.
    weight
        The matrix (rows, width). Its gradient adds up what equal indices contribute.
    padding_idx
        A row whose gradient is zero; negative: counted from the end.
    max_norm, norm_type
        Rows in use whose norm is greater are scaled down to it first, in the weight itself.
    scale_grad_by_freq
        Divide what each index contributes to the gradient by how often it occurs in `input`.

    Returns
    -------
    Tensor
        The shape of `input` and an axis of the width.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError
        An index is negative or too large; the indices are not integers; the weight is no matrix.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.embedding(pg.tensor([1, 1]), pg.tensor([[1.0], [2.0]]))
    tensor([[2.],
            [2.]], dtype=float32)
    """
    indices, w = check_rows(input, weight, "embedding")
    padding_idx = padding_row(padding_idx, indices, w, "embedding")
    if max_norm is not None:
        renormalise(w, indices, max_norm, norm_type)
    out = rows_by_frequency(w, indices, scale_grad_by_freq)
    if padding_idx is None:
        return out
    padding = expand_dims(equal(indices, padding_idx), axis=-1)
    return where(padding, out.detach(), out)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.integers(2, 3, low=0, high=4),), {}), ((s.integers(3, low=0, high=4), 5), {}),
], differentiable=False, kinds="i")  # fmt: skip
def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """A last axis of classes, with a 1 at each index and zeros elsewhere.

    Parameters
    ----------
    tensor
        Indices of classes: an integer tensor of any shape.
    num_classes
        The length of the axis; the largest index plus 1 if not given.

    Returns
    -------
    Tensor
        int64 (int32 on a device without it).

    Raises
    ------
    OutOfRangeError, DtypeError, InvalidArgumentError
        An index is negative or too large; the indices are not integers; there are none to tell how
        many classes there are.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.one_hot(pg.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]], dtype=int64)
    """
    indices = as_tensor(tensor, "one_hot, argument tensor")
    low, high = _bounds(indices, "one_hot")
    if num_classes == -1:
        if not indices.size:
            raise InvalidArgumentError(
                "no index tells how many classes there are", "one_hot, argument num_classes",
                "pass num_classes",
            )  # fmt: skip
        num_classes = high + 1
    if num_classes < 1 or low < 0 or (indices.size and high >= num_classes):
        raise OutOfRangeError(
            f"indices from {low} to {high} for {num_classes} classes",
            f"one_hot{describe([indices])}", "they must be from 0 to num_classes - 1",
        )  # fmt: skip
    classes = arange(num_classes, dtype=indices.dtype, device=indices.device)
    hot = equal(expand_dims(indices, axis=-1), classes)
    return to_place(hot, default_integer(indices.device))
