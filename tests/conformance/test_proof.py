"""The suite proves itself: faults are found by the kind that names them, what is legal passes."""

from __future__ import annotations

import functools
import zlib

import pytest

from polygrad_conformance.checks import KINDS
from polygrad_conformance.faults.prove import false_alarms, needed, prove
from polygrad_conformance.faults.table import faults
from polygrad_conformance.faults.variants import VARIANTS

PARTS = 8
# Small operations of several families, on which it is shown what each kind of check alone finds.
FEW = ("exp", "add", "sum", "matmul", "sqrt", "linalg.det", "where", "argmax")


@functools.cache
def chosen(part):
    """The faults of a part of all operations, layers, optimizers and so on."""
    return [f for f in faults("full") if zlib.crc32(f.op.encode()) % PARTS == part]


@pytest.mark.parametrize("part", range(PARTS))
def test_every_planted_fault_is_found_by_the_kind_that_names_it(part):
    proof = prove(chosen(part), "full")
    assert len(proof.outcomes) > 500
    assert not [str(o.fault) for o in proof.of("missed")]
    assert not proof.toothless, "these checks cannot fail"


@pytest.mark.parametrize("name", VARIANTS)
def test_no_alarm_at_what_is_legal(name):
    assert not [f"{r.id}: {r.message}" for r in false_alarms(name, "smoke")]


@pytest.mark.parametrize("kind", KINDS)
def test_without_any_one_kind_a_fault_escapes(kind):
    few = [f for f in faults("full") if f.op in FEW]
    outcome = needed(kind, few, "full")
    assert outcome is not None, f"whatever {kind} finds, another kind finds too"
    assert outcome.status == "found"
