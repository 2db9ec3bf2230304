"""What factors and eigenvectors must satisfy: their own values are not unique, products are.

Bounds are 16 n u times the size of what is compared, in the precision of the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad_conformance.case import Failed, Measure
from polygrad_conformance.tolerance import bounded, format_of

__all__ = ["RESIDUALS", "measure"]

Host = np.ndarray[Any, Any]
_FACTOR = 16
Check = tuple[str, Host, Any]


def _adjoint(a: Host) -> Host:
    return np.conj(np.swapaxes(a, -1, -2))


def _eye(n: int, like: Host) -> Host:
    return np.broadcast_to(np.eye(n), (*like.shape[:-2], n, n))


def _diagonal(values: Host, rows: int, columns: int) -> Host:
    made = np.zeros((*values.shape[:-1], rows, columns), values.dtype)
    i = np.arange(values.shape[-1])
    made[..., i, i] = values
    return made


def _qr(sample: Any, made: list[Host]) -> list[Check]:
    a, (q, r) = sample.args[0], made
    return [
        ("A = Q R", q @ r, a),
        ("Q is orthonormal", _adjoint(q) @ q, _eye(q.shape[-1], q)),
        ("R is upper triangular", np.tril(r, -1), np.zeros(r.shape)),
    ]


def _svd(sample: Any, made: list[Host]) -> list[Check]:
    a, (u, s, v) = sample.args[0], made
    return [
        ("A = U S V", u @ _diagonal(s, u.shape[-1], v.shape[-2]).astype(u.dtype) @ v, a),
        ("U is orthonormal", _adjoint(u) @ u, _eye(u.shape[-1], u)),
        ("V is orthonormal", v @ _adjoint(v), _eye(v.shape[-2], v)),
        ("S is descending", np.sort(s, axis=-1)[..., ::-1], s),
        ("S is not negative", np.abs(s), s),
    ]


def _eigh(sample: Any, made: list[Host]) -> list[Check]:
    a, (w, v) = sample.args[0], made
    a = (a + _adjoint(a)) / 2  # of others, eigh takes the Hermitian part
    return [
        ("A V = V W", a @ v, v * w[..., None, :]),
        ("V is orthonormal", _adjoint(v) @ v, _eye(v.shape[-1], v)),
        ("W is ascending", np.sort(w, axis=-1), w),
    ]


def _eig(sample: Any, made: list[Host]) -> list[Check]:
    a, (w, v) = sample.args[0], made
    return [
        ("A V = V W", a @ v, v * w[..., None, :]),
        ("columns of V have length 1", np.linalg.vector_norm(v, axis=-2), np.ones(w.shape)),
        ("the sum of W is the trace", np.sum(w, -1), np.trace(a, axis1=-2, axis2=-1)),
    ]


def _eigvals(sample: Any, made: list[Host]) -> list[Check]:
    a, (w,) = sample.args[0], made
    checks: list[Check] = []
    power = a
    for k in range(1, a.shape[-1] + 1):  # the power sums determine the eigenvalues
        checks.append((f"the sum of W^{k}", np.sum(w**k, -1), np.trace(power, axis1=-2, axis2=-1)))
        power = power @ a
    return checks


def _cholesky(sample: Any, made: list[Host]) -> list[Check]:
    a, (factor,) = sample.args[0], made
    upper = sample.kwargs.get("upper", False)
    lower = _adjoint(factor) if upper else factor
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
    return [
        ("A = L L^H", lower @ _adjoint(lower), a),
        ("L is lower triangular", np.triu(lower, 1), np.zeros(lower.shape)),
        ("the diagonal is positive", np.abs(diagonal), np.real(diagonal)),
    ]


def _lu(sample: Any, made: list[Host]) -> list[Check]:
    a, (p, lower, upper) = sample.args[0], made
    return [
        ("A = P L U", p.astype(lower.dtype) @ lower @ upper, a),
        ("L is lower triangular", np.triu(lower, 1), np.zeros(lower.shape)),
        ("U is upper triangular", np.tril(upper, -1), np.zeros(upper.shape)),
        ("L has ones on its diagonal", np.diagonal(lower, axis1=-2, axis2=-1),
         np.ones((*lower.shape[:-2], min(lower.shape[-2:])))),
    ]  # fmt: skip


RESIDUALS: dict[str, Callable[[Any, list[Host]], list[Check]]] = {
    "linalg.qr": _qr, "linalg.svd": _svd, "linalg.eigh": _eigh, "linalg.eig": _eig,
    "linalg.eigvals": _eigvals, "linalg.cholesky": _cholesky, "linalg.lu": _lu,
}  # fmt: skip


def measure(key: str, sample: Any, results: list[Host]) -> Measure:
    """The worst residual in units of its bound.

    Raises
    ------
    Failed
        A residual is more than eight times its bound.
    """
    worst, what = Measure(0.0, 1.0, "ratio", "A"), ""
    size = max(1, *sample.args[0].shape[-2:])
    norm = max(1.0, float(np.max(np.abs(sample.args[0]), initial=0)))
    unit = format_of(results[0].dtype).unit
    wide = [r.astype(np.clongdouble if r.dtype.kind == "c" else np.longdouble) for r in results]
    try:
        checks = RESIDUALS[key](sample, wide)
    except ValueError as error:  # shapes that do not fit one another
        raise Failed(f"{key}: {error}: see its shapes") from error
    for text, got, want in checks:
        if got.shape != np.shape(want):
            raise Failed(f"{text}: shape {got.shape}, expected {np.shape(want)}")
        scale = _FACTOR * size * unit * max(norm, float(np.max(np.abs(want), initial=0)))
        found, _ = bounded(np.abs(got - want), np.full(got.shape, scale))
        if (found.measured or 0) > (worst.measured or 0):
            worst, what = found, text
    if worst.grade == "F":
        raise Failed(f"{what} does not hold ({worst.measured:.3g} times the bound)", worst)
    return worst
