"""Creation functions of the array API standard that fill a shape by a rule.

They make constants, on the default device unless `device` says otherwise; what is filled from a
Tensor (`full`, `linspace`, `meshgrid`, `tril`, `triu`) stays on the tape.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import dtypes
from polygrad.calls import describe
from polygrad.config import default_dtype
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import shape_tuple
from polygrad.ops._axes import as_tensor
from polygrad.ops.creation import asarray, to_place
from polygrad.ops.manipulation import broadcast_to
from polygrad.primitive import CONSTANT, Primitive
from polygrad.registry import default_integer, find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor
from polygrad.views import clone, reshape_tensor

if TYPE_CHECKING:
    from polygrad.backend import Kernels

_table = Chapter("creation")
Shape = tuple[int, ...]

for _name, _number in (("zeros_like", 0), ("ones_like", 1)):  # for rules; users call those below
    Primitive(
        _name, ("x",), {"x": CONSTANT},
        forward=lambda F, x, _number=_number: F.of(x).full(x.shape, _number),
    )  # fmt: skip


def kernels_named(dtype: Any, device: Any, where: str) -> Kernels:
    """The Kernels of a dtype and a device that were named, or left to the defaults."""
    wanted = default_dtype() if dtype is None else dtypes.canonical(dtype)
    return kernels_for(find_device(device), wanted, where)


def _like(x: Any, dtype: Any, device: Any, where: str) -> tuple[Shape, Kernels]:
    """Shape and Kernels of a tensor like `x`."""
    x = as_tensor(x, f"{where}, argument x")
    if dtype is None and device is None:
        return x.shape, x.kernels
    wanted = x.dtype if dtype is None else dtypes.canonical(dtype)
    return x.shape, kernels_for(x.device if device is None else find_device(device), wanted, where)


def _made(kernels: Kernels, function: str, /, *args: Any, **options: Any) -> Tensor:
    """What the library's own creation function makes for these Kernels."""
    place = {"dtype": kernels.native_dtype, "device": kernels.native_device}
    guard = nullcontext() if kernels.guard is None else kernels.guard()
    with guard, kernels.explaining(f"{function}, of {kernels.dtype}"):
        array = getattr(kernels.xp, function)(*args, **place, **options)
    return _wrapped(array, kernels)


def _wrapped(array: Any, kernels: Kernels) -> Tensor:
    return new_tensor(
        array if type(array) is kernels.array_type else kernels.coerce(array), kernels
    )


def _filled(k: Kernels, shape: Shape, value: Any) -> Tensor:
    return _wrapped(k.full(shape, value), k)


# ---- one value --------------------------------------------------------------------------------
@_table.public(
    differentiable=False, samples=lambda s: [(((2, 3),), {}), ((2,), {"dtype": s.dtype})]
)
def zeros(shape: int | Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of zeros.

    Parameters
    ----------
    shape
        Its shape.
    dtype, device
        The defaults if not given.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        A length is negative, or no integer.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.zeros(2)
    tensor([0., 0.], dtype=float32)
    """
    return _filled(kernels_named(dtype, device, "zeros"), shape_tuple(shape, "zeros"), 0)


@_table.public(
    differentiable=False, samples=lambda s: [(((2, 3),), {}), ((2,), {"dtype": s.dtype})]
)
def ones(shape: int | Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of ones. Parameters and errors as those of `zeros`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.ones(2)
    tensor([1., 1.], dtype=float32)
    """
    return _filled(kernels_named(dtype, device, "ones"), shape_tuple(shape, "ones"), 1)


@_table.public(
    differentiable=False, samples=lambda s: [((0,), {}), (((0, 3),), {"dtype": s.dtype})]
)
def empty(shape: int | Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor whose values are whatever the memory held. Otherwise as `zeros`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.empty((2, 3)).shape
    (2, 3)
    """
    return _made(kernels_named(dtype, device, "empty"), "empty", shape_tuple(shape, "empty"))


@_table.public(samples=lambda s: [
    (((2, 3), s.real()), {}), (((2,), 1.5), {}), (((), s.real()), {}),
    ((3, s.real()), {"dtype": dtypes.complex_of(s.dtype)}),
], kinds="fc")  # fmt: skip
def full(shape: int | Shape, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor filled with one value.

    Parameters
    ----------
    shape
        Its shape.
    fill_value
        A number, or a 0-d Tensor, which stays on the tape.
    dtype, device
        If not given: of a Tensor its own; of a number the default dtype of its kind and the default
        device.

    Raises
    ------
    ShapeError, DtypeError
        `fill_value` is more than one value; it is complex and `dtype` is not.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.full((2,), 7)
    tensor([7, 7], dtype=int64)
    """
    lengths = shape_tuple(shape, "full")
    value = asarray(fill_value) if device is None else asarray(fill_value, device=device)
    if value.ndim:
        raise ShapeError(
            f"one value fills a tensor, not a tensor of shape {value.shape}",
            "full, argument fill_value", "use broadcast_to to repeat several",
        )  # fmt: skip
    wanted = value.dtype if dtype is None else dtypes.canonical(dtype)
    if value.kernels.is_complex and dtypes.kind_of(wanted) < dtypes.COMPLEX:
        raise DtypeError(
            f"a complex value does not fit into {wanted}", "full, argument fill_value",
            "pass a complex dtype, or the real part",
        )  # fmt: skip
    if not value.tracked:
        k = kernels_for(value.device, wanted, "full")
        exact = isinstance(fill_value, (int, float, complex))
        return _filled(k, lengths, fill_value if exact else value.item())
    return clone.call(broadcast_to(to_place(value, dtype), lengths))  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(),), {"dtype": "int32"}),
], kinds="bifc", differentiable=False)  # fmt: skip
def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros in the shape of `x`, with its dtype and on its device unless others are given.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.zeros_like(pg.arange(2))
    tensor([0, 0], dtype=int64)
    """
    shape, k = _like(x, dtype, device, "zeros_like")
    return _filled(k, shape, 0)


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(),), {"dtype": "int32"}),
], kinds="bifc", differentiable=False)  # fmt: skip
def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones in the shape of `x`, with its dtype and on its device unless others are given.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.ones_like(pg.arange(2))
    tensor([1, 1], dtype=int64)
    """
    shape, k = _like(x, dtype, device, "ones_like")
    return _filled(k, shape, 1)


