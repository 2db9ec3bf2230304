"""The random stream: the bits of the documented formulas, on every device, moved by draws alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad.streams import below
from polygrad.streams.philox import blocks_at
from polygrad.streams.philox import philox as numpys_philox
from polygrad.testing import assert_close
from tests.random.rows import CASES, DISCRETE, draw

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
    assert below(pg.Generator(5), 50, bound).tolist() == [w * bound >> 64 for w in words]


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


# ---- blocks of their own ------------------------------------------------------------------------
@pytest.mark.parametrize("lane", [0, 1, 5])
@pytest.mark.parametrize("block", [0, 2**64 - 3, 2**64 + 7])
def test_blocks_anywhere_are_those_of_numpy_in_a_row(lane, block):
    row = numpys_philox(MASK - 1, lane, block).random_raw(40).reshape(10, 4)
    places = np.array([9, 0, 3, 3, 7])
    np.testing.assert_array_equal(blocks_at(MASK - 1, lane, block, places), row[places])
    first = block + 1
    counter = [(first + 3) & MASK, (first + 3) >> 64, 0, 0]
    assert row[3].tolist() == philox(counter, [MASK - 1, lane])


def truncated_by_the_book(seed, place, low):
    """A normal number above `low` > 0 as Note [Attempts] and Robert have it, in Python."""
    rate = (low + math.hypot(low, 2)) / 2
    attempt = 0
    while True:
        lane = 0 if attempt == 0 else attempt + 1
        words = philox([place + 1, 0, 0, 0], [seed, lane])
        e = -math.log1p(-(words[0] >> 11) * 2.0**-53) / rate
        u = ((words[2] >> 11) + 1) * 2.0**-53
        if math.log(u) <= -0.5 * (low + e - rate) ** 2:
            return low + e, attempt
        attempt += 1


def test_attempts_take_the_documented_blocks():
    g = pg.Generator(77)
    g.words(9)  # three blocks
    x = pg.random.truncated_normal(0.5, np.inf, 200, dtype=pg.float64, generator=g)
    want, attempts = zip(*(truncated_by_the_book(77, 3 + i, 0.5) for i in range(200)), strict=True)
    assert max(attempts) >= 2
    assert_close(x, np.array(want))
    assert g.get_state() == (77, 203, 0)


def poisson_by_the_book(seed, place, rate):
    """Hörmann's PTRS, in Python."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    attempt = 0
    while True:
        words = philox([place + 1, 0, 0, 0], [seed, 0 if attempt == 0 else attempt + 1])
        attempt += 1
        u = (words[0] >> 11) * 2.0**-53 - 0.5
        v = ((words[1] >> 11) + 1) * 2.0**-53
        end = 0.5 - abs(u)
        k = math.floor((2 * a / end + b) * u + rate + 0.43)
        if end >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (end < 0.013 and v > end):
            continue
        weight = math.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / end**2 + b))
        if weight <= k * math.log(rate) - rate - math.lgamma(k + 1):
            return k


def test_poisson_numbers_are_those_of_the_book():
    x = pg.random.poisson(40.0, 300, generator=pg.Generator(5))
    assert x.tolist() == [poisson_by_the_book(5, i, 40.0) for i in range(300)]


