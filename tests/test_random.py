"""The random stream: the bits of the documented formulas, on every device, moved by draws alone."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError

MASK = (1 << 64) - 1


def philox(counter, key):
    """Philox4x64-10 as its authors define it, in Python's integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(b >> 64) ^ c[1] ^ k[0], b & MASK, (a >> 64) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B97F4A7C15) & MASK, (k[1] + 0xBB67AE8584CAA73B) & MASK]
    return c


def test_words_are_those_of_the_published_algorithm():
    words = pg.Generator(123).words(8).tolist()
    assert words == [*philox([1, 0, 0, 0], [123, 0]), *philox([2, 0, 0, 0], [123, 0])]


def test_uniform_is_the_documented_formula_on_every_device(device):
    words = [*philox([1, 0, 0, 0], [7, 0])]
    halves = [h for w in words for h in (w & 0xFFFFFFFF, w >> 32)]
    u = pg.random.uniform((5,), device=device, generator=pg.Generator(7))
    assert u.device == device
    assert u.dtype == pg.float32
    assert u.tolist() == [(h >> 8) * 2.0**-24 for h in halves[:5]]
    if "no_float64" not in device and "no_x64" not in device:
        v = pg.random.uniform(3, dtype=pg.float64, device=device, generator=pg.Generator(7))
        assert v.tolist() == [(w >> 11) * 2.0**-53 for w in words[:3]]


def test_normal_is_box_and_muller():
    u = pg.random.uniform(2, dtype=pg.float64, generator=pg.Generator(7)).numpy()
    z = pg.random.normal(2, dtype=pg.float64, generator=pg.Generator(7)).numpy()
    r = np.sqrt(-2 * np.log(u[0] + 2.0**-53))
    a = 2 * np.pi * u[1]
    np.testing.assert_allclose(z, [r * np.cos(a), r * np.sin(a)], rtol=1e-14)
    half = pg.random.normal(4, dtype=pg.float16, generator=pg.Generator(7))
    single = pg.random.normal(4, generator=pg.Generator(7))
    np.testing.assert_array_equal(half.numpy(), single.numpy().astype(np.float16))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_has_the_moments_and_quantiles_of_the_normal_distribution(dtype):
    z = pg.random.normal(200_001, 1.0, 2.0, dtype=dtype, generator=pg.Generator(0)).numpy()
    z = (z.astype("f8") - 1) / 2
    assert abs(z.mean()) < 0.01
    assert abs(z.var() - 1) < 0.02
    assert abs((z**4).mean() - 3) < 0.1
    for q in (-2.0, -0.5, 0.0, 1.5):
        below = float(pg.erfc(pg.tensor(-q / np.sqrt(2), dtype=pg.float64)).item()) / 2
        assert abs((z < q).mean() - below) < 0.005


@pytest.mark.parametrize("bound", [1, 2, 7, 1000, 2**31, 2**40 + 5, 2**63, 2**64])
def test_integers_are_high_words_of_exact_products(bound):
    words = pg.Generator(5).words(50).tolist()
    assert pg.random.below(pg.Generator(5), 50, bound).tolist() == [w * bound >> 64 for w in words]


def test_integers_reach_their_bounds_and_no_further():
    x = pg.random.integers(-3, 3, (1000,), generator=pg.Generator(1)).numpy()
    assert sorted(set(x.tolist())) == [-3, -2, -1, 0, 1, 2]
    assert pg.random.integers(0, 256, 3, dtype=pg.uint8).dtype == pg.uint8
    assert pg.random.integers(-(2**63), 2**63, 3).dtype == pg.int64


def test_permutation_holds_every_number_once_and_depends_on_the_seed():
    p = pg.random.permutation(1000, generator=pg.Generator(1)).numpy()
    assert sorted(p.tolist()) == list(range(1000))
    q = pg.random.permutation(1000, generator=pg.Generator(2)).numpy()
    assert (p != q).any()
    assert abs(np.corrcoef(p, np.arange(1000))[0, 1]) < 0.15


