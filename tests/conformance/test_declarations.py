"""The declarations of the conformance suite: complete, and each id once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polygrad_conformance import audit, numpy_reference
from polygrad_conformance.case import SuiteError
from polygrad_conformance.checks import KINDS
from polygrad_conformance.collection import Selection, collect, digest, select
from polygrad_conformance.declarations import dtypes_of, load_data, subjects
from tests.test_standard import CONSTANT_FUNCTIONS, DIFFERENTIABLE, WITHOUT

ROOT = Path(__file__).resolve().parents[2]


def test_no_gap():
    """Samples in every dtype, every keyword away from its default, every operation in the tables.

    Where the table of dtypes lacks an operation: `python -m polygrad_conformance.result_dtypes`
    prints it anew, to be read and committed.
    """
    assert not audit.problems()
    assert not audit.unused_dtypes()


def test_a_gap_is_seen(monkeypatch):
    subject = subjects()["sum"]
    plain = type(subject).samples
    monkeypatch.setattr(type(subject), "samples", lambda self, dtype: plain(self, dtype)[:1])
    assert audit.unused_keywords(subject) == ["axis", "keepdims"]
    monkeypatch.setattr(audit, "missing", lambda: ["sum"])
    assert "sum: data/dtypes.toml has no entry" in audit.problems()


def test_every_function_of_the_standard_is_declared():
    functions = {*DIFFERENTIABLE, *CONSTANT_FUNCTIONS, *WITHOUT} - {"__array_namespace_info__"}
    assert functions <= set(subjects())
    ops = {case.op for case in collect("smoke")}
    assert functions <= ops


def test_every_kind_has_cases_at_its_level():
    assert {case.check for case in collect("full")} == set(KINDS)
    assert {case.check for case in collect("smoke")} == set(KINDS) - {"gradgrad"}


@pytest.mark.parametrize("level", ["smoke", "full"])
def test_the_documentation_says_how_many_cases_there_are(level):
    text = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    (said,) = re.findall(rf"^\| `{level}` \|.*?([\d,]+) cases", text, re.MULTILINE)
    assert int(said.replace(",", "")) == pytest.approx(len(collect(level)), rel=0.05)


def test_what_is_differentiable_has_gradients():
    graded = {case.op for case in collect("smoke") if case.check == "grad"}
    assert {name for name in DIFFERENTIABLE if name != "asarray"} <= graded


# References that run polygrad's own formulas, of functions of the standard.
THROUGH_POLYGRAD = {
    "linalg.cholesky", "linalg.det", "linalg.eig", "linalg.eigh", "linalg.eigvals",
    "linalg.eigvalsh", "linalg.inv", "linalg.matrix_norm", "linalg.matrix_power",
    "linalg.matrix_rank", "linalg.pinv", "linalg.qr", "linalg.slogdet", "linalg.solve",
    "linalg.svd", "linalg.svdvals",
}  # fmt: skip


def test_elementwise_references_do_not_run_polygrad():
    """But for linear algebra, whose residuals are checked, and what makes arrays."""
    own = {*DIFFERENTIABLE, *CONSTANT_FUNCTIONS, *WITHOUT} - set(numpy_reference.names())
    for name in own - THROUGH_POLYGRAD:
        subject = subjects().get(name)
        chapter = "none" if subject is None else subject.chapter
        assert chapter in ("none", "creation", "data_type", "manipulation") or "fft" in name, name


def test_budgets_are_of_elementwise_functions_with_points():
    for name in set(load_data("budgets")["ulp"]) - {"erf", "erfc"}:
        assert name in load_data("domains")["functions"], name


def test_a_level_has_its_dtypes():
    assert dtypes_of("bifc", "smoke") == ("int32", "float32")
    assert "float16" not in subjects()["linalg.inv"].dtypes("full")
    with pytest.raises(SuiteError, match="there is no level 'best'"):
        collect("best")


def test_selections():
    cases = collect("smoke")
    chosen = select(cases, Selection(words=("exp/float32",), checks=("value",)))
    assert [c.id for c in chosen] == [
        "exp/float32/value/0", "exp/float32/value/1", "exp/float32/value/2", "exp/float32/value/3",
        "exp/float32/value/points-64", "exp/float32/value/hard-0",
    ]  # fmt: skip
    parts = [select(cases, Selection(part=(i, 3))) for i in (1, 2, 3)]
    assert sorted(c.id for part in parts for c in part) == sorted(c.id for c in cases)
    assert not {c.op for c in parts[0]} & {c.op for c in parts[1]}
    without = select(cases, Selection(without=("grad",), dtypes=("int32",)))
    assert without
    assert {c.dtype for c in without} == {"int32"}
    assert str(Selection(("exp",), part=(1, 3))) == "-k exp --part 1/3"


def test_the_digest_is_of_ids():
    cases = collect("smoke")
    assert digest(cases) == digest(tuple(reversed(cases)))
    assert digest(cases) != digest(cases[1:])
