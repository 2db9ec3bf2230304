"""Calls of scikit-learn that are the same for arrays and for Tensors."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture


def principal_components(x: Any, count: int) -> tuple[Any, Any]:
    """The samples along their first principal axes, and the variances there."""
    estimator = PCA(count, svd_solver="full")
    return estimator.fit_transform(x), estimator.explained_variance_


def fitted_mixture(x: Any, clusters: int) -> Any:
    """A mixture of Gaussians after five rounds of expectation and maximisation."""
    estimator = GaussianMixture(
        clusters, max_iter=5, tol=0.0, init_params="random", random_state=0, reg_covar=1e-3
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # five rounds are enough to measure
        return estimator.fit(x)


def fit_and_score(x: Any, clusters: int) -> Any:
    """The log-likelihood of each sample."""
    return fitted_mixture(x, clusters).score_samples(x)
