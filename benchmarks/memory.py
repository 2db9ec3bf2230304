"""How much memory a step needs: counted where it is allocated, not guessed from the process.

The size of a process has code in it, pages that an allocator keeps, and other people's caches. Each
library is asked for its own account instead: NumPy tells tracemalloc of every array (and Python of
every object); PyTorch's profiler has every allocation of a tensor. Python's objects, a few hundred
bytes for each tensor, are thus missing from PyTorch's side, and what its matrix products and
convolutions use inside.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable


def traced_peak(setup: Callable[[], Callable[[], object]], settle: int) -> int:
    """The peak of what tracemalloc sees from the setup on, in a step after `settle` others.

    All is done once before, so that the modules which it imports are not counted.
    """
    setup()()
    tracemalloc.start()
    step = setup()
    for _ in range(settle):
        step()
    tracemalloc.reset_peak()
    step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def torch_peak(setup: Callable[[], Callable[[], object]], settle: int) -> int:
    """The same of what PyTorch's profiler sees: tensors on the host."""
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step = setup()
        for _ in range(settle):
            step()
        with record_function("measured step"):
            step()
    events = sorted(profiler.profiler.kineto_results.events(), key=lambda e: e.start_ns())
    begin = next(e.start_ns() for e in events if e.name() == "measured step")
    total = peak = 0
    for event in events:
        if event.name() == "[memory]":
            total += event.nbytes()
            if event.start_ns() >= begin:
                peak = max(peak, total)
    return peak
