"""Numbers of distributions that are drawn by rejection, on the host and in float64.

Note [Attempts] of `polygrad.streams.generator` says which words each number takes: those of its own
block, u, v, w, x, and of further blocks if it is rejected. So it depends on the stream, its place
and its parameters alone.

Sources: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables" (2000);
W. Hörmann, "The transformed rejection method for generating Poisson random variables" and "The
generation of binomial random variates" (both 1993); C. P. Robert, "Simulation of truncated normal
variables" (1995). Logarithms of probabilities are Loader's (2000), which do not cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygrad.ops._series import deviance, stirling_series
from polygrad.streams import Generator, closed_units, open_units
from polygrad.streams.variates import polar

__all__ = ["binomial", "gamma_parts", "poisson", "truncated_normal"]

Host = np.ndarray[Any, Any]
Attempt = Callable[..., tuple[Host, Host]]
_CHUNK = 1 << 14  # numbers that are made together: their arrays stay in the cache
_INVERSION = 10  # up to this mean counts are found by going through them
_NEGLIGIBLE = 1e-18


def _picked(parameters: tuple[Host, ...], places: Any) -> list[Host]:
    """The parameters of some numbers."""
    return [p[places] if p.ndim else p for p in parameters]


def _until_accepted(
    generator: Generator, n: int, attempt: Attempt, *parameters: Host, parts: int = 1
) -> Host:
    """Numbers, each by the first attempt that is accepted.

    Parameters
    ----------
    generator, n
        The stream, and how many numbers.
    attempt
        Called with words of shape (m, 4) and the parameters; returns the numbers, of shape (m,) or
        (m, parts), and which of them are accepted.
    parameters
        Of shape () or (n,).
    parts
        Of how many numbers each consists.
    """
    out = np.empty((n, parts))
    blocks = generator.blocks(n)
    left = [np.zeros(0, np.int64)]
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        values, fine = attempt(blocks.run(start, stop), *_picked(parameters, slice(start, stop)))
        out[start:stop] = values.reshape(-1, parts)
        left.append(np.flatnonzero(~fine) + start)
    places, tries = np.concatenate(left), 1
    while places.size:
        refused = []
        for start in range(0, places.size, _CHUNK):
            some = places[start : start + _CHUNK]
            values, fine = attempt(blocks.again(some, tries), *_picked(parameters, some))
            out[some] = values.reshape(-1, parts)
            refused.append(some[~fine])
        places = np.concatenate(refused)
        tries += 1
    return out if parts > 1 else out[:, 0]


# ---- gamma --------------------------------------------------------------------------------------
def _gamma_attempt(words: Host, a: Host) -> tuple[Host, Host]:
    """Marsaglia and Tsang's d v, for a + 1 where a < 1; and log(x) / a of these."""
    small = a < 1
    d = a + small - 1 / 3
    z = polar(closed_units(words[:, 0]), open_units(words[:, 1]))[:, 0]
    t = z / np.sqrt(9 * d)
    w = closed_units(words[:, 2])
    fine = w < 1 - 0.0331 * (z * z) * (z * z)
    open_ones = np.flatnonzero(~fine)
    (s, e) = _picked((t, np.asarray(d)), open_ones)
    inside = s > -1
    s = np.where(inside, s, 0)
    # z^2 / 2 + d - d v + d log(v), where v = (1 + s)^3 and z^2 = 9 d s^2
    exponent = e * (3 * (np.log1p(s) - s + 0.5 * s * s) - s * s * s)
    fine[open_ones] = inside & (np.log(w[open_ones]) < exponent)
    parts = np.zeros((z.size, 2))
    root = 1 + t
    parts[:, 0] = d * root * root * root
    if small.any():
        parts[:, 1] = np.where(small, np.log(closed_units(words[:, 3])), 0) / a
    return parts, fine


def gamma_parts(generator: Generator, n: int, a: Host) -> tuple[Host, Host]:
    """Standard gamma numbers of shape parameter a as `g` and `h`, where they are g exp(h).

    h is not 0 where a < 1: a number may be too small for float64 then, but not its logarithm.
    """
    made = _until_accepted(generator, n, _gamma_attempt, np.maximum(a, 1e-300), parts=2)
    return made[:, 0], made[:, 1]


# ---- counts -------------------------------------------------------------------------------------
_SMALL = np.array([
    0.0, *(math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi)
           for k in range(1, 10)),
])  # fmt: skip


