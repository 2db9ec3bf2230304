"""`python -m pytorch_parity [subject ...]`: compare with PyTorch, and print the counts."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import warnings
from pathlib import Path

from pytorch_parity.report import Report

SUBJECTS = sorted(
    path.stem for path in Path(__file__).parent.glob("[!_]*.py") if path.stem != "report"
)


def main() -> int:
    """See --help."""
    parser = argparse.ArgumentParser(prog="python -m pytorch_parity", description=__doc__)
    parser.add_argument("subjects", nargs="*", help=", ".join(SUBJECTS) + "; all if none")
    parser.add_argument("--only", default="", help="a regular expression of names")
    given = parser.parse_args()
    unknown = set(given.subjects) - set(SUBJECTS)
    if unknown:
        parser.error(f"no subject {', '.join(sorted(unknown))}; choose from {', '.join(SUBJECTS)}")
    warnings.simplefilter("ignore")
    failed = 0
    for name in given.subjects or SUBJECTS:
        print(f"== {name}", flush=True)
        report = Report()
        # A subject is a module with `run(report, wanted)`; `wanted(name)` says what to compare.
        importlib.import_module(f"pytorch_parity.{name}").run(report, re.compile(given.only).search)
        print(report.table(), flush=True)
        failed += len(report.failures)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
