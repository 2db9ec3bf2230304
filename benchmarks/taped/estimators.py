"""Estimators of scikit-learn, handed Tensors: polygrad's own.

SciPy must not have been imported before: these workloads run in a process apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.problems import Table


def started(lib: Any, device: str, problem: Table) -> Any:
    """The samples of `problem`, with SciPy and scikit-learn told to take them as they are."""
    lib.enable_scipy()
    import sklearn

    sklearn.set_config(array_api_dispatch=True)
    return lib.tensor(problem.data(), device=device, requires_grad=True)


def components(lib: Any, device: str, problem: Table) -> Callable[[], object]:
    """The samples along their principal axes; the forward alone, recorded."""
    x = started(lib, device, problem)
    from benchmarks.estimators import principal_components

    return lambda: principal_components(x, problem.clusters)[0]


def variance(lib: Any, device: str, problem: Table) -> Callable[[], object]:
    """The variance along the principal axes, the k-th counted k times, and its gradient."""
    x = started(lib, device, problem)
    from benchmarks.estimators import principal_components

    weights = lib.arange(1, problem.clusters + 1, dtype=lib.float32, device=device)

    def step():
        total = (principal_components(x, problem.clusters)[1] * weights).sum()
        (gradient,) = lib.autograd.grad(total, x)
        return total, gradient

    return step


def mixture(lib: Any, device: str, problem: Table, *, gradient: bool) -> Callable[[], object]:
    """Log-likelihoods under a mixture that was fitted to the samples, recorded; the gradient."""
    x = started(lib, device, problem)
    from benchmarks.estimators import fit_and_score

    def step():
        total = fit_and_score(x, problem.clusters).sum()
        return lib.autograd.grad(total, x) if gradient else total

    return step


def score(lib: Any, device: str, problem: Table) -> Callable[[], object]:
    """Log-likelihoods under a mixture that is given, and the gradient of their sum."""
    x = started(lib, device, problem)
    from benchmarks.estimators import fitted_mixture

    found = fitted_mixture(x.detach(), problem.clusters)

    def step():
        total = found.score_samples(x).sum()
        (gradient,) = lib.autograd.grad(total, x)
        return total, gradient

    return step
