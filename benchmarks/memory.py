"""How much memory a step needs: counted where it is allocated, not guessed from the process.

The size of a process has code in it, pages that an allocator keeps, and other people's caches. Each
library is asked for its own account instead: NumPy tells tracemalloc of every array (and Python of
every object); PyTorch's profiler has every allocation of a tensor, to which is added what
tracemalloc has of Python's objects. Nobody counts the room that matrix products and convolutions
take inside of their libraries, and PyTorch nobody the objects that are C++'s: the nodes of its
graph.
"""

from __future__ import annotations

import gc
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
    gc.collect()  # what the setup has left is not what a step needs
    tracemalloc.reset_peak()
    step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def torch_peak(setup: Callable[[], Callable[[], object]], settle: int) -> int:
    """The same of what PyTorch's profiler sees, tensors on the host, and of Python's objects.

    These are counted in a step of their own, and added as if both had their peaks at once.
    """
    from torch.profiler import ProfilerActivity, profile, record_function

    objects = traced_peak(setup, settle)
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
    return peak + objects
