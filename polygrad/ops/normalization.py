"""Normalisation by the statistics of a batch, a layer, a group, an instance; by root mean square.

Note [Standardize]
------------------
`standardize(x; axis, eps)` gives h = (x - mean) / sqrt(var + eps) and, along the axes, mean and
var. The mean is taken off before squaring, so that nothing cancels. With r = 1 / sqrt(var + eps)
and n elements to a mean, the gradient is

    r (g - mean(g) - h mean(g h)) + g_mean / n + 2 g_var (x - mean) / n,    x - mean = h / r.

Batch, layer, group and instance norm are this one primitive on other axes.
"""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.config import no_grad
from polygrad.dtypes import float32
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, count
from polygrad.ops.data_type import finfo
from polygrad.ops.elementwise import sqrt
from polygrad.ops.manipulation import reshape
from polygrad.ops.statistical import sum as _sum
from polygrad.primitive import Composite, Primitive
from polygrad.tensor import Tensor

_table = Chapter("normalization", "nn.functional")
Axes = tuple[int, ...]


# ---- primitives ---------------------------------------------------------------------------------
def _wide(F: Any, x: Any) -> tuple[Any, Any]:
    """16-bit floats in float32."""
    if F.dtype.itemsize > 2:
        return F, x
    wide = F.with_dtype(float32)
    return wide, wide.cast(x)


def _standardize(F: Any, x: Any, axis: Axes, eps: float) -> tuple[Any, Any, Any]:
    """See Note [Standardize]; of 16-bit floats the mean and var are float32."""
    wide, y = _wide(F, x)
    n = count(x.shape, axis)
    mean = wide.coerce(wide.sum(y, axis=axis, keepdims=True)) / n
    d = y - mean
    var = wide.coerce(wide.sum(d * d, axis=axis, keepdims=True)) / n
    d *= 1 / wide.xp.sqrt(var + eps)
    return F.cast(d), mean, var


def _combined(F: Any, x: Any, h: Any, r: Any, level: Any, slope: Any) -> Any:
    """r x - h slope - level, in place on an array of its own."""
    del F
    out = x * r
    out -= h * slope
    out -= level
    return out


def _standardize_rule(g: Any, F: Any, out: Any, axis: Axes, eps: float) -> Any:
    (g_h, g_mean, g_var), (h, _, var) = g, out
    return F.standardize_adjoint(g_h, g_mean, g_var, h, var, axis=axis, eps=eps)


def _standardize_adjoint(
    F: Any, g_h: Any, g_mean: Any, g_var: Any, h: Any, var: Any, axis: Axes, eps: float
) -> Any:
    n = count(h.shape, axis)
    r = 1 / F.sqrt(var + eps)
    slope = (r * F.sum(g_h * h, axis=axis, keepdims=True) - 2 * g_var / r) / n
    level = (r * F.sum(g_h, axis=axis, keepdims=True) - g_mean) / n
    return F.standardize_combined(g_h, h, r, level, slope)


def _root_mean(F: Any, x: Any, axis: Axes, eps: float) -> tuple[Any, Any]:
    """x / sqrt(mean(x^2) + eps), and that mean."""
    wide, y = _wide(F, x)
    mean = wide.coerce(wide.sum(y * y, axis=axis, keepdims=True)) / count(x.shape, axis)
    return F.cast(y * (1 / wide.xp.sqrt(mean + eps))), mean


def _root_mean_rule(g: Any, F: Any, out: Any, axis: Axes, eps: float) -> Any:
    (g_h, g_mean), (h, mean) = g, out
    return F.root_mean_adjoint(g_h, g_mean, h, mean, axis=axis, eps=eps)


def _root_mean_adjoint(
    F: Any, g_h: Any, g_mean: Any, h: Any, mean: Any, axis: Axes, eps: float
) -> Any:
    """r (g - h mean(g h)) + 2 g_mean x / n, x being h / r; of complex numbers their conjugates."""
    n = count(h.shape, axis)
    h, r = F.conj(h), F.conj(1 / F.sqrt(mean + eps))
    along_h = r * F.sum(g_h * h, axis=axis, keepdims=True) - 2 * g_mean / r
    return r * g_h - h * (along_h / n)


