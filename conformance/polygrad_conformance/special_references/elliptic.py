"""Elliptic integrals and functions."""

from __future__ import annotations

import mpmath as mp

from polygrad_conformance.special_references.case import Case, one, pairs

_M = one(-1e9, -30.0, -0.5, -1e-9, 0.0, 1e-9, 0.3, 0.97, 1 - 1e-9)
_INCOMPLETE = [*pairs((0.01, 0.7, 1.5, -1.2, 5.0), (-20.0, 0.0, 1e-9, 0.6)), (1.5, 0.999)]
_THREE = [(1.0, 1.0, 1.0), (0.3, 2.0, 5.0), (1e-4, 1.0, 3e3), (2.0, 2.0, 1e-3)]


def jacobi(u, m):
    """sn + 2 cn + 3 dn + 5 am."""
    sn, cn, dn = (mp.ellipfun(f, u, m=m) for f in ("sn", "cn", "dn"))
    return sn + 2 * cn + 3 * dn + 5 * mp.atan2(sn, cn)


ELLIPTIC = {
    "ellipk": Case(mp.ellipk, _M, 1e-12),
    "ellipkm1": Case(
        None, one(1e-300, 1e-9, 0.1, 30.0), 1e-12, digits=340,
        slopes={"p": lambda p: -(mp.ellipe(1 - p) - p * mp.ellipk(1 - p)) / (2 * p * (1 - p))},
    ),
    "ellipe": Case(mp.ellipe, _M, 1e-12),
    "ellipkinc": Case(mp.ellipf, _INCOMPLETE, 1e-12),
    "ellipeinc": Case(mp.ellipe, _INCOMPLETE, 1e-12),
    "elliprc": Case(mp.elliprc, [*pairs((0.3, 40.0), (1e-3, 2.0)), (1.0, 1.0)], 1e-12),
    "elliprf": Case(mp.elliprf, _THREE, 1e-12),
    "elliprd": Case(mp.elliprd, _THREE, 1e-12),
    "elliprg": Case(mp.elliprg, _THREE, 1e-12),
    "elliprj": Case(mp.elliprj, [(*p, q) for p in _THREE for q in (0.01, 3.0)], 1e-12),
    "agm": Case(mp.agm, [(1.0, 1.0), (1.0, 1 + 1e-9), (1e-9, 3.0), (7.0, 0.2)], 1e-12),
    "ellipj": Case(jacobi, pairs((0.3, 1.1, -0.7), (1e-9, 0.4, 0.98)), 1e-11, weights=(1, 2, 3, 5)),
}  # fmt: skip
