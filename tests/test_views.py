"""Views and writes: random programs against the oracle, directed checks without the collector."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, InPlaceError, OutOfRangeError, ShapeError
from polygrad.tape import Node
from polygrad.tensor import Tensor, raw
from polygrad.views import View
from tests.view_oracle import run_program


@pytest.mark.parametrize("block", range(6))
def test_random_programs(block):
    for seed in range(block * 60, (block + 1) * 60):
        run_program(seed)


def test_random_programs_with_create_graph():
    for seed in range(5000, 5150):
        run_program(seed, create_graph=True)


def test_random_programs_on_read_only_arrays():
    for seed in range(7000, 7250):
        run_program(seed, device="frozen:0")


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive():
    return [o for o in gc.get_objects() if type(o) in (Tensor, Node, View)]


def test_nothing_is_leaked_with_the_collector_off(no_collector):
    before = len(alive())

    def use():
        x = pg.tensor(np.arange(6.0), requires_grad=True)
        y = x * 2
        rows = [y[i:] for i in range(3)]
        y[1] = 5.0
        rows[0] *= 2
        z = pg.sum(rows[1] * y[1:])
        z.backward()

    for _ in range(3):
        use()
    assert len(alive()) == before


def test_dead_views_take_themselves_out(no_collector):
    x = pg.tensor(np.arange(6.0))
    for _ in range(100):
        x[1:]
    assert len(x.alias) == 0


def test_a_write_is_in_place_when_nobody_can_see_it():
    x = pg.zeros((1000,))
    address = raw(x).ctypes.data
    for i in range(10):
        x[i] = float(i)
    assert raw(x).ctypes.data == address
    np.testing.assert_array_equal(x.numpy()[:10], np.arange(10.0))


def test_a_live_view_does_not_stop_writing_in_place():
    x = pg.zeros((1000,))
    view = x[5:]
    address = raw(x).ctypes.data
    x[6] = 3.0
    assert view.numpy()[1] == 3.0
    x[7] = 4.0
    assert raw(x).ctypes.data == address


@pytest.mark.parametrize("observer", ["saved", "raw", "shared grad", "numpy"])
def test_what_others_hold_is_never_overwritten(observer):
    x = pg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    if observer == "saved":
        z = y * y
        y += 1
        pg.sum(z).backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2, 4])
    elif observer == "raw":
        held = raw(y)
        y += 1
        np.testing.assert_array_equal(held, [1, 2])
    elif observer == "shared grad":
        w = pg.tensor([0.0, 0.0], requires_grad=True)
        pg.sum(x + w).backward()
        with pg.no_grad():
            x.grad *= 10
        np.testing.assert_array_equal(w.grad.numpy(), [1, 1])
    else:
        held = y.detach().numpy()
        with pg.no_grad():
            y += 1
        np.testing.assert_array_equal(held, [1, 2])


def test_user_memory_is_never_overwritten():
    mine = np.arange(4.0)
    t = pg.asarray(mine)
    t[0] = 9.0
    t += 1
    np.testing.assert_array_equal(mine, np.arange(4.0))


def test_views_know_when_they_are_views():
    x = pg.tensor(np.arange(6.0).reshape(2, 3))
    flat = pg.reshape(x, (6,))
    flat[0] = 7.0
    assert x[0, 0].item() == 7.0
    copied = pg.reshape(x.T, (6,))
    copied[1] = 9.0
    assert x[1, 0].item() == 3.0
    with pytest.raises(ShapeError, match="without a copy"):
        pg.reshape(x.T, (6,), copy=False)


def test_swap_through_0d_views_aliases_as_in_pytorch():
    x = pg.tensor([1.0, 2.0])
    t = x[0]
    x[0] = x[1]
    assert t.item() == 2.0


def test_complex_parts_are_writable_views():
    z = pg.tensor([1 + 2j, 3 + 4j])
    z.real[0] = 9.0
    z.imag += 1
    np.testing.assert_array_equal(z.numpy(), np.asarray([9 + 3j, 3 + 5j], dtype="complex64"))


@pytest.mark.parametrize(
    ("write", "error", "words"),
    [
        (lambda x, y: x.__iadd__(1), InPlaceError, "leaf that requires grad"),
        (lambda x, y: x[1:].__imul__(2), InPlaceError, "through a view"),
        (lambda x, y: pg.broadcast_to(y, (2, 3)).__iadd__(1), InPlaceError, "share memory"),
        (lambda x, y: y.__iadd__(pg.ones((2, 3))), ShapeError, "another shape"),
        (lambda x, y: y.__imul__(pg.tensor([1j, 1j, 1j])), DtypeError, "does not fit"),
        (lambda x, y: y.__setitem__(0, 1j), DtypeError, "complex value"),
        (lambda x, y: y.__setitem__(pg.tensor([0, 7]), 0.0), OutOfRangeError, "out of range"),
        (lambda x, y: y.__setitem__(slice(0, 2), pg.ones((3,))), ShapeError, "does not fit"),
        (lambda x, y: pg.tensor([1, 2]).__iadd__(0.5), DtypeError, "does not fit"),
        (lambda x, y: pg.tensor([1, 2]).__itruediv__(2), DtypeError, "does not fit"),
    ],
)
def test_refusals_come_before_any_change(write, error, words):
    x = pg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    with pytest.raises(error, match=words):
        write(x, y)
    np.testing.assert_array_equal(x.detach().numpy(), [1, 2, 3])
    np.testing.assert_array_equal(y.detach().numpy(), [2, 4, 6])
    pg.sum(y * y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [8, 16, 24])


def test_view_made_under_no_grad_is_frozen():
    x = pg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    with pg.no_grad():
        v = y[1:]
    with pytest.raises(InPlaceError, match="made under no_grad"):
        v += 1
    with pg.no_grad():
        v += 1
    np.testing.assert_array_equal(y.detach().numpy(), [1, 3])


def test_detached_alias_has_its_own_history():
    x = pg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    d = y.detach()
    d[0] = x[1] * 2
    assert d.requires_grad
    np.testing.assert_array_equal(y.detach().numpy(), [4, 6])
    pg.sum(d).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0, 2])


def test_overwritten_leaf_keeps_its_path_in_second_order():
    x = pg.tensor([2.0, 3.0], dtype=pg.float64, requires_grad=True)
    y = pg.sum(x * x * x)
    with pg.no_grad():
        x *= 10
    (g,) = pg.autograd.grad(y, [x], create_graph=True)
    (h,) = pg.autograd.grad(pg.sum(g), [x])
    np.testing.assert_allclose(h.numpy(), [12.0, 18.0])


def test_hooks_stay_with_the_value_retain_grad_moves():
    x = pg.tensor([1.0], requires_grad=True)
    y = x * 1
    seen = []
    y.register_hook(seen.append)
    y.retain_grad()
    y *= 3
    (y * 5).backward()
    assert seen[0].numpy()[0] == 15.0
    assert y.grad.numpy()[0] == 5.0


def test_a_base_whose_name_is_gone_lives_in_its_views(no_collector):
    x = pg.tensor(np.arange(4.0))
    v = x[1:]
    r = weakref.ref(x)
    del x
    v += 1
    np.testing.assert_array_equal(v.numpy(), [2, 3, 4])
    assert r() is not None
    del v
    assert r() is None


def test_a_chain_of_views_is_followed_without_recursion():
    x = pg.tensor(np.arange(4.0))
    v = x
    for _ in range(1500):
        v = v[:]
    x[0] = 9.0
    assert v[0].item() == 9.0


def test_zero_fill_copy_write_in_place_and_return_the_tensor():
    x = pg.tensor([1.0, 2.0])
    view = x[1:]
    assert x.fill_(3.0) is x
    assert view.tolist() == [3.0]
    np.testing.assert_array_equal(x.copy_([4.0, 5.0]).numpy(), [4, 5])
    np.testing.assert_array_equal(x.zero_().numpy(), [0, 0])
    with pytest.raises(InPlaceError, match="leaf"):
        pg.tensor([1.0], requires_grad=True).zero_()


def test_a_view_that_requires_grad_has_a_history_of_its_own():
    y = pg.tensor([1.0, 2.0, 3.0])
    v = y[1:].requires_grad_()
    with pg.no_grad():
        y[1] = 5.0
    assert v.requires_grad
    assert v.is_leaf
    pg.sum(v * v).backward()
    np.testing.assert_array_equal(v.grad.numpy(), [10, 6])
    assert not y.requires_grad
