"""Recurrent networks, one step of a cell: the formulas are in Note [Cells] of `_recurrence`."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops._recurrence import BLOCKS
from polygrad.ops._recurrence import gru_cell as gru_primitive
from polygrad.ops._recurrence import lstm_cell as lstm_primitive
from polygrad.ops.activation import relu
from polygrad.ops.elementwise import tanh
from polygrad.ops.linear_algebra import linear
from polygrad.tensor import Tensor

__all__ = ["pair"]

_table = Chapter("recurrent cells", "nn.functional")


def _gates(
    kind: str, input: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """The affine maps of input and state, and the state; shapes are checked."""
    where = f"{kind}_cell"
    x, h = as_tensor(input, f"{where}, argument input"), as_tensor(h, f"{where}, argument hx")
    w_hh = as_tensor(w_hh, f"{where}, argument w_hh")
    width = h.shape[-1] if h.ndim else 0
    if x.ndim not in (1, 2) or h.shape[:-1] != x.shape[:-1] or h.ndim != x.ndim:
        raise ShapeError(
            f"an input of shape {x.shape} and a state of shape {h.shape}", where + describe([x, h]),
            "they are (batch, features) and (batch, hidden), or both without the batch axis",
        )  # fmt: skip
    if w_hh.shape != (BLOCKS[kind] * width, width):
        raise ShapeError(
            f"a state of shape {h.shape} does not fit w_hh of shape {w_hh.shape}",
            where + describe([h, w_hh]),
            f"w_hh is ({BLOCKS[kind]} hidden, hidden), hidden the last axis of the state",
        )  # fmt: skip
    from_input = linear(x, w_ih, b_ih)
    if from_input.shape[-1] != w_hh.shape[0]:
        raise ShapeError(
            f"w_ih and w_hh have {from_input.shape[-1]} and {w_hh.shape[0]} rows",
            f"{where}, argument w_ih", "both have so many blocks of hidden rows",
        )  # fmt: skip
    return from_input, linear(h, w_hh, b_hh), h


def _cell_samples(blocks: int, *, pair: bool = False) -> Any:
    def samples(s: Any) -> Any:
        def weights(n: int, hidden: int) -> tuple[Any, ...]:
            return s.real(blocks * hidden, n), s.real(blocks * hidden, hidden)

        def biases(hidden: int) -> tuple[Any, ...]:
            return s.real(blocks * hidden), s.real(blocks * hidden)

        def state(*shape: int) -> Any:
            return (s.real(*shape), s.real(*shape)) if pair else s.real(*shape)

        return [
            ((s.real(2, 3), state(2, 2), *weights(3, 2), *biases(2)), {}),
            ((s.real(2), state(1), *weights(2, 1)), {}),
            ((s.real(2, 1), state(2, 1), *weights(1, 1)), {"b_hh": biases(1)[0]}),
            ((s.real(0, 2), state(0, 2), *weights(2, 2)), {}),
        ]

    return samples


@_table.public(samples=_cell_samples(1))
def rnn_tanh_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Tensor:
    """tanh(W x + b + V h + d): one step of a plain recurrent network.

    Parameters
    ----------
    input
        x, (batch, features) or (features,).
    hx
        The state h, (batch, hidden) or (hidden,).
    w_ih, w_hh
        W, (hidden, features), and V, (hidden, hidden).
    b_ih, b_hh
        b and d, (hidden,), or None.

    Returns
    -------
    Tensor
        The new state, of the shape of `hx`.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> F = pg.nn.functional
    >>> F.rnn_tanh_cell(pg.zeros(2), pg.zeros(1), pg.ones((1, 2)), pg.ones((1, 1)))
    tensor([0.], dtype=float32)
    """
    x, y, _ = _gates("rnn_tanh", input, hx, w_ih, w_hh, b_ih, b_hh)
    return tanh(x + y)  # type: ignore[no-any-return]


@_table.public(samples=_cell_samples(1))
def rnn_relu_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Tensor:
    """relu(W x + b + V h + d): one step of a plain recurrent network.

    Parameters and errors as of `rnn_tanh_cell`.

    >>> import polygrad as pg
    >>> F = pg.nn.functional
    >>> F.rnn_relu_cell(pg.ones(2), pg.ones(1), pg.ones((1, 2)), pg.ones((1, 1)))
    tensor([3.], dtype=float32)
    """
    x, y, _ = _gates("rnn_relu", input, hx, w_ih, w_hh, b_ih, b_hh)
    return relu(x + y)


@_table.public(samples=_cell_samples(4, pair=True))
def lstm_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> tuple[Tensor, Tensor]:
    """One step of a long short-term memory.

    Parameters
    ----------
    input
        (batch, features) or (features,).
    hx
        The state: hidden and cell values, both (batch, hidden) or (hidden,).
    w_ih, w_hh
        (4 hidden, features) and (4 hidden, hidden), for the input gate, the forget gate, the new
        content and the output gate.
    b_ih, b_hh
        (4 hidden,), or None.

    Returns
    -------
    tuple of Tensor
        The new state, both of the shape of those given.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The shapes do not fit; hx is no pair.

    Examples
    --------
    >>> import polygrad as pg
    >>> state = pg.zeros((3, 1)), pg.zeros((3, 1))
    >>> h, c = pg.nn.functional.lstm_cell(pg.ones((3, 2)), state, pg.ones((4, 2)), pg.ones((4, 1)))
    >>> h.shape, c.shape
    ((3, 1), (3, 1))
    """
    h, c = pair(hx, "lstm_cell")
    x, y, h = _gates("lstm", input, h, w_ih, w_hh, b_ih, b_hh)
    if c.shape != h.shape:
        raise ShapeError(
            f"hidden values of shape {h.shape}, cell values of shape {c.shape}",
            f"lstm_cell, argument hx{describe([h, c])}", "both have one shape",
        )  # fmt: skip
    found: tuple[Tensor, Tensor] = lstm_primitive.call(x, y, c)[:2]
    return found


@_table.public(samples=_cell_samples(3))
def gru_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Tensor:
    """One step of a gated recurrent unit.

    Parameters
    ----------
    input, hx
        As of `rnn_tanh_cell`.
    w_ih, w_hh
        (3 hidden, features) and (3 hidden, hidden), for the reset gate, the update gate, and the
        new content.
    b_ih, b_hh
        (3 hidden,), or None.

    Returns
    -------
    Tensor
        The new state, of the shape of `hx`.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    Examples
    --------
    >>> import polygrad as pg
    >>> F = pg.nn.functional
    >>> F.gru_cell(pg.zeros(2), pg.ones(1), pg.ones((3, 2)), pg.zeros((3, 1)))
    tensor([0.5], dtype=float32)
    """
    x, y, h = _gates("gru", input, hx, w_ih, w_hh, b_ih, b_hh)
    return gru_primitive.call(x, y, h)[0]  # type: ignore[no-any-return]


def pair(hx: Any, where: str) -> tuple[Tensor, Tensor]:
    """The hidden and the cell values of an LSTM's state.

    Raises
    ------
    InvalidArgumentError
        `hx` is no pair.
    """
    if not isinstance(hx, (tuple, list)) or len(hx) != 2:
        raise InvalidArgumentError(
            f"the state is {type(hx).__name__}, not a pair", f"{where}, argument hx",
            "pass (hidden values, cell values)",
        )  # fmt: skip
    h, c = (as_tensor(t, f"{where}, argument hx") for t in hx)
    return h, c
