"""`python -m citizens`: run the calls, and write docs/scipy_and_sklearn.md or compare."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from pathlib import Path

NONE = "(?!)"  # matches nothing


def main() -> int:
    """See --help."""
    parser = argparse.ArgumentParser(prog="python -m citizens", description=__doc__)
    parser.add_argument("--players", default="polygrad", help="polygrad,torch,jax")
    parser.add_argument("--libraries", default="scipy,sklearn")
    parser.add_argument("--only", default="", help="a regular expression of names; keeps nothing")
    parser.add_argument("--skip", default=NONE, help="a regular expression; keeps nothing")
    parser.add_argument("--device", default="cpu", help="polygrad's; keeps nothing if another")
    parser.add_argument("--check", action="store_true",
                        help="compare with results.json, keep nothing")  # fmt: skip
    parser.add_argument("--json", type=Path, help="write the statuses to this file")
    given = parser.parse_args()
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    warnings.simplefilter("ignore")

    import polygrad as pg

    pg.enable_scipy()
    from citizens.harness import Results, calls_of, faults, run, versions
    from citizens.players import player
    from citizens.report import write_page

    results, said, statuses = Results.read(), [], {}
    partial = bool(given.only) or given.skip != NONE or given.device != "cpu"
    for library in given.libraries.split(","):
        calls = [
            call for call in calls_of(library)
            if re.search(given.only, call.name) and not re.search(given.skip, call.name)
        ]  # fmt: skip
        for name in given.players.split(","):
            print(f"{library}, {name}")
            found = run(calls, player(name, given.device), lambda line: print("  " + line))
            statuses.setdefault(name, {}).update(found)
            if name == "polygrad" and given.device == "cpu":
                said += faults(found, results.statuses.get(library, {}))
            if not partial and not given.check:
                results.update(library, name, found, [call.name for call in calls])
    if given.json:
        given.json.write_text(json.dumps(statuses), encoding="utf-8")
    print("\n".join(said) or "nothing is worse than before")
    if given.check:
        return bool(said)
    if not partial:
        # Versions of players that did not run stay.
        ran = {"numpy", *given.libraries.split(","), *given.players.split(",")}
        there = {k: v for k, v in versions().items() if k in ran}
        results.made_with = {**results.made_with, **there}
        results.write()
        write_page(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
