"""A loader goes on where another one stood: the same batches, then the same epochs."""

from __future__ import annotations

import pytest

import polygrad as pg
from polygrad import data
from polygrad.errors import InvalidArgumentError, InvalidTypeError

ITEMS = 11


class Numbers(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, ITEMS, step))


class Recorded:
    """Remembers which items were asked for."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return ITEMS

    def __getitem__(self, i):
        self.asked.append(i)
        return i


def weighted():
    return data.WeightedRandomSampler([1.0, 2, 3, 4] * 3, 11, generator=pg.Generator(5))


def batches_of():
    return data.BatchSampler(data.RandomSampler(range(ITEMS), generator=pg.Generator(4)), 3, False)


LOADERS = {
    "in order": lambda **w: data.DataLoader(range(ITEMS), 3, **w),
    "shuffled": lambda **w: data.DataLoader(range(ITEMS), 3, shuffle=True, **w),
    "generator": lambda **w: data.DataLoader(
        range(ITEMS), 3, shuffle=True, generator=pg.Generator(3), **w
    ),
    "replacement": lambda **w: data.DataLoader(
        range(ITEMS), 3, sampler=data.RandomSampler(range(ITEMS), replacement=True), **w
    ),
    "weighted": lambda **w: data.DataLoader(range(12), 3, sampler=weighted(), **w),
    "batches": lambda **w: data.DataLoader(range(ITEMS), batch_sampler=batches_of(), **w),
    "one by one": lambda **w: data.DataLoader(range(ITEMS), None, shuffle=True, **w),
    "stream": lambda **w: data.DataLoader(Numbers(), 3, **w),
}


def training(loader, epochs, path, at=-1):
    """What a training sees: batches, with numbers drawn beside them; saved after batch `at`."""
    seen, count = [], 0
    for _ in range(epochs):
        for batch in loader:
            seen.append((pg.asarray(batch).tolist(), pg.random.uniform(()).item()))
            if count == at:
                state = {"loader": loader.state_dict(), "random": pg.random.get_state()}
                pg.save(state, path)
            count += 1
        seen.append("epoch")
    return seen


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2}], ids=["here", "workers"])
@pytest.mark.parametrize("name", LOADERS)
def test_an_epoch_goes_on(name, workers, tmp_path):
    path, make = tmp_path / "state.safetensors", LOADERS[name]
    places = range(8) if not workers else (1,)
    for at in places:
        pg.manual_seed(1)
        whole = training(make(**workers), 3, path, at)
        end = pg.random.get_state()
        pg.manual_seed(2)  # another process
        loader, state = make(**workers), pg.load(path)
        loader.load_state_dict(state["loader"])
        pg.random.set_state(state["random"])
        passed = [i for i, x in enumerate(whole) if x != "epoch"][at] + 1
        left = 3 - whole[:passed].count("epoch")
        assert training(loader, left, path) == whole[passed:]
        assert pg.random.get_state() == end


def test_workers_may_be_more_or_fewer(tmp_path):
    path = tmp_path / "state.safetensors"
    pg.manual_seed(1)
    whole = training(LOADERS["shuffled"](), 2, path, at=0)
    loader, state = LOADERS["shuffled"](num_workers=2), pg.load(path)
    loader.load_state_dict(state["loader"])
    pg.random.set_state(state["random"])
    assert training(loader, 2, path) == whole[1:]


def test_what_came_before_is_not_fetched():
    first, dataset = data.DataLoader(Recorded(), 2, shuffle=True), Recorded()
    epoch = iter(first)
    for _ in range(3):
        next(epoch)
    loader = data.DataLoader(dataset, 2, shuffle=True)
    loader.load_state_dict(first.state_dict())
    rest = [i for batch in loader for i in batch.tolist()]
    assert rest == dataset.asked
    assert sorted(rest + first.dataset.asked) == list(range(ITEMS))


def test_states_between_epochs():
    loader = data.DataLoader(range(6), 2, shuffle=True, generator=pg.Generator(0))
    new = loader.state_dict()
    assert new == {"generators": [(0, 0, 0)], "epoch": None}
    epochs = [[b.tolist() for b in loader] for _ in range(2)]
    assert loader.state_dict()["epoch"] is None
    loader.load_state_dict(new)
    assert loader.state_dict() == new
    assert [[b.tolist() for b in loader] for _ in range(2)] == epochs
    epoch = iter(loader)
    next(epoch)
    half = loader.state_dict()
    loader.load_state_dict(half)
    assert loader.state_dict() == half  # before it has gone on
    rest = [b.tolist() for b in epoch]
    assert [b.tolist() for b in loader] == rest
    assert len(rest) == 2


@pytest.mark.parametrize(
    ("state", "error", "match"),
    [
        (None, InvalidTypeError, "NoneType is no state"),
        ({"epoch": None}, InvalidTypeError, "what state_dict"),
        ({"epoch": None, "generators": [(1, 2, 3), (1, 2, 3)]}, InvalidArgumentError, "has 1"),
        ({"epoch": None, "generators": [("x",)]}, InvalidArgumentError, "not as state_dict"),
        ({"epoch": {}, "generators": [(1, 2, 3)]}, InvalidArgumentError, "not as state_dict"),
        (
            {"epoch": {"begun": [], "batches": 1}, "generators": [(1, 2, 3)]},
            InvalidArgumentError, "same arguments",
        ),
    ],
)  # fmt: skip
def test_a_state_that_does_not_fit(state, error, match):
    loader = LOADERS["generator"]()
    with pytest.raises(error, match=match):
        loader.load_state_dict(state)


@pytest.mark.parametrize("batches", [-3, 1.7, float("nan"), "1"])
def test_a_position_that_is_no_count_is_refused(batches):
    loader = pg.data.DataLoader(range(4), shuffle=True, generator=pg.Generator(0))
    next(iter(loader))
    state = loader.state_dict()
    for bad in (
        {**state, "epoch": {**state["epoch"], "batches": batches}},
        {**state, "epoch": {**state["epoch"], "begun": [(1, 0, 0), (-1, 0, 0)]}},
        {**state, "generators": [(1.5, 0, 0)]},
    ):
        with pytest.raises(InvalidArgumentError, match="not as state_dict"):
            loader.load_state_dict(bad)
        assert loader.state_dict() == state
