"""Mixed precision: what autocast casts, and how GradScaler scales, skips and adapts."""

from __future__ import annotations

import asyncio
import copy
import threading

import numpy as np
import pytest

import polygrad as pg
from polygrad import casting, nn, optim
from polygrad.errors import DtypeError, GradientError, InvalidArgumentError, InvalidTypeError
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.primitive import PRIMITIVES

F = nn.functional


def _has_float16(device):
    try:
        pg.zeros(1, dtype=pg.float16, device=device)
    except DtypeError:
        return False
    return True


@pytest.fixture
def half(device):
    """Each device that has float16; on the others autocast to it must raise."""
    if not _has_float16(device):
        with pytest.raises(DtypeError):
            pg.amp.autocast(device, pg.float16)
        pytest.skip(f"{device} has no float16 (2026-11-30: known of its library)")
    with pg.device(device):
        yield device


def test_the_policy_names_what_there_is():
    load_all()
    assert set(casting.POLICY) <= set(PRIMITIVES)
    assert set(casting.FUNCTIONS) <= set(OPERATIONS)


def test_products_are_low_and_delicate_functions_float32(half):
    x = pg.ones((3, 4)).requires_grad_()
    layer = nn.Linear(4, 2)
    with pg.amp.autocast(dtype=pg.float16):
        h = layer(x)
        assert h.dtype == pg.float16
        assert (x @ x.mT).dtype == pg.float16
        assert F.softmax(h, axis=1).dtype == pg.float32
        assert pg.exp(h).dtype == pg.float32
        assert pg.sum(h).dtype == pg.float32
        assert F.mse_loss(h, h * 0).dtype == pg.float32
        assert pg.tanh(h).dtype == pg.float16
        assert (h + pg.ones(2)).dtype == pg.float32
    pg.sum(h).backward()
    assert layer.weight.grad.dtype == pg.float32
    assert x.grad.dtype == pg.float32
    assert layer(x).dtype == pg.float32


def test_float64_and_integers_are_left_alone(half):
    x = pg.ones((2, 2), dtype=pg.int32)
    with pg.amp.autocast(dtype=pg.float16):
        assert (x @ x).dtype == pg.int32
        assert pg.sum(x).dtype == pg.sum(x.astype(pg.int64)).dtype
    if half in ("cpu", "frozen:0"):
        wide = pg.ones((2, 2), dtype=pg.float64)
        with pg.amp.autocast(dtype=pg.float16):
            assert (wide @ wide).dtype == pg.float64
            assert F.mse_loss(wide, wide).dtype == pg.float64


def test_nesting_and_disabling():
    x = pg.ones((2, 2))
    with pg.amp.autocast(dtype=pg.float16) as outer:
        with pg.amp.autocast(enabled=False):
            assert (x @ x).dtype == pg.float32
        with outer:
            assert (x @ x).dtype == pg.float16
        assert (x @ x).dtype == pg.float16
        with pytest.raises(ZeroDivisionError), pg.amp.autocast(enabled=False):
            raise ZeroDivisionError
        assert (x @ x).dtype == pg.float16
    assert (x @ x).dtype == pg.float32
    assert not casting.ACTIVE


def test_as_a_decorator():
    @pg.amp.autocast(dtype=pg.float16)
    def product(x):
        return x @ x

    assert product(pg.ones((2, 2))).dtype == pg.float16
    assert product.__name__ == "product"


def test_threads_share_one_decorator():
    """Each call has its own place to go back to: what a thread opened only it may close."""

    @pg.amp.autocast(dtype=pg.float16)
    def product(x):
        together.wait()
        found = (x @ x).dtype
        together.wait()
        return found

    def run(k):
        for _ in range(4):
            found.setdefault(k, []).extend([product(pg.ones((2, 2))), (x @ x).dtype])

    x, found, together = pg.ones((2, 2)), {}, threading.Barrier(3, timeout=30)
    threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [[pg.float16, pg.float32] * 4] * 3
    assert not casting.ACTIVE


def test_decorated_generators_and_coroutines_cast_in_their_bodies_alone():
    x = pg.ones((2, 2))

    @pg.amp.autocast(dtype=pg.float16)
    def steps():
        yield (x @ x).dtype
        yield (x @ x).dtype

    @pg.amp.autocast(dtype=pg.float16)
    async def later():
        await asyncio.sleep(0)
        return (x @ x).dtype, pg.is_grad_enabled()

    async def both():
        return await asyncio.gather(later(), pg.no_grad()(later)(), other())

    async def other():
        await asyncio.sleep(0)
        return (x @ x).dtype, pg.is_grad_enabled()

    for dtype in steps():
        assert (dtype, (x @ x).dtype) == (pg.float16, pg.float32)
    found = asyncio.run(both())
    assert found == [(pg.float16, True), (pg.float16, False), (pg.float32, True)]

    async def stream():
        yield 1

    for mode in (pg.amp.autocast(dtype=pg.float16), pg.no_grad()):
        with pytest.raises(InvalidTypeError, match="stream is an asynchronous generator"):
            mode(stream)


