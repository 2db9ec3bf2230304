"""The processes that contenders run in, one for each, and the requests to them.

In processes of their own, no contender inherits another's threads, allocator settings or imports;
and two revisions of polygrad can take turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.contenders import CONTENDERS
from benchmarks.workload import Workload

ROOT = Path(__file__).parent.parent
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Player:
    """A contender, and where to import polygrad from if not from here."""

    contender: str
    root: Path | None = None


class Child:
    """A running `benchmarks.child` for one player."""

    def __init__(self, player: Player, threads: int, clock: str) -> None:
        # Flags that tests give to XLA make it compile fast, and badly.
        inherited = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        contender = CONTENDERS[player.contender]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "benchmarks.child"],
            env={**inherited, **dict.fromkeys(THREADS, str(threads)), **contender.environment,
                 "PYTHONPATH": path},
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        root = None if player.root is None else str(player.root)
        self.ask("start", contender=player.contender, root=root, threads=threads, clock=clock)

    def ask(self, what: str, **arguments: Any) -> Any:
        """Have the child do `what`, and return its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"do": what, **arguments}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"benchmarks: {what} {arguments} failed; its traceback is above")
        return json.loads(line)

    def close(self) -> None:
        """Let it end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Children:
    """Children by player and what workloads want, started when first asked for."""

    def __init__(
        self, players: Mapping[str, Player], threads: int, clock: str = "perf_counter"
    ) -> None:
        """With a clock of the module `time`."""
        self.players, self.threads, self.clock = players, threads, clock
        self.running: dict[object, Child] = {}

    def start(self, name: str, workload: Workload) -> Child:
        """A new child; the caller closes it."""
        return Child(self.players[name], workload.threads or self.threads, self.clock)

    def get(self, name: str, workload: Workload) -> Child:
        """The child that runs this workload, and those that want the same."""
        key = name, workload.threads, workload.apart
        if key not in self.running:
            self.running[key] = self.start(name, workload)
        return self.running[key]

    def able(self, workload: Workload) -> list[str]:
        """The names of those who have this workload."""
        return [
            name
            for name, player in self.players.items()
            if CONTENDERS[player.contender].text in workload.setups
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        for child in self.running.values():
            child.close()
