"""Recurrent networks: sequences through layers of cells.

The gates of all steps take their share of the input from one product of matrices; what then runs
from step to step is in `polygrad.ops._recurrence`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops._recurrence import BLOCKS, RUNS
from polygrad.ops.dropout import dropout as drop
from polygrad.ops.indexing import index_tensor, take
from polygrad.ops.linear_algebra import linear
from polygrad.ops.manipulation import expand_dims, permute_dims, reshape, squeeze
from polygrad.ops.rearrangement import concat, stack, unstack
from polygrad.ops.recurrent_cells import pair
from polygrad.tensor import Tensor

_table = Chapter("recurrent", "nn.functional")


# ---- arguments ----------------------------------------------------------------------------------
class _Weights(NamedTuple):
    """Those of one layer in one direction."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None
    w_hr: Tensor | None


class _Layout(NamedTuple):
    """The rows of an input: see Note [Packed rows] of `polygrad.ops._recurrence`."""

    sizes: tuple[int, ...]
    batched: bool
    batch_first: bool
    packed: bool

    @property
    def batch(self) -> int:
        """How many sequences there are."""
        return self.sizes[0]


def _weights(params: Sequence[Any], biases: bool, layers: int, where: str) -> list[_Weights]:
    """The parameters, layer by layer and in it direction by direction."""
    given = [as_tensor(p, f"{where}, argument params") for p in params]
    few = 4 if biases else 2
    each, rest = divmod(len(given), layers)
    if rest or each not in ((few, few + 1) if where == "lstm" else (few,)):
        raise InvalidArgumentError(
            f"{len(given)} parameters for {layers} layers and directions",
            f"{where}, argument params",
            f"each has w_ih, w_hh{', b_ih, b_hh' if biases else ''}, in this order",
        )  # fmt: skip
    found = []
    for start in range(0, len(given), each):
        w_ih, w_hh, *more = given[start : start + each]
        b_ih, b_hh = more[:2] if biases else (None, None)
        found.append(_Weights(w_ih, w_hh, b_ih, b_hh, more[-1] if each > few else None))
    return found


def _layout(x: Tensor, batch_first: bool, batch_sizes: Any, where: str) -> _Layout:
    """How the input lies."""
    if batch_sizes is not None:
        sizes = tuple(batch_sizes.tolist() if isinstance(batch_sizes, Tensor) else batch_sizes)
        falls = all(a >= b for a, b in zip(sizes, (*sizes[1:], 1), strict=True))
        if x.ndim != 2 or not sizes or not falls or sum(sizes) != x.shape[0]:
            raise ShapeError(
                f"an input of shape {x.shape} with batch_sizes {sizes}", f"{where}{describe([x])}",
                "packed rows are (their number, features); sizes never grow, and sum to the number",
            )  # fmt: skip
        return _Layout(sizes, True, False, True)
    if x.ndim not in (2, 3):
        raise ShapeError(
            f"an input of shape {x.shape}", f"{where}{describe([x])}",
            "its axes are (time, batch, features), or with batch_first (batch, time, features), or "
            "(time, features)",
        )  # fmt: skip
    time = x.shape[1] if batch_first and x.ndim == 3 else x.shape[0]
    if not time:
        raise ShapeError(
            f"an input of shape {x.shape} has no time steps", f"{where}{describe([x])}",
            "pass sequences of one element or more",
        )  # fmt: skip
    batch = 1 if x.ndim == 2 else x.shape[0] if batch_first else x.shape[1]
    return _Layout((batch,) * time, x.ndim == 3, batch_first, False)


def _states(given: Any, layers: int, layout: _Layout, width: int, where: str) -> list[Tensor]:
    """The initial state of each layer and direction."""
    h = as_tensor(given, f"{where}, argument hx")
    shape = (layers, layout.batch, width) if layout.batched else (layers, width)
    if h.shape != shape:
        raise ShapeError(
            f"an initial state of shape {h.shape}", f"{where}, argument hx{describe([h])}",
            f"for this input and these parameters it is {shape}",
        )  # fmt: skip
    return list(unstack(h if layout.batched else expand_dims(h, axis=1)))


