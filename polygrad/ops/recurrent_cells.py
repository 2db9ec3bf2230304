"""Recurrent networks, one step of a cell: the formulas are in Note [Cells] of `_recurrence`."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops._recurrence import BLOCKS, STEPS
from polygrad.tensor import Tensor, raw

__all__ = ["pair"]

_table = Chapter("recurrent cells", "nn.functional")
_NAMES = ("input", "hx", "hx", "w_ih", "w_hh", "b_ih", "b_hh")


def _step(
    kind: str, input: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> Any:  # fmt: skip
    """What a step gives, of operands whose shapes fit; c is None in all but an LSTM."""
    operands = [input, h, c, w_ih, w_hh, b_ih, b_hh]
    for i, t in enumerate(operands):
        if not isinstance(t, Tensor) and not (t is None and (i > 4 or (i == 2 and kind != "lstm"))):
            operands[i] = as_tensor(t, f"{kind}_cell, argument {_NAMES[i]}")
    x_, h_, c_, w_, v_, b_, d_ = [None if t is None else raw(t).shape for t in operands]
    rows = BLOCKS[kind] * h_[-1] if h_ else 0
    fit = (
        x_ and h_ and len(x_) <= 2 and x_[:-1] == h_[:-1] and w_ == (rows, x_[-1])
        and v_ == (rows, h_[-1]) and (b_ is None or b_ == (rows,))
        and (d_ is None or d_ == (rows,)) and (c_ is None or c_ == h_)
    )  # fmt: skip
    if not fit:
        raise _misfit(kind, operands)
    return STEPS[kind].call(*operands)


def _misfit(kind: str, operands: list[Any]) -> ShapeError:
    """The error for shapes that do not fit."""
    x, h, c, w_ih, w_hh, b_ih, b_hh = operands
    where, blocks = f"{kind}_cell", BLOCKS[kind]
    if x.ndim not in (1, 2) or h.shape[:-1] != x.shape[:-1] or h.ndim != x.ndim:
        return ShapeError(
            f"an input of shape {x.shape} and a state of shape {h.shape}", where + describe([x, h]),
            "they are (batch, features) and (batch, hidden), or both without the batch axis",
        )  # fmt: skip
    width, features = h.shape[-1], x.shape[-1]
    if c is not None and c.shape != h.shape:
        return ShapeError(
            f"hidden values of shape {h.shape}, cell values of shape {c.shape}",
            f"{where}, argument hx{describe([h, c])}", "both have one shape",
        )  # fmt: skip
    if w_hh.shape != (blocks * width, width):
        return ShapeError(
            f"a state of shape {h.shape} does not fit w_hh of shape {w_hh.shape}",
            where + describe([h, w_hh]),
            f"w_hh is ({blocks} hidden, hidden), hidden the last axis of the state",
        )  # fmt: skip
    if w_ih.shape[-1:] != (features,) or w_ih.ndim != 2:
        return ShapeError(
            f"an input of shape {x.shape} does not fit w_ih of shape {w_ih.shape}",
            where + describe([x, w_ih]),
            f"w_ih is ({blocks} hidden, features), features the last axis of the input",
        )  # fmt: skip
    if w_ih.shape[0] != w_hh.shape[0]:
        return ShapeError(
            f"w_ih and w_hh have {w_ih.shape[0]} and {w_hh.shape[0]} rows",
            f"{where}, argument w_ih", "both have so many blocks of hidden rows",
        )  # fmt: skip
    name, bias = ("b_ih", b_ih) if b_ih is not None and b_ih.shape != w_ih.shape[:1] else (
        "b_hh", b_hh)  # fmt: skip
    return ShapeError(
        f"a bias of shape {bias.shape} does not fit a weight of shape {w_hh.shape}",
        f"{where}, argument {name}", f"its shape must be {w_hh.shape[:1]}",
    )


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
    return _step("rnn_tanh", input, hx, None, w_ih, w_hh, b_ih, b_hh)  # type: ignore[no-any-return]


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
    return _step("rnn_relu", input, hx, None, w_ih, w_hh, b_ih, b_hh)  # type: ignore[no-any-return]


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
    h, c = _two(hx, "lstm_cell")
    found: tuple[Tensor, Tensor] = _step("lstm", input, h, c, w_ih, w_hh, b_ih, b_hh)[:2]
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
    return _step("gru", input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]  # type: ignore[no-any-return]


def pair(hx: Any, where: str) -> tuple[Tensor, Tensor]:
    """The hidden and the cell values of an LSTM's state.

    Raises
    ------
    InvalidArgumentError
        `hx` is no pair.
    """
    h, c = (as_tensor(t, f"{where}, argument hx") for t in _two(hx, where))
    return h, c


def _two(hx: Any, where: str) -> Any:
    """The state, if it is a pair."""
    if isinstance(hx, (tuple, list)) and len(hx) == 2:
        return hx
    raise InvalidArgumentError(
        f"the state is {type(hx).__name__}, not a pair", f"{where}, argument hx",
        "pass (hidden values, cell values)",
    )  # fmt: skip
