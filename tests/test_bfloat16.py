"""bfloat16: every operation on it gives it back, though NumPy promotes to float32.

With CuPy's plugin, over the stand-in, which refuses bfloat16 where CuPy does, this shows where
arrays are widened and narrowed; what CuPy's loops for it compute, only a GPU can show.
"""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.tensor import Tensor
from polygrad.testing import samples_of
from polygrad.tree import leaves, tree_map
from tests.cupy_kernels.emulator import COMPILER, LAUNCHES
from tests.fake_plugin import emulated_kernels, use_fake_cupy

pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-30: optional)")
load_all()
NEEDS_COMPILER = pytest.mark.skipif(
    COMPILER is None, reason="no C++ compiler here (2026-11-30: CI has one)"
)
CONCERNED = sorted(
    name
    for name, o in OPERATIONS.items()
    if "f" in o.kinds and (o.samples or o.domain) and o.chapter not in ("creation", "histogram")
    and o.space not in ("special", "fft") and name not in ("astype", "real", "imag")
)  # fmt: skip


def _tensors(tree, dtype, device="cpu"):
    def convert(a):
        if not isinstance(a, np.ndarray):
            return a
        return pg.tensor(a, dtype=dtype if a.dtype == np.float32 else None, device=device)

    return tree_map(convert, tree)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CONCERNED)
def test_results_are_bfloat16(name):
    same_with_bfloat16(name, "cpu")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CONCERNED)
def test_results_are_bfloat16_on_the_stand_in_for_cupy(name, monkeypatch):
    use_fake_cupy(monkeypatch)
    same_with_bfloat16(name, "cuda:0")


@NEEDS_COMPILER
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_are_bfloat16_with_the_fused_kernels(monkeypatch):
    with emulated_kernels(use_fake_cupy(monkeypatch)):
        before = len(LAUNCHES)
        for name in CONCERNED:
            same_with_bfloat16(name, "cuda:0")
    assert len(set(LAUNCHES[before:])) > 15


def _called(name, args, kwargs, dtype, device):
    pg.manual_seed(0)
    given, named = (_tensors(tree, dtype, device) for tree in (args, kwargs))
    return OPERATIONS[name].function(*given, **named)


def same_with_bfloat16(name, device):
    compared = 0
    for args, kwargs in samples_of(OPERATIONS[name], np.float32):
        wide = _called(name, args, kwargs, "float32", device)
        out = _called(name, args, kwargs, "bfloat16", device)
        for a, b in zip(leaves(wide), leaves(out), strict=True):
            if isinstance(a, Tensor):
                compared += 1
                assert b.dtype == (pg.bfloat16 if a.dtype == pg.float32 else a.dtype)
                assert b.shape == a.shape
    assert compared


@NEEDS_COMPILER
def test_a_model_trains_in_bfloat16_on_the_stand_in_for_cupy(monkeypatch):
    """With the fused kernels: gradients and state are bfloat16, and near those of NumPy."""

    def train(device):
        pg.manual_seed(0)
        layers = [nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.0), nn.Linear(8, 3)]
        net = nn.Sequential(*layers).to(device).bfloat16()
        optimizer = pg.optim.AdamW(net.parameters(), lr=0.05)
        rng = np.random.default_rng(0)
        x = pg.tensor(rng.normal(size=(12, 6)), dtype="bfloat16", device=device)
        labels = pg.tensor(rng.integers(0, 3, 12), device=device)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), labels)
            loss.backward()
            optimizer.step()
            assert loss.dtype == pg.bfloat16
            assert {p.grad.dtype for p in net.parameters()} == {pg.bfloat16}
            losses.append(float(loss.detach().item()))
        dtypes = {own["exp_avg"].dtype for own in optimizer.state.values()}
        assert dtypes | {p.dtype for p in net.parameters()} == {pg.bfloat16}
        return losses

    want = train("cpu")
    with emulated_kernels(use_fake_cupy(monkeypatch)):
        before = len(LAUNCHES)
        got = train("cuda:0")
    assert {"adam_step", "standardize", "gelu", "cross_entropy"} <= set(LAUNCHES[before:])
    np.testing.assert_allclose(got, want, rtol=0.03)
    assert got[-1] < 0.8 * got[0]


def test_bounds_that_bfloat16_does_not_have_are_bounds():
    x = pg.tensor([-5.0, 0.0, 5.0], dtype=pg.bfloat16, requires_grad=True)
    for bound in (0.1, 0.3, 0.7):
        (g,) = pg.autograd.grad(pg.sum(nn.functional.hardtanh(x, -bound, bound)), x)
        assert g.tolist() == [0, 1, 0], bound