@_table.public(samples=lambda s: [
    ((s.real(0, 3),), {}), ((s.real(0),), {"dtype": "int32"}),
], kinds="bifc", differentiable=False)  # fmt: skip
def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor like `x` whose values are whatever the memory held.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.empty_like(pg.ones(2)).shape
    (2,)
    """
    shape, k = _like(x, dtype, device, "empty_like")
    return _made(k, "empty", shape)


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.real()), {}), ((s.real(2), 2), {}),
    ((s.real(2), s.real()), {"dtype": dtypes.complex_of(s.dtype)}),
], kinds="fc")  # fmt: skip
def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """One value in the shape of `x`, with its dtype and on its device unless others are given.

    Raises
    ------
    ShapeError
        As `full`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.full_like(pg.ones(2), 7)
    tensor([7., 7.], dtype=float32)
    """
    shape, k = _like(x, dtype, device, "full_like")
    return full(shape, fill_value, dtype=k.dtype, device=k.device)


# ---- ranges -----------------------------------------------------------------------------------
def _numbers(values: tuple[Any, ...]) -> list[Any]:
    """Python numbers of numbers, NumPy scalars and 0-d tensors."""
    return [n.item() if isinstance(n, (Tensor, np.generic, np.ndarray)) else n for n in values]


@_table.public(differentiable=False, samples=lambda s: [
    ((5,), {}), ((1, 6, 2), {}), ((5, 0, -2), {"dtype": s.dtype}), ((0.5, 2.0), {"step": 0.25}),
    ((3, 1), {}),
])  # fmt: skip
def arange(
    start: float, /, stop: float | None = None, step: float = 1, *,
    dtype: Any = None, device: Any = None,
) -> Tensor:
    """Numbers from `start` in steps of `step`, up to `stop`, which is not reached.

    Parameters
    ----------
    start, stop, step
        Numbers; with `stop=None`, from 0 up to `start`.
    dtype
        If not given, int64 for integers (int32 where a device has no int64), else the default
        floating dtype.
    device
        The default one if not given.

    Raises
    ------
    InvalidArgumentError
        The step is 0.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.arange(1, 6, 2)
    tensor([1, 3, 5], dtype=int64)
    """
    numbers = _numbers((0, start, step) if stop is None else (start, stop, step))
    if numbers[2] == 0:
        raise InvalidArgumentError(
            "a step of 0 leads nowhere", "arange, argument step", "use full for equal numbers"
        )
    if dtype is None:
        whole = all(isinstance(n, int) for n in numbers)
        dtype = default_integer(find_device(device)) if whole else default_dtype()
    k = kernels_named(dtype, device, "arange")
    return new_tensor(k.constant(np.arange(*numbers)), k)


@_table.public(differentiable=False, samples=lambda s: [
    ((3,), {}), ((2, 3), {"k": 1}), ((3, 2), {"k": -1, "dtype": s.dtype}), ((0, 2), {}),
])  # fmt: skip
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Ones on a diagonal, zeros elsewhere.

    Parameters
    ----------
    n_rows, n_cols
        The shape; square if `n_cols` is not given.
    k
        Which diagonal: 0 the main one, above it if positive, below if negative.
    dtype, device
        The defaults if not given.

    Raises
    ------
    InvalidArgumentError
        A length is negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.eye(2)
    tensor([[1., 0.],
            [0., 1.]], dtype=float32)
    """
    shape = shape_tuple((n_rows, n_rows if n_cols is None else n_cols), "eye")
    return _made(kernels_named(dtype, device, "eye"), "eye", *shape, k=k)


