"""Many cotangents in one backward: rules run on `Rows`, which stand for so many tensors at once.

A rule is a formula in operators and functions of `F`, each of which is a primitive. So it suffices
to know of each primitive where one more axis goes: `Rows` are that many tensors of one shape, kept
as one Tensor with the row number as first axis, and they look like one of them. `F` is then
`BatchedOperations`, whose functions move axes, shapes and keys out of the way of the first axis.

What a primitive needs is its entry in `BATCHED`: elementwise ones need none. A primitive without an
entry, or one whose entry returns None because the case is a rare one, is called row by row; so is
every `Function`. Thus all that can be differentiated can be differentiated so, and the rest is
speed.
"""

from __future__ import annotations

from polygrad.batching.operations import BatchedSweep
from polygrad.batching.rows import Rows, rows_of, unrolled
from polygrad.batching.rules import BATCHED

__all__ = ["BATCHED", "BatchedSweep", "Rows", "rows_of", "unrolled"]
