"""Cholesky and QR factorizations.

Sources of the rules: I. Murray, "Differentiation of the Cholesky decomposition" (2016); S. F.
Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010), for QR; the
wide case and the columns that complete a basis are derived from A = Q R.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from polygrad.errors import InvalidArgumentError
from polygrad.families import Chapter
from polygrad.kernels import declare_forward
from polygrad.ops._library import library
from polygrad.ops._matrices import (
    Factorization,
    adjoint,
    column,
    hermitian,
    matrices,
    phases,
    single,
    square,
    without_phase,
)
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("linear algebra", space="linalg")


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


# ---- Cholesky -----------------------------------------------------------------------------------
def _half(F: Any, x: Any) -> Any:
    """The lower triangle, with half of the diagonal."""
    return (F.tril(x, k=0) + F.tril(x, k=-1)) * 0.5


def _cholesky_rule(g: Any, F: Any, out: Any) -> Any:
    """L^-H phi(L^H G) L^-1, made Hermitian; phi: the lower triangle, the diagonal halved."""
    middle = _half(F, F.matmul(F.adjoint(out), F.tril(g, k=0)))
    middle = (middle + F.adjoint(middle)) * 0.5
    left = F.triangular_solve(F.adjoint(out), middle, upper=True)
    return F.adjoint(F.triangular_solve(F.adjoint(out), F.adjoint(left), upper=True))


_cholesky = Primitive(
    "cholesky", ("x",), {"x": _cholesky_rule}, floating=True,
    forward=single(lambda F, x: library(F).cholesky(hermitian(F, x))),
)  # fmt: skip


def _definite(s: Any, *shape: int) -> Any:
    """Positive definite matrices."""
    x = s.real(*shape) * 0.4
    eye = s.real(*shape) * 0
    for i in range(shape[-1]):
        eye[..., i, i] = 1
    return x @ x.mT.conj() + eye


@_table.public(samples=lambda s: [
    ((_definite(s, 3, 3),), {}), ((_definite(s, 2, 2, 2),), {"upper": True}),
    ((_definite(s, 0, 0),), {}),
], kinds="fc")  # fmt: skip
def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """The Cholesky factor of Hermitian positive definite matrices: x = L L^H.

    Parameters
    ----------
    x
        Floating tensor of shape (..., n, n). Of matrices that are not Hermitian the Hermitian part,
        (x + x^H) / 2, is taken.
    upper
        Return L^H.

    Returns
    -------
    Tensor
        Triangular, with a positive diagonal, of the shape of x.

    Raises
    ------
    ShapeError
        The matrices are not square.
    LinearAlgebraError
        A matrix is not positive definite; on libraries that do not wait for their device the result
        is NaN instead.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.cholesky(pg.asarray([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]], dtype=float32)
    """
    lower = _cholesky.call(square(x, "cholesky"))
    return adjoint.call(lower) if upper else lower  # type: ignore[no-any-return]


declare_forward("library_qr", lambda F, x, mode: library(F).qr(x, mode=mode))


# ---- QR -----------------------------------------------------------------------------------------
def _qr_forward(F: Any, x: Any, mode: str = "reduced") -> Any:
    """The diagonal of R is made positive: the factors of a matrix of full rank are unique."""
    q, r = F.library_qr(x, mode=mode)
    k = min(x.shape[-2:])
    d = F.coerce(library(F).diagonal(r))
    turn = F.xp.sign(d) + F.of(d).cast(d == 0)
    qs = [q[..., :k] * turn[..., None, :]]
    rs = [r[..., :k, :] * F.conj(turn)[..., :, None]]
    if q.shape[-1] > k:
        rest = q[..., k:]
        qs.append(rest * F.conj(phases(F, rest)))
        rs.append(r[..., k:, :])
        return F.xp.concat(qs, axis=-1), F.xp.concat(rs, axis=-2)
    return qs[0], rs[0]


def _qr_rule(g: Any, F: Any, out: Any) -> Any:
    """Of a wide matrix [X Y] = Q [U V]: Q U = X, and V = Q^H Y."""
    (gq, gr), (q, r) = g, out
    m, n = q.shape[-2], r.shape[-1]
    if 0 in (m, n):
        return F.matmul(q, r)
    gq = F.zeros_like(q) if gq is None else gq
    gr = F.zeros_like(r) if gr is None else gr
    if m >= n:
        return _qr_tall(F, gq, gr, q, r)
    gu, gv = F.getitem(gr, key=column(None, m)), F.getitem(gr, key=column(m, None))
    u, v = F.getitem(r, key=column(None, m)), F.getitem(r, key=column(m, None))
    gq = gq + F.matmul(F.matmul(q, v), F.adjoint(gv))
    gx = _qr_tall(F, gq, gu, q, u)
    return F.concat([gx, F.matmul(q, gv)], axis=-1)


def _qr_tall(F: Any, gq: Any, gr: Any, q: Any, r: Any) -> Any:
    """(Gq + Q sym(triu(Gr R^H - Q^H Gq))) R^-H, sym mirrors the triangle.

    The columns Q2 that complete Q add -Q2 G2^H Q1 to what is in parentheses.
    """
    n = r.shape[-1]
    q1, g1 = F.getitem(q, key=column(None, n)), F.getitem(gq, key=column(None, n))
    rows = (Ellipsis, slice(None, n), slice(None))
    r1, gr1 = F.getitem(r, key=rows), F.getitem(gr, key=rows)
    m = F.matmul(gr1, F.adjoint(r1)) - F.matmul(F.adjoint(q1), g1)
    middle = F.triu(m, k=1) + F.triu(m, k=0)
    middle = (middle + F.adjoint(middle)) * 0.5
    inside = g1 + F.matmul(q1, middle)
    if q.shape[-1] > n:
        q2 = F.getitem(q, key=column(n, None))
        g2 = without_phase(F, F.getitem(gq, key=column(n, None)), q2)
        inside = inside - F.matmul(q2, F.matmul(F.adjoint(g2), q1))
    return F.adjoint(F.triangular_solve(r1, F.adjoint(inside), upper=True))


_qr = Factorization(
    "qr", ("x",), {"x": _qr_rule}, forward=single(_qr_forward), keywords={"mode": "reduced"},
    outputs=2, floating=True,
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.real(4, 2),), {}), ((s.real(2, 3),), {}),
    ((s.real(3, 2),), {"mode": "complete"}), ((s.real(2, 2, 4),), {"mode": "complete"}),
    ((s.real(2, 3, 2),), {}), ((s.real(0, 2),), {}),
], kinds="fc")  # fmt: skip
def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """The QR factorization x = Q R, R with a diagonal that is real and not negative.

    Parameters
    ----------
    x
        Floating tensor of shape (..., m, n); k is the smaller of m and n.
    mode
        "reduced": Q has k columns; "complete": m.

    Returns
    -------
    QRResult
        `Q`, whose columns are orthonormal, of shape (..., m, k) or (..., m, m), and `R`, upper
        triangular, (..., k, n) or (..., m, n).

    Raises
    ------
    ShapeError
        x has fewer than two axes.
    InvalidArgumentError
        There is no such mode.

    Notes
    -----
    The derivative needs the first k columns of x to be independent. The columns that complete Q are
    any basis of a space: gradients are right through functions of that space.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.qr(pg.asarray([[3.0, 1.0], [4.0, 2.0]])).R
    tensor([[5. , 2.2],
            [0. , 0.4]], dtype=float32)
    """
    if mode not in ("reduced", "complete"):
        raise InvalidArgumentError(
            f"there is no mode {mode!r}", "qr, argument mode", 'choose "reduced" or "complete"'
        )
    return QRResult(*_qr.call(matrices(x, "qr"), mode=mode))
