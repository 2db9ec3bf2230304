"""Sequences of several lengths in one tensor, padded or packed: PyTorch's `torch.nn.utils.rnn`.

Packed rows are the first elements of all sequences, the longest sequence first, then the second
elements of those that have two, and so on. Recurrent layers take them, and spend nothing on
padding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.methods import read_place
from polygrad.ops._axes import as_tensor
from polygrad.ops._packing import gather_rows, scatter_rows
from polygrad.ops._recurrence import sections
from polygrad.ops.creation import tensor, to_place
from polygrad.ops.indexing import index_tensor
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import concat
from polygrad.tensor import Tensor, on_host

__all__ = [
    "PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

Host = np.ndarray[Any, Any]


class PackedSequence(NamedTuple):
    """Packed rows, as `pack_sequence` and `pack_padded_sequence` make them.

    Attributes
    ----------
    data
        The rows, (their number, ...).
    batch_sizes
        How many rows belong to each step: integers on the CPU.
    sorted_indices
        For each sequence, the longest first, its place in the batch; None: they are in order.
    unsorted_indices
        For each place in the batch, which of the sequences it is.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, dtype: Any = None, device: Any = None) -> PackedSequence:
        """The rows on another device, or in another dtype; called as `Tensor.to`."""
        dtype, device = read_place(args, dtype, device)
        data = to_place(self.data, dtype, device)
        orders = [
            None if t is None else index_tensor(_host(t), data)
            for t in (self.sorted_indices, self.unsorted_indices)
        ]
        return PackedSequence(data, self.batch_sizes, orders[0], orders[1])


# ---- what is common -----------------------------------------------------------------------------
def _host(t: Any) -> Host:
    """Integers on the host: of a Tensor, an array or a list."""
    return on_host(t) if isinstance(t, Tensor) else np.asarray(t)


def _lengths(given: Any, batch: int, longest: int, where: str) -> Host:
    """The lengths of sequences, each at least 1.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError, ShapeError
        They are no integers; one is out of range; they are not so many.
    """
    lengths = _host(given)
    if lengths.dtype.kind not in "iu":
        raise InvalidTypeError(
            f"lengths of dtype {lengths.dtype}", f"{where}, argument lengths", "pass integers"
        )
    if lengths.shape != (batch,):
        raise ShapeError(
            f"lengths of shape {lengths.shape} for a batch of {batch}",
            f"{where}, argument lengths", "pass one length for each sequence",
        )  # fmt: skip
    if batch and not 1 <= lengths.min() <= lengths.max() <= longest:
        raise InvalidArgumentError(
            f"lengths {lengths.tolist()}", f"{where}, argument lengths",
            f"each must lie in [1, {longest}], the number of time steps",
        )  # fmt: skip
    return lengths.astype(np.int64)


def _order(lengths: Host, *, enforce_sorted: bool, where: str) -> Host | None:
    """The places of the sequences by falling length; None if they are to be in order.

    Raises
    ------
    InvalidArgumentError
        They are not.
    """
    if not enforce_sorted:
        return np.argsort(-lengths, kind="stable")
    if (lengths[1:] > lengths[:-1]).any():
        raise InvalidArgumentError(
            f"the lengths {lengths.tolist()} do not fall", f"{where}, argument enforce_sorted",
            "put the longest sequence first, or pass enforce_sorted=False",
        )  # fmt: skip
    return None


def _cells(lengths: Host, order: Host | None) -> tuple[Host, Host, Host]:
    """(step, sequence) of each packed row, and how many rows each step has."""
    if order is not None:
        lengths = lengths[order]
    there = np.arange(lengths.max(initial=0))[:, None] < lengths
    step, sequence = np.nonzero(there)
    return step, sequence if order is None else order[sequence], there.sum(axis=1)


def _lengths_of(packed: PackedSequence) -> tuple[Host, Host | None]:
    """The lengths of the sequences in their order before packing, and their order by length."""
    sizes = _host(packed.batch_sizes)
    lengths = (sizes[:, None] > np.arange(sizes.max(initial=0))).sum(axis=0).astype(np.int64)
    if packed.sorted_indices is None:
        return lengths, None
    order = _host(packed.sorted_indices)
    return lengths[np.argsort(order)], order


