"""Determinants.

Note [Cofactors]
----------------
The derivative of a determinant is the matrix of cofactors, det(X) X^-T where X is regular. With
X = U S V^H it is det(U V^H) conj(U) D conj(V^H), where D holds the products of all singular values
but one: no division, so it is right for singular matrices too. The same holds for the derivative of
the cofactors, in which the products lack two singular values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from polygrad.families import Chapter
from polygrad.ops._library import library
from polygrad.ops._matrices import Factorization, across, down, single, square
from polygrad.ops._products import others
from polygrad.ops.elementwise import is_complex
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("linear algebra", space="linalg")


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


def _scaled(F: Any, g: Any, x: Any) -> Any:
    """A number for each matrix, times the matrix."""
    return down(F, down(F, g)) * x


# ---- det ----------------------------------------------------------------------------------------
def _cofactor_forward(F: Any, x: Any) -> Any:
    """See Note [Cofactors]."""
    u, s, vh = library(F).svd(x, full_matrices=False)
    turn = F.coerce(library(F).det(u) * library(F).det(vh))[..., None, None]
    return turn * F.matmul(F.conj(u) * others(F, s)[..., None, :], F.conj(vh))


def _cofactor_rule(g: Any, F: Any, x: Any) -> Any:
    """conj(det(U V^H)) U (diag(E diag(M)) - E * M^T) V^H, M = U^T G conj(V): Note [Cofactors]."""
    u, s, vh = F.svd(x, full_matrices=False)
    # All singular values but i and j; what stands on the diagonal cancels below.
    pairs = others(F, F.where(F.on_diagonal(x), 1, across(F, s)))
    m = F.matmul(F.matmul(F.matrix_transpose(u), g), F.matrix_transpose(vh))
    along = F.sum(pairs * across(F, F.diagonal(m, offset=0)), axis=(-1,), keepdims=False)
    inner = F.diagonal_adjoint(along, offset=0, shape=x.shape[-2:]) - pairs * F.matrix_transpose(m)
    turn = F.conj(F.det(u) * F.det(vh))
    return _scaled(F, turn, F.matmul(F.matmul(u, inner), vh))


_cofactor = Primitive(
    "cofactor", ("x",), {"x": _cofactor_rule}, forward=single(_cofactor_forward), floating=True
)
_det = Primitive(
    "det", ("x",), {"x": lambda g, F, x: _scaled(F, g, F.conj(F.cofactor(x)))},
    forward=single(lambda F, x: library(F).det(x)), floating=True,
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.real(2, 2, 2),), {}), ((s.real(3, 3) * 0,), {}),
    ((s.real(0, 0),), {}),
    ((s.real(1, 1),), {}),
], kinds="fc")  # fmt: skip
def det(x: Any, /) -> Tensor:
    """The determinants of matrices.

    Parameters
    ----------
    x
        Floating tensor of shape (..., n, n).

    Returns
    -------
    Tensor
        Shape (...).

    Raises
    ------
    ShapeError
        The matrices are not square.

    Notes
    -----
    The gradient is right at singular matrices, and so is its derivative. For large matrices take
    `slogdet`: its gradient needs no singular values.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.det(pg.asarray([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8., dtype=float32)
    """
    return _det.call(square(x, "det"))  # type: ignore[no-any-return]


# ---- slogdet ------------------------------------------------------------------------------------
def _slogdet_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    """(G_log - i Im(conj(G_sign) sign)) X^-H; infinite for a singular matrix, unless G is 0."""
    (gs, gl), (sign, logarithm) = g, out
    turn = gl
    if is_complex(F, x) and gs is not None:
        swing = F.imag(F.conj(gs) * sign) * -1j
        turn = swing if gl is None else swing + gl
    if turn is None:
        return None
    singular = down(F, down(F, F.isinf(logarithm)))
    inverse = F.inv(F.where(singular, F.indicator(F.on_diagonal(x), x), x))
    return F.strong_multiply(
        down(F, down(F, turn)), F.where(singular, float("inf"), F.adjoint(inverse))
    )


_slogdet = Factorization(
    "slogdet", ("x",), {"x": _slogdet_rule}, floating=True, outputs=2,
    forward=single(lambda F, x: tuple(library(F).slogdet(x))),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.real(2, 2, 2),), {}), ((s.real(0, 0),), {}),
], kinds="fc")  # fmt: skip
def slogdet(x: Any, /) -> SlogdetResult:
    """The sign and the logarithm of the modulus of determinants.

    Parameters
    ----------
    x
        Floating tensor of shape (..., n, n).

    Returns
    -------
    SlogdetResult
        `sign`, of modulus 1, or 0 for a singular matrix, and `logabsdet`, real, -inf for a singular
        matrix; both of shape (...).

    Raises
    ------
    ShapeError
        The matrices are not square.

    Notes
    -----
    Derivative of `logabsdet`: X^-H.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.slogdet(pg.asarray([[1.0, 0.0], [0.0, -1.0]])).sign
    tensor(-1., dtype=float32)
    """
    return SlogdetResult(*_slogdet.call(square(x, "slogdet")))
