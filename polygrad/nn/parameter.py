"""Parameter: a leaf tensor that a Module registers when it becomes an attribute."""

from __future__ import annotations

from typing import Any

from polygrad.errors import GradientError
from polygrad.ops.creation import tensor
from polygrad.tensor import Tensor, raw

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A tensor that is learned.

    Parameters
    ----------
    data
        A Tensor, whose value is shared until one of the two is written, or what `pg.tensor` takes.
    requires_grad
        Whether its gradient is wanted.

    Raises
    ------
    GradientError
        `data` is the result of a recorded operation: a parameter is a leaf.
    DtypeError
        `requires_grad`, but the dtype has no gradients.

    >>> import polygrad as pg
    >>> pg.nn.Parameter(pg.zeros(2))
    Parameter containing:
    tensor([0., 0.], dtype=float32, requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        source = data if isinstance(data, Tensor) else tensor(data)
        self.array, self.kernels = raw(source), source.kernels
        self.node = self.gradient = self.alias = self.hooks = None
        self.tracked = False
        if source.node is not None:
            raise GradientError(
                "a parameter is a leaf, its history would be lost",
                f"Parameter, argument data, made by {source.grad_fn!r}", "pass data.detach()",
            )  # fmt: skip
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        """As a tensor, and that it is a parameter."""
        return f"Parameter containing:\n{super().__repr__()}"
