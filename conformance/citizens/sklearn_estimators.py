"""scikit-learn's estimators, with `array_api_dispatch=True`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from sklearn import (
    calibration,
    cluster,
    decomposition,
    discriminant_analysis,
    kernel_approximation,
    linear_model,
    mixture,
    model_selection,
    naive_bayes,
    pipeline,
    preprocessing,
    utils,
)

from citizens.calls import Draw, Table, like, normal, positive, spread

TABLE = Table("sklearn")
NONE = " (no array API)"
LABELS = [0, 1, 0, 1, 1, 0, 1, 0]
CLASSES = [0, 1, 2, 0, 1, 2, 0, 1, 2]


def row(name: str, function: Callable[..., Any], *draws: Draw, **facts: Any) -> None:
    """A call with dispatching switched on."""

    def dispatched(*arrays: Any) -> Any:
        with sklearn.config_context(array_api_dispatch=True):
            return function(*arrays)

    TABLE.row(name, dispatched, *draws, **facts)


def _blobs(rows: int, columns: int, labels: list[int]) -> Draw:
    """Samples around a centre for each label."""
    shift = np.asarray(labels)[:, None] * np.asarray([2.0, -1.5, 1.0])[:columns]
    return Draw(lambda g: g.normal(size=(rows, columns)) + shift)


TWO, THREE = _blobs(8, 3, LABELS), _blobs(9, 2, CLASSES)

# ---- preprocessing ------------------------------------------------------------------------------
for _name, _estimator, _draw in (
    ("StandardScaler.fit_transform", preprocessing.StandardScaler(), normal(5, 3)),
    ("MinMaxScaler.fit_transform", preprocessing.MinMaxScaler(), spread(5, 3)),
    ("MaxAbsScaler.fit_transform", preprocessing.MaxAbsScaler(), spread(5, 3)),
    ("Normalizer(l1)", preprocessing.Normalizer("l1"), normal(4, 3)),
    ("Normalizer(l2)", preprocessing.Normalizer("l2"), normal(4, 3)),
    ("Normalizer(max)", preprocessing.Normalizer("max"), spread(4, 3)),
    ("PolynomialFeatures", preprocessing.PolynomialFeatures(2), normal(4, 3)),
    ("Binarizer", preprocessing.Binarizer(), normal(4, 3)),
    ("RobustScaler" + NONE, preprocessing.RobustScaler(), spread(5, 3)),
    ("QuantileTransformer" + NONE, preprocessing.QuantileTransformer(n_quantiles=4), spread(5, 2)),
):
    row(f"preprocessing.{_name}", lambda x, e=_estimator: sklearn.clone(e).fit_transform(x), _draw)
row("preprocessing.StandardScaler.fit(X).transform(Z)",
    lambda x, z: preprocessing.StandardScaler().fit(x).transform(z), normal(5, 3), normal(4, 3))
row("preprocessing.KernelCenterer",
    lambda x: preprocessing.KernelCenterer().fit_transform(x @ x.T), normal(4, 3))
row("preprocessing.LabelEncoder",
    lambda x: preprocessing.LabelEncoder().fit_transform(like(x, CLASSES)) * 1.0, normal(3))

# ---- decomposition ------------------------------------------------------------------------------
for _solver in ("full", "covariance_eigh"):
    _pca = decomposition.PCA(2, svd_solver=_solver)
    row(f"decomposition.PCA({_solver}).fit_transform",
        lambda x, e=_pca: sklearn.clone(e).fit_transform(x), normal(6, 3))
    row(f"decomposition.PCA({_solver}).explained_variance_",
        lambda x, e=_pca: sklearn.clone(e).fit(x).explained_variance_, normal(6, 3))

    def _there_and_back(x: Any, z: Any, e: Any = _pca) -> Any:
        fitted = sklearn.clone(e).fit(x)
        return fitted.inverse_transform(fitted.transform(z))

    row(f"decomposition.PCA({_solver}).inverse_transform(transform(Z))", _there_and_back,
        normal(6, 3), normal(2, 3))  # fmt: skip
row("decomposition.PCA(whiten)",
    lambda x: decomposition.PCA(2, whiten=True, svd_solver="full").fit_transform(x), normal(6, 3))
row("decomposition.PCA.score_samples",
    lambda x: decomposition.PCA(2, svd_solver="full").fit(x).score_samples(x), normal(6, 3))
row("decomposition.PCA(randomized)",
    lambda x: decomposition.PCA(2, svd_solver="randomized", random_state=0,
                                power_iteration_normalizer="QR").fit(x).explained_variance_,
    normal(6, 4))  # fmt: skip
row("decomposition.TruncatedSVD" + NONE,
    lambda x: decomposition.TruncatedSVD(2, random_state=0).fit_transform(x), normal(6, 4))
row("decomposition.NMF" + NONE,
    lambda x: decomposition.NMF(2, init="nndsvda", max_iter=3, tol=0, random_state=0)
    .fit_transform(x), positive(5, 4))  # fmt: skip

# ---- linear models ------------------------------------------------------------------------------


def _ridge() -> Any:
    return linear_model.Ridge(solver="svd")


row("linear_model.Ridge(svd).coef_", lambda x, y: _ridge().fit(x, y).coef_, normal(6, 3), normal(6))
row("linear_model.Ridge(svd).predict", lambda x, y: _ridge().fit(x, y).predict(x), normal(6, 3),
    normal(6))  # fmt: skip
row("linear_model.Ridge(svd).score", lambda x, y: _ridge().fit(x, y).score(x, y), normal(6, 3),
    normal(6))  # fmt: skip
row("linear_model.RidgeCV.predict",
    lambda x, y: linear_model.RidgeCV(alphas=(0.1, 1.0)).fit(x, y).predict(x), normal(6, 3),
    normal(6))  # fmt: skip
row("linear_model.RidgeClassifierCV.decision_function",
    lambda x: linear_model.RidgeClassifierCV(alphas=(0.1, 1.0)).fit(x, like(x, LABELS))
    .decision_function(x), TWO)  # fmt: skip
row("linear_model.LogisticRegression.coef_",
    lambda x: linear_model.LogisticRegression(tol=1e-10).fit(x, like(x, LABELS)).coef_, TWO,
    step=1e-4)  # fmt: skip


def _numpy_fit(z: Any) -> Any:
    """Fitted with NumPy, used with arrays of the other library."""
    x = np.random.default_rng(2).normal(size=(9, 2)) + np.asarray(CLASSES)[:, None]
    model = linear_model.LogisticRegression().fit(x, np.asarray(CLASSES))
    for name in ("coef_", "intercept_", "classes_"):
        setattr(model, name, like(z, getattr(model, name)))
    return model.predict_proba(z)


row("linear_model.LogisticRegression(numpy-fit).predict_proba(Z)", _numpy_fit, normal(4, 2))
row("linear_model.PoissonRegressor.coef_",
    lambda x, y: linear_model.PoissonRegressor(tol=1e-10).fit(x, y).coef_, normal(8, 2),
    positive(8), step=1e-4)  # fmt: skip
row("linear_model.LinearRegression" + NONE,
    lambda x, y: linear_model.LinearRegression().fit(x, y).coef_, normal(6, 3), normal(6))
row("linear_model.Lasso" + NONE, lambda x, y: linear_model.Lasso(0.05, tol=1e-10).fit(x, y).coef_,
    normal(6, 3), normal(6), step=1e-4, tolerance=1e-2)  # fmt: skip

# ---- classifiers and mixtures -------------------------------------------------------------------
_lda = discriminant_analysis.LinearDiscriminantAnalysis
for _method in ("decision_function", "predict_proba"):
    row(f"discriminant_analysis.LDA(svd).{_method}",
        lambda x, m=_method: getattr(_lda().fit(x, like(x, CLASSES)), m)(x), THREE)
row("naive_bayes.GaussianNB.predict_log_proba",
    lambda x: naive_bayes.GaussianNB().fit(x, like(x, CLASSES)).predict_log_proba(x), THREE)


def _bayes(x: Any) -> Any:
    fitted = naive_bayes.GaussianNB().fit(x, like(x, CLASSES))
    return fitted.theta_, fitted.var_


row("naive_bayes.GaussianNB.theta_,var_", _bayes, THREE)


def _mixture(x: Any, kind: str) -> Any:
    start = like(x, np.eye(3)[np.asarray(CLASSES)])
    return mixture.GaussianMixture(
        3, covariance_type=kind, init_params="random", random_state=0, max_iter=3, tol=0.0,
        means_init=start.T @ x / 3, reg_covar=1e-2,
    )  # fmt: skip


def _fitted_mixture(x: Any, kind: str) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
        return _mixture(x, kind).fit(x)


for _kind in ("full", "diag", "spherical", "tied"):

    def _means(x: Any, kind: str = _kind) -> Any:
        fitted = _fitted_mixture(x, kind)
        return fitted.means_, fitted.score_samples(x)

    row(f"mixture.GaussianMixture({_kind}).means_,score_samples", _means, THREE)
row("mixture.GaussianMixture.predict_proba(Z)",
    lambda x, z: _fitted_mixture(x, "full").predict_proba(z), THREE, normal(3, 2))
row("kernel_approximation.Nystroem(rbf)",
    lambda x: kernel_approximation.Nystroem(gamma=0.3, n_components=4, random_state=0)
    .fit_transform(x), normal(6, 2))  # fmt: skip
row("calibration.CalibratedClassifierCV(temperature)",
    lambda x: calibration.CalibratedClassifierCV(_lda(), method="temperature", cv=2)
    .fit(x, like(x, LABELS)).predict_proba(x), TWO, step=1e-4,
    remark="the temperature is found by a minimiser of numbers, `float()` of an array each")
row("cluster.KMeans" + NONE,
    lambda x: cluster.KMeans(2, n_init=1, random_state=0).fit(x).cluster_centers_, TWO)

# ---- pipelines and model selection --------------------------------------------------------------


def _steps(x: Any, y: Any) -> Any:
    chain = pipeline.make_pipeline(
        preprocessing.StandardScaler(), decomposition.PCA(2, svd_solver="full"), _ridge()
    )
    return chain.fit(x, y).predict(x)


row("pipeline.StandardScaler+PCA+Ridge predict", _steps, normal(6, 3), normal(6))
row("pipeline.FeatureUnion(StandardScaler,PCA)",
    lambda x: pipeline.make_union(preprocessing.StandardScaler(),
                                  decomposition.PCA(2, svd_solver="full")).fit_transform(x),
    normal(6, 3))  # fmt: skip
row("model_selection.train_test_split",
    lambda x, y: model_selection.train_test_split(x, y, random_state=0), normal(6, 2), normal(6))
row("model_selection.cross_val_predict(Ridge)",
    lambda x, y: model_selection.cross_val_predict(_ridge(), x, y, cv=2), normal(6, 2), normal(6))
row("model_selection.cross_val_score(Ridge)",
    lambda x, y: [float(s) for s in model_selection.cross_val_score(
        _ridge(), x, y, cv=2, error_score="raise")], normal(6, 2), normal(6))  # fmt: skip
row("utils.randomized_svd",
    lambda x: utils.extmath.randomized_svd(x, 2, random_state=0,
                                           power_iteration_normalizer="QR")[1], normal(6, 4))
