"""Waiting, streams, memory, page-locked memory, put-off checks: `pg.stream` and its neighbours."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import polygrad as pg
from polygrad import data, nn
from polygrad.backends import sim
from polygrad.errors import InvalidArgumentError, InvalidTypeError, OutOfRangeError
from polygrad.indexing import added_in_order
from tests import fake_cupy as fake
from tests.devices import use
from tests.fake_plugin import use_fake_cupy

FIRST = sim.device("sim:0")


@pytest.fixture
def gpus(monkeypatch):
    """cuda:0 and cuda:1 are devices of this process, of the stand-in."""
    fake.LOG.clear()
    yield use_fake_cupy(monkeypatch)
    fake.LOG.clear()


# ---- every device -----------------------------------------------------------------------------
def test_the_same_words_work_on_every_device(device):
    x = pg.ones((3, 4), device=device)
    with pg.stream(device) as outer, pg.stream(device, overlap=True) as inner:
        y = x * 2
    inner.join()
    outer.synchronize()
    assert pg.sum(y).item() == 24
    pg.synchronize(device)
    pg.empty_cache(device)
    stats = pg.memory_stats(device)
    assert set(stats) <= {"used", "peak", "cached", "limit", "free", "total"}
    assert all(type(n) is int and n >= 0 for n in stats.values())
    assert stats.get("free", 0) <= stats.get("total", 0)
    moved = pg.ones(3).to(device, non_blocking=True)
    assert moved.tolist() == [1.0] * 3
    assert pg.ones(3).pin_memory(device).tolist() == [1.0] * 3
    with pytest.raises(InvalidTypeError, match="no stream of"):
        pg.stream(device, native=object())
    assert "stream" in repr(outer).lower()


def test_the_default_device_is_meant_where_none_is_named():
    with pg.device("sim:1"):
        assert pg.memory_stats() == pg.memory_stats("sim:1")
        before = sim.statistics(sim.device("sim:1")).waits
        pg.synchronize()
        assert sim.statistics(sim.device("sim:1")).waits == before + 1
        assert pg.stream().device == "sim:1"


def test_sim_tells_what_it_counts():
    before = pg.memory_stats("sim:0")
    x = pg.zeros((1000, 1000), device="sim:0")
    after = pg.memory_stats("sim:0")
    assert after["used"] - before["used"] == 4_000_000
    assert after["peak"] >= after["used"]
    assert after["free"] + after["used"] == after["total"]
    del x
    assert pg.memory_stats("sim:0")["used"] == before["used"]


# ---- CuPy's streams -----------------------------------------------------------------------------
def test_a_stream_begins_after_what_was_before_and_what_follows_waits(gpus):
    x = pg.ones(3, device="cuda:1")
    with pg.stream("cuda:1") as stream:
        name = stream.native.name
        assert [f"{name} after null"] == fake.LOG
        seen = []
        with fake.Device(1):
            seen.append(fake.get_current_stream())
        assert seen == [stream.native]
        assert fake.get_current_stream().name == "null"  # of the first device
        assert (x * 2).tolist() == [2.0] * 3
    assert [f"{name} after null", f"null after {name}"] == fake.LOG
    fake.LOG.clear()
    with pg.stream("cuda:1", overlap=True) as side:
        pass
    assert [f"{side.native.name} after null"] == fake.LOG
    side.join()
    side.synchronize()
    assert fake.LOG[1:] == [f"null after {side.native.name}", f"host after {side.native.name}"]
    assert fake.CURRENT == [0]


def test_a_stream_of_the_users_is_taken_as_it_is(gpus):
    own = fake.Stream()
    with pg.stream("cuda:0", native=own) as stream:
        assert stream.native is own
        assert fake.get_current_stream() is own
    with pytest.raises(InvalidTypeError, match=r"str is no stream of CuPy's.*cupy.cuda.Stream"):
        pg.stream("cuda:0", native="fast")


def test_each_thread_has_its_own_device_and_stream(gpus):
    found = {}

    def work(device):
        with pg.stream(device) as stream:
            x = pg.ones(4, device=device)
            for _ in range(50):
                x = x * 1.5 - 0.5
            with fake.Device(int(device[-1])):
                found[device] = x.tolist(), fake.get_current_stream() is stream.native

    threads = [threading.Thread(target=work, args=(f"cuda:{i % 2}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {f"cuda:{i}": ([1.0] * 4, True) for i in range(2)}
    assert fake.CURRENT == [0]


def test_streams_of_two_gpus_nest(gpus):
    with pg.stream("cuda:0") as first, pg.stream("cuda:1") as second:
        x = pg.ones(3, device="cuda:0") + 1
        y = pg.ones(3, device="cuda:1") + 1
        assert (x.device, y.device) == ("cuda:0", "cuda:1")
        assert first.native.where == 0
        assert second.native.where == 1


# ---- from GPU to GPU ----------------------------------------------------------------------------
@pytest.mark.parametrize("peers", [True, False])
def test_copies_between_gpus_are_ordered_or_go_through_the_host(gpus, monkeypatch, peers):
    monkeypatch.setattr(fake, "PEERS", [peers])
    x = pg.tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda:0", requires_grad=True)
    y = x.T.to("cuda:1")
    assert (y.device, y.tolist()) == ("cuda:1", [[1.0, 3.0], [2.0, 4.0]])
    # the copy waits for the source's stream, and that for the copy
    assert fake.LOG.count("null after null") == (2 if peers else 0)
    pg.sum(y * y).backward()
    assert (x.grad.device, x.grad.tolist()) == ("cuda:0", [[2.0, 4.0], [6.0, 8.0]])
    assert fake.CURRENT == [0]


# ---- memory -------------------------------------------------------------------------------------
def test_cupy_tells_what_its_pool_holds(gpus, monkeypatch):
    monkeypatch.setattr(fake, "POOL", {"used": 100, "free": 20, "limit": 0})
    assert pg.memory_stats("cuda:1") == {"used": 100, "cached": 20, "free": 3, "total": 4}
    pg.empty_cache("cuda:1")
    fake.POOL["limit"] = 1000
    known = {"used": 100, "cached": 0, "limit": 1000, "free": 3, "total": 4}
    assert pg.memory_stats("cuda:1") == known


def test_what_polygrad_keeps_of_a_sycl_cpus_memory_is_given_back():
    device = use("sycl:cpu:0")
    x = pg.ones(1 << 20, device=device)
    x = x + x
    del x
    pg.synchronize(device)
    assert pg.memory_stats(device)["cached"] >= 1 << 22
    pg.empty_cache(device)
    assert pg.memory_stats(device)["cached"] == 0


# ---- page-locked memory and uploads that come later ----------------------------------------------
def test_what_is_page_locked_is_read_in_place_only_if_asked_for(gpus):
    x = pg.ones(3).pin_memory()
    memory = x.native()
    assert memory.ctypes.data in fake.PINNED
    seen = []
    upload = type(gpus).upload
    gpus.upload = lambda array, device: seen.append(array) or upload(gpus, array, device)
    try:
        x.to("cuda:0", non_blocking=True)
        pg.tensor(memory, device="cuda:0")
        x.to("cuda:0")
    finally:
        del gpus.upload
    assert [array is memory for array in seen] == [True, False, False]
    assert pg.ones(3, device="cuda:0").to("cpu", non_blocking=True).tolist() == [1.0] * 3
    with pytest.raises(InvalidArgumentError, match=r"on cuda:0: only memory of the host"):
        pg.ones(3, device="cuda:0").pin_memory()


def test_a_non_blocking_copy_reads_the_hosts_memory_later():
    """And polygrad does not write there: neither in place, nor an optimiser's step."""
    x = pg.tensor([1.0, 2.0])
    moved = x.to("sim:0", non_blocking=True)
    x += 5
    w = nn.Parameter(pg.tensor([1.0, 2.0]))
    there = w.detach().to("sim:0", non_blocking=True)
    w.grad = pg.tensor([1.0, 1.0])
    pg.optim.SGD([w], lr=1.0).step()
    pg.synchronize("sim:0")
    assert (moved.tolist(), there.tolist()) == ([1.0, 2.0], [1.0, 2.0])
    assert (x.tolist(), w.tolist()) == ([6.0, 7.0], [0.0, 1.0])


