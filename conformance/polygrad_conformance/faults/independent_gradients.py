"""Independent faults of gradients: rules that autograd engines have had wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import fitting
from polygrad_conformance.faults.device import FAULTY
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    Place,
    function,
    kernel,
    method,
    rule,
)

__all__ = ["FAULTS"]

_INF = float("inf")


def _spread(g: Any, F: Any, axis: Any, keepdims: bool) -> Any:
    """A cotangent of a reduction with the reduced axes put back."""
    return g if keepdims or axis is None else F.expand_dims(g, axis=axis)


def _max_all(g: Any, F: Any, right: Any, axis: Any, keepdims: bool) -> Any:
    return F.where(right != 0, _spread(g, F, axis, keepdims), 0 * right)


def _prod_by_division(g: Any, F: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _spread(g, F, axis, keepdims) * F.prod(x, axis=axis, keepdims=True) / x


def _var_uncorrected(right: Any, x: Any, axis: Any, correction: float) -> Any:
    n = math.prod(x.shape if axis is None else (x.shape[a] for a in axis))
    return right * ((n - correction) / n) if correction and n else right


def _std_of_constants(g: Any, F: Any, right: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    return right + 0 * _spread(g / out, F, axis, keepdims)


def _unsorted(g: Any, F: Any, x: Any, axis: int, descending: bool, stable: bool) -> Any:
    order = F.argsort(x, axis=axis, descending=descending, stable=stable)
    return F.permute_along_axis(g, order, axis=axis)


def _degenerate(right: Any, out: Any) -> Any:
    w = out[0]
    gap = w[..., 1:] - w[..., :-1]
    return right + 0 / gap.min() if w.shape[-1] > 1 and w.size else right


def _last_axis(g: Any, F: Any, out: Any) -> Any:
    return out * (g - F.sum(g * out, axis=(g.ndim - 1,), keepdims=True))


def _lse(g: Any, F: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    g, out = (_spread(t, F, axis, keepdims) for t in (g, out))
    return g * F.exp(x - out)


def _norm_at_zero(g: Any, F: Any, right: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    return right + 0 * _spread(g / out, F, axis, keepdims)


def _inverse_unscaled(g: Any, right: Any, axes: Any, inverse: bool, norm: str) -> Any:
    return right * math.prod(g.shape[a] for a in axes) if inverse and norm == "backward" else right


def _overwritten(right: Any, x: Any, indices: Any, shape: Any, axis: int = 0) -> Any:
    del right
    out = np.zeros(shape, np.asarray(x).dtype)
    out[(slice(None),) * axis + (np.asarray(indices),)] = x
    return out


def _along_overwritten(right: Any, x: Any, indices: Any, shape: Any, axis: int = -1) -> Any:
    del right
    out = np.zeros(shape, np.asarray(x).dtype)
    np.put_along_axis(out, np.asarray(indices), np.asarray(x), axis)
    return out


def _key_overwritten(right: Any, x: Any, key: Any, shape: Any) -> Any:
    del right
    out = np.zeros(shape, np.asarray(x).dtype)
    out[key] = x
    return out


def _shared_windows(right: Any, x: Any, places: Any, **kwargs: Any) -> Any:
    count = right(np.ones_like(x), places, **kwargs)
    return right(x, places, **kwargs) / np.maximum(count, 1).astype(np.asarray(x).dtype)


def _by_inverse(right: Any, x: Any) -> Any:
    del right
    dtype, x = x.dtype, np.asarray(x, np.result_type(x, np.float32))
    try:
        inverse = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return np.full(x.shape, np.nan, dtype)
    det = np.asarray(np.linalg.det(x))[..., None, None]
    return np.swapaxes(det * inverse, -1, -2).astype(dtype)


def _lost_addition(right: Any, F: Any, g: Any, shape: Any) -> Any:
    """A race: of what is summed over a new first axis, the first is lost."""
    on = g.device if isinstance(g, pg.Tensor) else F.device
    if on != FAULTY or g.ndim <= len(shape) or g.shape[0] < 2:
        return right(F, g, shape)
    return right(F, F.getitem(g, key=(slice(1, None),)), shape)


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, pg.Tensor) else value


def _second(at: Place, f: Any, data: Any) -> Any:
    x = at(data, "float64", grad=True)
    (g,) = pg.autograd.grad(pg.sum(f(x)), (x,), create_graph=True)
    (h,) = pg.autograd.grad(pg.sum(g * g), (x,))
    return h


def _of(op: str, *data: Any, weight: Any = None, dtype: str = "float64", **options: Any) -> Any:
    def shown(at: Place) -> Any:
        def f(*operands: Any) -> Any:
            out = at.run(op, *operands, **options)
            out = out if weight is None else out * at(weight, dtype)
            return pg.real(out) if dtype.startswith("complex") else out

        with np.errstate(all="ignore"):
            return at.grad(f, *data, dtype=dtype)

    return shown


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "abs-at-zero": rule(
        "abs", "x", "the gradient of abs at 0 is NaN", "x / |x|",
        lambda g, F, x: g * x / F.abs(x), _of("abs", [0.0, -2.0]),
    ),
    "sqrt-at-zero": rule(
        "sqrt", "x", "a zero cotangent of sqrt at 0 becomes NaN",
        "https://github.com/tinygrad/tinygrad/pull/15806", lambda g, out: g / (2 * out),
        _of("sqrt", [0.0, 4.0], weight=[0.0, 1.0]),
    ),
    "where-leaks": rule(
        "where", "x", "what was not chosen gets 0 * g: NaN for an infinite cotangent",
        "https://github.com/jax-ml/jax/issues/347", lambda g, condition: g * condition,
        lambda at: at.grad(lambda x: at.run("where", at([False, True], "bool"), x, 1.0) *
                           at([_INF, 1.0], "float64"), [1.0, 2.0]),
    ),
    "maximum-of-equals": rule(
        "maximum", "x", "of two equal operands the first gets the whole gradient, the second half",
        "https://github.com/tinygrad/tinygrad/pull/229",
        lambda g, F, x, y: F.where(x >= y, g, 0 * g), _of("maximum", [1.0, 2.0], [1.0, 3.0]),
    ),
    "max-of-equals": rule(
        "max", "x", "all of equal maxima get the whole gradient", "masks of equality", _max_all,
        _of("max", [3.0, 1.0, 3.0]),
    ),
    "prod-of-zeros": rule(
        "prod", "x", "the gradient of a product with a zero is NaN", "the product divided by x",
        _prod_by_division, _of("prod", [2.0, 0.0, 3.0]),
    ),
    "pow-of-zero-by-exponent": rule(
        "pow", "y", "the gradient of 0**y is NaN", "out * log(x)",
        lambda g, F, x, out: g * out * F.log(x), _of("pow", [0.0, 2.0], [2.0, 3.0]),
    ),
    "pow-of-exponent-zero": rule(
        "pow", "x", "the gradient of x**0 at 0 is NaN", "y * x**(y - 1)",
        lambda g, F, x, y: g * y * F.pow(x, y - 1), _of("pow", [0.0, 2.0], [0.0, 3.0]),
    ),
    "multiply-without-conjugate": rule(
        "multiply", "x", "the gradient of a complex product is not conjugated",
        "JAX's convention in PyTorch's place", lambda g, y: g * y,
        _of("multiply", [1 + 1j], [2 - 3j], dtype="complex128"),
    ),
    "var-without-correction": rule(
        "var", "x", "the gradient of var divides by n, whatever the correction",
        "a rule written for the default", _var_uncorrected, _of("var", [1.0, 2.0, 4.0],
                                                                correction=1.0),
    ),
    "std-of-constants": rule(
        "std", "x", "the gradient of std of equal numbers is NaN", "division by out",
        _std_of_constants, _of("std", [2.0, 2.0]),
    ),
    "sort-not-undone": rule(
        "sort", "x", "the gradient of sort is permuted by the order, not by its inverse",
        "the same for permutations of order 2", _unsorted, _of(
            "sort", [3.0, 1.0, 2.0], weight=[1.0, 10.0, 100.0]),
    ),
    "hardtanh-at-the-bounds": rule(
        "hardtanh", "x", "the gradient of hardtanh at its bounds is 1", "<= for <",
        lambda g, F, x, low, high: F.where(F.logical_and(x >= low, x <= high), g, 0 * g),
        _of("nn.functional.hardtanh", [-1.0, 0.5, 1.0]),
    ),
    "norm-of-zeros": rule(
        "vector_norm", "x", "the gradient of the norm of zeros is NaN", "x / norm",
        _norm_at_zero, _of("linalg.vector_norm", [0.0, 0.0]),
    ),
    "eigenvalues-repeated": rule(
        "eigh", "x", "repeated eigenvalues give NaN, also where only eigenvalues are used",
        "1 / (w[i] - w[j])", _degenerate,
        lambda at: at.grad(lambda x: at.run("linalg.eigh", x)[0], np.eye(2)),
    ),
    "cholesky-half": rule(
        "cholesky", "x", "the gradient of cholesky is not symmetric", "only a triangle is read",
        lambda F, right: F.tril(right, k=0),
        _of("linalg.cholesky", [[4.0, 1.0], [1.0, 3.0]]),
    ),
    "softmax-along-the-last": rule(
        "softmax", "x", "the gradient of softmax sums over the last axis, whichever it is",
        "a kernel for rows", _last_axis, _of("softmax", [[1.0, 2.0], [3.0, 0.0]], axis=0,
                                             weight=[[1.0, 2.0], [3.0, 4.0]]),
    ),
    "logaddexp-of-minus-infinities": rule(
        "logaddexp", "x", "the gradient at (-inf, -inf) is NaN",
        "https://github.com/pytorch/pytorch/issues/49724",
        lambda g, F, x, y: g * F.exp(x - F.logaddexp(x, y)),
        _of("logaddexp", [-_INF, 1.0], [-_INF, 2.0]),
    ),
    "logsumexp-of-minus-infinities": rule(
        "logsumexp", "x", "the gradient of logsumexp of -inf only is NaN",
        "https://github.com/pytorch/pytorch/issues/31829", _lse, _of("logsumexp", [-_INF, -_INF]),
    ),
    "hypot-at-zero": rule(
        "hypot", "x", "the gradient of hypot(0, 0) is NaN", "x / out",
        lambda g, x, out: g * x / out, _of("hypot", [0.0, 3.0], [0.0, 4.0]),
    ),
    "atan2-at-zero": rule(
        "atan2", "x", "a zero cotangent of atan2(0, 0) becomes NaN", "y / (x*x + y*y)",
        lambda g, x, y: g * y / (x * x + y * y), _of("atan2", [0.0, 1.0], [0.0, 2.0],
                                                     weight=[0.0, 1.0]),
    ),
    "remainder-by-divisor": rule(
        "remainder", "y", "remainder has no gradient for its divisor",
        "a zero where nobody asked", lambda g: 0 * g, _of("remainder", [7.0], [3.0]),
    ),
    "inverse-fft-unscaled": rule(
        "fourier", "x", "the gradient of ifft is not divided by n", "the adjoint is fft",
        _inverse_unscaled, _of("fft.ifft", [1.0, 2j, 3.0], dtype="complex128"),
    ),
    "bias-gradient-is-a-mean": rule(
        "convolution", "b", "the gradient of a bias is the mean over the batch",
        "reductions by averages", lambda g, right: right / max(g.shape[0], 1),
        _of("nn.functional.conv1d", np.ones((2, 1, 3)), np.ones((1, 1, 2)), [1.0]),
    ),
    "softplus-overflows": rule(
        "softplus", "x", "the gradient of softplus at large x is NaN", "exp(x) / (1 + exp(x))",
        lambda g, F, x: g * F.exp(x) / (1 + F.exp(x)),
        _of("nn.functional.softplus", [1000.0, 0.5]),
    ),
    "xlogy-at-zero": rule(
        "special_xlogy", "y", "the gradient of xlogy(0, 0) for y is NaN", "x / y",
        lambda g, x, y: g * x / y, _of("special.xlogy", [0.0, 1.0], [0.0, 2.0]),
    ),
    "roll-not-undone": rule(
        "roll", "x", "the gradient of roll goes the same way", "a sign forgotten",
        lambda g, F, shift, axis: F.roll(g, shift=shift, axis=axis),
        _of("roll", [1.0, 2.0, 3.0], shift=1, weight=[1.0, 10.0, 100.0]),
    ),
    "asin-at-one": rule(
        "asin", "x", "a zero cotangent of asin at 1 becomes NaN", "1 / sqrt(1 - x*x)",
        lambda g, F, x: g / F.sqrt(1 - x * x), _of("asin", [1.0, 0.5], weight=[0.0, 1.0]),
    ),
    "solve-without-conjugate": rule(
        "solve", "x", "the gradient of solve for a complex matrix is not conjugated",
        "transpose for adjoint", lambda F, right: F.conj(right) if right.dtype.kind == "c"
        else right, _of("linalg.solve", [[1 + 1j, 0], [0, 2]], [1j, 1.0], dtype="complex128"),
    ),
    "dropout-gradient-unscaled": rule(
        "dropout", "x", "the gradient of dropout is masked, but not scaled",
        "a mask saved as booleans", lambda g, F, mask: F.dropout(g, mask, scale=1.0),
        lambda at: [pg.random.manual_seed(1), at.grad(
            lambda x: at.run("nn.functional.dropout", x, 0.5), np.ones(8))][1],
    ),
    "tanh-once-differentiable": rule(
        "tanh", "x", "the second derivative of tanh is 0: saved values are constants",
        "custom functions with one backward", lambda g, out: g * (1 - _detached(out) ** 2),
        lambda at: _second(at, lambda x: pg.tanh(x) * x, [0.5, -1.0]),
    ),
    "expm1-saved-output": rule(
        "expm1", "x", "the gradient of expm1 is its output, as for exp", "a rule copied",
        lambda g, out: g * out, _of("expm1", [0.5]),
    ),
    "take-gradient-overwritten": kernel(
        "gradients", "take_adjoint", "an element taken twice gets the last cotangent only",
        "scatter without atomic additions", _overwritten,
        lambda at: at.grad(lambda x: at.run("take", x, at([0, 0], "int64"), axis=0), [1.0, 2.0]),
    ),
    "take-along-axis-gradient-overwritten": kernel(
        "gradients", "take_along_axis_adjoint", "of equal places the last cotangent stays",
        "scatter without atomic additions", _along_overwritten,
        lambda at: at.grad(lambda x: at.run("take_along_axis", x, at([0, 0], "int64"), axis=0),
                           [1.0, 2.0]),
    ),
    "index-gradient-overwritten": kernel(
        "gradients", "getitem_adjoint", "an element indexed twice gets the last cotangent only",
        "scatter without atomic additions", _key_overwritten,
        lambda at: at.grad(lambda x: x[at([0, 0, 1], "int64")], [1.0, 2.0]),
    ),
    "max-pool-overlaps": kernel(
        "gradients", "place_in_windows", "a maximum of two windows gets the mean, not the sum",
        "overlapping windows", _shared_windows,
        _of("nn.functional.max_pool1d", [[[1.0, 3.0, 2.0]]], kernel_size=2, stride=1),
    ),
    "det-of-singular-matrices": kernel(
        "gradients", "cofactor", "the gradient of det of a singular matrix is NaN", "det * inv",
        _by_inverse, _of("linalg.det", [[1.0, 2.0], [2.0, 4.0]]),
    ),
    "broadcast-loses-a-row": method(
        "gradients", "engine", fitting, "unbroadcast",
        "of what broadcasting added up, one row is lost", "races without atomic additions",
        _lost_addition,
        lambda at: at.grad(lambda b: at(np.ones((3, 2)), "float64") * b, [1.0, 2.0]),
        everywhere=True,
    ),
    "embedding-frequencies-ignored": function(
        "gradients", "nn.functional.embedding", "scale_grad_by_freq is ignored",
        "arguments dropped", lambda right, *a, scale_grad_by_freq=False, **k: right(*a, **k),
        lambda at: at.grad(lambda w: at.run("nn.functional.embedding", at([0, 0, 1], "int64"), w,
                                            scale_grad_by_freq=True), [[1.0], [2.0]]),
    ),
    "embedding-padding-learns": function(
        "gradients", "nn.functional.embedding", "the row of padding_idx gets a gradient",
        "https://github.com/google/torchax/pull/11",
        lambda right, x, w, padding_idx=None, *a, **k: right(x, w, None, *a, **k),
        lambda at: at.grad(lambda w: at.run("nn.functional.embedding", at([0, 1], "int64"), w,
                                            padding_idx=1), [[1.0], [2.0]]),
    ),
}
# fmt: on
