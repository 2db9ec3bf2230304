"""Recurrent layers and cells against loops written out; packed and padded sequences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.backends.numpy_recurrence import CELLS
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.kernels import FORWARDS
from polygrad.nn.utils import rnn
from polygrad.ops._recurrence import BLOCKS
from polygrad.registry import find_kernels
from polygrad.tape import Node, Port
from polygrad.testing import assert_close, floating
from polygrad.testing.compare import host

KINDS = ["RNN", "RNN relu", "LSTM", "LSTM projected", "GRU"]
LENGTHS = [2, 5, 1, 5]


def make(kind, *sizes, **options):
    """A layer in double precision; the second word of a kind is an option."""
    name, _, option = kind.partition(" ")
    if option == "relu":
        options["nonlinearity"] = "relu"
    if option == "projected":
        options["proj_size"] = 2
    return getattr(nn, name)(*sizes, **options).double()


def double(*shape, seed=0, grad=False):
    return pg.tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=grad)


# ---- loops ---------------------------------------------------------------------------------------
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, h, c, w):
    """One step of one sequence, from its formula; weights by name."""
    a, b = w["weight_ih"] @ x + w["bias_ih"], w["weight_hh"] @ h + w["bias_hh"]
    n = len(a)
    if kind == "RNN":
        return np.tanh(a + b), c
    if kind == "RNN relu":
        return np.maximum(a + b, 0), c
    if kind == "GRU":
        k = n // 3
        r, z = sigmoid(a[:k] + b[:k]), sigmoid(a[k : 2 * k] + b[k : 2 * k])
        new = np.tanh(a[2 * k :] + r * b[2 * k :])
        return (1 - z) * new + z * h, c
    k = n // 4
    i, f, g, o = np.split(a + b, 4)
    assert len(i) == k
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return (w["weight_hr"] @ h if "weight_hr" in w else h), c


def run(kind, layer, x, h, c):
    """All layers and directions over one sequence (time, features); the states are changed."""
    for k in range(layer.num_layers):
        outs = []
        for d in range(1 + layer.bidirectional):
            end = f"_l{k}" + d * "_reverse"
            w = {
                name.removesuffix(end): host(p)
                for name, p in layer.named_parameters() if name.endswith(end)
            }  # fmt: skip
            place = k * (1 + layer.bidirectional) + d
            out = np.zeros((len(x), h.shape[-1]))
            for t in range(len(x))[:: -1 if d else 1]:
                h[place], c[place] = out[t], _ = step(kind, x[t], h[place], c[place], w)
            outs.append(out)
        x = np.concatenate(outs, axis=1)
    return x


def states(layer, *batch, seed=1):
    """Initial states: one tensor, or two for an LSTM."""
    count = layer.num_layers * (1 + layer.bidirectional)
    widths = [layer.proj_size or layer.hidden_size, layer.hidden_size]
    made = [double(count, *batch, n, seed=seed + k, grad=True) for k, n in enumerate(widths)]
    return tuple(made) if isinstance(layer, nn.LSTM) else made[0]


def each(state, b):
    """NumPy copies of the states of sequence b."""
    both = state if isinstance(state, tuple) else (state, state)
    return [host(s)[:, b].copy() for s in both]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_layers_are_their_loops(kind, bidirectional):
    layer = make(kind, 3, 4, num_layers=2, bidirectional=bidirectional)
    x, state = double(5, 2, 3), states(layer, 2)
    output, ends = layer(x, state)
    for b in range(2):
        h, c = each(state, b)
        assert_close(output[:, b], run(kind, layer, host(x)[:, b], h, c))
        for end, value in zip(floating(ends), (h, c), strict=False):
            assert_close(end[:, b], value)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_on_devices(kind, device):
    layer = make(kind, 3, 4, bidirectional=True).float()
    x = double(5, 2, 3).to(pg.float32)
    want = floating(layer(x))
    got = floating(layer.to(device)(x.to(device)))
    for a, b in zip(got, want, strict=True):
        assert a.device == device
        assert_close(a, b)


@pytest.mark.parametrize("cell", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_cell_in_a_loop_is_the_layer(cell, bias):
    one = getattr(nn, cell)(3, 4, bias=bias).double()
    layer = getattr(nn, cell.removesuffix("Cell"))(3, 4, bias=bias).double()
    layer.load_state_dict({f"{name}_l0": value for name, value in one.state_dict().items()})
    x = double(5, 2, 3)
    output, _ = layer(x)
    state = None
    for t in range(5):
        state = one(x[t], state)
        h = state[0] if cell == "LSTMCell" else state
        assert_close(h, output[t])
    alone = one(x[0, 1])
    assert_close(alone[0] if cell == "LSTMCell" else alone, output[0, 1])


# ---- properties ----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_is_each_sequence_by_itself(kind, bidirectional):
    layer = make(kind, 3, 4, num_layers=2, bidirectional=bidirectional)
    sequences = [double(n, 3, seed=n + 10 * k, grad=True) for k, n in enumerate(LENGTHS)]
    state = states(layer, len(LENGTHS))
    output, ends = layer(rnn.pack_sequence(sequences, enforce_sorted=False), state)
    assert isinstance(output, rnn.PackedSequence)
    outputs = rnn.unpack_sequence(output)
    total = sum(pg.sum(o * o) for o in [*outputs, *floating(ends)])
    separate = 0.0
    for b, sequence in enumerate(sequences):
        start = tuple(s[:, b] for s in state) if isinstance(state, tuple) else state[:, b]
        alone, end = layer(sequence, start)
        assert_close(outputs[b], alone)
        for whole, part in zip(floating(ends), floating(end), strict=True):
            assert_close(whole[:, b], part)
        separate = separate + sum(pg.sum(o * o) for o in [alone, *floating(end)])
    leaves = [*sequences, *floating(state), *layer.parameters()]
    got, want = (pg.autograd.grad(loss, leaves) for loss in (total, separate))
    for a, b in zip(got, want, strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_backwards_is_forwards_over_the_reversed_sequence(kind):
    both = make(kind, 3, 4, bidirectional=True)
    backwards = make(kind, 3, 4)
    backwards.load_state_dict({
        name.removesuffix("_reverse"): value
        for name, value in both.state_dict().items() if name.endswith("_reverse")
    })  # fmt: skip
    x = double(5, 2, 3)
    output, ends = both(x)
    alone, end = backwards(pg.flip(x, axis=0))
    assert_close(pg.flip(output[..., alone.shape[-1] :], axis=0), alone)
    for whole, part in zip(floating(ends), floating(end), strict=True):
        assert_close(whole[1:], part)


@pytest.mark.parametrize("kind", KINDS)
def test_layouts_and_pieces(kind):
    layer = make(kind, 3, 4, num_layers=2)
    x = double(12, 2, 3)  # the weights are transposed once; in the first piece at each step
    output, ends = layer(x)
    first, middle = layer(x[:2])
    second, last = layer(x[2:], middle)
    assert_close(pg.concat([first, second]), output)
    for a, b in zip(floating(last), floating(ends), strict=True):
        assert_close(a, b)
    layer.batch_first = True
    turned, same = layer(pg.permute_dims(x, (1, 0, 2)))
    assert_close(pg.permute_dims(turned, (1, 0, 2)), output)
    for a, b in zip(floating(same), floating(ends), strict=True):
        assert_close(a, b)
    alone, end = layer(x[:, 1])
    assert_close(alone, output[:, 1])
    for a, b in zip(floating(end), floating(ends), strict=True):
        assert_close(a, b[:, 1])
    zeros = pg.zeros_like(floating(states(layer, 2))[0]), pg.zeros((2, 2, 4), dtype=pg.float64)
    given, _ = layer(pg.permute_dims(x, (1, 0, 2)), zeros if kind[:4] == "LSTM" else zeros[0])
    assert_close(given, turned)


def test_dropout_lies_between_layers_and_acts_in_training():
    layer = nn.GRU(3, 4, num_layers=2, dropout=1.0)
    second = nn.GRU(4, 4)
    second.load_state_dict({
        name.replace("_l1", "_l0"): value
        for name, value in layer.state_dict().items() if name.endswith("_l1")
    })  # fmt: skip
    x = double(5, 2, 3).to(pg.float32)
    assert_close(layer(x)[0], second(pg.zeros((5, 2, 4)))[0])
    used = layer.eval()(x)[0]
    layer.dropout = 0.0
    assert_close(layer(x)[0], used)
    with pytest.warns(UserWarning, match="one layer only"):
        nn.GRU(3, 4, dropout=0.5)


@pytest.mark.parametrize("kind", ["RNN", "LSTM projected", "GRU"])
def test_second_derivatives_through_packed_runs(kind):
    layer = make(kind, 2, 3, bidirectional=True)
    sequences = [double(n, 2, seed=n, grad=True) for n in (2, 1, 3)]
    state = states(layer, 3)
    weight = layer.weight_hh_l0_reverse

    def function(w, h, *xs):
        layer.__dict__["weight_hh_l0_reverse"] = w
        start = (h, state[1]) if isinstance(state, tuple) else h
        return floating(layer(rnn.pack_sequence(xs, enforce_sorted=False), start)[1])

    inputs = [weight.detach().requires_grad_(), floating(state)[0], *sequences]
    assert pg.autograd.gradgradcheck(function, inputs, atol=1e-4, fast_mode=True)


def nodes_behind(t):
    """How many operations a tensor was made by."""
    found, stack = set(), [t.node]
    while stack:
        node = stack.pop()
        node = node.node if isinstance(node, Port) else node
        if isinstance(node, Node) and node not in found:
            found.add(node)
            stack += node.edges
    return len(found)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tape_does_not_grow_with_time(kind):
    layer = make(kind, 3, 4)
    assert nodes_behind(layer(double(2, 1, 3))[0]) == nodes_behind(layer(double(40, 1, 3))[0])


def test_gates_saturate_without_overflow():
    for kind in ("LSTM", "GRU"):
        layer = make(kind, 1, 2).float()
        for p in layer.parameters():
            nn.init.constant_(p, 1.0)
        x = pg.tensor([[[-1e4]], [[1e4]], [[-1e4]]], requires_grad=True)
        output, _ = layer(x)
        pg.sum(output).backward()
        assert np.isfinite(host(output)).all()
        assert np.isfinite(host(x.grad)).all()


@pytest.mark.parametrize("used", list(itertools.product([True, False], repeat=3))[:-1])
def test_cells_of_numpy_are_the_formulas(used):
    """Also where some results have no cotangent, as when only the cell's values are used."""
    F = pg.zeros((), dtype=pg.float64).kernels
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 3, 8))
    c = rng.standard_normal((3, 2))
    made = CELLS["lstm_gates"](x, y, c)
    for a, b in zip(made, FORWARDS["lstm_gates"](F, x, y, c), strict=True):
        assert_close(a, b)
    gs = [rng.standard_normal(a.shape) if u else None for a, u in zip(made, used, strict=True)]
    pull = (*gs, c, *made[1:])
    for a, b in zip(
        CELLS["lstm_gates_adjoint"](F, *pull), FORWARDS["lstm_gates_adjoint"](F, *pull), strict=True
    ):
        assert_close(a, b)
    made = CELLS["gru_gates"](x[:, :6], y[:, :6], c)
    for a, b in zip(made, FORWARDS["gru_gates"](F, x[:, :6], y[:, :6], c), strict=True):
        assert_close(a, b)
    gs = [rng.standard_normal(a.shape) if u else None for a, u in zip(made, used[1:], strict=True)]
    if any(g is not None for g in gs):
        pull = (*gs, c, made[1])
        for a, b in zip(
            CELLS["gru_gates_adjoint"](F, *pull),
            FORWARDS["gru_gates_adjoint"](F, *pull),
            strict=True,
        ):
            assert_close(a, b)


