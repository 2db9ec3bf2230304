"""Recurrences of neural networks: the cells, and their run over packed sequences.

Note [Cells]
------------
With s the logistic function, x the affine map of the input, y that of the state h, each in blocks
of equal width, the cells are

- RNN: h' = tanh(x + y), or relu(x + y);
- LSTM: i, f, u, o are s, s, tanh, s of the blocks of x + y; c' = f c + i u; h' = o tanh(c')
  (Hochreiter and Schmidhuber, "Long short-term memory", 1997; the forget gate f: Gers,
  Schmidhuber, Cummins, 2000), and P h' instead with a projection P (Sak, Senior, Beaufays, 2014);
- GRU: r, z are s of the first two blocks of x + y; n = tanh(x_n + r y_n); h' = n + z (h - n)
  (Cho et al., 2014, with the reset gate behind the product, as in PyTorch).

What a cell's derivative needs (the gates; y_n too) is among its results.

Note [Packed rows]
------------------
Sequences of several lengths, the longest first, lie step by step in the rows of one matrix: the
first elements of all sequences, then the second ones of those that have two, and so on; `sizes`
says how many rows each step has. They never grow, so the rows of a step go with the first rows of
the state. Backwards in time (`reverse`) they never shrink, and sequences join with their rows of
the initial state. Sequences of one length are the case of equal sizes.

Note [Steps]
------------
One step is one primitive too: the products with both weights and the cell. Its rule does once what
three would do twice: the cotangents of both biases are one sum where x and y are only added.

Note [Runs]
-----------
A run is one primitive: it makes no node for each step, and the gradient of a weight is one product
over all steps instead of a sum of many. Its steps call the cells as functions of `F`, so a backend
may replace a cell by one kernel, or the run by another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from polygrad.ops.linear_algebra import linear_bias, linear_weight, linear_x
from polygrad.pending import LATER, Pending
from polygrad.primitive import Composite, JointPrimitive, Primitive

__all__ = ["BLOCKS", "RUNS", "STEPS", "sections"]

Shape = tuple[int, ...]
BLOCKS = {"rnn_tanh": 1, "rnn_relu": 1, "lstm": 4, "gru": 3}
"""How many blocks of the hidden width the weights of each kind of cell have."""
_MANY = 8  # steps: with more, a transposed copy of the weights pays (products take 3/4 of the time)


# ---- parts of arrays ----------------------------------------------------------------------------
def _sections(x: Any, sizes: Shape) -> list[Any]:
    parts, start = [], 0
    for n in sizes:
        parts.append(x[start : start + n, ...])
        start += n
    return parts


sections = Primitive(  # consecutive rows, so many to each part; one step of the tape
    "sections", ("x",), {"x": lambda g, F: F.concat(g, axis=0)}, keywords={"sizes": ()}, outputs=0,
    forward=_sections,
)  # fmt: skip


def _block(F: Any, x: Any, k: int, of: int) -> Any:
    """The k-th of so many equal blocks of columns."""
    width = x.shape[-1] // of
    return F.getitem(x, key=(Ellipsis, slice(k * width, (k + 1) * width)))


def _blocks(F: Any, x: Any, of: int) -> list[Any]:
    """All blocks of columns, or a None for each."""
    return [None] * of if x is None else [_block(F, x, k, of) for k in range(of)]


def _plus(x: Any, y: Any) -> Any:
    """The sum of two cotangents, of which None is a zero."""
    return y if x is None else x if y is None else x + y


# ---- the cells: see Note [Cells] ----------------------------------------------------------------
def _lstm_gates(F: Any, x: Any, y: Any, c: Any) -> tuple[Any, Any, Any]:
    """h', c', and the gates i, f, u, o in one array."""
    z = x + y
    i, f, o = (F.sigmoid(_block(F, z, k, 4)) for k in (0, 1, 3))
    u = F.tanh(_block(F, z, 2, 4))
    c = f * c + i * u
    return o * F.tanh(c), c, F.concat([i, f, u, o], axis=-1)


def _lstm_gates_adjoint(F: Any, gh: Any, gc: Any, ga: Any, c: Any, new: Any, a: Any) -> Any:
    """The cotangents of x + y and of c, from those of h', c' (not both None) and the gates."""
    c, new, a = (F.conj(t) for t in (c, new, a))
    i, f, u, o = _blocks(F, a, 4)
    gi, gf, gu, go = _blocks(F, ga, 4)
    if gh is not None:
        t = F.tanh(new)
        gc = _plus(gc, gh * o * (1 - t * t))
        go = _plus(go, gh * t)
    elif go is None:
        go = F.zeros_like(o)
    if gc is None:
        gc = F.zeros_like(c)
    parts = [
        _plus(gi, gc * u) * (i * (1 - i)), _plus(gf, gc * c) * (f * (1 - f)),
        _plus(gu, gc * i) * (1 - u * u), go * (o * (1 - o)),
    ]  # fmt: skip
    return F.concat(parts, axis=-1), gc * f


def _gru_gates(F: Any, x: Any, y: Any, h: Any) -> tuple[Any, Any]:
    """h', and r, z, n, y_n in one array."""
    r, z = (F.sigmoid(_block(F, x, k, 3) + _block(F, y, k, 3)) for k in (0, 1))
    inner = _block(F, y, 2, 3)
    n = F.tanh(_block(F, x, 2, 3) + r * inner)
    return n + z * (h - n), F.concat([r, z, n, inner], axis=-1)


