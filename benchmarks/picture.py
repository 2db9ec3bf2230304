"""The table as a picture: ratios on a logarithmic axis, with their quartiles and goals."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.contenders import CONTENDERS, FAST
from benchmarks.goals import AtMostTimes
from benchmarks.measure import Samples
from benchmarks.report import quartiles
from benchmarks.workload import Workload

OTHERS = [name for name in CONTENDERS if CONTENDERS[name].text != "polygrad"]
COLORS = {name: f"C{k}" for k, name in enumerate(OTHERS)}
MARKERS = {"polygrad": "o", FAST: "D"}


def spread(samples: Samples, ours: str, other: str) -> tuple[float, float, float]:
    """The ratio of the medians between the quartiles of the ratios."""
    low, _, high = quartiles([a / b for a, b in zip(samples[ours], samples[other], strict=True)])
    ratio = statistics.median(samples[ours]) / statistics.median(samples[other])
    return min(low, ratio), ratio, max(high, ratio)


def draw(
    path: Path, workloads: Sequence[Workload], results: Mapping[str, Samples]
) -> Path | None:
    """Write the picture to `path`; None if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    from matplotlib.figure import Figure

    rows = [w for w in workloads if w.name in results and w.measure != "fresh"]
    figure = Figure(figsize=(9, 1.5 + 0.32 * len(rows)), layout="constrained")
    axes = figure.subplots()
    labels = set()
    for y, workload in enumerate(rows):
        samples = results[workload.name]
        for ours, marker in MARKERS.items():
            for k, other in enumerate(OTHERS):
                if ours not in samples or other not in samples:
                    continue
                low, ratio, high = spread(samples, ours, other)
                label = f"{ours} / {other}"
                axes.errorbar(
                    ratio, y + (k - 2) * 0.12, xerr=[[ratio - low], [high - ratio]],
                    fmt=marker, ms=5, color=COLORS[other],
                    mfc="none" if ours == FAST else None,
                    label=None if label in labels else label,
                )  # fmt: skip
                labels.add(label)
        for goal in workload.goals:
            if isinstance(goal, AtMostTimes) and goal.other in COLORS:
                axes.plot([goal.ratio] * 2, [y - 0.4, y + 0.4], color=COLORS[goal.other], lw=1,
                          ls=":" if goal.ours == FAST else "-")  # fmt: skip
    axes.axvline(1, color="0.7", lw=0.8, zorder=0)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [workload.name for workload in rows])
    axes.invert_yaxis()
    axes.set_xlabel("ratio of medians, with quartiles; lines: goals (left of them is met)")
    if labels:
        figure.legend(loc="outside upper center", ncols=3, fontsize="small")
    figure.savefig(path)
    return path
