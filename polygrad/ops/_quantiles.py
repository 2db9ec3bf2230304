"""Where quantiles lie among sorted elements: the thirteen methods of NumPy, on the host.

The first nine are those of Hyndman and Fan, Sample quantiles in statistical packages, The American
Statistician 50 (1996) 361. Positions are counted from 0. They are reckoned in float64 whatever the
dtype of the elements: a position that ought to be whole must come out whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["METHODS", "Places", "picks", "places"]

Host = np.ndarray[Any, Any]

# Between which plotting positions a method interpolates: (alpha, beta) of Hyndman and Fan.
_CONTINUOUS: dict[str, tuple[float, float]] = {
    "linear": (1, 1),
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _closest(n: Host, q: Host) -> Host:
    """The nearest position; of two the one that is even when counted from 1."""
    below = np.floor(n * q - 1.5)
    exact = (below == n * q - 1.5) & (below % 2 == 1)
    return np.where(exact, below, below + 1)


# Which element is the quantile.
_DISCRETE: dict[str, Callable[[Host, Host], Host]] = {
    "inverted_cdf": lambda n, q: np.ceil(n * q) - 1,
    "closest_observation": _closest,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.around((n - 1) * q),
}
# Of which two elements the quantile is the mean.
_MEANS: dict[str, Callable[[Host, Host], tuple[Host, Host]]] = {
    "averaged_inverted_cdf": lambda n, q: (np.ceil(n * q) - 1, np.floor(n * q)),
    "midpoint": lambda n, q: (np.floor((n - 1) * q), np.ceil((n - 1) * q)),
}
METHODS = (*_CONTINUOUS, *_DISCRETE, *_MEANS)


class Places(NamedTuple):
    """The quantile is (1 - weight) times the element at `low` plus weight times that at `high`.

    `slope` is the derivative of the weight by q.
    """

    low: Host
    high: Host
    weight: Host
    slope: Host


def picks(method: str) -> bool:
    """Whether the quantiles of a method are elements, and so keep their dtype."""
    return method in _DISCRETE


def places(n: Any, q: Any, method: str) -> Places:
    """Where the quantiles `q` of `n` elements lie; n and q broadcast. Of none: at 0.

    >>> places(5, [0.375], "linear")[:3]
    (array([1]), array([2]), array([0.5]))
    """
    n, q = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(q, dtype=np.float64))
    top = np.maximum(n - 1, 0)
    nothing = np.zeros(n.shape)
    if method in _DISCRETE:
        low = high = _DISCRETE[method](n, q)
        weight = slope = nothing
    elif method in _MEANS:
        low, high = _MEANS[method](n, q)
        weight, slope = np.full(n.shape, 0.5), nothing
    else:
        alpha, beta = _CONTINUOUS[method]
        at = (n - 1) * q if method == "linear" else n * q + (alpha + q * (1 - alpha - beta)) - 1
        inside = (at >= 0) & (at < top)
        at = np.clip(at, 0, top)
        low = np.floor(at)
        high, weight = low + 1, at - low
        slope = np.where(inside, n + 1 - alpha - beta, 0)
    low, high = (np.clip(i, 0, top).astype(np.int64) for i in (low, high))
    return Places(low, high, weight, slope)