def _gru_gates_adjoint(F: Any, gh: Any, ga: Any, h: Any, a: Any) -> tuple[Any, Any, Any]:
    """The cotangents of x, y and h, from those of h' and of r, z, n, y_n."""
    h, a = F.conj(h), F.conj(a)
    r, z, n, inner = _blocks(F, a, 4)
    gr, gz, gn, gy = _blocks(F, ga, 4)
    if gh is None:
        gh = F.zeros_like(h)
    gn = _plus(gn, gh * (1 - z)) * (1 - n * n)
    gr = _plus(gr, gn * inner) * (r * (1 - r))
    gz = _plus(gz, gh * (h - n)) * (z * (1 - z))
    gx = F.concat([gr, gz, gn], axis=-1)
    return gx, F.concat([gr, gz, _plus(gy, gn * r)], axis=-1), gh * z


# fmt: off
Composite("lstm_gates", ("x", "y", "c"), _lstm_gates, outputs=3)
Composite("gru_gates", ("x", "y", "h"), _gru_gates, outputs=2)
Composite("lstm_gates_adjoint", ("gh", "gc", "ga", "c", "new", "a"), _lstm_gates_adjoint, outputs=2)
Composite("gru_gates_adjoint", ("gh", "ga", "h", "a"), _gru_gates_adjoint, outputs=3)
# fmt: on


# ---- what a run is made of: see Note [Packed rows] ----------------------------------------------
def _ordered(parts: Sequence[Any], reverse: bool) -> list[Any]:
    """Steps in order of time as they are run, or the other way round."""
    return list(parts[::-1] if reverse else parts)


def _rows(F: Any, state: Any, n: int, start: Any) -> Any:
    """The state for a step of n rows: those of the step before, then those that join."""
    m = state.shape[0]
    if m == n:
        return state
    if m > n:
        return F.getitem(state, key=(slice(0, n), Ellipsis))
    return F.concat([state, F.getitem(start, key=(slice(m, n), Ellipsis))], axis=0)


def _states(F: Any, results: Sequence[Any], start: Any, counts: Shape) -> list[Any]:
    """The state before each step."""
    found, state = [], start
    for result, n in zip(results, counts, strict=True):
        found.append(_rows(F, state, n, start))
        state = result
    return found


class _Back:
    """The cotangent of a state on its way back through the steps."""

    def __init__(self, F: Any) -> None:
        self.F, self.g = F, None
        self.joined: list[Any] = []  # of rows of the initial state that joined later, last first

    def hand(self, g: Any, m: int | None) -> None:
        """Take the cotangent before a step to the m rows of the step before; None: to the start."""
        n = g.shape[0]
        if m is not None and n < m:
            key = (slice(0, n), Ellipsis)
            g = self.F.getitem_adjoint(g, key=key, shape=(m, *g.shape[1:]))
        elif m is not None and n > m:
            self.joined.append(self.F.getitem(g, key=(slice(m, n), Ellipsis)))
            g = self.F.getitem(g, key=(slice(0, m), Ellipsis))
        self.g = g

    def whole(self) -> Any:
        """The cotangent of the initial state."""
        return self.F.concat([self.g, *self.joined[::-1]], axis=0) if self.joined else self.g


