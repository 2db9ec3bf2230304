"""Compare the estimators of the benchmarks with the same by hand; print the names of those done."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

import polygrad as pg
from benchmarks.handwritten import estimators as by_hand
from benchmarks.problems import CLOUDS, DIGITS, Table
from benchmarks.taped import estimators as taped
from polygrad.testing import assert_close


@dataclass(frozen=True)
class Wide(Table):
    """The samples in double precision, where singular vectors differ by a rounding only.

    In single precision they are LAPACK's on one side, and NumPy's, of double precision, on the
    other: as far apart as neighbouring singular values make them.
    """

    def data(self) -> np.ndarray:
        """(samples, features), float64."""
        return super().data().astype(np.float64)


ROWS = {
    "components": (taped.components, by_hand.components, Wide(**asdict(DIGITS))),
    "variance": (taped.variance, by_hand.variance, DIGITS),
    "mixture": (partial(taped.mixture, gradient=False), by_hand.mixture, CLOUDS),
    "score": (taped.score, by_hand.score, CLOUDS),
}

if __name__ == "__main__":  # and not where doctests import it: SciPy is told to take Tensors
    for name, (ours, theirs, problem) in ROWS.items():
        got, want = ours(pg, "cpu", problem)(), theirs(problem)()
        # Values, or values and gradients.
        pairs = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
        for a, b in pairs:
            assert_close(a.detach(), np.asarray(b, a.dtype), what=name)
        print(name)
