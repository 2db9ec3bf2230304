"""Cases reported by users of such libraries: optimizers."""

import copy
import pickle

import numpy as np

import polygrad as pg
from tests.cases.helpers import A, eq, raises, same


def _steps(opt, p, gs):
    """apply the gradients gs one after the other, return the values after each step"""
    out = []
    for g in gs:
        p.grad = None if g is None else pg.tensor(g, dtype=p.dtype)
        opt.step()
        out.append(A(p).copy())
    return out


def test_059_adam_and_adamw_decay():
    """Source: bitsandbytes-foundation/bitsandbytes#2010, FluxML/Flux.jl#1612, pytorch/pytorch#3740
    Kind: optim
    Wrong: AdamW's decay scaled with the adaptive step, applied after the step (so the step decays too), or put into the
    gradient as in Adam; bias correction missing or counted from 0; eps inside the root.
    Right: Adam: g += wd*p, m/(1-b1^t), v/(1-b2^t), p -= lr*m^/(sqrt(v^)+eps); AdamW: p *= 1-lr*wd first. float64 loops.
    """

    def ref(gs, lr, b1, b2, eps, wd, decoupled, amsgrad=False):
        p, m, v, vm, out = np.array([2.0, -1.0]), 0, 0, 0, []
        for t, g in enumerate(gs, 1):
            g = np.array(g)
            if decoupled:
                p = p * (1 - lr * wd)
            else:
                g = g + wd * p
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
            vm = np.maximum(vm, v)
            vh = (vm if amsgrad else v) / (1 - b2**t)
            p = p - lr * m / (1 - b1**t) / (np.sqrt(vh) + eps)
            out.append(p)
        return out

    gs = [[1.0, -2.0], [0.5, 3.0], [0.0, 1e-4]]
    for cls, dec in ((pg.optim.Adam, False), (pg.optim.AdamW, True)):
        for ams in (False, True):
            p = pg.nn.Parameter(pg.tensor([2.0, -1.0], dtype=pg.float64))
            o = cls([p], lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.2, amsgrad=ams)
            eq(_steps(o, p, gs), ref(gs, 0.1, 0.8, 0.9, 1e-3, 0.2, dec, ams), rtol=1e-12)
    p = pg.nn.Parameter(pg.tensor([1.0], dtype=pg.float64))
    o = pg.optim.AdamW([p], lr=0.1, weight_decay=0.5)
    eq(_steps(o, p, [[0.0]]), [[0.95]], rtol=1e-12)  # zero gradient still decays ...
    eq(_steps(o, p, [None]), [[0.95]], rtol=1e-12)  # ... no gradient does not
    eq(pg.optim.AdamW([p]).param_groups[0]["weight_decay"], 0.01)
    eq(pg.optim.Adam([p]).param_groups[0]["weight_decay"], 0)


def test_060_optimizer_groups_and_none_grads():
    """Source: torch/torch7#716, pytorch/pytorch#188346
    Kind: optim
    Wrong: a parameter listed twice is stepped twice; a parameter without gradient is moved by stale momentum or decay; a
    group's own lr is ignored; zero_grad leaves aliases.
    Right: each parameter once; duplicates across groups refused; None skipped with its state untouched. By hand.
    """
    mk = lambda v=1.0: pg.nn.Parameter(pg.tensor([v], dtype=pg.float64))
    a, b = mk(), mk()
    o = pg.optim.SGD([dict(params=[a]), dict(params=[b], lr=1.0)], lr=0.1, momentum=0.5)
    a.grad, b.grad = pg.tensor([1.0], dtype=pg.float64), pg.tensor([1.0], dtype=pg.float64)
    o.step()
    eq([A(a)[0], A(b)[0]], [0.9, 0.0])
    b.grad = None
    o.step()
    eq([A(a)[0], A(b)[0]], [0.75, 0.0])
    b.grad = pg.tensor([1.0], dtype=pg.float64)
    a.grad = None
    o.step()
    eq([A(a)[0], A(b)[0]], [0.75, -1.5])  # b's momentum did not advance while it was skipped
    o.zero_grad()
    assert b.grad is None or A(b.grad)[0] == 0
    raises(ValueError, lambda: o.add_param_group(dict(params=[a])))
    raises(ValueError, lambda: pg.optim.SGD([], lr=0.1))
    raises((TypeError, ValueError), lambda: pg.optim.SGD(mk(), lr=0.1))
    x = mk()
    raises(ValueError, lambda: pg.optim.SGD([x * 2], lr=0.1))  # not a leaf
    c = mk()
    o.add_param_group(dict(params=[c], lr=2.0))
    c.grad = pg.tensor([1.0], dtype=pg.float64)
    o.step()
    eq(A(c), [-1.0])
    assert [g["lr"] for g in o.param_groups] == [0.1, 1.0, 2.0]


