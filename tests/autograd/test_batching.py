"""`is_grads_batched`: many cotangents in one backward give what each would give."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.batching import BATCHED, operations
from polygrad.errors import GradientError, ShapeError
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.primitive import PRIMITIVES
from polygrad.testing import assert_close, floating, samples_of, take_apart

load_all()
DIFFERENTIABLE = sorted(
    name for name, o in OPERATIONS.items()
    if o.differentiable and (o.samples is not None or o.domain)
)  # fmt: skip
DOUBLE = {"f": pg.float64, "c": pg.complex128}
ROWS = 3


def cotangents(outputs, generator):
    made = []
    for o in outputs:
        w = generator.normal(size=(ROWS, *o.shape))
        if o.kernels.is_complex:
            w = w + 1j * generator.normal(size=w.shape)
        made.append(pg.tensor(w.astype(o.dtype), requires_grad=True))
    return made


def one_by_one(outputs, xs, weights, **options):
    """Row after row, each in a backward of its own."""
    rows = [
        pg.autograd.grad(outputs, xs, [w[i] for w in weights], retain_graph=True,
                         materialize_grads=True, **options)
        for i in range(ROWS)
    ]  # fmt: skip
    return [pg.stack(list(column)) for column in zip(*rows, strict=True)]


def total(gradients, generator):
    """A real number that depends on all of them."""
    made = pg.tensor(0.0, dtype=pg.float64)
    for g in gradients:
        w = pg.tensor(generator.normal(size=g.shape))
        made = made + pg.sum(pg.real(g) * w)
        if g.kernels.is_complex:
            made = made + pg.sum(pg.imag(g) * w)
    return made


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_batched_gradients_are_those_of_the_rows(name):
    for kind in set(OPERATIONS[name].kinds) & set("fc"):
        for number, (args, kwargs) in enumerate(samples_of(OPERATIONS[name], DOUBLE[kind])):
            flat, build = take_apart(args, kwargs)
            xs = [pg.tensor(a, requires_grad=True) for a in flat]
            positional, named = build(xs, "cpu")
            pg.manual_seed(0)
            made = floating(OPERATIONS[name].function(*positional, **named))
            outputs = [o for o in made if o.requires_grad]
            if not outputs:
                continue
            what = f"{name}, sample {number}"
            weights = cotangents(outputs, np.random.default_rng(0))
            got = pg.autograd.grad(outputs, xs, weights, retain_graph=True, is_grads_batched=True,
                                   materialize_grads=True)  # fmt: skip
            for a, b, x in zip(got, one_by_one(outputs, xs, weights), xs, strict=True):
                assert a.shape == (ROWS, *x.shape)
                assert not a.requires_grad
                assert_close(a, b, what=what)
            # The same, recorded: what is derived from both is equal too.
            sums = [
                total(gradients, np.random.default_rng(1))
                for gradients in (
                    pg.autograd.grad(outputs, xs, weights, create_graph=True,
                                     is_grads_batched=True, materialize_grads=True),
                    one_by_one(outputs, xs, weights, create_graph=True),
                )
            ]  # fmt: skip
            if not any(s.requires_grad for s in sums):
                continue
            pairs = (pg.autograd.grad(s, xs + weights, retain_graph=True, materialize_grads=True)
                     for s in sums)  # fmt: skip
            for a, b in zip(*pairs, strict=True):
                assert_close(a, b, what=f"second derivative of {what}")


def test_the_table_names_primitives():
    assert BATCHED.keys() <= PRIMITIVES.keys()


def test_a_network_is_differentiated_without_a_call_for_each_row(monkeypatch):
    called = []
    real = operations.row_by_row
    monkeypatch.setattr(
        operations, "row_by_row", lambda p, *rest: (called.append(p.name), real(p, *rest))[1]
    )
    f = pg.nn.functional
    x = pg.tensor(np.random.default_rng(0).normal(size=(2, 1, 6, 6)), requires_grad=True)
    kernel = pg.tensor(np.random.default_rng(1).normal(size=(3, 1, 3, 3)))
    w = pg.tensor(np.random.default_rng(2).normal(size=(12, 4)), requires_grad=True)
    h = f.max_pool2d(f.relu(f.conv2d(x, kernel)), 2)
    y = f.log_softmax(f.layer_norm(pg.reshape(h, (2, 12)), (12,)) @ w, axis=1)
    units = pg.reshape(pg.eye(8, dtype=pg.float64), (8, 2, 4))
    got = pg.autograd.grad(y, [x, w], units, is_grads_batched=True, retain_graph=True)
    assert called == []
    for i in range(8):
        for a, b in zip(got, pg.autograd.grad(y, [x, w], units[i], retain_graph=True), strict=True):
            assert_close(a[i], b)


def test_functions_and_hooks_see_one_row_after_the_other():
    seen = []

    class Double(pg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x + 1

        @staticmethod
        def backward(ctx, g, h):
            seen.append(g.shape)
            return g * 2 + h

    x = pg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g.shape))
    a, _ = Double.apply(y)
    (got,) = pg.autograd.grad(a, [x], pg.eye(2), is_grads_batched=True)
    np.testing.assert_array_equal(got.numpy(), 60 * np.eye(2))
    assert seen == [(2,)] * 4


def test_external_functions():
    def sine(x):
        return np.sin(x)

    sine = pg.external(sine, vjp={"x": lambda g, x: g * pg.cos(x)})
    x = pg.tensor([0.5, 1.0, 2.0], requires_grad=True)
    (got,) = pg.autograd.grad(sine(x), [x], pg.eye(3), is_grads_batched=True)
    np.testing.assert_allclose(got.numpy(), np.diag(np.cos(x.detach().numpy())), rtol=1e-6)


def test_checkpoints_and_anomaly_detection():
    x = pg.tensor([0.5, 2.0], requires_grad=True)
    y = pg.autograd.checkpoint(lambda t: pg.exp(pg.sin(t)), x)
    (got,) = pg.autograd.grad(y, [x], pg.eye(2), is_grads_batched=True)
    want = np.exp(np.sin(x.detach().numpy())) * np.cos(x.detach().numpy())
    np.testing.assert_allclose(got.numpy(), np.diag(want), rtol=1e-6)
    with np.errstate(all="ignore"), pg.autograd.detect_anomaly():
        z = pg.sqrt(x - 1.0)
        with pytest.raises(GradientError, match="made a NaN"):
            pg.autograd.grad(z, [x], pg.eye(2), is_grads_batched=True)


def test_constants_and_unused_inputs():
    x = pg.tensor([0.5, 2.0], requires_grad=True)
    y = pg.tensor([1.0], requires_grad=True)
    got = pg.autograd.grad(pg.floor(x), [x, y], pg.eye(2), is_grads_batched=True,
                           materialize_grads=True)  # fmt: skip
    assert [g.shape for g in got] == [(2, 2), (2, 1)]
    assert not any(g.numpy().any() for g in got)
    none = pg.autograd.grad(pg.exp(x), [x, y], pg.ones((0, 2)), is_grads_batched=True,
                            allow_unused=True)  # fmt: skip
    assert none[0].shape == (0, 2)
    assert none[1] is None


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (None, "1 outputs, and gradients for them of shapes"),
        ([pg.ones(())], "same number of rows"),
        ([pg.ones((2, 3))], r"the gradient has shape \(3,\), the output \(2,\)"),
        ([pg.ones((2, 2)), pg.ones((2, 2))], "give one for each output"),
    ],
)
def test_refusals(weights, words):
    x = pg.tensor([0.5, 2.0], requires_grad=True)
    with pytest.raises(ShapeError, match=words):
        pg.autograd.grad(pg.exp(x), [x], weights, is_grads_batched=True)


def test_rows_have_no_array():
    from polygrad.batching import rows_of
    from polygrad.tensor import raw

    rows = rows_of(pg.ones((3, 2)))
    assert (rows.shape, rows.ndim, rows.size) == ((2,), 1, 2)
    with pytest.raises(AttributeError):
        raw(rows)
