"""Cases reported by users of such libraries: modules."""

import copy

import numpy as np

import polygrad as pg
from tests.cases.helpers import A, eq, raises, same


def test_063_tied_parameters():
    """Source: torch/torch7#716, pytorch/pytorch#188346, NVIDIA/Megatron-LM#6164
    Kind: module
    Wrong: a shared parameter is listed (and stepped, and counted in the gradient norm) once per name, or loses its tie in
    deepcopy, pickle or load_state_dict.
    Right: parameters() yields it once, state_dict() holds both names, its gradient is the sum over uses, one step. By hand.
    """

    class M(pg.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = pg.nn.Linear(2, 2, bias=False)
            self.b = pg.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    m = M()
    assert len(list(m.parameters())) == 1 and [n for n, _ in m.named_parameters()] == ["a.weight"]
    assert set(m.state_dict()) == {"a.weight", "b.weight"}
    with pg.no_grad():
        m.a.weight[...] = pg.tensor([[1.0, 2.0], [3.0, 4.0]])
    pg.sum(
        m(pg.tensor([[1.0, 1.0]]))
    ).backward()  # w = [[1,2],[3,4]], h = [3, 7], dL/dw = 1 h^T + (w^T 1) 1^T
    same(m.a.weight.grad, [[3 + 4, 7 + 4], [3 + 6, 7 + 6]])
    eq(pg.nn.utils.clip_grad_norm_(m.parameters(), 1e9), np.sqrt(49 + 121 + 81 + 169))
    o = pg.optim.SGD(m.parameters(), lr=1.0)
    o.step()
    same(m.b.weight, [[-6, -9], [-6, -9]])
    c = copy.deepcopy(m)
    assert c.a.weight is c.b.weight and c.a.weight is not m.a.weight
    assert isinstance(c.a.weight, pg.nn.Parameter) and c.a.weight.requires_grad
    c.load_state_dict(
        {
            "a.weight": pg.tensor([[1.0, 0.0], [0.0, 1.0]]),
            "b.weight": pg.tensor([[1.0, 0.0], [0.0, 1.0]]),
        }
    )
    assert c.a.weight is c.b.weight
    same(m.a.weight, [[-6, -9], [-6, -9]])
    s = pg.nn.Sequential(m.a, m.a)
    assert len(list(s.parameters())) == 1 and len(list(s.modules())) == 2 and len(s) == 2


def test_065_load_state_dict_strict_lists_all():
    """Source: pytorch/pytorch#9530, pytorch/pytorch#123510, pytorch/pytorch#154597, PIQuIL/QuCumber#18
    Kind: module
    Wrong: only the first problem is named; non-strict mode swallows a size mismatch; the loaded tensors are aliased, so
    training moves the checkpoint in memory.
    Right: one error naming every missing, unexpected and ill-sized key; non-strict returns the two lists and still refuses
    sizes; values are copied, dtype and requires_grad of the parameter kept. Contract.
    """
    m = pg.nn.Sequential(pg.nn.Linear(2, 3), pg.nn.BatchNorm1d(3), pg.nn.Linear(3, 1))
    good = m.state_dict()
    bad = {k: v for k, v in good.items() if k not in ("0.bias", "1.running_var")}
    bad["extra"] = pg.tensor([1.0])
    bad["2.weight.more"] = pg.tensor([1.0])
    bad["2.bias"] = pg.zeros((7,))
    e = raises(
        RuntimeError,
        lambda: m.load_state_dict(bad),
        "0.bias",
        "1.running_var",
        "extra",
        "2.weight.more",
        "2.bias",
    )
    raises(RuntimeError, lambda: m.load_state_dict(bad, strict=False), "2.bias")
    del bad["2.bias"]
    r = m.load_state_dict(bad, strict=False)
    assert sorted(r.missing_keys) == ["0.bias", "1.running_var", "2.bias"], r
    assert sorted(r.unexpected_keys) == ["2.weight.more", "extra"], r
    src = {
        k: pg.ones(tuple(v.shape), dtype=pg.float64 if v.dtype == pg.float32 else v.dtype)
        for k, v in good.items()
    }
    w = m[0].weight
    m.load_state_dict(src)
    assert m[0].weight is w and w.dtype == pg.float32 and w.requires_grad
    same(w, np.ones((3, 2)))
    with pg.no_grad():
        w *= 5
    same(src["0.weight"], np.ones((3, 2)), msg="parameter aliases the loaded tensor")
    snap = {k: A(v).copy() for k, v in m.state_dict().items()}
    assert not any(v.requires_grad for v in m.state_dict().values())
    assert set(snap) == set(good)
