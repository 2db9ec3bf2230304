"""Beyond the standard: the exponential of matrices, and LU with pivoting.

Sources: N. J. Higham, "The scaling and squaring method for the matrix exponential revisited"
(2005), for `expm`; its derivative is a block of the exponential of a block matrix (R. Mathias,
1996). The rule of `lu` is derived from A = P L U.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from polygrad.families import Chapter
from polygrad.ops._library import library
from polygrad.ops._matrices import Factorization, column, matrices, single, square
from polygrad.primitive import CONSTANT, Primitive
from polygrad.registry import default_integer
from polygrad.tensor import Tensor

_table = Chapter("linear algebra", space="linalg")

# Numerator of the Pade approximant of degree 13, divided by its first coefficient, and the 1-norm
# up to which it is exact to the last place of float64.
_PADE = [
    math.comb(13, k) * math.factorial(26 - k) / math.factorial(26) for k in range(14)
]
_REACH = 5.371920351148152


class LUResult(NamedTuple):
    """What `lu` returns."""

    P: Tensor
    L: Tensor
    U: Tensor


# ---- expm ---------------------------------------------------------------------------------------
def _halvings(F: Any, x: Any) -> tuple[Any, int]:
    """How often each matrix must be halved, of shape (..., 1, 1), and the largest of them."""
    sums = F.xp.sum(F.xp.abs(x), axis=-2, keepdims=True)
    norm = F.xp.max(sums, axis=-1, keepdims=True)
    usable = (norm > _REACH) & (norm < math.inf)
    count = F.xp.ceil(F.xp.log2(F.where(usable, norm, _REACH) / _REACH))
    return count, int(F.backend.item(F.xp.max(count)))


def _expm_forward(F: Any, x: Any) -> Any:
    if 0 in x.shape:
        return x
    count, most = _halvings(F, x)
    x = x * F.of(count).full((), 0.5) ** count
    one = F.xp.eye(x.shape[-1], dtype=x.dtype, device=F.native_device)
    x2 = F.matmul(x, x)
    x4 = F.matmul(x2, x2)
    x6 = F.matmul(x4, x2)
    b = _PADE
    odd = F.matmul(x6, x6 * b[13] + x4 * b[11] + x2 * b[9])
    odd = F.matmul(x, odd + x6 * b[7] + x4 * b[5] + x2 * b[3] + one * b[1])
    even = F.matmul(x6, x6 * b[12] + x4 * b[10] + x2 * b[8])
    even = even + x6 * b[6] + x4 * b[4] + x2 * b[2] + one * b[0]
    out = library(F).solve(even - odd, even + odd)
    for k in range(most):
        out = F.where(count > k, F.matmul(out, out), out)
    return out


def _expm_rule(g: Any, F: Any, x: Any) -> Any:
    """The corner of the exponential of [[X^H, G], [0, X^H]], with G brought to the size of 1."""
    h, size = F.adjoint(x), F.magnitude(g)
    g = g / size
    block = F.concat(
        [F.concat([h, g], axis=-1), F.concat([F.zeros_like(h), h], axis=-1)], axis=-2
    )
    n = x.shape[-1]
    corner = (Ellipsis, slice(None, n), slice(n, None))
    return F.getitem(F.expm(block), key=corner) * size


def _magnitude(F: Any, x: Any) -> Any:
    """The largest modulus of each matrix, 1 in place of 0. Results do not depend on it."""
    size = F.xp.abs(x)
    if 0 in x.shape:
        return F.of(size).ones((1, 1))
    top = F.xp.max(size, axis=(-2, -1), keepdims=True)
    return F.where(top > 0, top, 1)


Primitive("magnitude", ("x",), {"x": CONSTANT}, forward=_magnitude)
_expm = Primitive(
    "expm", ("x",), {"x": _expm_rule}, forward=single(_expm_forward), floating=True
)


@_table.public(samples=lambda s: [
    ((s.real(2, 2),), {}), ((s.real(3, 3) * 4,), {}), ((s.real(2, 1, 1),), {}),
    ((s.real(0, 0),), {}),
], kinds="fc")  # fmt: skip
def expm(x: Any, /) -> Tensor:
    """The exponentials of matrices: sum_k x^k / k!.

    Parameters
    ----------
    x
        Floating tensor of shape (..., n, n).

    Returns
    -------
    Tensor
        Of the same shape.

    Raises
    ------
    ShapeError
        The matrices are not square.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.expm(pg.asarray([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]], dtype=float32)
    """
    return _expm.call(square(x, "expm"))  # type: ignore[no-any-return]


# ---- lu -----------------------------------------------------------------------------------------
def _pivoted(F: Any, x: Any, rows: Any, j: int) -> Any:
    """X with row j and the row of the largest element of column j below it exchanged."""
    size = F.where(rows < j, -1, F.xp.abs(x[..., j : j + 1]))
    best = F.of(size).argmax(size, axis=-2, keepdims=True)
    found = F.xp.sum(F.where(rows == best, x, 0), axis=-2, keepdims=True)
    here = x[..., j : j + 1, :]
    return F.where(rows == j, found, F.where(rows == best, here, x))


def _lu_forward(F: Any, x: Any) -> Any:
    """Column by column, for libraries without LAPACK's."""
    m, n = x.shape[-2:]
    k = min(m, n)
    one = F.xp.eye(m, dtype=x.dtype, device=F.native_device)
    # [X 1], of which every row is exchanged; the factors of L take the place of what becomes 0.
    x = F.xp.concat([x, F.xp.broadcast_to(one, (*x.shape[:-2], m, m))], axis=-1)
    whole = F.with_dtype(default_integer(F.device))
    places = F.xp.arange(n + m, dtype=whole.native_dtype, device=F.native_device)
    rows, columns = F.xp.reshape(places[:m], (m, 1)), F.xp.reshape(places, (1, n + m))
    for j in range(k):
        x = _pivoted(F, x, rows, j)
        pivot = x[..., j : j + 1, j : j + 1]
        factors = F.where(rows > j, x[..., j : j + 1] / F.where(pivot == 0, 1, pivot), 0)
        right = F.where((columns > j) & (columns < n), x[..., j : j + 1, :], 0)
        x = F.where((columns == j) & (rows > j), factors, x - factors * right)
    lower = F.xp.tril(x[..., :k], k=-1) + one[:, :k]
    return x[..., n:].mT, lower, F.xp.triu(x[..., :k, :n])


