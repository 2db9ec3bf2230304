"""From samples to the table, and to the JSON that keeps them."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.contenders import CONTENDERS, FAST
from benchmarks.goals import duration
from benchmarks.measure import Samples
from benchmarks.workload import Workload

RESULTS = Path(__file__).parent / "results"

# Columns: what was measured of these, then ratios of the first to the second.
MEASURED = ("polygrad", FAST, "PyTorch", "NumPy", "dpnp")
RATIOS = (
    ("polygrad", "PyTorch"), ("polygrad", "NumPy"), ("polygrad", "dpnp"), (FAST, "PyTorch"),
    (FAST, "NumPy"),
    *(("polygrad", name) for name in CONTENDERS if name not in MEASURED),
)  # fmt: skip
OURS = {"polygrad": "", FAST: "fast "}
HEADER = [
    "workload", *MEASURED, *(f"{OURS[ours]}/ {other}" for ours, other in RATIOS), "goals",
]  # fmt: skip


def size(count: float) -> str:
    """Three digits and a unit: `1.25 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


FORMATS = {"time": duration, "reported": duration, "peak": size, "fresh": "{:.1%}".format}


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The median between the two quartiles."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def measured_cell(workload: Workload, samples: Samples, name: str) -> str:
    """Median, and half the distance of the quartiles if there were several rounds."""
    if name not in samples:
        return ""
    low, middle, high = quartiles(samples[name])
    spread = f" +-{(high - low) / 2 / middle:.0%}" if len(samples[name]) > 1 else ""
    return FORMATS[workload.measure](middle) + spread


def ratio_cell(samples: Samples, ours: str, other: str) -> str:
    """Ratio of the medians, and the quartiles of the ratios within each round."""
    if ours not in samples or other not in samples or not all(samples[other]):
        return ""
    low, _, high = quartiles([a / b for a, b in zip(samples[ours], samples[other], strict=True)])
    ratio = statistics.median(samples[ours]) / statistics.median(samples[other])
    return f"{ratio:.2f}" + (f" ({low:.2f}-{high:.2f})" if len(samples[ours]) > 1 else "")


def goal_cell(workload: Workload, samples: Samples, device: str) -> str:
    """Each goal, and whether it is met, on the kind of device that it is about."""
    if device.partition(":")[0] != workload.goals_on:
        return ""
    medians = {name: statistics.median(values) for name, values in samples.items()}
    verdicts = {True: "met", False: "MISSED", None: "not measured"}
    return "; ".join(f"{goal}: {verdicts[goal.is_met(medians)]}" for goal in workload.goals)


def row(workload: Workload, samples: Samples, device: str) -> list[str]:
    """One line of the table."""
    return [
        workload.name,
        *(measured_cell(workload, samples, name) for name in MEASURED),
        *(ratio_cell(samples, ours, other) for ours, other in RATIOS),
        goal_cell(workload, samples, device),
    ]


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Rows in aligned columns under their header, without the columns that nobody filled."""
    columns = [
        (title, *cells)
        for title, *cells in zip(header, *rows, strict=True)
        if any(cells)
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = list(zip(*columns, strict=True))
    lines.insert(1, tuple("-" * width for width in widths))
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


def load() -> float | None:
    """How many processes want to run, on the average of the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def circumstances(options: argparse.Namespace) -> dict[str, object]:
    """When, where, how and with what."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": revision(),
        "device": options.device,
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "load": load(),
        },
        "python": platform.python_version(),
        "versions": {name: contender.version() for name, contender in CONTENDERS.items()},
        "threads": options.threads,
        "clock": "processor" if options.cpu_time else "wall",
    }


def save(folder: Path, about: Mapping[str, object], results: Mapping[str, Samples]) -> Path:
    """Write everything to a file named after the date, and return its path."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"{str(about['date']).replace(':', '')}.json"
    workloads = {
        name: {
            contender: {"median": statistics.median(values), "samples": list(values)}
            for contender, values in samples.items()
        }
        for name, samples in results.items()
    }
    content = json.dumps({**about, "workloads": workloads}, indent=1)
    path.write_text(content + "\n", encoding="utf-8")
    return path
