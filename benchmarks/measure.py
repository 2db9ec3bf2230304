"""The clock: contenders take turns, so that what slows the machine down slows all of them down."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

from benchmarks.contenders import Step

# A block does its work `count` times and returns the seconds that one took.
Block = Callable[[int], float]

# BLAS and OpenMP threads spin for some milliseconds after their last task. On a machine with no
# more cores than threads that is time taken from whoever comes next: let them fall asleep first.
SETTLE_SECONDS = 0.03

# No new round after so long, if there were some: a busy machine must not make it an hour.
ENOUGH_SECONDS = 20
ENOUGH_ROUNDS = 5


def timed(step: Step) -> Block:
    """The block of an ordinary step."""

    def block(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            step()
        return (time.perf_counter() - start) / count

    return block


def self_timed(step: Callable[[], float]) -> Block:
    """The block of a step that returns its own seconds."""
    return lambda count: sum(step() for _ in range(count)) / count


def calibrate(block: Block, seconds: float) -> int:
    """Warm up, and return how often to do the work in about `seconds`."""
    block(1)
    count = 1
    while (each := block(count)) * count < seconds / 2:
        count *= 2
    return max(1, round(seconds / each))


def interleave(
    blocks: Mapping[str, Block], rounds: int, block_seconds: float
) -> dict[str, list[float]]:
    """Run the blocks in turn, `rounds` times at most; return the seconds of each by contender.

    The garbage collector stays on, as it is for a user, but what was imported is exempt from it: a
    peer's million objects are not polygrad's to walk through.
    """
    counts = {name: calibrate(block, block_seconds) for name, block in blocks.items()}
    samples: dict[str, list[float]] = {name: [] for name in blocks}
    gc.collect()
    gc.freeze()
    try:
        start = time.perf_counter()
        for done in range(rounds):
            if done >= ENOUGH_ROUNDS and time.perf_counter() - start > ENOUGH_SECONDS:
                break
            for name, block in blocks.items():
                time.sleep(SETTLE_SECONDS)
                block(1)  # caches and clock speed, untimed
                samples[name].append(block(counts[name]))
    finally:
        gc.unfreeze()
    return samples
