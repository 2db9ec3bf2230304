"""Cases reported by users of such libraries: indexing."""

import numpy as np

import polygrad as pg
from tests.cases.helpers import grad, leaf, raises, same


def test_021_integer_index_duplicates_accumulate():
    """Source: pytorch/pytorch#1528, HIPS/autograd#39
    Kind: indexing
    Wrong: backward does g[idx] += v (or = v), which keeps only one contribution per repeated index.
    Right: contributions add up (np.add.at); negative and positive names of one place are the same place. Closed form.
    """
    i = pg.tensor([0, 0, 2, -1, 0])
    w = pg.tensor([1.0, 10.0, 100.0, 1000.0, 10000.0])
    same(grad(lambda x: x[i] * w, [1.0, 2.0, 3.0]), [10011.0, 0.0, 1100.0])
    j = pg.tensor([0, 0, 2, 2, 0])
    same(grad(lambda x: pg.take(x, j, axis=0) * w, [1.0, 2.0, 3.0]), [10011.0, 0.0, 1100.0])
    r, c = pg.tensor([0, 1, 0]), pg.tensor([1, 1, 1])
    same(
        grad(lambda x: x[r, c] * pg.tensor([1.0, 2.0, 4.0]), [[1.0, 2.0], [3.0, 4.0]]),
        [[0, 5], [0, 2]],
    )
    k = pg.tensor([[0, 0], [1, 0]])
    same(
        grad(
            lambda x: pg.take_along_axis(x, k, axis=1) * pg.tensor([[1.0, 2.0], [4.0, 8.0]]),
            [[1.0, 2.0], [3.0, 4.0]],
        ),
        [[3, 0], [8, 4]],
    )


def test_023_negative_step_slices():
    """Source: pytorch/pytorch#59786, data-apis/array-api-compat#144
    Kind: indexing
    Wrong: negative steps refused, or a backward that writes the gradient in forward order.
    Right: Python slice semantics, required by the array API; gradient lands in reversed places. Closed form.
    """
    x = leaf([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    y = x[::-2]
    same(y, [6.0, 4.0, 2.0, 0.0])
    pg.sum(y * pg.tensor([1.0, 10.0, 100.0, 1000.0])).backward()
    same(x.grad, [1000.0, 0.0, 100.0, 0.0, 10.0, 0.0, 1.0])
    m = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    z = m[1, 2:0:-1]
    same(z, [6.0, 5.0])
    pg.sum(z * pg.tensor([1.0, 2.0])).backward()
    same(m.grad, [[0, 0, 0], [0, 2, 1]])


def test_024_advanced_indices_split_by_slice():
    """Source: numpy/numpy#16877, dwavesystems/dwave-optimization#465
    Kind: indexing
    Wrong: an integer next to an index array is a third kind of thing in some libraries, so the axes of the result (and
    of the gradient) come in another order than NumPy's.
    Right: NumPy: separated advanced indices move to the front: x[0, :, [0, 2]] of shape (2, 3, 4) gives (2, 3); adjacent
    ones stay in place. Values checked with NumPy.
    """
    a = np.arange(24.0).reshape(2, 3, 4)
    i = [0, 2]
    x = leaf(a.tolist())
    y = x[0, :, pg.tensor(i)]
    assert tuple(y.shape) == (2, 3), tuple(y.shape)
    same(y, a[0, :, i])
    w = np.arange(6.0).reshape(2, 3)
    pg.sum(y * pg.tensor(w, dtype=pg.float32)).backward()
    want = np.zeros_like(a)
    want[0, :, i] = w
    same(x.grad, want)
    z = x[:, pg.tensor(i), pg.tensor([1, 1])]
    assert tuple(z.shape) == (2, 2)
    same(z, a[:, i, [1, 1]])


def test_079_index_out_of_range():
    """Source: chainer/chainer#4648, cupy/cupy#705, chainer/chainer#1013
    Kind: indexing
    Wrong: a GPU array library wraps (or clips, or reads past) an index array out of range without an error, so a wrong
    label or token id trains on.
    Right: IndexError for integers and index arrays, in getitem, setitem and take; slices clip. NumPy. (On CuPy the check
    is not done by the library.)
    """
    x = leaf([1.0, 2.0, 3.0])
    m = leaf([[1.0, 2.0], [3.0, 4.0]])
    E = (IndexError, RuntimeError, ValueError)
    for f in (
        lambda: x[3],
        lambda: x[-4],
        lambda: x[pg.tensor([0, 3])],
        lambda: x[pg.tensor([-4])],
        lambda: m[pg.tensor([0, 1]), pg.tensor([0, 2])],
        lambda: pg.take(x, pg.tensor([3]), axis=0),
        lambda: m[0, 0, 0],
        lambda: m[:, 5],
    ):
        raises(E, f)
    y = x * 1

    def put():
        y[pg.tensor([0, 3])] = 0.0

    raises(E, put)
    same(x[1:99], [2.0, 3.0])
    assert (
        tuple(x[5:].shape) == (0,)
        and tuple(m[..., None].shape) == (2, 2, 1)
        and tuple(m[None, 1].shape) == (1, 2)
    )


def test_080_take_along_axis_out_of_range():
    """Source: chainer/chainer#4648 (same class; torch's own fault seen here, one search found no report of it)
    Kind: indexing
    Wrong: indices are reduced modulo the axis length, so 3 in an axis of 3 reads element 0.
    Right: an error (array API: out of bounds is undefined, NumPy raises IndexError).
    """
    x = leaf([1.0, 2.0, 3.0])
    same(pg.take_along_axis(x, pg.tensor([2, 0]), axis=0), [3.0, 1.0])
    raises(
        (IndexError, RuntimeError, ValueError),
        lambda: pg.take_along_axis(x, pg.tensor([3]), axis=0),
    )
    raises(
        (IndexError, RuntimeError, ValueError),
        lambda: pg.take_along_axis(x, pg.tensor([-4]), axis=0),
    )
