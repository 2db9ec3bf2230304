"""What only a GPU can show: `POLYGRAD_TEST_GPU=cuda:0 pytest -m gpu`, as gpu_check.sh does.

The device may be any asynchronous one. `sim:0` shows that the tests themselves run.
"""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import polygrad as pg
from polygrad import data, nn, optim
from polygrad.errors import OutOfRangeError, UnsupportedOperationError
from polygrad.registry import find_backend
from tests.devices import present

GPU = os.environ.get("POLYGRAD_TEST_GPU", "")
pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def gpu():
    """The device, and its backend."""
    if not GPU:
        pytest.skip("POLYGRAD_TEST_GPU names no device (2026-11-30: no runner of CI has a GPU)")
    assert present(GPU)
    return find_backend(GPU.partition(":")[0])


def model(device=GPU):
    pg.manual_seed(0)
    layers = nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 10)
    return nn.Sequential(*layers).to(device)


def trained(device, algorithm, steps=5, **options):
    """Losses and parameters after some steps; the same on every device, up to rounding."""
    net = model(device)
    optimizer = algorithm(net.parameters(), **options)
    rng = np.random.default_rng(1)
    losses = []
    for _ in range(steps):
        x = pg.tensor(rng.normal(size=(32, 64)).astype("float32"), device=device)
        labels = pg.tensor(rng.integers(0, 10, 32), device=device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses], [p.detach().numpy() for p in net.parameters()]


@pytest.mark.parametrize("algorithm", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop])
def test_training_is_what_it_is_on_the_cpu(algorithm):
    here, there = (trained(d, algorithm, lr=1e-3) for d in ("cpu", GPU))
    np.testing.assert_allclose(there[0], here[0], rtol=1e-4)
    for a, b in zip(there[1], here[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-4)


def test_a_stream_gives_what_the_usual_one_gives():
    x = pg.random.normal((512, 512), device=GPU)
    want = (x @ x).numpy()
    with pg.stream(GPU) as stream:
        y = x @ x
    np.testing.assert_array_equal((y + 0).numpy(), want)
    with pg.stream(GPU, overlap=True) as side:
        z = x @ x
    other = x + 1
    side.join()
    np.testing.assert_array_equal((z + 0).numpy(), want)
    assert other.shape == x.shape
    stream.synchronize()


def test_threads_have_streams_of_their_own():
    found = {}

    def work(i):
        with pg.stream(GPU):
            x = pg.full((256, 256), float(i), device=GPU)
            for _ in range(20):
                x = (x @ pg.eye(256, device=GPU)) * 1.0
        found[i] = float(x[0, 0].item())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: float(i) for i in range(4)}


def test_memory_is_counted_and_given_back():
    pg.empty_cache(GPU)
    before = pg.memory_stats(GPU)
    if "used" not in before:
        pytest.skip(f"the library of {GPU} does not count (2026-11-30: dpnp and JAX)")
    x = pg.ones((1024, 1024, 16), device=GPU)
    assert pg.memory_stats(GPU)["used"] - before["used"] >= 64 << 20
    del x
    pg.synchronize(GPU)
    after = pg.memory_stats(GPU)
    assert after["used"] <= before["used"] + (1 << 20)
    pg.empty_cache(GPU)
    assert pg.memory_stats(GPU).get("cached", 0) <= after.get("cached", 0)


