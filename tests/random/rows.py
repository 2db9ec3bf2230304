"""The distributions under test: parameters from usual to extreme, and SciPy's names."""

from __future__ import annotations

import numpy as np

import polygrad as pg
from polygrad.random.distribution import TABLE

# name: (how SciPy calls it, from the parameters; the parameters of each case)
CONTINUOUS = {
    "uniform": (lambda s, low, high: s.uniform(low, high - low), [(-1.0, 2.0), (0.0, 1.0)]),
    "normal": (lambda s, m, d: s.norm(m, d), [(0.0, 1.0), (1.0, 2.0), (-3.0, 1e-3)]),
    "exponential": (lambda s, scale: s.expon(0, scale), [(1.0,), (1e-3,), (1e6,)]),
    "laplace": (lambda s, m, d: s.laplace(m, d), [(0.0, 1.0), (1.0, 2.0)]),
    "logistic": (lambda s, m, d: s.logistic(m, d), [(0.0, 1.0), (1.0, 2.0)]),
    "cauchy": (lambda s, m, d: s.cauchy(m, d), [(0.0, 1.0), (1.0, 2.0)]),
    "gumbel": (lambda s, m, d: s.gumbel_r(m, d), [(0.0, 1.0), (1.0, 2.0)]),
    "log_normal": (lambda s, m, d: s.lognorm(d, scale=np.exp(m)), [(0.0, 1.0), (1.0, 3.0)]),
    "weibull": (lambda s, k, d: s.weibull_min(k, scale=d), [(0.1, 1.0), (0.5, 2.0), (9.0, 1.0)]),
    "student_t": (lambda s, d: s.t(d), [(0.1,), (0.5,), (1.0,), (3.0,), (30.0,), (1e6,)]),
    "gamma": (lambda s, a, d: s.gamma(a, scale=d), [
        (1e-3, 1.0), (0.05, 2.0), (0.3, 1.0), (0.999, 1.0), (1.0, 3.0), (2.5, 1.0), (50.0, 0.1),
        (1e4, 1.0), (1e8, 1.0), (1e14, 1.0),
    ]),
    "chi_square": (lambda s, d: s.chi2(d), [(0.1,), (1.0,), (7.0,)]),
    "beta": (lambda s, a, b: s.beta(a, b), [
        (1e-2, 1e-2), (1e-3, 2.0), (0.1, 3.0), (1.0, 1.0), (5.0, 0.5), (200.0, 300.0), (1e6, 1e5),
    ]),
    "truncated_normal": (
        lambda s, low, high, m, d: s.truncnorm((low - m) / d, (high - m) / d, m, d), [
            (-2.0, 2.0, 0.0, 1.0), (-0.1, 0.2, 0.0, 1.0), (-1.0, 1.2, 0.0, 1.0),
            (0.0, np.inf, 0.0, 1.0), (3.0, np.inf, 0.0, 1.0), (3.0, 3.1, 0.0, 1.0),
            (-np.inf, -8.0, 0.0, 1.0), (30.0, 31.0, 0.0, 1.0), (-1.0, 5.0, 1.0, 2.0),
            (-np.inf, np.inf, 1.0, 2.0),
        ]),
}  # fmt: skip
DISCRETE = {
    "poisson": (lambda s, r: s.poisson(r), [
        (1e-3,), (0.5,), (3.0,), (9.99,), (10.0,), (12.0,), (50.0,), (1e3,), (1e6,), (1e9,),
    ]),
    "binomial": (lambda s, n, p: s.binom(n, p), [
        (1, 0.5), (10, 0.3), (40, 0.2), (20, 0.5), (25, 0.5), (100, 0.97), (1000, 0.3),
        (10**6, 1e-6), (10**6, 0.4), (10**9, 0.99), (10**12, 1e-3),
    ]),
    "geometric": (lambda s, p: s.geom(p), [(0.01,), (0.5,), (0.9,)]),
}  # fmt: skip
ROWS = {**CONTINUOUS, **DISCRETE}
CASES = [(name, parameters) for name, (_, cases) in ROWS.items() for parameters in cases]


def draw(name, parameters, shape, **options):
    """Call the function of a row with its parameters by name."""
    names = [p.name for p in TABLE[name].parameters]
    given = dict(zip(names, parameters, strict=True))
    return getattr(pg.random, name)(shape=shape, **given, **options)
