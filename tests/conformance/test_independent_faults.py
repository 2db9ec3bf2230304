"""Each fault of the independent set is real: its demonstration shows it."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad_conformance.faults.device import FAULTY, install
from polygrad_conformance.faults.independent import (
    INDEPENDENT,
    IndependentFault,
    Place,
    counts,
    same,
)

load_all()


@pytest.fixture(autouse=True)
def _device():
    install()


def _shown(fault: IndependentFault, device: str):
    with np.errstate(all="ignore"):
        return fault.shown(Place(device))


def _interrupt(fault: IndependentFault):
    before = OPERATIONS["var"]
    with fault.planted():
        assert OPERATIONS["var"] is not before
        raise RuntimeError("interrupted")


@pytest.mark.parametrize("name", INDEPENDENT)
def test_the_demonstration_shows_the_fault_and_nothing_without_it(name):
    fault = INDEPENDENT[name]
    right = _shown(fault, "cpu")
    assert same(_shown(fault, FAULTY.name), right), "wrong without the fault"
    with fault.planted():
        assert not same(_shown(fault, FAULTY.name), right), "the fault does not show"
        assert same(_shown(fault, "cpu"), right), "the reference is touched"
    assert same(_shown(fault, FAULTY.name), right), "the fault stays"


def test_there_are_at_least_a_hundred_in_all_chapters_each_named_once():
    assert len(INDEPENDENT) >= 100
    sentences = [(fault.touches, fault.name) for fault in INDEPENDENT.values()]
    assert len(set(sentences)) == len(sentences)
    assert {
        "elementwise", "statistical", "searching", "sorting", "sets", "manipulation", "indexing",
        "linear algebra", "fft", "special", "losses", "layers", "optimizers", "random", "transfer",
        "gradients",
    } <= set(counts())  # fmt: skip


def test_a_fault_that_raises_leaves_nothing_behind():
    fault = INDEPENDENT["statistical/var-by-two-moments"]
    before = OPERATIONS["var"]
    with pytest.raises(RuntimeError, match="interrupted"):
        _interrupt(fault)
    assert OPERATIONS["var"] is before
