"""Who differentiates: polygrad, and for comparison PyTorch and JAX.

A player is asked for the gradients of a function of arrays; what it raises is part of the answer.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["PLAYERS", "Player", "player"]

Outputs = list[Any]
Loss = Callable[[Outputs], Any]


class Player(ABC):
    """One autograd."""

    name: str
    # What an exception says: (type, text in its message, how the table calls it).
    causes: tuple[tuple[str, str, str], ...] = ()

    @abstractmethod
    def differentiate(
        self, function: Callable[..., Outputs], inputs: Sequence[Any], loss: Loss
    ) -> tuple[Outputs, list[Any] | None]:
        """Outputs as NumPy arrays, where they are arrays, and the gradient of `loss(outputs)`.

        None for the gradients if the loss depends on no input; None for one that is not there.
        """

    def version(self) -> str:
        """Of the library."""
        from importlib.metadata import version

        return version(self.name)

    def cause(self, error: BaseException) -> str:
        """What an exception is called in the table."""
        kinds = {kind.__name__ for kind in type(error).__mro__}
        for kind, text, called in self.causes:
            if kind in kinds and text in str(error):
                return called
        return f"error! {type(error).__name__}: {' '.join(str(error).split())[:60]}"


class Polygrad(Player):
    """Tensors of one device."""

    name = "polygrad"
    causes = (
        ("GradientError", "would cut its gradient", "asarray!"),
        ("GradientError", "not implemented", "no-vjp!"),
        ("GradientError", "no rule", "no-vjp!"),
    )

    def __init__(self, device: str = "cpu") -> None:
        self.device = device

    def differentiate(
        self, function: Callable[..., Outputs], inputs: Sequence[Any], loss: Loss
    ) -> tuple[Outputs, list[Any] | None]:
        """Tensors that require grad."""
        import polygrad as pg

        leaves = [pg.tensor(a, requires_grad=True, device=self.device) for a in inputs]
        outputs = function(*leaves)
        total = loss(outputs)
        seen = [o.detach().numpy() if isinstance(o, pg.Tensor) else o for o in outputs]
        if not getattr(total, "requires_grad", False):
            return seen, None
        found = pg.autograd.grad(total, leaves, allow_unused=True)
        return seen, [None if g is None else g.numpy() for g in found]


class Torch(Player):
    """PyTorch's autograd."""

    name = "torch"
    causes = (
        ("RuntimeError", "Can't call numpy() on Tensor that requires grad", "asarray!"),
        ("RuntimeError", "modified by an inplace operation", "inplace!(bwd)"),
        ("RuntimeError", "is a view and is being modified inplace", "inplace-view!"),
        ("RuntimeError", "leaf Variable that requires grad", "inplace-leaf!"),
    )

    def differentiate(
        self, function: Callable[..., Outputs], inputs: Sequence[Any], loss: Loss
    ) -> tuple[Outputs, list[Any] | None]:
        """Tensors that require grad."""
        import torch

        leaves = [torch.tensor(a, requires_grad=True) for a in inputs]
        outputs = function(*leaves)
        total = loss(outputs)
        seen = [o.detach().resolve_conj().numpy() if isinstance(o, torch.Tensor) else o
                for o in outputs]  # fmt: skip
        if not getattr(total, "requires_grad", False):
            return seen, None
        found = torch.autograd.grad(total, leaves, allow_unused=True)
        return seen, [None if g is None else g.resolve_conj().numpy() for g in found]


class Jax(Player):
    """JAX without jit: its tracers are handed to the function."""

    name = "jax"
    causes = (
        ("TracerArrayConversionError", "", "asarray!"),
        ("ConcretizationTypeError", "", "traced-bool!"),
        ("TypeError", "immutable", "setitem!"),
        ("TypeError", "does not support item assignment", "setitem!"),
        ("ValueError", "read-only", "setitem!"),
        ("NotImplementedError", "ifferentiation rule", "no-vjp!"),
        ("TypeError", "must be of integer type", "no-vjp!"),
    )

    def differentiate(
        self, function: Callable[..., Outputs], inputs: Sequence[Any], loss: Loss
    ) -> tuple[Outputs, list[Any] | None]:
        """Tracers."""
        import jax

        jax.config.update("jax_enable_x64", True)
        others: list[Any] = []

        def traced(*arrays: Any) -> Any:
            outputs = function(*arrays)
            places = [i for i, o in enumerate(outputs) if isinstance(o, jax.Array)]
            others[:] = [None if i in places else o for i, o in enumerate(outputs)]
            return loss(outputs), [outputs[i] for i in places]

        arrays = [jax.numpy.asarray(a) for a in inputs]
        total, vjp, arrays_out = jax.vjp(traced, *arrays, has_aux=True)
        made = iter(arrays_out)
        seen = [np.asarray(next(made)) if o is None else o for o in others]
        found = vjp(jax.numpy.ones_like(total))
        return seen, [np.conj(np.asarray(g)) for g in found]  # JAX's convention is the conjugate


PLAYERS: dict[str, type[Player]] = {"polygrad": Polygrad, "torch": Torch, "jax": Jax}


def player(name: str, device: str = "cpu") -> Player:
    """A player by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Polygrad(device) if name == "polygrad" else PLAYERS[name]()
