"""Averages over batches of any size: means, errors, the coefficient of determination."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.indexing import broadcasts_to
from polygrad.metrics.metric import Metric, State
from polygrad.metrics.predictions import real_numbers

__all__ = ["Mean", "MeanAbsoluteError", "MeanSquaredError", "R2Score"]

Host = np.ndarray[Any, Any]
Sum = tuple[float, float]


def _sum(numbers: Iterable[float]) -> Sum:
    """A sum as the nearest float64 and what is left of it: exact to twice the precision."""
    given = list(numbers)
    if not np.isfinite(given).all():
        with np.errstate(invalid="ignore"):
            return float(np.sum(given)), 0.0
    try:
        total = math.fsum(given)
        return total, math.fsum([*given, -total])
    except OverflowError:
        with np.errstate(over="ignore"):
            return float(np.sum(given)), 0.0


class _Weighted(Metric):
    """The weighted mean of what a subclass measures."""

    def empty(self) -> State:
        """Sums of nothing."""
        return {"total": (0.0, 0.0), "weight": (0.0, 0.0)}

    def add(self, a: State, b: State) -> State:
        """Sums of both."""
        return {name: _sum((*value, *b[name])) for name, value in a.items()}

    def weighted(self, numbers: Host, weight: Any) -> State:
        """The sums of one batch."""
        place = f"{type(self).__name__}.update, argument weight"
        weights = real_numbers(weight, place)
        if not broadcasts_to(weights.shape, numbers.shape):
            raise ShapeError(
                f"weights of shape {weights.shape} for values of shape {numbers.shape}", place,
                "pass one for all, or one for each",
            )  # fmt: skip
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise InvalidArgumentError(
                "a weight is negative or not finite", place, "pass finite numbers, at least 0"
            )
        wide = np.broadcast_to(weights, numbers.shape)
        heard = wide > 0
        with np.errstate(over="ignore"):
            products = numbers[heard] * wide[heard]
        return {"total": _sum(products.tolist()), "weight": _sum(wide[heard].tolist())}

    def compute(self) -> float:
        """The mean."""
        (total, _), (weight, _) = self.state["total"], self.state["weight"]
        return total / weight if weight else float("nan")


class Mean(_Weighted):
    """The mean of all numbers, weighted if weights are given.

    `update(values, weight=1)` takes a number or numbers, and one weight for all or one for each:
    of a loss that is the mean of a batch, the length of the batch. Sums are kept to twice float64's
    precision, so that neither the number of batches nor their order shows. Numbers of weight 0 do
    not matter, whatever they are. `compute()` is NaN as long as there is no weight.

    Notes
    -----
    `update` raises InvalidArgumentError if a weight is negative or not finite, ShapeError if the
    weights do not fit, DtypeError for complex numbers.

    >>> mean = Mean()
    >>> mean.update(1.0, 30)
    >>> mean.update(2.0, 10)
    >>> mean.compute()
    1.25
    """

    def measure(self, values: Any, weight: Any = 1.0) -> State:
        """The sums of one batch."""
        return self.weighted(real_numbers(values, "Mean.update, argument values"), weight)


def _pair(metric: Metric, input: Any, target: Any) -> tuple[Host, Host]:
    """Predictions and targets of one shape, as float64."""
    place = f"{type(metric).__name__}.update"
    x, y = (
        real_numbers(value, f"{place}, argument {name}")
        for name, value in (("input", input), ("target", target))
    )
    if x.shape != y.shape:
        raise ShapeError(
            f"predictions of shape {x.shape}, targets of shape {y.shape}", place,
            "pass one prediction for each target: a shape like (n, 1) may need squeezing",
        )  # fmt: skip
    return x, y


class MeanSquaredError(_Weighted):
    """The mean of the squares of what predictions differ from targets by.

    `update(input, target, weight=1)`, computed in float64; shapes must be equal.

    >>> error = MeanSquaredError()
    >>> error.update([1.0, 2.0], [1.0, 4.0])
    >>> error.compute()
    2.0
    """

    def measure(self, input: Any, target: Any, weight: Any = 1.0) -> State:
        """The sums of one batch."""
        x, y = _pair(self, input, target)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.weighted((x - y) ** 2, weight)


class MeanAbsoluteError(_Weighted):
    """The mean of how far predictions are from targets.

    `update(input, target, weight=1)`, computed in float64; shapes must be equal.

    >>> error = MeanAbsoluteError()
    >>> error.update([1.0, 2.0], [1.0, 4.0])
    >>> error.compute()
    1.0
    """

    def measure(self, input: Any, target: Any, weight: Any = 1.0) -> State:
        """The sums of one batch."""
        x, y = _pair(self, input, target)
        with np.errstate(invalid="ignore"):
            return self.weighted(np.abs(x - y), weight)


class R2Score(Metric):
    """The share of the targets' variance that the predictions explain: 1 - residual / total.

    `update(input, target)` takes one shape: (n,), or (n, outputs), of which `compute()` is the
    mean. It is NaN of fewer than two items. If all targets are equal it is 1 for right predictions,
    else 0, as scikit-learn has it.

    Notes
    -----
    Means and squares about them add up by the formula of Chan, Golub and LeVeque (1983), which does
    not cancel where the mean is large.

    >>> score = R2Score()
    >>> score.update([1.0, 2.0], [1.0, 2.0])
    >>> score.update([3.5], [3.0])
    >>> score.compute()
    0.875
    """

    def empty(self) -> State:
        """Of no items, and not yet known how many outputs."""
        return {"count": 0, **{name: np.zeros(0) for name in ("mean", "spread", "residual")}}

    def measure(self, input: Any, target: Any) -> State:
        """Mean, sum of squares about it, and sum of squared residuals, of each output."""
        x, y = _pair(self, input, target)
        if y.ndim not in (1, 2):
            raise ShapeError(
                f"targets of shape {y.shape}", "R2Score.update",
                "pass shape (n,), or (n, outputs)",
            )  # fmt: skip
        x, y = x.reshape(len(x), -1 if x.size else 1), y.reshape(len(y), -1 if y.size else 1)
        mean = y.mean(axis=0) if len(y) else np.zeros(0)
        return {
            "count": len(y), "mean": mean, "spread": ((y - mean) ** 2).sum(axis=0),
            "residual": ((x - y) ** 2).sum(axis=0),
        }  # fmt: skip

    def add(self, a: State, b: State) -> State:
        """Of both."""
        if not a["count"] or not b["count"]:
            return a if not b["count"] else b
        if a["mean"].shape != b["mean"].shape:
            raise ShapeError(
                f"{len(b['mean'])} outputs after {len(a['mean'])}", "R2Score",
                "use one metric for each number of outputs",
            )  # fmt: skip
        count, step = a["count"] + b["count"], b["mean"] - a["mean"]
        between = step**2 * (a["count"] * b["count"] / count)
        return {
            "count": count, "mean": a["mean"] + step * (b["count"] / count),
            "spread": a["spread"] + b["spread"] + between,
            "residual": a["residual"] + b["residual"],
        }  # fmt: skip

    def compute(self) -> float:
        """The score, at most 1."""
        spread, residual = self.state["spread"], self.state["residual"]
        if self.state["count"] < 2:
            return float("nan")
        constant = spread == 0
        scores = 1 - residual / np.where(constant, 1, spread)
        return float(np.mean(np.where(constant, residual == 0, scores)))