def test_memory_that_is_the_users_is_the_users_to_leave_alone():
    host = np.ones(3, np.float32)
    pg.asarray(host).to("sim:0", non_blocking=True)
    host[0] = 2
    with pytest.raises(sim.RaceError):
        pg.synchronize("sim:0")
    safe = pg.asarray(host).to("sim:0")
    host[0] = 3
    assert safe.tolist() == [2.0, 1.0, 1.0]


def test_a_module_moves_without_waiting():
    model = nn.Linear(3, 2)
    waits = sim.statistics(FIRST).waits
    model.to("sim:0", non_blocking=True)
    assert sim.statistics(FIRST).waits == waits
    assert next(model.parameters()).device == "sim:0"


class Numbers(data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return np.full(300, i, np.float32), i


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_pinned_and_go_to_the_device_without_a_wait(gpus, workers):
    loader = data.DataLoader(Numbers(), batch_size=4, num_workers=workers, pin_memory=True)
    for i, (x, label) in enumerate(loader):
        assert x.device == "cpu"
        assert {x.native().ctypes.data, label.native().ctypes.data} <= fake.PINNED
        assert x.to("cuda:1", non_blocking=True)[:, 0].tolist() == [4 * i + n for n in range(4)]


@pytest.mark.parametrize("workers", [0, 2])
def test_loading_runs_ahead_of_the_device(workers):
    """Nothing in an epoch waits for the device, so the host loads while that computes."""
    loader = data.DataLoader(Numbers(), batch_size=2, num_workers=workers, device="sim:0")
    weight, totals = pg.ones(300, device="sim:0"), []
    waits = sim.statistics(FIRST).waits
    for x, _ in loader:
        totals.append(pg.sum(x @ weight))
    assert sim.statistics(FIRST).waits == waits
    assert [t.item() for t in totals] == [300.0, 1500.0, 2700.0, 3900.0]


# ---- index ranges, without a wait ----------------------------------------------------------------
def write(x, key):
    x[key] = 0.0
    return x


def uses():
    x = pg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device="cuda:0")
    at = lambda i: pg.asarray([0, i], device="cuda:0")
    return [
        lambda i: pg.take(x, at(i), axis=0),
        lambda i: x[at(i)],
        lambda i: x.T[:, None, at(i), ...],
        lambda i: x.T[at(0), at(i)],
        lambda i: write(x.clone(), at(i)),
        lambda i: pg.index_add(x, at(i), pg.ones((2, 2), device="cuda:0"), axis=0),
        lambda i: nn.functional.embedding(at(i if i > 0 else -1), x),
        lambda i: nn.functional.cross_entropy(x.T, at(i)),
    ]


