"""A bilinear form for each output."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.linear_algebra import matmul
from polygrad.ops.manipulation import expand_dims, permute_dims, reshape, squeeze
from polygrad.tensor import Tensor

_table = Chapter("bilinear", "nn.functional")


@_table.public(samples=lambda s: [
    ((s.real(5, 2), s.real(5, 3), s.real(4, 2, 3)), {}),
    ((s.real(2, 5, 2), s.real(2, 5, 3), s.real(4, 2, 3), s.real(4)), {}),
    ((s.real(2), s.real(3), s.real(1, 2, 3)), {}),
])  # fmt: skip
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """x W_o y + b_o for each output o.

    Parameters
    ----------
    input1, input2
        x and y, (..., n) and (..., m).
    weight
        W, (outputs, n, m).
    bias
        b, (outputs,), or None.

    Returns
    -------
    Tensor
        (..., outputs).

    Raises
    ------
    ShapeError
        The shapes do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.bilinear(pg.ones(2), pg.ones(3), pg.ones((4, 2, 3)))
    tensor([6., 6., 6., 6.], dtype=float32)
    """
    x, y = as_tensor(input1, "bilinear, argument input1"), as_tensor(input2, "bilinear")
    w = as_tensor(weight, "bilinear, argument weight")
    lead = x.shape[:-1]
    fits = x.ndim and y.ndim and w.ndim == 3 and y.shape[:-1] == lead
    if not fits or w.shape[1:] != (x.shape[-1], y.shape[-1]):
        raise ShapeError(
            f"inputs of shapes {x.shape} and {y.shape}, a weight of shape {w.shape}",
            f"bilinear{describe([x, y, w])}", "they are (..., n), (..., m) and (outputs, n, m)",
        )  # fmt: skip
    outputs, n, m = w.shape
    mixed = matmul(x, reshape(permute_dims(w, (1, 0, 2)), (n, outputs * m)))
    mixed = reshape(mixed, (*lead, outputs, m))
    out = squeeze(matmul(mixed, expand_dims(y, axis=-1)), axis=-1)
    return out if bias is None else out + as_tensor(bias, "bilinear, argument bias")