# fmt: off
_combined_primitive = Primitive(
    "standardize_combined", ("x", "h", "r", "level", "slope"),
    {
        "x": lambda g, r: g * r, "h": lambda g, slope: -g * slope, "level": lambda g: -g,
        "r": lambda g, x: g * x, "slope": lambda g, h: -g * h,
    },
    forward=_combined,
)
standardize = Primitive(
    "standardize", ("x",), {"x": _standardize_rule}, forward=_standardize, outputs=3,
    keywords={"axis": (), "eps": 1e-5}, floating=True,
)
_root_mean_primitive = Primitive(
    "root_mean_standardize", ("x",), {"x": _root_mean_rule}, forward=_root_mean, outputs=2,
    keywords={"axis": (), "eps": 1e-5}, floating=True,
)
# fmt: on
_STATISTICS: dict[str, Any] = {"axis": (), "eps": 1e-5}
Composite("standardize_adjoint", ("g_h", "g_mean", "g_var", "h", "var"), _standardize_adjoint,
          keywords=_STATISTICS)  # fmt: skip
Composite("root_mean_adjoint", ("g_h", "g_mean", "h", "mean"), _root_mean_adjoint,
          keywords=_STATISTICS)  # fmt: skip


# ---- what is common ------------------------------------------------------------------------------
def _affine(h: Tensor, weight: Any, bias: Any, shape: Axes) -> Tensor:
    """h weight + bias, both reshaped to broadcast against h."""
    if weight is not None:
        h = h * (weight if weight.shape == shape else reshape(weight, shape))
    if bias is not None:
        h = h + (bias if bias.shape == shape else reshape(bias, shape))
    return h


def _parameter(value: Any, shape: Axes, x: Tensor, where: str) -> Tensor | None:
    """A weight or bias of the shape it must have."""
    if value is None:
        return None
    p = as_tensor(value, where)
    if p.shape != shape:
        raise ShapeError(
            f"a shape of {p.shape} for an input of shape {x.shape}", where, f"it must be {shape}"
        )
    return p


def _channels(input: Any, where: str, low: int = 2) -> Tensor:
    """An input with channels along axis 1."""
    x = as_tensor(input, f"{where}, argument input")
    if x.ndim < low:
        raise ShapeError(
            f"an input of shape {x.shape}", f"{where}{describe([x])}",
            f"it needs {low} axes or more: (batch, channels, …)",
        )  # fmt: skip
    return x


def _trailing(input: Any, normalized_shape: Any, where: str) -> tuple[Tensor, Axes, Axes]:
    """The input, the shape of its last axes, and the axes."""
    x = as_tensor(input, f"{where}, argument input")
    single = isinstance(normalized_shape, int)
    shape = (normalized_shape,) if single else tuple(normalized_shape)
    if not shape or x.shape[x.ndim - len(shape) :] != shape:
        raise ShapeError(
            f"normalized_shape={shape} for an input of shape {x.shape}", f"{where}{describe([x])}",
            "it must be the lengths of the input's last axes",
        )  # fmt: skip
    return x, shape, tuple(range(x.ndim - len(shape), x.ndim))