@pytest.mark.parametrize("n", range(8))
def test_an_index_out_of_range_raises_when_the_host_next_waits(gpus, n, monkeypatch):
    use = uses()[n]
    waits, to_numpy = [], type(gpus).to_numpy
    counted = lambda array: waits.append(1) or to_numpy(gpus, array)
    monkeypatch.setattr(gpus, "to_numpy", counted, raising=False)
    with np.errstate(all="ignore"):
        use(2)
        assert not waits
        pg.synchronize("cuda:0")
        for wrong in (3, -4):
            waits.clear()
            made = use(wrong)
            assert not waits
            for wait in (lambda: pg.synchronize("cuda:0"), lambda made=made: made.tolist()):
                with pytest.raises(OutOfRangeError, match=r"an index was out of.*check_indices"):
                    wait()
                pg.synchronize("cuda:0")  # it is said once
                made = use(wrong)
            gpus.late.pending.clear()
        with pg.debug.check_indices(), pytest.raises(OutOfRangeError, match=r"(index|target) 3 is"):
            use(3)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("targets", [[0, 2, 1, 2], [0, -100, 1, 2], [1, 1, 1, 1], [-100] * 4])
@pytest.mark.parametrize("ignore", [-100, 1])
def test_cross_entropy_does_not_wait_for_its_targets(gpus, reduction, targets, ignore):
    """And gives what it gives where the host counts them."""
    found = []
    if ignore == 1 and -100 in targets:
        return
    for device in ("cuda:0", "cpu"):
        x = pg.tensor(np.linspace(-1, 2, 12).reshape(4, 3), device=device, requires_grad=True)
        t = pg.tensor(targets, device=device)
        with np.errstate(all="ignore"):
            loss = nn.functional.cross_entropy(x, t, ignore_index=ignore, reduction=reduction)
            pg.sum(loss).backward()
        found.append((loss.detach().numpy(), x.grad.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12, atol=1e-300)


def test_many_checks_are_looked_at_after_a_while(gpus):
    x, i = pg.ones(3, device="cuda:0"), pg.asarray([1], device="cuda:0")
    for _ in range(200):
        pg.take(x, i, axis=0)
    (pending,) = gpus.late.pending.values()
    assert 0 < len(pending) <= 65
    assert x.tolist() == [1.0] * 3
    assert not gpus.late.pending


def test_other_devices_check_at_once(device):
    x = pg.ones(3, device=device)
    with pytest.raises(OutOfRangeError):
        pg.take(x, pg.asarray([5], device=device), axis=0)


# ---- the same bits each time ---------------------------------------------------------------------
def test_sums_over_equal_places_come_in_a_fixed_order_if_asked(gpus, monkeypatch):
    rng = np.random.default_rng(1)
    indices, weights = rng.integers(-7, 7, (40, 3)), rng.normal(size=(40, 3, 5)).astype("float32")

    def gradient(device):
        table = pg.tensor(np.ones((7, 5), np.float32), device=device, requires_grad=True)
        rows = table[pg.tensor(indices, device=device)]
        pg.sum(rows * pg.tensor(weights, device=device)).backward()
        return table.grad.numpy()

    want = gradient("cpu")

    def refuses(*args):
        raise AssertionError("atomic addition has no order")

    monkeypatch.setitem(type(gpus).add_at.__globals__["cupyx"].__dict__, "scatter_add", refuses)
    with pytest.raises(AssertionError, match="no order"):
        gradient("cuda:0")
    pg.use_deterministic_algorithms(True)
    try:
        found = [gradient("cuda:0") for _ in range(2)]
    finally:
        pg.use_deterministic_algorithms(False)
    assert found[0].tobytes() == found[1].tobytes()
    np.testing.assert_allclose(found[0], want, rtol=1e-5, atol=1e-6)
    with pytest.raises(InvalidTypeError, match="pass True or False"):
        pg.use_deterministic_algorithms("yes")


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 65])
def test_added_in_order_adds(count):
    rng = np.random.default_rng(count)
    x, rows = rng.normal(size=(3, 4)), rng.integers(-3, 3, count)
    values = rng.normal(size=(count, 4))
    want = x.copy()
    np.add.at(want, (rows,), values)
    np.testing.assert_allclose(added_in_order(np, x, (rows,), values), want, rtol=1e-12)
    np.add.at(want := x.copy(), (slice(None), rows), 2.5)
    np.testing.assert_allclose(added_in_order(np, x, (slice(None), rows), 2.5), want, rtol=1e-12)
