"""The gamma function and its relatives."""

from __future__ import annotations

import mpmath as mp

from polygrad_conformance.special_references.case import Case, one, pairs

_GAMMA = one(
    1e-10, 1e-3, 0.1, 0.5, 1.0, 1.4616, 2.5, 7.0, 30.0, -1e-5, -1.5, -2.7, -30.2, -3 - 1e-6, -100.3
)
_ZETA = one(
    1.0001, 0.9999, 0.5, 0.1, 0.0, -0.1, -1.0, -1.5, -2.0, -9.7, -20.3, -101.5, 2.0, 5.0, 20.0, 60.0
)
_BETA = [
    *pairs((1e-5, 0.7, 3.2, 50.0, 1e3), (1e-5, 1.0, 11.0, 1e3)),
    (-0.5, 2.3), (-3.3, -1.2), (-3.3, 8.0),
]  # fmt: skip

GAMMA = {
    "gammaln": Case(lambda x: mp.loggamma(x).real, [*_GAMMA, (1e3,), (1e10,)]),
    "loggamma": Case(lambda x: mp.loggamma(x).real, one(1e-10, 0.5, 1.4616, 2.5, 30.0, 1e10)),
    "gamma": Case(mp.gamma, [*_GAMMA, (160.0,)]),
    "rgamma": Case(mp.rgamma, [*_GAMMA, *one(0.0, -1.0, -5.0, -20.0, -3 + 1e-12, 160.0, -165.3)]),
    **dict.fromkeys(
        ("psi", "digamma"), Case(lambda x: mp.psi(0, x), [*_GAMMA, (1e8,), (-1 + 1e-9,)])
    ),
    "polygamma": Case(
        lambda n, x: mp.psi(int(n), x),
        [(n, *x) for n in (0, 1, 3) for x in _GAMMA if abs(x[0]) > 1e-4], rtol=1e-10,
    ),
    "zeta": Case(mp.zeta, pairs((1.0001, 1.1, 3.5, 20.0), (1e-3, 1.0, 30.0, 1e5))),
    "zetac": Case(lambda x: mp.zeta(x) - 1, _ZETA),
    "betaln": Case(lambda a, b: mp.log(abs(mp.beta(a, b))), _BETA),
    "beta": Case(mp.beta, [p for p in _BETA if sum(p) < 200]),
    "binom": Case(
        mp.binomial,
        [(5.0, 2.0), (5.0, 6.0), (5.0, 9.0), (5.0, -1.0), (5.5, 2.2), (30.0, 31.0), (-0.5, 2.0),
         (-2.5, 3.0), (-2.5, -1.3), (0.0, 0.0), (0.0, 1.0), (200.0, 202.0)],
    ),
    "poch": Case(
        mp.rf,
        [(5.0, 2.0), (5.0, 1e-6), (1e6, 1.0), (1e10, 0.5), (0.1, 0.1), (-2.5, 1.3), (-2.5, 3.2),
         (-2.5, 7.2), (3.0, -1.5), (50.0, 100.0)],
    ),
    "multigammaln": Case(
        lambda a, d: mp.log(mp.pi) * d * (d - 1) / 4
        + sum(mp.loggamma(a - mp.mpf(j) / 2).real for j in range(int(d))),
        [(2.2, 3), (50.0, 4)],
    ),
}  # fmt: skip
