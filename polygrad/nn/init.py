"""Initial values, written into tensors in place: PyTorch's `torch.nn.init`.

Random numbers come from `polygrad.random`: the same seed gives the same bits on every device. Each
function returns the tensor, runs without recording, and takes a `generator`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from polygrad import random
from polygrad.config import no_grad
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.tensor import Tensor, new_tensor
from polygrad.writes import write

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "skipped", "sparse_", "trunc_normal_", "uniform_",
    "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names of PyTorch that are called otherwise: the error says how."""
        from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

        raise missing(__name__, name)


Host = np.ndarray[Any, Any]
Filler = TypeVar("Filler", bound=Callable[..., Tensor])
_skipping: ContextVar[bool] = ContextVar("polygrad.init_skipped", default=False)
_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d",
)  # fmt: skip


@contextmanager
def skipped() -> Iterator[None]:
    """Within the block, in this thread, these functions do nothing: no write, no random number.

    >>> import polygrad as pg
    >>> with skipped():
    ...     ones_(pg.zeros(2))
    tensor([0., 0.], dtype=float32)
    """
    token = _skipping.set(True)
    try:
        yield
    finally:
        _skipping.reset(token)


def _fills(function: Filler) -> Filler:
    """What all functions have in common that write values."""

    @functools.wraps(function)
    def inner(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return tensor if _skipping.get() else function(tensor, *args, **kwargs)

    return cast("Filler", inner)


def _fill(tensor: Tensor, host: Host) -> Tensor:
    """Write host data into a tensor of their shape."""
    k = tensor.kernels
    with no_grad():
        write(tensor, new_tensor(k.from_numpy(host), k))
    return tensor


def _constant(tensor: Tensor, value: float) -> Tensor:
    with no_grad():
        write(tensor, value)
    return tensor


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a nonlinearity's weights should be larger than those of a linear layer.

    Parameters
    ----------
    nonlinearity
        The name of the function in `nn.functional`.
    param
        The negative slope, for "leaky_relu".

    Raises
    ------
    InvalidArgumentError
        No gain is known for it.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    gains = {"sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    gains.update(dict.fromkeys(_LINEAR, 1.0))
    if nonlinearity not in gains:
        raise InvalidArgumentError(
            f"no gain is known for {nonlinearity!r}", "calculate_gain, argument nonlinearity",
            "pass one of " + ", ".join([*gains, "leaky_relu"]),
        )  # fmt: skip
    return gains[nonlinearity]


def fans(tensor: Tensor, where: str) -> tuple[int, int]:
    """(fan in, fan out) of a weight of shape (out, in, *kernel).

    Raises
    ------
    ShapeError
        The tensor has fewer than two axes.
    """
    if tensor.ndim < 2:
        raise ShapeError(
            f"a tensor of shape {tensor.shape} has no fan in and fan out", where,
            "pass a weight with two axes or more",
        )  # fmt: skip
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _fan(tensor: Tensor, mode: str, where: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise InvalidArgumentError(
            f"mode is {mode!r}", f"{where}, argument mode", "pass 'fan_in' or 'fan_out'"
        )
    return fans(tensor, where)[mode == "fan_out"]


# ---- one distribution -----------------------------------------------------------------------
@_fills
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: random.Generator | None = None
) -> Tensor:
    """Numbers spread evenly over [a, b)."""
    drawn = random.uniform(
        tensor.shape, a, b, dtype=tensor.dtype, device="cpu", generator=generator
    )
    return _fill(tensor, drawn.numpy())


@_fills
def normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    generator: random.Generator | None = None,
) -> Tensor:
    """Normal numbers."""
    drawn = random.normal(
        tensor.shape, mean, std, dtype=tensor.dtype, device="cpu", generator=generator
    )
    return _fill(tensor, drawn.numpy())


@_fills
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: random.Generator | None = None,
) -> Tensor:
    """Normal numbers, those outside [a, b] drawn again: `pg.random.truncated_normal`.

    Raises
    ------
    InvalidArgumentError
        a > b, or std is not above 0.
    """
    drawn = random.truncated_normal(
        a, b, tensor.shape, mean, std, dtype=tensor.dtype, device="cpu", generator=generator
    )
    return _fill(tensor, drawn.numpy())


@_fills
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return _constant(tensor, val)


@_fills
def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return _constant(tensor, 1.0)


@_fills
def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return _constant(tensor, 0.0)


