"""`python -m benchmarks.compare BASE`: this polygrad beside that of another revision.

Both run the workloads of this checkout, each in a process of its own, in turns. The revision is
checked out into a folder of its own, so that this checkout may have changes, or none.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import report, run
from benchmarks.children import ROOT, Player
from benchmarks.contenders import CONTENDERS, FAST
from benchmarks.measure import Samples
from benchmarks.workload import Workload


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """A folder with this revision, for as long as it is needed."""

    def git(*command: str) -> None:
        command = ("git", *command)
        if subprocess.run(command, cwd=ROOT, check=False).returncode:  # noqa: S603 -- as above
            sys.exit(f"benchmarks.compare: {' '.join(command)} failed: see above")

    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "base"
        git("worktree", "add", "--quiet", "--detach", str(folder), revision)
        try:
            yield folder
        finally:
            git("worktree", "remove", "--force", str(folder))


def verdict(low: float, high: float) -> str:
    """What all of the middle half of the ratios say; nothing if they do not agree."""
    if high < 1:
        return f"{1 - high:.0%} less"
    return f"{low - 1:.0%} more" if low > 1 else ""


def row(workload: Workload, samples: Samples) -> list[str]:
    """One line of the table."""
    ratios = [b / a for a, b in zip(samples["base"], samples["new"], strict=True) if a]
    low, _, high = report.quartiles(ratios) if ratios else (1.0, 1.0, 1.0)
    return [
        workload.name,
        report.measured_cell(workload, samples, "base"),
        report.measured_cell(workload, samples, "new"),
        report.ratio_cell(samples, "new", "base"),
        verdict(low, high),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("base", help="a revision of this repository")
    parser.add_argument("--new", help="another one, instead of this checkout as it is")
    parser.add_argument("--fast", action="store_true", help="both with the kernels of numba")
    run.add_options(parser)
    options = parser.parse_args()
    contender = FAST if options.fast else "polygrad"
    if reason := CONTENDERS[contender].reason_to_skip(options.device):
        sys.exit(f"benchmarks.compare: {contender}: {reason}")
    workloads = [w for w in run.chosen(options.only) if "polygrad" in w.setups]
    with checkout(options.base) as base, checkout(options.new or "HEAD") as new:
        players = {
            "base": Player(contender, base),
            "new": Player(contender, new if options.new else None),
        }
        about = report.circumstances(options)
        about |= {"base": options.base, "new": options.new or about["revision"]}
        keep = partial(report.save, options.results, about)
        results = run.measured(options, players, workloads, keep)
    run.introduce(options, about, f"{contender}: {about['base']} (base) and {about['new']} (new)")
    print(report.table(
        [row(workload, results[workload.name]) for workload in workloads],
        ["workload", "base", "new", "new / base", "at least"],
    ))  # fmt: skip
    run.warn_if_busy(about)
    print(f"\nSamples, versions and machine: {keep(results)}")


if __name__ == "__main__":
    main()
