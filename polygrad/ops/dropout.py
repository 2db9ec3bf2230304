"""Dropout: random elements, channels, or all of alpha dropout's.

The mask is drawn from polygrad's one stream, so it is the same on every device, and is drawn again
by `checkpoint`: on the host, unless the backend has a kernel that makes the same bits. Without
training nothing is drawn.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad import streams
from polygrad.calls import describe
from polygrad.dtypes import bool as bool_dtype
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.kernels import declare_forward
from polygrad.ops._axes import as_tensor, written
from polygrad.ops.elementwise import indicator
from polygrad.primitive import CONSTANT, Primitive
from polygrad.tensor import Tensor, new_tensor

_table = Chapter("dropout", "nn.functional")


def _masked(F: Any, x: Any, mask: Any, scale: float) -> Any:
    """A product; where nothing is kept, zeros, whatever x holds."""
    if scale == 0:
        return F.zeros(x.shape)
    return x * (F.cast(mask) * scale)


# fmt: off
dropout_primitive = Primitive(
    "dropout", ("x", "mask"),
    {"x": lambda g, F, mask, scale: F.dropout(g, mask, scale=scale), "mask": CONSTANT},
    forward=_masked, keywords={"scale": 1.0}, promotes=("x",), floating=True,
)
# fmt: on


def check_probability(input: Any, p: float, where: str) -> Tensor:
    """The input as a Tensor.

    Raises
    ------
    InvalidArgumentError
        p is no probability.
    """
    if not 0 <= p <= 1:
        raise InvalidArgumentError(
            f"p={p} is no probability", f"{where}, argument p", "pass a number in [0, 1]"
        )
    return as_tensor(input, f"{where}, argument input")


def _toss(F: Any, shape: tuple[int, ...], p: float, generator: Any) -> Any:
    """True with probability p: the next numbers of the generator, made on the host."""
    host = streams.coin(generator, p, size_of(shape)).reshape(shape)
    return F.backend.from_numpy(host, F.device)


declare_forward("toss", _toss)  # no primitive: it takes no array


def draw_mask(x: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    """True with probability 1 - p, on the device of x."""
    k = x.kernels.with_dtype(bool_dtype)
    return new_tensor(k.toss(shape, p=1 - p, generator=streams.default_generator), k)


def _dropped(x: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    scale = 1 / (1 - p) if p < 1 else 0.0
    return dropout_primitive.call(x, draw_mask(x, p, shape), scale=scale)  # type: ignore[no-any-return]


def _samples(s: Any) -> Any:
    return [
        ((s.real(2, 3),), {"training": False}), ((s.real(2, 3),), {"p": 0.0}),
        ((s.real(2, 3),), {"p": 1.0}),
    ]  # fmt: skip


@_table.public(samples=_samples)
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros in random places, the rest divided by 1 - p.

    Parameters
    ----------
    input
        Tensor of any shape.
    p
        The probability of a zero, in [0, 1].
    training
        False: the input itself, and no random number is drawn.
    inplace
        Write the result to `input`, and return it.

    Returns
    -------
    Tensor
        Of the shape of `input`.

    Raises
    ------
    InvalidArgumentError
        p is not in [0, 1].

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.dropout(pg.ones(3), p=1.0)
    tensor([0., 0., 0.], dtype=float32)
    """
    x = check_probability(input, p, "dropout")
    if not training or p == 0:
        return x
    return written(input, _dropped(x, p, x.shape), inplace)


def _channels(axes: int, input: Any, p: float, training: bool, inplace: bool) -> Tensor:
    """Dropout of whole channels over a number of spatial axes."""
    where = f"dropout{axes}d"
    x = check_probability(input, p, where)
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(
            f"an input of shape {x.shape}", f"{where}{describe([x])}",
            f"its axes are (batch, channels, {axes} spatial ones), or all but the batch",
        )  # fmt: skip
    if not training or p == 0:
        return x
    return written(input, _dropped(x, p, (*x.shape[: x.ndim - axes], *(1,) * axes)), inplace)


_CHANNELS = """Zeros in random channels, the rest divided by 1 - p; over {axes} spatial axes.

Parameters
----------
input
    (batch, channels, {sizes}), or without the batch axis.
p, training, inplace
    As for `dropout`.

Raises
------
InvalidArgumentError, ShapeError
    p is not in [0, 1]; the input has another number of axes.

Examples
--------
>>> import polygrad as pg
>>> pg.nn.functional.dropout{axes}d(pg.ones((2, 3, {fours}))).shape
(2, 3, {fours})
"""


def _make(axes: int) -> Any:
    """The dropout of channels over a number of spatial axes."""

    def function(
        input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        return _channels(axes, input, p, training, inplace)

    function.__name__ = function.__qualname__ = f"dropout{axes}d"
    words = {"sizes": ", ".join("n" * axes), "fours": ", ".join("4" * axes)}
    function.__doc__ = _CHANNELS.format(axes=axes, **words)
    return _table.public(samples=lambda s: [
        ((s.real(2, 3, *(2,) * axes),), {"training": False}),
        ((s.real(3, *(2,) * axes),), {"p": 1.0}),
    ])(function)  # fmt: skip


dropout1d, dropout2d, dropout3d = (_make(n) for n in (1, 2, 3))


def _alpha(x: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    """a (kept x or -1.7581) + b, with the mean and variance of x when they are 0 and 1."""
    if p == 1:
        return _dropped(x, p, shape)
    floor = -1.7580993408473766  # selu at -infinity: -1.0507 * 1.6733
    a = 1 / math.sqrt((1 - p) * (1 + p * floor * floor))
    kept = draw_mask(x, p, shape)
    shift = a * floor * (1 - indicator.call(kept, x)) - a * floor * p
    return dropout_primitive.call(x, kept, scale=a) + shift  # type: ignore[no-any-return]


@_table.public(samples=_samples)
def alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for `selu`: it keeps mean 0 and variance 1.

    Parameters and errors as of `dropout`, except that `training` is False if not given. Klambauer,
    Unterthiner, Mayr, Hochreiter, "Self-normalizing neural networks", 2017.

    >>> import polygrad as pg
    >>> pg.nn.functional.alpha_dropout(pg.ones(2), training=False)
    tensor([1., 1.], dtype=float32)
    """
    x = check_probability(input, p, "alpha_dropout")
    if not training or p == 0:
        return x
    return written(input, _alpha(x, p, x.shape), inplace)


@_table.public(samples=_samples)
def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels: the input is (batch, channels, …).

    >>> import polygrad as pg
    >>> pg.nn.functional.feature_alpha_dropout(pg.ones((1, 2)), training=False)
    tensor([[1., 1.]], dtype=float32)
    """
    x = check_probability(input, p, "feature_alpha_dropout")
    if not training or p == 0:
        return x
    shape = (*x.shape[:2], *(1,) * (x.ndim - 2))
    return written(input, _alpha(x, p, shape), inplace)