class _Kind(NamedTuple):
    """A cell as steps and runs use it.

    `step(F, x, y, h, c)` gives h' and what else the cell gives; `pull(F, gs, h, c, made)` the
    cotangents of x, y, h, c from those of what it gave, h and c being the state before the step.
    """

    results: int
    step: Callable[..., tuple[Any, ...]]
    pull: Callable[..., tuple[Any, Any, Any, Any]]


# ---- steps: see Note [Steps] --------------------------------------------------------------------
def _step(kind: _Kind) -> Callable[..., Any]:
    def step(
        F: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
    ) -> Any:  # fmt: skip
        made = kind.step(F, F.linear(x, w_ih, b_ih), F.linear(h, w_hh, b_hh), h, c)
        return made if kind.results > 1 else made[0]

    return step


def _weight(F: Any, g: Any, x: Any, wanted: Any) -> Any:
    """The cotangent of a weight, if there is time until the end of the sweep a pending one."""
    if wanted is LATER and len(x.shape) == 2 and g.dtype is F.native_dtype:
        return Pending(linear_weight, F, g, x)
    return linear_weight(g, F, x) if wanted else None


def _step_rule(kind: _Kind) -> Callable[..., Any]:
    def rule(
        g: Any, F: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, out: Any,
        wanted: Sequence[bool],
    ) -> tuple[Any, ...]:  # fmt: skip
        gs, made = (g, out) if kind.results > 1 else ((g,), (out,))
        gx, gy, gh, gc = kind.pull(F, gs, h, c, made)
        b_ih = linear_bias(gx, F) if wanted[5] else None
        b_hh = None
        if wanted[6]:
            b_hh = linear_bias(gy, F) if gy is not gx or b_ih is None else b_ih
        return (
            linear_x(gx, F, x.shape, w_ih) if wanted[0] else None,
            _plus(gh, linear_x(gy, F, h.shape, w_hh)) if wanted[1] else None,
            gc,
            _weight(F, gx, x, wanted[3]),
            _weight(F, gy, h, wanted[4]),
            b_ih,
            b_hh,
        )

    return rule


# ---- runs: see Note [Runs] ----------------------------------------------------------------------
def _forward(kind: _Kind) -> Callable[..., Any]:
    def run(
        F: Any, x: Any, h: Any, c: Any, weight: Any, bias: Any, projection: Any,
        sizes: Shape, reverse: bool,
    ) -> Any:  # fmt: skip
        weight = F.matrix_transpose(weight)
        if len(sizes) > _MANY:
            weight = F.backend.copy(weight)
        if projection is not None:
            projection = F.matrix_transpose(projection)
        first_h, first_c = h, c
        steps: list[tuple[Any, ...]] = []
        for part in _ordered(F.sections(x, sizes=sizes), reverse):
            h = _rows(F, h, part.shape[0], first_h)
            y = F.matmul(h, weight)
            if bias is not None:
                y = y + bias
            if c is not None:
                c = _rows(F, c, part.shape[0], first_c)
            h, *more = kind.step(F, part, y, h, c)
            if c is not None:
                c = more[0]
            if projection is not None:
                h = F.matmul(h, projection)
            steps.append((h, *more))
        columns = zip(*_ordered(steps, reverse), strict=True)
        made = tuple(F.concat(list(parts), axis=0) for parts in columns)
        return made if kind.results > 1 else made[0]

    return run


class _Pulled:
    """The cotangents of a run, step by step from the last to the first; then put together."""

    def __init__(
        self, F: Any, kind: _Kind, weight: Any, projection: Any, sizes: Shape, reverse: bool
    ) -> None:
        self.F, self.kind, self.weight, self.projection = F, kind, weight, projection
        self.sizes, self.reverse = sizes, reverse
        self.counts = tuple(_ordered(sizes, reverse))
        self.back_h, self.back_c = _Back(F), _Back(F)
        self.gxs: list[Any] = []
        self.gys: list[Any] = []
        self.projected: list[Any] = []

    def parts(self, array: Any) -> list[Any]:
        """The steps of an array in the order in which they were run."""
        if array is None:
            return [None] * len(self.sizes)
        return _ordered(self.F.sections(array, sizes=self.sizes), self.reverse)

    def joined(self, parts: list[Any], *, backwards: bool = True) -> Any:
        """Steps as rows in the order of time; `backwards`: they were found last first."""
        return self.F.concat(_ordered(parts, self.reverse != backwards), axis=0)

    def pull(self, g: Sequence[Any], h: Any, c: Any, made: Sequence[Any], rows: int | None) -> None:
        """Go back one step, to the `rows` rows of the one before."""
        g = [_plus(g[0], self.back_h.g), *g[1:]]
        if self.projection is not None:
            self.projected.append(g[0])
            g[0] = self.F.matmul(g[0], self.F.conj(self.projection))
        if c is not None:
            g[1] = _plus(g[1], self.back_c.g)
        gx, gy, gh, gc = self.kind.pull(self.F, g, h, c, made)
        self.gxs.append(gx)
        self.gys.append(gy)
        self.back_h.hand(_plus(gh, self.F.matmul(gy, self.F.conj(self.weight))), rows)
        if c is not None:
            self.back_c.hand(gc, rows)