def _lu_rule(g: Any, F: Any, out: Any) -> Any:
    """Of a square matrix: P L^-H (tril(L^H Gl, -1) + triu(Gu U^H)) U^-H.

    What is wider is L^-1 times the rest of it, what is taller the rest times U^-1.
    """
    (_, gl, gu), (p, lower, upper) = g, out
    k = lower.shape[-1]
    if gl is None and gu is None:
        return None
    gl = F.zeros_like(lower) if gl is None else gl
    gu = F.zeros_like(upper) if gu is None else gu
    top, rest = (Ellipsis, slice(None, k), slice(None)), (Ellipsis, slice(k, None), slice(None))
    l1, u1 = F.getitem(lower, key=top), F.getitem(upper, key=column(None, k))
    gl1, gu1 = F.getitem(gl, key=top), F.getitem(gu, key=column(None, k))
    right = below = None
    if upper.shape[-1] > k:
        u2, gu2 = F.getitem(upper, key=column(k, None)), F.getitem(gu, key=column(k, None))
        right = F.triangular_solve(F.adjoint(l1), gu2, upper=True, unit=True)
        gl1 = gl1 - F.matmul(right, F.adjoint(u2))
    if lower.shape[-2] > k:
        l2, gl2 = F.getitem(lower, key=rest), F.getitem(gl, key=rest)
        below = F.adjoint(F.triangular_solve(u1, F.adjoint(gl2), upper=True))
        gu1 = gu1 - F.matmul(F.adjoint(l2), below)
    inner = F.tril(F.matmul(F.adjoint(l1), gl1), k=-1) + F.triu(F.matmul(gu1, F.adjoint(u1)), k=0)
    left = F.triangular_solve(F.adjoint(l1), inner, upper=True, unit=True)
    gx = F.adjoint(F.triangular_solve(u1, F.adjoint(left), upper=True))
    if right is not None:
        gx = F.concat([gx, right], axis=-1)
    if below is not None:
        gx = F.concat([gx, below], axis=-2)
    return F.matmul(p, gx)


_lu = Factorization(
    "lu", ("x",), {"x": _lu_rule}, forward=single(_lu_forward), outputs=3, floating=True
)


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.real(2, 3),), {}), ((s.real(4, 2),), {}), ((s.real(2, 2, 2),), {}),
    ((s.real(0, 0),), {}),
], kinds="fc")  # fmt: skip
def lu(x: Any, /) -> LUResult:
    """The LU factorization with row exchanges x = P L U.

    Parameters
    ----------
    x
        Floating tensor of shape (..., m, n); k is the smaller of m and n.

    Returns
    -------
    LUResult
        `P`, a permutation matrix, of shape (..., m, m), which is constant; `L`, lower triangular
        with ones on the diagonal, (..., m, k); `U`, upper triangular, (..., k, n).

    Raises
    ------
    ShapeError
        x has fewer than two axes.

    Notes
    -----
    Column by column, in n steps of whole-array operations: `solve`, `det` and `inv` do not use it.
    The derivative needs the first k columns, and those rows of P^-1 x, to be independent.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.lu(pg.asarray([[1.0, 2.0], [2.0, 0.0]])).U
    tensor([[2., 0.],
            [0., 2.]], dtype=float32)
    """
    return LUResult(*_lu.call(matrices(x, "lu")))
