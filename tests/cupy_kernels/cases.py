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
                    yield f"{name}_adjoint", (f(*shape), x), {"axis": axis}
    for name in ("softmax", "log_softmax"):
        for x in (f.edges()[None], f.edges()[:, None], f(2, 0), f(0, 2)):
            yield name, (x,), {"axis": 1}
        yield name, (np.full((2, 3), -INF).astype(f.dtype),), {"axis": 1}
        yield f"{name}_adjoint", (np.broadcast_to(f(3, 1), (3, 4)), f(3, 4)), {"axis": 1}
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
    from polygrad.backends.cupy_kernels.elementwise import OF_X

    values = [f.edges(), f(), f(0, 3), f(300), 8 * f(3, 5), *layouts(f(3, 4, 5))]
    for x in values:
        yield from ((name, (x,), {}) for name in OF_X)


NORMS = (((4, 6), ((1,), (0,))), ((3, 5, 7), ((0, 2), (2,), (1, 2), (0, 1, 2), (1,))),
         ((2, 3, 4, 5), ((0, 2, 3), (1, 3), (0, 2))), ((2, 2100), ((1,),)), ((700, 3), ((0,),)),
         ((40, 9, 11), ((0, 2),)), ((0, 3), ((1,),)), ((1, 1), ((0,),)))  # fmt: skip


def norms(f):
    wide = Numbers("float32" if f.dtype.itemsize == 2 else f.dtype)
    for shape, choices in NORMS:
        for axis in choices:
            kept = [1 if i in axis else n for i, n in enumerate(shape)]
            for x in layouts(f(*shape)):
                keywords = {"axis": axis, "eps": 0.01}
                yield "standardize", (x,), keywords
                yield "root_mean_standardize", (x,), keywords
                gs = [f(*shape), wide(*kept), wide(*kept)]
                statistic = np.abs(wide(*kept))
                yield "standardize_adjoint", (*gs, x, statistic), keywords
                yield "root_mean_adjoint", (*gs[:2], x, statistic), keywords
    yield "standardize", (f.edges()[None],), {"axis": (1,), "eps": 1e-5}


DECAY = {"weight_decay": 0.1, "maximize": False}
COUPLED = ({"weight_decay": 0.0, "maximize": True}, DECAY)
EITHER = tuple({**c, "decoupled_weight_decay": d} for c in COUPLED for d in (False, True))
ADAM = {"lr": 0.05, "betas": (0.9, 0.99), "eps": 1e-3}


def rules():
    """(rule, how many state arrays, keywords)."""
    for decay in COUPLED:
        for momentum, step, nesterov in ((0.0, 1, False), (0.9, 1, True), (0.9, 2, False)):
            keywords = {**decay, "lr": 0.1, "momentum": momentum, "dampening": 0.25,
                        "nesterov": nesterov, "step": step}  # fmt: skip
            yield "sgd_step", int(momentum > 0), keywords
        yield "adamax_step", 2, {**ADAM, **decay, "step": 3}
        yield "lion_step", 1, {**decay, "lr": 0.1, "betas": (0.9, 0.99), "step": 2}
        for momentum, centered in ((0.0, False), (0.9, False), (0.0, True), (0.9, True)):
            keywords = {**decay, "lr": 0.1, "alpha": 0.9, "eps": 0.01, "momentum": momentum,
                        "centered": centered, "step": 2}  # fmt: skip
            yield "rmsprop_step", 1 + (momentum > 0) + centered, keywords
        yield "adagrad_step", 1, {**decay, "lr": 0.1, "lr_decay": 0.1, "eps": 0.01, "step": 3}
        yield "adadelta_step", 2, {**decay, "lr": 0.5, "rho": 0.9, "eps": 0.01, "step": 3}
        for mu in (1, 0.25):
            keywords = {**decay, "lr": 0.1, "lambd": 0.1, "eta": 0.05, "mu": mu, "step": 3}
            yield "asgd_step", 1, keywords
    for decay in EITHER:
        for state, step in ((2, 1), (3, 7)):
            yield "adam_step", state, {**ADAM, **decay, "step": step}
        for step in (1, 50):
            yield "radam_step", 2, {**ADAM, **decay, "step": step}
        mus = {"mu": 0.9, "mu_next": 0.8, "mu_product": 0.7}
        yield "nadam_step", 2, {**ADAM, **decay, **mus, "step": 2}
    for maximize in (False, True):
        keywords = {"etas": (0.5, 1.2), "step_sizes": (1e-3, 0.5), "maximize": maximize}
        yield "rprop_step", 2, {**keywords, "step": 2}


SIZES = ((3, 5), (1,), (), (4000,), (0,), (33, 31))


