"""Products that wait for more rows give the gradients that products at once give."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad import pending
from polygrad.errors import OutOfMemoryError
from polygrad.nn.functional import gru_cell, lstm_cell, rnn_tanh_cell
from polygrad.pending import Pending

STEPS, BATCH, FEATURES, HIDDEN = 7, 3, 4, 5
CELLS = {"rnn": (rnn_tanh_cell, 1), "gru": (gru_cell, 3), "lstm": (lstm_cell, 4)}


@pytest.fixture
def made(monkeypatch):
    """The products that were kept waiting."""
    found = []
    real = Pending.__init__

    def init(self, *args):
        found.append(self)
        real(self, *args)

    monkeypatch.setattr(Pending, "__init__", init)
    return found


def same(got, expected):
    """Equal but for the order of a sum."""
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def problem(kind, *, batched=True, dtype="float64", device="cpu"):
    rng = np.random.default_rng(0)
    blocks = CELLS[kind][1]
    lead = (BATCH,) if batched else ()
    x = rng.normal(size=(STEPS, *lead, FEATURES)).astype(dtype)
    shapes = [(blocks * HIDDEN, FEATURES), (blocks * HIDDEN, HIDDEN), *[(blocks * HIDDEN,)] * 2]
    weights = [
        pg.tensor(rng.normal(size=s).astype(dtype), device=device, requires_grad=True)
        for s in shapes
    ]
    return pg.tensor(x, device=device), weights


def last(kind, x, weights, state=None):
    cell, blocks = CELLS[kind]
    zero = pg.zeros((*x.shape[1:-1], HIDDEN), dtype=x.dtype, device=x.device)
    state = (zero, zero) if blocks == 4 else zero
    for part in x:
        state = cell(part, state, *weights)
    return state[0] if blocks == 4 else state


def at_once(function):
    """What a function gives where nothing waits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polygrad.ops._recurrence.LATER", object())
        return function()


def gradients(kind, x, weights, formula=lambda h, weights: (h * h).sum()):
    for w in weights:
        w.grad = None
    formula(last(kind, x, weights), weights).backward()
    return [w.grad.numpy().copy() for w in weights]


@pytest.mark.parametrize("rows", [1, 6, 1 << 20])
@pytest.mark.parametrize("kind", CELLS)
def test_the_gradients_are_those_of_products_at_once(kind, rows, made, monkeypatch):
    monkeypatch.setattr(pending, "ROWS", rows)
    x, weights = problem(kind)
    got = gradients(kind, x, weights)
    assert len(made) == 2 * STEPS
    expected = at_once(lambda: gradients(kind, x, weights))
    assert len(made) == 2 * STEPS
    for a, b in zip(got, expected, strict=True):
        same(a, b)


def test_what_is_kept_is_bounded(made, monkeypatch):
    monkeypatch.setattr(pending, "ROWS", 2 * BATCH)
    kept = []
    real = Pending.__add__

    def add(self, other):
        out = real(self, other)
        kept.append(self.rows)
        return out

    monkeypatch.setattr(Pending, "__add__", add)
    gradients("lstm", *problem("lstm"))
    assert made
    assert kept
    assert max(kept) < 2 * BATCH


@pytest.mark.parametrize("order", ["before", "after", "between"])
def test_a_weight_that_is_used_elsewhere_too(order, made):
    x, weights = problem("gru")

    def formula(h, weights):
        penalty = (weights[1] ** 3).sum()
        return penalty + (h * h).sum() if order == "before" else (h * h).sum() + penalty

    def between():
        for w in weights:
            w.grad = None
        half = last("gru", x[:3], weights)
        other = (weights[1] ** 3).sum()
        (last("gru", x[3:], weights).sum() + other * half.sum()).backward()
        return [w.grad.numpy().copy() for w in weights]

    run = between if order == "between" else lambda: gradients("gru", x, weights, formula)
    got = run()
    assert made
    for a, b in zip(got, at_once(run), strict=True):
        same(a, b)


def test_a_weight_that_was_computed_does_not_wait(made):
    x, weights = problem("lstm")

    def run():
        for w in weights:
            w.grad = None
        last("lstm", x, [w * 2 for w in weights]).sum().backward()
        return [w.grad.numpy().copy() for w in weights]

    run()
    assert not made


def test_a_cell_without_a_batch_does_not_wait(made):
    gradients("lstm", *problem("lstm", batched=False))
    assert not made


def test_gradients_are_added_to_those_there_are(made):
    x, weights = problem("lstm")
    once = gradients("lstm", x, weights)
    last("lstm", x, weights).sum().backward()
    twice = [w.grad.numpy() for w in weights]
    (last("lstm", x, weights) ** 2).sum().backward()
    for a, b, w in zip(twice, once, weights, strict=True):
        same(w.grad.numpy(), a + b)
    assert made


def test_grad_and_hooks_and_anomalies_see_arrays(made):
    x, weights = problem("lstm")
    expected = gradients("lstm", x, weights)
    found = pg.autograd.grad((last("lstm", x, weights) ** 2).sum(), weights)
    seen = []
    weights[1].register_hook(lambda g: seen.append(g.numpy().copy()))
    gradients("lstm", x, weights)
    with pg.autograd.detect_anomaly():
        watched = gradients("lstm", x, weights)
    for a, b, c in zip(found, expected, watched, strict=True):
        same(a.numpy(), b)
        same(c, b)
    same(seen[0], expected[1])
    assert made


def test_a_second_derivative_does_not_wait(made):
    x, weights = problem("gru")
    (g,) = pg.autograd.grad((last("gru", x, weights) ** 2).sum(), weights[1:2], create_graph=True)
    assert not made
    (g * g).sum().backward()
    assert all(w.grad is not None for w in weights)


def test_a_state_that_was_overwritten_is_the_one_that_was_used(made):
    x, weights = problem("lstm")
    expected = gradients("lstm", x, weights)
    for w in weights:
        w.grad = None
    cell, zero = lstm_cell, pg.zeros((BATCH, HIDDEN), dtype=pg.float64)
    state, kept = (zero, zero), []
    for part in x:
        kept.append(state[0].detach())
        state = cell(part, state, *weights)
    loss = (state[0] * state[0]).sum()
    for h in kept:
        h.zero_()
    loss.backward()
    for w, b in zip(weights, expected, strict=True):
        same(w.grad.numpy(), b)


def test_single_precision_and_other_devices(made):
    for device in ("cpu", "sim:0"):
        x, weights = problem("lstm", dtype="float32", device=device)
        got = gradients("lstm", x, weights)
        wide, wide_weights = problem("lstm")
        for a, b in zip(got, gradients("lstm", wide, wide_weights), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)
    assert made


def test_no_memory_for_the_last_product_is_said_as_such(monkeypatch):
    def settle(self):
        raise MemoryError

    monkeypatch.setattr(Pending, "settle", settle)
    with pytest.raises(OutOfMemoryError, match="the gradient of a weight"):
        gradients("gru", *problem("gru"))
