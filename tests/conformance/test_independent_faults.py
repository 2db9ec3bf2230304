"""Each fault of the independent set is real: its demonstration shows it; and it is found."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad_conformance.cli import main
from polygrad_conformance.declarations import load_data
from polygrad_conformance.faults.device import FAULTY, install
from polygrad_conformance.faults.independent import (
    INDEPENDENT,
    IndependentFault,
    Place,
    counts,
    same,
)
from polygrad_conformance.faults.prove import replay

load_all()
LEGAL = load_data("independent")["legal"]


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


def test_the_table_says_of_each_what_finds_it_or_why_it_is_legal():
    found = load_data("independent")["found"]
    assert set(found) | set(LEGAL) == set(INDEPENDENT)
    assert not set(found) & set(LEGAL)
    assert all(len(reason.split()) > 5 for reason in LEGAL.values())
    assert len(found) >= 0.98 * len(INDEPENDENT)


@pytest.mark.parametrize("name", [name for name in INDEPENDENT if name not in LEGAL])
def test_the_suite_finds_it(name):
    """By the case that found it; that the case passes without the fault, other tests show."""
    result = replay(name)
    assert result is not None, "no longer found: see `polygrad-conformance prove --independent`"


@pytest.mark.parametrize("name", LEGAL)
def test_no_alarm_at_what_is_legal(name):
    assert replay(name) is None


def test_the_command_searches_anew(capsys):
    assert main(["prove", "--independent", "elementwise/round-half-away"]) == 0
    assert '"elementwise/round-half-away" = "round/' in capsys.readouterr().out
