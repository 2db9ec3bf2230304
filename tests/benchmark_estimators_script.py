"""Compare the estimators of the benchmarks with the same by hand; print the names of those done."""

from __future__ import annotations

from functools import partial

import numpy as np

import polygrad as pg
from benchmarks.handwritten import estimators as by_hand
from benchmarks.problems import CLOUDS, DIGITS
from benchmarks.taped import estimators as taped
from polygrad.testing import assert_close

ROWS = {
    "components": (taped.components, by_hand.components, DIGITS),
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
            assert_close(a.detach(), np.asarray(b, np.float32), what=name)
        print(name)