def _packed(rows: Tensor, places: Host, sizes: Host, order: Host | None) -> PackedSequence:
    """Rows at places, as a PackedSequence."""
    data = gather_rows.call(rows, index_tensor(places, rows))
    steps = tensor(sizes.astype(np.int64), device="cpu")
    if order is None:
        return PackedSequence(data, steps)
    back = index_tensor(np.argsort(order), rows)
    return PackedSequence(data, steps, index_tensor(order, rows), back)


def _rows(sequences: Any, where: str) -> tuple[Tensor, Host]:
    """All sequences one behind the other, and their lengths.

    Raises
    ------
    InvalidArgumentError, ShapeError
        There are none; their elements have several shapes.
    """
    found = [as_tensor(t, f"{where}, argument sequences") for t in sequences]
    if not found:
        raise InvalidArgumentError(
            "there are no sequences", f"{where}, argument sequences", "pass one tensor or more"
        )
    shapes = [t.shape for t in found]
    if len({s[1:] for s in shapes}) > 1 or not all(shapes):
        raise ShapeError(
            f"sequences of shapes {shapes}", where + describe(found),
            "they are (length, ...), and all axes but the first are equal",
        )  # fmt: skip
    return concat(found), np.asarray([s[0] for s in shapes])


# ---- padding ------------------------------------------------------------------------------------
def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences side by side in one tensor, the shorter ones filled up.

    Parameters
    ----------
    sequences
        Tensors of shapes (length, ...).
    batch_first
        Where the axis of the sequences lies.
    padding_value
        What to fill up with.
    padding_side
        "right": behind the shorter sequences; "left": before them.

    Returns
    -------
    Tensor
        (longest, sequences, ...), or with `batch_first` (sequences, longest, ...).

    Raises
    ------
    ShapeError, InvalidArgumentError
        The sequences' elements have several shapes; there are none; the side is no side.

    >>> import polygrad as pg
    >>> pad_sequence([pg.tensor([1, 2, 3]), pg.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]], dtype=int64)
    """
    if padding_side not in ("left", "right"):
        raise InvalidArgumentError(
            f"padding_side is {padding_side!r}", "pad_sequence, argument padding_side",
            "pass 'left' or 'right'",
        )  # fmt: skip
    rows, lengths = _rows(sequences, "pad_sequence")
    batch, longest = len(lengths), int(lengths.max())
    starts = longest - lengths if padding_side == "left" else np.zeros_like(lengths)
    sequence = np.repeat(np.arange(batch), lengths)
    step = np.concatenate([np.arange(n) + k for n, k in zip(lengths, starts, strict=True)])
    return _placed(rows, step, sequence, longest, batch, batch_first, padding_value)


def _placed(
    rows: Tensor, step: Host, sequence: Host, longest: int, batch: int, batch_first: bool,
    value: float,
) -> Tensor:  # fmt: skip
    """Rows as (step, sequence) of a padded tensor."""
    places = sequence * longest + step if batch_first else step * batch + sequence
    if not rows.kernels.inexact and value == int(value):
        value = int(value)
    out = scatter_rows.call(rows, index_tensor(places, rows), rows=longest * batch, value=value)
    shape = (batch, longest) if batch_first else (longest, batch)
    return reshape(out, (*shape, *rows.shape[1:]))


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, as views: the inverse of `pad_sequence`.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError, ShapeError
        The lengths are no integers, out of range, or not so many.

    >>> import polygrad as pg
    >>> unpad_sequence(pg.ones((3, 2)), [3, 1])
    [tensor([1., 1., 1.], dtype=float32), tensor([1.], dtype=float32)]
    """
    x, batch, longest = _padded(padded_sequences, batch_first, "unpad_sequence")
    found = _lengths(lengths, batch, longest, "unpad_sequence").tolist()
    return [x[i, :n] if batch_first else x[:n, i] for i, n in enumerate(found)]


def _padded(input: Any, batch_first: bool, where: str) -> tuple[Tensor, int, int]:
    """A padded tensor, how many sequences it has, and their greatest length.

    Raises
    ------
    ShapeError
        It has fewer than two axes.
    """
    x = as_tensor(input, f"{where}, argument input")
    if x.ndim < 2:
        raise ShapeError(
            f"an input of shape {x.shape}", where + describe([x]),
            "its axes are (time, batch, ...), or with batch_first (batch, time, ...)",
        )  # fmt: skip
    return x, x.shape[not batch_first], x.shape[batch_first]


