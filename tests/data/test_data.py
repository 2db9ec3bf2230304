"""Datasets, samplers, collating, the loader."""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import polygrad as pg
from polygrad import data, random
from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.testing.compare import host

Point = namedtuple("Point", "x y")  # noqa: PYI024  the untyped kind


class Squares(data.Dataset):
    def __init__(self, n):
        self.n = n

    def __getitem__(self, i):
        return i, i * i

    def __len__(self):
        return self.n


class Count(data.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def generator(seed=3):
    return pg.Generator().manual_seed(seed)


# ---- datasets ---------------------------------------------------------------------------------
def test_tensors_side_by_side():
    x, y = pg.reshape(pg.arange(6.0), (3, 2)), pg.tensor([5, 6, 7])
    d = data.TensorDataset(x, y)
    assert len(d) == 3 and host(d[2][0]).tolist() == [4.0, 5.0] and int(d[-1][1]) == 7
    for tensors in ((), (x, y[:2]), (pg.tensor(1.0),)):
        with pytest.raises((ShapeError, InvalidArgumentError)):
            data.TensorDataset(*tensors)


def test_one_after_the_other_and_parts():
    d = Squares(2) + Squares(3)
    assert [d[i][0] for i in range(5)] == [0, 1, 0, 1, 2] and d[-1] == (2, 4)
    with pytest.raises(IndexError):
        d[5]
    part = data.Subset(d, [4, 0])
    assert len(part) == 2 and part[0] == (2, 4) and part.__getitems__([1, 0])[1] == (2, 4)
    with pytest.raises(InvalidTypeError, match="stream"):
        data.ConcatDataset([Count(2)])
    with pytest.raises(InvalidArgumentError):
        data.ConcatDataset([])
    assert list(Count(2) + Count(1)) == [0, 1, 0] and len(Count(2) + Count(1)) == 3
    s = data.StackDataset(a=[1, 2], b="xy")
    assert s[1] == {"a": 2, "b": "y"} and len(s) == 2
    assert s.__getitems__([1, 0]) == [{"a": 2, "b": "y"}, {"a": 1, "b": "x"}]
    pair = data.StackDataset(data.Subset([1, 2], [1, 0]), [2, 3])
    assert pair[0] == (2, 2) and pair.__getitems__([1, 0]) == [(1, 3), (2, 2)]
    for wrong in (data.StackDataset, lambda: data.StackDataset([1], [1, 2])):
        with pytest.raises(InvalidArgumentError):
            wrong()


def test_base_classes_say_what_is_missing():
    for call in (
        lambda: data.Dataset()[0], lambda: iter(data.IterableDataset()),
        lambda: iter(data.Sampler()),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="defines no"):
            call()


def test_random_split():
    parts = data.random_split(range(10), [0.5, 0.25, 0.25], generator())
    assert [len(p) for p in parts] == [6, 2, 2]
    assert sorted(i for p in parts for i in p) == list(range(10))
    again = data.random_split(range(10), [6, 2, 2], generator())
    assert [p.indices for p in again] == [p.indices for p in parts]
    with pytest.raises(InvalidArgumentError, match="sum to"):
        data.random_split(range(10), [5, 3])


# ---- samplers ---------------------------------------------------------------------------------
def test_random_samplers():
    g = generator()
    s = data.RandomSampler(range(6), generator=g)
    first, second = list(s), list(s)
    assert sorted(first) == sorted(second) == list(range(6)) and first != second
    assert list(data.RandomSampler(range(6), generator=generator())) == first
    assert len(list(data.RandomSampler(range(3), num_samples=8))) == 8
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=300))
    assert set(drawn) == {0, 1, 2} and len(drawn) == 300
    assert list(data.RandomSampler([])) == []
    assert sorted(data.SubsetRandomSampler([7, 8, 9])) == [7, 8, 9]
    with pytest.raises(InvalidArgumentError):
        data.RandomSampler(range(3), num_samples=0)


def test_an_order_is_drawn_at_once():
    want = list(data.RandomSampler(range(5), num_samples=12, generator=generator()))
    g = generator()
    order = iter(data.RandomSampler(range(5), num_samples=12, generator=g))
    g.words(100)
    assert list(order) == want
    assert sorted(want[:5]) == sorted(want[5:10]) == list(range(5))
    for n in (0, 1):
        g, options = generator(), {"multiprocessing_context": "spawn"} if n else {}
        options.update(shuffle=True, num_workers=n, generator=g)
        batches = iter(data.DataLoader(range(5), 2, **options))
        g.words(100)
        assert [i for b in batches for i in b.tolist()] == want[:5]


