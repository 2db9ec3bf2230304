"""Integers, permutations, and positions drawn by weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import (
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
)
from polygrad.random.choices import places_by_weight
from tests.devices import optional

stats = optional("scipy.stats")
multinomial, categorical = pg.random.multinomial, pg.random.categorical
WEIGHTS = np.array([0.0, 3.0, 1.0, 0.0, 2.0, 4.0, 0.0])
LEAST = 1e-4


def p_of_counts(drawn, weights):
    counts = np.bincount(np.asarray(drawn).reshape(-1), minlength=weights.size)
    assert not counts[weights == 0].any()
    there = weights > 0
    expected = weights[there] / weights.sum() * counts.sum()
    return stats.chisquare(counts[there], expected).pvalue


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 1e-3])
@pytest.mark.parametrize("rows", [1, 20_000])
def test_with_replacement_frequencies_are_those_of_the_weights(scale, rows):
    table = np.tile(WEIGHTS * scale, (rows, 1))
    drawn = multinomial(table, 20_000 // rows, replacement=True, generator=pg.Generator(1))
    assert drawn.shape == (rows, 20_000 // rows)
    assert p_of_counts(drawn.numpy(), WEIGHTS) > LEAST


def test_both_ways_to_find_steps_agree():
    weights = np.abs(np.random.default_rng(0).standard_normal((30, 500)))
    weights[:, ::3] = 0
    few = places_by_weight(pg.Generator(3), weights, 29, replacement=True)
    rows = places_by_weight(pg.Generator(3), weights, 29, replacement=True)
    np.testing.assert_array_equal(few, rows)
    u = np.arange(30 * 29).reshape(30, 29) / (30 * 29)
    steps = np.cumsum(weights, axis=-1)
    from polygrad.random.choices import _steps_below

    by_bisection = _steps_below(steps, u * steps[:, -1:])
    one_by_one = [
        np.searchsorted(s, m, side="right") for s, m in zip(steps, u * steps[:, -1:], strict=True)
    ]
    np.testing.assert_array_equal(by_bisection, np.stack(one_by_one))


def test_without_replacement_orders_have_their_probabilities():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    drawn = multinomial(np.tile(weights, (20_000, 1)), 3, generator=pg.Generator(2)).numpy()
    orders = list(itertools.permutations(range(4), 3))
    probabilities = []
    for order in orders:
        left, p = weights.sum(), 1.0
        for i in order:
            p *= weights[i] / left
            left -= weights[i]
        probabilities.append(p)
    counts = [(drawn == order).all(axis=1).sum() for order in orders]
    assert sum(counts) == 20_000
    assert stats.chisquare(counts, np.array(probabilities) * 20_000).pvalue > LEAST


def test_without_replacement_nothing_comes_twice_nor_without_weight():
    weights = np.zeros(1000)
    weights[::7] = np.linspace(1e-320, 1, weights[::7].size)
    for count in (1, 20, (weights > 0).sum()):
        drawn = multinomial(weights, int(count), generator=pg.Generator(3)).numpy()
        assert np.unique(drawn).size == count
        assert (weights[drawn] > 0).all()
    few = multinomial(np.arange(1.0, 5001), 10, generator=pg.Generator(4)).numpy()
    all_ = multinomial(np.arange(1.0, 5001), 5000, generator=pg.Generator(4)).numpy()
    np.testing.assert_array_equal(few, all_[:10])


def test_categorical_has_the_probabilities_of_softmax():
    logits = np.log(np.maximum(WEIGHTS, 1e-30)) + 1234.0
    logits[WEIGHTS == 0] = -np.inf
    drawn = categorical(logits, (200, 100), generator=pg.Generator(5))
    assert drawn.shape == (200, 100)
    assert p_of_counts(drawn.numpy(), WEIGHTS) > LEAST
    table = np.stack([logits, logits[::-1]])
    drawn = categorical(table.T, (10_000, 2), axis=0, generator=pg.Generator(6)).numpy()
    assert p_of_counts(drawn[:, 0], WEIGHTS) > LEAST
    assert p_of_counts(drawn[:, 1], WEIGHTS[::-1]) > LEAST
    one = categorical(table, generator=pg.Generator(6))
    assert one.shape == (2,)


def test_shapes_dtypes_and_nothing():
    g = pg.Generator(1)
    assert multinomial(WEIGHTS, 0, generator=g).shape == (0,)
    assert multinomial(np.zeros((0, 3)), 2, generator=g).shape == (0, 2)
    assert multinomial(np.zeros((2, 3)), 0, generator=g).shape == (2, 0)
    assert multinomial([1, 2, 3], 2, dtype=pg.int32, generator=g).dtype == pg.int32
    assert multinomial(pg.tensor([True, False]), 1, generator=g).tolist() == [0]
    assert categorical(np.zeros((0, 3)), generator=g).shape == (0,)
    assert categorical(np.zeros((3, 0, 2)), axis=0, generator=g).shape == (0, 2)
    assert categorical(np.zeros(4), (2, 0), generator=g).shape == (2, 0)
    assert categorical(np.zeros(4), generator=g).shape == ()
    assert pg.random.integers(0, 3, 0).shape == (0,)
    assert pg.random.permutation(0).shape == (0,)
    weights = pg.tensor([1.0, 2.0], requires_grad=True)
    assert not multinomial(weights, 1, generator=g).requires_grad


@pytest.mark.parametrize("bound", [np.int64(7), pg.tensor(7)])
def test_integers_take_whatever_is_an_int(bound):
    assert pg.random.integers(6, bound, 2).tolist() == [6, 6]


ARGUMENT = InvalidArgumentError
BAD = {
    "negative weight": (lambda: multinomial([1.0, -2.0], 1), ARGUMENT, "weights holds -2"),
    "NaN weight": (lambda: multinomial([1.0, np.nan], 1), ARGUMENT, "weights holds nan"),
    "infinite weight": (lambda: multinomial([1.0, np.inf], 1), ARGUMENT, "holds inf"),
    "no weight": (lambda: multinomial([0.0, 0.0], 1, True), ARGUMENT, "1 samples from 0"),
    "one row without": (lambda: multinomial([[1.0, 2], [0, 0]], 1, True), ARGUMENT, "from 0 pos"),
    "too few": (lambda: multinomial([0.0, 1, 1], 3), ARGUMENT, "3 samples from 2"),
    "no positions": (lambda: multinomial(np.zeros(0), 1, True), ARGUMENT, "from 0"),
    "axes": (lambda: multinomial(np.ones((1, 1, 1)), 1), ShapeError, "one row, or rows"),
    "a number": (lambda: multinomial(1.0, 1), ShapeError, r"weights of shape \(\)"),
    "count": (lambda: multinomial([1.0], 1.5), InvalidTypeError, "1.5 is no int"),
    "negative count": (lambda: multinomial([1.0], -1), ARGUMENT, "not negative"),
    "dtype": (lambda: multinomial([1.0], 1, dtype=pg.float32), DtypeError, "integers, not float32"),
    "complex": (lambda: multinomial([1j], 1), DtypeError, "complex data do not fit"),
    "words": (lambda: multinomial(["a"], 1), InvalidTypeError, "hold no numbers"),
    "NaN logit": (lambda: categorical([0.0, np.nan]), ARGUMENT, "logits holds nan"),
    "inf logit": (lambda: categorical([0.0, np.inf]), ARGUMENT, "logits holds inf"),
    "no logit": (lambda: categorical([-np.inf, -np.inf]), ARGUMENT, "nothing to draw"),
    "no classes": (lambda: categorical(np.zeros((2, 0))), ARGUMENT, "nothing to draw"),
    "shape of logits": (lambda: categorical(np.zeros((3, 4)), (2,)), ShapeError, "broadcast"),
    "axis": (lambda: categorical(np.zeros(3), axis=1), OutOfRangeError, "axis"),
    "bound": (lambda: pg.random.integers(0, 2.5), InvalidTypeError, "2.5 is no int"),
    "permutation": (lambda: pg.random.permutation(2.0), InvalidTypeError, "is no int"),
    "order dtype": (lambda: pg.random.permutation(2, dtype="f4"), DtypeError, "integers, not"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    call, error, words = BAD[name]
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(("dtype", "n"), [("int8", 128), ("uint8", 256), ("int16", 32768)])
def test_a_dtype_that_cannot_hold_all_positions_is_refused_and_does_not_wrap(dtype, n):
    weights = np.eye(1, n, n - 1)[0]
    fits = int(pg.random.permutation(n, dtype=dtype).to(pg.int64).max())
    assert fits == n - 1
    assert multinomial(weights, 1, dtype=dtype).tolist() == [n - 1]
    assert categorical(np.log(weights + 1e-300), dtype=dtype).ndim == 0
    longer = np.append(weights, 1.0)
    for call in (
        lambda: pg.random.permutation(n + 1, dtype=dtype),
        lambda: multinomial(longer, 1, dtype=dtype),
        lambda: categorical(longer, dtype=dtype),
    ):
        with pytest.raises(InvalidArgumentError, match=f"{dtype} cannot hold all of 0 to {n}"):
            call()


@pytest.mark.parametrize("std", [5e-324, 1e-300, 1e-10])
def test_truncated_normal_numbers_come_to_an_end_far_out(std):
    """The bounds over the width may be beyond float64: the number is at the near bound then."""
    drawn = pg.random.truncated_normal(1.5, [1.5, 2.0], std=std, dtype=pg.float64)
    np.testing.assert_array_equal(drawn.numpy(), [1.5, 1.5])
    drawn = pg.random.truncated_normal([-2.0, -1e300], -1.5, std=std, dtype=pg.float64)
    np.testing.assert_array_equal(drawn.numpy(), [-1.5, -1.5])


def test_logits_that_are_further_apart_than_floats_reach():
    drawn = categorical([1e308, -1e308, 1e308], (200,), generator=pg.Generator(0))
    assert sorted(set(drawn.tolist())) == [0, 2]
