"""What every backend promises, asked of each; then what one backend alone does."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import polygrad as pg
from polygrad import dtypes
from polygrad.device import Device
from polygrad.kernels import bind, parameter_names
from polygrad.registry import find_device, find_kernels, load
from tests.devices import DEVICES, present
from tests.fake_cupy import CURRENT
from tests.fake_plugin import fake_cupy

FAKES = ("cuda:0", "cuda:1")
@pytest.fixture(params=[*DEVICES, *(f"fake {name}" for name in FAKES)])
def place(request):
    """A backend and one of its devices; "fake" is the CuPy plugin without CuPy."""
    name = request.param
    if name.startswith("fake "):
        return fake_cupy(), Device(name[5:])
    if not present(name):
        if os.environ.get("CI"):
            pytest.fail(f"{name} is missing: CI installs every backend")
        pytest.skip(f"{name} is not installed here (2026-11-29: optional outside CI)")
    device = find_device(name)
    return find_kernels(name, "float32").backend, device


def bits(array):
    return array.tobytes(), array.shape, array.dtype


def held(backend, device):
    """What Kernels hold around a call."""
    guard = backend.guard(device)
    return nullcontext() if guard is None else guard()


def sample(dtype, shape, rng):
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def supported(backend, device):
    return [dtype for dtype in dtypes.ALL if backend.supports(dtype, device)]


# ---- to the device and back ------------------------------------------------------------------
def test_a_round_trip_keeps_every_bit(place):
    backend, device = place
    rng = np.random.default_rng(0)
    for dtype in supported(backend, device):
        whole = sample(dtype, (4, 6, 2), rng)
        cases = [
            whole, whole[0, 0, 0], np.asarray(whole[0, 0, 0]), whole[:, :0], whole[0], whole.T,
            whole[::-2, ::3], np.broadcast_to(whole[0], (3, 6, 2)), np.empty((0, 3), dtype),
        ]  # fmt: skip
        for host in map(np.asarray, cases):
            array = backend.from_numpy(host, device)
            assert type(array) is backend.array_types[0]
            assert backend.device_of(array) == device
            assert backend.dtype_of(array) == dtype
            back = backend.to_numpy(array)
            assert type(back) is np.ndarray
            assert bits(back) == bits(host), (dtype, host.shape)


def test_special_values_keep_their_bits(place):
    backend, device = place
    for dtype, unsigned in ((dtypes.float32, np.uint32), (dtypes.float64, np.uint64)):
        if not backend.supports(dtype, device):
            continue
        width = np.dtype(unsigned).itemsize * 8
        payload = {32: 0x7FC00123, 64: 0x7FF8000000000123}[width]
        pattern = np.array([payload, payload | 1 << (width - 1), 1 << (width - 1), 1], unsigned)
        host = np.concatenate([pattern.view(dtype), np.array([np.inf, -np.inf], dtype)])
        assert bits(backend.to_numpy(backend.from_numpy(host, device))) == bits(host)


def test_what_is_made_from_a_host_array_shares_no_memory(place):
    backend, device = place
    for size in (4, 1 << 16):
        whole = np.zeros(size * 4 + 64, np.uint8)  # JAX keeps memory aligned to 64 bytes
        host = whole[-whole.ctypes.data % 64 :][: size * 4].view(np.float32)
        before = host.copy()
        array = backend.from_numpy(host, device)
        host[...] = 7
        assert bits(backend.to_numpy(array)) == bits(before)


def test_a_copy_and_a_transfer_share_no_memory(place):
    backend, device = place
    array = backend.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3), device)
    for other in backend.devices():
        copies = [backend.transfer(array, other)] if other != device else [backend.copy(array)]
        for made in copies:
            assert backend.device_of(made) == other
            assert bits(backend.to_numpy(made)) == bits(backend.to_numpy(array))
            if backend.capabilities.writeable and other == device:
                with held(backend, device):
                    made[0, 0] = 9
                assert backend.to_numpy(array)[0, 0] == 0


def test_casting(place):
    backend, device = place
    host = np.array([-1.5, 0.0, 2.5], np.float32)
    array = backend.from_numpy(host, device)
    for dtype in (dtypes.float32, dtypes.int32, dtypes.bool, dtypes.complex64):
        made = backend.astype(array, dtype)
        assert backend.dtype_of(made) == dtype
        np.testing.assert_array_equal(backend.to_numpy(made), host.astype(dtype))
    values = np.array([1 + 2j, -3j], np.complex64)
    made = backend.astype(backend.from_numpy(values, device), dtypes.float32)
    np.testing.assert_array_equal(backend.to_numpy(made), values.real)


# ---- devices, dtypes, kernels -----------------------------------------------------------------
def test_device_names_are_canonical(place):
    backend, device = place
    present_here = backend.devices()
    assert device in present_here
    assert len(set(present_here)) == len(present_here)
    for d in present_here:
        assert d.kind in backend.device_kinds
        assert backend.canonical_device(d) == d
        assert backend.canonical_device(Device(d.kind)) in present_here
    assert backend.canonical_device(Device(device.kind)) == present_here[0]
    assert backend.canonical_device(Device(f"{device.kind}:none")) is None
    assert backend.canonical_device(Device(f"{device.name}9")) is None


def test_kernels_are_one_object_for_each_place_and_dtype(place):
    backend, device = place
    for dtype in supported(backend, device):
        k = backend.kernels(device, dtype)
        assert backend.kernels(Device(device.name), np.dtype(dtype.name)) is k
        array = k.full((2,), 1)
        assert type(array) is backend.array_types[0]
        assert backend.kernels_of(array) is k
        assert k.of(array) is k
        assert k.cast(array) is array
        assert bits(backend.to_numpy(k.zeros((2, 0)))) == bits(np.zeros((2, 0), dtype))
        assert bits(backend.to_numpy(k.ones(()))) == bits(np.ones((), dtype))


def test_an_operation_is_resolved_once(place):
    backend, device = place
    k = backend.kernels(device, dtypes.float32)
    out = k.coerce(k.exp(k.zeros((2,))))
    assert k.exp is k.exp
    np.testing.assert_array_equal(backend.to_numpy(out), [1, 1])
    with pytest.raises(pg.errors.UnsupportedOperationError, match="no kernel for nonsense"):
        k.resolve("nonsense")


def test_a_registered_kernel_is_taken_at_once(place):
    backend, device = place
    k = backend.kernels(device, dtypes.float32)
    other = backend.kernels(device, dtypes.int32)
    x = k.zeros((2,))
    k.exp(x)
    key = ("exp", device.name, "float32")
    backend.kernel("exp", device=device.name, dtype="float32")(lambda F, x: (F, x))
    try:
        assert k.exp(x) == (k, x)
        assert k.origin("exp").startswith("kernel ")
        assert not other.origin("exp").startswith("kernel ")
    finally:
        del backend.table.entries[key]
        k.forget("exp")
    np.testing.assert_array_equal(backend.to_numpy(k.coerce(k.exp(x))), [1, 1])


def test_kernels_are_shown_of_all_that_a_kernel_can_serve():
    assert "forward" in pg.show_kernels("unique_all", "cpu", pg.float32)  # it is no primitive


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("gather", "gather is made of other operations"),
        ("linalg.svd", "did you mean: svd"),
        ("take_along_axes", "did you mean: take_along_axis"),
        ("xyzzy", "polygrad.kernels.FORWARDS has all names"),
    ],
)
def test_of_what_no_kernel_serves_the_error_says_what_to_ask_for(name, advice):
    with pytest.raises(pg.errors.InvalidArgumentError, match=f"no kernel serves '{name}'") as said:
        pg.show_kernels(name)
    assert advice in str(said.value)


def test_a_kernel_gets_the_kernels_that_it_asks_for():
    k = find_kernels("cpu", "float32")

    def locals_do_not_count(x):
        for F in (x,):
            x = F
        return x

    for function, want in (
        (lambda x: ("x", x), ("x", 1)),
        (lambda F, x: (F, x), (k, 1)),
        (lambda F, *inputs: (F, *inputs), (k, 1)),
        (lambda F, **keywords: (F, keywords), None),
        (lambda F: lambda x: (F, x, "made"), (k, 1, "made")),
        (locals_do_not_count, 1),
    ):
        bound = bind(function, k)
        assert (bound(y=2) == (k, {"y": 2})) if want is None else (bound(1) == want)
    assert bind(np.add, k) is np.add
    for function in (lambda a, *b, c, **d: a, lambda *a: a, lambda a, b=1: a, locals_do_not_count):
        assert parameter_names(function) == tuple(inspect.signature(function).parameters)


def test_numbers_become_the_operands_that_a_backend_wants(place):
    backend, device = place
    k = backend.kernels(device, dtypes.float32)
    if k.scalar is None:
        return
    for number in (0.0, -0.0, 2.5, 3, float("inf"), float("nan")):
        operand = k.scalar(number)
        assert bits(backend.to_numpy(operand)) == bits(np.asarray(number, np.float32))
        assert k.scalar(number) is operand
    assert bool(backend.to_numpy(backend.kernels(device, dtypes.bool).scalar(True)))
    with pytest.raises(OverflowError):
        backend.kernels(device, dtypes.uint8).scalar(300)
    for number in range(1000):
        k.scalar(number)
    assert float(backend.to_numpy(k.scalar(2.5))) == 2.5


def test_memory_and_waiting(place):
    backend, device = place
    backend.synchronize(device)
    report = backend.memory(device)
    assert report is None or 0 < report[0] <= report[1]


def test_quiet(place):
    backend, _ = place
    with backend.quiet():
        np.zeros(1) / np.zeros(1) if backend.name == "numpy" else None


# ---- keys ------------------------------------------------------------------------------------
S = slice(None)
I2 = np.array([[2, 0], [-1, 2]])
KEYS = [
    (Ellipsis,), (1, Ellipsis), (-1, -2, Ellipsis), (1, 2, 3, Ellipsis),
    (slice(1, 3), Ellipsis), (S, slice(None, None, -1), Ellipsis), (None, 1, Ellipsis, None),
    (slice(-1, None, -2), 0, Ellipsis), (slice(5, 100), Ellipsis), (slice(2, 1), Ellipsis),
    (Ellipsis, slice(-100, 2)), (Ellipsis, -1), (S, 1, Ellipsis),
    (0, S, slice(3, None, -2), Ellipsis),
    (I2,), (np.array([2, 2, 0, 2]),), (S, np.array([1, 1, -3])), (Ellipsis, np.array([0, 3, 3])),
    (np.array([0, 1, 0]), np.array([2, 2, 2])), (I2, np.array([1, 0])), (np.array(1),),
    (np.array([0, 2, 0]), S, np.array([1, 3, 1])), (1, S, np.array([1, 1])),
    (np.array([1, 1]), None, 2), (S, None, np.array([0, 0])), (np.array([], dtype=int),),
    (np.array([1, 0], np.uint8),), (np.array([1, 0], np.int8), Ellipsis, np.array([3, 2])),
    (np.array([True, False, True]),), (S, np.array([False, True, True])), (np.zeros(3, bool),),
    (np.arange(36).reshape(3, 3, 4) % 5 == 0,), (np.eye(3, dtype=bool),),
    (np.eye(3, dtype=bool), 1), (np.array([True, False, True]), S, np.array([0, 3])),
    (np.array([0, 1, 1]), np.array([True, True, True])), (np.array(True),),
    (np.array(False), Ellipsis),
]  # fmt: skip
OUTSIDE = [
    (3, Ellipsis), (-4, Ellipsis), (0, 0, 4, Ellipsis), (np.array([0, 3]),), (S, np.array([-4])),
    (np.array([0]), S, np.array([4])), (0, 0, 0, 0, Ellipsis), (np.array([True, False]),),
]  # fmt: skip


def on_device(backend, device, key):
    """The key with its arrays on the device, in an integer type that it has."""
    def moved(k):
        if not isinstance(k, np.ndarray):
            return k
        return backend.from_numpy(
            k if backend.supports(k.dtype, device) else k.astype(np.int32), device
        )

    return tuple(map(moved, key))


@pytest.fixture
def block(place):
    backend, device = place
    host = np.arange(36, dtype=np.float32).reshape(3, 3, 4)
    return backend, device, host, backend.from_numpy(host, device)


def settled(backend, device, value):
    return backend.to_numpy(backend.coerce(value, device))


def test_reading(block):
    backend, device, host, array = block
    for key in KEYS:
        got = settled(backend, device, backend.getitem(array, on_device(backend, device, key)))
        want = np.asarray(host[key])
        assert got.shape == want.shape, key
        np.testing.assert_array_equal(got, want, err_msg=str(key))


def test_writing(block):
    backend, device, host, array = block
    rng = np.random.default_rng(1)
    for key in KEYS:
        there = on_device(backend, device, key)
        shape = np.shape(host[key])
        full = rng.normal(size=shape).astype(np.float32)
        values = [full, full[..., :1] if shape else full, 2.5, 3]
        if not any(isinstance(k, np.ndarray) and k.dtype == bool for k in key):
            values.append(full[None])  # NumPy refuses it for masks
        for value in values:
            want = host.copy()
            want[key] = value
            given = backend.from_numpy(value, device) if isinstance(value, np.ndarray) else value
            got = settled(backend, device, backend.set_at(array, there, given))
            np.testing.assert_array_equal(got, want, err_msg=f"{key} {np.shape(value)}")
    np.testing.assert_array_equal(backend.to_numpy(array), host)


def test_of_equal_places_the_last_write_stays(block):
    backend, device, host, array = block
    key = (np.array([1, 0, 1, 1, 0]),)
    values = np.arange(5 * 12, dtype=np.float32).reshape(5, 3, 4)
    want = host.copy()
    for i, v in zip(key[0], values, strict=True):
        want[i] = v
    there = on_device(backend, device, key)
    got = backend.set_at(array, there, backend.from_numpy(values, device))
    np.testing.assert_array_equal(settled(backend, device, got), want)


def test_adding(block):
    backend, device, host, array = block
    for key in KEYS:
        there = on_device(backend, device, key)
        value = np.ones(np.shape(host[key]), np.float32)
        want = host.copy()
        np.add.at(want, key, value)
        got = backend.add_at(array, there, backend.from_numpy(value, device))
        np.testing.assert_array_equal(settled(backend, device, got), want, err_msg=str(key))
        want = host.copy()
        np.add.at(want, key, 2.0)
        if all(k is not None for k in key) or backend.capabilities.sparse_keys:
            got = backend.add_at(array, there, 2.0)
            np.testing.assert_array_equal(settled(backend, device, got), want, err_msg=str(key))
    np.testing.assert_array_equal(backend.to_numpy(array), host)


def test_adding_in_every_dtype(place):
    backend, device = place
    rng = np.random.default_rng(2)
    key = (np.array([0, 2, 0, 0, -1]),)
    there = on_device(backend, device, key)
    for dtype in supported(backend, device):
        host, value = sample(dtype, (3, 2), rng), sample(dtype, (5, 2), rng)
        want = host.copy()
        np.add.at(want, key, value)
        array, operand = (backend.from_numpy(a, device) for a in (host, value))
        got = settled(backend, device, backend.add_at(array, there, operand))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=1e-2 if dtype.itemsize == 2 else 1e-6)


def test_an_index_out_of_range_raises(block):
    backend, device, _, array = block
    one = backend.from_numpy(np.float32(1), device)
    checked = backend.capabilities.checks_indices or not backend.capabilities.sparse_keys
    for key in OUTSIDE:
        arrays = any(isinstance(k, np.ndarray) and k.dtype.kind == "i" for k in key)
        if arrays and not checked:
            continue  # not looked at, as the plugin says
        there = on_device(backend, device, key)
        errors = (IndexError, *backend.index_errors)
        for call in (
            lambda: backend.getitem(array, there),  # noqa: B023  called at once
            lambda: backend.set_at(array, there, one),  # noqa: B023
            lambda: backend.add_at(array, there, one),  # noqa: B023
        ):
            with pytest.raises(errors):
                call()


def test_a_value_that_does_not_fit_raises(block):
    backend, device, _, array = block
    for shape in ((5,), (2, 2, 4), (2, 1, 1, 4)):
        value = backend.from_numpy(np.zeros(shape, np.float32), device)
        for key in ((1, Ellipsis), (np.array([0, 1, 2]),), (np.array([True, False, True]),)):
            with pytest.raises(ValueError):  # noqa: PT011  the library's own words
                backend.set_at(array, on_device(backend, device, key), value)


def test_strided_views(place):
    backend, device = place
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    view = backend.strided_view(backend.from_numpy(host, device), (2, 2, 3), (12, 2, 1))
    if view is not None:
        want = np.lib.stride_tricks.as_strided(host, (2, 2, 3), (48, 8, 4))
        np.testing.assert_array_equal(settled(backend, device, view), want)


def test_strided_views_of_flipped_arrays(place):
    backend, device = place
    host = np.arange(12, dtype=np.float32)
    flipped = backend.getitem(backend.from_numpy(host, device), (slice(None, None, -1), Ellipsis))
    view = backend.strided_view(flipped, (4, 3), (3, 1))
    if view is not None:
        np.testing.assert_array_equal(settled(backend, device, view), host[::-1].reshape(4, 3))


def test_where_of_flipped_arrays(place):
    """dpnp read memory that was not theirs."""
    backend, device = place
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    back = (slice(None, None, -1), slice(None, None, -1), Ellipsis)
    x = backend.getitem(backend.from_numpy(host, device), back)
    mask = backend.getitem(backend.from_numpy(host > 5, device), back)
    k = backend.kernels(device, dtypes.float32)
    for number in (x, k.full((), -1.0)):
        for a, b in ((x, number), (number, x)):
            want = np.where(*(backend.to_numpy(t) for t in (mask, a, b)))
            np.testing.assert_array_equal(settled(backend, device, k.where(mask, a, b)), want)
            with nullcontext() if k.guard is None else k.guard():
                plain = k.xp.where(mask, a, b)
            np.testing.assert_array_equal(settled(backend, device, plain), want)


def test_reductions_agree_with_numpy(place):
    """Whatever serves them: kernels of the backend, or the library."""
    backend, device = place
    k = backend.kernels(device, dtypes.float32)
    rng = np.random.default_rng(3)
    large = (64, 16, 8, 32)
    for shape in ((3, 4, 5), large):
        host = rng.normal(size=shape).astype(np.float32)
        array = backend.from_numpy(host, device)
        for axis in (None, -1, (0,), (0, 2), (-1, 0, 1)):
            for keepdims in (False, True):
                for name in ("sum", "mean", *(("prod", "max", "min") if shape != large else ())):
                    got = k.coerce(getattr(k, name)(array, axis=axis, keepdims=keepdims))
                    want = getattr(np, name)(host.astype(np.float64), axis=axis, keepdims=keepdims)
                    message = f"{name} {shape} {axis} {keepdims}"
                    got = backend.to_numpy(got)
                    assert got.dtype == np.float32
                    assert got.shape == want.shape, message
                    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-3, err_msg=message)


def test_half_precision_sums_in_single(place):
    backend, device = place
    if not backend.supports(dtypes.float16, device):
        return
    k = backend.kernels(device, dtypes.float16)
    mean = k.coerce(k.mean(k.ones((70_000,)), axis=None, keepdims=False))
    assert backend.dtype_of(mean) == dtypes.float16
    assert float(backend.to_numpy(mean)) == 1.0
    total = k.coerce(k.sum(k.full((4096,), 2.0**-4), axis=0, keepdims=False))
    assert float(backend.to_numpy(total)) == 256.0


# ---- the promise of `unshared` ----------------------------------------------------------------
class Holder:
    __slots__ = ("array",)


def test_what_is_not_alone_is_never_called_unshared(place):
    """A live view, a saved value, a raw alias: each is seen, or the answer is always no."""
    backend, device = place
    holder = Holder()
    for hold in (
        lambda a: a,
        lambda a: backend.getitem(a, (slice(1, 2), Ellipsis)),
        lambda a: backend.xp.reshape(a, (-1,)),
        lambda a: backend.xp.permute_dims(a, (1, 0)),
        lambda a: (a, "saved on a tape"),
    ):
        holder.array = backend.from_numpy(np.zeros((4, 4), np.float32), device)
        with held(backend, device):
            witness = hold(holder.array)
        if isinstance(witness, backend.array_types) and backend.name == "jax":
            continue  # its views are copies
        assert not backend.unshared(holder)
        del witness


def test_a_lone_array_is_unshared_where_that_can_be_known():
    backend = load("numpy")
    holder = Holder()
    holder.array = backend.from_numpy(np.zeros(4), Device("cpu"))
    counted = sys.implementation.name == "cpython" and sys._is_gil_enabled() if hasattr(
        sys, "_is_gil_enabled") else True  # fmt: skip
    assert backend.unshared(holder) is counted
    view = holder.array[1:]
    assert not backend.unshared(holder)
    del view
    assert backend.unshared(holder) is counted
    holder.array.flags.writeable = False
    assert not backend.unshared(holder)
    holder.array = np.arange(4)[1:]
    assert not backend.unshared(holder)


def test_a_write_in_place_changes_nothing_else(device):
    """Through Tensors: the view follows, the saved value, the alias and the host array do not."""
    host = np.arange(6, dtype=np.float32)
    x = pg.tensor(host, device=device)
    w = pg.tensor(host, device=device, requires_grad=True)
    y = w * x  # saves x
    alias = x.native()
    view = x[1:3]
    x[2] = 50.0
    np.testing.assert_array_equal(x.numpy(), [0, 1, 50, 3, 4, 5])
    np.testing.assert_array_equal(view.numpy(), [1, 50])
    np.testing.assert_array_equal(x.kernels.backend.to_numpy(alias), host)
    y.backward(pg.ones((6,), device=device))
    np.testing.assert_array_equal(w.grad.numpy(), host)
    np.testing.assert_array_equal(host, np.arange(6))


# ---- read-only NumPy --------------------------------------------------------------------------
WRITES = {
    "setitem": lambda z: z.__setitem__(0, 1),
    "in-place operator": lambda z: z.__iadd__(1),
    "out": lambda z: np.add(z, 1, out=z),
    "out of a reduction": lambda z: np.sum(z[None], axis=0, out=z),
    "at": lambda z: np.add.at(z, 0, 1),
    "fill": lambda z: z.fill(0),
    "sort": lambda z: z.sort(),
    "copyto": lambda z: np.copyto(z, 0),
    "put": lambda z: np.put(z, 0, 1),
    "put_along_axis": lambda z: np.put_along_axis(z, np.zeros((2, 1), int), 1, 1),
    "element": lambda z: z[0].__setitem__(0, 1),
    "view": lambda z: z.T.__setitem__(0, 1),
    "flat": lambda z: z.flat.__setitem__(0, 1),
    "plain view": lambda z: z.view(np.ndarray).fill(0),
    "asarray": lambda z: np.asarray(z).fill(0),
    "buffer": lambda z: memoryview(z).__setitem__((0, 0), 1.0),
    "flags": lambda z: z.setflags(write=True),
    "owner": lambda z: z.base.fill(0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_frozen_array_cannot_be_written(write):
    z = find_kernels("frozen:0", "float64").full((2, 2), 3.0)
    with pytest.raises((ValueError, TypeError)):
        write(z)
    np.testing.assert_array_equal(np.asarray(z), np.full((2, 2), 3.0))


def test_what_polygrad_holds_is_frozen_and_what_kernels_make_is_not():
    k = find_kernels("frozen:0", "float32")
    z = k.full((2, 2), 3.0)
    for made in (
        z + 1, 1 - z, np.exp(z), z.sum(axis=0), z[0], z[np.array([0, 1])], z.copy(), z @ z,
        np.concatenate([z, z]), np.where(z > 0, z, 0), np.zeros_like(z), np.add.reduce(z),
        z.astype(np.float64), z.reshape(4), z.transpose(1, 0), z * np.ones(2, np.float32),
    ):  # fmt: skip
        assert type(made) is np.ndarray
        kept = k.coerce(made)
        assert type(kept) is k.array_type
        assert not kept.flags.writeable
    x = pg.tensor([1.0, 2.0], device="frozen:0", requires_grad=True)
    y = (x * x)[0] + pg.zeros((), device="frozen:0")
    y.backward()
    for t in (x, y, x.grad):
        assert type(t.native() if not t.requires_grad else t.detach().native()) is k.array_type


# ---- dpnp -------------------------------------------------------------------------------------
def needs(name):
    return pytest.mark.skipif(
        not present(name), reason=f"{name} is not installed (2026-11-29: optional outside CI)"
    )


@needs("sycl:cpu:0")
def test_dpnp_names_opencl_for_itself_and_leaves_it_alone_when_asked():
    """In fresh processes: the variable must be set before anything asks for devices."""
    code = (
        "import os, polygrad as pg; from polygrad.errors import PolygradError\n"
        "try: print(pg.zeros(2, device='sycl').device, bool(os.environ.get('OCL_ICD_FILENAMES')))\n"
        "except PolygradError as e: print(type(e).__name__, e)"
    )
    plain = {n: v for n, v in os.environ.items() if n != "OCL_ICD_FILENAMES"}
    for extra, start, end in (
        ({}, "sycl:", "True"),
        ({"POLYGRAD_NO_OPENCL_SETUP": "1"}, "BackendBrokenError", "POLYGRAD_NO_OPENCL_SETUP=1"),
    ):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**plain, **extra}, check=True, capture_output=True, text=True,
        )  # fmt: skip
        if "OCL_ICD_FILENAMES" not in os.environ and extra and run.stdout.startswith("sycl:"):
            continue  # this machine's own OpenCL installation names the runtime
        assert run.stdout.startswith(start), run.stdout
        assert end in run.stdout


@needs("sycl:cpu:0")
def test_dpnp_takes_each_card_once(monkeypatch):
    from types import SimpleNamespace

    from polygrad.backends import dpnp_devices

    def cards(driver, *vendors):
        return [SimpleNamespace(vendor=vendor, driver=driver) for vendor in vendors]

    seen = {
        ("level_zero", "gpu"): cards("level_zero", "Intel", "Intel"),
        ("opencl", "gpu"): cards("opencl", "Intel", "Intel", "AMD"),
        ("opencl", "cpu"): cards("opencl", "Intel"),
    }
    monkeypatch.setattr(
        dpnp_devices.dpctl, "get_devices",
        lambda backend, device_type: seen.get((backend, device_type), []),
    )  # fmt: skip
    found = {name: d.driver for name, d in dpnp_devices.visible().items()}
    assert found == {
        "sycl:gpu:0": "level_zero", "sycl:gpu:1": "level_zero", "sycl:gpu:2": "opencl",
        "sycl:cpu:0": "opencl",
    }  # fmt: skip


THREADS = """
import sys, threading
import numpy as np
import polygrad as pg
sys.setswitchinterval(1e-5)
results = []
def work(seed):
    x = pg.tensor(np.full((8, 8), float(seed), np.float32), device="sycl:cpu:0", requires_grad=True)
    for _ in range(5):
        y = pg.exp(x * 0.1) + x
        (g,) = pg.autograd.grad(y, [x], pg.ones((8, 8), device="sycl:cpu:0"))
        y[0] = 1.0
    results.append(abs(float(g.numpy()[0, 0]) - 0.1 * np.exp(0.1 * seed) - 1))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(len(results), max(results) < 1e-5)
