"""`python -m benchmarks`: run the workloads, print the table, keep the samples."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import report
from benchmarks.children import Children
from benchmarks.contenders import CONTENDERS
from benchmarks.measure import measure
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                        help="workloads whose name starts with NAME (may be repeated)")
    parser.add_argument("--contender", metavar="NAME", action="append", default=[],
                        choices=list(CONTENDERS), help="of %(choices)s (may be repeated)")
    parser.add_argument("--rounds", type=int, default=25, help="turns of each (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="few and short turns: a smoke test")
    parser.add_argument("--device", default="cpu", help="for polygrad and PyTorch (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads for all (%(default)s)")
    parser.add_argument("--results", type=Path, default=report.RESULTS,
                        help="folder for samples and picture (%(default)s)")
    return parser.parse_args()  # fmt: skip


def chosen(names: list[str]) -> list[Workload]:
    """The workloads whose name starts with one of `names`; all, if there are none."""
    found = [w for w in WORKLOADS if not names or w.name.startswith(tuple(names))]
    if not found:
        sys.exit(f"no workload is called {', '.join(names)}: there are "
                 f"{', '.join(workload.name for workload in WORKLOADS)}")  # fmt: skip
    return found


def main() -> None:
    arguments = parse_arguments()
    device = arguments.device
    rounds, block_seconds = (5, 0.005) if arguments.quick else (arguments.rounds, 0.025)
    reasons = {name: c.reason_to_skip(device) for name, c in CONTENDERS.items()}
    able = [
        name
        for name, reason in reasons.items()
        if reason is None and (not arguments.contender or name in arguments.contender)
    ]

    workloads, results = chosen(arguments.only), {}
    with Children(arguments.threads) as children:
        for workload in workloads:
            print(f"{workload.name}: {workload.about}", file=sys.stderr, flush=True)
            results[workload.name] = measure(
                workload, children, able, device, rounds, block_seconds
            )

    about = report.circumstances(device, arguments.threads)
    print(f"\npolygrad {about['revision']} on {device}, Python {about['python']}, "
          f"{arguments.threads} threads.\nMedian of {rounds} rounds in turns (+- half the quartile "
          "range); ratio of the medians (quartiles of the ratios within a round)\n")  # fmt: skip
    rows = [report.row(workload, results[workload.name], device) for workload in workloads]
    print(report.table(rows, report.HEADER))
    for name, reason in reasons.items():
        if reason:
            print(f"{name}: {reason}")
    load, cores = about["machine"]["load"], about["machine"]["cores"]
    if load is not None and load > cores + 0.5:
        print(f"Others were running: the load is {load:.1f} on {cores} cores. Measure again alone.")
    print(f"\nSamples, versions and machine: {report.save(arguments.results, about, results)}")


if __name__ == "__main__":
    main()