# ---- layer, root mean square ------------------------------------------------------------------
@_table.public(samples=lambda s: [
    ((s.real(4, 3), 3), {}), ((s.real(2, 3, 4), (3, 4), s.real(3, 4), s.real(3, 4)), {"eps": 0.1}),
    ((s.real(0, 3), (3,)), {}),
])  # fmt: skip
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Take off the mean over the last axes and divide by the standard deviation there.

    Parameters
    ----------
    input
        Tensor that ends in the axes of `normalized_shape`.
    normalized_shape
        Lengths of the axes to normalise over, a tuple or one int.
    weight, bias
        Of that shape; the result is multiplied by weight, and bias added.
    eps
        Added to the variance, the mean squared deviation.

    Returns
    -------
    Tensor
        Of the shape of `input`.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.layer_norm(pg.tensor([[1.0, 3.0]]), 2, eps=0.0)
    tensor([[-1.,  1.]], dtype=float32)
    """
    x, shape, axis = _trailing(input, normalized_shape, "layer_norm")
    weight = _parameter(weight, shape, x, "layer_norm, argument weight")
    bias = _parameter(bias, shape, x, "layer_norm, argument bias")
    h = standardize.call(x, axis=axis, eps=eps)[0]
    return _affine(h, weight, bias, shape)


@_table.public(samples=lambda s: [
    ((s.real(4, 3), 3), {}), ((s.real(2, 3, 4), (3, 4), s.real(3, 4)), {"eps": 0.1}),
])  # fmt: skip
def rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Tensor:
    """Divide by the root of the mean square over the last axes.

    Parameters and errors as of `layer_norm`; `eps`, added to the mean square, is the dtype's
    machine epsilon if not given.

    >>> import polygrad as pg
    >>> pg.nn.functional.rms_norm(pg.tensor([[2.0, 2.0]]), 2)
    tensor([[1., 1.]], dtype=float32)
    """
    x, shape, axis = _trailing(input, normalized_shape, "rms_norm")
    weight = _parameter(weight, shape, x, "rms_norm, argument weight")
    if eps is None:
        eps = float(finfo(x.dtype).eps) if x.kernels.inexact else 1e-7
    return _affine(_root_mean_primitive.call(x, axis=axis, eps=eps)[0], weight, None, shape)


# ---- batch, instance, group ----------------------------------------------------------------------
def _update(running: Tensor, value: Tensor, momentum: float) -> None:
    """running becomes (1 - momentum) running + momentum value, off the tape."""
    with no_grad():
        value = reshape(value.detach(), running.shape)
        running[...] = running * (1 - momentum) + value * momentum


def _batch_samples(s: Any) -> Any:
    return [
        ((s.real(4, 3), s.real(3), s.positive(3)), {}),
        ((s.real(4, 3, 2), s.real(3), s.positive(3), s.real(3), s.real(3)), {"eps": 0.1}),
        ((s.real(4, 3, 2), None, None, s.real(3), s.real(3)), {"training": True}),
    ]


@_table.public(samples=_batch_samples)
def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Take off each channel's mean and divide by its standard deviation.

    Parameters
    ----------
    input
        (batch, channels, …).
    running_mean, running_var
        (channels,), or None. In training they are moved towards the batch's mean and variance, the
        latter with the divisor n - 1; otherwise they are used.
    weight, bias
        (channels,); the result is multiplied by weight, and bias added.
    training
        Use the batch's mean, and its variance with the divisor n.
    momentum
        How far the running statistics move: new = (1 - momentum) old + momentum batch.
    eps
        Added to the variance.

    Returns
    -------
    Tensor
        Of the shape of `input`.

    Raises
    ------
    ShapeError, InvalidArgumentError
        Shapes do not fit; there is one value for each channel in training; no statistics otherwise;
        eps is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([[1.0], [3.0]])
    >>> pg.nn.functional.batch_norm(x, None, None, training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]], dtype=float32)
    """
    x = _channels(input, "batch_norm")
    c = (x.shape[1],)
    mean = _parameter(running_mean, c, x, "batch_norm, argument running_mean")
    var = _parameter(running_var, c, x, "batch_norm, argument running_var")
    weight = _parameter(weight, c, x, "batch_norm, argument weight")
    bias = _parameter(bias, c, x, "batch_norm, argument bias")
    shape = (*c, *(1,) * (x.ndim - 2))
    if training:
        return _affine(_by_batch(x, mean, var, momentum, eps), weight, bias, shape)
    if mean is None or var is None:
        raise InvalidArgumentError(
            "no running statistics", "batch_norm, arguments running_mean and running_var",
            "pass them, or training=True to use the batch's own",
        )  # fmt: skip
    scale = 1 / sqrt(var + eps)
    if weight is not None:
        scale = scale * weight
    return _affine(x - reshape(mean, shape), scale, bias, shape)


