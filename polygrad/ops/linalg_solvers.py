"""Inverses, linear equations, rank."""

from __future__ import annotations

from typing import Any, NamedTuple

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops._library import library
from polygrad.ops._matrices import epsilon, matrices, single, square
from polygrad.ops.linalg_spectra import svdvals
from polygrad.ops.linear_algebra import matmul
from polygrad.ops.manipulation import broadcast_shapes, expand_dims, squeeze
from polygrad.ops.statistical import sum as sum_function
from polygrad.primitive import Primitive
from polygrad.registry import default_integer
from polygrad.tensor import Tensor, raw

_table = Chapter("linear algebra", space="linalg")


class LstsqResult(NamedTuple):
    """What `lstsq` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def _regular(s: Any, *shape: int) -> Any:
    """Matrices with a large diagonal, far from singular."""
    x = s.real(*shape) * 0.3
    for i in range(min(shape[-2:])):
        x[..., i, i] += 2
    return x


# ---- inverses -----------------------------------------------------------------------------------
def _inv_rule(g: Any, F: Any, out: Any) -> Any:
    """-X^-H G X^-H."""
    h = F.adjoint(out)
    return -F.matmul(F.matmul(h, g), h)


_inv = Primitive(
    "inv", ("x",), {"x": _inv_rule}, forward=single(lambda F, x: library(F).inv(x)), floating=True
)


@_table.public(samples=lambda s: [
    ((_regular(s, 3, 3),), {}), ((_regular(s, 2, 1, 2, 2),), {}), ((_regular(s, 0, 0),), {}),
], kinds="fc")  # fmt: skip
def inv(x: Any, /) -> Tensor:
    """The inverses of matrices.

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
    LinearAlgebraError
        A matrix is singular; libraries that do not wait for their device give inf or NaN instead.

    Notes
    -----
    Derivative: -X^-H G X^-H, with the cotangent G.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.inv(pg.asarray([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5 , 0.  ],
            [0.  , 0.25]], dtype=float32)
    """
    return _inv.call(square(x, "inv"))  # type: ignore[no-any-return]


def _pinv_forward(F: Any, x: Any, rtol: Any = None) -> Any:
    """By singular values; those of at most rtol times the largest count as 0."""
    u, s, vh = library(F).svd(x, full_matrices=False)
    if 0 in s.shape:
        return F.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]))
    small = s <= _threshold(F, x, s, rtol)
    inverse = F.where(small, 0, 1 / F.where(small, 1, s))
    return F.matmul(F.adjoint(vh) * inverse[..., None, :], F.adjoint(u))


def _threshold(F: Any, x: Any, s: Any, rtol: Any) -> Any:
    """The singular value from which on down all count as 0."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * epsilon(F)
    elif hasattr(rtol, "shape"):
        rtol = F.of(s).cast(rtol)[..., None]
    return F.xp.max(s, axis=-1, keepdims=True) * rtol


def _pinv_rule(g: Any, F: Any, x: Any, out: Any) -> Any:
    """For constant rank: -P^H G P^H + (1 - X P) G^H P P^H + P^H P G^H (1 - P X)."""
    gh, ph = F.adjoint(g), F.adjoint(out)
    left, right = F.matmul(F.matmul(gh, out), ph), F.matmul(F.matmul(ph, out), gh)
    return (
        left - F.matmul(x, F.matmul(out, left))
        + right - F.matmul(F.matmul(right, out), x)
        - F.matmul(F.matmul(ph, g), ph)
    )  # fmt: skip


_pinv = Primitive(
    "pinv", ("x",), {"x": _pinv_rule}, forward=single(_pinv_forward), keywords={"rtol": None},
    floating=True,
)  # fmt: skip


