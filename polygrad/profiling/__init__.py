"""Where time and memory go: by operation, by line of the user's code, and as a trace.

`polygrad.profiling.profiler` takes the measurements, `report` sums them up, `trace` exports them.
"""

from __future__ import annotations

from polygrad.profiling.profiler import profile
from polygrad.profiling.report import Row

__all__ = ["Row", "profile"]
