"""Bessel functions and their relatives."""

from __future__ import annotations

import mpmath as mp

from polygrad_conformance.special_references.case import Case, one, partial

_Z = one(1e-6, 0.3, 1.7, 6.2, 29.0, 31.0, 200.0)
_ORDER = [(v, x) for v in (0, 1, 0.5, 7.3) for x in (1e-3, 0.3, 4.1, 29.0, 31.0, 400.0)]
_SCALED = [*_ORDER, (30.5, 100.0), (30.5, 3e3)]
_N = [(n, x) for n in (0, 1, 4) for x in (0.3, 4.1, 31.0)]


def spherical(function):
    return lambda n, z: mp.sqrt(mp.pi / (2 * z)) * function(n + mp.mpf(1) / 2, z)


def airy_sum(x):
    first = mp.airyai(x) + 2 * mp.airyai(x, derivative=1)
    return first + 3 * mp.airybi(x) + 5 * mp.airybi(x, derivative=1)


def kelvin(function):
    return lambda x: function(0, x)


def slope_of(function):
    return lambda x: partial(function, 0, [x])


def wright(a, b, x):
    return mp.nsum(lambda k: x**k / mp.factorial(k) * mp.rgamma(a * k + b), [0, mp.inf])


BESSEL = {
    **{
        f"j{n}": Case(lambda x, n=n: mp.besselj(n, x), [*_Z, *one(0.0, -2.0)], 1e-11)
        for n in (0, 1)
    },
    **{f"y{n}": Case(lambda x, n=n: mp.bessely(n, x), _Z, 1e-11) for n in (0, 1)},
    **{f"i{n}": Case(lambda x, n=n: mp.besseli(n, x), [*_Z, *one(0.0, -2.0)]) for n in (0, 1)},
    **{f"k{n}": Case(lambda x, n=n: mp.besselk(n, x), _Z) for n in (0, 1)},
    **{
        f"i{n}e": Case(
            lambda x, n=n: mp.exp(-abs(x)) * mp.besseli(n, x), [*_Z, *one(-2.0, -31.0, 1e4, 1e8)]
        )
        for n in (0, 1)
    },
    **{
        f"k{n}e": Case(lambda x, n=n: mp.exp(x) * mp.besselk(n, x), [*_Z, *one(1e4, 1e8)])
        for n in (0, 1)
    },
    **dict.fromkeys(("jv", "jn", "jve"), Case(mp.besselj, _ORDER, 1e-11)),
    **dict.fromkeys(("yv", "yve"), Case(mp.bessely, _ORDER, 1e-11)),
    "iv": Case(mp.besseli, _ORDER, 1e-12),
    "kv": Case(mp.besselk, _ORDER, 1e-12),
    "ive": Case(lambda v, x: mp.exp(-x) * mp.besseli(v, x), _SCALED, 1e-11),
    "kve": Case(lambda v, x: mp.exp(x) * mp.besselk(v, x), _SCALED, 1e-11),
    "yn": Case(mp.bessely, _N, 1e-12),
    "kn": Case(mp.besselk, _N, 1e-12),
    "spherical_jn": Case(spherical(mp.besselj), _N, 1e-12),
    "spherical_yn": Case(spherical(mp.bessely), _N, 1e-12),
    "spherical_in": Case(spherical(mp.besseli), _N, 1e-12),
    "spherical_kn": Case(spherical(mp.besselk), _N, 1e-12),
    "airy": Case(airy_sum, one(-9.3, -1.0, 1e-3, 0.7, 5.0), 1e-12, weights=(1, 2, 3, 5)),
    "itj0y0": Case(
        None, one(0.3, 2.1, 30.0), weights=(1, 2),
        slopes={"x": lambda x: mp.besselj(0, x) + 2 * mp.bessely(0, x)},
    ),
    "iti0k0": Case(
        None, one(0.3, 2.1, 30.0), weights=(1, 2),
        slopes={"x": lambda x: mp.besseli(0, x) + 2 * mp.besselk(0, x)},
    ),
    **{
        name: Case(kelvin(getattr(mp, name)), one(1e-3, 0.3, 2.1, 9.0), 1e-9)
        for name in ("ber", "bei", "ker", "kei")
    },
    **{
        f"{name}p": Case(
            slope_of(kelvin(getattr(mp, name))), one(0.3, 2.1, 9.0), 1e-10
        )
        for name in ("ber", "bei", "ker", "kei")
    },
    "struve": Case(mp.struveh, [p for p in _ORDER if p[1] < 40], 1e-11),
    "modstruve": Case(mp.struvel, [p for p in _ORDER if p[1] < 40], 1e-11),
    "wright_bessel": Case(wright, [(0.5, 1.0, 0.3), (2, 1, 20.0), (1.5, 3, 4.0)], 1e-11),
    "log_wright_bessel": Case(
        lambda a, b, x: mp.log(wright(a, b, x)), [(0.5, 1, 0.3), (2, 1, 20.0), (1.5, 3, 4.0)], 1e-11
    ),
}  # fmt: skip
