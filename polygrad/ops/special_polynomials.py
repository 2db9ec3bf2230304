"""Orthogonal polynomials and associated Legendre functions: derivatives with respect to x.

The derivative of an orthogonal polynomial of Jacobi's, Laguerre's or Hermite's kind is one of lower
degree with other parameters (DLMF 18.9).
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.ops._special import NO_ORDER, SpecialFunctions, library, spread

_table = SpecialFunctions("orthogonal polynomials")
function = _table.function
_DEGREE = "a degree has no derivative"
_PARAMETER = "no closed form is known for the derivative with respect to this parameter"
_DEGREES = [0, 1, 3, 2]


def _lower(F: Any, n: Any, value: Any) -> Any:
    """`value(n - 1)`, and 0 for n = 0."""
    first = n == 0
    return F.where(first, 0, value(F.where(first, 1, n) - 1))


def _of_degree(name: str, rule: Any, summary: str, low: float, high: float) -> Any:
    """A polynomial without other parameters; `rule(F, n, x)` is its derivative for n > 0."""
    return function(
        f"eval_{name}",
        {"n": _DEGREE, "x": lambda g, F, n, x: g * _lower(F, n, lambda k: rule(F, k, x))},
        summary, forward=library(f"eval_{name}", whole=(0,)),
        samples=spread(_DEGREES, (low, high)),
    )  # fmt: skip


# fmt: off
# ---- on [-1, 1] ---------------------------------------------------------------------------------
eval_legendre = _of_degree(
    "legendre", lambda F, k, x: F.special_eval_gegenbauer(k, 1.5, x),
    "Legendre's polynomial of degree n.", -1, 1)
eval_chebyt = _of_degree(
    "chebyt", lambda F, k, x: (k + 1) * F.special_eval_chebyu(k, x),
    "Chebyshev's polynomial of the first kind of degree n.", -1, 1)
eval_chebyu = _of_degree(
    "chebyu", lambda F, k, x: 2 * F.special_eval_gegenbauer(k, 2.0, x),
    "Chebyshev's polynomial of the second kind of degree n.", -1, 1)
eval_gegenbauer = function(
    "eval_gegenbauer",
    {"n": _DEGREE, "alpha": _PARAMETER,
     "x": lambda g, F, n, alpha, x: g * _lower(
         F, n, lambda k: 2 * alpha * F.special_eval_gegenbauer(k, alpha + 1, x))},
    "Gegenbauer's polynomial of degree n.", forward=library("eval_gegenbauer", whole=(0,)),
    samples=spread(_DEGREES, [0.5, 1.5, 2], (-1, 1)))
eval_jacobi = function(
    "eval_jacobi",
    {"n": _DEGREE, "alpha": _PARAMETER, "beta": _PARAMETER,
     "x": lambda g, F, n, alpha, beta, x: g * _lower(
         F, n, lambda k: (k + alpha + beta + 2) * 0.5
         * F.special_eval_jacobi(k, alpha + 1, beta + 1, x))},
    "Jacobi's polynomial of degree n.", forward=library("eval_jacobi", whole=(0,)),
    samples=spread(_DEGREES, [0.5, 1.5, 2], [1, 0.5, -0.3], (-1, 1)))

# ---- on [-2, 2] and [0, 1] ----------------------------------------------------------------------
eval_chebyc = _of_degree(
    "chebyc", lambda F, k, x: (k + 1) * F.special_eval_chebys(k, x),
    "Chebyshev's polynomial of the first kind on [-2, 2].", -2, 2)
eval_chebys = _of_degree(
    "chebys", lambda F, k, x: F.special_eval_gegenbauer(k, 2.0, x * 0.5),
    "Chebyshev's polynomial of the second kind on [-2, 2].", -2, 2)
eval_sh_chebyt = _of_degree(
    "sh_chebyt", lambda F, k, x: 2 * (k + 1) * F.special_eval_sh_chebyu(k, x),
    "Chebyshev's polynomial of the first kind on [0, 1].", 0, 1)
eval_sh_chebyu = _of_degree(
    "sh_chebyu", lambda F, k, x: 4 * F.special_eval_gegenbauer(k, 2.0, 2 * x - 1),
    "Chebyshev's polynomial of the second kind on [0, 1].", 0, 1)
eval_sh_legendre = _of_degree(
    "sh_legendre", lambda F, k, x: 2 * F.special_eval_gegenbauer(k, 1.5, 2 * x - 1),
    "Legendre's polynomial on [0, 1].", 0, 1)
eval_sh_jacobi = function(
    "eval_sh_jacobi",
    {"n": _DEGREE, "p": _PARAMETER, "q": _PARAMETER,
     "x": lambda g, F, n, p, q, x: g * _lower(
         F, n, lambda k: (k + 1) * F.special_eval_sh_jacobi(k, p + 2, q + 1, x))},
    "Jacobi's polynomial on [0, 1], with leading coefficient 1.",
    forward=library("eval_sh_jacobi", whole=(0,)),
    samples=spread(_DEGREES, [2.5, 2, 3], [1.5, 1, 2], (0, 1)))

# ---- on half lines and lines --------------------------------------------------------------------
eval_laguerre = _of_degree(
    "laguerre", lambda F, k, x: -F.special_eval_genlaguerre(k, 1.0, x),
    "Laguerre's polynomial of degree n.", 0, 5)
eval_genlaguerre = function(
    "eval_genlaguerre",
    {"n": _DEGREE, "alpha": _PARAMETER,
     "x": lambda g, F, n, alpha, x: g * _lower(
         F, n, lambda k: -F.special_eval_genlaguerre(k, alpha + 1, x))},
    "The generalized Laguerre polynomial of degree n.",
    forward=library("eval_genlaguerre", whole=(0,)),
    samples=spread(_DEGREES, [0.5, 1.5, 2], (0, 5)))
eval_hermite = _of_degree(
    "hermite", lambda F, k, x: 2 * (k + 1) * F.special_eval_hermite(k, x),
    "The physicists' Hermite polynomial of degree n.", -2, 2)
eval_hermitenorm = _of_degree(
    "hermitenorm", lambda F, k, x: (k + 1) * F.special_eval_hermitenorm(k, x),
    "The probabilists' Hermite polynomial of degree n.", -2, 2)


# ---- associated Legendre functions --------------------------------------------------------------
def _lpmv_rule(g: Any, F: Any, m: Any, v: Any, x: Any) -> Any:
    """((v + m)(v - m + 1) P^(m-1) - P^(m+1)) / (2 sqrt(1 - x^2)), DLMF 14.10; at +-1 for m = 0."""
    end = F.abs(x) == 1
    y = F.where(end, 0, x)
    below = F.where(m == 0, -F.special_lpmv(F.where(m == 0, 1, m), v, y),
                    (v + m) * (v - m + 1) * F.special_lpmv(F.where(m == 0, 1, m) - 1, v, y))
    inside = (below - F.special_lpmv(m + 1, v, y)) / (2 * F.sqrt((1 - y) * (1 + y)))
    odd = F.remainder(v + 1, 2) == 1
    edge = v * (v + 1) * 0.5 * F.where(odd & (x < 0), x, 1 + 0 * x)
    return g * F.where(end, F.where(m == 0, edge, math.nan), inside)


lpmv = function(
    "lpmv", {"m": NO_ORDER, "v": NO_ORDER, "x": _lpmv_rule},
    "The associated Legendre function of whole order m and degree v.", forward=library("lpmv"),
    samples=spread([0, 1, 2, 0], [3, 2, 3, 2.5], (-0.9, 0.9)))
# fmt: on
