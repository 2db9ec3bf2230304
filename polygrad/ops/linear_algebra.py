"""Products of matrices: `matmul`, `matrix_transpose`, and `linear`, the layer that nn is built on.

Each rule for two matrices is one product with a transposed view: no copies, no `einsum`.
"""

from __future__ import annotations

import operator
from typing import Any

from polygrad.calls import describe
from polygrad.errors import ShapeError
from polygrad.families import Chapter
from polygrad.indexing import broadcasts, size_of
from polygrad.ops._axes import as_tensor
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor, raw
from polygrad.views import ViewPrimitive

_table = Chapter("linear_algebra")
Shape = tuple[int, ...]


# ---- transposes ---------------------------------------------------------------------------------
_matrix_transpose = ViewPrimitive(
    "matrix_transpose", lambda F, g, _shape: F.matrix_transpose(g),
    forward=operator.attrgetter("mT"),
)  # fmt: skip


@_table.public(samples=lambda s: [((s.real(2, 3),), {}), ((s.complex(2, 0, 3),), {})], kinds="bifc")
def matrix_transpose(x: Any, /) -> Tensor:
    """The last two axes exchanged.

    Parameters
    ----------
    x
        Tensor of any dtype, of two axes or more.

    Returns
    -------
    Tensor
        A view of `x`.

    Raises
    ------
    ShapeError
        `x` has fewer than two axes.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.matrix_transpose(pg.ones((2, 3, 4))).shape
    (2, 4, 3)
    """
    x = as_tensor(x, "matrix_transpose, argument x")
    if x.ndim < 2:
        raise ShapeError(
            f"a tensor of shape {x.shape} has no last two axes", f"matrix_transpose{describe([x])}",
            "pass a matrix, or a stack of them",
        )  # fmt: skip
    return _matrix_transpose.view(x)


# ---- matmul -------------------------------------------------------------------------------------
def _rows(F: Any, x: Any) -> Any:
    """A vector, or a stack of matrices, as one matrix: all rows below each other."""
    shape = x.shape
    return x if len(shape) == 2 else F.reshape(x, shape=(size_of(shape[:-1]), shape[-1]))


def _matmul_x(g: Any, F: Any, x_shape: Shape, y: Any) -> Any:
    """G Y^H, with vectors as matrices of one row or column."""
    y = F.conj(y)
    if len(y.shape) == 1:
        return (F.expand_dims(g, axis=-1) if len(x_shape) > 1 else g) * y
    if len(x_shape) == 1:
        return F.squeeze(F.matmul(y, F.expand_dims(g, axis=-1)), axis=-1)
    return F.matmul(g, F.matrix_transpose(y))


def _matmul_y(g: Any, F: Any, x: Any, y_shape: Shape) -> Any:
    """X^H G, with vectors as matrices of one row or column."""
    x = F.conj(x)
    ndim = len(x.shape)
    if ndim == 1:
        if len(y_shape) == 1:
            return g * x
        return F.expand_dims(x, axis=-1) * F.expand_dims(g, axis=-2)
    if len(y_shape) == 1:
        return F.squeeze(F.matmul(F.matrix_transpose(x), F.expand_dims(g, axis=-1)), axis=-1)
    if len(y_shape) == 2 and ndim > 2:  # one product instead of a sum of many
        return F.matmul(F.matrix_transpose(_rows(F, x)), _rows(F, g))
    return F.matmul(F.matrix_transpose(x), g)


def _check_matmul(x: Any, y: Any) -> None:
    """Refuse shapes that cannot be multiplied."""
    a, b = (tuple(getattr(t, "shape", ())) for t in (x, y))
    if not a or not b:
        raise ShapeError(
            f"a 0-d tensor has no matrix product: shapes {a} and {b}", f"matmul{describe([x, y])}",
            "write x * y",
        )  # fmt: skip
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise ShapeError(
            f"shapes {a} and {b} do not match: the last axis of x has length {a[-1]}, "
            f"the {'second last' if len(b) > 1 else 'only'} axis of y {inner}",
            f"matmul{describe([x, y])}", "transpose one with .mT, or check which axes are meant",
        )  # fmt: skip
    if not broadcasts(a[:-2], b[:-2]):
        raise ShapeError(
            f"the stacks of matrices {a} and {b} do not broadcast", f"matmul{describe([x, y])}",
            "all axes but the last two must be equal or 1, aligned from the right",
        )  # fmt: skip


