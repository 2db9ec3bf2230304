"""Recurrent layers: cells over sequences."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from polygrad.errors import InvalidArgumentError
from polygrad.nn import functional
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.nn.recurrent_cells import (
    check_features,
    check_flags,
    check_positive,
    plain_kind,
    reset_uniformly,
)
from polygrad.nn.utils.rnn import PackedSequence
from polygrad.ops._recurrence import BLOCKS
from polygrad.ops.filling import empty
from polygrad.ops.indexing import take
from polygrad.ops.recurrent_cells import pair
from polygrad.tensor import Tensor, new_tensor

__all__ = ["GRU", "LSTM", "RNN"]


class _Recurrent(Module):
    """What the recurrent layers have in common."""

    def __init__(
        self, kind: str, input_size: int, hidden_size: int, num_layers: int, bias: bool,
        batch_first: bool, dropout: float, bidirectional: bool, proj_size: int, device: Any,
        dtype: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        where = type(self).__name__
        check_positive(where, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        check_flags(where, bias=bias, batch_first=batch_first)
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise InvalidArgumentError(
                f"dropout is {dropout}", f"{where}, argument dropout",
                "a probability lies in [0, 1]",
            )  # fmt: skip
        if not 0 <= proj_size < hidden_size:
            raise InvalidArgumentError(
                f"proj_size is {proj_size}, hidden_size {hidden_size}",
                f"{where}, argument proj_size", "it must be below, or 0 for no projection",
            )  # fmt: skip
        if dropout and num_layers == 1:
            warnings.warn(
                f"{where}: dropout={dropout} acts between layers, and there is one layer only",
                stacklevel=3,
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size, self.kind = bidirectional, proj_size, kind
        shapes = self._shapes()
        self._names = tuple(shapes)
        for name, shape in shapes.items():
            setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The parameters of all layers and directions, in order."""
        found: dict[str, tuple[int, ...]] = {}
        directions = ("", "_reverse") if self.bidirectional else ("",)
        rows, width = BLOCKS[self.kind] * self.hidden_size, self.proj_size or self.hidden_size
        for layer in range(self.num_layers):
            features = width * len(directions) if layer else self.input_size
            for direction in directions:
                end = f"_l{layer}{direction}"
                found[f"weight_ih{end}"], found[f"weight_hh{end}"] = (rows, features), (rows, width)
                if self.bias:
                    found[f"bias_ih{end}"] = found[f"bias_hh{end}"] = (rows,)
                if self.proj_size:
                    found[f"weight_hr{end}"] = (width, self.hidden_size)
        return found

    def reset_parameters(self) -> None:
        """Uniform, within one over the root of `hidden_size`."""
        reset_uniformly(self, self.hidden_size)

    def _weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        found = self._weights()
        each = len(found) // (self.num_layers * (1 + self.bidirectional))
        return [found[i : i + each] for i in range(0, len(found), each)]

    def _start(self, x: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, ...]:
        """Zeros to begin with."""
        batch = () if x.ndim < 3 else (x.shape[not self.batch_first],)
        if batch_sizes is not None:
            batch = (int(batch_sizes[0]),)
        k = self._weights()[0].kernels
        shape = (self.num_layers * (1 + self.bidirectional), *batch)
        return tuple(new_tensor(k.zeros((*shape, n)), k) for n in self._widths())

    def _run(self, input: Any, hx: Any) -> tuple[Any, tuple[Tensor, ...]]:
        """Output and final states; `hx` is a tuple of initial states, or None."""
        packed = isinstance(input, PackedSequence)
        x = input.data if packed else input
        check_features(x, self.input_size, type(self).__name__)
        sizes = input.batch_sizes if packed else None
        if hx is None:
            hx = self._start(x, sizes)
        elif packed and input.sorted_indices is not None:
            hx = tuple(take(h, input.sorted_indices, axis=1) for h in hx)
        output, *states = getattr(functional, self.kind)(
            x, hx if len(hx) > 1 else hx[0], self._weights(), self.bias, self.num_layers,
            self.dropout, self.training, self.bidirectional, self.batch_first, sizes,
        )  # fmt: skip
        if packed:
            output = input._replace(data=output)
            if input.unsorted_indices is not None:
                states = [take(h, input.unsorted_indices, axis=1) for h in states]
        return output, tuple(states)

    def _widths(self) -> tuple[int, ...]:
        """Of each state."""
        return (self.hidden_size,)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The last layer's output at every step, and the final state of every layer."""
        output, (state,) = self._run(input, None if hx is None else (hx,))
        return output, state

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
            ("dropout", 0.0), ("bidirectional", False),
        ):  # fmt: skip
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(_Recurrent):
    """Layers of h' = tanh(W x + b + V h + d), or relu, over sequences.

    Parameters
    ----------
    input_size, hidden_size
        Lengths of the last axis of input and state.
    num_layers
        Each layer runs over the output of the one before.
    nonlinearity
        "tanh" or "relu".
    bias
        Whether b and d are learned.
    batch_first
        Whether input and output are (batch, time, features) instead of (time, batch, features). It
        does not change the state.
    dropout
        In training, the probability of a zero in the output of every layer but the last.
    bidirectional
        Whether each layer also runs backwards in time; the outputs of both directions are joined.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0
        W, (hidden_size, input_size), V, (hidden_size, hidden_size), b and d, (hidden_size,), of
        the first layer; l1 of the second, and so on, with _reverse at the end backwards in time.

    Raises
    ------
    InvalidArgumentError
        A size is no positive int; dropout is no probability; the nonlinearity is none of the two.

    Notes
    -----
    It is called with an input, (time, batch, input_size) or (time, input_size) or a
    PackedSequence of `nn.utils.rnn`, and optionally an initial state, (layers directions, batch,
    hidden_size), zeros if not given. It returns the output of the last layer at every step,
    packed if the input was, and the final state.

    >>> import polygrad as pg
    >>> output, state = pg.nn.RNN(3, 4, num_layers=2)(pg.ones((5, 2, 3)))
    >>> output.shape, state.shape
    ((5, 2, 4), (2, 2, 4))
    """

    examples: ClassVar = [
        ((3, 2), {}, ((4, 2, 3), (1, 2, 2))), ((3, 2, 2), {"bidirectional": True}, ((2, 1, 3),)),
        ((3, 2), {"nonlinearity": "relu", "bias": False, "batch_first": True}, ((2, 3, 3),)),
    ]  # fmt: skip

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            plain_kind(nonlinearity, "RNN"), input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity='relu'"