def test_memory_that_runs_out_is_said_and_survived():
    total = pg.memory_stats(GPU).get("total", 1 << 36)
    x = pg.ones((1024,), device=GPU)
    with pytest.raises(pg.OutOfMemoryError, match=f"out of memory on {GPU}"):
        pg.zeros((int(total // 2),), dtype=pg.float32, device=GPU)
    assert pg.sum(x).item() == 1024


def test_pinned_memory_arrives():
    for n in range(20):
        host = pg.full((1 << 18,), float(n)).pin_memory()
        moved = host.to(GPU, non_blocking=True)
        del host
        assert pg.sum(moved).item() == n * (1 << 18)


def test_what_is_wrapped_may_be_written_after_a_usual_copy():
    host = np.ones(1 << 20, np.float32)
    for memory in (pg.tensor(host).pin_memory().native(), host):
        moved = pg.tensor(memory, device=GPU)
        memory[...] = 5
        assert pg.sum(moved).item() == 1 << 20


def test_batches_go_to_the_device():
    rows = np.arange(4096, dtype=np.float32).reshape(64, 64)
    loader = data.DataLoader(list(rows), batch_size=16, device=GPU)
    total = sum(pg.sum(batch) for batch in loader)
    assert total.item() == rows.sum()


def test_an_index_out_of_range_is_told(gpu):
    x, bad = pg.ones((5, 3), device=GPU), pg.tensor([0, 7], device=GPU)
    for use in (lambda: pg.take(x, bad, axis=0), lambda: nn.functional.embedding(bad, x),
                lambda: x[bad]):  # fmt: skip
        with pytest.raises(OutOfRangeError):  # noqa: PT012  at once, or at the next wait
            use()
            pg.synchronize(GPU)
        with pg.debug.check_indices(), pytest.raises(OutOfRangeError):
            use()
    assert x.tolist() == [[1.0] * 3] * 5


def test_sums_in_a_fixed_order_have_the_same_bits():
    rng = np.random.default_rng(0)
    rows, values = rng.integers(0, 7, 20000), rng.normal(size=(20000, 3)).astype("float32")
    x = pg.zeros((7, 3), device=GPU)
    i, v = pg.tensor(rows, device=GPU), pg.tensor(values, device=GPU)
    want = np.zeros((7, 3))
    np.add.at(want, rows, values)
    pg.use_deterministic_algorithms(True)
    try:
        found = [pg.index_add(x, i, v, axis=0).numpy() for _ in range(5)]
    finally:
        pg.use_deterministic_algorithms(False)
    assert len({each.tobytes() for each in found}) == 1
    np.testing.assert_allclose(found[0], want, rtol=1e-3, atol=1e-2)


def test_copies_between_gpus():
    places = find_backend(GPU.partition(":")[0]).devices()
    if len(places) < 2:
        pytest.skip(f"there is one device of the kind of {GPU} (2026-11-30)")
    x = pg.random.normal((1000, 100), device=places[0])
    for _ in range(20):
        y = (x * 2).T.to(places[1])
        z = y.to(places[0])
        np.testing.assert_array_equal(z.numpy(), (x * 2).T.numpy())


def test_bfloat16_gives_what_it_gives_on_the_cpu():
    """CuPy's loops for it, and what goes by way of float32; a rounding more or less."""
    pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-30: optional)")
    if not GPU.startswith("cuda"):
        pytest.skip("offered on CUDA devices only (2026-11-30)")
    x = np.random.default_rng(0).normal(size=(33, 65)).astype("float32")

    def results(device):
        t = pg.tensor(x, dtype="bfloat16", device=device, requires_grad=True)
        made = [
            t * 0.5 + 1, pg.exp(t), abs(t) ** 0.5, t @ t.mT, pg.sum(t, axis=0), pg.max(t, axis=1),
            pg.sort(t, axis=0), pg.where(t > 0, t, 0.1), pg.clip(t, -1, 1), pg.mean(t * t),
            pg.cumulative_sum(t, axis=1), t[[3, 3, 1]], pg.concat([t, t]), pg.round(t),
            nn.functional.softmax(t, axis=-1), nn.functional.gelu(t), pg.var(t, axis=0),
            nn.functional.layer_norm(t, (65,)), pg.special.erf(t),
        ]  # fmt: skip
        pg.sum(pg.stack([pg.sum(m * m) / m.size for m in made])).backward()
        return [m.detach().to("cpu", "float32").numpy() for m in (*made, t.grad)]

    for got, want in zip(results(GPU), results("cpu"), strict=True):
        np.testing.assert_allclose(got, want, rtol=0.05, atol=0.05 * np.abs(want).max())


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [(optim.SGD, {"momentum": 0.9}), (optim.AdamW, {}), (optim.NAdam, {}), (optim.ASGD, {})],
)
def test_a_graph_trains_as_the_step_does(algorithm, options):
    """Up to the order of the sums in products; in float64, where it is small."""

    def run(recorded):
        net = model().to(pg.float64)
        optimizer = algorithm(net.parameters(), lr=1e-2, **options)
        rng = np.random.default_rng(1)
        batches = [
            (pg.tensor(rng.normal(size=(32, 64)), dtype="float64", device=GPU),
             pg.tensor(rng.integers(0, 10, 32), device=GPU)) for _ in range(6)
        ]  # fmt: skip

        def step(x, labels):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), labels)
            loss.backward()
            optimizer.step()
            return loss.detach()

        call = step
        if recorded:
            call = pg.cuda_graph(step, batches[0], modules=[net], optimizers=[optimizer], warmup=3)
        else:
            for _ in range(3):
                step(*batches[0])
        return [call(*b).item() for b in batches], [p.detach().numpy() for p in net.parameters()]

    if not GPU.startswith("cuda"):
        with pytest.raises(UnsupportedOperationError):
            run(recorded=True)
        return
    want, got = run(recorded=False), run(recorded=True)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    for a, b in zip(got[1], want[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