def test_a_thread_casts_for_itself_alone():
    x, found = pg.ones((2, 2)), []
    with pg.amp.autocast(dtype=pg.float16):
        worker = threading.Thread(target=lambda: found.append((x @ x).dtype))
        worker.start()
        worker.join()
        assert (x @ x).dtype == pg.float16
    assert found == [pg.float32]


def test_other_kinds_of_device_are_left_alone():
    x = pg.ones((2, 2), device="frozen:0")
    with pg.amp.autocast("cpu", pg.float16):
        assert (x @ x).dtype == pg.float32


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "complex64"])
def test_only_low_precisions(dtype):
    with pytest.raises(DtypeError, match=r"no low precision.* pass pg\.float16"):
        pg.amp.autocast(dtype=dtype)


def test_gradients_are_those_of_the_rounded_operands(half):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(3, 3)).astype("float32") for _ in range(2))
    x, y = (pg.tensor(v, requires_grad=True) for v in (a, b))
    with pg.amp.autocast(dtype=pg.float16):
        out = x @ y
    out.backward(pg.ones((3, 3), dtype=pg.float16))
    expected = np.ones((3, 3), "float16") @ b.astype("float16").T
    tolerance = 4 * np.finfo("float16").eps * np.abs(b).sum(axis=1).max()
    assert np.abs(x.grad.numpy() - expected.astype("float32")).max() <= tolerance


# ---- GradScaler --------------------------------------------------------------------------------
def _training(lr=1.0, **options):
    p = nn.Parameter(pg.ones(2))
    return p, optim.SGD([p], lr=lr), pg.amp.GradScaler(**options)


def test_a_scaled_step_is_the_step():
    p, optimizer, scaler = _training()
    scaler.scale(pg.sum(p * pg.tensor([0.25, 0.5]))).backward()
    np.testing.assert_array_equal(p.grad.numpy(), [0.25 * 65536, 0.5 * 65536])
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_array_equal(p.detach().numpy(), [0.75, 0.5])
    assert scaler.get_scale() == 65536


def test_gradients_too_small_for_float16_survive():
    x, found = pg.ones(2).requires_grad_(), []
    for scale in (1.0, 2.0**15):
        loss = pg.sum(x.astype(pg.float16) * 2.0**-14 * 2.0**-12, dtype=pg.float32)
        (g,) = pg.autograd.grad(pg.amp.GradScaler(init_scale=scale).scale(loss), [x])
        found.append((g / scale).numpy().tolist())
    assert found == [[0.0, 0.0], [2.0**-26, 2.0**-26]]


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_a_step_that_is_not_finite_is_left_out(bad):
    p, optimizer, scaler = _training(lr=0.25, growth_interval=2)
    for k, factor in enumerate([1.0, bad, 1.0, 1.0]):
        optimizer.zero_grad()
        scaler.scale(pg.sum(p * factor)).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 65536 * [1, 0.5, 0.5, 1][k]
    np.testing.assert_array_equal(p.detach().numpy(), [0.25, 0.25])


def test_clipping_sees_the_true_gradients():
    p, optimizer, scaler = _training()
    scaler.scale(pg.sum(p * 3.0)).backward()
    scaler.unscale_(optimizer)
    np.testing.assert_array_equal(p.grad.numpy(), [3, 3])
    nn.utils.clip_grad_value_([p], 1.0)
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_array_equal(p.detach().numpy(), [0, 0])


def test_two_optimizers_share_a_scale():
    p, first, scaler = _training()
    q = nn.Parameter(pg.ones(2))
    second = optim.SGD([q], lr=1.0)
    scaler.scale(pg.sum(p) + pg.sum(q) * float("inf")).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    np.testing.assert_array_equal(p.detach().numpy(), [0, 0])
    np.testing.assert_array_equal(q.detach().numpy(), [1, 1])
    assert scaler.get_scale() == 32768


