"""Helpers of the cases: small faults that users of such libraries reported, with the right values."""

import numpy as np

import polygrad as pg

INF, NAN = float("inf"), float("nan")


def A(t):
    """value as ndarray, whether or not it requires grad"""
    return t.detach().numpy()


def eq(got, want, rtol=1e-6, atol=0.0, msg=""):
    got = A(got) if hasattr(got, "detach") else got
    np.testing.assert_allclose(got, np.asarray(want), rtol=rtol, atol=atol, err_msg=msg)


def same(got, want, msg=""):
    got = A(got) if hasattr(got, "detach") else got
    np.testing.assert_array_equal(got, np.asarray(want), err_msg=msg)


def leaf(data, dtype=None):
    return pg.tensor(data, dtype=pg.float32 if dtype is None else dtype, requires_grad=True)


def grads(f, *xs, dtype=None):
    """gradients of sum(f(*xs)) w.r.t. every x, as ndarrays (None where no gradient came)"""
    ts = [leaf(x, dtype) for x in xs]
    pg.sum(f(*ts)).backward()
    return [None if t.grad is None else A(t.grad) for t in ts]


def grad(f, x, dtype=None):
    return grads(f, x, dtype=dtype)[0]


def raises(types, f, *words):
    """f() must raise one of types, its message naming every one of words (case-insensitive)"""
    try:
        f()
    except types as e:
        text = str(e).lower().replace("in-place", "inplace")
        for w in words:
            assert w.lower() in text, f"message lacks {w!r}: {e}"
        return e
    except Exception as e:
        raise AssertionError(f"expected {types}, got {type(e).__name__}: {e}")
    raise AssertionError(f"expected {types}, nothing was raised")
