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
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.contenders import CONTENDERS

ROOT = Path(__file__).parent.parent
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")

Environment = Mapping[str, str]


class Child:
    """A running `benchmarks.child` for one contender."""

    def __init__(self, contender: str, environment: Environment, root: Path | None) -> None:
        inherited = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "PYTHONPATH")}
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "benchmarks.child"],
            env={**inherited, "PYTHONPATH": path, **CONTENDERS[contender].environment,
                 **environment},
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.ask("start", contender=contender, root=None if root is None else str(root))

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
    """Children by contender and what workloads want, started when first asked for."""

    def __init__(self, threads: int, roots: Mapping[str, Path] | None = None) -> None:
        self.threads, self.roots = threads, roots or {}
        self.running: dict[object, Child] = {}

    def start(self, contender: str, environment: Environment) -> Child:
        """A new child; the caller closes it."""
        threads = dict.fromkeys(THREADS, str(self.threads))
        return Child(contender, {**threads, **environment}, self.roots.get(contender))

    def get(self, contender: str, environment: Environment, apart: str) -> Child:
        """The child that runs in this environment, and under this name."""
        key = contender, apart, *sorted(environment.items())
        if key not in self.running:
            self.running[key] = self.start(contender, environment)
        return self.running[key]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        for child in self.running.values():
            child.close()
