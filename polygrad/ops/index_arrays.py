"""Index arrays: of triangles of matrices, and of flattened tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import describe
from polygrad.errors import DtypeError, OutOfRangeError
from polygrad.families import Chapter
from polygrad.indexing import shape_tuple, size_of, upload
from polygrad.ops._axes import as_tensor
from polygrad.ops.elementwise import floor_divide, remainder
from polygrad.registry import find_backend, find_device
from polygrad.tensor import Tensor, new_tensor, on_host

_table = Chapter("index arrays")
Host = np.ndarray[Any, Any]


def _uploaded(found: tuple[Host, ...], device: Any) -> tuple[Tensor, ...]:
    """Indices on a device."""
    place = find_device(device)
    backend = find_backend(place.kind)
    arrays = (upload(backend, i, place) for i in found)
    return tuple(new_tensor(a, backend.kernels_of(a)) for a in arrays)


@_table.public(differentiable=False, samples=lambda s: [
    ((3,), {}), ((2,), {"k": 1, "m": 4}), ((4,), {"k": -1, "m": 2}), ((0,), {}),
])  # fmt: skip
def tril_indices(
    n: int, /, k: int = 0, m: int | None = None, *, device: Any = None
) -> tuple[Tensor, ...]:
    """The rows and the columns of the elements on and below a diagonal of a matrix.

    Parameters
    ----------
    n, m
        The shape of the matrix; square if m is not given.
    k
        Which diagonal: above the main one if positive, below if negative.
    device
        The default one if not given.

    Returns
    -------
    tuple of Tensor
        Two integer tensors of one axis, in C order.

    Raises
    ------
    InvalidArgumentError
        A length is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.tril_indices(2)
    (tensor([0, 1, 1], dtype=int64), tensor([0, 0, 1], dtype=int64))
    """
    rows, columns = shape_tuple((n, n if m is None else m), "tril_indices")
    return _uploaded(np.tril_indices(rows, k, columns), device)


@_table.public(differentiable=False, samples=lambda s: [
    ((3,), {}), ((2,), {"k": 1, "m": 4}), ((4,), {"k": -1, "m": 2}), ((0,), {}),
])  # fmt: skip
def triu_indices(
    n: int, /, k: int = 0, m: int | None = None, *, device: Any = None
) -> tuple[Tensor, ...]:
    """The rows and the columns of the elements on and above a diagonal; as `tril_indices`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.triu_indices(2)
    (tensor([0, 0, 1], dtype=int64), tensor([0, 1, 1], dtype=int64))
    """
    rows, columns = shape_tuple((n, n if m is None else m), "triu_indices")
    return _uploaded(np.triu_indices(rows, k, columns), device)


@_table.public(samples=lambda s: [
    ((s.integers(2, 3, low=0, high=12), (3, 4)), {}), ((s.integers(low=0, high=5), 5), {}),
    ((s.integers(0), (2, 2)), {}),
], kinds="i", differentiable=False)  # fmt: skip
def unravel_index(indices: Any, shape: int | tuple[int, ...], /) -> tuple[Tensor, ...]:
    """Indices into a flattened tensor as indices along its axes.

    Parameters
    ----------
    indices
        Integer tensor of any shape; its range is checked on the host.
    shape
        The shape of the tensor that was flattened.

    Returns
    -------
    tuple of Tensor
        One for each axis, each of the shape of `indices`.

    Raises
    ------
    OutOfRangeError, DtypeError
        An index is negative, or beyond the end; it is no integer.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.unravel_index(pg.asarray([1, 5]), (2, 3))
    (tensor([0, 1], dtype=int64), tensor([1, 2], dtype=int64))
    """
    t = as_tensor(indices, "unravel_index, argument indices")
    lengths = shape_tuple(shape, "unravel_index")
    where = f"unravel_index{describe([t])}, argument indices"
    if t.kernels.kind != dtypes.INTEGER:
        raise DtypeError(
            f"indices must be integers, not {t.dtype}", where, "convert them: indices.to(pg.int64)"
        )
    host, size = on_host(t), size_of(lengths)
    if host.size and not (host.min() >= 0 and host.max() < size):
        raise OutOfRangeError(
            f"indices from {host.min()} to {host.max()} into {size} elements", where,
            f"they go from 0 to {size - 1}",
        )  # fmt: skip
    found = []
    for n in reversed(lengths):
        found.append(remainder(t, max(n, 1)))
        t = floor_divide(t, max(n, 1))
    return tuple(reversed(found))
