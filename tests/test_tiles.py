"""Runs of elementwise operations, swept in tiles, give what the plain sweep gives."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import polygrad as pg
from polygrad import engine, threads, tiles
from polygrad.errors import GradientError, OutOfMemoryError
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.primitive import Primitive
from polygrad.testing import floating, samples_of, take_apart

load_all()
NAMES = sorted(name for name, o in OPERATIONS.items() if o.differentiable)
N = 1000


@pytest.fixture
def small_tiles(monkeypatch):
    """Runs begin with one element, tiles have seven; the runs that were made."""
    made = []

    def gather(state, node, g):
        run = tiles.gather(state, node, g)
        if run is not None:
            made.append([member.node.primitive.name for member in run.members])
        return run

    monkeypatch.setattr(engine, "LARGE", 1)
    monkeypatch.setattr(tiles, "TILE", 7)
    monkeypatch.setattr(engine, "gather", gather)
    return made


def leaf(seed=0, shape=(N,), dtype="float64"):
    data = np.random.default_rng(seed).uniform(0.5, 2, size=shape)
    return pg.tensor(data.astype(dtype), requires_grad=True)


def gradients(formula, *leaves, **options):
    """Bytes of the gradients of a formula; the tensors are made anew from the arrays."""
    made = [pg.tensor(np.array(x.detach().numpy()), requires_grad=True) for x in leaves]
    out = formula(*made)
    out.sum().backward(**options)
    return [None if x.grad is None else x.grad.numpy().tobytes() for x in made]


def plain(formula, *leaves):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "LARGE", 1 << 60)
        return gradients(formula, *leaves)


FORMULAS = {
    "chain": lambda x, y: pg.exp(-(x * pg.tanh(x * 0.5 + 0.25))) * y,
    "branches": lambda x, y: (pg.sin(x) * y + pg.log(x) / y) * (x - y),
    "sum of leaves": lambda x, y: pg.exp(pg.exp(x + y)),
    "one leaf twice": lambda x, y: pg.exp(x + x) * pg.tanh(y * y),
    "constants": lambda x, y: pg.where(x > 1, pg.exp(x), x * x) * pg.floor(y),
    "powers": lambda x, y: (x**y) ** 2 + pg.sqrt(x) ** 3,
    "broken by a sum": lambda x, y: pg.exp(x * y) * pg.exp(x / pg.sum(y * y) * y),
    "broken by a shape": lambda x, y: pg.exp(x * y) * pg.exp(pg.reshape(x, (N, 1)) * 0.1)[:, 0],
    "not in C order": lambda x, y: pg.flip(pg.exp(pg.exp(x * 0.1)) * y, axis=0) * pg.sin(x) * x,
    "clipped": lambda x, y: pg.clip(x * y, 0.7, 1.5) * pg.maximum(x, y) * pg.abs(x - 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_equal_to_the_last_bit(name, dtype, small_tiles):
    formula, x, y = FORMULAS[name], leaf(0, dtype=dtype), leaf(1, dtype=dtype)
    assert gradients(formula, x, y) == plain(formula, x, y)
    assert small_tiles


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_within_a_run(name, small_tiles):
    operation = OPERATIONS[name]
    dtype = "float32" if "f" in operation.kinds else "complex64"
    for args, kwargs in samples_of(operation, getattr(pg, dtype)):
        flat, build = take_apart(args, kwargs)
        found = []
        for large in (1, 1 << 60) if flat else ():
            engine.LARGE = large
            pg.manual_seed(0)
            tensors = [pg.tensor(a, requires_grad=True) for a in flat]
            given, named = build([t * 1.0 for t in tensors], "cpu")
            made = [t for t in floating(operation.function(*given, **named)) if t.tracked]
            if made:
                losses = [pg.real(t * t * 0.75) for t in made]
                pg.autograd.backward(losses, [pg.ones_like(t) for t in losses])
            found.append([None if t.grad is None else t.grad.numpy() for t in tensors])
        for a, b in zip(*found, strict=True) if found else ():
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-30)


def test_a_run_takes_in_all_that_is_elementwise(small_tiles):
    x, y = leaf(0), leaf(1)
    gradients(FORMULAS["branches"], x, y)
    assert small_tiles == [
        ["multiply", "subtract", "add", "divide", "log", "multiply", "sin"],
    ]


def test_one_operation_is_no_run(small_tiles):
    gradients(lambda x: pg.exp(x) + 1, leaf())
    assert not small_tiles


@pytest.mark.parametrize("count", [1, 3])
def test_threads_change_nothing(count, small_tiles, monkeypatch):
    monkeypatch.setattr(threads, "COUNT", count)
    monkeypatch.setattr(threads, "_pool", None)
    for formula in FORMULAS.values():
        assert gradients(formula, leaf(0), leaf(1)) == plain(formula, leaf(0), leaf(1))
    assert small_tiles


def test_values_that_the_user_holds_are_not_written_to(small_tiles):
    x = leaf()
    y = pg.exp(x)
    z = pg.tanh(y) * y
    before = y.detach().numpy().copy(), z.detach().numpy().copy(), x.detach().numpy().copy()
    z.sum().backward()
    for tensor, values in zip((y, z, x), before, strict=True):
        np.testing.assert_array_equal(tensor.detach().numpy(), values)
    assert small_tiles


def test_views_of_a_value_keep_it(small_tiles):
    x = leaf()
    y = pg.exp(x)
    half, array = y[::2].detach(), y.detach().numpy()[1::2]
    before = half.numpy().copy(), array.copy()
    (pg.tanh(y) * y).sum().backward()
    np.testing.assert_array_equal(half.numpy(), before[0])
    np.testing.assert_array_equal(array, before[1])
    assert small_tiles


def test_a_cotangent_that_the_user_gave_is_not_written_to(small_tiles):
    x, g = leaf(), pg.tensor(np.linspace(1, 2, N))
    before = g.numpy().copy()
    pg.exp(pg.tanh(x)).backward(g)
    np.testing.assert_array_equal(g.numpy(), before)
    assert small_tiles


def test_a_retained_graph_is_swept_twice(small_tiles):
    x = leaf()
    z = pg.exp(pg.tanh(x) * x).sum()
    z.backward(retain_graph=True)
    once = x.grad.numpy().copy()
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * once)
    with pytest.raises(GradientError, match="freed"):
        z.backward()
    assert len(small_tiles) == 2


def test_the_gradients_are_arrays_of_their_own(small_tiles):
    x, y = leaf(0), leaf(1)
    pg.exp(pg.exp(x + y)).sum().backward()
    assert small_tiles
    before = y.grad.numpy().copy()
    x.grad *= 0
    np.testing.assert_array_equal(y.grad.numpy(), before)
    assert x.grad.array.flags.owndata


def test_hooks_see_what_they_would_see(small_tiles):
    x = leaf()
    seen = []
    y = pg.exp(x)
    y.register_hook(lambda g: seen.append(g.numpy().copy()))
    z = pg.tanh(y * 0.5) * pg.sin(y)
    z.sum().backward()
    assert small_tiles == [["multiply", "sin", "tanh", "multiply"]]
    np.testing.assert_allclose(
        seen[0],
        (0.5 / np.cosh(0.5 * y.detach().numpy()) ** 2 * np.sin(y.detach().numpy())
         + np.tanh(0.5 * y.detach().numpy()) * np.cos(y.detach().numpy())), rtol=1e-12,
    )  # fmt: skip


def test_gradients_of_values_within(small_tiles):
    x = leaf()
    y = pg.exp(x)
    z = pg.tanh(pg.sin(y) * 2)
    dx, dy = pg.autograd.grad(z.sum(), [x, y])
    np.testing.assert_allclose(dx.numpy(), dy.numpy() * y.detach().numpy(), rtol=1e-14)
    assert small_tiles


def test_what_is_not_asked_for_is_not_computed(small_tiles):
    x, y = leaf(0), leaf(1)
    z = pg.exp(x * y) * pg.tanh(x)
    (dx,) = pg.autograd.grad(z.sum(), [x], retain_graph=True)
    both = pg.autograd.grad(z.sum(), [x, y])
    np.testing.assert_array_equal(dx.numpy(), both[0].numpy())
    assert len(small_tiles) == 2


def test_zeros_that_no_rule_needs(small_tiles):
    x, y = leaf(0), leaf(1)
    (pg.floor(x * 2) * pg.exp(pg.tanh(y))).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros(N))
    assert small_tiles


def test_a_cotangent_in_fortran_order_is_read_and_not_written_to(small_tiles):
    w = np.asfortranarray(np.random.default_rng(2).normal(size=(20, 30)))
    c = np.random.default_rng(3).normal(size=(30, 20))

    def formula(x):
        z = pg.exp(pg.exp(x * 0.1)) * pg.asarray(w, copy=False)
        return pg.permute_dims(z, (1, 0)) * pg.asarray(c)

    assert gradients(formula, leaf(shape=(20, 30))) == plain(formula, leaf(shape=(20, 30)))
    assert small_tiles == [["exp", "exp", "multiply"]]


def test_a_broadcast_constant_ends_a_run(small_tiles):
    x, a = leaf(0), leaf(1)
    c = pg.asarray(np.ones((3, N)))

    def formula(x, a):
        z = x + c
        return pg.sum(z, axis=0) + pg.sin(pg.exp(a))

    def apart(x, a):
        z = x + c
        y = pg.sin(pg.exp(a))
        return z.sum() + y.sum()

    for f in (formula, apart):
        assert gradients(f, x, a) == plain(f, x, a)
    assert small_tiles == [["add", "sin", "exp"], ["sin", "exp"]]


def test_zeros_are_not_written_to_what_is_still_to_be_read(small_tiles):
    w = pg.asarray(np.ones((30, 4)))

    def formula(x1, x2, y):
        s = y + pg.ceil(x2)
        out = s + pg.floor(x1)
        return out @ w + out @ w

    leaves = [leaf(i, shape=(20, 30)) for i in range(3)]
    assert gradients(formula, *leaves) == plain(formula, *leaves)
    assert small_tiles


def test_a_pending_gradient_is_settled(small_tiles):
    def loss():
        pg.manual_seed(0)
        cell = pg.nn.LSTMCell(4, 5)
        penalty = pg.sin(pg.exp(cell.weight_hh)).sum()
        state = cell(pg.ones((3, 4)))
        state = cell(pg.ones((3, 4)), state)
        (state[0].sum() + penalty).backward()
        return cell.weight_hh.grad.numpy()

    tiled = loss()
    assert ["sin", "exp"] in small_tiles
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "LARGE", 1 << 60)
        np.testing.assert_allclose(tiled, loss(), rtol=1e-5, atol=1e-7)


def test_a_cotangent_in_another_order_takes_no_more_memory(monkeypatch):
    monkeypatch.setattr(tiles, "TILE", 1 << 12)

    def peak(large):
        monkeypatch.setattr(engine, "LARGE", large)
        x, c = leaf(0, shape=(512, 256)), pg.asarray(np.ones((256, 512)))
        y = pg.sin(pg.exp(x))
        total = (pg.permute_dims(y, (1, 0)) * c).sum()
        del y
        tracemalloc.start()
        total.backward()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most / (8 * 512 * 256)

    assert peak(1) < peak(1 << 60) + 0.3


def test_an_error_names_the_operation(small_tiles):
    def rule(g, F, x):
        raise ValueError("no")

    p = Primitive("broken_for_a_test", ("x",), {"x": rule}, forward=lambda x: x * 1,
                  elementwise=True)  # fmt: skip
    try:
        x = leaf()
        with pytest.raises(ValueError, match="no") as caught:
            pg.exp(p(pg.exp(x))).sum().backward()
        assert "in the backward of broken_for_a_test" in caught.value.__notes__[0]
    finally:
        del pg.primitive.PRIMITIVES["broken_for_a_test"]


def test_no_memory_for_what_leaves_is_said_as_such(small_tiles, monkeypatch):
    def allot(self, edges):
        raise MemoryError

    monkeypatch.setattr(tiles.Run, "_allot", allot)
    with pytest.raises(OutOfMemoryError, match="the backward of exp"):
        pg.exp(pg.exp(leaf())).sum().backward()


def test_memory_at_the_peak_is_not_more(monkeypatch):
    size = 1 << 18
    monkeypatch.setattr(tiles, "TILE", 1 << 12)

    def peak(large):
        monkeypatch.setattr(engine, "LARGE", large)
        x = leaf(shape=(size,))
        parts = [pg.exp(x * (i + 0.5)) for i in range(6)]
        z = parts[0]
        for part in parts[1:]:
            z = z * part
        del parts, part
        total = z.sum()
        del z
        tracemalloc.start()
        total.backward()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most / (8 * size)

    tiled, whole = peak(1), peak(1 << 60)
    assert tiled < 1  # arrays: all that leaves the run goes where a saved value was
    assert whole > 1.9
