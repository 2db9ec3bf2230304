"""Gradients and parameters taken together, and more: PyTorch's `torch.nn.utils`.

Sequences are in `rnn`, parametrizations in `parametrize` and `parametrizations`.
"""

from __future__ import annotations

import functools
import importlib
import math
import types
import warnings
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any

from polygrad import dtypes
from polygrad.config import no_grad
from polygrad.device import Device
from polygrad.errors import (
    DtypeError,
    GradientError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
)
from polygrad.nn.utils import parametrize, rnn
from polygrad.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
    skip_init,
)
from polygrad.nn.utils.norms import norm_on_device, norm_on_host
from polygrad.ops.creation import tensor
from polygrad.ops.elementwise import clip, minimum
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import concat
from polygrad.tensor import Tensor, new_tensor, on_host
from polygrad.writes import assign

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm",
    "parameters_to_vector", "parametrizations", "parametrize", "rnn", "skip_init",
    "vector_to_parameters",
]  # fmt: skip

Tensors = Tensor | Iterable[Tensor]

if TYPE_CHECKING:
    from polygrad.backend import Kernels
    from polygrad.nn.utils import parametrizations


def __getattr__(name: str) -> Any:
    """`parametrizations` reads the chapters of linear algebra: it is imported when first used."""
    if name == "parametrizations":
        return importlib.import_module("polygrad.nn.utils.parametrizations")
    from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

    raise missing(__name__, name)


def _gradients(parameters: Tensors) -> list[Tensor]:
    """The tensors whose gradients are there; each once."""
    unique = {id(p): p for p in _listed(parameters, "clipping gradients, argument parameters")}
    return [p for p in unique.values() if p.gradient is not None]


def _listed(tensors: Any, where: str) -> list[Tensor]:
    """A Tensor, or several. Raises InvalidTypeError."""
    found = [tensors] if isinstance(tensors, Tensor) else tensors
    found = list(found) if isinstance(found, Iterable) else [found]
    for t in found:
        if not isinstance(t, Tensor):
            raise InvalidTypeError(
                f"a {type(t).__name__} is no Tensor", where,
                "pass a Tensor or several, such as model.parameters()",
            )  # fmt: skip
    return found


def _at_least_zero(name: str, value: Any, where: str) -> float:
    """A bound. Raises InvalidArgumentError, InvalidTypeError."""
    if isinstance(value, Tensor) and value.size == 1:
        value = on_host(value).item()
    if not isinstance(value, Real):
        raise InvalidTypeError(
            f"{name} is {value!r}", f"{where}, argument {name}", "pass a number"
        )
    if not float(value) >= 0:
        raise InvalidArgumentError(
            f"{name} is {value}", f"{where}, argument {name}", "it must be at least 0"
        )
    return float(value)


def _total_norm(tensors: list[Tensor], norm_type: float, *, error_if_nonfinite: bool) -> Tensor:
    """The norm of all numbers in `tensors`, as a 0-d tensor on the device of the first.

    Of several devices it is the norm of their norms; only these are moved.
    """
    try:
        p = float(norm_type)
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"norm_type is {norm_type!r}", "get_total_norm, argument norm_type", "pass a number"
        ) from None
    if not tensors:
        return tensor(0.0)
    by_device: dict[Device, list[Tensor]] = {}
    for t in tensors:
        by_device.setdefault(t.device, []).append(t)
    k = tensors[0].kernels  # another device may have dtypes that this one lacks
    wide = functools.reduce(dtypes.promote, (t.dtype for t in by_device[k.device]))
    real = k.with_dtype(dtypes.real_of(wide))
    if len(by_device) == 1 and _waited_for(k) and not error_if_nonfinite:
        return new_tensor(norm_on_device(tensors, p, real), real)
    value, *others = (norm_on_host(group, p) for group in by_device.values())
    if others and p == 0:
        value += sum(others)
    elif others:
        value = norm_on_host([tensor([value, *others], dtype=dtypes.float64, device="cpu")], p)
    if error_if_nonfinite and not math.isfinite(value):
        raise GradientError(
            f"the total norm of order {norm_type} is {value}", "argument error_if_nonfinite=True",
            "look for what made it so with pg.autograd.detect_anomaly()",
        )  # fmt: skip
    return new_tensor(real.full((), value), real)


