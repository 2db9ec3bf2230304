"""Generators: seeds, states, children, copies, threads, and what a saved state brings back."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import signal
import threading

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn, optim
from polygrad.errors import InvalidArgumentError, InvalidTypeError

MASK = (1 << 64) - 1


def test_a_state_brings_the_numbers_after_it_again():
    pg.manual_seed(11)
    pg.random.uniform(5)
    state = pg.random.get_state()
    first = pg.random.normal(7).numpy()
    gammas = pg.random.gamma(0.5, 7).numpy()
    pg.random.set_state(state)
    np.testing.assert_array_equal(pg.random.normal(7).numpy(), first)
    np.testing.assert_array_equal(pg.random.gamma(0.5, 7).numpy(), gammas)
    pg.random.set_state(list(state))
    np.testing.assert_array_equal(pg.random.normal(7).numpy(), first)


@pytest.mark.parametrize("generator", [None, pg.Generator(3)], ids=["default", "given"])
def test_fork_rng_sets_its_generator_back(generator):
    chosen = generator or pg.random.default_generator
    before, other = chosen.get_state(), pg.Generator(4)
    with pg.random.fork_rng(generator):
        pg.random.uniform(1000, generator=generator)
        pg.random.poisson(5.0, 9, generator=generator)
        pg.random.uniform(4, generator=other)
        assert chosen.get_state() != before
    assert chosen.get_state() == before
    assert other.get_state().position == 1
    with contextlib.suppress(KeyError), pg.random.fork_rng(generator):
        pg.random.uniform(3, generator=generator)
        raise KeyError
    assert chosen.get_state() == before


def test_a_generator_is_copied_and_pickled_with_its_place():
    g = pg.Generator(9)
    g.words(10)
    g.child_seed()
    for twin in (copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):  # noqa: S301
        assert twin.get_state() == g.get_state() == (9, 3, 1)
        np.testing.assert_array_equal(twin.words(3), copy.deepcopy(g).words(3))
        assert g.get_state().position == 3
    assert repr(g) == "<Generator seed=9 position=3>"


def test_child_seeds_are_other_streams_and_leave_this_one_alone():
    g = pg.Generator(5)
    before = g.get_state()
    seeds = [g.child_seed() for _ in range(50)]
    assert len(set(seeds)) == 50
    assert g.get_state()[:2] == before[:2]
    g.words(4)
    g.set_state(before)
    assert [g.child_seed() for _ in range(50)] == seeds
    assert pg.Generator(6).child_seed() not in seeds
    assert g.get_state() == (5, 0, 50)
    first = np.random.Philox(key=[5, 1], counter=[0, 0, 0, 0]).random_raw()
    assert seeds[0] == first


def test_spawned_generators_are_those_of_the_child_seeds():
    g, twin = pg.Generator(5), pg.Generator(5)
    assert [c.initial_seed() for c in g.spawn(3)] == [twin.child_seed() for _ in range(3)]
    assert g.get_state() == twin.get_state()
    assert g.spawn(0) == []
    streams = [c.words(1000) for c in g.spawn(4)] + [g.words(1000)]
    assert np.unique(np.concatenate(streams)).size == 5000
    for bad in (-1, 1.5, "2"):
        with pytest.raises(InvalidArgumentError, match="generators"):
            g.spawn(bad)


@pytest.mark.parametrize("seed", [2**63 + 5, MASK])
def test_large_seeds_keep_all_their_bits(seed):
    words = pg.Generator(seed).words(8)
    np.testing.assert_array_equal(words, np.random.Philox(key=seed).random_raw(8))
    assert pg.Generator(seed).child_seed() != pg.Generator(seed - 1).child_seed()


def test_seeds():
    assert pg.manual_seed(-1).initial_seed() == MASK
    assert pg.random.initial_seed() == MASK
    assert pg.Generator().initial_seed() != pg.Generator().initial_seed()
    assert pg.random.seed() == pg.random.initial_seed()
    with pytest.raises(InvalidTypeError, match="a seed is an int, not float"):
        pg.manual_seed(1.5)
    with pytest.raises(InvalidTypeError, match="a seed is an int, not str"):
        pg.Generator("1")


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (3, InvalidTypeError), ((1, 2), InvalidTypeError), (None, InvalidTypeError),
        ((1.0, 2, 3), InvalidArgumentError), ((1, -2, 3), InvalidArgumentError),
        ((2**64, 0, 0), InvalidArgumentError),
    ],
)  # fmt: skip
def test_what_is_no_state_is_refused_and_changes_nothing(state, error):
    before = pg.random.get_state()
    with pytest.raises(error, match=r"what get_state|is no state"):
        pg.random.set_state(state)
    assert pg.random.get_state() == before


def test_a_long_stream_goes_on_past_64_bits_of_its_counter():
    g = pg.Generator(3)
    g.set_state((3, 2**64 - 2, 0))
    words = g.words(16).tolist()
    g.set_state((3, 2**64 - 1, 0))
    assert g.words(12).tolist() == words[4:]
    g.set_state((3, 2**64 - 2, 0))
    np.testing.assert_array_equal(g.blocks(4).run(1, 4).reshape(-1), words[4:])


# ---- threads ------------------------------------------------------------------------------------
def test_threads_never_get_the_same_numbers():
    pg.manual_seed(5)
    drawn, start = [], threading.Barrier(8)

    def work(kind):
        start.wait()
        for _ in range(200):
            if kind:
                drawn.append(pg.random.default_generator.words(4))
            else:
                blocks = pg.random.default_generator.blocks(1)
                drawn.append(blocks.run(0, 1).reshape(-1))

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert pg.random.get_state() == (5, 1600, 0)
    together = np.sort(np.concatenate(drawn))
    np.testing.assert_array_equal(together, np.sort(pg.Generator(5).words(6400)))
    seeds = []

    def spawn():
        seeds.extend(c.initial_seed() for c in pg.random.default_generator.spawn(50))

    threads = [threading.Thread(target=spawn) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(seeds)) == 200


# ---- training goes on ---------------------------------------------------------------------------
def step(model, optimizer):
    noise = pg.random.gamma(2.0, (8, 1))
    x = pg.random.normal((8, 4))
    order = pg.random.permutation(8)
    loss = ((model(x[order]) * noise) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach().item()


def test_a_saved_state_resumes_with_the_same_numbers(tmp_path):
    def fresh():
        model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.RReLU(), nn.Linear(16, 1))
        return model, optim.Adam(model.parameters(), lr=0.01)

    pg.manual_seed(3)
    own = pg.Generator(8)
    model, optimizer = fresh()
    for _ in range(3):
        step(model, optimizer)
        pg.random.poisson(20.0, 5, generator=own)
    path = tmp_path / "state.safetensors"
    pg.save({
        "model": model.state_dict(), "optimizer": optimizer.state_dict(),
        "random": pg.random.get_state(), "own": own.get_state(),
    }, path)  # fmt: skip
    want = [step(model, optimizer) for _ in range(3)], pg.random.poisson(20.0, 5, generator=own)

    pg.manual_seed(99)
    model, optimizer = fresh()
    state = pg.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    pg.random.set_state(state["random"])
    again = pg.Generator(0)
    again.set_state(state["own"])
    assert [step(model, optimizer) for _ in range(3)] == want[0]
    assert pg.random.poisson(20.0, 5, generator=again).tolist() == want[1].tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork (2026-11-30: not on Windows)")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_held():
    own = pg.Generator(5)
    for generator in (own, pg.random.default_generator):
        with generator._lock:  # as another thread may hold it
            child = os.fork()
            if not child:
                signal.alarm(10)
                generator.words(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0


def test_fork_rng_takes_generators_only():
    with pytest.raises(InvalidTypeError, match="a int is no generator"), pg.random.fork_rng(3):
        pass