@pytest.mark.parametrize("biases", list(itertools.product([True, False], repeat=2)))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_steps_of_numpy_are_the_formulas(dtype, biases):
    """Whatever the order of the operands in memory, and without a batch."""
    F = find_kernels("cpu", dtype)
    rng = np.random.default_rng(1)
    sizes = (2, 3), (2, 4), (2, 4), (16, 3), (16, 4), (16,), (16,)
    x, h, c, w, v, *bs = (rng.standard_normal(size).astype(dtype) for size in sizes)
    bs = [b if used else None for b, used in zip(bs, biases, strict=True)]
    for state in ((x, h, c), (x[0], h[0], c[0]), (x.T.copy().T, h.T.copy().T, c.T.copy().T)):
        got, want = F.lstm_cell(*state, w, v, *bs), FORWARDS["lstm_cell"](F, *state, w, v, *bs)
        for a, b in zip(got, want, strict=True):
            assert_close(a, b)
            assert a.dtype == dtype


@pytest.mark.parametrize("kind", ["rnn_tanh", "lstm", "gru"])
def test_complex_cells_and_layers_have_adjoint_gradients(kind):
    rng = np.random.default_rng(0)

    def leaf(*shape):
        a = rng.standard_normal((2, *shape))
        return pg.tensor(a[0] + 1j * a[1], requires_grad=True) * 0.5

    rows = BLOCKS[kind] * 2
    weights = leaf(rows, 3), leaf(rows, 2), leaf(rows), leaf(rows)
    states = [leaf(4, 2) for _ in range(2 if kind == "lstm" else 1)]

    def step(x, *rest):
        hx, ws = rest[: len(states)], rest[len(states) :]
        out = getattr(nn.functional, f"{kind}_cell")(x, hx if len(hx) > 1 else hx[0], *ws)
        return out[0] if isinstance(out, tuple) else out

    def layer(x, *rest):
        hx, ws = [t[None] for t in rest[: len(states)]], rest[len(states) :]
        return getattr(nn.functional, kind)(x, tuple(hx) if len(hx) > 1 else hx[0], ws)[0]

    assert pg.autograd.gradcheck(step, (leaf(4, 3), *states, *weights))
    assert pg.autograd.gradcheck(layer, (leaf(3, 4, 3), *states, *weights))


