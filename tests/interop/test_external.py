"""`pg.external`: what is recorded, what rules see, what is refused."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest

import polygrad as pg
from polygrad.autograd import grad, gradcheck, gradgradcheck
from polygrad.errors import (
    DeviceMismatchError,
    ForeignArrayError,
    GradientError,
    InvalidTypeError,
    PrimitiveError,
)


def leaf(*shape, seed=0, dtype=pg.float64, device=None):
    values = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    if dtype == pg.complex128:
        values = values + 1j * np.random.default_rng(seed + 9).uniform(0.5, 1.5, shape)
    return pg.tensor(values.astype(dtype), requires_grad=True, device=device)


def flipped(x):
    """NumPy, compiled or not: polygrad cannot see in."""
    return np.flip(x, 0) ** 2


cube = pg.external(lambda x: x**3, {"x": lambda g, x: 3 * g * square(x)}, name="cube")
square = pg.external(lambda x: x * x, {"x": lambda g, x: 2 * g * x}, name="square")


def test_a_rule_made_of_externals_and_operations_has_every_order():
    x = leaf(3)
    assert gradcheck(cube, x)
    assert gradgradcheck(cube, x)
    (d,) = grad(pg.sum(cube(x)), x, create_graph=True)
    (d,) = grad(pg.sum(d), x, create_graph=True)
    (d,) = grad(pg.sum(d), x)
    np.testing.assert_allclose(d.numpy(), 6)


def test_a_rule_in_numpy_has_one_order_and_says_so():
    back = pg.external(lambda g, x: 2 * np.flip(g, 0) * x, name="flipped_back")
    f = pg.external(flipped, {"x": back})
    x = leaf(3)
    assert gradcheck(f, x)
    y = pg.sum(f(x))
    with pytest.raises(GradientError, match=r"no rule for '[gx]'"):
        grad(pg.sum(grad(y, x, create_graph=True)[0]), x)
    plain = pg.external(flipped, {"x": lambda g, x: 2 * np.flip(np.asarray(g), 0) * np.asarray(x)})
    assert gradcheck(plain, x)
    with pytest.raises(GradientError, match="conversion to a NumPy array"):
        grad(pg.sum(plain(x)), x, create_graph=True)


def test_several_outputs_one_function_for_all_gradients():
    def both(x, y, *, scale=1.0):
        return x * y * scale, "converged", x + y

    def back(g, x, y, scale):
        product, word, total = g
        assert word is None
        return product * y * scale + total, product * x * scale + total, None

    f = pg.external(both, back)
    x, y = leaf(2, 3), leaf(2, 3, seed=1)
    assert f(x, y)[1] == "converged"
    assert gradcheck(lambda x, y: f(x, y=y, scale=3.0)[::2], (x, y))
    assert gradgradcheck(lambda x, y: f(x, y=y, scale=3.0)[::2], (x, y))
    product, _, total = f(x, y)
    (gx,) = grad(pg.sum(total), x)  # the other output counts as zero
    np.testing.assert_array_equal(gx.numpy(), np.ones((2, 3)))
    assert product.grad_fn is total.grad_fn
    assert repr(product.grad_fn) == "<BothBackward>"
    assert gradcheck(pg.external(lambda x: [x * 2], {"x": lambda g: 2 * g[0]}), x)


def test_only_what_the_rules_of_tracked_parameters_ask_for_is_saved():
    f = pg.external(lambda x, y: x * y, {"x": lambda g, y: g * y, "y": lambda g, x: g * x})
    x, y = pg.ones(3), leaf(3)
    node = f(x, y).grad_fn
    assert node.saved[2] is not None
    assert node.saved[1] is node.saved[3] is None


def test_a_write_after_the_call_does_not_change_what_was_saved():
    x = leaf(3)
    y = x * 1
    z = cube(y)
    y[...] = 0.0
    (g,) = grad(pg.sum(z), x)
    np.testing.assert_allclose(g.numpy(), 3 * x.detach().numpy() ** 2)


def test_the_function_cannot_write_to_a_tensor():
    def careless(x):
        x *= 2
        return x

    with pytest.raises(ValueError, match="read-only") as caught:
        pg.external(careless)(leaf(3))
    assert "in the external function careless" in caught.value.__notes__


def test_a_result_that_is_the_argument_does_not_share_writes():
    x = leaf(3)
    before = x.detach().numpy().copy()
    y = pg.external(lambda x: x, {"x": lambda g: g})(x)
    y *= 2
    np.testing.assert_array_equal(x.detach().numpy(), before)


def test_broadcasting_and_dtypes_are_undone_for_a_rule():
    f = pg.external(lambda x, y: x * y, {"x": lambda g, y: g * y, "y": lambda g, x: g * x})
    x, y = leaf(3, dtype=pg.float32), leaf(2, 1)
    pg.sum(f(x, y)).backward()
    assert x.grad.shape == (3,)
    assert x.grad.dtype == pg.float32
    assert y.grad.shape == (2, 1)


def test_complex_arguments():
    f = pg.external(lambda z, c: z * np.conj(c), {"z": lambda g, c: g * c,
                                                  "c": lambda g, z: pg.conj(g) * z})  # fmt: skip
    z, c = leaf(3, dtype=pg.complex128), leaf(3, dtype=pg.complex128, seed=3)
    assert gradcheck(f, (z, c))
    assert gradgradcheck(f, (z, c))
    x = leaf(3)
    assert gradcheck(f, (x, c))  # the imaginary part of a real argument's cotangent is dropped


def test_numbers_arrays_and_no_tensor_at_all():
    f = pg.external(lambda x, y=2.0: x.sum() * y, {"x": lambda g, x, y: g * y * pg.ones(x.shape)})
    assert gradcheck(f, leaf(3))
    y = f(leaf(3), np.asarray(3.0))
    assert (y.shape, y.dtype) == ((), pg.float64)
    assert isinstance(f(np.ones(2)), pg.Tensor)
    assert not f(np.ones(2)).requires_grad
    quadrature = pg.external(math.exp, {"x": lambda g, out: g * out})
    assert gradcheck(quadrature, leaf())
    with pg.no_grad():
        assert not f(leaf(3)).requires_grad


def test_integer_results_have_no_gradient():
    f = pg.external(lambda x: (np.argsort(x), np.sort(x)), {
        "x": lambda g, out: pg.take(g[1], pg.argsort(out[0])),
    })
    x = pg.tensor([3.0, 1.0, 2.0], requires_grad=True)
    order, values = f(x)
    assert not order.requires_grad
    pg.sum(values * pg.asarray([1.0, 2.0, 3.0])).backward()
    assert x.grad.tolist() == [3.0, 1.0, 2.0]


def test_a_decorator_keeps_name_and_documentation():
    @pg.external(vjp={"x": lambda g: 2 * g})
    def double(x):
        """Twice."""
        return x + x

    assert (double.__name__, double.__doc__) == ("double", "Twice.")
    assert repr(double) == "<external double(x)>"
    assert repr(double(leaf(2)).grad_fn) == "<DoubleBackward>"


def test_the_graph_dies_without_the_collector():
    gc.disable()
    try:
        y = cube(cube(leaf(3)))
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_names_of_the_function_and_of_its_rules():
    scaled = pg.external(lambda g, out: g * out, {  # parameters that are called as rules' own are
        "g": lambda g, factor=3.0: factor * g,
        "out": lambda g, out: out,
    })  # fmt: skip
    x, y = leaf(2), leaf(2, seed=1)
    z = scaled(x, y)
    gx, gy = grad(pg.sum(z), (x, y))
    assert gx.tolist() == [3.0, 3.0]
    np.testing.assert_array_equal(gy.numpy(), z.detach().numpy())


# ---- devices ------------------------------------------------------------------------------------
def test_on_its_device_or_through_the_host_if_asked(device):
    dtype = pg.float64 if "no_" not in device else pg.float32
    x = leaf(3, device=device, dtype=dtype)
    own = pg.external(lambda x: x * x, {"x": lambda g, x: 2 * g * x})
    hosted = pg.external(lambda x: np.multiply(x, x), own.vjp, host=True)
    for f in (own, hosted):
        y = f(x)
        assert y.device == device
        (g,) = grad(pg.sum(y), x, create_graph=True)
        assert g.device == device
        (h,) = grad(pg.sum(g), x)
        np.testing.assert_allclose(g.detach().numpy(), 2 * x.detach().numpy())
        np.testing.assert_array_equal(h.numpy(), 2)


def test_host_rules_may_return_numpy_arrays():
    back = pg.external(lambda g, x: 2 * g * x, host=True)
    f = pg.external(lambda x: x * x, {"x": back}, host=True)
    x = pg.tensor([1.0, 2.0], device="strict:cpu", requires_grad=True)
    pg.sum(f(x)).backward()
    assert x.grad.tolist() == [2.0, 4.0]
    f = pg.external(lambda x: x * x, {"x": lambda g, x: g.numpy() * x.numpy() * 2}, host=True)
    x.grad = None
    pg.sum(f(x)).backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_no_round_trip_unless_asked():
    f = pg.external(lambda x: np.ones(3), name="stray")
    with pytest.raises(ForeignArrayError, match=r"on strict:cpu and returned one of numpy.*host="):
        f(pg.ones(3, device="strict:cpu"))
    f = pg.external(lambda x, y: x, name="two")
    with pytest.raises(DeviceMismatchError, match=r"cpu and strict:cpu\. two, argument y"):
        f(pg.ones(3), pg.ones(3, device="strict:cpu"))
    f = pg.external(lambda x: x, {"x": lambda g: pg.ones(3, device="strict:cpu")}, name="lost")
    with pytest.raises(DeviceMismatchError, match=r"a gradient on strict:cpu for .* on cpu"):
        pg.sum(f(leaf(3))).backward()


# ---- what is wrong ------------------------------------------------------------------------------
def test_declarations_are_checked():
    with pytest.raises(PrimitiveError, match=r"rule for 'z', which is no parameter.* x"):
        pg.external(lambda x: x, {"z": lambda g: g})
    with pytest.raises(PrimitiveError, match=r"unknown \['y'\].*legal names: g, out, x"):
        pg.external(lambda x: x, {"x": lambda g, y: g})
    with pytest.raises(PrimitiveError, match=r"unknown \['F'\]"):
        pg.external(lambda x: x, lambda g, F: (g,))

    class Compiled:
        __signature__ = "unknown"

        def __call__(self, x):
            return x

    with pytest.raises(InvalidTypeError, match=r"function Compiled\. wrap it: def f"):
        pg.external(Compiled())


def test_calls_are_checked():
    f = pg.external(lambda x, y: x, {"x": lambda g: g}, name="first")
    with pytest.raises(InvalidTypeError, match=r"a Tensor inside a list\. first, argument y"):
        f(leaf(2), [leaf(2)])
    with pytest.raises(TypeError, match="missing a required argument"):
        f(leaf(2))
    with pytest.raises(GradientError, match=r"no rule for 'y'\. external function first"):
        pg.sum(f(leaf(2), leaf(2))).backward()


def test_what_rules_return_is_checked():
    f = pg.external(lambda x: x, {"x": lambda g: pg.ones(2)}, name="short")
    with pytest.raises(GradientError, match=r"shape \(2,\) for an argument of shape \(3,\)\."):
        pg.sum(f(leaf(3))).backward()
    f = pg.external(lambda x, y: x, lambda g: (g,), name="few")
    with pytest.raises(GradientError, match=r"1 gradients for 2 parameters.*few.*each of x, y"):
        pg.sum(f(leaf(3), leaf(3))).backward()
    none = pg.external(lambda x: x, {"x": lambda g: None})
    x = leaf(3)
    pg.sum(none(x)).backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_a_wrong_rule_is_found():
    wrong = pg.external(lambda x: x * x, {"x": lambda g, x: g * x})
    with pytest.raises(GradientError, match="central differences"):
        gradcheck(wrong, leaf(3))
