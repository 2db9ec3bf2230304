"""What a run of the table is: its options, its measurements, and what is printed about both."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import report
from benchmarks.children import Children, Player
from benchmarks.measure import Samples, measure
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that all runs have."""
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                        help="workloads whose name starts with NAME (may be repeated)")
    parser.add_argument("--rounds", type=int, default=25, help="turns of each (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="few and short turns: a smoke test")
    parser.add_argument("--device", default="cpu", help="for polygrad and PyTorch (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads for all (%(default)s)")
    parser.add_argument("--cpu-time", action="store_true",
                        help="seconds of the processor, all threads together: on a machine where "
                             "others are running, with --threads 1")
    parser.add_argument("--results", type=Path, default=report.RESULTS,
                        help="folder for samples and picture (%(default)s)")  # fmt: skip


def chosen(names: list[str], device: str = "cpu") -> list[Workload]:
    """The workloads for a device whose name starts with one of `names`; all, if there are none."""
    kind = device.partition(":")[0]
    found = [
        w for w in WORKLOADS
        if (w.kinds is None or kind in w.kinds) and (not names or w.name.startswith(tuple(names)))
    ]  # fmt: skip
    if not found:
        sys.exit(f"no workload is called {', '.join(names)}: there are "
                 f"{', '.join(workload.name for workload in WORKLOADS)}")  # fmt: skip
    return found


def measured(
    options: argparse.Namespace, players: Mapping[str, Player], workloads: list[Workload],
    keep: Callable[[Mapping[str, Samples]], object],
) -> dict[str, Samples]:  # fmt: skip
    """What was measured, by workload; it is given to `keep` after each, lest it be lost."""
    rounds, block_seconds = (5, 0.005) if options.quick else (options.rounds, 0.025)
    results = {}
    clock = "process_time" if options.cpu_time else "perf_counter"
    with Children(players, options.threads, clock) as children:
        for workload in workloads:
            if not children.able(workload):
                continue
            print(f"{workload.name}: {workload.about}", file=sys.stderr, flush=True)
            results[workload.name] = measure(
                workload, children, options.device, rounds, block_seconds
            )
            keep(results)
    return results


def introduce(options: argparse.Namespace, about: Mapping[str, object], what: str) -> None:
    """Say what the table below shows."""
    print(f"\n{what} on {options.device}, Python {about['python']}, {options.threads} threads"
          f"{', seconds of the processor' if options.cpu_time else ''}.\n"
          "Median of rounds in turns (+- half the quartile range); ratio of the medians (quartiles "
          "of the ratios within a round)\n")  # fmt: skip


def warn_if_busy(about: Mapping[str, object]) -> None:
    """Say so if others were running."""
    load, cores = report.load(), about["machine"]["cores"]
    if load is not None and load > cores + 0.5:
        print(f"Others were running: the load is {load:.1f} on {cores} cores. Measure again alone.")
