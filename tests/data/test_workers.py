"""The loader with worker processes: the same batches, whoever fetches them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import sys
import threading
import time

import numpy as np
import pytest

import polygrad as pg
from polygrad import data, random, registry
from polygrad.data import pool
from polygrad.errors import (
    DtypeError,
    GradientError,
    InvalidArgumentError,
    InvalidTypeError,
    WorkerError,
    WorkerTimeoutError,
)
from polygrad.testing.compare import host
from tests.data import datasets
from tests.devices import optional

multiprocessing.set_forkserver_preload(["pytest", "polygrad.data.service", "tests.data.datasets"])


def method():
    """What starts fast: forking, and once other devices or threads are in use, from a server."""
    if sys.platform == "win32":
        return "spawn"
    return "forkserver" if pool.why_not_fork() or threading.active_count() > 1 else "fork"


def loader(dataset, batch_size=2, num_workers=2, **options):
    if num_workers:
        options.setdefault("multiprocessing_context", method())
    return data.DataLoader(dataset, batch_size, num_workers=num_workers, **options)


def generator(seed=3):
    return pg.Generator().manual_seed(seed)


def same(a, b):
    """Equal in structure, types, dtypes, devices and values."""
    assert type(a) is type(b)
    if isinstance(a, pg.Tensor):
        assert (a.dtype, a.device, a.requires_grad) == (b.dtype, b.device, b.requires_grad)
        np.testing.assert_array_equal(host(a.detach()), host(b.detach()))
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b


def no_children(limit=10.0):
    """Whether all children end in time."""
    if multiprocessing.active_children():
        gc.collect()
    end = time.monotonic() + limit
    while multiprocessing.active_children() and time.monotonic() < end:
        time.sleep(0.01)
    return not multiprocessing.active_children()


@pytest.fixture(autouse=True)
def _all_gone():
    yield
    assert no_children()


# ---- the same batches ---------------------------------------------------------------------------
@pytest.mark.parametrize("width", [3, 5000])
@pytest.mark.parametrize("collate", [None, datasets.as_lists])
def test_batches_are_those_of_one_process(width, collate):
    rich = datasets.Rich(11, width)
    runs = [
        list(loader(rich, 2, n, collate_fn=collate, shuffle=True, generator=generator()))
        for n in (0, 2)
    ]
    same(*runs)
    assert len(runs[0]) == 6
    if collate:  # memory of its own
        runs[1][0][0][0][:] = 7


def test_whole_batches_at_once_and_subsets():
    tensors = data.TensorDataset(pg.reshape(pg.arange(3000.0), (6, 500)), pg.arange(6))
    part = data.Subset(tensors, [5, 3, 1])
    joined = part + tensors
    same(*(list(loader(joined, 4, n)) for n in (0, 1)))
    same(*(list(loader(part, None, n, sampler=[2, 0])) for n in (0, 1)))
    same(*(list(loader(part, 1, n, batch_sampler=[[2, 0], [1]])) for n in (0, 1)))
    assert list(loader(datasets.Squares(0), 2, 1)) == []


def test_leaves_and_bfloat16_pass():
    ml_dtypes = optional("ml_dtypes")
    leaf = pg.tensor(np.ones(4, ml_dtypes.bfloat16), requires_grad=True)
    same(*(list(loader([leaf], None, n)) for n in (0, 1)))


def test_the_default_dtype_holds_in_the_workers():
    pg.set_default_dtype(pg.float64)
    (batch,) = loader([0.5, 0.25], 2, 1, multiprocessing_context="spawn")
    assert batch.dtype == pg.float64


def test_streams():
    assert sorted(b.tolist()[0] for b in loader(datasets.Part(7), 1)) == list(range(7))
    batches = [b.tolist() for b in loader(datasets.Part(7), 2)]
    assert batches == [[0, 2], [1, 3], [4, 6], [5]]
    dropped = [b.tolist() for b in loader(datasets.Part(7), 2, drop_last=True)]
    assert dropped == [[0, 2], [1, 3], [4, 6]]
    assert sorted(loader(datasets.Part(3), None)) == [0, 1, 2]
    assert data.get_worker_info() is None


def test_batches_as_they_are_ready():
    counter = multiprocessing.get_context(method()).Value("i", 0)
    slow = datasets.Counting(12, counter, others=8)
    batches = [b.tolist() for b in loader(slow, 2, in_order=False)]
    assert batches[:3] == [[2, 3], [6, 7], [8, 9]]
    assert sorted(batches[3:]) == [[0, 1], [4, 5], [10, 11]]
    streams = loader(datasets.Part(9), 1, in_order=False)
    assert sorted(b.tolist()[0] for b in streams) == list(range(9))


def test_batches_are_fetched_ahead_and_no_further():
    context = multiprocessing.get_context(method())
    counter = context.Value("i", 0)
    batches = iter(loader(datasets.Counting(40, counter), 2, 1, prefetch_factor=3))
    next(batches)
    end = time.monotonic() + 10
    while counter.value < 8 and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.05)
    assert counter.value == 8
    del batches


# ---- random numbers -----------------------------------------------------------------------------
def draws(loader):
    return [host(x).tolist() for batch in loader for x in batch]


def test_workers_draw_different_numbers_that_repeat():
    pg.manual_seed(5)
    np.random.seed(1)  # noqa: NPY002
    before = random.get_state()[:2], np.random.get_state()[1].tolist()  # noqa: NPY002
    options = {"batch_size": 2, "num_workers": 2}
    first = draws(each := loader(datasets.Draws(8), **options))
    second = draws(each)
    after = random.get_state()[:2], np.random.get_state()[1].tolist()  # noqa: NPY002
    assert before == after
    for kind in (1, 2, 3):
        numbers = [x for run in (first, second) for part in run[kind::5] for x in part]
        assert len(set(numbers)) == len(numbers) == 16
    assert {w for part in first[4::5] for w in part} == {0, 1}
    pg.manual_seed(5)
    kept = loader(datasets.Draws(8), **options, persistent_workers=True)
    assert [draws(kept), draws(kept)] == [first, second]
    pg.manual_seed(6)
    assert draws(each) != first


def test_the_seeds_come_from_the_generator_and_the_order_is_that_of_one_process():
    orders, infos = [], []
    for n in (0, 2):
        g = generator(8)
        each = loader(range(9), 2, n, shuffle=True, generator=g)
        orders.append([draws(each), draws(each)])
        expected = pg.Generator(8).child_seed()
        if n:
            whole = loader(datasets.Who(4), 2, n, generator=generator(8), collate_fn=list)
            infos = [item for batch in whole for item in batch]
    assert orders[0] == orders[1]
    assert [i[1:3] for i in infos] == [(0, 2)] * 2 + [(1, 2)] * 2
    assert [i[3] for i in infos[::2]] == [expected, (expected + 1) % 2**64]
    assert os.getpid() not in {i[0] for i in infos}


def test_an_init_function_has_the_last_word():
    pairs = loader(datasets.Draws(4), 2, worker_init_fn=datasets.seed_numpy)
    got = [host(batch[3]).tolist() for batch in pairs]
    want = [np.random.RandomState(1000 + w).randint(2**40, size=2).tolist() for w in (0, 1)]
    assert got == want


# ---- errors ---------------------------------------------------------------------------------
def text_of(error):
    return f"{type(error).__name__} {error} " + " ".join(error.__notes__)


@pytest.mark.parametrize(
    ("kind", "error"), [("value", ValueError), ("arguments", WorkerError), ("stop", WorkerError)]
)
def test_an_error_is_raised_here_after_the_batches_before(kind, error):
    batches = iter(loader(datasets.Faulty(8, kind), 2))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(error) as caught:
        next(batches)
    text = text_of(caught.value)
    names = {"value": "item five", "arguments": "one and two", "stop": "no more"}
    kinds = {"value": "ValueError", "arguments": "TwoArgumentsError", "stop": "StopIteration"}
    for word in (names[kind], kinds[kind], "in fail", "worker process 0", "[4, 5]"):
        assert word in text
    assert multiprocessing.active_children() == []
    assert list(batches) == []


def test_errors_elsewhere_than_in_items():
    def fails(error, match, **options):
        dataset = options.pop("dataset", datasets.Squares(4))
        with pytest.raises(error, match=match) as caught:
            list(loader(dataset, **options))
        assert "worker process" in text_of(caught.value)

    fails(LookupError, "no licence", worker_init_fn=datasets.fail_to_start)
    fails(TypeError, "collating failed", collate_fn=datasets.refuse)
    fails(GradientError, "history", dataset=datasets.History(2), batch_size=None)


def test_a_dataset_that_does_not_arrive():
    gone = datasets.CannotBeRebuilt(2)
    with pytest.raises(OSError, match="file of the dataset"):
        list(loader(gone, num_workers=1, multiprocessing_context="spawn"))
    with pytest.raises(InvalidTypeError, match=r"cannot be pickled.*lambda.*top level"):
        list(loader(datasets.Unpicklable(2), multiprocessing_context="spawn"))


@pytest.mark.parametrize(("kind", "fate"), [("kill", "SIGKILL: out of memory"), ("exit", "code 3")])
def test_a_worker_that_dies_is_missed(kind, fate):
    with pytest.raises(WorkerError, match=f"worker process died.*{fate}.*process 0"):
        list(loader(datasets.Faulty(8, kind), 2))
    assert multiprocessing.active_children() == []


def test_time_runs_out():
    start = time.monotonic()
    with pytest.raises(WorkerTimeoutError, match=r"within 0\.6 seconds.*longer timeout") as caught:
        list(loader(datasets.Slow(4, 60), 2, 1, timeout=0.6))
    assert isinstance(caught.value, TimeoutError)
    assert isinstance(caught.value, RuntimeError)
    assert time.monotonic() - start < 20
    assert multiprocessing.active_children() == []


def faulty_order():
    yield [0]
    yield [1]
    raise KeyError("no third batch")


@pytest.mark.parametrize("n", [0, 2])
def test_an_order_that_breaks_off(n):
    batches = iter(loader(datasets.Squares(4), 1, n, batch_sampler=faulty_order()))
    assert [next(batches)[0].tolist() for _ in range(2)] == [[0], [1]]
    with pytest.raises(KeyError, match="third"):
        next(batches)


# ---- how long workers live ----------------------------------------------------------------------
def test_workers_end_with_the_epoch_and_with_its_iterator(monkeypatch):
    monkeypatch.setattr(pool, "_GRACE", 60)  # they go when they are told
    start = time.monotonic()
    batches = iter(loader(datasets.Squares(4), 2))
    assert len(multiprocessing.active_children()) == 2
    list(batches)
    assert multiprocessing.active_children() == []
    for _ in loader(datasets.Squares(40), 2):
        break
    assert no_children(limit=0)
    assert time.monotonic() - start < 40


def test_a_busy_worker_is_not_waited_for():
    begun = multiprocessing.get_context(method()).Event()
    batches = iter(loader(datasets.Busy(8, begun), 2, 1))
    assert begun.wait(20)
    start = time.monotonic()
    del batches
    assert no_children(limit=0)
    assert time.monotonic() - start < 10


def test_persistent_workers():
    def processes(epoch):
        return {pid for batch in epoch for pid, *_ in batch}

    each = loader(datasets.Who(12), 2, collate_fn=list, persistent_workers=True)
    first = processes(each)
    left = iter(each)
    next(left)
    assert processes(each) == first  # though an epoch was left in the middle
    assert len(first) == 2
    old, new = iter(each), iter(each)
    assert len(list(new)) == 6
    with pytest.raises(WorkerError, match="out of date"):
        next(old)
    assert not processes(each) & first  # an error ends the workers
    assert len(list(pickle.loads(pickle.dumps(each)))) == 6  # noqa: S301
    assert len(multiprocessing.active_children()) == 2
    del each, left, old, new
    assert no_children(limit=0)


def test_what_an_old_epoch_owes_is_dropped():
    each = loader(datasets.Wide(30, 4000), 2, persistent_workers=True, prefetch_factor=4)
    for left in range(3):
        batches = iter(each)
        for _ in range(left):
            next(batches)
    got = [host(b)[:, 0].tolist() for b in each]
    assert got == [[i, i + 1.0] for i in range(0, 30, 2)]
    del each, batches


# ---- devices ----------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [0, 1])
def test_batches_go_to_a_device(device, n):
    items = [{"x": np.full(2000, i, np.float32), "s": "a"} for i in range(4)]
    for batch in loader(items, 2, n, device=device):
        assert (batch["x"].device, batch["s"]) == (device, ["a", "a"])
    if n:
        pg.set_default_device(device)
        first, second = loader(items, 2, n)
        assert first["x"].device == second["x"].device == device
        assert host(second["x"])[:, 0].tolist() == [2, 3]


def test_the_next_batch_is_sent_ahead(device):
    """Once it has come it is on the device before this one is handed out; on the CPU it waits."""
    place = registry.find_device(device)
    if not registry.find_backend(place.kind).supports(np.dtype("int64"), place):
        pytest.skip(f"{device} has no int64, which the items have (2026-11-30: by its design)")
    batches = iter(loader(datasets.Squares(40), 2, 1, device=device))
    epoch, held = batches._batches, None
    for _ in range(20):
        batch = next(batches)
        assert batch[0].device == device
        held = epoch._held
        if held is not None:
            break
        time.sleep(0.2)
    if device == "cpu":
        assert held is None
    else:
        _, _, after = held
        assert after[0].device == device
        assert next(batches)[0] is after[0]


def test_a_dtype_that_the_device_lacks():
    optional("array_api_strict")
    items = [np.zeros(4000)] * 2
    with pytest.raises(DtypeError, match="no float64"):
        list(loader(items, 1, 1, device="strict:no_float64"))


# ---- how they are started -------------------------------------------------------------------
def test_how_workers_start(monkeypatch):
    choose = pool.choose_context
    monkeypatch.setattr(pool.sys, "platform", "linux")
    monkeypatch.setattr(registry, "loaded", lambda: (registry.load("numpy"),))
    monkeypatch.setattr(registry, "entries", tuple)
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: None)
    assert choose(None).get_start_method() == "fork"

    class Delicate:
        name = "delicate"
        capabilities = registry.load("numpy").capabilities.__class__()

    monkeypatch.setattr(registry, "loaded", lambda: (Delicate(),))
    assert choose(None).get_start_method() == "spawn"
    assert "delicate" in pool.why_not_fork()
    monkeypatch.setattr(registry, "loaded", lambda: (registry.load("numpy"),))
    entry = registry.Entry("threads", "no.module:Backend", ("threads",), ("sys", "numpy"), "")
    monkeypatch.setattr(registry, "entries", lambda: (entry,))  # imported, its backend not loaded
    assert "threads" in pool.why_not_fork()
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: "forkserver")
    assert choose(None).get_start_method() == "forkserver"
    assert choose("spawn").get_start_method() == "spawn"
    context = multiprocessing.get_context("spawn")
    assert choose(context) is context
    monkeypatch.setattr(pool.sys, "platform", "darwin")
    assert "darwin" in pool.why_not_fork()
    with pytest.raises(InvalidArgumentError, match=r"start method 'fly'.*spawn"):
        choose("fly")


def test_the_error_says_why_it_was_not_forked(monkeypatch):
    monkeypatch.setattr(pool, "why_not_fork", lambda: "the backend 'x' is in use")
    with pytest.raises(InvalidTypeError, match="spawn; forking is not safe here: the backend 'x'"):
        list(data.DataLoader(datasets.Unpicklable(2), num_workers=1))


def test_a_lock_that_another_thread_held_is_free_in_a_forked_worker():
    if method() != "fork":
        pytest.skip("2026-11-30: forking is not safe in this process any more")
    with random.default_generator._lock:
        batches = iter(loader(datasets.Draws(2), 2, 1, generator=generator(), timeout=20))
        assert host(next(batches)[0]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"num_workers": -1}, "num_workers"),
        ({"num_workers": True}, "num_workers"),
        ({"num_workers": 1, "prefetch_factor": 0}, "prefetch_factor"),
        ({"num_workers": 1, "timeout": -1}, "timeout"),
        ({"num_workers": 1, "timeout": float("nan")}, "timeout"),
        ({"prefetch_factor": 2}, "there are none"),
        ({"persistent_workers": True}, "there are none"),
        ({"multiprocessing_context": "spawn"}, "there are none"),
    ],
)
def test_arguments_about_workers(options, match):
    with pytest.raises(InvalidArgumentError, match=match):
        data.DataLoader(datasets.Squares(4), **options)


def test_arguments_in_the_order_of_pytorch():
    each = data.DataLoader(
        datasets.Squares(5), 2, False, None, None, 0, None, True, True, 0, None, None, None
    )
    assert (each.pin_memory, each.drop_last, len(list(each))) == (True, True, 2)
