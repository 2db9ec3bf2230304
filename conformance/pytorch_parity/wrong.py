"""Where PyTorch is off: the right values by mpmath, ours equal to them, and PyTorch's not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import torch

import polygrad as pg
from pytorch_parity.report import Report, host

__all__ = ["CLAIMS", "run"]

F, P = torch.nn.functional, pg.nn.functional


class Claim(NamedTuple):
    """What is computed in both libraries, and its right value."""

    what: str
    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    right: Callable[[], Any]


def _gradient(function: Callable[[Any], Any], x: list[float], order: int = 1) -> Any:
    """PyTorch's derivative of a sum."""
    t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(function(t).sum(), t, create_graph=order > 1)
    if order == 1:
        return g
    return torch.autograd.grad(g.sum(), t)[0] if g.requires_grad else torch.zeros_like(t)


def _ours(function: Callable[[Any], Any], x: list[float], order: int = 1) -> Any:
    """The same in polygrad."""
    t = pg.tensor(x, dtype=pg.float64, requires_grad=True)
    (g,) = pg.autograd.grad(pg.sum(function(t)), t, create_graph=order > 1)
    return g if order == 1 else pg.autograd.grad(pg.sum(g), t)[0]


def _floats(values: Any) -> np.ndarray:
    return np.array([float(v) for v in values])


def _bag(library: Any, table: Any) -> Any:
    indices = np.array([[0, 1, 1], [1, 2, 2]])
    given = torch.from_numpy(indices) if library is F else pg.tensor(indices)
    return library.embedding_bag(given, table, mode="sum", scale_grad_by_freq=True)


def _cosine(x: Any) -> Any:
    """Of (x, 1) and (2, 1), the norms bounded by 10."""
    return (2 * x + 1) / (10 * 10)


def _entropy(x: Any) -> Any:
    """Of the first of the classes whose logits are x and 2 x."""
    return mpmath.log(mpmath.exp(x) + mpmath.exp(2 * x)) - x


_BESSEL = [0.5, 3.0, 6.5, -7.25, 8.9]
_SHARE = [1e-3, 0.25, 0.99]
CLAIMS = [
    Claim("slope of hardsigmoid",
          lambda: _gradient(F.hardsigmoid, [0.5]), lambda: _ours(P.hardsigmoid, [0.5]),
          lambda: _floats([mpmath.mpf(1) / 6])),
    Claim("second derivative of binary_cross_entropy",
          lambda: _gradient(lambda x: F.binary_cross_entropy(
              x, torch.ones_like(x), reduction="none"), _SHARE, 2),
          lambda: _ours(lambda x: P.binary_cross_entropy(
              x, pg.ones_like(x), reduction="none"), _SHARE, 2),
          lambda: _floats([1 / mpmath.mpf(x) ** 2 for x in _SHARE])),
    *(Claim(f"Bessel's J{n}",
            lambda n=n: getattr(torch.special, f"bessel_j{n}")(
                torch.tensor(_BESSEL, dtype=torch.float64)),
            lambda n=n: getattr(pg.special, f"j{n}")(pg.tensor(_BESSEL, dtype=pg.float64)),
            lambda n=n: _floats([mpmath.besselj(n, x) for x in _BESSEL])) for n in (0, 1)),
    Claim("embedding_bag: sums of gradients over frequencies",
          lambda: _gradient(lambda w: _bag(F, w[:, None]), [1.0, 2.0, 3.0]),
          lambda: _ours(lambda w: _bag(P, w[:, None]), [1.0, 2.0, 3.0]),
          lambda: _floats([1, mpmath.mpf(3) / 3, mpmath.mpf(2) / 2])),
    Claim("slope of cosine_similarity where norms are below eps",
          lambda: _gradient(lambda x: F.cosine_similarity(
              torch.stack([x[0], torch.ones_like(x[0])]),
              torch.tensor([2.0, 1.0], dtype=torch.float64), dim=0, eps=10.0), [1.5]),
          lambda: _ours(lambda x: P.cosine_similarity(
              pg.stack([x[0], pg.ones_like(x[0])]),
              pg.tensor([2.0, 1.0], dtype=pg.float64), axis=0, eps=10.0), [1.5]),
          lambda: _floats([mpmath.diff(_cosine, 1.5)])),
    Claim("second derivative of linear_cross_entropy",
          lambda: _gradient(lambda x: F.linear_cross_entropy(
              x, torch.tensor([[1.0], [2.0]], dtype=torch.float64), torch.tensor(0),
              options=torch.nn.LinearCrossEntropyOptions()), [0.5], 2),
          lambda: _ours(lambda x: P.linear_cross_entropy(
              x, pg.tensor([[1.0], [2.0]], dtype=pg.float64), pg.tensor(0)), [0.5], 2),
          lambda: _floats([mpmath.diff(_entropy, 0.5, 2)])),
    Claim("cov with weights of two kinds",
          lambda: torch.cov(torch.tensor([1.3, -2.1], dtype=torch.float64), correction=0,
                            fweights=torch.tensor([2, 5]), aweights=torch.tensor([0.3, 0.77])),
          lambda: pg.cov(pg.tensor([1.3, -2.1], dtype=pg.float64), ddof=0,
                         fweights=pg.tensor([2, 5]), aweights=pg.tensor([0.3, 0.77])),
          lambda: _covariance()),
]  # fmt: skip


def _covariance() -> np.ndarray:
    x = [mpmath.mpf(1.3), mpmath.mpf(-2.1)]
    w = [2 * mpmath.mpf(float(np.float32(0.3))), 5 * mpmath.mpf(float(np.float32(0.77)))]
    total = sum(w)
    mean = sum(a * b for a, b in zip(w, x, strict=True)) / total
    return np.array(float(sum(a * (b - mean) ** 2 for a, b in zip(w, x, strict=True)) / total))


def run(report: Any, wanted: Callable[[str], Any]) -> None:
    """Each claim: ours is right, and PyTorch's still is not."""
    for claim in CLAIMS:
        if not wanted(claim.what):
            continue
        right = claim.right()
        report.equal(claim.what, "polygrad", claim.ours(), right)
        theirs = Report(echo=False)
        if theirs.equal(claim.what, "PyTorch", claim.theirs(), right):
            report.fail(claim.what, "PyTorch", "is right by now: take it off the list")
        else:
            off = np.abs(host(claim.theirs()) - right).max()
            print(f"  PyTorch, {claim.what}: off by {off:.1e}")