def gamma_by_the_book(seed, place, a):
    """Marsaglia and Tsang, without a squeeze, in Python."""
    d = (a + 1 if a < 1 else a) - 1 / 3
    attempt = 0
    while True:
        words = philox([place + 1, 0, 0, 0], [seed, 0 if attempt == 0 else attempt + 1])
        attempt += 1
        u, w, boost = (((words[i] >> 11) + 1) * 2.0**-53 for i in (0, 2, 3))
        angle = 2 * math.pi * (words[1] >> 11) * 2.0**-53
        z = math.sqrt(-2 * math.log(u)) * math.cos(angle)
        v = (1 + z / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(w) < 0.5 * z * z + d - d * v + d * math.log(v):
            return d * v * (boost ** (1 / a) if a < 1 else 1)


@pytest.mark.parametrize("a", [0.1, 1.0, 2.5])
def test_gamma_numbers_are_those_of_the_book(a):
    x = pg.random.gamma(a, 1500, dtype=pg.float64, generator=pg.Generator(5))
    assert_close(x, np.array([gamma_by_the_book(5, i, a) for i in range(1500)]))


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
def test_a_number_depends_on_its_place_alone(name, parameters):
    """Not on how many are drawn with it, nor on whether they share their parameters."""
    n = 20_001  # more than are made together
    many = draw(name, parameters, n, generator=pg.Generator(3)).numpy()
    for few in (1, 2, 777):
        np.testing.assert_array_equal(
            draw(name, parameters, few, generator=pg.Generator(3)).numpy(), many[:few]
        )
    spread = [np.full(n, p, np.float64) for p in parameters]
    np.testing.assert_array_equal(draw(name, spread, None, generator=pg.Generator(3)).numpy(), many)


# ---- devices ------------------------------------------------------------------------------------
def has(device, dtype):
    try:
        pg.zeros(0, dtype=dtype, device=device)
    except pg.PolygradError:
        return False
    return True


@pytest.mark.parametrize(("name", "parameters"), CASES[::2], ids=str)
def test_devices_agree_to_the_bit(name, parameters, device):
    for dtype in [d for d in ("float16", "bfloat16", "float32", "float64") if has(device, d)]:
        if name in DISCRETE and dtype in ("float16", "bfloat16"):
            continue
        got = draw(name, parameters, (3, 5), dtype=dtype, device=device, generator=pg.Generator(4))
        assert got.device == device
        assert got.dtype == dtype
        wide = "float64" if name not in ("uniform", "normal") or dtype == "float64" else "float32"
        want = draw(name, parameters, (3, 5), dtype=wide, generator=pg.Generator(4)).numpy()
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(got.numpy(), want.astype(got.dtype))


def test_parameters_on_a_device(device):
    rate = pg.tensor([[0.5], [30.0]], device=device)
    k = pg.random.poisson(rate, (2, 4), generator=pg.Generator(6))
    assert k.device == device
    assert k.dtype == ("int64" if has(device, "int64") else "int32")
    want = pg.random.poisson([[0.5], [30.0]], (2, 4), device="cpu", generator=pg.Generator(6))
    np.testing.assert_array_equal(k.numpy(), want.numpy())
    for call in (
        lambda w: pg.random.multinomial(w, 2, generator=pg.Generator(1)),
        lambda w: pg.random.categorical(w, (3, 4), axis=0, generator=pg.Generator(1)),
        lambda w: pg.random.dirichlet(w, generator=pg.Generator(1)),
        lambda w: pg.random.gamma(w, generator=pg.Generator(1)),
        lambda w: pg.random.bernoulli(w / 4, generator=pg.Generator(1)),
    ):
        weights = [[0.5, 2.0, 1.5, 1.0]] * 3
        got, want = call(pg.tensor(weights, device=device)), call(pg.tensor(weights))
        assert got.device == device
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_dropout_and_random_activations_agree_to_the_bit(device):
    ones = np.ones((4, 3, 5), np.float32)
    f = pg.nn.functional
    for call in (
        lambda x: f.dropout(x, 0.3), lambda x: f.dropout1d(x, 0.5),
        lambda x: f.alpha_dropout(x, 0.3, training=True), lambda x: f.rrelu(-x, training=True),
        lambda x: f.gumbel_softmax(x, hard=True),
    ):  # fmt: skip
        pg.manual_seed(12)
        got = call(pg.tensor(ones, device=device)).numpy()
        place = pg.random.get_state()
        pg.manual_seed(12)
        want = call(pg.tensor(ones)).numpy()
        assert_close(got, want)
        np.testing.assert_array_equal(got == 0, want == 0)
        assert pg.random.get_state() == place


# ---- the numbers of this version ----------------------------------------------------------------
EXACT = {
    "words": lambda g: g.words(2).tolist(),
    "child seed": lambda g: g.child_seed(),
    "uniform": lambda g: pg.random.uniform(3, generator=g).tolist(),
    "uniform float64": lambda g: pg.random.uniform(2, -1, 2, dtype="float64", generator=g).tolist(),
    "integers": lambda g: pg.random.integers(0, 100, 6, generator=g).tolist(),
    "permutation": lambda g: pg.random.permutation(6, generator=g).tolist(),
    "bernoulli": lambda g: pg.random.bernoulli(0.5, 8, dtype="int8", generator=g).tolist(),
    "poisson 3": lambda g: pg.random.poisson(3.0, 8, generator=g).tolist(),
    "poisson 30": lambda g: pg.random.poisson(30.0, 4, generator=g).tolist(),
    "binomial": lambda g: pg.random.binomial(100, 0.3, 4, generator=g).tolist(),
    "geometric": lambda g: pg.random.geometric(0.1, 4, generator=g).tolist(),
    "multinomial": lambda g: pg.random.multinomial([1.0, 2, 3, 4], 3, generator=g).tolist(),
    "replacement": lambda g: pg.random.multinomial([1, 2, 3, 4], 6, True, generator=g).tolist(),
    "categorical": lambda g: pg.random.categorical([0.0, 1, 2], 6, generator=g).tolist(),
}  # fmt: skip
EXACT_NUMBERS = {
    "words": [7785156515201790007, 6317963904203345008],
    "child seed": 13010874140161597633,
    "uniform": [0.38054943084716797, 0.4220341444015503, 0.3975799083709717],
    "uniform float64": [0.26610254103821895, 0.027492528593339838],
    "integers": [42, 34, 11, 95, 55, 70],
    "permutation": [2, 1, 0, 4, 5, 3],
    "bernoulli": [1, 1, 1, 1, 0, 1, 0, 0],
    "poisson 3": [2, 3, 4, 2, 3, 4, 7, 1],
    "poisson 30": [29, 31, 33, 28],
    "binomial": [29, 31, 33, 29],
    "geometric": [9, 11, 21, 1],
    "multinomial": [2, 1, 0],
    "replacement": [2, 2, 1, 3, 2, 3],
    "categorical": [2, 2, 1, 2, 2, 2],
}
# in float64; their last bits are those of NumPy's logarithms, sines, …
CLOSE_NUMBERS = {
    "normal": ((1.0, 2.0), [-0.44227186336908075, 3.19572394651445, 5.029096048569229]),
    "exponential": ((2.0,), [1.7253379442907775, 2.142981785496598, 4.381800126365949]),
    "laplace": ((1.0, 2.0), [-0.7253379442907775, 3.142981785496598, 5.381800126365949]),
    "logistic": ((1.0, 2.0), [-1.6376110675712718, 4.153605676740764, 6.653031102118828]),
    "cauchy": ((1.0, 2.0), [-1.56144240299265, 4.351735050777133, 12.269575972442029]),
    "gumbel": ((1.0, 2.0), [1.2954484790612881, 0.8618979272791573, -0.568624894301716]),
    "log_normal": ((1.0, 0.5), [1.8954040487754142, 4.706436249117149, 7.443000139664425]),
    "weibull": ((0.5, 2.0), [1.4883955110047629, 2.296185466485093, 9.600086173710324]),
    "student_t": ((3.0,), [-0.8383851825659275, 3.032008620853191, -0.34412056529466367]),
    "gamma": ((0.5, 2.0), [1.002552284044904, 0.2398492974677411, 0.016565748281605532]),
    "chi_square": ((3.0,), [1.0964746099034701, 1.7245661673670774, 1.592404125307876]),
    "beta": ((0.5, 2.0), [0.2787617801296336, 0.0020447975936928806, 0.6229782981899271]),
    "truncated_normal": ((2.0, 3.0, 0.0, 1.0), [2.2008839120345525, 2.289090130303787]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_numbers_of_this_version(name):
    assert EXACT[name](pg.Generator(2026)) == EXACT_NUMBERS[name]


@pytest.mark.parametrize("name", CLOSE_NUMBERS)
def test_numbers_of_this_version_but_for_rounding(name):
    parameters, want = CLOSE_NUMBERS[name]
    x = draw(name, parameters, len(want), dtype=pg.float64, generator=pg.Generator(2026))
    assert_close(x, np.array(want))
    single = draw(name, parameters, len(want), generator=pg.Generator(2026))
    if name != "normal":  # which takes halves of words
        np.testing.assert_array_equal(single.numpy(), x.numpy().astype("f4"))