# ---- structure ------------------------------------------------------------------------------
@_fills
def eye_(tensor: Tensor) -> Tensor:
    """The identity, in a matrix. Raises ShapeError for others."""
    if tensor.ndim != 2:
        raise ShapeError(f"a tensor of shape {tensor.shape} is no matrix", "eye_", "pass two axes")
    return _fill(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


@_fills
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A weight of a convolution that hands channels through. Raises ShapeError for others."""
    if tensor.ndim not in (3, 4, 5):
        raise ShapeError(
            f"a tensor of shape {tensor.shape} is no weight of a convolution", "dirac_",
            "pass 3, 4 or 5 axes",
        )  # fmt: skip
    if tensor.shape[0] % groups:
        raise InvalidArgumentError(
            f"{tensor.shape[0]} channels in {groups} groups", "dirac_, argument groups",
            "the groups must divide the channels",
        )  # fmt: skip
    host = np.zeros(tensor.shape)
    each = tensor.shape[0] // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for group in range(groups):
        for i in range(min(each, tensor.shape[1])):
            host[(group * each + i, i, *middle)] = 1
    return _fill(tensor, host)


@_fills
def orthogonal_(
    tensor: Tensor, gain: float = 1.0, generator: random.Generator | None = None
) -> Tensor:
    """A random matrix of orthonormal rows or columns, times `gain`; more axes count as columns.

    Source: Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of learning in
    deep linear neural networks" (2013).
    """
    if tensor.ndim < 2:
        raise ShapeError(
            f"a tensor of shape {tensor.shape} has no rows and columns", "orthogonal_",
            "pass two axes",
        )  # fmt: skip
    if not tensor.size:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.size // rows
    drawn = random.normal((rows, columns), dtype="float64", device="cpu", generator=generator)
    host = drawn.numpy()
    q, r = np.linalg.qr(host.T if rows < columns else host)
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return _fill(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


@_fills
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: random.Generator | None = None
) -> Tensor:
    """A matrix of normal numbers, the share `sparsity` of each column zero.

    Source: Martens, "Deep learning via Hessian-free optimization" (2010).
    """
    if tensor.ndim != 2:
        raise ShapeError(
            f"a tensor of shape {tensor.shape} is no matrix", "sparse_", "pass two axes"
        )
    rows, columns = tensor.shape
    drawn = random.normal(
        (rows, columns), 0.0, std, dtype=tensor.dtype, device="cpu", generator=generator
    )
    host = np.array(drawn.numpy())
    zeros = math.ceil(sparsity * rows)
    for j in range(columns):
        order = random.permutation(rows, device="cpu", generator=generator).numpy()
        host[order[:zeros], j] = 0
    return _fill(tensor, host)


# ---- scaled to the fans -----------------------------------------------------------------------
@_fills
def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: random.Generator | None = None
) -> Tensor:
    """Uniform, of variance `gain**2 * 2 / (fan_in + fan_out)`.

    Source: Glorot and Bengio, "Understanding the difficulty of training deep networks" (2010).
    """
    bound = gain * math.sqrt(6.0 / sum(fans(tensor, "xavier_uniform_")))
    return uniform_(tensor, -bound, bound, generator)


@_fills
def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: random.Generator | None = None
) -> Tensor:
    """Normal, of variance `gain**2 * 2 / (fan_in + fan_out)`."""
    std = gain * math.sqrt(2.0 / sum(fans(tensor, "xavier_normal_")))
    return normal_(tensor, 0.0, std, generator)


@_fills
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: random.Generator | None = None,
) -> Tensor:
    """Uniform, of variance `gain**2 / fan`; `a` is the negative slope of "leaky_relu".

    Source: He, Zhang, Ren, Sun, "Delving deep into rectifiers" (2015).
    """
    if not tensor.size:
        return tensor
    gain = calculate_gain(nonlinearity, a)
    bound = gain * math.sqrt(3.0 / _fan(tensor, mode, "kaiming_uniform_"))
    return uniform_(tensor, -bound, bound, generator)


@_fills
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: random.Generator | None = None,
) -> Tensor:
    """Normal, of variance `gain**2 / fan`; `a` is the negative slope of "leaky_relu"."""
    if not tensor.size:
        return tensor
    gain = calculate_gain(nonlinearity, a)
    std = gain / math.sqrt(_fan(tensor, mode, "kaiming_normal_"))
    return normal_(tensor, 0.0, std, generator)
