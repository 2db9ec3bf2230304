"""Activation functions that draw random numbers, from polygrad's one stream.

The numbers are drawn on the host, so they are the same on every device, and are drawn again by
`checkpoint`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad import streams
from polygrad.errors import InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axis, written
from polygrad.ops.activation import leaky_relu, prelu_primitive
from polygrad.ops.creation import as_floating, to_place
from polygrad.ops.indexing import index_tensor
from polygrad.ops.searching import argmax, where
from polygrad.ops.softmax import softmax
from polygrad.tensor import Tensor, new_tensor
from polygrad.views import detach

_table = Chapter("random_activation", "nn.functional")


def _uniform(x: Tensor) -> np.ndarray[Any, Any]:
    """Numbers in [0, 1) in the shape of x, on the host, in float64."""
    words = streams.default_generator.words(x.size)
    return streams.open_units(words).reshape(x.shape)


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(4),), {"lower": 0.25, "upper": 0.5}),
    ((s.real(3),), {"lower": 0.5, "upper": 0.5, "training": True}),
    ((s.real(),), {}), ((s.real(0, 2),), {}),
])  # fmt: skip
def rrelu(
    input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
    inplace: bool = False,
) -> Tensor:  # fmt: skip
    """x for x > 0, a x for others; in training every a is drawn, else it is the interval's middle.

    Xu, Wang, Chen, Li, "Empirical evaluation of rectified activations in convolutional network",
    2015.

    Parameters
    ----------
    input
        Tensor of any shape. Integers are computed in the default floating dtype.
    lower, upper
        The bounds of a.
    training
        Whether to draw, evenly from the interval.
    inplace
        Write the result to `input`, and return it.

    Returns
    -------
    Tensor
        Of the shape of `input`.

    Raises
    ------
    InvalidArgumentError
        The bounds are the wrong way round, or not finite.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.rrelu(pg.tensor([1.0, -1.0]), lower=0.25, upper=0.75)
    tensor([ 1. , -0.5], dtype=float32)
    """
    if not float("-inf") < lower <= upper < float("inf"):
        raise InvalidArgumentError(
            f"no interval: lower={lower}, upper={upper}", "rrelu", "pass finite lower <= upper"
        )
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    x = as_floating(as_tensor(input, "rrelu, argument input"))
    slopes = lower + (upper - lower) * _uniform(x)
    return written(input, prelu_primitive.call(x, _placed(slopes, x)), inplace)


def _placed(host: np.ndarray[Any, Any], x: Tensor) -> Tensor:
    """Numbers of the host in the dtype of x, on its device."""
    backend = x.kernels.backend
    array = backend.from_numpy(host.astype(x.dtype), x.device)
    return new_tensor(array, backend.kernels_of(array))


@_table.public(samples=lambda s: [((s.real(2, 1),), {}), ((s.real(1, 3),), {"axis": 0}),
    ((s.real(2, 1),), {"tau": 0.5, "hard": True}), ((s.real(0, 3),), {})],
)  # fmt: skip
def gumbel_softmax(
    logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, axis: int = -1
) -> Tensor:
    """softmax((x + n) / tau), n from the standard Gumbel distribution: nearly a random class.

    Its largest element is that of class i with probability softmax(x)_i, whatever tau is.

    Jang, Gu, Poole, "Categorical reparameterization with Gumbel-softmax", 2017; Maddison, Mnih,
    Teh, "The concrete distribution", 2017.

    Parameters
    ----------
    logits
        x, a tensor of at least one axis: logarithms of probabilities, up to a constant.
    tau
        The temperature, above zero.
    hard
        Return 1 for the largest element and 0 for others; the gradient is that of the softmax.
    eps
        PyTorch's, without effect there too.
    axis
        That of the classes.

    Returns
    -------
    Tensor
        Of the shape of `logits`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError
        There is no such axis; tau is not above zero.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.gumbel_softmax(pg.tensor([0.0, -1000.0]), hard=True)
    tensor([1., 0.], dtype=float32)
    """
    del eps
    if not tau > 0:
        raise InvalidArgumentError(
            f"tau={tau} is not above zero", "gumbel_softmax, argument tau", "pass a greater one"
        )
    x = as_floating(as_tensor(logits, "gumbel_softmax, argument logits"))
    axis = normalize_axis(axis, x.ndim, "gumbel_softmax")
    waits = np.maximum(-np.log1p(-_uniform(x)), np.finfo(np.float64).tiny)
    soft = softmax((x + _placed(-np.log(waits), x)) / tau, axis=axis)
    if not hard or not x.size:
        return soft
    fixed = detach(soft)
    places = np.arange(x.shape[axis]).reshape((-1, *(1,) * (x.ndim - 1 - axis)))
    largest = argmax(fixed, axis=axis, keepdims=True) == index_tensor(places, x)
    return to_place(where(largest, 1, 0), soft.dtype) + (soft - fixed)
