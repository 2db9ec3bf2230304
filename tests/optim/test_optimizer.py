"""The shell: groups, state, buckets, saving and loading, hooks."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.testing import assert_close
from polygrad.testing.compare import host


def parameters(n=3, size=2, dtype=pg.float64):
    return [pg.nn.Parameter(pg.full((size,), float(i + 1), dtype=dtype)) for i in range(n)]


def give(params, value=1.0):
    for p in params:
        p.grad = pg.full(p.shape, value, dtype=p.dtype, device=p.device)


# ---- values and sharing -------------------------------------------------------------------------
def test_a_step_leaves_those_alone_who_hold_the_old_value():
    for size in (2, 20000):
        ps = parameters(2, size)
        optimizer = pg.optim.Adam(ps, lr=0.1)
        held = []
        for _ in range(3):
            give(ps)
            kept = [p.detach().clone() for p in ps]
            arrays = [p.detach().native() for p in ps]
            copies = [a.copy() for a in arrays]
            optimizer.step()
            held.append((arrays, copies))
            for k, p in zip(kept, ps, strict=True):
                assert host(k)[0] != host(p)[0]
        for arrays, copies in held:
            for a, b in zip(arrays, copies, strict=True):
                np.testing.assert_array_equal(a, b)


def test_writes_between_steps_are_seen():
    ps = parameters()
    optimizer = pg.optim.SGD(ps, lr=1.0)
    give(ps)
    optimizer.step()
    with pg.no_grad():
        ps[1][0] = 10.0
        ps[2] += 5.0
    optimizer.step()
    assert host(ps[0]).tolist() == [-1.0, -1.0]
    assert host(ps[1]).tolist() == [9.0, 0.0]
    assert host(ps[2]).tolist() == [6.0, 6.0]


def test_views_and_aliases_follow():
    p = pg.nn.Parameter(pg.zeros((2, 2)))
    row, alias = p[0], p.detach()
    optimizer = pg.optim.SGD([p], lr=1.0)
    give([p])
    optimizer.step()
    assert host(row).tolist() == [-1.0, -1.0]
    assert host(alias).tolist() == [[-1.0, -1.0]] * 2
    leaf = alias.requires_grad_()
    other = pg.optim.SGD([leaf], lr=1.0)
    give([leaf])
    other.step()
    assert host(p).tolist() == [[-2.0, -2.0]] * 2


def test_gradients_are_not_written():
    for momentum in (0.0, 0.9):
        (p,) = parameters(1, 20000)
        give([p])
        optimizer = pg.optim.SGD([p], lr=1.0, momentum=momentum, nesterov=momentum > 0)
        for _ in range(3):
            optimizer.step()
        assert (host(p.grad) == 1).all()


def test_not_a_number_passes_without_a_warning():
    ps = parameters()
    give(ps, math.nan)
    pg.optim.Adam(ps).step()
    assert np.isnan(host(ps[0])).all()


# ---- groups -----------------------------------------------------------------------------------
def test_options_by_group_and_changes_between_steps():
    a, b = parameters(2)
    optimizer = pg.optim.SGD([{"params": [a]}, {"params": b, "lr": 1.0}], lr=0.1)
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 1.0]
    give([a, b])
    optimizer.step()
    assert_close(a, np.full(2, 0.9))
    assert_close(b, np.full(2, 1.0))
    optimizer.param_groups[0]["lr"] = 0.4
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    assert_close(a, np.full(2, 0.9 - 0.4 - 0.6))
    text = repr(optimizer)
    assert "SGD (" in text and "lr: 0.4" in text and "params" not in text


def test_named_parameters():
    m = pg.nn.Linear(2, 1)
    optimizer = pg.optim.SGD(m.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][0] is m.weight


def test_members_that_come_and_go():
    ps = parameters(4)
    optimizer = pg.optim.Adam(ps, lr=0.1)
    for missing in (None, 2, None, 0):
        give(ps)
        if missing is not None:
            ps[missing].grad = None
        optimizer.step()
    assert [optimizer.state[p]["step"] for p in ps] == [3, 4, 3, 4]
    optimizer.param_groups[0]["params"].pop()
    give(ps)
    before = host(ps[3]).copy()
    optimizer.step()
    np.testing.assert_array_equal(host(ps[3]), before)


@pytest.mark.parametrize(
    ("params", "error", "word"),
    [
        (lambda p: [], InvalidArgumentError, "no parameters"),
        (lambda p: p, InvalidTypeError, "ordered collection"),
        (lambda p: {p}, InvalidTypeError, "ordered collection"),
        (lambda p: 3, InvalidTypeError, "ordered collection"),
        (lambda p: [3], InvalidTypeError, "is a Tensor"),
        (lambda p: [p, p], InvalidArgumentError, "twice"),
        (lambda p: [{"params": [p]}, {"params": [p]}], InvalidArgumentError, "twice"),
        (lambda p: [p * 2], InvalidArgumentError, "no leaf"),
        (lambda p: [pg.tensor([1])], InvalidArgumentError, "int64"),
        (lambda p: [{"lr": 0.1}], InvalidTypeError, "'params'"),
        (lambda p: [("a",)], InvalidTypeError, "a tuple of str is no named parameter"),
        (lambda p: [(1, p)], InvalidTypeError, "a tuple of int, Parameter"),
        (lambda p: [("a", p), pg.nn.Parameter(pg.zeros(2))], InvalidArgumentError, "1 of 2"),
        (lambda p: [{"params": [p]}, {"params": [("a", pg.nn.Parameter(pg.zeros(2)))]}],
         InvalidArgumentError, "some groups have names"),
    ],
)
def test_parameters_that_are_refused(params, error, word):
    with pytest.raises(error, match=word):
        pg.optim.SGD(params(pg.nn.Parameter(pg.zeros(1))), lr=0.1)


def test_zero_grad():
    ps = parameters()
    optimizer = pg.optim.SGD(ps, lr=0.1)
    give(ps)
    optimizer.zero_grad(set_to_none=False)
    assert all(not host(p.grad).any() for p in ps)
    optimizer.zero_grad()
    assert all(p.grad is None for p in ps)
    optimizer.step()


def test_closure_runs_before_the_step_and_records():
    (p,) = parameters(1)
    optimizer = pg.optim.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = pg.sum(p * p)
        loss.backward()
        return loss

    with pg.no_grad():
        loss = optimizer.step(closure)
    assert host(loss) == 2.0 and host(p).tolist() == [0.0, 0.0]


# ---- state ------------------------------------------------------------------------------------
def train(optimizer, params, steps, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(steps):
        for p in params:
            p.grad = pg.tensor(random.standard_normal(p.shape), dtype=p.dtype)
        optimizer.step()


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "ASGD", "Rprop", "RMSprop"])
@pytest.mark.parametrize("way", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])  # noqa: S301
def test_resuming_equals_going_on(name, way):
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    ps, qs = parameters(), parameters()
    a, b = (getattr(pg.optim, name)(x, lr=0.1, **options) for x in (ps, qs))
    train(a, ps, 3)
    train(b, qs, 3)
    state = way(b.state_dict())
    frozen = copy.deepcopy(state)
    train(b, qs, 2, seed=9)
    rs = [pg.nn.Parameter(p.detach()) for p in ps]
    c = getattr(pg.optim, name)(rs, lr=7.0, **options)
    c.load_state_dict(state)
    assert c.param_groups[0]["lr"] == 0.1
    train(a, ps, 3, seed=1)
    train(c, rs, 3, seed=1)
    for p, r in zip(ps, rs, strict=True):
        np.testing.assert_array_equal(host(p), host(r))
    for i, own in frozen["state"].items():  # the saved state was not moved by anybody
        for key, value in own.items():
            np.testing.assert_array_equal(host(state["state"][i][key]), host(value))


def test_looking_at_the_state_changes_nothing():
    ps, qs = parameters(), parameters()
    a, b = pg.optim.Adam(ps), pg.optim.Adam(qs)
    for seed in range(4):
        train(a, ps, 1, seed)
        train(b, qs, 1, seed)
        held = b.state[qs[0]]["exp_avg"]
        before = host(held).copy()
        assert b.state[qs[0]]["step"] == seed + 1
        train(a, ps, 1, seed)
        train(b, qs, 1, seed)
        np.testing.assert_array_equal(host(held), before)
        with pg.no_grad():
            a.state[ps[0]]["step"] -= 1
            b.state[qs[0]]["step"] -= 1
        a.state[ps[1]]["step"] = a.state[ps[2]]["step"] = seed + 1
        b.state[qs[1]]["step"] = b.state[qs[2]]["step"] = seed + 1
    for p, q in zip(ps, qs, strict=True):
        np.testing.assert_array_equal(host(p), host(q))


def test_state_of_another_dtype_is_cast_and_of_other_sizes_refused():
    ps = parameters()
    a = pg.optim.Adam(ps)
    train(a, ps, 2)
    qs = parameters(dtype=pg.float32)
    b = pg.optim.Adam(qs)
    b.load_state_dict(a.state_dict())
    assert b.state[qs[0]]["exp_avg"].dtype == pg.float32
    train(b, qs, 1)
    assert qs[0].dtype == pg.float32
    c = pg.optim.Adam(parameters(2))
    with pytest.raises(InvalidArgumentError, match=r"\[3\]"):
        c.load_state_dict(a.state_dict())
    assert not c.state


def damaged(**changes):
    def damage(saved):
        for name, value in changes.items():
            own, group = saved["state"][0], saved["param_groups"][0]
            (own if name in own else group)[name] = value
        return saved

    return damage


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (lambda s: None, InvalidTypeError, "NoneType is no state of an optimiser"),
        (lambda s: {"state": {}}, InvalidTypeError, "no state of an optimiser"),
        (lambda s: {**s, "state": None}, InvalidTypeError, "no state of an optimiser"),
        (lambda s: {**s, "param_groups": [{"lr": 1.0}]}, InvalidTypeError, "no state of an"),
        (lambda s: {**s, "state": {"0": s["state"][0]}}, InvalidArgumentError, "parameter '0'"),
        (lambda s: {**s, "state": {0: None}}, InvalidTypeError, "is a dictionary, not NoneType"),
        (damaged(exp_avg=np.ones(5)), ShapeError, r"exp_avg has shape \(5,\), not \(2, 3\)"),
        (damaged(exp_avg=np.ones((1, 3))), ShapeError, r"shape \(1, 3\), not \(2, 3\)"),
        (damaged(exp_avg=np.ones((2, 3)) * 1j), DtypeError, "exp_avg is complex"),
        (damaged(exp_avg="x"), InvalidTypeError, "exp_avg is a str"),
        (damaged(step="x"), InvalidTypeError, "step is 'x'"),
        (damaged(step=math.nan), InvalidTypeError, "step is nan"),
        (damaged(step=-1), InvalidArgumentError, "step is -1"),
        (damaged(lr=-1.0), InvalidArgumentError, "lr is -1"),
        (damaged(betas=(0.9,)), InvalidArgumentError, r"betas is \(0.9,\)"),
    ],
)
def test_a_state_that_is_damaged_is_refused_whole(damage, error, words):
    """It was found out in the next step, in the middle of it, or not at all."""
    p = pg.nn.Parameter(pg.ones((2, 3)))
    optimizer = pg.optim.Adam([p], lr=0.1)
    train(optimizer, [p], 2)
    before = repr(optimizer.state_dict())
    with pytest.raises(error, match=words):
        optimizer.load_state_dict(damage(optimizer.state_dict()))
    assert repr(optimizer.state_dict()) == before


def test_a_learning_rate_that_became_a_tensor_is_looked_at_in_each_step():
    (p,) = parameters(1)
    optimizer = pg.optim.SGD([p], lr=0.1)
    give([p])
    for lr, word in ((pg.tensor([1.0, 2.0]), "shape"), (pg.ones(1).requires_grad_(), "grad")):
        optimizer.param_groups[0]["lr"] = lr
        with pytest.raises(InvalidArgumentError, match=word):
            optimizer.step()


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("Adam", {"betas": 0.9}, InvalidTypeError),
        ("Adam", {"betas": (0.9,)}, InvalidArgumentError),
        ("Adam", {"lr": 10**400}, InvalidArgumentError),
        ("Lion", {"betas": (0.9, 0.99, 0.5)}, InvalidArgumentError),
        ("Adafactor", {"eps": None}, InvalidTypeError),
        ("Muon", {"ns_coefficients": 3.0}, InvalidTypeError),
        ("Muon", {"ns_coefficients": (1.0, "a", 2.0)}, InvalidTypeError),
        ("Rprop", {"etas": (0.5, 1.2, 3.0)}, InvalidArgumentError),
        ("Rprop", {"etas": (None, 1.2)}, InvalidTypeError),
        ("Rprop", {"step_sizes": 1.0}, InvalidTypeError),
        ("Rprop", {"step_sizes": (None, None)}, InvalidTypeError),
        ("Rprop", {"step_sizes": (2.0, 1.0)}, InvalidArgumentError),
        ("ASGD", {"lambd": "a"}, InvalidTypeError),
        ("ASGD", {"alpha": math.nan}, InvalidArgumentError),
        ("ASGD", {"t0": None}, InvalidTypeError),
        ("SGD", {"dampening": "a"}, InvalidTypeError),
    ],
)
def test_options_of_a_wrong_kind_are_named_when_they_are_given(name, options, error):
    with pytest.raises(error, match=next(iter(options))):
        getattr(pg.optim, name)([pg.nn.Parameter(pg.ones((2, 2)))], **options)


@pytest.mark.parametrize(
    "step", [3, np.float32(3.0), pg.tensor(3.0), pg.tensor(3.0, device="sim:0")], ids=repr
)
def test_state_that_pytorch_saved(step):
    """With `capturable=True` its step is a tensor, and on the device."""
    (p,) = parameters(1)
    optimizer = pg.optim.Adam([p], lr=0.1)
    optimizer.load_state_dict({
        "state": {0: {"step": step, "exp_avg": np.ones(2), "exp_avg_sq": np.ones(2)}},
        "param_groups": [{"lr": 0.2, "foreach": None, "capturable": True, "params": [0]}],
    })  # fmt: skip
    assert optimizer.state[p]["step"] == 3
    assert type(optimizer.state_dict()["state"][0]["step"]) is int
    sgd = pg.optim.SGD([p], lr=0.1, momentum=0.5)
    sgd.load_state_dict({
        "state": {0: {"momentum_buffer": np.ones(2)}},
        "param_groups": [{"lr": 1.0, "params": [0]}],
    })  # fmt: skip
    give([p])
    sgd.step()
    assert_close(p, np.full(2, 1 - 1.5))


def test_copies_of_optimizers():
    ps = parameters()
    a = pg.optim.Adam(ps, lr=0.1)
    train(a, ps, 2)
    b = copy.deepcopy(a)
    qs = b.param_groups[0]["params"]
    train(a, ps, 2, seed=1)
    train(b, qs, 2, seed=1)
    for p, q in zip(ps, qs, strict=True):
        assert p is not q
        np.testing.assert_array_equal(host(p), host(q))
    assert pickle.loads(pickle.dumps(a)).param_groups[0]["lr"] == 0.1  # noqa: S301


def test_hooks():
    ps = parameters()
    optimizer = pg.optim.SGD(ps, lr=0.1)
    seen = []
    handles = [
        optimizer.register_step_pre_hook(lambda o: seen.append("pre")),
        optimizer.register_step_post_hook(lambda o: seen.append("post")),
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("save")),
        optimizer.register_state_dict_post_hook(lambda o, s: {**s, "more": 1}),
        optimizer.register_load_state_dict_pre_hook(lambda o, s: seen.append(s["more"])),
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded")),
    ]
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["pre", "post", "save", 1, "loaded"]
    for h in handles:
        h.remove()
    optimizer.step()
    assert "more" not in optimizer.state_dict()
    assert len(seen) == 5


def test_a_backend_may_replace_a_rule():
    from polygrad.registry import load

    backend = load("numpy")
    calls = []

    @backend.kernel("sgd_step", dtype="float64")
    def fused(p, g, **options):
        calls.append(options["lr"])
        return (p - options["lr"] * g,)

    try:
        ps = parameters()
        give(ps)
        pg.optim.SGD(ps, lr=0.5).step()
    finally:
        backend.table.entries.pop(("sgd_step", None, "float64"))
        for kernels in backend._spaces.values():
            kernels.forget("sgd_step")
    assert calls == [0.5]
    assert host(ps[0]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("rule", [
    lambda ps: pg.optim.SGD(ps, lr=0.1, momentum=0.9), lambda ps: pg.optim.Adam(ps, lr=0.1),
])  # fmt: skip
def test_an_update_in_pieces_is_the_update_of_the_whole(rule, monkeypatch):
    from polygrad.backends import numpy_updates

    pieces = []
    for piece in (1 << 18, 1000):  # the second leaves a remainder of 384 elements
        monkeypatch.setattr(numpy_updates, "PIECE", piece)
        w = pg.tensor(np.linspace(-1, 1, 1 << 14).reshape(128, 128), requires_grad=True)
        optimizer = rule([w])
        for _ in range(3):
            w.grad = w.detach() * 2
            optimizer.step()
        pieces.append(host(w))
    np.testing.assert_array_equal(*pieces)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_elements_of_a_large_parameter_are_updated_as_those_of_a_small_one(dtype, monkeypatch):
    """Also in bfloat16, whose product with a number NumPy makes in float32."""
    from polygrad.backends import numpy_updates

    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-30: optional)")
    made = []
    for smallest in (1 << 14, 100):
        monkeypatch.setattr(numpy_updates, "SMALLEST", smallest)
        start = pg.tensor(np.linspace(-1, 1, 1000)).astype(getattr(pg, dtype))
        w = pg.nn.Parameter(start)
        w.grad = start * 0.7 + 0.1
        pg.optim.SGD([w], lr=0.3).step()
        made.append(host(w))
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
@pytest.mark.parametrize("name", [
    "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Lion", "RMSprop", "Adagrad", "Adadelta",
    "Rprop", "ASGD", "Adafactor", "LBFGS",
])  # fmt: skip
def test_one_parameter_without_axes_or_elements(name, shape, device):
    """Where a library's arithmetic of 0-d arrays gives scalars, they come back as arrays."""
    p = pg.nn.Parameter(pg.ones(shape, device=device))
    optimizer = getattr(pg.optim, name)([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = pg.sum(p * p)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
    assert p.shape == shape and p.device == device and p.dtype == pg.float32
    assert (p.detach().numpy() < 1).all()
    for value in optimizer.state[p].values():
        if isinstance(value, pg.Tensor):
            assert isinstance(value.native(), type(p.detach().native()))
    assert optimizer.state_dict()["param_groups"][0]["params"] == [0]
