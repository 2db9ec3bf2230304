"""Cases reported by users of such libraries: autograd."""

import threading

import polygrad as pg
from tests.cases.helpers import leaf, raises, same


def test_029_gradients_do_not_share_memory():
    """Source: PaddlePaddle/Paddle#76940 (a change that introduces the sharing), pytorch/pytorch#185286
    Kind: accumulation
    Wrong: add hands one gradient array to both inputs; accumulating into one (or zeroing it, or scaling it while
    clipping) changes the other; or .grad is the caller's own backward() argument.
    Right: every .grad owns its memory. Contract.
    """
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    pg.sum(a + b).backward()
    with pg.no_grad():
        a.grad *= 10
    same(a.grad, [10.0, 10.0])
    same(b.grad, [1.0, 1.0])
    pg.sum(a * 2).backward()
    same(a.grad, [12.0, 12.0])
    same(b.grad, [1.0, 1.0])
    x, g = leaf([1.0, 2.0]), pg.tensor([1.0, 1.0])
    (x + 0).backward(g)
    (x + 0).backward(g)
    same(x.grad, [2.0, 2.0])
    same(g, [1.0, 1.0], msg="the gradient argument was written to")
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    pg.sum(pg.reshape(x, (4,)) + pg.reshape(pg.permute_dims(x, (1, 0)), (4,))).backward()
    same(x.grad, [[2, 2], [2, 2]])


def test_038_autograd_grad_contract():
    """Source: pytorch/pytorch#6535, pytorch/pytorch#44189, pytorch/pytorch#168059, pytorch/pytorch#115918
    Kind: autograd.grad
    Wrong: an input the output does not depend on gives None in silence (or an error for a mere zero); .grad of the
    leaves is touched; a materialised zero claims to require grad.
    Right: error by default, None with allow_unused=True, zeros (not requiring grad) with materialize_grads=True; .grad
    of every leaf stays None; the second use of a graph without retain_graph is an error; an output without a graph too.
    """
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    z = pg.sum(x * x)
    raises(RuntimeError, lambda: pg.autograd.grad(z, [x, y], retain_graph=True))
    g = pg.autograd.grad(z, [x, y], retain_graph=True, allow_unused=True)
    same(g[0], [2.0, 4.0])
    assert g[1] is None
    g = pg.autograd.grad(z, [x, y], retain_graph=True, materialize_grads=True)
    same(g[1], [0.0, 0.0])
    assert not g[1].requires_grad and not g[0].requires_grad
    assert x.grad is None and y.grad is None
    g = pg.autograd.grad([z, pg.sum(x * y)], [x, y, x], retain_graph=False)
    same(g[0], [5.0, 8.0])
    same(g[1], [1.0, 2.0])
    same(g[2], [5.0, 8.0])
    raises(RuntimeError, lambda: pg.autograd.grad(z, [x]))  # buffers are gone
    raises(RuntimeError, z.backward)
    raises(RuntimeError, lambda: pg.tensor(1.0).backward())
    raises(RuntimeError, lambda: (x * y).backward())  # not a scalar, no gradient given
    with pg.no_grad():
        n = pg.sum(x * x)
    assert not n.requires_grad
    raises(RuntimeError, n.backward)
    w = leaf([1.0])
    (w * 2).backward(pg.tensor([3.0]))
    same(w.grad, [6.0])
    raises(
        (RuntimeError, ValueError), lambda: (w * 2).backward(pg.tensor([3.0, 4.0]))
    )  # wrong shape


