"""The engine: contracts of backward and grad, hooks, lifetime, depth."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import (
    DeviceMismatchError,
    DtypeError,
    GradientError,
    InvalidTypeError,
    ShapeError,
)
from polygrad.tape import LEFT, Node, SharedShapes
from polygrad.tensor import Tensor


def leaf(values, dtype=None):
    return pg.tensor(values, dtype=dtype, requires_grad=True)


def test_gradients_accumulate_into_the_same_tensor():
    x = leaf([1.0, 2.0])
    pg.sum(x * 2).backward()
    kept = x.grad
    pg.sum(x * 3).backward()
    assert x.grad is kept
    np.testing.assert_array_equal(kept.numpy(), [5, 5])


def test_diamonds_sum():
    x = leaf([3.0])
    y = x * 2
    (y * y + y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [26])


def test_only_requested_paths_are_walked():
    x, w = leaf([1.0]), leaf([2.0])
    seen = []
    y = x * 3
    y.register_hook(seen.append)
    z = y * w
    (g,) = pg.autograd.grad(z, [w])
    assert seen == []
    np.testing.assert_array_equal(g.numpy(), [3])


def test_grad_of_an_intermediate_tensor_and_beyond():
    x = leaf([2.0])
    y = x * x
    z = y * 3
    gy, gx = pg.autograd.grad(z, [y, x])
    np.testing.assert_array_equal(gy.numpy(), [3])
    np.testing.assert_array_equal(gx.numpy(), [12])


def test_output_that_is_a_leaf():
    x = leaf([2.0])
    x.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1])
    (g,) = pg.autograd.grad(x, [x])
    np.testing.assert_array_equal(g.numpy(), [1])


def test_constant_functions_give_zeros_not_errors():
    x = leaf([1.5, -2.5])
    (g,) = pg.autograd.grad(pg.sum(pg.floor(x * 2)), [x])
    np.testing.assert_array_equal(g.numpy(), [0, 0])
    pg.sum(pg.sign(x)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0, 0])


@pytest.mark.parametrize("order", [2, 3, 4])
def test_higher_orders(order):
    x = leaf(2.0, pg.float64)
    y = x**5
    want = 32.0
    for k in range(order):
        (y,) = pg.autograd.grad(y, [x], create_graph=True)
        want = {0: 80.0, 1: 160.0, 2: 240.0, 3: 240.0}[k]
    assert y.detach().item() == want


def test_gradients_with_a_graph_are_tensors_of_their_own():
    """Also where one cotangent goes to several inputs: what is written to one is the one's."""
    a, b = (pg.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    first, second = pg.autograd.grad(pg.sum((a + b) ** 2), [a, b], create_graph=True)
    with pg.no_grad():
        first *= 0
    assert second.tolist() == [4, 8]
    pg.sum((a + b) ** 2).backward(create_graph=True)
    with pg.no_grad():
        a.grad *= 0
    assert (a.grad.tolist(), b.grad.tolist()) == ([0, 0], [4, 8])
    assert pg.autograd.grad(pg.sum(b.grad), a)[0].tolist() == [2, 2]


@pytest.mark.parametrize("graph", [True, False])
def test_what_a_hook_writes_to_a_gradient_is_that_gradient_alone(graph):
    a, b = (pg.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))

    def halve(g):
        with pg.no_grad():
            g *= 0.5

    a.register_hook(halve)
    pg.sum((a + b) ** 2).backward(create_graph=graph)
    assert (a.grad.tolist(), b.grad.tolist()) == ([2, 4], [4, 8])


