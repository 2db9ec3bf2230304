"""Fourier transforms by hand: values, lengths, errors. The rest: test_ops_generated."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import (
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
)
from polygrad.testing import assert_close
from tests.devices import optional

NAMES = {
    "fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft", "fftfreq",
    "rfftfreq", "fftshift", "ifftshift", "dct", "idct", "dst", "idst", "dctn", "idctn", "dstn",
    "idstn",
}  # fmt: skip
REAL = {"rfft", "rfftn", "ihfft"}
NORMS = ["backward", "ortho", "forward"]


def signal(*shape, kind="f"):
    generator = np.random.default_rng(0)
    x = generator.standard_normal(shape)
    return x + 1j * generator.standard_normal(shape) if kind == "c" else x


def test_the_whole_extension_is_in_the_module_and_in_every_namespace(device):
    assert set(pg.fft.__all__) == NAMES
    part = pg.namespace(device).fft
    assert {name for name in NAMES if callable(getattr(part, name))} == NAMES
    assert part.fftfreq(3).device == device
    assert pg.fft.fftfreq(3, device=device).device == device


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_along_one_axis_agree_with_numpy(name, norm):
    for kind in "f" if name in REAL else "fc":
        a = signal(3, 4, 5, kind=kind)
        for n in (None, 1, 2, 3, 4, 7):
            for axis in (-1, 1, 0, -3):
                got = getattr(pg.fft, name)(pg.tensor(a), n=n, axis=axis, norm=norm)
                want = getattr(np.fft, name)(a, n=n, axis=axis, norm=norm)
                assert got.dtype == want.dtype
                assert_close(got, want, what=f"{name} {n} {axis}")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_along_several_axes_agree_with_numpy(name, norm):
    choices = [
        (None, None), (None, (0, 1)), (None, (-1, 0)), ((3, 6), (0, 2)), ((5,), (1,)),
        ((4, 4, 4), (0, 1, 2)), ((2, 3), (2, 1)),
    ]  # fmt: skip
    for kind in "f" if name in REAL else "fc":
        a = signal(3, 4, 5, kind=kind)
        for s, axes in choices:
            got = getattr(pg.fft, name)(pg.tensor(a), s=s, axes=axes, norm=norm)
            want = getattr(np.fft, name)(a, s=s, axes=axes, norm=norm)
            assert_close(got, want, what=f"{name} {s} {axes}")
            if s is not None:
                last = getattr(pg.fft, name)(pg.tensor(a), s=s)
                again = getattr(np.fft, name)(a, s=s, axes=tuple(range(-len(s), 0)))
                assert_close(last, again)


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "fftn"])
def test_single_and_half_precision_stay_single(name, device):
    if device.startswith("strict") or not device.startswith(("cpu", "frozen")):
        return
    for dtype in (np.float32, np.float16):
        got = getattr(pg.fft, name)(pg.asarray(signal(4).astype(dtype), device=device))
        assert got.dtype == (pg.float32 if name == "irfft" else pg.complex64)
    assert getattr(pg.fft, name)(pg.asarray([1, 2, 3])).dtype in (pg.float32, pg.complex64)


def test_a_round_trip_is_the_identity_with_its_gradient(device):
    a = signal(6).astype(np.float32)
    x = pg.tensor(a, device=device, requires_grad=True)
    y = pg.fft.irfft(pg.fft.rfft(x), n=6)
    pg.sum(y * y).backward()
    assert_close(x.grad, 2 * a)
    x = pg.tensor(a, device=device, requires_grad=True)
    pg.sum(pg.real(pg.fft.ifft(pg.fft.fft(x))) ** 2).backward()
    assert_close(x.grad, 2 * a)


def test_imaginary_parts_that_do_not_count_have_no_gradient():
    x = pg.tensor(signal(3, kind="c"), requires_grad=True)
    pg.sum(pg.fft.irfft(x, n=4) * pg.asarray([1.0, 2.0, 3.0, 5.0])).backward()
    assert x.grad.numpy()[0].imag == 0
    assert x.grad.numpy()[2].imag == 0
    assert x.grad.numpy()[1].imag != 0


def test_no_axes_transform_nothing():
    x = pg.tensor(signal(2, 3, kind="c"))
    np.testing.assert_array_equal(pg.fft.fftn(x, axes=()).numpy(), x.numpy())


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_frequencies_agree_with_numpy(n):
    for name in ("fftfreq", "rfftfreq"):
        got = getattr(pg.fft, name)(n, d=0.25, dtype=pg.float64)
        np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(n, d=0.25))
        assert getattr(pg.fft, name)(n).dtype == pg.float32
    a = signal(n, 3)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (0,), (1, 0)):
            got = getattr(pg.fft, name)(pg.tensor(a), axes=axes)
            np.testing.assert_array_equal(got.numpy(), getattr(np.fft, name)(a, axes=axes))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: pg.fft.fft(pg.ones(3), norm="none"), InvalidArgumentError, "norm 'none'"),
        (lambda: pg.fft.fft(pg.ones(3), n=0), InvalidArgumentError, "length 0"),
        (lambda: pg.fft.fft(pg.ones(3), n=2.5), InvalidTypeError, "2.5"),
        (lambda: pg.fft.fft(pg.ones(3), axis=1), OutOfRangeError, "axis 1 is out"),
        (lambda: pg.fft.fft(pg.ones(())), OutOfRangeError, "0-d"),
        (lambda: pg.fft.fft(pg.ones((2, 0))), ShapeError, "no elements"),
        (lambda: pg.fft.rfft(pg.ones(3) * 1j), DtypeError, "rfft is for real signals"),
        (lambda: pg.fft.irfft(pg.ones(1)), InvalidArgumentError, "pass n"),
        (lambda: pg.fft.fftn(pg.ones((2, 2)), s=(2,), axes=(0, 1)), InvalidArgumentError, "2 axes"),
        (lambda: pg.fft.rfftn(pg.ones((2, 2)), axes=()), InvalidArgumentError, "no axis"),
        (lambda: pg.fft.irfftn(pg.ones((2, 2)), axes=()), InvalidArgumentError, "no axis"),
        (lambda: pg.fft.fftfreq(4, dtype=pg.complex64), DtypeError, "complex64"),
        (lambda: pg.fft.fftshift(pg.ones(3), axes=2), OutOfRangeError, "axis 2 is out"),
    ],
)  # fmt: skip
def test_what_is_refused(call, error, text):
    with pytest.raises(error, match=re.escape(text)) as caught:
        call()
    assert caught.value.what
    assert caught.value.where
    assert caught.value.fix


# ---- cosines and sines --------------------------------------------------------------------------
@pytest.fixture(params=["cpu", "strict:cpu"])
def place(request):
    """One device where SciPy computes them, one where they are composed from fft."""
    return request.param


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
def test_trigonometric_transforms_agree_with_scipy(name, kind, place):
    transform = getattr(optional("scipy.fft"), name)
    for n, axis, norm, flag in itertools.product(
        (None, 2, 7), (0, -1), (None, "ortho", "forward"), (None, True, False)
    ):
        keywords = {"n": n, "axis": axis, "norm": norm, "orthogonalize": flag}
        for dtype in ("float32", "float64"):
            a = signal(3, 4).astype(dtype)
            got = getattr(pg.fft, name)(pg.tensor(a, device=place), kind, **keywords)
            assert got.dtype == dtype
            assert_close(got, transform(a, kind, **keywords), what=f"{name} {kind} {keywords}")
        z = signal(3, 4, kind="c")  # SciPy's own forgets orthogonalize where z is complex
        got = getattr(pg.fft, name)(pg.tensor(z, device=place), kind, **keywords)
        want = transform(z.real, kind, **keywords) + 1j * transform(z.imag, kind, **keywords)
        assert_close(got, want, what=f"{name} {kind} {keywords}, complex")


@pytest.mark.parametrize("name", ["dctn", "idctn", "dstn", "idstn"])
def test_trigonometric_transforms_along_several_axes_agree_with_scipy(name, place):
    transform, a = getattr(optional("scipy.fft"), name), signal(3, 4, 5)
    for kind, norm, (s, axes) in itertools.product(
        (1, 2, 3, 4), (None, "ortho"),
        ((None, None), ((6, 2), None), (None, (0, 2)), ((3, -1), (2, 1)), (4, 1)),
    ):  # fmt: skip
        got = getattr(pg.fft, name)(pg.tensor(a, device=place), kind, s, axes, norm)
        assert_close(got, transform(a, kind, s, axes, norm), what=f"{name} {kind} {s} {axes}")


def test_without_scipy_the_cpu_composes_them_too(monkeypatch):
    from polygrad.backends import numpy_transforms

    x = pg.tensor(signal(4))
    want = pg.fft.dct(x)
    monkeypatch.setattr(numpy_transforms, "_scipy", lambda: None)
    assert_close(pg.fft.dct(x), want)
    assert pg.fft.dct(pg.ones(3, dtype=pg.float16)).dtype == pg.float32


def test_what_is_wrong_with_a_trigonometric_transform_is_said():
    with pytest.raises(InvalidArgumentError, match=r"no type 5\. dct, argument type"):
        pg.fft.dct(pg.ones(3), type=5)
    with pytest.raises(ShapeError, match=r"need two .* dctn, shape \(3, 1\), axes \(0, 1\)"):
        pg.fft.dctn(pg.ones((3, 1)), type=1)
    with pytest.raises(InvalidArgumentError, match="no norm 'unitary'"):
        pg.fft.dst(pg.ones(3), norm="unitary")
    with pytest.raises(ShapeError, match="no elements"):
        pg.fft.idst(pg.ones(0))
