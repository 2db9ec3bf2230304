"""An allocation that fails is polygrad's error; it says who holds what, and halves nothing."""

from __future__ import annotations

import copy

import pytest

import polygrad as pg
from polygrad import nn, optim
from polygrad.backends import sim
from polygrad.errors import OutOfMemoryError
from polygrad.holders import holders
from polygrad.sizes import size_text
from tests import fake_cupy as fake
from tests.fake_plugin import use_fake_cupy

FIRST = sim.device("sim:0")


def train():
    """A model with gradients and a step behind it, its optimiser, and what it is trained on."""
    model = nn.Sequential(
        nn.Linear(4, 5, device="sim:0"), nn.BatchNorm1d(5, device="sim:0"),
        nn.Linear(5, 2, device="sim:0"),
    )  # fmt: skip
    optimizer, x = optim.Adam(model.parameters()), pg.ones((3, 4), device="sim:0")
    pg.sum(model(x) ** 2).backward()
    optimizer.step()
    return model, optimizer, x


def lbfgs(model, optimizer, x):
    """A step, which leaves all as it was if it fails."""
    del optimizer
    own = optim.LBFGS(model.parameters(), max_iter=3, line_search_fn="strong_wolfe")
    everything = lambda: ([p.tolist() for p in model.parameters()], repr(own.state_dict()))

    def closure():
        own.zero_grad()
        loss = pg.sum(model(x) ** 2)
        loss.backward()
        return loss

    before = everything()
    try:
        own.step(closure)
    except OutOfMemoryError:
        assert everything() == before
        raise


def assign(model, optimizer, x):
    del optimizer, x
    with pg.no_grad():
        view = model[0].weight[1:]
        view[...] = 3.0


@pytest.mark.parametrize(
    "act",
    [
        lambda model, optimizer, x: nn.utils.clip_grad_norm_(model.parameters(), 1.0),
        lambda model, optimizer, x: nn.utils.parametrizations.weight_norm(model[0]),
        lambda model, optimizer, x: nn.utils.parametrizations.orthogonal(model[0]),
        lambda model, optimizer, x: model.load_state_dict(model.state_dict()),
        lambda model, optimizer, x: optimizer.load_state_dict(optimizer.state_dict()),
        lambda model, optimizer, x: pg.eye(3, device="sim:0"),
        lambda model, optimizer, x: copy.deepcopy(model),
        lambda model, optimizer, x: pg.summary(model, (3, 4)),
        assign,
        lbfgs,
    ],
)
def test_each_allocation_that_fails(act):
    """Copies, norms and updates are not on the tape: they raised the library's own error."""
    failed = 0
    for n in range(1, 400):
        state = train()
        try:
            with sim.inject(FIRST, out_of_memory=n):
                act(*state)
        except OutOfMemoryError:
            failed += 1
        else:
            break
    assert 0 < failed < 399


# ---- what the message says ----------------------------------------------------------------------
def test_the_message_names_the_operation_what_is_used_and_who_holds_it():
    w = nn.Parameter(pg.ones((1024, 1024), device="sim:small"))
    optimizer = optim.Adam([w])
    w.grad = pg.ones((1024, 1024), device="sim:small")
    optimizer.step()
    y = pg.exp(w) * w  # saves two
    kept = [pg.ones((1024, 1024), device="sim:small") for _ in range(5)]
    with pytest.raises(pg.OutOfMemoryError) as caught:
        pg.concat([y.detach()] * 8)
    text = str(caught.value)
    assert "concat(float32 (1024, 1024) on sim:small" in text
    stats = pg.memory_stats("sim:small")
    used, free = (size_text(stats[name]) for name in ("used", "free"))
    assert f"used {used}, free {free}, total 64.0 MiB" in text
    assert "tensors: 32.0 MiB (8 x float32 (1024, 1024) of 4.0 MiB)" in text
    assert "saved for backward: 4.0 MiB (1 x float32 (1024, 1024) of 4.0 MiB)" in text
    assert "optimiser state: 8.0 MiB (2 x float32 (1024, 1024) of 4.0 MiB)" in text
    assert "what a caught error's traceback holds" in text
    del kept, caught
    assert pg.concat([y.detach()] * 8).shape == (8192, 1024)  # and on it goes


