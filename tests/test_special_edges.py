"""Special functions at zeros, poles, kinks and infinities; dtypes; what has no derivative."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, GradientError, InvalidArgumentError
from polygrad.families import operations_of
from polygrad.ops import functions_of
from polygrad.testing import assert_close, samples_of

functions_of("special")
ROWS = operations_of("special")
INF, NAN, PI = math.inf, math.nan, math.pi

# name, arguments, value, derivatives with respect to the float arguments
EDGES = [
    ("gammaln", (0.0,), INF, (-INF,)), ("gammaln", (-1.0,), INF, (NAN,)),
    ("gammaln", (INF,), INF, (INF,)), ("loggamma", (-0.5,), NAN, (0.03648997,)),
    ("rgamma", (0.0,), 0, (1,)), ("rgamma", (-2.0,), 0, (2,)),
    ("binom", (3.0, 5.0), 0, (-0.05, 0.05)), ("poch", (-2.0, 3.0), 0, (2, 0)),
    ("zeta", (1.0, 2.0), INF, (-INF, 1 - PI**2 / 6)), ("beta", (0.0, 1.0), INF, (-INF, NAN)),
    ("erfinv", (1.0,), INF, (INF,)), ("erfcinv", (0.0,), INF, (-INF,)),
    ("ndtri", (0.0,), -INF, (INF,)), ("ndtri", (1.0,), INF, (INF,)),
    ("log_ndtr", (-INF,), -INF, (INF,)), ("log_ndtr", (50.0,), 0, (0,)),
    ("erfcx", (INF,), 0, (0,)), ("dawsn", (-INF,), 0, (0,)), ("ndtr", (INF,), 1, (0,)),
    ("exprel", (0.0,), 1, (0.5,)), ("exprel", (-INF,), 0, (0,)), ("cbrt", (0.0,), 0, (INF,)),
    ("sinc", (0.0,), 1, (0,)), ("sinc", (1.0,), 0, (-1,)), ("cosdg", (90.0,), 0, (-PI / 180,)),
    ("powm1", (0.0, 2.0), -1, (0, 0)), ("tandg", (90.0,), INF, (INF,)),
    ("xlogy", (0.0, 0.0), 0, (0, 0)), ("xlogy", (0.0, 2.0), 0, (math.log(2), 0)),
    ("xlog1py", (0.0, -1.0), 0, (0, 0)), ("entr", (0.0,), 0, (INF,)),
    ("entr", (-1.0,), -INF, (NAN,)),
    ("rel_entr", (0.0, 1.0), 0, (-INF, 0)), ("kl_div", (0.0, 1.0), 1, (-INF, 1)),
    ("logit", (0.0,), -INF, (INF,)), ("logit", (1.0,), INF, (INF,)), ("expit", (-800.0,), 0, (0,)),
    ("log_expit", (-800.0,), -800, (1,)), ("softplus", (800.0,), 800, (1,)),
    ("boxcox", (0.0, 1.0), -1, (1, 1)), ("boxcox", (0.0, 2.0), -0.5, (0, 0.25)),
    ("inv_boxcox", (-1.0, 1.0), 0, (1, -1)), ("inv_boxcox", (-2.0, 0.5), 0, (0, 0)),
    ("huber", (1.0, 1.0), 0.5, (0, 1)), ("pseudo_huber", (0.0, 0.0), 0, (0, 0)),
    ("pseudo_huber", (0.0, 3.0), 0, (3, 0)), ("huber", (0.0, 0.0), 0, (0, 0)),
    ("gammainc", (1.0, 0.0), 0, (0, 1)), ("gammainc", (0.5, 0.0), 0, (0, INF)),
    ("gammaincc", (2.0, INF), 0, (0, 0)), ("gammaincinv", (2.0, 0.0), 0, (0, INF)),
    ("betainc", (1.0, 3.0, 0.0), 0, (0, 0, 3)), ("betainc", (2.0, 1.0, 1.0), 1, (0, 0, 2)),
    ("betainc", (0.5, 2.0, 0.0), 0, (0, 0, INF)), ("chdtr", (2.0, 0.0), 0, (0, 0.5)),
    ("fdtr", (2.0, 3.0, 0.0), 0, (0, 0, 1)), ("fdtr", (3.0, 3.0, 0.0), 0, (0, 0, 0)),
    ("stdtr", (3.0, 0.0), 0.5, (0, 2 / (PI * math.sqrt(3)))), ("stdtr", (3.0, -INF), 0, (0, 0)),
    ("bdtr", (2, 2, 0.3), 1, (0,)), ("pdtr", (0, 0.0), 1, (-1,)),
    ("j0", (0.0,), 1, (0,)), ("j1", (0.0,), 0, (0.5,)), ("i1", (0.0,), 0, (0.5,)),
    ("i0e", (0.0,), 1, (0,)), ("i1e", (0.0,), 0, (0.5,)), ("k0", (0.0,), INF, (-INF,)),
    ("y0", (0.0,), -INF, (INF,)), ("jv", (1, 0.0), 0, (0.5,)), ("iv", (0, 0.0), 1, (0,)),
    ("spherical_jn", (1, 0.0), 0, (1 / 3,)), ("beip", (0.0,), 0, (0.5,)),
    ("struve", (0, 0.0), 0, (2 / PI,)), ("expi", (0.0,), -INF, (INF,)),
    ("exp1", (0.0,), INF, (-INF,)), ("expn", (3, 0.0), 0.5, (-1,)),
    ("spence", (0.0,), PI**2 / 6, (-INF,)), ("spence", (1.0,), 0, (-1,)),
    ("kolmogorov", (0.0,), 1, (0,)), ("ellipk", (0.0,), PI / 2, (PI / 8,)),
    ("ellipk", (1.0,), INF, (INF,)), ("ellipe", (1.0,), 1, (-INF,)),
    ("agm", (2.0, 2.0), 2, (0.5, 0.5)), ("eval_legendre", (0, 0.3), 1, (0,)),
    ("elliprf", (0.0, 1.0, 1.0), PI / 2, (-INF, -PI / 8, -PI / 8)), ("lpmv", (0, 2, 1.0), 1, (3,)),
    ("voigt_profile", (1.0, 0.0, 1.0), 0.5 / PI, (-0.5 / PI, 0, 0)),
]  # fmt: skip
NAMES = [f"{name}{args}" for name, args, _, _ in EDGES]


def called(name, args):
    xs = [
        pg.tensor(a, dtype=pg.float64, requires_grad=True) if isinstance(a, float) else a
        for a in args
    ]
    with np.errstate(all="ignore"):
        return ROWS[name].function(*xs), [x for x in xs if isinstance(x, pg.Tensor)]


@pytest.mark.parametrize(("name", "args", "value", "slopes"), EDGES, ids=NAMES)
def test_values_and_derivatives_at_edges(name, args, value, slopes):
    out, xs = called(name, args)
    assert_close(out, np.float64(value), what=name)
    for x, slope in zip(xs, slopes, strict=True):
        (got,) = pg.autograd.grad(out, [x], retain_graph=True, materialize_grads=True)
        np.testing.assert_allclose(got.numpy(), slope, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize(("name", "args"), [e[:2] for e in EDGES], ids=NAMES)
def test_a_zero_cotangent_gives_a_zero_gradient(name, args):
    out, xs = called(name, args)
    for got in pg.autograd.grad(out, xs, pg.zeros((), dtype=pg.float64), materialize_grads=True):
        assert got.item() == 0


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "betainc", "stdtr", "fdtr", "chdtr"])
def test_nan_stays_nan(name):
    count = len(ROWS[name].variables)
    for i in range(count):
        args = [NAN if k == i else 0.5 for k in range(count)]
        out, xs = called(name, args)
        assert math.isnan(out.detach().item())
        found = pg.autograd.grad(out, xs)
        assert all(math.isnan(g.item()) for g in found), (i, found)


# ---- dtypes -------------------------------------------------------------------------------------
def first_sample(name, dtype):
    args, kwargs = samples_of(ROWS[name], dtype)[0]
    return [pg.tensor(a) if isinstance(a, np.ndarray) else a for a in args], kwargs


@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_results_and_gradients_keep_the_dtype(name, dtype):
    """SciPy returns float32 for float16, and float64 for everything where it has nothing else."""
    args, kwargs = first_sample(name, np.float32)
    dtype = getattr(pg, dtype)
    xs = [a.astype(dtype).requires_grad_() if isinstance(a, pg.Tensor) else a for a in args]
    made = ROWS[name].function(*xs, **kwargs)
    for out in made if isinstance(made, tuple) else [made]:
        assert out.dtype == (dtype if out.dtype.kind != "c" else pg.complex64)
    if ROWS[name].differentiable and made is not None:
        out = made[0] if isinstance(made, tuple) else made
        pg.sum(pg.abs(out)).backward()
        assert all(x.grad.dtype == dtype for x in xs if isinstance(x, pg.Tensor))


def test_integers_are_computed_in_the_default_dtype():
    assert pg.special.gammaln(pg.asarray([3, 4])).dtype == pg.float32
    assert pg.special.betainc(pg.asarray([3, 4]), 2, 0.5).dtype == pg.float32
    pg.set_default_dtype(pg.float64)
    assert pg.special.gammaln(pg.asarray([3, 4])).dtype == pg.float64
    assert pg.special.gammaln(3).dtype == pg.float64


def test_numbers_among_numbers_go_to_the_device_of_the_namespace():
    xp = pg.namespace("strict:cpu")
    assert xp.special.gammaln(2.5).device == "strict:cpu"
    assert hasattr(xp, "special")
    assert xp.special is xp.special


def test_they_are_no_methods():
    assert not {name for name in ROWS if hasattr(pg.Tensor, name)} - {
        "erf", "erfc", "expm1", "log1p", "logsumexp", "softmax", "log_softmax",
    }  # fmt: skip


# ---- what there is not --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("jv", (0.5, 1.0), "no closed form is known for the derivative with respect to an order"),
        ("hyp1f1", (0.5, 1.0, 0.3), "no closed form is known for the derivative"),
        ("polygamma", (1.0, 2.0), "an order counts derivatives"),
        ("bdtr", (1.0, 3.0, 0.3), "a count has no derivative"),
        ("eval_legendre", (2.0, 0.3), "a degree has no derivative"),
    ],
)
def test_an_argument_without_a_derivative_says_why(name, args, said):
    xs = [pg.tensor(a, dtype=pg.float64, requires_grad=True) for a in args]
    out = ROWS[name].function(*xs)
    with pytest.raises(GradientError, match=f"not implemented. {said}.*detach"):
        out.backward()
    xs = [pg.tensor(a, dtype=pg.float64, requires_grad=a is args[-1]) for a in args]
    ROWS[name].function(*xs).backward()
    assert xs[-1].grad is not None


@pytest.mark.parametrize(
    ("name", "args", "parameter"),
    [("gammainc", (0.7, 1.0), 0), ("betainc", (0.7, 2.0, 0.3), 1), ("stdtr", (2.0, 0.3), 0)],
)
def test_third_derivatives_with_respect_to_parameters_raise(name, args, parameter):
    xs = [pg.tensor(a, dtype=pg.float64, requires_grad=True) for a in args]
    out = ROWS[name].function(*xs)
    for _ in range(2):
        (out,) = pg.autograd.grad(out, [xs[parameter]], create_graph=True)
    with pytest.raises(GradientError, match="third derivative"):
        out.backward()


def test_complex_numbers_are_refused_where_there_is_no_rule_for_them():
    with pytest.raises(DtypeError, match=r"special.gammaln is for real numbers here, not for comp"):
        pg.special.gammaln(pg.asarray([1 + 1j]))


def test_a_dimension_is_a_whole_number():
    with pytest.raises(InvalidArgumentError, match="a dimension of 0 is no whole number"):
        pg.special.multigammaln(pg.asarray([3.0]), 0)


# ---- many elements ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("gammainc", (0.5, 0.1), (3, 4)), ("betainc", (0.5, 0.5, 0.1), (3, 3, 0.9)),
     ("stdtr", (1, -3), (9, 3)), ("elliprf", (0.1, 0.1, 0.1), (2, 2, 2))],
)  # fmt: skip
def test_quadrature_of_many_elements_is_that_of_few(name, low, high):
    """Large arrays are integrated some nodes at a time."""
    generator = np.random.default_rng(0)
    columns = [generator.uniform(a, b, 9000) for a, b in zip(low, high, strict=True)]

    def gradients(part):
        xs = [pg.tensor(c[part], requires_grad=True) for c in columns]
        pg.sum(ROWS[name].function(*xs)).backward()
        return [x.grad.numpy() for x in xs]

    few = slice(0, 9000, 1000)
    for whole, some in zip(gradients(slice(None)), gradients(few), strict=True):
        np.testing.assert_allclose(whole[few], some, rtol=1e-12)