def updates(f):
    """Each rule on one array, and on arrays end to end with gradients in parts."""
    for name, count, keywords in rules():
        state = [np.abs(f(7, 301)) for _ in range(count)]
        if keywords.get("centered"):
            state[-1] *= 0  # the mean, whose square must not be above the mean square
        yield name, (f(7, 301), f(301, 7).T, *state), keywords
        yield name, (f(0), f(0), *(f(0) for _ in range(count))), keywords
        parts = [f(*shape) for shape in SIZES]
        n = sum(p.size for p in parts)
        given = [np.abs(f(n)) for _ in range(count)]
        if keywords.get("centered"):
            given[-1] *= 0
        yield f"{name}_of_parts", (f(n), parts, *given), keywords
        yield f"{name}_of_parts", (f(6), [f(2, 3).T], *(np.abs(f(6)) for _ in given)), keywords


SEED = (1 << 63) + 5  # its words do not fit long long


def drawing(f):
    from polygrad.streams import Generator

    for seed, position in ((0, 0), (SEED, 3), (7, (1 << 64) - 2), (7, (1 << 70) + 1)):
        for n in (0, 1, 7, 8, 9, 4099):
            for p in (0.0, 0.3, 1 - 2**-33, 1.0):
                generator = Generator(seed)
                generator.set_state((seed, position, 0))
                yield "toss", ((n,),), {"p": p, "generator": generator}
    yield "toss", ((2, 3, 5),), {"p": 0.5, "generator": Generator(1)}


def dropout(f):
    for x in (f.edges(), f(0, 2), *layouts(f(3, 4, 5))):
        mask = np.asarray(f(*x.shape)) > 0
        for scale in (0, 1, 1.25):
            yield "dropout", (x, mask), {"scale": scale}
            yield "dropout", (x, mask.T.copy().T), {"scale": scale}
    yield "dropout", (f(3, 4), f(3, 1) > 0), {"scale": 2}


def scattering(f):
    for shape, axis, places in (
        ((7, 3), 0, (10,)), ((4, 6, 5), 1, (2, 3)), ((4, 6), -1, (40,)), ((5,), 0, ()),
        ((9, 2), 0, (0,)), ((3, 300), 0, (200,)),
    ):  # fmt: skip
        axis_ = axis % len(shape)
        for low in (0, -shape[axis]):
            indices = f.whole(low, shape[axis], *places)
            x = f(*shape[:axis_], *places, *shape[axis_ + 1 :])
            for given in (indices, indices.astype("int32")):
                yield "take_adjoint", (x, np.asarray(given)), {"shape": shape, "axis": axis}
    picks, others = f.whole(-4, 4, 6), f.whole(0, 3, 6)
    for key in (
        (picks,), (picks, others), (slice(None), others), (picks, slice(1, 3)), (picks, 0),
        (None, others % 2), (1, Ellipsis), (np.array([True, False] * 2),),
    ):  # fmt: skip
        shape = (4, 3, 5)
        x = f(*np.zeros(shape)[key].shape)
        yield "getitem_adjoint", (x,), {"key": key, "shape": shape}


GEOMETRIES = (
    ((5, 4), ((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1))),
    ((5, 4), ((3, 2), (1, 2), ((1, 1), (0, 1)), (1, 1))),
    ((7, 6), ((2, 3), (2, 1), ((1, 0), (2, 2)), (2, 1))),
    ((6,), ((3,), (2,), ((1, 1),), (1,))),
    ((7,), ((2,), (3,), ((0, -2),), (1,))),
    ((4, 3, 5), ((2, 2, 2), (1, 1, 2), ((1, 0), (0, 0), (1, 1)), (1, 2, 1))),
    ((5, 4), ((1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1))),
    ((5, 4), ((1, 1), (2, 2), ((1, 1), (0, 0)), (1, 1))),
    ((3, 3, 2, 2), ((2, 2, 1, 1), (1, 1, 1, 1), ((0, 0),) * 4, (1, 1, 1, 1))),
    ((20, 20), ((16, 16), (2, 2), ((0, 0), (0, 0)), (1, 1))),
)


def count_of(size, geometry):
    from polygrad.ops._windows import Geometry

    return Geometry(*geometry).windows(size)


def windows(f):
    from polygrad.ops._windows import Geometry

    for size, numbers in GEOMETRIES:
        geometry, made = Geometry(*numbers), count_of(size, numbers)
        x = f(3, 2, *size)
        for given in (x, f(2, 3, *size).swapaxes(0, 1), x[..., ::-1]):
            yield "window_columns", (given,), {"geometry": geometry}
        places = int(np.prod(geometry.kernel))
        parts = f(3, places, 2, *made)
        for given in (parts, np.array(parts.swapaxes(0, 2), order="C").swapaxes(0, 2)):
            yield "window_columns_adjoint", (given,), {"size": size, "geometry": geometry}
    yield "window_columns", (f(0, 2, 5, 4),), {"geometry": Geometry(*GEOMETRIES[1][1])}