_matmul = Primitive(
    "matmul", ("x", "y"), {"x": _matmul_x, "y": _matmul_y}, forward=operator.matmul,
    check=_check_matmul,
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.real(3, 4)), {}), ((s.real(3), s.real(3)), {}),
    ((s.real(2, 3), s.real(3)), {}),
    ((s.real(3), s.real(2, 3, 4)), {}), ((s.real(5, 2, 3), s.real(3, 4)), {}),
    ((s.real(5, 1, 2, 3), s.real(4, 3, 2)), {}), ((s.complex(2, 3), s.complex(3, 2)), {}),
    ((s.real(2, 0), s.real(0, 3)), {}),
], kinds="ifc", method=True)  # fmt: skip
def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product x1 @ x2.

    Parameters
    ----------
    x1, x2
        Numeric tensors. The last two axes are matrices, those before broadcast; a vector is a row
        on the left, a column on the right, and its axis of length 1 is dropped from the result.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    Raises
    ------
    ShapeError
        Inner lengths differ, a tensor is 0-d, or the stacks do not broadcast.

    Notes
    -----
    Derivative: with G the cotangent, G X2^H for X1 and X1^H G for X2.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.matmul(pg.ones((2, 3)), pg.ones(3))
    tensor([3., 3.], dtype=float32)
    """
    x, y = as_tensor(x1, "matmul, argument x1"), as_tensor(x2, "matmul, argument x2")
    _check_matmul(x, y)
    return _matmul.call(x, y)  # type: ignore[no-any-return]


# ---- linear -------------------------------------------------------------------------------------
def _linear(F: Any, x: Any, weight: Any, bias: Any) -> Any:
    """One product of matrices, whatever the rank of x; the bias is added in place where it can."""
    rows = x if x.ndim < 3 else _rows(F, x)
    out = F.matmul(rows, F.matrix_transpose(weight))
    if bias is not None:
        if F.backend.capabilities.writeable and out.ndim:
            out += bias
        else:
            out = out + bias
    return out if x.ndim < 3 else F.reshape(out, shape=(*x.shape[:-1], weight.shape[0]))


def linear_x(g: Any, F: Any, x_shape: Shape, weight: Any) -> Any:
    """G W."""
    if len(x_shape) < 3:
        return F.matmul(g, F.conj(weight))
    return F.reshape(F.matmul(_rows(F, g), F.conj(weight)), shape=x_shape)


def linear_weight(g: Any, F: Any, x: Any) -> Any:
    """The sum over all rows of the products G^T conj(X)."""
    return F.matmul(F.matrix_transpose(_rows(F, g)), F.conj(_rows(F, x)))


def linear_bias(g: Any, F: Any) -> Any:
    """The sum of all rows."""
    return F.sum(_rows(F, g), axis=(0,), keepdims=False)


linear_primitive = Primitive(
    "linear", ("x", "weight", "bias"),
    {"x": linear_x, "weight": linear_weight, "bias": linear_bias}, forward=_linear,
)  # fmt: skip


def linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """The affine map x W^T + b over the last axis: what `nn.functional.linear` is.

    Parameters
    ----------
    x
        Floating tensor of shape (..., n).
    weight
        Shape (m, n).
    bias
        Shape (m,), or None.

    Returns
    -------
    Tensor
        Shape (..., m), of the promoted dtype.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> linear(pg.ones(2), pg.ones((3, 2)), pg.arange(3))
    tensor([2., 3., 4.], dtype=float32)
    """
    if not isinstance(x, Tensor):
        x = as_tensor(x, "linear, argument x")
    if not isinstance(weight, Tensor):
        weight = as_tensor(weight, "linear, argument weight")
    if not (bias is None or isinstance(bias, Tensor)):
        bias = as_tensor(bias, "linear, argument bias")
    a, shape = raw(x).shape, raw(weight).shape
    if len(shape) != 2 or not a or a[-1] != shape[-1]:
        raise ShapeError(
            f"x of shape {x.shape} does not fit a weight of shape {weight.shape}",
            f"linear{describe([x, weight, bias])}",
            "the last axis of x and of weight, (out, in), must have one length",
        )  # fmt: skip
    if bias is not None and raw(bias).shape != shape[:1]:
        raise ShapeError(
            f"a bias of shape {bias.shape} does not fit a weight of shape {shape}",
            f"linear{describe([x, weight, bias])}", f"its shape must be {shape[:1]}",
        )  # fmt: skip
    return linear_primitive.call(x, weight, bias)  # type: ignore[no-any-return]
