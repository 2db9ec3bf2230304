"""A step of an optimiser is one launch, whatever there is to update."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.optim.bucket import LARGE
from polygrad.tensor import new_tensor, raw
from polygrad.testing.compare import host
from tests.cupy_kernels.emulator import COMPILER, LAUNCHES, backend

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="no C++ compiler here (2026-11-30: CI has one)"
)
SHAPES = ((3, 4), (5,), (LARGE + 7,), (), (2, 3, 2))
MAKERS = {
    "SGD": {"lr": 0.1}, "SGD momentum": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"amsgrad": True}, "AdamW": {}, "RMSprop": {"momentum": 0.5, "centered": True},
    "NAdam": {}, "Rprop": {}, "ASGD": {}, "Adagrad": {},
}  # fmt: skip


def trained(kernels, name, options, steps=3):
    rng = np.random.default_rng(0)
    params = [
        pg.nn.Parameter(new_tensor(rng.normal(size=s).astype("float32"), kernels)) for s in SHAPES
    ]
    optimizer = getattr(pg.optim, name.split()[0])(params, **options)
    launches = []
    for _ in range(steps):
        for p in params:
            g = rng.normal(size=p.shape).astype("float32")
            p.grad = new_tensor(np.asarray(g), kernels)
        before = len(LAUNCHES)
        optimizer.step()
        launches.append(LAUNCHES[before:])
    state = optimizer.state_dict()["state"]
    return [raw(p) for p in params], state, launches


@pytest.mark.parametrize("name", MAKERS)
def test_a_step_is_one_launch_and_gives_what_numpy_gives(name):
    from polygrad.registry import find_kernels

    k = backend().kernels(backend().devices()[0], np.dtype("float32"))
    got, state, launches = trained(k, name, MAKERS[name])
    want, expected, _ = trained(find_kernels("cpu", "float32"), name, MAKERS[name])
    assert [len(step) for step in launches] == [1, 1, 1]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
    for number, own in expected.items():
        for slot, value in own.items():
            a, b = host(state[number][slot]), host(value)
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


def test_an_old_value_is_not_written_to():
    k = backend().kernels(backend().devices()[0], np.dtype("float32"))
    p, q = (pg.nn.Parameter(new_tensor(np.ones(3, "float32"), k)) for _ in range(2))
    optimizer = pg.optim.Adam([p, q])
    for _ in range(2):
        old, before = raw(p), raw(p).copy()
        p.grad = q.grad = new_tensor(np.ones(3, "float32"), k)
        optimizer.step()
        np.testing.assert_array_equal(old, before)
        assert (raw(p) < before).all()
