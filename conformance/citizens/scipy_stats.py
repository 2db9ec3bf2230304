"""scipy.stats."""

from __future__ import annotations

import numpy as np
from scipy import stats

from citizens.calls import Draw, Table, between, like, namespace, normal, positive, spread, unit

TABLE = Table("scipy")
row = TABLE.row

# ---- summaries of one sample --------------------------------------------------------------------
row("stats.zscore", stats.zscore, normal(5, 2))
row("stats.zmap", stats.zmap, normal(4), normal(5))
row("stats.gzscore", stats.gzscore, positive(5))
row("stats.gmean", stats.gmean, positive(5, 2))
row("stats.hmean", stats.hmean, positive(5, 2))
row("stats.gmean(weights)", lambda x, w: stats.gmean(x, weights=w), positive(5), positive(5))
row("stats.pmean", lambda x: stats.pmean(x, 2.5), positive(5, 2))
row("stats.gstd", stats.gstd, positive(5))
row("stats.skew", stats.skew, normal(6, 2))
row("stats.skew(bias=False)", lambda x: stats.skew(x, bias=False), normal(6, 2))
row("stats.kurtosis", stats.kurtosis, normal(6, 2))
row("stats.kurtosis(bias=False)", lambda x: stats.kurtosis(x, bias=False), normal(6, 2))
row("stats.moment", lambda x: stats.moment(x, order=3), normal(6))
row("stats.variation", stats.variation, positive(6, 2))
row("stats.sem", stats.sem, normal(6, 2))
row("stats.kstat", lambda x: stats.kstat(x, 3), normal(6))
row("stats.kstatvar", lambda x: stats.kstatvar(x, 2), normal(6))
row("stats.describe", lambda x: tuple(stats.describe(x))[2:], normal(6))
row("stats.tmean", lambda x: stats.tmean(x, (-3, 3)), normal(6))
row("stats.tvar", lambda x: stats.tvar(x, (-3, 3)), normal(6))
row("stats.tstd", lambda x: stats.tstd(x, (-3, 3)), normal(6))
row("stats.tsem", lambda x: stats.tsem(x, (-3, 3)), normal(6))
row("stats.tmin", lambda x: stats.tmin(x, -5.0), spread(6))
row("stats.tmax", lambda x: stats.tmax(x, 5.0), spread(6))
row("stats.trim_mean", lambda x: stats.trim_mean(x, 0.2), spread(6))
row("stats.iqr", stats.iqr, spread(6))
row("stats.median_abs_deviation", stats.median_abs_deviation, spread(7))
row("stats.quantile", lambda x: stats.quantile(x, like(x, [0.2, 0.6])), spread(6))
row("stats.mode", lambda x: stats.mode(x).mode, spread(5))
row("stats.rankdata", stats.rankdata, spread(6))
row("stats.lmoment", stats.lmoment, spread(8))
row("stats.sigmaclip", lambda x: stats.sigmaclip(x, 2.0, 2.0), spread(8))
row("stats.differential_entropy", lambda x: stats.differential_entropy(x, window_length=2),
    spread(8))  # fmt: skip
row("stats.entropy", stats.entropy, positive(5))
row("stats.entropy(qk)", stats.entropy, positive(5), positive(5))
row("stats.boxcox_llf", lambda x: stats.boxcox_llf(0.7, x), positive(6))
row("stats.yeojohnson_llf", lambda x: stats.yeojohnson_llf(0.7, x), normal(6))
row("stats.circmean", lambda x: stats.circmean(x), between(0.2, 2, 5))
row("stats.circvar", lambda x: stats.circvar(x), between(0.2, 2, 5))
row("stats.circstd", lambda x: stats.circstd(x), between(0.2, 2, 5))


def _directions(x: object) -> object:
    found = stats.directional_stats(x)
    return found.mean_direction, found.mean_resultant_length


row("stats.directional_stats", _directions, normal(5, 3))

# ---- tests of one sample ------------------------------------------------------------------------
row("stats.skewtest", lambda x: tuple(stats.skewtest(x)), normal(10))
row("stats.kurtosistest", lambda x: tuple(stats.kurtosistest(x)), normal(24))
row("stats.normaltest", lambda x: tuple(stats.normaltest(x)), normal(24))
row("stats.jarque_bera", lambda x: tuple(stats.jarque_bera(x)), normal(10))
row("stats.ttest_1samp", lambda x: _test(stats.ttest_1samp(x, 0.2)), normal(6))
row("stats.chisquare", lambda x: tuple(stats.chisquare(x)), positive(5))
row("stats.power_divergence(log-lik)",
    lambda x: tuple(stats.power_divergence(x, lambda_="log-likelihood")), positive(5))
row("stats.cramervonmises", lambda x: _test(stats.cramervonmises(x, _cdf)), unit(6))
row("stats.ks_1samp", lambda x: _test(stats.ks_1samp(x, _cdf)), unit(6))
row("stats.combine_pvalues(fisher)", lambda p: _test(stats.combine_pvalues(p)), unit(5))
for _method in ("pearson", "tippett", "stouffer", "mudholkar_george"):
    row(f"stats.combine_pvalues({_method})",
        lambda p, method=_method: _test(stats.combine_pvalues(p, method=method)), unit(5))
row("stats.false_discovery_control", stats.false_discovery_control, Draw(
    lambda g: np.asarray([0.03, 0.4, 0.11, 0.27, 0.5]) + g.uniform(-0.01, 0.01, 5)))  # fmt: skip