def _check(kind: str, x: Tensor, weights: list[_Weights], bidirectional: bool) -> None:
    """Refuse parameters that do not fit the input, or each other."""
    features = x.shape[-1]
    for k, w in enumerate(weights):
        rows, width = w.w_hh.shape if w.w_hh.ndim == 2 else (0, 0)
        hidden = rows // BLOCKS[kind]
        wanted = {
            "w_ih": (w.w_ih, (rows, features)),
            "w_hh": (w.w_hh, (BLOCKS[kind] * hidden, hidden if w.w_hr is None else width)),
            "b_ih": (w.b_ih, (rows,)), "b_hh": (w.b_hh, (rows,)), "w_hr": (w.w_hr, (width, hidden)),
        }  # fmt: skip
        for name, (p, shape) in wanted.items():
            if p is not None and p.shape != shape:
                raise ShapeError(
                    f"{name} of layer {k >> bidirectional} has shape {p.shape}",
                    f"{kind}{describe([x])}",
                    f"its input has {features} features, its state {width}: it must be {shape}",
                )  # fmt: skip
        if k % 2 or not bidirectional:
            features = width * (2 if bidirectional else 1)


# ---- layers -------------------------------------------------------------------------------------
def _last(rows: Tensor, sizes: tuple[int, ...], reverse: bool) -> Tensor:
    """The rows in which the sequences end: in reverse, the first step's."""
    batch = sizes[0]
    if reverse:
        return rows[:batch]
    if sizes[-1] == batch:
        return rows[sum(sizes) - batch :]
    lengths = (np.asarray(sizes) > np.arange(batch)[:, None]).sum(axis=1)
    starts = np.asarray([0, *accumulate(sizes)])
    places = starts[lengths - 1] + np.arange(batch)
    return take(rows, index_tensor(places, rows), axis=0)


