"""docs/hardware.md is what the committed reports say, and they are small."""

from __future__ import annotations

from pathlib import Path

from polygrad_conformance.report import read_json
from tests.conformance.test_report_compared import called

DOCS = Path(__file__).resolve().parents[2] / "docs"
REPORTS = DOCS / "hardware" / "reports"
# In bytes, of 120,000 checks; where a device lacks dtypes, a third of it names what is unsupported.
LARGEST = 500_000
ARGUMENTS = ("--title", "What conforms where", "--intro", DOCS / "hardware" / "intro.md")


def test_the_page_of_the_hardware_is_up_to_date():
    status, said = called("matrix", REPORTS, *ARGUMENTS, "--out", DOCS / "hardware.md", "--check")
    assert status == 0, f"{said}; make hardware"


def test_the_committed_reports_are_small_and_whole():
    for path in sorted(REPORTS.glob("*.json")):
        report = read_json(path)
        assert report.compact, path.name
        assert path.stat().st_size < LARGEST, path.name
        assert not report.run.selection, path.name


def test_a_page_that_is_out_of_date_is_found(tmp_path):
    page = tmp_path / "hardware.md"
    page.write_text("# What conforms where\n\nby hand\n", encoding="utf-8")
    assert called("matrix", REPORTS, *ARGUMENTS, "--out", page, "--check")[0] == 1
