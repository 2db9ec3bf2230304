"""Module: registration, walking, saving, loading, hooks, moving, copying."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, OutOfMemoryError
from polygrad.nn import places
from polygrad.ops.creation import to_place
from polygrad.testing import assert_close
from polygrad.testing.compare import host
from tests.devices import optional


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.scale = nn.Parameter(pg.ones(3))
        self.register_buffer("offset", pg.zeros(3))
        self.register_buffer("scratch", pg.zeros(1), persistent=False)
        self.register_parameter("missing", None)

    def forward(self, x, *, shift=0.0):
        return self.inner(x) * self.scale + self.offset + shift


def network():
    return nn.Sequential(Block(), nn.Tanh(), nn.Linear(3, 1))


# ---- registration -----------------------------------------------------------------------------
def test_names_of_parameters_buffers_and_modules_in_order():
    m = network()
    assert [n for n, _ in m.named_parameters()] == [
        "0.scale", "0.inner.weight", "0.inner.bias", "2.weight", "2.bias",
    ]  # fmt: skip
    assert [n for n, _ in m.named_parameters(prefix="net", recurse=False)] == []
    assert [n for n, _ in m.named_buffers()] == ["0.offset", "0.scratch"]
    assert [n for n, _ in m.named_modules()] == ["", "0", "0.inner", "1", "2"]
    assert [n for n, _ in m.named_children()] == ["0", "1", "2"]
    assert list(m.state_dict()) == [
        "0.scale", "0.offset", "0.inner.weight", "0.inner.bias", "2.weight", "2.bias",
    ]  # fmt: skip


def test_shared_parameters_and_modules_are_listed_once_or_under_every_name():
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m[1].weight = m[0].weight
    assert len(list(m.parameters())) == 3
    assert len(list(m.named_parameters(remove_duplicate=False))) == 4
    m.add_module("again", m[0])
    assert len(list(m.modules())) == 3
    assert len(list(m.named_modules(remove_duplicate=False))) == 4


def test_an_attribute_keeps_its_kind():
    b = Block()
    with pytest.raises(InvalidTypeError, match="take the place of a parameter"):
        b.scale = pg.ones(3)
    with pytest.raises(InvalidTypeError, match="take the place of a module"):
        b.inner = 3
    with pytest.raises(InvalidTypeError, match="take the place of a buffer"):
        b.offset = 3
    b.offset = pg.ones(3)
    b.inner = None
    assert dict(b.named_parameters()).keys() == {"scale"}
    b.missing = nn.Parameter(pg.zeros(1))
    del b.scale
    assert [n for n, _ in b.named_parameters()] == ["missing"]
    assert not hasattr(b, "scale")
    with pytest.raises(InvalidTypeError, match="take the place of a parameter"):
        b.missing = pg.zeros(1)
    b.plain = 5
    assert b.plain == 5
    b.plain = nn.Linear(1, 1)
    assert "plain" in dict(b.named_children())


def test_assigning_before_init_says_what_to_write():
    class Early(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(pg.zeros(1))

    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\)"):
        Early()


@pytest.mark.parametrize("name", ["", "a.b", "forward", "training"])
def test_names_that_cannot_be_registered(name):
    with pytest.raises(InvalidArgumentError):
        nn.Module().register_parameter(name, nn.Parameter(pg.zeros(1)))


def test_registering_the_wrong_thing():
    m = Block()
    with pytest.raises(InvalidTypeError, match="no Parameter"):
        m.register_parameter("p", pg.zeros(1))
    with pytest.raises(InvalidTypeError, match="no Tensor"):
        m.register_buffer("b", 3.0)
    with pytest.raises(InvalidTypeError, match="no Module"):
        m.add_module("m", 3)
    with pytest.raises(InvalidArgumentError, match="exists already"):
        m.register_buffer("scale", pg.zeros(1))


def test_paths():
    m = network()
    assert m.get_submodule("0.inner") is m[0].inner
    assert m.get_submodule("") is m
    assert m.get_parameter("0.inner.weight") is m[0].inner.weight
    assert m.get_buffer("0.scratch") is m[0].scratch
    m.set_submodule("0.inner", nn.Linear(2, 3, bias=False))
    assert m[0].inner.bias is None
    for wrong in (
        lambda: m.get_submodule("0.other"), lambda: m.get_parameter("0.offset"),
        lambda: m.get_buffer("0.scale"), lambda: m.get_parameter("0.missing"),
    ):  # fmt: skip
        with pytest.raises(AttributeError, match="path"):
            wrong()


def test_a_parameter_is_a_leaf_of_its_class():
    p = nn.Parameter(pg.tensor([1.0]))
    assert isinstance(p, pg.Tensor)
    assert p.is_leaf and p.requires_grad
    assert type(copy.deepcopy(p)) is nn.Parameter
    assert type(pickle.loads(pickle.dumps(p))) is nn.Parameter  # noqa: S301
    assert not nn.Parameter(pg.tensor([1]), requires_grad=False).requires_grad
    with pytest.raises(pg.PolygradError, match="leaf"):
        nn.Parameter(p * 2)
    with pytest.raises(pg.PolygradError, match="require grad"):
        nn.Parameter(pg.tensor([1]))
    source = pg.zeros(2)
    q = nn.Parameter(source)
    source[0] = 1.0
    assert host(q).tolist() == [0.0, 0.0]


# ---- saving and loading -------------------------------------------------------------------------
def test_a_state_dict_is_not_moved_by_training_or_writing():
    m = network()
    saved = m.state_dict()
    before = {k: host(v).copy() for k, v in saved.items()}
    optimizer = pg.optim.SGD(m.parameters(), lr=1.0)
    for _ in range(2):
        optimizer.zero_grad()
        pg.sum(m(pg.ones((4, 2)))).backward()
        optimizer.step()
    with pg.no_grad():
        m[2].weight += 1.0
        m[0].offset[0] = 3.0
    for k, v in saved.items():
        assert not v.requires_grad
        np.testing.assert_array_equal(host(v), before[k])
    m.load_state_dict(saved)
    np.testing.assert_array_equal(host(m[2].weight), before["2.weight"])
    assert m.state_dict(keep_vars=True)["2.weight"] is m[2].weight


def test_loading_copies_arrays_too():
    m = nn.Linear(2, 1)
    w = np.ones((1, 2), np.float64)
    keys = m.load_state_dict({"weight": w, "bias": [3.0]})
    assert repr(keys) == "<All keys matched successfully>"
    w[0, 0] = 7
    assert host(m.weight).tolist() == [[1.0, 1.0]]
    assert m.weight.dtype == pg.float32


def test_loading_by_assignment_takes_dtype_and_identity():
    m = nn.Linear(2, 1)
    t = nn.Parameter(pg.ones((1, 2), dtype=pg.float64))
    m.load_state_dict({"weight": t, "bias": pg.zeros(1)}, assign=True)
    assert m.weight is t
    assert isinstance(m.bias, nn.Parameter)
    assert m.bias.requires_grad


def test_extra_state_and_hooks_of_saving():
    class Counter(nn.Linear):
        def get_extra_state(self):
            return {"calls": 3}

        def set_extra_state(self, state):
            self.calls = state["calls"]

    m = nn.Sequential(Counter(1, 1))
    seen = []
    m[0].register_state_dict_pre_hook(lambda *a: seen.append("pre"))
    m[0].register_state_dict_post_hook(lambda mod, state, prefix, meta: seen.append(prefix))
    m[0].register_load_state_dict_pre_hook(lambda *a: seen.append("load"))
    m[0].register_load_state_dict_post_hook(lambda mod, keys: seen.append(len(keys.missing_keys)))
    state = m.state_dict()
    m.load_state_dict(state)
    assert state["0._extra_state"] == {"calls": 3} and m[0].calls == 3
    assert seen == ["pre", "0.", "load", 0]
    del state["0._extra_state"]
    with pytest.raises(RuntimeError, match="_extra_state"):
        m.load_state_dict(state)


# ---- modes, gradients, moving -------------------------------------------------------------------
def test_train_eval_apply_zero_grad_requires_grad():
    m = network()
    assert not any(x.training for x in m.eval().modules())
    assert all(x.training for x in m.train().modules())
    with pytest.raises(InvalidTypeError):
        m.train(mode="yes")
    names = []
    m.apply(lambda x: names.append(type(x).__name__))
    assert names == ["Linear", "Block", "Tanh", "Linear", "Sequential"]
    pg.sum(m(pg.ones((4, 2)))).backward()
    m.zero_grad(set_to_none=False)
    assert all(not host(p.grad).any() for p in m.parameters())
    m.zero_grad()
    assert all(p.grad is None for p in m.parameters())
    m.requires_grad_(False)
    assert not m(pg.ones((4, 2))).requires_grad


def test_moving_keeps_identity_and_gradients(device):
    m = network()
    x = pg.ones((4, 2))
    pg.sum(m(x)).backward()
    want, grad, before = host(m(x)), host(m[2].weight.grad), m[2].weight
    m.to(device)
    assert m[2].weight is before
    assert m[2].weight.device == m[0].offset.device == device
    assert_close(m(x.to(device)), want)
    assert m[2].weight.grad.device == device
    assert_close(m[2].weight.grad, grad)
    assert m.state_dict()["2.weight"].device == device
    optimizer = pg.optim.Adam(m.parameters())
    optimizer.step()
    m.to("cpu")
    optimizer.step()
    assert m[2].weight.device == "cpu"
    assert optimizer.state[m[2].weight]["exp_avg"].device == "cpu"


def test_moving_changes_floating_dtypes_only():
    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    view = m[0].weight[0]
    m.double()
    assert m[0].weight.dtype == m[1].running_mean.dtype == pg.float64
    assert m[1].num_batches_tracked.dtype == pg.int64
    assert view.dtype == pg.float32
    assert m.half()[0].weight.dtype == pg.float16
    assert m.float()[0].weight.dtype == pg.float32
    with pytest.raises(pg.PolygradError, match="cannot be int32"):
        m.to(pg.int32)


def test_a_move_that_fails_has_moved_nothing(monkeypatch):
    optional("array_api_strict")
    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).double()
    pg.sum(m(pg.ones((2, 2), dtype=pg.float64))).backward()
    tensors = [*m.parameters(), *m.buffers()]
    before = [(t.array, t.kernels, t.gradient) for t in tensors]
    with pytest.raises(DtypeError, match="has no float64"):
        m.to("strict:no_float64")
    moved = iter(range(3))

    def fails(t, dtype=None, device=None, **options):  # as a device whose memory is full
        if next(moved, None) is None:
            raise OutOfMemoryError("the memory is exhausted", "to", "free some")
        return to_place(t, dtype, device, **options)

    monkeypatch.setattr(places, "to_place", fails)
    for move in (m.float, lambda: m.to("frozen:0", pg.float32), lambda: m.type(pg.float32)):
        moved = iter(range(3))
        with pytest.raises(OutOfMemoryError):
            move()
        for t, (array, kernels, gradient) in zip(tensors, before, strict=True):
            assert t.array is array and t.kernels is kernels and t.gradient is gradient


def test_the_forms_of_a_move():
    m = nn.Linear(2, 2)
    like = pg.zeros(1, dtype=pg.float64, device="frozen:0")
    for move, device, dtype in (
        (lambda: m.to("frozen:0"), "frozen:0", pg.float32),
        (lambda: m.to(pg.float64), "frozen:0", pg.float64),
        (lambda: m.to("cpu", pg.float16), "cpu", pg.float16),
        (lambda: m.to("cpu", "float32", True), "cpu", pg.float32),
        (lambda: m.to(like, non_blocking=True), "frozen:0", pg.float64),
        (lambda: m.to(device="cpu", dtype=pg.float32), "cpu", pg.float32),
        (lambda: m.to("frozen:0").cpu(), "cpu", pg.float32),
        (lambda: m.to(None, None), "cpu", pg.float32),
        (m.to, "cpu", pg.float32),
    ):  # fmt: skip
        assert move() is m
        assert m.weight.device == m.bias.device == device
        assert m.weight.dtype == dtype
    for wrong in (
        lambda: m.to("cpu", "frozen:0"), lambda: m.to("cpu", device="cpu"),
        lambda: m.to(pg.float32, pg.float64), lambda: m.to(like, "cpu"),
    ):  # fmt: skip
        with pytest.raises(InvalidTypeError, match="2 d"):
            wrong()
    t = pg.zeros(1)
    assert t.to("cpu", non_blocking=True) is t.to("cpu", pg.float32, True) is t
    with pytest.raises(InvalidTypeError, match="2 devices were given: cpu, frozen:0"):
        t.to("cpu", "frozen:0")


def test_all_tensors_in_one_dtype():
    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    m.type(pg.float64)
    assert {t.dtype for t in m.state_dict().values()} == {pg.float64}
    with pytest.raises(DtypeError, match="require grad cannot be int64"):
        m.type(pg.int64)
    m.requires_grad_(False).type("int64")
    assert {t.dtype for t in m.state_dict().values()} == {pg.int64}


def test_complex_parameters_stay_complex():
    m = nn.Module()
    m.z = nn.Parameter(pg.tensor([1 + 2j]))
    m.x = nn.Parameter(pg.tensor([1.0]))
    m.double()
    assert m.z.dtype == pg.complex128 and m.x.dtype == pg.float64
    with pytest.raises(DtypeError):
        m.type(pg.float32)
    assert m.z.dtype == pg.complex128 and m.x.dtype == pg.float64
    m.to(pg.complex64)
    assert m.z.dtype == m.x.dtype == pg.complex64
    assert host(m.z).tolist() == [1 + 2j]


def test_shared_parameters_stay_shared_and_views_are_cut_off(device):
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m[1].weight = m[0].weight
    optimizer = pg.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    m.to(device)
    assert m[1].weight is m[0].weight and m[1].weight.device == device
    for _ in range(2):
        optimizer.zero_grad()
        pg.sum(m(pg.ones((1, 2), device=device))).backward()
        optimizer.step()
    assert_close(m[1].weight, m[0].weight)


def test_a_buffer_with_a_history_keeps_it():
    m = nn.Module()
    x = pg.tensor([1.0], requires_grad=True)
    m.register_buffer("b", x * 3.0)
    before = m.b.grad_fn
    m.to("frozen:0", pg.float64)
    assert m.b.dtype == pg.float64 and m.b.grad_fn is not before
    pg.sum(m.b * 2.0).backward()
    assert x.grad.device == "cpu" and host(x.grad).tolist() == [6.0]


def test_moving_without_values(device):
    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    pg.sum(m(pg.ones((2, 2)))).backward()
    weight = m[0].weight
    assert m.to_empty(device=device) is m
    assert m[0].weight is weight and weight.device == device and weight.shape == (2, 2)
    assert weight.requires_grad and weight.grad is None
    assert m[1].running_mean.device == device
    m.to_empty(device="cpu", recurse=False)
    assert weight.device == device


def test_containers_count_their_own_kind():
    row = nn.ModuleList([nn.ReLU()])
    row.scale = nn.Parameter(pg.zeros(1))
    row.register_buffer("b", pg.zeros(1))
    row.append(nn.Tanh())
    assert len(row) == 2 and [type(m).__name__ for m in row] == ["ReLU", "Tanh"]
    assert isinstance(row[-1], nn.Tanh) and list(row.state_dict()) == ["scale", "b"]
    del row[0]
    assert len(row) == 1 and row.scale is not None
    s = nn.Sequential(nn.ReLU())
    s.scale = nn.Parameter(pg.zeros(1))
    assert s(pg.ones(1)).shape == (1,) and len(s[:1]) == 1
    d = nn.ModuleDict({"a": nn.ReLU()})
    d.scale = nn.Parameter(pg.zeros(1))
    assert list(d) == d.keys() == ["a"] and "scale" not in d and d.get("scale") is None
    assert len(d) == len(d.values()) == 1
    with pytest.raises(KeyError):
        d["scale"]
    d.clear()
    assert not d.keys() and d.scale is not None


# ---- hooks ------------------------------------------------------------------------------------
def test_forward_hooks_see_and_replace_in_order():
    b = Block()
    seen = []
    handles = [
        b.register_forward_pre_hook(lambda m, args: seen.append("pre")),
        b.register_forward_pre_hook(lambda m, args: (args[0] * 2,), prepend=True),
        b.register_forward_pre_hook(
            lambda m, args, kw: (args, {"shift": kw["shift"] + 1.0}), with_kwargs=True
        ),
        b.register_forward_hook(lambda m, args, out: out + 10.0),
        b.register_forward_hook(
            lambda m, args, kw, out: seen.append(kw["shift"]), with_kwargs=True
        ),
    ]
    x = pg.ones((1, 2))
    got = b(x, shift=1.0)
    assert seen == ["pre", 2.0]
    for h in handles:
        h.remove()
        h.remove()
    assert_close(got, b(x * 2, shift=12.0))
    with b.register_forward_hook(lambda m, args, out: None):
        pass
    assert not b.hook_table.active


def test_forward_hook_that_runs_whatever_happens():
    m = nn.Linear(2, 2)
    seen = []
    m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
    with pytest.raises(pg.PolygradError):
        m(pg.ones((1, 5)))
    assert seen == [None]


def test_hooks_of_every_module():
    seen = []
    m = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with (
        nn.register_module_forward_pre_hook(lambda mod, a: seen.append(type(mod).__name__)),
        nn.register_module_forward_hook(lambda mod, a, o: seen.append(type(mod).__name__)),
        nn.register_module_full_backward_hook(lambda mod, gi, go: seen.append(len(go))),
        nn.register_module_full_backward_pre_hook(lambda mod, go: seen.append("b")),
    ):
        pg.sum(m(pg.ones((1, 2)))).backward()
    assert seen[:6] == ["Sequential", "Linear", "Linear", "Tanh", "Tanh", "Sequential"]
    assert sorted(map(str, seen[6:])) == ["1"] * 3 + ["b"] * 3
    assert seen[6] == "b"
    count = len(seen)
    m(pg.ones((1, 2)))
    assert len(seen) == count


def test_full_backward_hooks_see_and_replace_gradients():
    m = nn.Linear(2, 1, bias=False)
    x = pg.tensor([[1.0, 2.0]], requires_grad=True)
    seen = {}

    def pre(module, grad_output):
        seen["pre"] = host(grad_output[0]).tolist()
        return (grad_output[0] * 3.0,)

    def hook(module, grad_input, grad_output):
        seen["in"], seen["out"] = host(grad_input[0]), host(grad_output[0]).tolist()
        return (grad_input[0] * 2.0,)

    m.register_full_backward_pre_hook(pre)
    handle = m.register_full_backward_hook(hook)
    pg.sum(m(x)).backward()
    assert seen["pre"] == [[1.0]] and seen["out"] == [[3.0]]
    np.testing.assert_allclose(seen["in"], 3 * host(m.weight), rtol=1e-6)
    np.testing.assert_allclose(host(x.grad), 6 * host(m.weight), rtol=1e-6)
    np.testing.assert_allclose(host(m.weight.grad), [[3.0, 6.0]], rtol=1e-6)
    handle.remove()
    only = {}
    m.register_full_backward_hook(lambda mod, gi, go: only.update(n=len(gi)))
    pg.sum(m(pg.ones((1, 2)))).backward()  # the input needs no gradient
    assert only == {"n": 0}


def test_hooks_make_no_cycle():
    m = nn.Linear(2, 2)
    m.register_full_backward_hook(lambda mod, gi, go: None)
    gc.collect()
    gc.disable()
    try:
        y = m(pg.ones((1, 2), dtype=pg.float32).requires_grad_())
        gone = weakref.ref(y.grad_fn)
        pg.sum(y).backward()
        del y
        assert gone() is None
    finally:
        gc.enable()


# ---- copying and text -------------------------------------------------------------------
def test_copies_are_independent_and_keep_ties():
    m = network()
    m[2].again = m[2].weight
    for made in (copy.deepcopy(m), pickle.loads(pickle.dumps(m[2]))):  # noqa: S301
        layer = made[2] if isinstance(made, nn.Sequential) else made
        assert layer.again is layer.weight
        assert layer.weight is not m[2].weight
        assert_close(layer.weight, m[2].weight)
        assert layer.weight.requires_grad


def test_repr_is_the_tree():
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n    (0): ReLU()\n  )\n"
        ")"
    )
    assert "shape (2,)" in repr(nn.ParameterList([pg.zeros(2)]))


# ---- containers -------------------------------------------------------------------------
def test_sequential_and_lists():
    s = nn.Sequential({"a": nn.Identity(), "b": nn.Tanh()})
    assert [n for n, _ in s.named_children()] == ["a", "b"]
    assert isinstance(s[0], nn.Identity) and isinstance(s[-1], nn.Tanh)
    assert list(s[:1].registry) == ["a"]
    s.append(nn.ReLU()).insert(0, nn.SiLU())
    assert [type(x).__name__ for x in s] == ["SiLU", "Identity", "Tanh", "ReLU"]
    del s[1]
    assert [n for n, _ in s.named_children()] == ["0", "1", "2"]
    s[1] = nn.ELU()
    assert isinstance(s.pop(1), nn.ELU) and len(s) == 2
    assert len(s + nn.Sequential(nn.ReLU())) == 3
    m = nn.ModuleList([nn.ReLU()])
    m += [nn.Tanh()]
    m.extend([nn.SiLU()])
    assert len(m) == 3 and len(m[1:]) == 2
    with pytest.raises(IndexError, match="no item 5"):
        m[5]
    with pytest.raises(InvalidTypeError):
        m.append(3)
    p = nn.ParameterList([pg.zeros(1), pg.ones(2)])
    assert isinstance(p[0], nn.Parameter) and len(list(p.parameters())) == 2


def test_dictionaries():
    d = nn.ModuleDict({"a": nn.ReLU()})
    d["b"] = nn.Tanh()
    d.update([("c", nn.SiLU())])
    assert d.keys() == ["a", "b", "c"] and len(d.values()) == 3 and dict(d.items())["b"] is d["b"]
    assert isinstance(d.pop("a"), nn.ReLU) and "a" not in d and list(d) == ["b", "c"]
    assert d.get("zzz") is None
    del d["b"]
    with pytest.raises(KeyError):
        d["b"]
    with pytest.raises(KeyError):
        del d["b"]
    d.clear()
    assert not len(d)
    with pytest.raises(InvalidTypeError):
        d["x"] = 3
    p = nn.ParameterDict({"w": pg.zeros(1)})
    assert [n for n, _ in p.named_parameters()] == ["w"]