def _constant(rtol: Any, x: Tensor, where: str) -> Any:
    """A tolerance as a number, or as a raw array on the device of x."""
    if rtol is None or isinstance(rtol, (int, float)):
        return rtol
    t = as_tensor(rtol, f"{where}, argument rtol")
    if t.device != x.device:
        raise InvalidArgumentError(
            f"rtol is on {t.device}, x on {x.device}", f"{where}{describe([x])}, argument rtol",
            "pass a number, or move it",
        )  # fmt: skip
    return raw(t)


@_table.public(samples=lambda s: [
    ((_regular(s, 3, 3),), {}), ((_regular(s, 3, 2),), {"rtol": 1e-3}),
    ((_regular(s, 2, 2, 3),), {}),
    ((_regular(s, 0, 2),), {}),
], kinds="fc")  # fmt: skip
def pinv(x: Any, /, *, rtol: Any = None) -> Tensor:
    """The Moore-Penrose inverses of matrices.

    Parameters
    ----------
    x
        Floating tensor of shape (..., m, n).
    rtol
        Singular values of at most `rtol` times the largest count as 0: a number, or a tensor of
        shape (...,). None: max(m, n) times the spacing of the dtype's numbers at 1.

    Returns
    -------
    Tensor
        Shape (..., n, m).

    Raises
    ------
    ShapeError
        x has fewer than two axes.

    Notes
    -----
    The derivative (Golub and Pereyra, 1973) is that along matrices of the same rank.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.pinv(pg.asarray([[2.0], [0.0]]))
    tensor([[0.5, 0. ]], dtype=float32)
    """
    x = matrices(x, "pinv")
    return _pinv.call(x, rtol=_constant(rtol, x, "pinv"))  # type: ignore[no-any-return]


# ---- equations ----------------------------------------------------------------------------------
def _solve_forward(F: Any, x: Any, y: Any) -> Any:
    lead = x.shape[:-2]
    if lead != y.shape[:-2]:  # libraries disagree about stacks that broadcast
        lead = broadcast_shapes(lead, y.shape[:-2])
        x = F.xp.broadcast_to(x, (*lead, *x.shape[-2:]))
        y = F.xp.broadcast_to(y, (*lead, *y.shape[-2:]))
    return library(F).solve(x, y)


_solve = Primitive(
    "solve", ("x", "y"),
    {
        "x": lambda g, F, x, out: -F.matmul(F.solve(F.adjoint(x), g), F.adjoint(out)),
        "y": lambda g, F, x: F.solve(F.adjoint(x), g),
    },
    forward=single(_solve_forward), floating=True,
)  # fmt: skip


def _check_solve(x: Tensor, y: Tensor, where: str, vector: bool) -> None:
    """Refuse shapes that do not fit."""
    rows = y.shape[0] if vector else y.shape[-2]
    if rows != x.shape[-2]:
        raise ShapeError(
            f"matrices with {x.shape[-2]} rows, right-hand sides with {rows}",
            f"{where}{describe([x, y])}", "x2 is a vector (n,), or matrices (..., n, k)",
        )  # fmt: skip
    broadcast_shapes(x.shape[:-2], () if vector else y.shape[:-2])


@_table.public(samples=lambda s: [
    ((_regular(s, 3, 3), s.real(3)), {}), ((_regular(s, 2, 2), s.real(2, 3)), {}),
    ((_regular(s, 2, 1, 2, 2), s.real(3, 2, 1)), {}), ((_regular(s, 2, 2, 2), s.real(2)), {}),
    ((_regular(s, 0, 0), s.real(0, 2)), {}),
], kinds="fc")  # fmt: skip
def solve(x1: Any, x2: Any, /) -> Tensor:
    """The solutions of linear equations: x1 @ solution = x2.

    Parameters
    ----------
    x1
        Floating tensor of shape (..., n, n).
    x2
        A vector of shape (n,), or matrices (..., n, k); stacks broadcast.

    Returns
    -------
    Tensor
        Shape (..., n) for a vector, else (..., n, k).

    Raises
    ------
    ShapeError
        x1 is not square, or the shapes do not fit.
    LinearAlgebraError
        A matrix is singular; libraries that do not wait for their device give inf or NaN instead.

    Notes
    -----
    Derivative: for x2, solve(x1^H, G); for x1 minus that times the adjoint of the solution.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.solve(pg.asarray([[2.0, 0.0], [0.0, 4.0]]), pg.asarray([1.0, 1.0]))
    tensor([0.5 , 0.25], dtype=float32)
    """
    x, y = square(x1, "solve", "x1"), as_tensor(x2, "solve, argument x2")
    vector = y.ndim == 1
    y = y if vector else matrices(y, "solve", "x2")
    _check_solve(x, y, "solve", vector)
    if vector:
        return squeeze(_solve.call(x, expand_dims(y, axis=-1)), -1)
    return _solve.call(x, y)  # type: ignore[no-any-return]