def _cdf(x: object) -> object:
    return x**1.5


def _test(result: object) -> object:
    return result.statistic, result.pvalue


# ---- tests of several samples -------------------------------------------------------------------
row("stats.ttest_ind", lambda x, y: _test(stats.ttest_ind(x, y)), normal(6), normal(5))
row("stats.ttest_ind(welch)", lambda x, y: _test(stats.ttest_ind(x, y, equal_var=False)),
    normal(6), normal(5))  # fmt: skip
row("stats.ttest_ind.statistic", lambda x, y: stats.ttest_ind(x, y, equal_var=False).statistic,
    normal(6), normal(5))  # fmt: skip
row("stats.ttest_rel", lambda x, y: _test(stats.ttest_rel(x, y)), normal(6), normal(6))
row("stats.ttest_ind_from_stats",
    lambda m, s, n, t: _test(stats.ttest_ind_from_stats(
        m, s, like(m, 6.0), n, t, like(m, 7.0))),
    normal(), positive(), normal(), positive())  # fmt: skip
row("stats.pearsonr", lambda x, y: _test(stats.pearsonr(x, y)), normal(6), normal(6))
row("stats.pearsonr.statistic", lambda x, y: stats.pearsonr(x, y).statistic, normal(6), normal(6))
row("stats.f_oneway", lambda *xs: _test(stats.f_oneway(*xs)), normal(5), normal(4), normal(6))
row("stats.alexandergovern", lambda *xs: _test(stats.alexandergovern(*xs)), normal(5), normal(4),
    normal(6))  # fmt: skip
row("stats.bartlett", lambda *xs: _test(stats.bartlett(*xs)), normal(5), normal(4), normal(6))
row("stats.levene", lambda *xs: _test(stats.levene(*xs)), spread(5), spread(4), spread(7))
row("stats.fligner", lambda *xs: _test(stats.fligner(*xs)), spread(5), spread(4), spread(7))
row("stats.spearmanrho", lambda x, y: _test(stats.spearmanrho(x, y)), spread(7), spread(7))
row("stats.chatterjeexi", lambda x, y: _test(stats.chatterjeexi(x, y)), spread(7), spread(7))
row("stats.mannwhitneyu", lambda x, y: _test(stats.mannwhitneyu(x, y, method="asymptotic")),
    spread(7), spread(6))  # fmt: skip
row("stats.kruskal", lambda *xs: _test(stats.kruskal(*xs)), spread(5), spread(4), spread(7))
row("stats.friedmanchisquare", lambda *xs: _test(stats.friedmanchisquare(*xs)), spread(5),
    normal(5), spread(5))  # fmt: skip
row("stats.wilcoxon", lambda x, y: _test(stats.wilcoxon(x, y, method="asymptotic")), spread(8),
    normal(8))  # fmt: skip
row("stats.brunnermunzel", lambda x, y: _test(stats.brunnermunzel(x, y)), spread(7), spread(6))
row("stats.mood", lambda x, y: _test(stats.mood(x, y)), spread(7), spread(6))
row("stats.ansari", lambda x, y: _test(stats.ansari(x, y)), spread(7), spread(6))
row("stats.epps_singleton_2samp", lambda x, y: _test(stats.epps_singleton_2samp(x, y)), spread(9),
    normal(8), tolerance=1e-3)  # fmt: skip
row("stats.cramervonmises_2samp",
    lambda x, y: _test(stats.cramervonmises_2samp(x, y, method="asymptotic")), spread(7), spread(6))

# ---- resampling ---------------------------------------------------------------------------------


def _bootstrap(x: object) -> object:
    interval = stats.bootstrap((x,), _mean, n_resamples=30, method="percentile",
                               rng=np.random.default_rng(3)).confidence_interval  # fmt: skip
    return interval.low, interval.high


def _mean(x: object, axis: int) -> object:
    return namespace(x).mean(x, axis=axis)


def _permutation(x: object, y: object) -> object:
    return stats.permutation_test(
        (x, y), lambda a, b, axis: _mean(a, axis) - _mean(b, axis), vectorized=True,
        n_resamples=20, rng=np.random.default_rng(3),
    ).statistic  # fmt: skip


row("stats.bootstrap(mean).CI", _bootstrap, normal(8))
row("stats.permutation_test.statistic", _permutation, normal(5), normal(4))

# ---- not converted to the array API by SciPy ----------------------------------------------------
row("stats.Normal(mu,sigma).logpdf (new infra)",
    lambda mu, sigma, x: stats.Normal(mu=mu, sigma=sigma).logpdf(x), normal(3), positive(3),
    normal(3))  # fmt: skip
row("stats.norm.logpdf (old infra)", lambda x, mu, sigma: stats.norm.logpdf(x, mu, sigma),
    normal(3), normal(3), positive(3))  # fmt: skip
row("stats.multivariate_normal.logpdf", lambda x, mu: stats.multivariate_normal.logpdf(x, mu),
    normal(4, 2), normal(2))  # fmt: skip
row("stats.gaussian_kde", lambda x, y: stats.gaussian_kde(x)(y), normal(6), normal(3))
row("stats.linregress", lambda x, y: tuple(stats.linregress(x, y)), normal(6), normal(6))
row("stats.wasserstein_distance", stats.wasserstein_distance, spread(6), normal(5))
row("stats.kendalltau", lambda x, y: _test(stats.kendalltau(x, y)), spread(7), spread(7))
