"""Vectors of unit length, the angle and the distance between vectors, and neighbours' sizes."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axis
from polygrad.ops.elementwise import divide, maximum
from polygrad.ops.elementwise import pow as _pow
from polygrad.ops.linalg_norms import vector_norm
from polygrad.ops.manipulation import broadcast_to, reshape
from polygrad.ops.padding import pad
from polygrad.ops.statistical import sum as _sum
from polygrad.tensor import Tensor

_table = Chapter("similarity", "nn.functional")


@_table.public(samples=lambda s: [
    ((s.real(4, 3),), {}), ((s.real(4, 3),), {"p": 1.0, "axis": 0}), ((s.real(3),), {"axis": -1}),
    ((s.real(2, 3),), {"p": 3.0}), ((s.real(2, 3),), {"eps": 5.0}),
    ((s.distinct(2, 3),), {"p": float("inf")}), ((s.real(2, 3),), {"p": 0}),
    ((s.real(),), {"axis": 0}),
])  # fmt: skip
def normalize(input: Any, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Tensor:
    """Vectors along an axis over their p-norm, or over `eps` if that is greater.

    Parameters
    ----------
    input
        Tensor of any shape; a number counts as a vector of one.
    p
        Of the norm; `float("inf")` for the largest absolute value, 0 for how many are not zero.
    axis
        Along which the vectors lie.
    eps
        Bounds the norm from below, so that zero vectors stay zero.

    Raises
    ------
    OutOfRangeError
        There is no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.normalize(pg.tensor([[3.0, 4.0]]))
    tensor([[0.6, 0.8]], dtype=float32)
    """
    x = as_tensor(input, "normalize, argument input")
    if not x.ndim:
        return reshape(normalize(reshape(x, (1,)), p, axis, eps), ())
    axis = normalize_axis(axis, x.ndim, "normalize")
    return divide(x, maximum(vector_norm(x, axis=axis, keepdims=True, ord=p), eps))  # type: ignore[no-any-return]


def _as_long(x: Tensor, other: Tensor, axis: int) -> Tensor:
    """x, along a negative axis as long as the broadcast shape."""
    n = x.shape[axis] if -axis <= x.ndim else 1
    length = other.shape[axis] if n == 1 and -axis <= other.ndim else n
    if length == n and -axis <= x.ndim:
        return x
    shape = (1,) * (-axis - x.ndim) + x.shape
    return broadcast_to(x, (*shape[:axis], length, *shape[len(shape) + axis + 1 :]))


@_table.public(samples=lambda s: [
    ((s.real(4, 3), s.real(4, 3)), {}), ((s.real(4, 3), s.real(3)), {"axis": -1, "eps": 0.1}),
    ((s.real(4, 3), s.real(4, 1)), {"axis": 0}), ((s.real(1, 3), s.real(4, 3)), {"axis": 0}),
    ((s.real(3), s.real(2, 3)), {"axis": 0}), ((s.real(), s.real()), {"axis": 0}),
])  # fmt: skip
def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis; 0 if one of them is zero.

    Parameters
    ----------
    x1, x2
        Tensors that broadcast against each other.
    axis
        Of the broadcast shape, along which the vectors lie.
    eps
        Bounds both norms from below.

    Returns
    -------
    Tensor
        The broadcast shape without the axis.

    Raises
    ------
    OutOfRangeError, ShapeError
        There is no such axis; the shapes do not broadcast.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.cosine_similarity(pg.tensor([[3.0, 4.0]]), pg.tensor([[0.0, 2.0]]))
    tensor([0.8], dtype=float32)
    """
    a = as_tensor(x1, "cosine_similarity, argument x1")
    b = as_tensor(x2, "cosine_similarity, argument x2")
    if not a.ndim and not b.ndim:
        return cosine_similarity(reshape(a, (1,)), reshape(b, (1,)), axis, eps)
    ndim = max(a.ndim, b.ndim)
    axis = normalize_axis(axis, ndim, "cosine_similarity") - ndim
    a, b = _as_long(a, b, axis), _as_long(b, a, axis)
    return _sum(normalize(a, axis=axis, eps=eps) * normalize(b, axis=axis, eps=eps), axis=axis)


@_table.public(samples=lambda s: [
    ((s.real(4, 3), s.real(4, 3)), {}),
    ((s.real(4, 3), s.real(3)), {"p": 1.0, "keepdims": True, "eps": 0.1}),
])  # fmt: skip
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> import polygrad as pg
    >>> pg.nn.functional.pairwise_distance(pg.tensor([[3.0, 4.0]]), pg.zeros((1, 2)), eps=0.0)
    tensor([5.], dtype=float32)
    """
    a = as_tensor(x1, "pairwise_distance, argument x1")
    return vector_norm(a - x2 + eps, axis=-1, keepdims=keepdims, ord=p)


@_table.public(samples=lambda s: [
    ((s.real(2, 5, 3), 3), {}), ((s.real(2, 4, 3, 2), 2), {"alpha": 0.5, "beta": 1.5, "k": 2.0}),
])  # fmt: skip
def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide by (k + alpha m)^beta, m being the mean square of `size` neighbouring channels.

    Parameters
    ----------
    input
        (batch, channels, …) with at least three axes; channels beyond the ends count as zeros.
    size
        How many channels, the middle one (of an even number the one after the middle) its own.
    alpha, beta, k
        Of the formula; Krizhevsky, Sutskever, Hinton, 2012.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The input has fewer axes; `size` is less than 1.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.local_response_norm(pg.ones((1, 2, 3)), 2, alpha=2.0, beta=1.0)[0, :, 0]
    tensor([0.5       , 0.33333334], dtype=float32)
    """
    x = as_tensor(input, "local_response_norm, argument input")
    if x.ndim < 3:
        raise ShapeError(
            f"an input of shape {x.shape}", f"local_response_norm{describe([x])}",
            "it needs three axes or more: (batch, channels, …)",
        )  # fmt: skip
    if size < 1:
        raise InvalidArgumentError(
            f"size={size} is less than 1", "local_response_norm, argument size",
            "pass a number >= 1",
        )  # fmt: skip
    border = ((0, 0), (size // 2, (size - 1) // 2), *((0, 0),) * (x.ndim - 2))
    squares = pad(x * x, border)
    channels = x.shape[1]
    total = squares[:, 0:channels]
    for i in range(1, size):
        total = total + squares[:, i : i + channels]
    return divide(x, _pow(total * (alpha / size) + k, beta))  # type: ignore[no-any-return]