def pooling(f):
    for size, geometry in GEOMETRIES:
        made, places = count_of(size, geometry), int(np.prod(geometry[0]))
        keywords = {"geometry": geometry}
        padded = any(map(any, geometry[2]))
        name = "uint8" if places < 256 else "int32"
        for lead in ((2, 3), (1,), (0, 2)):
            x, pooled = f(*lead, *size), f(*lead, *made)
            chosen = f.whole(0, places, *lead, *made).astype(name)
            if f.dtype.kind not in "iu" or not padded:  # integers have no -inf to pad with
                for given in (x, x[::-1], np.array(x.T, order="C").T):
                    yield "max_pool", (given,), keywords
                if f.dtype.kind == "f" and x.size:
                    ties = np.round(x)
                    yield "max_pool", (ties,), keywords
                    for place in (0, 1):  # the first in a window, and a later one
                        lost = ties.copy()
                        lost[..., place] = NAN
                        yield "max_pool", (lost,), keywords
                    yield "max_pool", (np.full_like(x, -INF),), keywords
            yield "place_in_windows", (pooled, chosen), {"size": size, **keywords}
            yield "pick_from_windows", (x, chosen), keywords
            yield "window_sum", (x,), keywords
            yield "window_sum_adjoint", (pooled,), {"size": size, **keywords}


def attention(f):
    for q, k, v, lead in (
        ((3, 4), (5, 4), (5, 2), ()), ((2, 3, 4), (2, 5, 4), (2, 5, 3), (2,)),
        ((2, 3, 7, 4), (2, 3, 9, 4), (2, 3, 9, 4), (2, 3)),
        ((2, 1, 3, 4), (3, 2, 4), (3, 2, 4), (2, 3)),
        ((2, 2, 1, 3, 4), (1, 2, 3, 5, 4), (2, 2, 3, 5, 1), (2, 2, 3)),
        ((1, 2, 4, 2), (1, 2, 600, 2), (1, 2, 600, 3), (1, 2)), ((3, 4), (0, 4), (0, 2), ()),
    ):  # fmt: skip
        rows, columns = q[-2], k[-2]
        whole = (*lead, rows, columns)
        operands = (f(*q), f(*k), f(*v))
        kept = f.whole(0, 3, *whole) > 0
        hidden = f.whole(0, 3, *whole) > 0
        hidden[..., 0, :] = False  # a query that sees nothing
        for bias, mask, keeps in (
            (None, None, None), (f(*whole), None, kept), (f(rows, 1), hidden, None),
            (f(*whole[:-2], 1, columns) if lead else f(columns), hidden[..., :1, :], kept),
            (None, hidden[0] if lead else hidden, kept),
            (None, np.swapaxes(np.swapaxes(hidden, -1, -2).copy(), -1, -2), None),
        ):  # fmt: skip
            for causal, keep_scale in ((False, 1.5), (True, 0.0)):
                keywords = {"scale": 0.5, "causal": causal, "keep_scale": keep_scale}
                yield "attention", (*operands, bias, mask, keeps), keywords
        weights = np.abs(f(*whole))
        for d in (f(*whole), np.broadcast_to(f(*whole[:-1], 1), whole)):
            yield "attention_scores_adjoint", (weights, d, f(*whole[:-1], 1)), {}


def products(f):
    for x, y in (
        ((3, 5), (5, 4)), ((70, 33), (33, 65)), ((1, 1), (1, 1)), ((4, 0), (0, 3)),
        ((0, 3), (3, 2)), ((17,), (17, 3)), ((3, 17), (17,)), ((6,), (6,)),
        ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((4,), (2, 3, 4, 5)),
        ((2, 1, 3, 4), (3, 4, 2)), ((3, 4), (2, 4, 1)), ((2, 3, 2, 3, 4), (2, 1, 2, 4, 2)),
    ):  # fmt: skip
        for a in layouts(f(*x)):
            for b in layouts(f(*y)):
                yield "matmul", (a, b), {}
    yield "matmul", (f(9, 8)[::-1, ::2], f(4, 6)[:, ::-1]), {}


CASES = {
    "softmax": softmax, "elementwise": elementwise, "norms": norms, "updates": updates,
    "drawing": drawing, "dropout": dropout, "scattering": scattering, "windows": windows,
    "pooling": pooling, "attention": attention, "products": products,
}  # fmt: skip
