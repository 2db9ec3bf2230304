"""Pathwise derivatives: against differences of the same numbers, of quantiles, and of means."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import GradientError, UnsupportedOperationError
from polygrad.random.distribution import TABLE
from polygrad.testing import assert_close, tolerance
from tests.devices import optional
from tests.random.rows import draw

special = optional("scipy.special")
r = pg.random
N = 60
FORMULAS = {
    "uniform": [(-1.0, 2.0)], "normal": [(1.0, 2.0), (0.0, 1.0)], "exponential": [(2.0,)],
    "laplace": [(1.0, 2.0)], "logistic": [(1.0, 2.0)], "cauchy": [(1.0, 2.0)],
    "gumbel": [(1.0, 2.0)], "log_normal": [(0.2, 0.5)], "weibull": [(0.5, 2.0), (3.0, 0.1)],
    "student_t": [(0.3,), (3.0,), (50.0,)],
}  # fmt: skip
IMPLICIT = {
    "gamma": [(0.05, 1.0), (0.5, 2.0), (1.0, 1.0), (3.0, 0.5), (200.0, 1.0)],
    "chi_square": [(0.5,), (5.0,)],
    "beta": [(0.3, 0.4), (2.0, 3.0), (0.5, 20.0), (60.0, 40.0)],
}
DIFFERENCES = [(n, p) for n, cases in FORMULAS.items() for p in cases]
QUANTILES = [(n, p) for n, cases in IMPLICIT.items() for p in cases]


def tracked(parameters, shape=(), dtype=pg.float64, device=None):
    return [
        pg.tensor(np.full(shape, p), dtype=dtype, device=device, requires_grad=True)
        for p in parameters
    ]


def sample(name, parameters, **options):
    return draw(name, parameters, (N,), generator=pg.Generator(3), **options)


def changed(parameters, i, step):
    return [p + (step if j == i else 0) for j, p in enumerate(parameters)]


def test_every_row_is_here():
    constant = {name for name, row in TABLE.items() if row.whole} | {"truncated_normal"}
    assert TABLE.keys() == FORMULAS.keys() | IMPLICIT.keys() | constant


def close(got, want, where=True):
    rtol, _ = tolerance(pg.float32)  # of differences
    np.testing.assert_allclose(np.where(where, got, 0), np.where(where, want, 0), rtol, 1e-7)


@pytest.mark.parametrize(("name", "parameters"), DIFFERENCES, ids=str)
def test_formulas_against_differences_of_the_same_noise(name, parameters):
    tensors = tracked(parameters, (N,))
    x = sample(name, tensors)
    np.testing.assert_array_equal(
        x.detach().numpy(), sample(name, parameters, dtype=pg.float64).numpy()
    )
    gradients = pg.autograd.grad(x.sum(), tensors)
    for i, (p, g) in enumerate(zip(parameters, gradients, strict=True)):
        step = 1e-5 * max(abs(p), 1.0) if name != "student_t" else 1e-5 * p
        up, down = (
            sample(name, changed(parameters, i, s), dtype=pg.float64) for s in (step, -step)
        )  # fmt: skip
        close(g.numpy(), (up.numpy() - down.numpy()) / (2 * step))


def quantile(name, x, before, after):
    """Where the number x goes when the parameters do, if its quantile stays."""
    if name == "beta":
        return special.betaincinv(*after, special.betainc(*before, x))
    (a, s), (b, t) = ((p if name == "gamma" else (p[0] / 2, 2.0)) for p in (before, after))
    lower = special.gammaincinv(b, special.gammainc(a, x / s)) * t
    return np.where(x / s < a, lower, special.gammainccinv(b, special.gammaincc(a, x / s)) * t)


@pytest.mark.parametrize(("name", "parameters"), QUANTILES, ids=str)
def test_implicit_derivatives_keep_quantiles(name, parameters):
    tensors = tracked(parameters, (N,))
    x = sample(name, tensors)
    gradients = pg.autograd.grad(x.sum(), tensors)
    values = x.detach().numpy()
    inside = values > 1e-12 if name != "beta" else (values > 1e-9) & (values < 0.999)
    assert inside.sum() > N / 3
    for i, (p, g) in enumerate(zip(parameters, gradients, strict=True)):
        step = 1e-4 * p
        up, down = (
            quantile(name, values, parameters, changed(parameters, i, s)) for s in (step, -step)
        )  # fmt: skip
        close(g.numpy(), (up - down) / (2 * step), inside)
        assert np.isfinite(g.numpy()).all()


@pytest.mark.parametrize(
    ("name", "parameters"), [*DIFFERENCES[::2], ("gamma", (0.7, 2.0)), ("gamma", (3.0, 1.0)),
                             ("chi_square", (3.0,)), ("beta", (2.0, 3.0))], ids=str,
)  # fmt: skip
def test_second_derivatives_are_those_of_the_first(name, parameters):
    """By differences of first derivatives at the same noise, or the same quantile."""
    tensors = tracked(parameters, (N,))
    x = sample(name, tensors)
    (first,) = pg.autograd.grad((x * x).sum(), tensors[:1], create_graph=True)
    if not first.requires_grad:
        pytest.fail("the first derivative has no history")
    (second,) = pg.autograd.grad(first.sum(), tensors[:1])
    values, p = x.detach().numpy(), parameters[0]
    step = 1e-3 * max(abs(p), 0.1)
    moved = {}
    for s in (step, 0.0, -step):
        after = [p + s, *parameters[1:]]
        if name in IMPLICIT:
            moved[s] = quantile(name, values, parameters, after) ** 2
        else:
            moved[s] = sample(name, after, dtype=pg.float64).numpy() ** 2
    want = (moved[step] - 2 * moved[0.0] + moved[-step]) / step**2
    rough = 20 * tolerance(pg.float32)[0]  # of second differences
    scale = np.abs(want).max()
    np.testing.assert_allclose(second.numpy(), want, rough, rough * scale)


def test_the_gradient_of_a_mean_is_the_mean_of_gradients():
    n, alpha = 40_000, np.array([0.5, 1.0, 2.5])
    a = pg.tensor(alpha, requires_grad=True)
    x = r.dirichlet(a, (n, 3), generator=pg.Generator(2))
    np.testing.assert_array_equal(
        x.detach().numpy(),
        r.dirichlet(alpha, (n, 3), dtype="f8", generator=pg.Generator(2)).numpy(),
    )
    weights = pg.tensor([1.0, -2.0, 3.0], dtype=pg.float64)
    (x * x * weights).sum(axis=-1).mean().backward()

    b = pg.tensor(alpha, requires_grad=True)
    total = b.sum()
    (b * (b + 1) / (total * (total + 1)) * weights).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=0.02)


def test_dirichlet_of_two_goes_the_way_of_its_gamma_numbers():
    alpha = [0.7, 2.0]
    a = pg.tensor(np.tile(alpha, (N, 1)), requires_grad=True)
    x = r.dirichlet(a, generator=pg.Generator(5))
    (g,) = pg.autograd.grad(x[:, 0].sum(), [a])
    gammas = r.gamma(np.tile(alpha, (N, 1)), dtype=pg.float64, generator=pg.Generator(5)).numpy()
    assert_close(x, gammas / gammas.sum(axis=1, keepdims=True))
    for j in range(2):
        moved = []
        for s in (1e-4, -1e-4):
            there = gammas.copy()
            there[:, j] = quantile("gamma", gammas[:, j], (alpha[j], 1.0), (alpha[j] + s, 1.0))
            moved.append(there[:, 0] / there.sum(axis=1))
        close(g.numpy()[:, j], (moved[0] - moved[1]) / 2e-4)


def test_gradients_have_the_shape_dtype_and_device_of_the_parameter(device):
    mean = pg.zeros((3, 1), device=device).requires_grad_()
    narrow = pg.float16 if has_half(device) else pg.float32
    std = pg.ones(4, dtype=narrow, device=device).requires_grad_()
    x = r.normal((2, 3, 4), mean, std, generator=pg.Generator(1))
    assert x.dtype == pg.float32
    x.sum().backward()
    assert (mean.grad.shape, mean.grad.dtype, mean.grad.device) == ((3, 1), pg.float32, device)
    assert (std.grad.shape, std.grad.dtype) == ((4,), std.dtype)
    assert mean.grad.tolist() == [[8.0]] * 3
    z = r.normal((2, 3, 4), generator=pg.Generator(1), dtype=pg.float32).numpy()
    assert_close(std.grad, z.sum(axis=(0, 1)).astype(std.dtype), dtype=std.dtype)


def has_half(device):
    try:
        pg.zeros(0, dtype=pg.float16, device=device)
    except pg.PolygradError:
        return False
    return True


def test_gradients_on_devices(device):
    for name, parameters in (("gamma", (0.5, 2.0)), ("beta", (2.0, 0.5)), ("student_t", (3.0,)),
                             ("weibull", (2.0, 1.0)), ("log_normal", (0.0, 1.0))):  # fmt: skip
        tensors = tracked(parameters, dtype=pg.float32, device=device)
        here = tracked(parameters, dtype=pg.float32)
        x = sample(name, tensors)
        wanted = {"gamma": "gammainc", "beta": "betainc"}.get(name)
        if wanted and not hasattr(x.kernels.backend.special, wanted):
            with pytest.raises(UnsupportedOperationError, match=f"no special.{wanted}"):
                pg.autograd.grad(x.sum(), tensors)
            continue
        g = pg.autograd.grad(x.sum(), tensors)
        for got, want in zip(g, pg.autograd.grad(sample(name, here).sum(), here), strict=True):
            assert got.device == device
            np.testing.assert_allclose(got.numpy(), want.numpy(), *tolerance(pg.float16))


def test_rounded_numbers_have_finite_gradients():
    """Those that became 0 or 1, and noise that is 0."""
    for name, parameters in (
        ("gamma", (1e-3, 1.0)), ("beta", (1e-3, 2e-3)), ("weibull", (0.01, 1.0)),
        ("chi_square", (1e-3,)),
    ):  # fmt: skip
        for dtype in (pg.float32, pg.float64):
            tensors = tracked(parameters, (N,), dtype)
            x = sample(name, tensors)
            where = np.isfinite(x.detach().numpy())
            for g in pg.autograd.grad(x.sum(), tensors):
                assert np.isfinite(g.numpy()[where]).all(), (name, dtype)
    a = pg.tensor([1e-3, 1e-3, 1.0], requires_grad=True)
    r.dirichlet(a, (50, 3)).sum().backward()
    assert np.isfinite(a.grad.numpy()).all()
    s = pg.tensor(0.0, requires_grad=True)
    for x in (r.normal(9, 1.0, s), r.cauchy(9, 0.0, s), r.exponential(9, s)):
        x.sum().backward()
    assert np.isfinite(s.grad.item())


def test_what_has_no_derivative_says_so():
    low = pg.tensor(-1.0, requires_grad=True)
    x = r.truncated_normal(low, 1.0, 3)
    assert x.requires_grad
    with pytest.raises(GradientError, match="a derivative of random"):
        x.sum().backward()
    rate = pg.tensor(3.0, requires_grad=True)
    for x in (r.poisson(rate, 3, dtype=pg.float32), r.bernoulli(rate / 4, dtype=pg.float32)):
        assert not x.requires_grad


def test_jacobians_in_one_backward_are_those_row_by_row():
    for function in (
        lambda a: r.gamma(a, generator=pg.Generator(1)),
        lambda a: r.dirichlet(a, generator=pg.Generator(1)),
        lambda a: r.beta(a, 2.0, generator=pg.Generator(1)),
        lambda a: r.normal((2, 3), a, a, generator=pg.Generator(1)),
    ):
        a = pg.tensor([0.5, 2.0, 3.0], dtype=pg.float64)
        batched = pg.autograd.jacobian(function, a)
        assert_close(batched, pg.autograd.jacobian(function, a, vectorize=False))


def test_nothing_is_recorded_without_need():
    mean = pg.tensor(0.0, requires_grad=True)
    with pg.no_grad():
        assert not r.normal(3, mean).requires_grad
    assert r.normal(3, 0.0).is_leaf
    assert r.normal(3, pg.tensor(0.0)).grad_fn is None
    x = r.normal(3, mean, requires_grad=True)
    assert not x.is_leaf
    assert x.requires_grad
