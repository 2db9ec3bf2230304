"""Metrics equal scikit-learn's, whatever the batches, the device, and the way through a file."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import warnings
import weakref

import numpy as np
import pytest

import polygrad as pg
from polygrad import metrics
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.testing import assert_close
from tests.devices import optional

RNG = np.random.default_rng(7)
N, C = 240, 5
SCORES = np.round(RNG.normal(size=(N, C)), 1).astype(np.float32)  # with ties
TARGET = RNG.integers(0, C, N)
CLASSES = np.where(RNG.random(N) < 0.6, TARGET, RNG.integers(0, C, N))
YES = RNG.random((N, C)).astype(np.float32)
LABELS = (RNG.random((N, C)) < 0.4).astype(np.int64)


def fed(metric, *columns, batch=37):
    """The metric after the rows of these arrays, in batches."""
    for i in range(0, len(columns[0]), batch):
        metric.update(*(column[i : i + batch] for column in columns))
    return metric


@pytest.fixture
def sk():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield optional("sklearn.metrics")


def same(got, want):
    assert_close(np.asarray(got, np.float64), np.asarray(want, np.float64))


# ---- scikit-learn's numbers ---------------------------------------------------------------------
def test_accuracy(sk):
    same(fed(metrics.Accuracy(), CLASSES, TARGET).compute(), sk.accuracy_score(TARGET, CLASSES))
    best = SCORES.argmax(axis=1)
    same(fed(metrics.Accuracy(), SCORES, TARGET).compute(), sk.accuracy_score(TARGET, best))
    guessed = (YES > 0.5).astype(int)
    one_by_one = fed(metrics.Accuracy(), YES, LABELS).compute()
    same(one_by_one, 1 - sk.hamming_loss(LABELS, guessed))
    exact = fed(metrics.Accuracy(exact_match=True), YES, LABELS).compute()
    same(exact, sk.accuracy_score(LABELS, guessed))
    logits = np.log(YES / (1 - YES))
    assert fed(metrics.Accuracy(threshold=0.0), logits, LABELS).compute() == one_by_one


@pytest.mark.parametrize("k", range(1, C + 1))
def test_top_k(sk, k):
    without_ties = SCORES + np.arange(C, dtype=np.float32) / 1000
    want = sk.top_k_accuracy_score(TARGET, without_ties, k=k, labels=range(C))
    same(fed(metrics.Accuracy(k), without_ties, TARGET).compute(), want)


def test_of_equal_scores_the_first_counts():
    tied = np.zeros((3, 3), np.float32)
    for k in (1, 2, 3):
        found = [metrics.Accuracy(k).measure(tied[:1], [i])["right"] for i in range(3)]
        assert found == [1] * k + [0] * (3 - k)
    assert metrics.Accuracy().measure(SCORES, TARGET) == {
        "right": int((SCORES.argmax(axis=1) == TARGET).sum()), "total": N,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["Precision", "Recall", "F1"])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
def test_precision_recall_and_f1(sk, name, average, zero_division):
    score = getattr(sk, f"{name.lower()}_score")
    kind, options = getattr(metrics, name), {"zero_division": zero_division}
    absent = np.where(CLASSES == 3, 0, CLASSES)  # class 3 is a target, and never predicted
    neither = np.where(TARGET == 3, 0, TARGET)
    for predicted, true in ((CLASSES, TARGET), (absent, TARGET), (CLASSES, neither)):
        got = fed(kind(C, average, **options), predicted, true).compute()
        same(got, score(true, predicted, average=average, labels=range(C), **options))
    got = fed(kind(C, average, **options), absent, neither).compute()
    labels = range(C) if average is None else None  # scikit-learn: those that occur
    same(got, score(neither, absent, average=average, labels=labels, **options))
    few = YES * (np.arange(C) != 2)  # a label never predicted
    got = fed(kind(C, average, multilabel=True, **options), few, LABELS).compute()
    same(got, score(LABELS, (few > 0.5).astype(int), average=average, **options))


@pytest.mark.parametrize("name", ["Precision", "Recall", "F1"])
def test_two_classes(sk, name):
    score = getattr(sk, f"{name.lower()}_score")
    true, p = LABELS[:, 0], YES[:, 0]
    want = score(true, p > 0.5)
    both = np.stack([1 - p, p], axis=1)
    for predicted in (p, p > 0.5, (p > 0.5).astype(np.int8), both):
        same(fed(getattr(metrics, name)(), predicted, true).compute(), want)
    assert getattr(metrics, name)().compute() == 0
    assert math.isnan(getattr(metrics, name)(zero_division=math.nan).compute())


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_confusion_matrix(sk, normalize):
    absent = np.where(CLASSES == 3, 0, CLASSES)
    got = fed(metrics.ConfusionMatrix(C, normalize=normalize), absent, TARGET).compute()
    same(got, sk.confusion_matrix(TARGET, absent, labels=range(C), normalize=normalize))
    assert got.dtype == (np.int64 if normalize is None else np.float64)
    assert not metrics.ConfusionMatrix(3, normalize=normalize).compute().any()


def test_ignore_index(sk):
    true = np.where(RNG.random(N) < 0.3, -100, TARGET)
    kept = true != -100
    for metric, score in [
        (metrics.Accuracy(ignore_index=-100), sk.accuracy_score),
        (
            metrics.F1(C, "micro", ignore_index=-100),
            lambda t, p: sk.f1_score(t, p, average="micro"),
        ),
        (metrics.ConfusionMatrix(C, ignore_index=-100), sk.confusion_matrix),
    ]:
        same(fed(metric, CLASSES, true).compute(), score(true[kept], CLASSES[kept]))
        metric.reset()
        best = SCORES.argmax(axis=1)
        same(fed(metric, SCORES, true).compute(), score(true[kept], best[kept]))
    top = fed(metrics.Accuracy(2, ignore_index=-100), SCORES, true).compute()
    same(top, fed(metrics.Accuracy(2), SCORES[kept], true[kept]).compute())
    labels = np.where(RNG.random((N, C)) < 0.3, -1, LABELS)
    exact = fed(metrics.Accuracy(exact_match=True, ignore_index=-1), YES, labels)
    right = (((YES > 0.5) == labels) | (labels == -1)).all(axis=1)
    counted = (labels != -1).any(axis=1)
    assert exact.state == {"right": int((right & counted).sum()), "total": int(counted.sum())}
    some = fed(metrics.Precision(C, None, multilabel=True, ignore_index=-1), YES, labels).compute()
    for k in range(C):
        kept = labels[:, k] != -1
        same(some[k], sk.precision_score(labels[kept, k], YES[kept, k] > 0.5))


def test_images():
    """Axis 1 has the classes, whatever follows."""
    scores, true = RNG.normal(size=(4, C, 3, 2)), RNG.integers(0, C, (4, 3, 2))
    flat = np.moveaxis(scores, 1, -1).reshape(-1, C)
    for metric in (metrics.Accuracy(), metrics.Accuracy(2), metrics.ConfusionMatrix(C)):
        other = copy.deepcopy(metric)
        same(fed(metric, scores, true, batch=3).compute(), fed(other, flat, true.ravel()).compute())
    one = metrics.Accuracy()
    one.update(SCORES[0], TARGET[0])  # one item, without a batch
    one.update(pg.tensor(2), pg.tensor(2))
    one.update([pg.tensor(2)], [pg.tensor(2)])
    assert one.state["total"] == 3


def test_errors_and_r2(sk):
    y = RNG.normal(size=(N, 3)) * [1, 2, 3] + 1e4
    x = y + RNG.normal(size=(N, 3))
    for columns in ((x, y), (x[:, 0], y[:, 0])):
        for kind, score in [
            (metrics.MeanSquaredError, sk.mean_squared_error),
            (metrics.MeanAbsoluteError, sk.mean_absolute_error), (metrics.R2Score, sk.r2_score),
        ]:  # fmt: skip
            same(fed(kind(), *columns).compute(), score(columns[1], columns[0]))
    for x, y in (([1.0, 2], [3.0, 3]), ([3.0, 3], [3.0, 3])):
        assert fed(metrics.R2Score(), x, y, batch=1).compute() == sk.r2_score(y, x)
    assert math.isnan(fed(metrics.R2Score(), [1.0], [1.0]).compute())
    weights = RNG.random(N)
    got = fed(metrics.MeanSquaredError(), YES[:, 0], YES[:, 1], weights).compute()
    same(got, sk.mean_squared_error(YES[:, 1], YES[:, 0], sample_weight=weights))


def test_auroc(sk):
    for scores in (YES[:, 0], SCORES[:, 0], np.zeros(N)):
        for batch in (1, 7, N):
            got = fed(metrics.AUROC(), scores, LABELS[:, 0], batch=batch).compute()
            same(got, sk.roc_auc_score(LABELS[:, 0], scores))
    assert math.isnan(fed(metrics.AUROC(), YES[:, 0], np.ones(N)).compute())
    true = np.where(np.arange(N) % 3, LABELS[:, 0], -1)
    kept = true >= 0
    got = fed(metrics.AUROC(ignore_index=-1), YES[:, 0], true).compute()
    same(got, sk.roc_auc_score(true[kept], YES[kept, 0]))
    many = fed(metrics.AUROC(), RNG.random(20_000), RNG.integers(0, 2, 20_000), batch=10)
    assert len(many.state["chunks"]) < 20


# ---- means --------------------------------------------------------------------------------------
def test_a_mean_is_exact():
    values = np.concatenate([np.full(1000, 0.1), [1e16, 1.0, -1e16], RNG.normal(size=1000)])
    weights = RNG.integers(1, 9, values.size).astype(float)
    want = math.fsum(values * weights) / weights.sum()
    for batch in (1, 7, 2003):
        for order in (slice(None), slice(None, None, -1)):
            got = fed(metrics.Mean(), values[order], weights[order], batch=batch).compute()
            assert got == want


def test_a_mean_of_what_is_not_finite():
    mean = metrics.Mean()
    assert math.isnan(mean.compute())
    mean.update([1.0, math.nan], [1.0, 0.0])
    assert mean.compute() == 1
    mean.update([])
    mean.update(math.inf, 2)
    assert mean.compute() == math.inf
    mean.update(-math.inf)
    assert math.isnan(mean.compute())
    mean.reset()
    mean.update([1e308, 1e308])
    assert mean.compute() == math.inf
    mean.update(5.0, 0)
    assert mean.compute() == math.inf


# ---- every metric -------------------------------------------------------------------------------
CASES = {
    "Accuracy": (metrics.Accuracy(), SCORES, TARGET),
    "Accuracy of two": (metrics.Accuracy(2), SCORES, TARGET),
    "Accuracy of labels": (metrics.Accuracy(exact_match=True), YES, LABELS),
    "Precision": (metrics.Precision(), YES[:, 0], LABELS[:, 0]),
    "Recall": (metrics.Recall(C, "macro"), SCORES, TARGET),
    "F1": (metrics.F1(C, None, multilabel=True), YES, LABELS),
    "ConfusionMatrix": (metrics.ConfusionMatrix(C), SCORES, TARGET),
    "Mean": (metrics.Mean(), YES[:, 0], YES[:, 1]),
    "MeanSquaredError": (metrics.MeanSquaredError(), YES[:, :2], YES[:, 2:4]),
    "MeanAbsoluteError": (metrics.MeanAbsoluteError(), YES[:, 0], YES[:, 1]),
    "R2Score": (metrics.R2Score(), YES[:, 0], SCORES[:, 0]),
    "AUROC": (metrics.AUROC(), SCORES[:, 0], LABELS[:, 0]),
}


@pytest.fixture(params=CASES)
def case(request):
    metric, *columns = CASES[request.param]
    return copy.deepcopy(metric), columns


def test_every_metric_has_a_case():
    kinds = {type(metric) for metric, *_ in CASES.values()}
    assert {kind.__name__ for kind in kinds} == set(metrics.__all__) - {"Metric"}


def test_tensors_of_any_device(case, device):
    metric, columns = case
    whole = pg.namespace(device).__array_namespace_info__().default_dtypes()["integral"]
    there = [
        pg.tensor(c.astype(whole) if c.dtype.kind == "i" else c, device=device) for c in columns
    ]
    if there[0].kernels.inexact:
        there[0].requires_grad_()
    other, half = copy.deepcopy(metric), len(columns[0]) // 2
    other.update(*(t[:half] for t in there))
    other.update(there[0][half:], columns[1][half:])  # targets may be elsewhere
    same(other.compute(), fed(metric, *columns).compute())


def test_batches_workers_and_files(case, tmp_path):
    """One batch, many, empty ones, two workers, and a state from a file: the same bits."""
    metric, columns = case
    want = copy.deepcopy(metric)
    want.update(*columns)
    rounded = isinstance(metric, metrics.R2Score)  # its sums depend on the order, by a rounding
    equal = same if rounded else np.testing.assert_array_equal
    for batch in (1, 50):
        fed(metric, *columns, batch=batch)
        equal(metric.compute(), want.compute())
        metric.reset()
    first, second = copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))  # noqa: S301
    fed(first, *(c[:100] for c in columns))
    first.update(*(c[:0] for c in columns))
    fed(second, *(c[100:] for c in columns))
    path = tmp_path / "metric.safetensors"
    pg.save(first.state_dict(), path)
    metric.load_state_dict(pg.load(path))
    assert metric.merge(second) is metric
    equal(metric.compute(), want.compute())
    before = copy.deepcopy(first.compute())
    saved = first.state_dict()
    for part in saved.values():
        if isinstance(part, np.ndarray):
            np.add(part, 1, out=part)
            np.testing.assert_array_equal(first.compute(), before)
            np.subtract(part, 1, out=part)
    fed(first, *columns)
    first.load_state_dict(saved)
    fed(metric, *columns)
    np.testing.assert_array_equal(first.compute(), before)


def test_nothing_of_the_graph_is_kept(case):
    metric, columns = case
    x = pg.tensor(columns[0].astype(np.float32), requires_grad=True)
    if metrics.Accuracy is not type(metric) or metric.top_k == 1:
        y = x * 1
        metric.update(y, columns[1])
        gone = weakref.ref(y.grad_fn)
        del y
        gc.disable()
        try:
            assert gone() is None
        finally:
            gc.enable()
        assert x.grad is None


def test_counts_are_integers(case):
    metric, columns = case
    fed(metric, *columns)
    for name, value in metric.state.items():
        if name in ("right", "total", "count") and isinstance(value, int):
            assert type(value) is int
        elif name in ("hits", "predicted", "actual", "counts"):
            assert value.dtype == np.int64


def test_what_was_computed_does_not_change(case):
    metric, columns = case
    fed(metric, *columns)
    value = metric.compute()
    kept = copy.deepcopy(value)
    if isinstance(value, np.ndarray):
        value[...] = 0
    np.testing.assert_array_equal(metric.compute(), kept)


# ---- errors -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("metric", "args", "error", "match"),
    [
        (metrics.Accuracy(), ([0, 1], [0, 1, 2]), ShapeError, r"shape \(2,\).*shape \(3,\)"),
        (metrics.Accuracy(), (SCORES, LABELS[:, :2]), ShapeError, "one number for each target"),
        (metrics.Accuracy(), ([[0.1], [0.2]], [0, 0]), ShapeError, "1 classes.*squeeze"),
        (metrics.Accuracy(), ([[0.1, math.nan]], [0]), InvalidArgumentError, "a score is NaN"),
        (metrics.Accuracy(2), ([[0.1, math.nan]], [0]), InvalidArgumentError, "a score is NaN"),
        (metrics.Accuracy(), ([math.nan], [0]), InvalidArgumentError, "a score is NaN"),
        (metrics.Accuracy(), ([[0.1, 1]], [2]), InvalidArgumentError, "class 2 of 2 classes"),
        (metrics.Accuracy(2), ([[0.1, 1]], [2]), InvalidArgumentError, "class 2 of 2 classes"),
        (metrics.Accuracy(), ([[0.1, 1]], [-100]), InvalidArgumentError, "ignore_index=-100"),
        (metrics.Accuracy(), ([0.5], [3]), InvalidArgumentError, "above a threshold"),
        (metrics.Accuracy(), ([0], [0.5]), DtypeError, "not whole are no classes"),
        (metrics.Accuracy(), ([0], [math.nan]), DtypeError, "not whole are no classes"),
        (metrics.Accuracy(), ([1j], [0]), DtypeError, "complex"),
        (metrics.Accuracy(), ([[1], [1, 2]], [0]), InvalidArgumentError, "no rectangular array"),
        (metrics.Accuracy(), ("text", [0]), InvalidTypeError, "hold no numbers"),
        (metrics.Accuracy(2), ([0], [0]), ShapeError, "needs scores of each class"),
        (metrics.Accuracy(3), ([[0.1, 1]], [0]), InvalidArgumentError, "so many classes is 2"),
        (metrics.F1(3, "macro"), ([3], [0]), InvalidArgumentError, "class 3 of 3.*F1.*input"),
        (metrics.F1(3, "macro"), ([0], [3]), InvalidArgumentError, "class 3 of 3.*F1.*target"),
        (metrics.F1(), ([[0.1, 2, 3]], [0]), InvalidArgumentError, "class 2 of 2"),
        (metrics.F1(3, "macro", multilabel=True), ([1], [1]), ShapeError, "have not 3 labels"),
        (metrics.ConfusionMatrix(2), ([2], [0]), InvalidArgumentError, "class 2 of 2"),
        (metrics.Mean(), ([1.0, 2], [1.0, 2, 3]), ShapeError, r"shape \(3,\) for values"),
        (metrics.Mean(), (1.0, -1), InvalidArgumentError, "weight is negative"),
        (metrics.Mean(), (1.0, math.nan), InvalidArgumentError, "not finite"),
        (metrics.Mean(), (1j,), DtypeError, "complex"),
        (metrics.MeanSquaredError(), ([[1.0]], [1.0]), ShapeError, "squeezing"),
        (metrics.R2Score(), (1.0, 1.0), ShapeError, "outputs"),
        (metrics.AUROC(), ([0.5], [2]), InvalidArgumentError, "class 2 of 2"),
        (metrics.AUROC(), ([[0.5]], [1]), ShapeError, "one score for each target"),
        (metrics.AUROC(), ([math.nan], [1]), InvalidArgumentError, "NaN"),
    ],
)
def test_a_wrong_batch_is_refused_and_changes_nothing(metric, args, error, match):
    before = repr(metric.state)
    with pytest.raises(error, match=match):
        metric.update(*args)
    assert repr(metric.state) == before


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: metrics.Accuracy(0), InvalidArgumentError, "top_k is 0"),
        (lambda: metrics.Accuracy(True), InvalidArgumentError, "top_k is True"),
        (lambda: metrics.Accuracy(threshold="x"), InvalidTypeError, "threshold is 'x'"),
        (lambda: metrics.Accuracy(ignore_index=1.5), InvalidTypeError, "ignore_index is 1.5"),
        (lambda: metrics.ConfusionMatrix(1), InvalidArgumentError, "num_classes is 1"),
        (lambda: metrics.ConfusionMatrix(2, normalize="x"), InvalidArgumentError, "'x'.*None"),
        (lambda: metrics.F1(3), InvalidArgumentError, "'binary', of 3 classes.*macro"),
        (lambda: metrics.F1(2, multilabel=True), InvalidArgumentError, "of 2 labels"),
        (lambda: metrics.F1(3, "mean"), InvalidArgumentError, "average is 'mean'"),
        (lambda: metrics.F1(zero_division="warn"), InvalidTypeError, "zero_division is 'warn'"),
        (lambda: metrics.F1().merge(metrics.Recall()), InvalidTypeError, "a Recall cannot"),
        (lambda: metrics.F1().merge(metrics.F1(3, "macro")), InvalidArgumentError, "differ"),
        (lambda: metrics.F1().load_state_dict([]), InvalidTypeError, "not list"),
        (lambda: metrics.F1().load_state_dict({}), InvalidArgumentError, "state of None"),
        (
            lambda: metrics.F1().load_state_dict(metrics.Recall().state_dict()),
            InvalidArgumentError, "state of Recall",
        ),
        (
            lambda: metrics.F1().load_state_dict(metrics.F1(3, "macro").state_dict()),
            InvalidArgumentError, r"hits has shape \(3,\), not \(2,\)",
        ),
        (
            lambda: metrics.AUROC().load_state_dict({"metric": "AUROC", "chunks": [(1, 2)]}),
            InvalidArgumentError, "no scores with their counts",
        ),
    ],
)  # fmt: skip
def test_a_wrong_use_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_scores_in_several_chunks_are_loaded():
    """Their sizes differ: they are no one array."""
    area, again = pg.metrics.AUROC(), pg.metrics.AUROC()
    area.update([0.1, 0.2, 0.9, 0.4], [0, 1, 1, 0])
    area.update([0.3], [0])
    assert len(area.state["chunks"]) == 2
    again.load_state_dict(area.state_dict())
    assert again.compute() == area.compute()


@pytest.mark.parametrize("value", ["x", None, [None]])
def test_a_state_of_no_numbers_is_refused(value):
    for metric in (pg.metrics.Accuracy(), pg.metrics.R2Score(), pg.metrics.Mean()):
        state = metric.state_dict()
        for name in set(state) - {"metric"}:
            with pytest.raises(InvalidTypeError, match=f"{name} is .* no number"):
                metric.load_state_dict({**state, name: value})


@pytest.mark.parametrize("metric", [pg.metrics.Accuracy, pg.metrics.F1, pg.metrics.Recall])
def test_a_threshold_that_nothing_is_above_is_refused(metric):
    with pytest.raises(InvalidArgumentError, match="threshold is nan"):
        metric(threshold=math.nan)
