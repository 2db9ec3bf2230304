"""Cases reported by users of such libraries: lifetime."""

import gc
import weakref

import polygrad as pg
from tests.cases.helpers import A, eq, leaf, same


def test_031_deep_chain_backward_and_deletion():
    """Source: pytorch/pytorch#5534, karpathy/micrograd#90, ml-explore/mlx#1462
    Kind: deep-graph
    Wrong: recursive backward, or recursive freeing of a chain of nodes, overflows the stack past a few thousand steps.
    Right: 20,000 operations: gradient 1.0001**... exact for +; deletion of an unused graph and of a used one quiet.
    """
    n = 20000
    x = leaf([1.0])
    y = x
    for _ in range(n):
        y = y + 1
    y.backward()
    same(x.grad, [1.0])
    del y
    y = x
    for _ in range(n // 2):
        y = -(y * 1.0)
    del y  # never run backward: freed here
    y = x * 1
    for _ in range(n // 2):
        y = y + y * 0  # a diamond per step
    (g,) = pg.autograd.grad(y, [x], create_graph=True)
    same(g, [1.0])
    del y, g


def test_032_custom_function_keeps_no_cycle():
    """Source: pytorch/pytorch#25340, pytorch/pytorch#5569, pytorch/pytorch#52140
    Kind: leak
    Wrong: an output saved for backward holds its node and the node holds the output: never freed by reference counts.
    Right: with save_for_backward the output goes at once when the last user name goes; an output stored on ctx as an
    attribute is at least collectable by gc. Contract.
    """

    class Exp(pg.autograd.Function):
        @staticmethod
        def forward(ctx, x, box):
            y = pg.exp(x)
            box.append(weakref.ref(ctx))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y, None

    box = []
    gc.collect()
    gc.disable()
    try:
        x = leaf([0.0, 1.0])
        y = Exp.apply(x, box)
        pg.sum(y).backward()
        eq(x.grad, [1.0, 2.718281828459045])
        r = weakref.ref(y)
        del y
        assert r() is None and box[0]() is None, "output of a custom Function kept alive by a cycle"
        y = Exp.apply(x, box)
        r = weakref.ref(y)
        del y  # backward never run
        assert r() is None and box[1]() is None, "cycle when backward is never run"
    finally:
        gc.enable()

    class Attr(pg.autograd.Function):
        @staticmethod
        def forward(ctx, x, box):
            y = pg.exp(x)
            box.append(weakref.ref(ctx))
            ctx.y = y
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.y, None

    box = []
    y = Attr.apply(x, box)
    del y
    gc.collect()
    assert box[0]() is None, "output stored on ctx is not even collectable"


def test_033_graph_freed_when_loss_dropped():
    """Source: pytorch/pytorch#3835
    Kind: leak
    Wrong: intermediate arrays live until the cyclic collector runs (or for ever): memory grows per training step.
    Right: with gc off, every intermediate is gone once the last name of the loss goes, also after backward, after
    create_graph=True followed by autograd.grad, and when an operation raises half way. Contract.
    """
    F = pg.nn.functional
    gc.collect()
    gc.disable()
    try:
        x = leaf([[1.0, 2.0], [3.0, 4.0]])
        refs = []

        def net(t):
            for f in (
                pg.exp,
                pg.tanh,
                lambda v: F.softmax(v, axis=1),
                pg.sqrt,
                lambda v: v[:, 0:2],
                lambda v: v @ v,
                F.sigmoid,
                lambda v: pg.max(v, axis=1),
                pg.cumulative_prod,
            ):
                t = f(t)
                refs.append(weakref.ref(t))
            return pg.sum(t)

        loss = net(x)
        del loss
        assert [r() for r in refs] == [None] * len(refs), "forward only"
        refs.clear()
        loss = net(x)
        loss.backward()
        del loss
        assert [r() for r in refs] == [None] * len(refs), "after backward"
        refs.clear()
        loss = net(x)
        (g,) = pg.autograd.grad(loss, [x], create_graph=True)
        (h,) = pg.autograd.grad(pg.sum(g * g), [x])
        del loss, g, h
        assert [r() for r in refs] == [None] * len(refs), "after double backward"
    finally:
        gc.enable()


def test_034_checkpoint_replays_randomness():
    """Source: openai/guided-diffusion#167, allenai/OLMo-core#828, pytorch/pytorch#14253
    Kind: checkpoint
    Wrong: the recomputation draws a fresh dropout mask, so the gradient belongs to another sample than the loss; or it
    leaves the generator somewhere else for the code after it.
    Right: gradient mask == forward mask; the random stream after backward is the one without a checkpoint. Contract.
    """
    F = pg.nn.functional
    fn = lambda t: F.dropout(t * 2, p=0.5, training=True)
    pg.manual_seed(7)
    x = leaf([1.0] * 64)
    y = fn(x)
    pg.sum(y).backward()
    after = A(F.dropout(pg.ones((64,)), p=0.5))
    pg.manual_seed(7)
    u = leaf([1.0] * 64)
    z = pg.autograd.checkpoint(fn, u)
    same(z, A(y))
    pg.sum(z).backward()
    same(u.grad, A(z))  # x = 1: value == gradient, mask for mask
    same(u.grad, A(x.grad))
    same(F.dropout(pg.ones((64,)), p=0.5), after, msg="random stream moved by the recomputation")
    assert 0 < (A(z) == 0).sum() < 64
