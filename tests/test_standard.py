"""The array API standard, 2025.12, with its extensions: each of its functions, and its derivative.

The list is written out, so that no function can be forgotten. What has a derivative is checked
against JAX's, where JAX has the function: test_ops_generated.py checks all against differences.
"""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest

import polygrad as pg
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.primitive import CONSTANT
from polygrad.testing import samples_of, take_apart
from tests.devices import DEVICES, optional, present

load_all()


def words(text):
    return text.split()


# With a derivative: the result depends on floating arguments, other than by steps.
DIFFERENTIABLE = words("""
abs acos acosh add asarray asin asinh astype atan atan2 atanh broadcast_arrays broadcast_to clip
concat conj copysign cos cosh cumulative_prod cumulative_sum diff divide exp expand_dims expm1 flip
full full_like hypot imag linspace log log10 log1p log2 logaddexp matmul matrix_transpose max
maximum mean meshgrid min minimum moveaxis multiply negative nextafter permute_dims positive pow
prod real reciprocal remainder repeat reshape roll sign sin sinh sort sqrt square squeeze stack std
subtract sum take take_along_axis tan tanh tensordot tile tril triu unique_all unique_counts
unique_inverse unique_values unstack var vecdot where
linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eig linalg.eigh linalg.eigvals
linalg.eigvalsh linalg.inv linalg.matrix_norm linalg.matrix_power linalg.outer linalg.pinv linalg.qr
linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.trace linalg.vector_norm
fft.fft fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifftn fft.ifftshift fft.ihfft fft.irfft
fft.irfftn fft.rfft fft.rfftn
""")

# Steps: the derivative is zero wherever it exists, and said to be so.
CONSTANT_FUNCTIONS = words("ceil floor floor_divide round trunc")

# No derivative: no floating argument, or a result of truth values, integers or facts.
WITHOUT = words("""
__array_namespace_info__ all any arange argmax argmin argsort bitwise_and bitwise_invert
bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_shapes can_cast
count_nonzero empty empty_like equal eye finfo from_dlpack greater greater_equal iinfo isdtype
isfinite isin isinf isnan less less_equal logical_and logical_not logical_or logical_xor nonzero
not_equal ones ones_like result_type searchsorted signbit zeros zeros_like
linalg.matrix_rank fft.fftfreq fft.rfftfreq
""")

# These are in the extension linalg too.
TWICE = words("matmul matrix_transpose tensordot vecdot")


def test_every_function_of_the_standard_is_listed():
    strict = optional("array_api_strict")
    pg.zeros((), device="strict:cpu")  # its backend asks for the revision of 2025.12
    spaces = {
        "": (strict, strict.__all__),
        "linalg.": (strict.linalg, [*strict.linalg.__all__, "eig", "eigvals"]),  # it forgets two
        "fft.": (strict.fft, strict.fft.__all__),
    }
    named = {
        prefix + name
        for prefix, (space, names) in spaces.items()
        for name in names
        if isinstance(getattr(space, name), FunctionType) and "array_api_strict" not in name
    }
    named -= {f"linalg.{n}" for n in TWICE}
    lists = [DIFFERENTIABLE, CONSTANT_FUNCTIONS, WITHOUT]
    assert named == {n for part in lists for n in part}
    assert [len(part) for part in lists] == [118, 5, 48]


@pytest.mark.parametrize("name", [*DIFFERENTIABLE, *CONSTANT_FUNCTIONS, *WITHOUT])
def test_every_function_is_there(name):
    part = pg
    for step in name.split("."):
        part = getattr(part, step)
    assert callable(part)
    space, _, last = name.rpartition(".")
    there = pg.namespace("cpu")
    assert callable(getattr(getattr(there, space) if space else there, last))
    if name in TWICE:
        assert getattr(pg.linalg, name) is part


@pytest.mark.parametrize("name", sorted({*DIFFERENTIABLE} - {"asarray"}))
def test_what_has_a_derivative_is_declared_so(name):
    """Then it has gradient checks, of first and second order, on several devices."""
    operation = OPERATIONS[name]
    assert operation.differentiable
    arrays = [a for kind in operation.kinds if kind in "fc"
              for call in samples_of(operation, {"f": pg.float64, "c": pg.complex128}[kind])
              for a in take_apart(*call)[0]]  # fmt: skip
    assert any(a.size for a in arrays)
    if "c" in operation.kinds:
        assert any(a.dtype.kind == "c" and a.size for a in arrays)


def test_asarray_keeps_the_tape():
    x = pg.tensor([1.0, 2.0], requires_grad=True)
    pg.sum(pg.asarray(x, dtype=pg.float64) * pg.asarray([x[0], 3.0])).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2 + 0, 3])


def test_constants_are_declared_so():
    for name in CONSTANT_FUNCTIONS:
        assert set(OPERATIONS[name].primitive.vjp.values()) == {CONSTANT}, name
    for name in set(WITHOUT) & OPERATIONS.keys():
        assert not OPERATIONS[name].differentiable, name


