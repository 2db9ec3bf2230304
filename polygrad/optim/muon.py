"""Muon: steps whose matrices have singular values near 1."""

from __future__ import annotations

import math
from typing import ClassVar

from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.optim.algorithms import Parameters
from polygrad.optim.arguments import at_least, counts, numbers_of, only_real
from polygrad.optim.optimizer import Group, Optimizer

__all__ = ["Muon"]

_RATES = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Muon, for the matrices of hidden layers; give biases and embeddings to AdamW.

    Parameters
    ----------
    params
        As for `Optimizer`; real matrices.
    lr, weight_decay
        Learning rate; the parameter shrinks by `lr * weight_decay` first.
    momentum, nesterov
        Share of the mean gradient that is kept; whether the step looks ahead by it.
    ns_coefficients, ns_steps
        Of Newton and Schulz's iteration, which makes the step nearly orthogonal, in the dtype of
        the parameter; in float32 for half precision.
    eps
        The least norm that a matrix is divided by.
    adjust_lr_fn
        "original" (the same as None): by the root of rows over columns, if there are more rows;
        "match_rms_adamw": such that the rate and decay of AdamW serve.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        An option out of its domain, named.
    ShapeError, DtypeError
        A parameter that is no real matrix.

    Notes
    -----
    Sources: Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024); Liu et
    al., "Muon is scalable for LLM training" (2025).

    >>> import polygrad as pg
    >>> w = pg.nn.Parameter(pg.tensor([[3.0, 0.0], [0.0, 1.0]]))
    >>> optimizer = pg.optim.Muon([w], lr=0.1, weight_decay=0.0)
    >>> pg.sum(w * w).backward()
    >>> optimizer.step()
    >>> bool(w[1, 0] == 0) and bool(w[0, 0] < 2.95)
    True
    """

    rule = "muon_step"
    same_each_step = True
    elementwise = False
    keywords: ClassVar = (
        "lr", "weight_decay", "momentum", "nesterov", "ns_coefficients", "eps", "ns_steps",
        "adjust_lr_fn",
    )  # fmt: skip

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options; real matrices."""
        options = ("lr", "weight_decay", "momentum", "eps")
        at_least("Muon", 0.0, **{k: group[k] for k in options})
        counts("Muon", 0, ns_steps=group["ns_steps"])
        coefficients = numbers_of("Muon", "ns_coefficients", group["ns_coefficients"], 3)
        at_least("Muon", -math.inf, **coefficients)
        for name, wrong, rule in (
            ("ns_steps", group["ns_steps"] >= 100, "it must be below 100; 5 are usual"),
            ("adjust_lr_fn", group["adjust_lr_fn"] not in _RATES,
             "pass 'original', 'match_rms_adamw' or None"),
        ):  # fmt: skip
            if wrong:
                raise InvalidArgumentError(
                    f"{name} is {group[name]!r}", f"Muon, argument {name}", rule
                )
        for p in group["params"]:
            if p.ndim != 2:
                raise ShapeError(
                    f"a parameter of shape {p.shape} is no matrix", "Muon, argument params",
                    "optimise it with AdamW",
                )  # fmt: skip
            only_real("Muon", [p])

    def slots(self, group: Group) -> tuple[str, ...]:
        """The mean gradient."""
        del group
        return ("momentum_buffer",)