def test_misuse_is_refused():
    p, optimizer, scaler = _training()
    with pytest.raises(GradientError, match="call step"):
        scaler.update()
    scaler.scale(pg.sum(p)).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(GradientError, match="been unscaled"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(GradientError, match="stepped"):
        scaler.step(optimizer)
    with pytest.raises(InvalidArgumentError, match="closure"):
        scaler.step(optimizer, lambda: None)
    with pytest.raises(InvalidTypeError, match="Tensor"):
        scaler.scale([1.0])
    low = nn.Parameter(pg.ones(2, dtype=pg.float16))
    pg.sum(low).backward()
    with pytest.raises(DtypeError, match="keep parameters in float32"):
        scaler.unscale_(optim.SGD([low], lr=1.0))


def test_state_is_restored_whole_or_not_at_all():
    _, _, scaler = _training(init_scale=8.0, growth_interval=3)
    other = pg.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    before = other.state_dict()
    changes = (
        {"more": 1}, {"scale": -1.0}, {"scale": "8"}, {"scale": 10**400}, {"growth_tracker": -1},
        {"scale": 4.0, "growth_tracker": float("inf")}, {"growth_tracker": float("nan")},
        {"growth_interval": 2.5},
    )  # fmt: skip
    for bad in ({}, None, [1], *({**before, **change} for change in changes)):
        with pytest.raises((InvalidArgumentError, InvalidTypeError)):
            other.load_state_dict(bad)
        assert other.state_dict() == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("init_scale", 0), ("init_scale", float("inf")), ("growth_factor", 1.0),
     ("init_scale", 1e39), ("init_scale", 1e-40), ("init_scale", 10**400),
     ("growth_factor", float("inf")), ("growth_interval", 2.5), ("growth_interval", float("inf")),
     ("backoff_factor", 1.0), ("growth_interval", 0)],
)  # fmt: skip
def test_bad_options(name, value):
    with pytest.raises(InvalidArgumentError, match=name.removeprefix("init_")):
        pg.amp.GradScaler(**{name: value})


def test_a_scale_stays_where_float32_has_it_and_its_inverse():
    p, optimizer, scaler = _training(
        lr=0.25, init_scale=2.0**125, growth_factor=4.0, growth_interval=1
    )
    for scale in (2.0**125, 2.0**125):
        optimizer.zero_grad()
        scaler.scale(pg.sum(p)).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == scale
    np.testing.assert_array_equal(p.detach().numpy(), [0.5, 0.5])
    scaler.update(2.0**-125)
    for error in (None, GradientError):
        optimizer.zero_grad()
        scaler.scale(pg.sum(p * float("inf"))).backward()
        scaler.step(optimizer)
        if error is None:
            scaler.update()
        else:
            with pytest.raises(error, match="infinite or NaN even with a scale"):
                scaler.update()


def test_an_optimizer_that_is_gone_is_not_taken_for_another():
    """Ids are used again: the gradients of a new optimiser were taken to be unscaled."""
    p, optimizer, scaler = _training(lr=1.0)
    for _ in range(20):
        pg.sum(p).backward()
        scaler.unscale_(optimizer)
        optimizer = optim.SGD([p], lr=1.0)
        scaler.unscale_(optimizer)
        scaler.update()
    with pytest.raises(InvalidTypeError, match="a int is no optimizer"):
        scaler.step(3)


def test_gradients_that_were_unscaled_by_half_are_not_stepped_with(monkeypatch):
    p, _, scaler = _training()
    q = nn.Parameter(pg.ones(2))
    optimizer = optim.SGD([p, q], lr=1.0)
    scaler.scale(pg.sum(p) + pg.sum(q)).backward()

    multiply = pg.Tensor.__imul__

    def fails_for_the_second(g, factor):
        if g is q.grad:
            raise MemoryError
        return multiply(g, factor)

    with monkeypatch.context() as patch:
        patch.setattr(pg.Tensor, "__imul__", fails_for_the_second)
        with pytest.raises(MemoryError):
            scaler.unscale_(optimizer)
    with pytest.raises(GradientError, match="been unscaled"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    np.testing.assert_array_equal(p.detach().numpy(), [1, 1])


def test_a_scaler_is_copied_between_iterations_only():
    p, optimizer, scaler = _training(init_scale=8.0)
    pg.sum(p).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(GradientError, match=r"update\(\) has not been called"):
        copy.deepcopy(scaler)
    scaler.update()
    assert copy.deepcopy(scaler).get_scale() == 8.0


def test_a_disabled_scaler_only_steps():
    p, optimizer, scaler = _training(enabled=False)
    loss = pg.sum(p)
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.state_dict() == {}
    np.testing.assert_array_equal(p.detach().numpy(), [0, 0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_training_in_mixed_precision_learns(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-30: optional)")
    rng = np.random.default_rng(0)
    x = pg.tensor(rng.normal(size=(64, 8)).astype("float32"))
    y = (x[:, 0] > x[:, 1]).astype(pg.int64)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer, scaler = optim.Adam(model.parameters(), lr=0.05), pg.amp.GradScaler()
    for _ in range(60):
        optimizer.zero_grad()
        with pg.amp.autocast(dtype=dtype):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert float(loss.detach()) < 0.1
