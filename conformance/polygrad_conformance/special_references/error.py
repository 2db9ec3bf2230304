"""The error functions and the normal distribution."""

from __future__ import annotations

import mpmath as mp

from polygrad_conformance.special_references.case import Case, both, one


def erfcinv(y):
    if y > 1e-3:
        return mp.erfinv(1 - y)
    log = mp.log(y * (2 - y))
    b = log / 2 + 2 / (mp.pi * 0.147)
    guess = mp.sqrt(mp.sqrt(b * b - log / 0.147) - b)
    return mp.findroot(lambda x: mp.log(mp.erfc(x)) - mp.log(y), guess)


def ndtri_exp(y):
    if y < -10:
        guess = -mp.sqrt(-2 * y - mp.log(-4 * mp.pi * y))
        return mp.findroot(lambda x: mp.log(mp.ncdf(x)) - y, guess)
    if y < -0.5:
        return -mp.sqrt(2) * erfcinv(2 * mp.exp(y))
    return mp.sqrt(2) * erfcinv(-2 * mp.expm1(y))


_Y = (1e-3, 0.1, 0.5, 1.0, 2.0, 3.7, 7.99, 8.01, 12.0)
_P = (1e-300, 1e-100, 1e-20, 1e-5, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1 - 1e-9, 1 - 2.0**-50)

ERROR = {
    "erf": Case(mp.erf, both(*_Y), digits=110),
    "erfc": Case(mp.erfc, both(*_Y, 20.0), digits=110),
    "erfcx": Case(
        lambda x: mp.exp(x * x) * mp.erfc(x), one(0.0, *_Y, 1e2, 1e5, -0.5, -3.0, -20.0, -26.0)
    ),
    "erfi": Case(mp.erfi, both(*_Y, 20.0)),
    "dawsn": Case(
        lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), both(*_Y, 20.0)
    ),
    "erfinv": Case(
        mp.erfinv, both(1e-8, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2.0**-50), digits=110
    ),
    "erfcinv": Case(
        erfcinv, one(*(2 * p for p in _P)),
        slopes={"x": lambda y: -mp.sqrt(mp.pi) / 2 * mp.exp(erfcinv(y) ** 2)},
    ),
    "ndtr": Case(mp.ncdf, one(*_Y, *(-y for y in _Y), 0.0, -20.0, -37.0), digits=110),
    "log_ndtr": Case(
        lambda x: mp.log(mp.ncdf(x)) if x > -300 else -x * x / 2 - mp.log(-x)
        - mp.log(2 * mp.pi) / 2 + mp.log1p(sum((-1) ** k * mp.fac2(2 * k - 1) / x ** (2 * k)
                                               for k in range(1, 12))),
        one(*_Y, *(-y for y in _Y), 0.0, -20.0, -50.0, -1e3, -1e6), digits=110,
    ),
    "ndtri": Case(
        lambda y: -mp.sqrt(2) * erfcinv(2 * y), one(*_P),
        slopes={"y": lambda y: mp.sqrt(2 * mp.pi) * mp.exp(erfcinv(2 * y) ** 2)},
    ),
    "ndtri_exp": Case(
        ndtri_exp, one(-1e3, -700.0, -100.0, -10.0, -5.0, -1.0, -0.5, -0.1, -1e-3, -1e-10, -1e-300),
        slopes={"y": lambda y: mp.ncdf(ndtri_exp(y)) / mp.npdf(ndtri_exp(y))},
    ),
}  # fmt: skip