"""


@needs("sycl:cpu:0")
def test_dpnp_from_many_threads():
    """Without the lock most runs hang, holding the GIL: so it is another process that may."""
    run = subprocess.run(
        [sys.executable, "-c", THREADS], timeout=300, check=True, capture_output=True, text=True
    )
    assert run.stdout == "4 True\n"


# ---- JAX ----------------------------------------------------------------------------------------
@needs("jax:cpu:0")
def test_jax_says_no_to_64_bits_when_it_was_told_so():
    code = (
        "import polygrad as pg; from polygrad.errors import DtypeError\n"
        "print(pg.zeros(2, device='jax').dtype)\n"
        "try: pg.zeros(2, dtype='float64', device='jax')\n"
        "except DtypeError as e: print(e)"
    )
    env = {**os.environ, "JAX_ENABLE_X64": "0", "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True
    )
    assert "float32\nthe device jax:cpu:0 has no float64" in run.stdout


# ---- CuPy, over the stand-in ---------------------------------------------------------------------
def test_cupy_makes_the_right_device_current_and_restores_it():
    backend = fake_cupy()
    assert backend.devices() == ["cuda:0", "cuda:1"]
    assert backend.canonical_device(Device("cuda")) == "cuda:0"
    assert backend.canonical_device(Device("rocm:0")) is None
    second = backend.devices()[1]
    assert CURRENT == [0]
    guard = backend.guard(second)
    with guard():
        assert CURRENT == [1]
        with guard():
            assert CURRENT == [1]
    assert CURRENT == [0]
    k = backend.kernels(second, dtypes.float32)
    x = k.ones((3,))
    assert backend.device_of(x) == second
    assert backend.device_of(k.add(x, x)) == second
    assert backend.memory(second) == (3, 4)
    assert CURRENT == [0]


def test_cupy_holds_nothing_around_calls_when_there_is_one_gpu(monkeypatch):
    backend = fake_cupy()
    monkeypatch.setattr(backend, "_devices", backend._devices[:1])
    assert backend.guard(backend.devices()[0]) is None