def _run(
    kind: str, rows: Tensor, h: Tensor, c: Tensor | None, w: _Weights, sizes: Any, reverse: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One layer in one direction: its rows, and its final state."""
    if kind == "gru":
        x, bias = linear(rows, w.w_ih, w.b_ih), w.b_hh
    else:
        both = w.b_ih if w.b_ih is None or w.b_hh is None else w.b_ih + w.b_hh
        x, bias = linear(rows, w.w_ih, both), None
    made = RUNS[kind].call(x, h, c, w.w_hh, bias, w.w_hr, sizes=sizes, reverse=reverse)
    outs = made if isinstance(made, tuple) else (made,)
    states = outs[:1] if c is None else outs[:2]
    return outs[0], tuple(_last(t, sizes, reverse) for t in states)


def _through(
    kind: str, input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool, batch_sizes: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """All layers: the last one's output, and the final states of all."""
    x = as_tensor(input, f"{kind}, argument input")
    layout = _layout(x, batch_first, batch_sizes, kind)
    directions = 2 if bidirectional else 1
    weights = _weights(params, has_biases, num_layers * directions, kind)
    _check(kind, x, weights, bidirectional)
    width = weights[0].w_hh.shape[1]
    hidden = weights[0].w_hh.shape[0] // BLOCKS[kind]
    starts = [hx] if kind != "lstm" else pair(hx, kind)
    states = [
        _states(s, len(weights), layout, n, kind) for s, n in zip(starts, (width, hidden))  # noqa: B905
    ]
    if batch_first and layout.batched and not layout.packed:
        x = permute_dims(x, (1, 0, 2))
    x = reshape(x, (sum(layout.sizes), x.shape[-1]))
    ends: list[tuple[Tensor, ...]] = []
    for layer in range(num_layers):
        outs = []
        for k in range(layer * directions, (layer + 1) * directions):
            h, c = states[0][k], states[1][k] if len(states) > 1 else None
            out, end = _run(kind, x, h, c, weights[k], layout.sizes, bool(k % directions))
            outs.append(out)
            ends.append(end)
        x = concat(outs, axis=-1) if bidirectional else outs[0]
        if dropout and layer < num_layers - 1:
            x = drop(x, dropout, train)
    finals = [stack(parts) for parts in zip(*ends, strict=True)]
    if not layout.batched:
        return x, *(squeeze(t, axis=1) for t in finals)
    if layout.packed:
        return x, *finals
    x = reshape(x, (len(layout.sizes), layout.batch, x.shape[-1]))
    return permute_dims(x, (1, 0, 2)) if batch_first else x, *finals


_DOC = """{summary}

Parameters
----------
input
    (time, batch, features), or with `batch_first` (batch, time, features), or (time, features).
    With `batch_sizes`: packed rows, as `nn.utils.rnn.pack_sequence` makes them.
hx
    The initial state{both}: (layers directions, batch, hidden), without the
    batch axis if the input has none.
params
    For each layer, and in it for each direction: w_ih, ({blocks}hidden, features); w_hh,
    ({blocks}hidden, hidden); with biases b_ih and b_hh, ({blocks}hidden,){projection}.
has_biases
    Whether the biases are among them.
num_layers, bidirectional
    Each layer runs over the output of the one before; and also backwards in time.
dropout, train
    In training, the probability of a zero in the input of every layer but the first.
batch_first
    Where the batch axis lies in input and output.
batch_sizes
    How many rows each step of a packed input has.

Returns
-------
tuple of Tensor
    The output of the last layer at each step, directions joined along the last axis, and the final
    states{both}, of the shape of `hx`.

Raises
------
ShapeError, InvalidArgumentError
    Shapes do not fit, or there are no steps; the parameters are not so many.

Examples
--------
>>> import polygrad as pg
>>> params = [pg.ones(({n}, 2)), pg.ones(({n}, 1))]
>>> start = {start}
>>> output, *state = pg.nn.functional.{name}(pg.ones((5, 2)), start, params, has_biases=False)
>>> output.shape, state[0].shape
((5, 1), (1, 1))
"""


def _samples(kind: str) -> Any:
    blocks, pairs = BLOCKS[kind], kind == "lstm"

    def samples(s: Any) -> Any:
        def layer(n: int, hidden: int, biases: bool = True, width: int | None = None) -> list[Any]:
            rows, width = blocks * hidden, width or hidden
            found = [s.real(rows, n), s.real(rows, width)]
            found += [s.real(rows), s.real(rows)] if biases else []
            return found + ([s.real(width, hidden)] if width != hidden else [])

        def state(*shape: int) -> Any:
            return (s.real(*shape), s.real(*shape)) if pairs else s.real(*shape)

        both = [*layer(2, 2), *layer(2, 2), *layer(4, 2), *layer(4, 2)]
        two = [*layer(2, 1, biases=False), *layer(1, 1, biases=False)]
        calls = [
            ((s.real(3, 2, 2), state(1, 2, 2), layer(2, 2)), {}),
            ((s.real(2, 3, 2), state(4, 2, 2), both),
             {"num_layers": 2, "bidirectional": True, "batch_first": True}),
            ((s.real(6, 2), state(2, 3, 1), two),
             {"has_biases": False, "num_layers": 2, "batch_sizes": (3, 2, 1)}),
            ((s.real(6, 2), state(4, 3, 2), both),
             {"num_layers": 2, "bidirectional": True, "batch_sizes": (3, 2, 1)}),
            ((s.real(2, 1, 2), state(2, 1, 1), two),
             {"has_biases": False, "num_layers": 2, "dropout": 1.0, "train": True}),
            ((s.real(2, 2), state(1, 1), layer(2, 1)), {}),
        ]  # fmt: skip
        if pairs:
            start = s.real(1, 2, 1), s.real(1, 2, 2)
            calls.append(((s.real(3, 2, 2), start, layer(2, 2, width=1)), {}))
        return calls

    return samples


_SUMMARIES = {
    "rnn_tanh": "Sequences through layers of `rnn_tanh_cell`.",
    "rnn_relu": "Sequences through layers of `rnn_relu_cell`.",
    "lstm": "Sequences through layers of long short-term memory: `lstm_cell` at each step.",
    "gru": "Sequences through layers of gated recurrent units: `gru_cell` at each step.",
}


def _make(kind: str) -> Any:
    """The public function of one kind of cell."""

    def function(
        input: Any, hx: Any, params: Sequence[Any], has_biases: bool = True, num_layers: int = 1,
        dropout: float = 0.0, train: bool = False, bidirectional: bool = False,
        batch_first: bool = False, batch_sizes: Any = None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        return _through(
            kind, input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
            batch_first, batch_sizes,
        )  # fmt: skip

    function.__name__ = function.__qualname__ = kind
    lstm = kind == "lstm"
    function.__doc__ = _DOC.format(
        name=kind, summary=_SUMMARIES[kind], n=BLOCKS[kind],
        blocks=f"{BLOCKS[kind]} " if BLOCKS[kind] > 1 else "",
        both=", hidden and cell values" if lstm else "",
        start="pg.zeros((1, 1)), pg.zeros((1, 1))" if lstm else "pg.zeros((1, 1))",
        projection="; where hidden values\n    are projected w_hr, (projected, hidden): then w_hh "
        "and the hidden state are that wide" if lstm else "",
    )  # fmt: skip
    return _table.public(samples=_samples(kind))(function)


rnn_tanh, rnn_relu, lstm, gru = (_make(kind) for kind in BLOCKS)