def test_backward_with_create_graph_stores_a_graph():
    x = leaf(3.0)
    (x * x * x).backward(create_graph=True)
    g = x.grad
    assert g.requires_grad
    x.grad = None
    g.backward()
    assert x.grad.item() == 18.0


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (
            lambda x: (x * 2).backward(),
            GradientError,
            ("one element", "(2,)", "pass the gradient"),
        ),
        (
            lambda x: pg.tensor(1.0).backward(),
            GradientError,
            ("no graph", "backward", "requires_grad=True"),
        ),
        (
            lambda x: (x * 2).backward(pg.ones((3,))),
            ShapeError,
            ("(3,)", "backward", "equal"),
        ),
        (
            lambda x: pg.autograd.grad(pg.sum(x), [pg.tensor(1.0)]),
            GradientError,
            ("does not require grad", "grad, input", "requires_grad_()"),
        ),
        (
            lambda x: pg.autograd.grad(pg.sum(x), [leaf(1.0)]),
            GradientError,
            ("do not depend", "grad, input", "allow_unused"),
        ),
        (
            lambda x: pg.tensor([1, 2], requires_grad=True),
            DtypeError,
            ("int64 tensor cannot require grad", "requires_grad_", "floating"),
        ),
        (
            lambda x: pg.sum(x * (1 + 1j)).backward(),
            GradientError,
            ("real output", "complex64", "pg.real"),
        ),
        (
            lambda x: pg.autograd.grad(3.0, [x]),
            InvalidTypeError,
            ("float", "outputs", ""),
        ),
        (
            lambda x: x.__setattr__("grad", pg.ones((3,))),
            ShapeError,
            ("(3,)", ".grad", "shape of its"),
        ),
        (
            lambda x: x.__setattr__("grad", 1.0),
            InvalidTypeError,
            ("float", ".grad", "asarray"),
        ),
        (
            lambda x: x.__setattr__("grad", pg.ones((2,), dtype=pg.float64)),
            DtypeError,
            ("float64", ".grad", ".to("),
        ),
        (
            lambda x: (x * 2).requires_grad_(False),
            GradientError,
            ("only a leaf", "Multiply", "detach()"),
        ),
        (
            lambda x: x.numpy(),
            GradientError,
            ("cut its gradient", "float32", ".detach()"),
        ),
        (
            lambda x: np.array(x, copy=None),
            GradientError,
            ("cut its gradient", "float32", "SCIPY_ARRAY_API=1"),
        ),
        (
            lambda x: x + pg.zeros((2,), device="frozen:0"),
            DeviceMismatchError,
            ("cpu and frozen:0", "add", '.to("cpu")'),
        ),
        (
            lambda x: x + pg.zeros((3,)),
            ShapeError,
            ("cannot be broadcast", "add(float32 (2,)", "equal or 1"),
        ),
    ],
)
def test_errors_have_three_parts(call, error, parts):
    x = leaf([1.0, 2.0])
    with pytest.raises(error) as caught:
        call(x)
    for part in parts:
        assert part in str(caught.value)
    assert caught.value.what
    assert caught.value.where


def test_second_backward_is_an_error_that_names_the_operation():
    x = leaf([1.0])
    y = pg.exp(x)
    y.backward()
    with pytest.raises(GradientError, match=r"freed.*exp.*retain_graph=True"):
        y.backward()
    z = pg.exp(x)
    z.backward(retain_graph=True)
    z.backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.exp([1.0]), rtol=1e-6)


def test_an_error_in_a_rule_names_the_operation_and_its_shapes():
    x = leaf([1.0, 2.0])
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        pg.sum(y).backward()
    assert "backward of multiply, input shapes ((2,), None)" in caught.value.__notes__[0]


def test_hooks_replace_gradients_and_can_be_removed():
    x = leaf([1.0, 2.0])
    y = x * 3
    handle = y.register_hook(lambda g: g * 10)
    leaf_handle = x.register_hook(lambda g: g + 1)
    pg.sum(y).backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), [31, 31])
    handle.remove()
    leaf_handle.remove()
    handle.remove()
    x.grad = None
    pg.sum(y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3, 3])
    x.register_hook(lambda g: "no")
    with pytest.raises(GradientError, match="hook"):
        pg.sum(x * 1).backward()


def test_retain_grad_writes_grad_of_a_non_leaf():
    x = leaf([1.0])
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad
    (y * y).backward()
    np.testing.assert_array_equal(y.grad.numpy(), [4])


def test_retain_grad_keeps_what_hooks_make_of_a_gradient_whatever_came_first():
    x = leaf([1.0, -2.0])
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 0 + 7)
    handle = y.register_hook(lambda g: g + 1)
    pg.sum(y**2).backward(retain_graph=True)
    np.testing.assert_array_equal(y.grad.numpy(), [8, 8])
    np.testing.assert_array_equal(x.grad.numpy(), [24, 24])
    handle.remove()
    y.grad = None
    pg.sum(y**2).backward()
    np.testing.assert_array_equal(y.grad.numpy(), [7, 7])


