"""Products beyond the standard: inner and Kronecker products, Vandermonde matrices; and `norm`."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.contraction import tensordot
from polygrad.ops.elementwise import multiply
from polygrad.ops.filling import ones_like, zeros
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import stack
from polygrad.tensor import Tensor

_table = Chapter("products")


@_table.public(samples=lambda s: [
    ((s.real(3), s.real(3)), {}), ((s.complex(2, 3), s.complex(4, 3)), {}),
    ((s.real(2, 3), s.real()), {}), ((s.real(2, 0), s.real(0)), {}),
], kinds="ifc", method=True)  # fmt: skip
def inner(x1: Any, x2: Any, /) -> Tensor:
    """The sums of products over the last axes of both.

    Parameters
    ----------
    x1, x2
        Numeric tensors; if one is 0-d, the product is returned.

    Returns
    -------
    Tensor
        The axes of x1 but the last, then those of x2; of the promoted dtype. Nothing is conjugated:
        `vecdot` conjugates.

    Raises
    ------
    ShapeError
        The last axes differ in length.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.inner(pg.asarray([1.0, 2.0]), pg.asarray([3.0, 4.0]))
    tensor(11., dtype=float32)
    """
    x, y = as_tensor(x1, "inner, argument x1"), as_tensor(x2, "inner, argument x2")
    if not x.ndim or not y.ndim:
        return multiply(x, y)  # type: ignore[no-any-return]
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"the last axes of shapes {x.shape} and {y.shape} differ in length",
            f"inner{describe([x, y])}", "they are what is summed over",
        )  # fmt: skip
    return tensordot(x, y, axes=((-1,), (-1,)))


@_table.public(samples=lambda s: [
    ((s.real(2, 2), s.real(1, 3)), {}), ((s.complex(2), s.real(2, 2)), {}),
    ((s.real(), s.real(3)), {}), ((s.real(2, 1, 2), s.real(2)), {}),
], kinds="ifc", method=True)  # fmt: skip
def kron(x1: Any, x2: Any, /) -> Tensor:
    """The Kronecker product: each element of x1 replaced by its product with all of x2.

    Parameters
    ----------
    x1, x2
        Numeric tensors. The one of fewer axes gets axes of length 1 in front.

    Returns
    -------
    Tensor
        The lengths are the products of lengths; of the promoted dtype.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.kron(pg.asarray([1, 10]), pg.asarray([1, 2]))
    tensor([ 1,  2, 10, 20], dtype=int64)
    """
    x, y = as_tensor(x1, "kron, argument x1"), as_tensor(x2, "kron, argument x2")
    ndim = max(x.ndim, y.ndim)
    a, b = ((1,) * (ndim - t.ndim) + t.shape for t in (x, y))
    coarse = reshape(x, tuple(n for m in a for n in (m, 1)))
    fine = reshape(y, tuple(n for m in b for n in (1, m)))
    return reshape(multiply(coarse, fine), tuple(n * m for n, m in zip(a, b, strict=True)))


@_table.public(samples=lambda s: [
    ((s.real(3),), {}), ((s.complex(3), 2), {}), ((s.real(2), 4), {"increasing": True}),
], kinds="ifc")  # fmt: skip
def vander(x: Any, /, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector, as columns: a Vandermonde matrix.

    Parameters
    ----------
    x
        Numeric tensor of one axis.
    N
        How many columns; as many as elements if not given.
    increasing
        Whether the powers go from 0 to N - 1, or the other way round.

    Returns
    -------
    Tensor
        Shape (n, N), the dtype of x.

    Raises
    ------
    ShapeError, InvalidArgumentError
        x has not one axis; N is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.vander(pg.asarray([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]], dtype=int64)
    """
    x = as_tensor(x, "vander, argument x")
    if x.ndim != 1:
        raise ShapeError(
            f"a tensor of shape {x.shape} is no vector", f"vander{describe([x])}", "flatten it"
        )
    number = x.shape[0] if N is None else N
    if number < 0:
        raise InvalidArgumentError(f"{number} columns", "vander, argument N", "N >= 0")
    if not number:
        return zeros((x.shape[0], 0), dtype=x.dtype, device=x.device)
    powers = [ones_like(x)]
    for _ in range(number - 1):
        powers.append(multiply(powers[-1], x))
    return stack(powers if increasing else powers[::-1], axis=1)


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(2, 3), 1), {"axis": 0, "keepdims": True}),
], kinds="fc", method=True)  # fmt: skip
def norm(x: Any, /, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """Norms of vectors or of matrices: `linalg.norm`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.tensor([3.0, 4.0]).norm()
    tensor(5., dtype=float32)
    """
    from polygrad.ops.linalg_norms import norm as found  # noqa: PLC0415  that space is lazy

    return found(x, ord, axis=axis, keepdims=keepdims)