def _rule(kind: _Kind) -> Callable[..., Any]:
    def rule(
        g: Any, F: Any, h: Any, c: Any, weight: Any, bias: Any, projection: Any, out: Any,
        sizes: Shape, reverse: bool, wanted: Sequence[bool],
    ) -> tuple[Any, ...]:  # fmt: skip
        outs: Sequence[Any] = out if kind.results > 1 else (out,)
        gs = list(g) if kind.results > 1 else [g]
        if gs[0] is None:
            gs[0] = F.zeros_like(outs[0])
        back = _Pulled(F, kind, weight, projection, sizes, reverse)
        made, given = [back.parts(array) for array in outs], [back.parts(array) for array in gs]
        hs = _states(F, made[0], h, back.counts)
        cs = [None] * len(sizes) if c is None else _states(F, made[1], c, back.counts)
        for k in range(len(sizes) - 1, -1, -1):
            rows = back.counts[k - 1] if k else None
            now = [parts[k] for parts in made]
            back.pull([parts[k] for parts in given], hs[k], cs[k], now, rows)
        gx = back.joined(back.gxs)
        gy = gx if back.gys[0] is back.gxs[0] else back.joined(back.gys)
        gweight = gbias = gprojection = None
        if wanted[3]:
            before = back.joined(hs, backwards=False)
            gweight = F.matmul(F.matrix_transpose(gy), F.conj(before))
        if bias is not None and wanted[4]:
            gbias = F.sum(gy, axis=(0,), keepdims=False)
        if projection is not None and wanted[5]:
            hidden = _block(F, outs[2], 3, 4) * F.tanh(outs[1])
            projected = F.matrix_transpose(back.joined(back.projected))
            gprojection = F.matmul(projected, F.conj(hidden))
        gc = None if c is None else back.back_c.whole()
        return gx, back.back_h.whole(), gc, gweight, gbias, gprojection

    return rule


def _both(d: Any, gc: Any = None) -> tuple[Any, Any, Any, Any]:
    """The cotangents where x and y are only added, and h is used for nothing else."""
    return d, d, None, gc


_KINDS = {
    "rnn_tanh": _Kind(
        1, lambda F, x, y, h, c: (F.tanh(x + y),),
        lambda F, g, h, c, made: _both(g[0] * F.conj(1 - made[0] * made[0])),
    ),
    "rnn_relu": _Kind(
        1, lambda F, x, y, h, c: (F.relu(x + y),),
        lambda F, g, h, c, made: _both(F.keep(g[0], made[0] != 0)),
    ),
    "lstm": _Kind(
        3, lambda F, x, y, h, c: F.lstm_gates(x, y, c),
        lambda F, g, h, c, made: _both(*F.lstm_gates_adjoint(*g, c, *made[1:])),
    ),
    "gru": _Kind(
        2, lambda F, x, y, h, c: F.gru_gates(x, y, h),
        lambda F, g, h, c, made: (*F.gru_gates_adjoint(*g, h, made[1]), None),
    ),
}  # fmt: skip
STEPS = {
    name: JointPrimitive(
        f"{name}_cell", ("x", "h", "c", "w_ih", "w_hh", "b_ih", "b_hh"), _step_rule(kind),
        forward=_step(kind), outputs=kind.results, floating=True, later=("w_ih", "w_hh"),
    )
    for name, kind in _KINDS.items()
}  # fmt: skip
RUNS = {
    name: JointPrimitive(
        f"{name}_run", ("x", "h", "c", "weight", "bias", "projection"), _rule(kind),
        forward=_forward(kind), outputs=kind.results, keywords={"sizes": (), "reverse": False},
        floating=True,
    )
    for name, kind in _KINDS.items()
}  # fmt: skip