def test_parts_for_several_processes():
    def parts(n, replicas, epoch=0, **options):
        made = [data.DistributedSampler(range(n), replicas, r, **options) for r in range(replicas)]
        for sampler in made:
            sampler.set_epoch(epoch)
            assert len(list(sampler)) == len(sampler)
        return [list(sampler) for sampler in made]

    assert parts(7, 3, shuffle=False) == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    assert parts(7, 3, shuffle=False, drop_last=True) == [[0, 3], [1, 4], [2, 5]]
    assert parts(2, 5, shuffle=False) == [[0], [1], [0], [1], [0]]
    assert parts(0, 2) == [[], []]
    first = parts(20, 4)
    assert sorted(i for part in first for i in part) == list(range(20))
    assert parts(20, 4) == first != parts(20, 4, epoch=1)
    assert parts(20, 4, seed=1) not in (first, parts(20, 4, epoch=1))
    for replicas, rank in ((0, 0), (2, 2), (2, -1), (2, "0")):
        with pytest.raises(InvalidArgumentError, match="DistributedSampler"):
            data.DistributedSampler(range(4), replicas, rank)


def test_weights():
    weights = [1.0, 0.0, 3.0, 2.0]
    n = 6000
    counts = Counter(data.WeightedRandomSampler(weights, n, generator=generator()))
    assert counts[1] == 0
    for i in (0, 2, 3):
        p = weights[i] / 6
        assert abs(counts[i] - n * p) < 5 * np.sqrt(n * p * (1 - p))
    firsts = Counter()
    g = generator()
    for _ in range(1500):
        drawn = list(data.WeightedRandomSampler(weights, 3, replacement=False, generator=g))
        assert sorted(drawn) == [0, 2, 3]
        firsts[drawn[0]] += 1
    assert abs(firsts[2] - 750) < 5 * np.sqrt(1500 * 0.25)
    for wrong in ([-1.0, 2.0], [np.nan, 1.0], [0.0, 0.0], [[1.0]]):
        with pytest.raises(InvalidArgumentError):
            data.WeightedRandomSampler(wrong, 1)
    with pytest.raises(InvalidArgumentError, match="replacement"):
        data.WeightedRandomSampler(weights, 4, replacement=False)


