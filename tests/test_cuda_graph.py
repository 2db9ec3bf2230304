"""CUDA graphs over the stand-in for CuPy, which writes calls down and repeats them.

Products and updates are kernels there, which the emulator runs; nothing is learned of a GPU.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn, optim
from polygrad.backends.cupy_kernels import products
from polygrad.device import Device
from polygrad.errors import (
    DeviceMismatchError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
    UnsupportedOperationError,
)
from tests import fake_cupy as fake
from tests.cupy_kernels.emulator import COMPILER, LAUNCHES
from tests.fake_plugin import emulated_kernels, use_fake_cupy

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="no C++ compiler here (2026-11-30: CI has one)"
)
RNG = np.random.default_rng(3)
DATA = [RNG.normal(size=(5, 4)).astype(np.float32) for _ in range(8)]


@pytest.fixture(autouse=True)
def gpus(monkeypatch):
    """cuda:0 and cuda:1 are devices of this process, of the stand-in."""
    backend = use_fake_cupy(monkeypatch)
    with emulated_kernels(backend):
        yield backend


def training(device, algorithm, bias=True, **options):
    pg.manual_seed(0)
    layers = [nn.Linear(4, 6, bias=bias), nn.Tanh(), nn.Linear(6, 2, bias=bias)]
    if bias:  # without, all parameters are matrices
        layers.insert(1, nn.BatchNorm1d(6))
    model = nn.Sequential(*layers).to(device)
    optimizer = algorithm(model.parameters(), **options)

    def step(x):
        optimizer.zero_grad()
        loss = pg.mean(model(x) ** 2)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return model, optimizer, step


def values(model, optimizer):
    found = {k: v.numpy().tolist() for k, v in model.state_dict().items()}
    state = optimizer.state_dict()["state"]
    return found, {
        i: {k: v.numpy().tolist() if isinstance(v, pg.Tensor) else v for k, v in own.items()}
        for i, own in state.items()
    }


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        (optim.SGD, {"lr": 0.1}),
        (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
        (optim.RMSprop, {"lr": 0.01, "momentum": 0.5}),
        (optim.Adadelta, {}),
        (optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
        (optim.AdamW, {"lr": 0.05}),
        (optim.NAdam, {"lr": 0.05}),
        (optim.RAdam, {"lr": 0.05}),
        (optim.Adamax, {}),
        (optim.ASGD, {"lr": 0.1, "lambd": 0.5, "t0": 5}),
        (optim.Adagrad, {"lr_decay": 0.5}),
        (optim.Rprop, {}),
        (optim.Lion, {}),
    ],
)
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_a_graph_trains_as_the_step_does(device, algorithm, options):
    model, optimizer, step = training(device, algorithm, **options)
    batches = [pg.tensor(d, device=device) for d in DATA]
    want_losses = [step(batches[i]).item() for i in (0, 0, 0)]
    want_losses = [step(x).item() for x in batches]
    want = values(model, optimizer)

    model, optimizer, step = training(device, algorithm, **options)
    graph = pg.cuda_graph(step, [batches[0]], modules=[model], optimizers=[optimizer], warmup=3)
    losses = [graph(x).item() for x in batches]
    assert np.array_equal(losses, want_losses)
    assert values(model, optimizer) == want
    assert "own memory" in fake.LOG
    step(batches[0])  # and goes on without it
    assert np.isfinite(next(iter(model.parameters())).detach().numpy()).all()


def after_two(step, x, model, optimizer, *, recorded):
    """The step after two calls of it: a graph, whose warm-up they are, or itself."""
    if recorded:
        return pg.cuda_graph(step, [x], modules=[model], optimizers=[optimizer], warmup=2)
    for _ in range(2):
        step(x)
    return step


def both(device, algorithm, change, **options):
    """Losses and state of as many steps, by a graph and without; `change(optimizer, i)` before."""
    found = []
    for recorded in (False, True):
        model, optimizer, step = training(device, algorithm, **options)
        batches = [pg.tensor(d, device=device) for d in DATA]
        step = after_two(step, batches[0], model, optimizer, recorded=recorded)
        losses = []
        for i, x in enumerate(batches):
            change(optimizer, i)
            losses.append(step(x).item())
        found.append((losses, values(model, optimizer), optimizer.steps_taken))
    return found


@pytest.mark.parametrize("in_a_tensor", [False, True])
@pytest.mark.parametrize("algorithm", [optim.SGD, optim.Adam, optim.ASGD])
def test_a_schedule_of_the_learning_rate_is_followed(algorithm, in_a_tensor):
    """A decay that is switched on, too: all options are read at each replay."""

    def change(optimizer, i):
        group = optimizer.param_groups[0]
        group["lr"] = pg.tensor(0.1 * 0.5**i) if in_a_tensor else 0.1 * 0.5**i
        group["weight_decay"] = 0.3 * (i > 3)

    eager, replayed = both("cuda:0", algorithm, change, lr=0.1)
    assert replayed == eager


def test_an_option_that_a_graph_cannot_follow_is_refused():
    x = pg.tensor(DATA[0], device="cuda:0")
    for algorithm, options, name, value, what in (
        (optim.SGD, {"lr": 0.1}, "momentum", 0.5, "arrays that its options need of SGD changed"),
        (optim.Muon, {"lr": 0.1}, "lr", 0.2, "lr of Muon changed"),
    ):
        model, optimizer, step = training("cuda:0", algorithm, bias=False, **options)
        given = {"modules": [model], "optimizers": [optimizer]}
        graph = pg.cuda_graph(step, [x], **given)
        graph(x)
        optimizer.param_groups[0][name] = value
        with pytest.raises(InvalidArgumentError, match=f"{what} since the graph was recorded"):
            graph(x)


def test_muon_is_recorded():
    eager, replayed = both("cuda:0", optim.Muon, lambda optimizer, i: None, lr=0.1, bias=False)
    assert replayed == eager


def test_the_state_is_that_of_as_many_steps(gpus):
    """It is saved between replays, and a step without the graph goes on from it."""
    device = "cuda:0"
    x = pg.tensor(DATA[0], device=device)
    model, optimizer, step = training(device, optim.Adam, lr=0.05)
    graph = pg.cuda_graph(step, [x], modules=[model], optimizers=[optimizer], warmup=2)
    assert optimizer.steps_taken == 2
    assert {own["step"] for own in optimizer.state.values()} == {2}
    for _ in range(3):
        graph(x)
    assert optimizer.steps_taken == 5
    saved, weights = optimizer.state_dict(), {k: v.clone() for k, v in model.state_dict().items()}
    assert {own["step"] for own in saved["state"].values()} == {5}
    other, again, step = training(device, optim.Adam)
    other.load_state_dict(weights)
    again.load_state_dict(saved)
    want = [graph(x).item() for _ in range(4)]
    assert [step(x).item() for _ in range(4)] == want
    assert values(other, again) == values(model, optimizer)


@pytest.mark.parametrize("name", ["arange", "interpolate", "pad", "adaptive_pool"])
def test_tables_that_follow_from_shapes_are_kept(name):
    """Forward and backward; numbers that the user has on the host are refused elsewhere."""
    F = nn.functional
    function = {
        "arange": lambda x: x * pg.arange(5, device=x.device, dtype=x.dtype),
        "interpolate": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
        "pad": lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"),
        "adaptive_pool": lambda x: F.adaptive_max_pool2d(x, 3) + F.adaptive_avg_pool2d(x, 3),
    }[name]
    w = nn.Parameter(pg.tensor(RNG.normal(size=(2, 3, 5, 5)).astype(np.float32), device="cuda:0"))
    module = nn.Module()
    module.w = w

    def step(x):
        w.gradient = None
        loss = pg.sum(function(w * x) ** 2)
        loss.backward()
        return loss.detach(), w.grad

    first, then = (
        pg.tensor(RNG.normal(size=w.shape).astype(np.float32), device="cuda:0") for _ in range(2)
    )
    graph = pg.cuda_graph(step, [first], modules=[module], warmup=2)
    for x in (first, then):
        got = [t.tolist() for t in graph(x)]
        assert got == [t.tolist() for t in step(x)]
        w.gradient = None


def test_gradients_are_clipped_without_a_wait():
    """The norm stays on the device: a graph refuses the host's look at it."""
    device, found = "cuda:0", []
    for recorded in (False, True):
        model, optimizer, _ = training(device, optim.AdamW, lr=0.05)
        batches = [pg.tensor(d, device=device) for d in DATA]

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            pg.mean(model(x) ** 2).backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.3)
            optimizer.step()
            return norm

        step = after_two(step, batches[0], model, optimizer, recorded=recorded)
        norms = [step(x).item() for x in batches]
        assert min(norms) < 0.3 < max(norms)
        found.append((norms, values(model, optimizer)))
    assert found[0] == found[1]