def test_the_message_of_cupy_tells_what_its_pool_keeps(monkeypatch):
    monkeypatch.setattr(fake, "POOL", {"used": 3 << 30, "free": 1 << 20, "limit": 5 << 30})
    backend = use_fake_cupy(monkeypatch)
    x = pg.ones(3, device="cuda:0")
    text = str(backend.failure(MemoryError("allocating 7"), x.device, "exp(...)"))
    assert "out of memory on cuda:0: allocating 7. exp(...). On cuda:0: used 3.0 GiB, " in text
    assert "cached 1.0 MiB, limit 5.0 GiB, free 3 B, total 4 B" in text


def test_looking_for_holders_runs_nobodys_code():
    class Trap:
        kernels = property(lambda self: 1 / 0)

        def __getattr__(self, name):
            raise AssertionError(name)

    traps = [Trap() for _ in range(3)]
    x = pg.ones(1 << 20, device="sim:1")  # the largest, whatever other tests have left there
    assert "(1 x float32 (1048576,) of 4.0 MiB" in holders(x.kernels.backend, x.device)
    assert len(traps) == 3


# ---- nothing is half written --------------------------------------------------------------------
def whole(model, optimizer, x):
    del optimizer
    return [(p.tolist(), str(p.device)) for p in (*model.parameters(), *model.buffers(), x)]


WRITES = {
    "slice": lambda model, x: x.__setitem__(slice(1, None), x[:-1] * 3),
    "mask": lambda model, x: x.__setitem__(x > 0, 7.0),
    "indices": lambda model, x: x.__setitem__(pg.asarray([0, 2, 0], device="sim:0"), x * 2),
    "add": lambda model, x: x.__iadd__(pg.exp(x)),
    "view": lambda model, x: x.T.__imul__(pg.exp(x.T)),
    "to another dtype": lambda model, x: model.double(),
    "to another device": lambda model, x: model.to("sim:1").to("sim:0"),
    "to the host": lambda model, x: model.to("cpu").to("sim:0"),
    "no step": lambda model, x: pg.sum(model(x)).backward(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_without_memory_has_written_nothing(write):
    failed = 0
    for n in range(1, 200):
        model, optimizer, x = train()
        model.eval()
        before = whole(model, optimizer, x)
        try:
            with pg.no_grad() if write is not WRITES["no step"] else pg.enable_grad(), \
                    sim.inject(FIRST, out_of_memory=n):
                write(model, x)
        except OutOfMemoryError:
            failed += 1
            places = {p.device for p in model.parameters()}
            if places == {"sim:0"}:
                assert whole(model, optimizer, x) == before
            assert len(places) == 1  # of two moves, the first has been made or not
        else:
            break
    assert 0 < failed < 199


def test_loading_without_memory_says_what_it_has_loaded():
    model, _, _ = train()
    state = {k: v + 1 for k, v in model.state_dict().items()}
    names, seen = list(state), set()
    for n in range(1, 100):
        before = {k: v.tolist() for k, v in model.state_dict().items()}
        new = {k: (v + n).clone() for k, v in state.items()}
        try:
            with sim.inject(FIRST, out_of_memory=n):
                model.load_state_dict(new)
        except OutOfMemoryError as error:
            at = next(i for i, k in enumerate(names) if f"{k!r} and all after it" in str(error))
            for i, (k, v) in enumerate(model.state_dict().items()):
                assert v.tolist() == (new[k].tolist() if i < at else before[k])
            seen.add(at)
        else:
            break
    assert len(seen) > 3
