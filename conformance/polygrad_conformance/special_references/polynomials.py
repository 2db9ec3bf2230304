"""Orthogonal polynomials and associated Legendre functions."""

from __future__ import annotations

import mpmath as mp

from polygrad_conformance.special_references.case import Case

_N = (0, 1, 2, 7)
_UNIT = [(n, x) for n in _N for x in (-0.97, 0.3, 0.9)]
_ZERO_ONE = [(n, x) for n in _N for x in (0.01, 0.3, 0.9)]
_HALF = [(n, x) for n in _N for x in (0.1, 3.0, 20.0)]
_LINE = [(n, x) for n in _N for x in (-3.0, 0.4, 1.5)]


def sh_jacobi(n, p, q, x):
    """Jacobi's polynomial with leading coefficient 1."""
    return mp.jacobi(n, p - q, q - 1, 2 * x - 1) / mp.binomial(2 * n + p - 1, n)


def hermitenorm(n, x):
    return mp.mpf(2) ** (-n / 2) * mp.hermite(n, x / mp.sqrt(2))


POLYNOMIALS = {
    "eval_legendre": Case(mp.legendre, _UNIT, 1e-12),
    "eval_chebyt": Case(mp.chebyt, _UNIT, 1e-12),
    "eval_chebyu": Case(mp.chebyu, _UNIT, 1e-12),
    "eval_gegenbauer": Case(mp.gegenbauer, [(n, 1.7, x) for n, x in _UNIT], 1e-12),
    "eval_jacobi": Case(mp.jacobi, [(n, 0.5, 1.7, x) for n, x in _UNIT], 1e-12),
    "eval_chebyc": Case(lambda n, x: 2 * mp.chebyt(n, x / 2), _UNIT, 1e-12),
    "eval_chebys": Case(lambda n, x: mp.chebyu(n, x / 2), _UNIT, 1e-12),
    "eval_sh_chebyt": Case(lambda n, x: mp.chebyt(n, 2 * x - 1), _ZERO_ONE, 1e-12),
    "eval_sh_chebyu": Case(lambda n, x: mp.chebyu(n, 2 * x - 1), _ZERO_ONE, 1e-12),
    "eval_sh_legendre": Case(lambda n, x: mp.legendre(n, 2 * x - 1), _ZERO_ONE, 1e-12),
    "eval_sh_jacobi": Case(sh_jacobi, [(n, 3.5, 1.7, x) for n, x in _ZERO_ONE], 1e-12),
    "eval_laguerre": Case(lambda n, x: mp.laguerre(n, 0, x), _HALF, 1e-12),
    "eval_genlaguerre": Case(mp.laguerre, [(n, 1.7, x) for n, x in _HALF], 1e-12),
    "eval_hermite": Case(mp.hermite, _LINE, 1e-12),
    "eval_hermitenorm": Case(hermitenorm, _LINE, 1e-12),
    "lpmv": Case(
        lambda m, v, x: mp.legenp(v, m, x).real,
        [(m, v, x) for m, v in ((0, 3), (1, 4), (2, 2), (1, 2.5)) for x in (-0.9, 0.3, 0.99)],
        1e-11, digits=40,
    ),
}  # fmt: skip
