"""The distances between all vectors of a set."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.creation import as_floating
from polygrad.ops.indexing import index_tensor, take
from polygrad.ops.linalg_norms import vector_norm
from polygrad.tensor import Tensor

_table = Chapter("distances", "nn.functional")


@_table.public(samples=lambda s: [
    ((s.real(4, 3),), {}), ((s.real(3, 2),), {"p": 1.0}), ((s.real(3, 2),), {"p": 3.0}),
    ((s.real(3, 2),), {"p": float("inf")}), ((s.real(3, 2),), {"p": 0.0}),
    ((s.real(1, 2),), {}), ((s.real(0, 2),), {}), ((s.real(3, 0),), {}),
])  # fmt: skip
def pdist(input: Any, p: float = 2.0) -> Tensor:
    """The p-norms of the differences between each two rows: of rows 0 and 1, 0 and 2, and so on.

    Parameters
    ----------
    input
        Vectors (rows, width).
    p
        Of the norm, 0 or more; `float("inf")` for the largest absolute value, 0 for how many
        columns differ.

    Returns
    -------
    Tensor
        Of rows (rows - 1) / 2 distances. The gradient of a distance of zero is zero.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The input is no matrix; p is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.pdist(pg.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.       , 1.       , 4.2426405], dtype=float32)
    """
    x = as_floating(as_tensor(input, "pdist, argument input"))
    if x.ndim != 2:
        raise ShapeError(
            f"an input of shape {x.shape}", f"pdist{describe([x])}", "pass vectors (rows, width)"
        )
    given: Any = p
    if not isinstance(given, Real) or not float(given) >= 0:
        raise InvalidArgumentError(
            f"p={p!r} is negative, or no number", "pdist, argument p", "pass 0 or more"
        )
    one, other = np.triu_indices(x.shape[0], 1)
    difference = take(x, index_tensor(one, x), axis=0) - take(x, index_tensor(other, x), axis=0)
    return vector_norm(difference, axis=-1, ord=p)
