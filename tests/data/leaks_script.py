"""Run a loader in a process of its own, and say what is left: see test_leaks.py.

usage: python leaks_script.py METHOD HOW ITEMS WORKERS
with HOW one of normal, error, abandoned, exit, run
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from polygrad.data import DataLoader
from tests.data.datasets import Wide

WIDTH, BATCH = 500, 50


def descendants(pid, depth=0):
    """The children, and theirs, that are no helper processes of `multiprocessing`."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            command = Path(f"/proc/{child}/cmdline").read_bytes()
            helper = b"resource_tracker" in command or (b"forkserver" in command and not depth)
            found += [*([] if helper else [child]), *descendants(child, depth + 1)]
    return found


def segments():
    """The names of shared memory of these workers."""
    return {path.name for path in Path("/dev/shm").glob("pg*")}  # noqa: S108  where Linux has it


def main(method, how, items, workers):
    before = segments()
    stop, at = {"error": ("error", 1000), "run": ("sleep", 600)}.get(how, ("", -1))
    dataset = Wide(int(items), WIDTH, stop, at)
    loader = DataLoader(dataset, BATCH, num_workers=int(workers), multiprocessing_context=method)
    seen = most = 0
    try:
        batches = iter(loader)
        for batch in batches:
            assert batch.shape == (BATCH, WIDTH)
            assert batch[:, 0].tolist() == list(range(seen, seen + BATCH))
            seen += BATCH
            if seen == 500:
                most = len(descendants(os.getpid()))
                os.write(1, b"under way\n")
            if how in ("abandoned", "exit") and seen == 1000:
                break
    except ValueError:
        if how != "error":
            raise
    if how == "exit":
        print(f"seen {seen} most {most}", flush=True)
        return  # with the iterator alive
    del batches
    print(f"seen {seen} most {most} children {len(descendants(os.getpid()))}", end=" ")
    print(f"segments {len(segments() - before)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
