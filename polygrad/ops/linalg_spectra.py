"""Eigenvalues and singular values, with their vectors.

The vectors have the same phases on every device: Note [Phases] in polygrad.ops._matrices. What
holds for values that are equal: Note [Repeated values] there.

The rules' formulas: M. Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008); for complex vectors, and for sums and differences of singular
values in place of differences of their squares, derived from A = U S V^H.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from polygrad import dtypes
from polygrad.families import Chapter
from polygrad.kernels import declare_forward
from polygrad.ops._library import library
from polygrad.ops._matrices import (
    Factorization,
    across,
    bar,
    column,
    down,
    hermitian,
    matrices,
    phases,
    quotient,
    single,
    square,
    without_phase,
)
from polygrad.ops.elementwise import is_complex
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("linear algebra", space="linalg")


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _largest(F: Any, w: Any) -> Any:
    """The largest modulus of each stack of values, of shape (..., 1, 1)."""
    return F.max(F.abs(down(F, w)), axis=(-2, -1), keepdims=True)


# ---- Hermitian matrices -------------------------------------------------------------------------
def _eigh_forward(F: Any, x: Any) -> Any:
    w, v = library(F).eigh(hermitian(F, x))
    return w, v * F.conj(phases(F, v))


def _eigh_rule(g: Any, F: Any, out: Any) -> Any:
    """V (diag(Gw) + skew(V^H Gv) / (w_j - w_i)) V^H."""
    (gw, gv), (w, v) = g, out
    if 0 in v.shape:
        return F.matmul(v, F.adjoint(v))
    inner = None if gw is None else F.diagonal_adjoint(gw, offset=0, shape=v.shape[-2:])
    if gv is not None:
        m = F.matmul(F.adjoint(v), without_phase(F, gv, v))
        skew = (m - F.adjoint(m)) * 0.5
        gap = across(F, w) - down(F, w)
        size = F.max(F.abs(m), axis=(-2, -1), keepdims=True)
        turned = quotient(F, skew, gap, _largest(F, w), size)
        inner = turned if inner is None else inner + turned
    return F.matmul(F.matmul(v, inner), F.adjoint(v))


def _eigvalsh_rule(g: Any, F: Any, x: Any) -> Any:
    """V diag(G) V^H, with the vectors computed when they are needed."""
    _, v = F.eigh(x)
    return F.matmul(v * across(F, g), F.adjoint(v))


_eigh = Factorization(
    "eigh", ("x",), {"x": _eigh_rule}, forward=single(_eigh_forward), outputs=2, floating=True
)
_eigvalsh = Primitive(
    "eigvalsh", ("x",), {"x": _eigvalsh_rule}, floating=True,
    forward=single(lambda F, x: library(F).eigvalsh(hermitian(F, x))),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.real(2, 2, 2),), {}), ((s.real(0, 0),), {}), ((s.real(1, 1),), {}),
], kinds="fc")  # fmt: skip
def eigh(x: Any, /) -> EighResult:
    """The eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    x
        Floating tensor of shape (..., n, n). Of matrices that are not Hermitian the Hermitian part,
        (x + x^H) / 2, is taken.

    Returns
    -------
    EighResult
        `eigenvalues`, real, ascending, of shape (..., n), and `eigenvectors`, columns of norm 1, of
        the shape of x. The first component of at least 0.6 times the largest modulus of a vector is
        real and positive, on every device.

    Raises
    ------
    ShapeError
        The matrices are not square.
    LinearAlgebraError
        The iteration does not converge.

    Notes
    -----
    Vectors of an eigenvalue that is there twice have a derivative only through functions that do
    not depend on their choice; others give inf or NaN. Second derivatives need distinct
    eigenvalues.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.eigh(pg.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.], dtype=float32)
    """
    return EighResult(*_eigh.call(square(x, "eigh")))


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.real(2, 2, 2),), {}), ((s.real(0, 0),), {}),
], kinds="fc")  # fmt: skip
def eigvalsh(x: Any, /) -> Tensor:
    """The eigenvalues of Hermitian matrices; parameter, errors and notes as of `eigh`.

    Returns
    -------
    Tensor
        Real, ascending, of shape (..., n).

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.eigvalsh(pg.asarray([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.], dtype=float32)
    """
    return _eigvalsh.call(square(x, "eigvalsh"))  # type: ignore[no-any-return]


# ---- general matrices ---------------------------------------------------------------------------
def _complex_kernels(F: Any) -> Any:
    return F.with_dtype(dtypes.complex_of(F.dtype))


def _eig_forward(F: Any, x: Any) -> Any:
    w, v = library(F).eig(x)
    here = _complex_kernels(F)
    w, v = here.cast(w), here.cast(v)
    return w, v * here.conj(phases(here, v))


def _eigvals_forward(F: Any, x: Any) -> Any:
    return _complex_kernels(F).cast(library(F).eigvals(x))


def _eig_rule(g: Any, F: Any, out: Any) -> Any:
    """V^-H (diag(Gw) + (V^H Gv - V^H V diag(Re V^H Gv)) / conj(w_j - w_i)) V^H."""
    (gw, gv), (w, v) = g, out
    vh = F.adjoint(v)
    if 0 in v.shape:
        return F.matmul(v, vh)
    inner = None if gw is None else F.diagonal_adjoint(gw, offset=0, shape=v.shape[-2:])
    if gv is not None:
        m = F.matmul(vh, without_phase(F, gv, v))
        along = F.real(F.diagonal(m, offset=0))
        n = m - F.matmul(vh, v) * across(F, along)
        gap = bar(F, across(F, w) - down(F, w))
        size = F.max(F.abs(m), axis=(-2, -1), keepdims=True)
        turned = quotient(F, n, gap, _largest(F, w), size)
        inner = turned if inner is None else inner + turned
    return F.solve(vh, F.matmul(inner, vh))


def _eigvals_rule(g: Any, F: Any, x: Any) -> Any:
    """V^-H diag(G) V^H, with the vectors computed when they are needed."""
    _, v = F.eig(x)
    vh = F.adjoint(v)
    return F.solve(vh, down(F, g) * vh)


_eig = Factorization(
    "eig", ("x",), {"x": _eig_rule}, forward=single(_eig_forward), outputs=2, floating=True
)
_eigvals = Primitive(
    "eigvals", ("x",), {"x": _eigvals_rule}, forward=single(_eigvals_forward), floating=True
)


def _separated(s: Any, n: int) -> Any:
    """Matrices whose eigenvalues every library finds in one order."""
    x = s.real(n, n) * 0.3
    for i in range(n):
        x[i, i] = 3 * i + 1
    return x


@_table.public(samples=lambda s: [((_separated(s, 3),), {}), ((_separated(s, 0),), {})], kinds="fc")
def eig(x: Any, /) -> EigResult:
    """The eigenvalues and right eigenvectors of square matrices.

    Parameters
    ----------
    x
        Floating tensor of shape (..., n, n).

    Returns
    -------
    EigResult
        `eigenvalues`, of shape (..., n), and `eigenvectors`, columns of norm 1, of the shape of x,
        both complex. The order is the library's; the phases of the vectors are as of `eigh`.

    Raises
    ------
    ShapeError
        The matrices are not square.
    LinearAlgebraError
        The iteration does not converge.
    UnsupportedOperationError
        The library has no `eig`.

    Notes
    -----
    Repeated eigenvalues as of `eigh`. A matrix without a basis of eigenvectors has no gradient.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.eig(pg.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([2.+0.j, 1.+0.j], dtype=complex64)
    """
    return EigResult(*_eig.call(square(x, "eig")))


@_table.public(samples=lambda s: [((_separated(s, 3),), {}), ((_separated(s, 0),), {})], kinds="fc")
def eigvals(x: Any, /) -> Tensor:
    """The eigenvalues of square matrices; parameter, errors and notes as of `eig`.

    Returns
    -------
    Tensor
        Complex, of shape (..., n).

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.eigvals(pg.asarray([[0.0, 1.0], [0.0, 2.0]]))
    tensor([0.+0.j, 2.+0.j], dtype=complex64)
    """
    return _eigvals.call(square(x, "eigvals"))  # type: ignore[no-any-return]


# ---- singular values ----------------------------------------------------------------------------
declare_forward(
    "library_svd", lambda F, x, full_matrices: library(F).svd(x, full_matrices=full_matrices)
)


def _svd_forward(F: Any, x: Any, full_matrices: bool = True) -> Any:
    u, s, vh = F.library_svd(x, full_matrices=full_matrices)
    k = s.shape[-1]
    turn = phases(F, u)
    parts = [vh[..., :k, :] * turn[..., :k].mT]
    if vh.shape[-2] > k:
        rest = vh[..., k:, :]
        parts.append(rest * phases(F, F.adjoint(rest)).mT)
    return u * F.conj(turn), s, parts[0] if len(parts) == 1 else F.xp.concat(parts, axis=-2)


def _svd_core(F: Any, gu: Any, gv: Any, u: Any, s: Any, v: Any) -> Any:
    """What the vectors contribute, inside the spaces that they span: P in U P V^H.

    With K = skew(U^H Gu) and L = skew(V^H Gv): ((K + L) / (s_j - s_i) + (K - L) / (s_j + s_i)) / 2,
    which has no difference of squares to lose digits in, and is finite for equal values where K =
    -L.
    """
    m, n = F.matmul(F.adjoint(u), gu), F.matmul(F.adjoint(v), gv)
    k, ell = m - F.adjoint(m), n - F.adjoint(n)
    gap, total = across(F, s) - down(F, s), across(F, s) + down(F, s)
    size = F.max(F.abs(m) + F.abs(n), axis=(-2, -1), keepdims=True)
    inner = (
        quotient(F, k + ell, gap, _largest(F, s), size) * 0.5
        + quotient(F, k - ell, total, _largest(F, s), size) * 0.5
    )
    if is_complex(F, m):
        turn = F.strong_divide(F.imag(F.diagonal(m, offset=0)), s)
        inner = inner + F.diagonal_adjoint(turn, offset=0, shape=m.shape[-2:]) * 1j
    return inner


def _svd_rule(g: Any, F: Any, out: Any) -> Any:
    """U (P + diag(Gs)) V^H, and the parts of Gu, Gv outside the spaces of U and V."""
    (gu, gs, gvh), (u, s, vh) = g, out
    k = s.shape[-1]
    u1 = F.getitem(u, key=column(None, k))
    vh1 = F.getitem(vh, key=(Ellipsis, slice(None, k), slice(None)))
    if 0 in s.shape:
        return F.matmul(u1, vh1)
    inner = None if gs is None else F.diagonal_adjoint(gs, offset=0, shape=(k, k))
    if gu is None and gvh is None:
        return F.matmul(F.matmul(u1, inner), vh1)
    v = F.adjoint(vh)
    v1 = F.getitem(v, key=column(None, k))
    gu = F.zeros_like(u) if gu is None else gu
    gv = F.zeros_like(v) if gvh is None else F.adjoint(gvh)
    gu1, gv1 = F.getitem(gu, key=column(None, k)), F.getitem(gv, key=column(None, k))
    gu1 = without_phase(F, gu1, u1, (gv1, v1))
    core = _svd_core(F, gu1, gv1, u1, s, v1)
    out = F.matmul(F.matmul(u1, core if inner is None else core + inner), vh1)
    if u.shape[-2] > k:
        out = out + F.matmul(_outside(F, gu, gu1, u, u1, s), vh1)
    if v.shape[-2] > k:
        out = out + F.matmul(u1, F.adjoint(_outside(F, gv, gv1, v, v1, s)))
    return out


def _outside(F: Any, g: Any, g1: Any, u: Any, u1: Any, s: Any) -> Any:
    """(1 - U1 U1^H) G1 / s, and -U2 G2^H U1 / s for the columns that complete the basis."""
    k = s.shape[-1]
    found = g1 - F.matmul(u1, F.matmul(F.adjoint(u1), g1))
    if u.shape[-1] > k:
        u2, g2 = F.getitem(u, key=column(k, None)), F.getitem(g, key=column(k, None))
        g2 = without_phase(F, g2, u2)
        found = found - F.matmul(u2, F.matmul(F.adjoint(g2), u1))
    return F.strong_divide(found, across(F, s))


def _svdvals_rule(g: Any, F: Any, x: Any) -> Any:
    """U diag(G) V^H, with the vectors computed when they are needed."""
    u, _, vh = F.svd(x, full_matrices=False)
    return F.matmul(u * across(F, g), vh)


_svd = Factorization(
    "svd", ("x",), {"x": _svd_rule}, forward=single(_svd_forward), keywords={"full_matrices": True},
    outputs=3, floating=True,
)  # fmt: skip
_svdvals = Primitive(
    "svdvals", ("x",), {"x": _svdvals_rule}, floating=True,
    forward=single(lambda F, x: library(F).svd(x, full_matrices=False)[1]
                   if 0 in x.shape else library(F).svdvals(x)),
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.real(3, 2),), {"full_matrices": False}),
    ((s.real(2, 3),), {"full_matrices": False}), ((s.real(3, 2),), {}), ((s.real(2, 1, 2),), {}),
    ((s.real(0, 2),), {"full_matrices": False}),
], kinds="fc")  # fmt: skip
def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition x = U diag(S) Vh.

    Parameters
    ----------
    x
        Floating tensor of shape (..., m, n); k is the smaller of m and n.
    full_matrices
        True: U and Vh are square; False: U has k columns, Vh k rows.

    Returns
    -------
    SVDResult
        `U`, of shape (..., m, m) or (..., m, k); `S`, real, descending, (..., k); `Vh`, (..., n, n)
        or (..., k, n). The columns of U have the phases of `eigh`'s vectors, on every device.

    Raises
    ------
    ShapeError
        x has fewer than two axes.
    LinearAlgebraError
        The iteration does not converge.

    Notes
    -----
    Repeated singular values as of `eigh`. The columns that complete U and V (`full_matrices=True`,
    m and n unequal) are any basis of a space: gradients are right through functions of that space.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.svd(pg.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.], dtype=float32)
    """
    return SVDResult(*_svd.call(matrices(x, "svd"), full_matrices=bool(full_matrices)))


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.real(3, 2),), {}), ((s.real(2, 2, 3),), {}), ((s.real(0, 2),), {}),
], kinds="fc")  # fmt: skip
def svdvals(x: Any, /) -> Tensor:
    """The singular values of matrices; parameter, errors and notes as of `svd`.

    Returns
    -------
    Tensor
        Real, descending, of shape (..., min(m, n)).

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.svdvals(pg.asarray([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.], dtype=float32)
    """
    return _svdvals.call(matrices(x, "svdvals"))  # type: ignore[no-any-return]