def _triangle(F: Any, x: Any, upper: bool, unit: bool) -> Any:
    x = F.xp.triu(x, k=int(unit)) if upper else F.xp.tril(x, k=-int(unit))
    return x + F.xp.eye(x.shape[-1], dtype=x.dtype, device=F.native_device) if unit else x


def _triangular_forward(F: Any, x: Any, y: Any, upper: bool = False, unit: bool = False) -> Any:
    return _solve_forward(F, _triangle(F, x, upper, unit), y)


def _triangular_x(g: Any, F: Any, x: Any, out: Any, upper: bool, unit: bool) -> Any:
    """The triangle of -solve(X^H, G) out^H."""
    gx = -F.matmul(_triangular_y(g, F, x, upper, unit), F.adjoint(out))
    return F.triu(gx, k=int(unit)) if upper else F.tril(gx, k=-int(unit))


def _triangular_y(g: Any, F: Any, x: Any, upper: bool, unit: bool) -> Any:
    """solve(X^H, G)."""
    return F.triangular_solve(F.adjoint(x), g, upper=not upper, unit=unit)


_triangular_solve = Primitive(
    "triangular_solve", ("x", "y"), {"x": _triangular_x, "y": _triangular_y},
    forward=single(_triangular_forward), keywords={"upper": False, "unit": False}, floating=True,
)  # fmt: skip


