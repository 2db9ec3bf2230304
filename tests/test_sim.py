"""The simulated accelerator: it refuses, poisons, counts and fails as it says."""

from __future__ import annotations

import copy
import functools
import pickle
import re

import array_api_compat.numpy
import numpy as np
import pytest

import polygrad as pg
from polygrad import nn, optim
from polygrad.backends import sim
from polygrad.backends.sim_backend import SimBackend
from polygrad.errors import DeviceLostError, DtypeError, OutOfMemoryError
from polygrad.registry import find_backend, find_device
from polygrad_conformance.api import Session
from tests.devices import optional

FIRST, SECOND = sim.device("sim:0"), sim.device("sim:1")
NARROW, FLUSH, SMALL = (sim.device(f"sim:{name}") for name in ("no_float64", "flush", "small"))
TINY = float(np.finfo(np.float32).smallest_normal)


def up(values, device=FIRST, dtype=np.float32):
    made = sim.upload(np.asarray(values, dtype=dtype), device)
    sim.synchronize(device)
    return made


def down(array):
    sim.synchronize(array.device)
    return sim.download(array)


# ---- the library ------------------------------------------------------------------------------
def test_every_name_of_the_standard_is_there():
    strict = optional("array_api_strict")
    flags = "array_api_strict_flags"
    own = {f"set_{flags}", f"get_{flags}", f"reset_{flags}", "ArrayAPIStrictFlags", "__version__"}
    for there, here in ((strict, sim), (strict.linalg, sim.linalg), (strict.fft, sim.fft)):
        missing = [n for n in there.__all__ if not hasattr(here, n) and n not in own]
        assert [n for n in missing if not n.startswith("__array_api_strict")] == []
    methods = [n for n in vars(type(strict.empty(0))) if n.startswith("__") and n.endswith("__")]
    assert [n for n in methods if not hasattr(sim.Array, n) and n != "__buffer__"] == []


@pytest.mark.parametrize("take", [
    np.asarray, float, int, complex, bool, list, np.exp, np.sum,
    lambda x: np.ones(1) + x,
    lambda x: x + np.ones(1, np.float32), lambda x: np.float32(2) * x, lambda x: [1, 2, 3][x],
    lambda x: 1.0 in x, copy.copy, copy.deepcopy, pickle.dumps,
])  # fmt: skip
def test_values_do_not_come_to_the_host_by_accident(take):
    waits = sim.statistics(FIRST).waits
    x = up([1.0])
    advice = r"unasked: synchronize the device|upload it|download its values"
    with pytest.raises((TypeError, sim.MixedDevicesError), match=advice):
        take(x)
    assert sim.statistics(FIRST).waits == waits + 1  # of `up`
    assert "1.0" not in repr(x)


def test_devices_do_not_mix_and_keys_live_on_the_device():
    x, y = up([1.0, 2.0]), up([1.0, 2.0], SECOND)
    with pytest.raises(sim.MixedDevicesError, match=r"sim:0 and sim:1.*to_device"):
        x + y
    with pytest.raises(sim.MixedDevicesError, match=r"sim:0 and sim:1"):
        sim.concat([x, y])
    with pytest.raises(sim.MixedDevicesError, match=r"sim:0 and sim:1"):
        x[0] = y[0]
    for key in (np.asarray([0]), np.asarray([True, False]), up([0], SECOND, np.int64)):
        with pytest.raises(sim.MixedDevicesError):
            x[key]
        with pytest.raises(sim.MixedDevicesError):
            x[key] = 1.0
    assert down(x + y.to_device(FIRST)).tolist() == [2.0, 4.0]
    assert down(x[up([1, 0], dtype=np.int64)]).tolist() == [2.0, 1.0]


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int8", "int64", "uint16", "bool"])
def test_what_has_not_arrived_is_poison(dtype):
    x = up([1, 0], dtype=dtype)
    for make in (lambda: x == 1, lambda: sim.concat([x, x]), lambda: sim.flip(sim.concat([x, x]))):
        y = make()
        true = y.data.copy()
        read = sim.download(y)
        assert read.dtype == true.dtype
        assert not np.any(read == true)
        assert np.array_equal(down(y), true)
    assert np.array_equal(sim.download(x), np.asarray([1, 0], dtype))  # it had arrived before
    x[0] = x[1]
    assert not np.any(sim.download(x) == x.data)  # a write is an operation too
    assert down(x).tolist() == [0, 0]


