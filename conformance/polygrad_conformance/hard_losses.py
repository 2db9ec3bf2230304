"""Hard samples of losses: every option with every reduction, logits where exp overflows."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]

_REDUCTIONS = ("none", "mean", "sum")


def _compared(**options: tuple[Any, ...]) -> Make:
    """Predictions and targets: all reductions, each value of each option."""

    def make(h: Hard) -> Calls:
        x = h([[-3, -1, -0.5], [0, 0.25, 0.5], [1, 2, 40]])
        y = h([[1, -1, 0.5], [0, 0.5, -0.5], [1, 1, -40]])
        made: Calls = [((x, y), {"reduction": r}) for r in _REDUCTIONS]
        return made + [
            ((x, y), {"reduction": r, name: value})
            for r in _REDUCTIONS
            for name, values in options.items()
            for value in values
        ]

    return make


def _signed(**options: tuple[Any, ...]) -> Make:
    def make(h: Hard) -> Calls:
        x, y = h([-30, -1, -0.5, 0, 0.5, 1, 30]), h([1, -1, 1, -1, -1, 1, -1])
        return [
            ((x, y), {"reduction": r, **k})
            for r in _REDUCTIONS
            for k in ({}, *({n: v} for n, vs in options.items() for v in vs))
        ]

    return make


def _ranked(h: Hard) -> Calls:
    x, y = h([-2, 0, 1, 3]), h([1, 0, 2, -3])
    return [
        ((x, y, h([1, -1, 1, -1])), {"reduction": r, "margin": m})
        for r in _REDUCTIONS
        for m in (0.0, 0.5, 2.0)
    ]


def _entropies(h: Hard) -> Calls:
    p, y = h([[0, 1, 0.5], [0.25, 1, 0]]), h([[0, 1, 1], [0.5, 0, 1]])
    w = h([1, 0, 2])
    return [((p, y), {"reduction": r, "weight": v}) for r in _REDUCTIONS for v in (None, w)]


def _logit_entropies(h: Hard) -> Calls:
    x, y, w = h([[-1000, 0, 1000], [50, -50, 1]]), h([[0, 1, 1], [0.5, 1, 0]]), h([1, 0, 2])
    return [
        ((x, y), {"reduction": r, **k})
        for r in _REDUCTIONS
        for k in ({}, {"weight": w}, {"pos_weight": w}, {"weight": w, "pos_weight": w})
    ]


def _classes(h: Hard) -> Calls:
    x = h([[1000, 0, -1000], [3, 3, 3], [-1, 2, 0], [0, 1, 2]])
    y, w = np.array([0, 2, 1, 2]), h([0.5, 2, 1])
    options = [{}, {"weight": w}, {"ignore_index": 2}, {"weight": w, "ignore_index": 1}]
    return [((x, y), {"reduction": r, **k}) for r in _REDUCTIONS for k in options]


def _cross_entropies(h: Hard) -> Calls:
    made, (x, y) = _classes(h), _classes(h)[0][0]
    w = h([0.5, 2, 1])
    soft = h([[1, 0, 0], [0, 0, 1], [0.25, 0.5, 0.25], [0, 0.5, 0.5]])
    for r in _REDUCTIONS:
        made += [
            ((x, y), {"reduction": r, "label_smoothing": s, **k})
            for s in (0.1, 1.0)
            for k in ({}, {"weight": w}, {"ignore_index": 2})
        ]
        made += [
            ((x, soft), {"reduction": r, **k})
            for k in ({}, {"weight": w}, {"label_smoothing": 0.2})
        ]
    images, places = h.block, np.array([[0, 1, 2, 0], [2, 2, 1, 0]])
    return [*made, ((images, places), {}), ((images, places), {"reduction": "none", "weight": w})]


def _divergences(h: Hard) -> Calls:
    x, y = h([[-1, -2, -0.5], [-3, 0, -1]]), h([[0, 0.5, 0.5], [1, 0, 0.25]])
    made = [((x, y), {"reduction": r}) for r in ("none", "sum", "batchmean", "mean")]
    return made + [
        ((x, -y), {"reduction": r, "log_target": True}) for r in ("none", "sum", "batchmean")
    ]


def _counts(h: Hard) -> Calls:
    x, y = h([0.5, 1, 2, 3]), h([0, 1, 2, 5])
    return [
        ((x, y), {"log_input": i, "full": f, "reduction": r})
        for i in (False, True)
        for f in (False, True)
        for r in _REDUCTIONS
    ]


def _gaussians(h: Hard) -> Calls:
    x, y, v = h([[0, 1, 2], [3, -1, 0]]), h([[1, 1, 0], [0, 2, 0]]), h([[1, 0, 2], [0.5, 4, 1]])
    return [
        ((x, y, v), {"full": f, "reduction": r, "eps": e})
        for f in (False, True)
        for r in _REDUCTIONS
        for e in (1e-3, 0.75)
    ]


def _triplets(h: Hard) -> Calls:
    a, b, c = (h(np.arange(12).reshape(4, 3) * k % 5 - 2) for k in (3, 7, 11))
    return [
        ((a, b, c), {"margin": m, "swap": s, "reduction": r, "p": p})
        for m in (0.5, 3.0)
        for s in (False, True)
        for r in _REDUCTIONS
        for p in (1.0, 2.0)
    ]


_TABLE: dict[str, Make] = {
    "l1_loss": _compared(), "mse_loss": _compared(), "huber_loss": _compared(delta=(0.5, 3.0)),
    "smooth_l1_loss": _compared(beta=(0.5, 3.0, 0.0)), "soft_margin_loss": _signed(),
    "hinge_embedding_loss": _signed(margin=(0.0, 2.0)), "margin_ranking_loss": _ranked,
    "binary_cross_entropy": _entropies, "binary_cross_entropy_with_logits": _logit_entropies,
    "nll_loss": _classes, "cross_entropy": _cross_entropies, "kl_div": _divergences,
    "poisson_nll_loss": _counts, "gaussian_nll_loss": _gaussians, "triplet_margin_loss": _triplets,
}  # fmt: skip
TABLE: dict[str, Make] = {f"nn.functional.{name}": make for name, make in _TABLE.items()}