# ---- complex numbers: the standard has these for real ones only --------------------------------
REAL_ONLY = set(words("""
atan2 ceil clip copysign floor floor_divide hypot logaddexp max maximum min minimum nextafter
remainder sort trunc fft.ihfft fft.rfft fft.rfftn
"""))


def test_what_takes_complex_numbers_is_checked_with_them():
    for name in {*DIFFERENTIABLE, *CONSTANT_FUNCTIONS} - {"asarray"}:
        assert ("c" in OPERATIONS[name].kinds) == (name not in REAL_ONLY), name


# ---- against JAX ---------------------------------------------------------------------------------
NOT_IN_JAX = {
    "asarray", "astype", "nextafter", "unique_all", "unique_counts", "unique_inverse",
    "sign", "unique_values",  # their gradient is zero there, also where it is not
}  # fmt: skip
SAMPLES = 2

# Vectors are determined up to a factor: what does not depend on it.
def _absolute(xp, made):
    return [xp.abs(t) for t in made]


WITHOUT_FACTORS = {
    "linalg.eig": lambda xp, made: [made[0], xp.abs(made[1])], "linalg.eigh": _absolute,
    "linalg.qr": _absolute, "linalg.svd": _absolute,
}  # fmt: skip


def jax_function(name):
    import jax
    import jax.numpy as jnp

    if name == "linalg.eig":  # it wants to be told that the eigenvalues are distinct
        return lambda x: jax.lax.linalg.eig(
            x, compute_left_eigenvectors=False, enable_eigvec_derivs=True
        )
    part = jnp
    for step in name.split("."):
        part = getattr(part, step)
    return part


def results(name, xp, made):
    """The floating results, without what is arbitrary in them."""
    found = list(made) if isinstance(made, (tuple, list)) else [made]
    if name in WITHOUT_FACTORS:
        found = WITHOUT_FACTORS[name](xp, found)
    return [t for t in found if np.dtype(t.dtype).kind in "fc"]


def cotangent(shape, dtype):
    w = np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)
    return (w * (1 - 0.5j) if np.dtype(dtype).kind == "c" else w).astype(dtype)


def native(value):
    """An argument of a sampled call for JAX."""
    import jax.numpy as jnp

    if isinstance(value, pg.Tensor):
        return jnp.asarray(value.numpy())
    if isinstance(value, (list, tuple)) and any(isinstance(v, pg.Tensor) for v in value):
        return type(value)(native(v) for v in value)
    return value


@pytest.mark.skipif(
    "jax:cpu:0" not in DEVICES or not present("jax:cpu:0"),
    reason="JAX is not among the devices of this run (2026-11-30)",
)
@pytest.mark.parametrize("name", sorted({*DIFFERENTIABLE, *CONSTANT_FUNCTIONS} - NOT_IN_JAX))
def test_gradients_are_jax_gradients(name):
    """JAX's cotangents are conjugates of ours."""
    import jax
    import jax.numpy as jnp

    operation = OPERATIONS[name]
    compared = 0
    for kind in set(operation.kinds) & set("fc"):
        done = 0
        for args, kwargs in samples_of(operation, {"f": pg.float64, "c": pg.complex128}[kind]):
            flat, build = take_apart(args, kwargs)
            if done == SAMPLES or not any(a.size for a in flat):
                continue
            if any(isinstance(v, tuple) and -1 in v for v in args) and name == "permute_dims":
                continue  # JAX has no negative axes there
            done += 1
            xs = [pg.tensor(a, requires_grad=True) for a in flat]
            positional, named = build(xs, "cpu")
            ours = results(name, pg, operation.function(*positional, **named))

            def theirs(*arrays, build=build):
                positional, named = build(arrays, "cpu")
                made = jax_function(name)(*map(native, positional), **{
                    k: native(v) for k, v in named.items()})  # fmt: skip
                return results(name, jnp, made)

            def both(arrays, weights, theirs=theirs):
                made, pull = jax.vjp(theirs, *arrays)
                return made, pull(weights)

            weights = [cotangent(t.shape, t.dtype) for t in ours]
            made, pulled = jax.jit(both)(
                list(map(jnp.asarray, flat)), [jnp.asarray(np.conj(w)) for w in weights]
            )
            for a, b in zip(ours, made, strict=True):
                np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-9, atol=1e-11)
            want = [np.conj(g) for g in pulled]
            tracked = [(o, pg.tensor(w)) for o, w in zip(ours, weights, strict=True)
                       if o.requires_grad]  # fmt: skip
            got = pg.autograd.grad([o for o, _ in tracked], xs, [w for _, w in tracked],
                                   materialize_grads=True)  # fmt: skip
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(np.asarray(g), w, rtol=1e-8, atol=1e-10)
            compared += 1
    assert compared
