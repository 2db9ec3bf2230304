"""NumPy's kernels compute what the primitives' own forwards compute, edge cases included."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from polygrad import dtypes
from polygrad.backends.numpy_kernels import KERNELS
from polygrad.kernels import FORWARDS, bind
from polygrad.ops import load_all
from polygrad.registry import find_kernels
from polygrad.testing import assert_close

load_all()  # forwards of chapters that are loaded late, too
INF, NAN = np.inf, np.nan
ODD = (0.0, -0.0, 1.0, -2.0, INF, -INF, NAN, 0.0, 0.0, 3.0)
OTHER = (INF, NAN, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 5.0, INF)
PICKS = np.array([[0, 1], [2, -1], [0, 0], [1, 1], [3, 3], [2, 2]])
AXES = [
    {"axis": a, "keepdims": k} for a in (None, 0, (0,), (0, 2), (), (-1,)) for k in (False, True)
]
TIMES_100 = (0.0, -0.0, 100.0, -200.0, INF, -INF, NAN)


def sampler(dtype):
    rng = np.random.default_rng(0)
    return lambda *shape: np.asarray(rng.normal(size=shape)).astype(dtype)


def cases(dtype):
    """(kernel, inputs, keywords)."""
    yield from reductions(dtype)
    yield from shapes(dtype)
    yield from places(dtype)
    yield from arithmetic(dtype)
    yield from layers(dtype)


def layers(dtype):
    f = sampler(dtype)
    x, weight, bias, logs = f(4, 3), f(2, 3), f(2), f(4, 3)
    for a in (x, x[0], f(2, 4, 3)):
        yield "linear", (a, weight, bias), {}
        yield "linear", (a, weight, None), {}
    for rows in (8, 48, 49):  # about where the product of few rows is taken another way
        yield "linear", (f(rows, 32), f(128, 32), f(128)), {}
        yield "linear", (f(32, rows).T, f(128, 32), None), {}
    extreme = np.array([INF, -INF, NAN, -0.0, INF, NAN], dtype)
    for a, mask in ((x, x.real > 0), (extreme, np.arange(6) < 4), (x[0, 0], x[0, 0] == 0)):
        yield "keep", (a, np.asarray(mask)), {}
    large = f(80, 60)
    yield "keep", (large, large.T.real.reshape(large.shape) > 0), {}
    yield "keep", (large, large[:1].real > 0), {}
    query, weights, value = f(2, 5, 3, 4).swapaxes(1, 2), f(2, 3, 5, 6), f(2, 3, 6, 4)
    for v in (value, value[..., :1], value[:1]):
        yield "attention_result", (weights, v, query), {}
    yield "attention_result", (weights, value, query[:1]), {}
    yield "attention_result", (weights[0, 0], value[0, 0], query[0, 0]), {}
    few, many = np.array([2, 0, -7, 1]), np.array([[0, 2], [1, 1], [2, 1], [-7, 0]])
    for target, a, ignored in (
        (few, logs, -7), (few[:2], logs[:2], -7), (few[:2], logs[:2], 0), (few[:0], logs[:0], -7),
        (many, f(4, 3, 2), -7),
    ):  # fmt: skip
        yield "cross_entropy_slope", (a, target, a), {"ignore_index": ignored}
        for total in (None, 3, 1):
            keywords = {"ignore_index": ignored, "total": total}
            yield "cross_entropy", (a, target, a), keywords


def reductions(dtype):
    x = sampler(dtype)(4, 3, 5)
    for name in ("sum", "prod", "max", "min", "mean"):
        yield from ((name, (x,), keywords) for keywords in AXES)
    for name in ("any", "all"):
        yield from ((name, (x > 0.5,), keywords) for keywords in AXES)
    for name in ("argmax", "argmin"):
        yield from ((name, (x,), {"axis": a, "keepdims": True}) for a in (None, 0, -1))
    for axis in (None, (0,), (1,)):
        yield "mean", (x[:0],), {"axis": axis, "keepdims": False}
    for name in ("cumulative_sum", "running_maximum", "running_minimum", "running_logsumexp"):
        yield name, (x,), {}
        yield name, (x[..., :0],), {}
    ties = np.round(x)
    ties[0, 0, 1] = ties[0, 0, 3] = ties[1, 2, 0] = NAN
    for name in ("running_maximum", "running_minimum", "running_logsumexp"):
        yield name, (ties,), {}
    for k, largest in itertools.product((0, 1, 2, 4, 5), (True, False)):
        yield "best_indices", (ties,), {"k": k, "largest": largest}
        yield "best_indices", (ties[0, 0],), {"k": k, "largest": largest}


def shapes(dtype):
    f = sampler(dtype)
    x, one = f(4, 3, 5), f()
    yield "reshape", (x,), {"shape": (12, 5)}
    yield "permute_dims", (x,), {"axes": (2, 0, 1)}
    yield "matrix_transpose", (x,), {}
    yield "squeeze", (x[None],), {"axis": 0}
    for axis in (0, 3, -1, -4, (0, 2)):
        yield "expand_dims", (x,), {"axis": axis}
    for axis in ((0, -1), (), (1,)):
        yield "flip", (x,), {"axis": axis}
    for axis in (0, 1, -1, -4):
        yield "stack", ([x, x + 1],), {"axis": axis}
    for shape, a in (
        ((2, 4, 3, 5), x), ((4, 3, 5), x[:, :1]), ((3,), x[0, 0, :1]), ((2, 3), one),
        ((0, 3, 5), x[:1]), ((3, 5), x[0].T.copy().T), ((2, 0, 3), x[:0, :, 0].copy()),
        ((4, 3, 5), x[0, 0]), ((2, 3), x[0]), ((3,), x[0]),
    ):  # fmt: skip
        yield "broadcast_to", (a,), {"shape": shape}


def places(dtype):
    f = sampler(dtype)
    x, m = f(4, 3, 5), f(6, 4)
    picks = np.array([2, 0, -1, 2])
    yield "take", (x, picks), {"axis": 1}
    yield "take", (x, np.array([4])), {"axis": 0}
    yield "take_adjoint", (f(4, 3, 5), picks), {"shape": (4, 3, 5), "axis": 0}
    yield "take_adjoint", (f(4, 4, 5), picks), {"shape": (4, 3, 5), "axis": -2}
    for axis in (0, -1):
        yield "unpermute_along_axis", (x, x.argsort(axis=axis)), {"axis": axis}
    yield "take_along_axis", (m, PICKS), {"axis": 1}
    yield "take_along_axis", (m, PICKS[:, :1]), {"axis": -1}
    yield "take_along_axis", (m, np.array([[0, 1, 5, -6]])), {"axis": 0}
    yield "take_along_axis", (m, np.array([[6, 0, 0, 0]])), {"axis": 0}
    yield "take_along_axis", (x, np.zeros((4, 1, 5), int)), {"axis": 1}
    yield "getitem_adjoint", (x[1],), {"key": (1, Ellipsis), "shape": x.shape}
    yield "getitem_adjoint", (f(4, 3, 5),), {"key": (picks,), "shape": x.shape}
    mask = np.array([True, False, True, False])
    yield "getitem_adjoint", (f(2, 3, 5),), {"key": (mask,), "shape": x.shape}


def arithmetic(dtype):
    f = sampler(dtype)
    x, m, one = f(4, 3, 5), f(6, 4), f()
    odd, other = np.array(ODD, dtype), np.array(OTHER, dtype)
    for a, b in (
        (m, m.T), (m[0], m.T), (m, m[0]), (m[0], m[1]), (x, x.swapaxes(1, 2)), (one, m), (m, m),
    ):  # fmt: skip
        yield "matmul", (a, b), {}
    number = odd.dtype.type
    yield "clip", (odd, np.asarray(number(-1)), np.asarray(number(1))), {}
    yield "clip", (odd, None, 1.0), {}
    yield "clip", (odd, 0, None), {}
    yield "clip", (x, x * 0, np.asarray(number(-1))), {}
    for matrix in (x, m, m.T, m[:0], np.stack([x, x[::-1] * 0.8])):
        yield "pivot_values", (matrix,), {}
    for name in ("strong_multiply", "strong_divide"):
        for a, b in (
            (odd, other), (odd[:, None], other), (x, x + 1), (one, one), (one * 0, one * 0),
            (m[:0], m[:0]), (m * 0, np.asarray(number(INF))),
        ):  # fmt: skip
            yield name, (a, b), {}
    for divisor in (0, 2.0, -0.0):
        yield "strong_divide", (odd, divisor), {}
    for a in (np.array(TIMES_100, dtype), x, one):
        yield "sigmoid", (a,), {}
    for a in (x, one, odd, m.T):
        yield "tanh_adjoint", (a, np.tanh(a)), {}
    yield "tanh_adjoint", (x, np.tanh(x[0])), {}
    for name in ("softmax", "log_softmax"):
        yield from ((name, (x,), {"axis": a}) for a in (0, 1, -1))
        yield name, (odd[None],), {"axis": 1}
        yield name, (np.full((2, 3), number(-INF)),), {"axis": 1}
        yield name, (m[:, :0],), {"axis": 1}


ORDERED = {
    "max", "min", "argmax", "argmin", "clip", "sigmoid", "softmax", "log_softmax", "best_indices",
    "running_maximum", "running_minimum", "running_logsumexp",
}  # fmt: skip


def outcome(function, inputs, keywords):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(function(*inputs, **keywords))
        except (ValueError, IndexError) as error:
            return type(error)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_a_kernel_computes_what_the_forward_does(dtype):
    k = find_kernels("cpu", dtype)
    seen = set()
    for name, inputs, keywords in cases(dtype):
        seen.add(name)
        if dtype == "complex64" and name in ORDERED:
            continue
        forward = FORWARDS.get(name)
        forward = getattr(np, name) if forward is None else bind(forward, k)
        shown = [getattr(a, "shape", a) for a in inputs]
        before = [np.array(a) for a in inputs]
        got, want = (outcome(f, inputs, keywords) for f in (getattr(k, name), forward))
        what = f"{name} {shown} {keywords}"
        if isinstance(want, type):
            assert got is want, what
            continue
        assert not isinstance(got, type), what
        assert got.dtype == want.dtype, what
        assert_close(got, want, what=what)
        for a, b in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(np.array(a), b, err_msg=f"{what} wrote to its input")
    assert seen == set(KERNELS) - {"index_range"}  # below: it may enclose more than its forward


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_a_range_encloses_all_indices_and_ends_at_the_greatest(dtype):
    k = find_kernels("cpu", dtype)
    limits = np.iinfo(dtype)
    for values in ([3], [5, 2, 9], [0, limits.max], [limits.min, 7], [[1, 2], [limits.min, 0]]):
        x = np.asarray(values, dtype)
        for a in (x, x[::-1], x.reshape(-1)[0]):
            low, high = k.index_range(np.asarray(a))
            assert type(low) is type(high) is int
            assert high == int(a.max())
            assert low == int(a.min()) if a.min() < 0 else low <= int(a.min())


def test_small_integers_are_reduced_in_their_own_dtype():
    """The public functions widen first: here nothing may be widened twice."""
    for dtype in (dtypes.int8, dtypes.uint16, dtypes.int64):
        k = find_kernels("cpu", dtype.name)
        x = np.array([[1, 2, 3], [4, 5, 6]], dtype)
        for name in ("sum", "prod", "max"):
            assert np.asarray(getattr(k, name)(x, axis=(0,), keepdims=False)).dtype == dtype
        assert k.cumulative_sum(x).dtype == dtype


def test_a_broadcast_array_is_a_view_that_cannot_be_written():
    k = find_kernels("cpu", "float32")
    for x in (np.ones((), np.float32), np.ones((2, 1), np.float32), np.ones((1, 2), np.float32).T):
        out = k.broadcast_to(x, shape=(2, 3))
        assert np.shares_memory(out, x)
        assert not out.flags.writeable


def test_zeros_are_strong_without_a_warning():
    k = find_kernels("cpu", "float32")
    zero, inf = np.zeros(2, np.float32), np.full(2, INF, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(k.strong_multiply(zero, inf), [0, 0])
        np.testing.assert_array_equal(k.strong_divide(zero, zero), [0, 0])
        np.testing.assert_array_equal(k.strong_divide(inf, zero), [INF, INF])


@pytest.mark.parametrize("rows", [7, 8, 48, 49])
@pytest.mark.parametrize("biased", [True, False])
def test_the_rows_of_an_affine_map_lie_one_after_the_other(rows, biased):
    f = sampler("float32")
    k = find_kernels("cpu", dtypes.float32)
    assert k.linear(f(rows, 32), f(128, 32), f(128) if biased else None).flags.c_contiguous
