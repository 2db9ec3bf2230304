"""scikit-learn on arrays: forwards as they are, and gradients derived on paper."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems import Table


def components(problem: Table) -> Callable[[], np.ndarray]:
    """The samples along their principal axes."""
    from benchmarks.estimators import principal_components

    x = problem.data()
    return lambda: principal_components(x, problem.clusters)[0]


def variance(problem: Table) -> Callable[[], tuple[float, np.ndarray]]:
    """The weighted variance along the principal axes v, and its gradient.

    A variance is an eigenvalue v' X' X v / (n - 1) of the centred samples X; its gradient in them
    is 2 X v v' / (n - 1), of which the mean over the samples is zero already.
    """
    x, count = problem.data(), problem.clusters
    weights = np.arange(1, count + 1, dtype=np.float32)

    def step():
        centred = x - x.mean(axis=0)
        _, s, axes = np.linalg.svd(centred, full_matrices=False)
        axes, n = axes[:count], len(x) - 1
        total = (s[:count] ** 2 * weights).sum() / n
        inner = centred @ axes.T
        inner *= weights * (2 / n)
        return total, inner @ axes

    return step


def mixture(problem: Table) -> Callable[[], float]:
    """Log-likelihoods under a mixture that was fitted to the samples."""
    from benchmarks.estimators import fit_and_score

    x = problem.data()
    return lambda: fit_and_score(x, problem.clusters).sum()


def score(problem: Table) -> Callable[[], tuple[float, np.ndarray]]:
    """The sum of log p(x) under a mixture that is given, and its gradient.

    With responsibilities r, means m and precisions P = L L': -sum_k r_k P_k (x - m_k).
    """
    from benchmarks.estimators import fitted_mixture

    x = problem.data()
    found = fitted_mixture(x, problem.clusters)
    factors, means = found.precisions_cholesky_, found.means_
    logdets = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    constants = np.log(found.weights_) + logdets - 0.5 * x.shape[1] * np.log(2 * np.pi)

    def step():
        whitened = (x - means[:, None]) @ factors
        logs = np.einsum("knd,knd->kn", whitened, whitened)
        logs *= -0.5
        logs += constants[:, None]
        top = logs.max(axis=0)
        logs -= top
        np.exp(logs, out=logs)
        sums = logs.sum(axis=0)
        logs /= sums
        total = (np.log(sums) + top).sum()
        whitened *= logs[..., None]
        return total, -(whitened @ factors.swapaxes(1, 2)).sum(axis=0)

    return step
