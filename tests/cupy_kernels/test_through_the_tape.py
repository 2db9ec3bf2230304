"""Operations, their gradients of two orders, and a training, with the kernels beneath."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad import registry
from polygrad.nn import functional
from polygrad.registry import Entry, register_backend
from polygrad.testing import assert_close
from tests import test_ops_generated as generated
from tests.cupy_kernels.emulator import COMPILER, LAUNCHES

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="no C++ compiler here (2026-11-30: CI has one)"
)
PARTS = (
    "softmax", "gelu", "silu", "norm", "cross_entropy", "pool", "conv", "fold", "attention",
    "embedding", "mish", "sigmoid", "take",
)  # fmt: skip
NAMES = [n for n in generated.DIFFERENTIABLE if any(part in n for part in PARTS)]


@pytest.fixture(scope="module")
def device():
    """The emulated GPU, known to the registry for as long as this module's tests run."""
    types = dict(registry._by_type)  # its arrays are NumPy's, which are the CPU's again afterwards
    place = "tests.cupy_kernels.emulator:EmulatedBackend"
    register_backend(Entry("emulated", place, ("emulated",), ("polygrad",), "", hidden=True))
    yield "emulated:0"
    registry._catalogue.pop("emulated")
    registry._loaded.pop("emulated", None)
    registry._by_type.clear()
    registry._by_type.update(types)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_the_cpu(name, device):
    generated.test_raw_mode_equals_tensor_mode(name, device)


def trained(device):
    """Losses and parameters of a few steps, with dropout.

    No bias before the norm: its gradient is zero but for roundings, which Adam makes steps of.
    """
    pg.manual_seed(0)
    model = pg.nn.Sequential(
        pg.nn.Conv2d(1, 4, 3, padding=1, bias=False), pg.nn.BatchNorm2d(4), pg.nn.GELU(),
        pg.nn.MaxPool2d(2),
        pg.nn.Flatten(), pg.nn.Dropout(0.3), pg.nn.Linear(64, 8), pg.nn.LayerNorm(8),
        pg.nn.SiLU(), pg.nn.Linear(8, 3),
    ).to(device)  # fmt: skip
    optimizer = pg.optim.AdamW(model.parameters(), lr=0.01)
    rng, losses = np.random.default_rng(0), []
    for _ in range(4):
        x = pg.tensor(rng.normal(size=(6, 1, 8, 8)).astype("float32"), device=device)
        y = pg.tensor(rng.integers(0, 3, 6), device=device)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().item())
    return losses, [p.detach().numpy() for p in model.parameters()]


def test_a_training_goes_as_on_the_cpu(device):
    before = len(LAUNCHES)
    losses, parameters = trained(device)
    launched = LAUNCHES[before:]
    assert launched.count("adam_step") == 4
    assert {"toss", "dropout", "standardize", "max_pool_uint8", "window_columns", "gelu"} <= set(
        launched
    )
    want, others = trained("cpu")
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    for a, b in zip(parameters, others, strict=True):
        assert_close(a, b)