def test_the_gradients_of_both_biases_are_tensors_of_their_own():
    cell = nn.LSTMCell(2, 3)
    pg.sum(cell(pg.ones((4, 2)))[0] * 50).backward(create_graph=True)
    before = cell.bias_hh.grad.tolist()
    with pg.no_grad():
        cell.bias_ih.grad *= 0.5
    assert cell.bias_hh.grad.tolist() == before != cell.bias_ih.grad.tolist()


def test_a_loss_of_the_cell_values_alone(device):
    layer = nn.LSTM(2, 3).to(device)
    x = pg.tensor(np.ones((4, 1, 2), np.float32), device=device, requires_grad=True)
    _, (_, c) = layer(x)
    pg.sum(c).backward()
    got = host(x.grad)
    for t in range(4):
        up, down = np.ones((4, 1, 2)), np.ones((4, 1, 2))
        up[t, 0, 1] += 1e-4
        down[t, 0, 1] -= 1e-4
        wide = make("LSTM", 2, 3)
        wide.load_state_dict({k: pg.tensor(host(v)) for k, v in layer.state_dict().items()})
        sums = [host(pg.sum(wide(pg.tensor(z))[1][1])) for z in (up, down)]
        assert got[t, 0, 1] == pytest.approx((sums[0] - sums[1]) / 2e-4, abs=1e-5)


