"""From samples to the table, and to the JSON that keeps them."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.contenders import CONTENDERS
from benchmarks.goals import duration
from benchmarks.workloads import Workload

RESULTS = Path(__file__).parent / "results"
OURS, *OTHERS = CONTENDERS
HEADER = ["workload", *CONTENDERS, *(f"/ {name}" for name in OTHERS), "goal"]

# The seconds of each round, by contender.
Samples = Mapping[str, Sequence[float]]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The median between the two quartiles."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def time_cell(samples: Samples, name: str) -> str:
    """Median, and half the distance of the quartiles."""
    if name not in samples:
        return "-"
    low, middle, high = quartiles(samples[name])
    return f"{duration(middle)} +-{(high - low) / 2 / middle:.0%}"


def ratio_cell(samples: Samples, name: str) -> str:
    """Ratio of the medians, and the quartiles of the ratios within each round."""
    if name not in samples:
        return "-"
    low, _, high = quartiles([a / b for a, b in zip(samples[OURS], samples[name], strict=True)])
    ratio = statistics.median(samples[OURS]) / statistics.median(samples[name])
    return f"{ratio:.2f} ({low:.2f}-{high:.2f})"


def goal_cell(workload: Workload, samples: Samples, device: str) -> str:
    """Each goal, and whether it is met; goals are about NumPy, so none elsewhere."""
    if device != "cpu":
        return ""
    medians = {name: statistics.median(values) for name, values in samples.items()}
    verdicts = {True: "met", False: "MISSED", None: "not measured"}
    return "; ".join(f"{goal}: {verdicts[goal.is_met(medians)]}" for goal in workload.goals)


def row(workload: Workload, samples: Samples, device: str) -> list[str]:
    """One line of the table."""
    return [
        workload.name,
        *(time_cell(samples, name) for name in CONTENDERS),
        *(ratio_cell(samples, name) for name in OTHERS),
        goal_cell(workload, samples, device),
    ]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows in aligned columns under their header."""
    lines = [HEADER, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def processor() -> str:
    """The name of the CPU."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def revision() -> str | None:
    """The commit of this checkout, with `-dirty` where it has changes; None outside git."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        run = subprocess.run(  # noqa: S603 -- a fixed command
            command, cwd=RESULTS.parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()


def thread_pools() -> list[dict[str, object]] | None:
    """What threadpoolctl sees of BLAS and OpenMP, if it is installed."""
    try:
        import threadpoolctl
    except ImportError:
        return None
    kept = ("user_api", "internal_api", "version", "num_threads")
    return [{key: pool.get(key) for key in kept} for pool in threadpoolctl.threadpool_info()]


def circumstances(device: str, threads: int) -> dict[str, object]:
    """When, where and with what."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": revision(),
        "device": device,
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        },
        "python": platform.python_version(),
        "versions": {name: contender.version() for name, contender in CONTENDERS.items()},
        "threads": threads,
        "thread_pools": thread_pools(),
    }


def save(about: Mapping[str, object], results: Mapping[str, Samples]) -> Path:
    """Write everything to a file named after the date, and return its path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{str(about['date']).replace(':', '')}.json"
    workloads = {
        name: {
            contender: {"median": statistics.median(values), "seconds": list(values)}
            for contender, values in samples.items()
        }
        for name, samples in results.items()
    }
    content = json.dumps({**about, "workloads": workloads}, indent=1)
    path.write_text(content + "\n", encoding="utf-8")
    return path