# ---- packing ------------------------------------------------------------------------------------
def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The elements of padded sequences without the padding.

    Parameters
    ----------
    input
        (time, batch, ...), or with `batch_first` (batch, time, ...).
    lengths
        Of the sequences, each at least 1: a list, or integers on any device.
    batch_first
        Where the axis of the sequences lies.
    enforce_sorted
        Whether the lengths must fall. If not, the sequences are sorted, and layers bring their
        results back into the order given.

    Raises
    ------
    ShapeError, InvalidTypeError, InvalidArgumentError
        The input has no such axes; the lengths are not so many, no integers, out of range, or not
        sorted.

    >>> import polygrad as pg
    >>> pack_padded_sequence(pg.tensor([[1, 2, 3], [4, 0, 0]]), [3, 1], batch_first=True).data
    tensor([1, 4, 2, 3], dtype=int64)
    """
    where = "pack_padded_sequence"
    x, batch, longest = _padded(input, batch_first, where)
    found = _lengths(lengths, batch, longest, where)
    order = _order(found, enforce_sorted=enforce_sorted, where=where)
    step, sequence, sizes = _cells(found, order)
    places = sequence * longest + step if batch_first else step * batch + sequence
    return _packed(reshape(x, (batch * longest, *x.shape[2:])), places, sizes, order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Packed rows as a padded tensor, and the lengths: the inverse of `pack_padded_sequence`.

    Parameters
    ----------
    sequence
        A PackedSequence.
    batch_first, padding_value
        As of `pad_sequence`.
    total_length
        How many time steps the result has; as many as the longest sequence if not given.

    Returns
    -------
    tuple of Tensor
        The sequences in their order before packing; their lengths, integers on the CPU.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError
        `sequence` is no PackedSequence; the longest is longer than `total_length`.

    >>> import polygrad as pg
    >>> packed = pack_sequence([pg.tensor([1.0, 2.0]), pg.tensor([3.0])])
    >>> pad_packed_sequence(packed, batch_first=True)[0]
    tensor([[1., 2.],
            [3., 0.]], dtype=float32)
    """
    if not isinstance(sequence, PackedSequence):
        raise InvalidTypeError(
            f"a {type(sequence).__name__} is no PackedSequence", "pad_packed_sequence",
            "pass what pack_sequence or a recurrent layer returned",
        )  # fmt: skip
    sizes = _host(sequence.batch_sizes)
    longest = len(sizes) if total_length is None else total_length
    if longest < len(sizes):
        raise InvalidArgumentError(
            f"total_length is {total_length}, the longest sequence has {len(sizes)} elements",
            "pad_packed_sequence, argument total_length", "it must be that or more",
        )  # fmt: skip
    lengths, order = _lengths_of(sequence)
    step, place, _ = _cells(lengths, order)
    data = sequence.data
    out = _placed(data, step, place, longest, len(lengths), batch_first, padding_value)
    return out, tensor(lengths, device="cpu")


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of several lengths in packed rows.

    Parameters
    ----------
    sequences
        Tensors of shapes (length, ...), of one element or more.
    enforce_sorted
        As of `pack_padded_sequence`.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The sequences' elements have several shapes; there are none, or one is empty; they are not
        sorted.

    >>> import polygrad as pg
    >>> packed = pack_sequence([pg.tensor([1, 2, 3]), pg.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3], dtype=int64), tensor([2, 1, 1], dtype=int64))
    """
    rows, found = _rows(sequences, "pack_sequence")
    lengths = _lengths(found, len(found), int(found.max()), "pack_sequence")
    order = _order(lengths, enforce_sorted=enforce_sorted, where="pack_sequence")
    step, sequence, sizes = _cells(lengths, order)
    starts = np.cumsum(lengths) - lengths
    return _packed(rows, starts[sequence] + step, sizes, order)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of packed rows: the inverse of `pack_sequence`.

    >>> import polygrad as pg
    >>> unpack_sequence(pack_sequence([pg.tensor([1, 2]), pg.tensor([3])]))
    [tensor([1, 2], dtype=int64), tensor([3], dtype=int64)]
    """
    data, (lengths, order) = packed_sequences.data, _lengths_of(packed_sequences)
    step, sequence, _ = _cells(lengths, order)
    rows = gather_rows.call(data, index_tensor(np.lexsort((step, sequence)), data))
    return list(sections.call(rows, sizes=tuple(lengths.tolist())))
