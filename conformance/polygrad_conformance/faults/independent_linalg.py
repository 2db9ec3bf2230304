"""Independent faults of linear algebra, Fourier transforms and special functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    Place,
    function,
    kernel,
    only,
)

__all__ = ["FAULTS", "in_tf32"]

_INF = float("inf")
_RISING = np.array([[4.0, 1.0], [1.0, 3.0]])


def in_tf32(a: Any, bits: int = 13) -> Any:
    """float32 without its last bits, as tensor cores read it."""
    a = np.ascontiguousarray(a)
    if a.dtype != np.float32:
        return a
    words = a.view(np.uint32) + np.uint32(1 << (bits - 1))
    return (words & np.uint32(0xFFFFFFFF << bits & 0xFFFFFFFF)).view(np.float32)


def _tf32(right: Any, x: Any, y: Any) -> Any:
    return right(in_tf32(x), in_tf32(y))


def _last_of_the_stack(right: Any, x: Any, y: Any) -> Any:
    """A stack that is broadcast is read with the stride of the other."""
    if x.ndim > 2 and y.ndim > 2 and x.shape[0] == 1 < y.shape[0]:
        return right(x, np.roll(y, 1, 0))
    return right(x, y)


def _unconjugated(right: Any, x1: Any, x2: Any, **kwargs: Any) -> Any:
    return right(pg.conj(x1), x2, **kwargs)


def _other_triangle(right: Any, x: Any) -> Any:
    """From the upper triangle as it is: the whole matrix is not looked at."""
    return right(np.triu(x) + np.conj(np.swapaxes(np.triu(x, 1), -1, -2)))


def _descending(right: Any, x: Any) -> Any:
    out = right(x)
    return tuple(np.flip(np.asarray(part), -1) for part in out)


def _v_for_vh(right: Any, x: Any, *, full_matrices: bool = True) -> Any:
    u, s, vh = right(x, full_matrices=full_matrices)
    square = vh.shape[-1] == vh.shape[-2]
    return type(right(x))(u, s, pg.matrix_transpose(vh) if square else vh)


def _sign_lost(right: Any, x: Any) -> Any:
    sign, size = right(x)
    return np.abs(sign), size


def _row_swaps_uncounted(right: Any, x: Any) -> Any:
    return np.abs(right(x))


def _always_matrix(right: Any, x1: Any, x2: Any) -> Any:
    """A stack of vectors is taken for a matrix if the shapes allow it."""
    if x2.ndim == 1 and x1.ndim > 2 and x1.shape[0] == x2.shape[0]:
        return right(x1, pg.flip(x2))
    return right(x1, x2)


def _upper_ignored(right: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    if kwargs.get("unit") and kwargs.get("upper"):
        kwargs["unit"] = False
    return right(x, y, **kwargs)


def _two_norm_by_squares(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("ord", 2) != 2:
        return right(x, *args, **kwargs)
    axis, keep = kwargs.get("axis"), kwargs.get("keepdims", False)
    return np.sqrt(np.sum((x * np.conj(x)).real, axis=axis, keepdims=keep))


def _imaginary_counts(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    n = kwargs["n"] if "n" in kwargs else args[0]
    axis = kwargs["axis"] if "axis" in kwargs else args[1]
    first = np.take(np.asarray(x), [0], axis).imag
    return right(x, *args, **kwargs) + (first / n).astype(np.asarray(x).real.dtype)


def _wide_frequency(right: Any, n: int, **kwargs: Any) -> Any:
    out = right(n, **kwargs)
    return pg.where(pg.arange(n, device=out.device) == n // 2, pg.abs(out), out)


def _ortho_backwards(right: Any, x: Any, **kwargs: Any) -> Any:
    if kwargs.get("norm") == "forward":
        kwargs["norm"] = "backward"
    return right(x, **kwargs)


def _reflected(right: Any, x: Any) -> Any:
    """Right on the positive half only; the negative one by the wrong sign."""
    out = np.asarray(right(x))
    return np.where((x < 0) & (np.floor(x) % 2 == 1), -out, out)


def _cancelling(right: Any, x: Any) -> Any:
    del right
    return np.asarray(1 - np.vectorize(math.erf, otypes=[float])(x)).astype(x.dtype)


def _zero_times_log(right: Any, x: Any, y: Any) -> Any:
    del right
    return x * np.log(y)


def _naive_expit(right: Any, x: Any) -> Any:
    del right
    return np.exp(x) / (1 + np.exp(x))


def _matmul(at: Place) -> Any:
    return at.run("matmul", at([[1024.5, 1.0]]), at([[1.0], [1.0]]))


_PHASES = [0.0, 1.0, 2.0, 1.0]

# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "matmul-in-tf32": kernel(
        "linear algebra", "matmul", "float32 matrices are multiplied in TF32",
        "https://github.com/pytorch/pytorch/issues/53635", _tf32, _matmul,
    ),
    "matmul-of-broadcast-stacks": kernel(
        "linear algebra", "matmul", "a stack of one, broadcast, meets the wrong matrices",
        "batch strides of BLAS", _last_of_the_stack,
        lambda at: at.run("matmul", at(np.ones((1, 1, 2))), at(np.arange(4.0).reshape(2, 2, 1))),
    ),
    "vecdot-without-conjugate": function(
        "linear algebra", "vecdot", "vecdot does not conjugate its first operand",
        "dotu in the place of dotc", _unconjugated,
        lambda at: at.run("vecdot", at([1j, 2.0], "complex64"), at([1j, 1.0], "complex64")),
    ),
    "outer-with-conjugate": function(
        "linear algebra", "outer", "outer conjugates its second operand", "gerc for geru",
        lambda right, x, y: right(x, pg.conj(y)),
        lambda at: at.run("outer", at([1.0], "complex64"), at([1j], "complex64")),
    ),
    "einsum-of-a-repeated-index": function(
        "linear algebra", "einsum", "'ii' is the sum of all, not the trace",
        "diagonals left out of a first version",
        lambda right, s, *ops: pg.sum(ops[0]) if s.replace(" ", "") in {"ii", "ii->"}
        else right(s, *ops), lambda at: at.run("einsum", "ii", at([[1.0, 2.0], [3.0, 4.0]])),
    ),
    "tensordot-reverses-axes": function(
        "linear algebra", "tensordot", "axes=2 contracts the last two in reverse order",
        "conventions of tensor libraries",
        lambda right, a, b, axes=2: right(a, b, axes=((-1, -2), (0, 1)))
        if axes == 2 and a.shape[-1] == a.shape[-2] == b.shape[0] == b.shape[1]
        else right(a, b, axes=axes),
        lambda at: at.run("tensordot", at([[1.0, 2.0], [3.0, 4.0]]), at([[1.0, 2.0], [3.0, 4.0]])),
    ),
    "matrix-transpose-of-complex": kernel(
        "linear algebra", "matrix_transpose", "matrix_transpose of a complex matrix conjugates",
        "' in MATLAB", only("c", lambda right, x: np.conj(right(x))),
        lambda at: at.run("matrix_transpose", at([[1j, 2.0]], "complex64")),
    ),
    "cross-of-the-last-axis": function(
        "linear algebra", "linalg.cross", "cross has the opposite sign unless axis is -1",
        "permuted components", lambda right, x, y, axis=-1: right(x, y, axis=axis)
        if axis in {-1, x.ndim - 1} else right(y, x, axis=axis),
        lambda at: at.run("linalg.cross", at([[1.0], [0.0], [0.0]]), at([[0.0], [1.0], [0.0]]),
                          axis=0),
    ),
    "trace-ignores-offset": function(
        "linear algebra", "linalg.trace", "the offset is ignored for stacks", "a second code path",
        lambda right, x, offset=0, **k: right(x, offset=0 if x.ndim > 2 else offset, **k),
        lambda at: at.run("linalg.trace", at(np.ones((2, 3, 3))), offset=1),
    ),
    "eigh-descends": kernel(
        "linear algebra", "eigh", "eigenvalues come in descending order", "Jacobi solvers of GPUs",
        _descending, lambda at: at.run("linalg.eigh", at(_RISING, "float64"))[0],
    ),
    "cholesky-upper-of-complex": function(
        "linear algebra", "linalg.cholesky", "upper=True transposes without conjugating",
        "https://github.com/numpy/numpy/issues/24451",
        lambda right, x, upper=False: pg.matrix_transpose(right(x)) if upper else right(x),
        lambda at: at.run("linalg.cholesky", at([[2, 1j], [-1j, 2]], "complex128"), upper=True),
    ),
    "svd-returns-v": function(
        "linear algebra", "linalg.svd", "svd returns V, not its adjoint, if it is square",
        "torch.svd and MATLAB", _v_for_vh,
        lambda at: at.run("linalg.svd", at([[1.0, 2.0], [3.0, 5.0]], "float64"))[2],
    ),
    "slogdet-is-never-negative": kernel(
        "linear algebra", "slogdet", "the sign of a negative determinant is 1",
        "row swaps that nobody counts", _sign_lost,
        lambda at: at.run("linalg.slogdet", at([[0.0, 1.0], [1.0, 0.0]])),
    ),
    "det-is-never-negative": kernel(
        "linear algebra", "det", "det forgets the sign of the permutation",
        "row swaps that nobody counts", only("f", _row_swaps_uncounted),
        lambda at: at.run("linalg.det", at([[0.0, 1.0], [1.0, 0.0]])),
    ),
    "solve-of-a-stack-and-a-vector": function(
        "linear algebra", "linalg.solve", "one vector for a stack of matrices is read backwards",
        "NumPy 2's change of what b of one axis means", _always_matrix,
        lambda at: at.run("linalg.solve", at(np.stack([_RISING, _RISING]), "float64"),
                          at([1.0, 2.0], "float64")),
    ),
    "triangular-solve-unit-upper": kernel(
        "linear algebra", "triangular_solve", "unit_diagonal is ignored with upper",
        "flags of trsm", _upper_ignored,
        lambda at: at.run("linalg.triangular_solve", at([[2.0, 1.0], [0.0, 4.0]]),
                          at([[1.0], [2.0]]), upper=True, unit_diagonal=True),
    ),
    "norm-overflows": kernel(
        "linear algebra", "vector_norm", "the 2-norm squares without scaling",
        "nrm2 written as a dot product", only("fc", _two_norm_by_squares),
        lambda at: at.run("linalg.vector_norm", at([3e30, 4e30])),
    ),
    "matrix-norm-one-is-infinity": function(
        "linear algebra", "linalg.matrix_norm", "ord=1 sums rows in the place of columns",
        "row-major and column-major",
        lambda right, x, keepdims=False, ord="fro": right(
            x, keepdims=keepdims, ord=_INF if ord == 1 else ord),
        lambda at: at.run("linalg.matrix_norm", at([[1.0, 2.0], [3.0, 4.0]]), ord=1),
    ),
    "matrix-rank-without-tolerance": function(
        "linear algebra", "linalg.matrix_rank", "every singular value above zero counts", "s > 0",
        lambda right, x, rtol=None: right(x, rtol=0.0 if rtol is None else rtol),
        lambda at: at.run("linalg.matrix_rank", at([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6],
                                                    [0.5, 0.7, 0.9]], "float64")),
    ),
    "matrix-power-of-minus-one": function(
        "linear algebra", "linalg.matrix_power", "a negative power is that of the transpose",
        "orthogonal matrices only", lambda right, x, n: right(
            pg.matrix_transpose(x) if n < 0 else x, abs(n)),
        lambda at: at.run("linalg.matrix_power", at(_RISING, "float64"), -1),
    ),
    "qr-complete-is-reduced": function(
        "linear algebra", "linalg.qr", "mode='complete' is taken as 'reduced'",
        "options of geqrf", lambda right, x, mode="reduced": right(x),
        lambda at: at.run("linalg.qr", at(np.ones((3, 1)), "float64"), mode="complete")[0].shape,
    ),
    "kron-swaps": function(
        "products", "kron", "kron of two matrices is kron of them swapped", "index order",
        lambda right, x, y: right(y, x) if x.ndim == y.ndim == 2 else right(x, y),
        lambda at: at.run("kron", at([[1.0, 2.0]]), at([[3.0, 4.0]])),
    ),
    "irfft-first-imaginary": kernel(
        "fft", "irfft", "irfft takes in the imaginary part of the first coefficient",
        "https://github.com/HEnquist/realfft/issues/11", _imaginary_counts,
        lambda at: at.run("fft.irfft", at([1 + 1j, 2.0, 3.0], "complex128")),
    ),
    "fft-forward-norm": function(
        "fft", "fft.ifft", "norm='forward' of an inverse is taken as 'backward'",
        "factors for one direction only", _ortho_backwards,
        lambda at: at.run("fft.ifft", at(_PHASES, "complex64"), norm="forward"),
    ),
    "rfft-of-odd-length": function(
        "fft", "fft.irfft", "an odd n is rounded up to even", "2 * (m - 1) everywhere",
        lambda right, x, n=None, **k: right(x, n=n if n is None or n % 2 == 0 else n + 1, **k),
        lambda at: at.run("fft.irfft", at([1.0, 2.0], "complex64"), n=3).shape,
    ),
    "fftfreq-nyquist": function(
        "fft", "fft.fftfreq", "the frequency at n/2 is positive for even n", "MATLAB's order",
        _wide_frequency, lambda at: at.run("fft.fftfreq", 4, device=at.device),
    ),
    "ifftshift-is-fftshift": function(
        "fft", "fft.ifftshift", "ifftshift is fftshift: odd lengths are off by one",
        "the same function for both", lambda right, x, **k: pg.fft.fftshift(x, **k),
        lambda at: at.run("fft.ifftshift", at([0.0, 1.0, 2.0])),
    ),
    "fftn-transforms-one-axis": function(
        "fft", "fft.fftn", "axes=(0,) transforms the last axis", "plans of rank 1",
        lambda right, x, axes=None, **k: right(x, axes=(-1,) if axes is not None and
                                               tuple(axes) == (0,) else axes, **k),
        lambda at: at.run("fft.fftn", at([[1.0, 2.0], [3.0, 5.0]], "complex64"), axes=(0,)),
    ),
    "dct-of-type-four": function(
        "fft", "fft.dct", "type 4 is computed as type 2", "one type implemented",
        lambda right, x, type=2, *a, **k: right(
            x, 2 if type == 4 else type, *a, **k),
        lambda at: at.run("fft.dct", at([1.0, 2.0, 3.0], "float64"), 4),
    ),
    "gamma-of-negatives": kernel(
        "special", "special_gamma", "gamma is positive for negative arguments too",
        "exp(lgamma(x))", only("f", _reflected),
        lambda at: at.run("special.gamma", at([-0.5, 0.5], "float64")),
    ),
    "erfc-cancels": kernel(
        "special", "erfc", "erfc(x) is 1 - erf(x)", "textbook formulas", only("f", _cancelling),
        lambda at: at.run("erfc", at([5.0, 10.0, 0.5], "float64")),
    ),
    "xlogy-of-zeros": kernel(
        "special", "special_xlogy", "xlogy(0, 0) is NaN", "x * log(y)", only("f", _zero_times_log),
        lambda at: at.run("special.xlogy", at([0.0, 1.0]), at([0.0, 2.0])),
    ),
    "expit-overflows": kernel(
        "special", "special_expit", "expit is exp(x) / (1 + exp(x)): NaN for large x",
        "textbook formulas", only("f", _naive_expit),
        lambda at: at.run("special.expit", at([1000.0, 0.5])),
    ),
    "sinc-at-zero": kernel(
        "special", "special_sinc", "sinc(0) is NaN", "sin(pi x) / (pi x)",
        only("f", lambda right, x: np.sin(np.pi * x) / (np.pi * x)),
        lambda at: at.run("special.sinc", at([0.0, 0.5], "float64")),
    ),
    "digamma-of-negatives": kernel(
        "special", "special_psi", "psi of negative numbers lacks the term of the reflection",
        "series for the positive half",
        only("f", lambda right, x: right(np.where(x < 0, 1 - x, x))),
        lambda at: at.run("special.digamma", at([-0.3, 2.0], "float64")),
    ),
    "logit-outside": kernel(
        "special", "special_logit", "logit outside of [0, 1] is clamped, not NaN", "torch's eps",
        only("f", lambda right, x: right(np.clip(x, 0, 1))),
        lambda at: at.run("special.logit", at([1.5, 0.5])),
    ),
}
# fmt: on
