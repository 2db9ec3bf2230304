"""Elementwise functions by hand: kinks, poles, infinities, powers, numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.testing import assert_close
from polygrad.testing.compare import host

INF, NAN = math.inf, math.nan


def gradients(function, *points, device="cpu", dtype="float32", cotangent=1.0):
    xs = [pg.tensor(np.array(p, dtype), device=device, requires_grad=True) for p in points]
    with np.errstate(all="ignore"):  # NumPy warns at poles, in the forward
        y = function(*xs)
        y.backward(pg.full(y.shape, cotangent, dtype=y.dtype, device=y.device))
    return [host(x.grad) for x in xs]


# ---- kinks: a subgradient -----------------------------------------------------------------------
KINKS = {
    "abs": ([-2.0, -0.0, 0.0, 3.0], [-1, 0, 0, 1]),
    "sign": ([-2.0, 0.0, 3.0], [0, 0, 0]),
    "floor": ([-1.5, 0.0, 2.0], [0, 0, 0]),
    "ceil": ([-1.5, 0.0, 2.0], [0, 0, 0]),
    "trunc": ([-1.5, 0.0, 2.0], [0, 0, 0]),
    "round": ([-1.5, 0.5, 2.0], [0, 0, 0]),
    "angle": ([-1.0, 1.0], [0, 0]),
}


@pytest.mark.parametrize("name", KINKS)
def test_gradient_at_kinks(name, device):
    x, want = KINKS[name]
    assert_close(gradients(getattr(pg, name), x, device=device)[0], np.array(want, "f4"))


PAIRS = {
    "maximum": ([1.0, 2.0, 5.0, INF], [1.0, 3.0, 4.0, INF], [0.5, 0, 1, 0.5], [0.5, 1, 0, 0.5]),
    "minimum": ([1.0, 2.0, 5.0, -INF], [1.0, 3.0, 4.0, 0.0], [0.5, 1, 0, 1], [0.5, 0, 1, 0]),
    "hypot": ([0.0, 3.0, INF, 1.0, INF], [0.0, 4.0, 1.0, -INF, INF], [0, 0.6, 1, 0, 1],
              [0, 0.8, 0, -1, 1]),
    "atan2": ([0.0, 1.0, INF, 1.0, 1e30], [0.0, 1.0, 1.0, INF, 1e30], [0, 0.5, 0, 0, 0.5e-30],
              [0, -0.5, 0, 0, -0.5e-30]),
    "logaddexp": ([0.0, INF, -INF, INF, -INF, 1e30, 0.0], [0.0, 0.0, 0.0, INF, -INF, 1e30, 200.0],
                  [0.5, 1, 0, 0.5, 0.5, 0.5, 0], [0.5, 0, 1, 0.5, 0.5, 0.5, 1]),
    "copysign": ([2.0, -2.0, 2.0, 0.0], [1.0, 3.0, -0.0, 1.0], [1, -1, -1, 0], [0, 0, 0, 0]),
    "remainder": ([7.0, -7.0, 7.0, -7.0], [3.0, 3.0, -3.0, -3.0], [1, 1, 1, 1], [-2, 3, 3, -2]),
    "floor_divide": ([7.0, -7.0], [3.0, 3.0], [0, 0], [0, 0]),
    "pow": ([0.0, 0.0, 0.0, -2.0, 2.0], [0.0, 1.0, 2.0, 3.0, 0.0], [0, 1, 0, 12, 0],
            [0, 0, 0, NAN, math.log(2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_gradient_of_pairs_at_special_points(name, device):
    x, y, want_x, want_y = PAIRS[name]
    got_x, got_y = gradients(getattr(pg, name), x, y, device=device)
    assert_close(got_x, np.array(want_x, "f4"))
    assert_close(got_y, np.array(want_y, "f4"))


def test_the_same_operand_twice(device):
    for function in (pg.maximum, pg.minimum):
        (got,) = gradients(lambda x, f=function: f(x, x), [1.0, -2.0, 0.0], device=device)
        assert_close(got, np.ones(3, "f4"))
    (got,) = gradients(lambda x: pg.hypot(x, x), [2.0], device=device)
    assert_close(got, np.array([math.sqrt(2)], "f4"))


def test_maximum_shares_where_the_result_is_nan():
    x, y = gradients(pg.maximum, [NAN, 1.0], [1.0, NAN])
    assert_close(x + y, np.ones(2, "f4"))


# ---- strong zeros -------------------------------------------------------------------------------
POLES = {
    "sqrt": [0.0], "log": [0.0], "log2": [0.0], "log10": [0.0], "log1p": [-1.0],
    "reciprocal": [0.0], "asin": [1.0, -1.0], "acos": [1.0, -1.0], "acosh": [1.0],
    "atanh": [1.0, -1.0],
}  # fmt: skip


@pytest.mark.parametrize("name", POLES)
def test_a_zero_cotangent_gives_zero_at_a_pole(name, device):
    (got,) = gradients(getattr(pg, name), POLES[name], device=device, cotangent=0.0)
    assert_close(got, np.zeros_like(got))


@pytest.mark.parametrize("name", sorted(set(POLES) - {"asin", "acos", "atanh"}))
def test_another_cotangent_gives_infinity_at_a_pole(name):
    (got,) = gradients(getattr(pg, name), POLES[name])
    assert np.isinf(got).all()


def test_the_branch_not_taken_does_not_matter(device):
    (got,) = gradients(lambda x: pg.where(x > 0, pg.sqrt(x), x), [-1.0, 0.0, 4.0], device=device)
    assert_close(got, np.array([1, 1, 0.25], "f4"))
    (got,) = gradients(lambda x: pg.where(x < 2, x, 1 / (x - x)), [1.0, 0.0], device=device)
    assert_close(got, np.ones(2, "f4"))
    (got,) = gradients(lambda x: pg.where(x != 0, x ** -0.5, x), [0.0, 4.0], device=device)
    assert_close(got, np.array([1, -0.0625], "f4"))
    for y in (2, 3.0):  # the square of what is not a number: scikit-learn's StandardScaler
        (got,) = gradients(
            lambda x, y=y: pg.where(x < 2, x, (1 / x - 1 / x) ** y), [0.0, 4.0], device=device
        )
        assert_close(got, np.array([1, 0], "f4"))


def test_division_by_zero_with_a_zero_cotangent(device):
    x, y = gradients(pg.divide, [1.0, 0.0], [0.0, 0.0], device=device, cotangent=0.0)
    assert_close(x, np.zeros(2, "f4"))
    assert_close(y, np.zeros(2, "f4"))
    (got,) = gradients(lambda x: x / 0.0, [1.0], device=device, cotangent=0.0)
    assert_close(got, np.zeros(1, "f4"))


def test_strong_zeros_hold_in_the_second_derivative():
    x = pg.tensor([0.0, 4.0], dtype=pg.float64, requires_grad=True)
    y = pg.where(x > 0, pg.sqrt(x), x)
    (g,) = pg.autograd.grad(pg.sum(y), [x], create_graph=True)
    (h,) = pg.autograd.grad(pg.sum(g), [x])
    assert_close(h, np.array([0, -1 / 32]))


# ---- powers -------------------------------------------------------------------------------------
def test_powers_with_a_number():
    for y, want in ((0, [0, 0]), (0.0, [0, 0]), (1, [1, 1]), (2, [0, -6]), (3.0, [0, 27])):
        (got,) = gradients(lambda x, y=y: x**y, [0.0, -3.0])
        assert_close(got, np.array(want, "f4"), what=f"exponent {y}")
    (got,) = gradients(lambda y: 2**y, [0.0, 3.0])
    assert_close(got, np.log(2) * np.array([1, 8], "f4"))
    (got,) = gradients(lambda y: 0**y, [1.0, 2.0])
    assert_close(got, np.zeros(2, "f4"))
    (got,) = gradients(lambda y: (-2.0) ** y, [3.0])
    assert np.isnan(got).all()
    (got,) = gradients(lambda z: (1 + 1j) ** z, [2 + 0j], dtype="complex128")
    assert_close(got, np.conj((1 + 1j) ** 2 * np.log(1 + 1j)).reshape(1))


def test_the_mixed_derivative_of_a_power_at_exponent_zero():
    """d2 x^y / dx dy = x^(y-1) (1 + y log x), which is 1 / x at y = 0."""
    x = pg.tensor([2.0], dtype=pg.float64, requires_grad=True)
    y = pg.tensor([0.0], dtype=pg.float64, requires_grad=True)
    (g,) = pg.autograd.grad(pg.sum(x**y), [x], create_graph=True)
    (h,) = pg.autograd.grad(pg.sum(g), [y])
    assert_close(h, np.array([0.5]))


def test_integers_to_a_negative_power_are_an_error_everywhere(device):
    x = pg.tensor([1, 2], device=device)
    with pytest.raises(InvalidArgumentError, match=r"negative power.*argument y.*floating"):
        x**-1
    with pytest.raises(InvalidArgumentError, match="negative power"):
        x ** pg.tensor([1, -1], device=device)
    assert host(x**2).tolist() == [1, 4]


# ---- numbers and dtypes -------------------------------------------------------------------------
def test_numbers_as_only_operand():
    for made, want in ((pg.sqrt(4.0), 2), (pg.exp(0), 1), (pg.maximum(2, 3), 3), (pg.abs(-1), 1)):
        assert made.item() == want
    assert pg.sqrt(4.0).dtype == pg.float32
    assert pg.real(0).dtype == pg.int64
    assert pg.abs(3 + 4j).item() == 5


def test_integers_take_the_default_floating_dtype(device):
    i = pg.tensor([1, 2], device=device)
    assert pg.exp(i).dtype == pg.float32
    assert (i / 2).dtype == pg.float32
    assert (i / i).dtype == pg.float32
    assert (i // 2).dtype == i.dtype
    for function in (pg.floor, pg.ceil, pg.trunc, pg.round):
        assert function(i).dtype == i.dtype


def test_a_number_keeps_its_precision_when_differentiated_twice():
    x = pg.tensor([3.0], dtype=pg.float64, requires_grad=True)
    for function, want in ((lambda x: x * 0.1, 0.1), (lambda x: x / 0.1, 1 / 0.1)):
        (g,) = pg.autograd.grad(pg.sum(function(x)), [x], create_graph=True)
        assert g.item() == want
    x = pg.tensor([2.0], dtype=pg.float64, requires_grad=True)
    (g,) = pg.autograd.grad(pg.sum(x**1.1), [x], create_graph=True)
    assert_close(g.detach(), np.array([1.1 * 2**0.1]))


def test_comparisons_are_not_recorded(device):
    x = pg.tensor([1.0, -1.0], device=device, requires_grad=True)
    for y in (x > 0, x == x, pg.isnan(x), pg.logical_not(x), pg.signbit(x)):  # noqa: PLR0124
        assert y.dtype == pg.bool
        assert not y.requires_grad
    assert x.__eq__("a") is NotImplemented


def test_logic_takes_numbers_for_truth(device):
    x = pg.tensor([0, 1, 2], device=device)
    y = pg.tensor([1.0, 0.0, 3.0], device=device)
    assert host(pg.logical_and(x, y)).tolist() == [False, False, True]
    assert host(pg.logical_xor(x, y)).tolist() == [True, True, False]
    assert host(pg.logical_not(x)).tolist() == [True, False, False]


def test_round_is_to_even_and_zeros_have_signs():
    got = host(pg.round(pg.tensor([0.5, 1.5, 2.5, -0.5])))
    assert got.tolist() == [0, 2, 2, 0]
    assert np.signbit(got).tolist() == [False, False, False, True]
    zero = host(pg.tensor([-1.0, 2.0]) % pg.tensor([1.0, -1.0]))
    assert np.signbit(zero).tolist() == [False, True]


# ---- clip ---------------------------------------------------------------------------------------
def test_clip_gives_the_gradient_to_the_bound_that_decides(device):
    x, low, high = gradients(
        pg.clip,
        [-1.0, 0.0, 0.5, 1.0, 2.0, 0.5], [0.0, 0, 0, 0, 0, 2], [1.0, 1, 1, 1, 1, 1], device=device,
    )  # fmt: skip
    assert_close(x, np.array([0, 1, 1, 1, 0, 0], "f4"))
    assert_close(low, np.array([1, 0, 0, 0, 0, 0], "f4"))
    assert_close(high, np.array([0, 0, 0, 0, 1, 1], "f4"))


def test_clip_of_one_side_none_and_dtypes(device):
    x = pg.tensor([-2.0, 2.0], device=device, requires_grad=True)
    assert host(pg.clip(x, max=1)).tolist() == [-2, 1]
    assert host(x.clip(-1)).tolist() == [-1, 2]
    y = pg.clip(x)
    assert host(y).tolist() == [-2, 2]
    assert y is not x
    assert pg.clip(x, 0.0, 1.5).dtype == pg.float32
    i = pg.tensor([1, 5], device=device)
    assert pg.clip(i, 2, 3).dtype == i.dtype
    assert host(pg.clip(i, 2, 3)).tolist() == [2, 3]


# ---- complex numbers ----------------------------------------------------------------------------
def test_abs_sign_and_angle_of_complex_numbers():
    z = [3 + 4j, 0j, -1 + 0j]
    assert_close(gradients(pg.abs, z, dtype="complex64")[0], np.array([0.6 + 0.8j, 0, -1], "c8"))
    (got,) = gradients(pg.sign, z, dtype="complex128", cotangent=1.0)
    # the part of 1 that is perpendicular to z, over |z|
    assert_close(got, np.array([(1 - (0.6 + 0.8j) * 0.6) / 5, 0, 0]))
    points = [3e-25 + 4e-25j, 3e25 + 4e25j, 0j]
    (got,) = gradients(pg.angle, points, dtype="complex64")
    want = np.array([-1.6 + 1.2j, -1.6 + 1.2j, 0])
    assert_close(got * np.array([1e-24, 1e26, 1]), want, dtype="complex64")


@pytest.mark.parametrize("name", ["asin", "acos", "acosh", "asinh", "log", "sqrt"])
def test_derivatives_on_both_sides_of_a_branch_cut(name):
    """By differences along the cut, where the function is smooth."""
    along, points = 1.0, [complex(x, i) for x in (2.0, -2.0) for i in (0.0, -0.0)]
    if name == "asinh":
        along, points = 1j, [complex(i, x) for x in (2.0, -2.0) for i in (0.0, -0.0)]
    function = getattr(np, {"asin": "arcsin", "acos": "arccos"}.get(name, name), None)
    function = function or getattr(np, "arc" + name[1:])
    z = np.array(points)
    behind, before = z.copy(), z.copy()  # z + 1e-6 would lose the sign of a zero
    part = "imag" if name == "asinh" else "real"
    setattr(behind, part, getattr(z, part) + 1e-6)
    setattr(before, part, getattr(z, part) - 1e-6)
    slope = (function(behind) - function(before)) / (2e-6 * along)
    (got,) = gradients(getattr(pg, name), z, dtype="complex128")
    assert_close(got, np.conj(slope), dtype="float32")


def test_real_and_imaginary_parts_of_real_tensors():
    x = pg.tensor([1.0, 2.0])
    assert pg.real(x) is x
    assert host(pg.imag(x)).tolist() == [0, 0]
    assert pg.conj(x).dtype == pg.float32
    z = pg.tensor([1 + 2j], requires_grad=True)
    part = pg.imag(z * 1)
    part *= 3
    part.backward(pg.ones(1))
    assert_close(z.grad, np.array([3j], "c8"))


# ---- special values of the standard, where libraries differ --------------------------------------
QUOTIENTS = {  # x: floor_divide(x, y) for y of 2, -2, inf, -inf, 0.0, -0.0
    7.0: [3.0, -4.0, 0.0, -0.0, INF, -INF],
    -7.0: [-4.0, 3.0, -0.0, 0.0, -INF, INF],
    0.0: [0.0, -0.0, 0.0, -0.0, NAN, NAN],
    INF: [INF, -INF, NAN, NAN, INF, -INF],
    -INF: [-INF, INF, NAN, NAN, -INF, INF],
    NAN: [NAN] * 6,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("x", QUOTIENTS)
def test_floor_divide_of_infinities_and_zeros(x, device):
    y = pg.tensor([2.0, -2.0, INF, -INF, 0.0, -0.0], device=device)
    want = QUOTIENTS[x]
    for out in (pg.full((6,), x, device=device) // y, x // y):
        got = host(out)
        np.testing.assert_array_equal(got, np.array(want, got.dtype))
        known = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(want)[known])
    t = pg.full((6,), x, device=device)
    t //= y
    np.testing.assert_array_equal(host(t), np.array(want, "f4"))
    if x in (INF, 7.0):
        assert host(pg.tensor([x], device=device) // 2).tolist() == [want[0]]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_expm1_of_complex_infinities_and_zeros(device):
    cases = {
        complex(-0.0, 0.0): 0j, complex(INF, 0): complex(INF, 0), complex(-INF, 2): complex(-1, 0),
        complex(NAN, 0): complex(NAN, 0), 1e-20 + 1e-20j: 1e-20 + 1e-20j,
    }  # fmt: skip
    if not device.startswith("jax"):  # whose exp of these is NaN + NaN j
        cases[complex(-INF, INF)] = cases[complex(-INF, NAN)] = complex(-1, 0)
        cases[complex(INF, INF)] = cases[complex(INF, NAN)] = complex(INF, NAN)
    got = host(pg.expm1(pg.tensor(list(cases), device=device)))
    want = np.array(list(cases.values()), "c8")
    np.testing.assert_array_equal(np.abs(got.real), np.abs(want.real))
    np.testing.assert_array_equal(np.abs(got.imag), np.abs(want.imag))
    assert not np.signbit(got[0].real)


def test_sign_of_complex_zeros_is_positive_zero(device):
    zeros = [complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0)]
    got = host(pg.sign(pg.tensor([*zeros, 3j], device=device)))
    assert got.tolist() == [0, 0, 0, 1j]
    assert not np.signbit(got.view("f4")[:6]).any()


# ---- errors -------------------------------------------------------------------------------------
def test_errors_name_the_function_and_the_operands(device):
    x = pg.ones((2, 3), device=device)
    with pytest.raises(ShapeError, match=rf"\(2, 3\) and \(2,\).*add.*{device}.*equal or 1"):
        x + pg.ones(2, device=device)
    with pytest.raises((InvalidTypeError, DtypeError), match="bitwise_and"):
        x & x
    with pytest.raises(DtypeError, match=r"no integer dtype.*uint64.*astype"):
        pg.tensor([1], dtype=pg.uint64) + pg.tensor([1], dtype=pg.int64)


@pytest.mark.parametrize(
    "name",
    ["less", "greater_equal", "maximum", "minimum", "clip", "floor", "ceil", "trunc",
     "floor_divide", "remainder"],
)  # fmt: skip
def test_complex_numbers_have_no_order_on_any_device(name, device):
    z = pg.tensor([1 + 2j], device=device)
    function = getattr(pg, name)
    operands = (z,) if name in ("floor", "ceil", "trunc") else (z, z)
    with pytest.raises(DtypeError, match=rf"not defined for complex64.*{device}.*no order"):
        function(*operands)