def test_two_steps_of_an_optimizer_in_one_graph():
    device = "cuda:0"
    found = []
    for recorded in (False, True):
        model, optimizer, step = training(device, optim.NAdam, lr=0.05)
        batches = [pg.tensor(d, device=device) for d in DATA]

        def twice(x, step=step):
            step(x)
            return step(x)

        twice = after_two(twice, batches[0], model, optimizer, recorded=recorded)
        losses = [twice(x).item() for x in batches]
        found.append((losses, values(model, optimizer), optimizer.steps_taken))
    assert found[0] == found[1]


def test_numbers_that_stay_are_not_written_again(gpus):
    x = pg.tensor(DATA[0], device="cuda:0")
    for algorithm, writes in ((optim.SGD, 0), (optim.Adam, 2)):
        model, optimizer, step = training("cuda:0", algorithm, lr=0.1)
        graph = pg.cuda_graph(step, [x], modules=[model], optimizers=[optimizer])
        graph(x)
        recording = graph._recording
        found = []
        for _ in range(2):
            for update in graph._updates:
                update.renew(recording)
            found += recording._due
            recording.replay()
        assert len(found) == writes


def test_products_are_the_library_s_but_while_a_graph_is_recorded(gpus):
    """cuBLAS is not recorded: the kernel is, in another order of the sums."""
    for row in products.FAMILY.rows:
        for dtype in row.dtypes:
            gpus.kernel(row.op, dtype=dtype)(functools.partial(row.call, gpus.launcher))
    a, b = (pg.tensor(d, device="cuda:0") for d in DATA[:2])
    before = len(LAUNCHES)
    want = a @ b.T
    assert "matmul" not in LAUNCHES[before:]
    graph = pg.cuda_graph(lambda a, b: a @ b.T, [a, b])
    before = len(LAUNCHES)
    got = graph(a, b)
    assert LAUNCHES[before:] == ["matmul"]
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5)
    with pytest.raises(InvalidArgumentError, match=r"broken off: calling cuBLAS.*complex matrices"):
        pg.cuda_graph(lambda a: a @ a.T, [pg.astype(a, pg.complex64)])