def _remainder(k: Host) -> Host:
    """log(k!) - ((k + 1/2) log(k) - k + log(2 pi) / 2) for whole k > 0, which are floats."""
    far: Host = stirling_series(np.maximum(k, 10))
    return np.where(k < 10, _SMALL[np.minimum(k, 9).astype(np.int64)], far)


def _poisson_log(k: Host, rate: Host) -> Host:
    """The logarithm of the probability of k >= 0."""
    m = np.maximum(k, 1)
    usual = -deviance(np, m, rate, rate - m) - _remainder(m) - 0.5 * np.log(2 * math.pi * m)
    return np.where(k == 0, -rate, usual)


def _binomial_log(k: Host, n: Host, p: Host) -> Host:
    """The logarithm of the probability of k from 0 to n, n >= 2."""
    m = np.clip(k, 1, n - 1)
    rest, mean = n - m, n * p
    usual = _remainder(n) - _remainder(m) - _remainder(rest)
    usual = usual - deviance(np, m, mean, mean - m) - deviance(np, rest, n - mean, m - mean)
    usual = usual + 0.5 * np.log(n / (2 * math.pi * m) / rest)
    return np.where(k == 0, n * np.log1p(-p), np.where(k == n, n * np.log(p), usual))


def _walk(u: Host, first: Host, ratio: Callable[..., Host], mean: Host, *rest: Host) -> Host:
    """The smallest k >= 0 of which the distribution function is above u, by going through them.

    Parameters
    ----------
    u
        In [0, 1).
    first
        The probability of 0.
    ratio
        Called with k and `rest`: the probability of k, divided by that of k - 1.
    mean, rest
        Beyond the mean a negligible probability ends the walk.
    """
    if not first.ndim:
        return _looked_up(u, first, ratio, mean, rest)
    out, k = np.zeros(u.size), 0
    places = np.flatnonzero(u >= first)
    p, total = first[places], first[places]
    while places.size:
        k += 1
        p = p * ratio(float(k), *_picked(rest, places))
        total = total + p
        out[places] = k
        (centre,) = _picked((mean,), places)
        stay = (u[places] >= total) & ((p > _NEGLIGIBLE) | (k <= centre))
        places, p, total = places[stay], p[stay], total[stay]
    return out


def _looked_up(u: Host, first: Host, ratio: Any, mean: Host, rest: tuple[Host, ...]) -> Host:
    """What `_walk` does, for one distribution: its function as a table, made by the same steps."""
    p, k, sums = first, 0, [first]
    while p > _NEGLIGIBLE or k <= mean:
        k += 1
        p = p * ratio(float(k), *rest)
        sums.append(sums[-1] + p)
    found = np.searchsorted(np.array(sums), u, side="right")
    return np.minimum(found, k).astype(np.float64)


Method = tuple[Host, Attempt]


def _by_case(words: Host, methods: Sequence[Method], *parameters: Host) -> tuple[Host, Host]:
    """Numbers by the method of their case: each has a mask, of shape () or that of the numbers."""
    values, fine = np.empty(len(words)), np.empty(len(words), bool)
    for case, method in methods:
        if not case.ndim:
            if case:
                return method(words, *parameters)
        elif case.any():
            values[case], fine[case] = method(words[case], *_picked(parameters, case))
    return values, fine


def _poisson_few(words: Host, rate: Host) -> tuple[Host, Host]:
    u = open_units(words[:, 0])
    return _walk(u, np.exp(-rate), lambda k, r: r / k, rate, rate), np.ones(u.size, bool)


def _transformed(words: Host, a: Host, b: Host, mean: Host) -> tuple[Host, ...]:
    """Of Hörmann's transformed rejection: k, the distance u has to an end of its interval, and v.

    u is uniform on [-1/2, 1/2), v on (0, 1].
    """
    u, v = open_units(words[:, 0]) - 0.5, closed_units(words[:, 1])
    end = 0.5 - np.abs(u)
    return np.floor((2 * a / end + b) * u + mean), end, v


