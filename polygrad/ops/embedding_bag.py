"""Rows looked up by index, and combined bag by bag.

Note [Bags]
-----------
Where each bag begins and ends is known on the host. Sums are of rows added at the numbers of their
bags, or along an axis where all bags are of one length. Maxima are looked up: a bag's rows are laid
side by side, the first one again in the place of those that a shorter bag lacks, and the row of the
largest element is taken for every column alone, which then has the gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polygrad.calls import describe
from polygrad.dtypes import INTEGER
from polygrad.errors import DtypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.embedding import check_rows, padding_row, renormalise, rows_by_frequency
from polygrad.ops.filling import zeros
from polygrad.ops.indexing import index_add, index_tensor, take, take_along_axis
from polygrad.ops.manipulation import reshape
from polygrad.ops.searching import argmax, where
from polygrad.ops.statistical import sum as _sum
from polygrad.tensor import Tensor, on_host

_table = Chapter("embedding_bag", "nn.functional")
Host = np.ndarray[Any, Any]
_NAME = "embedding_bag"


class Bags(NamedTuple):
    """Which positions of the flat indices count, how many each bag has, and the lengths alike."""

    kept: Host
    counts: Host

    @property
    def numbers(self) -> Host:
        """The bag of each kept position."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def alike(self) -> bool:
        """Whether all bags are of one length, and not empty."""
        return bool(self.counts.size and self.counts[0] and (self.counts == self.counts[0]).all())


# ---- checks -------------------------------------------------------------------------------------
def _starts(indices: Tensor, offsets: Any, include_last: bool) -> Host:
    """Where each bag begins, and behind the last one where it ends."""
    where_ = f"{_NAME}, argument offsets"
    if indices.ndim == 2:
        if offsets is not None:
            raise InvalidArgumentError(
                "offsets for indices of two axes", where_, "each row is a bag: leave them out"
            )
        return np.arange(indices.shape[0] + 1) * indices.shape[1]
    if indices.ndim != 1:
        raise ShapeError(
            f"indices of shape {indices.shape}", f"{_NAME}{describe([indices])}",
            "pass bags of one length (bags, length), or one axis of indices and offsets",
        )  # fmt: skip
    if offsets is None:
        raise InvalidArgumentError(
            "one axis of indices and no offsets", where_, "say where each bag begins"
        )
    given = as_tensor(offsets, where_)
    if given.ndim != 1 or given.kernels.kind != INTEGER:
        raise (DtypeError if given.ndim == 1 else ShapeError)(
            f"offsets of shape {given.shape}, {given.dtype}", where_, "pass integers, one axis"
        )
    starts = on_host(given)
    n = indices.shape[0]
    ends = starts if include_last else np.append(starts, n)
    if not ends.size or (ends[0] != 0 and len(ends) > 1) or (np.diff(starts) < 0).any():
        raise OutOfRangeError(
            f"offsets {starts.tolist()[:8]}", where_, "the first is 0, and none is below its last"
        )
    last = int(starts[-1]) if starts.size else 0
    if last > n or (include_last and last != n):
        raise OutOfRangeError(
            f"offsets up to {last} for {n} indices", where_,
            "the last bag ends with the indices",
        )  # fmt: skip
    return ends


def _bags(starts: Host, indices: Host, padding: int | None) -> Bags:
    """Without the positions of the padding."""
    counts = np.diff(starts)
    keep = np.ones(indices.shape, bool) if padding is None else indices != padding
    if keep.all():
        return Bags(np.arange(indices.size), counts)
    numbers = np.repeat(np.arange(len(counts)), counts)
    return Bags(np.flatnonzero(keep), np.bincount(numbers[keep], minlength=len(counts)))


def _weights(given: Any, indices: Tensor, mode: str) -> Tensor | None:
    if given is None:
        return None
    where_ = f"{_NAME}, argument per_sample_weights"
    if mode != "sum":
        raise InvalidArgumentError(f"weights with mode={mode!r}", where_, "pass mode='sum'")
    found = as_tensor(given, where_)
    if found.shape != indices.shape:
        raise ShapeError(
            f"weights of shape {found.shape} for indices of shape {indices.shape}", where_,
            "pass one for each index",
        )  # fmt: skip
    return reshape(found, (-1,))


# ---- the three ways -----------------------------------------------------------------------------
def _summed(rows: Tensor, bags: Bags) -> Tensor:
    count, width = len(bags.counts), rows.shape[-1]
    if bags.alike:
        return _sum(reshape(rows, (count, -1, width)), axis=1)
    start = zeros((count, width), dtype=rows.dtype, device=rows.device)
    return index_add(start, index_tensor(bags.numbers, rows), rows, axis=0)