@_table.public(samples=lambda s: [
    ((_regular(s, 3, 3), s.real(3)), {}), ((_regular(s, 2, 2), s.real(2, 3)), {"upper": True}),
    ((_regular(s, 2, 1, 2, 2), s.real(3, 2, 1)), {"upper": True, "unit_diagonal": True}),
    ((_regular(s, 2, 2), s.real(2, 2)), {"unit_diagonal": True}),
], kinds="fc")  # fmt: skip
def triangular_solve(
    x1: Any, x2: Any, /, *, upper: bool = False, unit_diagonal: bool = False
) -> Tensor:
    """The solutions of linear equations with triangular matrices; otherwise as `solve`.

    Parameters
    ----------
    x1
        Floating tensor of shape (..., n, n), of which one triangle is looked at.
    x2
        A vector of shape (n,), or matrices (..., n, k); stacks broadcast.
    upper
        Take the upper triangle; the lower one by default.
    unit_diagonal
        Take ones for the diagonal.

    Returns
    -------
    Tensor
        Shape (..., n) for a vector, else (..., n, k).

    Raises
    ------
    ShapeError
        x1 is not square, or the shapes do not fit.
    LinearAlgebraError
        The diagonal has a zero.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.triangular_solve(pg.asarray([[2.0, 9.0], [2.0, 1.0]]), pg.asarray([2.0, 3.0]))
    tensor([1., 1.], dtype=float32)
    """
    x, y = square(x1, "triangular_solve", "x1"), as_tensor(x2, "triangular_solve, argument x2")
    vector = y.ndim == 1
    y = y if vector else matrices(y, "triangular_solve", "x2")
    _check_solve(x, y, "triangular_solve", vector)
    keywords = {"upper": bool(upper), "unit": bool(unit_diagonal)}
    if vector:
        return squeeze(_triangular_solve.call(x, expand_dims(y, axis=-1), **keywords), -1)
    return _triangular_solve.call(x, y, **keywords)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((_regular(s, 3, 2), s.real(3)), {}), ((_regular(s, 2, 3), s.real(2, 2)), {"rtol": 1e-5}),
    ((_regular(s, 2, 3, 2), s.real(2, 3, 1)), {"rcond": 1e-5}),
    ((_regular(s, 2, 3, 2), s.real(3)), {}),
], kinds="fc")  # fmt: skip
def lstsq(x1: Any, x2: Any, /, *, rtol: Any = None, rcond: Any = None) -> LstsqResult:
    """The vectors of least norm that minimise |x1 @ solution - x2|.

    Parameters
    ----------
    x1
        Floating tensor of shape (..., m, n).
    x2
        A vector of shape (m,), or matrices (..., m, k); stacks broadcast.
    rtol
        As of `pinv`.
    rcond
        NumPy's name for `rtol`, for libraries that use it.

    Returns
    -------
    LstsqResult
        `solution`, of shape (..., n) or (..., n, k); `residuals`, the squared distances that are
        left, of shape (...) or (..., k); `rank` of x1; its `singular_values`.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    Notes
    -----
    By the Moore-Penrose inverse, whose derivative it has.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.lstsq(pg.asarray([[2.0], [0.0]]), pg.asarray([1.0, 3.0])).solution
    tensor([0.5], dtype=float32)
    """
    rtol = rcond if rtol is None else rtol
    x, y = matrices(x1, "lstsq", "x1"), as_tensor(x2, "lstsq, argument x2")
    vector = y.ndim == 1
    y = y if vector else matrices(y, "lstsq", "x2")
    _check_solve(x, y, "lstsq", vector)
    y = expand_dims(y, axis=-1) if vector else y
    solution = matmul(pinv(x, rtol=rtol), y)
    distance = abs(matmul(x, solution) - y)
    residuals = sum_function(distance * distance, axis=-2)
    if vector:
        solution, residuals = squeeze(solution, -1), squeeze(residuals, -1)
    return LstsqResult(solution, residuals, matrix_rank(x, rtol=rtol), svdvals(x))


# ---- rank ---------------------------------------------------------------------------------------
def _rank_forward(F: Any, x: Any, rtol: Any = None) -> Any:
    """How many singular values are above the threshold."""
    count = F.with_dtype(default_integer(F.device))
    if 0 in x.shape:
        return count.zeros(x.shape[:-2])
    s = library(F).svd(x, full_matrices=False)[1]
    above = count.cast(s > _threshold(F, x, s, rtol))
    return F.xp.sum(above, axis=-1, dtype=count.native_dtype)


_matrix_rank = Primitive(
    "matrix_rank", ("x",), {}, forward=single(_rank_forward), keywords={"rtol": None}, floating=True
)


@_table.public(samples=lambda s: [
    ((_regular(s, 3, 3),), {}), ((_regular(s, 3, 2),), {"rtol": 0.1}), ((_regular(s, 0, 2),), {}),
    ((_regular(s, 2, 2, 2),), {"rtol": s.positive(2) / 10}),
], kinds="fc", differentiable=False)  # fmt: skip
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tensor:
    """How many singular values of matrices are above `rtol` times the largest.

    Parameters
    ----------
    x
        Floating tensor of shape (..., m, n).
    rtol
        As of `pinv`.

    Returns
    -------
    Tensor
        Integers of shape (...); no gradient.

    Raises
    ------
    ShapeError
        x has fewer than two axes.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.linalg.matrix_rank(pg.asarray([[1.0, 1.0], [1.0, 1.0]]))
    tensor(1, dtype=int64)
    """
    x = matrices(x, "matrix_rank")
    return _matrix_rank.call(x, rtol=_constant(rtol, x, "matrix_rank"))  # type: ignore[no-any-return]
