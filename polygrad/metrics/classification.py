"""How well classes are told apart: accuracy, precision, recall, F1, the confusion matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.metrics.metric import Metric, State
from polygrad.metrics.predictions import (
    Batch,
    check_range,
    counted,
    has_class_axis,
    host,
    read,
    scores_of,
    whole,
)

__all__ = ["F1", "Accuracy", "ConfusionMatrix", "Precision", "Recall"]

Host = np.ndarray[Any, Any]


def _check_options(metric: Metric, ignore_index: Any, **numbers: Any) -> None:
    """Refuse options that are of the wrong type."""
    place = type(metric).__name__
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InvalidTypeError(
                f"{name} is {value!r}", f"{place}, argument {name}", "pass a number"
            )
        if name == "threshold" and math.isnan(value):  # nothing is above it
            raise InvalidArgumentError(
                f"{name} is {value!r}", f"{place}, argument {name}", "pass a number"
            )
    if ignore_index is not None and type(ignore_index) is not int:
        raise InvalidTypeError(
            f"ignore_index is {ignore_index!r}", f"{place}, argument ignore_index",
            "pass an int, or None",
        )  # fmt: skip


def _at_least(metric: Metric, name: str, value: Any, least: int) -> int:
    if type(value) is not int or value < least:
        raise InvalidArgumentError(
            f"{name} is {value!r}", f"{type(metric).__name__}, argument {name}",
            f"it is an int, at least {least}",
        )  # fmt: skip
    return value


def _one_of(metric: Metric, name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise InvalidArgumentError(
            f"{name} is {value!r}", f"{type(metric).__name__}, argument {name}",
            f"it is one of {', '.join(map(repr, allowed))}",
        )  # fmt: skip


class Accuracy(Metric):
    """The share of predictions that are right.

    Predictions are scores, with an axis more than the targets: the classes, axis 1, of which the
    largest counts, of equal ones the first. Or they have the shape of the targets: integers are
    classes, floating numbers say yes where they are above `threshold`; each counts on its own, also
    each label of many (scikit-learn's 1 - `hamming_loss`), unless `exact_match`.

    Parameters
    ----------
    top_k
        A prediction is right if the target is among the classes of the k largest scores.
    threshold
        Above it a floating prediction means 1: 0.5 for probabilities, 0 for logits.
    exact_match
        What follows the first axis is right as a whole or not at all: all labels of an item, all
        steps of a sequence.
    ignore_index
        Targets of this value do not count.

    Notes
    -----
    `update(input, target)` raises ShapeError, DtypeError or InvalidArgumentError if the shapes do
    not fit, a target is no class, or a score is NaN. `compute()` is NaN if nothing was counted.

    >>> accuracy = Accuracy()
    >>> accuracy.update([[0.1, 0.9], [0.8, 0.2]], [1, 1])
    >>> accuracy.update([0, 1], [0, 1])
    >>> accuracy.compute()
    0.75
    """

    def __init__(
        self,
        top_k: int = 1,
        *,
        threshold: float = 0.5,
        exact_match: bool = False,
        ignore_index: int | None = None,
    ) -> None:
        _check_options(self, ignore_index, threshold=threshold)
        self.top_k, self.threshold = _at_least(self, "top_k", top_k, 1), threshold
        self.exact_match, self.ignore_index = bool(exact_match), ignore_index
        super().__init__()

    def empty(self) -> State:
        """Nothing right of nothing."""
        return {"right": 0, "total": 0}

    def measure(self, input: Any, target: Any) -> State:
        """How many of a batch are right, of how many."""
        if self.top_k == 1:
            options = {"threshold": self.threshold, "ignore_index": self.ignore_index}
            batch = read("Accuracy.update", input, target, **options)  # type: ignore[arg-type]
            right, counts = batch.predicted == batch.target, batch.counts
        else:
            right, counts = self._among_largest(input, target)
        if self.exact_match and right.ndim > 1:
            rest = tuple(range(1, right.ndim))
            right = np.asarray((right | ~counts).all(axis=rest))
            counts = np.asarray(counts.any(axis=rest))
        return {"right": int((right & counts).sum()), "total": int(counts.sum())}

    def _among_largest(self, input: Any, target: Any) -> tuple[Host, Host]:
        """Whether fewer than k classes come before the target's; equal scores: the first does."""
        place = "Accuracy.update"
        true, scores = whole(target, f"{place}, argument target"), host(input)
        if not has_class_axis(scores.shape, true.shape, place) or scores.dtype.kind in "biu":
            raise ShapeError(
                f"top_k={self.top_k} needs scores of each class, not one number for each target",
                f"{place}, argument input of shape {scores.shape}", "pass logits or probabilities",
            )  # fmt: skip
        axis = min(1, scores.ndim - 1)
        width = scores.shape[axis]
        _at_least(self, "top_k, of so many classes", width, self.top_k)
        scores = np.moveaxis(scores_of(scores, f"{place}, argument input"), axis, -1)
        counts = counted(true, self.ignore_index)
        check_range(true[counts], width, f"{place}, argument target")
        own = np.where(counts, true, 0)[..., None]
        score = np.take_along_axis(scores, own, axis=-1)
        before = (scores > score) | ((scores == score) & (np.arange(width) < own))
        return before.sum(axis=-1) < self.top_k, counts

    def compute(self) -> float:
        """The share, from 0 to 1."""
        total = self.state["total"]
        return self.state["right"] / total if total else float("nan")


class ConfusionMatrix(Metric):
    """How often each class, a row, was taken for each, a column.

    Predictions as for `Accuracy`.

    Parameters
    ----------
    num_classes
        Classes are 0, 1, …, num_classes - 1.
    normalize
        None: counts, int64. Or shares: "true" of each row, "pred" of each column, "all" of all; 0
        where there is nothing.
    threshold, ignore_index
        As of `Accuracy`.

    >>> matrix = ConfusionMatrix(2)
    >>> matrix.update([0, 1, 1], [0, 0, 1])
    >>> matrix.compute()
    array([[1, 1],
           [0, 1]])
    """

    def __init__(
        self,
        num_classes: int,
        *,
        normalize: str | None = None,
        threshold: float = 0.5,
        ignore_index: int | None = None,
    ) -> None:
        _check_options(self, ignore_index, threshold=threshold)
        _one_of(self, "normalize", normalize, (None, "true", "pred", "all"))
        self.num_classes = _at_least(self, "num_classes", num_classes, 2)
        self.normalize, self.threshold, self.ignore_index = normalize, threshold, ignore_index
        super().__init__()

    def empty(self) -> State:
        """Zeros."""
        return {"counts": np.zeros((self.num_classes, self.num_classes), np.int64)}

    def measure(self, input: Any, target: Any) -> State:
        """The matrix of one batch."""
        options = {k: getattr(self, k) for k in ("threshold", "ignore_index", "num_classes")}
        predicted, true, counts = read("ConfusionMatrix.update", input, target, **options)
        cells = true[counts] * self.num_classes + predicted[counts]
        found = np.bincount(cells, minlength=self.num_classes**2)
        return {"counts": found.reshape(self.num_classes, -1).astype(np.int64)}

    def compute(self) -> Host:
        """The matrix, a copy."""
        counts: Host = self.state["counts"].copy()
        if self.normalize is None:
            return counts
        axis = {"true": 1, "pred": 0, "all": None}[self.normalize]
        return _ratio(counts, counts.sum(axis=axis, keepdims=True), 0.0)


def _ratio(part: Host, total: Host, otherwise: float) -> Host:
    """part / total, and `otherwise` where there is nothing to divide by."""
    wide = np.broadcast_to(total, part.shape)
    return np.where(wide > 0, part / np.maximum(wide, 1), otherwise)


class _PerClass(Metric):
    """A ratio of counts for each class, and its average.

    A subclass names the counts to divide by: with p predictions of a class, a targets of it and h
    hits, the value is n h / (sum of n of the counts).
    """

    below: tuple[str, ...]

    def __init__(
        self,
        num_classes: int = 2,
        average: str | None = "binary",
        *,
        multilabel: bool = False,
        threshold: float = 0.5,
        ignore_index: int | None = None,
        zero_division: float = 0.0,
    ) -> None:
        _check_options(self, ignore_index, threshold=threshold, zero_division=zero_division)
        _one_of(self, "average", average, ("binary", "macro", "micro", "weighted", None))
        self.num_classes = _at_least(self, "num_classes", num_classes, 1 if multilabel else 2)
        if average == "binary" and (multilabel or num_classes != 2):
            raise InvalidArgumentError(
                f"average is 'binary', of {num_classes} {'labels' if multilabel else 'classes'}",
                f"{type(self).__name__}, argument average",
                "choose 'macro', 'micro', 'weighted', or None for one value for each",
            )  # fmt: skip
        self.average, self.multilabel, self.threshold = average, bool(multilabel), threshold
        self.ignore_index, self.zero_division = ignore_index, zero_division
        super().__init__()

    def empty(self) -> State:
        """Zeros."""
        names = ("hits", "predicted", "actual")
        return {name: np.zeros(self.num_classes, np.int64) for name in names}

    def measure(self, input: Any, target: Any) -> State:
        """How often each class was predicted, was the target, was both."""
        place = f"{type(self).__name__}.update"
        options = {"threshold": self.threshold, "ignore_index": self.ignore_index}
        classes = 2 if self.multilabel else self.num_classes
        batch = read(place, input, target, num_classes=classes, **options)  # type: ignore[arg-type]
        if self.multilabel:
            return self._labels(batch, place)
        predicted, true = batch.predicted[batch.counts], batch.target[batch.counts]
        found = {"hits": true[predicted == true], "predicted": predicted, "actual": true}
        return {
            name: np.bincount(x, minlength=self.num_classes).astype(np.int64)
            for name, x in found.items()
        }

    def _labels(self, batch: Batch, place: str) -> State:
        """The same for labels along axis 1, each of which is there or not."""
        shape = batch.target.shape
        if len(shape) < 2 or shape[1] != self.num_classes:
            raise ShapeError(
                f"targets of shape {shape} have not {self.num_classes} labels along axis 1", place,
                "pass one number for each item and label",
            )  # fmt: skip
        rest = tuple(i for i in range(len(shape)) if i != 1)
        predicted, actual = ((x == 1) & batch.counts for x in (batch.predicted, batch.target))
        sums = {"hits": predicted & actual, "predicted": predicted, "actual": actual}
        return {name: x.sum(axis=rest, dtype=np.int64) for name, x in sums.items()}

    def compute(self) -> Any:
        """The value that `average` asks for: a float, or of None an array."""
        hits, actual = self.state["hits"], self.state["actual"]
        below = sum(self.state[name] for name in self.below)
        if self.average == "micro":
            total = np.asarray(below.sum())
            return float(_ratio(len(self.below) * hits.sum(), total, self.zero_division))
        values = _ratio(len(self.below) * hits, below, self.zero_division)
        if self.average is None:
            return values
        if self.average == "binary":
            return float(values[1])
        weights = actual
        if self.average == "macro":  # of the classes that came up at all
            occurs = self.state["predicted"] + actual > 0
            weights = np.ones_like(hits) if self.multilabel else occurs.astype(np.int64)
        weights = np.where(np.isnan(values), 0, weights)
        if not weights.sum():
            return float(self.zero_division)
        return float(np.sum(np.where(weights > 0, values, 0) * weights) / weights.sum())


class Precision(_PerClass):
    """Of what was predicted to be of a class, the share that is.

    Predictions as for `Accuracy`.

    Parameters
    ----------
    num_classes
        Classes are 0, 1, …, num_classes - 1. With `multilabel`, how many labels there are.
    average
        Over the classes. "binary": the value of class 1 of two. "macro": the mean over classes that
        were predicted or are targets, of labels over all. "weighted": weighted by how often each is
        a target. "micro": the ratio of all counts together. None: one value for each class.
    multilabel
        Axis 1 of predictions and targets has labels, each of which is there (1) or not (0).
    threshold, ignore_index
        As of `Accuracy`.
    zero_division
        The value where there is nothing to divide by. NaN leaves such classes out of an average.

    >>> precision = Precision()
    >>> precision.update([0.9, 0.8, 0.1], [1, 0, 1])
    >>> precision.compute()
    0.5
    """

    below = ("predicted",)


class Recall(_PerClass):
    """Of what is of a class, the share that was found.

    Predictions as for `Accuracy`, parameters as of `Precision`.

    >>> recall = Recall(3, average=None)
    >>> recall.update([0, 1, 1, 2], [0, 1, 2, 2])
    >>> recall.compute()
    array([1. , 1. , 0.5])
    """

    below = ("actual",)


class F1(_PerClass):
    """The harmonic mean of precision and recall.

    Predictions as for `Accuracy`, parameters as of `Precision`.

    >>> f1 = F1(2, "macro")
    >>> f1.update([0, 1, 1], [0, 0, 1])
    >>> round(f1.compute(), 4)
    0.6667
    """

    below = ("predicted", "actual")
