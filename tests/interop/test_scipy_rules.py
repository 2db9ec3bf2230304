"""lfilter and map_coordinates: SciPy's values, and derivatives by every argument."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.autograd import gradcheck, gradgradcheck
from polygrad.errors import GradientError, InvalidArgumentError, ShapeError
from polygrad.interop import scipy_ndimage, scipy_signal
from polygrad.interop.scipy_ndimage import map_coordinates, spline_filter
from polygrad.interop.scipy_signal import lfilter
from polygrad.testing import assert_close
from tests.devices import optional

signal = optional("scipy.signal")
ndimage = optional("scipy.ndimage")


def leaf(*shape, seed, kind="f"):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=shape) * 0.5
    if kind == "c":
        values = values + 1j * generator.normal(size=shape) * 0.5
    return pg.tensor(values, requires_grad=True)


def host(t):
    return t.detach().numpy()


# ---- lfilter ------------------------------------------------------------------------------------
def filters(nb, na, n, kind):
    """(b, a, x, zi), with an a[0] that is far from zero and not one."""
    a = leaf(na, seed=1, kind=kind)
    with pg.no_grad():
        a[0] = 1.3
    order = max(nb, na) - 1
    return (leaf(nb, seed=0, kind=kind), a, leaf(2, n, seed=2, kind=kind),
            leaf(2, order, seed=3, kind=kind))  # fmt: skip


@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize(("nb", "na", "n"), [(3, 3, 5), (1, 3, 4), (4, 1, 4), (2, 4, 2), (1, 1, 3)])
def test_lfilter(nb, na, n, kind):
    b, a, x, zi = arguments = filters(nb, na, n, kind)

    def with_state(b, a, x, zi):
        return lfilter(b, a, x, zi=zi)

    for got, want in zip(
        with_state(*arguments), signal.lfilter(*map(host, (b, a, x)), zi=host(zi)), strict=True
    ):
        assert_close(got, want)
    assert gradcheck(with_state, arguments)
    assert gradgradcheck(with_state, arguments, atol=1e-4, fast_mode=True)
    assert gradcheck(lambda b, a, x: lfilter(b, a, x, axis=0), (b, a, x))


def test_a_state_broadcasts():
    b, a, x, _ = filters(2, 2, 4, "f")
    zi = leaf(1, 1, seed=4)
    assert gradcheck(lambda b, a, x, zi: lfilter(b, a, x, zi=zi), (b, a, x, zi))


def test_lfilter_on_every_device(device):
    dtype = pg.float32
    b, a, x = (pg.tensor(v, dtype=dtype, device=device, requires_grad=True)
               for v in ([0.5, 0.25], [1.0, -0.5], [1.0, 0.0, 2.0]))  # fmt: skip
    y = lfilter(b, a, x)
    assert y.device == device
    assert_close(y, np.array([0.5, 0.5, 1.25], "f4"))
    pg.sum(y).backward()
    assert_close(x.grad, np.array([1.25, 1.0, 0.5], "f4"))
    assert b.grad.device == a.grad.device == device


def test_what_is_wrong_with_a_filter_is_said():
    with pytest.raises(ShapeError, match=r"shape \(2, 2\)\. lfilter, argument b\. pass a vector"):
        lfilter(pg.ones((2, 2)), pg.ones(2), pg.ones(3))
    with pytest.raises(ShapeError, match=r"a state of 3 elements.* this filter has 1"):
        lfilter(pg.ones(2), pg.ones(2), pg.ones(3), zi=pg.ones(3))


def test_a_sign_in_the_adjoint_is_noticed(monkeypatch):
    """A planted fault: the state that the reversed filter starts from."""
    right = scipy_signal._state
    monkeypatch.setattr(scipy_signal, "_state", lambda a, past: -right(a, past))
    arguments = filters(2, 3, 4, "f")
    with pytest.raises(GradientError):
        gradcheck(lambda b, a, x, zi: lfilter(b, a, x, zi=zi), arguments)
    assert gradcheck(lfilter, arguments[:3])  # without a final state it starts from zero


# ---- map_coordinates ----------------------------------------------------------------------------
@pytest.mark.parametrize("mode", scipy_ndimage.MODES)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_map_coordinates(order, mode):
    for shape, kind in (((6,), "f"), ((5, 4), "c"), ((4, 1, 3), "f")):
        x = leaf(*shape, seed=0, kind=kind)
        points = pg.tensor(
            np.random.default_rng(1).uniform(-3, 7, (len(shape), 2, 2)), requires_grad=True
        )

        def at(x, points):
            return map_coordinates(x, points, order, mode, cval=0.7)

        want = ndimage.map_coordinates(host(x), host(points), order=order, mode=mode, cval=0.7)
        assert_close(at(x, points), want)
        assert gradcheck(at, (x, points), fast_mode=len(shape) > 1)
        assert gradgradcheck(at, (x, points), atol=1e-4, fast_mode=True)
        if order > 1:
            assert_close(map_coordinates(x, points, order, "mirror", prefilter=False),
                         ndimage.map_coordinates(host(x), host(points), order=order, mode="mirror",
                                                 prefilter=False))  # fmt: skip


@pytest.mark.parametrize("mode", ["mirror", "reflect", "grid-wrap"])
@pytest.mark.parametrize("order", [2, 3])
def test_spline_filter(order, mode):
    x = leaf(4, 3, seed=0)
    want = ndimage.spline_filter(host(x), order, mode=mode)
    assert_close(spline_filter(x, order, mode), want)
    assert gradcheck(lambda x: spline_filter(x, order, mode), x)


def test_map_coordinates_on_every_device(device):
    x = pg.tensor([0.0, 2.0, 6.0], device=device, requires_grad=True)
    points = pg.tensor([[0.5, 1.75]], device=device, requires_grad=True)
    y = map_coordinates(x, points, order=1)
    pg.sum(y).backward()
    assert y.device == device
    assert_close(y, np.array([1, 5], "f4"))
    assert_close(x.grad, np.array([0.5, 0.75, 0.75], "f4"))
    assert_close(points.grad, np.array([[2, 4]], "f4"))


def test_what_is_wrong_with_coordinates_is_said():
    x = pg.ones((3, 3))
    with pytest.raises(ShapeError, match=r"\(3, 2\) for an array of shape \(3, 3\).* each axis"):
        map_coordinates(x, pg.ones((3, 2)))
    with pytest.raises(InvalidArgumentError, match=r"order 5.*use 0 to 3"):
        map_coordinates(x, pg.ones((2, 2)), order=5)
    with pytest.raises(InvalidArgumentError, match=r"mode 'wrap'.*constant, nearest, mirror"):
        map_coordinates(x, pg.ones((2, 2)), mode="wrap")
    with pytest.raises(InvalidArgumentError, match=r"order 1 with mode 'mirror'"):
        spline_filter(x, order=1)


def test_a_wrong_weight_is_noticed(monkeypatch):
    """A planted fault: one coefficient of one spline."""
    monkeypatch.setitem(scipy_ndimage._WEIGHTS, 1, ((1.0, -1.0), (0.0, 1.01)))
    x, points = leaf(6, seed=0), leaf(1, 3, seed=1)
    with pytest.raises(GradientError):
        gradcheck(lambda x, p: map_coordinates(x, p + 2.0, 1), (x, points))