def test_names_and_initial_values():
    layer = nn.LSTM(3, 16, num_layers=2, bidirectional=True, proj_size=4)
    names = [
        f"{name}_l{k}{end}" for k in (0, 1) for end in ("", "_reverse")
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
    ]  # fmt: skip
    assert list(layer.state_dict()) == names
    assert layer.weight_ih_l1.shape == (64, 8)
    assert [len(part) for part in layer.all_weights] == [5, 5, 5, 5]
    for p in layer.parameters():
        values = np.abs(host(p))
        assert values.max() <= 1 / math.sqrt(16)
        assert values.max() > 0.8 / math.sqrt(16)
    assert repr(layer) == "LSTM(3, 16, proj_size=4, num_layers=2, bidirectional=True)"
    assert repr(nn.RNN(2, 3, nonlinearity="relu")) == "RNN(2, 3, nonlinearity='relu')"
    assert repr(nn.RNNCell(2, 3, bias=False, nonlinearity="relu")) == (
        "RNNCell(2, 3, bias=False, nonlinearity='relu')"
    )


# ---- padding and packing -------------------------------------------------------------------------
def test_padding_is_filled_up_on_either_side(device):
    sequences = [pg.tensor(np.arange(1, n + 1, dtype="f4"), device=device) for n in (2, 3)]
    got = rnn.pad_sequence(sequences, batch_first=True, padding_value=-1.0)
    assert got.device == device
    assert host(got).tolist() == [[1, 2, -1], [1, 2, 3]]
    left = rnn.pad_sequence(sequences, padding_side="left")
    assert host(left).T.tolist() == [[0, 1, 2], [1, 2, 3]]
    for batch_first in (True, False):
        padded = rnn.pad_sequence(sequences, batch_first)
        parts = rnn.unpad_sequence(padded, pg.tensor([2, 3]), batch_first)
        for a, b in zip(parts, sequences, strict=True):
            assert_close(a, b)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("lengths", [[5, 5, 2, 1], LENGTHS, [3]])
