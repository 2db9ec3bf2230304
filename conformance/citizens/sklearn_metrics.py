"""scikit-learn's metrics, with `array_api_dispatch=True`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sklearn
from sklearn import metrics
from sklearn.metrics import pairwise

from citizens.calls import Draw, Table, like, namespace, normal, positive, unit

TABLE = Table("sklearn")
NONE = " (no array API)"
LABELS = [0, 1, 0, 1, 1, 0]
CLASSES = [0, 1, 2, 0, 1, 2]


def row(name: str, function: Callable[..., Any], *draws: Draw, **facts: Any) -> None:
    """A call with dispatching switched on."""

    def dispatched(*arrays: Any, **keywords: Any) -> Any:
        with sklearn.config_context(array_api_dispatch=True):
            return function(*arrays, **keywords)

    TABLE.row("metrics." + name, dispatched, *draws, **facts)


# ---- of regression ------------------------------------------------------------------------------
for _name in (
    "mean_squared_error", "mean_absolute_error", "root_mean_squared_error", "r2_score",
    "explained_variance_score", "max_error", "median_absolute_error", "mean_pinball_loss",
    "mean_absolute_percentage_error", "d2_pinball_score", "d2_absolute_error_score",
):  # fmt: skip
    row(_name, getattr(metrics, _name), normal(7), normal(7))
for _name in (
    "mean_squared_log_error", "root_mean_squared_log_error", "mean_tweedie_deviance",
    "mean_poisson_deviance", "mean_gamma_deviance", "d2_tweedie_score",
):  # fmt: skip
    row(_name, getattr(metrics, _name), positive(7), positive(7))
for _name in (
    "mean_squared_error", "mean_absolute_error", "root_mean_squared_error", "r2_score",
    "explained_variance_score", "mean_pinball_loss", "mean_absolute_percentage_error",
    "median_absolute_error", "d2_pinball_score", "d2_absolute_error_score",
):  # fmt: skip
    row(_name + "(multioutput='raw_values')", getattr(metrics, _name), normal(7, 2), normal(7, 2),
        multioutput="raw_values")  # fmt: skip

# ---- of classification --------------------------------------------------------------------------


def _shares(x: Any) -> Any:
    """Rows that sum to one."""
    xp = namespace(x)
    return x / xp.sum(x, axis=1, keepdims=True)


row("log_loss", lambda p: metrics.log_loss(like(p, CLASSES), _shares(p)), positive(6, 3))
row("log_loss(binary)", lambda p: metrics.log_loss(like(p, LABELS), p), unit(6))
row("brier_score_loss", lambda p: metrics.brier_score_loss(like(p, LABELS), p), unit(6))
row("d2_log_loss_score", lambda p: metrics.d2_log_loss_score(like(p, CLASSES), _shares(p)),
    positive(6, 3))  # fmt: skip
row("d2_brier_score", lambda p: metrics.d2_brier_score(like(p, LABELS), p), unit(6))
row("hinge_loss" + NONE, lambda d: metrics.hinge_loss(like(d, LABELS), d), normal(6))


def _of_guesses(score: Any) -> Any:
    """A score of predicted labels."""
    return lambda x: score(like(x, LABELS), namespace(x).astype(x > 0, namespace(x).int64))


def _of_scores(curve: Any) -> Any:
    """A curve without its thresholds, which are the scores themselves; or a number."""

    def points(x: Any) -> Any:
        found = curve(like(x, LABELS), x)
        return found[:2] if isinstance(found, tuple) else found

    return points


for _name in (
    "accuracy_score", "f1_score", "confusion_matrix", "balanced_accuracy_score", "jaccard_score",
    "zero_one_loss",
):  # fmt: skip
    row(_name, _of_guesses(getattr(metrics, _name)), normal(6))
for _name in ("roc_curve", "average_precision_score", "roc_auc_score", "precision_recall_curve"):
    row(_name, _of_scores(getattr(metrics, _name)), normal(6))


row("calinski_harabasz_score", lambda x: metrics.calinski_harabasz_score(x, like(x, CLASSES)),
    normal(6, 2))  # fmt: skip
row("davies_bouldin_score", lambda x: metrics.davies_bouldin_score(x, like(x, CLASSES)),
    normal(6, 2))  # fmt: skip
row("silhouette_score", lambda x: metrics.silhouette_score(x, like(x, CLASSES)), normal(6, 2))

# ---- pairs --------------------------------------------------------------------------------------
for _name, _draw in (
    ("rbf_kernel", normal), ("laplacian_kernel", normal), ("polynomial_kernel", normal),
    ("sigmoid_kernel", normal), ("linear_kernel", normal), ("cosine_similarity", normal),
    ("cosine_distances", normal), ("euclidean_distances", normal), ("manhattan_distances", normal),
    ("additive_chi2_kernel", positive), ("chi2_kernel", positive),
):  # fmt: skip
    row("pairwise." + _name, getattr(pairwise, _name), _draw(3, 2), _draw(4, 2))
for _name in ("paired_cosine_distances", "paired_euclidean_distances",
              "paired_manhattan_distances"):  # fmt: skip
    row("pairwise." + _name, getattr(pairwise, _name), normal(3, 2), normal(3, 2))
for _name in ("cosine", "euclidean", "manhattan", "l2", "minkowski", "chebyshev", "correlation"):
    row(f"pairwise.pairwise_distances({_name})",
        lambda x, y, m=_name: pairwise.pairwise_distances(x, y, metric=m), normal(3, 3),
        normal(4, 3))  # fmt: skip
row("pairwise.pairwise_kernels(rbf)",
    lambda x, y: pairwise.pairwise_kernels(x, y, metric="rbf"), normal(3, 2), normal(4, 2))
row("pairwise.euclidean_distances(X,X)", lambda x: pairwise.euclidean_distances(x, x), normal(4, 2),
    tolerance=1e-3)  # fmt: skip
row("pairwise.nan_euclidean_distances" + NONE,
    lambda x, y: pairwise.nan_euclidean_distances(x, y), normal(3, 2), normal(4, 2))
row("pairwise.pairwise_distances_argmin",
    lambda x, y: pairwise.pairwise_distances_argmin(x, y) * 1.0, normal(3, 2), normal(4, 2))