def test_operations_see_each_other_in_order():
    x = sim.zeros(3, device=FIRST)
    view = x[1:]
    for _ in range(3):
        x += 1
    view *= 2
    assert down(x).tolist() == [3, 6, 6]


def test_memory_that_nobody_wrote_to_is_poison():
    assert np.isnan(down(sim.empty(3, dtype=sim.float32))).all()


def test_an_upload_reads_later():
    host = np.ones(3, np.float32)
    sim.upload(host, FIRST)
    host[0] = 2
    with pytest.raises(sim.RaceError, match=r"sim:0.*wrote.*shape \(3,\), float32.*upload a copy"):
        sim.synchronize(FIRST)
    sim.synchronize(FIRST)  # said once


def test_shapes_that_depend_on_values_make_the_host_wait():
    x = up([1.0, 0.0])
    for look in (sim.nonzero, sim.unique_values, lambda x: x[x > 0]):
        before = sim.statistics(FIRST).waits
        look(x)
        assert sim.statistics(FIRST).waits == before + 1
    before = sim.statistics(FIRST).waits
    sim.sum(sim.exp(x) @ x)
    assert sim.statistics(FIRST).waits == before


def test_dlpack_hands_out_a_copy_for_the_host():
    x = up([1.0, 2.0])
    host = np.from_dlpack(x, device="cpu")
    x[0] = 5.0
    assert host.tolist() == [1.0, 2.0]
    with pytest.raises(BufferError, match=r"copy=False"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    assert down(sim.from_dlpack(np.arange(2.0), device=SECOND)).tolist() == [0, 1]
    with pytest.raises(BufferError):
        sim.from_dlpack(np.arange(2.0), copy=False)


def test_a_device_without_double_precision():
    assert sim.mean(sim.arange(3, device=NARROW)).dtype == np.float32
    assert sim.asarray([1.0, 2j], device=NARROW).dtype == np.complex64
    for make in (lambda: sim.zeros(1, dtype=sim.float64, device=NARROW),
                 lambda: sim.astype(sim.ones(1, device=NARROW), sim.float64),
                 lambda: sim.upload(np.ones(1), NARROW)):  # fmt: skip
        with pytest.raises(TypeError, match="sim:no_float64 has no float64"):
            make()
    assert "float64" not in sim.__array_namespace_info__().dtypes(device=NARROW)
    with pytest.raises(DtypeError, match=r"sim:no_float64 has no float64"):
        pg.zeros(1, dtype=pg.float64, device="sim:no_float64")


def test_a_device_that_flushes_subnormal_numbers():
    small = np.asarray([TINY / 2, -TINY / 2, TINY, 1.0], np.float32)
    for device, kept in ((FIRST, True), (FLUSH, False)):
        x = up(small, device)
        assert np.array_equal(down(x), small)  # moving is no arithmetic
        assert np.array_equal(down(sim.flip(x)), small[::-1])
        made = down(x * 1.0)
        assert (made[0] != 0) is np.bool_(kept)
        assert np.signbit(made[1])
        one = sim.ones(1, dtype=sim.float32, device=device)
        assert (down(one * TINY / 2)[0] > 0) is np.bool_(kept)
        assert (down(x == 0)[0]) is np.bool_(not kept)
        x *= 1.0
        assert (down(x)[0] != 0) is np.bool_(kept)
        assert (down(up([TINY / 4 * 1j], device, np.complex64) * 1.0)[0] != 0) is np.bool_(kept)
    backend = find_backend("sim")
    assert backend.capabilities_of(find_device("sim:0")).subnormals
    assert not backend.capabilities_of(find_device("sim:flush")).subnormals


# ---- memory, and its end ------------------------------------------------------------------------
def test_a_small_device_says_what_holds_its_memory():
    held = [pg.zeros((1024, 1024, 4), device="sim:small") for _ in range(3)]
    held.append(pg.exp(held[0]))
    with pytest.raises(OutOfMemoryError) as caught:
        pg.exp(held[0])
    text = str(caught.value)
    assert "out of memory on sim:small: exp float32[1024, 1024, 4] needs 16.0 MiB" in text
    assert "64.0 MiB of 64.0 MiB are in use" in text
    assert "3 x zeros float32[1024, 1024, 4] (16.0 MiB each)" in text
    assert "exp(float32 (1024, 1024, 4) on sim:small)" in text
    held.clear()
    del caught  # its traceback sees the operands
    assert sim.statistics(SMALL).in_use == 0
    with pytest.raises(OutOfMemoryError, match=r"128.0 MiB.*filling \(33554432,\) with 0"):
        pg.zeros(1 << 25, device="sim:small")
    with pytest.raises(OutOfMemoryError, match=r"128.0 MiB.*from the host"):
        pg.tensor(np.zeros(1 << 25, np.float32), device="sim:small")


def train(device, optimizer=optim.Adam):
    """A model with gradients and a step behind it, what it is trained on, its optimiser."""
    pg.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 150), nn.Tanh(), nn.Linear(150, 150), nn.Linear(150, 2))
    model = model.to(device)
    optimizer = optimizer(model.parameters(), lr=0.1)
    x = pg.random.normal((5, 4), device=device)
    pg.sum(model(x) ** 2).backward()
    optimizer.step()
    return model, optimizer, x