class GRU(_Recurrent):
    """Layers of gated recurrent units over sequences.

    r = s(W_r x + b_r + V_r h + d_r), z = s(W_z x + b_z + V_z h + d_z),
    n = tanh(W_n x + b_n + r (V_n h + d_n)) and h' = (1 - z) n + z h, with s the logistic function.
    The weights have the rows of r, z and n below each other.

    Parameters and use as of `RNN`, without a nonlinearity to choose.

    >>> import polygrad as pg
    >>> output, state = pg.nn.GRU(3, 4)(pg.ones((5, 2, 3)))
    >>> output.shape, state.shape
    ((5, 2, 4), (1, 2, 4))
    """

    examples: ClassVar = [
        ((3, 2), {}, ((4, 2, 3), (1, 2, 2))), ((3, 2, 2), {"bidirectional": True}, ((2, 1, 3),)),
        ((3, 2), {"bias": False, "batch_first": True}, ((2, 3, 3),)), ((3, 2), {}, ((4, 3),)),
    ]  # fmt: skip

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "gru", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip


class LSTM(_Recurrent):
    """Layers of long short-term memory over sequences.

    i, f, u, o = s, s, tanh, s of the rows of W x + b + V h + d; c' = f c + i u; h' = o tanh(c'),
    with s the logistic function. With a projection the state is P h'.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype
        As of `RNN`.
    proj_size
        How many rows P has; 0 for no projection.

    Notes
    -----
    It is used as `RNN`, but the state is a pair: h, whose last axis has proj_size elements if that
    is not 0, and c. P is called weight_hr_l0.

    >>> import polygrad as pg
    >>> output, (h, c) = pg.nn.LSTM(3, 4, proj_size=2)(pg.ones((5, 2, 3)))
    >>> output.shape, h.shape, c.shape
    ((5, 2, 2), (1, 2, 2), (1, 2, 4))
    """

    examples: ClassVar = [
        ((3, 2), {}, ((4, 2, 3),)),
        ((3, 2, 2), {"bidirectional": True, "batch_first": True}, ((1, 2, 3),)),
        ((3, 3), {"bias": False, "proj_size": 2}, ((2, 3, 3),)), ((3, 2), {}, ((4, 3),)),
    ]  # fmt: skip

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "lstm", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def _widths(self) -> tuple[int, ...]:
        return self.proj_size or self.hidden_size, self.hidden_size

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, ...]]:
        """The last layer's output at every step, and the final (h, c) of every layer."""
        return self._run(input, None if hx is None else pair(hx, "LSTM"))
