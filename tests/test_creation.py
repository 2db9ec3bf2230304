"""Creation: dtypes, devices, what stays on the tape, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import (
    DtypeError,
    GradientError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
    UnknownDeviceError,
)
from polygrad.registry import default_integer
from polygrad.testing import assert_close

MAKERS = {
    "zeros": lambda **k: pg.zeros((2, 3), **k),
    "ones": lambda **k: pg.ones((2, 3), **k),
    "empty": lambda **k: pg.empty((2, 3), **k),
    "full": lambda **k: pg.full((2, 3), 2.5, **k),
    "eye": lambda **k: pg.eye(2, 3, **k),
    "linspace": lambda **k: pg.linspace(0, 1, 3, **k),
    "arange": lambda **k: pg.arange(0.5, 3, **k),
    "tensor": lambda **k: pg.tensor([1.5, 2], **k),
    "asarray": lambda **k: pg.asarray([1.5, 2], **k),
}


@pytest.mark.parametrize("name", MAKERS)
def test_defaults_of_dtype_and_device_are_followed(name, device):
    assert MAKERS[name]().dtype == pg.float32
    assert MAKERS[name]().device == "cpu"
    made = MAKERS[name](device=device)
    assert (made.dtype, made.device) == (pg.float32, device)
    with pg.device(device):
        assert MAKERS[name]().device == device
    assert getattr(pg.namespace(device), name) is not None
    pg.set_default_dtype(pg.float64)
    assert MAKERS[name]().dtype == pg.float64


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "int32", pg.int8, np.float32, float]
)
def test_a_dtype_given_is_taken(name, dtype):
    made = MAKERS[name](dtype=dtype)
    assert made.dtype == np.dtype(dtype)
    assert not made.requires_grad
    assert made.is_leaf


@pytest.mark.parametrize("name", MAKERS)
def test_places_and_dtypes_that_do_not_exist(name):
    with pytest.raises(UnknownDeviceError):
        MAKERS[name](device="abacus")
    with pytest.raises(DtypeError):
        MAKERS[name](dtype="float33")
    with pytest.raises(DtypeError):
        MAKERS[name](dtype="S3")


@pytest.mark.parametrize("shape", [(), 0, 3, (0, 2), (2, 0), [2, 1], np.int64(2), (np.int32(1), 2)])
def test_shapes(shape):
    want = np.zeros(shape).shape
    for made in (pg.zeros(shape), pg.ones(shape), pg.empty(shape), pg.full(shape, 1)):
        assert made.shape == want
        assert isinstance(made.shape, tuple)


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        (-1, InvalidArgumentError),
        ((2, -3), InvalidArgumentError),
        (1.5, InvalidTypeError),
        (("a",), InvalidTypeError),
    ],
)
def test_shapes_that_are_none(shape, error):
    for make in (pg.zeros, pg.ones, pg.empty, lambda s: pg.full(s, 1)):
        with pytest.raises(error, match="argument shape"):
            make(shape)


def test_numbers_choose_their_kind(device):
    whole = default_integer(pg.zeros(0, device=device).device)
    for data, dtype in (
        (1, whole),
        ([1, 2], whole),
        (True, pg.bool),
        ([1, 2.0], pg.float32),
        (1j, pg.complex64),
    ):
        for make in (pg.tensor, pg.asarray):
            assert make(data, device=device).dtype == dtype
        if not isinstance(data, list):
            assert pg.full((2,), data, device=device).dtype == dtype
    assert pg.full((2,), np.float64(1)).dtype in (pg.float32, pg.float64)
    assert pg.tensor(np.arange(3, dtype="i2")).dtype == pg.int16
    assert pg.tensor([np.float64(1.0)]).dtype in (pg.float32, pg.float64)


def test_numbers_are_not_rounded_to_the_default_dtype_on_the_way():
    third = 1 / 3
    assert pg.full((), third, dtype=pg.float64).item() == third
    assert pg.full_like(pg.ones(1, dtype=pg.float64), third).item() == third
    assert pg.tensor(third, dtype=pg.float64).item() == third
    assert pg.asarray([third], dtype=pg.float64).item() == third
    assert pg.full((), 2**62 + 1).item() == 2**62 + 1
    one = pg.ones((), dtype=pg.float64)
    assert pg.linspace(third, one, 2)[0].item() == third
    assert pg.linspace(one, third * 1j, 2)[1].item() == third * 1j
    assert pg.linspace(third, 1, 2, dtype=pg.float64)[0].item() == third
    assert pg.pad(one, (), constant_values=0).shape == ()
    assert pg.pad(one.reshape(1), (1, 0), constant_values=third)[0].item() == third


def test_like_follows_shape_dtype_and_device(device):
    x = pg.full((2, 1), 3, dtype=pg.int32, device=device)
    for like, value in (
        (pg.zeros_like, 0),
        (pg.ones_like, 1),
        (lambda t, **k: pg.full_like(t, 7, **k), 7),
    ):
        made = like(x)
        assert (made.shape, made.dtype, made.device) == ((2, 1), pg.int32, device)
        assert_close(made, np.full((2, 1), value))
        assert like(x, dtype=pg.float32).dtype == pg.float32
        assert like(x, device="cpu").device == "cpu"
    assert pg.empty_like(x).shape == (2, 1)
    assert not pg.zeros_like(pg.tensor([1.0], requires_grad=True)).requires_grad


# ---- arange, linspace, eye
@pytest.mark.parametrize(
    "args",
    [
        (5,),
        (0,),
        (-3,),
        (2, 5),
        (5, 2),
        (5, 2, -1),
        (0, 10, 3),
        (0.0, 1.0, 0.25),
        (1.5,),
        (0, -5, -2),
        (3, 3),
        (np.int64(4),),
    ],
)
def test_arange_agrees_with_numpy(args, device):
    want = np.arange(*args)
    got = pg.arange(*args, device=device)
    assert got.dtype == (pg.float32 if want.dtype.kind == "f" else default_integer(got.device))
    assert_close(got, want.astype(got.dtype))


def test_arange_takes_tensors_keywords_and_refuses_a_step_of_zero():
    assert_close(pg.arange(pg.asarray(1), stop=pg.asarray(7), step=3), [1, 4])
    assert_close(pg.arange(3, dtype=pg.float64), np.arange(3.0))
    with pytest.raises(InvalidArgumentError, match="step of 0"):
        pg.arange(0, 1, 0)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("ends", [(0, 1), (1.0, -2.0), (3, 3), (0, 1 + 2j)])
@pytest.mark.parametrize("num", [0, 1, 2, 7])
def test_linspace_agrees_with_numpy(ends, num, endpoint, device):
    want = np.linspace(*ends, num, endpoint=endpoint)
    want = want.astype("c8" if want.dtype.kind == "c" else "f4")
    got = pg.linspace(*ends, num, endpoint=endpoint, device=device)
    assert got.dtype == want.dtype
    assert_close(got, want)
    tensors = [
        pg.tensor(np.asarray(e, want.dtype), device=device, requires_grad=True) for e in ends
    ]
    assert_close(pg.linspace(*tensors, num, endpoint=endpoint), want)


def test_the_ends_of_linspace_stay_on_the_tape():
    a, b = (pg.tensor(v, dtype=pg.float64, requires_grad=True) for v in (0.1, 0.7))
    y = pg.linspace(a, b, 5)
    assert (y[0].detach().item(), y[-1].detach().item()) == (0.1, 0.7)
    w = pg.asarray(np.asarray([1.0, 10.0, 100.0, 1000.0, 10000.0]))
    (y * w).sum().backward()
    t = np.linspace(0, 1, 5)
    assert_close(a.grad, np.sum((1 - t) * w.numpy()))
    assert_close(b.grad, np.sum(t * w.numpy()))
    assert pg.linspace(pg.asarray(0), pg.asarray(4), 5).dtype == pg.float32
    assert pg.linspace(pg.asarray(0), pg.asarray(4), 5, dtype=pg.int32).dtype == pg.int32
    assert pg.linspace(a, 2.0, 3).requires_grad
    assert pg.linspace(0, a, 3, dtype=pg.float32).dtype == pg.float32
    rows = pg.linspace(pg.zeros(2), pg.asarray([1.0, 2.0]), 3)
    assert_close(rows, np.linspace(np.zeros(2), [1.0, 2.0], 3).astype("f4"))
    with pytest.raises(InvalidArgumentError, match="num"):
        pg.linspace(0, 1, -1)


@pytest.mark.parametrize("k", [-4, -1, 0, 1, 5])
def test_eye_tril_triu_agree_with_numpy(k, device):
    assert_close(pg.eye(3, 4, k=k, device=device), np.eye(3, 4, k=k, dtype="f4"))
    a = np.arange(24, dtype="f4").reshape(2, 3, 4) + 1
    x = pg.tensor(a, device=device, requires_grad=True)
    for function, host in ((pg.tril, np.tril), (pg.triu, np.triu)):
        y = function(x, k=k)
        assert_close(y, host(a, k=k))
        (g,) = pg.autograd.grad(y.sum(), [x])
        assert_close(g, host(np.ones_like(a), k=k))
    with pytest.raises(ShapeError, match="no matrix"):
        pg.tril(pg.ones(3))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("lengths", [(3,), (2, 3), (2, 3, 4), (0, 2)])
def test_meshgrid_agrees_with_numpy_and_can_be_written(indexing, lengths, device):
    hosts = [np.arange(n, dtype="f4") + 10 * i for i, n in enumerate(lengths)]
    xs = [pg.tensor(h, device=device, requires_grad=True) for h in hosts]
    made = pg.meshgrid(*xs, indexing=indexing)
    for got, want in zip(made, np.meshgrid(*hosts, indexing=indexing), strict=True):
        assert_close(got, want)
    for x, y in zip(xs, made, strict=True):
        (g,) = pg.autograd.grad(y.sum(), [x])
        assert_close(g, np.full(x.shape, y.size / max(x.size, 1), "f4"))
        y[...] = 0.0


def test_meshgrid_refuses():
    with pytest.raises(InvalidArgumentError, match="indexing"):
        pg.meshgrid(pg.ones(2), indexing="yx")
    with pytest.raises(ShapeError, match="no vector"):
        pg.meshgrid(pg.ones((2, 2)))


# ---- from data --------------------------------------------------------------------------------
def test_tensor_copies_and_asarray_wraps():
    host = np.ones(2)
    copied, wrapped = pg.tensor(host), pg.asarray(host)
    host[0] = 5.0
    assert_close(copied, [1.0, 1.0])
    assert_close(wrapped, [5.0, 1.0])
    wrapped[1] = 7.0  # the user's memory is not written to
    assert host.tolist() == [5.0, 1.0]
    t = pg.ones(2)
    assert pg.asarray(t) is t
    assert pg.asarray(t, copy=True) is not t
    with pytest.raises(InvalidArgumentError, match="copy"):
        pg.asarray([1, 2], copy=False)
    with pytest.raises(InvalidArgumentError, match="copy"):
        pg.asarray(t, dtype=pg.float64, copy=False)


def test_lists_that_hold_tensors_stay_on_the_tape():
    a, b = pg.tensor(2.0, requires_grad=True), pg.tensor([3.0, 4.0], requires_grad=True)
    y = pg.asarray([[a, 1.0], [b[0], b[1] * a]])
    assert y.shape == (2, 2)
    y.sum().backward()
    assert_close(a.grad, 5.0)
    assert_close(b.grad, [1.0, 2.0])
    assert not pg.tensor([a, b[0]]).requires_grad


def test_numbers_in_lists_beside_tensors_are_weak_and_follow_them(device):
    third = 1 / 3
    x = pg.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = pg.asarray([x, [2, third]])
    assert (y.dtype, y.device, y.requires_grad) == (pg.float32, device, True)
    assert pg.asarray([pg.tensor(1, dtype=pg.int8, device=device), 2]).dtype == pg.int8
    assert pg.asarray([x.detach()[0], 1j]).dtype == pg.complex64
    assert pg.asarray([[x[0]], [True]], dtype=pg.int32).dtype == pg.int32
    precise = pg.asarray([pg.tensor(1.0, dtype=pg.float64), third])
    assert precise[1].item() == third
    assert pg.asarray([pg.tensor(1.0), np.ones(())]).dtype == pg.float64
    assert pg.asarray([x[0], third], device="cpu").device == "cpu"


def test_logspace_agrees_with_numpy(device):
    for args, keywords in (((0, 2, 5), {}), ((-1.0, 1.0, 3), {"base": 2.0, "endpoint": False})):
        want = np.logspace(*args, **keywords).astype("f4")
        assert_close(pg.logspace(*args, device=device, **keywords), want)
        ends = [pg.tensor(float(a), device=device, requires_grad=True) for a in args[:2]]
        made = pg.logspace(*ends, args[2], **keywords)
        assert_close(made.detach(), want)
        made.sum().backward()
        assert all(end.grad is not None for end in ends)
    assert pg.logspace(0, 2, 3, dtype=pg.int32).tolist() == [1, 10, 100]
    assert pg.logspace(0, 1).shape == (50,)
    with pytest.raises(InvalidArgumentError, match="argument base"):
        pg.logspace(0, 1, base=-2)


def test_a_filling_tensor_stays_on_the_tape(device):
    a = pg.tensor(np.float32(2), device=device, requires_grad=True)
    y = pg.full((2, 3), a)
    z = pg.full_like(pg.ones(3, device=device), a)
    (y.sum() + z.sum()).backward()
    assert_close(a.grad, 9.0)
    y[0] = 1.0  # no broadcast view: it can be written
    assert_close(a.detach(), 2.0)
    assert pg.full((2,), a.detach()).device == device
    with pytest.raises(ShapeError, match="one value"):
        pg.full((2,), pg.ones(2))
    with pytest.raises(ShapeError, match="one value"):
        pg.full((2,), [1, 2])


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([[1, 2], [3]], InvalidArgumentError),
        ("abc", InvalidTypeError),
        ([None], InvalidTypeError),
        (object(), InvalidTypeError),
    ],
)
def test_data_that_are_no_numbers(data, error):
    for make in (pg.tensor, pg.asarray):
        with pytest.raises(error):
            make(data)


def test_complex_data_do_not_become_real_silently():
    with pytest.raises(DtypeError, match="complex"):
        pg.tensor([1j], dtype=pg.float32)
    for value in (1j, pg.tensor(1j), pg.tensor(1j, requires_grad=True)):
        with pytest.raises(DtypeError, match="complex"):
            pg.full((2,), value, dtype=pg.float32)
    with pytest.raises(DtypeError):
        pg.tensor([1], requires_grad=True)


def test_from_dlpack_shares_or_copies():
    host = np.arange(3.0)
    made = pg.from_dlpack(host)
    assert made.dtype == pg.float64
    host[0] = 9.0
    assert_close(made, [9.0, 1.0, 2.0])
    copied = pg.from_dlpack(host, copy=True)
    host[0] = 5.0
    assert_close(copied, [9.0, 1.0, 2.0])

    class Speaker:
        def __dlpack__(self, **options):
            return host.__dlpack__(**options)

        def __dlpack_device__(self):
            return host.__dlpack_device__()

    assert_close(pg.from_dlpack(Speaker()), [5.0, 1.0, 2.0])
    assert_close(pg.from_dlpack(pg.ones(2)), [1.0, 1.0])
    with pytest.raises(GradientError):
        pg.from_dlpack(pg.tensor([1.0], requires_grad=True))
    with pytest.raises(InvalidTypeError, match="DLPack"):
        pg.from_dlpack([1.0])
