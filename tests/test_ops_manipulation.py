"""Manipulation by hand: edge cases, views, errors. In general: test_ops_generated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import (
    InPlaceError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
)
from polygrad.ops.linear_algebra import linear
from polygrad.testing import assert_close


def values(*shape):
    return np.linspace(-1.5, 2.0, int(np.prod(shape))).reshape(shape).astype("f4")


def leaf(device, *shape):
    return pg.tensor(values(*shape), device=device, requires_grad=True)


def weighted(y):
    """The gradient of a sum with different weights, and the weights."""
    w = np.cos(np.arange(y.size)).reshape(y.shape).astype("f4")
    (y * pg.tensor(w, device=y.device)).sum().backward()
    return w


# ---- views ------------------------------------------------------------------------------------
VIEWS = {
    "reshape": (lambda xp, t: xp.reshape(t, (4, 3)), True),
    "permute_dims": (lambda xp, t: xp.permute_dims(t, (1, 2, 0)), True),
    "expand_dims": (lambda xp, t: xp.expand_dims(t, axis=1), True),
    "squeeze": (lambda xp, t: xp.squeeze(xp.expand_dims(t, axis=(0, 2)), axis=(0, 2)), True),
    "moveaxis": (lambda xp, t: xp.moveaxis(t, -1, 0), True),
    "matrix_transpose": (lambda xp, t: xp.matrix_transpose(t), True),
    "mT": (lambda xp, t: t.mT, True),
    "flatten": (lambda xp, t: t.flatten(), True),
    "flip": (lambda xp, t: xp.flip(t, axis=0), False),
    "roll": (lambda xp, t: xp.roll(t, 1, axis=0), False),
    "copied": (lambda xp, t: xp.reshape(t, (12,), copy=True), False),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_written_through_and_a_copy_is_not(name, device):
    make, is_view = VIEWS[name]
    x = pg.tensor(values(2, 3, 2), device=device)
    y = make(pg, x)
    before = y.numpy().copy()
    x += 10.0
    if is_view:
        assert_close(y, before + 10)
        y *= 2.0
        assert_close(x, (values(2, 3, 2) + 10) * 2)
    else:
        assert_close(y, before)
        y *= 2.0
        assert_close(x, values(2, 3, 2) + 10)


def test_a_broadcast_follows_its_base_and_cannot_be_written(device):
    x = pg.tensor(values(3), device=device)
    y = pg.broadcast_to(x, (2, 3))
    x[0] = 9.0
    assert_close(y[:, 0], [9.0, 9.0])
    with pytest.raises(InPlaceError, match="share memory"):
        y[0, 0] = 1.0
    a, b = pg.broadcast_arrays(x, pg.ones((2, 1), device=device))
    assert a.shape == b.shape == (2, 3)
    with pytest.raises(InPlaceError):
        a += 1.0
    w = pg.sliding_window_view(x, 2)
    x[1] = 5.0
    assert_close(w, [[9.0, 5.0], [5.0, 2.0]])
    with pytest.raises(InPlaceError):
        w[0, 0] = 1.0


def test_reshape_is_a_view_where_strides_allow_one():
    x = pg.tensor(values(2, 3))
    t = x.T
    assert pg.reshape(t, (3, 1, 2)).alias.root is x
    assert_close(pg.reshape(t, (6,)), values(2, 3).T.reshape(6))
    with pytest.raises(ShapeError, match="without a copy"):
        pg.reshape(t, (6,), copy=False)
    assert pg.reshape(x, (6,), copy=False).alias.root is x


@pytest.mark.parametrize("shape", [(-1,), (3, -1), (-1, 1, 6), (2, 3, -1), 6, [2, 3]])
def test_reshape_infers_a_length(shape):
    assert pg.reshape(pg.ones((2, 3)), shape).shape == np.ones((2, 3)).reshape(shape).shape


@pytest.mark.parametrize("shape", [(4, 2), (-1, 4), (-1, -1), (0, -1), ()])
def test_reshape_refuses_other_sizes(shape):
    with pytest.raises(ShapeError, match="argument shape"):
        pg.reshape(pg.ones((2, 3)), shape)
    with pytest.raises(InvalidArgumentError, match="not negative"):
        pg.reshape(pg.ones((2, 3)), (-2, -3))
    with pytest.raises(InvalidTypeError):
        pg.reshape(pg.ones((2, 3)), (2, 1.5))


def test_empty_tensors_are_reshaped():
    assert pg.reshape(pg.ones((0, 3)), (3, 0, 2)).shape == (3, 0, 2)
    assert pg.reshape(pg.ones((0, 3)), (-1, 3)).shape == (0, 3)
    with pytest.raises(ShapeError, match="undetermined"):
        pg.reshape(pg.ones((0, 3)), (-1, 0))


def test_methods_take_shapes_as_ints_or_tuples():
    x = pg.ones((2, 3, 4))
    assert x.reshape(4, -1).shape == x.reshape((4, -1)).shape == x.reshape([4, 6]).shape == (4, 6)
    assert x.reshape(-1).shape == (24,)
    assert pg.asarray(1.0).reshape(()).shape == pg.ones((1, 1)).reshape(()).shape == ()
    assert x.permute_dims(2, 0, 1).shape == x.permute_dims((2, 0, 1)).shape == (4, 2, 3)
    assert x.flatten(1).shape == (2, 12)
    assert x.flatten(0, 1).shape == (6, 4)
    assert pg.asarray(1.0).flatten().shape == (1,)
    with pytest.raises(ShapeError, match="comes after"):
        x.flatten(2, 1)


def test_the_transpose_is_for_matrices():
    assert pg.ones((2, 3)).T.shape == (3, 2)
    for shape in ((3,), (2, 3, 4), ()):
        with pytest.raises(ShapeError, match=r"\.mT"):
            _ = pg.ones(shape).T
    with pytest.raises(ShapeError, match="last two axes"):
        _ = pg.ones(3).mT


def test_real_and_imaginary_parts_are_views_of_complex_tensors(device):
    z = pg.tensor(np.complex64([1 + 2j, 3 - 4j]), device=device)
    re, im = z.real, z.imag
    z *= 1j
    assert_close(re, [-2.0, 4.0])
    im[0] = 7.0
    assert_close(z, [-2 + 7j, 4 + 3j])
    x = pg.ones(2, device=device)
    assert x.real is x
    assert_close(x.imag, [0.0, 0.0])


AXIS_ERRORS = [
    lambda x: pg.permute_dims(x, (0, 2)), lambda x: pg.expand_dims(x, axis=3),
    lambda x: pg.squeeze(x, 2),
    lambda x: pg.moveaxis(x, 2, 0), lambda x: pg.flip(x, axis=2), lambda x: pg.roll(x, 1, axis=-3),
    lambda x: pg.concat([x, x], axis=2), lambda x: pg.stack([x, x], axis=3),
    lambda x: pg.unstack(x, axis=2),
    lambda x: pg.repeat(x, 2, axis=2), lambda x: pg.sliding_window_view(x, 1, axis=5),
    lambda x: pg.tensordot(x, x, axes=((2,), (0,))),
]  # fmt: skip


@pytest.mark.parametrize("call", AXIS_ERRORS)
def test_an_axis_that_is_not_there(call):
    with pytest.raises(OutOfRangeError, match="axis"):
        call(pg.ones((2, 3)))


ARGUMENT_ERRORS = [
    (ShapeError, "another length than 1", lambda x: pg.squeeze(x, 1)),
    (InvalidArgumentError, "twice", lambda x: pg.permute_dims(x, (0, 0))),
    (InvalidArgumentError, "permutation", lambda x: pg.permute_dims(x, (0,))),
    (InvalidArgumentError, "places", lambda x: pg.moveaxis(x, (0, 1), 0)),
    (ShapeError, "does not broadcast", lambda x: pg.broadcast_to(x, (3, 2))),
    (ShapeError, "does not broadcast", lambda x: pg.broadcast_to(x, (3,))),
    (ShapeError, "cannot be broadcast", lambda x: pg.broadcast_arrays(x, pg.ones((4, 3)))),
    (ShapeError, "do not agree", lambda x: pg.concat([x, pg.ones((2, 4))])),
    (ShapeError, "do not agree", lambda x: pg.concat([x, pg.ones(3)])),
    (ShapeError, "differ", lambda x: pg.stack([x, pg.ones((2, 4))])),
    (InvalidArgumentError, "nothing to join", lambda x: pg.concat([])),
    (InvalidArgumentError, "nothing to join", lambda x: pg.stack([])),
    (InvalidArgumentError, "2 shifts for 1 axes", lambda x: pg.roll(x, (1, 2), axis=0)),
    (InvalidArgumentError, "negative", lambda x: pg.repeat(x, -1)),
    (ShapeError, "3 counts", lambda x: pg.repeat(x, pg.asarray([1, 2, 3]), axis=0)),
    (InvalidTypeError, "integers", lambda x: pg.repeat(x, 1.5)),
    (InvalidArgumentError, "not negative", lambda x: pg.tile(x, (-1,))),
    (InvalidArgumentError, "negative", lambda x: pg.pad(x, -1)),
    (InvalidArgumentError, "no widths", lambda x: pg.pad(x, (1, 2, 3))),
    (InvalidArgumentError, "no mode", lambda x: pg.pad(x, 1, mode="mirror")),
    (ShapeError, "empty", lambda x: pg.pad(x[:0], 1, mode="edge")),
    (ShapeError, "does not fit", lambda x: pg.sliding_window_view(x, (3, 1))),
    (InvalidArgumentError, "2 axes", lambda x: pg.sliding_window_view(x, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "text", "call"), ARGUMENT_ERRORS)
def test_arguments_that_make_no_sense(error, text, call):
    with pytest.raises(error, match=text):
        call(pg.ones((2, 3)))


# ---- joining, repeating, padding -------------------------------------------------------------
def test_joining_promotes_and_each_part_gets_its_own_gradient(device):
    x = leaf(device, 2, 3)
    n = pg.tensor(np.int32([[7, 8, 9]]), device=device)
    y = pg.concat([x, n, x[:1], 2 * x], axis=0)
    assert y.dtype == pg.float32
    w = weighted(y)
    expected = w[:2] + 2 * w[4:]
    expected[:1] += w[3:4]
    assert_close(x.grad, expected)


def test_joining_numbers_and_arrays():
    x = pg.tensor([1.0], requires_grad=True)
    assert_close(pg.stack([x[0], 2.0, np.float32(3)]), [1.0, 2.0, 3.0])
    assert_close(pg.concat([x, np.ones(2, "f4")], axis=None), [1.0, 1.0, 1.0])
    assert_close(pg.concat((pg.ones((2, 1)), pg.zeros(3)), axis=None), [1.0, 1.0, 0.0, 0.0, 0.0])


def test_unstack_is_one_step_and_unused_slices_get_zeros(device):
    x = leaf(device, 3, 2)
    a, _, c = pg.unstack(x)
    assert a.grad_fn is c.grad_fn
    (a * c).sum().backward()
    v = values(3, 2)
    assert_close(x.grad, np.stack([v[2], np.zeros(2, "f4"), v[0]]))
    (g,) = pg.autograd.grad(pg.unstack(x)[1].sum(), [x])
    assert_close(g, [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    assert pg.unstack(x[:0]) == ()
    parts = pg.unstack(x, axis=1)
    assert_close(pg.stack(parts, axis=1), v)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "constant"])
@pytest.mark.parametrize("widths", [0, 1, (2, 1), ((1, 0), (0, 4)), ((7, 9), (5, 8))], ids=repr)
def test_padding_agrees_with_numpy(mode, widths, device):
    x = leaf(device, 2, 3)
    y = pg.pad(x, widths, mode=mode)
    assert_close(y, np.pad(values(2, 3), widths, mode=mode))
    w = weighted(y)
    places = np.pad(
        np.arange(6).reshape(2, 3),
        widths,
        mode=mode,
        **({"constant_values": -1} if mode == "constant" else {}),
    )
    expected = np.zeros(6, "f4")
    np.add.at(expected, places[places >= 0], w[places >= 0])
    assert_close(x.grad, expected.reshape(2, 3))


def test_padding_with_one_element_reflects_it():
    assert_close(pg.pad(pg.ones(1), 2, mode="reflect"), np.ones(5))
    assert_close(pg.pad(pg.arange(2), (1, 2), constant_values=pg.asarray(7)), [7, 0, 1, 7, 7])


@pytest.mark.parametrize(("shape", "axis", "window"), [
    ((5,), None, (3,)), ((4, 5), None, (2, 3)), ((4, 5), 0, (4,)), ((2, 3, 4), (2, 0), (2, 1)),
    ((3, 3), (1, 0), (2, 2)),
])  # fmt: skip
def test_sliding_windows_agree_with_numpy(shape, axis, window, device):
    x = leaf(device, *shape)
    y = pg.sliding_window_view(x, window, axis=axis)
    want = np.lib.stride_tricks.sliding_window_view(values(*shape), window, axis=axis)
    assert_close(y, want)
    w = weighted(y)
    places = np.lib.stride_tricks.sliding_window_view(
        np.arange(x.size).reshape(shape), window, axis=axis
    )
    expected = np.zeros(x.size, "f4")
    np.add.at(expected, places, w)
    assert_close(x.grad, expected.reshape(shape))


def test_sliding_windows_over_a_view_that_is_not_contiguous(device):
    x = pg.tensor(values(4, 3), device=device).T
    assert_close(pg.sliding_window_view(x, 2, axis=1),
                 np.lib.stride_tricks.sliding_window_view(values(4, 3).T, 2, axis=1))  # fmt: skip


def test_repeat_and_tile_of_nothing_and_to_nothing(device):
    x = leaf(device, 2, 3)
    for y in (
        pg.repeat(x, 0, axis=1),
        pg.tile(x, (0, 1)),
        pg.repeat(x, pg.tensor(np.int32([0, 0]), device=device), axis=0),
    ):
        assert y.size == 0
        (g,) = pg.autograd.grad(y.sum(), [x])
        assert_close(g, np.zeros((2, 3)))


# ---- products --------------------------------------------------------------------------------
@pytest.mark.parametrize(("a", "b"), [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)), ((4, 3), (2, 1, 3, 5)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)), ((1, 1), (1, 1)), ((0, 2, 3), (3, 4)),
])  # fmt: skip
@pytest.mark.parametrize("complex_", [False, True])
def test_matmul_of_every_rank(a, b, complex_, device):
    x, y = values(*a), values(*b)[::-1].copy()
    if complex_:
        x, y = x + 0.5j * x[::-1], y - 1j * y[..., ::-1]
    p, q = (
        pg.tensor(t.astype("c8" if complex_ else "f4"), device=device, requires_grad=True)
        for t in (x, y)
    )
    z = p @ q
    want = x @ y
    assert z.shape == want.shape
    assert_close(z, want)
    assert_close(pg.matmul(p, q), want)
    w = np.cos(np.arange(want.size)).reshape(want.shape).astype("f4")
    (z.real * pg.tensor(w, device=device)).sum().backward()
    for t, host, first in ((p, x, True), (q, y, False)):
        expected = np.zeros(host.shape, "c16" if complex_ else "f8")
        for place in np.ndindex(*host.shape):
            for unit in (1.0, 1j) if complex_ else (1.0,):
                step = np.zeros(host.shape, "c16")
                step[place] = unit
                change = step @ y if first else x @ step
                expected[place] += unit * np.sum(w * change.real)
        assert t.grad.shape == host.shape
        assert_close(t.grad, expected.astype(t.dtype))


def test_operands_of_matmul_are_promoted(device):
    x = leaf(device, 2, 3)
    n = pg.tensor(np.arange(6, dtype="i4").reshape(3, 2), device=device)
    y = x @ n
    assert y.dtype == pg.float32
    y.sum().backward()
    assert_close(x.grad, np.tile([1.0, 5.0, 9.0], (2, 1)))
    m = n.T @ n
    assert m.dtype == pg.int32
    assert_close(m, n.numpy().T @ n.numpy())


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3), (2, 3)),
        ((3,), (2,)),
        ((2, 3), (2,)),
        ((), (2,)),
        ((2,), ()),
        ((2, 2, 3), (3, 3, 2)),
    ],
)
def test_matmul_refuses_shapes_that_do_not_match(a, b):
    x, y = pg.ones(a), pg.ones(b)
    for product in (lambda: pg.matmul(x, y), lambda: x @ y):
        with pytest.raises(ShapeError) as caught:
            product()
        assert str(a) in str(caught.value)
        assert str(b) in str(caught.value)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3), (2, 0, 3), (0, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_is_matmul_and_add(shape, bias, device):
    x, w, b = leaf(device, *shape), leaf(device, 5, 3), leaf(device, 5)
    y = linear(x, w, b if bias else None)
    z = x @ w.mT + (b if bias else 0)
    assert y.shape == z.shape
    assert_close(y, z)
    ins = [x, w, b] if bias else [x, w]
    g = pg.tensor(np.cos(np.arange(y.size)).reshape(y.shape).astype("f4"), device=device)
    for first, second in zip(pg.autograd.grad(y, ins, g), pg.autograd.grad(z, ins, g), strict=True):
        assert_close(first, second)


def test_linear_twice_differentiable_and_complex():
    def of(kind, *shape):
        v = values(*shape).astype("f8")
        return pg.tensor(v + 1j * v[::-1] if kind == "c" else v, requires_grad=True)

    for kind in "fc":
        ins = [of(kind, 2, 4, 3), of(kind, 2, 3), of(kind, 2)]
        assert pg.autograd.gradcheck(linear, ins)
        assert pg.autograd.gradgradcheck(linear, ins)


def test_linear_names_what_does_not_fit():
    with pytest.raises(ShapeError, match=r"\(out, in\)"):
        linear(pg.ones((2, 3)), pg.ones((3, 2)))
    with pytest.raises(ShapeError, match="bias"):
        linear(pg.ones((2, 3)), pg.ones((4, 3)), pg.ones(3))


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ba,ca", (2, 3), (4, 3)),
    ("i,i", (3,), (3,)),
    ("i,j->ij", (2,), (3,)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)),
    ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("iji->j", (2, 3, 2)), ("iiij->ij", (2, 2, 2, 3)), ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...i,...i->...", (4, 1, 3), (2, 3)), ("i...,i...", (3, 2), (3, 2)),
    ("...ii->...i", (2, 3, 3)),
    ("ij...,jk->ik...", (2, 3, 4), (3, 5)), ("...", (2, 3)), ("...j->j...", (2, 3, 4)),
    ("i...->...", (2, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("i,j,k->kji", (2,), (3,), (4,)),
    ("ab,ab,ab->b", (2, 3), (2, 3), (2, 3)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)), ("ij,kl->", (2, 3), (3, 2)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,ij->ij", (2, 1), (2, 3)), ("ij,jk->ik", (2, 1), (3, 4)), (" i j , j -> i ", (2, 3), (3,)),
    (",ij->ji", (), (2, 3)),
    ("ii,ij->j", (3, 3), (3, 2)), ("ij,jk->k", (2, 0), (0, 3)), ("i,ij,j->", (2,), (2, 3), (3,)),
    ("aB,Bc->ac", (2, 3), (3, 4)),
    ("ab,c,bd->ad", (2, 3), (4,), (3, 2)),
]  # fmt: skip


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
def test_einsum_agrees_with_numpy_and_differences(case, device):
    subscripts, *shapes = case
    hosts = [values(*s) + 0.1 * k for k, s in enumerate(shapes)]
    xs = [pg.tensor(h, device=device, requires_grad=True) for h in hosts]
    y = pg.einsum(subscripts, *xs)
    want = np.einsum(subscripts, *hosts)
    assert y.shape == want.shape
    assert_close(y, want)
    w = weighted(y)
    for k, host in enumerate(hosts):
        expected = np.zeros(host.shape)
        for place in np.ndindex(*host.shape):
            step = np.zeros(host.shape)
            step[place] = 1.0
            expected[place] = np.sum(w * np.einsum(subscripts, *hosts[:k], step, *hosts[k + 1 :]))
        assert_close(xs[k].grad, expected.astype("f4"))


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
def test_einsum_twice_differentiable_and_complex(case):
    subscripts, *shapes = case
    xs = [
        pg.tensor(values(*s).astype("c16") * (1 - 0.5j * k), requires_grad=True)
        for k, s in enumerate(shapes)
    ]
    assert pg.autograd.gradcheck(lambda *ts: pg.einsum(subscripts, *ts), xs)
    assert pg.autograd.gradgradcheck(lambda *ts: pg.einsum(subscripts, *ts), xs)


@pytest.mark.parametrize(("text", "subscripts", "shapes"), [
    ("2 terms for 1 tensors", "ij,jk", [(2, 3)]), ("does not fit shape", "ijk", [(2, 3)]),
    ("no subscripts", "i1", [(2, 3)]),
    ("lengths 3 and 2", "ij,jk", [(2, 3), (2, 3)]), ("output", "ij->ik", [(2, 3)]),
    ("output", "ij->ii", [(2, 3)]),
    ("lengths 2 and 3", "ii", [(2, 3)]), ("does not fit", "...ijk", [(2, 3)]),
    ("no subscripts", "i......", [(2, 3)]),
])  # fmt: skip
def test_einsum_says_what_is_wrong_with_subscripts(text, subscripts, shapes):
    with pytest.raises((InvalidArgumentError, ShapeError), match=text):
        pg.einsum(subscripts, *(pg.ones(s) for s in shapes))


@pytest.mark.parametrize("axes", [0, 1, 2, ((1,), (0,)), ((0, 1), (1, 0)), ([-1], [-2])], ids=repr)
def test_tensordot_agrees_with_numpy(axes, device):
    shapes = {2: ((2, 3), (2, 3))}.get(axes if isinstance(axes, int) else -1, ((2, 3), (3, 2)))
    a, b = values(*shapes[0]), values(*shapes[1])
    got = pg.tensordot(pg.tensor(a, device=device), pg.tensor(b, device=device), axes=axes)
    want = np.tensordot(a, b, axes=axes)
    assert got.shape == want.shape
    assert_close(got, want)


@pytest.mark.parametrize(
    ("a", "b", "axis"),
    [
        ((3,), (3,), -1),
        ((2, 3), (3,), -1),
        ((4, 1, 3), (2, 3), -1),
        ((3, 2), (3, 2), 0),
        ((3, 2), (3, 1), -2),
    ],
)
def test_vecdot_conjugates_its_first_operand(a, b, axis, device):
    x, y = values(*a) * (1 + 2j), values(*b) * (2 - 1j)
    got = pg.vecdot(
        pg.tensor(x.astype("c8"), device=device),
        pg.tensor(y.astype("c8"), device=device),
        axis=axis,
    )
    want = np.sum(np.conj(x) * y, axis=axis)
    assert_close(got, want.astype("c8"))


def test_vecdot_and_outer_refuse_shapes():
    for call in (
        lambda: pg.vecdot(pg.ones(3), pg.ones(2)),
        lambda: pg.vecdot(pg.ones((2, 3)), pg.ones((4, 3))),
        lambda: pg.outer(pg.ones((2, 2)), pg.ones(2)),
        lambda: pg.tensordot(pg.ones((2, 3)), pg.ones((2, 3)), axes=1),
    ):  # fmt: skip
        with pytest.raises(ShapeError):
            call()
    with pytest.raises(InvalidArgumentError, match="3 axes"):
        pg.tensordot(pg.ones((2, 3)), pg.ones((2, 3)), axes=3)


def test_shapes_broadcast_as_numpy_says():
    options = [(), (1,), (3,), (2, 1), (2, 3), (4, 1, 3), (0,), (0, 1)]
    for shapes in itertools.product(options, repeat=2):
        try:
            want = np.broadcast_shapes(*shapes)
        except ValueError:
            with pytest.raises(ShapeError):
                pg.broadcast_shapes(*shapes)
        else:
            assert pg.broadcast_shapes(*shapes) == want
    assert pg.broadcast_shapes() == ()


# ---- split --------------------------------------------------------------------------------------
SPLITS = [
    (3, 0), (1, 0), (2, 1), ([2, 5], 0), ([], 0), ([5, 2], 0), ([-2], 0), ([99], 1),
    (range(2, 6, 2), 0), (np.asarray([1, 4]), 0), (np.int64(3), 0), (np.asarray(2), 0), ([1], -1),
]  # fmt: skip


@pytest.mark.parametrize(("cuts", "axis"), SPLITS)
def test_split_is_numpy_s(device, cuts, axis):
    x = leaf(device, 6, 4)
    parts = pg.split(x, cuts, axis=axis)
    wanted = np.split(values(6, 4), cuts, axis=axis)
    assert len(parts) == len(wanted)
    for part, want in zip(parts, wanted, strict=True):
        assert part.shape == want.shape
        np.testing.assert_array_equal(part.detach().numpy(), want)
    pg.sum(parts[0]).backward()
    left = np.zeros((6, 4), "f4")
    np.split(left, cuts, axis=axis)[0][...] = 1
    np.testing.assert_array_equal(x.grad.numpy(), left)


def test_split_makes_views(device):
    x = pg.tensor(values(4), device=device)
    first, second = x.split(2)
    second[0] = 9.0
    first += 1.0
    np.testing.assert_array_equal(x.numpy()[:3], [*(values(4)[:2] + 1), 9.0])


@pytest.mark.parametrize(
    ("cuts", "axis", "error", "text"),
    [
        (4, 0, InvalidArgumentError, "an axis of length 6 has no 4 equal parts.*range"),
        (0, 0, InvalidArgumentError, "no 0 equal parts"),
        (-1, 0, InvalidArgumentError, "no -1 equal parts"),
        (1.5, 0, InvalidTypeError, "1.5 is no int"),
        (["a"], 0, InvalidTypeError, "'a' is no int"),
        (2, 2, OutOfRangeError, "axis 2 is out of range"),
    ],
)
def test_split_refuses(cuts, axis, error, text):
    with pytest.raises(error, match=text):
        pg.split(pg.ones((6, 4)), cuts, axis=axis)


def test_an_axis_that_is_an_array_is_named(device):
    x = leaf(device, 2, 3)
    with pytest.raises(InvalidTypeError, match=r"not an array of shape \(2, 1\). gather, argument"):
        pg.gather(x, 1, pg.zeros((2, 1), dtype=pg.int64))
