"""Every distribution against SciPy's distribution functions, over grids that reach the extremes.

Seeds are fixed, so that a p-value is a fact; below 1e-4 it is one of ten thousand streams, or a
wrong distribution.
"""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.random import rejection
from polygrad.random.distribution import TABLE
from polygrad.testing import assert_close
from tests.devices import optional
from tests.random.rows import CASES, CONTINUOUS, DISCRETE, ROWS, draw

stats, mpmath = optional("scipy.stats"), optional("mpmath")
N = 40_000
LEAST = 1e-4  # of a p-value
QUANTILES = np.concatenate(([1e-3, 1e-2], np.linspace(0.025, 0.975, 39), [0.99, 0.999]))


def p_of_bins(x, distribution):
    """Chi-square of the counts between quantiles, of which those that coincide are one."""
    edges = distribution.ppf(QUANTILES)
    if x.dtype.kind == "f":  # what is smaller may have become 0
        edges[edges == 0] = 1e-300
    edges = np.unique(edges)
    below = np.concatenate(([0], np.searchsorted(np.sort(x), edges, side="right"), [x.size]))
    expected = np.diff(np.concatenate(([0], distribution.cdf(edges), [1]))) * x.size
    observed = np.diff(below)
    few = expected < 5
    observed = np.append(observed[~few], observed[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    if expected[-1] < 5:  # too rare for a bin of its own
        assert observed[-1] < 5 + 5 * np.sqrt(expected[-1] + 1)
        observed, expected = observed[:-1], expected[:-1]
    if expected.size == 1:
        return 1.0
    return stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size - 1)


def test_every_row_of_the_table_is_tested():
    assert TABLE.keys() == ROWS.keys()


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
def test_counts_between_quantiles(name, parameters):
    distribution = ROWS[name][0](stats, *parameters)
    options = {} if name in DISCRETE else {"dtype": pg.float64}
    x = draw(name, parameters, N, generator=pg.Generator(5), **options).numpy()
    assert p_of_bins(x, distribution) > LEAST


# Numbers that float64 rounds to 0 or 1 in heaps are no continuous distribution.
HEAPED = ("gamma", "beta", "chi_square")
SMOOTH = [
    (name, parameters)
    for name, parameters in CASES
    if name in CONTINUOUS and (name not in HEAPED or min(parameters) >= 0.3)
]


@pytest.mark.parametrize(("name", "parameters"), SMOOTH, ids=str)
def test_kolmogorov_and_smirnov(name, parameters):
    distribution = CONTINUOUS[name][0](stats, *parameters)
    x = draw(name, parameters, N, generator=pg.Generator(6), dtype=pg.float64).numpy()
    assert stats.kstest(x, distribution.cdf).pvalue > LEAST
    single = draw(name, parameters, N, generator=pg.Generator(7), dtype=pg.float32).numpy()
    if np.unique(single).size > 0.9 * N:
        assert stats.kstest(single.astype("f8"), distribution.cdf).pvalue > LEAST


def measurable(name, parameters):
    """Whether mean and variance can be estimated from N numbers."""
    if name == "truncated_normal":  # SciPy takes a second for its kurtosis
        return False
    moments = ROWS[name][0](stats, *parameters).stats("mvk")
    return bool(np.isfinite(moments).all() and moments[2] < 100)


@pytest.mark.parametrize(("name", "parameters"), [c for c in CASES if measurable(*c)], ids=str)
def test_means_and_variances(name, parameters):
    mean, var, kurtosis = ROWS[name][0](stats, *parameters).stats("mvk")
    options = {} if name in DISCRETE else {"dtype": pg.float64}
    x = draw(name, parameters, N, generator=pg.Generator(8), **options).numpy().astype("f8")
    assert abs(x.mean() - mean) < 5 * np.sqrt(var / N)
    assert abs(x.var() / var - 1) < 5 * np.sqrt((kurtosis + 2) / N) + 25 / N


@pytest.mark.parametrize("rate", [10.0, 33.3, 1e3, 1e6, 1e9])
def test_logarithms_of_poisson_probabilities(rate):
    k = np.floor(np.concatenate(([0.0, 1, 2, 9, 10], rate + np.linspace(-9, 30, 99) * rate**0.5)))
    k = k[k >= 0]
    with mpmath.workdps(50):
        want = [float(mpmath.log(rate) * n - rate - mpmath.loggamma(n + 1)) for n in k.tolist()]
    assert_close(rejection._poisson_log(k, np.asarray(rate)), np.array(want))


@pytest.mark.parametrize(("n", "p"), [(20, 0.5), (100, 0.3), (10**6, 0.4), (10**12, 1e-3)])
def test_logarithms_of_binomial_probabilities(n, p):
    middle = n * p + np.linspace(-9, 20, 99) * (n * p) ** 0.5
    k = np.unique(np.clip(np.floor(np.concatenate(([0.0, 1, n - 1, n], middle))), 0, n))

    def log(m):
        ways = mpmath.loggamma(n + 1) - mpmath.loggamma(m + 1) - mpmath.loggamma(n - m + 1)
        return float(ways + m * mpmath.log(p) + (n - m) * mpmath.log(1 - mpmath.mpf(p)))

    with mpmath.workdps(50):
        want = np.array([log(m) for m in k.tolist()])
    assert_close(rejection._binomial_log(k, np.asarray(float(n)), np.asarray(p)), want)


@pytest.mark.parametrize("rate", [1e12, 1e15, 4e18])
def test_poisson_numbers_of_large_rates_are_nearly_normal(rate):
    x = pg.random.poisson(rate, N, generator=pg.Generator(1), dtype=pg.float64).numpy()
    z = (x - rate) / np.sqrt(rate)
    assert stats.kstest(z, stats.norm.cdf).pvalue > LEAST


def test_parameters_that_differ_from_number_to_number():
    rates = np.exp(np.linspace(-6, 12, N))
    x = pg.random.poisson(rates, generator=pg.Generator(2)).numpy()
    p = stats.poisson(rates)
    u = p.cdf(x) - np.random.default_rng(0).random(N) * p.pmf(x)
    assert stats.kstest(u, stats.uniform.cdf).pvalue > LEAST
    trials, chance = np.arange(N) % 300, np.linspace(0, 1, N)
    x = pg.random.binomial(trials, chance, generator=pg.Generator(3)).numpy()
    p = stats.binom(trials, chance)
    u = p.cdf(x) - np.random.default_rng(0).random(N) * p.pmf(x)
    assert stats.kstest(u, stats.uniform.cdf).pvalue > LEAST
    a = np.exp(np.linspace(-2, 20, N))
    x = pg.random.gamma(a, dtype=pg.float64, generator=pg.Generator(4)).numpy()
    assert stats.kstest(stats.gamma(a).cdf(x), stats.uniform.cdf).pvalue > LEAST


def test_ends():
    g = pg.Generator(1)
    assert not pg.random.poisson(0.0, 99, generator=g).numpy().any()
    assert not pg.random.binomial(0, 0.5, 99, generator=g).numpy().any()
    assert not pg.random.binomial(9, 0.0, 99, generator=g).numpy().any()
    assert (pg.random.binomial(9, 1.0, 99, generator=g).numpy() == 9).all()
    assert (pg.random.geometric(1.0, 99, generator=g).numpy() == 1).all()
    assert (pg.random.truncated_normal(2.0, 2.0, 9, generator=g).numpy() == 2).all()
    assert (pg.random.uniform(9, 3.0, 3.0, generator=g).numpy() == 3).all()
    tiny = pg.random.beta(1e-320, 1e-320, 99, dtype=pg.float64, generator=g).numpy()
    assert set(tiny.tolist()) == {0.0, 1.0}
    assert np.isfinite(pg.random.gamma(1e-320, 9, dtype=pg.float64, generator=g).numpy()).all()


def test_tiny_concentrations_keep_their_proportions():
    x = pg.random.beta(1e-5, 3e-5, N, dtype=pg.float64, generator=pg.Generator(2)).numpy()
    assert abs((x > 0.5).mean() - 0.25) < 5 * np.sqrt(0.1875 / N)
    alpha = np.array([1e-5, 2e-5, 7e-5])
    shares = pg.random.dirichlet(alpha, (N, 3), dtype=pg.float64, generator=pg.Generator(3)).numpy()
    np.testing.assert_array_less(
        np.abs(shares.mean(axis=0) - alpha / alpha.sum()), 5 * np.sqrt(0.25 / N)
    )


@pytest.mark.parametrize("alpha", [(0.1, 0.2), (1.0, 2.0, 3.0), (50.0, 0.5, 7.0, 1.0)], ids=str)
def test_dirichlet_has_beta_margins(alpha):
    shares = pg.random.dirichlet(
        alpha, (N // 4, 4, len(alpha)), dtype=pg.float64, generator=pg.Generator(1)
    ).numpy()
    assert shares.shape == (N // 4, 4, len(alpha))
    np.testing.assert_allclose(shares.sum(axis=-1), 1, rtol=1e-14)
    for i, a in enumerate(alpha):
        margin = stats.beta(a, sum(alpha) - a)
        assert p_of_bins(shares[..., i].reshape(-1), margin) > LEAST
    covariance = np.cov(shares.reshape(-1, len(alpha)).T)[0, 1]
    total = sum(alpha)
    expected = -alpha[0] * alpha[1] / total**2 / (total + 1)
    assert abs(covariance - expected) < 0.05 * abs(expected) + 1e-4


def test_bernoulli_of_a_tensor_of_probabilities():
    p = np.linspace(0, 1, N)
    b = pg.random.bernoulli(pg.tensor(p), generator=pg.Generator(3)).numpy()
    assert stats.binomtest(int(b[: N // 2].sum()), N // 2, 0.25).pvalue > LEAST
    assert stats.binomtest(int(b[N // 2 :].sum()), N // 2, 0.75).pvalue > LEAST
    ends = pg.random.bernoulli(pg.tensor([0.0, 1.0] * 500), generator=pg.Generator(4)).numpy()
    np.testing.assert_array_equal(ends, [False, True] * 500)
    one = pg.random.bernoulli(pg.tensor([0.3]), (N,), generator=pg.Generator(5)).numpy()
    same = pg.random.bernoulli(np.full(N, np.float32(0.3)), generator=pg.Generator(5)).numpy()
    np.testing.assert_array_equal(one, same)


def test_neighbours_are_independent():
    for name, parameters in (
        ("gamma", (0.5, 1.0)), ("poisson", (30.0,)), ("beta", (0.5, 2.0)), ("student_t", (5.0,)),
        ("truncated_normal", (3.0, 5.0, 0.0, 1.0)),
    ):  # fmt: skip
        x = draw(name, parameters, N, generator=pg.Generator(9), dtype=pg.float64).numpy()
        ranks = stats.rankdata(x)
        for lag in (1, 2, 3, 4, N // 2):
            r = np.corrcoef(ranks[:-lag], ranks[lag:])[0, 1]
            assert abs(r) < 5 / np.sqrt(N - lag), (name, lag)
