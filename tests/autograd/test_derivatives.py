"""vjp, jvp, jacobian, hessian, hvp: against central differences and each other."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.autograd import hessian, hvp, jacobian, jvp, vjp
from polygrad.autograd import jacobians as module
from polygrad.errors import (
    DtypeError,
    GradientError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
)

rng = np.random.default_rng(0)
WAYS = {
    "batch": {}, "one by one": {"vectorize": False}, "columns": {"strategy": "forward-mode"},
    "chunks": {"chunk_size": 2}, "chunks of columns": {"strategy": "forward-mode", "chunk_size": 3},
    "columns one by one": {"strategy": "forward-mode", "vectorize": False},
}  # fmt: skip
FUNCTIONS = {
    "vector": (lambda x: pg.tanh(x) * x, [(6,)]),
    "matrix": (lambda x: x @ x.T, [(3, 4)]),
    "two inputs": (lambda x, y: pg.sin(x @ y), [(2, 3), (3, 2)]),
    "two outputs": (lambda x, y: (x @ y, pg.exp(x)), [(2, 3), (3, 2)]),
    "unused": (lambda x, y: x * x, [(3,), (2,)]),
    "independent": (lambda x: (x * 2, pg.ones(2, dtype=pg.float64)), [(3,)]),
    "integers": (lambda x: (x * x, pg.argmax(x)), [(3,)]),
    "scalar": (lambda x: x * x * x, [()]),
    "identity": (lambda x: x, [(3,)]),
    "empty": (lambda x: (x * x, x[:0]), [(3,)]),
    "of nothing": (lambda x: pg.concat([x, x]), [(0,)]),
}  # fmt: skip


def tensors(shapes):
    return tuple(pg.tensor(rng.normal(size=s)) for s in shapes)


def listed(made):
    return list(made) if isinstance(made, (tuple, list)) else [made]


def differences(function, inputs, eps=1e-6):
    """For each output, for each input, an array of shape output.shape + input.shape."""
    outputs = listed(function(*inputs))
    blocks = [[np.zeros(o.shape + x.shape) for x in inputs] for o in outputs]
    for j, x in enumerate(inputs):
        for place in np.ndindex(*x.shape):
            values = []
            for sign in (1, -1):
                moved = np.array(x.numpy())
                moved[place] += sign * eps
                given = [*inputs[:j], pg.tensor(moved), *inputs[j + 1 :]]
                values.append([o.numpy() for o in listed(function(*given))])
            for i, (a, b) in enumerate(zip(*values, strict=True)):
                blocks[i][j][(..., *place)] = (a - b) / (2 * eps)
    return blocks


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_against_differences(name, way):
    function, shapes = FUNCTIONS[name]
    xs = tensors(shapes)
    found = jacobian(function, xs[0] if len(xs) == 1 else xs, **WAYS[way])
    want = differences(function, xs)
    rows = listed(found) if len(want) > 1 else [found]
    assert len(rows) == len(want)
    for row, numbers in zip(rows, want, strict=True):
        for block, number in zip(listed(row), numbers, strict=True):
            assert block.shape == number.shape
            assert not block.requires_grad
            np.testing.assert_allclose(block.numpy(), number, atol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_products_are_those_of_the_jacobian(name):
    function, shapes = FUNCTIONS[name]
    xs = tensors(shapes)
    outputs = listed(function(*xs))
    blocks = differences(function, xs)
    v = [rng.normal(size=o.shape) for o in outputs]
    weights = tuple(pg.tensor(a).to(o.dtype) for a, o in zip(v, outputs, strict=True))
    value, pulled = vjp(function, xs, weights)
    for a, b in zip(listed(value), outputs, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    for j, x in enumerate(xs):
        want = sum(
            np.tensordot(a, block[j], axes=a.ndim)
            for a, block, o in zip(v, blocks, outputs, strict=True)
            if o.dtype.kind == "f"
        )
        assert pulled[j].shape == x.shape
        np.testing.assert_allclose(pulled[j].numpy(), want, atol=1e-7)
    u = [rng.normal(size=x.shape) for x in xs]
    _, pushed = jvp(function, xs, tuple(map(pg.tensor, u)))
    for i, made in enumerate(listed(pushed)):
        want = sum(np.tensordot(blocks[i][j], b, axes=b.ndim) for j, b in enumerate(u))
        np.testing.assert_allclose(made.numpy(), want, atol=1e-7)


def energy(x, y):
    return pg.sum(pg.sin(x) * x @ y) + x[0] * pg.sum(y * y)


@pytest.mark.parametrize("way", WAYS)
def test_hessians_are_jacobians_of_the_gradient(way):
    xs = tensors([(3,), (3, 2)])

    def gradient(*given):
        return vjp(energy, given, create_graph=True)[1]

    options = {k.replace("strategy", "outer_jacobian_strategy"): v for k, v in WAYS[way].items()}
    blocks = hessian(energy, xs, **options)
    for row, numbers in zip(blocks, differences(gradient_values(gradient), xs), strict=True):
        for block, number in zip(row, numbers, strict=True):
            np.testing.assert_allclose(block.numpy(), number, atol=1e-7)
    v = tensors([(3,), (3, 2)])
    value, product = hvp(energy, xs, v)
    np.testing.assert_array_equal(value.numpy(), energy(*xs).numpy())
    for row, made in zip(blocks, product, strict=True):
        want = sum(np.tensordot(b.numpy(), a.numpy(), axes=a.ndim)
                   for b, a in zip(row, v, strict=True))  # fmt: skip
        np.testing.assert_allclose(made.numpy(), want, atol=1e-10)


def gradient_values(gradient):
    return lambda *given: tuple(g.detach() for g in gradient(*given))


def test_trees_of_arguments_and_results():
    state = {"w": pg.tensor([[1.0, 2.0]]), "b": [pg.tensor([0.5])]}
    x = pg.tensor([3.0, 4.0])

    def layer(state, x):
        y = state["w"] @ x + state["b"][0]
        return {"y": y, "size": pg.sum(y * y)}

    found = jacobian(layer, (state, x))
    assert found.keys() == {"y", "size"}
    assert [type(part) for part in found["y"]] == [dict, pg.Tensor]
    np.testing.assert_array_equal(found["y"][0]["w"].numpy(), [[[3, 4]]])
    np.testing.assert_array_equal(found["size"][0]["b"][0].numpy(), [2 * 11.5])
    np.testing.assert_array_equal(found["y"][1].numpy(), [[1, 2]])
    value, (gradient, _) = vjp(layer, (state, x), {"y": pg.ones(1), "size": pg.tensor(0.0)})
    assert value["y"].tolist() == [11.5]
    np.testing.assert_array_equal(gradient["w"].numpy(), [[3, 4]])
    _, pushed = jvp(layer, [state, x], [{"w": pg.zeros((1, 2)), "b": [pg.ones(1)]}, pg.zeros(2)])
    np.testing.assert_array_equal(pushed["y"].numpy(), [1])
    blocks = hessian(lambda state, x: layer(state, x)["size"], (state, x))
    np.testing.assert_array_equal(blocks[0]["b"][0][0]["b"][0].numpy(), [[2]])


@pytest.mark.parametrize("way", WAYS)
def test_a_recorded_jacobian_leads_back_to_its_inputs(way):
    w = pg.tensor(rng.normal(size=6), requires_grad=True)
    scale = pg.tensor(2.0, dtype=pg.float64, requires_grad=True)

    def total(w):
        with pg.no_grad():  # a graph that was asked for is made all the same
            found = jacobian(lambda x: pg.sin(x) * scale * x, w, create_graph=True, **WAYS[way])
        return pg.sum(found * found)

    assert pg.autograd.gradcheck(total, w)
    (g,) = pg.autograd.grad(total(w), [scale])
    np.testing.assert_allclose(g.numpy(), 2 * total(w).detach().numpy() / 2.0)


def test_recorded_products_lead_back_to_inputs_and_vectors():
    x, v = (pg.tensor(rng.normal(size=3), requires_grad=True) for _ in range(2))

    def cube(x):
        return x * x * x

    assert pg.autograd.gradcheck(lambda x, v: vjp(cube, x, v, create_graph=True), (x, v))
    assert pg.autograd.gradcheck(lambda x, v: jvp(cube, x, v, create_graph=True), (x, v))
    assert pg.autograd.gradcheck(
        lambda x, v: hvp(lambda x: pg.sum(cube(x)), x, v, create_graph=True), (x, v)
    )
    assert not jvp(cube, x, v)[1].requires_grad


# ---- complex numbers -----------------------------------------------------------------------------
def complex_tensor(n):
    return pg.tensor(rng.normal(size=n) + 1j * rng.normal(size=n))


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_real_results_by_complex_inputs_are_gradients(way):
    z = complex_tensor(6)
    found = jacobian(lambda z: pg.real(z * z) * pg.abs(z[0]), z, **WAYS[way])
    z = z.requires_grad_()
    for i in range(6):
        (row,) = pg.autograd.grad(pg.real(z * z)[i] * pg.abs(z[0]), [z])
        np.testing.assert_allclose(found[i].numpy(), row.numpy(), atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_complex_results_by_real_inputs(way):
    x = tensors([(6,)])[0]
    found = jacobian(lambda x: pg.exp(x * 1j) * x[0], x, **WAYS[way])
    want = np.diag(1j * np.exp(1j * x.numpy()) * x.numpy()[0])
    want[:, 0] += np.exp(1j * x.numpy())
    assert found.dtype == pg.complex128
    np.testing.assert_allclose(found.numpy(), want, atol=1e-12)


def test_products_of_complex_functions():
    z, v = complex_tensor(3), complex_tensor(3)

    def function(z):
        return z * z * pg.conj(z[0])

    def along(t):
        return function(z + t * v).numpy()

    want = (along(1e-6) - along(-1e-6)) / 2e-6
    _, pushed = jvp(function, z, v)
    np.testing.assert_allclose(pushed.numpy(), want, atol=1e-8)
    w = complex_tensor(3)
    _, pulled = vjp(function, z, w)
    a = np.vdot(w.numpy(), pushed.numpy()).real
    b = np.vdot(pulled.numpy(), v.numpy()).real
    np.testing.assert_allclose(a, b)
    _, curved = hvp(lambda z: pg.sum(pg.abs(z) ** 4), z, v)

    def slope(t):
        return vjp(lambda z: pg.sum(pg.abs(z) ** 4), z + t * v)[1].numpy()

    np.testing.assert_allclose(curved.numpy(), (slope(1e-6) - slope(-1e-6)) / 2e-6, atol=1e-6)


# ---- strict, errors ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("function", "shapes", "words"),
    [
        (lambda x: (x, pg.ones(2)), [(2,)], "output 1 does not depend on any input"),
        (lambda x, y: x * 2, [(2,), (3,)], "do not depend on input 1"),
    ],
)
def test_strict_refuses_what_is_independent(function, shapes, words):
    xs = tensors(shapes)
    outputs = function(*xs)
    v = tuple(map(pg.ones_like, listed(outputs)))
    for call in (
        lambda: vjp(function, xs, v, strict=True),
        lambda: jvp(function, xs, tuple(map(pg.ones_like, xs)), strict=True),
        lambda: jacobian(function, xs, strict=True),
        lambda: jacobian(function, xs, strict=True, strategy="forward-mode"),
    ):
        with pytest.raises(GradientError, match=words):
            call()
    jacobian(function, xs)


def test_strict_refuses_constant_derivatives_where_a_graph_is_wanted():
    x = pg.ones(2)
    jacobian(lambda x: x * 2, x, strict=True)
    for call in (jacobian, vjp, jvp):
        v = [pg.ones(2)] if call is not jacobian else []
        with pytest.raises(GradientError, match="derivative is constant"):
            call(lambda x: x * 2, x, *v, create_graph=True, strict=True)
    with pytest.raises(GradientError, match="gradients do not depend on input 0"):
        hvp(lambda x: pg.sum(x * 2), x, pg.ones(2), strict=True)
    with pytest.raises(GradientError, match="not depend on input 0"):
        hessian(lambda x: pg.sum(x * 2), x, strict=True)
    np.testing.assert_array_equal(hessian(lambda x: pg.sum(x * 2), x).numpy(), np.zeros((2, 2)))


X = pg.ones(3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: vjp(lambda x: x, 3.0), InvalidTypeError, "inputs is a float. vjp, argument in"),
        (lambda: jvp(lambda x: x, (X, 2)), InvalidTypeError, "a int among the inputs. jvp"),
        (lambda: vjp(lambda x: 1.5, X), InvalidTypeError, "the function returned a float. vjp"),
        (lambda: jacobian(lambda x: x, pg.ones(2, dtype=pg.int64)), DtypeError, "int64 has no"),
        (lambda: vjp(lambda x: x, X), ShapeError, "implied only for one real tensor.*argument v"),
        (lambda: vjp(lambda x: x, X, pg.ones(2)), ShapeError, r"v has shapes \[\(2,\)\], expected"),
        (lambda: vjp(lambda x: x, X, 1.0), InvalidTypeError, "a float in the vector"),
        (lambda: jvp(lambda x: x, X, (X, X)), ShapeError, "one tensor for each"),
        (lambda: hessian(lambda x: x, X), ShapeError, r"returns \[\(3,\)\], not one element. hess"),
        (lambda: hvp(lambda x: (x, x), X, X), ShapeError, "not one element. hvp"),
        (lambda: hvp(lambda x: pg.sum(x) * 1j, X, X), DtypeError, "returns a complex number"),
        (lambda: hessian(lambda x: pg.sum(pg.abs(x)), X * 1j), DtypeError, "use hvp"),
        (lambda: jacobian(lambda x: x * x, X * 1j), DtypeError, "no complex number.*jvp and vjp"),
        (lambda: jacobian(lambda x: x, X, strategy="fast"), InvalidArgumentError, "reverse-mode"),
        (lambda: jacobian(lambda x: x, X, chunk_size=0), InvalidArgumentError, "at least 1"),
    ],
)
def test_errors_say_what_where_and_what_to_do(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert all((caught.value.what, caught.value.where, caught.value.fix))


# ---- one backward for all rows -------------------------------------------------------------------
def test_rows_come_from_one_backward(monkeypatch):
    real, calls = module.pull, []

    def counted(*args, **kwargs):
        calls.append(kwargs.get("batched"))
        return real(*args, **kwargs)

    monkeypatch.setattr(module, "pull", counted)
    x = pg.ones((5, 8))
    jacobian(pg.exp, x)
    assert calls == [True]
    calls.clear()
    jacobian(pg.exp, x, chunk_size=7)
    assert calls == [True] * 6
    calls.clear()
    jacobian(pg.exp, x, vectorize=False)
    assert calls == [False] * 40


def test_on_every_device(device):
    x = pg.tensor(np.linspace(0.1, 1, 6), dtype=pg.float32, device=device)

    def function(x):
        return pg.sum(pg.reshape(x, (2, 3)) ** 2, axis=0) * x[:3]

    want = jacobian(function, x.to("cpu")).numpy()
    for options in WAYS.values():
        found = jacobian(function, x, **options)
        assert found.device == device
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-5)