def test_packing_and_back(batch_first, lengths, device):
    ordered = lengths == sorted(lengths, reverse=True)
    sequences = [double(n, 2, seed=k).to(pg.float32).to(device) for k, n in enumerate(lengths)]
    padded = rnn.pad_sequence(sequences, batch_first).requires_grad_()
    given = pg.tensor(lengths)
    packed = rnn.pack_padded_sequence(padded, given, batch_first, enforce_sorted=ordered)
    direct = rnn.pack_sequence(sequences, enforce_sorted=ordered)
    assert_close(direct.data, packed.data)
    assert packed.data.device == device
    assert packed.batch_sizes.device == "cpu"
    assert host(packed.batch_sizes).tolist() == [
        sum(n > t for n in lengths) for t in range(max(lengths))
    ]
    assert (packed.sorted_indices is None) == ordered
    back, found = rnn.pad_packed_sequence(packed, batch_first)
    assert_close(back, padded)
    assert host(found).tolist() == lengths
    pg.sum(back * back).backward()
    assert_close(padded.grad, host(padded) * 2)
    longer, _ = rnn.pad_packed_sequence(packed, batch_first, -2.0, total_length=7)
    assert longer.shape[batch_first] == 7
    assert (host(longer) == -2).sum() == 2 * (7 * len(lengths) - sum(lengths))
    for a, b in zip(rnn.unpack_sequence(packed), sequences, strict=True):
        assert_close(a, b)
    moved = packed.to("cpu").to(pg.float64)
    assert moved.data.dtype == pg.float64
    assert moved.data.device == "cpu"
    assert (moved.unsorted_indices is None) == ordered


