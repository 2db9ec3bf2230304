"""Views and writes: random programs against the oracle, directed checks without the collector."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import polygrad as pg
from polygrad.backends.frozen_backend import FrozenBackend
from polygrad.backends.numpy_backend import NumpyBackend
from polygrad.errors import DtypeError, InPlaceError, InvalidTypeError, OutOfRangeError, ShapeError
from polygrad.tensor import raw
from tests.view_oracle import alive, run_programs


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_nothing_is_leaked_with_the_collector_off(no_collector):
    before = alive()

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
    assert alive() == before


def test_dead_views_take_themselves_out(no_collector):
    x = pg.tensor(np.arange(6.0))
    for _ in range(100):
        x[1:]
    assert len(x.alias) == 0


@pytest.fixture
def copies(monkeypatch):
    """The sizes of the arrays that a write copied."""
    made = []
    for cls in (NumpyBackend, FrozenBackend):
        for name in ("copy", "set_at"):
            real = getattr(cls, name)

            def counted(self, array, *rest, real=real):
                made.append(array.size)
                return real(self, array, *rest)

            monkeypatch.setattr(cls, name, counted)
    return made


WRITES = {
    "elements": lambda x, i, held: x.__setitem__(i, float(i)),
    "slices": lambda x, i, held: x.__setitem__(slice(i, i + 3), float(i)),
    "masks and indices": lambda x, i, held: x.__setitem__(pg.tensor([i, i + 1]), float(i)),
    "through a view": lambda x, i, held: x[2:].__setitem__(i, float(i)),
    "through a reshaped view": lambda x, i, held: pg.reshape(x, (2, -1)).T.__setitem__((i, 0), 1.0),
    "in-place arithmetic": lambda x, i, held: x[i : i + 2].__iadd__(1.0),
    "beside a view that is read": lambda x, i, held: (x.__setitem__(i, 1.0), held[0].tolist()),
    "recorded": lambda x, i, held: x.__setitem__(i, held[1] * 1.0),
}


@pytest.mark.parametrize("size", [100, 100_000])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_in_a_loop_copies_nothing_however_long_the_tensor(name, size, copies):
    x = pg.zeros(size)
    held = x[size // 2 :][:3], pg.tensor(2.0, requires_grad=True)
    address = raw(x).ctypes.data
    for i in range(20):
        WRITES[name](x, i, held)
    assert copies == []
    assert raw(x).ctypes.data == address


@pytest.mark.parametrize("write", [lambda x, i: x.__setitem__(i, 1.0), lambda x, i: x.__iadd__(1)])
def test_of_many_writes_only_the_first_copies_what_was_saved(write, copies):
    w = pg.tensor(np.ones(50), requires_grad=True)
    x = pg.tensor(np.arange(50.0))
    z = w * x  # saves x
    before = raw(x).ctypes.data
    write(x, 0)
    address = raw(x).ctypes.data
    assert address != before
    for i in range(20):
        write(x, i)
    assert len(copies) <= 1  # x + 1 copies without a call
    assert raw(x).ctypes.data == address
    pg.sum(z).backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.arange(50.0))


def test_arrays_that_cannot_be_written_are_copied_by_each_write(copies):
    x = pg.zeros(50, device="frozen:0")
    for i in range(20):
        x[i] = 1.0
    assert copies.count(50) >= 20


def test_the_values_of_writes_in_a_loop():
    x = pg.zeros(10)
    view = x[5:]
    for i in range(10):
        x[i] = float(i)
    np.testing.assert_array_equal(x.numpy(), np.arange(10.0))
    np.testing.assert_array_equal(view.numpy(), np.arange(5.0, 10.0))


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
    part = pg.asarray(mine[1:3])  # nobody else holds this view of it
    part[0] = 9.0
    part += 1
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


def test_a_view_of_memory_in_another_order_is_written():
    x = pg.tensor(np.arange(6.0).reshape(2, 3))
    y = pg.sin(x.T)  # in F order, where NumPy copies to reshape
    flat = pg.reshape(y, (6,))
    flat[1] = 7.0
    flat *= 2
    assert y[0, 1].item() == 14.0


def test_a_stale_view_that_is_read_under_no_grad_keeps_its_history():
    x = pg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    v = y[1:]
    y *= 3
    with pg.no_grad():
        assert v.requires_grad
    pg.sum(v).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0, 3])


def test_a_view_of_a_detached_view_differentiates_through_the_alias():
    x = pg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = pg.zeros(4)
    d = y[1:].detach()
    v = d[1:]
    d[...] = x * 2
    np.testing.assert_array_equal(y.numpy(), [0, 2, 4, 6])
    pg.sum(v).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0, 2, 2])


def test_swap_through_0d_views_aliases_as_in_pytorch():
    x = pg.tensor([1.0, 2.0])
    t = x[0]
    x[0] = x[1]
    assert t.item() == 2.0


@pytest.mark.parametrize("recorded", [False, True])
def test_complex_parts_are_writable_views(device, recorded):
    z = pg.tensor([1 + 2j, 3 + 4j], dtype=pg.complex64, device=device)
    x = pg.tensor([1.0, 2.0], dtype=pg.float32, device=device, requires_grad=recorded)
    z = z + x - x
    z.real[0] = 9.0
    z.imag += 1
    z.imag[1] = x[1] * 3
    np.testing.assert_array_equal(z.detach().numpy(), np.asarray([9 + 3j, 3 + 6j], "complex64"))
    if recorded:
        pg.sum(z.real + 10 * z.imag).backward()
        np.testing.assert_array_equal(x.grad.numpy(), [0, 30])


@pytest.mark.parametrize(
    ("write", "error", "words"),
    [
        (lambda x, y: x.__iadd__(1), InPlaceError, "leaf that requires grad"),
        (lambda x, y: x[1:].__imul__(2), InPlaceError, "through a view"),
        (lambda x, y: pg.broadcast_to(y, (2, 3)).__iadd__(1), InPlaceError, "share memory"),
        (lambda x, y: y.__iadd__(pg.ones((2, 3))), ShapeError, "another shape"),
        (lambda x, y: y.__imul__(pg.tensor([1j, 1j, 1j])), DtypeError, "does not fit"),
        (lambda x, y: y.__setitem__(0, 1j), DtypeError, "complex value"),
        (lambda x, y: y.__setitem__(0, None), InvalidTypeError, "None is no number. setitem"),
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


def test_a_checkpoint_runs_again_where_a_view_is_no_longer_stale():
    x = pg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    v = y[1:]
    y *= 3

    def function(t):
        return pg.sum(t * v) + pg.sum(t * t)  # the first time, v is looked up

    pg.autograd.checkpoint(function, x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2 + 6, 4 + 6 + 9])


# ---- random programs -----------------------------------------------------------------------------
# Programs for gradients, and programs for second derivatives. `make views` runs many more.
PROGRAMS = {
    "cpu": (300, 200), "frozen:0": (150, 100), "strict:cpu": (60, 40),
    "sycl:cpu:0": (16, 12), "jax:cpu:0": (5, 3),
}  # fmt: skip


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("device", PROGRAMS, indirect=True)
def test_random_programs(device, create_graph):
    first = 5000 if create_graph else 0
    run_programs(range(first, first + PROGRAMS[device][create_graph]), device, create_graph)
