"""What all distributions share: shapes, dtypes, devices, domains, and the table in the docs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import (
    DeviceMismatchError,
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
)
from polygrad.random.distribution import TABLE
from tests.random.rows import CONTINUOUS, ROWS, draw

r = pg.random
PAGE = Path(__file__).resolve().parents[2] / "docs" / "random.md"
# in [0, 1] and of the right order, whatever it is used for
LEGAL = {name: cases[0] for name, (_, cases) in ROWS.items()}


@pytest.mark.parametrize("name", ROWS)
def test_shapes(name):
    one = LEGAL[name]
    for shape in ((), (0,), (2, 0, 3), (1,), (2, 3)):
        assert draw(name, one, shape).shape == shape
    assert draw(name, one, 4).shape == (4,)
    assert draw(name, one, None).shape == ()
    rows = (np.full((3, 1), one[0]), *(np.full(2, p) for p in one[1:]))
    wanted = (3, 2) if len(one) > 1 else (3, 1)
    assert draw(name, rows, None).shape == wanted
    assert draw(name, rows, (5, *wanted)).shape == (5, *wanted)
    tensors = [pg.tensor(p) for p in rows]
    np.testing.assert_array_equal(
        draw(name, tensors, (5, *wanted), generator=pg.Generator(1)).numpy(),
        draw(name, [t.tolist() for t in tensors], (5, *wanted), dtype=None if name not in CONTINUOUS
             else tensors[0].dtype, generator=pg.Generator(1)).numpy(),
    )  # fmt: skip
    with pytest.raises(ShapeError, match=r"parameters of shape .* for numbers of shape \(4,\)"):
        draw(name, rows, (4,))
    if len(one) > 1:
        clash = (np.full(3, one[0]), *(np.full(2, p) for p in one[1:]))
        with pytest.raises(ShapeError, match="the parameters have shapes"):
            draw(name, clash, None)
    with pytest.raises(InvalidArgumentError, match="not negative"):
        draw(name, one, (-1,))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_dtypes_of_continuous_numbers(name):
    assert draw(name, LEGAL[name], 2).dtype == pg.float32
    pg.set_default_dtype(pg.float64)
    assert draw(name, LEGAL[name], 2).dtype == pg.float64
    pg.set_default_dtype(pg.float32)
    doubles = [pg.tensor(p, dtype=pg.float64) for p in LEGAL[name]]
    assert draw(name, doubles, 2).dtype == pg.float64
    assert (
        draw(name, [pg.tensor(LEGAL[name][0], dtype=pg.float16), *LEGAL[name][1:]], 2).dtype
        == pg.float16
    )
    assert draw(name, doubles, 2, dtype=pg.float16).dtype == pg.float16
    assert draw(name, LEGAL[name], 2, requires_grad=True).is_leaf
    for dtype in (pg.int64, pg.bool, pg.complex64):
        with pytest.raises(DtypeError, match="real floating"):
            draw(name, LEGAL[name], 2, dtype=dtype)


@pytest.mark.parametrize("name", sorted(ROWS.keys() - CONTINUOUS.keys()))
def test_dtypes_of_counts(name):
    assert draw(name, LEGAL[name], 2).dtype == pg.int64
    for dtype in (pg.int32, pg.uint8, pg.float32, pg.float16):
        few = {"poisson": (3.0,), "binomial": (5, 0.5), "geometric": (0.5,)}[name]
        assert draw(name, few, 2, dtype=dtype).dtype == dtype
    for dtype in (pg.bool, pg.complex64):
        with pytest.raises(DtypeError, match="counts"):
            draw(name, LEGAL[name], 2, dtype=dtype)
    many = {"poisson": (1e3,), "binomial": (1000, 0.9), "geometric": (1e-3,)}[name]
    with pytest.raises(InvalidArgumentError, match="was drawn, which uint8 cannot hold"):
        draw(name, many, 20, dtype=pg.uint8)
    first, *rest = LEGAL[name]
    tracked = pg.tensor(float(first), requires_grad=True)
    assert not draw(name, [tracked, *rest], 2, dtype=pg.float32).requires_grad


def test_counts_at_the_limit_of_their_dtype():
    assert r.binomial(255, 1.0, 2, dtype=pg.uint8).tolist() == [255, 255]
    with pytest.raises(InvalidArgumentError, match="256 was drawn"):
        r.binomial(256, 1.0, 2, dtype=pg.uint8)
    with pytest.raises(InvalidArgumentError, match="int64 cannot hold"):
        r.poisson(1e19)
    with pytest.raises(InvalidArgumentError, match="int64 cannot hold"):
        r.geometric(1e-300)


NEGATIVE, TWO, NAN, INF = -1.0, 2.0, float("nan"), float("inf")
BAD = {
    "uniform": [(1.0, 0.0), (0.0, NAN), (0.0, INF)],
    "normal": [(0.0, NEGATIVE), (NAN, 1.0), (0.0, INF)],
    "exponential": [(NEGATIVE,), (NAN,), (INF,)], "laplace": [(0.0, NEGATIVE), (INF, 1.0)],
    "logistic": [(0.0, NEGATIVE)], "cauchy": [(0.0, NAN)], "gumbel": [(0.0, NEGATIVE)],
    "log_normal": [(0.0, NEGATIVE)], "weibull": [(0.0, 1.0), (1.0, NEGATIVE), (NAN, 1.0)],
    "student_t": [(0.0,), (NAN,), (INF,)],
    "gamma": [(0.0, 1.0), (1.0, 0.0), (NAN, 1.0), (INF, 1.0)],
    "chi_square": [(0.0,), (NEGATIVE,)], "beta": [(0.0, 1.0), (1.0, NEGATIVE), (1.0, NAN)],
    "truncated_normal": [(1.0, 0.0, 0.0, 1.0), (NAN, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 0.0)],
    "poisson": [(NEGATIVE,), (NAN,), (INF,)],
    "binomial": [(NEGATIVE, 0.5), (1.5, 0.5), (2, TWO), (2, NAN), (2.0**54, 0.5)],
    "geometric": [(0.0,), (TWO,), (NAN,)],
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_bad_parameters(name):
    before = r.get_state()
    for bad in BAD[name]:
        with pytest.raises(InvalidArgumentError, match=rf"random\.{name}") as caught:
            draw(name, bad, 3)
        assert re.search(r"it must be|pass low <= high", str(caught.value))
        with pytest.raises(InvalidArgumentError, match=r" holds |no interval"):
            draw(name, [np.array([b, g]) for b, g in zip(bad, LEGAL[name], strict=True)], (3, 2))
        assert np.asarray(draw(name, [np.zeros((0, *np.shape(b))) for b in bad], None)).shape == (
            0,
        )
    assert r.get_state() == before
    with pytest.raises(DtypeError, match="parameters are real, not complex"):
        draw(name, [1j, *LEGAL[name][1:]], 3)
    with pytest.raises(InvalidTypeError):
        draw(name, ["a", *LEGAL[name][1:]], 3)
    with pytest.raises(InvalidTypeError, match="is no generator"):
        draw(name, LEGAL[name], 3, generator=np.random.default_rng(0))
    with pytest.raises(InvalidArgumentError, match="beyond the largest float"):
        draw(name, [10**400, *LEGAL[name][1:]], 3)
    with pytest.raises(TypeError, match="unexpected keyword"):
        draw(name, LEGAL[name], 3, size=3)


def test_parameters_too_large_for_the_dtype():
    with pytest.raises(InvalidArgumentError, match="too large for float32"):
        r.normal(3, 1e300)
    with pytest.raises(InvalidArgumentError, match="too large for float32"):
        r.uniform(3, -3e38, 3e38)
    wide = r.uniform(3, -3e38, 3e38, dtype=pg.float64).numpy()
    assert np.isfinite(wide).all()
    assert np.isinf(r.exponential(9, 1e9, dtype=pg.float16).numpy()).any()


def test_two_devices():
    here, there = pg.ones(2), pg.ones(2, device="frozen:0")
    with pytest.raises(DeviceMismatchError, match="a parameter is on frozen:0"):
        r.gamma(here, scale=there)
    with pytest.raises(DeviceMismatchError, match="a parameter is on cpu"):
        r.gamma(here, device="frozen:0")
    assert r.gamma([1.0, 2.0], scale=there).device == "frozen:0"
    assert r.gamma([1.0, 2.0], device="frozen:0").device == "frozen:0"
    with pg.device("frozen:0"):
        assert r.gamma([1.0, 2.0]).device == "frozen:0"
        assert r.gamma(here).device == "cpu"


def test_bernoulli():
    b = r.bernoulli(0.3, (20_000,), generator=pg.Generator(3))
    assert b.dtype == pg.bool
    assert abs(b.numpy().mean() - 0.3) < 0.01
    assert r.bernoulli(0.5, (4,), dtype=pg.float32).dtype == pg.float32
    assert r.bernoulli(pg.ones((2, 3))).shape == (2, 3)
    assert r.bernoulli(0.5).shape == ()
    with pytest.raises(ShapeError, match="broadcast"):
        r.bernoulli([0.5, 0.5], (3,))
    for bad in (-0.1, 1.5, NAN, [0.5, NAN]):
        with pytest.raises(InvalidArgumentError, match=r"it must be in \[0, 1\]"):
            r.bernoulli(bad)


def test_dirichlet():
    assert r.dirichlet(np.ones((4, 3))).shape == (4, 3)
    assert r.dirichlet(np.ones(3), (0, 3)).shape == (0, 3)
    assert r.dirichlet([2.0]).tolist() == [1.0]
    assert r.dirichlet(np.ones(0)).shape == (0,)
    assert r.dirichlet(pg.ones(3, dtype=pg.float64)).dtype == pg.float64
    for shape in ((3, 2), (), 2):
        with pytest.raises(ShapeError, match="one weight for each share"):
            r.dirichlet(np.ones(3), shape)
    with pytest.raises(ShapeError, match="one weight for each share"):
        r.dirichlet(1.0)
    with pytest.raises(InvalidArgumentError, match="concentration holds 0"):
        r.dirichlet([1.0, 0.0])


# ---- what is written about them -----------------------------------------------------------------
def test_functions_are_those_of_their_row():
    for name, row in TABLE.items():
        function = getattr(r, name)
        assert function.__name__ == name
        assert function.__module__ == "polygrad.random"
        parameters = inspect.signature(function).parameters
        assert [p.name for p in row.parameters] == [p for p in parameters if p in
                                                    {q.name for q in row.parameters}]  # fmt: skip
        assert row.formula in function.__doc__
        for line in function.__doc__.splitlines():
            assert len(line) <= 100, (name, line)


def test_the_table_of_the_docs_has_every_function():
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", text, re.MULTILINE))
    own = {"bernoulli", "categorical", "dirichlet", "integers", "multinomial", "permutation"}
    assert rows.keys() == TABLE.keys() | own
    for name, written in rows.items():
        found = []
        for p in inspect.signature(getattr(r, name)).parameters.values():
            if p.kind is p.KEYWORD_ONLY and p.name != "axis":
                continue
            found.append(p.name if p.default in (p.empty, None) else f"{p.name}={p.default}")
        assert written == ", ".join(found), name
    for name, row in TABLE.items():
        line = next(x for x in text.splitlines() if x.startswith(f"| `{name}("))
        with_respect = [p for p in (q.name for q in row.parameters) if p in row.rules]
        cell = line.split("|")[3].strip()
        expected = "" if name == "truncated_normal" else ", ".join(f"`{p}`" for p in with_respect)
        assert cell == expected, name
