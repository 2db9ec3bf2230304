"""Functions of tensors, over the samples of PyTorch's operator database.

A row says how one of PyTorch's functions is called in polygrad, with PyTorch's order of arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations

import polygrad as pg
from pytorch_parity._bridge import compare, said

__all__ = ["FUNCTIONS", "run"]

DTYPES = {
    torch.float64: (2, ""), torch.float32: (1, ", float32"), torch.complex128: (1, ", complex"),
}  # fmt: skip

# Elementwise, by the same name.
_SAME = (
    "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos",
    "cosh", "erf", "erfc", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10",
    "log1p", "log2", "logical_not", "positive", "reciprocal", "round", "sign", "signbit", "sin",
    "sinh", "sqrt", "square", "tan", "tanh", "trunc", "atan2", "copysign", "floor_divide", "hypot",
    "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "nextafter",
    "remainder", "matmul", "inner", "outer", "kron",
)  # fmt: skip
_RENAMED = {
    "neg": "negative", "sgn": "sign", "conj_physical": "conj", "mul": "multiply",
    "true_divide": "divide", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal", "mm": "matmul", "bmm": "matmul", "mv": "matmul",
    "digamma": "special.digamma", "lgamma": "special.gammaln", "erfinv": "special.erfinv",
    "i0": "special.i0", "special.i0e": "special.i0e", "special.i1": "special.i1",
    "special.i1e": "special.i1e", "sigmoid": "nn.functional.sigmoid",
    "special.entr": "special.entr", "special.erfcx": "special.erfcx",
    "special.log_ndtr": "special.log_ndtr", "special.ndtr": "special.ndtr",
    "special.ndtri": "special.ndtri", "special.xlog1py": "special.xlog1py",
    "xlogy": "special.xlogy", "special.bessel_j0": "special.j0", "special.bessel_j1": "special.j1",
    "igamma": "special.gammainc", "igammac": "special.gammaincc",
}  # fmt: skip


def _find(path: str) -> Callable[..., Any]:
    found: Any = pg
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _reduction(name: str) -> Callable[..., Any]:
    function = _find(name)

    def reduced(
        x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None
    ) -> Any:
        more = {} if dtype is None else {"dtype": dtype}
        axis = None if isinstance(axis, (tuple, list)) and not axis else axis
        return function(x, axis=axis, keepdims=keepdims, **more)

    return reduced


def _moment(name: str) -> Callable[..., Any]:
    function = _find(name)

    def moment(
        x: Any, axis: Any = None, keepdims: bool = False, *, unbiased: bool = True,
        correction: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(axis, bool):
            axis, unbiased = None, axis
        if correction is None:
            correction = int(unbiased)
        return function(x, axis=axis, keepdims=keepdims, correction=correction)

    return moment


def _cat(tensors: Any, axis: int = 0) -> Any:
    return pg.concat(list(tensors), axis=axis)


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    return pg.clip(x, min, max)


def _sorted(x: Any, axis: int = -1, descending: bool = False, **more: Any) -> Any:
    del more
    return (
        pg.sort(x, axis=axis, descending=descending),
        pg.argsort(x, axis=axis, descending=descending),
    )


def _norm(x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    x = x if dtype is None else x.astype(dtype)
    return pg.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)


def _several(name: str) -> Callable[..., Any]:
    function = _find(f"fft.{name}")

    def transform(x: Any, s: Any = None, axis: Any = None, norm: str | None = None) -> Any:
        axes = (axis,) if isinstance(axis, int) else axis
        return function(x, s=s, axes=axes, norm=norm or "backward")

    return transform


def _swapped(x: Any, a: int, b: int) -> Any:
    axes = list(range(x.ndim))
    if axes:
        axes[a], axes[b] = axes[b], axes[a]
    return pg.permute_dims(x, tuple(axes))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _find(name) for name in _SAME},
    **{name: _find(path) for name, path in _RENAMED.items()},
    **{name: _reduction(name) for name in ("sum", "mean", "prod", "nansum", "nanmean", "all",
                                           "any", "logsumexp")},
    "amax": _reduction("max"), "amin": _reduction("min"),
    "std": _moment("std"), "var": _moment("var"),
    "add": lambda x, y, alpha=1: x + (y if alpha == 1 else y * alpha),
    "sub": lambda x, y, alpha=1: x - (y if alpha == 1 else y * alpha),
    "rsub": lambda x, y, alpha=1: y - (x if alpha == 1 else x * alpha),
    "pow": lambda x, y: x**y,
    "rsqrt": lambda x: 1 / pg.sqrt(x), "exp2": lambda x: 2.0**x,
    "frac": lambda x: x - pg.trunc(x),
    "deg2rad": lambda x: x * (torch.pi / 180), "rad2deg": lambda x: x * (180 / torch.pi),
    "sinc": pg.special.sinc,
    "logit": lambda x, eps=None: pg.special.logit(x if eps is None else pg.clip(x, eps, 1 - eps)),
    "clamp": _clamp, "clamp_min": lambda x, low: pg.maximum(x, low),
    "clamp_max": lambda x, high: pg.minimum(x, high),
    "where": lambda x, condition, other: pg.where(condition, x, other),
    "lerp": pg.lerp, "addcmul": lambda x, a, b, value=1: x + value * a * b,
    "addcdiv": lambda x, a, b, value=1: x + value * a / b,
    "dot": lambda a, b: pg.vecdot(a, b) if a.dtype.kind == "f" else pg.sum(a * b),
    "vdot": lambda a, b: pg.vecdot(a, b),
    "addmm": lambda c, a, b, beta=1, alpha=1: beta * c + alpha * (a @ b),
    "addmv": lambda c, a, b, beta=1, alpha=1: beta * c + alpha * (a @ b),
    "baddbmm": lambda c, a, b, beta=1, alpha=1: beta * c + alpha * (a @ b),
    "addbmm": lambda c, a, b, beta=1, alpha=1: beta * c + alpha * pg.sum(a @ b, axis=0),
    "addr": lambda c, a, b, beta=1, alpha=1: beta * c + alpha * pg.outer(a, b),
    "tensordot": lambda a, b, dims=2: pg.tensordot(a, b, axes=dims),
    "einsum": lambda tensors, equation: pg.einsum(equation, *tensors),
    "cumsum": lambda x, axis, dtype=None: pg.cumulative_sum(x, axis=axis, dtype=dtype),
    "cumprod": lambda x, axis, dtype=None: pg.cumulative_prod(x, axis=axis, dtype=dtype),
    "logcumsumexp": lambda x, axis: pg.cumulative_logsumexp(x, axis=axis),
    "cummax": pg.cummax, "cummin": pg.cummin,
    "cat": _cat, "stack": lambda tensors, axis=0: pg.stack(list(tensors), axis=axis),
    "reshape": lambda x, shape: pg.reshape(x, tuple(shape)),
    "view": lambda x, shape: x.reshape(shape),
    "permute": lambda x, axes: pg.permute_dims(x, axes),
    "transpose": _swapped,
    "t": lambda x: x.T if x.ndim == 2 else x,
    "movedim": pg.moveaxis, "unsqueeze": lambda x, axis: pg.expand_dims(x, axis=axis),
    "expand": lambda x, shape: pg.broadcast_to(
        x, tuple(n if m == -1 else m for m, n in
                 zip(shape, (1,) * (len(shape) - x.ndim) + x.shape, strict=True))),
    "flip": lambda x, dims: pg.flip(x, axis=dims), "fliplr": lambda x: pg.flip(x, axis=1),
    "flipud": lambda x: pg.flip(x, axis=0),
    "roll": lambda x, shifts, axis=None: pg.roll(x, shifts, axis=axis),
    "rot90": lambda x, k=1, axes=(0, 1): pg.rot90(x, k, axes),
    "tile": lambda x, repeats: pg.tile(x, repeats),
    "triu": lambda x, diagonal=0: pg.triu(x, k=diagonal),
    "tril": lambda x, diagonal=0: pg.tril(x, k=diagonal),
    "diag_embed": lambda x, offset=0, dim1=-2, dim2=-1: pg.diag_embed(x, offset, dim1, dim2),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: pg.diagonal(x, offset, dim1, dim2),
    "trace": lambda x: pg.trace(x),
    "unbind": lambda x, axis=0: tuple(pg.unstack(x, axis=axis)),
    "gather": lambda x, axis, index: pg.gather(x, index, axis),
    "take_along_dim": lambda x, index, axis=None: pg.take_along_axis(
        x if axis is not None else x.reshape(-1), index if axis is not None else index.reshape(-1),
        axis=-1 if axis is None else axis),
    "index_select": lambda x, axis, index: pg.take(x, index, axis=axis),
    "masked_fill": lambda x, mask, value: pg.masked_fill(x, mask, value),
    "masked_select": pg.masked_select,
    "sort": _sorted,
    "topk": lambda x, k, axis=-1, largest=True, sorted=True: pg.topk(
        x, k, axis=axis, largest=largest),
    "kthvalue": lambda x, k, axis=-1, keepdims=False: pg.kthvalue(
        x, k, axis=axis, keepdims=keepdims),
    "quantile": lambda x, q, axis=None, keepdims=False, interpolation="linear": pg.quantile(
        x, q, axis=axis, keepdims=keepdims, method=interpolation),
    "diff": lambda x, n=1, axis=-1, prepend=None, append=None: pg.diff(
        x, n=n, axis=axis, prepend=prepend, append=append),
    "trapezoid": lambda y, *args, **kwargs: pg.trapezoid(y, *args, **kwargs),
    "cov": lambda x, correction=1, fweights=None, aweights=None: pg.cov(
        x, ddof=correction, fweights=fweights, aweights=aweights),
    "corrcoef": pg.corrcoef,
    "log_softmax": lambda x, axis, dtype=None: pg.log_softmax(x, axis, dtype),
    "softmax": lambda x, axis, dtype=None: pg.softmax(x, axis, dtype),
    "nan_to_num": lambda x, nan=None, posinf=None, neginf=None: pg.nan_to_num(
        x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf),
    "linalg.vector_norm": _norm,
    "linalg.det": pg.linalg.det, "linalg.inv": pg.linalg.inv, "linalg.solve": pg.linalg.solve,
    "linalg.slogdet": pg.linalg.slogdet, "linalg.svdvals": pg.linalg.svdvals,
    "linalg.eigvalsh": lambda x, UPLO="L": pg.linalg.eigvalsh(
        x if UPLO == "L" else pg.matrix_transpose(pg.conj(x))),
    "linalg.pinv": pg.linalg.pinv,
    "linalg.matrix_power": pg.linalg.matrix_power,
    "linalg.cross": lambda a, b, axis=-1: pg.linalg.cross(a, b, axis=axis),
    "linalg.vecdot": lambda a, b, axis=-1: pg.linalg.vecdot(a, b, axis=axis),
    "matrix_exp": pg.linalg.expm,
    **{f"fft.{name}": _find(f"fft.{name}")
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": _several(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
}


def run(report: Any, wanted: Callable[[str], Any]) -> None:
    """All functions of the table."""
    for op in common_methods_invocations.op_db:
        name = op.name
        ours = FUNCTIONS.get(name)
        if ours is None or op.variant_test_name or not wanted(name):
            continue
        for dtype, (order, what) in DTYPES.items():
            if not op.supports_dtype(dtype, "cpu"):
                continue
            torch.manual_seed(0)
            for sample in op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd):
                args = (sample.input, *sample.args)
                text = said(args, sample.kwargs) + what
                compare(report, name, text, op.op, ours, args, sample.kwargs, order)
