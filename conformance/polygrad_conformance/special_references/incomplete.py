"""Incomplete gamma and beta functions, distribution functions."""

from __future__ import annotations

import mpmath as mp
from scipy import special

from polygrad_conformance.special_references.case import Case, inverse, pairs


def lower_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def upper_beta(a, b, x):
    return 1 - lower_beta(a, b, x)


def lower_beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


_P_GAMMA = [
    *pairs((1e-3, 0.3, 1.0, 3.0), (1e-6, 0.4, 0.999, 1.001, 3.0, 40.0)),
    (100.0, 30.0), (100.0, 99.0), (100.0, 101.0), (100.0, 220.0), (1e4, 9.5e3), (1e4, 1.05e4),
]  # fmt: skip
_P_BETA = [
    *((a, b, x) for a, b in pairs((0.01, 0.7, 3.0), (0.01, 1.0, 5.5)) for x in (1e-4, 0.3, 0.99)),
    (300.0, 20.0, 0.85), (300.0, 20.0, 0.98), (20.0, 2e3, 1e-3), (1e3, 2e3, 0.3), (1e3, 2e3, 0.36),
]  # fmt: skip
_INVERSE = pairs((0.3, 2.0, 30.0), (1e-6, 0.2, 0.999))

INCOMPLETE = {
    "gammainc": Case(lower_gamma, _P_GAMMA, rtol=1e-12, digits=110),
    "gammaincc": Case(upper_gamma, _P_GAMMA, rtol=1e-12),
    "betainc": Case(lower_beta, _P_BETA, rtol=1e-12, digits=110),
    "betaincc": Case(upper_beta, _P_BETA, rtol=1e-12, digits=110),
    "gammaincinv": inverse(lower_gamma, 1, "ay", special.gammaincinv, _INVERSE),
    "gammainccinv": inverse(upper_gamma, 1, "ay", special.gammainccinv, _INVERSE),
    "betaincinv": inverse(
        lower_beta, 2, "aby", special.betaincinv,
        [(0.7, 3.0, 0.2), (2.0, 2.0, 1e-6), (2.0, 5.0, 0.999), (30.0, 50.0, 0.1)], rtol=1e-11,
    ),
    "betainccinv": inverse(
        upper_beta, 2, "aby", special.betainccinv,
        [(0.7, 3.0, 0.2), (2.0, 2.0, 1e-6), (2.0, 5.0, 0.999), (30.0, 50.0, 0.1)], rtol=1e-11,
    ),
}  # fmt: skip


def upper_chi(v, x):
    return upper_gamma(v / 2, x / 2)


def f_distribution(dfn, dfd, x):
    return lower_beta(dfn / 2, dfd / 2, dfn * x / (dfn * x + dfd))


def student(df, t):
    tail = lower_beta(df / 2, mp.mpf(1) / 2, df / (df + t * t)) / 2
    return tail if t < 0 else 1 - tail


def at_most(k, n, p):
    return lower_beta(n - k, k + 1, 1 - p)


_CHI = [(0.3, 0.1), (3.0, 1e-6), (3.0, 60.0), (50.0, 20.0), (50.0, 90.0)]
_GAMMAS = [(0.5, 0.3, 2.0), (2.0, 3.0, 1e-6), (2.0, 30.0, 40.0)]
_F = [(1.0, 5.0, 1e-3), (3.0, 7.0, 0.9), (3.0, 7.0, 300.0), (40.0, 60.0, 0.4), (40.0, 60.0, 2.0)]
_T = [(df, t) for df in (0.3, 2.0, 30.0, 1e4) for t in (-30.0, -1.5, 1e-3, 1.0, 2.0, 8.0)]
_EVENTS = [(0, 1e-3), (2, 0.7), (2, 30.0), (40, 20.0)]
_TRIALS = [(0, 3, 1e-3), (2, 5, 0.4), (30, 50, 0.9), (2, 5, 1 - 1e-6)]

DISTRIBUTIONS = {
    "chdtr": Case(lambda v, x: lower_gamma(v / 2, x / 2), _CHI, rtol=1e-12, digits=110),
    "chdtrc": Case(upper_chi, _CHI, rtol=1e-12),
    "chdtri": inverse(upper_chi, 1, "vp", special.chdtri, _INVERSE),
    "gdtr": Case(lambda a, b, x: lower_gamma(b, a * x), _GAMMAS),
    "gdtrc": Case(lambda a, b, x: upper_gamma(b, a * x), _GAMMAS),
    "gdtrix": inverse(
        lambda a, b, x: lower_gamma(b, a * x), 2, "abp", special.gdtrix, [(2.0, 3.0, 0.1)]
    ),
    "gdtria": inverse(
        lambda a, b, x: lower_gamma(b, a * x), 0, "pbx", special.gdtria, [(0.1, 3.0, 2.0)]
    ),
    "pdtr": Case(lambda k, m: upper_gamma(k + 1, m), _EVENTS),
    "pdtrc": Case(lambda k, m: lower_gamma(k + 1, m), _EVENTS),
    "pdtri": inverse(
        lambda k, m: upper_gamma(k + 1, m), 1, "ky", special.pdtri, [(0, 0.3), (5, 1e-6)]
    ),
    "fdtr": Case(f_distribution, _F, rtol=1e-12),
    "fdtrc": Case(lambda n, d, x: 1 - f_distribution(n, d, x), _F, rtol=1e-12),
    "fdtri": inverse(
        f_distribution, 2, ("dfn", "dfd", "p"), special.fdtri, [(3.0, 7.0, 0.2), (40.0, 60.0, 0.99)]
    ),
    "btdtria": inverse(lower_beta, 0, "pbx", special.btdtria, [(0.3, 2.0, 0.6)]),
    "btdtrib": inverse(lower_beta, 1, "apx", special.btdtrib, [(2.0, 0.3, 0.6)]),
    "bdtr": Case(at_most, _TRIALS),
    "bdtrc": Case(lambda k, n, p: lower_beta(k + 1, n - k, p), _TRIALS),
    "bdtri": inverse(
        at_most, 2, "kny", lambda k, n, y: special.bdtri(k, int(n), y), [(2, 5, 0.4), (0, 3, 0.9)]
    ),
    "nbdtr": Case(lambda k, n, p: lower_beta(n, k + 1, p), _TRIALS),
    "nbdtrc": Case(lambda k, n, p: 1 - lower_beta(n, k + 1, p), _TRIALS),
    "nbdtri": inverse(
        lambda k, n, p: lower_beta(n, k + 1, p), 2, "kny", special.nbdtri, [(2, 5, 0.4)]
    ),
    "stdtr": Case(student, _T, digits=110),
    "stdtrit": inverse(
        student, 1, ("df", "p"), special.stdtrit, [(0.7, 0.1), (3.0, 1e-6), (30.0, 0.999)]
    ),
}  # fmt: skip