def test_062_scheduler_boundaries_and_resume():
    """Source: Lightning-AI/pytorch-lightning#4655, pytorch/pytorch#60265, pytorch/pytorch#171515
    Kind: optim
    Wrong: the first or the milestone epoch is off by one; resuming from state_dict repeats or skips an epoch, or starts
    from the decayed rate as if it were the base.
    Right: lr used in epochs 0, 1, 2 ... by closed form; a fresh scheduler after load_state_dict continues the same series.
    """
    S = pg.optim.lr_scheduler

    def run(make, n, at=None):
        p = pg.nn.Parameter(pg.tensor([0.0]))
        o = pg.optim.SGD([p], lr=1.0)
        s = make(o)
        out = []
        for i in range(n):
            if i == at:
                so, ss = copy.deepcopy(o.state_dict()), copy.deepcopy(s.state_dict())
                o = pg.optim.SGD([p], lr=1.0)
                s = make(o)
                o.load_state_dict(so)
                s.load_state_dict(ss)
            lr = o.param_groups[0]["lr"]
            assert abs(s.get_last_lr()[0] - lr) < 1e-12
            out.append(lr)
            o.step()
            s.step()
        return out

    cos = [(1 + np.cos(np.pi * t / 4)) / 2 for t in range(5)]
    for make, want in (
        (lambda o: S.StepLR(o, 2, gamma=0.1), [1, 1, 0.1, 0.1, 0.01, 0.01]),
        (lambda o: S.MultiStepLR(o, [1, 3], gamma=0.5), [1, 0.5, 0.5, 0.25, 0.25]),
        (lambda o: S.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125]),
        (lambda o: S.CosineAnnealingLR(o, 4), cos),
        (lambda o: S.LambdaLR(o, lambda e: 1 / (1 + e)), [1, 1 / 2, 1 / 3, 1 / 4]),
        (lambda o: S.LinearLR(o, start_factor=0.25, total_iters=3), [0.25, 0.5, 0.75, 1, 1]),
    ):
        eq(run(make, len(want)), want, rtol=1e-9, atol=1e-12)
        for at in range(1, len(want)):
            eq(run(make, len(want), at), want, rtol=1e-9, atol=1e-12, msg=f"resumed at {at}")
    p = pg.nn.Parameter(pg.tensor([0.0]))
    o = pg.optim.SGD([p], lr=1.0)
    s = S.ReduceLROnPlateau(o, factor=0.1, patience=1)
    lrs = []
    for v in (5.0, 4.0, 4.0, 4.0, 4.0, 4.0):
        s.step(v)
        lrs.append(o.param_groups[0]["lr"])
    eq(lrs, [1, 1, 1, 0.1, 0.1, 0.01], rtol=1e-9)


def test_069_optimizer_state_resume():
    """Source: pytorch/pytorch#3658, pytorch/pytorch#75214, pytorch/pytorch#75224
    Kind: optim
    Wrong: loaded moments keep the dtype of the checkpoint (or the step count is cast to a low precision), the learning rate
    of the new optimiser wins over the loaded one, a group mismatch loads in part.
    Right: training after state_dict -> pickle -> load_state_dict equals uninterrupted training bit for bit; float64 state is
    cast to a float32 parameter; a different number of parameters or groups is refused. Contract.
    """
    for make in (
        lambda ps: pg.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True),
        lambda ps: pg.optim.Adam(ps, lr=0.1, amsgrad=True),
        lambda ps: pg.optim.AdamW(ps, lr=0.1),
        lambda ps: pg.optim.RMSprop(ps, lr=0.1, momentum=0.5, centered=True),
        lambda ps: pg.optim.Adagrad(ps, lr=0.1),
    ):
        gs = [[1.0, -2.0], [0.5, 0.25], [3.0, 1.0], [-1.0, 1.0]]
        mk = lambda: pg.nn.Parameter(pg.tensor([1.0, 2.0]))
        p = mk()
        o = make([p])
        want = _steps(o, p, gs)
        q = mk()
        o = make([q])
        _steps(o, q, gs[:2])
        state = pickle.loads(pickle.dumps(o.state_dict()))
        o2 = make([q])
        o2.param_groups[0]["lr"] = 7.0
        o2.load_state_dict(state)
        assert o2.param_groups[0]["lr"] == 0.1
        same(np.array(_steps(o2, q, gs[2:])), np.array(want[2:]))
        d = pg.nn.Parameter(pg.tensor([1.0, 2.0], dtype=pg.float64))
        o3 = make([d])
        _steps(o3, d, gs[:2])
        s = mk()
        o4 = make([s])
        o4.load_state_dict(o3.state_dict())
        for v in o4.state[s].values():
            assert not hasattr(v, "dtype") or tuple(v.shape) == () or v.dtype == pg.float32, v
        _steps(o4, s, [gs[2]])
        assert s.dtype == pg.float32
        raises(ValueError, lambda: make([mk(), mk()]).load_state_dict(state))