def steps(model, optimizer, x):
    for _ in range(3):
        pg.sum(model(x) ** 2).backward()
        optimizer.step()


def test_training_leaks_nothing():
    before = sim.statistics(SECOND)
    model, optimizer, x = train("sim:1")
    counts = []
    for _ in range(4):
        optimizer.zero_grad()
        pg.sum(model(x) ** 2).backward()
        optimizer.step()
        counts.append((sim.statistics(SECOND).in_use, sim.statistics(SECOND).arrays))
    assert len(set(counts)) == 1
    del model, optimizer, x
    after = sim.statistics(SECOND)
    assert (after.in_use, after.arrays) == (before.in_use, before.arrays)


def values(tensors):
    return [None if t is None else t.detach().numpy().tolist() for t in tensors]


def state_of(optimizer, p):
    own = optimizer.state[p]
    return {k: v.numpy().tolist() if isinstance(v, pg.Tensor) else v for k, v in own.items()}


def attempts(action):
    """Do it with the first allocation failing, then with the second, …; the number that failed."""
    for n in range(1, 200):
        try:
            with sim.inject(FIRST, out_of_memory=n):
                action()
        except OutOfMemoryError as error:
            yield error
        else:
            return
    raise AssertionError("it never ends")


def test_a_backward_without_memory_changes_no_gradient():
    model, _, x = train("sim:0")
    for fresh in (False, True):
        parameters = list(model.parameters())
        if fresh:
            for p in parameters:
                p.grad = None
        before = values([p.grad for p in parameters])
        loss = pg.sum(model(x) ** 2)
        errors = 0
        for error in attempts(functools.partial(loss.backward, retain_graph=True)):
            assert "injected fault" in str(error)
            assert values([p.grad for p in parameters]) == before
            assert "the backward of " in str(error) or "filling () with 1" in str(error)
            errors += 1
        assert errors > 8
        assert values([p.grad for p in parameters]) != before


@pytest.mark.parametrize("algorithm", ["Adam", "SGD", "NAdam"])
def test_a_step_without_memory_leaves_each_parameter_before_it_or_after_it(algorithm):
    model, optimizer, _ = train("sim:0", getattr(optim, algorithm))
    parameters = list(model.parameters())
    everything = lambda: [(p.detach().numpy().tolist(), state_of(optimizer, p)) for p in parameters]
    before = everything()
    twin, other = copy.deepcopy((model, optimizer))
    other.step()
    after = [(p.detach().numpy().tolist(), state_of(other, p)) for p in twin.parameters()]
    saved, start = optimizer.state_dict(), model.state_dict()
    start = {k: v.clone() for k, v in start.items()}
    updated = set()
    for error in attempts(optimizer.step):
        found = everything()
        new = [now == later for now, later in zip(found, after, strict=True)]
        assert all(now == (later if n else earlier) for n, now, earlier, later in
                   zip(new, found, before, after, strict=True))  # fmt: skip
        assert re.search(f"{algorithm}.step, at parameters|the state of \\w+ for", str(error))
        updated.add(sum(new))
        model.load_state_dict(start)
        optimizer.load_state_dict(saved)
    assert len(updated) > 1  # some attempts failed between two parameters
    assert everything() == after