def test_071_grad_mode_is_restored():
    """Source: pytorch/pytorch#31792, pytorch/pytorch#44860, pytorch/pytorch#113298, pytorch/pytorch#11479, kyutai-labs/pocket-tts#16
    Kind: grad-mode
    Wrong: one decorator object reused recursively restores the wrong state; a decorated generator leaves grad off between
    its items; an exception, or merely decorating with set_grad_enabled(False), leaks; another thread's no_grad is seen.
    Right: the mode before equals the mode after, per thread, on every path. Contract.
    """
    x = leaf([1.0])
    on = lambda: pg.is_grad_enabled() and (x * 2).requires_grad

    @pg.no_grad()
    def rec(n):
        assert not pg.is_grad_enabled()
        if n:
            rec(n - 1)
        assert not (x * 2).requires_grad
        return n

    rec(3)
    assert on()

    @pg.no_grad()
    def gen():
        for i in range(3):
            assert not pg.is_grad_enabled()
            got = yield i
            if got:
                yield got

    for _ in gen():
        assert on()
    g = gen()
    next(g)
    assert g.send("hello") == "hello" and on()
    g.close()
    assert on()

    def boom():
        with pg.no_grad():
            raise KeyError("x")

    raises(KeyError, boom)
    assert on()

    @pg.set_grad_enabled(False)
    def off():
        return pg.is_grad_enabled()

    assert on(), "decorating changed the mode"
    assert off() is False and on()
    with pg.no_grad():
        with pg.enable_grad():
            y = x * 2
        assert y.requires_grad and not (x * 2).requires_grad
        seen = []
        t = threading.Thread(target=lambda: seen.append(pg.is_grad_enabled()))
        t.start()
        t.join()
        assert seen == [True], "no_grad of one thread seen in another"
        rec(1)
        assert not pg.is_grad_enabled()
    assert on()


def test_078_custom_function_contract():
    """Source: deepseek-ai/TileKernels#10, pytorch/pytorch#17893, pytorch/pytorch#65244
    Kind: custom-function
    Wrong: too few or too many gradients, or one of an impossible shape, are taken in silence; an error inside backward
    reaches the caller as another type; forward records a graph of its own.
    Right: RuntimeError for wrong count or shape; None only where no gradient is wanted or known; needs_input_grad tells
    which; the exception keeps its type. Contract.
    """
    seen = []

    class Mul(pg.autograd.Function):
        @staticmethod
        def forward(ctx, x, k, y):
            assert not pg.is_grad_enabled(), "forward must not record"
            ctx.save_for_backward(x, y)
            ctx.k = k
            return x * y * k

        @staticmethod
        def backward(ctx, g):
            seen.append(tuple(ctx.needs_input_grad))
            x, y = ctx.saved_tensors
            return g * y * ctx.k, None, (g * x * ctx.k if ctx.needs_input_grad[2] else None)

    x, y = leaf([1.0, 2.0]), pg.tensor([3.0, 4.0])
    z = Mul.apply(x, 10, y)
    assert z.requires_grad and not z.is_leaf
    pg.sum(z).backward()
    same(x.grad, [30.0, 40.0])
    assert seen == [(True, False, False)], seen

    def fn(back):
        class F(pg.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a + b

            @staticmethod
            def backward(ctx, g):
                return back(g)

        return lambda: pg.sum(F.apply(leaf([1.0, 2.0]), leaf([3.0, 4.0]))).backward()

    raises(RuntimeError, fn(lambda g: g))
    raises(RuntimeError, fn(lambda g: (g, g, g)))
    raises(RuntimeError, fn(lambda g: (g, pg.ones((3,)))))

    def boom(g):
        raise ZeroDivisionError("mine")

    raises(ZeroDivisionError, fn(boom), "mine")
    x = leaf([1.0, 2.0])
    v = x * 1
    z = Mul.apply(v, 1, v)
    v += 1
    raises(RuntimeError, pg.sum(z).backward, "inplace")

    class NoGrad(pg.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            i = pg.argmax(a)
            ctx.mark_non_differentiable(i)
            return a * 2, i

        @staticmethod
        def backward(ctx, g, gi):
            return g * 2

    a = leaf([1.0, 5.0])
    b, i = NoGrad.apply(a)
    assert not i.requires_grad and b.requires_grad
    pg.sum(b).backward()
    same(a.grad, [2.0, 2.0])