def _by_batch(
    x: Tensor, mean: Tensor | None, var: Tensor | None, momentum: float, eps: float
) -> Tensor:
    """Standardised by the statistics of the batch, which the running ones follow."""
    axis = (0, *range(2, x.ndim))
    n = count(x.shape, axis)
    if eps < 0:
        raise InvalidArgumentError(
            f"eps={eps} is negative", "batch_norm, argument eps", "pass a number >= 0"
        )
    if not n:
        return x  # nothing to take statistics of, and nothing to standardise
    if n == 1:
        raise InvalidArgumentError(
            f"{n} values for each channel have no variance", f"batch_norm{describe([x])}, training",
            "pass a larger batch, or training=False (module.eval())",
        )  # fmt: skip
    h, batch_mean, batch_var = standardize.call(x, axis=axis, eps=eps)
    if mean is not None:
        _update(mean, batch_mean, momentum)
    if var is not None:
        _update(var, batch_var * (n / (n - 1)), momentum)
    return h  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.real(2, 3, 4),), {}),
    ((s.real(2, 3, 4, 2), None, None, s.real(3), s.real(3)), {"eps": 0.1}),
    ((s.real(2, 3, 4), s.real(3), s.positive(3)), {"use_input_stats": False}),
])  # fmt: skip
def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None,
    bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Take off the mean of each sample's each channel and divide by its standard deviation.

    Parameters and errors as of `batch_norm`; `use_input_stats` is its `training`. The running
    statistics move towards the mean over the batch of the samples' statistics.

    >>> import polygrad as pg
    >>> pg.nn.functional.instance_norm(pg.tensor([[[1.0, 3.0]]]), eps=0.0)
    tensor([[[-1.,  1.]]], dtype=float32)
    """
    x = _channels(input, "instance_norm", low=3)
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, momentum=momentum, eps=eps)
    c = (x.shape[1],)
    axis = tuple(range(2, x.ndim))
    n = count(x.shape, axis)
    if n < 2:
        raise InvalidArgumentError(
            f"{n} values for each channel have no variance", f"instance_norm{describe([x])}",
            "pass larger spatial axes",
        )  # fmt: skip
    h, mean, var = standardize.call(x, axis=axis, eps=eps)
    for running, batch, factor in ((running_mean, mean, 1), (running_var, var, n / (n - 1))):
        if running is not None:
            _update(running, _sum(batch, axis=0) * (factor / x.shape[0]), momentum)
    weight = _parameter(weight, c, x, "instance_norm, argument weight")
    bias = _parameter(bias, c, x, "instance_norm, argument bias")
    return _affine(h, weight, bias, (*c, *(1,) * (x.ndim - 2)))


@_table.public(samples=lambda s: [
    ((s.real(2, 4, 3), 2), {}), ((s.real(2, 4), 2, s.real(4), s.real(4)), {"eps": 0.1}),
    ((s.real(2, 4, 3, 2), 1), {}),
])  # fmt: skip
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Take off the mean of each sample's each group of channels, divide by its standard deviation.

    Parameters
    ----------
    input
        (batch, channels, …).
    num_groups
        Divides the number of channels.
    weight, bias
        (channels,); the result is multiplied by weight, and bias added.
    eps
        Added to the variance.

    Raises
    ------
    ShapeError, InvalidArgumentError
        Shapes do not fit; the channels cannot be split into so many groups.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.group_norm(pg.tensor([[1.0, 3.0, 2.0, 8.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]], dtype=float32)
    """
    x = _channels(input, "group_norm")
    c = (x.shape[1],)
    if num_groups < 1 or c[0] % num_groups:
        raise InvalidArgumentError(
            f"{c[0]} channels cannot be split into {num_groups} groups",
            f"group_norm{describe([x])}",
            "pass a divisor of the number of channels",
        )  # fmt: skip
    weight = _parameter(weight, c, x, "group_norm, argument weight")
    bias = _parameter(bias, c, x, "group_norm, argument bias")
    rest = x.size // (x.shape[0] * num_groups) if x.size else 0
    grouped = reshape(x, (x.shape[0], num_groups, rest))
    h = reshape(standardize.call(grouped, axis=(2,), eps=eps)[0], x.shape)
    return _affine(h, weight, bias, (*c, *(1,) * (x.ndim - 2)))
