"""Reading, writing and gathering with every form of key, against NumPy's own indexing."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, InPlaceError, OutOfRangeError, ShapeError
from polygrad.registry import find_backend, find_device
from polygrad.testing import assert_close

SHAPE = (3, 4, 2)
BASIC = [
    0, -1, (1, 2), (1, 2, 1), (slice(None), 1), (Ellipsis, 0), (1, Ellipsis), (None, 1),
        (0, None, 2),
    Ellipsis, (), None, slice(None), slice(1, None), slice(None, -1), slice(None, None, -1),
    slice(None, None, 2), slice(2, 0, -1), slice(-1, -9, -2), slice(5, 9), slice(2, 1),
        slice(-9, 99),
    (slice(None, None, -2), slice(3, None, -1), slice(None, None, -1)),
    (1, slice(2, 0, -1), None, -2),
    (slice(0, 0), Ellipsis, None), (Ellipsis, None, 1), (slice(None), None, slice(1, 3)),
    np.int64(1), (np.int32(0), np.uint8(2)),
]  # fmt: skip
MASK = np.arange(24).reshape(SHAPE) % 3 == 0
ADVANCED = [
    [0, 2], [2, 0, 0, -1], np.asarray([1, -3]), np.asarray([[0, 1], [2, 0]]), [],
    np.zeros((0, 2), int),
    (slice(None), [0, 3, 3]), (Ellipsis, [1, 0]), ([0, 2], [1, 1]), ([0, 2], slice(None), [1, 1]),
    (0, slice(None), [0, 1]), ([[0], [2]], [1, 3]), ([0, 1], None, [2, 2]), (None, [0, 1], 1),
    (slice(None, None, -1), [0, 1], slice(1, 2)), ([1, 2], Ellipsis, 0), (Ellipsis, [0, 1], [1, 0]),
    (slice(None), 1, [0, 1]), (1, [2, 3]), np.asarray(2), (np.asarray(1), slice(None), [0, 1]),
    MASK, MASK[:, :, 0], np.asarray([True, False, True]), [False, True, True], np.zeros(3, bool),
    (slice(None), np.asarray([True, False, False, True])), (MASK[:, 0, 0], [0]),
    (np.asarray([True, False, True]), slice(None), [0, 1]), True, False, (True, 0),
    (slice(None), MASK[0]), np.asarray([0, 2], dtype=np.uint8), np.asarray([0, 2], dtype=np.int32),
]  # fmt: skip
KEYS = BASIC + ADVANCED
WRITES = [k for k in KEYS if not (isinstance(k, (list, np.ndarray)) and len(np.shape(k)) == 0)]


def values(device, shape=SHAPE):
    place = find_device(device)
    wide = find_backend(place.kind).supports(pg.float64, place)
    return np.linspace(-2.0, 3.0, int(np.prod(shape))).reshape(shape).astype("f8" if wide else "f4")


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_getitem_gives_what_numpy_gives_and_its_gradient_goes_back(key, device):
    a = values(device)
    x = pg.tensor(a, device=device, requires_grad=True)
    y = x[key]
    want = a[key]
    assert y.shape == want.shape
    assert y.dtype == a.dtype
    assert y.device == device
    assert_close(y, want)
    weight = pg.tensor(
        np.cos(np.arange(want.size)).reshape(want.shape).astype(a.dtype), device=device
    )
    (y * weight).sum().backward()
    expected = np.zeros_like(a)
    np.add.at(expected, key, weight.numpy())
    assert_close(x.grad, expected)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_getitem_is_differentiable_twice(key):
    x = pg.tensor(values("cpu"), requires_grad=True)
    assert pg.autograd.gradgradcheck(lambda t: t[key] ** 3, [x])


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_setitem_writes_where_numpy_writes(key, device):
    a = values(device)
    room = a[key].shape
    for value in (7.0, np.linspace(5.0, 6.0, int(np.prod(room))).reshape(room).astype(a.dtype)):
        t = pg.tensor(a, device=device)
        t[key] = value if isinstance(value, float) else pg.tensor(value, device=device)
        want = a.copy()
        want[key] = value
        assert_close(t, want)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_setitem_has_the_gradients_of_the_last_write(key, device):
    a = values(device)
    room = a[key].shape
    x = pg.tensor(a, device=device, requires_grad=True)
    v = pg.tensor(np.ones(room, a.dtype), device=device, requires_grad=True)
    y = x * 1
    y[key] = v
    weight = values(device) ** 2 + 1
    (y * pg.tensor(weight, device=device)).sum().backward()
    source = np.full(a.size, -1)  # which element of v each place of y holds
    grid = np.arange(a.size).reshape(a.shape)[key]
    source[np.asarray(grid).reshape(-1)] = np.arange(v.size)
    assert_close(x.grad, np.where(source.reshape(a.shape) < 0, weight, 0))
    expected = np.zeros(v.size)
    np.add.at(expected, source[source >= 0], weight.reshape(-1)[source >= 0])
    assert_close(v.grad, expected.reshape(room).astype(a.dtype))


def random_key(r, shape):
    """Any mixture of ints, slices, None, an ellipsis and integer arrays that broadcast."""
    key, room, dotted, axis = [], tuple(r.integers(1, 4, r.integers(1, 3))), False, 0
    while axis < len(shape):
        n, kind = shape[axis], r.integers(7)
        if kind == 0:
            key.append(None)
        elif kind == 1 and not dotted:
            key.append(Ellipsis)
            dotted, axis = True, axis + r.integers(len(shape) - axis + 1)
        elif kind == 2:
            key.append(int(r.integers(-n, n)))
            axis += 1
        elif kind in (3, 4):
            start, stop = (
                None if r.random() < 0.4 else int(r.integers(-n - 2, n + 3)) for _ in "ab"
            )
            key.append(slice(start, stop, int(r.choice([-3, -2, -1, 1, 2, 3]))))
            axis += 1
        else:
            key.append(r.integers(-n, n, tuple(1 if r.random() < 0.2 else m for m in room)))
            axis += 1
    return tuple(key)


@pytest.mark.parametrize("name", ["cpu", "frozen:0", "strict:cpu"])
def test_random_keys_read_write_and_differentiate_as_numpy_says(name):
    r = np.random.default_rng(1)
    for _ in range(200):
        a = r.standard_normal(tuple(r.integers(1, 5, r.integers(0, 5))))
        key = random_key(r, a.shape)
        x = pg.tensor(a, device=name, requires_grad=True)
        y = x[key]
        assert_close(y, a[key], what=f"{a.shape} {key}")
        w = r.standard_normal(y.shape)
        (g,) = pg.autograd.grad((y * pg.tensor(w, device=name)).sum(), [x], materialize_grads=True)
        expected = np.zeros(a.shape)
        np.add.at(expected, key, w)
        assert_close(g, expected, what=f"{a.shape} {key}")
        z = x * 1
        z[key] = pg.tensor(w, device=name)
        a[key] = w
        assert_close(z, a, what=f"{a.shape} {key}")


def test_a_key_may_be_tensors_and_numbers_of_any_library():
    x = pg.tensor(values("cpu"))
    assert_close(x[pg.asarray([0, 2])], x[[0, 2]].numpy())
    assert_close(x[pg.asarray([0, 2]), 1, pg.asarray([1, 1])], x.numpy()[[0, 2], 1, [1, 1]])
    assert_close(x[x > 0], x.numpy()[x.numpy() > 0])
    assert_close(x[pg.asarray(1)], x.numpy()[1])
    assert x[pg.asarray(1)].alias is not None  # a 0-d integer makes a view, as an int does
    n = pg.asarray(2)
    assert_close(x[:n, n:], x.numpy()[:2, 2:])


def test_a_key_is_what_it_was_when_it_was_used():
    index, mask = np.asarray([0, 1]), np.asarray([True, False, False])
    x = pg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y, z = x[index], x[mask]
    index[:], mask[:] = 2, True
    (y.sum() + 10 * z.sum()).backward()
    assert_close(x.grad, [11.0, 1.0, 0.0])


@pytest.mark.parametrize(
    "key", [3, -4, (0, 4), (0, 0, 2), (slice(None), 9), [0, 3], [-4], ([0, 1], [0, 4])], ids=repr
)
def test_an_index_out_of_range_is_an_error_everywhere(key, device):
    x = pg.tensor(values(device), device=device, requires_grad=True)
    with pytest.raises(OutOfRangeError, match="index"):
        x[key]
    y = x * 1
    with pytest.raises(OutOfRangeError, match="index"):
        y[key] = 0.0
    assert_close(y, x.detach().numpy())
    y.sum().backward()
    assert_close(x.grad, np.ones(SHAPE))


@pytest.mark.parametrize(
    "key", [1.5, "a", [0.5], (0, 0, 0, 0), (Ellipsis, 0, Ellipsis), np.ones(4, bool)], ids=repr
)
def test_what_is_no_index_is_an_error(key, device):
    x = pg.tensor(values(device), device=device)
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 1.0
    assert_close(x, values(device))


def test_a_value_must_fit_where_it_is_written(device):
    x = pg.tensor(values(device), device=device)
    for value in (pg.ones(3, device=device), pg.ones((2, 4, 2), device=device)):
        with pytest.raises(ShapeError, match="does not fit"):
            x[0] = value
    with pytest.raises(DtypeError, match="complex"):
        x[0] = 1j
    assert_close(x, values(device))


def test_writes_take_lists_arrays_and_numbers():
    x = pg.zeros((2, 3))
    x[0] = [1, 2, 3]
    x[1, :2] = np.asarray([4.0, 5.0])
    x[1, 2] = np.float64(6)
    assert_close(x, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert x.dtype == pg.float32


def test_basic_keys_are_views_and_others_copies(device):
    x = pg.tensor(values(device), device=device)
    view, copy = x[1], x[[1]]
    x[1] = 5.0
    assert_close(view, np.full((4, 2), 5.0))
    assert_close(copy, values(device)[[1]])
    view[0] = 6.0
    assert_close(x[1, 0], [6.0, 6.0])
    copy[...] = 9.0
    assert_close(x[1, 1], [5.0, 5.0])


def test_chained_views_write_through(device):
    a = values(device)
    x = pg.tensor(a, device=device)
    x[::-1][1:][0, ::2] = 8.0
    a[::-1][1:][0, ::2] = 8.0
    assert_close(x, a)


def test_a_zero_dimensional_tensor_is_indexed(device):
    x = pg.tensor(np.float32(3), device=device, requires_grad=True)
    for key in ((), Ellipsis, None, (None, None)):
        y = x[key]
        assert y.shape == np.zeros(())[key].shape
        (g,) = pg.autograd.grad(y.sum() * 2, [x])
        assert_close(g, 2.0)
    with pytest.raises(IndexError):
        x[0]
    y = x * 1
    y[...] = 4.0
    assert y.detach().item() == 4


def test_in_place_addition_at_equal_indices_happens_once():
    x = pg.zeros(3)
    x[[0, 0, 1]] += 1
    assert_close(x, [1.0, 1.0, 0.0])


def test_a_leaf_that_requires_grad_is_not_written():
    x = pg.tensor([1.0, 2.0], requires_grad=True)
    for key in (0, [0], slice(None), np.asarray([True, False])):
        with pytest.raises(InPlaceError):
            x[key] = 5.0
    assert_close(x.detach(), [1.0, 2.0])
    with pg.no_grad():
        x[0] = 5.0
    assert_close(x.detach(), [5.0, 2.0])
    assert x.is_leaf


def test_iteration_and_unpacking():
    a, b = pg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (a * b).sum().backward()
    assert len(pg.ones((4, 2))) == 4
    with pytest.raises(TypeError):
        iter(pg.asarray(1.0))


# ---- take and its kind -----------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("index", [[0, 1, 1], [-1, 0], [], [[0, 1], [1, 1]]], ids=repr)
def test_take_agrees_with_numpy(axis, index, device):
    a = values(device)
    places = np.asarray(index, dtype=np.int32)
    x = pg.tensor(a, device=device, requires_grad=True)
    y = pg.take(x, pg.tensor(places, device=device), axis=axis)
    want = np.take(a, places, axis=axis)
    assert y.shape == want.shape
    assert_close(y, want)
    (y * y).sum().backward()
    expected = np.zeros_like(a)
    key = (*(slice(None),) * (axis % 3), places)
    np.add.at(expected, key, 2 * want)
    assert_close(x.grad, expected)


def test_indices_out_of_range_are_errors_everywhere(device):
    x = pg.tensor(values(device), device=device)
    for index in ([3], [-4]):
        places = pg.tensor(np.asarray(index, dtype=np.int32), device=device)
        lane = pg.tensor(np.full((1, 4, 2), index[0], dtype=np.int32), device=device)
        with pytest.raises(OutOfRangeError):
            pg.take(x, places, axis=0)
        with pytest.raises(OutOfRangeError):
            pg.take_along_axis(x, lane, axis=0)
        with pytest.raises(OutOfRangeError):
            pg.index_add(x, places, pg.ones((1, 4, 2), device=device), axis=0)


def test_indices_must_be_integers_and_axes_exist():
    x = pg.ones((2, 3))
    with pytest.raises(DtypeError, match="integers"):
        pg.take(x, pg.asarray([0.0]), axis=0)
    with pytest.raises(ValueError, match="axis is needed"):
        pg.take(x, pg.asarray([0]))
    with pytest.raises(OutOfRangeError, match="axis"):
        pg.take(x, pg.asarray([0]), axis=2)
    with pytest.raises(ShapeError, match="rank"):
        pg.take_along_axis(x, pg.asarray([0]), axis=0)
    with pytest.raises(ShapeError, match="broadcast"):
        pg.index_add(x, pg.asarray([0, 1]), pg.ones((3, 3)), axis=0)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_along_axis_inverts_a_sort_and_broadcasts(axis, device):
    a = np.random.default_rng(0).permutation(24).reshape(SHAPE).astype("f4")
    order = np.argsort(a, axis=axis).astype(np.int32)
    x = pg.tensor(a, device=device, requires_grad=True)
    y = pg.take_along_axis(x, pg.tensor(order, device=device), axis=axis)
    assert_close(y, np.sort(a, axis=axis))
    weight = np.arange(24, dtype="f4").reshape(SHAPE)
    (y * pg.tensor(weight, device=device)).sum().backward()
    expected = np.zeros_like(a)
    np.put_along_axis(expected, order, weight, axis=axis)
    assert_close(x.grad, expected)
    one = pg.tensor(np.zeros([1] * 3, dtype=np.int32), device=device)
    want = np.take_along_axis(
        a, np.zeros([1 if i == axis else n for i, n in enumerate(SHAPE)], int), axis
    )
    assert_close(pg.take_along_axis(x, one, axis=axis), want)


def test_index_add_adds_up_and_leaves_its_input_alone(device):
    x = pg.zeros(4, device=device)
    places = pg.tensor(np.asarray([1, -1, 1], dtype=np.int32), device=device)
    y = pg.index_add(x, places, pg.tensor(np.float32([1, 2, 4]), device=device), axis=0)
    assert_close(y, [0.0, 5.0, 0.0, 2.0])
    assert_close(x, np.zeros(4))
