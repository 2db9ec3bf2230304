"""`polygrad-conformance prove`: plant faults and legal variants, and look what the suite finds."""

from __future__ import annotations

import argparse
import fnmatch
import time
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    made = commands.add_parser(
        "prove", help="plant faults, which must be found, and legal variants, which must not"
    )
    made.add_argument("faults", nargs="*", metavar="FAULT",
                      help="globs of OPERATION/KIND/CLASS, as the list shows them")  # fmt: skip
    made.add_argument("--level", default="full", help="smoke, full (default) or exhaustive")
    made.add_argument("--list", action="store_true", help="only show the faults")
    made.add_argument("--no-variants", action="store_true", help="leave the legal variants out")
    made.add_argument(
        "--independent", action="store_true",
        help="search the faults that somebody wrote without reading the checks",
    )  # fmt: skip
    made.set_defaults(do=_prove)


def _independent(args: argparse.Namespace) -> int:
    """Print what finds each fault, as `data/independent.toml` has it."""
    from polygrad_conformance.declarations import load_data
    from polygrad_conformance.faults.prove import independent

    def told(name: str, result: Any, where: str) -> None:
        print(f'# "{name}": not found, in {where}' if result is None else
              f'"{name}" = "{result.id}"', flush=True)  # fmt: skip

    found = independent(args.faults, told, thorough=True)
    missed = [n for n, (r, _) in found.items() if r is None]
    legal = set(load_data("independent")["legal"])
    print(f"# {len(found) - len(missed)} of {len(found)} found; legal: {len(legal & set(missed))}")
    return int(bool(set(missed) - legal))


def _prove(args: argparse.Namespace) -> int:
    if args.independent:
        return _independent(args)
    from polygrad_conformance.faults.prove import Outcome, false_alarms, prove
    from polygrad_conformance.faults.table import faults
    from polygrad_conformance.faults.variants import VARIANTS

    chosen = [
        fault for fault in faults(args.level)
        if not args.faults or any(fnmatch.fnmatch(str(fault), glob) for glob in args.faults)
    ]  # fmt: skip
    if args.list:
        print("\n".join(map(str, chosen)))
        return 0

    def told(outcome: Outcome) -> None:
        if outcome.status == "missed":
            print(f"MISSED  {outcome.fault}", flush=True)

    proof = prove(chosen, args.level, told)
    print(proof)
    for op, kind in proof.toothless:
        print(f"CANNOT FAIL  {op}/{kind}")
    alarms = 0
    for name in () if args.no_variants or args.faults else VARIANTS:
        begin = time.perf_counter()
        found = false_alarms(name, "smoke")
        alarms += len(found)
        seconds = time.perf_counter() - begin
        print(f"{'legal: ' + name:42}{len(found)} alarms {seconds:8.1f} s", flush=True)
        for result in found[:5]:
            print(f"FALSE ALARM  {result.id}  {result.message}")
    return int(bool(proof.of("missed") or proof.toothless or alarms))
