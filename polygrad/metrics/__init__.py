"""Measures of quality, added up over batches: exact counts on the host, without a graph."""

from __future__ import annotations

from polygrad.metrics.average import Mean, MeanAbsoluteError, MeanSquaredError, R2Score
from polygrad.metrics.classification import F1, Accuracy, ConfusionMatrix, Precision, Recall
from polygrad.metrics.metric import Metric
from polygrad.metrics.ranking import AUROC

__all__ = [
    "AUROC", "F1", "Accuracy", "ConfusionMatrix", "Mean", "MeanAbsoluteError", "MeanSquaredError",
    "Metric", "Precision", "R2Score", "Recall",
]  # fmt: skip