# ---- errors --------------------------------------------------------------------------------------
X = pg.ones((5, 2, 3))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nn.RNN(3, 0), InvalidArgumentError, "hidden_size is 0"),
        (lambda: nn.GRU(3, 4, num_layers=0), InvalidArgumentError, "num_layers is 0"),
        (lambda: nn.RNN(3, 4, nonlinearity="sin"), InvalidArgumentError, "'tanh' or 'relu'"),
        (lambda: nn.LSTM(3, 4, proj_size=4), InvalidArgumentError, "must be below"),
        (lambda: nn.LSTM(3, 4, 2, dropout=2), InvalidArgumentError, "probability"),
        (lambda: nn.LSTM(4, 4)(X), ShapeError, "input_size=4"),
        (lambda: nn.LSTM(3, 4)(X[None]), ShapeError, "time, batch, features"),
        (lambda: nn.LSTM(3, 4)(X[:0]), ShapeError, "no time steps"),
        (lambda: nn.LSTM(3, 4)(X, pg.zeros((1, 2, 4))), InvalidArgumentError, "not a pair"),
        (lambda: nn.GRU(3, 4)(X, pg.zeros((1, 3, 4))), ShapeError, r"it is \(1, 2, 4\)"),
        (lambda: nn.GRU(3, 4)(X[:, 0], pg.zeros((1, 2, 4))), ShapeError, r"it is \(1, 4\)"),
        (lambda: nn.GRUCell(3, 4)(X[:, 0, :2]), ShapeError, "input_size=3"),
        (lambda: nn.GRUCell(3, 4)(X[0], pg.zeros((1, 4))), ShapeError, "state of shape"),
        (lambda: nn.GRUCell(3, 4)(X[0], pg.zeros((2, 5))), ShapeError, "does not fit w_hh"),
        (lambda: nn.LSTMCell(3, 4)(X[0], pg.zeros((2, 4))), InvalidArgumentError, "not a pair"),
        (lambda: nn.LSTMCell(3, 4)(X[0], (pg.zeros((2, 4)), pg.zeros((1, 4)))), ShapeError,
         "cell values of shape"),
        (lambda: nn.functional.gru_cell(X[0], pg.zeros((2, 1)), pg.ones((6, 3)), pg.ones((3, 1))),
         ShapeError, "6 and 3 rows"),
        (lambda: nn.functional.gru_cell(None, X[0], X[0], X[0]), InvalidTypeError, "input"),
        (lambda: nn.functional.gru_cell(X[0], None, X[0], X[0]), InvalidTypeError, "hx"),
        (lambda: nn.functional.gru_cell(X[0], X[0], None, X[0]), InvalidTypeError, "w_ih"),
        (lambda: nn.functional.lstm_cell(X[0], (X[0], X[0]), X[0], None), InvalidTypeError, "w_hh"),
        (lambda: nn.functional.lstm_cell(X[0], (X[0], None), X[0], X[0]), InvalidTypeError, "hx"),
        (lambda: nn.functional.gru(X, pg.zeros((1, 2, 1)), [pg.ones((3, 3))]),
         InvalidArgumentError, "w_ih, w_hh, b_ih, b_hh"),
        (lambda: nn.functional.gru(
            X, pg.zeros((1, 2, 1)), [pg.ones((3, 2)), pg.ones((3, 1))], has_biases=False
         ), ShapeError, "w_ih of layer 0"),
        (lambda: nn.functional.gru(
            X[0], pg.zeros((1, 2, 1)), [pg.ones((3, 3)), pg.ones((3, 1))], has_biases=False,
            batch_sizes=[1, 2],
         ), ShapeError, "never grow"),
        (lambda: rnn.pad_sequence([]), InvalidArgumentError, "no sequences"),
        (lambda: rnn.pad_sequence([X, X[0]]), ShapeError, "but the first are equal"),
        (lambda: rnn.pad_sequence([X], padding_side="top"), InvalidArgumentError, "'left'"),
        (lambda: rnn.pack_sequence([X[:1], X]), InvalidArgumentError, "enforce_sorted=False"),
        (lambda: rnn.pack_sequence([X, X[:0]]), InvalidArgumentError, r"lie in \[1, 5\]"),
        (lambda: rnn.pack_padded_sequence(X, [6, 1]), InvalidArgumentError, r"lie in \[1, 5\]"),
        (lambda: rnn.pack_padded_sequence(X, [5, 5, 5]), ShapeError, "one length for each"),
        (lambda: rnn.pack_padded_sequence(X, [2.0, 1.0]), InvalidTypeError, "pass integers"),
        (lambda: rnn.pack_padded_sequence(X[0, 0], [1]), ShapeError, "its axes are"),
        (lambda: rnn.pad_packed_sequence(X), InvalidTypeError, "no PackedSequence"),
        (lambda: rnn.pad_packed_sequence(rnn.pack_sequence([X]), total_length=4),
         InvalidArgumentError, "total_length is 4"),
    ],
)  # fmt: skip
def test_errors_say_what_where_and_what_to_do(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert not isinstance(caught.value, DtypeError)
    assert str(caught.value).count(". ") >= 1
