"""Functions of neural networks, with PyTorch's names and arguments, and `axis=` for `dim=`.

They are declared in the chapters of `polygrad.ops`, and found here by their registration.

>>> import polygrad as pg
>>> pg.nn.functional.relu(pg.tensor([-1.0, 2.0]))
tensor([0., 2.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable

from polygrad.ops import functions_of
from polygrad.ops.elementwise import tanh
from polygrad.ops.linear_algebra import linear
from polygrad.tensor import Tensor

_FUNCTIONS = functions_of("nn.functional")
globals().update(_FUNCTIONS)

__all__ = ["linear", "tanh", *_FUNCTIONS]  # noqa: PLE0604  the registry's names are no literals


def __getattr__(name: str) -> Callable[..., Tensor]:
    """For type checkers: the rest comes from the registry."""
    from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

    raise missing(__name__, name)
