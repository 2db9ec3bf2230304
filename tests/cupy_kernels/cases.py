"""Calls of the operations that have kernels: (operation, inputs, keywords), by family."""

from __future__ import annotations

import numpy as np

INF, NAN = np.inf, np.nan
EDGES = (0.0, -0.0, 1.0, -2.0, INF, -INF, NAN, 30.0, -30.0, 100.0, -100.0, 1e-6)


class Numbers:
    """Seeded arrays of one dtype."""

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)
        self.rng = np.random.default_rng(0)

    def __call__(self, *shape):
        kind = self.dtype.kind
        if kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind in "iu":
            limits = np.iinfo(self.dtype)
            return self.rng.integers(limits.min, limits.max, shape, self.dtype, endpoint=True)
        made = self.rng.normal(size=shape)
        if kind == "c":
            made = made + 1j * self.rng.normal(size=shape)
        return np.asarray(made).astype(self.dtype)

    def whole(self, low, high, *shape):
        return self.rng.integers(low, high, shape)

    def edges(self):
        return np.array(EDGES).astype(self.dtype)


def layouts(x):
    """An array in C order, in the order of other axes, and with gaps."""
    yield x
    if x.ndim > 1:
        yield np.array(x.T, order="C").T
        yield np.stack([x, x], axis=-1)[..., 0]
    if x.ndim > 2:
        yield np.array(x.swapaxes(0, 1), order="C").swapaxes(0, 1)


SHAPES = (((3, 10), (1, 0)), ((4, 7, 5), (0, 1, 2)), ((2, 2100), (-1,)), ((600, 33), (0,)),
          ((2, 3, 4, 5), (1, 2)), ((1, 1), (0,)), ((5,), (0,)))  # fmt: skip


def softmax(f):
    for shape, axes in SHAPES:
        for axis in axes:
            for x in layouts(f(*shape)):
                for name in ("softmax", "log_softmax"):
                    yield name, (x,), {"axis": axis}
                    yield f"{name}_adjoint_x", (f(*shape), x), {"axis": axis}
    for name in ("softmax", "log_softmax"):
        for x in (f.edges()[None], f.edges()[:, None], f(2, 0), f(0, 2)):
            yield name, (x,), {"axis": 1}
        yield name, (np.full((2, 3), -INF).astype(f.dtype),), {"axis": 1}
        yield f"{name}_adjoint_x", (np.broadcast_to(f(3, 1), (3, 4)), f(3, 4)), {"axis": 1}
    yield from cross_entropy(f)


def cross_entropy(f):
    for shape in ((4, 3), (5, 3, 2), (2, 10, 3, 7), (5000, 3), (1, 1), (0, 3)):
        x, logs = f(*shape), f(*shape)
        target = f.whole(0, shape[1], shape[0], *shape[2:])
        some = target.copy()
        some.reshape(-1)[::3] = -7
        for t, ignored in ((target, None), (some, -7), (target.astype("int32"), 0)):
            for logs_ in (logs, np.array(logs.T, order="C").T):
                given, keywords = (x, t, logs_), {"ignore_index": ignored}
                yield "cross_entropy_slope", given, keywords
                for total in (None, 3, 1, 2.5, NAN):
                    yield "cross_entropy", given, {**keywords, "total": total}


def elementwise(f):
    from polygrad.backends.cupy_kernels.elementwise import OF_G_AND_X, OF_X

    values = [f.edges(), f(), f(0, 3), f(300), 8 * f(3, 5), *layouts(f(3, 4, 5))]
    for x in values:
        yield from ((name, (x,), {}) for name in OF_X)
        for name in OF_G_AND_X:
            yield f"{name}_adjoint_x", (f(*x.shape), x), {}
            yield f"{name}_adjoint_x", (np.broadcast_to(f(), x.shape), x), {}


CASES = {"softmax": softmax, "elementwise": elementwise}