def test_gradients_add_up_from_replay_to_replay():
    w = nn.Parameter(pg.tensor([1.0, 2.0], device="cuda:0"))
    module = nn.Module()
    module.w = w

    def step(x):
        pg.sum(w * x).backward()

    x = pg.tensor([1.0, 10.0], device="cuda:0")
    graph = pg.cuda_graph(step, [x], modules=[module], warmup=2)
    assert w.grad.tolist() == [2.0, 20.0]
    graph(x)
    graph(x * 2)
    assert w.grad.tolist() == [5.0, 50.0]


def test_two_values_that_change_places():
    module = nn.Module()
    for name, value in (("a", 1.0), ("b", 2.0)):
        module.register_buffer(name, pg.full((2,), value, device="cuda:0"))

    def step(x):
        module.a, module.b = module.b, module.a  # the tensors themselves
        a, b = pg.asarray(module.a.native()), pg.asarray(module.b.native())
        module.a[...] = b
        module.b[...] = a + x

    x = pg.zeros(2, device="cuda:0")
    graph = pg.cuda_graph(step, [x], modules=[module], warmup=2)
    before = module.a.tolist(), module.b.tolist()
    graph(x)
    assert (module.a.tolist(), module.b.tolist()) == before[::-1]


def test_outputs_are_the_same_tensors_and_inputs_are_looked_at():
    x = pg.ones((2, 3), device="cuda:0")
    graph = pg.cuda_graph(lambda x: {"y": x * 2, "n": 5}, [x])
    first = graph(x)
    assert first["y"].tolist() == [[2.0] * 3] * 2
    assert first["n"] == 5
    assert graph(x + 1) is first
    assert first["y"].tolist() == [[4.0] * 3] * 2
    with pytest.raises(InvalidArgumentError, match="2 inputs, 1 were recorded"):
        graph(x, x)
    for wrong in (pg.ones(2, device="cuda:0"), pg.ones((2, 3)), 5, x.to(pg.float64)):
        with pytest.raises(ShapeError, match=r"not float32 \(2, 3\) on cuda:0"):
            graph(wrong)


