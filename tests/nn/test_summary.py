"""pg.summary: rows, totals, what it leaves untouched, the forms of input, the table."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import time

import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import InvalidArgumentError, InvalidTypeError, MissingLibraryError, ShapeError
from polygrad.nn.summary import Row, Summary
from polygrad.testing.compare import host
from tests.devices import optional


def network(device="cpu"):
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, device=device), nn.BatchNorm2d(4, device=device), nn.ReLU(),
        nn.Sequential(nn.Flatten(), nn.Linear(4 * 36, 10, device=device)), nn.Dropout(),
    )  # fmt: skip


def by_path(summary):
    return {row.path: row for row in summary.rows}


def test_rows_and_totals(device):
    s = pg.summary(network(device), (2, 1, 8, 8))
    rows = by_path(s)
    assert list(rows) == ["", "0", "1", "2", "3", "3.0", "3.1", "4"]
    assert [r.kind for r in s.rows][:3] == ["Sequential", "Conv2d", "BatchNorm2d"]
    assert [r.depth for r in s.rows] == [0, 1, 1, 1, 1, 2, 2, 1]
    assert rows["0"].outputs == ((2, 4, 6, 6),) and rows["3.1"].outputs == ((2, 10),)
    assert rows["0"].parameters == rows["0"].trainable == 40
    assert rows["0"].multiply_adds == 2 * 4 * 36 * 9 and rows["3.1"].multiply_adds == 2 * 10 * 144
    assert rows["2"].multiply_adds is None and not s.uncounted
    assert rows["1"].buffer_bytes >= 4 * 8 + 4
    assert rows["0"].activation_bytes == rows["2"].activation_bytes == 4 * 2 * 4 * 36
    assert rows["3"].activation_bytes == rows[""].activation_bytes == 0  # returned below
    assert rows["3.0"].activation_bytes == 0  # a view
    assert all(r.calls == 1 and r.seconds > 0 for r in s.rows)
    assert rows[""].seconds >= rows["3"].seconds >= rows["3.1"].seconds
    total = s.totals
    assert total.parameters == sum(p.size for p in network().parameters()) == 40 + 8 + 1450
    assert total.gradient_bytes == total.parameter_bytes == 4 * total.parameters
    assert s.input_bytes == 4 * 2 * 64 and s.device == device and s.ran


def test_shared_and_frozen_parameters_count_once_and_as_they_are():
    m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    m[1].weight = m[0].weight
    m.add_module("again", m[0])
    m[0].bias.requires_grad_(False)
    s = pg.summary(m, (2, 3))
    rows = by_path(s)
    assert (rows["0"].parameters, rows["0"].trainable, rows["1"].parameters) == (12, 9, 3)
    assert rows["again"] == Row("again", "again", "Linear", 1, shared_with="0")
    assert rows["0"].calls == 2 and rows["0"].multiply_adds == 2 * 18
    assert s.totals.parameters == 15 and s.totals.gradient_bytes == 4 * 12


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
        self.own = nn.Parameter(pg.ones((4, 4)))
        self.unused = nn.Linear(2, 2)

    def forward(self, x, scale=1.0, *, half=False):
        y, (h, c) = self.rnn(x)
        z = self.rnn(x[:1])[0] if half else None
        return {"y": y @ self.own * scale, "state": [h, c], "more": (z, "text")}


def test_nested_outputs_several_calls_and_what_is_not_counted():
    s = pg.summary(Nested(), (5, 2, 3), {"half": True})
    rows = by_path(s)
    assert rows["rnn"].calls == 2
    assert rows["rnn"].outputs == (
        ((5, 2, 4), ((4, 2, 2), (4, 2, 4))), ((1, 2, 4), ((4, 2, 2), (4, 2, 4))),
    )  # fmt: skip
    assert rows[""].outputs == (
        {"y": (5, 2, 4), "state": [(4, 2, 2), (4, 2, 4)], "more": ((1, 2, 4), "str")},
    )
    assert rows["unused"].calls == 0 and rows["unused"].outputs == ()
    assert rows["unused"].seconds is None
    weights = sum(p.size for p in Nested().rnn.parameters() if p.ndim == 2)
    assert rows["rnn"].multiply_adds == (10 + 2) * weights
    assert s.uncounted == ("",)


@pytest.mark.parametrize(
    ("layer", "inputs", "count"),
    [
        (nn.Bilinear(3, 4, 5), [(2, 3), (2, 4)], 2 * 5 * (3 * 4 + 4)),
        (nn.Conv1d(4, 6, 3, groups=2), (2, 4, 7), 2 * 6 * 5 * 2 * 3),
        (nn.ConvTranspose1d(4, 6, 3, groups=2), (2, 4, 7), 2 * 4 * 7 * 3 * 3),
        (nn.GRU(3, 4), (5, 2, 3), 10 * (12 * 3 + 12 * 4)),
        (nn.LSTMCell(3, 4), (2, 3), 2 * (16 * 3 + 16 * 4)),
        (nn.MultiheadAttention(8, 2), [(5, 3, 8), (4, 3, 8), (4, 3, 8)],
         (15 + 12 + 12) * 64 + 2 * 15 * 4 * 8 + 15 * 64),
        (nn.MultiheadAttention(8, 2, batch_first=True, add_zero_attn=True, kdim=4, vdim=6),
         [(3, 5, 8), (3, 4, 4), (3, 4, 6)],
         15 * 64 + 12 * 32 + 12 * 48 + 2 * 15 * 5 * 8 + 15 * 64),
        (nn.ReLU(), (2,), None),
    ],
)  # fmt: skip
def test_multiplications(layer, inputs, count):
    s = pg.summary(layer, inputs)
    assert s.totals.multiply_adds == count and not s.uncounted


def test_an_own_forward_of_a_subclass_is_not_counted():
    class Mine(nn.Linear):
        def forward(self, x):
            return super().forward(x) + super().forward(x)

    s = pg.summary(Mine(3, 2), (1, 3))
    assert s.totals.multiply_adds is None and s.uncounted == ("",)


def test_lookups_have_none():
    s = pg.summary(nn.Embedding(5, 3), (2, 4), dtype=pg.int64)
    assert s.totals.multiply_adds == 0 and s.rows[0].outputs == ((2, 4, 3),)


# ---- inputs -----------------------------------------------------------------------------------
class Seen(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(pg.zeros(1, dtype=pg.float64))
        self.got = None

    def forward(self, *args, **kwargs):
        self.got = (args, kwargs)


def seen(*args, **kwargs):
    m = Seen()
    pg.summary(m, *args, **kwargs)
    return m.got


def test_the_forms_of_input():
    t = pg.ones(2)
    assert seen(t) == ((t,), {})
    assert seen((t, 3, None)) == ((t, 3, None), {})
    assert seen([t, t], {"flag": True}) == ((t, t), {"flag": True})
    assert seen({"x": t, "y": 3}) == ((), {"x": t, "y": 3})
    assert seen(()) == ((), {})
    assert seen(kwargs={"x": t}) == ((), {"x": t})
    packed = nn.utils.rnn.pack_sequence([pg.ones((2, 1))])
    assert seen(packed)[0][0] is packed
    (x,), _ = seen((2, 3))
    assert x.shape == (2, 3) and x.dtype == pg.float64 and host(x).any()
    (x, y), _ = seen([(2, 3), [4]], dtype=[pg.int64, pg.float32], device="frozen:0")
    assert (x.dtype, y.dtype, y.shape) == (pg.int64, pg.float32, (4,)) and not host(x).any()
    assert x.device == y.device == "frozen:0"
    (x, y), _ = seen([(2,), (3,)], dtype=pg.complex64)
    assert x.dtype == y.dtype == pg.complex64
    _, kwargs = seen({"x": (2, 3), "y": "text"}, dtype=pg.bool)
    assert kwargs["x"].dtype == pg.bool and kwargs["y"] == "text"


def test_without_input_forward_does_not_run():
    m = Seen()
    s = pg.summary(m)
    assert m.got is None and not s.ran and s.totals.parameters == 1
    assert s.rows[0].seconds is None


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: pg.summary(3), InvalidTypeError, "no Module"),
        (lambda: pg.summary(Seen(), [(1,)], dtype=["float32"] * 2), InvalidArgumentError,
         "2 dtypes for 1 shapes"),
        (lambda: pg.summary(Seen(), depth=-1), InvalidArgumentError, "depth is -1"),
        (lambda: pg.summary(Seen(), repeats=0), InvalidArgumentError, "repeats is 0"),
        (lambda: pg.summary(Seen(), depth=1.5), InvalidTypeError, "depth is 1.5"),
    ],
)  # fmt: skip
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


# ---- no trace -----------------------------------------------------------------------------------
def state_of(m):
    tensors = {**dict(m.named_parameters()), **dict(m.named_buffers())}
    return (
        {n: (id(t), host(t).copy().tolist(), t.requires_grad) for n, t in tensors.items()},
        {n: (id(t.grad), t.grad.tolist()) for n, t in tensors.items() if t.grad is not None},
        [(x.training, x._hooks) for x in m.modules()],
        pg.random.get_state(),
    )


class Restless(nn.Module):
    """Changes all that a module may hold while it runs."""

    def __init__(self, fails=False):
        super().__init__()
        self.layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.5)
        self.weight = nn.Parameter(pg.ones(3))
        self.register_buffer("count", pg.zeros(()))
        self.register_buffer("memory", None)
        self.fails = fails

    def forward(self, x):
        y = self.drop(self.norm(self.layer(x))) * self.weight
        self.count += 1
        self.memory = y.detach()
        self.register_buffer("late", pg.ones(1))
        with pg.no_grad():
            self.weight[...] = 7.0
        with pg.enable_grad():
            pg.sum(self.layer(x)).backward()
        self.norm.eval()
        return self.layer(pg.ones(5)) if self.fails else y


@pytest.mark.parametrize("training", [None, True, False])
@pytest.mark.parametrize("fails", [False, True])
def test_all_is_as_before(device, training, fails):
    m = Restless(fails).to(device)
    m.norm.eval()
    if training is not False:  # then no gradient was there before
        pg.sum(m.layer(pg.ones((2, 3), device=device))).backward()
    before = state_of(m)
    if fails:
        with pytest.raises(ShapeError):
            pg.summary(m, (4, 3), training=training)
    else:
        assert pg.summary(m, (4, 3), training=training, repeats=2).rows[0].calls == 1
    assert state_of(m) == before
    assert m.memory is None
    assert "late" not in m.registry
    assert pg.is_grad_enabled()


def test_the_mode_asked_for_is_the_one_that_runs():
    modes = []

    class Mode(nn.Module):
        def forward(self, x):
            modes.append(self.training)
            return x

    m = Mode().eval()
    for training in (None, True, False):
        pg.summary(m, (1,), training=training, repeats=1)
    assert modes == [False] * 2 + [True] * 2 + [False] * 2 and not m.training


def test_it_works_under_no_grad_and_beside_other_models():
    other = nn.Linear(2, 2)

    class Uses(nn.Module):
        def forward(self, x):
            return other(x)

    with pg.no_grad():
        s = pg.summary(Uses(), (1, 2))
    assert len(s.rows) == 1 and s.rows[0].outputs == ((1, 2),)


def test_a_layer_that_raises_and_is_caught():
    class Tries(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad, self.good = nn.Linear(3, 3), nn.Linear(2, 2)

        def forward(self, x):
            time.sleep(0.02)
            try:
                return self.bad(x)
            except ShapeError:
                return self.good(x)

    rows = by_path(pg.summary(Tries(), (1, 2)))
    assert rows["bad"].calls == 0 and rows["good"].calls == 1
    assert rows[""].seconds >= 0.02 > rows["good"].seconds > 0


# ---- the table ----------------------------------------------------------------------------------
def test_a_table_of_some_depth_adds_up():
    full = pg.summary(network(), (2, 1, 8, 8))
    for depth in (0, 1, 5):
        shown = pg.summary(network(), (2, 1, 8, 8), depth=depth).shown()
        assert len(shown) == {0: 1, 1: 6, 5: 8}[depth]
        for name in ("parameters", "buffer_bytes", "activation_bytes"):
            assert sum(getattr(r, name) for r in shown) == getattr(full.totals, name)
        assert sum(r.multiply_adds or 0 for r in shown) == full.totals.multiply_adds


def test_the_text():
    optional("rich")
    lines = str(pg.summary(network(), (2, 1, 8, 8))).split("\n")
    assert lines[0].split() == [
        "layer", "output", "parameters", "weights", "activations", "multiply-adds", "time",
    ]  # fmt: skip
    assert [line.split("  (")[0].strip() for line in lines[2:10]] == [
        "Sequential", "├─ 0 (Conv2d)", "├─ 1 (BatchNorm2d)", "├─ 2 (ReLU)", "├─ 3 (Sequential)",
        "│  ├─ 0 (Flatten)", "│  └─ 1 (Linear)", "└─ 4 (Dropout)",
    ]  # fmt: skip
    assert "(2, 4, 6, 6)" in lines[3] and " 2,592 " in lines[3] and " 1.1 KiB " in lines[3]
    assert "Parameters: 1,498, of which 1,498 are trainable" in lines
    assert "Multiply-adds: 5,472" in lines
    assert lines[-1].startswith("Time of a forward: ") and lines[-1].endswith(" on cpu")
    assert not any(line != line.rstrip() for line in lines)


def test_columns_that_say_nothing_are_left_out():
    optional("rich")
    text = str(pg.summary(nn.Linear(2, 2)))
    assert "output" not in text and "time" not in text and "Multiply" not in text
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m.add_module("again", m[0])
    m[1].requires_grad_(False)
    text = str(pg.summary(m, (1, 2)))
    assert "calls" in text and "trainable" in text and "as 0" in text
    text = str(pg.summary(Nested(), (5, 2, 3), {"half": True}))
    assert " or " in text and "not counting the model itself" in text


def test_units():
    optional("rich")
    rows = (
        Row("", "", "Big", 0, outputs=((1,),), calls=1, parameters=10**9, trainable=10**9,
            parameter_bytes=4 * 10**9, seconds=2.5),
        Row("a", "a", "Small", 1, outputs=((1,),), calls=1, activation_bytes=3, seconds=2e-6),
        Row("b", "b", "Mid", 1, outputs=((1,),), calls=1, activation_bytes=2**21, seconds=0.003),
    )  # fmt: skip
    text = str(Summary(rows, "cpu", ran=True))
    for part in ("1,000,000,000", "3.7 GiB", "2.50 s", "3 B", "2 µs", "2.0 MiB", "3.00 ms"):
        assert part in text


def test_other_ways_to_show_it():
    optional("rich")
    s = pg.summary(network(), (2, 1, 8, 8))
    assert repr(s) == "<Summary of Sequential: 8 modules, 1498 parameters>"
    html = s._repr_html_()
    assert html.startswith("<pre") and "BatchNorm2d" in html
    console = importlib.import_module("rich.console").Console(width=200, record=True, quiet=False)
    with console.capture() as capture:
        console.print(s)
    assert "BatchNorm2d" in capture.get()


def test_without_rich_there_are_the_data_and_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    s = pg.summary(network(), (2, 1, 8, 8))
    assert s.totals.parameters == 1498
    with pytest.raises(MissingLibraryError, match=r"pip install 'polygrad\[summary\]'"):
        str(s)


# ---- what others do meanwhile -------------------------------------------------------------------
def test_calls_of_another_thread_are_not_counted():
    model = nn.Sequential(*(nn.Linear(3, 3) for _ in range(20)))
    alone, errors, over = pg.summary(model, (2, 3)), [], threading.Event()

    def call():
        x = pg.ones((2, 3))
        while not over.is_set():
            try:
                model(x)
            except BaseException as error:
                errors.append(error)
                raise

    thread = threading.Thread(target=call)
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        found = [pg.summary(model, (2, 3)) for _ in range(5)]
    finally:
        sys.setswitchinterval(switching)
        over.set()
        thread.join()
    assert not errors
    for made in found:
        assert [(r.outputs, r.calls) for r in made.rows] == [
            (r.outputs, r.calls) for r in alone.rows
        ]


def test_what_a_first_forward_registers_is_gone_afterwards_and_comes_again():
    class Late(nn.Module):
        def forward(self, x):
            if not hasattr(self, "scale"):
                self.register_buffer("seen", pg.zeros(()))
                self.scale = nn.Parameter(pg.ones(2))
                self.inner = nn.Linear(2, 2)
            self.seen += 1
            return self.inner(self.scale * x)

    model = Late()
    before = dict(model.__dict__)
    pg.summary(model, (3, 2))
    assert model.__dict__ == before
    model(pg.ones((3, 2)))
    assert sorted(model.state_dict()) == ["inner.bias", "inner.weight", "scale", "seen"]
    assert model.seen == 1


def test_a_summary_leaves_no_cycle():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    pg.summary(model, (2, 3))
    gc.collect()
    gc.disable()
    try:
        pg.summary(model, (2, 3))
        assert gc.collect() == 0
    finally:
        gc.enable()
