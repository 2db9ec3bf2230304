"""Reports of a run: terminal, JSON, JUnit XML, HTML; compared, tabled, packed, verified, merged.

Everything starts from the records of `polygrad_conformance.record`. `Report.of(run)` groups them,
`show` prints them, `write` writes them in every format; the commands are in `commands`.
"""

from __future__ import annotations

from polygrad_conformance.report.groups import Group, Report
from polygrad_conformance.report.json_report import read_json, same_results, write_json
from polygrad_conformance.report.show import write_reports as write
from polygrad_conformance.report.terminal import render as show

__all__ = ["Group", "Report", "read_json", "same_results", "show", "write", "write_json"]
