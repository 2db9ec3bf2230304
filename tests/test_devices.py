"""Several devices at once: transfers on the tape, modules that move, threads, errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import polygrad as pg
from polygrad.backends import sim
from polygrad.errors import (
    DeviceLostError,
    DeviceMismatchError,
    DtypeError,
    UnknownDeviceError,
    UnsupportedOperationError,
)
from polygrad.testing import assert_close
from tests.devices import present, use

F = pg.nn.functional
PAIRS = [("sim:0", "sim:1"), ("cpu", "sim:0"), ("sim:0", "cpu"), ("cpu", "sycl:cpu:0"),
         ("sycl:cpu:0", "sim:1"), ("sim:0", "sycl:cpu:0"), ("cpu", "frozen:0"),
         ("strict:device1", "strict:device2")]  # fmt: skip
HERE = np.array([0.5, -1.0, 2.0], np.float32)


@pytest.fixture(params=PAIRS, ids=" ".join)
def pair(request):
    return tuple(map(use, request.param))


# ---- transfers on the tape -----------------------------------------------------------------------
def test_a_transfer_is_differentiated_to_the_second_order(pair):
    here, there = pair
    x = pg.tensor(HERE, device=here, requires_grad=True)
    y = x.to(there)
    assert str(y.device) == there
    loss = pg.sum((y * y * y).to(here) * x)  # x^4
    (g,) = pg.autograd.grad(loss, [x], create_graph=True)
    assert str(g.device) == here
    assert_close(g, 4 * HERE**3)
    (h,) = pg.autograd.grad(pg.sum(g.to(there)), [x])
    assert str(h.device) == here
    assert_close(h, 12 * HERE**2)


def test_device_and_dtype_at_once(pair):
    here, there = pair
    for move in (
        lambda x: x.to(there, pg.float64), lambda x: x.to(pg.float64, there),
        lambda x: x.to(device=there, dtype="float64"),
        lambda x: x.to(pg.tensor([1.0], dtype=pg.float64, device=there)),
    ):  # fmt: skip
        x = pg.tensor(HERE, device=here, requires_grad=True)
        y = move(x)
        assert (str(y.device), y.dtype) == (there, pg.float64)
        (g,) = pg.autograd.grad(pg.sum(y * y), [x], create_graph=True)
        assert (str(g.device), g.dtype) == (here, pg.float32)
        assert_close(g, 2 * HERE)
        pg.sum(g).backward()
        assert_close(x.grad, [2.0, 2.0, 2.0])


def test_every_dtype_and_layout_arrives(pair):
    here, there = pair
    host = np.arange(24).reshape(4, 6)
    for dtype in (*(d for d in (pg.bool, pg.int8, pg.uint16, pg.int64, pg.float64, pg.complex64)),):
        values = host.astype(dtype)
        x = pg.tensor(values, device=here)
        for view, want in ((x, values), (x.T, values.T), (x[::2, 1:], values[::2, 1:]),
                           (x[1, 2], values[1, 2]), (x[:0], values[:0])):  # fmt: skip
            moved = view.to(there)
            assert moved.dtype == dtype
            np.testing.assert_array_equal(moved.numpy(), want)
    y = pg.tensor(host, device=here)
    moved = y.to(there)
    y[0, 0] = 100
    assert moved[0, 0].item() == 0  # a copy
    assert y.to(here) is y


def test_a_gradient_is_where_its_leaf_is(pair):
    here, there = pair
    model = pg.nn.Linear(3, 2).to(here)
    head = pg.nn.Linear(2, 1).to(there)
    loss = pg.sum(head(model(pg.tensor(HERE, device=here)).to(there)))
    loss.backward()
    for p, device in ((model.weight, here), (model.bias, here), (head.weight, there)):
        assert str(p.grad.device) == device
    cpu_head = np.array(head.weight.detach().numpy())
    assert_close(model.weight.grad, cpu_head.T @ HERE[None])


# ---- modules and optimisers ----------------------------------------------------------------------
def step(model, optimizer):
    device = next(iter(model.parameters())).device
    x = pg.tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), device=device)
    optimizer.zero_grad()
    F.mse_loss(model(x), pg.ones((4, 2), device=device)).backward()
    optimizer.step()


OPTIMIZERS = {
    "SGD": lambda p: pg.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: pg.optim.Adam(p, lr=0.1, amsgrad=True),
    "RMSprop": lambda p: pg.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "LBFGS": lambda p: pg.optim.LBFGS(p, lr=0.1),
    "Muon": lambda p: pg.optim.Muon(p, lr=0.01),
}


def trained(make, moves, steps=4):
    """The parameters after some steps, moved to a device before the steps that `moves` names."""
    pg.manual_seed(3)
    model = pg.nn.Linear(3, 2)
    parameters = [model.weight] if make is OPTIMIZERS["Muon"] else list(model.parameters())
    optimizer = make(parameters)
    for i in range(steps):
        if i in moves:
            model.to(moves[i])
        if make is OPTIMIZERS["LBFGS"]:
            closure_step(model, optimizer)
        else:
            step(model, optimizer)
    assert [p is q for p, q in zip(parameters, optimizer.param_groups[0]["params"], strict=True)]
    return model, optimizer


def closure_step(model, optimizer):
    def closure():
        optimizer.zero_grad()
        device = model.weight.device
        x = pg.tensor(np.eye(3, dtype=np.float32), device=device)
        loss = F.mse_loss(model(x), pg.ones((3, 2), device=device))
        loss.backward()
        return loss

    optimizer.step(closure)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("when", [0, 2])
def test_an_optimiser_follows_its_model(name, when):
    """Made before the move, with state or without: the steps are those without a move."""
    model, _ = trained(OPTIMIZERS[name], {})
    moved, optimizer = trained(OPTIMIZERS[name], {when: "sim:1"})
    assert str(moved.weight.device) == "sim:1"
    for p, q in zip(model.parameters(), moved.parameters(), strict=True):
        assert_close(q, p.detach())
    for own in optimizer.state.values():
        for slot, value in own.items():
            if isinstance(value, pg.Tensor):
                assert str(value.device) == "sim:1", slot


def test_an_optimiser_follows_there_and_back():
    model, _ = trained(OPTIMIZERS["Adam"], {})
    moved, _ = trained(OPTIMIZERS["Adam"], {1: "sim:0", 2: "sim:1", 3: "cpu"})
    assert_close(moved.weight, model.weight.detach())


def test_parameters_of_one_optimiser_on_two_devices():
    pg.manual_seed(0)
    first, second = pg.nn.Linear(3, 4).to("sim:0"), pg.nn.Linear(4, 1).to("sim:1")
    optimizer = pg.optim.Adam([*first.parameters(), *second.parameters()], lr=0.05)
    x, losses = pg.tensor(HERE[None], device="sim:0"), []
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.mse_loss(second(pg.tanh(first(x)).to("sim:1")), pg.ones((1, 1), device="sim:1"))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().item())
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize("order", [2, 1, 0, 3.5, float("inf"), -float("inf"), -1])
def test_a_norm_over_two_devices_is_the_norm_of_all(order):
    values = [np.array([3.0, -4.0], np.float32), np.array([12.0], np.float32)]
    spread = [pg.nn.Parameter(pg.tensor(v, device=f"sim:{i}")) for i, v in enumerate(values)]
    together = [pg.nn.Parameter(pg.tensor(v)) for v in values]
    for p in (*spread, *together):
        p.grad = p.detach().clone()
    want = pg.nn.utils.clip_grad_norm_(together, 1.0, order)
    got = pg.nn.utils.clip_grad_norm_(spread, 1.0, order)
    assert str(got.device) == "sim:0"
    assert_close(got, want)
    for p, q in zip(spread, together, strict=True):
        assert_close(p.grad, q.grad)


def test_a_module_moves_what_it_holds_and_stays_the_same():
    model = pg.nn.Sequential(pg.nn.Linear(3, 2), pg.nn.BatchNorm1d(2))
    before = list(model.parameters())
    F.mse_loss(model(pg.ones((2, 3))), pg.ones((2, 2))).backward()
    assert model.to("sim:1") is model
    assert all(p is q for p, q in zip(before, model.parameters(), strict=True))
    for t in (*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters())):
        assert str(t.device) == "sim:1"
    assert all(p.is_leaf and p.requires_grad for p in model.parameters())
    model.load_state_dict({k: v.to("cpu") for k, v in model.state_dict().items()})
    assert str(model[0].weight.device) == "sim:1"


def test_a_module_that_cannot_move_has_not_moved():
    model = pg.nn.Linear(2, 2).to(pg.float64)
    with pytest.raises(DtypeError, match=r"sim:no_float64 has no float64"):
        model.to("sim:no_float64")
    assert str(model.weight.device) == "cpu"
    model.to("sim:no_float64", pg.float32)
    assert str(model.bias.device) == "sim:no_float64"


def test_an_operation_that_needs_a_dtype_the_device_lacks_is_not_supported():
    x = pg.tensor([1.0], device="sim:no_float64")
    with pytest.raises(UnsupportedOperationError, match=r"has no float64\. use one of its dtypes"):
        x.kernels.with_dtype(pg.float64)


def test_a_function_that_computes_in_complex_numbers_says_that_there_are_none(monkeypatch):
    backend = pg.ones(1, device="sim:0").kernels.backend
    supports = type(backend).supports
    monkeypatch.setattr(type(backend), "supports",
                        lambda self, d, place: d.kind != "c" and supports(self, d, place))
    x = pg.ones(2, device="sim:0")
    with pytest.raises(UnsupportedOperationError, match="has no complex64"):
        pg.special.voigt_profile(x, x, x)


# ---- errors at the call that causes them ---------------------------------------------------------
def mismatches():
    here, there = (pg.tensor(HERE, device=d) for d in ("sim:0", "sim:1"))
    leaf = pg.tensor(HERE, device="sim:0", requires_grad=True)
    model = pg.nn.Linear(3, 2).to("sim:0")
    index = pg.tensor([0, 1], device="sim:1")
    square = pg.ones((2, 3), device="sim:0")
    return {
        "add": lambda: here + there, "in place": lambda: here.__iadd__(there),
        "comparison": lambda: here < there, "matmul": lambda: here @ there,
        "where": lambda: pg.where(here > 0, here, there),
        "concat": lambda: pg.concat([here, there]), "stack": lambda: pg.stack([here, there]),
        "einsum": lambda: pg.einsum("i,i->", here, there),
        "key": lambda: here[index], "take": lambda: pg.take(here, index),
        "write": lambda: here.__setitem__(0, there[0]),
        "number": lambda: here * pg.tensor(2.0, device="sim:1"),
        "layer": lambda: model(there), "loss": lambda: F.mse_loss(here, there),
        "classes": lambda: F.cross_entropy(square, index),
        "lstm": lambda: pg.nn.LSTM(3, 2).to("sim:0")(pg.ones((2, 1, 3), device="sim:1")),
        "norm": lambda: F.layer_norm(here, (3,), weight=there),
        "solve": lambda: pg.linalg.solve(pg.eye(3, device="sim:0"), there),
        "clip": lambda: pg.clip(here, there, 2.0),
        "cotangent": lambda: (leaf * 2).backward(there),
        "external": lambda: pg.external(lambda x, y: x, vjp=lambda g, x, y: (g, g))(leaf, there),
    }  # fmt: skip


@pytest.mark.parametrize("name", mismatches())
def test_two_devices_in_one_call(name):
    with pytest.raises(DeviceMismatchError) as caught:
        mismatches()[name]()
    text = str(caught.value)
    assert "sim:0" in text
    assert "sim:1" in text
    assert '.to("sim:' in text
    raised = caught.traceback[0].path
    assert str(raised) == __file__  # at the call, not when a result is looked at


def test_the_error_says_both_ways_out():
    with pytest.raises(DeviceMismatchError) as caught:
        pg.ones(2, device="sim:0") + pg.ones(2)
    assert str(caught.value) == (
        "operands on two devices: sim:0 and cpu. add(float32 (2,) on sim:0, float32 (2,) on cpu). "
        'move one of them: the one on cpu with .to("sim:0"), or the one on sim:0 with .to("cpu").'
    )


UNKNOWN = {
    "gpu": 'write "cuda:0", "rocm:0" or "sycl:gpu:0"', "gpu:1": '"sycl:gpu:0"',
    "xpu:0": 'write "sycl:gpu:0"', "level_zero:gpu:0": 'write "sycl:gpu:0"', "CPU": 'write "cpu"',
    "numpy": 'write "cpu"', "cupy:0": '"cuda" or "rocm"', "dpnp": 'write "sycl"',
    "mps": "Apple's", "cdua:0": 'write "cuda"', "quantum:0": "pg.devices()",
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_wrong_kind_of_device(name):
    for use_it in (
        lambda: pg.ones(2, device=name), lambda: pg.ones(2).to(name), lambda: pg.device(name),
        lambda: pg.nn.Linear(2, 2).to(name), lambda: pg.set_default_device(name),
        lambda: pg.device_properties(name),
    ):  # fmt: skip
        with pytest.raises(UnknownDeviceError) as caught:
            use_it()
        assert UNKNOWN[name] in str(caught.value)
        assert "known kinds: cpu, cuda" in str(caught.value)


def test_a_number_that_is_not_there():
    with pytest.raises(UnknownDeviceError, match=r"no device 'sim:9'.*sim:0, sim:1, .*python -m"):
        pg.ones(2, device="sim:9")
    with pytest.raises(UnknownDeviceError, match=r"no device 'cpu:1'.*sees: cpu\."):
        pg.ones(2, device="cpu:1")
    with pytest.raises(UnknownDeviceError, match=r"'flaot32'.*write \"float32\""):
        pg.ones(2).to("flaot32")


def test_what_a_lost_device_held_is_gone_and_other_devices_go_on():
    x = pg.tensor(HERE, device="sim:1", requires_grad=True)
    y = pg.tensor(HERE, device="sim:0", requires_grad=True)
    with sim.inject(sim.devices()[1], lost=1):
        for call in (
            lambda: x + 1, lambda: x.detach().to("sim:0"), lambda: x.detach().numpy(),
            lambda: pg.zeros(2, device="sim:1"), lambda: pg.tensor(HERE, device="sim:1"),
        ):  # fmt: skip
            with pytest.raises(DeviceLostError, match="sim:1 was lost"):
                call()
        pg.sum(y * y).backward()
        assert_close(y.grad, 2 * HERE)


# ---- what a device is ----------------------------------------------------------------------------
def test_properties():
    found = pg.device_properties("sim:no_float64")
    assert (found.device, found.backend, found.asynchronous) == ("sim:no_float64", "sim", True)
    assert found.total_memory >= found.free_memory > 0
    assert pg.float32 in found.dtypes
    assert pg.float64 not in found.dtypes
    assert found.hardware == "simulated accelerator"
    assert str(found).splitlines()[0] == "sim:no_float64"
    assert "all but float64, complex128" in str(found)
    here = pg.device_properties()
    assert (here.device, here.backend, here.asynchronous) == ("cpu", "numpy", False)
    assert here.library == f"numpy {np.__version__}"
    assert here.hardware
    with pg.device("sim:1"):
        assert pg.device_properties().device == "sim:1"


def test_properties_of_every_device(device):
    found = pg.device_properties(device)
    assert found.device == device
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "hardware", "driver", "library", "memory", "dtypes", "asynchronous",
    ]  # fmt: skip
    if device == "sycl:cpu:0":
        assert "opencl" in found.driver
        assert found.library.startswith("dpnp ")


# ---- threads -------------------------------------------------------------------------------------
def test_threads_choose_their_own_device_and_grad_mode():
    """The default dtype is the process's, as in PyTorch; the rest is each thread's own."""
    places = ["cpu", "sim:0", "sim:1", *(["sycl:cpu:0"] if present("sycl:cpu:0") else [])]
    ready, found, errors = threading.Barrier(len(places)), {}, []

    def work(place, recorded):
        try:
            with pg.device(place), pg.set_grad_enabled(recorded):
                for _ in range(20):
                    ready.wait(60)
                    x = pg.nn.Parameter(pg.ones(3))
                    y = pg.sum(x * pg.full((3,), 2.0))
                    assert str(y.device) == place
                    assert y.requires_grad is recorded
                    assert pg.is_grad_enabled() is recorded
                    if recorded:
                        y.backward()
                        assert_close(x.grad, [2.0, 2.0, 2.0])
            found[place] = str(pg.get_default_device()), pg.is_grad_enabled()
        except BaseException as error:
            errors.append(error)
            ready.abort()
            raise

    threads = [threading.Thread(target=work, args=(p, i % 2 == 0)) for i, p in enumerate(places)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert found == dict.fromkeys(places, ("cpu", True))


def test_threads_train_on_devices_of_their_own():
    results = {}

    def train(place):
        generator = pg.Generator(7)
        x = pg.random.normal((16, 4), generator=generator, device=place)
        model = pg.nn.Linear(4, 1)
        model.load_state_dict({"weight": pg.zeros((1, 4)), "bias": pg.zeros(1)})
        optimizer = pg.optim.Adam(model.to(place).parameters(), lr=0.1)
        for _ in range(15):
            optimizer.zero_grad()
            F.mse_loss(model(x), x[:, :1]).backward()
            optimizer.step()
        results[place] = model.weight.detach().numpy()

    places = ["cpu", "sim:0", "sim:1"]
    threads = [threading.Thread(target=train, args=(place,)) for place in places]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert set(results) == set(places)
    for place in places:
        assert_close(results[place], results["cpu"])
