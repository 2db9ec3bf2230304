"""A process that runs workloads for one contender: `python -m benchmarks.child`.

It reads a request from each line of its input, as JSON, and answers in a line of its output. What
libraries print goes to the standard error. A request that fails ends it, with its traceback there.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time

from benchmarks import memory
from benchmarks.contenders import CONTENDERS

STEPS_TO_SETTLE = 5  # until caches are warm and memory is what it stays


class Child:
    """What the requests are about: the step of the workload that was prepared last."""

    def __init__(self) -> None:
        self.step = None

    def start(self, contender, root, threads, clock):
        """Import the library of a contender, polygrad from the folder `root` if there is one.

        It sees as many cores as it may use threads: not every library can be told a number.
        """
        self.clock = getattr(time, clock)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        if root is not None:
            sys.path.insert(0, root)
            importlib.import_module("polygrad")
            sys.path.remove(root)
        self.contender = CONTENDERS[contender]
        self.contender.prepare(threads)

    def workload(self, name):
        from benchmarks.workloads import WORKLOADS

        return next(workload for workload in WORKLOADS if workload.name == name)

    def prepare(self, workload, device):
        """Set a workload up. What was imported is exempt from garbage collection.

        A peer's million objects are not there for a training step to walk through again and again.
        """
        self.step = None
        gc.unfreeze()
        gc.collect()
        row = self.workload(workload)
        self.step = row.setups[self.contender.text](device)
        gc.collect()
        gc.freeze()

    def time(self, count):
        """The seconds of `count` steps."""
        step, clock = self.step, self.clock
        start = clock()
        for _ in range(count):
            step()
        return clock() - start

    def reported(self, count):
        """The sum of the seconds that `count` steps say they took."""
        return sum(self.step() for _ in range(count))

    def faults(self, count):
        """The bytes that the system had to map into this process in `count` steps.

        Each is a page that was not there: memory that was allocated anew.
        """
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(count):
            self.step()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        return (after - before) * resource.getpagesize()

    def peak(self, workload, device):
        """The most bytes that are allocated at once, from the setup on, while a step runs."""
        row, text = self.workload(workload), self.contender.text
        counter = memory.torch_peak if text == "PyTorch" else memory.traced_peak
        return counter(lambda: row.setups[text](device), STEPS_TO_SETTLE)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    child = Child()
    for line in sys.stdin:
        request = json.loads(line)
        value = getattr(child, request.pop("do"))(**request)
        print(json.dumps(value), file=answers, flush=True)


if __name__ == "__main__":
    main()