def test_grad_fn_has_readable_names():
    x = leaf([1.0])
    y = pg.exp(x * 2)
    assert y.grad_fn.name() == "ExpBackward"
    ((producer, index),) = y.grad_fn.next_functions
    assert (producer.name(), index) == ("MultiplyBackward", 0)
    (first, _), second = producer.next_functions
    assert first.name() == "AccumulateGrad"
    assert first.variable is x
    assert second == (None, 0)


def test_gradients_have_the_dtype_shape_and_realness_of_their_operand():
    x, w = leaf([[1.0], [2.0]]), leaf([1.0, 2.0, 3.0], pg.float64)
    pg.sum(x * w).backward()
    assert (x.grad.dtype, x.grad.shape) == (pg.float32, (2, 1))
    assert (w.grad.dtype, w.grad.shape) == (pg.float64, (3,))
    z = pg.tensor([1 + 1j])
    r = leaf([2.0])
    pg.sum(pg.real(r * z * z)).backward()
    assert r.grad.dtype == pg.float32


def alive():
    return sum(type(o) in (Node, Tensor) for o in gc.get_objects())


def test_a_graph_dies_by_reference_count():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    gc.collect()
    gc.disable()
    try:
        before = alive()
        loss = pg.sum(pg.tanh(x @ x) * pg.exp(x))
        loss.backward()
        (g,) = pg.autograd.grad(pg.sum(pg.tanh(x @ x)), [x], create_graph=True)
        (h,) = pg.autograd.grad(pg.sum(g * g), [x])
        del loss, g, h
        x.grad = None
        assert alive() == before
    finally:
        gc.enable()


def test_saved_values_are_freed_by_backward():
    x = leaf(np.zeros(10))
    y = pg.exp(x)
    z = pg.sum(y)
    held = weakref.ref(y.native if False else y)
    del y
    z.backward()
    assert held() is None
    assert z.grad_fn.next_functions[0][0].saved is None


def test_only_what_a_wanted_gradient_needs_is_saved():
    x, k = leaf([1.0]), pg.tensor([2.0])
    assert (x * k).grad_fn.saved[0] is None  # x itself is not needed for dx
    assert (x + k).grad_fn.saved == ()


@pytest.mark.slow
def test_a_million_operations_at_the_default_recursion_limit():
    assert sys.getrecursionlimit() <= 1000
    x = leaf([1.0])
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1])
    del y
    y = x
    for _ in range(1_000_000):
        y = y * 1.0
    del y  # never run backward


def test_grad_mode_is_per_thread():
    x = leaf([1.0])
    seen = []
    with pg.no_grad():
        thread = threading.Thread(target=lambda: seen.append((x * 2).requires_grad))
        thread.start()
        thread.join()
        assert not (x * 2).requires_grad
    assert seen == [True]


def test_threads_build_and_differentiate_independent_graphs():
    results = {}

    def work(k):
        x = leaf([float(k)])
        for _ in range(50):
            x.grad = None
            (x * x * x).backward()
        results[k] = float(x.grad.numpy()[0])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: 3.0 * k * k for k in range(1, 5)}


def test_python_numbers_are_warned_about():
    x = leaf(2.0)
    with pytest.warns(pg.GraphCutWarning, match="no gradient"):
        float(x)
    with pytest.warns(pg.GraphCutWarning, match="item"):
        (x * 2).item()
    assert bool(x)
    assert int(x) == 2


def test_moving_stays_on_the_tape():
    x = leaf([1.0, 2.0])
    y = x.to("frozen:0")
    assert y.device == "frozen:0"
    pg.sum(y * y).backward()
    assert x.grad.device == "cpu"
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])
    (g,) = pg.autograd.grad(pg.sum(x.to("frozen:0") ** 3), [x], create_graph=True)
    (h,) = pg.autograd.grad(pg.sum(g), [x])
    np.testing.assert_array_equal(h.numpy(), [6, 12])


def test_nodes_share_what_says_their_shapes():
    x = pg.tensor(np.ones((2, 3)), requires_grad=True)
    y, z = x * 2.0, (x + 1) * 2.0
    assert y.grad_fn.shapes == ((2, 3), None)
    assert y.grad_fn.shapes is z.grad_fn.shapes is LEFT[2, 3]


def test_shapes_that_are_too_many_are_forgotten():
    shapes = SharedShapes(1, 3)
    for n in range(5000):
        assert shapes[n, 1] == (None, (n, 1), None)
    assert len(shapes) <= 1024
