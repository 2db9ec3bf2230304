"""Cells of recurrent networks: one step."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.nn import functional, init
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.ops._recurrence import BLOCKS
from polygrad.ops.filling import empty
from polygrad.tensor import Tensor, new_tensor

__all__ = [
    "GRUCell", "LSTMCell", "RNNCell", "check_features", "check_flags", "check_positive",
    "plain_kind", "reset_uniformly",
]  # fmt: skip

_NONLINEARITIES = {"tanh": "rnn_tanh", "relu": "rnn_relu"}


def check_positive(where: str, **sizes: Any) -> None:
    """Refuse widths and counts that are no positive integers."""
    for name, n in sizes.items():
        if not isinstance(n, int) or n < 1:
            raise InvalidArgumentError(
                f"{name} is {n!r}", f"{where}, argument {name}", "it must be an int of 1 or more"
            )


def check_flags(where: str, **flags: Any) -> None:
    """Refuse switches that are neither True nor False."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise InvalidTypeError(
                f"{name} is {flag!r}", f"{where}, argument {name}", "pass True or False"
            )


def plain_kind(nonlinearity: str, where: str) -> str:
    """The kind of plain cell."""
    if nonlinearity not in _NONLINEARITIES:
        raise InvalidArgumentError(
            f"nonlinearity is {nonlinearity!r}", f"{where}, argument nonlinearity",
            "pass 'tanh' or 'relu'",
        )  # fmt: skip
    return _NONLINEARITIES[nonlinearity]


def reset_uniformly(module: Module, hidden_size: int) -> None:
    """Uniform, within one over the root of the hidden width."""
    bound = 1 / math.sqrt(hidden_size)
    for p in module.parameters():
        init.uniform_(p, -bound, bound)


def check_features(x: Tensor, input_size: int, where: str) -> None:
    """Refuse an input of another width."""
    if not x.ndim or x.shape[-1] != input_size:
        raise ShapeError(
            f"an input of shape {x.shape} for input_size={input_size}", f"{where}, argument input",
            "its last axis has input_size elements",
        )  # fmt: skip


class _Cell(Module):
    """What the cells have in common."""

    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, kind: str, input_size: int, hidden_size: int, bias: bool, device: Any, dtype: Any
    ) -> None:
        super().__init__()
        check_positive(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.bias, self.kind = (
            input_size, hidden_size, bias, kind,
        )  # fmt: skip
        rows, place = BLOCKS[kind] * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(empty((rows, input_size), **place))
        self.weight_hh = Parameter(empty((rows, hidden_size), **place))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty((rows,), **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform, within one over the root of `hidden_size`."""
        reset_uniformly(self, self.hidden_size)

    def _start(self, input: Tensor) -> Tensor:
        """Zeros to begin with."""
        k = self.weight_hh.kernels
        return new_tensor(k.zeros((*input.shape[:-1], self.hidden_size)), k)

    def _step(self, input: Tensor, hx: Any) -> Any:
        """The new state."""
        check_features(input, self.input_size, type(self).__name__)
        return getattr(functional, f"{self.kind}_cell")(
            input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The new state."""
        return self._step(input, self._start(input) if hx is None else hx)

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else f"{text}, bias=False"


class RNNCell(_Cell):
    """h' = tanh(W x + b + V h + d), or relu: one step.

    Parameters
    ----------
    input_size, hidden_size, bias, nonlinearity, device, dtype
        As of `RNN`.

    Attributes
    ----------
    weight_ih, weight_hh, bias_ih, bias_hh
        W, (hidden_size, input_size), V, (hidden_size, hidden_size), b and d, (hidden_size,).

    Notes
    -----
    It is called with an input, (batch, input_size) or (input_size,), and optionally a state,
    (batch, hidden_size) or (hidden_size,), zeros if not given; it returns the new state.

    >>> import polygrad as pg
    >>> pg.nn.RNNCell(3, 4)(pg.ones((2, 3))).shape
    (2, 4)
    """

    examples: ClassVar = [
        ((3, 2), {}, ((2, 3),)), ((3, 2), {"bias": False}, ((2, 3), (2, 2))),
        ((3, 2), {"nonlinearity": "relu"}, ((3,), (2,))),
    ]  # fmt: skip

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        kind = plain_kind(nonlinearity, "RNNCell")
        super().__init__(kind, input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity='relu'"


class GRUCell(_Cell):
    """One step of a gated recurrent unit; the formulas are those of `GRU`, the use of `RNNCell`.

    >>> import polygrad as pg
    >>> pg.nn.GRUCell(3, 4)(pg.ones((2, 3))).shape
    (2, 4)
    """

    examples: ClassVar = [
        ((3, 2), {}, ((2, 3),)), ((3, 2), {"bias": False}, ((2, 3), (2, 2))),
        ((3, 2), {}, ((3,), (2,))),
    ]  # fmt: skip

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("gru", input_size, hidden_size, bias, device, dtype)


class LSTMCell(_Cell):
    """One step of a long short-term memory; the formulas are those of `LSTM`.

    It is used as `RNNCell`, but the state is a pair (h, c).

    >>> import polygrad as pg
    >>> h, c = pg.nn.LSTMCell(3, 4)(pg.ones((2, 3)))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    examples: ClassVar = [
        ((3, 2), {}, ((2, 3),)), ((3, 2), {"bias": False}, ((2, 3),)), ((3, 2), {}, ((3,),)),
    ]  # fmt: skip

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("lstm", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The new (h, c)."""
        return self._step(input, (self._start(input),) * 2 if hx is None else hx)