def _poisson_many(words: Host, rate: Host) -> tuple[Host, Host]:
    """Hörmann's PTRS."""
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    k, end, v = _transformed(words, a, b, rate + 0.43)
    fine = (end >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    left = np.flatnonzero(~fine & (k >= 0) & ((end >= 0.013) | (v <= end)))
    r, a, b = _picked((rate, a, b), left)
    weight = (1.1239 + 1.1328 / (b - 3.4)) * v[left] / (a / end[left] ** 2 + b)
    fine[left] = np.log(weight) <= _poisson_log(k[left], r)
    return k, fine


def poisson(generator: Generator, n: int, rate: Host) -> Host:
    """Poisson numbers, by inversion below a rate of 10 and by PTRS above."""

    def attempt(words: Host, r: Host) -> tuple[Host, Host]:
        low = np.asarray(r < _INVERSION)
        return _by_case(words, ((low, _poisson_few), (~low, _poisson_many)), r)

    return _until_accepted(generator, n, attempt, rate)


def _binomial_few(words: Host, n: Host, p: Host) -> tuple[Host, Host]:
    u = open_units(words[:, 0])
    first = np.exp(n * np.log1p(-p))
    out = _walk(u, first, lambda k, n, p: (n - k + 1) / k * (p / (1 - p)), n * p, n, p)
    return np.minimum(out, n), np.ones(u.size, bool)


def _binomial_many(words: Host, n: Host, p: Host) -> tuple[Host, Host]:
    """Hörmann's BTRS, for p <= 1/2."""
    deviation = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    k, end, v = _transformed(words, a, b, n * p + 0.5)
    fine = (end >= 0.07) & (v <= 0.92 - 4.2 / b)
    left = np.flatnonzero(~fine & (k >= 0) & (k <= n))
    m, q, a, b, deviation = _picked((n, p, a, b, deviation), left)
    weight = (2.83 + 5.1 / b) * deviation * v[left] / (a / end[left] ** 2 + b)
    ratio = _binomial_log(k[left], m, q) - _binomial_log(np.floor((m + 1) * q), m, q)
    fine[left] = np.log(weight) <= ratio
    return k, fine


def binomial(generator: Generator, n: int, count: Host, p: Host) -> Host:
    """Binomial numbers, by inversion up to a mean of 10 and by BTRS above; p > 1/2 is mirrored."""
    count, p = (x.reshape(-1) if x.ndim else x for x in np.broadcast_arrays(count, p))
    mirrored = p > 0.5

    def attempt(words: Host, count: Host, p: Host) -> tuple[Host, Host]:
        low = np.asarray(count * p < _INVERSION)
        return _by_case(words, ((low, _binomial_few), (~low, _binomial_many)), count, p)

    drawn = _until_accepted(generator, n, attempt, count, np.where(mirrored, 1 - p, p))
    return np.where(mirrored, count - drawn, drawn)


# ---- truncated normal ---------------------------------------------------------------------------
def _from_normal(words: Host, low: Host, high: Host) -> tuple[Host, Host]:
    z = polar(closed_units(words[:, 0]), open_units(words[:, 1]))[:, 0]
    return z, (z >= low) & (z <= high)


def _from_uniform(words: Host, low: Host, high: Host) -> tuple[Host, Host]:
    x = low + (high - low) * open_units(words[:, 0])
    return x, np.log(closed_units(words[:, 2])) <= -0.5 * x * x


def _from_exponential(words: Host, low: Host, high: Host) -> tuple[Host, Host]:
    """low and an exponential number of the best rate, which is low + 1 / rate, up to high."""
    rate = 0.5 * (low + np.hypot(low, 2))
    delta, width = 1 / rate, high - low
    e = -np.log1p(open_units(words[:, 0]) * np.expm1(-rate * width)) / rate
    top = np.minimum(delta, width) - delta
    return low + e, np.log(closed_units(words[:, 2])) <= 0.5 * (top**2 - (e - delta) ** 2)


def _truncated_attempt(words: Host, low: Host, high: Host) -> tuple[Host, Host]:
    """One of three proposals, for -low <= high."""
    tail, wide = np.asarray(low > 0), np.asarray(high - low > 2.5)
    cases = (
        (tail, _from_exponential), (~tail & wide, _from_normal), (~tail & ~wide, _from_uniform)
    )  # fmt: skip
    return _by_case(words, cases, low, high)


def truncated_normal(generator: Generator, n: int, low: Host, high: Host) -> Host:
    """Standard normal numbers in [low, high], which may be infinite, by rejection."""
    low, high = (x.reshape(-1) if x.ndim else x for x in np.broadcast_arrays(low, high))
    mirrored = high < 0
    ends = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    x = _until_accepted(generator, n, _truncated_attempt, *ends)
    return np.where(mirrored, -x, x)