def test_batches_of_indices():
    assert list(data.BatchSampler(range(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, drop_last=False)) == 3
    with pytest.raises(InvalidArgumentError):
        data.BatchSampler(range(5), 0, drop_last=False)
    with pytest.raises(InvalidTypeError):
        data.BatchSampler(range(5), 2, drop_last=1)


# ---- collating --------------------------------------------------------------------------------
def test_structures_are_kept():
    items = [
        {"p": Point(pg.tensor([1.0]), np.float64(i)), "l": [i, (True, None)], "s": "a" * i}
        for i in range(2)
    ]
    made = data.default_collate(items)
    assert isinstance(made["p"], Point)
    assert made["p"].x.shape == (2, 1) and made["p"].y.dtype == pg.float64
    assert made["l"][0].dtype == pg.int64 and made["l"][1][0].dtype == pg.bool
    assert made["l"][1][1] == [None, None] and made["s"] == ["", "a"]
    assert data.default_collate([1.5, 2.5]).dtype == pg.float32
    assert data.default_collate([np.ones(2, np.int16)] * 2).dtype == pg.int16
    assert data.default_collate([1j, 2j]).dtype == pg.complex64
    assert type(data.default_collate([OrderedDict(a=1)])) is OrderedDict
    assert data.default_collate([defaultdict(int, a=1)])["missing"] == 0


def test_tensors_stay_on_their_device(device):
    batch = data.default_collate([(pg.ones(2, device=device),)] * 3)
    assert batch[0].device == device and batch[0].shape == (3, 2)


@pytest.mark.parametrize(
    ("batch", "error", "where"),
    [
        ([(pg.zeros(2), 1), (pg.zeros(3), 1)], ShapeError, r"item\[0\]"),
        ([{"a": [np.zeros(2)]}, {"a": [np.zeros(3)]}], ShapeError, r"item\['a'\]\[0\]"),
        ([(1, 2), (1,)], InvalidArgumentError, "length"),
        ([{"a": 1}, {"b": 1}], InvalidArgumentError, "keys"),
        ([object()], InvalidTypeError, "object"),
        ([], InvalidArgumentError, "no items"),
    ],
)
def test_items_that_differ(batch, error, where):
    with pytest.raises(error, match=where):
        data.default_collate(batch)


# ---- the loader -------------------------------------------------------------------------------
def test_batches_in_order():
    batches = list(data.DataLoader(Squares(5), batch_size=2))
    assert [b[1].tolist() for b in batches] == [[0, 1], [4, 9], [16]]
    assert len(data.DataLoader(Squares(5), batch_size=2)) == 3
    dropped = data.DataLoader(Squares(5), batch_size=2, drop_last=True)
    assert len(dropped) == len(list(dropped)) == 2
    assert list(data.DataLoader(Squares(2), batch_size=None)) == [(0, 0), (1, 1)]
    assert list(data.DataLoader(Squares(0))) == []
    pairs = data.DataLoader(Squares(4), batch_sampler=[[3, 0], [1]], collate_fn=list)
    assert list(pairs) == [[(3, 9), (0, 0)], [(1, 1)]] and len(pairs) == 2
    chosen = data.DataLoader(Squares(4), sampler=[2, 1], batch_size=2)
    assert next(iter(chosen))[0].tolist() == [2, 1]


def test_whole_batches_at_once_equal_item_by_item():
    d = data.TensorDataset(pg.reshape(pg.arange(12.0), (6, 2)), pg.arange(6))
    part = data.Subset(d, [5, 3, 1])
    for dataset in (d, part):
        fast = list(data.DataLoader(dataset, batch_size=2))
        by_item = functools.partial(data.default_collate)  # not the function that is recognised
        slow = list(data.DataLoader(dataset, batch_size=2, collate_fn=by_item))
        for a, b in zip(fast, slow, strict=True):
            for x, y in zip(a, b, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_array_equal(host(x), host(y))


def test_shuffling_repeats_from_a_generator_and_differs_by_epoch():
    def order(loader):
        return [i for b in loader for i in b[0].tolist()]

    loader = data.DataLoader(Squares(9), 2, shuffle=True, generator=generator())
    first, second = order(loader), order(loader)
    assert sorted(first) == list(range(9)) and first != second
    assert order(data.DataLoader(Squares(9), 2, shuffle=True, generator=generator())) == first


def test_an_unshuffled_loader_leaves_the_random_numbers_alone():
    before = random.get_state()
    list(data.DataLoader(Squares(5), batch_size=2))
    list(data.DataLoader(Count(5), batch_size=2))
    assert random.get_state() == before


def test_streams():
    loader = data.DataLoader(Count(5), batch_size=2)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4]] and len(loader) == 3
    assert len(list(data.DataLoader(Count(5), batch_size=2, drop_last=True))) == 2
    assert len(data.DataLoader(Count(5), batch_size=2, drop_last=True)) == 2
    assert list(data.DataLoader(Count(3), batch_size=None)) == [0, 1, 2]
    assert len(data.DataLoader(Count(3), batch_size=None)) == 3
    assert data.get_worker_info() is None


def test_an_error_of_the_dataset_arrives_unchanged():
    class Faulty(Squares):
        def __getitem__(self, i):
            if i == 3:
                raise ValueError("bad sample three")
            return i

    it = iter(data.DataLoader(Faulty(5), batch_size=2))
    next(it)
    with pytest.raises(ValueError, match="bad sample three"):
        next(it)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"batch_size": 0}, InvalidArgumentError),
        ({"batch_size": 2.5}, InvalidArgumentError),
        ({"sampler": [0], "shuffle": True}, InvalidArgumentError),
        ({"batch_sampler": [[0]], "batch_size": 2}, InvalidArgumentError),
        ({"batch_size": None, "drop_last": True}, InvalidArgumentError),
        ({"num_workers": -1}, InvalidArgumentError),
    ],
)
def test_arguments_that_exclude_each_other(options, error):
    with pytest.raises(error):
        data.DataLoader(Squares(4), **options)
    with pytest.raises(InvalidArgumentError, match="stream"):
        data.DataLoader(Count(4), shuffle=True)