def _waited_for(k: Kernels) -> bool:
    """Whether the host would have to wait for a number of this device."""
    return k.backend.capabilities_of(k.device).asynchronous


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The norm of all numbers in several tensors.

    Parameters
    ----------
    tensors
        Of any devices; the result is on the first one's.
    norm_type
        Its order: a number, or `float("inf")` for the largest magnitude.
    error_if_nonfinite
        Raise where it is infinite or NaN.

    Raises
    ------
    GradientError
        It is not finite, and `error_if_nonfinite`.
    InvalidTypeError
        One is no Tensor; the order is no number.

    >>> import polygrad as pg
    >>> get_total_norm([pg.tensor([3.0]), pg.tensor([4.0])])
    tensor(5., dtype=float32)
    """
    found = _listed(tensors, "get_total_norm, argument tensors")
    return _total_norm(found, norm_type, error_if_nonfinite=error_if_nonfinite)


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor | float
) -> None:
    """Scale gradients so that their norm, `total_norm` before, is at most `max_norm`."""
    bound = _at_least_zero("max_norm", max_norm, "clipping gradients")
    found = _gradients(parameters)
    total = total_norm.detach() if isinstance(total_norm, Tensor) else total_norm
    scale: float | Tensor
    if isinstance(total, Tensor) and _waited_for(total.kernels) and _all_on(found, total.device):
        with no_grad(), total.kernels.backend.quiet():
            total = total.to(dtypes.promote(total.dtype, dtypes.float32))
            scale = minimum(bound / (total + 1e-6), 1.0)
    else:
        scale = bound / (float(total) + 1e-6)
        if scale >= 1:  # NaN is not: it goes into every gradient, as it should
            return
    for p in found:
        _rescale(p, scale)


def _all_on(parameters: list[Tensor], device: Device) -> bool:
    """Whether all gradients are on a device."""
    return all(p.gradient is None or p.gradient.device == device for p in parameters)


def _rescale(p: Tensor, scale: float | Tensor) -> None:
    gradient = p.gradient
    assert gradient is not None  # noqa: S101  _gradients left out the others
    with no_grad(), gradient.kernels.backend.quiet():
        if isinstance(scale, Tensor):
            scale = scale.to(dtypes.real_of(gradient.dtype))
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
    GradientError, InvalidTypeError
        As `get_total_norm`.
    InvalidArgumentError
        `max_norm` is negative.
    """
    if isinstance(parameters, types.GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warnings.warn(
                "clip_grad_norm_ was given an empty generator, used up perhaps: nothing is clipped",
                stacklevel=2,
            )
    found = _gradients(parameters)
    gradients = [p.gradient for p in found if p.gradient is not None]
    total = _total_norm(gradients, norm_type, error_if_nonfinite=error_if_nonfinite)
    clip_grads_with_norm_(found, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensors, clip_value: float) -> None:
    """Bring all numbers of the gradients of `parameters` into [-clip_value, clip_value].

    Raises
    ------
    InvalidArgumentError
        The bound is negative.
    DtypeError
        A gradient is complex.
    """
    bound = _at_least_zero("clip_value", clip_value, "clip_grad_value_")
    found = _gradients(parameters)
    if any(p.kernels.is_complex for p in found):
        raise DtypeError(
            "complex numbers have no order", "clip_grad_value_",
            "clip their norm: clip_grad_norm_",
        )  # fmt: skip
    for p in found:
        gradient = p.gradient
        assert gradient is not None  # noqa: S101  _gradients left out the others
        with no_grad():
            assign(gradient, clip(gradient, -bound, bound))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters end to end, in one tensor, on the tape.

    Raises
    ------
    InvalidArgumentError
        There are none.
    DeviceMismatchError
        They live on several devices.
    """
    flat = [reshape(p, (-1,)) for p in parameters]
    if not flat:
        raise InvalidArgumentError(
            "there are no parameters", "parameters_to_vector", "pass at least one tensor"
        )
    return concat(flat)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write the parts of `vec` into the parameters, which keep their dtypes.

    Raises
    ------
    InvalidTypeError
        `vec` is no Tensor.
    ShapeError
        It has not as many numbers as they have together.
    """
    if not isinstance(vec, Tensor):
        raise InvalidTypeError(
            f"a {type(vec).__name__} is no Tensor", "vector_to_parameters, argument vec",
            "make one with pg.tensor(data)",
        )  # fmt: skip
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
