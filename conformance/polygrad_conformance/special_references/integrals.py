"""Integrals, hypergeometric functions, Faddeeva's function."""

from __future__ import annotations

import mpmath as mp

from polygrad_conformance.special_references.case import Case, one, pairs

_X = one(1e-9, 1e-3, 0.3, 1.7, 12.0, 50.0)


def kolmogorov(y):
    return 2 * mp.nsum(lambda k: (-1) ** (int(k) - 1) * mp.exp(-2 * (k * y) ** 2), [1, 60])


def kolmogorov_root(p):
    return mp.findroot(lambda y: kolmogorov(y) - p, (0.3, 2.5), solver="anderson")


def sum_of_slopes(first, second):
    """The derivative of the first result plus twice the second."""
    return {"x": lambda x: first(x) + 2 * second(x)}


def owens_t(h, a):
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def wofz(z):
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def voigt(x, sigma, gamma):
    z = mp.mpc(x, gamma) / (sigma * mp.sqrt(2))
    return wofz(z).real / (sigma * mp.sqrt(2 * mp.pi))


_VOIGT = [
    (0.3, 1.0, 0.5), (9.0, 1.0, 1e-3), (-2.0, 0.05, 0.3), (30.0, 1.0, 2.0), (2.0, 1e-6, 1.0),
    (1e4, 1.0, 0.1),
]  # fmt: skip

INTEGRALS = {
    "expi": Case(mp.ei, [*_X, *one(-1e-3, -3.0, -30.0)]),
    "exp1": Case(mp.e1, _X),
    "expn": Case(mp.expint, [(n, *x) for n in (0, 1, 2, 7) for x in _X[1:]], 1e-12),
    "spence": Case(
        None, one(1e-300, 1e-3, 0.9, 1.0, 1 + 1e-9, 3.0, 1e9),
        slopes={"z": lambda z: mp.mpf(-1) if z == 1 else -mp.log(z) / (z - 1)},
    ),
    "wrightomega": Case(
        lambda z: mp.lambertw(mp.exp(z)).real, one(-30.0, -3.0, 0.0, 2.0, 40.0), 1e-12
    ),
    "kolmogorov": Case(kolmogorov, one(0.3, 0.7, 0.999, 1.001, 2.0, 5.0), digits=80),
    "kolmogi": Case(
        None, one(1e-9, 0.1, 0.5, 0.99),
        slopes={"p": lambda p: 1 / mp.diff(kolmogorov, kolmogorov_root(p))}, rtol=1e-12,
    ),
    "owens_t": Case(owens_t, pairs((-2.0, 0.3, 6.0), (-3.0, 0.4, 1.5)), 1e-12),
    "hyp0f1": Case(mp.hyp0f1, [(v, x) for v in (1, 0.5, 3.3) for x in (-9.0, 0.3, 20.0)], 1e-12),
    "hyp1f1": Case(
        mp.hyp1f1, [(a, b, x) for a, b in ((1, 2), (0.5, 3.3)) for x in (-9.0, 0.3, 20.0)], 1e-11
    ),
    "hyp2f1": Case(
        mp.hyp2f1, [(a, b, 2.2, x) for a, b in ((1, 2), (0.5, 3.3)) for x in (-3.0, 0.3, 0.9)],
        1e-11,
    ),
    "hyperu": Case(
        mp.hyperu, [(a, b, x) for a, b in ((1, 2), (0.5, 1.3)) for x in (0.3, 4.0, 30.0)], 1e-10
    ),
    "sici": Case(
        None, _X, weights=(1, 2),
        slopes=sum_of_slopes(lambda x: mp.sin(x) / x, lambda x: mp.cos(x) / x),
    ),
    "shichi": Case(
        None, _X, weights=(1, 2),
        slopes=sum_of_slopes(lambda x: mp.sinh(x) / x, lambda x: mp.cosh(x) / x),
    ),
    "fresnel": Case(
        None, [*_X, (3e3 + 0.123,)], weights=(1, 2),
        slopes=sum_of_slopes(
            lambda x: mp.sin(mp.pi * x * x / 2), lambda x: mp.cos(mp.pi * x * x / 2)
        ),
    ),
    "lambertw": Case(
        lambda z, k: mp.lambertw(z, int(k)), [(1e-9, 0), (0.3, 0), (1e6, 0), (-0.2, -1)]
    ),
    "wofz": Case(wofz, one(0.1, 3.0, 7.99, 8.01, 1e5)),
    "voigt_profile": Case(voigt, _VOIGT, 1e-11),
}  # fmt: skip
