"""A profile in the Trace Event Format, which chrome://tracing and ui.perfetto.dev read.

Source: Google, "Trace Event Format", complete events (`"ph": "X"`), times in microseconds.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from polygrad.io.writing import replacing

if TYPE_CHECKING:
    from polygrad.profiling.profiler import profile

__all__ = ["export"]


def export(found: profile, path: str | os.PathLike[str]) -> None:
    """Write the events of a profile; the file before is replaced as a whole."""
    events = [
        {
            "name": event.name if event.phase == "forward" else f"{event.name} backward",
            "cat": event.phase, "ph": "X", "pid": os.getpid(), "tid": event.thread,
            "ts": (event.start - found.started) * 1e6, "dur": event.seconds * 1e6,
            "args": {
                "device": event.device, "dtype": event.dtype, "shapes": event.shapes,
                "line": f"{event.line[0]}:{event.line[1]}", "bytes made": event.made,
                "bytes saved": event.saved,
            },
        }
        for event in sorted(found.events, key=lambda event: event.start)
    ]  # fmt: skip
    text = json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
    with replacing(os.fspath(path)) as file:
        file.write(text.encode())
