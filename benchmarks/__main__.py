"""`python -m benchmarks`: run the workloads, print the table, keep the samples."""

from __future__ import annotations

import argparse
import os
import sys


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                        help="workloads whose name starts with NAME (may be repeated)")
    parser.add_argument("--rounds", type=int, default=25, help="turns of each (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="few and short turns: a smoke test")
    parser.add_argument("--device", default="cpu", help="for polygrad and PyTorch (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads for all (%(default)s)")
    return parser.parse_args()  # fmt: skip


def limit_threads(count: int) -> None:
    """Give every BLAS and OpenMP in this process `count` threads; before NumPy is imported."""
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[variable] = str(count)


def measure(workload, device, rounds, block_seconds):
    """Return the seconds of each round by contender, leaving out those that cannot run."""
    from benchmarks.contenders import CONTENDERS
    from benchmarks.measure import interleave, self_timed, timed

    clock = self_timed if workload.self_timed else timed
    blocks = {
        name: clock(setup(device))
        for name, setup in workload.setups.items()
        if CONTENDERS[name].reason_to_skip(device) is None
    }
    samples = interleave(blocks, rounds, block_seconds)
    return {name: [s / workload.calls for s in values] for name, values in samples.items()}


def main() -> None:
    arguments = parse_arguments()
    limit_threads(arguments.threads)
    rounds, block_seconds = (5, 0.005) if arguments.quick else (arguments.rounds, 0.025)

    from benchmarks import report
    from benchmarks.contenders import CONTENDERS
    from benchmarks.workloads import WORKLOADS

    chosen = [
        workload
        for workload in WORKLOADS
        if not arguments.only or workload.name.startswith(tuple(arguments.only))
    ]
    if not chosen:
        sys.exit(f"no workload is called {', '.join(arguments.only)}: there are "
                 f"{', '.join(workload.name for workload in WORKLOADS)}")  # fmt: skip

    results = {}
    for workload in chosen:
        print(f"{workload.name}: {workload.about}", file=sys.stderr, flush=True)
        results[workload.name] = measure(workload, arguments.device, rounds, block_seconds)

    about = report.circumstances(arguments.device, arguments.threads)
    print(f"\npolygrad {about['revision']} on {arguments.device}, Python {about['python']}, "
          f"{arguments.threads} threads.\nMedian of {rounds} rounds in turns (+- half the quartile "
          "range); ratio of the medians (quartiles of the ratios within a round)\n")  # fmt: skip
    print(report.table([
        report.row(workload, results[workload.name], arguments.device) for workload in chosen
    ]))  # fmt: skip
    for name, contender in CONTENDERS.items():
        if reason := contender.reason_to_skip(arguments.device):
            print(f"{name}: {reason}")
    load, cores = about["machine"]["load"], about["machine"]["cores"]
    if load is not None and load > cores + 0.5:
        print(f"Others were running: the load is {load:.1f} on {cores} cores. Measure again alone.")
    print(f"\nSamples, versions and machine: {report.save(about, results)}")


if __name__ == "__main__":
    main()
