"""A child process that runs cases: what crashes or hangs there costs one case, not the run.

It reads lines of JSON from its standard input: `{"backend": ...}` once, then `{"cases": ...}` for
each batch until its input ends. It writes lines of JSON to its standard output: `{"about": ...}`
once, then `{"begin": place}` and `{"result": ...}` for each case, `{"end": true}` after each batch.
Whatever the device's library prints goes to standard error.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from dataclasses import asdict
from typing import Any

from polygrad.errors import PolygradError
from polygrad_conformance import backends, collection
from polygrad_conformance.case import SuiteError
from polygrad_conformance.execution import execute
from polygrad_conformance.target import Target

__all__ = ["main"]


def main() -> None:
    """Run what the line on standard input says."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if hasattr(faulthandler, "register"):  # not on Windows. Whoever ends it asks where it hangs
        faulthandler.register(signal.SIGUSR1, all_threads=False)

    def say(**message: Any) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    order = json.loads(sys.stdin.readline())
    sys.path[:0] = order["path"]
    try:
        with backends.plugin_errors():
            device = backends.device_of(order["backend"], order["device"])
            target = Target(device, order["level"], order["stride"])
            about = backends.describe(target.backend, target.device)
    except PolygradError as error:
        say(problem=str(error))
        return
    say(about=about, gaps=[asdict(gap) for gap in target.backend.known_gaps],
        on_host=target.on_host)  # fmt: skip
    try:
        for line in sys.stdin:
            batch = json.loads(line)
            ops = frozenset(name.partition("/")[0] for name in batch["cases"])
            every = {case.id: case for case in collection.collect(order["level"], ops)}
            cases = [every[name] for name in batch["cases"]]
            for place, result in execute(cases, target, batch["statuses"]):
                if result is None:
                    say(begin=place)
                else:
                    say(result=result.to_dict())
            say(end=True)
    except SuiteError as error:
        say(suite=str(error))


if __name__ == "__main__":
    main()
