"""A normalization with fixed statistics folded into the layer before it; layers without values."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from polygrad.config import no_grad
from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.nn import init
from polygrad.nn.batch_norm import _BatchNorm
from polygrad.nn.convolution import _Convolution
from polygrad.nn.linear import Linear
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.nn.utils.parametrize import is_parametrized, remove_parametrizations
from polygrad.ops.creation import to_place
from polygrad.ops.filling import ones_like, zeros, zeros_like
from polygrad.ops.manipulation import reshape
from polygrad.tensor import Tensor

__all__ = [
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
    "skip_init",
]  # fmt: skip

Layer = TypeVar("Layer", bound=Module)


def _copy_for_fusion(layer: Layer, bn: Any, kind: type, where: str) -> Layer:
    """A copy of the layer with ordinary parameters; refusals of both."""
    for given, wanted in ((layer, kind), (bn, _BatchNorm)):
        if not isinstance(given, wanted):
            raise InvalidTypeError(
                f"a {type(given).__name__} is no {wanted.__name__.lstrip('_')}", where, "pass one"
            )
    if layer.training or bn.training:
        at_fault = type(layer if layer.training else bn).__name__
        raise InvalidArgumentError(
            f"{at_fault} is in training: what it computes is not fixed", where,
            "call eval() on both first",
        )  # fmt: skip
    if bn.running_mean is None or bn.running_var is None:
        raise InvalidArgumentError(
            f"{type(bn).__name__} has no running statistics", where,
            "it needs track_running_stats=True",
        )  # fmt: skip
    made = copy.deepcopy(layer)
    for name in ("weight", "bias"):
        if is_parametrized(made, name):
            remove_parametrizations(made, name)
    return made


def fuse_conv_bn_eval(conv: Layer, bn: Any, transpose: bool = False) -> Layer:
    """One convolution that does what a convolution and the batch normalization after it do.

    Parameters
    ----------
    conv, bn
        Both in evaluation, `bn` with running statistics.
    transpose
        Say so if it is a transposed convolution.

    Returns
    -------
    Module
        A new convolution of the class of `conv`, with a bias.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        One of them is in training; there are no statistics; `transpose` does not fit `conv`; the
        channels differ in number; they are no convolution and batch normalization.

    >>> import polygrad as pg
    >>> conv, bn = pg.nn.Conv1d(2, 3, 2).eval(), pg.nn.BatchNorm1d(3).eval()
    >>> x = pg.ones((1, 2, 4))
    >>> bool(pg.max(abs(fuse_conv_bn_eval(conv, bn)(x) - bn(conv(x)))) < 1e-6)
    True
    """
    made: Any = _copy_for_fusion(conv, bn, _Convolution, "fuse_conv_bn_eval")
    if made.transposed != bool(transpose):
        raise InvalidArgumentError(
            f"transpose is {transpose} for a {type(conv).__name__}", "fuse_conv_bn_eval",
            f"pass transpose={not transpose}",
        )  # fmt: skip
    if bn.num_features != made.out_channels:
        raise InvalidArgumentError(
            f"{made.out_channels} channels come out, {bn.num_features} are normalized",
            "fuse_conv_bn_eval", "there must be as many",
        )  # fmt: skip
    made.weight, made.bias = fuse_conv_bn_weights(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose, made.groups,
    )  # fmt: skip
    return made  # type: ignore[no-any-return]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
    groups: int = 1,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution with the batch normalization after it folded in.

    Parameters
    ----------
    conv_w, conv_b
        Weight and bias of the convolution.
    bn_rm, bn_rv, bn_eps, bn_w, bn_b
        Running mean and variance, eps, weight and bias of the normalization.
    transpose
        The convolution is a transposed one.
    groups
        Its groups, which matter if it is.

    Returns
    -------
    tuple of Parameter
        Leaves, of the dtypes of `conv_w` and `conv_b`; they require grad as those do.
    """
    axes = conv_w.ndim - 2

    def scaled(scale: Tensor) -> Tensor:
        if not transpose:
            return conv_w * reshape(scale, (-1, *(1,) * (axes + 1)))
        rows, columns, *kernel = conv_w.shape  # rows of all groups, columns of one
        parts = reshape(conv_w, (groups, rows // groups, columns, *kernel))
        return reshape(
            parts * reshape(scale, (groups, 1, columns, *(1,) * axes)), conv_w.shape
        )

    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, scaled, bn_rm.shape[0])


def fuse_linear_bn_eval(linear: Layer, bn: Any) -> Layer:
    """One linear layer that does what a linear layer and the batch normalization after it do.

    Parameters
    ----------
    linear, bn
        Both in evaluation, `bn` with running statistics, of `linear.out_features` or of one
        feature.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        One of them is in training; there are no statistics; the numbers of features differ; they
        are no Linear and batch normalization.
    """
    made: Any = _copy_for_fusion(linear, bn, Linear, "fuse_linear_bn_eval")
    if bn.num_features not in (made.out_features, 1):
        raise InvalidArgumentError(
            f"{made.out_features} outputs, {bn.num_features} features are normalized",
            "fuse_linear_bn_eval", "there must be as many, or one",
        )  # fmt: skip
    made.weight, made.bias = fuse_linear_bn_weights(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return made  # type: ignore[no-any-return]


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer with the batch normalization after it folded in.

    Arguments and results as for `fuse_conv_bn_weights`.
    """

    def scaled(scale: Tensor) -> Tensor:
        return linear_w * reshape(scale, (-1, 1))

    outputs = linear_w.shape[0]
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, scaled, outputs)


def _fused(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    gamma: Tensor | None,
    beta: Tensor | None,
    scaled: Callable[[Tensor], Tensor],
    outputs: int,
) -> tuple[Parameter, Parameter]:
    """gamma (W x + b - mean) / sqrt(variance + eps) + beta, as one weight and one bias."""
    with no_grad():
        scale = (ones_like(mean) if gamma is None else gamma) * (variance + eps) ** -0.5
        shift = zeros_like(mean) if beta is None else beta
        new_weight = to_place(scaled(scale), weight.dtype)
        start = bias
        if start is None:
            start = zeros((outputs,), dtype=weight.dtype, device=weight.device)
        new_bias = to_place((start - mean) * scale + shift, start.dtype)
    tracked = bias is not None and bias.requires_grad
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, tracked)


def skip_init(module_cls: type[Layer], *args: Any, **kwargs: Any) -> Layer:
    """`module_cls(*args, **kwargs)`, but the functions of `nn.init` do nothing meanwhile.

    For parameters that get their values otherwise: they are not drawn, and no random number is
    used up. What a constructor computes in other ways it still computes.

    Raises
    ------
    InvalidTypeError
        It is no subclass of Module.

    >>> import polygrad as pg
    >>> skip_init(pg.nn.Linear, 1000, 1000).weight.shape
    (1000, 1000)
    """
    given: Any = module_cls
    if not (isinstance(given, type) and issubclass(given, Module)):
        raise InvalidTypeError(
            f"{module_cls!r} is no class of modules", "skip_init, argument module_cls",
            "pass a subclass of Module, then its arguments",
        )  # fmt: skip
    with init.skipped():
        return module_cls(*args, **kwargs)