# ---- from tensors -----------------------------------------------------------------------------
_tril = Primitive("tril", ("x",), {"x": lambda g, F, k: F.tril(g, k=k)}, keywords={"k": 0},
                  forward=lambda F, x, k: F.xp.tril(x, k=k))  # fmt: skip
_triu = Primitive("triu", ("x",), {"x": lambda g, F, k: F.triu(g, k=k)}, keywords={"k": 0},
                  forward=lambda F, x, k: F.xp.triu(x, k=k))  # fmt: skip


def _matrices(x: Any, where: str) -> Tensor:
    found = as_tensor(x, f"{where}, argument x")
    if found.ndim < 2:
        raise ShapeError(
            f"a tensor of shape {found.shape} is no matrix", f"{where}{describe([found])}",
            "pass two axes or more",
        )  # fmt: skip
    return found


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.complex(2, 2, 3),), {"k": 1}), ((s.real(3, 2),), {"k": -1}),
    ((s.real(0, 2),), {}),
], kinds="bifc", method=True)  # fmt: skip
def tril(x: Any, /, *, k: int = 0) -> Tensor:
    """The part of matrices on and below a diagonal, zeros above.

    Parameters
    ----------
    x
        Tensor of any dtype with two axes or more.
    k
        Which diagonal: 0 the main one, above it if positive, below if negative.

    Raises
    ------
    ShapeError
        `x` has fewer than two axes.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.tril(pg.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]], dtype=float32)
    """
    return _tril.call(_matrices(x, "tril"), k=k)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.real(3, 3),), {}), ((s.complex(2, 2, 3),), {"k": 1}), ((s.real(3, 2),), {"k": -1}),
    ((s.real(0, 2),), {}),
], kinds="bifc", method=True)  # fmt: skip
def triu(x: Any, /, *, k: int = 0) -> Tensor:
    """The part of matrices on and above a diagonal, zeros below. As `tril`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.triu(pg.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]], dtype=float32)
    """
    return _triu.call(_matrices(x, "triu"), k=k)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.real(2), s.real(3)), {}), ((s.real(2), s.real(3), s.real(1)), {"indexing": "ij"}),
    ((s.real(2),), {}),
], kinds="bifc")  # fmt: skip
def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """Coordinate vectors as coordinates of a grid.

    Parameters
    ----------
    *arrays
        One-dimensional tensors.
    indexing
        "ij": axis i of the results follows vector i; "xy": the first two axes are exchanged.

    Returns
    -------
    list of Tensor
        One for each vector, all of the shape of the grid.

    Raises
    ------
    ShapeError, InvalidArgumentError
        A tensor is not one-dimensional; `indexing` is neither.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.meshgrid(pg.arange(2), pg.arange(3))[0]
    tensor([[0, 1],
            [0, 1],
            [0, 1]], dtype=int64)
    """
    if indexing not in ("xy", "ij"):
        raise InvalidArgumentError(
            f"indexing is {indexing!r}", "meshgrid, argument indexing", 'pass "xy" or "ij"'
        )
    tensors = [as_tensor(a, "meshgrid") for a in arrays]
    for t in tensors:
        if t.ndim > 1:
            raise ShapeError(
                f"a tensor of shape {t.shape} is no vector", "meshgrid", "pass vectors; flatten it"
            )
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = tuple(tensors[i].size for i in order)
    made = []
    for i, t in enumerate(tensors):
        lengths = tuple(n if order[axis] == i else 1 for axis, n in enumerate(shape))
        made.append(clone.call(broadcast_to(reshape_tensor(t, lengths), shape)))
    return made