def test_what_a_graph_cannot_repeat_is_refused():
    x = pg.ones(3, device="cuda:0")
    weight = nn.Parameter(pg.ones(3, device="cuda:0"))
    with pytest.raises(InvalidArgumentError, match="draws random numbers"):
        pg.cuda_graph(lambda x: nn.functional.dropout(x, 0.5), [x])
    for step, what in (
        (lambda x: (x * 2).tolist(), "copy to the host"),
        (lambda x: x + pg.tensor([1.0, 2.0, 3.0], device="cuda:0"), "copy from the host"),
        (lambda x: pg.synchronize("cuda:0"), "wait for the device"),
    ):
        with pytest.raises(InvalidArgumentError, match=f"recorded may not {what}"):
            pg.cuda_graph(step, [x])
        assert (x * 2).tolist() == [2.0] * 3  # and nothing is recorded any more
    advice = r"change from step to step.*after the graph"
    for algorithm in (optim.Adafactor, optim.LBFGS):
        with pytest.raises(InvalidArgumentError, match=advice):
            pg.cuda_graph(lambda x: x, [x], optimizers=[algorithm([weight])])
    with pytest.raises(InvalidArgumentError, match="warmup is 1"):
        pg.cuda_graph(lambda x: x, [x], warmup=1)
    with pytest.raises(InvalidTypeError, match="list of one or more Tensors"):
        pg.cuda_graph(lambda x: x, [])
    with pytest.raises(DeviceMismatchError, match="a tensor on cpu"):
        pg.cuda_graph(lambda x: x, [x], optimizers=[optim.SGD([nn.Parameter(pg.ones(3))])])
    with pytest.raises(InvalidArgumentError, match="has a history"):
        pg.cuda_graph(lambda x: x, [weight * 2])


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_other_devices_say_that_they_have_no_graphs(device):
    with pytest.raises(UnsupportedOperationError, match=r"only CUDA devices.*call the step as it"):
        pg.cuda_graph(lambda x: x, [pg.ones(3, device=device)])


def test_rocm_has_none(monkeypatch, gpus):
    monkeypatch.setitem(type(gpus).recording.__globals__, "_IS_HIP", True)
    with pytest.raises(UnsupportedOperationError, match="only CUDA devices"):
        pg.cuda_graph(lambda x: x, [pg.ones(3, device="cuda:0")])


def test_an_optimizer_that_says_so_is_the_same_at_each_step():
    """Its rule gives the same at steps 2 and 9; that of one which does not say so differs."""
    classes = [c for c in vars(optim).values() if isinstance(c, type) and hasattr(c, "rule")]
    assert len(classes) > 10
    for cls in classes:
        p = nn.Parameter(pg.tensor(DATA[0]))
        p.grad = pg.tensor(DATA[1])
        optimizer = cls([p])
        optimizer.step()
        group, k = optimizer.param_groups[0], p.kernels
        own = optimizer.state[p]
        arrays = [v.native() for v in own.values() if isinstance(v, pg.Tensor)]
        found = []
        for start in (1, 8):
            numbers = {n: v for n, v in own.items() if not isinstance(v, pg.Tensor)}
            numbers["step"] = start
            keywords = optimizer.advance(numbers, group)
            values = p.detach().native(), p.grad.native(), *arrays
            with np.errstate(all="ignore"):
                out = getattr(k, cls.rule)(*values, **keywords)
            found.append(np.asarray(out[0] if isinstance(out, tuple) else out).tolist())
        assert (found[0] == found[1]) >= cls.same_each_step, cls


def test_the_stand_in_repeats_what_was_recorded(gpus):
    """The tests above would pass over nothing: a graph is launched, its memory is written."""
    a = gpus.from_numpy(np.ones(2, np.float32), Device("cuda:0"))
    with gpus.recording(Device("cuda:0")) as made:
        b = a + 1
        a[...] = b
    assert np.isnan(np.asarray(b.get())).all()
    assert a.get().tolist() == [1.0, 1.0]
    made.replay()
    made.replay()
    assert a.get().tolist() == [3.0, 3.0]
