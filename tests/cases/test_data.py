"""Cases reported by users of such libraries: data."""

import gc
import time

import pytest

import polygrad as pg
from tests.cases.helpers import A, raises, same

# Where pytest runs in several processes, these have a thread, and Python warns of forking there.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


class _Squares:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return float(i), i * i


class _TwoArgs(Exception):
    def __init__(self, a, b):
        super().__init__(f"two-argument failure {a} {b}")


class _Faulty(_Squares):
    def __init__(self, n, kind):
        self.n, self.kind = n, kind

    def _inner_frame(self, i):
        if i == 5:
            raise ValueError("bad sample five") if self.kind == "value" else _TwoArgs("five", 5)
        return i

    def __getitem__(self, i):
        return self._inner_frame(i)


class _Random(_Squares):
    def __init__(self, n, module):
        self.n, self.module = n, module

    def __getitem__(self, i):
        import importlib
        import random

        import numpy

        pg = importlib.import_module(self.module)
        m = pg.nn.functional.dropout(pg.ones((24,)), p=0.5, training=True)
        bits = int(sum(int(v > 0) << k for k, v in enumerate(m.numpy().tolist())))
        return (
            bits,
            int(numpy.random.randint(1 << 30)),
            random.randrange(1 << 30),
            pg.data.get_worker_info().id,
        )


class _Slow(_Squares):
    def __getitem__(self, i):
        time.sleep(60)
        return i


class _Stream:
    def __init__(self, n, module):
        self.n, self.module = n, module

    def items(self):
        import importlib

        w = importlib.import_module(self.module).data.get_worker_info()
        lo, st = (0, 1) if w is None else (w.id, w.num_workers)
        return iter(range(lo, self.n, st))


class _Shards(pg.data.IterableDataset):
    def __iter__(self):
        return _Stream(7, pg.__name__).items()


def _no_children(limit=15):
    import multiprocessing

    t = time.time()
    while multiprocessing.active_children() and time.time() - t < limit:
        time.sleep(0.05)
    return not multiprocessing.active_children()


def test_072_worker_exception_reaches_caller():
    """Source: pytorch/pytorch#30147, pytorch/pytorch#44820, microsoft/infinibatch#17
    Kind: data
    Wrong: the caller hangs, or gets another exception (TypeError from rebuilding an exception that takes two arguments), or
    a message without the worker's own traceback.
    Right: same type where it can be rebuilt, always the original message, type name and the failing frame; the batches
    before it arrive; no process is left. Contract.
    """
    for kind, typ, text in (
        ("value", ValueError, "bad sample five"),
        ("two", Exception, "two-argument failure five 5"),
    ):
        for nw in (0, 2):
            it = iter(pg.data.DataLoader(_Faulty(8, kind), batch_size=2, num_workers=nw))
            same(next(it), [0, 1])
            same(next(it), [2, 3])
            try:
                next(it)
            except typ as e:
                whole = (
                    str(e)
                    + "".join(map(str, getattr(e, "__notes__", [])))
                    + (repr(e.__cause__) + str(e.__cause__) if e.__cause__ else "")
                )
                if nw:
                    for w in (
                        text,
                        "_inner_frame",
                        "ValueError" if kind == "value" else "_TwoArgs",
                    ):
                        assert w in whole + type(e).__name__, (w, whole)
                else:
                    assert text in whole
            else:
                raise AssertionError("no exception")
            del it
            gc.collect()
    assert _no_children()


def test_074_loader_order_and_length():
    """Source: meta-pytorch/data#1440, pytorch/pytorch#20749
    Kind: data
    Wrong: drop_last wrong in len() or in the batches; shuffle the same every epoch, or not repeatable from a generator;
    batches out of order with several workers.
    Right: ceil or floor batches, every sample once, order independent of num_workers. By hand.
    """
    D = pg.data.DataLoader
    ds = _Squares(7)
    for nw in (0, 2):
        full = list(D(ds, batch_size=3, num_workers=nw))
        assert [tuple(b[0].shape) for b in full] == [(3,), (3,), (1,)]
        same(full[1][1], [9, 16, 25])
        assert full[0][1].dtype == pg.int64
        d = D(ds, batch_size=3, num_workers=nw, drop_last=True)
        assert len(d) == 2 and len(list(d)) == 2 and len(D(ds, batch_size=3)) == 3
    order = lambda d: [int(v) for b in d for v in A(b[0]).tolist()]
    runs = []
    for nw in (0, 2):
        d = D(
            ds, batch_size=2, shuffle=True, num_workers=nw, generator=pg.Generator().manual_seed(3)
        )
        a, b = order(d), order(d)
        assert sorted(a) == sorted(b) == list(range(7)) and a != b
        runs.append((a, b))
    assert runs[0] == runs[1], "order depends on the number of workers"
    d = D(ds, batch_size=2, shuffle=True, generator=pg.Generator().manual_seed(3))
    assert order(d) == runs[0][0]
    assert len(list(D(_Squares(0), batch_size=2))) == 0
    raises(ValueError, lambda: D(ds, batch_size=0))


def test_075_unshuffled_loader_leaves_rng_alone():
    """Source: pytorch/pytorch#11062, sktime/pytorch-forecasting#2148
    Kind: data
    Level: stretch
    Wrong: iterating an unshuffled loader (validation, or a look at one batch) draws a seed from the global generator, so all
    training randomness after it changes.
    Right: with shuffle=False and no workers nothing random happens, so the global stream must not move. Contract.
    """
    F = pg.nn.functional
    draw = lambda: A(F.dropout(pg.ones((64,)), p=0.5))
    pg.manual_seed(5)
    want = draw()
    pg.manual_seed(5)
    list(pg.data.DataLoader(_Squares(4), batch_size=2))
    same(draw(), want)


def test_077_iterable_dataset_shards():
    """Source: pytorch/pytorch#30599, espnet/espnet#2081, huggingface/finetrainers#394
    Kind: data
    Wrong: get_worker_info() is None (or stale) inside a worker, so every worker yields the whole stream; in the main
    process it must be None again afterwards.
    Right: sharding by worker id yields every item once; without workers the info is None. By hand.
    """
    for nw in (0, 1, 3):
        got = sorted(
            int(v)
            for b in pg.data.DataLoader(_Shards(), batch_size=2, num_workers=nw)
            for v in A(b).tolist()
        )
        assert got == list(range(7)), (nw, got)
        assert pg.data.get_worker_info() is None
    raises(
        (ValueError, RuntimeError, TypeError),
        lambda: pg.data.DataLoader(_Shards(), batch_size=2, shuffle=True),
    )
