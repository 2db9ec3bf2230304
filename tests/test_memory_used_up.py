"""An allocation that fails outside of operations comes out as polygrad's error too."""

from __future__ import annotations

import copy

import pytest

import polygrad as pg
from polygrad import nn, optim
from polygrad.backends import sim
from polygrad.errors import OutOfMemoryError

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