def test_bernoulli_has_its_probability_and_exact_ends():
    b = pg.random.bernoulli(0.3, (20_000,), generator=pg.Generator(3))
    assert b.dtype == pg.bool
    assert abs(b.numpy().mean() - 0.3) < 0.01
    assert pg.random.bernoulli(1.0, (99,)).numpy().all()
    assert not pg.random.bernoulli(0.0, (99,)).numpy().any()
    assert pg.random.bernoulli(0.5, (4,), dtype=pg.float32).dtype == pg.float32


def test_a_state_brings_the_numbers_after_it_again():
    pg.manual_seed(11)
    pg.random.uniform(5)
    state = pg.random.get_state()
    first = pg.random.normal(7).numpy()
    pg.random.set_state(state)
    np.testing.assert_array_equal(pg.random.normal(7).numpy(), first)
    with pg.random.fork_rng():
        pg.random.uniform(1000)
        inside = pg.random.get_state()
    pg.random.set_state(state)
    pg.random.normal(7)
    assert pg.random.get_state() != inside


def test_a_generator_is_copied_and_pickled_with_its_place():
    g = pg.Generator(9)
    g.words(10)
    for twin in (copy.deepcopy(g), pickle.loads(pickle.dumps(g))):  # noqa: S301
        assert twin.get_state() == g.get_state()
        np.testing.assert_array_equal(twin.words(3), copy.deepcopy(g).words(3))
    assert repr(g) == "<Generator seed=9 position=3>"


def test_child_seeds_are_other_streams_and_leave_this_one_alone():
    g = pg.Generator(5)
    before = g.get_state()
    seeds = [g.child_seed() for _ in range(50)]
    assert len(set(seeds)) == 50
    assert g.get_state()[:2] == before[:2]
    g.words(4)
    g.set_state(before)
    assert [g.child_seed() for _ in range(50)] == seeds
    assert pg.Generator(6).child_seed() not in seeds
    assert g.get_state() == (5, 0, 50)
    first = np.random.Philox(key=[5, 1], counter=[0, 0, 0, 0]).random_raw()
    assert seeds[0] == first


@pytest.mark.parametrize("seed", [2**63 + 5, MASK])
def test_large_seeds_keep_all_their_bits(seed):
    words = pg.Generator(seed).words(8)
    np.testing.assert_array_equal(words, np.random.Philox(key=seed).random_raw(8))
    assert pg.Generator(seed).child_seed() != pg.Generator(seed - 1).child_seed()


def test_seeds():
    assert pg.manual_seed(-1).initial_seed() == MASK
    assert pg.random.initial_seed() == MASK
    assert pg.Generator().initial_seed() != pg.Generator().initial_seed()
    assert pg.random.seed() == pg.random.initial_seed()
    with pytest.raises(InvalidTypeError, match="a seed is an int, not float"):
        pg.manual_seed(1.5)
    with pytest.raises(InvalidTypeError, match="what get_state"):
        pg.random.set_state(3)


def test_requires_grad_makes_a_leaf():
    assert pg.random.uniform(2, requires_grad=True).is_leaf
    assert pg.random.normal(2, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pg.random.uniform(3, 1.0, 0.0), InvalidArgumentError, "no interval"),
        (lambda: pg.random.uniform(3, 0.0, float("nan")), InvalidArgumentError, "no interval"),
        (lambda: pg.random.uniform(3, dtype=pg.int64), DtypeError, "not int64"),
        (lambda: pg.random.uniform(-1), InvalidArgumentError, "not negative"),
        (lambda: pg.random.normal(3, std=-1.0), InvalidArgumentError, "deviation of -1"),
        (lambda: pg.random.integers(3, 3), InvalidArgumentError, r"no int64 in \[3, 3\)"),
        (lambda: pg.random.integers(0, 300, dtype=pg.uint8), InvalidArgumentError, "no uint8"),
        (lambda: pg.random.integers(0, 3, dtype=pg.float32), DtypeError, "integers, not float32"),
        (lambda: pg.random.bernoulli(1.5), InvalidArgumentError, "no probability"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()
