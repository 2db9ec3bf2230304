"""Parametrizations that are ready: weight and spectral normalization, orthogonal matrices.

PyTorch's `torch.nn.utils.parametrizations`, with `axis=` for `dim=`. Names in the state_dict are
PyTorch's.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from polygrad.config import no_grad
from polygrad.errors import InvalidArgumentError
from polygrad.indexing import size_of
from polygrad.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from polygrad.nn.module import Module
from polygrad.nn.utils.orthogonal import adjoint, normal, orthogonal, tensor_of
from polygrad.nn.utils.parametrize import is_parametrized, register_parametrization
from polygrad.ops._axes import as_int, normalize_axis
from polygrad.ops.contraction import vecdot
from polygrad.ops.linalg_norms import vector_norm
from polygrad.ops.manipulation import moveaxis, reshape
from polygrad.ops.similarity import normalize
from polygrad.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


# ---- weight normalization -----------------------------------------------------------------------
class _WeightNorm(Module):
    """`magnitude * direction / |direction|`; the norm is of each slice along `axis`."""

    def __init__(self, axis: int | None) -> None:
        super().__init__()
        self.axis = axis

    def _norm(self, weight: Tensor) -> Tensor:
        if self.axis is None:
            return vector_norm(weight)
        axis = normalize_axis(self.axis, weight.ndim, "weight_norm")
        others = tuple(i for i in range(weight.ndim) if i != axis)
        return vector_norm(weight, axis=others, keepdims=True)

    def forward(self, magnitude: Tensor, direction: Tensor) -> Tensor:
        """The weight."""
        return direction * (magnitude / self._norm(direction))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Norm and direction."""
        return self._norm(weight), weight

    def extra_repr(self) -> str:
        """The axis."""
        return f"axis={self.axis}"


class _OldNames:
    """Before loading: takes the names of times before parametrizations, `weight_g`, `weight_v`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Module, state: dict[str, Any], prefix: str, *rest: object) -> None:
        del rest  # what else such a hook gets
        old = [f"{prefix}{self.name}_{letter}" for letter in "gv"]
        if is_parametrized(module, self.name) and all(key in state for key in old):
            for i, key in enumerate(old):
                state[f"{prefix}parametrizations.{self.name}.original{i}"] = state.pop(key)


def weight_norm(module: Module, name: str = "weight", axis: int | None = 0) -> Module:
    """Learn the length and the direction of a weight apart: `w = g * v / |v|`.

    Parameters
    ----------
    module, name
        The module, and which of its parameters.
    axis
        Each slice along it has a norm of its own; None: one norm for the whole weight. Negative
        ones count from the end.

    Returns
    -------
    Module
        The same, with `parametrizations.<name>.original0`, g, and `original1`, v.

    Raises
    ------
    InvalidArgumentError
        There is no such parameter, or it is parametrized.
    OutOfRangeError
        It has no such axis.

    Source: Salimans and Kingma, "Weight normalization" (2016).

    >>> import polygrad as pg
    >>> layer = weight_norm(pg.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    (2, 1)
    """
    if is_parametrized(module, name):
        raise InvalidArgumentError(
            "the tensor is parametrized: length and direction can only be what all starts from",
            f"weight_norm, {name!r} of {type(module).__name__}",
            "call weight_norm before other parametrizations, once",
        )  # fmt: skip
    if axis is not None:
        axis = normalize_axis(axis, tensor_of(module, name, "weight_norm").ndim, "weight_norm")
    register_parametrization(module, name, _WeightNorm(axis))
    module.register_load_state_dict_pre_hook(_OldNames(name))
    return module


# ---- spectral normalization ---------------------------------------------------------------------
class _SpectralNorm(Module):
    """The weight over its largest singular value, which the power method follows."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, axis: int, eps: float) -> None:
        super().__init__()
        self.axis = normalize_axis(axis, weight.ndim, "spectral_norm")
        if as_int(n_power_iterations, "spectral_norm, argument n_power_iterations") < 1:
            raise InvalidArgumentError(
                f"n_power_iterations is {n_power_iterations}", "spectral_norm",
                "it must be at least 1",
            )  # fmt: skip
        given: Any = eps
        if not isinstance(given, Real) or not float(given) >= 0:
            raise InvalidArgumentError(
                f"eps is {eps!r}", "spectral_norm, argument eps", "it must be at least 0"
            )
        self.n_power_iterations, self.eps = n_power_iterations, eps
        if weight.ndim > 1:
            with no_grad():
                matrix = self._matrix(weight.detach())
                for name, n in zip(("_u", "_v"), matrix.shape, strict=True):
                    self.register_buffer(name, self._normalize(normal((n,), weight)))
                self._follow(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        """`axis` in front, the others as one."""
        front = moveaxis(weight, self.axis, 0)
        columns = size_of(front.shape[1:])
        return reshape(front, (front.shape[0], columns))

    def _normalize(self, vector: Tensor) -> Tensor:
        return normalize(vector, axis=0, eps=self.eps)

    def _follow(self, matrix: Tensor, iterations: int) -> None:
        """The power method; the vectors stay the same objects, and what was saved stays right."""
        back = adjoint(matrix)
        with no_grad():
            u, v = self._u, self._v
            for _ in range(iterations):
                u = self._normalize(matrix @ v)
                v = self._normalize(back @ u)
            self._u[...], self._v[...] = u, v

    def forward(self, weight: Tensor) -> Tensor:
        """In training the vectors move first."""
        if weight.ndim == 1:
            return self._normalize(weight)
        matrix = self._matrix(weight)
        if self.training:
            self._follow(matrix.detach(), self.n_power_iterations)
        return weight / vecdot(self._u, matrix @ self._v)

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value."""
        return value

    def extra_repr(self) -> str:
        """The options."""
        return f"axis={self.axis}, eps={self.eps}"


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    axis: int | None = None,
) -> Module:
    """Divide a weight by its spectral norm, its largest singular value; a vector by its norm.

    The singular vectors follow the weight by the power method: whenever the weight is read while
    the module is in training.

    Parameters
    ----------
    module, name
        The module, and which of its parameters.
    n_power_iterations
        Steps of the power method at each reading.
    eps
        Added where a vector could be 0.
    axis
        That of the outputs, the rows of the matrix; 0 if not given, 1 for weights of transposed
        convolutions.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError, InvalidTypeError
        There is no such parameter or axis; no iterations, or no int of them; eps is negative.

    Source: Miyato, Kataoka, Koyama, Yoshida, "Spectral normalization for generative adversarial
    networks" (2018).

    >>> import polygrad as pg
    >>> layer = spectral_norm(pg.nn.Linear(3, 3)).eval()
    >>> bool(pg.linalg.svdvals(layer.weight.detach())[0] < 1.1)
    True
    """
    weight = tensor_of(module, name, "spectral_norm")
    if axis is None:
        transposed = isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
        axis = int(transposed and weight.ndim > 1)
    made = _SpectralNorm(weight, n_power_iterations, axis, eps)
    return register_parametrization(module, name, made)
