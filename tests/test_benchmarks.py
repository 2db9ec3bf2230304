"""The hand-written sides of the benchmarks compute what polygrad computes."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from benchmarks import handwritten, problems, taped
from benchmarks.problems import MLP, TINY
from polygrad.testing import assert_close


@pytest.mark.parametrize("problem", [TINY, MLP], ids=["tiny", "mlp"])
def test_handwritten_gradients_of_a_classifier(problem):
    x, labels = problem.data()
    model = taped.classifier_model(pg, "cpu", problem)
    loss = pg.nn.functional.cross_entropy(model(pg.tensor(x)), pg.tensor(labels))
    loss.backward()
    want_loss, want = handwritten.classifier_gradients(
        problem.parameters(), x, labels, problem.activation
    )
    assert_close(loss, np.float32(want_loss), what="loss")
    for p, g in zip(model.parameters(), want, strict=True):
        assert_close(p.grad, g, what="gradient")


def test_handwritten_gradients_of_the_chain():
    start, k = problems.chain_start(), problems.chain_factor()
    z, factor = (pg.tensor(a, requires_grad=True) for a in (start, k))
    y = z
    for _ in range(50):
        y = y * factor + factor
    pg.sum(y).backward()
    _, dz, dk = handwritten.chain_gradients_in_both(start, k, 50)
    assert_close(z.grad, dz)
    assert_close(factor.grad, dk)


@pytest.mark.parametrize("problem", [TINY, MLP], ids=["tiny", "mlp"])
def test_handwritten_training_follows_polygrad(problem):
    ours, theirs = taped.classifier(pg, "cpu", problem), handwritten.classifier(problem)
    for _ in range(10):
        assert_close(np.float32(ours()), np.float32(theirs()))
