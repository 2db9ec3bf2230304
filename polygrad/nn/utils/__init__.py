"""Gradients and parameters taken together: PyTorch's `torch.nn.utils`; sequences are in `rnn`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from polygrad import dtypes
from polygrad.config import no_grad
from polygrad.errors import DeviceMismatchError, GradientError, InvalidArgumentError, ShapeError
from polygrad.nn.utils import rnn
from polygrad.ops.creation import tensor
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import concat
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.writes import assign

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
    "parameters_to_vector", "rnn", "vector_to_parameters",
]  # fmt: skip

Tensors = Tensor | Iterable[Tensor]


def _gradients(parameters: Tensors) -> list[Tensor]:
    """The tensors whose gradients are there; each once."""
    found = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    unique = {id(p): p for p in found}
    return [p for p in unique.values() if p.gradient is not None]


def _total_norm(tensors: list[Tensor], norm_type: float, *, error_if_nonfinite: bool) -> Tensor:
    """The norm of all numbers in `tensors`, as a 0-d tensor on their device.

    Scaled by the largest magnitude, so that no square overflows or vanishes.
    """
    p = float(norm_type)
    if not tensors:
        return tensor(0.0)
    k = tensors[0].kernels
    for t in tensors:
        if t.device != k.device:
            raise DeviceMismatchError(
                f"gradients on {k.device} and {t.device}", "get_total_norm",
                "call it for the tensors of each device",
            )  # fmt: skip
    xp = k.xp
    with k.backend.quiet(), k.guard() if k.guard is not None else nullcontext():
        sizes = [xp.abs(_wide(t)) for t in tensors if t.size]
        largest = _largest(xp, sizes)
        if p == math.inf or not sizes:
            value = largest
        elif p == 0:
            value = float(sum(float(xp.sum(xp.astype(a != 0, a.dtype))) for a in sizes))
        elif largest == 0 or not math.isfinite(largest):
            value = largest
        else:
            value = largest * sum(float(xp.sum((a / largest) ** p)) for a in sizes) ** (1 / p)
    if error_if_nonfinite and not math.isfinite(value):
        raise GradientError(
            f"the total norm of order {norm_type} is {value}", "argument error_if_nonfinite=True",
            "look for what made it so with pg.autograd.detect_anomaly()",
        )  # fmt: skip
    real = k.with_dtype(dtypes.real_of(k.dtype))
    return new_tensor(real.full((), value), real)


def _wide(t: Tensor) -> Any:
    """The array of `t`, half precision in single: sums of powers would overflow."""
    k = t.kernels
    return k.with_dtype(dtypes.float32).cast(raw(t)) if k.dtype.itemsize < 4 else raw(t)


def _largest(xp: Any, sizes: list[Any]) -> float:
    """The largest of all, NaN if any is NaN."""
    found = [float(xp.max(a)) for a in sizes]
    return math.nan if any(math.isnan(x) for x in found) else max(found, default=0.0)


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The norm of all numbers in several tensors.

    Parameters
    ----------
    tensors
        On one device.
    norm_type
        Its order: a number, or `float("inf")` for the largest magnitude.
    error_if_nonfinite
        Raise where it is infinite or NaN.

    Raises
    ------
    GradientError
        It is not finite, and `error_if_nonfinite`.
    DeviceMismatchError
        The tensors live on several devices.

    >>> import polygrad as pg
    >>> get_total_norm([pg.tensor([3.0]), pg.tensor([4.0])])
    tensor(5., dtype=float32)
    """
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    return _total_norm(found, norm_type, error_if_nonfinite=error_if_nonfinite)


def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor) -> None:
    """Scale gradients so that their norm, `total_norm` before, is at most `max_norm`."""
    if not max_norm >= 0:
        raise InvalidArgumentError(
            f"max_norm is {max_norm}", "clipping gradients", "it must be at least 0"
        )
    scale = float(max_norm) / (float(total_norm.detach().item()) + 1e-6)
    if scale >= 1:  # NaN is not: it goes into every gradient, as it should
        return
    for p in _gradients(parameters):
        _rescale(p, scale)


def _rescale(p: Tensor, scale: float) -> None:
    gradient = p.gradient
    assert gradient is not None  # noqa: S101  _gradients left out the others
    with no_grad(), gradient.kernels.backend.quiet():
        gradient *= scale


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale the gradients of `parameters` in place so that the norm of all is at most `max_norm`.

    A parameter that occurs several times counts once.

    Returns
    -------
    Tensor
        The norm before.

    Raises
    ------
    GradientError, DeviceMismatchError
        As `get_total_norm`.
    """
    found = _gradients(parameters)
    gradients = [p.gradient for p in found if p.gradient is not None]
    total = _total_norm(gradients, norm_type, error_if_nonfinite=error_if_nonfinite)
    clip_grads_with_norm_(found, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensors, clip_value: float) -> None:
    """Bring all numbers of the gradients of `parameters` into [-clip_value, clip_value]."""
    bound = float(clip_value)
    for p in _gradients(parameters):
        gradient = p.gradient
        assert gradient is not None  # noqa: S101  _gradients left out the others
        k = gradient.kernels
        with k.guard() if k.guard is not None else nullcontext():
            clipped = k.xp.clip(raw(gradient), -bound, bound)
        with no_grad():
            assign(gradient, new_tensor(clipped, k))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters end to end, in one tensor, on the tape."""
    return concat([reshape(p, (-1,)) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write the parts of `vec` into the parameters.

    Raises
    ------
    ShapeError
        It has not as many numbers as they have together.
    """
    found = list(parameters)
    total = sum(p.size for p in found)
    if vec.shape != (total,):
        raise ShapeError(
            f"a vector of shape {vec.shape} for parameters of {total} numbers",
            "vector_to_parameters, argument vec", "pass a tensor with one axis of that length",
        )  # fmt: skip
    start = 0
    with no_grad():
        for p in found:
            p[...] = vec[start : start + p.size].reshape(p.shape)
            start += p.size
