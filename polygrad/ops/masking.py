"""Elements chosen by a mask: filled, selected, replaced one after the other."""

from __future__ import annotations

from typing import Any

from polygrad.calls import check_device, describe
from polygrad.dtypes import BOOL
from polygrad.errors import DtypeError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import broadcasts
from polygrad.ops._axes import as_tensor
from polygrad.ops.manipulation import broadcast_shapes, broadcast_to, reshape
from polygrad.ops.searching import count_nonzero, where
from polygrad.tensor import Tensor, raw
from polygrad.views import getitem, put

_table = Chapter("masking")


def _masked(x: Any, mask: Any, name: str) -> tuple[Tensor, Tensor]:
    """x and the mask, which broadcast against each other."""
    x, mask = as_tensor(x, f"{name}, argument x"), as_tensor(mask, f"{name}, argument mask")
    if mask.kernels.kind != BOOL:
        raise DtypeError(
            f"a mask holds truth values, not {mask.dtype}", f"{name}{describe([x, mask])}",
            "compare it: mask != 0",
        )  # fmt: skip
    check_device(x, mask, name)
    if not broadcasts(x.shape, mask.shape):
        raise ShapeError(
            f"a mask of shape {mask.shape} for a tensor of shape {x.shape}",
            f"{name}{describe([x, mask])}", "their shapes must broadcast",
        )  # fmt: skip
    return x, mask


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.bools(2, 3), 1.5), {}), ((s.complex(2, 3), s.bools(3), s.real()), {}),
    ((s.real(3), s.bools(2, 1), s.real()), {}), ((s.real(0), s.bools(1), 2), {}),
], kinds="fc", method=True)  # fmt: skip
def masked_fill(x: Any, /, mask: Any, value: Any) -> Tensor:
    """`x` with one value where the mask is true.

    Parameters
    ----------
    x
        Tensor; it is not changed.
    mask
        Boolean tensor that broadcasts with x.
    value
        A number or a 0-d tensor.

    Returns
    -------
    Tensor
        The broadcast shape, of the promoted dtype.

    Raises
    ------
    ShapeError, DtypeError
        The shapes do not broadcast, `value` is more than one; the mask is not boolean.

    Notes
    -----
    What was replaced has a gradient of zero, also if its own derivative is infinite there.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.masked_fill(pg.ones(3), pg.asarray([True, False, True]), 0)
    tensor([0., 1., 0.], dtype=float32)
    """
    x, mask = _masked(x, mask, "masked_fill")
    if getattr(value, "shape", ()) != ():
        raise ShapeError(
            f"one value fills a mask, not a tensor of shape {tuple(value.shape)}",
            "masked_fill, argument value", "use where or masked_scatter for several",
        )  # fmt: skip
    return where(mask, value, x)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.bools(2, 3)), {}), ((s.complex(3), s.bools(2, 1)), {}),
    ((s.real(0), s.bools(1)), {}),
], kinds="bifc", method=True)  # fmt: skip
def masked_select(x: Any, /, mask: Any) -> Tensor:
    """The elements where the mask is true, in C order.

    Parameters
    ----------
    x
        Tensor of any dtype.
    mask
        Boolean tensor that broadcasts with x.

    Returns
    -------
    Tensor
        Of one axis, as long as the broadcast mask has true elements.

    Raises
    ------
    ShapeError, DtypeError
        The shapes do not broadcast; the mask is not boolean.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.masked_select(pg.arange(4), pg.asarray([True, False, True, True]))
    tensor([0, 2, 3], dtype=int64)
    """
    x, mask = _masked(x, mask, "masked_select")
    shape = broadcast_shapes(x.shape, mask.shape)
    key = (raw(broadcast_to(mask, shape)),)
    return getitem.call(broadcast_to(x, shape), key=key)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.bools(2, 3), s.real(3, 2)), {}), ((s.complex(3), s.bools(1), s.real(4)), {}),
], kinds="ifc", method=True)  # fmt: skip
def masked_scatter(x: Any, /, mask: Any, values: Any) -> Tensor:
    """`x` with the first values, in C order, one after the other where the mask is true.

    Parameters
    ----------
    x
        Tensor; it is not changed.
    mask
        Boolean tensor that broadcasts to the shape of x.
    values
        Tensor with at least as many elements as the mask has true ones; the rest is not used.

    Returns
    -------
    Tensor
        The shape of x, of the promoted dtype.

    Raises
    ------
    ShapeError, DtypeError
        There are too few values, the mask does not fit; it is not boolean.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.masked_scatter(pg.zeros(3), pg.asarray([True, False, True]), pg.asarray([5.0, 7.0, 9.0]))
    tensor([5., 0., 7.], dtype=float32)
    """
    x, mask = _masked(x, mask, "masked_scatter")
    values = as_tensor(values, "masked_scatter, argument values")
    mask = broadcast_to(mask, x.shape)
    number = int(count_nonzero(mask))
    if number > values.size:
        raise ShapeError(
            f"{values.size} values for {number} places",
            f"masked_scatter{describe([x, mask, values])}", "give at least one for each place",
        )  # fmt: skip
    chosen = reshape(values, (-1,))[:number]
    recipe = ((getitem, {"key": (raw(mask),)}, x.shape),)
    return put.call(x, chosen, recipe=recipe)  # type: ignore[no-any-return]
