"""NumPy's convolutions, by pieces of the batch, compute what the primitives' own forwards do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from polygrad.backends import numpy_convolution
from polygrad.backends.numpy_convolution import CONVOLUTIONS
from polygrad.kernels import FORWARDS, bind
from polygrad.ops import load_all
from polygrad.ops._windows import Geometry
from polygrad.registry import find_kernels
from polygrad.testing import assert_close

load_all()
AXES = (1, 2, 3)


def sampler(dtype):
    rng = np.random.default_rng(0)

    def normal(*shape):
        x = rng.normal(size=shape)
        return (x + 1j * rng.normal(size=shape) if dtype == "complex64" else x).astype(dtype)

    return normal


def where(axes):
    """(stride, padding, dilation, groups), of which the adjoint takes some in one run."""
    one, pads = (1,) * axes, ((1, 1), (0, 2), (2, 1))[:axes]
    yield one, ((0, 0),) * axes, one, 1
    yield one, pads, one, 2
    yield one, pads, (2, 1, 2)[:axes], 1
    yield (2, 1, 2)[:axes], pads, one, 1
    yield one, ((1, -1),) * axes, one, 1


def calls(axes, dtype):
    """(name, inputs, keywords): five samples in several orders of memory, and none at all."""
    f = sampler(dtype)
    size, kernel = (7, 6, 5)[:axes], (3, 2, 2)[:axes]
    for (stride, padding, dilation, groups), batch in itertools.product(where(axes), (5, 0)):
        x, w, b = f(batch, 4, *size), f(6, 4 // groups, *kernel), f(6)
        windows = tuple(
            (n + lo + hi - d * (k - 1) - 1) // s + 1
            for n, k, s, (lo, hi), d in zip(size, kernel, stride, padding, dilation, strict=True)
        )
        g = np.ascontiguousarray(f(6, batch, *windows)).swapaxes(0, 1)
        given = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        yield "convolution", (x, w, b), given
        yield "convolution", (np.asfortranarray(x), w, None), given
        geometry = Geometry(kernel, stride, padding, dilation)
        yield "window_columns", (x.swapaxes(0, 1),), {"geometry": geometry}
        for cotangent in (g, np.ascontiguousarray(g)):
            yield "convolution_adjoint_x", (cotangent, w), {"size": size, **given}
            yield "convolution_adjoint_w", (cotangent, x), {"kernel": kernel, **given}
    # Windows that keep the size, some of them mostly beyond it.
    for places, dilation in (((3, 3, 3), 1), ((3, 1, 5), 2), ((2, 4, 2), 3), ((9, 9, 1), 2)):
        kernel, one = places[:axes], (1,) * axes
        reach = [dilation * (k - 1) for k in kernel]
        pads = tuple((n - n // 3, n // 3) for n in reach)
        geometry = Geometry(kernel, one, pads, (dilation,) * axes)
        x = f(3, 2, *size)
        for a in (x, np.asfortranarray(x), np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)):
            yield "window_columns", (a,), {"geometry": geometry}
    moved = Geometry((3, 1, 1)[:axes], (1,) * axes, ((1, 1), (1, -1), (0, 0))[:axes], (1,) * axes)
    yield "window_columns", (f(2, 3, *size),), {"geometry": moved}


@pytest.mark.parametrize("piece", [1, 2000, 1 << 30])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int64"])
def test_pieces_compute_what_the_forward_does(monkeypatch, dtype, axes, piece):
    monkeypatch.setattr(numpy_convolution, "PIECE", piece)
    k, seen = find_kernels("cpu", dtype), set()
    for name, inputs, keywords in calls(axes, dtype):
        seen.add(name)
        before = [None if a is None else a.copy() for a in inputs]
        got = getattr(k, name)(*inputs, **keywords)
        want = bind(FORWARDS[name], k)(*inputs, **keywords)
        what = f"{name} {[getattr(a, 'shape', a) for a in inputs]} {keywords}"
        assert got.dtype == want.dtype, what
        assert_close(got, want, what=what)
        for a, b in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{what} wrote to its input")
    assert seen == set(CONVOLUTIONS)


@pytest.mark.parametrize("weight", [np.inf, np.nan])
def test_a_weight_that_is_no_number_spoils_only_what_it_is_multiplied_with(weight):
    k = find_kernels("cpu", "float32")
    g, w = np.ones((1, 1, 2, 2), np.float32), np.ones((1, 1, 2, 2), np.float32)
    w[0, 0, 0, 0] = weight
    given = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
    got = k.convolution_adjoint_x(g, w, size=(3, 3), **given)
    want = [[weight, weight, 1], [weight, weight, 2], [1, 2, 1]]
    np.testing.assert_array_equal(got[0, 0], want)


def test_the_result_is_channels_first_in_memory():
    """So the next layer finds it as it likes it: Note [Channels first]."""
    k, f = find_kernels("cpu", "float32"), sampler("float32")
    given = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}
    x, w = f(64, 8, 32, 32), f(8, 8, 3, 3)
    assert x.nbytes * 9 > 2 * numpy_convolution.PIECE
    out = k.convolution(x, w, None, **given)
    assert out.swapaxes(0, 1).flags.c_contiguous
    back = k.convolution_adjoint_x(out, w, size=(32, 32), **given)
    assert back.strides[1] > back.strides[0]