def _mean(rows: Tensor, bags: Bags) -> Tensor:
    divisors = np.maximum(bags.counts, 1)[:, None]
    return _summed(rows, bags) / index_tensor(divisors.astype(np.int32), rows)


def _largest(w: Tensor, indices: Host, bags: Bags) -> Tensor:
    """See Note [Bags]."""
    longest = int(bags.counts.max(initial=0))
    if not longest:
        return _summed(take(w, index_tensor(indices, w), axis=0), bags)
    first = np.cumsum(bags.counts) - bags.counts
    within = np.arange(longest)
    inside = within < bags.counts[:, None]
    places = np.minimum(np.where(inside, first[:, None] + within, first[:, None]), len(indices) - 1)
    used = index_tensor(indices[places], w)
    best = argmax(take(w.detach(), used, axis=0), axis=1)
    rows = take_along_axis(used, best, axis=1)
    out = take_along_axis(w, rows, axis=0)
    if bags.counts.all():
        return out
    return where(index_tensor(bags.counts[:, None] > 0, w), out, 0)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.integers(2, 3, low=0, high=4), s.real(4, 2)), {}),
    ((s.integers(2, 3, low=0, high=4), s.real(4, 2)), {"mode": "max"}),
    ((s.integers(5, low=0, high=4), s.real(4, 2), [0, 2, 2]), {"padding_idx": 1}),
    ((s.integers(5, low=0, high=4), s.real(4, 2), [0, 2, 2]), {"mode": "max", "padding_idx": -1}),
    ((s.integers(5, low=0, high=4), s.real(4, 2), [0, 1, 5]),
     {"mode": "sum", "per_sample_weights": s.real(5), "include_last_offset": True}),
    ((s.integers(0, low=0, high=4), s.real(4, 2), [0, 0]), {"mode": "sum"}),
])  # fmt: skip
def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
    per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sums, means or maxima of the rows of a matrix, bag by bag.

    Parameters
    ----------
    input
        Indices of rows, integers: (bags, length); or one axis, with `offsets`.
    weight
        The matrix (rows, width).
    offsets
        Where in one axis of indices each bag begins: integers from 0 on, that never fall.
    max_norm, norm_type, scale_grad_by_freq
        As of `embedding`; the last one not with "max".
    mode
        "mean", "sum" or "max", for each column. The largest of equal elements is the first.
    per_sample_weights
        In the shape of `input`: multiply the rows; with "sum" only.
    include_last_offset
        Whether the last of the offsets is the end of the last bag.
    padding_idx
        A row that does not count; from the end if negative.

    Returns
    -------
    Tensor
        (bags, width); zeros for a bag of nothing.

    Raises
    ------
    OutOfRangeError, DtypeError, ShapeError, InvalidArgumentError
        An index or offset is out of range, or no integer; the shapes do not fit; the mode is
        unknown, or does not go with another argument.

    Examples
    --------
    >>> import polygrad as pg
    >>> table = pg.tensor([[1.0], [2.0], [4.0]])
    >>> pg.nn.functional.embedding_bag(pg.tensor([0, 1, 2, 2]), table, [0, 3], mode="sum")
    tensor([[7.],
            [4.]], dtype=float32)
    """
    if mode not in ("sum", "mean", "max"):
        raise InvalidArgumentError(
            f"mode={mode!r}", f"{_NAME}, argument mode", "pass 'sum', 'mean' or 'max'"
        )
    if mode == "max" and scale_grad_by_freq:
        raise InvalidArgumentError(
            "scale_grad_by_freq with mode='max'", f"{_NAME}, argument scale_grad_by_freq",
            "leave it out, or take another mode",
        )  # fmt: skip
    indices, w = check_rows(input, weight, _NAME)
    starts = _starts(indices, _as_integers(offsets), include_last_offset)
    padding = padding_row(padding_idx, indices, w, _NAME)
    factors = _weights(per_sample_weights, indices, mode)
    if max_norm is not None:
        renormalise(w, indices, max_norm, norm_type)
    flat = on_host(indices).reshape(-1)
    bags = _bags(starts, flat, padding)
    flat = flat[bags.kept]
    if mode == "max":
        return _largest(w, flat, bags)
    rows = rows_by_frequency(w, index_tensor(flat, w), scale_grad_by_freq)
    if factors is not None:
        rows = rows * take(factors, index_tensor(bags.kept, w), axis=0)[:, None]
    return _summed(rows, bags) if mode == "sum" else _mean(rows, bags)


def _as_integers(offsets: Any) -> Any:
    """Lists of numbers as arrays."""
    return np.asarray(offsets, np.int64) if isinstance(offsets, (list, tuple)) else offsets
