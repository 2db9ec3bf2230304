"""What a training step keeps, and for how long: in bytes, as NumPy reports them to tracemalloc."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import polygrad as pg
from polygrad.nn import functional
from polygrad.tensor import raw

SIDE = 512
ARRAY = SIDE * SIDE * 4  # bytes of a float32 array that is large beside Python's objects
SMALL = ARRAY // 16


@pytest.fixture
def traced():
    """Memory is counted, of what is allocated from here on."""
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def now():
    return tracemalloc.get_traced_memory()[0]


def peak_of(function):
    """The most bytes at once while it runs, above those before; its modules are loaded first."""
    function()
    gc.collect()
    tracemalloc.start()
    before = now()
    tracemalloc.reset_peak()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


class Watch(pg.autograd.Function):
    """The identity, which notes how many bytes there are when its backward runs."""

    @staticmethod
    def forward(ctx, x, found):
        ctx.found = found
        return x * 1

    @staticmethod
    def backward(ctx, g):
        ctx.found.append(now())
        return g, None


def leaf():
    return pg.asarray(np.ones((SIDE, SIDE), np.float32), device="cpu").requires_grad_()


@pytest.mark.usefixtures("traced")
def test_cotangents_that_were_added_are_gone():
    x, found = leaf(), []
    h = Watch.apply(x, found)
    loss = pg.sum(h * h)
    del h
    before = now()
    loss.backward()
    # What the product saved has gone; the sum of its two cotangents has come.
    assert found[0] - before < SMALL


@pytest.mark.usefixtures("traced")
def test_a_cotangent_is_gone_when_the_next_but_one_is_made():
    x, found = leaf(), []
    h = Watch.apply(x, found)
    loss = pg.sum(-pg.exp(h))
    del h
    before = now()
    loss.backward()
    assert found[0] - before < SMALL  # exp's result has gone, its cotangent has come


def test_pooling_keeps_places_and_not_its_result():
    x = pg.asarray(np.ones((1, 1, 8, 8), np.float32), device="cpu").requires_grad_()
    y = functional.max_pool2d(x, 2)
    node, array = y.grad_fn, weakref.ref(raw(y))
    del y
    assert node is not None
    assert array() is None


def test_relu_keeps_where_it_is_positive_and_not_its_result():
    x = leaf()
    y = functional.relu(x)
    node, array = y.grad_fn, weakref.ref(raw(y))
    del y
    assert array() is None
    assert [a.dtype for a in node.saved] == [np.bool_]


def test_hooks_see_what_relu_keeps_of_a_single_number():
    """NumPy's comparison of two 0-d arrays is a scalar."""
    seen, x = [], pg.asarray(np.float64(2), device="cpu").requires_grad_()
    with pg.autograd.saved_tensors_hooks(lambda t: seen.append(t.dtype) or t, lambda t: t):
        y = functional.relu(x)
    assert seen == [pg.bool]
    (g,) = pg.autograd.grad(y * y, [x], create_graph=True)
    assert g.detach().item() == 4


def test_a_large_gradient_is_chosen_without_a_second_array():
    k = pg.asarray(1.0, device="cpu").kernels
    x, mask = np.ones((SIDE, SIDE), np.float32), np.ones((SIDE, SIDE), bool)
    assert peak_of(lambda: k.keep(x, mask)) < ARRAY + SMALL


def test_the_adjoint_of_tanh_takes_one_array():
    k = pg.asarray(1.0, device="cpu").kernels
    x = np.ones((SIDE, SIDE), np.float32)
    assert peak_of(lambda: k.tanh_adjoint(x, x)) < ARRAY + SMALL


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}])
def test_sgd_has_room_for_a_part_of_the_parameters(options):
    w = leaf()
    w.grad = pg.ones_like(w)
    optimizer = pg.optim.SGD([w], lr=0.1, **options)
    optimizer.step()  # which makes the momentum
    assert peak_of(optimizer.step) < ARRAY / 6


def test_a_convolution_needs_no_columns_of_the_whole_batch():
    w = pg.asarray(np.ones((8, 8, 3, 3), np.float32), device="cpu").requires_grad_()
    x = pg.asarray(np.ones((64, 8, 32, 32), np.float32), device="cpu").requires_grad_()
    columns = 9 * raw(x).nbytes

    def step():
        y = functional.conv2d(x, w, padding=1)
        y.backward(pg.ones_like(y))
        x.grad = w.grad = None

    assert peak_of(step) < columns / 2


def test_the_heads_of_attention_are_joined_without_a_copy():
    k = pg.asarray(1.0, device="cpu").kernels
    query = np.ones((2, 5, 3, 4), np.float32).swapaxes(1, 2)
    weights, value = np.ones((2, 3, 5, 6), np.float32), np.ones((2, 3, 6, 7), np.float32)
    out = k.attention_result(weights, value, query)
    assert out.swapaxes(1, 2).flags.c_contiguous
