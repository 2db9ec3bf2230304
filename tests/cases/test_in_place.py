"""Cases reported by users of such libraries: in place."""


import polygrad as pg
from tests.cases.helpers import eq, grad, leaf, raises, same


def test_025_saved_value_changed_is_an_error():
    """Source: pytorch/pytorch#18523, pytorch/pytorch#14571
    Kind: in-place
    Wrong: backward used the overwritten value of a saved input or output: wrong numbers without a word; or an in-place
    operation under no_grad (or through a view or a detached alias) did not count as a change.
    Right: either a RuntimeError that says "in-place", or the true gradient (the operation saved something else, or
    nothing; polygrad's design never overwrites a saved value, so it gives the true gradient); wrong numbers never. Contract.
    """
    F = pg.nn.functional

    def add(t):
        t += 1

    def setitem(t):
        t[0] = 5.0

    def view(t):
        v = t[1:]
        v += 1

    def quiet(t):
        with pg.no_grad():
            t += 1

    def alias(t):
        d = t.detach()
        d += 1

    makes = dict(
        mul=lambda y: y * y,
        pow=lambda y: y**3,
        sin=pg.sin,
        div=lambda y: 1 / y,
        matmul=lambda y: y @ y,
        exp=pg.exp,
        sqrt=pg.sqrt,
        tanh=pg.tanh,
        sigmoid=F.sigmoid,
        softmax=lambda y: F.softmax(y, axis=0),
        add=lambda y: y + 1,
        sum=pg.sum,
        max=pg.max,
        prod=pg.prod,
        where=lambda y: pg.where(y > 2, y, -y),
        getitem=lambda y: y[1:] * y[:-1],
        relu=F.relu,
        cumprod=pg.cumulative_prod,
    )
    w = pg.tensor([1.0, 2.0, 3.0])
    raised = set()
    for name, make in makes.items():
        want = grad(lambda x: make(x * 1) * (w if make(w).shape == w.shape else 1), [1.0, 2.0, 3.0])
        for change in (add, setitem, view, quiet, alias):
            for which in ("input", "output"):
                x = leaf([1.0, 2.0, 3.0])
                y = x * 1
                z = make(y)
                if which == "output" and z.shape != w.shape:
                    continue
                l = pg.sum(z * (w if z.shape == w.shape else 1))
                change(y if which == "input" else z)
                try:
                    l.backward()
                except RuntimeError as e:
                    assert "inplace" in str(e).lower().replace("in-place", "inplace"), e
                    raised.add(name)
                else:
                    eq(x.grad, want, msg=f"{name}: {which} changed by {change.__name__}")


def test_026_leaf_in_place_rules():
    """Source: pytorch/pytorch#2940, pytorch/pytorch#39150, pytorch/pytorch#46204
    Kind: in-place
    Wrong: the error came after the leaf had been changed; writing through a view of a leaf passed until backward.
    Right: RuntimeError at the write, the leaf's value untouched; the same writes are fine under no_grad. Contract.
    """
    x = leaf([1.0, 2.0, 3.0])

    def iadd():
        nonlocal x
        x += 1

    def isetitem():
        x[0] = 9.0

    def iview():
        v = x[1:]
        v *= 2

    for f in (iadd, isetitem, iview):
        raises(RuntimeError, f)
        same(x, [1.0, 2.0, 3.0], msg="changed although refused")
    with pg.no_grad():
        x += 1
        x[0] = 9.0
        v = x[1:]
        v *= 2
    same(x, [9.0, 6.0, 8.0])
    assert x.requires_grad and x.is_leaf
    pg.sum(x * x).backward()
    same(x.grad, [18.0, 12.0, 16.0])


def test_090_failed_write_leaves_target_alone():
    """Source: pytorch/pytorch#2940
    Kind: in-place
    Wrong: an in-place operation that raises (index out of range, wrong shape, wrong dtype, leaf rule) has written part of
    its result, bumped nothing, or already rebuilt the graph.
    Right: after the error the value, the graph and the gradient are those from before the call. NumPy checks first.
    """
    E = (IndexError, RuntimeError, ValueError, TypeError)
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2

    def idx():
        y[pg.tensor([0, 7])] = 0.0

    def shape():
        y[0:2] = pg.tensor([1.0, 2.0, 3.0])

    def grow():
        nonlocal y
        y += pg.ones((2, 3))

    def cplx():
        nonlocal y
        y *= pg.tensor([1j, 1j, 1j], dtype=pg.complex64)

    for f in (shape, grow, cplx, idx):
        raises(E, f)
        same(y, [2.0, 4.0, 6.0], msg=f"{f.__name__}: changed although refused")
    pg.sum(y * y).backward()
    same(x.grad, [8.0, 16.0, 24.0])
