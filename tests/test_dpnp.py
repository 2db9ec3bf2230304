"""dpnp: its memory, its kernels in OpenCL C, threads, and worker processes beside it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import polygrad as pg
import polygrad.ops.activation  # chapters whose forwards are compared with kernels
import polygrad.ops.cross_entropy
import polygrad.optim.rules
from polygrad.backend import Backend
from polygrad.kernels import FORWARDS, bind
from polygrad.registry import find_kernels
from polygrad.testing import assert_close
from tests.devices import use

SYCL = "sycl:cpu:0"


@pytest.fixture
def kernels():
    return find_kernels(use(SYCL), "float32")


@pytest.fixture
def memory(kernels):
    """The module of the pool; it can be imported where there is dpnp only."""
    from polygrad.backends import dpnp_memory

    return dpnp_memory


def tensor(value, **options):
    return pg.tensor(value, device=SYCL, **options)


# ---- memory -------------------------------------------------------------------------------------
def test_a_block_comes_back_when_nothing_refers_to_it(kernels, memory):
    pool = memory.Pool(kernels.native_device, limit=1 << 20)
    with kernels.guard():
        x = pool.empty((4, 8), "float32")
        x[...] = 3.0
        row, before = x[1], x.get_array().usm_data._pointer
        del x
        assert pool.kept == 0
        assert kernels.backend.to_numpy(row).tolist() == [3.0] * 8
        del row
        kernels.backend.synchronize(kernels.device)
        assert pool.kept == 128
        again = pool.empty((32,), "float32")
        assert again.get_array().usm_data._pointer == before
        assert pool.kept == 0
        del again


def test_a_pool_keeps_no_more_than_its_limit(kernels, memory):
    pool = memory.Pool(kernels.native_device, limit=1000)
    with kernels.guard():
        arrays = [pool.empty((100,), "float32") for _ in range(3)]
        large = pool.empty((1000,), "float32")
        del large
        assert pool.kept == 0
        arrays.pop()
        arrays.pop()
        assert pool.kept == 800
        arrays.pop()
        assert pool.kept == 400  # the two before were given back


def test_a_pool_gives_back_what_it_has_before_memory_is_short(kernels, memory, monkeypatch):
    from polygrad.backends.dpnp_memory import dpctl

    pool = memory.Pool(kernels.native_device, limit=1 << 20)
    allocate = dpctl.memory.MemoryUSMDevice
    with kernels.guard():
        pool.empty((100,), "float32")
        assert pool.kept == 400

        def short(size, queue):
            if pool.kept:
                raise dpctl.memory.USMAllocationError("no memory")
            return allocate(size, queue=queue)

        monkeypatch.setattr(dpctl.memory, "MemoryUSMDevice", short)
        assert pool.empty((7,), "float32").shape == (7,)


def test_what_is_kept_is_counted_and_given_back(kernels):
    x = tensor(np.ones((300, 200), np.float32))
    y = x + x
    y.numpy()
    del y
    pg.synchronize(SYCL)
    assert pg.memory_stats(SYCL)["cached"] >= 240_000
    pg.empty_cache(SYCL)
    assert pg.memory_stats(SYCL)["cached"] == 0
    y = x + x
    y.numpy()
    del y
    pg.synchronize(SYCL)
    error = kernels.backend.oom_errors[-1]("no memory")
    assert "cached" in str(kernels.backend.failure(error, kernels.device, "a test"))
    assert pg.memory_stats(SYCL)["cached"] == 0


def test_large_results_are_leased_and_right(kernels, memory):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(300, 200)).astype(np.float32) for _ in range(2))
    x, y = tensor(a), tensor(b)
    row, column = tensor(b[0]), tensor(b[:, :1])
    number = tensor(np.float32(0.5))
    leased = {
        "x + y": (x + y, a + b), "x - row": (x - row, a - b[0]),
        "x * column": (x * column, a * b[:, :1]), "x / number": (x / number, a / 0.5),
        "tanh": (pg.tanh(x), np.tanh(a)), "maximum": (pg.maximum(x, number), np.maximum(a, 0.5)),
        "x > y": (x > y, a > b), "where": (pg.where(x > 0, x, y), np.where(a > 0, a, b)),
        "x @ y": (x.T @ y, a.T @ b), "relu": (pg.nn.functional.relu(x), np.maximum(a, 0)),
    }  # fmt: skip
    for name, (got, want) in leased.items():
        if got.native().nbytes >= memory.LARGE:
            assert type(got.native().get_array().usm_data).__name__ == "_Lease", name
        assert_close(got, want, what=name)
    for got, want in (
        (x.T + y.T, (a + b).T), (x[::2] + y[::2], a[::2] + b[::2]),
        (pg.asarray(x, dtype=pg.float64) + y, a.astype(np.float64) + b), (x + 1, a + 1),
    ):  # fmt: skip
        assert_close(got, want)


def test_shapes_that_do_not_broadcast_are_refused_by_name(kernels):
    with pytest.raises(pg.errors.ShapeError, match="add"):
        tensor(np.zeros((300, 200), np.float32)) + tensor(np.zeros((199,), np.float32))


def test_an_array_on_a_queue_of_its_own_is_refused(kernels):
    """The library's work would not wait for it, nor it for the library's."""
    from polygrad.backends.dpnp_memory import dpctl, dpnp

    with kernels.guard():
        here = dpnp.ones(3, dtype="f4")
        elsewhere = dpnp.ones(3, dtype="f4", sycl_queue=dpctl.SyclQueue("cpu"))
        elsewhere.sycl_queue.wait()
        moved = elsewhere.to_device("opencl:cpu:0")
    assert pg.asarray(here).device == SYCL
    with pytest.raises(pg.errors.DeviceMismatchError, match=r'wait\(\).*to_device\("opencl:cpu'):
        pg.asarray(elsewhere)
    with pytest.raises(pg.errors.DeviceMismatchError, match="a queue of its own of sycl:cpu:0"):
        pg.asarray(here) + elsewhere
    assert (pg.asarray(moved) + pg.asarray(here)).numpy().tolist() == [2.0, 2.0, 2.0]


# ---- OpenCL C ------------------------------------------------------------------------------------
VALUES = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 3.0]
SGD = {"lr": 0.1, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False,
       "maximize": False, "step": 2}  # fmt: skip
ADAM = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.0, "maximize": False,
        "decoupled_weight_decay": False, "step": 3}  # fmt: skip
RULES = [
    ("sgd_step", 0, SGD), ("sgd_step", 0, {**SGD, "weight_decay": 0.1, "maximize": True}),
    ("sgd_step", 1, {**SGD, "momentum": 0.9}),
    ("sgd_step", 1, {**SGD, "momentum": 0.9, "dampening": 0.5, "step": 1}),
    ("sgd_step", 1, {**SGD, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("adam_step", 2, ADAM), ("adam_step", 2, {**ADAM, "weight_decay": 0.1, "maximize": True}),
    ("adam_step", 2, {**ADAM, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("adam_step", 3, ADAM),
]  # fmt: skip


def both(kernels, name, arrays, **keywords):
    """What the kernel gives, and what the forward gives that it stands for, on the host."""
    def on_host(function):
        made = [kernels.backend.from_numpy(a, kernels.device) for a in arrays]
        with kernels.guard():
            found = function(*made, **keywords)
        found = found if isinstance(found, tuple) else (found,)
        return [kernels.backend.to_numpy(a) for a in found]

    assert "dpnp_opencl" in kernels.origin(name) or "dpnp_rows" in kernels.origin(name)
    return on_host(getattr(kernels, name)), on_host(bind(FORWARDS[name], kernels))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_activations_of_special_values(dtype):
    kernels = find_kernels(use(SYCL), dtype)
    x = np.array(VALUES, dtype)
    mask = np.arange(len(x)) % 3 > 0
    for name, arrays in (("relu", [x]), ("keep", [x, mask]), ("relu", [x[:0]]), ("relu", [x[0]])):
        got, want = both(kernels, name, [np.asarray(a) for a in arrays])
        np.testing.assert_array_equal(got, want)
    views = [np.asarray(a).reshape(5, 2).T for a in (x, mask)]
    for name, arrays in (("relu", views[:1]), ("keep", views)):
        got, want = both(kernels, name, arrays)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_goes_along_rows(dtype):
    kernels = find_kernels(use(SYCL), dtype)
    rng = np.random.default_rng(3)
    plain, wide = (rng.normal(size=shape).astype(dtype) * 5 for shape in ((7, 5), (3, 1025)))
    special = np.array([VALUES, [-np.inf] * 10, [0.0] * 9 + [-np.inf], [1e30] * 10], dtype)
    stack = rng.normal(size=(2, 3, 4)).astype(dtype)
    for x in (plain, wide, special, stack, plain.T, plain[:0], plain[0], plain[:, :1]):
        for name in ("softmax", "log_softmax"):
            for axis in {0, x.ndim - 1}:
                got, want = both(kernels, name, [x], axis=axis)
                assert got[0].shape == x.shape
                assert_close(got[0], want[0], what=f"{name} {x.shape} {axis}")
    weight, bias = rng.normal(size=(4, 5)).astype(dtype), rng.normal(size=4).astype(dtype)
    for arrays in ([plain, weight, bias], [plain[0], weight, bias], [plain[:0], weight, bias]):
        got, want = both(kernels, "linear", arrays)
        assert_close(got[0], want[0])
    logs, target = plain - 3, rng.integers(5, size=7)
    for labels in (target, target.astype(np.int32), target[::-1]):
        for ignored, total in ((None, 7), (None, None), (1, None)):
            given = [plain, labels, logs]
            got, want = both(kernels, "cross_entropy", given, ignore_index=ignored, total=total)
            assert got[0].shape == want[0].shape
            assert_close(got[0], want[0])
            got, want = both(kernels, "cross_entropy_slope", given, ignore_index=ignored)
            assert_close(got[0], want[0])


def test_the_range_of_few_indices_and_of_many(kernels):
    k = kernels.with_dtype(pg.int64)
    for size in (5, 100_000):
        host = np.random.default_rng(0).integers(-50, 90, size)
        assert k.index_range(k.from_numpy(host)) == (host.min(), host.max())


def test_classes_out_of_range_are_refused_before_they_are_read(kernels):
    logits = tensor(np.zeros((4, 3), np.float32))
    for wrong in (3, -1, 10**12):
        with pytest.raises(pg.errors.OutOfRangeError, match="is no class"):
            pg.nn.functional.cross_entropy(logits, tensor(np.array([0, 1, 2, wrong])))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "slots", "keywords"), RULES)
def test_updates_are_those_of_the_rules(name, slots, keywords, dtype):
    kernels = find_kernels(use(SYCL), dtype)
    rng = np.random.default_rng(1)
    for shape in ((), (0,), (7, 5), (200, 300)):
        arrays = [np.asarray(rng.normal(size=shape), dtype) for _ in range(2)]
        arrays += [np.asarray(rng.uniform(size=shape), dtype) for _ in range(slots)]
        got, want = both(kernels, name, arrays, **keywords)
        assert len(got) == 1 + slots
        for a, b in zip(got, want, strict=True):
            assert a.shape == shape
            assert_close(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "slots", "keywords"), RULES)
def test_updates_without_opencl_are_those_of_the_rules(name, slots, keywords, dtype):
    """Those of Level Zero, called on the device that is here."""
    kernels = find_kernels(use(SYCL), dtype)
    from polygrad.backends.dpnp_updates import UPDATES

    rng = np.random.default_rng(1)
    for shape in ((), (0,), (7, 5)):
        arrays = [np.asarray(rng.normal(size=shape), dtype) for _ in range(2)]
        arrays += [np.asarray(rng.uniform(size=shape), dtype) for _ in range(slots)]
        given = [kernels.backend.from_numpy(a, kernels.device) for a in arrays]
        with kernels.guard():
            got = UPDATES[name](kernels, *given, **keywords)
        _, want = both(kernels, name, arrays, **keywords)
        for a, b in zip(got, want, strict=True):
            assert_close(kernels.backend.to_numpy(a), b)
        for array, before in zip(given[:2], arrays, strict=False):
            np.testing.assert_array_equal(kernels.backend.to_numpy(array), before)


def test_without_opencl_the_librarys_functions_and_the_host_serve(kernels, monkeypatch):
    """As behind Level Zero, of which there is none here."""
    from polygrad.backends import dpnp_backend, dpnp_opencl

    monkeypatch.setattr(dpnp_backend, "_takes_source", lambda queue: False)
    monkeypatch.setattr(dpnp_opencl, "add_at", None)
    made = dpnp_backend.DpnpBackend()
    k = made.kernels(kernels.device, pg.float32)
    assert "dpnp_updates" in k.origin("adam_step")
    assert "dpnp_opencl" not in k.origin("relu")
    places = made.from_numpy(np.array([1, 1, -1]), kernels.device)
    got = made.add_at(k.zeros((3,)), (places,), k.ones((3,)))
    assert made.to_numpy(got).tolist() == [0.0, 2.0, 1.0]


def test_an_update_leaves_parameter_and_gradient_alone(kernels):
    p, g, m, v = (kernels.full((64, 1024), value) for value in (1.0, 2.0, 0.0, 0.0))
    new, *_ = kernels.adam_step(p, g, m, v, **ADAM)
    for array, value in ((p, 1.0), (g, 2.0)):
        assert (kernels.backend.to_numpy(array) == value).all()
    assert not (kernels.backend.to_numpy(new) == 1.0).any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "int8", "uint16"])
def test_scattered_sums_are_numpys_in_every_run(kernels, dtype, monkeypatch):
    """Rounded in the order of the indices, so that the sums are equal, not only close."""
    def refused(*args):
        raise AssertionError("the host was asked")

    backend, device = kernels.backend, kernels.device
    monkeypatch.setattr(Backend, "add_at", refused)
    rng = np.random.default_rng(2)
    host = rng.normal(size=(50, 3, 4)).astype(dtype)
    rows = rng.integers(-50, 50, size=4000)
    for key, shape in (
        ((rows,), (4000, 3, 4)), ((slice(None), rows % 3), (50, 4000, 4)),
        ((rows, slice(None), rows % 4), (4000, 3)), ((rows.reshape(4, 1000),), (4, 1000, 3, 4)),
    ):  # fmt: skip
        value = (100 * rng.normal(size=shape)).astype(dtype)
        want = host.copy()
        np.add.at(want, key, value)
        there = tuple(
            backend.from_numpy(k, device) if isinstance(k, np.ndarray) else k for k in key
        )
        for _ in range(2):
            array, operand = (backend.from_numpy(a, device) for a in (host, value))
            got = backend.to_numpy(backend.add_at(array, there, operand))
            np.testing.assert_array_equal(got, want)


def test_half_precision_is_scattered_in_single(kernels):
    start = pg.zeros(2, dtype=pg.float16, device=SYCL)
    places = pg.zeros(5000, dtype=pg.int64, device=SYCL)
    rows = pg.full((5000,), 0.5, dtype=pg.float16, device=SYCL)
    assert pg.index_add(start, places, rows, axis=0).numpy().tolist() == [2500.0, 0.0]


# ---- threads and processes -----------------------------------------------------------------------
TRAINING = """
import sys, threading, time
import polygrad as pg
seconds = float(sys.argv[1])
sys.setswitchinterval(1e-5)
steps, losses = {}, {}
def train(name):
    generator = pg.Generator(name)
    x = pg.random.normal((64, 20), generator=generator, device="sycl:cpu:0")
    y = x[:, :1] * 2 - x[:, 1:2]
    model = pg.nn.Sequential(pg.nn.Linear(20, 32), pg.nn.Tanh(), pg.nn.Linear(32, 1))
    model.to("sycl:cpu:0")
    optimizer = pg.optim.Adam(model.parameters(), lr=1e-2)
    steps[name], losses[name] = 0, []
    until = time.monotonic() + seconds
    while steps[name] < 31 or time.monotonic() < until:
        optimizer.zero_grad()
        loss = pg.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        steps[name] += 1
        losses[name].append(loss.detach().item() if steps[name] % 10 == 1 else 0.0)
