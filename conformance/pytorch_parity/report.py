"""What was compared: counts and worst differences for each subject, and what disagreed.

A difference is relative to the largest expected number, or absolute if that is below 1. It may be
1e-10 where both are of double precision, 1e-5 of single, 1e-2 of less; the rest must be equal. NaN
equals NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["BOUNDS", "Report", "Row", "host"]

BOUNDS = {"float64": 1e-10, "float32": 1e-5, "float16": 1e-2}
_SHOWN = 6


def host(value: Any) -> np.ndarray:
    """A tensor of either library, or a number, as a NumPy array."""
    if hasattr(value, "resolve_conj"):  # PyTorch's: conjugates, negatives and zeros may be lazy
        return value.numpy(force=True)
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return np.asarray(value)


@dataclass
class Row:
    """What one subject came to."""

    combinations: int = 0
    failed: int = 0
    worst: dict[str, float] = field(default_factory=dict)


class Report:
    """Collects comparisons; `failures` says what disagreed, `beside` what was left out and why."""

    def __init__(self, *, echo: bool = True) -> None:
        self.rows: dict[str, Row] = {}
        self.failures: list[str] = []
        self.beside: dict[str, dict[str, int]] = {}
        self.echo = echo

    def equal(self, subject: str, arguments: Any, got: Any, expected: Any) -> bool:
        """Count one combination: arrays, or tuples, lists and dictionaries of them, must agree."""
        row = self.rows.setdefault(subject, Row())
        row.combinations += 1
        said: list[str] = []
        _compare(got, expected, "", row, said)
        return self._close(subject, arguments, said)

    def fail(self, subject: str, arguments: Any, what: str) -> None:
        """Count one combination that came to no values."""
        self.rows.setdefault(subject, Row()).combinations += 1
        self._close(subject, arguments, [what])

    def leave(self, subject: str, reason: str) -> None:
        """Count one combination that is not compared, for a reason."""
        reasons = self.beside.setdefault(reason, {})
        reasons[subject] = reasons.get(subject, 0) + 1

    def _close(self, subject: str, arguments: Any, said: list[str]) -> bool:
        if said:
            self.rows[subject].failed += 1
            self.failures.append(f"{subject}, {arguments}: " + "; ".join(said[:_SHOWN]))
            if self.echo:
                print("  " + self.failures[-1])
        return not said

    @property
    def combinations(self) -> int:
        """How many were compared."""
        return sum(row.combinations for row in self.rows.values())

    def table(self) -> str:
        """A line for each subject, the sums, and what was left out."""
        lines = [f"{'subject':40} {'compared':>8} {'differ':>6}  worst difference"]
        for name, row in sorted(self.rows.items()):
            worst = ", ".join(f"{v:.1e} ({k})" for k, v in sorted(row.worst.items()))
            lines.append(f"{name:40} {row.combinations:8} {row.failed:6}  {worst or 'equal'}")
        failed = sum(row.failed for row in self.rows.values())
        lines.append(f"{f'{len(self.rows)} subjects':40} {self.combinations:8} {failed:6}")
        for reason, subjects in sorted(self.beside.items()):
            counts = ", ".join(f"{name} {n}" for name, n in sorted(subjects.items()))
            lines.append(f"not compared, {reason}: {sum(subjects.values())} ({counts})")
        return "\n".join(lines)


def _compare(got: Any, expected: Any, path: str, row: Row, said: list[str]) -> None:
    """Walk both sides; add what differs to `said`."""
    if isinstance(expected, Mapping):
        if not isinstance(got, Mapping) or list(got) != list(expected):
            keys = list(got) if isinstance(got, Mapping) else type(got).__name__
            said.append(f"{path or 'keys'} {keys}, expected {list(expected)}")
            return
        for key, value in expected.items():
            _compare(got[key], value, f"{path}[{key!r}]", row, said)
    elif isinstance(expected, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(expected):
            length = len(got) if isinstance(got, (tuple, list)) else type(got).__name__
            said.append(f"{path or 'length'} {length}, expected {len(expected)}")
            return
        for i, value in enumerate(expected):
            _compare(got[i], value, f"{path}[{i}]", row, said)
    elif expected is None or got is None:
        if expected is not got:
            said.append(f"{path} {_short(got)}, expected {_short(expected)}")
    else:
        _compare_arrays(host(got), host(expected), path, row, said)


def _compare_arrays(
    got: np.ndarray, expected: np.ndarray, path: str, row: Row, said: list[str]
) -> None:
    if got.shape != expected.shape:
        said.append(f"{path} shape {got.shape}, expected {expected.shape}")
        return
    names = {np.finfo(a.dtype).dtype.name for a in (got, expected) if a.dtype.kind in "fc"}
    coarse = min(names, key=lambda name: np.dtype(name).itemsize, default=None)
    if coarse is None:
        if not np.array_equal(got, expected):
            said.append(f"{path} {_short(got)}, expected {_short(expected)}")
        return
    wide = np.result_type(got, expected, np.float64)
    a, b = got.astype(wide), expected.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        said.append(f"{path} {_short(got)}, expected {_short(expected)}")
        return
    if not finite.any():
        return
    scale = max(1.0, float(np.abs(b[finite]).max()))
    difference = float(np.abs(a[finite] - b[finite]).max()) / scale
    row.worst[coarse] = max(row.worst.get(coarse, 0.0), difference)
    if difference > BOUNDS[coarse]:
        said.append(f"{path} off by {difference:.1e}: {_short(got)}, expected {_short(expected)}")


def _short(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    flat = host(value).ravel()
    text = np.array2string(flat[:_SHOWN], precision=6, separator=", ",
                           max_line_width=10_000)
    return text if flat.size <= _SHOWN else text[:-1] + ", ...]"
