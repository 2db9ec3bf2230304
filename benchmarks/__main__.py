"""`python -m benchmarks`: run the workloads, print the table, draw it, keep the samples."""

from __future__ import annotations

import argparse
from functools import partial

from benchmarks import picture, report, run
from benchmarks.children import Player
from benchmarks.contenders import CONTENDERS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--contender", metavar="NAME", action="append", default=[],
                        choices=list(CONTENDERS), help="of %(choices)s (may be repeated)")
    run.add_options(parser)
    options = parser.parse_args()
    reasons = {name: c.reason_to_skip(options.device) for name, c in CONTENDERS.items()}
    players = {
        name: Player(name)
        for name, reason in reasons.items()
        if reason is None and (not options.contender or name in options.contender)
    }
    workloads = run.chosen(options.only, options.device)
    about = report.circumstances(options)
    keep = partial(report.save, options.results, about)
    results = run.measured(options, players, workloads, keep)
    run.introduce(options, about, f"polygrad {about['revision']}")
    rows = [
        report.row(workload, results[workload.name], options.device)
        for workload in workloads
        if workload.name in results
    ]
    print(report.table(rows, report.HEADER))
    for name, reason in reasons.items():
        if reason:
            print(f"{name}: {reason}")
    run.warn_if_busy(about)
    path = keep(results)
    print(f"\nSamples, versions and machine: {path}")
    drawn = picture.draw(path.with_suffix(".svg"), workloads, results)
    print(f"Picture: {drawn}" if drawn else "No picture: pip install matplotlib")


if __name__ == "__main__":
    main()