threads = [threading.Thread(target=train, args=(i,)) for i in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
fell = all([l for l in losses[i] if l][-1] < losses[i][0] for i in range(2))
print("steps", min(steps.values()), "fell", fell)
"""


def run(code, *arguments, timeout=300):
    """The output of a Python of its own, which may hang."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        check=False, timeout=timeout, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_threads_train_two_models():
    use(SYCL)
    _, steps, _, fell = run(TRAINING, os.environ.get("POLYGRAD_TEST_SECONDS", "6")).split()
    assert int(steps) > 30
    assert fell == "True"


LOADING = """
import numpy as np
import polygrad as pg
if __name__ == "__main__":
    model = pg.nn.Linear(4, 1).to("sycl:cpu:0")
    optimizer = pg.optim.SGD(model.parameters(), lr=0.1)
    x = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    data = pg.data.TensorDataset(pg.tensor(x), pg.tensor(x @ np.array([1, -2, 3, 0.5], np.float32)))
    loader = pg.data.DataLoader(data, batch_size=8, shuffle=True, num_workers=2)
    for epoch in range(3):
        for inputs, wanted in loader:
            inputs, wanted = inputs.to("sycl:cpu:0"), wanted.to("sycl:cpu:0")
            optimizer.zero_grad()
            loss = pg.nn.functional.mse_loss(model(inputs)[:, 0], wanted)
            loss.backward()
            optimizer.step()
    print(loss.detach().item() < 1)
"""


def test_worker_processes_beside_a_model():
    """The device is in use before they start: they are spawned, which a script must allow."""
    use(SYCL)
    assert run(LOADING) == "True\n"


FORKING = """
import os, sys, warnings
import polygrad as pg
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
x = pg.ones(3, device="sycl:cpu:0")
sys.stdout.flush()
if os.fork() == 0:
    print(pg.sum(pg.ones(3)).item())
    for call in (lambda: x + 1, lambda: x.numpy(), lambda: pg.zeros(2, device="sycl:cpu:0")):
        try:
            call()
        except pg.errors.BackendBrokenError as error:
            print(error)
    sys.stdout.flush()
    os._exit(0)
os.wait()
print((x + 1).numpy())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="2026-11-30: this system does not fork")
def test_a_forked_process_is_told_instead_of_waiting_for_ever():
    use(SYCL)
    first, *errors, last = run(FORKING).splitlines()
    assert first == "3.0"
    assert len(errors) == 3
    assert all('get_context("spawn")' in error for error in errors)
    assert last == "[2. 2. 2.]"


@pytest.mark.parametrize(
    ("dtype", "x", "y", "whole"),
    [("float16", -817.0, 9.1796875, -90.0), ("float32", 437.14215, 5.2040734, 83.0)],
)
def test_floor_divide_goes_with_remainder(dtype, x, y, whole):
    """dpnp.floor_divide gives -89 and 84: it rounds the quotient first."""
    x, y = (pg.tensor([v, -v], dtype=dtype, device="sycl:cpu:0") for v in (x, y))
    assert pg.floor_divide(x, y).tolist() == [whole, whole]
    assert_close(pg.floor_divide(x, y) * y + pg.remainder(x, y), x)


def test_float16_has_products_with_vectors():
    """The library has none of these four: dpnp.matmul raises."""
    m = pg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=pg.float16, device="sycl:cpu:0")
    v = pg.tensor([1.0, 0.5, 0.25], dtype=pg.float16, device="sycl:cpu:0")
    products = [v @ v, m @ v, v @ m.T, m @ m.T]
    assert {p.dtype for p in products} == {pg.float16}
    assert [p.tolist() for p in products] == [
        1.3125, [2.75, 8.0], [2.75, 8.0], [[14.0, 32.0], [32.0, 77.0]]
    ]  # fmt: skip


def test_shuffles_come_from_the_host():
    """The library's own are the identity."""
    use(SYCL)
    order = pg.random.permutation(100, generator=pg.Generator(3), device=SYCL)
    assert str(order.device) == SYCL
    want = pg.random.permutation(100, generator=pg.Generator(3)).numpy()
    assert order.numpy().tolist() == want.tolist() != list(range(100))