def test_a_lost_device_says_so_from_then_on():
    x = pg.tensor([1.0, 2.0], device="sim:1", requires_grad=True)
    loss = pg.sum(pg.exp(x) * 3.0)
    raw = x.detach().native()
    with sim.inject(SECOND, lost=1):
        with pytest.raises(DeviceLostError, match=r"sim:1 was lost.*load a checkpoint.*exp\("):
            pg.exp(x)
        for call in (loss.backward, lambda: pg.zeros(2, device="sim:1"),
                     lambda: pg.tensor([1.0], device="sim:1"), lambda: x * 2):  # fmt: skip
            with pytest.raises(DeviceLostError, match="sim:1 was lost"):
                call()
        for call in (x.tolist, lambda: sim.synchronize(SECOND), lambda: sim.download(raw),
                     lambda: raw + 1):  # fmt: skip
            with pytest.raises((DeviceLostError, sim.DeviceLostError), match="sim:1 was lost"):
                call()
        assert pg.tensor([1.0], device="sim:0").tolist() == [1.0]
    with pytest.raises(DeviceLostError, match="started anew"):
        x * 2
    assert pg.tensor([1.0], device="sim:1").tolist() == [1.0]
    assert x.grad is None


def test_a_device_lost_in_the_middle_of_training_is_an_error_each_time():
    for n in (1, 10, 40, 70):
        model, optimizer, x = train("sim:1")
        with sim.inject(SECOND, lost=n), pytest.raises(DeviceLostError):
            steps(model, optimizer, x)
    assert sim.statistics(SECOND).in_use == 0


# ---- the plugin: it is right, and it would be caught ---------------------------------------------
@pytest.mark.parametrize("device", ["sim:1", "sim:no_float64", "sim:flush", "sim:small"])
def test_some_of_everything_on_each_device(device):
    session = Session("", device)
    for name in session.ops[::12]:
        session.check(name)


def test_a_backend_that_does_not_wait_is_found(monkeypatch):
    monkeypatch.setattr(SimBackend, "to_numpy", lambda self, array: sim.download(array))
    session = Session("", "sim:0")
    for name in ("exp", "logical_not"):
        with pytest.raises(AssertionError):
            session.check(name)


def test_a_backend_that_hands_over_the_users_memory_is_found(monkeypatch):
    monkeypatch.setattr(SimBackend, "from_numpy", lambda self, array, device: sim.upload(
        array, self.native_device(device)))  # fmt: skip
    data = np.ones(3, np.float32)
    x = pg.tensor(data, device="sim:0")
    data[0] = 5
    with pytest.raises(sim.RaceError):
        x.tolist()


def test_it_computes_as_numpy_does():
    """The wrapper adds nothing: a few functions of each chapter, results bit for bit."""
    xp, np_ = sim, array_api_compat.numpy
    a = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    for name, f in {
        "arithmetic": lambda xp, x: xp.exp(x) / 3 + xp.sum(x, axis=0),
        "manipulation": lambda xp, x: xp.stack([xp.flip(x), xp.roll(x, 1)]),
        "order": lambda xp, x: xp.sort(x, axis=1, descending=True),
        "set": lambda xp, x: xp.unique_inverse(xp.round(x)).inverse_indices,
        "linalg": lambda xp, x: xp.linalg.svd(x, full_matrices=False).S,
        "fft": lambda xp, x: xp.fft.irfft(xp.fft.rfft(x)),
        "creation": lambda xp, x: xp.full_like(x, 3) + xp.tril(x),
        "take": lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=0), axis=0),
    }.items():
        want = f(np_, a)
        got = down(f(xp, up(a)))
        assert got.dtype == want.dtype, name
        assert np.array_equal(got, want), name
