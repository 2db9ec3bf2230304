"""How well scores put items in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.metrics.metric import Metric, State
from polygrad.metrics.predictions import check_range, counted, scores_of, whole

__all__ = ["AUROC"]

Chunk = tuple[Any, Any, Any]


def _merged(chunks: list[Chunk]) -> Chunk:
    """Different scores in order, and how many items of class 0 and of class 1 have each."""
    scores, no, yes = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    found, place = np.unique(scores, return_inverse=True)
    counts = np.zeros((2, found.size), np.int64)
    np.add.at(counts[0], place, no)
    np.add.at(counts[1], place, yes)
    return found, counts[0], counts[1]


class AUROC(Metric):
    """The area under the receiver operating characteristic of two classes.

    It is the share of pairs, one item of class 1 and one of class 0, of which the first has the
    higher score; equal scores count one half. `update(input, target)` takes one score for each
    target, which is 0 or 1. Every different score is kept, with its counts: the value is exact.
    `compute()` is NaN as long as one of the classes is missing. Of several classes, take one metric
    for each: `metric.update(scores[:, k], target == k)`.

    Parameters
    ----------
    ignore_index
        Targets of this value do not count.

    Notes
    -----
    `update` raises ShapeError, DtypeError or InvalidArgumentError if shapes differ, a target is not
    0 or 1, or a score is NaN.

    >>> area = AUROC()
    >>> area.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> area.compute()
    0.75
    """

    def __init__(self, *, ignore_index: int | None = None) -> None:
        self.ignore_index = ignore_index
        super().__init__()

    def empty(self) -> State:
        """No scores."""
        return {"chunks": []}

    def measure(self, input: Any, target: Any) -> State:
        """The scores of one batch."""
        scores = scores_of(input, "AUROC.update, argument input")
        true = whole(target, "AUROC.update, argument target")
        if scores.shape != true.shape:
            raise ShapeError(
                f"scores of shape {scores.shape}, targets of shape {true.shape}", "AUROC.update",
                "pass one score for each target: of two classes, that of class 1",
            )  # fmt: skip
        counts = counted(true, self.ignore_index)
        scores, true = scores[counts], true[counts]
        check_range(true, 2, "AUROC.update, argument target")
        return {"chunks": [_merged([(scores, 1 - true, true)])] if true.size else []}

    def add(self, a: State, b: State) -> State:
        """The scores of both, in chunks of falling size: each is merged a few times only."""
        chunks = [*a["chunks"], *b["chunks"]]
        while len(chunks) > 1 and chunks[-2][0].size <= 2 * chunks[-1][0].size:
            chunks[-2:] = [_merged(chunks[-2:])]
        return {"chunks": chunks}

    def load_state_dict(self, state_dict: Any) -> None:
        """Go on from what `state_dict` returned.

        Raises
        ------
        InvalidTypeError, InvalidArgumentError
            It is none, or that of another metric.
        """
        before = self.state
        super().load_state_dict(state_dict)
        try:
            self.state = {"chunks": [tuple(map(np.asarray, c)) for c in self.state["chunks"]]}
            self.compute()
        except (TypeError, ValueError) as error:
            self.state = before
            raise InvalidArgumentError(
                f"these are no scores with their counts: {error}", "load_state_dict of AUROC",
                "pass what state_dict() returned",
            ) from error  # fmt: skip

    def compute(self) -> float:
        """The area, from 0 to 1."""
        if not self.state["chunks"]:
            return float("nan")
        _, no, yes = _merged(self.state["chunks"])
        pairs = int(no.sum()) * int(yes.sum())
        below = np.cumsum(no) - no
        wins = sum(int(n) for n in yes * (2 * below + no))  # twice, so that a half is an integer
        return wins / (2 * pairs) if pairs else float("nan")
